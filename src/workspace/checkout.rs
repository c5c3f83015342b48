//! The checkout that holds the spec, as git knows it or, without git, as GitHub lists its commit.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use digest_io::IoWrapper;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::code::{BlobHash, CodeTree, PathKind, Tree, TreeFile, blob_id};
use crate::console::AppResult;
use crate::git;
use crate::units::Bytes;

/// A larger file of which less than a hundredth is on disk is hardly more than holes: reading a terabyte of them takes minutes.
const LARGEST_HOLE: u64 = 16 << 30;

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
    pub(crate) tree: Arc<Tree>,
}

/// The checkout, and what of it counts for each job.
#[derive(Debug)]
pub(crate) struct CheckoutCode {
    pub(crate) tree: Tree,
    /// By name.
    pub(crate) of_jobs: Rc<BTreeMap<String, CodeTree>>,
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

    /// The files that may count: tracked and present; with git also untracked but not ignored. An id is that of the commit or index,
    /// and empty for what these do not have.
    pub(crate) fn files(&self) -> AppResult<Vec<TreeFile>> {
        match self {
            Self::Git(checkout) => Ok(checkout.listed()?.files),
            Self::Commit(checkout) => Ok(checkout.tree.files().to_vec()),
        }
    }

    /// The paths of the tracked files, present or not.
    pub(crate) fn tracked(&self) -> AppResult<Vec<PathBuf>> {
        let mut files = self.files()?;
        files.retain(|file| !file.blob.is_empty());
        Ok(files.into_iter().map(|file| file.path).collect())
    }

    /// The git checkout; `None` without git.
    pub(crate) fn git(&self) -> Option<&git::GitCheckout> {
        match self {
            Self::Git(checkout) => Some(checkout),
            Self::Commit(_) => None,
        }
    }
}

/// These files as they lie on disk below `root`. What is gone, or is neither file nor link nor submodule, is left out. Files keep their
/// ids.
pub(crate) fn on_disk(root: &Path, listed: Vec<TreeFile>) -> Tree {
    let like = (listed.iter().map(|file| &file.blob)).find(|id| !id.is_empty());
    let like = like.cloned().unwrap_or_default();
    let mut targets = BTreeMap::new();
    // A folder that has become a link holds nothing itself.
    let mut are_folders: HashMap<PathBuf, bool> = HashMap::new();
    let found = listed.into_iter().filter_map(|file| {
        let path = root.join(&file.path);
        let folder = path.parent()?;
        let is_folder = are_folders.entry(folder.to_owned());
        let is_real = |folder: &PathBuf| folder.canonicalize().is_ok_and(|real| real == *folder);
        if !*is_folder.or_insert_with_key(is_real) {
            return None;
        }
        let metadata = path.symlink_metadata().ok()?;
        let kind = metadata.file_type();
        if kind.is_symlink() {
            let target = fs::read_link(&path).ok()?;
            let blob = blob_id(&like, target.as_os_str().as_encoded_bytes());
            targets.insert(blob.clone(), target);
            return Some(TreeFile {
                blob,
                kind: PathKind::Link,
                ..file
            });
        }
        let kind = match kind {
            // What git looks at, too.
            kind if kind.is_file() => match metadata.permissions().mode() & 0o100 {
                0 => PathKind::File,
                _ => PathKind::Executable,
            },
            kind if kind.is_dir() && file.kind == PathKind::Submodule => PathKind::Submodule,
            _ => return None,
        };
        Some(TreeFile { kind, ..file })
    });
    let found = found.collect();
    Tree::new(found, targets).at(root)
}

/// Git's ids of these files, whose paths are from `root`, by what their bytes on disk are: what the index says of a file rests on
/// times, and on flags and settings that hide a change.
pub(crate) fn ids(root: &Path, like: &str, paths: &[&Path]) -> Vec<io::Result<String>> {
    let ids = paths.par_iter().map(|path| id_of(&root.join(path), like));
    ids.collect()
}

pub(super) fn id_of(path: &Path, like: &str) -> io::Result<String> {
    let file = File::open(path)?;
    let about = file.metadata()?;
    let length = about.len();
    // A block of `stat(3type)` has 512 bytes.
    if length > LARGEST_HOLE && about.blocks() < length / 512 / 100 {
        let size = Bytes(length);
        let why = format!("its {size} are mostly holes, which take long to read");
        return Err(io::Error::other(why));
    }
    let mut hash = IoWrapper(BlobHash::new(like, length));
    // What is written behind its end meanwhile is seen when it is copied.
    let mut file = BufReader::with_capacity(1 << 16, file.take(length));
    io::copy(&mut file, &mut hash)?;
    Ok(hash.0.end())
}

/// The folder that holds `.git` at or above `folder`, and not above `workspace`; `None` without one.
pub(crate) fn root_of(folder: &Path, workspace: &Path) -> Option<PathBuf> {
    let above = folder.ancestors();
    let mut within = above.take_while(|ancestor| ancestor.starts_with(workspace));
    let root = within.find(|ancestor| ancestor.join(".git").exists());
    root.map(Path::to_owned)
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
