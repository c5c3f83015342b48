//! The files of a checkout or of a commit, as values, and where their links lead.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Component, Path, PathBuf};

use sha1::Sha1;
use sha2::Sha256;
use sha2::digest::{DynDigest, Update};

/// Links that are followed on one way, as Linux has it.
const MOST_LINKS: usize = 40;
/// The hex digits of a SHA-256.
const LONG_ID: usize = 64;

/// What a path of a tree holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, derive_more::Display)]
#[display(rename_all = "lowercase")]
pub enum PathKind {
    File,
    Executable,
    /// A symbolic link; its content is where it points.
    Link,
    /// Another repository's commit.
    Submodule,
}

impl PathKind {
    /// Of a mode in a tree or an index of git; `None` for a folder.
    pub fn of_mode(mode: &str) -> Option<Self> {
        match mode {
            "040000" => None,
            "100755" => Some(Self::Executable),
            "120000" => Some(Self::Link),
            "160000" => Some(Self::Submodule),
            _ => Some(Self::File),
        }
    }

    pub fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Executable)
    }
}

/// A path and its content's id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// From the root, with slashes; any bytes.
    pub path: PathBuf,
    /// The blob's id; of a submodule its commit's.
    pub blob: String,
    pub kind: PathKind,
}

/// All files of a tree, in order of their paths' bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    files: Vec<TreeFile>,
    /// Where links point, by the ids of these texts.
    targets: BTreeMap<String, PathBuf>,
    /// Where the tree lies, for links that name the place; empty where that is not known.
    root: PathBuf,
}

/// Where a path leads once links are followed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A path of the tree, which may hold nothing.
    Within(PathBuf),
    Outside,
    /// This link's text is not known.
    Unknown(PathBuf),
}

impl Tree {
    /// Of each path the first counts.
    pub fn new(mut files: Vec<TreeFile>, targets: BTreeMap<String, PathBuf>) -> Self {
        files.sort_by(|one, other| bytes(&one.path).cmp(bytes(&other.path)));
        files.dedup_by(|one, other| bytes(&one.path) == bytes(&other.path));
        Self {
            files,
            targets,
            root: PathBuf::new(),
        }
    }

    /// The same, lying in this folder.
    #[must_use]
    pub fn at(self, root: &Path) -> Self {
        let root = root.to_owned();
        Self { root, ..self }
    }

    pub fn files(&self) -> &[TreeFile] {
        &self.files
    }

    /// The same with the links of another tree known, where both have the same text.
    #[must_use]
    pub fn knowing_links_of(mut self, other: &Self) -> Self {
        let own = std::mem::replace(&mut self.targets, other.targets.clone());
        self.targets.extend(own);
        self
    }

    pub fn get(&self, path: &Path) -> Option<&TreeFile> {
        let place = self
            .files
            .binary_search_by(|file| bytes(&file.path).cmp(bytes(path)));
        self.files.get(place.ok()?)
    }

    /// A whole path from the root, where it lies below that.
    pub(super) fn within<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        let is_whole = |path: &&Path| path.is_absolute() && self.root.is_absolute();
        Some(path).filter(is_whole)?.strip_prefix(&self.root).ok()
    }

    /// What lies below a folder; the empty path is the root.
    pub fn below(&self, folder: &Path) -> &[TreeFile] {
        if folder.as_os_str().is_empty() {
            return &self.files;
        }
        let above = [bytes(folder), b"/"].concat();
        let start = self
            .files
            .partition_point(|file| bytes(&file.path) < above.as_slice());
        let inside = &self.files[start..];
        let end = inside.partition_point(|file| bytes(&file.path).starts_with(&above));
        &inside[..end]
    }

    /// Gives files the ids that `id_of` knows of them.
    pub fn set_ids(&mut self, id_of: impl Fn(&TreeFile) -> Option<String>) {
        for file in &mut self.files {
            if let Some(id) = id_of(file) {
                file.blob = id;
            }
        }
    }

    /// The paths that differ between two trees, sorted. One that holds others in either ends with `/`: a submodule, or a link to a folder.
    pub fn differing(&self, other: &Self) -> Vec<PathBuf> {
        let all = self.files.iter().chain(&other.files);
        let paths: BTreeMap<&[u8], &Path> = all
            .map(|file| (bytes(&file.path), file.path.as_path()))
            .collect();
        let holds_more = |tree: &Self, path| tree.get(path).is_some_and(|it| tree.holds_more(it));
        (paths.into_values())
            .filter(|path| self.get(path) != other.get(path))
            // Joined with nothing, a path ends with `/`.
            .map(
                |path| match holds_more(self, path) || holds_more(other, path) {
                    true => path.join(""),
                    false => path.to_owned(),
                },
            )
            .collect()
    }

    fn holds_more(&self, file: &TreeFile) -> bool {
        match file.kind {
            PathKind::File | PathKind::Executable => false,
            PathKind::Submodule => true,
            PathKind::Link => match self.follow(&file.path, &mut Vec::new()) {
                End::Within(target) => {
                    let found = self.get(&target);
                    !self.below(&target).is_empty()
                        || found.is_some_and(|found| found.kind == PathKind::Submodule)
                }
                End::Outside => false,
                End::Unknown(_) => true,
            },
        }
    }

    /// Where a path from the root leads; `passed` gets the links on the way.
    pub(super) fn follow(&self, path: &Path, passed: &mut Vec<PathBuf>) -> End {
        let parts = |path: &Path| -> Vec<PathBuf> {
            let parts = path.components();
            parts.map(|part| PathBuf::from(part.as_os_str())).collect()
        };
        let mut left: VecDeque<PathBuf> = parts(path).into();
        let mut here = PathBuf::new();
        while let Some(part) = left.pop_front() {
            match part.components().next() {
                None | Some(Component::CurDir) => continue,
                Some(Component::ParentDir) => match here.pop() {
                    true => continue,
                    false => return End::Outside,
                },
                Some(Component::Normal(name)) => here.push(name),
                Some(Component::RootDir | Component::Prefix(_)) => return End::Outside,
            }
            let Some(link) = self.get(&here).filter(|file| file.kind == PathKind::Link) else {
                continue;
            };
            let Some(target) = self.targets.get(&link.blob) else {
                return End::Unknown(here);
            };
            passed.push(here.clone());
            if passed.len() > MOST_LINKS {
                return End::Outside;
            }
            here.pop();
            let mut target: &Path = target;
            if let Some(within) = self.within(target) {
                (target, here) = (within, PathBuf::new());
            }
            for part in parts(target).into_iter().rev() {
                left.push_front(part);
            }
        }
        End::Within(here)
    }
}

/// A path without `.` and `..`, by its text alone.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut clean = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                clean.pop();
            }
            other => clean.push(other),
        }
    }
    clean
}

/// Where a path of a spec in the folder `place` lies, from the root, by its text alone.
pub fn from_root(place: &str, written: &str) -> PathBuf {
    without_dots(&match written.strip_prefix('/') {
        Some(rooted) => PathBuf::from(rooted.trim_start_matches('/')),
        None => Path::new(place).join(written),
    })
}

/// A path as it is written, byte by byte.
pub(super) fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// Makes the id that git gives a content: the hash of `blob LENGTH`, a zero byte, and the content.
/// <https://git-scm.com/book/en/v2/Git-Internals-Git-Objects>
pub struct BlobHash(Box<dyn DynDigest>);

impl BlobHash {
    /// For a content of so many bytes, with as many digits as an id `like` this has.
    pub fn new(like: &str, length: u64) -> Self {
        let mut hash: Box<dyn DynDigest> = match like.len() {
            LONG_ID => Box::new(Sha256::default()),
            _ => Box::new(Sha1::default()),
        };
        hash.update(format!("blob {length}\0").as_bytes());
        Self(hash)
    }

    pub fn end(self) -> String {
        let digest = self.0.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Update for BlobHash {
    fn update(&mut self, content: &[u8]) {
        self.0.update(content);
    }
}

/// The id of a content, with as many digits as an id `like` this has.
pub fn blob_id(like: &str, content: &[u8]) -> String {
    let mut hash = BlobHash::new(like, content.len() as u64);
    hash.update(content);
    hash.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blob_has_the_id_that_git_gives_it() {
        // printf '' | git hash-object --stdin, and so on; git 2.47.3.
        let id = |content: &[u8]| blob_id("", content);
        assert_eq!(id(b""), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(id(b"hello\n"), "ce013625030ba8dba906f756967f9e9ca394464a");
        assert_eq!(
            id(b"\0\xff\r\n"),
            "00822ce7dfc6f27759b94e2c7dfd26f25afbac9d"
        );
        // git hash-object in a repository of --object-format=sha256.
        let long = "0".repeat(LONG_ID);
        assert_eq!(
            blob_id(&long, b""),
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
        );
    }

    fn tree(files: &[(&str, &str, PathKind)]) -> Tree {
        let files = files.iter().map(|(path, blob, kind)| TreeFile {
            path: path.into(),
            blob: (*blob).to_owned(),
            kind: *kind,
        });
        Tree::new(files.collect(), BTreeMap::new())
    }

    #[test]
    fn trees_differ_by_content_by_kind_and_by_what_only_one_has() {
        let before = tree(&[
            ("same", "1", PathKind::File),
            ("edited", "1", PathKind::File),
            ("made-executable", "1", PathKind::File),
            ("old-name", "2", PathKind::File),
            ("vendor/lib", "3", PathKind::Submodule),
        ]);
        let after = tree(&[
            ("same", "1", PathKind::File),
            ("edited", "3", PathKind::File),
            ("made-executable", "1", PathKind::Executable),
            ("new-name", "2", PathKind::File),
            ("vendor/lib", "4", PathKind::Submodule),
        ]);
        let expected = [
            "edited",
            "made-executable",
            "new-name",
            "old-name",
            "vendor/lib/",
        ];
        let names = |paths: Vec<PathBuf>| paths.into_iter().map(PathBuf::into_os_string);
        assert_eq!(
            names(before.differing(&after)).collect::<Vec<_>>(),
            expected
        );
        assert_eq!(after.differing(&after), [""; 0].map(PathBuf::from));
    }
}
