use jiff::Timestamp;

use super::super::identity::Identity;
use super::super::marked::{newest, own};
use super::*;

fn marker(spec: &str, run: u64) -> IssueMarker {
    IssueMarker {
        spec: spec.to_owned(),
        order: Order {
            time: now(),
            run,
            attempt: 1,
        },
    }
}

fn now() -> Timestamp {
    "2026-11-21T09:14:07Z".parse().unwrap()
}

fn bot() -> Author {
    Author {
        login: "github-actions[bot]".to_owned(),
        id: Some(41_898_282),
        is_bot: true,
    }
}

fn issue(number: u64, author: Option<Author>, body: &str) -> Issue {
    Issue {
        number,
        id: number + 1000,
        author,
        title: "cost has drifted".to_owned(),
        body: body.to_owned(),
        url: format!("https://github.example/issues/{number}"),
    }
}

#[test]
fn a_marker_is_read_as_it_was_written_and_in_no_other_way() {
    let line =
        "<!-- canary-gate drift v1 spec=canary-gate.yml order=2026-11-21T09:14:07Z/4821/1 -->";
    assert_eq!(marker("canary-gate.yml", 4821).to_string(), line);
    for spec in ["canary-gate.yml", "a b/ü--> order=1.yml", "-", ""] {
        let marker = marker(spec, 7);
        assert_eq!(IssueMarker::of(&marker.above("text")), Some(marker));
    }
    for other in [
        line.replace("4821", "04821"),
        line.replace("canary-gate.yml", "%63anary-gate.yml"),
        line.replace("drift ", ""),
        format!(" {line}"),
        format!("{line} "),
        format!("text\n{line}"),
        String::new(),
    ] {
        assert_eq!(IssueMarker::of(&other), None, "{other}");
    }
}

#[test]
fn ours_are_those_that_we_wrote_about_this_spec_and_not_in_the_future() {
    let body = marker("a.yml", 1).above("text");
    let mut future = marker("a.yml", 1);
    future.order.time = "9999-12-30T00:00:00Z".parse().unwrap();
    let stranger = Author {
        id: Some(7),
        ..bot()
    };
    let issues = [
        issue(9, Some(bot()), &body),
        issue(8, Some(stranger), &body),
        issue(7, None, &body),
        issue(6, Some(bot()), &marker("b.yml", 1).above("text")),
        issue(5, Some(bot()), &future.above("text")),
        issue(4, Some(bot()), "no marker"),
        issue(3, Some(bot()), &body),
        issue(9, Some(bot()), &body),
    ];
    let own = own(&issues, &Identity::from(&bot()), "a.yml", now());
    let numbers: Vec<u64> = own.iter().map(|(issue, _)| issue.number).collect();
    assert_eq!(numbers, [3, 9]);
    let (first, _) = newest(&own).unwrap();
    assert_eq!(first.number, 3, "of equals the first");
}

#[test]
fn the_order_alone_is_nothing_new() {
    let issue = issue(1, None, &marker("a.yml", 1).above("one\r\ntwo\n"));
    let later = |text: &str| marker("a.yml", 2).above(text);
    assert!(issue.says("cost has drifted", &later("one\ntwo")));
    assert!(!issue.says("cost has drifted", &later("one\nthree")));
    assert!(!issue.says("time has drifted", &later("one\ntwo")));
}

#[test]
fn a_body_that_is_too_long_is_cut_at_a_line_and_says_so() {
    let marker = marker("a.yml", 1);
    let exact = LONGEST_BODY - marker.to_string().len() - 1;
    for (letters, is_cut) in [(exact, false), (exact + 1, true)] {
        let body = marker.above(&"ä".repeat(letters));
        assert_eq!(body.ends_with(CUT), is_cut);
        assert_eq!(body.chars().count(), LONGEST_BODY);
    }
    let lines = "a line\n".repeat(20_000);
    let body = marker.above(&lines);
    assert!(body.chars().count() <= LONGEST_BODY);
    assert!(body.ends_with(&format!("a line{CUT}")), "a whole line");
}

#[test]
fn a_title_is_one_line_that_github_takes() {
    assert_eq!(title(" two\n lines\t"), "two lines");
    assert_eq!(title(&"ä".repeat(256)), "ä".repeat(256));
    assert_eq!(title(&"ä".repeat(257)), format!("{}…", "ä".repeat(255)));
}
