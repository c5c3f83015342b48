//! A comment on a pull request and the issue of a drift: one for each spec, ours by its author, never doubled and never made
//! older, whatever GitHub answers.

use canary_gate::github::client::{Github, Settings};
use canary_gate::github::error::GithubError;
use canary_gate::github::last_verdict::LastVerdict;
use canary_gate::github::marker::{LONGEST_TEXT, Marker, MarkerKind, MarkerState, Order};
use canary_gate::github::posts::PostPlace;
use canary_gate::github::publication::{
    Intent, OlderComments, Publication, PublicationOutcome, Published,
};
use canary_gate::github::token::Token;
use serde_json::json;

use PublicationOutcome::{Closed, Created, Nothing, Superseded, Unchanged, Updated};

use crate::github::{FakeGithub, Fault, Files, REPOSITORY, TOKEN, User};

const SPEC: &str = "canary-gate.yml";
const KINDS: [MarkerKind; 2] = [MarkerKind::Report, MarkerKind::Drift];
const TITLE: &str = "churn costs more";

/// A GitHub with the pull request number 7, and what is published there.
struct Stage {
    github: FakeGithub,
    kind: MarkerKind,
}

impl Stage {
    fn new(kind: MarkerKind) -> Self {
        let github = FakeGithub::start();
        let base = github.commit(&[], &Files::new().with("train.py", "print(1)"));
        let head = github.commit(&[&base], &Files::new().with("train.py", "print(2)"));
        github.open_pull_request(7, &base, &head);
        Self { github, kind }
    }

    /// The last word of a run about [`SPEC`]; a larger number is a newer run.
    fn marker(&self, run: u64) -> Marker {
        Marker {
            kind: self.kind,
            spec: SPEC.to_owned(),
            order: Order {
                time: "2026-09-01T09:14:07Z".parse().unwrap(),
                run,
                attempt: 1,
            },
            state: MarkerState::Final,
        }
    }

    fn stub(&self, run: u64) -> Marker {
        Marker {
            state: MarkerState::Running,
            ..self.marker(run)
        }
    }

    /// What somebody has written.
    fn written(&self, user: &User, body: &str) -> u64 {
        match self.kind {
            MarkerKind::Report => self.github.comment(7, user, body),
            MarkerKind::Drift => self.github.issue(user, TITLE, body),
        }
    }

    /// What an earlier run of ours has left.
    fn earlier(&self, run: u64) -> u64 {
        self.written(&User::actions(), &self.marker(run).above("earlier"))
    }

    fn with_client<T>(&self, act: impl AsyncFnOnce(Github) -> T) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(async {
            let settings = Settings {
                api_url: &self.github.api_url(),
                graphql_url: &self.github.graphql_url(),
                repository: REPOSITORY,
                token: &Token::new(TOKEN),
                pace: 0.0,
            };
            act(Github::new(settings).unwrap()).await
        })
    }

    fn try_as(
        &self,
        marker: &Marker,
        intent: Intent,
        text: &str,
    ) -> Result<Published, GithubError> {
        let publication = Publication {
            place: match self.kind {
                MarkerKind::Report => PostPlace::PullRequest(7),
                MarkerKind::Drift => PostPlace::Issues,
            },
            marker,
            title: (self.kind == MarkerKind::Drift).then_some(TITLE),
            body: text,
            intent,
            older: OlderComments::WriteOver,
            last_verdict: LastVerdict::Replaced,
        };
        let now = self.marker(1).order.time;
        self.with_client(async |client| client.publish(&publication, now).await)
    }

    fn try_to_publish(&self, run: u64) -> Result<Published, GithubError> {
        let text = format!("said by {run}");
        self.try_as(&self.marker(run), Intent::Show, &text)
    }

    fn publish(&self, run: u64) -> Published {
        self.try_to_publish(run).unwrap()
    }

    fn close(&self, run: u64) -> Published {
        let closed = self.try_as(&self.marker(run), Intent::Close, "back to normal");
        closed.unwrap()
    }

    /// Number and body of what stands there, oldest first.
    fn shown(&self) -> Vec<(u64, String)> {
        match self.kind {
            MarkerKind::Report => {
                let comments = self.github.comments(7).into_iter();
                comments.map(|one| (one.id, one.body)).collect()
            }
            MarkerKind::Drift => {
                let issues = self.github.issues().into_iter();
                let open = issues.filter(|one| one.closed_as.is_none());
                open.map(|one| (one.number, one.body)).collect()
            }
        }
    }

    /// Requests that change something; a duplicate issue is removed by closing it.
    fn writes(&self) -> String {
        let requests = self.github.requests().into_iter();
        let writes = requests.filter(|said| said.method != "GET" && said.path != "/graphql");
        let words = writes.map(|said| match said.body["state_reason"].as_str() {
            Some("duplicate") => "DELETE".to_owned(),
            _ => said.method,
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// The path of a list and of a new one.
    fn list(&self) -> &'static str {
        match self.kind {
            MarkerKind::Report => "/issues/7/comments",
            MarkerKind::Drift => "/issues?state=open",
        }
    }

    fn new_one(&self) -> &'static str {
        match self.kind {
            MarkerKind::Report => "/issues/7/comments",
            MarkerKind::Drift => "/issues",
        }
    }

    /// The lists after the first few do not show what is there.
    fn hide(&self, after: u64, times: u64) {
        let empty = Fault::Text("[]".to_owned());
        let hidden = self.github.fail("GET", self.list());
        hidden.after(after).times(times).with(empty);
    }

    /// A list as GitHub gives it, with one of ours and one of an account that is gone.
    fn list_with(&self, number: u64, body: &str) -> Fault {
        let actions = json!({"login": "github-actions[bot]", "id": 41_898_282, "type": "Bot"});
        let title = (self.kind == MarkerKind::Drift).then_some(TITLE);
        let list = json!([
            {"id": number, "user": actions, "title": title, "body": body, "html_url": format!("https://github.example/{number}")},
            {"id": 2, "user": null, "title": title, "body": null, "html_url": "https://github.example/2"},
        ]);
        Fault::Text(list.to_string())
    }
}

/// Each row: the earlier runs that left something, what the lists hide, what fails, the run, and then its outcome, its writing
/// requests, its notes, and the run whose text stands there in the end.
#[test]
fn one_is_there_in_the_end_whatever_github_answers() {
    type Setting<'a> = &'a dyn Fn(&Stage);
    let nothing: Setting = &|_| {};
    let hidden_once: Setting = &|stage| stage.hide(0, 1);
    let listed_once: Setting = &|stage| {
        let rule = stage.github.fail("GET", stage.list());
        rule.after(1).with(Fault::Status(403));
    };
    let post_once = |fault: Fault| {
        move |stage: &Stage| {
            let rule = stage.github.fail("POST", stage.new_one());
            rule.times(1).with(fault.clone());
        }
    };
    let post_twice = |fault: Fault| {
        move |stage: &Stage| {
            let rule = stage.github.fail("POST", stage.new_one());
            rule.times(2).with(fault.clone());
        }
    };
    type Row<'a> = (
        &'a [u64],
        Setting<'a>,
        u64,
        PublicationOutcome,
        &'a str,
        usize,
        u64,
    );
    let rows: [Row; 22] = [
        (&[], nothing, 1, Created, "POST", 0, 1),
        (&[1], nothing, 2, Updated, "PATCH", 0, 2),
        (&[2], nothing, 1, Superseded, "", 1, 2),
        // Two were created at once.
        (&[1], hidden_once, 2, Updated, "POST PATCH DELETE", 0, 2),
        (&[2], hidden_once, 1, Superseded, "POST DELETE", 1, 2),
        (&[2, 1], nothing, 3, Updated, "PATCH DELETE", 0, 3),
        (&[1, 2], nothing, 1, Superseded, "PATCH DELETE", 1, 2),
        // The answer of a creation is lost: it was carried out, or it was not.
        (
            &[],
            &post_once(Fault::CarriedOutThen502),
            1,
            Created,
            "POST",
            0,
            1,
        ),
        (
            &[],
            &post_once(Fault::CarriedOutThenDropped),
            1,
            Created,
            "POST",
            0,
            1,
        ),
        (
            &[],
            &post_twice(Fault::Status(502)),
            1,
            Created,
            "POST POST POST",
            0,
            1,
        ),
        (
            &[],
            &post_twice(Fault::Dropped),
            1,
            Created,
            "POST POST POST",
            0,
            1,
        ),
        (
            &[],
            &|stage| {
                post_twice(Fault::Dropped)(stage);
                post_once(Fault::Dropped)(stage);
                post_once(Fault::CarriedOutThenDropped)(stage);
            },
            1,
            Created,
            "POST POST POST POST",
            0,
            1,
        ),
        (
            &[],
            &post_twice(Fault::SecondaryLimit(None)),
            1,
            Created,
            "POST POST POST",
            0,
            1,
        ),
        // The answer of a change is lost, and it is sent again.
        (
            &[1],
            &|stage| {
                stage
                    .github
                    .fail("PATCH", "")
                    .times(1)
                    .with(Fault::CarriedOutThen502);
            },
            2,
            Updated,
            "PATCH PATCH",
            0,
            2,
        ),
        // What was written is not listed for a while, and not at all.
        (&[], &|stage| stage.hide(1, 2), 1, Created, "POST", 0, 1),
        (
            &[],
            &|stage| stage.hide(1, u64::MAX),
            1,
            Created,
            "POST",
            1,
            1,
        ),
        // It cannot be looked at again.
        (&[], listed_once, 1, Created, "POST", 1, 1),
        (&[1], listed_once, 2, Updated, "PATCH", 1, 2),
        // It was deleted in between.
        (
            &[],
            &|stage| {
                let gone = stage.list_with(70, &stage.marker(1).above("deleted since"));
                stage.github.fail("GET", stage.list()).times(1).with(gone);
            },
            2,
            Created,
            "PATCH POST",
            0,
            2,
        ),
        // An older run wrote over it at the same moment.
        (
            &[1],
            &|stage| {
                let late = stage.list_with(stage.shown()[0].0, &stage.marker(2).above("late"));
                stage
                    .github
                    .fail("GET", stage.list())
                    .after(1)
                    .times(1)
                    .with(late);
            },
            3,
            Updated,
            "PATCH PATCH",
            0,
            3,
        ),
        // Our duplicate is not listed yet.
        (
            &[1],
            &|stage| {
                stage.hide(0, 1);
                let shown =
                    stage.list_with(stage.shown()[0].0, &stage.marker(2).above("said by 2"));
                stage.github.fail("GET", stage.list()).times(1).with(shown);
            },
            2,
            Updated,
            "POST DELETE PATCH",
            0,
            2,
        ),
        // Somebody else removed the duplicate.
        (
            &[2, 1],
            &|stage| {
                let (method, number) = match stage.kind {
                    MarkerKind::Report => ("DELETE", stage.shown()[1].0),
                    MarkerKind::Drift => ("PATCH", stage.shown()[1].0),
                };
                let rule = stage.github.fail(method, &format!("/{number}"));
                rule.with(Fault::Status(404));
            },
            3,
            Updated,
            "PATCH DELETE",
            0,
            3,
        ),
    ];
    for (number, (earlier, setting, run, outcome, writes, notes, shown)) in
        rows.into_iter().enumerate()
    {
        for kind in KINDS {
            let case = format!("row {number}, {kind:?}");
            let stage = Stage::new(kind);
            for run in earlier {
                stage.earlier(*run);
            }
            setting(&stage);
            let published = stage.publish(run);
            assert_eq!(published.outcome, outcome, "{case}");
            assert_eq!(stage.writes(), writes, "{case}");
            assert_eq!(published.notes.len(), notes, "{case}: {published:?}");
            let (id, body) = &stage.shown()[0];
            let first = body.lines().next();
            assert_eq!(
                first,
                Some(stage.marker(shown).to_string().as_str()),
                "{case}"
            );
            let url = published.url.unwrap();
            assert!(url.ends_with(&id.to_string()), "{case}: {url}");
        }
    }
}

#[test]
fn trouble_that_lasts_and_what_a_person_must_correct_is_an_error() {
    for kind in KINDS {
        let permission = match kind {
            MarkerKind::Report => "pull-requests: write",
            MarkerKind::Drift => "issues: write",
        };
        for (method, fault, calls, said) in [
            (
                "POST",
                Fault::Status(502),
                4,
                "may or may not have carried out",
            ),
            ("POST", Fault::Forbidden("x=write"), 1, permission),
            ("PATCH", Fault::Forbidden("x=write"), 1, permission),
            (
                "POST",
                Fault::Unprocessable("Body is odd"),
                1,
                "Body is odd",
            ),
            ("GET", Fault::Status(404), 1, "404"),
            (
                "POST",
                Fault::Status(410),
                1,
                "Issues are disabled for this repo",
            ),
        ] {
            let stage = Stage::new(kind);
            if method == "PATCH" {
                stage.earlier(1);
            }
            stage.github.fail(method, "/issues").with(fault);
            let error = stage.try_to_publish(2).unwrap_err();
            let text = format!("{error} {}", error.help());
            assert!(text.contains(said), "{text}");
            assert_eq!(stage.github.calls(method, "/issues"), calls, "{text}");
        }
    }
}

#[test]
fn ours_is_found_on_the_third_page_and_a_strangers_marker_is_ignored() {
    for kind in KINDS {
        let stage = Stage::new(kind);
        let hostile = stage.marker(9).above("edit me");
        for user in [
            User::person("mallory"),
            User::person("github-actions"),
            User::bot("dependabot[bot]"),
        ] {
            stage.written(&user, &hostile);
        }
        for number in 0..250 {
            stage.written(&User::person("octocat"), &format!("remark {number}"));
        }
        let ours = stage.earlier(1);
        assert_eq!(stage.publish(2).outcome, Updated);
        assert_eq!(stage.writes(), "PATCH");
        let shown = stage.shown();
        assert!(shown[..3].iter().all(|(_, body)| *body == hostile));
        assert_eq!(shown[253], (ours, stage.marker(2).above("said by 2")));
    }
}

#[test]
fn a_duplicate_that_stays_is_reported_and_removed_the_next_time() {
    for kind in KINDS {
        let stage = Stage::new(kind);
        let oldest = stage.earlier(2);
        let stuck = stage.earlier(1);
        stage.earlier(1);
        for method in ["DELETE", "PATCH"] {
            let rule = stage.github.fail(method, &format!("/{stuck}"));
            rule.with(Fault::Status(403));
        }
        let published = stage.publish(3);
        assert_eq!(published.outcome, Updated);
        let [note] = &published.notes[..] else {
            panic!("{published:?}")
        };
        assert!(note.contains(&stuck.to_string()), "{note}");
        let numbers: Vec<u64> = stage.shown().iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [oldest, stuck]);
        stage.github.recover();
        let published = stage.publish(3);
        assert_eq!((published.outcome, published.notes.len()), (Unchanged, 0));
        assert_eq!(stage.shown().len(), 1);
    }
}

#[test]
fn two_specs_do_not_fight() {
    for kind in KINDS {
        let stage = Stage::new(kind);
        for (run, outcome) in [(1, Created), (2, Updated)] {
            for spec in ["non-prod", "prod", "a/prod", "prod order=x -->"] {
                let marker = Marker {
                    spec: spec.to_owned(),
                    ..stage.marker(run)
                };
                let published = stage.try_as(&marker, Intent::Show, &format!("{spec}, {run}"));
                assert_eq!(published.unwrap().outcome, outcome, "{spec}");
            }
        }
        assert_eq!(stage.shown().len(), 4);
    }
}

/// A token of one's own, and GitHub does not say whose.
#[test]
fn who_does_not_know_its_name_keeps_one_all_the_same() {
    for kind in KINDS {
        let stage = Stage::new(kind);
        stage.github.sign_in_as(&User::person("octocat"));
        let nameless = Fault::Forbidden("metadata=read");
        stage.github.fail("POST", "/graphql").with(nameless);
        assert_eq!(stage.publish(2).outcome, Created);
        // The next run finds out with its own which was ours, whether it is newer or late.
        let next = stage.publish(3);
        assert_eq!(next.outcome, Updated);
        assert!(next.notes[0].contains("github-actions[bot]"), "{next:?}");
        assert_eq!(stage.publish(1).outcome, Superseded);
        let [(_, body)] = &stage.shown()[..] else {
            panic!("{:?}", stage.shown())
        };
        assert_eq!(*body, stage.marker(3).above("said by 3"));
    }
}

#[test]
fn an_account_is_known_by_its_id_when_its_name_has_changed_and_an_app_without_its_suffix() {
    let stage = Stage::new(MarkerKind::Report);
    let before = User::person("octocat");
    let after = User {
        login: "hexacat".to_owned(),
        ..before.clone()
    };
    let another = User {
        id: 1,
        ..after.clone()
    };
    stage.github.sign_in_as(&after);
    stage.written(&before, &stage.marker(1).above("earlier"));
    stage.written(&another, &stage.marker(1).above("of another"));
    assert_eq!(stage.publish(2).outcome, Updated);
    stage.github.sign_in_as(&User::bot("our-app[bot]"));
    assert_eq!(stage.publish(3).outcome, Created);
    let viewer = json!({"data": {"viewer": {"login": "our-app"}}}).to_string();
    stage
        .github
        .fail("POST", "/graphql")
        .with(Fault::Text(viewer));
    assert_eq!(stage.publish(4).outcome, Updated);
    assert_eq!(stage.shown().len(), 3);
}

#[test]
fn a_stub_is_ended_by_the_post_step_of_its_run_only() {
    let stage = Stage::new(MarkerKind::Report);
    let stub = stage.written(&User::actions(), &stage.stub(2).above("at work"));
    stage.written(&User::person("mallory"), &stage.stub(1).above("edit me"));
    let end = |run| {
        let ended = stage.try_as(&stage.marker(run), Intent::EndStub, "cancelled");
        ended.unwrap()
    };
    for other in [1, 3] {
        assert_eq!(end(other).outcome, Nothing);
    }
    assert_eq!(stage.writes(), "");
    let ended = end(2);
    assert_eq!((ended.outcome, ended.notes.len()), (Updated, 0));
    assert_eq!(stage.shown()[0], (stub, stage.marker(2).above("cancelled")));
    assert_eq!(end(2).outcome, Nothing);
    assert_eq!(stage.writes(), "PATCH");
}

#[test]
fn an_issue_is_closed_when_the_drift_is_over_and_a_new_drift_is_a_new_issue() {
    let stage = Stage::new(MarkerKind::Drift);
    assert_eq!(stage.close(1).outcome, Nothing);
    assert_eq!(stage.publish(1).outcome, Created);
    // It says that already, though the run is another.
    let again = stage.try_as(&stage.marker(2), Intent::Show, "said by 1");
    assert_eq!(again.unwrap().outcome, Unchanged);
    assert_eq!(stage.close(3).outcome, Closed);
    // An older run that ends late does not open it again.
    assert_eq!(stage.publish(2).outcome, Superseded);
    assert_eq!(stage.publish(4).outcome, Created);
    // A person closes it.
    stage.github.close_issue(9);
    assert_eq!(stage.publish(5).outcome, Created);
    let issues = stage.github.issues();
    let closed: Vec<&str> = (issues.iter())
        .map(|issue| issue.closed_as.as_deref().unwrap_or("open"))
        .collect();
    assert_eq!(closed, ["completed", "completed", "open"]);
    assert_eq!(issues[0].body, stage.marker(3).above("back to normal"));
    assert_eq!(stage.writes(), "POST PATCH POST POST");
}

#[test]
fn what_was_doubled_is_closed_whole_on_an_old_server_too() {
    for (is_old, reason) in [(false, "duplicate"), (true, "not_planned")] {
        let stage = Stage::new(MarkerKind::Drift);
        stage.earlier(1);
        let younger = stage.earlier(2);
        if is_old {
            let unknown = Fault::Unprocessable("state_reason is not included in the list");
            let rule = stage.github.fail("PATCH", &format!("/issues/{younger}"));
            rule.times(1).with(unknown);
        }
        // For a while it is listed as open.
        let listed = stage.list_with(8, &stage.marker(1).above("earlier"));
        stage
            .github
            .fail("GET", stage.list())
            .after(2)
            .times(1)
            .with(listed);
        assert_eq!(stage.close(3).outcome, Closed);
        let issues = stage.github.issues().into_iter();
        let reasons: Vec<_> = issues.map(|issue| issue.closed_as.unwrap()).collect();
        assert_eq!(reasons, ["completed", reason]);
    }
}

#[test]
fn a_pull_request_is_no_issue_whatever_it_says() {
    let stage = Stage::new(MarkerKind::Drift);
    let body = stage.marker(1).above("update me");
    stage.github.change_pull_request(7, |pull| {
        pull.user = User::actions();
        pull.body = Some(body);
    });
    assert_eq!(stage.publish(2).outcome, Created);
    assert_eq!(stage.close(3).outcome, Closed);
    assert_eq!(stage.github.calls("PATCH", "/issues/7"), 0);
}

#[test]
fn what_github_shows_in_another_way_is_not_written_again_and_again() {
    let stage = Stage::new(MarkerKind::Report);
    let ours = stage.earlier(1);
    let body = stage.marker(2).above("said by two");
    let shown =
        json!({"id": ours, "user": null, "html_url": "https://github.example/1", "body": body});
    stage
        .github
        .fail("PATCH", "")
        .with(Fault::Text(shown.to_string()));
    assert_eq!(stage.publish(2).outcome, Updated);
    assert_eq!(stage.writes(), "PATCH");
}

#[test]
fn a_text_that_is_too_long_is_cut() {
    for kind in KINDS {
        let stage = Stage::new(kind);
        let long = "a line\n".repeat(20_000);
        for (run, outcome) in [(1, Created), (1, Unchanged)] {
            let published = stage.try_as(&stage.marker(run), Intent::Show, &long);
            assert_eq!(published.unwrap().outcome, outcome);
        }
        let (_, body) = &stage.shown()[0];
        assert!(body.len() <= LONGEST_TEXT && body.ends_with("step summary of the run.*"));
    }
}
