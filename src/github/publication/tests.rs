use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

const SPEC: &str = "canary-gate.yml";

fn time() -> Timestamp {
    "2026-11-21T09:14:07Z".parse().unwrap()
}

/// `2`: the last word of run 2; `2r`: its stub; `2x`: of another spec; `2f`: from the future.
fn marker_of(text: &str, kind: MarkerKind) -> Marker {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let mark = &text[digits.len()..];
    let ahead = jiff::SignedDuration::from_secs(if mark == "f" { 3601 } else { 0 });
    Marker {
        kind,
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
fn post(number: u64, text: &str, kind: MarkerKind) -> Post {
    let (stranger, text) = match text.split_once(':') {
        Some((stranger, text)) => (Some(stranger), text),
        None => (None, text),
    };
    let author = stranger.map_or_else(us, |login| account(login, None, "User"));
    let title = (kind == MarkerKind::Drift).then_some("drift");
    let body = marker_of(text, kind).above(&format!("said by {text}"));
    let answer = serde_json::json!({
        "id": number + 1000, "number": number, "html_url": format!("https://github.example/{number}"),
        "title": title, "body": body,
    });
    let mut post: Post = serde_json::from_value(answer).unwrap();
    post.author = Some(author);
    post
}

fn posts(texts: &str, kind: MarkerKind) -> Vec<Post> {
    let numbered = texts.split_whitespace().zip(1..);
    numbered
        .map(|(text, number)| post(number, text, kind))
        .collect()
}

/// Hands over the rounds of a publication that nothing is known of but its text, `2` or `2r`.
fn with_rounds<T>(
    text: &str,
    (kind, intent, older): (MarkerKind, Intent, OlderComments),
    act: impl FnOnce(Rounds<'_>) -> T,
) -> T {
    let marker = marker_of(text, kind);
    let publication = Publication {
        place: match kind {
            MarkerKind::Drift => PostPlace::Issues,
            MarkerKind::Report => PostPlace::PullRequest(7),
        },
        subject: SPEC.to_owned(),
        order: marker.order,
        older,
    };
    let body = format!("said by {text}");
    let text = PostText {
        title: (kind == MarkerKind::Drift).then_some("drift"),
        body: &body,
        intent: match marker.state {
            MarkerState::Running => Intent::Stub,
            MarkerState::Final => intent,
        },
    };
    act(Rounds::new(&publication, &text, us(), time()))
}

/// A step in short.
fn short(step: &PublicationStep<'_>) -> String {
    match step {
        PublicationStep::Write(None) => "create".to_owned(),
        PublicationStep::Write(Some(over)) => format!("write over {}", over.number()),
        PublicationStep::End {
            outcome,
            kept,
            duplicates,
        } => {
            let numbers = duplicates
                .iter()
                .map(|(post, _)| format!(" -{}", post.number()));
            let removed: String = numbers.collect();
            format!("{outcome:?} {}{removed}", kept.number())
        }
        PublicationStep::EndWithout => "end".to_owned(),
    }
}

#[test]
fn from_what_is_listed_follows_what_is_done() {
    use Intent::{Close, EndStub, NoVerdict, Refresh, Stub, Verdict};
    use OlderComments::{Hide, WriteOver};
    for (listed, text, intent, older, step) in [
        // The first, and the next ones.
        ("", "1", Verdict, WriteOver, "create"),
        ("1", "2", Verdict, WriteOver, "write over 1"),
        ("1r", "2r", Verdict, WriteOver, "write over 1"),
        ("1r", "1", Verdict, WriteOver, "write over 1"),
        ("1", "1", Verdict, WriteOver, "Unchanged 1"),
        ("", "1", Refresh, WriteOver, "end"),
        ("1", "2", Refresh, WriteOver, "write over 1"),
        // A newer run is left alone, and so is a run's own last word by its stub.
        ("2", "1", Verdict, WriteOver, "Superseded 1"),
        ("2r", "1", Verdict, WriteOver, "Superseded 1"),
        ("1", "1r", Verdict, WriteOver, "Superseded 1"),
        // Of those that were written at once the newest stays, of these the oldest.
        ("1 2", "2", Verdict, WriteOver, "Unchanged 2 -1"),
        ("2 2 1r", "2", Verdict, WriteOver, "Unchanged 1 -2 -3"),
        ("1 2", "1", Verdict, WriteOver, "Superseded 2 -1"),
        ("1 2", "3", Verdict, WriteOver, "write over 2"),
        // Only our own about this spec count, and none from the future.
        (
            "mallory:1 github-actions:1 GitHub-Actions[bot]:1",
            "2",
            Verdict,
            WriteOver,
            "create",
        ),
        ("1x 9f", "2", Verdict, WriteOver, "create"),
        // A comment of each verdict's own, and of nothing else.
        ("1", "2", Verdict, Hide, "create"),
        ("1 2r", "2", Verdict, Hide, "create"),
        ("1", "2r", Stub, Hide, "end"),
        ("1", "2", NoVerdict, Hide, "end"),
        ("1 2", "1", Verdict, Hide, "Superseded 2"),
        ("", "2", Refresh, Hide, "end"),
        ("1", "2", Refresh, Hide, "create"),
        // The post step ends the stub of its run, and nothing else.
        ("1 2r", "2", EndStub, WriteOver, "write over 2"),
        ("1r 3r mallory:2r", "2", EndStub, WriteOver, "end"),
        ("2", "2", EndStub, WriteOver, "end"),
        // An issue is closed.
        ("", "1", Close, WriteOver, "end"),
        ("1", "2", Close, WriteOver, "write over 1"),
        ("2", "1", Close, WriteOver, "Superseded 1"),
    ] {
        let kind = match intent {
            Close => MarkerKind::Drift,
            _ => MarkerKind::Report,
        };
        let listed_posts = posts(listed, kind);
        with_rounds(text, (kind, intent, older), |rounds| {
            let decided = short(&rounds.decide(&listed_posts, &[]));
            assert_eq!(decided, step, "{listed} | {text} {intent:?} {older:?}");
        });
    }
}

#[test]
fn what_was_created_or_closed_by_a_newer_run_is_not_created_again() {
    let kind = MarkerKind::Drift;
    for (is_created, closed, step) in [
        (false, "1", "create"),
        (false, "3", "Superseded 1"),
        (false, "mallory:3", "create"),
        (true, "", "end"),
    ] {
        let policy = (kind, Intent::Verdict, OlderComments::WriteOver);
        with_rounds("2", policy, |mut rounds| {
            rounds.created = is_created.then(|| post(1, "2", kind));
            let decided = short(&rounds.decide(&[], &posts(closed, kind)));
            assert_eq!(decided, step, "{is_created} {closed}");
        });
    }
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
        let kind = MarkerKind::Report;
        let mut listed = posts(&texts.join(" "), kind);
        let (left, newest, strangers) = with_rounds(&text, (kind, Intent::Verdict, OlderComments::WriteOver), |mut rounds| {
            let ages = |rounds: &Rounds<'_>, listed: &[Post]| {
                let own = rounds.own(listed).into_iter();
                own.map(|(_, marker)| marker.age()).collect::<Vec<_>>()
            };
            let before = ages(&rounds, &listed);
            let strangers = listed.len() - before.len();
            for _ in 0..ROUNDS {
                let shown = listed.clone();
                match rounds.decide(&shown, &[]) {
                    PublicationStep::Write(None) => {
                        let created = post(9, &text, kind);
                        listed.push(created.clone());
                        rounds.published.url = Some(String::new());
                        rounds.created = Some(created);
                    }
                    PublicationStep::Write(Some(over)) => {
                        let body = rounds.body_over(Some(over));
                        let over = listed.iter_mut().find(|post| post.number() == over.number()).unwrap();
                        over.body = Some(body);
                        rounds.published.url = Some(String::new());
                    }
                    PublicationStep::End { duplicates, .. } => {
                        listed.retain(|post| duplicates.iter().all(|(other, _)| other.number() != post.number()));
                        break;
                    }
                    PublicationStep::EndWithout => panic!("one is wanted"),
                }
            }
            let newest = before.into_iter().chain([rounds.marker.age()]).max();
            (ages(&rounds, &listed), newest, strangers)
        });
        prop_assert_eq!(left.len(), 1);
        prop_assert_eq!(left.first().copied(), newest);
        prop_assert_eq!(listed.len() - 1, strangers);
    }
}
