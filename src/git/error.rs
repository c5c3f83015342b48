//! Why git could not answer, and what to do about it.

use std::borrow::Cow;

/// Why git could not answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("could not start git")]
    NotStarted(#[from] std::io::Error),
    #[error("`{0}` is not a git reference")]
    NotAReference(String),
    #[error("git has no commit `{reference}`: {said}")]
    UnknownReference {
        reference: String,
        said: String,
        /// Branches that this clone has, the newest first.
        branches: Vec<String>,
    },
    #[error("git refuses this checkout: {said}")]
    Refused { said: String },
    #[error("`{reference}` is ambiguous: it names {}", names.join(" and "))]
    Ambiguous {
        reference: String,
        names: Vec<String>,
    },
    #[error("`{base}` and `{head}` have no common commit")]
    NoMergeBase { base: String, head: String },
    #[error("{0} is a symbolic link in that commit, and links are not followed")]
    Link(String),
    #[error("git {command} failed: {said}")]
    Failed { command: String, said: String },
}

impl GitError {
    /// What to do about it.
    pub fn help(&self) -> Cow<'static, str> {
        let help = match self {
            Self::NotStarted(_) => {
                "install git, or name the changes with `--changed-files FILE` or `--all`"
            }
            Self::NotAReference(_) => {
                "a reference is a branch, a tag or a commit, e.g. `origin/main`"
            }
            Self::UnknownReference {
                reference,
                branches,
                ..
            } => {
                let known = match branches.as_slice() {
                    [] => String::new(),
                    branches => format!("the branches of this clone are {}; ", branches.join(", ")),
                };
                let name = reference.strip_prefix("origin/").unwrap_or(reference);
                let help = format!(
                    "{known}fetch another one first: `git fetch origin {name}`, in GitHub Actions `fetch-depth: 0` at actions/checkout"
                );
                return help.into();
            }
            Self::Ambiguous { .. } => {
                "write it in full, such as `refs/remotes/origin/main`, or remove the unwanted one"
            }
            Self::NoMergeBase { .. } => {
                "the history is cut off here; in GitHub Actions set `fetch-depth: 0` at actions/checkout"
            }
            Self::Refused { .. } => {
                "if you trust it: `git config --global --add safe.directory DIR`, as git says above"
            }
            Self::Link(_) => "replace the link by the file itself",
            Self::Failed { .. } => "name the changes with `--changed-files FILE` or `--all`",
        };
        help.into()
    }
}
