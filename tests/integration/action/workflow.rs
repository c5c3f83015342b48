//! A step of a workflow: a checkout of a replayed project, a GitHub of our own, and `canary-gate action` in between.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use canary_gate_core::measurement::table::to_json_line;
use serde_json::{Value, json};

use crate::accuracy::comparison::timings;
use crate::github::{FakeGithub, Files, REPOSITORY, TOKEN};
use crate::project::{Finished, Project};

/// Recorded runs of twenty-eight workloads, as JSON lines.
fn runs() -> String {
    let runs = timings::read(include_str!("../../data/training-runs.csv")).unwrap();
    runs.iter().map(to_json_line).collect()
}

pub(crate) const NUMBER: u64 = 7;

/// The spec of one replayed job with this budget.
pub(crate) fn spec(budget: &str) -> String {
    format!(
        "\
version: 1
backend: replay
recording: runs.jsonl
prices: {{local: 1.20 USD/h}}
jobs:
  xgb_reg:
    paths: [train.py]
    training: {{command: [python3, train.py], channels: {{train: {{uri: data}}}}}}
    instance: local
    canary: {{design: fixed, max_share: 10000%, max_runtime: 5m}}
    budget: {budget}
"
    )
}

/// What the job takes lies well within it.
pub(crate) const ENOUGH: &str = "{time: 10m}";
/// It takes some minutes.
pub(crate) const TOO_LITTLE: &str = "{time: 20s}";

/// The files of the replayed project.
pub(crate) fn files(spec: &str, script: &str) -> Files {
    Files::new()
        .with("canary-gate.yml", spec)
        .with("train.py", script)
        .with("runs.jsonl", runs())
}

/// A pull request whose merge is checked out.
pub(crate) struct Workflow {
    pub(crate) github: FakeGithub,
    pub(crate) project: Project,
    base: String,
    head: String,
    merge: String,
    event_name: String,
    event: Option<Value>,
    run_id: u64,
    attempt: u32,
    updated_at: String,
    inputs: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
}

/// What a step left.
pub(crate) struct Step {
    pub(crate) finished: Finished,
    pub(crate) outputs: BTreeMap<String, String>,
    pub(crate) state: BTreeMap<String, String>,
    pub(crate) summary: String,
}

impl Workflow {
    /// The base holds `base_spec`; the pull request changes `train.py`, and the spec to `head_spec`.
    pub(crate) fn pull_request(base_spec: &str, head_spec: &str) -> Self {
        Self::between(
            &files(base_spec, "print(1)\n"),
            &files(head_spec, "print(2)\n"),
        )
    }

    /// A pull request from one set of files to another.
    pub(crate) fn between(base_files: &Files, head_files: &Files) -> Self {
        let github = FakeGithub::start();
        let base = github.commit(&[], base_files);
        let mut workflow = Self {
            github,
            project: Project::empty(),
            base,
            head: String::new(),
            merge: String::new(),
            event_name: "pull_request".to_owned(),
            event: None,
            run_id: 4821,
            attempt: 1,
            updated_at: "2026-11-21T09:14:07Z".to_owned(),
            inputs: BTreeMap::new(),
            variables: BTreeMap::new(),
        };
        workflow.push(head_files);
        workflow
    }

    /// What lies in the checkout becomes these files, pushed to the pull request.
    pub(crate) fn push(&mut self, files: &Files) {
        self.head = self.github.commit(&[&self.base], files);
        self.merge = self.github.commit(&[&self.base, &self.head], files);
        self.github
            .open_pull_request(NUMBER, &self.base, &self.head);
        let merge = self.merge.clone();
        self.github
            .change_pull_request(NUMBER, |pull| pull.merge_commit = Some(merge));
        for (path, content) in files.contents() {
            self.project.write(path, content);
        }
        self.project
            .write(".git/HEAD", &format!("{}\n", self.merge));
    }

    /// The base gets other files, and the pull request is brought up to date with it.
    pub(crate) fn rebase(&mut self, base: &Files, head: &Files) {
        self.base = self.github.commit(&[&self.base], base);
        self.push(head);
    }

    /// A later run of the workflow, on a later event.
    pub(crate) fn later(&mut self) {
        self.run_id += 1;
        self.updated_at = "2026-11-21T09:44:07Z".to_owned();
    }

    /// A run of the first event, started a second time.
    pub(crate) fn earlier(&mut self) {
        self.run_id -= 1;
        self.attempt += 1;
        self.updated_at = "2026-11-21T09:14:07Z".to_owned();
    }

    #[must_use]
    pub(crate) fn input(mut self, name: &str, value: &str) -> Self {
        self.inputs.insert(name.to_owned(), value.to_owned());
        self
    }

    #[must_use]
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Another event than that of the pull request.
    #[must_use]
    pub(crate) fn event(mut self, name: &str, event: Value) -> Self {
        self.event_name = name.to_owned();
        self.event = Some(event);
        self
    }

    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    pub(crate) fn head(&self) -> &str {
        &self.head
    }

    pub(crate) fn merge(&self) -> &str {
        &self.merge
    }

    /// The pull request's own event, as GitHub writes it.
    fn pull_request_event(&self) -> Value {
        let pull = self.github.pull_request(NUMBER);
        let repository = |name: &Option<String>| match name {
            Some(name) => json!({"full_name": name}),
            None => Value::Null,
        };
        json!({
            "action": "synchronize",
            "number": NUMBER,
            "pull_request": {
                "number": NUMBER,
                "state": "open",
                "updated_at": self.updated_at,
                "changed_files": 2,
                "merge_commit_sha": self.merge,
                "base": {"ref": "main", "sha": self.base, "repo": {"full_name": REPOSITORY}},
                "head": {"ref": "feature", "sha": self.head, "repo": repository(&pull.head_repository)},
            },
        })
    }

    /// A step of a workflow on the base branch, of which the base's files are checked out; then the pull request's are again.
    pub(crate) fn on_main(
        &mut self,
        event_name: &str,
        files: &Files,
        inputs: &[(&str, &str)],
    ) -> Step {
        let none = "0".repeat(40);
        let event = match event_name {
            "push" => json!({"ref": "refs/heads/main", "before": none, "after": self.base}),
            _ => json!({}),
        };
        let checked_out: Vec<(String, String)> = files
            .contents()
            .map(|(path, content)| {
                let was = self.project.read(path);
                self.project.write(path, content);
                (path.to_owned(), was)
            })
            .collect();
        let head = self.project.read(".git/HEAD");
        self.project.write(".git/HEAD", &format!("{}\n", self.base));
        let mut command = self.command();
        self.project.write(".runner/event.json", &event.to_string());
        command
            .env("GITHUB_EVENT_NAME", event_name)
            .env("GITHUB_SHA", &self.base)
            .env("GITHUB_REF", "refs/heads/main")
            .env("GITHUB_REF_NAME", "main")
            .env("GITHUB_RUN_ID", self.run_id.to_string());
        for (name, value) in inputs {
            command.env(format!("INPUT_{}", name.to_uppercase()), value);
        }
        let step = Finished::new(&command.output().unwrap(), self.project.root());
        let step = self.step(step);
        for (path, was) in checked_out {
            self.project.write(&path, &was);
        }
        self.project.write(".git/HEAD", &head);
        self.run_id += 1;
        step
    }

    /// The step, ready to start.
    pub(crate) fn command(&self) -> Command {
        let event = self
            .event
            .clone()
            .unwrap_or_else(|| self.pull_request_event());
        let runner = |name: &str| self.project.path(&format!(".runner/{name}"));
        fs::create_dir_all(self.project.path(".runner")).unwrap();
        fs::write(runner("event.json"), event.to_string()).unwrap();
        for file in ["output", "state"] {
            fs::write(runner(file), "").unwrap();
        }
        let mut command = self.project.gate(&["action"]);
        self.github.reach(&mut command);
        command
            .env("GITHUB_ACTIONS", "true")
            .env("GITHUB_SERVER_URL", "https://github.com")
            .env("GITHUB_EVENT_NAME", &self.event_name)
            .env("GITHUB_EVENT_PATH", runner("event.json"))
            .env("GITHUB_SHA", &self.merge)
            .env("GITHUB_REF", "refs/pull/7/merge")
            .env("GITHUB_REF_NAME", "7/merge")
            .env("GITHUB_RUN_ID", self.run_id.to_string())
            .env("GITHUB_RUN_ATTEMPT", self.attempt.to_string())
            .env("GITHUB_OUTPUT", runner("output"))
            .env("GITHUB_STATE", runner("state"))
            .env("GITHUB_STEP_SUMMARY", runner("summary.md"))
            .env("INPUT_GITHUB-TOKEN", TOKEN)
            .env("INPUT_COMMAND", "")
            .env("CANARY_GATE_PACE", "0")
            .envs(&self.variables);
        for (name, value) in &self.inputs {
            command.env(format!("INPUT_{}", name.to_uppercase()), value);
        }
        command
    }

    /// Runs the step to its end.
    pub(crate) fn run(&self) -> Step {
        self.run_with(|_| {})
    }

    /// The same, with a last word on the command.
    pub(crate) fn run_with(&self, prepare: impl FnOnce(&mut Command)) -> Step {
        let mut command = self.command();
        prepare(&mut command);
        self.step(Finished::new(
            &command.output().unwrap(),
            self.project.root(),
        ))
    }

    /// The post step of a step, on what that wrote down.
    pub(crate) fn post_step(&self, step: &Step) -> Finished {
        self.post_step_with(step, |_| {})
    }

    /// The same, with a last word on the command.
    pub(crate) fn post_step_with(
        &self,
        step: &Step,
        prepare: impl FnOnce(&mut Command),
    ) -> Finished {
        let mut command = self.command();
        for (name, value) in &step.state {
            command.env(format!("STATE_{name}"), value);
        }
        prepare(&mut command);
        Finished::new(&command.output().unwrap(), self.project.root())
    }

    /// What a step left that has ended.
    pub(crate) fn step(&self, finished: Finished) -> Step {
        let read = |name: &str| {
            fs::read_to_string(self.project.path(&format!(".runner/{name}"))).unwrap_or_default()
        };
        Step {
            finished,
            outputs: file_commands(&read("output")),
            state: file_commands(&read("state")),
            summary: read("summary.md"),
        }
    }

    /// The one comment that is there says all of this.
    #[track_caller]
    pub(crate) fn comments(&self, said: &[&str]) {
        says_all(&self.comment(), said);
    }

    /// The one comment that is there.
    #[track_caller]
    pub(crate) fn comment(&self) -> String {
        let comments = self.github.comments(NUMBER);
        assert_eq!(comments.len(), 1, "{comments:#?}");
        comments[0].body.clone()
    }
}

impl Step {
    #[track_caller]
    pub(crate) fn ended_with(mut self, code: i32) -> Self {
        self.finished = self.finished.ended_with(code);
        self
    }

    /// The summary says all of this.
    #[track_caller]
    pub(crate) fn says(&self, said: &[&str]) {
        says_all(&self.summary, said);
    }

    #[track_caller]
    pub(crate) fn output(&self, name: &str) -> &str {
        self.outputs
            .get(name)
            .unwrap_or_else(|| panic!("no {name} in {:?}", self.outputs))
    }
}

#[track_caller]
pub(crate) fn says_all(text: &str, said: &[&str]) {
    for said in said {
        assert!(text.contains(said), "no `{said}` in:\n{text}");
    }
}

/// Reads `name<<DELIMITER` blocks as the runner does.
fn file_commands(text: &str) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let (name, delimiter) = line.split_once("<<").expect("a block begins");
        let value: Vec<&str> = lines
            .by_ref()
            .take_while(|line| *line != delimiter)
            .collect();
        values.insert(name.to_owned(), value.join("\n"));
    }
    values
}
