//! A team's own layout of the Markdown page.

use crate::action::workflow::{TOO_LITTLE, Workflow, spec};

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
