use super::*;
use crate::report::{samples, terminal};

fn drifted() -> JobReport {
    samples::of("drifted").jobs.remove(0)
}

fn said(job: &JobReport) -> String {
    headline(job, job.drift.as_ref().unwrap())
}

fn sentences(drift: &Drift) -> Vec<String> {
    let sentences = super::sentences(drift);
    sentences.iter().map(terminal::inline).collect()
}

fn estimate(point: f64, lower: f64, upper: f64) -> Option<Estimate> {
    Some(Estimate {
        point,
        lower,
        upper,
        level: 0.9,
    })
}

#[test]
fn a_drift_to_less_is_said_as_such() {
    let mut cheaper = drifted();
    let drift = cheaper.drift.as_mut().unwrap();
    drift.change.cost_usd = estimate(-13.0, -16.0, -10.0);
    drift.change.cost_percent = estimate(-26.0, -30.0, -20.0);
    assert_eq!(mark(drift), Mark::Fell);
    assert_eq!(
        said(&cheaper),
        "drifted: a full run takes 63 USD, 13 USD (26%) less than on 2026-11-02"
    );
}

#[test]
fn no_drift_is_within_noise_or_within_what_is_allowed() {
    let mut job = samples::of("not_drifted").jobs.remove(0);
    assert_eq!(
        said(&job),
        "has no drift: a full run takes 51 USD; +2.0% against 2026-11-02 is within noise (7 checks)"
    );
    let drift = job.drift.as_mut().unwrap();
    drift.causes = samples::of("drifted").jobs.remove(0).drift.unwrap().causes;
    assert_eq!(causes(drift), None);
    assert_eq!(sentences(drift).len(), 0);
    drift.change.cost_usd = estimate(4.0, 2.0, 6.0);
    drift.change.cost_percent = estimate(8.0, 4.0, 12.0);
    assert_eq!(
        said(&job),
        "has no drift: a full run takes 51 USD, 4.00 USD (8.0%) more than on 2026-11-02, which is not surely above the 15% and 5 USD that are allowed"
    );
    let drift = job.drift.as_mut().unwrap();
    drift.change = DriftChange::default();
    drift.checks.clear();
    assert_eq!(
        said(&job),
        "has no drift: a full run takes 51 USD (0 checks since its baseline)"
    );
}

#[test]
fn two_noisy_checks_blame_nothing() {
    let mut job = drifted();
    let drift = job.drift.as_mut().unwrap();
    drift.checks.drain(1..6);
    (drift.drifted, drift.shift) = (false, None);
    drift
        .causes
        .retain(|share| share.cause == Cause::CodeOrPlatform);
    // Not surely more than allowed, and not even surely more.
    for lower in [1.0, -9.0] {
        let drift = job.drift.as_mut().unwrap();
        drift.change.cost_usd = estimate(11.0, lower / 2.0, 22.0);
        drift.change.cost_percent = estimate(22.0, lower, 43.0);
        assert_eq!(mark(drift), Mark::Doubtful);
        assert_eq!(sentences(drift), [""; 0]);
        assert_eq!(causes(drift), None);
        assert!(!explains(drift));
        assert_eq!(
            said(&job),
            "has no drift yet: 22% above the baseline of 2026-11-02, not certain; a full run takes 63 USD (2 checks)"
        );
    }
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
        for sentence in sentences(drift) {
            proptest::prop_assert!(!sentence.contains("slower") && !sentence.contains("faster"));
        }
        proptest::prop_assert!(!said(&job).contains("drifted"));
    }
}

#[test]
fn where_the_level_may_not_have_moved_only_what_is_known_is_named() {
    let mut drift = drifted().drift.unwrap();
    (drift.drifted, drift.shift) = (false, None);
    assert_eq!(
        sentences(&drift),
        ["The data grew (+8.00 USD) and the price rose (+3.60 USD)."]
    );
    assert_eq!(causes(&drift), None);
}

#[test]
fn a_changed_setting_is_the_likely_cause_of_a_drift() {
    let mut drift = drifted().drift.unwrap();
    drift.changed = vec![crate::spec::ChangedSetting {
        field: "training.image".to_owned(),
        before: Some("xgboost:1.7-1".to_owned()),
        now: Some("xgboost:3.0-5".to_owned()),
    }];
    assert_eq!(
        sentences(&drift)[0],
        "The likely cause: training.image changed from xgboost:1.7-1 to xgboost:3.0-5."
    );
    drift.drifted = false;
    assert_eq!(
        sentences(&drift)[0],
        "Since the baseline training.image changed from xgboost:1.7-1 to xgboost:3.0-5."
    );
}

#[test]
fn a_cause_without_any_part_is_left_out_and_a_fall_has_its_minus() {
    let mut drift = drifted().drift.unwrap();
    for (share, (seconds, usd)) in
        (drift.causes.iter_mut()).zip([(0.0, 0.0), (-6.7, -0.001), (1e-12, 1e-12)])
    {
        (share.seconds, share.usd) = (seconds, Some(usd));
    }
    drift.change.time_seconds = estimate(-6.7, -8.1, -5.3);
    drift.change.cost_usd = None;
    drift.change.time_percent = estimate(-42.0, -51.0, -33.0);
    assert_eq!(
        causes(&drift).unwrap().texts(),
        [
            ["data", "-6.7s", "-0.0010 USD"],
            ["in all", "-6.7s", ""],
            ["interval of these two checks", "-8.1s to -5.3s", ""],
        ]
    );
    assert_eq!(sentences(&drift)[0], "The data shrank (-0.0010 USD).");
}

#[test]
fn checks_of_one_day_differ_by_their_time() {
    let mut job = samples::of("not_drifted").jobs.remove(0);
    let drift = job.drift.as_mut().unwrap();
    for (check, minute) in drift.checks.iter_mut().zip(6..) {
        let at = format!("2026-11-21T17:{minute:02}:59Z");
        check.at = at.parse().unwrap();
    }
    assert!(
        said(&job).contains("against 2026-11-21 17:06 UTC is within noise"),
        "{}",
        said(&job)
    );
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
