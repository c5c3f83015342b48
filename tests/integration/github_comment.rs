//! The sticky comment: one for each spec, ours by its author, never doubled and never made older.

use canary_gate::github::client::{Github, Settings};
use canary_gate::github::comment::{Marker, MarkerState, Order};
use canary_gate::github::error::GithubError;
use canary_gate::github::keeper::{KeeperChange, KeptItem};
use canary_gate::github::last_verdict::LastVerdict;
use canary_gate::github::posting::{Finished, IfMissing, OlderComments, Posting};
use canary_gate::github::token::Token;
use serde_json::json;

use crate::github::{FakeGithub, Fault, Files, REPOSITORY, TOKEN, User};

const SPEC: &str = "canary-gate.yml";

/// A fake with the pull request number 7.
fn github() -> FakeGithub {
    let github = FakeGithub::start();
    let base = github.commit(&[], &Files::new().with("train.py", "print(1)"));
    let head = github.commit(&[&base], &Files::new().with("train.py", "print(2)"));
    github.open_pull_request(7, &base, &head);
    github
}

/// The last word of a run about [`SPEC`]; a larger number is a newer run.
fn report_of(run: u64) -> Marker {
    Marker {
        spec: SPEC.to_owned(),
        order: Order {
            time: "2026-11-21T09:14:07Z".parse().unwrap(),
            run,
            attempt: 1,
        },
        state: MarkerState::Final,
    }
}

/// When all of them look.
fn now() -> jiff::Timestamp {
    report_of(1).order.time
}

/// What the same run says while it is at work.
fn stub_of(run: u64) -> Marker {
    Marker {
        state: MarkerState::Running,
        ..report_of(run)
    }
}

fn with_client<T>(github: &FakeGithub, act: impl AsyncFnOnce(Github) -> T) -> T {
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
        act(Github::new(settings).unwrap()).await
    })
}

fn try_to_post(
    github: &FakeGithub,
    marker: &Marker,
    bodies: &[&str],
) -> Result<KeptItem, GithubError> {
    let bodies: Vec<String> = bodies.iter().map(|body| (*body).to_owned()).collect();
    with_client(github, async |client| {
        let posting = Posting {
            pull_request: 7,
            marker,
            bodies: &bodies,
            if_missing: IfMissing::Create,
            older: OlderComments::WriteOver,
            last_verdict: LastVerdict::Replaced,
        };
        client.post_comment(posting, now()).await
    })
}

fn post(github: &FakeGithub, marker: &Marker, body: &str) -> KeptItem {
    try_to_post(github, marker, &[body]).unwrap()
}

fn finish(github: &FakeGithub, run: u64, body: &str) -> Finished {
    let marker = report_of(run);
    with_client(github, async |client| {
        client
            .finish_stub(7, (SPEC, &marker.order), body)
            .await
            .unwrap()
    })
}

/// A comment of ours as an earlier run left it.
fn earlier(github: &FakeGithub, marker: &Marker) -> u64 {
    github.comment(7, &User::actions(), &marker.above("earlier"))
}

/// All comments, oldest first.
fn shown(github: &FakeGithub) -> Vec<(u64, String)> {
    let comments = github.comments(7).into_iter();
    comments.map(|comment| (comment.id, comment.body)).collect()
}

/// Requests that change something.
fn writes(github: &FakeGithub) -> Vec<String> {
    let requests = github.requests().into_iter();
    requests
        .filter(|said| said.method != "GET" && said.path != "/graphql")
        .map(|said| said.method)
        .collect()
}

fn ends_with_id(posted: &KeptItem, id: u64) -> bool {
    posted
        .url
        .as_deref()
        .is_some_and(|url| url.ends_with(&format!("/pull/7#issuecomment-{id}")))
}

#[test]
fn the_first_report_is_a_new_comment_and_the_next_one_updates_it() {
    let github = github();
    let first = post(&github, &report_of(1), "### red");
    let [(id, body)] = &shown(&github)[..] else {
        panic!("one comment")
    };
    assert_eq!(*body, format!("{}\n### red", report_of(1)));
    assert_eq!(
        (first.change, first.notes.len()),
        (KeeperChange::Created, 0)
    );
    assert!(ends_with_id(&first, *id));

    let second = post(&github, &report_of(2), "### green");
    assert_eq!(second.change, KeeperChange::Updated);
    assert_eq!(second.url, first.url);
    assert_eq!(shown(&github), [(*id, report_of(2).above("### green"))]);
}

#[test]
fn a_strangers_marker_is_ignored() {
    let github = github();
    let hostile = report_of(9).above("edit me");
    for login in ["mallory", "github-actions"] {
        github.comment(7, &User::person(login), &hostile);
    }
    github.comment(7, &User::bot("dependabot[bot]"), &hostile);
    let posted = post(&github, &report_of(1), "### red");
    assert_eq!(posted.change, KeeperChange::Created);
    let comments = github.comments(7);
    assert_eq!(comments.len(), 4);
    assert!(comments[..3].iter().all(|comment| comment.body == hostile));
    assert_eq!(comments[3].user, User::actions());
}

#[test]
fn our_comment_is_found_on_the_third_page() {
    let github = github();
    for number in 0..250 {
        github.comment(7, &User::person("octocat"), &format!("remark {number}"));
    }
    let ours = earlier(&github, &report_of(1));
    let posted = post(&github, &report_of(2), "### green");
    assert_eq!(posted.change, KeeperChange::Updated);
    assert!(ends_with_id(&posted, ours));
    assert_eq!(writes(&github), ["PATCH"]);
    assert_eq!(github.comments(7).len(), 251);
}

#[test]
fn an_older_run_does_not_overwrite_a_newer_one() {
    let github = github();
    let newer = earlier(&github, &report_of(2));
    let posted = post(&github, &report_of(1), "### red");
    assert_eq!(posted.change, KeeperChange::Superseded);
    assert!(ends_with_id(&posted, newer));
    let [note] = &posted.notes[..] else {
        panic!("{:?}", posted.notes)
    };
    assert!(note.contains("run 2, attempt 1"), "{note}");
    assert_eq!(writes(&github), [""; 0]);
}

#[test]
fn a_marker_from_the_future_that_another_workflow_repeated_silences_no_run() {
    let github = github();
    let mut forged = report_of(1);
    forged.order.time = "9999-12-30T00:00:00Z".parse().unwrap();
    let forged_id = earlier(&github, &forged);
    assert_eq!(
        post(&github, &report_of(1), "### red").change,
        KeeperChange::Created
    );
    assert_eq!(
        post(&github, &report_of(2), "### green").change,
        KeeperChange::Updated
    );
    let [(first, body), (_, ours)] = &shown(&github)[..] else {
        panic!("two comments")
    };
    assert_eq!(
        (*first, body),
        (forged_id, &forged.above("earlier")),
        "it is not ours"
    );
    assert_eq!(*ours, report_of(2).above("### green"));
}

#[test]
fn the_stub_of_a_dead_run_is_taken_over_and_that_of_a_newer_run_is_not() {
    let github = github();
    let stub = earlier(&github, &stub_of(2));
    assert_eq!(
        post(&github, &report_of(1), "### red").change,
        KeeperChange::Superseded
    );
    let posted = post(&github, &stub_of(3), "in progress");
    assert_eq!(posted.change, KeeperChange::Updated);
    assert_eq!(shown(&github), [(stub, stub_of(3).above("in progress"))]);
    let posted = post(&github, &report_of(3), "### green");
    assert_eq!(posted.change, KeeperChange::Updated);
    assert_eq!(shown(&github), [(stub, report_of(3).above("### green"))]);
}

/// The next list of comments does not show what is there: another run writes it right now.
fn hide_comments_once(github: &FakeGithub) {
    let empty = Fault::Text("[]".to_owned());
    github
        .fail("GET", "/issues/7/comments")
        .times(1)
        .with(empty);
}

#[test]
fn two_created_at_once_fold_into_the_oldest_with_the_newer_word() {
    let github = github();
    let theirs = earlier(&github, &report_of(1));
    hide_comments_once(&github);
    let posted = post(&github, &report_of(2), "### green");
    assert_eq!(posted.change, KeeperChange::Updated);
    assert!(ends_with_id(&posted, theirs));
    assert_eq!(shown(&github), [(theirs, report_of(2).above("### green"))]);
}

#[test]
fn of_two_created_at_once_the_older_gives_way() {
    let github = github();
    let theirs = earlier(&github, &report_of(2));
    hide_comments_once(&github);
    let posted = post(&github, &report_of(1), "### red");
    assert_eq!(posted.change, KeeperChange::Superseded);
    assert!(ends_with_id(&posted, theirs));
    assert_eq!(shown(&github), [(theirs, report_of(2).above("earlier"))]);
}

/// A list of comments as GitHub gives it, with one of ours.
fn list_with(id: u64, body: &str) -> Fault {
    let list = json!([{
        "id": id,
        "user": {"login": "github-actions[bot]", "type": "Bot"},
        "body": body,
        "html_url": format!("https://github.example/pull/7#issuecomment-{id}"),
    }, {
        "id": 2, "user": null, "body": null, "html_url": "https://github.example/of-an-account-that-is-gone",
    }]);
    Fault::Text(list.to_string())
}

#[test]
fn what_an_older_run_wrote_over_at_the_same_moment_is_written_again() {
    let github = github();
    let ours = earlier(&github, &report_of(1));
    github
        .fail("GET", "/issues/7/comments")
        .after(1)
        .times(1)
        .with(list_with(ours, &report_of(2).above("late")));
    let posted = post(&github, &report_of(3), "### green");
    assert_eq!(posted.change, KeeperChange::Updated);
    assert_eq!(writes(&github), ["PATCH", "PATCH"]);
    assert_eq!(shown(&github), [(ours, report_of(3).above("### green"))]);
}

#[test]
fn a_comment_that_was_written_and_cannot_be_looked_at_again_is_posted_all_the_same() {
    for earlier_run in [None, Some(1)] {
        let github = github();
        if let Some(run) = earlier_run {
            earlier(&github, &report_of(run));
        }
        github
            .fail("GET", "/issues/7/comments")
            .after(1)
            .with(Fault::Status(403));
        let posted = post(&github, &report_of(2), "### green");
        let expected = match earlier_run {
            None => KeeperChange::Created,
            Some(_) => KeeperChange::Updated,
        };
        assert_eq!((posted.change, posted.notes.len()), (expected, 1));
        let bodies: Vec<String> = shown(&github).into_iter().map(|(_, body)| body).collect();
        assert_eq!(bodies, [report_of(2).above("### green")]);
    }
}

#[test]
fn duplicates_that_were_left_are_deleted_and_one_that_stays_is_reported() {
    let github = github();
    let oldest = earlier(&github, &report_of(2));
    let stuck = earlier(&github, &report_of(1));
    let other = earlier(&github, &stub_of(1));
    github
        .fail("DELETE", &format!("/issues/comments/{stuck}"))
        .with(Fault::Status(403));
    let posted = post(&github, &report_of(3), "### green");
    assert_eq!(posted.change, KeeperChange::Updated);
    assert_eq!(posted.notes.len(), 1);
    assert!(posted.notes[0].contains(&format!("issuecomment-{stuck}")));
    assert_eq!(
        shown(&github),
        [
            (oldest, report_of(3).above("### green")),
            (stuck, report_of(1).above("earlier"))
        ]
    );
    assert_eq!(github.calls("DELETE", &format!("/{other}")), 1);

    github.recover();
    let posted = post(&github, &report_of(3), "### green");
    assert_eq!(
        (posted.change, posted.notes.len()),
        (KeeperChange::Unchanged, 0)
    );
    assert_eq!(shown(&github), [(oldest, report_of(3).above("### green"))]);
}

#[test]
fn a_duplicate_that_somebody_else_deleted_is_no_trouble() {
    let github = github();
    earlier(&github, &report_of(1));
    earlier(&github, &report_of(1));
    github.fail("DELETE", "").times(1).with(Fault::Status(404));
    let posted = post(&github, &report_of(2), "### green");
    assert_eq!(
        (posted.change, posted.notes.len()),
        (KeeperChange::Updated, 0)
    );
}

#[test]
fn what_stands_there_already_is_not_written_again() {
    let github = github();
    let first = post(&github, &report_of(1), "### red");
    let again = post(&github, &report_of(1), "### red");
    assert_eq!(again.change, KeeperChange::Unchanged);
    assert_eq!(again.url, first.url);
    assert_eq!(writes(&github), ["POST"]);
}

#[test]
fn a_token_that_may_not_write_is_an_error_with_the_lines_to_grant_it() {
    for (method, earlier_run) in [("POST", None), ("PATCH", Some(1))] {
        let github = github();
        if let Some(run) = earlier_run {
            earlier(&github, &report_of(run));
        }
        github
            .fail(method, "/issues/")
            .with(Fault::Forbidden("pull_requests=write"));
        let error = try_to_post(&github, &report_of(2), &["### red"]).unwrap_err();
        assert!(matches!(error, GithubError::Forbidden { .. }), "{error:?}");
        assert!(
            error
                .help()
                .contains("permissions:\n      contents: read\n      pull-requests: write"),
            "{}",
            error.help()
        );
        assert_eq!(github.calls(method, "/issues/"), 1);
    }
}

#[test]
fn a_pull_request_that_is_not_there_is_an_error() {
    let github = FakeGithub::start();
    let error = try_to_post(&github, &report_of(1), &["### red"]).unwrap_err();
    assert!(matches!(error, GithubError::NotFound { .. }), "{error:?}");
    assert_eq!(writes(&github), [""; 0]);
}

#[test]
fn a_report_that_github_finds_too_long_is_posted_in_a_shorter_form() {
    let github = github();
    let long = "x".repeat(70_000);
    let posted = try_to_post(&github, &report_of(1), &[&long, "### short"]).unwrap();
    assert_eq!(posted.change, KeeperChange::Created);
    let posted = try_to_post(&github, &report_of(2), &[&long, &long, "### short"]).unwrap();
    assert_eq!(posted.change, KeeperChange::Updated);
    let again = try_to_post(&github, &report_of(2), &[&long, "### short"]).unwrap();
    assert_eq!(again.change, KeeperChange::Unchanged);
    let [(_, body)] = &shown(&github)[..] else {
        panic!("one comment")
    };
    assert_eq!(*body, report_of(2).above("### short"));
}

#[test]
fn a_report_that_github_takes_in_no_form_is_an_error() {
    let github = github();
    github
        .fail("POST", "/issues/7/comments")
        .with(Fault::Unprocessable("Body is too long"));
    let error = try_to_post(&github, &report_of(1), &["long", "short"]).unwrap_err();
    assert!(
        matches!(error, GithubError::Unprocessable { .. }),
        "{error:?}"
    );
    assert_eq!(github.calls("POST", "/issues/7/comments"), 2);
}

#[test]
fn a_secondary_rate_limit_is_waited_for() {
    let github = github();
    for wait in [Some(1), None] {
        github
            .fail("POST", "/issues/7/comments")
            .times(1)
            .with(Fault::SecondaryLimit(wait));
    }
    let posted = post(&github, &report_of(1), "### red");
    assert_eq!(posted.change, KeeperChange::Created);
    assert_eq!(github.calls("POST", "/issues/7/comments"), 3);
    assert_eq!(github.comments(7).len(), 1);
}

#[test]
fn a_comment_whose_answer_was_lost_is_not_written_twice() {
    for lost in [Fault::CarriedOutThen502, Fault::CarriedOutThenDropped] {
        let github = github();
        github
            .fail("POST", "/issues/7/comments")
            .times(1)
            .with(lost);
        let posted = post(&github, &report_of(1), "### red");
        assert_eq!(posted.change, KeeperChange::Created);
        assert_eq!(writes(&github), ["POST"]);
        assert_eq!(github.comments(7).len(), 1);
    }
}

#[test]
fn a_comment_that_was_lost_is_written_again() {
    for lost in [Fault::Status(502), Fault::Dropped] {
        let github = github();
        github
            .fail("POST", "/issues/7/comments")
            .times(2)
            .with(lost);
        let posted = post(&github, &report_of(1), "### red");
        assert_eq!(posted.change, KeeperChange::Created);
        assert_eq!(github.calls("POST", "/issues/7/comments"), 3);
        assert_eq!(github.comments(7).len(), 1);
    }
}

#[test]
fn the_last_try_is_looked_for_too() {
    let github = github();
    let comments = "/issues/7/comments";
    github.fail("POST", comments).times(3).with(Fault::Dropped);
    github
        .fail("POST", comments)
        .times(1)
        .with(Fault::CarriedOutThenDropped);
    let posted = post(&github, &report_of(1), "### red");
    assert_eq!(posted.change, KeeperChange::Created);
    assert_eq!(github.calls("POST", comments), 4);
    assert_eq!(github.comments(7).len(), 1);
}

#[test]
fn trouble_that_lasts_is_an_error() {
    let github = github();
    github
        .fail("POST", "/issues/7/comments")
        .with(Fault::Status(502));
    let error = try_to_post(&github, &report_of(1), &["### red"]).unwrap_err();
    assert!(matches!(error, GithubError::Unsure { .. }), "{error:?}");
    assert_eq!(github.calls("POST", "/issues/7/comments"), 4);
    assert_eq!(github.comments(7).len(), 0);
}

#[test]
fn an_update_whose_answer_was_lost_is_sent_again() {
    let github = github();
    let ours = earlier(&github, &report_of(1));
    github
        .fail("PATCH", "")
        .times(1)
        .with(Fault::CarriedOutThen502);
    let posted = post(&github, &report_of(2), "### green");
    assert_eq!(posted.change, KeeperChange::Updated);
    assert_eq!(shown(&github), [(ours, report_of(2).above("### green"))]);
}

#[test]
fn a_comment_that_was_deleted_in_between_is_created_anew() {
    let github = github();
    github
        .fail("GET", "/issues/7/comments")
        .times(1)
        .with(list_with(1, &report_of(1).above("deleted since")));
    let posted = post(&github, &report_of(2), "### green");
    assert_eq!(posted.change, KeeperChange::Created);
    assert_eq!(writes(&github), ["PATCH", "POST"]);
    let [(id, body)] = &shown(&github)[..] else {
        panic!("one comment")
    };
    assert_eq!(*body, report_of(2).above("### green"));
    assert!(ends_with_id(&posted, *id));
}

#[test]
fn two_specs_do_not_fight() {
    let github = github();
    let about = |spec: &str, run| Marker {
        spec: spec.to_owned(),
        ..report_of(run)
    };
    for spec in ["non-prod", "prod", "a/prod", "prod order=x -->"] {
        let posted = post(&github, &about(spec, 1), spec);
        assert_eq!(posted.change, KeeperChange::Created, "{spec}");
    }
    for spec in ["prod order=x -->", "a/prod", "prod", "non-prod"] {
        let posted = post(&github, &about(spec, 2), spec);
        assert_eq!(posted.change, KeeperChange::Updated, "{spec}");
    }
    let bodies: Vec<String> = shown(&github).into_iter().map(|(_, body)| body).collect();
    let expected =
        ["non-prod", "prod", "a/prod", "prod order=x -->"].map(|spec| about(spec, 2).above(spec));
    assert_eq!(bodies, expected);
}

#[test]
fn an_apps_comments_are_its_own() {
    let github = github();
    earlier(&github, &report_of(1));
    let app = User::bot("our-app[bot]");
    github.sign_in_as(&app);
    assert_eq!(
        post(&github, &report_of(2), "### red").change,
        KeeperChange::Created
    );
    // GraphQL may name an app without its suffix.
    let viewer = json!({"data": {"viewer": {"login": "our-app"}}});
    github
        .fail("POST", "/graphql")
        .with(Fault::Text(viewer.to_string()));
    assert_eq!(
        post(&github, &report_of(3), "### green").change,
        KeeperChange::Updated
    );
    let comments = github.comments(7);
    assert_eq!(comments.len(), 2);
    assert_eq!(comments[0].body, report_of(1).above("earlier"));
    assert_eq!(comments[1].user, app);
}

#[test]
fn a_token_that_does_not_say_whose_it_is_is_taken_as_the_workflows_own() {
    let github = github();
    let ours = earlier(&github, &report_of(1));
    github
        .fail("POST", "/graphql")
        .with(Fault::Forbidden("metadata=read"));
    let posted = post(&github, &report_of(2), "### green");
    assert_eq!(posted.change, KeeperChange::Updated);
    assert!(ends_with_id(&posted, ours));
    assert_eq!(posted.notes.len(), 1);
    assert!(
        posted.notes[0].contains("github-actions[bot]"),
        "{}",
        posted.notes[0]
    );
}

/// A token of one's own, and GitHub does not say whose.
fn without_a_name(github: &FakeGithub) {
    github.sign_in_as(&User::person("octocat"));
    github
        .fail("POST", "/graphql")
        .with(Fault::Forbidden("metadata=read"));
}

#[test]
fn who_does_not_know_its_name_writes_one_comment_all_the_same() {
    let github = github();
    without_a_name(&github);
    let first = post(&github, &report_of(1), "### red");
    assert_eq!(first.change, KeeperChange::Created);
    assert_eq!(writes(&github), ["POST"]);
    let [(id, _)] = shown(&github)[..] else {
        panic!("one comment")
    };
    // The next run finds out with its own comment which was ours.
    let second = post(&github, &report_of(2), "### green");
    assert_eq!(second.change, KeeperChange::Updated);
    assert!(ends_with_id(&second, id));
    assert_eq!(shown(&github), [(id, report_of(2).above("### green"))]);
    assert_eq!(writes(&github), ["POST", "POST", "PATCH", "DELETE"]);
}

#[test]
fn who_does_not_know_its_name_and_is_late_gives_way() {
    let github = github();
    without_a_name(&github);
    post(&github, &report_of(2), "### green");
    let late = post(&github, &report_of(1), "### red");
    assert_eq!(late.change, KeeperChange::Superseded);
    assert!(late.notes.iter().any(|note| note.contains("run 2")));
    let bodies: Vec<String> = shown(&github).into_iter().map(|(_, body)| body).collect();
    assert_eq!(bodies, [report_of(2).above("### green")]);
}

#[test]
fn a_comment_that_is_not_listed_yet_is_not_written_twice() {
    for (looks, notes) in [(2, 0), (u64::MAX, 1)] {
        let github = github();
        github
            .fail("GET", "/issues/7/comments")
            .after(1)
            .times(looks)
            .with(Fault::Text("[]".to_owned()));
        let posted = post(&github, &report_of(1), "### red");
        assert_eq!(
            (posted.change, posted.notes.len()),
            (KeeperChange::Created, notes)
        );
        assert_eq!(writes(&github), ["POST"]);
    }
}

#[test]
fn a_comment_that_somebody_changed_at_once_is_not_written_twice() {
    let github = github();
    github
        .fail("GET", "/issues/7/comments")
        .after(1)
        .with(list_with(2_400_000_001, "not what we wrote"));
    let posted = post(&github, &report_of(1), "### red");
    assert_eq!(
        (posted.change, posted.notes.len()),
        (KeeperChange::Created, 1)
    );
    assert_eq!(writes(&github), ["POST"]);
}

#[test]
fn our_duplicate_that_is_not_listed_yet_is_deleted_too() {
    let github = github();
    let theirs = earlier(&github, &report_of(1));
    hide_comments_once(&github);
    github
        .fail("GET", "/issues/7/comments")
        .times(1)
        .with(list_with(theirs, &report_of(2).above("### green")));
    post(&github, &report_of(2), "### green");
    assert_eq!(
        shown(&github).iter().map(|(id, _)| *id).collect::<Vec<_>>(),
        [theirs]
    );
}

#[test]
fn an_account_is_known_by_its_id_when_its_name_has_changed() {
    let github = github();
    let before = User::person("octocat");
    let ours = github.comment(7, &before, &report_of(1).above("earlier"));
    let after = User {
        login: "hexacat".to_owned(),
        ..before
    };
    github.sign_in_as(&after);
    let another = User {
        id: 1,
        ..after.clone()
    };
    github.comment(7, &another, &report_of(1).above("of another"));
    let posted = post(&github, &report_of(2), "### green");
    assert_eq!(posted.change, KeeperChange::Updated);
    assert!(ends_with_id(&posted, ours));
    assert_eq!(github.comments(7).len(), 2);
}

#[test]
fn a_post_step_that_does_not_know_its_name_says_so() {
    let github = github();
    without_a_name(&github);
    github.comment(7, &User::person("octocat"), &stub_of(1).above("at work"));
    let finished = finish(&github, 1, "cancelled");
    assert_eq!(finished.url, None);
    assert!(
        finished.notes[0].contains("github-actions[bot]"),
        "{:?}",
        finished.notes
    );
}

#[test]
fn a_stub_is_ended_by_the_post_step_of_its_run_only() {
    let github = github();
    let stub = earlier(&github, &stub_of(2));
    github.comment(7, &User::person("mallory"), &stub_of(1).above("edit me"));
    for other in [1, 3] {
        assert_eq!(finish(&github, other, "cancelled").url, None);
    }
    assert_eq!(writes(&github), [""; 0]);
    let finished = finish(&github, 2, "cancelled");
    assert_eq!(finished.notes.len(), 0);
    let url = finished.url.unwrap();
    assert!(url.ends_with(&format!("#issuecomment-{stub}")));
    assert_eq!(shown(&github)[0], (stub, report_of(2).above("cancelled")));
    assert_eq!(finish(&github, 2, "again").url, None);
    assert_eq!(writes(&github), ["PATCH"]);
}
