use jiff::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::super::identity::Identity;
use super::super::marked::{self, KeeperChoice, choose, fold};
use super::*;

fn order(text: &str) -> Order {
    Order::parse(text).unwrap()
}

fn marker(spec: &str, when: &str) -> Marker {
    Marker {
        spec: spec.to_owned(),
        order: order(when),
        state: MarkerState::Final,
    }
}

fn running(spec: &str, when: &str) -> Marker {
    Marker {
        state: MarkerState::Running,
        ..marker(spec, when)
    }
}

const FIRST: &str = "2026-11-21T09:14:07Z/4821/1";
const SECOND: &str = "2026-11-21T09:20:00Z/4822/1";
const SPEC: &str = "canary-gate.yml";

fn us() -> Identity {
    Identity {
        login: "github-actions[bot]".to_owned(),
        id: None,
    }
}

/// When the runs of these tests look.
fn now() -> Timestamp {
    order(SECOND).time
}

fn own<'a>(comments: &'a [Comment], spec: &str) -> Vec<(&'a Comment, Marker)> {
    marked::own(comments, &us(), spec, now())
}

fn wrote(identity: &Identity, comment: &Comment) -> bool {
    let author = comment.author.as_ref();
    author.is_some_and(|author| identity.is(author))
}

fn written_by(login: &str, id: u64, body: &str) -> Comment {
    Comment {
        id,
        author: Some(Author {
            login: login.to_owned(),
            id: None,
            is_bot: login.ends_with("[bot]"),
        }),
        body: body.to_owned(),
        url: format!("https://github.example/{id}"),
        node_id: format!("IC_{id}"),
    }
}

fn ours(id: u64, marker: &Marker) -> Comment {
    written_by("github-actions[bot]", id, &marker.above("the report"))
}

fn chosen<'a>(comments: &'a [Comment], marker: &Marker) -> KeeperChoice<'a, Comment> {
    choose(&own(comments, &marker.spec), marker)
}

#[test]
fn a_marker_is_one_invisible_line() {
    assert_eq!(
        marker(SPEC, FIRST).to_string(),
        "<!-- canary-gate v1 spec=canary-gate.yml order=2026-11-21T09:14:07Z/4821/1 -->"
    );
    assert_eq!(
        running("a b/--> <b>\n\u{202e}.yml", FIRST).to_string(),
        "<!-- canary-gate v1 spec=a%20b/-%2D%3E%20%3Cb%3E%0A%E2%80%AE.yml order=2026-11-21T09:14:07Z/4821/1 state=running -->"
    );
}

#[test]
fn a_marker_is_read_in_the_first_line_only() {
    let line = marker(SPEC, FIRST).to_string();
    assert_eq!(Marker::of(&line), Some(marker(SPEC, FIRST)));
    let edited_in_a_browser = format!("{line}\r\ntext\r\n");
    assert_eq!(Marker::of(&edited_in_a_browser), Some(marker(SPEC, FIRST)));
    for body in [
        String::new(),
        format!("\n{line}"),
        format!("text\n{line}"),
        format!("> {line}"),
        format!(" {line}"),
        format!("{line} "),
        format!("{line} and more"),
        line.replace("v1", "v2"),
        line.replace("spec=", "spec=%63").replace("%63c", "%63"),
        line.replace("-gate.yml", "%2dgate.yml"),
        line.replace("/4821/", "/04821/"),
        line.replace("/4821/", "/+4821/"),
        line.replace("/4821/", "/99999999999999999999999/"),
        line.replace("/1 -->", "/1/1 -->"),
        line.replace("09:14:07Z", "11:14:07+02:00"),
        line.replace("canary-gate.yml", "%FF"),
        line.replace("canary-gate.yml", "%2"),
        line.replace(" -->", " state=final -->"),
        line.replace(" -->", " state=running state=running -->"),
    ] {
        assert_eq!(Marker::of(&body), None, "{body}");
    }
}

#[test]
fn an_order_goes_by_time_then_run_then_attempt() {
    let sorted = [
        "2026-11-21T09:14:07Z/99/9",
        "2026-11-21T09:14:07.5Z/1/1",
        "2026-11-21T10:00:00Z/9/1",
        "2026-11-21T10:00:00Z/10/1",
        "2026-11-21T10:00:00Z/10/2",
        "2026-11-21T10:00:00Z/10/10",
    ];
    assert!(sorted.map(order).is_sorted());
}

#[test]
fn the_first_report_is_a_new_comment() {
    assert_eq!(chosen(&[], &marker(SPEC, FIRST)), KeeperChoice::Create);
}

#[test]
fn our_comment_of_an_older_run_is_written_over_also_when_it_says_running() {
    for earlier in [marker(SPEC, FIRST), running(SPEC, FIRST)] {
        let comments = [ours(7, &earlier)];
        assert_eq!(
            chosen(&comments, &running(SPEC, SECOND)),
            KeeperChoice::Update { kept: &comments[0] }
        );
    }
}

#[test]
fn a_newer_run_is_left_alone_also_when_it_says_running() {
    for later in [marker(SPEC, SECOND), running(SPEC, SECOND)] {
        let comments = [ours(7, &marker(SPEC, FIRST)), ours(8, &later)];
        assert_eq!(
            chosen(&comments, &marker(SPEC, FIRST)),
            KeeperChoice::Superseded {
                by: &comments[1],
                order: order(SECOND)
            }
        );
    }
}

#[test]
fn a_run_ends_its_own_stub_and_does_not_return_to_it() {
    let stub = [ours(7, &running(SPEC, FIRST))];
    assert_eq!(
        chosen(&stub, &marker(SPEC, FIRST)),
        KeeperChoice::Update { kept: &stub[0] }
    );
    let ended = [ours(7, &marker(SPEC, FIRST))];
    assert_eq!(
        chosen(&ended, &running(SPEC, FIRST)),
        KeeperChoice::Superseded {
            by: &ended[0],
            order: order(FIRST)
        }
    );
}

#[test]
fn a_spec_is_compared_whole() {
    let comments = [
        ours(7, &marker("non-prod", FIRST)),
        ours(8, &marker("prod.yml", FIRST)),
    ];
    assert_eq!(
        chosen(&comments, &marker("prod", SECOND)),
        KeeperChoice::Create
    );
}

#[test]
fn a_strangers_marker_is_no_comment_of_ours() {
    let body = marker(SPEC, FIRST).above("edit me");
    let mut gone = written_by("x", 3, &body);
    gone.author = None;
    let comments = [
        written_by("mallory", 1, &body),
        written_by("github-actions", 2, &body),
        gone,
        written_by("GitHub-Actions[bot]", 4, &body),
    ];
    assert_eq!(
        chosen(&comments, &marker(SPEC, SECOND)),
        KeeperChoice::Create
    );
}

#[test]
fn an_app_is_known_with_or_without_its_suffix() {
    let app = Identity {
        login: "our-app".to_owned(),
        id: None,
    };
    assert!(wrote(&app, &written_by("our-app[bot]", 1, "")));
    let mut person = written_by("our-app[bot]", 1, "");
    person.author.as_mut().unwrap().is_bot = false;
    assert!(!wrote(&app, &person));
}

#[test]
fn an_account_is_known_by_its_id_where_both_have_one() {
    let app = Identity {
        login: "our-app".to_owned(),
        id: Some(41),
    };
    let with_id = |login: &str, id| {
        let mut comment = written_by(login, 1, "");
        comment.author.as_mut().unwrap().id = id;
        comment
    };
    assert!(wrote(&app, &with_id("renamed[bot]", Some(41))));
    assert!(!wrote(&app, &with_id("our-app[bot]", Some(42))));
    assert!(wrote(&app, &with_id("our-app[bot]", None)));
}

#[test]
fn a_marker_from_the_future_silences_no_run() {
    let forged = [
        ours(7, &marker(SPEC, "9999-12-30T00:00:00Z/4821/1")),
        ours(8, &running(SPEC, "2026-11-21T10:20:01Z/4821/1")),
    ];
    assert_eq!(chosen(&forged, &marker(SPEC, SECOND)), KeeperChoice::Create);
    // Clocks differ.
    let ahead = [ours(7, &marker(SPEC, "2026-11-21T10:20:00Z/4821/1"))];
    assert!(matches!(
        chosen(&ahead, &marker(SPEC, SECOND)),
        KeeperChoice::Superseded { .. }
    ));
}

#[test]
fn duplicates_fold_into_the_oldest_with_the_newest_word() {
    let comments = [
        ours(9, &marker(SPEC, SECOND)),
        ours(7, &marker(SPEC, FIRST)),
        ours(8, &running(SPEC, FIRST)),
    ];
    let folding = fold(&own(&comments, SPEC)).unwrap();
    assert_eq!(folding.kept.id, 7);
    assert_eq!(folding.word, Some(&comments[0]));
    let duplicates: Vec<u64> = folding
        .duplicates
        .iter()
        .map(|comment| comment.id)
        .collect();
    assert_eq!(duplicates, [8, 9]);
}

#[test]
fn a_body_that_came_back_with_other_line_ends_is_the_same() {
    assert!(says_the_same("a\nb", "a\r\nb\r\n"));
    assert!(!says_the_same("a\nb", "a\nb c"));
}

fn any_order() -> impl Strategy<Value = Order> {
    let second = Timestamp::MIN.as_second()..=Timestamp::MAX.as_second();
    let nanosecond = prop_oneof![Just(0), 0..1_000_000_000];
    (second, nanosecond, any::<u64>(), any::<u32>()).prop_map(
        |(second, nanosecond, run, attempt)| Order {
            time: Timestamp::new(second, nanosecond).unwrap_or(Timestamp::UNIX_EPOCH),
            run,
            attempt,
        },
    )
}

fn any_state() -> impl Strategy<Value = MarkerState> {
    prop_oneof![Just(MarkerState::Running), Just(MarkerState::Final)]
}

fn any_marker() -> impl Strategy<Value = Marker> {
    let piece = prop_oneof![
        any::<String>(),
        prop::sample::select(vec![
            "--",
            "-",
            ">",
            " -->",
            "\n",
            "\r",
            " order=",
            " state=running",
            "%",
            "%2D",
            "spec=",
            "/",
            "\u{202e}",
        ])
        .prop_map(str::to_owned),
    ];
    let spec = prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat());
    (spec, any_order(), any_state()).prop_map(|(spec, order, state)| Marker { spec, order, state })
}

/// Few specs, runs and writers, so that they meet.
fn comments() -> impl Strategy<Value = Vec<Comment>> {
    let writer = prop::sample::select(vec!["github-actions[bot]", "github-actions", "mallory"]);
    let text = prop_oneof![
        4 => (prop::sample::select(vec!["prod", "non-prod"]), 0_u32..4, any_state()).prop_map(
            |(spec, attempt, state)| Marker { state, ..marker(spec, &format!("2026-11-21T09:14:07Z/1/{attempt}")) }.above("x")
        ),
        1 => ".{0,20}",
    ];
    prop::collection::vec((writer, text), 0..8).prop_map(|comments| {
        let numbered = comments.iter().zip(1..);
        numbered
            .map(|((login, text), id)| written_by(login, id, text))
            .collect()
    })
}

/// The same comments each time: a test should not fail by chance.
fn fixed() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(fixed())]

    #[test]
    fn whatever_a_spec_is_called_its_marker_is_read_back(marker in any_marker(), text in any::<String>()) {
        let line = marker.to_string();
        prop_assert!(line.is_ascii() && !line.contains(['\n', '\r']));
        let inside = line.strip_prefix("<!--").unwrap().strip_suffix("-->").unwrap();
        prop_assert!(!inside.contains("--") && !inside.contains(['<', '>']));
        prop_assert_eq!(Marker::of(&marker.above(&text)), Some(marker));
    }

    #[test]
    fn whatever_a_body_says_it_is_no_marker_or_exactly_one(body in "(<!-- canary-gate v1 spec=)?[-a-z0-9%/:= TZ.>\n]{0,60}( -->)?") {
        if let Some(marker) = Marker::of(&body) {
            let line = marker.to_string();
            prop_assert_eq!(Some(line.as_str()), body.lines().next());
        }
    }

    #[test]
    fn nothing_of_a_stranger_is_ever_chosen(comments in comments(), attempt in 0_u32..4, state in any_state()) {
        let marker = Marker { state, ..marker("prod", &format!("2026-11-21T09:14:07Z/1/{attempt}")) };
        let own = own(&comments, "prod");
        let is_ours = |comment: &Comment| {
            comment.author.as_ref().is_some_and(|author| us().is(author)) && Marker::of(&comment.body).is_some_and(|marker| marker.spec == "prod")
        };
        match choose(&own, &marker) {
            KeeperChoice::Create => prop_assert!(!comments.iter().any(is_ours)),
            KeeperChoice::Superseded { by, .. } => prop_assert!(is_ours(by)),
            KeeperChoice::Update { kept } => prop_assert!(is_ours(kept)),
        }
        if let Some(folding) = fold(&own) {
            prop_assert!(is_ours(folding.kept));
            prop_assert!(folding.duplicates.into_iter().all(is_ours));
        }
    }

    #[test]
    fn folding_twice_changes_nothing_more_and_nothing_becomes_older(comments in comments()) {
        let own = own(&comments, "prod");
        let Some(folding) = fold(&own) else { return Ok(()) };
        let mut after = comments.clone();
        after.retain(|comment| !folding.duplicates.iter().any(|duplicate| duplicate.id == comment.id));
        let kept = after.iter_mut().find(|comment| comment.id == folding.kept.id).unwrap();
        if let Some(word) = folding.word {
            kept.body = word.body.clone();
        }
        let newest = own.iter().map(|(_, marker)| marker.age()).max();
        let again = marked::own(&after, &us(), "prod", now());
        prop_assert_eq!(again.first().map(|(_, marker)| marker.age()), newest);
        let again = fold(&again).unwrap();
        prop_assert_eq!(again.word, None);
        prop_assert!(again.duplicates.is_empty());
    }

    #[test]
    fn writing_twice_chooses_the_same_comment(comments in comments(), attempt in 0_u32..4) {
        let marker = marker("prod", &format!("2026-11-21T09:14:07Z/1/{attempt}"));
        let own = own(&comments, "prod");
        let KeeperChoice::Update { kept } = choose(&own, &marker) else { return Ok(()) };
        let mut after = comments.clone();
        let written = after.iter_mut().find(|comment| comment.id == kept.id).unwrap();
        written.body = marker.above("the report");
        prop_assert_eq!(
            choose(&marked::own(&after, &us(), "prod", now()), &marker),
            KeeperChoice::Update { kept: after.iter().find(|comment| comment.id == kept.id).unwrap() }
        );
    }
}
