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
        let commit = project
            .checkout
            .as_ref()
            .and_then(|checkout| checkout.commit());
        let commit = commit.unwrap_or_default();
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

    /// What changed. For a pull request the checked-out commit counts, whatever was pushed meanwhile.
    pub(super) async fn change(
        &self,
        github: &Github,
        project: &Project,
    ) -> Result<Change, AppError> {
        let everything = |why: &str| Change::Everything {
            why: why.to_owned(),
        };
        let (changes, between) = match self {
            Self::PullRequest { pull_request, .. } => (
                changed_in(pull_request, github, project).await?,
                format!(
                    "{} to pull request {}",
                    pull_request.base.branch, pull_request.number
                ),
            ),
            Self::Push {
                before: Some(before),
                after,
            } => (
                github.changed_files_between(before, after).await?,
                format!("{before:.7} to {after:.7}"),
            ),
            Self::MergeGroup { base, head, .. } => (
                github.changed_files_between(base, head).await?,
                format!("{base:.7} to {head:.7}"),
            ),
            Self::Push { before: None, .. } => return Ok(everything("the branch is new")),
            Self::Branch => return Ok(everything("the workflow's event names no change")),
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
        let (name, sha) = match self {
            Self::PullRequest { pull_request, .. } => {
                let base = &pull_request.base;
                (base.branch.as_str(), &base.sha)
            }
            Self::MergeGroup { base, .. } => ("the merge queue's base", base),
            Self::Push { .. } | Self::Branch => return Ok(None),
        };
        let tree = match project.traits().replays {
            true => Some(
                github
                    .tree(sha)
                    .await
                    .map_err(|error| if_gone(error, name, sha))?,
            ),
            false => None,
        };
        Ok(Some(Base {
            name: name.to_owned(),
            sha: Some(sha.clone()),
            files: base_files(github, project, spec, sha)
                .await
                .map_err(|error| if_gone(error, name, sha))?,
            tree,
        }))
    }

    /// The template of the page, from the base as policy is: a change does not decide how it is reported. `None` if the base does
    /// not have it yet.
    pub(super) async fn template(
        &self,
        github: &Github,
        path: &str,
    ) -> Result<Option<Template>, AppError> {
        let during = |error: AppError| error.during("reading the template");
        let base = match self {
            Self::PullRequest { pull_request, .. } => &pull_request.base.sha,
            Self::MergeGroup { base, .. } => base,
            Self::Push { .. } | Self::Branch => {
                return files::read_template(Path::new(path))
                    .map(Some)
                    .map_err(during);
            }
        };
        let found = github.file_at(path, base, LARGEST_TEMPLATE).await;
        let Some(bytes) = found.map_err(|error| during(error.into()))? else {
            say(&format!(
                "note: the base has no template {} yet, so the page has the usual layout",
                printable(path)
            ));
            return Ok(None);
        };
        let text = String::from_utf8_lossy(&bytes);
        let parsed = files::parse_template(path, &text);
        parsed.map(Some).map_err(during)
    }

    /// The commit to compare with, or why there is none any more; `None` for a push and a branch. Unlike [`Trigger::base`] it is
    /// where the change left the base, not the base's tip.
    pub(super) async fn base_commit(
        &self,
        github: &Github,
        project: &Project,
        spec: &SpecArguments,
    ) -> Result<Option<Result<BaseCommit, String>>, AppError> {
        let (name, sha) = match self {
            Self::PullRequest { pull_request, .. } => (
                pull_request.base.branch.as_str(),
                left_from(pull_request, github, project).await?,
            ),
            Self::MergeGroup { base, branch, .. } => (branch.as_str(), base.clone()),
            Self::Push { .. } | Self::Branch => return Ok(None),
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
        Ok(Some(Ok(BaseCommit::of(name, sha, files, tree))))
    }
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

/// The commit that a pull request is compared with: the first parent of GitHub's merge commit, else the merge base.
async fn left_from(
    pull_request: &PullRequest,
    github: &Github,
    project: &Project,
) -> Result<String, GithubError> {
    let (base, head) = (&pull_request.base.sha, &pull_request.head.sha);
    let checkout = project.checkout.as_ref();
    let commit = checkout.and_then(|checkout| checkout.commit());
    let commit = commit.as_ref().unwrap_or(head);
    match &github.commit(commit).await?.parents[..] {
        [first, second] if second == head => Ok(first.clone()),
        _ => github.merge_base(base, commit).await,
    }
}

/// What a pull request's checkout changes: since the first parent of GitHub's merge commit, else since the merge base.
async fn changed_in(
    pull_request: &PullRequest,
    github: &Github,
    project: &Project,
) -> Result<Changes, AppError> {
    let (base, head) = (&pull_request.base.sha, &pull_request.head.sha);
    let checkout = project.checkout.as_ref();
    let commit = checkout.and_then(|checkout| checkout.commit());
    let commit = commit.as_ref().unwrap_or(head);
    let parents = github.commit(commit).await?.parents;
    Ok(match &parents[..] {
        [first, second] if second == head => github.changed_files_of_merge(first, commit).await?,
        _ => github.changed_files_between(base, commit).await?,
    })
}

/// Ends a path with `/` if it is a folder in the checkout, such as a submodule.
fn as_folder(path: String, project: &Project) -> PathBuf {
    match !path.ends_with('/') && project.root.join(&path).is_dir() {
        true => format!("{path}/").into(),
        false => path.into(),
    }
}
