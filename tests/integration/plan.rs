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

/// Jobs `sums` and `more`, alike, on a machine of this price.
fn two_jobs(price: &str) -> String {
    let (_, job) = Project::SPEC.split_once("jobs:\n").unwrap();
    let second = job.replace("sums:", "more:");
    let priced = format!("backend: local\nprices: {{local: {price}}}\n");
    let spec = Project::SPEC.replace("backend: local\n", &priced);
    format!("{spec}{second}")
}

/// Two jobs of which one was checked before; a limit on the whole run.
#[test]
fn a_plan_of_several_jobs_begins_with_their_totals() {
    let project = Project::with_script("true").file("canary-gate.yml", &two_jobs("1.20 USD/h"));
    project
        .run(&["run", "--all", "--job", "more", "--quiet"])
        .ended_with(0);
    project
        .run(&["plan", "--all", "--max-spend", "0.50 USD"])
        .ended_with(0)
        .reported("2 jobs · worst case 0.50 USD, by --max-spend, expected")
        .reported("USD for 1 of them, at most 12m, one job after another")
        .reported("as in the check of");
}

/// The second job has what the first one left.
#[test]
fn a_limit_on_the_whole_run_holds_over_all_jobs() {
    let spec =
        two_jobs("3600 USD/h").replace("max_runtime: 1m", "max_runtime: 1m, spend_limit: 9000 USD");
    let project = Project::with_script("sleep 0.1").file("canary-gate.yml", &spec);
    let finished = project.run(&["run", "--all", "--quiet", "--max-spend", "1080.5 USD"]);
    finished.ended_with(14).reported("--max-spend");
}

#[test]
fn a_limit_in_dollars_that_no_price_makes_hold_is_said() {
    Project::with_script("true")
        .run(&["run", "--all", "--max-spend", "1 USD"])
        .ended_with(0)
        .complained("--max-spend does not hold for job `sums`: local has no price");
}
