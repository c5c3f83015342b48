//! Why git could not answer, and what to do about it.

use std::io;

use crate::outside_error::OutsideError;

/// Why git could not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// A text does not have the form of a reference.
    #[error(transparent)]
    NotAReference(OutsideError),
    #[error(transparent)]
    UnknownReference(OutsideError),
    #[error(transparent)]
    NoMergeBase(OutsideError),
    /// The file of a commit is a symbolic link.
    #[error(transparent)]
    Link(OutsideError),
    /// Git ended with an error.
    #[error("git {command} failed: {said}")]
    Failed { command: String, said: String },
    /// A person must correct something else.
    #[error(transparent)]
    Other(OutsideError),
}

impl From<io::Error> for GitError {
    fn from(error: io::Error) -> Self {
        let help = "install git, or check every job with `--all`";
        Self::Other(OutsideError::io("could not start git", help, error))
    }
}

impl From<GitError> for OutsideError {
    fn from(error: GitError) -> Self {
        let failed = error.to_string();
        match error {
            GitError::Failed { .. } => Self::of(failed).help("check every job with `--all`"),
            GitError::NotAReference(error)
            | GitError::UnknownReference(error)
            | GitError::NoMergeBase(error)
            | GitError::Link(error)
            | GitError::Other(error) => error,
        }
    }
}
