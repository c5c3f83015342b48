//! Where a run comes from: which part of the history it writes and reads, and what its records say of it.

use crate::history::{Command, Event, Scope, Writer};
use crate::workspace::environment::variable;
use crate::workspace::{Checkout, Project};

/// The origin of a run.
#[derive(Debug, Clone)]
pub(crate) struct RunOrigin {
    pub(crate) scope: Scope,
    pub(crate) writer: Writer,
}

impl RunOrigin {
    /// The origin by the variables of GitHub Actions; local without them.
    pub(crate) fn of_environment(project: &Project, command: Command) -> Self {
        let commit = project.checkout.as_ref().and_then(Checkout::commit);
        if variable("GITHUB_ACTIONS").as_deref() == Some("true") {
            return Self::in_actions(&variable, commit.as_deref(), command);
        }
        let checkout = project.checkout.as_ref().and_then(Checkout::git);
        let branch = checkout.and_then(crate::git::GitCheckout::branch);
        Self::new(Scope::Local, Event::Local, command, branch)
    }

    fn new(scope: Scope, event: Event, command: Command, branch: Option<String>) -> Self {
        let writer = Writer {
            event,
            command,
            branch,
            pull_request: None,
            run_url: None,
            run: None,
        };
        Self { scope, writer }
    }

    /// The origin in a step of GitHub Actions, by the runner's variables; `commit` is checked out.
    pub(crate) fn in_actions(
        variable: &dyn Fn(&str) -> Option<String>,
        commit: Option<&str>,
        command: Command,
    ) -> Self {
        let origin = |scope, event, branch| {
            let mut one = Self::new(scope, event, command, branch);
            one.writer.run_url = run_url(variable);
            one
        };
        let reference = variable("GITHUB_REF").unwrap_or_default();
        let branch = reference.strip_prefix("refs/heads/").map(str::to_owned);
        let pull_request = reference.strip_prefix("refs/pull/");
        if let Some(number) = pull_request.and_then(|rest| rest.split('/').next()?.parse().ok()) {
            let branch = variable("GITHUB_HEAD_REF");
            let mut one = origin(Scope::PullRequest(number), Event::PullRequest, branch);
            one.writer.pull_request = Some(number);
            return one;
        }
        let event = match variable("GITHUB_EVENT_NAME").as_deref() {
            Some("push") => Event::Push,
            Some("schedule") => Event::Schedule,
            Some("workflow_dispatch") => Event::Dispatch,
            Some("merge_group") => return origin(Scope::Queue, Event::MergeGroup, branch),
            _ => return origin(Scope::Queue, Event::Dispatch, branch),
        };
        // A workflow can check out anything; only the commit that started it belongs to the branch.
        if commit.is_none() || commit != variable("GITHUB_SHA").as_deref() {
            return origin(Scope::Queue, event, None);
        }
        origin(Scope::Main, event, branch)
    }

    /// The origin of a pull request's check, whatever event started it.
    pub(crate) fn of_pull_request(self, number: u64, branch: &str) -> Self {
        Self {
            scope: Scope::PullRequest(number),
            writer: Writer {
                event: Event::PullRequest,
                branch: Some(branch.to_owned()),
                pull_request: Some(number),
                ..self.writer
            },
        }
    }

    /// Whether this run may set the baseline of drift checks: a push, whose change its pull request has reported.
    pub(crate) fn may_set_the_baseline(&self) -> bool {
        self.scope == Scope::Main
            && self.writer.event == Event::Push
            && self.writer.command == Command::Run
    }
}

fn run_url(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let server = variable("GITHUB_SERVER_URL")?;
    let repository = variable("GITHUB_REPOSITORY")?;
    let run = variable("GITHUB_RUN_ID")?;
    Some(format!("{server}/{repository}/actions/runs/{run}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "3f9c2e1d8a7054b6c1f2e3d4a5b6c7d8e9f0a1b2";

    #[test]
    fn only_a_commit_of_the_branch_itself_writes_what_others_are_compared_with() {
        let (main, merge) = ("refs/heads/main", "refs/pull/12/merge");
        let other = "0000000111111122222223333333444444455555";
        let queue = (Scope::Queue, Event::Dispatch);
        let own = (Scope::PullRequest(12), Event::PullRequest);
        for (name, reference, commit, (scope, event)) in [
            ("push", main, SHA, (Scope::Main, Event::Push)),
            ("schedule", main, SHA, (Scope::Main, Event::Schedule)),
            ("workflow_dispatch", main, SHA, (Scope::Main, queue.1)),
            ("workflow_dispatch", main, other, queue),
            ("merge_group", main, SHA, (queue.0, Event::MergeGroup)),
            ("pull_request_target", main, SHA, queue),
            ("issue_comment", main, SHA, queue),
            ("workflow_run", main, SHA, queue),
            ("pull_request", merge, SHA, own),
        ] {
            let variable = |wanted: &str| {
                let value = match wanted {
                    "GITHUB_EVENT_NAME" => name,
                    "GITHUB_REF" => reference,
                    "GITHUB_HEAD_REF" => "faster",
                    "GITHUB_SHA" => SHA,
                    _ => return None,
                };
                Some(value.to_owned())
            };
            let origin = RunOrigin::in_actions(&variable, Some(commit), Command::Run);
            let found = (origin.scope, origin.writer.event);
            assert_eq!(found, (scope, event), "{name}");
            let branch = match (scope, commit == SHA) {
                (Scope::PullRequest(_), _) => Some("faster"),
                (_, true) => Some("main"),
                (_, false) => None,
            };
            assert_eq!(origin.writer.branch.as_deref(), branch, "{name}");
        }
    }
}
