//! The tracking issue of a drift: one open for each spec while it lasts, ours by its author, closed when it is over.

use canary_gate::github::client::{Github, Settings};
use canary_gate::github::comment::Order;
use canary_gate::github::error::GithubError;
use canary_gate::github::issue::IssueMarker;
use canary_gate::github::keeper::{KeeperChange, KeptItem};
use canary_gate::github::token::Token;
use canary_gate::github::tracking::Tracking;
use serde_json::json;

use crate::github::{FakeGithub, Fault, Files, REPOSITORY, TOKEN, User};

const SPEC: &str = "canary-gate.yml";
const OPEN: &str = "/issues?state=open";

/// Of a check about [`SPEC`]; a larger number is a newer run.
fn check(run: u64) -> IssueMarker {
    IssueMarker {
        spec: SPEC.to_owned(),
        order: Order {
            time: "2026-09-01T09:14:07Z".parse().unwrap(),
            run,
            attempt: 1,
        },
    }
}

fn drifted(body: &str) -> Tracking {
    Tracking::Drifted {
        title: "churn costs more".to_owned(),
        body: body.to_owned(),
    }
}

fn over() -> Tracking {
    Tracking::Over {
        body: "back to normal".to_owned(),
    }
}

fn try_to_track(
    github: &FakeGithub,
    marker: &IssueMarker,
    state: Tracking,
) -> Result<KeptItem, GithubError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let settings = Settings {
            api_url: &github.api_url(),
            graphql_url: &github.graphql_url(),
            repository: REPOSITORY,
            token: &Token::new(TOKEN),
            pace: 0.0,
        };
        let client = Github::new(settings).unwrap();
        client.track(marker, state, check(1).order.time).await
    })
}

fn track(github: &FakeGithub, run: u64, state: Tracking) -> KeptItem {
    try_to_track(github, &check(run), state).unwrap()
}

/// An issue of ours as an earlier check left it.
fn earlier(github: &FakeGithub, run: u64) -> u64 {
    let body = check(run).above(&format!("found by {run}"));
    github.issue(&User::actions(), "churn costs more", &body)
}

/// Number, body and why it is closed, of all issues, oldest first.
fn shown(github: &FakeGithub) -> Vec<(u64, String, Option<String>)> {
    let issues = github.issues().into_iter();
    issues
        .map(|issue| (issue.number, issue.body, issue.closed_as))
        .collect()
}

fn open(number: u64, run: u64, body: &str) -> (u64, String, Option<String>) {
    (number, check(run).above(body), None)
}

fn closed(number: u64, run: u64, body: &str, reason: &str) -> (u64, String, Option<String>) {
    (number, check(run).above(body), Some(reason.to_owned()))
}

/// Requests that change something.
fn writes(github: &FakeGithub) -> Vec<String> {
    let requests = github.requests().into_iter();
    requests
        .filter(|said| said.method != "GET" && said.path != "/graphql")
        .map(|said| said.method)
        .collect()
}

fn is_at(tracked: &KeptItem, number: u64) -> bool {
    let url = tracked.url.as_deref().unwrap();
    url.ends_with(&format!("/example/models/issues/{number}"))
}

/// The next list of open issues does not show what is there.
fn hide_issues_once(github: &FakeGithub) {
    let empty = Fault::Text("[]".to_owned());
    github.fail("GET", OPEN).times(1).with(empty);
}

#[test]
fn a_drift_opens_an_issue_and_the_next_checks_update_and_close_it() {
    let github = FakeGithub::start();
    let first = track(&github, 1, drifted("+20 %"));
    assert_eq!(
        (first.change, first.notes.len()),
        (KeeperChange::Created, 0)
    );
    assert_eq!(shown(&github), [open(1, 1, "+20 %")]);
    assert!(is_at(&first, 1));

    let worse = Tracking::Drifted {
        title: "churn costs far more".to_owned(),
        body: "+30 %".to_owned(),
    };
    let second = track(&github, 2, worse);
    assert_eq!(
        (second.change, second.url),
        (KeeperChange::Updated, first.url)
    );
    assert_eq!(shown(&github), [open(1, 2, "+30 %")]);
    assert_eq!(github.issues()[0].title, "churn costs far more");

    let third = track(&github, 3, over());
    assert_eq!(third.change, KeeperChange::Closed);
    assert!(is_at(&third, 1));
    assert_eq!(
        shown(&github),
        [closed(1, 3, "back to normal", "completed")]
    );
    assert_eq!(writes(&github), ["POST", "PATCH", "PATCH"]);
}

#[test]
fn where_nothing_drifts_and_nothing_is_open_nothing_is_written() {
    let github = FakeGithub::start();
    github.issue(&User::person("octocat"), "a bug", "it fails");
    let tracked = track(&github, 1, over());
    assert_eq!((tracked.change, tracked.url), (KeeperChange::Nothing, None));
    assert_eq!(writes(&github), [""; 0]);
}

#[test]
fn a_new_drift_is_a_new_issue() {
    let github = FakeGithub::start();
    track(&github, 1, drifted("+20 %"));
    track(&github, 2, over());
    let again = track(&github, 3, drifted("+25 %"));
    assert_eq!(again.change, KeeperChange::Created);
    assert!(is_at(&again, 2));
    assert_eq!(
        shown(&github),
        [
            closed(1, 2, "back to normal", "completed"),
            open(2, 3, "+25 %")
        ]
    );
}

#[test]
fn what_it_says_already_is_not_written_again_though_the_run_is_another() {
    let github = FakeGithub::start();
    let first = track(&github, 1, drifted("+20 %"));
    let again = track(&github, 2, drifted("+20 %"));
    assert_eq!(
        (again.change, again.url),
        (KeeperChange::Unchanged, first.url)
    );
    assert_eq!(writes(&github), ["POST"]);
}

#[test]
fn a_strangers_marker_is_ignored() {
    let github = FakeGithub::start();
    let hostile = check(9).above("edit me");
    for login in ["mallory", "github-actions"] {
        github.issue(&User::person(login), "mine", &hostile);
    }
    github.issue(&User::bot("dependabot[bot]"), "mine", &hostile);
    assert_eq!(track(&github, 1, over()).change, KeeperChange::Nothing);
    let tracked = track(&github, 1, drifted("+20 %"));
    assert_eq!(tracked.change, KeeperChange::Created);
    let issues = github.issues();
    assert!(issues[..3].iter().all(|issue| issue.body == hostile));
    assert_eq!((issues.len(), &issues[3].user), (4, &User::actions()));
}

#[test]
fn a_pull_request_is_no_issue_whatever_it_says() {
    let github = FakeGithub::start();
    let base = github.commit(&[], &Files::new().with("train.py", "print(1)"));
    let head = github.commit(&[&base], &Files::new().with("train.py", "print(2)"));
    github.open_pull_request(7, &base, &head);
    github.change_pull_request(7, |pull| {
        pull.user = User::actions();
        pull.body = Some(check(1).above("update me"));
    });
    let tracked = track(&github, 2, drifted("+20 %"));
    assert_eq!(tracked.change, KeeperChange::Created);
    assert!(is_at(&tracked, 8));
    assert_eq!(track(&github, 3, over()).change, KeeperChange::Closed);
    assert_eq!(github.calls("PATCH", "/issues/7"), 0);
}

#[test]
fn ours_is_found_on_the_third_page() {
    let github = FakeGithub::start();
    for number in 0..250 {
        github.issue(
            &User::person("octocat"),
            &format!("bug {number}"),
            "it fails",
        );
    }
    let ours = earlier(&github, 1);
    let tracked = track(&github, 2, drifted("+20 %"));
    assert_eq!(tracked.change, KeeperChange::Updated);
    assert!(is_at(&tracked, ours));
    assert_eq!(github.issues().len(), 251);
    assert_eq!(writes(&github), ["PATCH"]);
}

#[test]
fn two_specs_have_an_issue_each() {
    let github = FakeGithub::start();
    let about = |spec: &str, run| IssueMarker {
        spec: spec.to_owned(),
        ..check(run)
    };
    for (run, did) in [(1, KeeperChange::Created), (2, KeeperChange::Updated)] {
        for spec in ["prod", "non-prod", "prod order=x -->"] {
            let body = format!("{spec}, {run}");
            let tracked = try_to_track(&github, &about(spec, run), drifted(&body)).unwrap();
            assert_eq!(tracked.change, did, "{spec}");
        }
    }
    assert_eq!(github.issues().len(), 3);
}

#[test]
fn an_older_run_does_not_overwrite_a_newer_one() {
    let github = FakeGithub::start();
    let newer = earlier(&github, 2);
    for state in [drifted("+20 %"), over()] {
        let tracked = track(&github, 1, state);
        assert_eq!(tracked.change, KeeperChange::Superseded);
        assert!(is_at(&tracked, newer));
        assert!(tracked.notes[0].contains("run 2, attempt 1"));
    }
    assert_eq!(writes(&github), [""; 0]);
}

#[test]
fn an_older_run_does_not_open_what_a_newer_one_has_closed() {
    let github = FakeGithub::start();
    track(&github, 1, drifted("+20 %"));
    track(&github, 3, over());
    let late = track(&github, 2, drifted("+30 %"));
    assert_eq!(late.change, KeeperChange::Superseded);
    assert!(is_at(&late, 1));
    assert_eq!(
        shown(&github),
        [closed(1, 3, "back to normal", "completed")]
    );
}

#[test]
fn what_a_person_closed_is_left_closed_while_the_next_check_opens_another() {
    let github = FakeGithub::start();
    track(&github, 1, drifted("+20 %"));
    github.close_issue(1);
    let next = track(&github, 2, drifted("+20 %"));
    assert_eq!(next.change, KeeperChange::Created);
    assert!(is_at(&next, 2));
}

#[test]
fn a_marker_from_the_future_that_another_workflow_repeated_silences_no_run() {
    let github = FakeGithub::start();
    let mut forged = check(1);
    forged.order.time = "9999-12-30T00:00:00Z".parse().unwrap();
    let title = "churn costs more";
    let other = github.issue(&User::actions(), title, &forged.above("forged"));
    assert_eq!(
        track(&github, 1, drifted("+20 %")).change,
        KeeperChange::Created
    );
    assert_eq!(track(&github, 2, over()).change, KeeperChange::Closed);
    let issues = github.issues();
    assert_eq!((issues[0].number, &issues[0].closed_as), (other, &None));
}

#[test]
fn of_two_opened_at_once_the_oldest_stays_with_the_newer_word() {
    let github = FakeGithub::start();
    let theirs = earlier(&github, 1);
    hide_issues_once(&github);
    let tracked = track(&github, 2, drifted("+20 %"));
    assert_eq!(tracked.change, KeeperChange::Updated);
    assert!(is_at(&tracked, theirs));
    let duplicate = format!("A duplicate of #{theirs}: two runs opened one at the same time.");
    assert_eq!(
        shown(&github),
        [
            open(theirs, 2, "+20 %"),
            closed(theirs + 1, 2, &duplicate, "duplicate")
        ]
    );
    assert_eq!(tracked.notes, [""; 0]);
}

#[test]
fn of_two_opened_at_once_the_older_run_gives_way() {
    let github = FakeGithub::start();
    let theirs = earlier(&github, 2);
    hide_issues_once(&github);
    let tracked = track(&github, 1, drifted("+20 %"));
    assert_eq!(tracked.change, KeeperChange::Superseded);
    assert!(is_at(&tracked, theirs));
    let [kept, (_, _, reason)] = &shown(&github)[..] else {
        panic!("two issues")
    };
    assert_eq!(*kept, open(theirs, 2, "found by 2"));
    assert_eq!(reason.as_deref(), Some("duplicate"));
}

#[test]
fn an_older_run_moves_the_newer_word_to_the_issue_that_stays() {
    let github = FakeGithub::start();
    let oldest = earlier(&github, 2);
    let younger = earlier(&github, 3);
    let tracked = track(&github, 1, over());
    assert_eq!(tracked.change, KeeperChange::Superseded);
    let [kept, (number, _, reason)] = &shown(&github)[..] else {
        panic!("two issues")
    };
    assert_eq!(*kept, open(oldest, 3, "found by 3"));
    assert_eq!((*number, reason.as_deref()), (younger, Some("duplicate")));
}

#[test]
fn what_was_doubled_is_closed_whole_when_the_drift_is_over() {
    let github = FakeGithub::start();
    earlier(&github, 1);
    earlier(&github, 2);
    assert_eq!(track(&github, 3, over()).change, KeeperChange::Closed);
    let reasons: Vec<_> = github
        .issues()
        .into_iter()
        .map(|issue| issue.closed_as)
        .collect();
    let expected = ["completed", "duplicate"].map(|reason| Some(reason.to_owned()));
    assert_eq!(reasons, expected);
}

#[test]
fn a_server_that_does_not_know_duplicates_closes_them_all_the_same() {
    let github = FakeGithub::start();
    earlier(&github, 1);
    let younger = earlier(&github, 1);
    let path = format!("/issues/{younger}");
    let unknown = Fault::Unprocessable("state_reason is not included in the list");
    github.fail("PATCH", &path).times(1).with(unknown);
    let tracked = track(&github, 2, drifted("+20 %"));
    assert_eq!(
        (tracked.change, tracked.notes.len()),
        (KeeperChange::Updated, 0)
    );
    assert_eq!(github.issues()[1].closed_as.as_deref(), Some("not_planned"));
}

#[test]
fn a_duplicate_that_stays_is_reported_and_closed_the_next_time() {
    let github = FakeGithub::start();
    earlier(&github, 1);
    let stuck = earlier(&github, 1);
    let path = format!("/issues/{stuck}");
    github.fail("PATCH", &path).with(Fault::Status(403));
    let tracked = track(&github, 2, drifted("+20 %"));
    assert_eq!(tracked.change, KeeperChange::Updated);
    assert!(tracked.notes[0].contains(&path), "{:?}", tracked.notes);
    github.recover();
    assert_eq!(
        track(&github, 3, drifted("+20 %")).change,
        KeeperChange::Unchanged
    );
    assert_eq!(github.issues()[1].closed_as.as_deref(), Some("duplicate"));
}

#[test]
fn an_issue_whose_answer_was_lost_is_not_opened_twice() {
    for lost in [Fault::CarriedOutThen502, Fault::CarriedOutThenDropped] {
        let github = FakeGithub::start();
        github.fail("POST", "/issues").times(1).with(lost);
        let tracked = track(&github, 1, drifted("+20 %"));
        assert_eq!(tracked.change, KeeperChange::Created);
        assert_eq!(writes(&github), ["POST"]);
        assert_eq!(shown(&github), [open(1, 1, "+20 %")]);
    }
}

#[test]
fn an_issue_that_was_lost_is_opened_again() {
    for lost in [Fault::Status(502), Fault::Dropped] {
        let github = FakeGithub::start();
        github.fail("POST", "/issues").times(2).with(lost);
        assert_eq!(
            track(&github, 1, drifted("+20 %")).change,
            KeeperChange::Created
        );
        assert_eq!(writes(&github), ["POST", "POST", "POST"]);
        assert_eq!(github.issues().len(), 1);
    }
}

#[test]
fn trouble_that_lasts_is_an_error() {
    let github = FakeGithub::start();
    github.fail("POST", "/issues").with(Fault::Status(502));
    let error = try_to_track(&github, &check(1), drifted("+20 %")).unwrap_err();
    assert!(matches!(error, GithubError::Unsure { .. }), "{error:?}");
    assert_eq!(github.calls("POST", "/issues"), 4);
}

#[test]
fn a_closing_whose_answer_was_lost_is_sent_again() {
    let github = FakeGithub::start();
    let ours = earlier(&github, 1);
    let lost = Fault::CarriedOutThen502;
    github.fail("PATCH", "/issues/").times(1).with(lost);
    assert_eq!(track(&github, 2, over()).change, KeeperChange::Closed);
    assert_eq!(
        shown(&github),
        [closed(ours, 2, "back to normal", "completed")]
    );
}

#[test]
fn a_secondary_rate_limit_is_waited_for() {
    let github = FakeGithub::start();
    for wait in [Some(1), None] {
        let limit = Fault::SecondaryLimit(wait);
        github.fail("POST", "/issues").times(1).with(limit);
    }
    assert_eq!(
        track(&github, 1, drifted("+20 %")).change,
        KeeperChange::Created
    );
    assert_eq!(github.calls("POST", "/issues"), 3);
    assert_eq!(github.issues().len(), 1);
}

#[test]
fn a_token_that_may_not_write_is_an_error_with_the_lines_to_grant_it() {
    for (method, earlier_run) in [("POST", None), ("PATCH", Some(1)), ("GET", None)] {
        let github = FakeGithub::start();
        if let Some(run) = earlier_run {
            earlier(&github, run);
        }
        let refusal = Fault::Forbidden("issues=write");
        github.fail(method, "/issues").with(refusal);
        let error = try_to_track(&github, &check(2), drifted("+20 %")).unwrap_err();
        assert!(matches!(error, GithubError::Forbidden { .. }), "{error:?}");
        let block = "permissions:\n      contents: read\n      issues: write";
        assert!(error.help().contains(block), "{}", error.help());
        assert_eq!(github.calls(method, "/issues"), 1);
    }
}

#[test]
fn a_token_that_may_not_even_see_is_the_same_error() {
    let github = FakeGithub::start();
    github.fail("GET", "/issues").with(Fault::Status(404));
    let error = try_to_track(&github, &check(1), drifted("+20 %")).unwrap_err();
    assert!(error.help().contains("issues: write"), "{}", error.help());
}

#[test]
fn a_repository_without_issues_is_an_error() {
    for method in ["GET", "POST"] {
        let github = FakeGithub::start();
        github.fail(method, "/issues").with(Fault::Status(410));
        let error = try_to_track(&github, &check(1), drifted("+20 %")).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("Issues are disabled for this repo"), "{text}");
        let help = error.help();
        assert!(
            help.contains("issues are disabled in this repository"),
            "{help}"
        );
    }
}

/// A list of issues as GitHub gives it, with one of ours and one of an account that is gone.
fn list_with(number: u64, body: &str) -> Fault {
    let list = json!([{
        "number": number,
        "id": number,
        "user": {"login": "github-actions[bot]", "id": 41_898_282, "type": "Bot"},
        "title": "churn costs more",
        "body": body,
        "html_url": format!("https://github.example/example/models/issues/{number}"),
    }, {
        "number": 90, "id": 90, "user": null, "title": "", "body": null, "html_url": "https://github.example/90",
    }]);
    Fault::Text(list.to_string())
}

#[test]
fn what_an_older_run_wrote_over_at_the_same_moment_is_written_again() {
    let github = FakeGithub::start();
    let ours = earlier(&github, 1);
    let late = list_with(ours, &check(2).above("late"));
    github.fail("GET", OPEN).after(1).times(1).with(late);
    assert_eq!(
        track(&github, 3, drifted("+20 %")).change,
        KeeperChange::Updated
    );
    assert_eq!(writes(&github), ["PATCH", "PATCH"]);
    assert_eq!(shown(&github), [open(ours, 3, "+20 %")]);
}

#[test]
fn an_issue_that_was_deleted_in_between_is_opened_anew_or_is_over() {
    for (state, did) in [
        (drifted("+20 %"), KeeperChange::Created),
        (over(), KeeperChange::Nothing),
    ] {
        for status in [404, 410] {
            let github = FakeGithub::start();
            let listed = list_with(70, &check(1).above("deleted since"));
            github.fail("GET", OPEN).times(1).with(listed);
            github
                .fail("PATCH", "/issues/70")
                .with(Fault::Status(status));
            assert_eq!(track(&github, 2, state.clone()).change, did);
        }
    }
}

#[test]
fn an_issue_that_a_person_closed_at_once_is_not_opened_twice() {
    let github = FakeGithub::start();
    let ours = earlier(&github, 1);
    github.close_issue(ours);
    let before = list_with(ours, &check(1).above("found by 1"));
    github.fail("GET", OPEN).times(1).with(before);
    let tracked = track(&github, 2, drifted("+20 %"));
    assert_eq!(tracked.change, KeeperChange::Updated);
    assert!(is_at(&tracked, ours));
    assert_eq!(writes(&github), ["PATCH"]);
}

#[test]
fn an_issue_that_is_not_listed_yet_is_not_opened_twice() {
    for (looks, notes) in [(2, 0), (u64::MAX, 1)] {
        let github = FakeGithub::start();
        let empty = Fault::Text("[]".to_owned());
        github.fail("GET", OPEN).after(1).times(looks).with(empty);
        let tracked = track(&github, 1, drifted("+20 %"));
        assert_eq!(
            (tracked.change, tracked.notes.len()),
            (KeeperChange::Created, notes)
        );
        assert_eq!(writes(&github), ["POST"]);
    }
}

#[test]
fn our_duplicate_that_is_not_listed_yet_is_closed_too() {
    let github = FakeGithub::start();
    let theirs = earlier(&github, 1);
    hide_issues_once(&github);
    let shown = list_with(theirs, &check(2).above("+20 %"));
    github.fail("GET", OPEN).times(1).with(shown);
    let tracked = track(&github, 2, drifted("+20 %"));
    assert!(tracked.url.unwrap().ends_with(&format!("/{theirs}")));
    assert_eq!(github.issues()[1].closed_as.as_deref(), Some("duplicate"));
}

#[test]
fn what_github_shows_in_another_way_is_not_written_again_and_again() {
    let github = FakeGithub::start();
    let ours = earlier(&github, 1);
    let shown = json!({
        "number": ours, "id": ours, "user": null, "title": "churn costs more", "html_url": "https://github.example/1",
        "body": check(2).above("+20 percent"),
    });
    let shown = Fault::Text(shown.to_string());
    github.fail("PATCH", "/issues/").with(shown);
    assert_eq!(
        track(&github, 2, drifted("+20 %")).change,
        KeeperChange::Updated
    );
    assert_eq!(writes(&github), ["PATCH"]);
}

#[test]
fn an_issue_that_is_listed_as_open_for_a_while_is_closed_once() {
    let github = FakeGithub::start();
    let ours = earlier(&github, 1);
    let before = list_with(ours, &check(1).above("found by 1"));
    github.fail("GET", OPEN).after(1).times(1).with(before);
    assert_eq!(track(&github, 2, over()).change, KeeperChange::Closed);
    assert_eq!(writes(&github), ["PATCH"]);
}

#[test]
fn an_issue_that_was_written_and_cannot_be_looked_at_again_is_tracked_all_the_same() {
    for (earlier_run, state, did) in [
        (None, drifted("+20 %"), KeeperChange::Created),
        (Some(1), drifted("+20 %"), KeeperChange::Updated),
        (Some(1), over(), KeeperChange::Closed),
    ] {
        let github = FakeGithub::start();
        if let Some(run) = earlier_run {
            earlier(&github, run);
        }
        github.fail("GET", OPEN).after(1).with(Fault::Status(403));
        let tracked = track(&github, 2, state);
        assert_eq!((tracked.change, tracked.notes.len()), (did, 1));
        assert!(tracked.url.is_some());
    }
}

#[test]
fn a_title_and_a_body_that_are_too_long_are_cut() {
    let github = FakeGithub::start();
    let long = Tracking::Drifted {
        title: "x".repeat(300),
        body: "a line\n".repeat(20_000),
    };
    assert_eq!(
        track(&github, 1, long.clone()).change,
        KeeperChange::Created
    );
    let issue = &github.issues()[0];
    assert_eq!(issue.title.chars().count(), 256);
    assert!(issue.body.ends_with("step summary of the run.*"));
    assert_eq!(track(&github, 2, long).change, KeeperChange::Unchanged);
}

#[test]
fn who_does_not_know_its_name_keeps_one_issue_all_the_same() {
    let github = FakeGithub::start();
    github.sign_in_as(&User::person("octocat"));
    let nameless = Fault::Forbidden("metadata=read");
    github.fail("POST", "/graphql").with(nameless);
    assert_eq!(
        track(&github, 1, drifted("+20 %")).change,
        KeeperChange::Created
    );
    // The next run finds out with its own issue which was ours.
    let second = track(&github, 2, drifted("+30 %"));
    assert_eq!(second.change, KeeperChange::Updated);
    assert!(is_at(&second, 1));
    let reasons: Vec<_> = github
        .issues()
        .into_iter()
        .map(|issue| issue.closed_as)
        .collect();
    assert_eq!(reasons, [None, Some("duplicate".to_owned())]);
    assert!(second.notes[0].contains("github-actions[bot]"));
}
