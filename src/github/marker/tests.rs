use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

const FIRST: &str = "2026-11-21T09:14:07Z/4821/1";

fn marker(kind: MarkerKind, spec: &str, state: MarkerState) -> Marker {
    Marker {
        kind,
        spec: spec.to_owned(),
        order: Order::parse(FIRST).unwrap(),
        state,
    }
}

#[test]
fn a_marker_is_one_invisible_line() {
    for (marker, line) in [
        (
            marker(MarkerKind::Report, "canary-gate.yml", MarkerState::Final),
            "<!-- canary-gate v1 spec=canary-gate.yml order=2026-11-21T09:14:07Z/4821/1 -->",
        ),
        (
            marker(MarkerKind::Drift, "canary-gate.yml", MarkerState::Final),
            "<!-- canary-gate drift v1 spec=canary-gate.yml order=2026-11-21T09:14:07Z/4821/1 -->",
        ),
        (
            marker(
                MarkerKind::Report,
                "a b/--> <b>\n\u{202e}.yml",
                MarkerState::Running,
            ),
            "<!-- canary-gate v1 spec=a%20b/-%2D%3E%20%3Cb%3E%0A%E2%80%AE.yml order=2026-11-21T09:14:07Z/4821/1 state=running -->",
        ),
    ] {
        assert_eq!(marker.to_string(), line);
        assert_eq!(Marker::of(&format!("{line}\r\ntext\r\n")), Some(marker));
    }
}

#[test]
fn another_spelling_of_a_marker_is_none() {
    let line = marker(MarkerKind::Report, "canary-gate.yml", MarkerState::Final).to_string();
    for body in [
        String::new(),
        format!("\n{line}"),
        format!(" {line}"),
        format!("{line} and more"),
        line.replace("v1", "v2"),
        line.replace("-gate.yml", "%2dgate.yml"),
        line.replace("/4821/", "/04821/"),
        line.replace("09:14:07Z", "11:14:07+02:00"),
        line.replace("canary-gate.yml", "%FF"),
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
    assert!(sorted.map(|order| Order::parse(order).unwrap()).is_sorted());
}

#[test]
fn a_text_that_is_too_long_is_cut_at_a_line_and_says_so() {
    let marker = marker(MarkerKind::Drift, "a.yml", MarkerState::Final);
    for (letters, is_cut) in [(marker.room(), false), (marker.room() + 1, true)] {
        let text = marker.above(&"x".repeat(letters));
        assert_eq!(text.ends_with(CUT), is_cut);
        assert_eq!(text.len(), LONGEST_TEXT);
    }
    for text in ["a line\n", "ä😀\n"] {
        let cut = marker.above(&text.repeat(20_000));
        assert!(cut.len() <= LONGEST_TEXT);
        assert!(
            cut.ends_with(&format!("{}{CUT}", text.trim())),
            "a whole line"
        );
    }
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

fn any_marker() -> impl Strategy<Value = Marker> {
    let pieces = "--|-|>| -->|\n|\r| order=| state=running|%|%2D|spec=|/|\u{202e}";
    let pieces: Vec<&str> = pieces.split('|').collect();
    let piece = prop_oneof![
        any::<String>(),
        prop::sample::select(pieces).prop_map(str::to_owned),
    ];
    let spec = prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.concat());
    let state = prop::sample::select(vec![MarkerState::Running, MarkerState::Final]);
    let kind = prop::sample::select(MarkerKind::ALL.to_vec());
    (kind, spec, any_order(), state).prop_map(|(kind, spec, order, state)| Marker {
        kind,
        spec,
        order,
        state,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

    #[test]
    fn whatever_a_spec_is_called_its_marker_is_read_back(marker in any_marker(), text in any::<String>()) {
        let line = marker.to_string();
        prop_assert!(line.is_ascii() && !line.contains(['\n', '\r']));
        let inside = line.strip_prefix("<!--").unwrap().strip_suffix("-->").unwrap();
        prop_assert!(!inside.contains("--") && !inside.contains(['<', '>']));
        prop_assert_eq!(Marker::of(&marker.above(&text)), Some(marker));
    }
}
