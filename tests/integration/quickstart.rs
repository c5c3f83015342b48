//! The README's first command on the committed example: real data, a real model, the whole gate.

use std::path::Path;

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
