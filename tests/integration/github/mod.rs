//! A small GitHub on 127.0.0.1: the repository `example/models` with its commits, pull requests, comments and issues, and
//! faults that a test asks for.
//!
//! ```ignore
//! let github = FakeGithub::start();
//! let base = github.commit(&[], &Files::new().with("train.py", "print(1)"));
//! let head = github.commit(&[&base], &Files::new().with("train.py", "print(2)"));
//! github.open_pull_request(7, &base, &head);
//! let stranger = github.comment(7, &User::person("mallory"), "<!-- canary-gate v1 -->");
//! github.fail("POST", "/issues/7/comments").times(2).with(Fault::Status(502));
//! github.reach(&mut command);
//! assert_eq!(github.comments(7).len(), 2);
//! ```
//!
//! What was said is judged later by GitHub's own description, see `tests/github/judge.mjs`.

mod answers;
mod fault;
mod files;
mod pull;
mod routes;
mod server;
mod state;

use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};

pub(crate) use fault::Fault;
pub(crate) use files::Files;
pub(crate) use state::{Comment, CommitCheck, Issue, Said, User};

use fault::{FaultBuilder, Rule};
use pull::Pull;
use state::{Core, LabelEvent, State};

use crate::fake::{Record, Server};

/// The repository that the fake has.
pub(crate) const REPOSITORY: &str = "example/models";
/// The only token that the fake lets in.
pub(crate) const TOKEN: &str = "ghs_token_of_the_fake_github_0123456789";

/// The fake. It ends when it is dropped.
pub(crate) struct FakeGithub {
    core: Arc<Core>,
    server: Server,
}

impl FakeGithub {
    /// Like github.com: the API at the root, GraphQL at `/graphql`.
    pub(crate) fn start() -> Self {
        Self::with("", "/graphql", Record::start("github-exchanges"))
    }

    /// Like GitHub Enterprise Server: the API at `/api/v3`, GraphQL at `/api/graphql`.
    pub(crate) fn enterprise() -> Self {
        Self::with("/api/v3", "/api/graphql", Record::start("github-exchanges"))
    }

    /// A fake for answers that GitHub's description does not have: it does not judge them.
    pub(crate) fn unjudged() -> Self {
        Self::with("", "/graphql", Record::nothing())
    }

    fn with(api_path: &'static str, graphql_path: &'static str, exchanges: Record) -> Self {
        let core = Arc::new(Core {
            state: Mutex::new(State::new()),
            api_path,
            graphql_path,
            exchanges,
        });
        Self {
            server: Server::start(server::router(core.clone())),
            core,
        }
    }

    // How it is reached.

    /// What `GITHUB_API_URL` says.
    pub(crate) fn api_url(&self) -> String {
        format!("{}{}", self.server.address(), self.core.api_path)
    }

    /// What `GITHUB_GRAPHQL_URL` says.
    pub(crate) fn graphql_url(&self) -> String {
        format!("{}{}", self.server.address(), self.core.graphql_path)
    }

    /// The runner's variables for a step that say where GitHub is.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("GITHUB_API_URL", self.api_url()),
            ("GITHUB_GRAPHQL_URL", self.graphql_url()),
            ("GITHUB_SERVER_URL", self.server.address().to_owned()),
            ("GITHUB_REPOSITORY", REPOSITORY.to_owned()),
        ]
    }

    /// The same, for a command that is about to start.
    pub(crate) fn reach(&self, command: &mut Command) {
        command.envs(self.environment());
    }

    /// What it remembers, to be changed as somebody else could.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.core.state()
    }

    // The repository.

    /// A commit with these files and parents; gives its SHA-1.
    pub(crate) fn commit(&self, parents: &[&str], files: &Files) -> String {
        self.state().commit(parents, files)
    }

    // Pull requests.

    /// Opens a pull request from a branch of the same repository into `main`, by the user `octocat`.
    pub(crate) fn open_pull_request(&self, number: u64, base: &str, head: &str) {
        let pull = Pull::new(number, base, head);
        self.state().pulls.insert(number, pull);
    }

    /// Changes what a pull request says, for example to let it come from a fork.
    pub(crate) fn change_pull_request(&self, number: u64, change: impl FnOnce(&mut Pull)) {
        let mut state = self.state();
        change(state.pulls.get_mut(&number).expect("it was opened"));
    }

    /// What a pull request says.
    pub(crate) fn pull_request(&self, number: u64) -> Pull {
        self.state().pulls[&number].clone()
    }

    /// Puts a label on a pull request, or takes it off.
    pub(crate) fn label(&self, number: u64, name: &str, is_on: bool, by: &User, at: &str) {
        self.state().labels.push(LabelEvent {
            number,
            name: name.to_owned(),
            is_on,
            by: by.clone(),
            at: at.to_owned(),
        });
    }

    /// Makes somebody a collaborator with this permission: `admin`, `write`, `read` or `none`.
    pub(crate) fn permit(&self, login: &str, permission: &str) {
        let (login, permission) = (login.to_owned(), permission.to_owned());
        self.state().permissions.insert(login, permission);
    }

    // Comments.

    /// A comment that somebody has written under a pull request; gives its id.
    pub(crate) fn comment(&self, number: u64, user: &User, body: &str) -> u64 {
        self.state().comment(number, user.clone(), body)
    }

    /// All comments of a pull request, oldest first.
    pub(crate) fn comments(&self, number: u64) -> Vec<Comment> {
        let state = self.state();
        let all = state.comments.iter();
        all.filter(|comment| comment.number == number)
            .cloned()
            .collect()
    }

    // Issues.

    /// An issue that somebody has opened; gives its number.
    pub(crate) fn issue(&self, user: &User, title: &str, body: &str) -> u64 {
        self.state().issue(user.clone(), title, body)
    }

    /// All issues, open or not, oldest first.
    pub(crate) fn issues(&self) -> Vec<Issue> {
        self.state().issues.clone()
    }

    // Faults.

    /// The start of a sentence: `github.fail("GET", "/pulls/7/files").times(2).with(fault)`, for requests of this method
    /// whose path and query hold the text; without a middle it is every such request.
    pub(crate) fn fail(&self, method: &str, path: &str) -> FaultBuilder<'_> {
        let rule = Rule {
            method: method.to_owned(),
            path: path.to_owned(),
            passing: 0,
            failing: u64::MAX,
            fault: Fault::Dropped,
        };
        FaultBuilder(self, rule)
    }

    /// No request fails any more.
    pub(crate) fn recover(&self) {
        self.state().faults.clear();
    }

    // What happened.

    /// Every request, in order.
    pub(crate) fn requests(&self) -> Vec<Said> {
        self.state().requests.clone()
    }

    /// The check runs of commits, oldest first.
    pub(crate) fn check_runs(&self) -> Vec<CommitCheck> {
        self.state().check_runs.clone()
    }

    /// The statuses of commits, in the order that they were set.
    pub(crate) fn statuses(&self) -> Vec<CommitCheck> {
        self.state().statuses.clone()
    }

    /// How many requests of this method there were whose path and query hold the text.
    pub(crate) fn calls(&self, method: &str, path: &str) -> usize {
        let state = self.state();
        let matching = |said: &&Said| said.method == method && said.path.contains(path);
        state.requests.iter().filter(matching).count()
    }
}
