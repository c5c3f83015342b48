//! A comment on a pull request and the issue of a drift: one for each spec, ours by its author, never doubled and never made
//! older, whatever GitHub answers.

use canary_gate::github::client::Github;
use canary_gate::github::environment::Environment;
use canary_gate::github::error::ForgeError;
use canary_gate::github::marker::{Marker, MarkerKind, MarkerState, Order};
use canary_gate::github::posts::PostPlace;
use canary_gate::github::publication::{
    Intent, OlderComments, PostText, Publication, PublicationOutcome, Published,
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

    fn try_as(&self, run: u64, intent: Intent, body: &str) -> Result<Published, ForgeError> {
        let marker = self.marker(run);
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_all().build().unwrap().block_on(async {
            let of = Environment {
                api_url: self.github.api_url(),
                graphql_url: self.github.graphql_url(),
                repository: REPOSITORY.to_owned(),
                ..Environment::default()
            };
            let publication = Publication {
                place: match self.kind {
                    MarkerKind::Report => PostPlace::PullRequest(7),
                    MarkerKind::Drift => PostPlace::Issues,
                },
                subject: marker.spec,
                order: marker.order,
                older: OlderComments::WriteOver,
            };
            let text = PostText {
                title: (self.kind == MarkerKind::Drift).then_some(TITLE),
                body,
                intent,
            };
            let github = Github::new(&of, &Token::new(TOKEN), 0.0)?;
            publication.publish(&github, &text, marker.order.time).await
        })
    }

    fn try_to_publish(&self, run: u64) -> Result<Published, ForgeError> {
        self.try_as(run, Intent::Verdict, &format!("said by {run}"))
    }

    fn publish(&self, run: u64) -> Published {
        self.try_to_publish(run).unwrap()
    }

    fn close(&self, run: u64) -> Published {
        self.try_as(run, Intent::Close, "back to normal").unwrap()
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
            Some("not_planned") => "DELETE".to_owned(),
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

/// Each row: the earlier runs that left something, what happens, the run, and then its outcome, its writing requests, its notes, and
/// the run whose text stands there in the end.
const ROUNDS: &str = "
- | nothing | 1 | Created | POST | 0 | 1
1 | nothing | 2 | Updated | PATCH | 0 | 2
2 | nothing | 1 | Superseded | | 1 | 2
two were created at once
1 | hidden once | 2 | Created | POST DELETE | 0 | 2
2 | hidden once | 1 | Superseded | POST DELETE | 1 | 2
2 1 | nothing | 3 | Updated | PATCH DELETE | 0 | 3
1 2 | nothing | 1 | Superseded | DELETE | 1 | 2
the answer of a creation is lost: it was carried out, or it was not
- | POST carried out, then 502 | 1 | Created | POST | 0 | 1
- | POST carried out, then dropped | 1 | Created | POST | 0 | 1
- | POST 502 twice | 1 | Created | POST POST POST | 0 | 1
- | POST dropped twice | 1 | Created | POST POST POST | 0 | 1
- | POST dropped thrice, then carried out | 1 | Created | POST POST POST POST | 0 | 1
- | POST limited twice | 1 | Created | POST POST POST | 0 | 1
the answer of a change is lost, and it is sent again
1 | PATCH carried out, then 502 | 2 | Updated | PATCH PATCH | 0 | 2
what was written is not listed for a while, and not at all
- | hidden after the first for two | 1 | Created | POST | 0 | 1
- | hidden after the first for ever | 1 | Created | POST | 0 | 1
it cannot be looked at again
- | listed once | 1 | Created | POST | 1 | 1
1 | listed once | 2 | Updated | PATCH | 1 | 2
it was deleted in between
- | listed though deleted | 2 | Created | PATCH POST | 0 | 2
an older run wrote over it at the same moment
1 | written over | 3 | Updated | PATCH PATCH | 0 | 3
somebody else removed the duplicate
2 1 | duplicate gone | 3 | Updated | PATCH DELETE | 0 | 3
";

/// Lets something happen while a run publishes.
fn happens(what: &str, stage: &Stage) {
    let post = |times, fault: Fault| {
        let rule = stage.github.fail("POST", stage.new_one());
        rule.times(times).with(fault);
    };
    let lists = |after, times, fault: Fault| {
        let rule = stage.github.fail("GET", stage.list());
        rule.after(after).times(times).with(fault);
    };
    let shown =
        |run: u64, text: &str| stage.list_with(stage.shown()[0].0, &stage.marker(run).above(text));
    let empty = || Fault::Text("[]".to_owned());
    match what {
        "nothing" => {}
        "hidden once" => lists(0, 1, empty()),
        "hidden after the first for two" => lists(1, 2, empty()),
        "hidden after the first for ever" => lists(1, u64::MAX, empty()),
        "listed once" => lists(1, u64::MAX, Fault::Status(403)),
        "listed though deleted" => {
            let gone = stage.marker(1).above("deleted since");
            lists(0, 1, stage.list_with(70, &gone));
        }
        "written over" => lists(1, 1, shown(2, "late")),
        "duplicate gone" => {
            let method = match stage.kind {
                MarkerKind::Report => "DELETE",
                MarkerKind::Drift => "PATCH",
            };
            let path = format!("/{}", stage.shown()[1].0);
            stage.github.fail(method, &path).with(Fault::Status(404));
        }
        "POST carried out, then 502" => post(1, Fault::CarriedOutThen502),
        "POST carried out, then dropped" => post(1, Fault::CarriedOutThenDropped),
        "POST 502 twice" => post(2, Fault::Status(502)),
        "POST dropped twice" => post(2, Fault::Dropped),
        "POST dropped thrice, then carried out" => {
            post(3, Fault::Dropped);
            post(1, Fault::CarriedOutThenDropped);
        }
        "POST limited twice" => post(2, Fault::SecondaryLimit(None)),
        "PATCH carried out, then 502" => {
            let rule = stage.github.fail("PATCH", "").times(1);
            rule.with(Fault::CarriedOutThen502);
        }
        what => panic!("{what}"),
    }
}

#[test]
fn one_is_there_in_the_end_whatever_github_answers() {
    for row in ROUNDS.lines().filter(|line| line.contains('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [earlier, what, run, outcome, writes, notes, shown] = cells[..] else {
            panic!("{row}")
        };
        for kind in KINDS {
            let case = format!("{row}, {kind:?}");
            let stage = Stage::new(kind);
            for run in earlier.split(' ').filter_map(|run| run.parse().ok()) {
                stage.earlier(run);
            }
            happens(what, &stage);
            let published = stage.publish(run.parse().unwrap());
            assert_eq!(format!("{:?}", published.outcome), outcome, "{case}");
            assert_eq!(stage.writes(), writes, "{case}");
            assert_eq!(published.notes.len().to_string(), notes, "{case}");
            let (id, body) = &stage.shown()[0];
            let marker = stage.marker(shown.parse().unwrap()).to_string();
            assert_eq!(body.lines().next(), Some(&*marker), "{case}");
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
        let forbidden = || Fault::Forbidden("x=write".to_owned());
        let odd = Fault::Unprocessable("Body is odd".to_owned());
        let disabled = "Issues are disabled for this repo";
        for (method, fault, calls, said) in [
            (
                "POST",
                Fault::Status(502),
                6,
                "may or may not have carried out",
            ),
            ("POST", forbidden(), 1, permission),
            ("PATCH", forbidden(), 1, permission),
            ("POST", odd, 1, "Body is odd"),
            ("GET", Fault::Status(404), 1, "404"),
            ("POST", Fault::Status(410), 1, disabled),
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

/// A token of one's own, and GitHub does not say whose.
#[test]
fn who_does_not_know_its_name_keeps_one_all_the_same() {
    for kind in KINDS {
        let stage = Stage::new(kind);
        stage.github.state().viewer = User::person("octocat");
        let nameless = Fault::Forbidden("metadata=read".to_owned());
        stage.github.fail("POST", "/graphql").with(nameless);
        assert_eq!(stage.publish(2).outcome, Created);
        // The next run finds out with its own which was ours, whether it is newer or late.
        let next = stage.publish(3);
        assert_eq!(next.outcome, Created);
        assert!(next.notes[0].contains("github-actions[bot]"), "{next:?}");
        assert_eq!(stage.publish(1).outcome, Superseded);
        let [(_, body)] = &stage.shown()[..] else {
            panic!("{:?}", stage.shown())
        };
        assert_eq!(*body, stage.marker(3).above("said by 3"));
    }
}

#[test]
fn an_issue_is_closed_when_the_drift_is_over_and_a_new_drift_is_a_new_issue() {
    let stage = Stage::new(MarkerKind::Drift);
    assert_eq!(stage.close(1).outcome, Nothing);
    assert_eq!(stage.publish(1).outcome, Created);
    // It says that already, though the run is another.
    let again = stage.try_as(2, Intent::Verdict, "said by 1");
    assert_eq!(again.unwrap().outcome, Unchanged);
    assert_eq!(stage.close(3).outcome, Closed);
    // An older run that ends late does not open it again.
    assert_eq!(stage.publish(2).outcome, Superseded);
    assert_eq!(stage.publish(4).outcome, Created);
    // A person closes it.
    stage.github.state().close_issue(9);
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
fn what_was_doubled_is_closed_whole() {
    let stage = Stage::new(MarkerKind::Drift);
    stage.earlier(1);
    stage.earlier(2);
    // For a while it is listed as open.
    let listed = stage.list_with(8, &stage.marker(1).above("earlier"));
    let open = stage.github.fail("GET", stage.list()).after(2).times(1);
    open.with(listed);
    assert_eq!(stage.close(3).outcome, Closed);
    let issues = stage.github.issues().into_iter();
    let reasons: Vec<_> = issues.map(|issue| issue.closed_as.unwrap()).collect();
    assert_eq!(reasons, ["completed", "completed"]);
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
