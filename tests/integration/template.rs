//! A team's own layout of the Markdown page.

use crate::action::workflow::{TOO_LITTLE, Workflow, files, spec};

const PAGE: &str = "{{verdict}}:{{#each jobs}} {{name}} on {{instance}}{{/each}}\n";

#[test]
fn a_template_lays_out_the_report_and_a_bad_one_stops_before_anything_is_run() {
    let workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    let project = &workflow.project;
    project.write("page.hbs", PAGE);
    let run = |template: &str| {
        let flags = [
            "run",
            "--all",
            "--format",
            "markdown",
            "--output",
            "part.json",
        ];
        project.run(&[&flags[..], &["--template", template]].concat())
    };
    let finished = run("page.hbs").ended_with(10);
    assert_eq!(finished.stdout, "exceeded: xgb\\_reg on local\n");
    let stored = ["report", "--from", "part.json", "--format", "markdown"];
    let again = project.run(&[&stored[..], &["--template", "page.hbs"]].concat());
    assert_eq!(again.ended_with(10).stdout, finished.stdout);
    std::fs::remove_file(project.path("part.json")).unwrap();
    project.write(
        "page.hbs",
        "{{verdict}}\n{{#each jobs}}{{no_such_value}}{{/each}}\n",
    );
    for (template, said) in [
        ("page.hbs", "no_such_value"),
        ("other.hbs", "cannot be read"),
    ] {
        run(template).ended_with(2).complained(said);
        assert!(!project.path("part.json").exists());
    }
}

#[test]
fn the_action_takes_the_template_of_the_base() {
    let with = |page: Option<&str>| {
        let files = files(&spec(TOO_LITTLE), "print(1)\n");
        match page {
            Some(page) => files.with("page.hbs", page),
            None => files,
        }
    };
    let comment_between = |base: Option<&str>, code| {
        let head = with(Some("all is well\n")).with("train.py", "print(2)\n");
        let workflow = Workflow::between(&with(base), &head).input("template", "page.hbs");
        let step = workflow.run().ended_with(code);
        (workflow.comment(), step)
    };
    let (comment, step) = comment_between(Some(PAGE), 10);
    let said = "exceeded: xgb\\_reg on local";
    assert!(
        comment.contains(said) && step.summary.contains(said),
        "{comment}"
    );
    assert!(!comment.contains("all is well"), "{comment}");
    let (comment, step) = comment_between(None, 10);
    assert!(
        comment.contains("### ❌ `xgb_reg` over budget"),
        "{comment}"
    );
    step.finished.complained("has no template page.hbs yet");
    let (comment, _) = comment_between(Some("{{verdcit}}"), 2);
    assert!(comment.contains("verdcit"), "{comment}");
}
