//! The files that a training leaves in `model/`.

use std::path::{Path, PathBuf};

/// More are not looked at.
const MOST_FILES: usize = 10_000;
/// A report holds so many of their paths, for a line of a log that stays short.
pub(super) const MOST_REPORTED: usize = 100;
/// Bytes of a path in a report.
pub(super) const LONGEST_PATH: usize = 100;

/// The paths of plain files below a folder, relative to it; links are not followed.
pub fn files_below(folder: &Path) -> Vec<String> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(next) = open.pop() {
        let Ok(entries) = std::fs::read_dir(folder.join(&next)) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = next.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() => found.push(path.display().to_string()),
                _ => {}
            }
            if found.len() >= MOST_FILES {
                return found;
            }
        }
    }
    found
}

/// The first of them by name, which are the same on every host that has them.
#[cfg(target_os = "linux")]
pub(super) fn reported(folder: &Path) -> Vec<String> {
    let mut files = files_below(folder);
    files.retain(|path| path.len() <= LONGEST_PATH);
    files.sort();
    files.truncate(MOST_REPORTED);
    files
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;

    #[test]
    fn the_first_files_by_name_are_reported_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("deep")).unwrap();
        std::fs::write(path("deep/model.bin"), "").unwrap();
        std::fs::write(path("a".repeat(200).as_str()), "").unwrap();
        std::os::unix::fs::symlink("/etc", path("etc")).unwrap();
        assert_eq!(reported(folder.path()), ["deep/model.bin"]);
        for number in 0..300 {
            std::fs::write(path(&format!("checkpoint-{number:03}")), "").unwrap();
        }
        let many = reported(folder.path());
        assert_eq!((many.len(), many[0].as_str()), (100, "checkpoint-000"));
        assert_eq!(reported(&path("nowhere")), Vec::<String>::new());
    }
}
