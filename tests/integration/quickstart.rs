//! The README's first command on the committed example: real data, a real model, the whole gate.

use std::path::Path;
use std::process::Command;

use crate::project::Project;

pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_name() == ".canary-gate" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn slow_the_demo_is_the_quickstart() {
    let project = Project::empty();
    let run = project.run(&["demo"]);
    // A machine that runs other tests beside may be too slow for the example's budget.
    assert!([0, 10].contains(&run.code), "{}", run.seen());
    run.reported("digits")
        .complained("canary-gate actuals --run --spec canary-gate-demo/canary-gate.yml");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
    let same = Command::new("diff")
        .args([
            "--recursive",
            "--exclude=.canary-gate",
            "--exclude=.gitignore",
        ])
        .args([&example, &project.path("canary-gate-demo")])
        .output()
        .unwrap();
    assert!(
        same.status.success(),
        "{}",
        String::from_utf8_lossy(&same.stdout)
    );
}

#[test]
fn the_demo_overwrites_nothing_and_says_that_it_needs_python() {
    let project = Project::empty().file("canary-gate-demo/notes.md", "mine");
    project
        .run(&["demo"])
        .ended_with(2)
        .complained("canary-gate-demo is already there")
        .complained("`canary-gate demo FOLDER`");
    project
        .run_with(&["demo", "other"], |command| {
            command.env("PATH", project.root());
        })
        .ended_with(1)
        .complained("`python3` cannot be started");
    assert!(!project.path("other").exists());
}

#[test]
fn slow_the_quickstart_is_within_its_budget() {
    let project = Project::empty();
    copy(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart"),
        project.root(),
    );
    // A machine that runs other tests beside may be several times as slow.
    let spec = project.read("canary-gate.yml");
    assert!(spec.contains("time: 2m") && spec.contains("cost: 0.10 USD"));
    let roomy = spec
        .replace("time: 2m", "time: 20m")
        .replace("cost: 0.10 USD", "cost: 1 USD");
    project.write("canary-gate.yml", &roomy);
    let run = project
        .run(&[
            "run",
            "--all",
            "--output",
            "report.md",
            "--output",
            "report.json",
        ])
        .ended_with(0);
    assert!(run.stdout.contains("within"), "{}", run.seen());
    let report: serde_json::Value = serde_json::from_str(&project.read("report.json")).unwrap();
    let job = &report["jobs"][0];
    assert!(job["measurements"].as_array().unwrap().len() >= 3);
    for quantity in [
        "time_seconds",
        "cost_usd",
        "memory_percent",
        "memory_bytes",
        "cpu_percent",
    ] {
        let estimate = &job["forecasts"][0]["estimates"][quantity];
        let value = |name: &str| {
            estimate[name]
                .as_f64()
                .unwrap_or_else(|| panic!("{quantity}: {estimate}"))
        };
        assert!(
            value("lower") <= value("point") && value("point") <= value("upper"),
            "{quantity}: {estimate}"
        );
    }
    assert!(
        project.read("report.md").contains("assume"),
        "{}",
        project.read("report.md")
    );
}
