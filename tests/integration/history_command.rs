//! `history list`, `show` and `export`, over records that were written by hand: their whole texts. `scenarios` has what they refuse.

use crate::project::Project;

const RECORDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/history-records");

pub(crate) const SPEC: &str = "\
version: 1
backend: local
jobs:
  churn:
    training: {command: [sh, train.sh], channels: {train: {uri: data}}}
    instance: local
    budget: {time: 1h}
";

#[test]
fn a_list_is_a_line_for_each_record_newest_first() {
    let project = Project::empty().file("canary-gate.yml", SPEC);
    project
        .shell(&format!("cp -r {RECORDS} .canary-gate"))
        .ended_with(0);
    let listed = project.run(&["history", "list"]).ended_with(0);
    insta::assert_snapshot!("history_list", listed.seen());
    let narrow = ["120", "80"].map(|columns| {
        let narrow = project.run_with(&["history", "list"], |command| {
            command.env("COLUMNS", columns);
        });
        narrow.stdout
    });
    insta::assert_snapshot!("history_list_narrow", narrow.join("---\n"));
    let id = format!("{:016x}", 483);
    let page = ["history", "show", &id, "--format", "terminal"];
    let shown = project.run(&page).ended_with(0);
    insta::assert_snapshot!("history_show", shown.seen());
    let exported = project.run(&["history", "export"]).ended_with(0);
    insta::assert_snapshot!("history_export", exported.seen());
}
