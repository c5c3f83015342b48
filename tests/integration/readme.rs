//! What the README says holds: its spec is valid, its exit codes are those of `--help`, its commands are there.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::project::Project;
use crate::quickstart::copy;

const README: &str = include_str!("../../README.md");

/// The whole specs of a page.
fn specs(page: &str) -> Vec<&str> {
    page.split("```yaml\n")
        .skip(1)
        .filter_map(|block| block.split("```").next())
        .filter(|block| block.starts_with("version:"))
        .collect()
}

#[test]
fn the_example_specs_are_valid() {
    let sagemaker = include_str!("../../docs/sagemaker.md");
    for (page, count) in [(README, 2), (sagemaker, 3)] {
        assert_eq!(specs(page).len(), count);
        for spec in specs(page) {
            let project = Project::empty()
                .file("canary-gate.yml", spec)
                .file("training/churn/train.py", "");
            project.run(&["validate"]).ended_with(0);
        }
    }
}

#[test]
fn the_picture_of_the_terminal_is_what_a_terminal_shows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stored = include_str!("../data/reports/over-budget.json");
    let project = Project::empty().file("report.json", stored);
    let arguments = ["report", "--from", "report.json", "--color", "always"];
    let shown = project.run_with(&arguments, |command| {
        command.env_remove("CANARY_GATE_DETAILS");
    });
    project.write("shown", &shown.stdout);
    let drawn = Command::new("python3")
        .arg(root.join("scripts/terminal-picture"))
        .arg(project.path("terminal"))
        .arg("canary-gate report --from report.json")
        .stdin(std::fs::File::open(project.path("shown")).unwrap())
        .stdout(Stdio::null())
        .status();
    assert!(drawn.unwrap().success());
    for scheme in ["light", "dark"] {
        let file = format!("terminal-{scheme}.svg");
        let pictured = std::fs::read_to_string(root.join("docs/images").join(&file)).unwrap();
        let is_same = project.read(&file) == pictured;
        assert!(
            is_same,
            "draw docs/images/{file} again, as CONTRIBUTING.md says"
        );
    }
}

#[test]
fn the_plan_that_is_shown_is_that_of_the_quickstart() {
    let page = include_str!("../../docs/running.md");
    let project = Project::empty();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
    copy(&example, project.root());
    let plan = project.run(&["plan", "--all"]).ended_with(0).stdout;
    assert!(page.contains(plan.trim_end()), "it should be:\n{plan}");
}

#[test]
fn the_exit_codes_are_those_of_the_help() {
    let help = Project::empty().run(&["--help"]).stdout;
    let help_codes = help
        .split("Exit codes:")
        .nth(1)
        .unwrap()
        .lines()
        .filter_map(|line| {
            let code = line.trim().split("  ").next()?;
            code.starts_with(|c: char| c.is_ascii_digit())
                .then(|| code.to_owned())
        });
    let table = README.split("| code | outcome |").nth(1).unwrap();
    let readme_codes: Vec<String> = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').nth(1).unwrap().trim().to_owned())
        .collect();
    assert_eq!(help_codes.collect::<Vec<_>>(), readme_codes);
}

#[test]
fn every_command_stands_in_the_table() {
    let help = Project::empty().run(&["--help"]).stdout;
    let commands = help
        .split("Commands:")
        .nth(1)
        .unwrap()
        .split("Options:")
        .next()
        .unwrap();
    for line in commands.lines() {
        let name = line.split_whitespace().next().unwrap_or("help");
        assert!(
            name == "help" || README.contains(&format!("`{name}")),
            "{name} is missing in the README"
        );
    }
}

/// Its policies are printed from it before there is anything in the account.
#[test]
fn the_spec_of_the_first_steps_on_sagemaker_is_valid_and_gives_both_policies() {
    let page = include_str!("../../docs/sagemaker-from-zero.md");
    let spec = page.split("```yaml\n").nth(1).unwrap();
    let project = Project::empty()
        .file("canary-gate.yml", spec.split("```").next().unwrap())
        .file("training/train.py", "");
    let validated = project.run(&["validate"]).ended_with(0);
    assert!(
        page.contains(validated.stdout.trim()),
        "{}",
        validated.seen()
    );
    for whom in ["ci", "job"] {
        let policy = project.run(&["iam-policy", "--for", whom]).ended_with(0);
        assert_eq!(policy.json()["Version"], "2012-10-17");
    }
    // The documents that its commands write.
    for document in page.split("<<'JSON'\n").skip(1) {
        let document = document.split("\nJSON\n").next().unwrap();
        serde_json::from_str::<serde_json::Value>(document).expect(document);
    }
}
