//! What started the check: a pull request, a push, a merge queue, or a branch as it is.

use std::path::{Path, PathBuf};

use crate::change::Change;
use crate::cli::SpecArguments;
use crate::console::{AppError, files, printable, say};
use crate::github::changes::Changes;
use crate::github::client::Github;
use crate::github::environment::Environment;
use crate::github::error::GithubError;
use crate::github::event::{self, EventError, GithubEvent};
use crate::github::inputs::Inputs;
use crate::github::pull_request::PullRequest;
use crate::report::template::Template;
use crate::spec::MAX_SPEC_BYTES;
use crate::units::Bytes;
use crate::workspace::base_commit::BaseCommit;
use crate::workspace::base_policy::{self, Base, BaseFile};
use crate::workspace::project::Project;
use crate::workspace::written_spec;

/// In bytes.
const LARGEST_TEMPLATE: usize = 1 << 20;

/// What started the check.
pub(super) enum Trigger {
    PullRequest {
        pull_request: Box<PullRequest>,
        asked: Requester,
    },
    Push {
        before: Option<String>,
        after: String,
    },
    MergeGroup {
        base: String,
        head: String,
        /// The branch that is merged into.
        branch: String,
    },
    /// The checkout as it is.
    Branch,
}

/// Who asked for a pull request to be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Requester {
    Itself,
    /// The input `pull-request`, on an event that anyone can cause.
    Input,
    /// The input `pull-request`, on a workflow started by someone with write access.
    Maintainer,
}

/// Reads the event's file.
pub(super) fn read_event(environment: &Environment) -> Result<GithubEvent, AppError> {
    let path = &environment.event_path;
    let phase = "reading the event";
    let text = files::read_text_up_to(path, Bytes(event::LARGEST_EVENT)).map_err(|source| {
        AppError::failed(format!("the event {} cannot be read", path.display()))
            .help("GITHUB_EVENT_PATH names the file that GitHub wrote of what started the workflow")
            .caused_by(source)
            .during(phase)
    })?;
    let name = &environment.event_name;
    GithubEvent::read(name, text.as_bytes()).map_err(|error| {
        let help = error.help();
        let refused = match error {
            EventError::PullRequestTarget => AppError::usage(error.to_string()),
            error => AppError::failed(format!("the event `{name}` cannot be understood"))
                .caused_by(error),
        };
        refused.help(help).during(phase)
    })
}

impl Trigger {
    /// The trigger by the event and the input `pull-request`.
    pub(super) async fn of(
        github: &Github,
        event: GithubEvent,
        inputs: &Inputs,
    ) -> Result<Self, AppError> {
        match (event, inputs.pull_request) {
            // The input cannot turn the event of one pull request into another.
            (GithubEvent::PullRequest(pull_request), _) => Ok(Self::PullRequest {
                pull_request,
                asked: Requester::Itself,
            }),
            (event, Some(number)) => Ok(Self::PullRequest {
                pull_request: Box::new(github.pull_request(number).await?),
                asked: match event {
                    GithubEvent::Dispatch => Requester::Maintainer,
                    _ => Requester::Input,
                },
            }),
            (GithubEvent::Push { before, after }, None) => Ok(Self::Push { before, after }),
            (GithubEvent::MergeGroup { base, head, branch }, None) => {
                Ok(Self::MergeGroup { base, head, branch })
            }
            (
                GithubEvent::Dispatch
                | GithubEvent::Schedule
                | GithubEvent::NothingToMeasure { .. },
                None,
            ) => Ok(Self::Branch),
            (GithubEvent::Other, None) => Err(AppError::usage(
                "this event names no change, and it is not known whose code would be run",
            )
            .help("run the gate on pull_request, push, merge_group, schedule or workflow_dispatch, or name a pull request of this repository by the input `pull-request`")
            .during("reading the event")),
        }
    }

    pub(super) fn pull_request(&self) -> Option<&PullRequest> {
        match self {
            Self::PullRequest { pull_request, .. } => Some(pull_request),
            _ => None,
        }
    }

    /// The pull request, if its own event started the check.
    pub(super) fn of_itself(&self) -> Option<&PullRequest> {
        match self {
            Self::PullRequest {
                pull_request,
                asked: Requester::Itself,
            } => Some(pull_request),
            _ => None,
        }
    }

    /// Whether it is a fork's pull request that no maintainer asked to run.
    pub(super) fn is_from_fork(&self, repository: &str) -> bool {
        match self {
            Self::PullRequest {
                pull_request,
                asked: Requester::Itself | Requester::Input,
            } => pull_request.is_from_fork(repository),
            _ => false,
        }
    }

    /// When GitHub saw the change; `None` if unknown.
    pub(super) fn time(&self) -> Option<jiff::Timestamp> {
        match self {
            Self::PullRequest {
                pull_request,
                asked: Requester::Itself,
            } => Some(pull_request.updated_at),
            _ => None,
        }
    }

    /// How a maintainer runs the gate on a fork's pull request.
    pub(super) fn how_to_run_a_fork(&self) -> String {
        let number = self
            .pull_request()
            .map_or(0, |pull_request| pull_request.number);
        format!(
            "This pull request comes from a fork, so nothing of it was run and nothing was spent. After reading its code, a maintainer runs the gate on it by the workflow_dispatch workflow with `pull-request: {number}` in a protected environment (docs/action.md, examples/workflows/fork.yml)."
        )
    }

    /// Refuses a checkout that is not the named pull request: the maintainer has read the head of that one.
    pub(super) async fn refuse_another_commit(
        &self,
        github: &Github,
        project: &Project,
    ) -> Result<(), AppError> {
        let Self::PullRequest {
            pull_request,
            asked: Requester::Input | Requester::Maintainer,
        } = self
        else {
            return Ok(());
        };
        let commit = checked_out(project).unwrap_or_default();
        let head = &pull_request.head.sha;
        if commit == *head || github.commit(&commit).await?.parents.contains(head) {
            return Ok(());
        }
        let number = pull_request.number;
        Err(AppError::failed(format!(
            "what is checked out, {commit}, is not pull request {number}, whose head is {head}"
        ))
        .help(format!(
            "check it out before this step: actions/checkout with `ref: refs/pull/{number}/merge`; if it was pushed to meanwhile, review it again and start the workflow again"
        ))
        .during("looking at what is checked out"))
    }

    /// Why the workspace has no spec: nothing is checked out, or the pull request deletes it.
    pub(super) async fn missing_spec(
        &self,
        github: &Github,
        spec: &SpecArguments,
    ) -> Result<AppError, AppError> {
        if !Path::new(".git").exists() {
            return Ok(AppError::usage(
                "nothing is checked out: the workspace has neither a spec nor `.git`",
            )
            .help("run actions/checkout in a step before this one"));
        }
        let places = written_spec::places(spec);
        if let Self::PullRequest { pull_request, .. } = self {
            let base = &pull_request.base;
            for place in &places {
                let Ok(Some(_)) = github.file_at(place, &base.sha, MAX_SPEC_BYTES).await else {
                    continue;
                };
                return Ok(AppError::usage(format!(
                    "this pull request deletes the spec {place}, which {} has",
                    base.branch
                ))
                .help(
                    "restore it; to end the use of the gate, remove its step from the workflow too",
                ));
            }
        }
        Ok(written_spec::missing(&places))
    }

    /// Where the change left its base, with the branch's name; `None` for a push and a branch. Unlike the base's tip it does not
    /// move. Of a pull request it is the first parent of GitHub's merge commit, else the merge base.
    pub(super) async fn left_from(
        &self,
        github: &Github,
        project: &Project,
    ) -> Result<Option<(String, String)>, GithubError> {
        Ok(match self {
            Self::PullRequest { pull_request, .. } => {
                let (base, head) = (&pull_request.base, &pull_request.head.sha);
                let commit = checked_out(project).unwrap_or_else(|| head.clone());
                let sha = match &github.commit(&commit).await?.parents[..] {
                    [first, second] if second == head => first.clone(),
                    _ => github.merge_base(&base.sha, &commit).await?,
                };
                Some((base.branch.clone(), sha))
            }
            Self::MergeGroup { base, branch, .. } => Some((branch.clone(), base.clone())),
            Self::Push { .. } | Self::Branch => None,
        })
    }

    /// What changed since `left_from`. For a pull request the checked-out commit counts, whatever was pushed meanwhile.
    pub(super) async fn change(
        &self,
        github: &Github,
        project: &Project,
        left_from: Option<&(String, String)>,
    ) -> Result<Change, AppError> {
        let everything = |why: &str| Change::Everything {
            why: why.to_owned(),
        };
        let (changes, between) = match (self, left_from) {
            (Self::PullRequest { pull_request, .. }, Some((branch, from))) => {
                let head = pull_request.head.sha.clone();
                let commit = checked_out(project).unwrap_or(head);
                (
                    github.changed_files_of_merge(from, &commit).await?,
                    format!("{branch} to pull request {}", pull_request.number),
                )
            }
            (Self::MergeGroup { head, .. }, Some((_, from))) => (
                github.changed_files_of_merge(from, head).await?,
                format!("{from:.7} to {head:.7}"),
            ),
            (
                Self::Push {
                    before: Some(before),
                    after,
                },
                _,
            ) => (
                github.changed_files_between(before, after).await?,
                format!("{before:.7} to {after:.7}"),
            ),
            (Self::Push { .. }, _) => return Ok(everything("the branch is new")),
            _ => return Ok(everything("the workflow's event names no change")),
        };
        Ok(match changes {
            Changes::Files(paths) => Change::Paths {
                paths: paths
                    .into_iter()
                    .map(|path| as_folder(path, project))
                    .collect(),
                between,
            },
            Changes::Everything { why } => everything(&why),
        })
    }

    /// The name and the tip of the base; `None` if the checkout's own policy counts.
    fn base_tip(&self) -> Option<(&str, &str)> {
        match self {
            Self::PullRequest { pull_request, .. } => {
                Some((&pull_request.base.branch, &pull_request.base.sha))
            }
            Self::MergeGroup { base, .. } => Some(("the merge queue's base", base)),
            Self::Push { .. } | Self::Branch => None,
        }
    }

    /// The base that policy comes from; `None` if the checkout's own policy counts.
    ///
    /// # Errors
    ///
    /// The base's commit is gone: the change is not judged by its own limits then.
    pub(super) async fn base(
        &self,
        github: &Github,
        project: &Project,
        spec: &SpecArguments,
    ) -> Result<Option<Base>, AppError> {
        let Some((name, sha)) = self.base_tip() else {
            return Ok(None);
        };
        let read = async {
            let tree = match project.traits().replays {
                true => Some(github.tree(sha).await?),
                false => None,
            };
            Ok(Base {
                name: name.to_owned(),
                sha: Some(sha.to_owned()),
                files: base_files(github, project, spec, sha).await?,
                tree,
            })
        };
        let base = read.await.map_err(|error| if_gone(error, name, sha))?;
        Ok(Some(base))
    }

    /// The template of the page, from the base as policy is: a change does not decide how it is reported. `None` if the base does
    /// not have it yet.
    pub(super) async fn template(
        &self,
        github: &Github,
        path: &str,
    ) -> Result<Option<Template>, AppError> {
        let during = |error: AppError| error.during("reading the template");
        let Some((base, sha)) = self.base_tip() else {
            let read = files::read_template(Path::new(path));
            return read.map(Some).map_err(during);
        };
        let found = github.file_at(path, sha, LARGEST_TEMPLATE).await;
        let Some(bytes) = found.map_err(|error| during(error.into()))? else {
            say(&format!(
                "note: {} has no template {} yet, so the page has the usual layout",
                printable(base),
                printable(path)
            ));
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes);
        let parsed = files::parse_template(path, &text);
        parsed.map(Some).map_err(during)
    }

    /// The commit to compare with, or why there is none any more.
    pub(super) async fn base_commit(
        github: &Github,
        project: &Project,
        spec: &SpecArguments,
        left_from: Option<(String, String)>,
    ) -> Result<Option<Result<BaseCommit, String>>, AppError> {
        let Some((name, sha)) = left_from else {
            return Ok(None);
        };
        let files = match base_files(github, project, spec, &sha).await {
            Ok(files) => files,
            Err(GithubError::NotFound { .. }) => {
                return Ok(Some(Err(format!(
                    "The change is compared with nothing: the commit {sha:.7} that it left {name} from is gone."
                ))));
            }
            Err(error) => return Err(error.into()),
        };
        let tree = match github.tree(&sha).await {
            // GitHub lists no link's text; the checkout mostly has the same links.
            Ok(tree) => Ok(tree.knowing_links_of(project.files()?)),
            Err(error @ GithubError::TooLarge { .. }) => Err(error.to_string()),
            Err(error) => return Err(error.into()),
        };
        let tree = tree.as_ref().map_err(String::as_str);
        Ok(Some(Ok(BaseCommit::of(&name, sha, files, tree))))
    }
}

fn checked_out(project: &Project) -> Option<String> {
    let checkout = project.checkout.as_ref();
    checkout.and_then(|checkout| checkout.commit())
}

/// Says of a base commit that GitHub does not have that it is gone; its head could be read.
fn if_gone(error: GithubError, base: &str, sha: &str) -> AppError {
    match error {
        GithubError::NotFound { .. } => AppError::failed(format!(
            "the base commit {sha:.7} of {base} is gone, so there are no limits to judge by"
        ))
        .help("bring the pull request up to date with its base branch; a base that was pushed over by force is one reason")
        .during("reading the base's spec"),
        error => error.into(),
    }
}

/// A commit's files at the places of a spec.
async fn base_files(
    github: &Github,
    project: &Project,
    spec: &SpecArguments,
    sha: &str,
) -> Result<Vec<BaseFile>, GithubError> {
    let mut files = Vec::new();
    for place in base_policy::places(project, spec) {
        let bytes = match github.file_at(&place, sha, MAX_SPEC_BYTES).await {
            Ok(bytes) => bytes.map(Ok),
            Err(error @ (GithubError::TooLarge { .. } | GithubError::Link { .. })) => {
                Some(Err(error.to_string()))
            }
            Err(error) => return Err(error),
        };
        files.push(BaseFile { place, bytes });
    }
    Ok(files)
}

/// Ends a path with `/` if it is a folder in the checkout, such as a submodule.
fn as_folder(path: String, project: &Project) -> PathBuf {
    match !path.ends_with('/') && project.root.join(&path).is_dir() {
        true => format!("{path}/").into(),
        false => path.into(),
    }
}
