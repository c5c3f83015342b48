//! What the fake remembers.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard};

use serde_json::Value;

use super::fault::{Fault, Rule};
use super::files::{Files, Node, grow, object_id};
use super::pull::Pull;
use crate::fake::Record;

/// Who writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) login: String,
    pub(crate) id: u64,
    pub(crate) is_bot: bool,
}

impl User {
    pub(crate) fn person(login: &str) -> Self {
        Self::new(login, false)
    }

    /// A bot, such as `dependabot[bot]`.
    pub(crate) fn bot(login: &str) -> Self {
        Self::new(login, true)
    }

    /// Whom a workflow's own token writes as.
    pub(crate) fn actions() -> Self {
        Self {
            login: "github-actions[bot]".to_owned(),
            id: 41_898_282,
            is_bot: true,
        }
    }

    fn new(login: &str, is_bot: bool) -> Self {
        let letters = login.bytes().map(u64::from);
        Self {
            login: login.to_owned(),
            id: letters.fold(1, |id, letter| (id * 31 + letter) % 90_000_007),
            is_bot,
        }
    }
}

/// A comment under a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Comment {
    pub(crate) id: u64,
    /// Of the pull request.
    pub(crate) number: u64,
    pub(crate) user: User,
    pub(crate) body: String,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
    /// Whether it is hidden as outdated.
    pub(crate) is_minimized: bool,
}

/// A request that was made.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Said {
    pub(crate) method: String,
    /// With its query, from the API's root on.
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    /// Null where there was none.
    pub(crate) body: Value,
}

/// An issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Issue {
    pub(crate) number: u64,
    pub(crate) user: User,
    pub(crate) title: String,
    pub(crate) body: String,
    /// Why it is closed; none while it is open.
    pub(crate) closed_as: Option<String>,
    pub(crate) created_at: String,
    pub(crate) updated_at: String,
}

/// A status of a commit, or a check run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CommitCheck {
    pub(crate) id: u64,
    pub(crate) sha: String,
    /// What was said of it, and of a check run also its annotations, to which each change adds.
    pub(crate) said: Value,
}

/// A label that was put on a pull request or taken off.
#[derive(Debug, Clone)]
pub(super) struct LabelEvent {
    /// Of the pull request.
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) is_on: bool,
    pub(super) by: User,
    pub(super) at: String,
}

#[derive(Debug, Clone)]
pub(crate) struct Commit {
    pub(super) id: String,
    pub(super) parents: Vec<String>,
    pub(super) tree: String,
    pub(super) files: Files,
}

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) commits: HashMap<String, Commit>,
    pub(super) trees: BTreeMap<String, Vec<Node>>,
    pub(crate) tree_limit: usize,
    /// `HEAD`, branches and tags of `example/policies`, by name.
    pub(crate) references: BTreeMap<String, String>,
    pub(super) pulls: BTreeMap<u64, Pull>,
    pub(crate) comments: Vec<Comment>,
    pub(crate) issues: Vec<Issue>,
    pub(super) statuses: Vec<CommitCheck>,
    pub(crate) check_runs: Vec<CommitCheck>,
    pub(super) labels: Vec<LabelEvent>,
    /// The permission of people, by login.
    pub(crate) permissions: BTreeMap<String, String>,
    pub(crate) viewer: User,
    pub(super) faults: Vec<Rule>,
    pub(super) requests: Vec<Said>,
    ticks: i64,
    next_comment: u64,
}

impl State {
    pub(super) fn new() -> Self {
        Self {
            commits: HashMap::new(),
            trees: BTreeMap::new(),
            tree_limit: 100_000,
            references: BTreeMap::new(),
            pulls: BTreeMap::new(),
            comments: Vec::new(),
            issues: Vec::new(),
            statuses: Vec::new(),
            check_runs: Vec::new(),
            labels: Vec::new(),
            permissions: BTreeMap::new(),
            viewer: User::actions(),
            faults: Vec::new(),
            requests: Vec::new(),
            ticks: 0,
            next_comment: 2_400_000_001,
        }
    }

    /// The scripted clock: a second later each time it is looked at.
    pub(super) fn now(&mut self) -> String {
        self.ticks += 1;
        jiff::Timestamp::from_second(1_788_256_800 + self.ticks)
            .unwrap()
            .to_string()
    }

    pub(super) fn commit(&mut self, parents: &[&str], files: &Files) -> String {
        for parent in parents {
            assert!(self.commits.contains_key(*parent), "no commit {parent}");
        }
        let tree = grow(files, &mut self.trees);
        let number = self.commits.len();
        let id = object_id("commit", format!("{tree} {parents:?} {number}").as_bytes());
        let commit = Commit {
            id: id.clone(),
            parents: parents.iter().map(|parent| (*parent).to_owned()).collect(),
            tree,
            files: files.clone(),
        };
        self.commits.insert(id.clone(), commit);
        id
    }

    /// A commit by its id.
    pub(super) fn commit_at(&self, id: &str) -> Option<&Commit> {
        self.commits.get(id)
    }

    pub(super) fn comment(&mut self, number: u64, user: User, body: &str) -> u64 {
        let id = self.next_comment;
        self.next_comment += 7;
        let at = self.now();
        self.comments.push(Comment {
            id,
            number,
            user,
            body: body.to_owned(),
            created_at: at.clone(),
            updated_at: at,
            is_minimized: false,
        });
        id
    }

    /// Closes an issue.
    pub(crate) fn close_issue(&mut self, number: u64) {
        let now = self.now();
        let mut issues = self.issues.iter_mut();
        let issue = issues.find(|issue| issue.number == number);
        let issue = issue.expect("it was opened");
        issue.closed_as = Some("completed".to_owned());
        issue.updated_at = now;
    }

    /// Opens an issue; gives its number, which no pull request has.
    pub(super) fn issue(&mut self, user: User, title: &str, body: &str) -> u64 {
        let issues = self.issues.iter().map(|issue| issue.number);
        let highest = issues.chain(self.pulls.keys().copied()).max();
        let number = highest.unwrap_or(0) + 1;
        let at = self.now();
        self.issues.push(Issue {
            number,
            user,
            title: title.to_owned(),
            body: body.to_owned(),
            closed_as: None,
            created_at: at.clone(),
            updated_at: at,
        });
        number
    }

    /// The fault that this request meets, if any.
    pub(super) fn fault(&mut self, method: &str, path: &str) -> Option<Fault> {
        let matching = |rule: &&mut Rule| rule.method == method && path.contains(&rule.path);
        for rule in self.faults.iter_mut().filter(matching) {
            if rule.passing > 0 {
                rule.passing -= 1;
            } else if rule.failing > 0 {
                rule.failing -= 1;
                return Some(rule.fault.clone());
            }
        }
        None
    }

    /// The commit that both come from: the first of the base's line that the head knows.
    pub(super) fn merge_base(&self, base: &str, head: &str) -> Option<&Commit> {
        let of_head = self.ancestors(head);
        let of_base = self.ancestors(base);
        let shared = of_base.iter().find(|id| of_head.contains(id))?;
        self.commits.get(*shared)
    }

    /// The commit and all before it, nearest first.
    pub(super) fn ancestors<'a>(&'a self, commit: &'a str) -> Vec<&'a str> {
        let mut found = vec![commit];
        let mut next = 0;
        while let Some(id) = found.get(next) {
            for parent in &self.commits[*id].parents {
                if !found.contains(&parent.as_str()) {
                    found.push(parent);
                }
            }
            next += 1;
        }
        found
    }
}

/// The fake's state, and what does not change.
pub(super) struct Core {
    pub(super) state: Mutex<State>,
    pub(super) api_path: &'static str,
    pub(super) graphql_path: &'static str,
    pub(super) exchanges: Record,
}

impl Core {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
