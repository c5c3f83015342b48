use super::super::tests::{ended, run, with_memory};
use super::*;
use crate::measurement::Outcome;
use crate::units::Bytes;

const CERTAINTY: Fraction = Fraction(0.95);

/// Three sizes, three runs each.
fn canaries(percents: [f64; 3], seconds: impl Fn(f64) -> f64) -> Vec<Measurement> {
    percents
        .into_iter()
        .flat_map(|percent| [0, 1, 2].map(|_| run(percent, seconds(percent))))
        .collect()
}

/// 40 s, and 30 s for each per cent of the data: 3040 s in full.
fn line(percent: f64) -> f64 {
    40.0 + 30.0 * percent
}

fn measured(seconds: [f64; 9]) -> Vec<Measurement> {
    let percents = [1.0, 1.0, 1.0, 3.0, 3.0, 3.0, 10.0, 10.0, 10.0];
    percents
        .into_iter()
        .zip(seconds)
        .map(|(percent, seconds)| run(percent, seconds))
        .collect()
}

/// The same runs where the whole data is `times` as much, and so is each sample.
fn of_data(runs: Vec<Measurement>, times: f64) -> Vec<Measurement> {
    let scaled = |bytes: Option<Bytes>| bytes.map(|bytes| Bytes::from_f64(bytes.as_f64() * times));
    runs.into_iter()
        .map(|run| Measurement {
            bytes: scaled(run.bytes),
            bytes_total: scaled(run.bytes_total),
            ..run
        })
        .collect()
}

fn changed(base: &[Measurement], new: &[Measurement]) -> WeighedRatio {
    compare(base, new).unwrap().ratio.unwrap()
}

fn ratio(base: &[Measurement], new: &[Measurement]) -> f64 {
    compare(base, new).unwrap().factors().total()
}

fn is_near(found: f64, expected: f64, tolerance: f64) {
    assert!(
        (found - expected).abs() <= tolerance,
        "{found} is not {expected}"
    );
}

/// A program of its own in numpy 2.4.6 and scipy 1.17.1: every law of the family on an even grid over logit u in steps of 0.1,
/// all pairs of laws of the two sides written out, nothing left out and nothing taken together, and the quantiles of the whole
/// mixture by bisection. What the comparison takes together moves quantiles by less than 0.02 in the logarithm.
#[test]
fn the_three_ways_are_weighed_as_a_sum_over_all_pairs_weighs_them() {
    let base = measured([41.2, 39.6, 38.4, 61.2, 57.0, 60.0, 131.3, 126.1, 135.2]);
    let new = measured([
        43.43, 42.14, 43.86, 66.93, 71.76, 68.31, 160.0, 164.8, 156.8,
    ]);
    for (base, chances, quantiles) in [
        (
            base.clone(),
            [0.8429, 0.1362, 0.0209],
            [0.0629, 0.1638, 0.2916],
        ),
        (
            of_data(base, 0.5),
            [0.0193, 0.8493, 0.1314],
            [0.0048, 0.2456, 0.4597],
        ),
    ] {
        let changed = changed(&base, &new);
        for (found, expected) in changed.chances.into_iter().zip(chances) {
            is_near(found, expected, 0.005);
        }
        for (p, expected) in [0.05, 0.5, 0.95].into_iter().zip(quantiles) {
            is_near(changed.total.quantile(p).ln(), expected, 0.02);
        }
    }
}

/// By the model (which of the three ways, its least chance) and the ratio of the two full runs.
#[test]
fn what_changed_is_found_at_the_full_run() {
    type Seconds = fn(f64) -> f64;
    let [near_ones, far]: [[f64; 3]; 2] = [[1.0, 2.0, 3.0], [1.0, 3.0, 10.0]];
    let doubled: Seconds = |percent| 40.0 + 60.0 * percent;
    for (percents, new, way, chance, expected, tolerance) in [
        (
            near_ones,
            (|percent| 0.5 * line(percent)) as Seconds,
            0,
            0.0,
            0.5,
            1e-5,
        ),
        (far, |percent| 4.0 * line(percent), 0, 0.0, 4.0, 4e-5),
        // The canaries' own mean grows by half; the full run is nearly all slope.
        (near_ones, doubled, 1, 0.5, 6040.0 / 3040.0, 0.05),
        (far, doubled, 1, 0.5, 6040.0 / 3040.0, 0.05),
        // Where the fixed part alone grew the full run hardly does.
        (far, |percent| 40.0 + line(percent), 1, 0.0, 1.0, 0.06),
        // A new part that compares all pairs is a law of its own.
        (
            far,
            |percent| line(percent) + 6.0 * percent * percent,
            2,
            0.9,
            17.0,
            12.0,
        ),
    ] {
        let comparison = compare(&canaries(percents, line), &canaries(percents, new)).unwrap();
        let changed = comparison.ratio.as_ref().unwrap();
        let rate = comparison.rate_percent(CERTAINTY);
        is_near(rate.point, 100.0 * (changed.total.median() - 1.0), 0.01);
        assert!(changed.chances[way] >= chance, "{:?}", changed.chances);
        is_near(changed.total.median(), expected, tolerance);
        let (lower, upper) = (changed.total.quantile(0.05), changed.total.quantile(0.95));
        assert!(lower < changed.total.median() && changed.total.median() < upper);
        // That only the slope doubled is sure, and what the pairs take is not.
        assert!(way != 1 || expected < 1.5 || lower > 1.4, "{lower}");
        assert!(way != 2 || upper > 1.8 * lower, "{lower} {upper}");
    }
}

/// Runs with what noise does to them.
fn noisy() -> [Vec<Measurement>; 2] {
    [
        measured([75.0, 69.0, 68.0, 128.0, 135.0, 127.0, 342.0, 350.0, 331.0]),
        measured([88.0, 85.0, 91.0, 160.0, 149.0, 158.0, 420.0, 399.0, 428.0]),
    ]
}

#[test]
fn the_clocks_unit_and_the_order_do_not_matter_and_swapping_the_sides_gives_the_inverse() {
    let [base, new] = noisy();
    let milliseconds = |runs: &[Measurement]| -> Vec<Measurement> {
        let slower = |run: &Measurement| Measurement {
            training_seconds: run.training_seconds.map(|time| time * 1000.0),
            ..run.clone()
        };
        runs.iter().rev().map(slower).collect()
    };
    let slower = ratio(&milliseconds(&base), &milliseconds(&new));
    is_near(slower / ratio(&base, &new), 1.0, 1e-6);
    let (forward, backward) = (changed(&base, &new).total, changed(&new, &base).total);
    for (p, tolerance) in [(0.5, 0.005), (0.05, 0.01)] {
        is_near(
            forward.quantile(p) * backward.quantile(1.0 - p),
            1.0,
            tolerance,
        );
    }
}

fn at(minute: i64, mut run: Measurement) -> Measurement {
    run.run = Some("2026-11-21T05:30:00Z/1".to_owned());
    run.ended_at = Some(jiff::Timestamp::from_second(60 * minute).unwrap());
    run
}

#[test]
fn the_very_same_runs_have_not_changed_and_other_runs_with_the_same_times_may_have() {
    let base: Vec<Measurement> = (0..)
        .zip(noisy()[0].clone())
        .map(|(minute, run)| at(minute, run))
        .collect();
    let same = compare(&base, &base).unwrap();
    assert_eq!(same.factors(), Factors::NONE);
    let growth = same.growth(&Predictive::log_student_t(100.0, 0.2, 5.0));
    let none =
        |estimate: Estimate| (estimate.lower, estimate.point, estimate.upper) == (0.0, 0.0, 0.0);
    assert!(none(growth.percent(CERTAINTY)) && none(growth.difference(CERTAINTY)));
    assert!(none(same.rate_percent(CERTAINTY)));
    assert_eq!(growth.chance_of_more(), 0.0);
    let mut others = base.clone();
    others[4].run = Some("2026-11-22T05:30:00Z/2".to_owned());
    let percent = compare(&base, &others).unwrap().rate_percent(CERTAINTY);
    assert!(percent.lower < -5.0 && percent.upper > 5.0);
}

#[test]
fn the_growth_is_in_the_unit_of_the_base() {
    let comparison = compare(
        &canaries([1.0, 3.0, 10.0], line),
        &canaries([1.0, 3.0, 10.0], |percent| 1.5 * line(percent)),
    )
    .unwrap();
    let growth = comparison.growth(&Predictive::log_student_t(3000.0, 0.05, 10.0));
    is_near(growth.difference(CERTAINTY).point, 1500.0, 60.0);
    is_near(growth.percent(CERTAINTY).point, 50.0, 1.0);
    assert!(growth.chance_above(Fraction(0.15), 5.0) > 0.99);
}

/// Twice the data, and twice the work: by half of it the time goes with the work, 2 and 5 units of 10 before, of 20 now.
#[test]
fn twice_the_data_and_twice_the_work_are_their_own_doing() {
    let base = canaries([1.0, 3.0, 10.0], line);
    let more_data = canaries([1.0, 3.0, 10.0], |percent| line(2.0 * percent));
    let with_work = |full: f64| -> Vec<Measurement> {
        [1.0, 3.0, 10.0]
            .into_iter()
            .flat_map(|percent| [2.0, 5.0, 2.0].map(|work| (percent, work)))
            .map(|(percent, work)| Measurement {
                work: Some(work),
                work_total: Some(full),
                ..run(percent, 20.0 + (10.0 + work) * percent)
            })
            .collect()
    };
    for (base, new, [data, work]) in [
        (
            base,
            of_data(more_data, 2.0),
            [line(200.0) / line(100.0), 1.0],
        ),
        (with_work(10.0), with_work(20.0), [1.0, 3020.0 / 2020.0]),
    ] {
        let factors = compare(&base, &new).unwrap().factors();
        is_near(factors.data, data, 0.02);
        is_near(factors.work, work, 0.08);
        is_near(factors.rate, 1.0, 0.03);
    }
}

#[test]
fn what_is_not_known_on_both_sides_is_taken_to_be_the_same_and_a_note_says_so() {
    let base = canaries([1.0, 3.0, 10.0], line);
    let without_bytes: Vec<Measurement> = of_data(base.clone(), 2.0)
        .into_iter()
        .map(|run| Measurement {
            bytes: None,
            work: Some(1.0),
            work_total: Some(1.0),
            ..run
        })
        .collect();
    let comparison = compare(&base, &without_bytes).unwrap();
    is_near(comparison.factors().total(), 1.0, 1e-4);
    assert_eq!(
        comparison.notes,
        [
            "the bytes of the data are unknown on one side; the data is assumed to be as large as on the base",
            "the levels of work are unknown on one side; the full run is assumed to do the same work as on the base",
        ]
    );
    assert_eq!(compare(&base, &base).unwrap().notes, Vec::<String>::new());
}

#[test]
fn too_few_runs_on_either_side_are_unknown_with_the_reason() {
    let base = canaries([1.0, 3.0, 10.0], line);
    let reason = |base: &[Measurement], new: &[Measurement]| compare(base, new).unwrap_err().0;
    assert_eq!(
        reason(&base[..3], &base),
        "on the base: 3 completed runs at 1 size; a forecast needs at least 3, at 2 or more sizes"
    );
    let stopped: Vec<Measurement> = base
        .iter()
        .map(|run| ended(run.clone(), Outcome::Stopped))
        .collect();
    assert_eq!(reason(&base, &stopped), "now: no canary run completed");
    assert_eq!(reason(&base, &[]), "now: no canary run completed");
    assert!(reason(&of_data(base.clone(), 1e-8), &of_data(base, 1e8)).contains("too far apart"));
}

#[test]
fn memory_grows_in_percent_of_the_host_and_running_out_of_it_settles_that() {
    let peaks = |times: f64| -> Vec<Measurement> {
        let peak = |run: Measurement| {
            let percent = 100.0 * run.data_share();
            let bytes = Bytes::from_f64(times * (4e8 + 2e7 * percent));
            with_memory(run, bytes.0)
        };
        canaries([1.0, 3.0, 10.0], line)
            .into_iter()
            .map(peak)
            .collect()
    };
    let base_percent = Predictive::log_student_t(40.0, 0.05, 10.0);
    let growth = compare_memory(&peaks(1.0), &peaks(1.25), &base_percent).unwrap();
    is_near(growth.percent(CERTAINTY).point, 25.0, 0.5);
    is_near(growth.difference(CERTAINTY).point, 10.0, 0.5);
    let mut out = peaks(1.0);
    out[8] = ended(out[8].clone(), Outcome::out_of_memory(None));
    assert_eq!(
        compare_memory(&peaks(1.0), &out, &base_percent)
            .unwrap_err()
            .0,
        "a canary ran out of memory"
    );
    assert_eq!(
        compare_memory(&peaks(1.0), &canaries([1.0, 2.0, 3.0], line), &base_percent)
            .unwrap_err()
            .0,
        "now: no completed run measured memory"
    );
}

#[test]
fn levels_are_those_of_the_records_own_full_runs_under_one_law() {
    let base = canaries([1.0, 3.0, 10.0], line);
    let slower = canaries([1.0, 3.0, 10.0], |percent| 1.2 * line(percent));
    let more = of_data(
        canaries([1.0, 3.0, 10.0], |percent| line(2.0 * percent)),
        2.0,
    );
    let found = levels(&[&base, &base[..3], &slower, &[], &more]).unwrap();
    let [Some(first), None, Some(second), None, Some(third)] = found[..] else {
        panic!("{found:?}");
    };
    is_near(second.ln_seconds - first.ln_seconds, 1.2_f64.ln(), 1e-6);
    is_near(
        third.ln_seconds - first.ln_seconds,
        (line(200.0) / line(100.0)).ln(),
        0.02,
    );
    is_near(first.ln_seconds, line(100.0).ln(), 0.1);
    // The prior's noise of 0.05 on 6 degrees of freedom, hardly a residual on 24 more, and 8.1 runs.
    is_near(
        first.standard_error,
        0.05 * (6.0_f64 / 30.0 / 8.1).sqrt(),
        5e-4,
    );
}

#[test]
fn levels_of_noisy_records_differ_as_their_comparison_says() {
    let [base, new] = noisy();
    let found = levels(&[&base, &new, &base]).unwrap();
    let level = |record: usize| found[record].unwrap().ln_seconds;
    is_near(level(1) - level(0), ratio(&base, &new).ln(), 0.02);
    is_near(level(2), level(0), 1e-12);
}

#[test]
fn no_record_with_enough_runs_is_unknown() {
    assert_eq!(levels(&[]).unwrap_err().0, "there is no record");
    assert_eq!(levels(&[&[]]).unwrap_err().0, "no canary run completed");
}
