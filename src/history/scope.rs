//! Who may read and write what: a pull request cannot write what the default branch is compared with.

use percent_encoding::utf8_percent_encode;

use crate::aws::s3_uri::{PLAIN, decoded};

/// The part of a history that a run belongs to. Its text is its folder: `main`, `pr/12`, `queue`, `local`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, derive_more::Display)]
#[display(rename_all = "lowercase")]
pub enum Scope {
    /// Pushes and schedules write and read only `main/`.
    Main,
    /// A pull request writes `pr/<number>/`, and reads that and `main/`.
    #[display("pr/{_0}")]
    PullRequest(u64),
    /// A merge queue's run writes `queue/`, and reads that and `main/`.
    Queue,
    /// A run outside GitHub Actions writes `local/`, and reads everything.
    Local,
}

impl Scope {
    /// Whether a run of this scope may read records of another.
    pub fn reads(self, other: Self) -> bool {
        self == Self::Local || other == Self::Main || other == self
    }

    /// The folders to list, relative to the history, of one job or of all; only those that the run may read.
    pub(super) fn folders(self, job: Option<&str>) -> Vec<String> {
        let of = |scope: Self| match job {
            Some(job) => format!("{scope}/{}", folder_of(job)),
            None => scope.to_string(),
        };
        match self {
            Self::Main => vec![of(Self::Main)],
            Self::PullRequest(_) | Self::Queue => vec![of(Self::Main), of(self)],
            // A job's folders in all pull requests share no path.
            Self::Local => vec![
                of(Self::Main),
                of(Self::Queue),
                of(Self::Local),
                "pr".to_owned(),
            ],
        }
    }

    /// The scope and the rest of a path in the history; `None` if the path starts with no scope's folder.
    pub(super) fn split(path: &str) -> Option<(Self, &str)> {
        let (first, rest) = path.split_once('/')?;
        match first {
            "main" => Some((Self::Main, rest)),
            "queue" => Some((Self::Queue, rest)),
            "local" => Some((Self::Local, rest)),
            "pr" => {
                let (number, rest) = rest.split_once('/')?;
                // Without leading zeros.
                let parsed = number.parse::<u64>().ok();
                let parsed = parsed.filter(|parsed| parsed.to_string() == number)?;
                Some((Self::PullRequest(parsed), rest))
            }
            _ => None,
        }
    }
}

/// The folder of a job's records: its name, with characters that are unsafe in a path or an S3 key as `%XX`.
pub(super) fn folder_of(job: &str) -> String {
    if job.is_empty() {
        return "%".to_owned();
    }
    utf8_percent_encode(job, &PLAIN).to_string()
}

/// The job of a folder; `None` if it is not a job's.
pub(super) fn job_of(folder: &str) -> Option<String> {
    let job = match folder {
        "%" => String::new(),
        folder => decoded(folder)?,
    };
    // One job has one folder.
    (folder_of(&job) == folder).then_some(job)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Scope; 5] = [
        Scope::Main,
        Scope::PullRequest(7),
        Scope::PullRequest(70),
        Scope::Queue,
        Scope::Local,
    ];

    #[test]
    fn only_a_push_writes_what_others_read() {
        for reader in ALL {
            for writer in ALL {
                let expected = reader == writer || writer == Scope::Main || reader == Scope::Local;
                assert_eq!(reader.reads(writer), expected, "{reader} reads {writer}");
            }
        }
    }

    #[test]
    fn what_may_not_be_read_is_not_listed() {
        let pull_request = Scope::PullRequest(7);
        assert_eq!(Scope::Main.folders(None), ["main"]);
        assert_eq!(
            pull_request.folders(Some("a b")),
            ["main/a%20b", "pr/7/a%20b"]
        );
        assert_eq!(
            Scope::Queue.folders(Some("churn")),
            ["main/churn", "queue/churn"]
        );
        assert_eq!(
            Scope::Local.folders(Some("churn")),
            ["main/churn", "queue/churn", "local/churn", "pr"]
        );
    }

    #[test]
    fn a_scope_is_its_folder() {
        for scope in ALL {
            let path = format!("{scope}/churn/x.json");
            assert_eq!(Scope::split(&path), Some((scope, "churn/x.json")));
        }
        for other in [
            "mains/churn/x.json",
            "pr/007/churn/x.json",
            "pr/+7/churn/x.json",
            "pr/x/churn/x.json",
            "pr/99999999999999999999/churn/x.json",
            "Main/churn/x.json",
            "main",
            "",
        ] {
            assert_eq!(Scope::split(other), None, "{other}");
        }
    }
}
