//! A channel in a file system: `fsx://fs-0123456789abcdef0/mount/path` or `efs://fs-0123456789abcdef0/path`.

use super::limits;

/// SageMaker's limit for a directory.
const LONGEST_DIRECTORY: usize = 4096;

/// What to write.
pub(super) const HELP: &str =
    "write `fsx://fs-0123456789abcdef0/mount/path` or `efs://fs-0123456789abcdef0/path`";

/// A file system that SageMaker mounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileSystemKind {
    Efs,
    FsxLustre,
}

/// A directory of a file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    pub kind: FileSystemKind,
    /// `fs-0123456789abcdef0`
    pub id: String,
    /// Starts with `/`; for FSx for Lustre its first part is the mount name.
    pub directory: String,
}

impl FileSystem {
    /// Reads a URI. `None` if it does not name a file system; `Err` if it does, wrongly: the problem.
    pub fn of_uri(uri: &str) -> Option<Result<Self, &'static str>> {
        let (kind, rest) = match (uri.strip_prefix("efs://"), uri.strip_prefix("fsx://")) {
            (Some(rest), _) => (FileSystemKind::Efs, rest),
            (_, Some(rest)) => (FileSystemKind::FsxLustre, rest),
            _ => return None,
        };
        let slash = rest.find('/').unwrap_or(rest.len());
        let (id, directory) = rest.split_at(slash);
        let is_root = directory.trim_matches('/').is_empty();
        Some(if !limits::is_file_system(id) {
            Err("names no file system")
        } else if directory.is_empty() || is_root && kind == FileSystemKind::FsxLustre {
            Err("names no directory")
        } else if directory.chars().count() > LONGEST_DIRECTORY {
            Err("is longer than SageMaker's limit of 4096 characters")
        } else if directory.chars().any(char::is_control) {
            Err("holds a control character")
        } else {
            Ok(Self {
                kind,
                id: id.to_owned(),
                directory: directory.to_owned(),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_file_systems_are_recognized() {
        assert_eq!(
            FileSystem::of_uri("fsx://fs-0123456789abcdef0/fsx/train"),
            Some(Ok(FileSystem {
                kind: FileSystemKind::FsxLustre,
                id: "fs-0123456789abcdef0".to_owned(),
                directory: "/fsx/train".to_owned(),
            }))
        );
        assert_eq!(
            FileSystem::of_uri("efs://fs-01234567/"),
            Some(Ok(FileSystem {
                kind: FileSystemKind::Efs,
                id: "fs-01234567".to_owned(),
                directory: "/".to_owned(),
            }))
        );
        for other in ["s3://bucket/efs/", "data/efs", "", "efs:/fs-01234567/a"] {
            assert_eq!(FileSystem::of_uri(other), None, "{other}");
        }
        for (bad, why) in [
            ("efs://", "names no file system"),
            ("efs://fs-0123456/a", "names no file system"),
            ("efs://fs-0123456G/a", "names no file system"),
            ("efs://fs-01234567", "names no directory"),
            ("fsx://fs-01234567/", "names no directory"),
            ("fsx://fs-01234567/a\nb", "holds a control character"),
        ] {
            assert_eq!(FileSystem::of_uri(bad), Some(Err(why)), "{bad}");
        }
    }
}
