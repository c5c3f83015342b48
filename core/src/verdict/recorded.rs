//! Canaries as they were recorded of jobs whose full run is known, and what they decide of a limit of its time.

use super::tests::{at_most, judged, machine};
use super::*;
use crate::forecast::{Basis, forecast};
use crate::measurement::progress::JobProgress;
use crate::measurement::{Measurement, Outcome, Utilization};
use crate::units::{Bytes, Seconds};

/// A case is a canary a line, of its share of the data and the work, then lines of what holds. `never within` is said of limits below the
/// full run's seconds; the others of one limit, `at risk` for a reason.
const CASES: &str = include_str!("recorded.txt");
const TOTAL: Bytes = Bytes(1_000_000_000);

#[test]
fn recorded_canaries_decide_what_they_show() {
    for case in CASES.split("\n\n") {
        let (name, lines) = case.split_once('\n').unwrap();
        let (runs, said): (Vec<&str>, Vec<&str>) =
            lines.lines().partition(|line| line.starts_with("share "));
        let runs: Vec<Measurement> = runs.into_iter().map(canary).collect();
        for said in said {
            if let Some(full_run) = said.strip_prefix("never within ") {
                for part in [0.3, 0.5, 0.8, 0.95] {
                    let line = line(&runs, part * number(full_run));
                    assert_ne!(line.row.verdict, LineVerdict::Within, "{name}: {line:?}");
                }
            } else if let Some(limit) = said.strip_prefix("within ") {
                let line = line(&runs, number(limit));
                assert_eq!(line.row.verdict, LineVerdict::Within, "{name}: {line:?}");
            } else if let Some(limit) = said.strip_prefix("exceeded ") {
                let line = line(&runs, number(limit));
                assert_eq!(line.row.verdict, LineVerdict::Exceeded, "{name}: {line:?}");
            } else {
                let said = said.strip_prefix("at risk ").unwrap();
                let (limit, reason) = said.split_once(' ').unwrap();
                let line = line(&runs, number(limit));
                assert_eq!(line.row.verdict, LineVerdict::AtRisk, "{name}: {line:?}");
                assert_eq!(line.reason.as_deref(), Some(reason), "{name}");
            }
        }
    }
}

fn line(runs: &[Measurement], limit: f64) -> JudgedLine {
    let forecast = forecast(&Basis {
        offer: &machine(0),
        measurements: runs,
    });
    let lines = judged(&forecast, &[at_most(Metric::Time, limit)]);
    lines.into_iter().next().unwrap()
}

fn number(text: &str) -> f64 {
    text.parse().unwrap()
}

/// On a machine of whose time other work took 1 %, unless the line says otherwise.
fn canary(line: &str) -> Measurement {
    let mut run = Measurement {
        bytes_total: Some(TOTAL),
        ..Measurement::without_figures(
            "job".to_owned(),
            "local".parse().unwrap(),
            Fraction(1.0),
            Outcome::Completed,
        )
    };
    let mut others = 1.0;
    let words: Vec<&str> = line.split(' ').collect();
    for pair in words.chunks(2) {
        match (pair[0], pair[1]) {
            ("share", share) => {
                run.fraction = Fraction(number(share));
                run.bytes = Some(Bytes::from_f64(TOTAL.as_f64() * number(share)));
            }
            ("work", work) => (run.work, run.work_total) = (Some(number(work)), Some(1.0)),
            ("seconds", seconds) => run.training_seconds = Some(Seconds(number(seconds))),
            ("others", percent) => others = number(percent),
            ("objects", objects) => {
                run.fraction = Fraction(number(objects) / 100.0);
                run.objects = Some(objects.parse().unwrap());
                run.objects_total = Some(100);
            }
            ("steps", steps) => run.progress = Some(progress(steps)),
            ("ended", "early") => (run.outcome, run.ended_early) = (Outcome::TimedOut, true),
            other => panic!("{other:?}"),
        }
    }
    run.usage.other_cpu_percent = Some(Utilization::new(others, None, "test"));
    run
}

/// `1-4/200@0.1-0.3`: the first and the last step, of how many, and their seconds; eleven lines of steps in all.
fn progress(steps: &str) -> JobProgress {
    let numbers: Vec<f64> = steps.split(['-', '/', '@']).map(number).collect();
    let point = |line: i32| {
        let between = |ends: [f64; 2]| ends[0] + f64::from(line) / 10.0 * (ends[1] - ends[0]);
        let seconds = Seconds(between([numbers[3], numbers[4]]));
        (seconds, between([numbers[0], numbers[1]]))
    };
    JobProgress {
        format: "step 3 of 100".to_owned(),
        total: Some(numbers[2]),
        pass: Some(numbers[2]),
        passes: 1,
        points: (0..=10).map(point).collect(),
        doubts: Vec::new(),
    }
}
