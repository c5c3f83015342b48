//! `report-from`: parts that other jobs of the workflow measured, in one comment and judged by the base's budget.

use super::workflow::{ENOUGH, TOO_LITTLE, Workflow, files, spec};

/// The part that a leg of a matrix wrote, which judged by its own spec.
fn with_part(base_budget: &str) -> Workflow {
    let workflow = Workflow::pull_request(&spec(base_budget), &spec(ENOUGH));
    workflow.project.write("parts/.keep", "");
    let leg = ["run", "--all", "--quiet", "--output", "parts/one.json"];
    let leg = workflow.project.run(&leg);
    leg.ended_with(0).reported("within budget");
    // A leg's checkout has git, which names the commit.
    let commit = format!("\"commit\": \"{}\",\n  \"jobs\"", workflow.merge());
    change_part(&workflow, "\"jobs\"", &commit);
    workflow.input("report-from", "parts/*.json")
}

fn change_part(workflow: &Workflow, from: &str, to: &str) {
    let part = workflow.project.read("parts/one.json");
    let changed = part.replace(from, to);
    workflow.project.write("parts/one.json", &changed);
}

/// Each row: the base's budget, what is changed in the part, the code and verdict, and what the comment says.
#[test]
fn parts_become_one_comment_judged_by_the_bases_budget_and_not_by_their_own() {
    for (budget, changed, code, verdict, said) in [
        (
            ENOUGH,
            None,
            0,
            "within",
            &["✅ `xgb_reg` within budget"][..],
        ),
        (
            TOO_LITTLE,
            None,
            10,
            "exceeded",
            &["❌ `xgb_reg` over budget"],
        ),
        (
            ENOUGH,
            Some(("xgb_reg", "other")),
            14,
            "unknown",
            &[
                "its leg failed or was not started",
                "the spec has no such job",
            ],
        ),
        (
            ENOUGH,
            Some(("\"commit\": \"", "\"commit\": \"0")),
            14,
            "unknown",
            &["which is not the checked-out commit"],
        ),
    ] {
        let workflow = with_part(budget);
        if let Some((from, to)) = changed {
            change_part(&workflow, from, to);
        }
        let step = workflow.run().ended_with(code);
        assert_eq!(step.output("verdict"), verdict);
        workflow.comments(said);
    }
}

#[test]
fn a_part_that_the_pull_request_brings_along_is_refused() {
    let part = with_part(ENOUGH).project.read("parts/one.json");
    let base = files(&spec(TOO_LITTLE), "1");
    let head = base
        .clone()
        .with("train.py", "2")
        .with("parts/one.json", part);
    let workflow = Workflow::between(&base, &head).input("report-from", "parts/*.json");
    workflow
        .run()
        .ended_with(2)
        .logs("is a file of the repository");
}

#[test]
fn parts_are_not_looked_for_behind_a_link_nor_outside_and_one_to_a_thousand_must_be_there() {
    for (pattern, said) in [
        ("link/*.json", "no file matches `link/*.json`"),
        ("none/*.json", "no file matches `none/*.json`"),
        ("../*.json", "no file matches `../*.json`"),
        ("/tmp/*.json", "is not relative to the workspace"),
        ("many/*.json", "over 1000 parts"),
    ] {
        let workflow = with_part(ENOUGH).input("report-from", pattern);
        let project = &workflow.project;
        project.shell("ln -s parts link; mkdir many; touch $(seq -f many/%g.json 1001)");
        workflow.run().ended_with(2).logs(said);
        workflow.comments(&["could not check"]);
    }
}
