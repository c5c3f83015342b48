//! `actuals --run` holds the last forecast against a full run.

use crate::project::Project;

#[test]
fn a_full_run_beside_its_forecast() {
    let script = "cat \"$SM_CHANNEL_TRAIN\"/* | wc -c\nsleep 0.1\n";
    let project = Project::with_script(script).committed();
    project
        .run(&["actuals", "--run"])
        .ended_with(2)
        .complained("there is no forecast of job `sums` to hold a full run against")
        .complained("canary-gate run --all");
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let actuals = project.run(&["actuals", "--run"]).ended_with(0);
    for text in [
        "sums · full run on local: completed",
        "Actual / forecast",
        "time",
    ] {
        assert!(
            actuals.stdout.contains(text),
            "no {text:?} in\n{}",
            actuals.seen()
        );
    }
    // The full run is a record beside those of the canaries, and no canary itself.
    let [full_run] = &project.recorded("fullrun")[..] else {
        panic!("one full run was measured");
    };
    assert_eq!(full_run["fraction"], 1.0);
    assert_eq!(project.recorded("canary").len(), 6);
    project
        .run(&["history", "list"])
        .ended_with(0)
        .reported("full run");
    let exported = project.run(&["history", "export", "--format", "jsonl"]);
    assert_eq!(exported.stdout.lines().count(), 6);

    project.write("train.sh", &format!("{script}sleep 0.1\n"));
    project
        .run(&["actuals", "--run"])
        .ended_with(2)
        .complained("the history has none of this code and data on local");
}

#[test]
fn a_failing_full_run_says_why() {
    let project = Project::with_script(
        "if [ $(ls \"$SM_CHANNEL_TRAIN\" | wc -l) -gt 50 ]; then echo 'too much for me' >&2; exit 1; fi\n",
    );
    project.run(&["run", "--all", "--quiet"]).ended_with(0);
    let actuals = project.run(&["actuals", "--run"]).ended_with(13);
    assert!(
        actuals.stdout.contains("failed (exit code 1)"),
        "{}",
        actuals.seen()
    );
    assert!(
        actuals.stdout.contains("too much for me"),
        "{}",
        actuals.seen()
    );
}
