//! The **code that counts**: the files of a checkout or a commit, and which of them make two canaries of a job the same or not.

mod code_tree;
mod globs;
mod tree;

pub use code_tree::{CodeFile, CodeProblem, CodeSelection, CodeTree};
pub use globs::PathGlobs;
pub use tree::{BlobHash, PathKind, Tree, TreeFile, blob_id, from_root, without_dots};
