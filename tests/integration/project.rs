//! A small project in a temporary folder, and the binary run in it with a scrubbed environment.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A project with a spec, a script and data. Built step by step, then run.
pub(crate) struct Project {
    folder: TempDir,
}

/// What a finished command said.
#[derive(Clone)]
pub(crate) struct Finished {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Project {
    /// An empty folder that no git knows.
    pub(crate) fn empty() -> Self {
        Self {
            folder: tempfile::Builder::new()
                .prefix("canary-gate-test-")
                .tempdir()
                .unwrap(),
        }
    }

    /// A project whose training script is the shell text `script`, with 100 data files of rising size.
    ///
    /// The canaries take one, two and three files, twice each, and may run for a minute.
    pub(crate) fn with_script(script: &str) -> Self {
        Self::empty()
            .file("train.sh", script)
            .data("data", 100)
            .spec("    budget: {time: 1h}\n")
    }

    /// What every `train.sh` and `start.sh` begins with: a canary that opens no file of its sample says nothing.
    const READS: &'static str =
        "find \"${SM_INPUT_DIR:-/nowhere}/data\" -type f -exec head -c 1 {} + > /dev/null 2>&1\n";
    /// The same for a script in Python.
    pub(crate) const READS_IN_PYTHON: &'static str = "\
import os as _os
for _at, _, _names in _os.walk(_os.environ['SM_INPUT_DIR'] + '/data'):
    for _name in _names: open(_os.path.join(_at, _name), 'rb').close()
";

    /// Writes the spec of job `sums` with `more` at the end, indented as its keys are.
    pub(crate) fn spec(self, more: &str) -> Self {
        let spec = format!("{}{more}", Self::SPEC);
        self.file("canary-gate.yml", &spec)
    }

    pub(crate) const SPEC: &'static str = "\
version: 1
backend: local
jobs:
  sums:
    training:
      command: [sh, train.sh]
      channels:
        train: {uri: data}
    instance: local
    canary: {design: fixed, max_share: 10000%, fractions: [1%, 2%, 3%], replicates: 2, max_runtime: 1m}
";

    /// Writes a file; its folders are made.
    pub(crate) fn file(self, path: &str, content: &str) -> Self {
        self.write(path, content);
        self
    }

    /// Writes a file of a project that is built.
    pub(crate) fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let is_script = path.ends_with("train.sh") || path.ends_with("start.sh");
        let start = if is_script { Self::READS } else { "" };
        fs::write(path, format!("{start}{content}")).unwrap();
    }

    /// Writes `count` data files, each with its number in a few hundred bytes.
    pub(crate) fn data(self, folder: &str, count: usize) -> Self {
        for index in 0..count {
            let line = format!("{index}\n");
            self.write(
                &format!("{folder}/part-{index:03}.csv"),
                &line.repeat(100 + index % 7),
            );
        }
        self
    }

    /// Makes the folder a git checkout with everything committed.
    pub(crate) fn committed(self) -> Self {
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        self.commit("start");
        self
    }

    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", message]);
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let mut command = self.command("git");
        command
            .args([
                "-c",
                "user.name=Test",
                "-c",
                "user.email=test@example.invalid",
            ])
            .args(arguments);
        let output = command.output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    /// What the records of a kind in `.canary-gate/` measured, of all jobs, oldest first.
    pub(crate) fn recorded(&self, kind: &str) -> Vec<serde_json::Value> {
        let Ok(jobs) = fs::read_dir(self.path(".canary-gate/local")) else {
            return Vec::new();
        };
        let files = jobs.flat_map(|job| fs::read_dir(job.unwrap().path()).unwrap());
        let mut paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        paths.retain(|path| name(path).contains(&format!("-{kind}-")));
        paths.sort_by_key(|path| name(path));
        let read = |path: &PathBuf| fs::read_to_string(path).unwrap();
        let records = paths.iter().map(read);
        let record = |text: String| serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let mut records: Vec<_> = records.map(record).collect();
        let measurements = records.iter_mut();
        measurements
            .map(|record| record["content"]["measurement"].take())
            .collect()
    }

    /// Runs `canary-gate ARGUMENTS` in the project's folder.
    pub(crate) fn run(&self, arguments: &[&str]) -> Finished {
        self.run_with(arguments, |_| {})
    }

    /// The same, with a last word on the command.
    pub(crate) fn run_with(
        &self,
        arguments: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> Finished {
        let mut command = self.gate(arguments);
        prepare(&mut command);
        Finished::new(&command.output().unwrap(), self.root())
    }

    /// `canary-gate ARGUMENTS`, ready to start.
    pub(crate) fn gate(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_canary-gate"));
        command.args(arguments);
        command
    }

    /// Runs a shell's script in the project's folder, up to its first failure.
    pub(crate) fn shell(&self, script: &str) -> Finished {
        Finished::new(&self.shell_command(script).output().unwrap(), self.root())
    }

    /// A shell with this script, ready to start.
    pub(crate) fn shell_command(&self, script: &str) -> Command {
        let mut command = self.command("sh");
        command.args(["-eu", "-c", script]);
        command
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", self.root())
            // Most tests are of what only the whole report says.
            .env("CANARY_GATE_DETAILS", "true")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            // A checkout above the temporary folder is not the test's.
            .env("GIT_CEILING_DIRECTORIES", self.root().parent().unwrap())
            .stdin(Stdio::null());
        command
    }
}

impl Finished {
    pub(crate) fn new(output: &Output, root: &Path) -> Self {
        let text = |bytes: &[u8]| {
            let real = root.canonicalize().unwrap();
            String::from_utf8(bytes.to_vec())
                .unwrap()
                .replace(real.to_str().unwrap(), "[PROJECT]")
                .replace(root.to_str().unwrap(), "[PROJECT]")
        };
        Self {
            code: output.status.code().unwrap_or(-1),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }

    /// Everything a person saw, for a snapshot.
    pub(crate) fn seen(&self) -> String {
        let mut text = format!("code {}\n", self.code);
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !stream.is_empty() {
                let _ = write!(text, "--- {name}\n{stream}");
            }
        }
        text
    }

    /// Fails the test, showing everything, unless the command ended with `code`.
    #[track_caller]
    pub(crate) fn ended_with(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}", self.seen());
        self
    }

    /// Fails the test, showing everything, unless standard error holds `text`.
    #[track_caller]
    pub(crate) fn complained(self, text: &str) -> Self {
        assert!(
            self.stderr.contains(text),
            "no {text:?} in\n{}",
            self.seen()
        );
        self
    }

    /// Fails the test, showing everything, unless standard output holds `text`.
    #[track_caller]
    pub(crate) fn reported(self, text: &str) -> Self {
        assert!(
            self.stdout.contains(text),
            "no {text:?} in\n{}",
            self.seen()
        );
        self
    }

    /// Standard output without what is another the next time: moments, days and commits.
    pub(crate) fn stdout_without_times(&self) -> String {
        let time = regex::Regex::new(r"\d{4}-\d\d-\d\d(T[0-9:.]+Z|\s+\d\d:\d\d\s+UTC)?").unwrap();
        let commit = regex::Regex::new(r"\b[0-9a-f]{7}\b").unwrap();
        let text = time.replace_all(&self.stdout, "[TIME]");
        commit.replace_all(&text, "[COMMIT]").into_owned()
    }

    /// Standard error as one line, without the frame that a spec error draws around its words.
    pub(crate) fn words(&self) -> String {
        let words = self.stderr.split_whitespace();
        let words = words.filter(|word| *word != "│");
        words.collect::<Vec<_>>().join(" ")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in\n{}", self.seen()))
    }
}
