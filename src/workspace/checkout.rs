//! The checkout that a spec lies in: what git knows of it, or, where there is no git, what GitHub says of its commit.

use std::fs;
use std::path::{Path, PathBuf};

use crate::console::AppError;
use crate::git;
use crate::github::tree;

/// A checkout whose files are known.
#[derive(Debug)]
pub(crate) enum Checkout {
    Git(git::Checkout),
    Commit(CommitCheckout),
}

/// A folder that a commit was checked out into. The action's image holds no git.
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

    /// The checked-out commit, in full; `None` before the first.
    pub(crate) fn commit(&self) -> Option<String> {
        match self {
            Self::Git(checkout) => checkout.commit(),
            Self::Commit(checkout) => Some(checkout.commit.clone()),
        }
    }

    /// Every file that counts, relative to the root, sorted: tracked and there; where git is, also untracked and not ignored.
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

    /// What git tracks, whether it is there or not.
    pub(crate) fn tracked(&self) -> Result<Vec<String>, AppError> {
        match self {
            Self::Git(checkout) => Ok(checkout.tracked()?),
            Self::Commit(checkout) => Ok(checkout.files.clone()),
        }
    }

    /// git's id of the content of each of `files` as it lies there, in their order; what is no file is left out.
    pub(crate) fn blobs(&self, files: &[String]) -> Result<Vec<(String, String)>, AppError> {
        match self {
            Self::Git(checkout) => Ok(checkout.blobs(files)?),
            // An earlier step may have changed a file, and what lies there is what runs: the commit's own ids would not do.
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

    /// The checkout as git knows it, for what only git can tell.
    pub(crate) fn git(&self) -> Option<&git::Checkout> {
        match self {
            Self::Git(checkout) => Some(checkout),
            Self::Commit(_) => None,
        }
    }
}

impl CommitCheckout {
    /// A file as it lies there; of a link that leaves the checkout its target, which is all that it holds here. `None` for what
    /// is no plain file.
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

/// The commit that is checked out in `root`, as the files of its `.git` tell it; `None` where they do not.
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
