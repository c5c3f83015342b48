use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::super::identity::Author;
use super::super::marker::{MarkerKind, MarkerState};
use super::*;

const SPEC: &str = "canary-gate.yml";

fn time() -> Timestamp {
    "2026-11-21T09:14:07Z".parse().unwrap()
}

/// `2`: the last word of run 2; `2r`: its stub; `2x`: of another spec; `2f`: from the future.
fn marker_of(text: &str) -> Marker {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let mark = &text[digits.len()..];
    let ahead = jiff::SignedDuration::from_secs(if mark == "f" { 3601 } else { 0 });
    Marker {
        kind: MarkerKind::Report,
        spec: if mark == "x" { "non-prod.yml" } else { SPEC }.to_owned(),
        order: Order {
            time: time() + ahead,
            run: digits.parse().unwrap(),
            attempt: 1,
        },
        state: match mark {
            "r" => MarkerState::Running,
            _ => MarkerState::Final,
        },
    }
}

fn account(login: &str, id: Option<u64>, kind: &str) -> Author {
    Author {
        login: login.to_owned(),
        id,
        kind: kind.to_owned(),
    }
}

fn us() -> Author {
    account("github-actions[bot]", Some(41_898_282), "Bot")
}

/// `mallory:2` is a stranger's.
fn post(number: u64, text: &str, is_issue: bool) -> Post {
    let (stranger, text) = match text.split_once(':') {
        Some((stranger, text)) => (Some(stranger), text),
        None => (None, text),
    };
    let author = stranger.map_or_else(us, |login| account(login, None, "User"));
    let mut marker = marker_of(text);
    if is_issue {
        marker.kind = MarkerKind::Drift;
    }
    let answer = serde_json::json!({
        "id": number + 1000, "number": number, "html_url": format!("https://github.example/{number}"),
        "title": is_issue.then_some("drift"), "body": marker.above(&format!("said by {text}")),
    });
    Post {
        author: Some(author),
        ..serde_json::from_value(answer).unwrap()
    }
}

fn posts(texts: &str, is_issue: bool) -> Vec<Post> {
    let numbered = texts.split_whitespace().zip(1..);
    numbered
        .map(|(text, number)| post(number, text, is_issue))
        .collect()
}

fn fresh() -> PublicationState {
    PublicationState {
        identity: Identity::from(&us()),
        now: time(),
        created: None,
        unlisted: 0,
        sent: 0,
        written: None,
        gone: Vec::new(),
        trouble: None,
        notes: Vec::new(),
    }
}

fn publication<'a>(marker: &'a Marker, body: &'a str, intent: Intent) -> Publication<'a> {
    let is_issue = marker.kind == MarkerKind::Drift;
    Publication {
        place: match is_issue {
            true => PostPlace::Issues,
            false => PostPlace::PullRequest(7),
        },
        marker,
        title: is_issue.then_some("drift"),
        body,
        intent,
        older: OlderComments::WriteOver,
        last_verdict: LastVerdict::Replaced,
    }
}

/// A step in short.
fn short(step: &PublicationStep<'_>) -> String {
    match step {
        PublicationStep::Create => "create".to_owned(),
        PublicationStep::LookAgain => "look again".to_owned(),
        PublicationStep::Write {
            over,
            body,
            becomes,
            ..
        } => {
            let said = body.lines().last().unwrap().replace("said by ", "");
            format!("write {said} over {}: {becomes:?}", over.number)
        }
        PublicationStep::Remove { duplicate, .. } => format!("remove {}", duplicate.number),
        PublicationStep::End { outcome, url, .. } => {
            let number = url.as_deref().and_then(|url| url.rsplit('/').next());
            format!("{outcome:?} {}", number.unwrap_or_default())
        }
    }
}

#[test]
fn from_what_is_listed_follows_what_is_done() {
    use Intent::{Close, EndStub, Refresh, Show};
    use OlderComments::{Hide, WriteOver};
    for (listed, text, intent, older, step) in [
        // The first, and the next ones; the oldest stays, to which links may exist.
        ("", "1", Show, WriteOver, "create"),
        ("1", "2", Show, WriteOver, "write 2 over 1: Updated"),
        ("1r", "2r", Show, WriteOver, "write 2r over 1: Updated"),
        ("1r", "1", Show, WriteOver, "write 1 over 1: Updated"),
        ("1", "1", Show, WriteOver, "Unchanged 1"),
        ("", "1", Refresh, WriteOver, "Nothing "),
        ("1", "2", Refresh, WriteOver, "write 2 over 1: Updated"),
        // A newer run is left alone, and so is a run's own last word by its stub.
        ("2", "1", Show, WriteOver, "Superseded 1"),
        ("2r", "1", Show, WriteOver, "Superseded 1"),
        ("1", "1r", Show, WriteOver, "Superseded 1"),
        // Of those that were written at once the oldest stays, with the newest text.
        ("1 2", "2", Show, WriteOver, "write 2 over 1: Updated"),
        ("2 1 1r", "2", Show, WriteOver, "remove 2"),
        ("1 2", "1", Show, WriteOver, "write 2 over 1: Superseded"),
        ("2 1", "1", Show, WriteOver, "remove 2"),
        // Only our own about this spec count, and none from the future.
        (
            "mallory:1 github-actions:1 GitHub-Actions[bot]:1",
            "2",
            Show,
            WriteOver,
            "create",
        ),
        ("1x 9f", "2", Show, WriteOver, "create"),
        // A comment of each run's own.
        ("1", "2", Show, Hide, "create"),
        ("1 2r", "2", Show, Hide, "write 2 over 2: Updated"),
        ("1 2", "1", Show, Hide, "Superseded 2"),
        ("", "2", Refresh, Hide, "Nothing "),
        ("1", "2", Refresh, Hide, "create"),
        // The post step ends the stub of its run, and nothing else.
        ("1 2r", "2", EndStub, WriteOver, "write 2 over 2: Updated"),
        ("1r 3r mallory:2r", "2", EndStub, WriteOver, "Nothing "),
        ("2", "2", EndStub, WriteOver, "Nothing "),
        // An issue is closed, doubled ones first.
        ("", "1", Close, WriteOver, "Nothing "),
        ("1", "2", Close, WriteOver, "write 2 over 1: Closed"),
        ("1 1", "2", Close, WriteOver, "remove 2"),
        ("2", "1", Close, WriteOver, "Superseded 1"),
    ] {
        let mut marker = marker_of(text);
        if intent == Close {
            marker.kind = MarkerKind::Drift;
        }
        let listed_posts = posts(listed, intent == Close);
        let body = format!("said by {text}");
        let publication = Publication {
            older,
            ..publication(&marker, &body, intent)
        };
        let decided = publication.decide(&fresh(), &listed_posts, &[]);
        assert_eq!(
            short(&decided),
            step,
            "{listed} | {text} {intent:?} {older:?}"
        );
    }
}

#[test]
fn what_was_sent_already_is_not_sent_again() {
    let marker = marker_of("2");
    let publication = publication(&marker, "said by 2", Intent::Show);
    let created = |unlisted| PublicationState {
        created: Some(post(5, "2", false)),
        unlisted,
        sent: 1,
        ..fresh()
    };
    for (state, listed, step) in [
        (created(0), "", "look again"),
        (created(3), "", "Created 5"),
        // Changed by somebody at once.
        (created(0), "mallory:1 1x 1x 1x 2x", "Created 5"),
        // Removed though it is not listed yet.
        (created(0), "2", "remove 5"),
        // The answer was lost.
        (PublicationState { sent: 1, ..fresh() }, "2", "Created 1"),
        (
            PublicationState {
                gone: vec![1],
                ..fresh()
            },
            "1",
            "create",
        ),
    ] {
        let listed = posts(listed, false);
        let decided = publication.decide(&state, &listed, &[]);
        assert_eq!(short(&decided), step, "{listed:?}");
    }
}

#[test]
fn an_older_run_does_not_open_what_a_newer_one_has_closed() {
    let mut marker = marker_of("2");
    marker.kind = MarkerKind::Drift;
    let publication = publication(&marker, "said by 2", Intent::Show);
    for (closed, step) in [
        ("1", "create"),
        ("3", "Superseded 1"),
        ("mallory:3", "create"),
    ] {
        let decided = publication.decide(&fresh(), &[], &posts(closed, true));
        assert_eq!(short(&decided), step, "{closed}");
    }
}

#[test]
fn what_an_issue_says_already_is_not_written_again_though_the_run_is_another() {
    let mut marker = marker_of("2");
    marker.kind = MarkerKind::Drift;
    let publication = publication(&marker, "said by 1", Intent::Show);
    let listed = posts("1", true);
    let decided = publication.decide(&fresh(), &listed, &[]);
    assert_eq!(short(&decided), "Unchanged 1");
}

#[test]
fn a_title_is_one_line_that_github_takes() {
    let marker = marker_of("1");
    let title = |text: &str| {
        let publication = Publication {
            title: Some(text),
            ..publication(&marker, "", Intent::Show)
        };
        publication.title().unwrap()
    };
    assert_eq!(title(" two\n lines\t"), "two lines");
    assert_eq!(title(&"ä".repeat(256)), "ä".repeat(256));
    assert_eq!(title(&"ä".repeat(257)), format!("{}…", "ä".repeat(255)));
}

/// Few runs and writers, so that they meet.
fn any_texts() -> impl Strategy<Value = Vec<String>> {
    const TEXTS: [&str; 9] = ["1", "2", "3", "1r", "2r", "3r", "2x", "mallory:3", "9f"];
    let text = prop::sample::select(TEXTS.to_vec()).prop_map(str::to_owned);
    prop::collection::vec(text, 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    /// A GitHub that lists what it was sent.
    #[test]
    fn in_the_end_one_is_there_with_the_newest_text_and_strangers_are_untouched(texts in any_texts(), text in "[123]r?") {
        let marker = marker_of(&text);
        let body = format!("said by {text}");
        let publication = publication(&marker, &body, Intent::Show);
        let mut listed = posts(&texts.join(" "), false);
        let ours = |listed: &[Post]| -> Vec<Marker> {
            fresh().own(listed, &marker).into_iter().map(|(_, marker)| marker).collect()
        };
        let newest = ours(&listed).iter().map(Marker::age).chain([marker.age()]).max();
        let strangers = listed.len() - ours(&listed).len();
        let mut state = fresh();
        for round in 0.. {
            prop_assert!(round < ROUNDS);
            let before = listed.clone();
            match publication.decide(&state, &before, &[]) {
                PublicationStep::Create => {
                    let created = Post { body: marker.above(&body), ..post(9, &text, false) };
                    listed.push(created.clone());
                    state.created = Some(created);
                }
                PublicationStep::Write { over, body, .. } => {
                    let over = listed.iter_mut().find(|post| post.number == over.number).unwrap();
                    over.body = body;
                }
                PublicationStep::Remove { duplicate, .. } => {
                    listed.retain(|post| post.number != duplicate.number);
                }
                PublicationStep::LookAgain => prop_assert!(false, "it is listed"),
                PublicationStep::End { .. } => break,
            }
        }
        let left = ours(&listed);
        prop_assert_eq!(left.len(), 1);
        prop_assert_eq!(Some(left[0].age()), newest);
        prop_assert_eq!(listed.len() - 1, strangers);
    }
}
