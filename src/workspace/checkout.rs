//! The checkout that holds the spec, as git knows it or, without git, as GitHub lists its commit.

use std::fs;
use std::path::{Path, PathBuf};

use crate::console::AppError;
use crate::git;
use crate::github::tree;

/// A checkout whose files are known.
#[derive(Debug)]
pub(crate) enum Checkout {
    Git(git::GitCheckout),
    Commit(CommitCheckout),
}

/// A checkout without git, as in the action's image.
#[derive(Debug)]
pub(crate) struct CommitCheckout {
    /// All links resolved.
    pub(crate) root: PathBuf,
    /// In full.
    pub(crate) commit: String,
    /// The files of the commit, relative to the root.
    pub(crate) files: Vec<String>,
}

impl Checkout {
    /// The checkout's folder, all links resolved.
    pub(crate) fn root(&self) -> &Path {
        match self {
            Self::Git(checkout) => checkout.root(),
            Self::Commit(checkout) => &checkout.root,
        }
    }

    /// The full id of the checked-out commit; `None` before the first commit.
    pub(crate) fn commit(&self) -> Option<String> {
        match self {
            Self::Git(checkout) => checkout.commit(),
            Self::Commit(checkout) => Some(checkout.commit.clone()),
        }
    }

    /// The files that count, relative to the root, sorted: tracked and present; with git also untracked but not ignored.
    pub(crate) fn files(&self) -> Result<Vec<String>, AppError> {
        match self {
            Self::Git(checkout) => Ok(checkout.files()?),
            Self::Commit(checkout) => {
                let mut files = checkout.files.clone();
                files.retain(|file| checkout.root.join(file).symlink_metadata().is_ok());
                files.sort();
                files.dedup();
                Ok(files)
            }
        }
    }

    /// The tracked files, present or not.
    pub(crate) fn tracked(&self) -> Result<Vec<String>, AppError> {
        match self {
            Self::Git(checkout) => Ok(checkout.tracked()?),
            Self::Commit(checkout) => Ok(checkout.files.clone()),
        }
    }

    /// The git blob id of each file as it is on disk, in the order of `files`; only plain files and links.
    pub(crate) fn blobs(&self, files: &[String]) -> Result<Vec<(String, String)>, AppError> {
        match self {
            Self::Git(checkout) => Ok(checkout.blobs(files)?),
            // An earlier step may have changed a file, and the file on disk is what runs.
            Self::Commit(checkout) => {
                let mut blobs = Vec::new();
                for file in files {
                    if let Some(content) = checkout.content(file)? {
                        blobs.push((file.clone(), tree::blob_id(&content)));
                    }
                }
                Ok(blobs)
            }
        }
    }

    /// The git checkout; `None` without git.
    pub(crate) fn git(&self) -> Option<&git::GitCheckout> {
        match self {
            Self::Git(checkout) => Some(checkout),
            Self::Commit(_) => None,
        }
    }
}

impl CommitCheckout {
    /// The content of a file; for a link out of the checkout the path that it names. `None` if it is not a plain file.
    fn content(&self, file: &str) -> Result<Option<Vec<u8>>, AppError> {
        let path = self.root.join(file);
        let unreadable = |source| {
            AppError::failed(format!("{} cannot be read", path.display()))
                .help("make it readable for the user that runs the gate")
                .caused_by(source)
        };
        let real = path.canonicalize();
        if path.is_symlink() && !real.is_ok_and(|real| real.starts_with(&self.root)) {
            let target = fs::read_link(&path).map_err(unreadable)?;
            return Ok(Some(target.into_os_string().into_encoded_bytes()));
        }
        if !path.is_file() {
            return Ok(None);
        }
        fs::read(&path).map(Some).map_err(unreadable)
    }
}

/// The folder that holds `.git` at or above `folder`, and not above `workspace`; `None` without one.
pub(crate) fn root_of(folder: &Path, workspace: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .take_while(|ancestor| ancestor.starts_with(workspace))
        .find(|ancestor| ancestor.join(".git").exists())
        .map(Path::to_owned)
}

/// The commit that is checked out in `root`, read from the files of its `.git`; `None` if they do not name one.
///
/// See "gitrepository-layout" of git: `HEAD` holds a commit or names a reference, which is a file of its own or a line of
/// `packed-refs`.
pub(crate) fn checked_out_commit(root: &Path) -> Option<String> {
    let read = |name: &str| fs::read_to_string(root.join(".git").join(name)).ok();
    let head = read("HEAD")?;
    let Some(reference) = head.trim().strip_prefix("ref: ") else {
        return commit(&head);
    };
    if !reference.starts_with("refs/") || reference.contains("..") {
        return None;
    }
    if let Some(text) = read(reference) {
        return commit(&text);
    }
    let packed = read("packed-refs")?;
    packed.lines().find_map(|line| {
        let (id, name) = line.split_once(' ')?;
        (name == reference).then(|| commit(id)).flatten()
    })
}

fn commit(text: &str) -> Option<String> {
    let id = text.trim();
    (matches!(id.len(), 40 | 64) && id.bytes().all(|byte| byte.is_ascii_hexdigit()))
        .then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMIT: &str = "3f9c2e1d8a7054b6c1f2e3d4a5b6c7d8e9f0a1b2";

    fn checkout(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            let path = folder.path().join(".git").join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        folder
    }

    #[test]
    fn the_commit_is_that_of_head() {
        let packed = format!("# pack-refs with: peeled\n{COMMIT} refs/heads/main\n");
        for files in [
            vec![("HEAD", COMMIT)],
            vec![
                ("HEAD", "ref: refs/heads/main\n"),
                ("refs/heads/main", COMMIT),
            ],
            vec![("HEAD", "ref: refs/heads/main\n"), ("packed-refs", &packed)],
        ] {
            let folder = checkout(&files);
            assert_eq!(checked_out_commit(folder.path()).as_deref(), Some(COMMIT));
        }
    }

    #[test]
    fn what_names_no_commit_is_none() {
        for files in [
            vec![],
            vec![("HEAD", "main")],
            vec![("HEAD", "ref: refs/heads/main\n")],
            vec![("HEAD", "ref: ../../secret\n")],
        ] {
            assert_eq!(checked_out_commit(checkout(&files).path()), None);
        }
    }

    #[test]
    fn the_root_is_looked_for_within_the_workspace() {
        let folder = checkout(&[("models/.git/HEAD", COMMIT)]);
        let models = folder.path().join(".git/models");
        assert_eq!(
            root_of(&models.join("deep"), folder.path()),
            Some(models.clone())
        );
        assert_eq!(root_of(&models.join("deep"), &models.join("deep")), None);
    }
}
