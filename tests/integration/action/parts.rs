//! `report-from`: parts that other jobs of the workflow measured, in one comment and judged by the base's budget.

use super::workflow::{ENOUGH, TOO_LITTLE, Workflow, files, spec};

/// The part that a leg of a matrix wrote, which judged by its own spec.
fn with_part(base_budget: &str) -> Workflow {
    let workflow = Workflow::pull_request(&spec(base_budget), &spec(ENOUGH));
    workflow.project.write("parts/.keep", "");
    let leg = workflow
        .project
        .run(&["run", "--all", "--quiet", "--output", "parts/one.json"]);
    leg.ended_with(0).reported("within budget");
    // A leg's checkout has git, which names the commit.
    let part = workflow.project.read("parts/one.json");
    let commit = format!("\"commit\": \"{}\",\n  \"jobs\"", workflow.merge());
    workflow
        .project
        .write("parts/one.json", &part.replacen("\"jobs\"", &commit, 1));
    workflow
}

#[test]
fn parts_become_one_comment() {
    let workflow = with_part(ENOUGH).input("report-from", "parts/*.json");
    let step = workflow.run().ended_with(0);
    assert_eq!(step.output("verdict"), "within");
    assert!(
        workflow.comment().contains("✅ `xgb_reg` within budget"),
        "{}",
        workflow.comment()
    );
}

#[test]
fn a_part_is_judged_by_the_bases_budget_and_not_by_its_own() {
    let workflow = with_part(TOO_LITTLE).input("report-from", "parts/*.json");
    workflow.run().ended_with(10);
    assert!(
        workflow.comment().contains("❌ `xgb_reg` over budget"),
        "{}",
        workflow.comment()
    );
}

#[test]
fn a_part_that_says_within_and_measured_more_is_not_believed() {
    let workflow = with_part(TOO_LITTLE).input("report-from", "parts/one.json");
    let part = workflow.project.read("parts/one.json");
    assert!(part.contains("\"verdict\": \"within\""));
    workflow.run().ended_with(10);
}

#[test]
fn a_leg_that_left_no_part_is_not_green() {
    let workflow = with_part(ENOUGH).input("report-from", "parts/*.json");
    let part = workflow
        .project
        .read("parts/one.json")
        .replace("xgb_reg", "other");
    workflow.project.write("parts/one.json", &part);
    let step = workflow.run().ended_with(14);
    assert_eq!(step.output("verdict"), "unknown");
    let comment = workflow.comment();
    assert!(
        comment.contains("its leg failed or was not started"),
        "{comment}"
    );
    assert!(comment.contains("the spec has no such job"), "{comment}");
}

#[test]
fn a_part_of_another_commit_says_nothing_of_this_one() {
    let workflow = with_part(ENOUGH).input("report-from", "parts/*.json");
    let part = workflow.project.read("parts/one.json");
    let other = part.replace(workflow.merge(), workflow.base());
    workflow.project.write("parts/one.json", &other);
    workflow.run().ended_with(14);
    let comment = workflow.comment();
    assert!(
        comment.contains("which is not the checked-out commit"),
        "{comment}"
    );
}

#[test]
fn a_part_that_the_pull_request_brings_along_is_refused() {
    let measured = with_part(ENOUGH);
    let part = measured.project.read("parts/one.json");
    let base = files(&spec(TOO_LITTLE), "1");
    let head = base
        .clone()
        .with("train.py", "2")
        .with("parts/one.json", part);
    let workflow = Workflow::between(&base, &head).input("report-from", "parts/*.json");
    let step = workflow.run().ended_with(2);
    assert!(
        step.finished
            .words()
            .contains("is a file of the repository"),
        "{}",
        step.finished.seen()
    );
}

#[test]
fn parts_are_not_looked_for_behind_a_link() {
    let workflow = with_part(ENOUGH).input("report-from", "link/*.json");
    std::os::unix::fs::symlink("parts", workflow.project.path("link")).unwrap();
    let step = workflow.run().ended_with(2);
    assert!(
        step.finished.words().contains("no file matches"),
        "{}",
        step.finished.seen()
    );
}

#[test]
fn parts_that_are_not_there_are_an_error_that_says_what_to_do() {
    let workflow =
        Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH)).input("report-from", "parts/*.json");
    let step = workflow.run().ended_with(2);
    assert!(
        step.finished
            .words()
            .contains("no file matches `parts/*.json`")
    );
    assert!(
        workflow.comment().contains("could not check"),
        "{}",
        workflow.comment()
    );
}
