//! The cases of `tests/scenarios`: each a small project, commands in it, and what they say.
//!
//! `## TITLE` begins a case. `### PATH` and the lines below it are a file of its project; `$ COMMAND` is run by a shell, in which
//! `$PYTHON` may have pyarrow and `$REPOSITORY` is this repository. What is written so before the first case, each case begins with.
//! A case that begins with a table is run once for each row, with the row's cells in place of the `<NAME>`s of its head.
//! The lines below a command say (`tests/scenarios/bin` has programs that make recordings and look into reports)
//!
//! - `? CODE`: its exit code; 0 without.
//! - `> WORDS` and `! WORDS`: what stands on standard output and on standard error, where all white space is one space.
//! - `+ WORDS` and `- WORDS`: what stands on one of them, and on neither.
//! - `= SENTENCE`: what is so of the JSON on standard output, see [`document::is_so`].
//! - `~ WORDS`: where they stand on either, this machine cannot do what the case needs, and its rest is skipped.
//!
//! `% WORDS` is a remark. `@ keep: [NAME, PATH]` keeps what stands at a path, and `{kept.NAME}` is its text; so is `{aws.jobs.0.name}`.
//!
//! Below `aws` the project is one on SageMaker:
//!
//! - `@ ACT`: what is done to the project and to the fake AWS, one of [`aws::Act`] in YAML.
//! - `& COMMAND`: begins a command, which `^ SIGNAL` ends, or waits for where it is `-`. `^ wait SENTENCE` waits until that is so.
//!
//! Below `action` folders of the project are commits of the fake GitHub, and `$CHECKOUT` is what a workflow has checked out:
//!
//! - `@ DEED`: what is done to the pull request, one of [`action::Deed`].
//! - `$ action`: the step, see [`Case::action`].

mod action;
mod aws;
pub(crate) mod document;

use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::action::workflow::{Step, Workflow};
use crate::aws::FakeAws;
use crate::begun::wait_for;
use crate::project::{Finished, Project};

/// A case that is being run.
struct Case {
    title: String,
    project: Project,
    aws: Option<FakeAws>,
    workflow: Option<Workflow>,
    step: Option<Step>,
    begun: Vec<Child>,
    /// What the last command said, and what is kept of those before it.
    report: Value,
    kept: Value,
}

fn run(name: &str, new: impl Fn() -> (Project, Option<FakeAws>)) {
    let path = format!("{}/tests/scenarios/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let (start, cases) = text.split_once("\n## ").unwrap();
    for case in cases.split("\n## ") {
        let (title, body) = case.split_once('\n').unwrap();
        for body in of_each_row(body.trim_end()) {
            let (project, aws) = new();
            let mut case = Case {
                title: title.to_owned(),
                project,
                aws,
                workflow: None,
                step: None,
                begun: Vec::new(),
                report: json!({}),
                kept: json!({}),
            };
            let steps = format!("{}\n{body}", start.trim_end());
            let mut lines = steps.lines().skip_while(|line| !is_step(line)).peekable();
            while let Some(line) = lines.next() {
                let below: Vec<&str> =
                    std::iter::from_fn(|| lines.next_if(|line| !is_step(line))).collect();
                if !case.step(line, &below) {
                    break;
                }
            }
            let title = case.title;
            assert!(
                case.begun.is_empty(),
                "{title}: a command is not waited for"
            );
        }
    }
}

fn is_step(line: &&str) -> bool {
    ["### ", "$ ", "@ ", "& ", "^ ", "% "]
        .iter()
        .any(|sign| line.starts_with(sign))
}

/// The steps once for each row of the table that they begin with.
fn of_each_row(body: &str) -> Vec<String> {
    let is_row = |line: &&str| line.starts_with("| ");
    let steps: Vec<&str> = body.lines().skip_while(is_row).collect();
    let steps = steps.join("\n");
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim_end().trim_start_matches('|');
        let line = line.strip_suffix('|').unwrap_or(line);
        line.split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let mut table = body.lines().take_while(is_row).map(cells);
    let Some(names) = table.next() else {
        return vec![steps];
    };
    let filled = |row: Vec<String>| {
        let cells = names.iter().zip(row);
        cells.fold(steps.clone(), |steps, (name, cell)| {
            steps.replace(&format!("<{name}>"), &cell)
        })
    };
    table.map(filled).collect()
}

impl Case {
    /// False where this machine cannot do what the case needs.
    fn step(&mut self, line: &str, below: &[&str]) -> bool {
        let line = self.filled(line);
        let (sign, rest) = line.split_once(' ').unwrap();
        match sign {
            "###" => {
                self.project.write(rest, &(below.join("\n") + "\n"));
                return true;
            }
            "$" if rest.starts_with("action") => {
                let words: Vec<&str> = rest.split_whitespace().skip(1).collect();
                let ran = self.action(&words);
                return self.is_as_said(rest, &ran, below);
            }
            "$" => {
                let mut command = self.shell(rest, "0");
                let ran = Finished::new(&command.output().unwrap(), self.project.root());
                return self.is_as_said(rest, &ran, below);
            }
            "&" => {
                let mut command = self.shell(&format!("exec {rest}"), "0.005");
                command.stdout(Stdio::piped()).stderr(Stdio::piped());
                self.begun.push(command.spawn().unwrap());
            }
            "^" => match rest.split_once(' ') {
                Some((_, sentence)) => self.wait(sentence),
                None => {
                    let child = self.begun.pop().unwrap();
                    if rest != "-" {
                        let id = Pid::from_raw(child.id().try_into().unwrap());
                        kill(id, rest.parse::<Signal>().unwrap()).unwrap();
                    }
                    let output = child.wait_with_output().unwrap();
                    let ran = Finished::new(&output, self.project.root());
                    return self.is_as_said(rest, &ran, below);
                }
            },
            "@" => match rest.strip_prefix("keep: ") {
                Some(pair) => {
                    let (name, path): (String, String) = serde_saphyr::from_str(pair).unwrap();
                    self.kept[name] = document::at(&self.documents(), &path);
                }
                None if self.aws.is_some() => self.act(rest),
                None => self.deed(rest),
            },
            _ => {}
        }
        let documents = self.documents();
        for line in below {
            let sentence = line
                .strip_prefix("= ")
                .map(|sentence| self.filled(sentence));
            let is_so = sentence.is_some_and(|sentence| document::is_so(&sentence, &documents));
            assert!(is_so, "{}: {rest}: {line}\n{documents:#}", self.title);
        }
        true
    }

    /// Waits until a sentence is so; a gate that never comes to it makes the test fail.
    fn wait(&self, sentence: &str) {
        // Said only where the test fails.
        eprintln!("{}: wait {sentence}", self.title);
        wait_for(|| document::is_so(sentence, &self.documents()));
    }

    /// Everything that a sentence may be about.
    fn documents(&self) -> Value {
        let mut documents = self.report.clone();
        documents["kept"] = self.kept.clone();
        if let Some(aws) = &self.aws {
            documents["aws"] = aws::seen(aws);
        }
        if let Some(workflow) = &self.workflow {
            let seen = action::seen(workflow, self.step.as_ref());
            let all = documents.as_object_mut().unwrap();
            all.extend(seen.as_object().unwrap().clone());
        }
        documents
    }

    /// A line with the texts that stand at the paths in its `{PATH}`s.
    fn filled(&self, line: &str) -> String {
        let place =
            regex::Regex::new(r"\{((?:aws|kept|outputs)\.[^{}]*|base|head|merge)\}").unwrap();
        if !place.is_match(line) {
            return line.to_owned();
        }
        let documents = self.documents();
        let text =
            |found: &regex::Captures<'_>| document::text(&document::at(&documents, &found[1]));
        place.replace_all(line, text).into_owned()
    }

    fn shell(&self, command: &str, pace: &str) -> Command {
        let gate = Path::new(env!("CARGO_BIN_EXE_canary-gate"))
            .parent()
            .unwrap();
        let repository = env!("CARGO_MANIFEST_DIR");
        let path = std::env::var("PATH").unwrap();
        let path = format!("{}:{repository}/tests/scenarios/bin:{path}", gate.display());
        let python = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut shell = self.project.shell_command(command);
        shell
            .env("PATH", path)
            .env("PYTHON", python)
            .env("REPOSITORY", repository);
        if let Some(workflow) = &self.workflow {
            workflow.github.reach(&mut shell);
            shell.env("CHECKOUT", workflow.project.root());
        }
        if let Some(aws) = &self.aws {
            aws.reach(&mut shell);
            shell.env("CANARY_GATE_PACE", pace);
        }
        shell
    }

    /// Fails unless what a command said is as is said below it. False where this machine cannot run it.
    fn is_as_said(&mut self, command: &str, ran: &Finished, said: &[&str]) -> bool {
        let words: Vec<&str> = ran.stdout.split_whitespace().collect();
        let (out, err) = (words.join(" "), ran.words());
        let report = serde_json::from_str(&ran.stdout)
            .ok()
            .filter(Value::is_object);
        self.report = report.unwrap_or_else(|| json!({}));
        self.report["stdout"] = json!(out);
        self.report["stderr"] = json!(err);
        let documents = self.documents();
        let on_either = |words: &str| out.contains(words) || err.contains(words);
        let mut code = 0;
        for line in said {
            let line = self.filled(line);
            let is_so = match line.split_at(2) {
                ("~ ", words) if on_either(words) => {
                    eprintln!("{}: skipped: {words}", self.title);
                    return false;
                }
                ("~ ", _) => true,
                ("? ", number) => {
                    code = number.parse().unwrap();
                    true
                }
                ("> ", words) => says(&out, words),
                ("! ", words) => says(&err, words),
                ("+ ", words) => on_either(words),
                ("- ", words) => !on_either(words),
                ("= ", sentence) => document::is_so(sentence, &documents),
                _ => panic!("{}: `{line}` says nothing", self.title),
            };
            assert!(
                is_so,
                "{}: {command}: {line}\n{}\n{:#}",
                self.title,
                ran.seen(),
                documents["aws"]
            );
        }
        assert_eq!(ran.code, code, "{}: {command}\n{}", self.title, ran.seen());
        true
    }
}

/// Whether a text has these words. A number at their ends is a whole number: `6` is not said by `16`.
fn says(text: &str, words: &str) -> bool {
    let both_digits = |one: Option<char>, other: Option<char>| {
        one.zip(other)
            .is_some_and(|(one, other)| one.is_ascii_digit() && other.is_ascii_digit())
    };
    text.match_indices(words).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + words.len()..]);
        let is_cut = both_digits(before.chars().next_back(), words.chars().next())
            || both_digits(words.chars().next_back(), after.chars().next());
        !is_cut
    })
}

macro_rules! files {
    ($new:expr; $folder:literal $($name:ident),*) => {$(
        #[test]
        fn $name() {
            crate::scenarios::run(concat!($folder, stringify!($name)), $new);
        }
    )*};
}
pub(crate) use files;

/// A project of the local job `sums` with 100 data files.
fn local() -> (Project, Option<FakeAws>) {
    (Project::with_script("true\n"), None)
}

files!(local; ""
    adaptive,
    advice,
    bad_data,
    bad_scripts,
    base,
    caches,
    change,
    check,
    container,
    counts,
    data_root,
    draw,
    drift,
    first_errors,
    gitlab,
    gpu_candidates,
    gpu_memory,
    groups,
    history,
    init_command,
    levels,
    local_groups,
    logs_and_limits,
    offline,
    outcomes,
    outputs,
    policy,
    private_data,
    probe,
    probe_entry,
    probe_launchers,
    progress,
    progress_canaries,
    recommendation,
    replay,
    reuse,
    rows,
    samples,
    share,
    spec_search,
    steps,
    temporary,
    work
);
