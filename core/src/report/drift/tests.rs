use super::*;
use crate::report::{samples, terminal};

fn drifted() -> JobReport {
    samples::of("drifted").jobs.remove(0)
}

fn said(job: &JobReport) -> String {
    headline(&samples::of("drifted"), job, job.drift.as_ref().unwrap())
}

fn sentences(drift: &Drift) -> String {
    let said = super::said(drift);
    said.map_or(String::new(), |(_, said)| terminal::inline(&said))
}

fn estimate(point: f64, lower: f64, upper: f64) -> Option<Estimate> {
    Some(Estimate {
        point,
        lower,
        upper,
        level: 0.9,
    })
}

proptest::proptest! {
    #[test]
    fn whatever_two_checks_differ_by_nothing_uncertain_is_blamed(
        change in -60.0..300.0_f64,
        width in 0.0..200.0_f64,
        usd in -50.0..50.0_f64,
    ) {
        let mut job = drifted();
        let drift = job.drift.as_mut().unwrap();
        (drift.drifted, drift.shift) = (false, None);
        drift.change.cost_usd = estimate(usd, usd - width, usd + width);
        drift.change.cost_percent = estimate(change, change - width, change + width);
        for share in &mut drift.causes {
            share.usd = Some(usd);
        }
        proptest::prop_assert_eq!(causes(drift), None);
        let said_beside = sentences(drift);
        proptest::prop_assert!(!said_beside.contains("slower") && !said_beside.contains("faster"));
        proptest::prop_assert!(!said(&job).contains("drifted"));
    }
}

#[test]
fn no_number_of_a_stored_report_breaks_its_rendering() {
    for number in [0.0, -0.0, 1e308, -1e308, 1e-308, f64::INFINITY, f64::NAN] {
        let mut report = samples::of("drifted");
        let drift = report.jobs[0].drift.as_mut().unwrap();
        let extreme = estimate(number, -number, number);
        drift.change = DriftChange {
            time_seconds: extreme,
            cost_usd: extreme,
            time_percent: extreme,
            cost_percent: extreme,
        };
        for share in &mut drift.causes {
            (share.seconds, share.usd) = (number, Some(number));
        }
        drift.causes = drift.causes.repeat(1000);
        drift.limit_percent.0 = number;
        drift.at_least_usd.0 = number;
        drift.chance_over_limit = Some(number);
        drift.shift.as_mut().unwrap().percent = extreme.unwrap();
        drift.checks[1].level_percent = number;
        let text = crate::report::markdown::render(&report);
        let issue = crate::report::drift_issue(&report).unwrap();
        let style = crate::report::terminal::TerminalStyle {
            depth: crate::report::terminal::ReportDepth::Whole,
            ..Default::default()
        };
        let terminal = crate::report::terminal::render(&report, style);
        for text in [text, issue.body, terminal] {
            assert!(text.len() < 20_000, "{number}: {}", text.len());
        }
    }
}
