use jiff::{SignedDuration, Timestamp};

use super::*;
use crate::forecast::random::Random;
use crate::measurement::Outcome;
use crate::units::{Bytes, Seconds};

const POLICY: DriftPolicy = DriftPolicy {
    max: Percent(15.0),
    at_least: Usd(0.0),
};
const CERTAINTY: Fraction = Fraction(0.95);

/// What one check finds.
#[derive(Clone, Copy)]
struct Truth {
    /// Of the code, 1 for the reference's.
    slowness: f64,
    gibibytes: f64,
    usd_per_hour: Option<f64>,
}

const REFERENCE: Truth = Truth {
    slowness: 1.0,
    gibibytes: 10.0,
    usd_per_hour: Some(2.0),
};

impl Truth {
    /// Nine canaries of 1, 3 and 10 %; a full run of the reference takes 100 minutes, and a gibibyte adds ten of them.
    fn canaries(self, random: &mut Random, noise: f64) -> Vec<Measurement> {
        let gibibyte = Bytes(Bytes::GIB).as_f64();
        [1.0, 3.0, 10.0]
            .into_iter()
            .flat_map(|percent| [percent; 3])
            .map(|percent| {
                let bytes = self.gibibytes * gibibyte * percent / 100.0;
                let seconds = self.slowness * (20.0 + 600.0 * self.gibibytes * percent / 100.0);
                Measurement {
                    bytes: Some(Bytes::from_f64(bytes)),
                    bytes_total: Some(Bytes::from_f64(self.gibibytes * gibibyte)),
                    training_seconds: Some(Seconds(seconds * (noise * random.normal()).exp())),
                    ..Measurement::without_figures(
                        "churn".to_owned(),
                        "ml.m5.2xlarge".parse().unwrap(),
                        Fraction(percent / 100.0),
                        Outcome::Completed,
                    )
                }
            })
            .collect()
    }
}

/// One check a week.
fn stored(truths: &[Truth], noise: f64) -> Vec<CheckRecord> {
    let mut random = Random(1);
    let mut at: Timestamp = "2026-01-05T04:00:00Z".parse().unwrap();
    truths
        .iter()
        .map(|truth| {
            at += SignedDuration::from_hours(7 * 24);
            CheckRecord {
                at,
                measurements: truth.canaries(&mut random, noise),
                price: truth.usd_per_hour.map(UsdPerHour),
                ..CheckRecord::default()
            }
        })
        .collect()
}

fn checked(series: &[CheckRecord], policy: &DriftPolicy) -> Result<Option<Drift>, Unknown> {
    check(&series.iter().collect::<Vec<_>>(), policy, CERTAINTY)
}

fn drift(truths: &[Truth]) -> Drift {
    checked(&stored(truths, 0.05), &POLICY)
        .unwrap()
        .expect("there is a reference")
}

fn slower(slowness: f64) -> Truth {
    Truth {
        slowness,
        ..REFERENCE
    }
}

fn share(drift: &Drift, cause: Cause) -> CauseShare {
    let mut shares = drift.causes.iter();
    *shares.find(|share| share.cause == cause).unwrap()
}

#[test]
fn one_record_has_nothing_to_be_compared_with() {
    assert_eq!(checked(&[], &POLICY), Ok(None));
    assert_eq!(checked(&stored(&[REFERENCE], 0.05), &POLICY), Ok(None));
}

#[test]
fn the_same_training_has_not_drifted() {
    let drift = drift(&[REFERENCE; 6]);
    assert!(!drift.drifted, "{drift:?}");
    assert_eq!(drift.shift, None);
    assert_eq!(drift.checks.len(), 6);
    assert!((drift.checks[0].level_percent - 100.0).abs() < 1e-9);
    for check in &drift.checks {
        assert!(
            (90.0..110.0).contains(&check.level_percent),
            "{:?}",
            drift.checks
        );
    }
}

#[test]
fn a_training_twice_as_slow_has_drifted_at_the_second_check_and_the_code_or_platform_has() {
    let drift = drift(&[REFERENCE, slower(2.0)]);
    assert!(drift.drifted, "{drift:?}");
    let seconds = drift.change.time_seconds.unwrap();
    let code = share(&drift, Cause::CodeOrPlatform);
    assert!(
        (code.seconds / seconds.point - 1.0).abs() < 0.1,
        "{drift:?}"
    );
    let percent = drift.change.cost_percent.unwrap();
    assert!((80.0..125.0).contains(&percent.point), "{percent:?}");
}

#[test]
fn the_causes_add_up_to_the_change() {
    let drift = drift(&[
        REFERENCE,
        Truth {
            slowness: 1.3,
            gibibytes: 13.0,
            usd_per_hour: Some(2.5),
        },
    ]);
    let seconds: f64 = drift.causes.iter().map(|share| share.seconds).sum();
    let dollars: f64 = drift.causes.iter().filter_map(|share| share.usd).sum();
    let change = drift.change;
    assert!((seconds - change.time_seconds.unwrap().point).abs() < 1e-6);
    assert!((dollars - change.cost_usd.unwrap().point).abs() < 1e-9);
}

#[test]
fn a_price_is_known_exactly_and_needs_no_second_check() {
    let dearer = Truth {
        usd_per_hour: Some(2.4),
        ..REFERENCE
    };
    let drift = drift(&[REFERENCE, dearer]);
    assert!(drift.drifted, "{drift:?}");
    assert!(drift.chance_over_limit.unwrap() > 0.5, "{drift:?}");
    assert_eq!(drift.shift, None);
    assert!(share(&drift, Cause::Price).usd.unwrap() > 0.0);
    let cheaper = Truth {
        usd_per_hour: Some(1.0),
        ..slower(1.5)
    };
    let drift = self::drift(&[REFERENCE, cheaper]);
    assert!(!drift.drifted, "{drift:?}");
}

#[test]
fn data_that_grew_is_seen_at_once_and_no_shift_of_what_is_measured() {
    let more = Truth {
        gibibytes: 14.0,
        ..REFERENCE
    };
    let drift = drift(&[REFERENCE, REFERENCE, REFERENCE, more]);
    assert!(drift.drifted, "{drift:?}");
    assert_eq!(drift.shift, None);
    let (data, change) = (
        share(&drift, Cause::Data),
        drift.change.time_seconds.unwrap(),
    );
    assert!((data.seconds / change.point - 1.0).abs() < 0.4, "{drift:?}");
}

#[test]
fn a_rise_within_the_policy_is_a_shift_and_no_drift() {
    let truths = [vec![REFERENCE; 10], vec![slower(1.1); 20]].concat();
    let drift = drift(&truths);
    assert!(!drift.drifted, "{drift:?}");
    let shift = drift.shift.expect("a shift of 10 %");
    assert!(shift.percent.lower < 10.0 && shift.percent.upper > 10.0);
    let since = drift.checks.iter().position(|one| one.at == shift.since);
    assert!(
        since.is_some_and(|index| (8..=12).contains(&index)),
        "{since:?}"
    );
}

#[test]
fn an_amount_too_small_for_the_policy_is_no_drift() {
    // A full run costs 3.34 USD.
    let records = stored(&[REFERENCE, slower(2.0), slower(2.0)], 0.02);
    let with = |at_least| {
        let policy = DriftPolicy {
            at_least: Usd(at_least),
            ..POLICY
        };
        checked(&records, &policy).unwrap().unwrap().drifted
    };
    assert!(with(1.0));
    assert!(!with(5.0));
}

#[test]
fn without_a_price_time_is_what_drifts() {
    let unpriced = |slowness| Truth {
        usd_per_hour: None,
        ..slower(slowness)
    };
    let drift = drift(&[unpriced(1.0), unpriced(2.0)]);
    assert!(drift.drifted);
    assert_eq!(drift.change.cost_usd, None);
    assert!(drift.causes.iter().all(|share| share.usd.is_none()));
}

#[test]
fn a_check_without_a_level_is_left_out_and_todays_is_unknown() {
    let mut records = stored(&[REFERENCE; 4], 0.05);
    records[2].measurements.truncate(1);
    let drift = checked(&records, &POLICY).unwrap().unwrap();
    assert_eq!(drift.checks.len(), 3);
    records[3].measurements.truncate(1);
    let Unknown(reason) = checked(&records, &POLICY).unwrap_err();
    assert!(reason.contains("run"), "{reason}");
}

#[test]
fn of_a_long_history_the_reference_and_the_newest_checks_are_looked_at() {
    let series: Vec<CheckRecord> = (0..1000)
        .map(|second| CheckRecord {
            at: Timestamp::from_second(second).unwrap(),
            ..CheckRecord::default()
        })
        .collect();
    let looked_at = in_window(&series.iter().collect::<Vec<_>>());
    assert_eq!(looked_at.len(), MOST_CHECKS);
    assert_eq!(looked_at[0].at, series[0].at);
    assert_eq!(looked_at[1].at, series[1000 - MOST_CHECKS + 1].at);
    assert_eq!(looked_at[MOST_CHECKS - 1].at, series[999].at);
}

#[test]
fn amounts_that_no_run_has_do_no_harm() {
    for seconds in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300, f64::MIN_POSITIVE] {
        for price in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300, 1e-300] {
            let mut records = stored(&[REFERENCE; 3], 0.05);
            for run in &mut records[1].measurements {
                run.training_seconds = Some(Seconds(seconds));
            }
            records[2].price = Some(UsdPerHour(price));
            let drift = checked(&records, &POLICY).unwrap().unwrap();
            let chance = drift.chance_over_limit.unwrap();
            assert!(
                (0.0..=1.0).contains(&chance),
                "{seconds} s at {price}: {drift:?}"
            );
        }
    }
}
