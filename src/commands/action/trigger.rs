//! What started the check: a pull request, a push, a merge queue, or a branch as it is; and the base that it is held against.

use std::path::Path;

use crate::change::Change;
use crate::code::{Tree, blob_id};
use crate::console::{AppError, AppResult, StepResult, files, printable, say};
use crate::github::{
    Environment, ForgeError, ForgeErrorKind, Github, GithubEvent, PullRequest, event,
};
use crate::report::DOCUMENTS;
use crate::report::template::Template;
use crate::spec::MAX_SPEC_BYTES;
use crate::units::Bytes;
use crate::workspace::base_policy::{self, Base, BaseFile};
use crate::workspace::{BaseCommit, Project, written_spec};

/// In bytes.
const LARGEST_TEMPLATE: usize = 1 << 20;

/// What started the check.
pub(super) struct Trigger {
    pub(super) github: Github,
    event: GithubEvent,
    /// The pull request that the input `pull-request` names, where the event is of none.
    named: Option<PullRequest>,
}

/// What a change is held against.
pub(super) struct ChangeBase {
    /// Shown with the policy, which is that of the tip.
    name: String,
    tip: String,
    branch: String,
    /// Where the change left the branch. Unlike the tip it does not move.
    pub(super) left: String,
    /// The commit that is checked, whatever was pushed meanwhile.
    commit: String,
}

/// Reads the event's file.
pub(super) fn read_event(environment: &Environment) -> AppResult<GithubEvent> {
    let (name, path) = (&environment.event_name, &environment.event_path);
    let phase = "reading the event";
    // Refused by its name, whatever it contains.
    if name == "pull_request_target" {
        return Err(AppError::usage("the gate does not run on pull_request_target: anybody's pull request would run with this repository's secrets")
            .help(format!("use `on: pull_request`; for a fork see {DOCUMENTS}docs/action.md#forks"))
            .during(phase));
    }
    let text = files::read_text_up_to(path, Bytes(event::LARGEST_EVENT)).or_fail(|| {
        AppError::failed(format!("the event {} cannot be read", path.display()))
            .help("GITHUB_EVENT_PATH names the file that GitHub wrote of what started the workflow")
            .during(phase)
    })?;
    GithubEvent::read(name, text.as_bytes()).map_err(|error| {
        AppError::failed(format!("the event `{name}` cannot be understood"))
            .help(error.help())
            .caused_by(error)
            .during(phase)
    })
}

pub(super) fn no_checkout() -> AppError {
    AppError::usage("nothing is checked out: the workspace has neither a spec nor `.git`")
        .help("run actions/checkout in a step before this one")
}

impl Trigger {
    /// The trigger by the event and the input `pull-request`, which cannot turn the event of one pull request into another.
    pub(super) async fn of(
        github: Github,
        event: GithubEvent,
        input: Option<u64>,
    ) -> AppResult<Self> {
        let named = match (&event, input) {
            (GithubEvent::Other, None) => {
                return Err(AppError::usage(
                    "this event names no change, and it is not known whose code would be run",
                )
                .help("run the gate on pull_request, push, merge_group, schedule or workflow_dispatch, or name a pull request of this repository by the input `pull-request`")
                .during("reading the event"));
            }
            (GithubEvent::PullRequest(_), _) | (_, None) => None,
            (_, Some(number)) => Some(github.pull_request(number).await?),
        };
        Ok(Self {
            github,
            event,
            named,
        })
    }

    pub(super) fn pull_request(&self) -> Option<&PullRequest> {
        self.of_itself().or(self.named.as_ref())
    }

    /// The pull request, if its own event started the check.
    pub(super) fn of_itself(&self) -> Option<&PullRequest> {
        match &self.event {
            GithubEvent::PullRequest(pull_request) => Some(pull_request),
            _ => None,
        }
    }

    /// The commit that the event itself is about, whose check a ruleset may require: not the merge of it.
    pub(super) fn head(&self) -> Option<&str> {
        match &self.event {
            GithubEvent::PullRequest(pull_request) => Some(&pull_request.head.sha),
            GithubEvent::MergeGroup(group) => Some(&group.head),
            _ => None,
        }
    }

    /// Why there is nothing to measure, a clause; `None` where there is something.
    pub(super) fn nothing_to_measure(&self) -> Option<&str> {
        match (&self.event, &self.named) {
            (GithubEvent::NothingToMeasure { why }, None) => Some(why),
            _ => None,
        }
    }

    /// Whether it is a fork's pull request that no maintainer asked to run: anyone can cause an event, and only who may write starts
    /// a workflow by hand.
    pub(super) fn is_from_fork(&self, repository: &str) -> bool {
        self.event != GithubEvent::Dispatch
            && (self.pull_request()).is_some_and(|one| one.is_from_fork(repository))
    }

    /// Refuses a checkout that is not the named pull request: the maintainer has read the head of that one.
    pub(super) async fn refuse_another_commit(&self, commit: Option<&str>) -> AppResult<()> {
        let Some(PullRequest { number, head, .. }) = &self.named else {
            return Ok(());
        };
        let commit = commit.unwrap_or_default();
        let head = &head.sha;
        if self.github.is_of_head(commit, head).await? {
            return Ok(());
        }
        Err(AppError::failed(format!(
            "what is checked out, {commit}, is not pull request {number}, whose head is {head}"
        ))
        .help(format!(
            "check it out before this step: actions/checkout with `ref: refs/pull/{number}/merge`; if it was pushed to meanwhile, review it again and start the workflow again"
        ))
        .during("looking at what is checked out"))
    }

    /// The base of a pull request or a merge queue's run; `None` if the checkout's own policy counts. A pull request left its base
    /// at the first parent of GitHub's merge commit, else at the merge base.
    pub(super) async fn base(&self, commit: Option<&str>) -> AppResult<Option<ChangeBase>> {
        Ok(match (self.pull_request(), &self.event) {
            (Some(PullRequest { base, head, .. }), _) => {
                let commit = commit.unwrap_or(&head.sha).to_owned();
                let left = match &self.github.parents(&commit).await?[..] {
                    [first, second] if *second == head.sha => first.clone(),
                    _ => {
                        let left = self.github.merge_base(&base.sha, &commit).await;
                        left.map_err(|error| if_gone(error, &base.branch, &base.sha))?
                    }
                };
                Some(ChangeBase {
                    name: base.branch.clone(),
                    tip: base.sha.clone(),
                    branch: base.branch.clone(),
                    left,
                    commit,
                })
            }
            (None, GithubEvent::MergeGroup(group)) => Some(ChangeBase {
                name: "the merge queue's base".to_owned(),
                tip: group.base.clone(),
                branch: group.branch().to_owned(),
                left: group.base.clone(),
                commit: group.head.clone(),
            }),
            _ => None,
        })
    }

    /// What changed since the base, or in a push.
    pub(super) async fn change(
        &self,
        project: &Project,
        base: Option<&ChangeBase>,
    ) -> AppResult<Change> {
        let (before, after) = match (base, &self.event) {
            (Some(base), _) => (&base.left, &base.commit),
            (
                None,
                GithubEvent::Push {
                    before: Some(before),
                    after,
                },
            ) => (before, after),
            (None, event) => {
                let why = match event {
                    GithubEvent::Push { .. } => "the branch is new",
                    _ => "the workflow's event names no change",
                };
                return Ok(Change::Everything {
                    why: why.to_owned(),
                });
            }
        };
        let between = match self.pull_request().zip(base) {
            Some((one, base)) => format!("{} to pull request {}", base.branch, one.number),
            None => format!("{before:.7} to {after:.7}"),
        };
        let files = project.files()?;
        Ok((self.github.change((before, after), between, files)).await?)
    }

    /// The template of the page, from the base as policy is: a change does not decide how it is reported. `None` if the base does
    /// not have it yet.
    pub(super) async fn template(
        &self,
        base: Option<&ChangeBase>,
        path: &str,
    ) -> AppResult<Option<Template>> {
        let Some(ChangeBase { name, tip, .. }) = base else {
            return files::read_template(Path::new(path)).map(Some);
        };
        let Some(bytes) = (self.github.file_at(path, tip, LARGEST_TEMPLATE)).await? else {
            say(&format!(
                "note: {} has no template {} yet, so the page has the usual layout",
                printable(name),
                printable(path)
            ));
            return Ok(None);
        };
        files::parse_template(path, &String::from_utf8_lossy(&bytes)).map(Some)
    }
}

impl ChangeBase {
    /// The base that policy comes from; its spec is at the first of these places where there is one.
    ///
    /// # Errors
    ///
    /// The base's commit is gone: the change is not judged by its own limits then.
    pub(super) async fn policy(
        &self,
        github: &Github,
        project: &Project,
        places: &[String],
    ) -> AppResult<Base> {
        let read = async {
            let root = &project.root;
            let files = base_files(github, root, places, &self.tip).await?;
            let prices = base_policy::price_place(&files);
            Ok::<_, ForgeError>(Base {
                name: self.name.clone(),
                sha: self.tip.clone(),
                files,
                prices: base_files(github, root, &prices, &self.tip).await?,
                tree: match project.traits().replays {
                    true => Some(github.tree(&self.tip).await?),
                    false => None,
                },
            })
        };
        let read = read.await;
        read.map_err(|error| if_gone(error, &self.name, &self.tip))
    }

    /// The commit to compare with; `None` if it is gone, which a note says.
    pub(super) async fn commit(
        self,
        github: &Github,
        project: &Project,
        places: &[String],
        notes: &mut Vec<String>,
    ) -> AppResult<Option<BaseCommit>> {
        let Self { branch, left, .. } = self;
        let files = match base_files(github, &project.root, places, &left).await {
            Ok(files) => files,
            Err(error) if error.kind == ForgeErrorKind::NotFound => {
                notes.push(format!(
                    "The change is compared with nothing: the commit {left:.7} that it left {branch} from is gone."
                ));
                return Ok(None);
            }
            Err(error) => return Err(error.into()),
        };
        // GitHub lists no link's text; the checkout mostly has the same links.
        let tree = match github.tree(&left).await {
            Ok(tree) => Tree::clone(&tree).knowing_links_of(project.files()?),
            Err(error) => {
                notes.push(format!(
                    "The code of commit {left:.7} of {branch} is not known: {error}."
                ));
                Tree::default()
            }
        };
        Ok(Some(BaseCommit::of(&branch, left, files, &tree)))
    }
}

/// Says of a base commit that GitHub does not have that it is gone; its head could be read.
fn if_gone(error: ForgeError, base: &str, sha: &str) -> AppError {
    match error.kind {
        ForgeErrorKind::NotFound => AppError::failed(format!(
            "the base commit {sha:.7} of {base} is gone, so there are no limits to judge by"
        ))
        .help("bring the pull request up to date with its base branch; a base that was pushed over by force is one reason")
        .during("reading the base's spec"),
        _ => error.into(),
    }
}

/// A commit's files at these places. One that lies at its place below `root` as well is not asked for.
async fn base_files(
    github: &Github,
    root: &Path,
    places: &[String],
    sha: &str,
) -> Result<Vec<BaseFile>, ForgeError> {
    let mut files = Vec::new();
    for place in places {
        let tree = github.tree(sha).await?;
        let file = tree
            .get(Path::new(place))
            .filter(|file| file.kind.is_file());
        let is_same = |here: &Vec<u8>| file.is_some_and(|file| blob_id(sha, here) == file.blob);
        let here = written_spec::read_limited(&root.join(place)).ok();
        let read = match here.filter(is_same) {
            Some(here) => Ok(Some(here)),
            None => github.file_at(place, sha, MAX_SPEC_BYTES).await,
        };
        let bytes = match read {
            Ok(bytes) => bytes.map(Ok),
            Err(error) if error.kind == ForgeErrorKind::Unreadable => Some(Err(error.to_string())),
            Err(error) => return Err(error),
        };
        let place = place.clone();
        files.push(BaseFile { place, bytes });
    }
    Ok(files)
}
