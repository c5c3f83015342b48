//! The comment on a pull request: created, updated, healed; and what a later step reads.

use serde_json::json;

use super::workflow::{ENOUGH, NUMBER, TOO_LITTLE, Workflow, files, spec};

#[test]
fn over_budget_is_posted_first_and_fails_then() {
    let workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    let step = workflow.run().ended_with(10);
    let comment = workflow.comment();
    let mut lines = comment.lines();
    assert_eq!(
        lines.next().unwrap(),
        "<!-- canary-gate v1 spec=canary-gate.yml order=2026-11-21T09:14:07Z/4821/1 -->"
    );
    for expected in [
        "<!-- canary-gate shown ",
        "### ❌ `xgb_reg` over budget: time is ",
    ] {
        assert!(lines.next().unwrap().starts_with(expected), "{comment}");
    }
    assert!(comment.contains("policy from main"), "{comment}");
    assert!(comment.contains("/actions/runs/4821"), "{comment}");
    // The summary is the same text without the markers.
    let text = comment.splitn(3, '\n').last().unwrap();
    assert_eq!(step.summary.trim(), text.trim());
}

#[test]
fn the_comment_says_that_canaries_run_before_one_does() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    workflow.run().ended_with(0);
    let written: Vec<String> = workflow
        .github
        .requests()
        .iter()
        .filter(|said| said.method == "POST" || said.method == "PATCH")
        .filter_map(|said| said.body["body"].as_str().map(str::to_owned))
        .collect();
    let [stub, final_comment] = &written[..] else {
        panic!("{written:#?}")
    };
    assert!(
        stub.lines().next().unwrap().ends_with(" state=running -->"),
        "{stub}"
    );
    assert!(
        stub.contains("at most 5.00 USD together"),
        "what it may cost: {stub}"
    );
    assert!(final_comment.contains("within budget"), "{final_comment}");
}

#[test]
fn red_turns_green_in_the_same_comment() {
    let mut workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    workflow.run().ended_with(10);
    let red = workflow.github.comments(NUMBER);
    // The base's budget grew meanwhile, and the branch was brought up to date.
    workflow.rebase(&spec(ENOUGH));
    workflow.later();
    workflow.run().ended_with(0);
    let green = workflow.github.comments(NUMBER);
    assert_eq!(green.len(), 1);
    assert_eq!(green[0].id, red[0].id);
    assert!(
        green[0].body.contains("### ✅ `xgb_reg` within budget"),
        "{}",
        green[0].body
    );
}

#[test]
fn an_older_run_that_ends_late_changes_nothing() {
    let mut workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    workflow.later();
    workflow.run().ended_with(0);
    let newer = workflow.comment();
    workflow.earlier();
    workflow.run().ended_with(0);
    assert_eq!(workflow.comment(), newer);
}

#[test]
fn a_later_step_reads_what_was_found() {
    let workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    let step = workflow.run().ended_with(10);
    assert_eq!(step.output("verdict"), "exceeded");
    assert_eq!(step.output("exit-code"), "10");
    let number = |name: &str| step.output(name).parse::<f64>().unwrap();
    assert!(number("cost-lower") < number("cost-point"));
    assert!(number("cost-point") < number("cost-upper"));
    assert!(number("canary-cost") > 0.0);
    let comment = workflow.github.comments(NUMBER)[0].id;
    assert!(
        step.output("comment-url")
            .ends_with(&format!("#issuecomment-{comment}"))
    );
    let page = workflow.project.read(step.output("report-html"));
    assert!(page.starts_with("<!doctype html>") && page.contains("over budget"));
    let report = workflow.project.read(step.output("report"));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["verdict"], "exceeded");
    assert_eq!(report["commit"], workflow.merge());
    assert_eq!(report["policy"]["sha"], workflow.base());
    assert_eq!(step.state["run_id"], "4821");
    assert_eq!(step.state["swept"], "true");
    assert_eq!(step.state["posted"], "true");
}

#[test]
fn a_breach_is_annotated_at_its_line_of_the_spec() {
    let workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    let step = workflow.run().ended_with(10);
    let line = step
        .finished
        .stderr
        .lines()
        .find(|line| line.starts_with("::error "))
        .unwrap();
    assert!(
        line.starts_with("::error file=canary-gate.yml,line=11,"),
        "{line}"
    );
    assert!(line.contains("title=xgb_reg over budget"), "{line}");
    // The log before it is no place for commands.
    let quiet = step.finished.stderr.find("::stop-commands::").unwrap();
    assert!(quiet < step.finished.stderr.find("::error ").unwrap());
}

#[test]
fn without_a_pull_request_the_summary_has_the_result() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    let push = json!({"before": workflow.base(), "after": workflow.head()});
    let workflow = workflow.event("push", push);
    let step = workflow.run().ended_with(0);
    assert!(step.summary.contains("within budget"), "{}", step.summary);
    assert_eq!(workflow.github.comments(NUMBER), []);
}

#[test]
fn the_comment_can_be_left_out() {
    let workflow =
        Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE)).input("comment", "off");
    let step = workflow.run().ended_with(10);
    assert!(step.summary.contains("over budget"), "{}", step.summary);
    assert_eq!(workflow.github.comments(NUMBER), []);
}

/// A push that takes everything back must not make the run before it green.
#[test]
fn what_is_checked_out_is_judged_whatever_was_pushed_since() {
    let workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    let old = files(&spec(TOO_LITTLE), "print(1)\n").with("README.md", "more");
    let taken_back = workflow.github.commit(&[workflow.head()], &old);
    workflow
        .github
        .open_pull_request(NUMBER, workflow.base(), &taken_back);
    workflow.run().ended_with(10);
}

/// Without the merge, as with `ref: head.sha` at actions/checkout.
#[test]
fn a_head_that_is_checked_out_is_compared_with_where_it_left_the_base() {
    let shared = files(&spec(TOO_LITTLE), "print(1)\n");
    let workflow = Workflow::between(&shared, &shared.clone().with("README.md", "more"));
    workflow
        .project
        .write(".git/HEAD", &format!("{}\n", workflow.head()));
    let step = workflow.run().ended_with(0);
    assert!(
        step.summary
            .contains("1 file changed from main to pull request 7"),
        "{}",
        step.summary
    );
}

#[test]
fn a_submodule_concerns_the_job_that_names_its_folder() {
    let spec = spec(TOO_LITTLE).replace("[train.py]", "[vendor/library/**]");
    let at = |commit: &str| files(&spec, "1").with_submodule("vendor/library", &commit.repeat(40));
    let workflow = Workflow::between(&at("c"), &at("d"));
    // As actions/checkout leaves it without `submodules: true`.
    std::fs::create_dir_all(workflow.project.path("vendor/library")).unwrap();
    workflow.run().ended_with(10);
}

/// Nobody waits for a comment about a job that is not concerned.
#[test]
fn a_change_that_concerns_no_job_writes_no_comment_and_brings_one_up_to_date() {
    let red = files(&spec(TOO_LITTLE), "print(2)\n");
    let base = files(&spec(TOO_LITTLE), "print(1)\n");
    let mut workflow = Workflow::between(&base, &base.clone().with("README.md", "more"));
    let step = workflow.run().ended_with(0);
    assert_eq!(step.output("verdict"), "not_judged");
    assert_eq!(workflow.github.comments(NUMBER), []);
    assert!(
        step.summary.contains("no job is affected"),
        "{}",
        step.summary
    );
    workflow.push(&red);
    workflow.later();
    workflow.run().ended_with(10);
    assert!(workflow.comment().contains("over budget"));
    // Taken back.
    workflow.push(&base.clone().with("README.md", "less"));
    workflow.later();
    workflow.run().ended_with(0);
    assert!(
        workflow.comment().contains("no job is affected"),
        "{}",
        workflow.comment()
    );
}

/// The one job is removed: nothing is checked, and that is no reason to be silent.
#[test]
fn a_job_that_is_removed_is_said_in_a_comment() {
    let two = spec(ENOUGH).replace(
        "  xgb_reg:",
        "  other:\n    paths: [other.py]\n    training: {command: [python3, other.py], source_dir: other, channels: {train: {uri: data}}}\n    instance: local\n  xgb_reg:",
    );
    let base = files(&two, "print(1)\n").with("other/other.py", "1");
    let head = files(&spec(ENOUGH), "print(1)\n").with("other/other.py", "1");
    let workflow = Workflow::between(&base, &head);
    workflow.run();
    let comment = workflow.comment();
    assert!(
        comment.contains("### ⚠️ nothing is checked of `other`, a job that is removed"),
        "{comment}"
    );
}

#[test]
fn a_new_comment_hides_the_older_ones_as_outdated() {
    let mut workflow =
        Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE)).input("comment", "new");
    workflow.run().ended_with(10);
    workflow.later();
    workflow.run().ended_with(10);
    let comments = workflow.github.comments(NUMBER);
    let hidden: Vec<bool> = comments.iter().map(|one| one.is_minimized).collect();
    assert_eq!(hidden, [true, false]);
    assert!(comments[1].body.contains("/runs/4822"), "{comments:#?}");
    // The older run ends once more, late: it writes nothing.
    workflow.earlier();
    workflow.run().ended_with(10);
    assert_eq!(workflow.github.comments(NUMBER).len(), 2);
    // A stranger with our marker stays as he is.
    let marker = comments[0].body.clone();
    let stranger = crate::github::User::person("mallory");
    workflow.github.comment(NUMBER, &stranger, &marker);
    workflow.later();
    workflow.later();
    workflow.run().ended_with(10);
    let comments = workflow.github.comments(NUMBER);
    let hidden: Vec<bool> = comments.iter().map(|one| one.is_minimized).collect();
    assert_eq!(hidden, [true, true, false, false]);
}

#[test]
fn a_comment_that_cannot_be_hidden_is_a_note() {
    let mut workflow =
        Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE)).input("comment", "new");
    workflow.run().ended_with(10);
    workflow.later();
    // Two are for whose token it is.
    workflow
        .github
        .fail("POST", "/graphql")
        .after(4)
        .with(crate::github::Fault::Forbidden("pull_requests=write"));
    let step = workflow.run().ended_with(10);
    assert_eq!(workflow.github.comments(NUMBER).len(), 2);
    step.finished.complained("could not be hidden");
}

#[test]
fn the_last_verdict_stays_while_the_next_run_measures() {
    let mut workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    workflow.run().ended_with(10);
    let commit = workflow.merge()[..7].to_owned();
    workflow.push(&files(&spec(TOO_LITTLE), "print(3)\n"));
    workflow.later();
    workflow.run().ended_with(10);
    let written: Vec<String> = workflow
        .github
        .requests()
        .iter()
        .filter(|said| said.method == "PATCH")
        .filter_map(|said| said.body["body"].as_str().map(str::to_owned))
        .collect();
    let stub = &written[written.len() - 2];
    assert!(stub.contains("### ⏳ measuring `xgb_reg`"), "{stub}");
    let fold = format!("<details><summary>The last verdict, of {commit}</summary>");
    assert!(stub.contains(&fold), "{stub}");
    assert!(stub.contains("### ❌ `xgb_reg` over budget"), "{stub}");
    let comment = workflow.comment();
    assert!(!comment.contains("The last verdict"), "{comment}");
}
