//! `plan` says what `run` would do, and spends nothing.

use crate::project::Project;

#[test]
fn a_plan_names_sizes_worst_case_and_wall_clock() {
    let project = Project::with_script("exit 1").file(
        "canary-gate.yml",
        &Project::SPEC.replace(
            "backend: local\n",
            "backend: local\nprices: {local: 1.20 USD/h}\n",
        ),
    );
    insta::assert_snapshot!(project.run(&["plan", "--all"]).seen());
    assert!(project.recorded("canary").is_empty());
}

#[test]
fn a_plan_over_the_spend_limit_says_so_and_run_launches_nothing() {
    let project = Project::with_script("touch ../launched").file(
        "canary-gate.yml",
        &Project::SPEC
            .replace(
                "backend: local\n",
                "backend: local\nprices: {local: 100 USD/h}\n",
            )
            .replace("max_runtime: 1m", "max_runtime: 1h"),
    );
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("the canaries may cost up to 620 USD, above the spend limit of 5.00 USD");
    project
        .run(&["run", "--all"])
        .ended_with(14)
        .reported("above the spend limit");
    assert!(!project.path("launched").exists());
}

#[test]
fn alternatives_that_do_not_fit_are_rows_and_change_nothing() {
    let spec = Project::SPEC
        .replace(
            "backend: local\n",
            "backend: local\nprices: {local: 10 USD/h}\n",
        )
        .replace(
            "instance: local\n",
            "instance: local\n    alternatives: [2x local, 3x local]\n",
        );
    let project = Project::with_script("true").file("canary-gate.yml", &spec);
    // Six runs of up to three minutes: 3 USD on one, 6 USD on two.
    let planned = project.run(&["plan", "--all"]).ended_with(0);
    assert!(
        planned
            .stdout
            .contains("3x local · not measured (needs up to 9.00 USD)"),
        "{}",
        planned.seen()
    );
    let skipped = project
        .run(&["plan", "--all", "--only-instance"])
        .ended_with(0);
    assert!(
        skipped.stdout.contains("skipped by --only-instance"),
        "{}",
        skipped.seen()
    );
}
