//! Where a run comes from: which part of the history it writes and reads, and what its records say of it.

use crate::history::Scope;
use crate::history::record::{Command, Event, Writer};
use crate::workspace::checkout::Checkout;
use crate::workspace::project::Project;

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
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let origin = Self::of(&variable, commit.as_deref(), command);
        if origin.scope != Scope::Local {
            return origin;
        }
        let checkout = project.checkout.as_ref().and_then(Checkout::git);
        Self {
            writer: Writer {
                branch: checkout.and_then(crate::git::GitCheckout::branch),
                ..origin.writer
            },
            ..origin
        }
    }

    /// `commit` is checked out.
    fn of(
        variable: &dyn Fn(&str) -> Option<String>,
        commit: Option<&str>,
        command: Command,
    ) -> Self {
        if variable("GITHUB_ACTIONS").as_deref() == Some("true") {
            return Self::in_actions(variable, commit, command);
        }
        Self {
            scope: Scope::Local,
            writer: Writer {
                event: Event::Local,
                command,
                branch: None,
                pull_request: None,
                run_url: None,
                run: None,
            },
        }
    }

    /// The origin in a step of GitHub Actions, by the runner's variables; `commit` is checked out.
    pub(crate) fn in_actions(
        variable: &dyn Fn(&str) -> Option<String>,
        commit: Option<&str>,
        command: Command,
    ) -> Self {
        let origin = |scope, event, branch, pull_request| Self {
            scope,
            writer: Writer {
                event,
                command,
                branch,
                pull_request,
                run_url: run_url(variable),
                run: None,
            },
        };
        let reference = variable("GITHUB_REF").unwrap_or_default();
        let branch = reference.strip_prefix("refs/heads/").map(str::to_owned);
        let pull_request = reference
            .strip_prefix("refs/pull/")
            .and_then(|rest| rest.split('/').next()?.parse().ok());
        if let Some(number) = pull_request {
            let branch = variable("GITHUB_HEAD_REF");
            return origin(
                Scope::PullRequest(number),
                Event::PullRequest,
                branch,
                Some(number),
            );
        }
        let event = match variable("GITHUB_EVENT_NAME").as_deref() {
            Some("push") => Event::Push,
            Some("schedule") => Event::Schedule,
            Some("workflow_dispatch") => Event::Dispatch,
            Some("merge_group") => return origin(Scope::Queue, Event::MergeGroup, branch, None),
            _ => return origin(Scope::Queue, Event::Dispatch, branch, None),
        };
        // A workflow can check out anything; only the commit that started it belongs to the branch.
        if commit.is_none() || commit != variable("GITHUB_SHA").as_deref() {
            return origin(Scope::Queue, event, None, None);
        }
        origin(Scope::Main, event, branch, None)
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

    fn of(variables: &[(&str, &str)], commit: &str) -> (Scope, Event, Option<String>) {
        let actions = [("GITHUB_ACTIONS", "true"), ("GITHUB_SHA", SHA)];
        let origin = RunOrigin::of(
            &|name| {
                let mut known = variables.iter().chain(&actions);
                let found = known.find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            },
            Some(commit),
            Command::Run,
        );
        (origin.scope, origin.writer.event, origin.writer.branch)
    }

    #[test]
    fn a_push_and_a_schedule_write_what_others_are_compared_with() {
        let main = Some("main".to_owned());
        for (name, event) in [
            ("push", Event::Push),
            ("schedule", Event::Schedule),
            ("workflow_dispatch", Event::Dispatch),
        ] {
            let variables = [
                ("GITHUB_EVENT_NAME", name),
                ("GITHUB_REF", "refs/heads/main"),
            ];
            assert_eq!(of(&variables, SHA), (Scope::Main, event, main.clone()));
        }
    }

    #[test]
    fn a_pull_request_writes_its_own() {
        let variables = [
            ("GITHUB_EVENT_NAME", "pull_request"),
            ("GITHUB_REF", "refs/pull/12/merge"),
            ("GITHUB_HEAD_REF", "faster"),
        ];
        let branch = Some("faster".to_owned());
        assert_eq!(
            of(&variables, SHA),
            (Scope::PullRequest(12), Event::PullRequest, branch)
        );
    }

    #[test]
    fn what_is_not_the_branch_itself_is_compared_with_nothing_else() {
        let other = "0000000111111122222223333333444444455555";
        let dispatched = [
            ("GITHUB_EVENT_NAME", "workflow_dispatch"),
            ("GITHUB_REF", "refs/heads/main"),
        ];
        assert_eq!(of(&dispatched, other).0, Scope::Queue);
        for name in [
            "merge_group",
            "pull_request_target",
            "issue_comment",
            "workflow_run",
        ] {
            let variables = [
                ("GITHUB_EVENT_NAME", name),
                ("GITHUB_REF", "refs/heads/main"),
            ];
            assert_eq!(of(&variables, SHA).0, Scope::Queue, "{name}");
        }
    }

    #[test]
    fn anywhere_else_a_run_is_local() {
        let origin = RunOrigin::of(&|_| None, Some(SHA), Command::Run);
        assert_eq!(origin.scope, Scope::Local);
    }
}
