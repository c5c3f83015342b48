//! The files of a tree, as values.

/// What a path of a tree holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PathKind {
    File,
    Executable,
    /// A symbolic link; its content is where it points.
    Link,
    /// Another repository's commit.
    Submodule,
}

/// A path and its content's id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct TreeFile {
    /// From the root, with slashes.
    pub path: String,
    /// The blob's id; of a submodule its commit's.
    pub blob: String,
    pub kind: PathKind,
}

/// All files of a tree, in order of their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    pub files: Vec<TreeFile>,
}
