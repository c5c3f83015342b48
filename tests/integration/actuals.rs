//! `actuals --run` holds the last forecast against a full run.

use crate::project::Project;

#[test]
fn a_full_run_beside_its_forecast() {
    let project = Project::with_script("cat \"$SM_CHANNEL_TRAIN\"/* | wc -c\nsleep 0.1\n");
    project
        .run(&["actuals", "--run"])
        .ended_with(2)
        .complained("there is no forecast to hold a full run against")
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
    project.write("canary-gate.yml", &format!("{}# changed\n", Project::SPEC));
    project
        .run(&["actuals", "--run"])
        .ended_with(2)
        .complained("made from another version of the spec");
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
