//! What the README and `docs/` tell a reader to type: each command is one that the program has, and each block is run, unless a line
//! above it, `<!-- not run: WHY -->`, says why it cannot be here.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use canary_gate::cli::Cli;
use clap::Parser as _;

use crate::project::Project;

/// A fenced block of `console` or `sh`.
struct Block {
    place: String,
    is_console: bool,
    is_run: bool,
    lines: Vec<String>,
}

impl Block {
    /// What a reader types, line by line.
    fn typed(&self) -> Vec<&str> {
        let lines = self.lines.iter().map(String::as_str);
        match self.is_console {
            true => lines.filter_map(|line| line.strip_prefix("$ ")).collect(),
            false => lines.collect(),
        }
    }

    /// What it is said to print.
    fn printed(&self) -> Vec<&str> {
        let lines = self.lines.iter().map(String::as_str);
        match self.is_console {
            true => lines.filter(|line| !line.starts_with("$ ")).collect(),
            false => Vec::new(),
        }
    }
}

fn pages() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = docs
        .filter(|path| path.extension().is_some_and(|extension| extension == "md"))
        .chain([
            root.join("README.md"),
            root.join("examples/quickstart/README.md"),
        ])
        .collect();
    paths.sort();
    let name = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
    let pages = paths.iter();
    pages
        .map(|path| (name(path), fs::read_to_string(path).unwrap()))
        .collect()
}

fn blocks(name: &str, page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut above = "";
    for (number, line) in (1..).zip(page.lines()) {
        match (&mut open, line) {
            (Some(_), "```") => blocks.extend(open.take()),
            (Some(block), line) => block.lines.push(line.to_owned()),
            (None, "```console" | "```sh") => {
                open = Some(Block {
                    place: format!("{name}:{number}"),
                    is_console: line == "```console",
                    is_run: !above.starts_with("<!-- not run: "),
                    lines: Vec::new(),
                });
            }
            (None, _) => above = line,
        }
    }
    blocks
}

/// How a line starts the program, itself or in a container, in words.
fn starts(line: &str) -> Option<Vec<String>> {
    let line = line
        .split("  #")
        .next()
        .unwrap()
        .split(" #")
        .next()
        .unwrap();
    let line = line.replace("cargo run -- ", "canary-gate ");
    let from = line
        .find("canary-gate ")
        .filter(|at| *at == 0 || line.starts_with("docker run "))?;
    let words = line[from..].split([';', '|', '>', '&']).next().unwrap();
    let words: Vec<String> = words
        .split_whitespace()
        .map(|word| word.trim_matches(['"', '\'']).to_owned())
        .collect();
    Some(words)
}

fn assert_known(words: &[String], place: &str) {
    if let Err(refusal) = Cli::try_parse_from(words) {
        assert!(
            !refusal.use_stderr(),
            "{place}: `{}`: {refusal}",
            words.join(" ")
        );
    }
}

#[test]
fn the_program_has_each_command_and_flag_that_the_documents_name() {
    let mut commands = 0;
    for (name, page) in pages() {
        for block in blocks(&name, &page) {
            for line in block.typed() {
                if let Some(words) = starts(line) {
                    assert_known(&words, &block.place);
                    commands += 1;
                }
            }
        }
        // In a sentence a command may stand without what it needs to run.
        for code in page.split('`').skip(1).step_by(2) {
            let Some(rest) = code.strip_prefix("canary-gate ") else {
                continue;
            };
            let is_whole = rest.contains(" -") && !rest.contains(['…', '<', '\n']);
            if is_whole {
                assert_known(&starts(code).unwrap(), &format!("{name}: `{code}`"));
                commands += 1;
            }
        }
    }
    assert!(commands > 25, "{commands}");
}

/// Stands for the AWS command line: prints nothing, and fails where a file that it is given is not JSON.
const AWS: &str = r#"#!/bin/sh
for word in "$@"; do
    case $word in file://*) python3 -m json.tool "${word#file://}" > /dev/null || exit 1 ;; esac
done
"#;

/// A folder with what a reader of a page has: its first whole spec, what that names, and the programs that it starts.
fn folder(page: &str) -> Project {
    let mut specs = page.split("```yaml\n").skip(1);
    let spec = specs.find(|spec| spec.starts_with("version:"));
    let spec = spec.and_then(|spec| spec.split("```").next());
    let mut table = "TrainingJobStatus,TrainingTimeInSeconds,InstanceType,ManifestLocation,job_name,PercentageDataTrainedOn,CPUUtilization,I/OWaitPercentage,MemoryUsedPercent,GPUUtilization,GPUMemoryUtilization\n".to_owned();
    for (percent, seconds) in [(1, 60), (1, 63), (2, 71), (2, 70), (3, 81), (3, 80)] {
        let row = format!(
            "Completed,{seconds},ml.m5.xlarge,s3://b/{percent},churn,0.0{percent},40,1,20,0,0\n"
        );
        table.push_str(&row);
    }
    let project = Project::empty()
        .file("canary-gate.yml", spec.unwrap_or(Project::SPEC))
        .file("train.sh", "")
        .file("training/train.py", "")
        .file("training/churn/train.py", "")
        .file("canary_results.csv", &table)
        .file("bin/aws", AWS)
        .data("data/train", 3);
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(project.path("bin/aws"), executable).unwrap();
    let program = env!("CARGO_BIN_EXE_canary-gate");
    std::os::unix::fs::symlink(program, project.path("bin/canary-gate")).unwrap();
    project
}

#[test]
fn the_blocks_of_commands_run_and_print_what_they_are_said_to() {
    let mut run = 0;
    for (name, page) in pages() {
        let project = folder(&page);
        for block in blocks(&name, &page) {
            if !block.is_run {
                continue;
            }
            let script = format!("PATH=\"$PWD/bin:$PATH\"\n{}\n", block.typed().join("\n"));
            let done = project.shell(&script);
            assert_eq!(done.code, 0, "{}: {}", block.place, done.seen());
            let printed = block.printed().join("\n");
            assert!(
                printed.is_empty() || printed.trim() == done.stdout.trim(),
                "{}: {}",
                block.place,
                done.seen()
            );
            run += 1;
        }
    }
    assert!(run > 7, "{run}");
}

#[test]
fn each_example_of_a_budget_line_is_valid_and_no_line_is_missing() {
    let page = include_str!("../../docs/budgets.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let mut budget = String::new();
    for row in &rows {
        budget.push_str(&format!("      {}\n", row[4].trim_matches('`')));
    }
    let spec = format!(
        "version: 1\nbackend: local\nallowed_instances: [local]\nprices: {{local: 1 USD/h}}\njobs:\n  churn:\n    training:\n      command: [sh, train.sh]\n      \
         channels: {{train: {{uri: data}}}}\n      metrics: {{step: 'step ([0-9.]+)', tokens_per_second: 'tok/s: ([0-9.]+)'}}\n      \
         step_metric: step\n    instance: local\n    budget:\n{budget}"
    );
    Project::empty()
        .file("canary-gate.yml", &spec)
        .file("train.sh", "")
        .data("data", 3)
        .run(&["validate"])
        .ended_with(0);
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../schema/spec.v1.json")).unwrap();
    let keys = schema["$defs"]["Budget"]["properties"].as_object().unwrap();
    for key in keys.keys() {
        let is_line = !["certainty", "existing_breach", "growth"].contains(&key.as_str());
        let has_row = rows.iter().any(|row| row[1] == format!("`{key}`"));
        assert_eq!(has_row, is_line, "{key}");
    }
}
