//! The comment on a pull request: created, updated, healed; and what a later step reads.

use serde_json::json;

use super::workflow::{ENOUGH, NUMBER, TOO_LITTLE, Workflow, files, spec};
use crate::github::{Fault, User};

/// The bodies of all comments that were written, one after the other.
fn written(workflow: &Workflow) -> Vec<String> {
    let requests = workflow.github.requests().into_iter();
    let writes = requests.filter(|said| said.method == "POST" || said.method == "PATCH");
    let bodies = writes.filter_map(|said| said.body["body"].as_str().map(str::to_owned));
    bodies.collect()
}

#[test]
fn over_budget_is_posted_first_and_fails_then_and_a_later_step_reads_it() {
    let workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    let step = workflow.run().ended_with(10);
    let comment = workflow.comment();
    let [marker, shown, text] = comment.splitn(3, '\n').collect::<Vec<_>>()[..] else {
        panic!("{comment}")
    };
    assert_eq!(
        marker,
        "<!-- canary-gate v1 spec=canary-gate.yml order=2026-11-21T09:14:07Z/4821/1 -->"
    );
    assert!(shown.starts_with("<!-- canary-gate shown "), "{comment}");
    assert!(
        text.starts_with("### ❌ `xgb_reg` over budget: time is "),
        "{comment}"
    );
    workflow.comments(&["policy from main", "/actions/runs/4821"]);
    // The summary is the same text without the markers.
    assert_eq!(step.summary.trim(), text.trim());

    let number = |name: &str| step.output(name).parse::<f64>().unwrap();
    assert_eq!(
        (step.output("verdict"), step.output("exit-code")),
        ("exceeded", "10")
    );
    assert!(number("cost-lower") < number("cost-point"));
    assert!(number("cost-point") < number("cost-upper"));
    assert!(number("canary-cost") > 0.0);
    let address = format!("#issuecomment-{}", workflow.github.comments(NUMBER)[0].id);
    assert!(step.output("comment-url").ends_with(&address));
    assert!(
        workflow
            .project
            .read(step.output("report"))
            .contains("\"exceeded\"")
    );
    assert!(
        workflow
            .project
            .read(step.output("report-html"))
            .contains("over budget")
    );
    assert_eq!(
        (&*step.state["swept"], &*step.state["posted"]),
        ("true", "true")
    );

    // The breach at its line of the spec, after a log that is no place for commands.
    let log = &step.finished.stderr;
    let place = "::error file=canary-gate.yml,line=11,";
    let quiet = log.find("::stop-commands::").unwrap();
    assert!(quiet < log.find(place).unwrap(), "{log}");
    assert!(log.contains("title=xgb_reg over budget"), "{log}");
}

/// The same comment: at work, over budget, at work with the verdict below, within budget; and an older run ends late.
#[test]
fn red_turns_green_in_the_same_comment() {
    let mut workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    workflow.run().ended_with(10);
    let red = workflow.github.comments(NUMBER);
    let commit = workflow.merge()[..7].to_owned();
    // The base's budget grew meanwhile, and the branch was brought up to date.
    workflow.rebase(&spec(ENOUGH));
    workflow.later();
    workflow.run().ended_with(0);
    let green = workflow.github.comments(NUMBER);
    assert_eq!((green.len(), green[0].id), (1, red[0].id));
    let fold = format!("<details><summary>The last verdict, of {commit}</summary>");
    let written = written(&workflow);
    for (body, said) in written.iter().zip([
        &["state=running -->\n", "at most 5.00 USD together"][..],
        &["### ❌ `xgb_reg` over budget"],
        &[
            "### ⏳ measuring `xgb_reg`",
            &fold,
            "### ❌ `xgb_reg` over budget",
        ],
        &["### ✅ `xgb_reg` within budget"],
    ]) {
        assert!(said.iter().all(|said| body.contains(said)), "{body}");
    }
    assert_eq!(written.len(), 4);
    assert!(!workflow.comment().contains("The last verdict"));
    workflow.earlier();
    workflow.run().ended_with(0);
    assert_eq!(workflow.comment(), green[0].body);
}

#[test]
fn without_a_pull_request_or_a_wish_for_a_comment_the_summary_has_the_result() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    let push = json!({"before": workflow.base(), "after": workflow.head()});
    let workflow = workflow.event("push", push);
    workflow.run().ended_with(0).says(&["within budget"]);
    assert_eq!(workflow.github.comments(NUMBER), []);
    let workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    let workflow = workflow.input("comment", "off");
    workflow.run().ended_with(10).says(&["over budget"]);
    assert_eq!(workflow.github.comments(NUMBER), []);
}

/// A push that takes everything back must not make the run before it green.
#[test]
fn what_is_checked_out_is_judged_whatever_was_pushed_since() {
    let workflow = Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE));
    let old = files(&spec(TOO_LITTLE), "print(1)\n").with("README.md", "more");
    let taken_back = workflow.github.commit(&[workflow.head()], &old);
    let base = workflow.base();
    workflow.github.open_pull_request(NUMBER, base, &taken_back);
    workflow.run().ended_with(10);
}

/// Without the merge, as with `ref: head.sha` at actions/checkout.
#[test]
fn a_head_that_is_checked_out_is_compared_with_where_it_left_the_base() {
    let shared = files(&spec(TOO_LITTLE), "print(1)\n");
    let workflow = Workflow::between(&shared, &shared.clone().with("README.md", "more"));
    let head = format!("{}\n", workflow.head());
    workflow.project.write(".git/HEAD", &head);
    let step = workflow.run().ended_with(0);
    step.says(&["1 file changed from main to pull request 7"]);
}

/// Nobody waits for a comment about a job that is not concerned.
#[test]
fn a_change_that_concerns_no_job_writes_no_comment_and_brings_one_up_to_date() {
    let red = files(&spec(TOO_LITTLE), "print(2)\n");
    let base = files(&spec(TOO_LITTLE), "print(1)\n");
    let mut workflow = Workflow::between(&base, &base.clone().with("README.md", "more"));
    let step = workflow.run().ended_with(0);
    assert_eq!(step.output("verdict"), "not_judged");
    step.says(&["no job is affected"]);
    assert_eq!(workflow.github.comments(NUMBER), []);
    workflow.push(&red);
    workflow.later();
    workflow.run().ended_with(10);
    workflow.comments(&["over budget"]);
    // Taken back.
    workflow.push(&base.clone().with("README.md", "less"));
    workflow.later();
    workflow.run().ended_with(0);
    workflow.comments(&["no job is affected"]);
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
    workflow.comments(&["### ⚠️ nothing is checked of `other`, a job that is removed"]);
}

#[test]
fn a_new_comment_hides_the_older_ones_as_outdated() {
    let mut workflow =
        Workflow::pull_request(&spec(TOO_LITTLE), &spec(TOO_LITTLE)).input("comment", "new");
    let hidden = |workflow: &Workflow| {
        let comments = workflow.github.comments(NUMBER).into_iter();
        comments.map(|one| one.is_minimized).collect::<Vec<_>>()
    };
    workflow.run().ended_with(10);
    workflow.later();
    workflow.run().ended_with(10);
    assert_eq!(hidden(&workflow), [true, false]);
    let comments = workflow.github.comments(NUMBER);
    assert!(comments[1].body.contains("/runs/4822"), "{comments:#?}");
    // The older run ends once more, late: it writes nothing.
    workflow.earlier();
    workflow.run().ended_with(10);
    assert_eq!(workflow.github.comments(NUMBER).len(), 2);
    // A stranger with our marker stays as he is.
    let stranger = User::person("mallory");
    workflow
        .github
        .comment(NUMBER, &stranger, &comments[0].body);
    workflow.later();
    workflow.later();
    workflow.run().ended_with(10);
    assert_eq!(hidden(&workflow), [true, true, false, false]);
    // It cannot be hidden; the first request is for whose token it is.
    workflow.later();
    let forbidden = Fault::Forbidden("pull_requests=write");
    let asked = workflow.github.fail("POST", "/graphql").after(1);
    asked.with(forbidden);
    let step = workflow.run().ended_with(10);
    assert_eq!(hidden(&workflow), [true, true, false, false, false]);
    step.finished.complained("could not be hidden");
}
