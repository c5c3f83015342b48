//! The door, by example, and the laws that any forecast keeps.

use proptest::prelude::*;

use super::*;
use crate::instance::{Capacity, InstanceType, Price, PriceEvidence};
use crate::measurement::progress::JobProgress;
use crate::measurement::{Outcome, PeakMemory, Phases, Start};
use crate::metric::Metric;
use crate::units::{Bytes, Percent, UsdPerHour};

const TOTAL: u64 = 100 * Bytes::GIB;

/// A completed run at `percent` of 100 GiB.
pub(crate) fn run(percent: f64, seconds: f64) -> Measurement {
    Measurement {
        bytes: Some(Bytes::from_f64(Bytes(TOTAL).as_f64() * percent / 100.0)),
        bytes_total: Some(Bytes(TOTAL)),
        training_seconds: Some(Seconds(seconds)),
        ..Measurement::without_figures(
            "churn".to_owned(),
            "ml.m5.2xlarge".parse().unwrap(),
            Fraction(percent / 100.0),
            Outcome::Completed,
        )
    }
}

pub(super) fn with_memory(mut run: Measurement, bytes: u64) -> Measurement {
    run.usage.memory = Some(PeakMemory {
        bytes: Some(Bytes(bytes)),
        source: "test".to_owned(),
        ..PeakMemory::default()
    });
    run
}

pub(super) fn ended(mut run: Measurement, outcome: Outcome) -> Measurement {
    run.outcome = outcome;
    run
}

pub(super) fn utilization(mean: f64) -> Option<Utilization> {
    Some(Utilization {
        mean: Percent(mean),
        p99: None,
        source: "test".to_owned(),
    })
}

/// On one ml.m5.2xlarge with 32 GiB at 0.50 USD/h.
pub(super) fn forecast_of(measurements: &[Measurement]) -> Forecast {
    forecast_on("ml.m5.2xlarge", measurements, PriceEvidence::PriceList)
}

fn forecast_on(instance: &str, measurements: &[Measurement], evidence: PriceEvidence) -> Forecast {
    let capacity = |_: &InstanceType| {
        Some(Capacity {
            vcpus: 8,
            memory: Bytes(32 * Bytes::GIB),
            gpus: 0,
            gpu_memory: None,
        })
    };
    let price = Price::on_demand(UsdPerHour(0.5), "test", evidence);
    let instance = instance.parse().unwrap();
    forecast(&Basis {
        offer: &Offer::of(&instance, &capacity, &|_| Some(price.clone())),
        measurements,
    })
}

pub(crate) fn near(left: f64, right: f64, relative: f64) -> bool {
    (left - right).abs() <= relative * left.abs().max(right.abs())
}

fn median(forecast: &Forecast, metric: Metric) -> f64 {
    forecast[metric].as_ref().unwrap().median()
}

fn why(forecast: &Forecast, metric: Metric) -> String {
    forecast[metric].clone().unwrap_err().0
}

/// A noiseless line of three small canaries is met to this: the laws about linear pull a little to either side.
const NEAR_A_LINE: f64 = 0.04;

/// 40 s and 71.6 s per percent: two hours in full.
pub(super) fn two_hours() -> Vec<Measurement> {
    [1.0, 2.0, 3.0]
        .map(|percent| run(percent, 40.0 + 71.6 * percent))
        .to_vec()
}

#[test]
fn two_hours_at_half_a_dollar_on_six_machines_cost_six_dollars_and_an_estimated_price_widens_that()
{
    let one = forecast_of(&two_hours());
    let time = median(&one, Metric::Time);
    assert!(near(time, 7200.0, NEAR_A_LINE), "{time}");
    let cost = median(&one, Metric::Cost);
    assert!(near(cost, time * 0.5 / 3600.0, 1e-9));
    let six = forecast_on("6x ml.m5.2xlarge", &two_hours(), PriceEvidence::PriceList);
    assert!(near(median(&six, Metric::Cost), 6.0 * cost, 1e-9));
    let estimated = forecast_on("ml.m5.2xlarge", &two_hours(), PriceEvidence::Estimate);
    assert_eq!(one[Metric::Time], estimated[Metric::Time]);
    // The laws do not lie evenly about the median, so blurring them moves it a little.
    assert!(near(median(&estimated, Metric::Cost), cost, 0.01));
    let ends = |of: &Forecast| [0.05, 0.95].map(|p| of[Metric::Cost].as_ref().unwrap().quantile(p));
    let ([lower, upper], [lowest, highest]) = (ends(&one), ends(&estimated));
    assert!(lowest < lower && upper < highest);
}

/// Memory is taken to bend more often than time, which pulls the median of what is this far out down.
#[test]
fn memory_is_forecast_in_percent_of_the_machine_whether_it_was_measured_in_bytes_or_in_percent() {
    for (is_in_bytes, expected) in [(true, 100.0), (false, 426.0)] {
        let runs = [1.0, 2.0, 3.0].map(|percent| {
            let mut run = run(percent, 60.0);
            let bytes = (4.0 + 0.28 * percent) * Bytes(Bytes::GIB).as_f64();
            run.usage.memory = Some(PeakMemory {
                bytes: is_in_bytes.then(|| Bytes::from_f64(bytes)),
                percent: (!is_in_bytes).then_some(Percent(5.0 + 4.21 * percent)),
                source: "test".to_owned(),
                ..PeakMemory::default()
            });
            run
        });
        let forecast = forecast_of(&runs);
        let percent = forecast[Metric::Memory].clone().unwrap();
        assert!(near(percent.median(), expected, 0.2), "{percent:?}");
        // A share of the machine is an amount here, not a level: a job can need more than there is.
        assert!(percent.chance_above(110.0) > 0.1);
        match &forecast[Metric::MemoryBytes] {
            Ok(bytes) => {
                let all = Bytes(32 * Bytes::GIB).as_f64();
                assert!(near(percent.median(), 100.0 * bytes.median() / all, 1e-9));
            }
            Err(why) => assert_eq!(
                why.0,
                "memory was measured in percent of the machine, not in bytes"
            ),
        }
        assert_eq!(forecast[Metric::MemoryBytes].is_ok(), is_in_bytes);
        assert_eq!(forecast.law.memory.unwrap().name, "linear");
    }
}

#[test]
fn a_canary_out_of_memory_settles_memory_and_leaves_time() {
    let mut runs = two_hours();
    runs.iter_mut()
        .for_each(|run| *run = with_memory(run.clone(), Bytes::GIB));
    runs.push(ended(
        run(5.0, 10.0),
        Outcome::OutOfMemory {
            of: crate::metric::MemoryOf::Machine,
            last_line: Some("<script>".to_owned()),
        },
    ));
    let forecast = forecast_of(&runs);
    assert!(forecast.memory.ran_out);
    assert!(forecast[Metric::Memory].is_err() && forecast[Metric::MemoryBytes].is_err());
    assert!(forecast[Metric::Time].is_ok());
    let note = "left out of the fit: 5% #1 ran out of memory";
    assert!(forecast.notes.iter().any(|said| said == note));
    assert!(!forecast.notes.concat().contains("<script>"));
}

#[test]
fn a_canary_ended_at_its_limit_is_a_lower_bound() {
    let with = |bound: f64| {
        let mut runs = two_hours();
        runs.push(ended(run(5.0, bound / 2.0), Outcome::TimedOut));
        runs.push(ended(run(5.0, bound), Outcome::TimedOut));
        forecast_of(&runs)
    };
    let within = with(3600.0);
    assert_eq!(within.time_at_least, Some(3600.0));
    assert!(near(within.cost_at_least.unwrap(), 0.5, 1e-12));
    // What 5 % of the data cannot have taken less than makes the full run no shorter.
    let median = |forecast: &Forecast| median(forecast, Metric::Time);
    assert!(median(&within) > median(&forecast_of(&two_hours())) && median(&within) > 3600.0);
    // Two hours in full cannot be when 5% took longer: whatever it takes, it is more than that.
    assert!(median(&with(7300.0)) > 7300.0);
    let nothing = forecast_of(&[
        ended(run(2.0, 60.0), Outcome::TimedOut),
        ended(run(1.0, 60.0), Outcome::TimedOut),
    ]);
    assert_eq!(
        why(&nothing, Metric::Time),
        "the 1% canary was stopped after 1m, its time limit"
    );
    assert_eq!(nothing.time_at_least, Some(60.0));
}

#[test]
fn what_was_not_measured_is_unknown_and_not_zero() {
    let forecast = forecast_of(&two_hours());
    for (metric, reason) in [
        (Metric::MemoryBytes, "no completed run measured memory"),
        (Metric::GpuUtilization, "no GPU utilization was measured"),
        (Metric::StepTime, "no step time was measured"),
        (Metric::CostPerStep, "no step time was measured"),
    ] {
        assert_eq!(why(&forecast, metric), reason);
    }
    assert_eq!(forecast.phases, PhaseForecast::default());
    let nothing = forecast_of(&[ended(run(1.0, 1.0), Outcome::NoCapacity)]);
    for metric in [Metric::Time, Metric::Cost] {
        assert_eq!(why(&nothing, metric), "no canary run completed");
    }
    assert_eq!(nothing.largest_share, None);
    assert_eq!(
        nothing.notes,
        ["left out of the fit: 1% #1 found no capacity"]
    );
}

#[test]
fn steps_and_utilization_are_levels_and_phases_stand_apart() {
    let runs = [1.0, 2.0, 3.0].map(|percent| {
        let mut run = run(percent, 100.0);
        run.step_seconds = Some(Seconds(0.36));
        run.usage.cpu_percent = utilization(90.0);
        run.usage.gpu_memory_percent = utilization(30.0).map(|usage| Utilization {
            p99: Some(Percent(70.0)),
            ..usage
        });
        run.phases = Phases {
            startup: Some(Seconds(120.0)),
            download: Some(Seconds(2.0 * percent)),
            training: Some(Seconds(30.0 + percent)),
            upload: None,
        };
        run
    });
    let forecast = forecast_on("2x ml.m5.2xlarge", &runs, PriceEvidence::PriceList);
    assert!(near(median(&forecast, Metric::StepTime), 0.36, 1e-12));
    assert!(near(median(&forecast, Metric::CostPerStep), 1e-4, 1e-12));
    assert_eq!(median(&forecast, Metric::CpuUtilization), 90.0);
    assert_eq!(median(&forecast, Metric::GpuMemory), 70.0);
    let median = |phase: Option<Predictive>| phase.unwrap().median();
    assert!(near(median(forecast.phases.startup), 120.0, 1e-12));
    // Some of a download of 2 s may be fixed.
    let download = median(forecast.phases.download);
    assert!(near(download, 200.0, 0.1), "{download}");
    // Of 31 to 33 s a part grows, how much a run-to-run noise of some per cent hides.
    let training = median(forecast.phases.training);
    assert!((33.0..300.0).contains(&training), "{training}");
    assert!(forecast.phases.upload.is_none());
}

pub(super) fn with_phases(
    mut run: Measurement,
    [download, training, upload]: [f64; 3],
) -> Measurement {
    run.phases = Phases {
        startup: Some(Seconds(120.0)),
        download: Some(Seconds(download)),
        training: Some(Seconds(training)),
        upload: Some(Seconds(upload)),
    };
    run.training_seconds = Some(Seconds(download + training + upload));
    run
}

/// Download, training and upload of one run of so many per cent, in seconds.
fn three_phases(percent: f64) -> [f64; 3] {
    [5.0 * percent, 60.0 + 20.0 * percent, 8.0]
}

#[test]
fn phases_that_make_up_the_billed_time_are_forecast_apart_and_added() {
    let of = |phases: fn(f64) -> [f64; 3]| {
        [1.0, 2.0, 5.0, 10.0].map(|percent| with_phases(run(percent, 0.0), phases(percent)))
    };
    let runs = of(three_phases);
    let forecast = forecast_of(&runs);
    let phases = forecast.phases.clone();
    let phases = [phases.download, phases.training, phases.upload].map(Option::unwrap);
    let time = forecast[Metric::Time].clone().unwrap();
    // 500 s, 2060 s and 8 s; the upload may grow though it was not seen to.
    assert!(near(time.median(), 2568.0, 0.05), "{}", time.median());
    // Independent errors: the whole is relatively better known than the download and not as well as if all erred apart.
    let width = |one: &Predictive| one.quantile(0.95) - one.quantile(0.05);
    let squares = phases.iter().map(|phase| width(phase).powi(2));
    let apart = squares.sum::<f64>().sqrt();
    assert!(near(width(&time), apart, 0.15), "{} {apart}", width(&time));
    // The law in words and tables is that of the whole.
    assert!(near(
        forecast.law.time.clone().unwrap().at(1.0),
        2568.0,
        0.1
    ));

    // Phases that lack or do not make up the billed time leave it its own law.
    let without = |run: Measurement| Measurement {
        phases: Phases::default(),
        ..run
    };
    let whole = forecast_of(&runs.clone().map(without));
    let mut lacking = runs.clone();
    lacking[1].phases.upload = None;
    let mut short = runs;
    short[2].phases.training = Some(Seconds(100.0));
    for odd in [lacking, short].map(|runs| forecast_of(&runs)) {
        assert_eq!(odd[Metric::Time], whole[Metric::Time]);
        assert_eq!(odd.law.time, whole.law.time);
    }
    assert_ne!(forecast[Metric::Time], whole[Metric::Time]);

    // A phase that took no time adds none.
    let alone = forecast_of(&of(|percent| [0.0, 60.0 + 20.0 * percent, 0.0]));
    assert_eq!(
        alone[Metric::Time].clone().unwrap(),
        alone.phases.training.unwrap()
    );
}

#[test]
fn notes_say_what_is_assumed_how_far_the_canaries_reached_and_what_was_left_out() {
    let mut runs = two_hours();
    runs.iter_mut()
        .for_each(|run| *run = with_memory(run.clone(), Bytes::GIB));
    runs[0].usage.memory.as_mut().unwrap().upper_bound = Some(Bytes(2 * Bytes::GIB));
    runs[1].bytes = None;
    for replicate in 0..8 {
        let mut late = ended(run(50.0, 3600.0), Outcome::TimedOut);
        late.replicate = replicate;
        runs.push(late);
    }
    runs.push(run(300.0, 10.0));
    assert_eq!(
        forecast_of(&runs).notes,
        [
            "the forecast of time and memory assumes that growth continues beyond the largest canary, which held 3% of the data, much as within the canaries",
            "memory between two samples may have been higher, up to 2.00 GiB in one canary; the forecast is of what was sampled",
            "the bytes of 1 run are unknown; the fraction requested replaces them",
            "left out of the fit: 300% #1 held a share of the data that is not between 0 and 100%",
            "left out of the fit: 50% #1, 50% #2, 50% #3, 50% #4, 50% #5, 50% #6 and 2 more timed out, and gave only a lower bound of the time",
        ]
    );
}

#[test]
fn a_forecast_is_rough_far_from_the_full_run_and_farther_where_much_is_fixed() {
    let is_rough = |fixed: f64, percents: [f64; 3]| {
        let seconds = |percent: f64| fixed + 10.0 * percent;
        forecast_of(&percents.map(|percent| run(percent, seconds(percent)))).is_rough()
    };
    assert!(is_rough(1.0, [1.0, 2.0, 3.0]));
    assert!(!is_rough(1.0, [1.0, 5.0, 10.0]));
    assert!(is_rough(800.0, [1.0, 5.0, 10.0]));
    assert!(!is_rough(800.0, [5.0, 10.0, 20.0]));
    assert!(!forecast_of(&[]).is_rough());
}

/// Of a shell that sleeps, 52 to 54 pages, and what grows as the cube of the data: in full a hundred times what the largest canary took.
#[test]
fn memory_that_does_not_grow_has_no_steeper_end_and_one_that_does_has() {
    let upper = |bytes: &dyn Fn(f64) -> f64| {
        let runs = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0];
        let runs =
            runs.map(|percent| with_memory(run(percent, 0.11), Bytes::from_f64(bytes(percent)).0));
        let memory = forecast_of(&runs)[Metric::MemoryBytes].clone().unwrap();
        (memory.if_steeper().quantile(0.95), memory.quantile(0.95))
    };
    let (steeper, seen) = upper(&|percent| if percent == 2.0 { 212_992.0 } else { 221_184.0 });
    assert!(steeper < 2.0 * seen, "{steeper} {seen}");
    let (steeper, _) = upper(&|percent| 1e9 * (0.1 + 0.01 * percent.powi(3)));
    assert!(steeper > 3.7e10, "{steeper}");
}

/// Ten lines up to so many of a hundred steps.
fn steps_to(done: f64) -> Option<JobProgress> {
    Some(JobProgress {
        format: "tqdm".to_owned(),
        total: Some(100.0),
        pass: None,
        passes: 1,
        points: (1..=10)
            .map(f64::from)
            .map(|line| (Seconds(2.0 * line), line / 10.0 * done))
            .collect(),
        doubts: Vec::new(),
    })
}

#[test]
fn a_time_that_stays_the_same_over_twice_the_data_is_in_doubt() {
    type Known = fn(&mut Measurement, f64);
    let unknown: Known = |_, _| {};
    let far = [1.0, 5.0, 20.0, 50.0];
    for (percents, seconds, growth, known, is_doubted) in [
        (far, 20.0, 0.0, unknown, true),
        // Noise may hide the growth of so short a run.
        (far, 0.1, 0.001, unknown, true),
        // Who opens the data may still fail after it.
        (
            far,
            20.0,
            0.0,
            |run, _| run.sample_opened = Some(true),
            true,
        ),
        ([10.0, 20.0, 30.0, 50.0], 20.0, 0.0, unknown, true),
        ([30.0, 40.0, 50.0, 50.0], 20.0, 0.0, unknown, false),
        // It takes much longer with more data, however much is fixed.
        (far, 20.0, 1.0, unknown, false),
        (
            far,
            20.0,
            0.0,
            |run, percent| run.usage.cpu_percent = utilization(1.0 + percent),
            false,
        ),
        // As many steps explain it, and such as broke off do not.
        (
            far,
            20.0,
            0.0,
            |run, _| run.progress = steps_to(100.0),
            false,
        ),
        (far, 20.0, 0.0, |run, _| run.progress = steps_to(30.0), true),
    ] {
        let found = forecast_of(&percents.map(|percent| {
            let mut run = run(percent, seconds + growth * percent);
            known(&mut run, percent);
            run
        }));
        let is_found = matches!(found.doubt(Metric::Time), Some(Doubt::NoGrowthSeen(_)));
        assert_eq!(is_found, is_doubted, "{percents:?} {seconds} {growth}");
    }
}

/// Of all lines, and only where the largest canary ended so: a smaller one may lack data.
#[test]
fn an_error_that_the_largest_canary_printed_last_is_a_doubt_and_a_warning() {
    for (percent, is_doubted) in [(1.0, false), (3.0, true)] {
        let runs = [1.0, 2.0, 3.0].map(|share| Measurement {
            last_error: (share == percent).then(|| format!("Error: `{}", "x".repeat(900))),
            ..run(share, 10.0 * share)
        });
        let forecast = forecast_of(&runs);
        assert_eq!(forecast.unlike.is_some(), is_doubted);
        let said = forecast.warnings.join("");
        assert_eq!(said.contains("ended with 0: `Error: 'x"), is_doubted);
        assert!(said.len() < 320, "{said}");
    }
}

#[test]
fn numbers_that_are_no_numbers_count_as_not_measured() {
    let mut runs = two_hours();
    for value in [f64::NAN, f64::INFINITY, -1.0] {
        runs.push(run(4.0, value));
    }
    assert_eq!(
        forecast_of(&runs)[Metric::Time],
        forecast_of(&two_hours())[Metric::Time]
    );
    let mut odd = run(1.0, 1.0);
    odd.bytes = None;
    odd.fraction = Fraction(f64::NAN);
    assert!(forecast_of(&[odd])[Metric::Time].is_err());
}

/// Three to twelve noisy runs on several sizes.
fn noisy_runs() -> impl Strategy<Value = Vec<Measurement>> {
    (
        0.0..1e4f64,
        0.0..1e3f64,
        prop::collection::vec((1u32..40, 0.8..1.25f64), 2..12),
    )
        .prop_map(|(fixed, per_percent, sizes)| {
            let mut runs: Vec<Measurement> = sizes
                .into_iter()
                .map(|(percent, noise)| {
                    let percent = f64::from(percent);
                    run(percent, (1.0 + fixed + per_percent * percent) * noise)
                })
                .collect();
            runs.push(run(50.0, 1.0 + fixed + per_percent * 50.0));
            runs.push(run(0.5, 1.0 + fixed + per_percent * 0.5));
            runs
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_order_of_the_runs_does_not_matter(runs in noisy_runs(), by in 0usize..12) {
        let mut turned = runs.clone();
        turned.rotate_left(by % runs.len());
        turned.swap(0, 1);
        prop_assert_eq!(forecast_of(&turned), forecast_of(&runs));
    }

    #[test]
    fn a_slower_clock_scales_the_time(runs in noisy_runs(), factor in 1e-3..1e3f64) {
        let slower: Vec<Measurement> = runs
            .iter()
            .cloned()
            .map(|mut run| {
                run.training_seconds = run.training_seconds.map(|time| time * factor);
                run
            })
            .collect();
        let (before, after) =
            (forecast_of(&runs)[Metric::Time].clone().unwrap(), forecast_of(&slower)[Metric::Time].clone().unwrap());
        prop_assert!(near(after.median(), before.median() * factor, 1e-6));
        prop_assert!(near(after.quantile(0.95), before.quantile(0.95) * factor, 1e-6));
    }

    #[test]
    fn the_point_lies_in_its_interval_and_is_not_below_the_largest_canary(runs in noisy_runs()) {
        let forecast = forecast_of(&runs);
        let (time, law) = (forecast[Metric::Time].clone().unwrap(), forecast.law.time.unwrap());
        let estimate = Estimate::of(&time, Fraction(0.95));
        prop_assert!(0.0 < estimate.lower && estimate.lower <= estimate.point);
        prop_assert!(estimate.point <= estimate.upper && estimate.upper.is_finite());
        prop_assert_eq!(estimate.level, 0.9);
        // The law that is drawn is the most probable one, the median that of all.
        let at_largest = law.at(forecast.largest_share.unwrap());
        prop_assert!(time.median() >= at_largest * 0.95);
    }

    #[test]
    fn a_run_that_was_stopped_changes_nothing_but_the_notes(runs in noisy_runs(), seconds in 0.0..1e6f64) {
        let mut more = runs.clone();
        more.push(ended(run(30.0, seconds), Outcome::Stopped));
        let (before, mut after) = (forecast_of(&runs), forecast_of(&more));
        prop_assert!(after.notes.len() > before.notes.len());
        after.notes.clone_from(&before.notes);
        prop_assert_eq!(after, before);
    }
}

/// Beside it other work took what slowed it by a half.
#[test]
fn a_run_beside_other_work_counts_less_and_widens_the_time() {
    let on = |slowed: f64, taken: f64| {
        let found = forecast_of(&[1.0, 5.0, 20.0].map(|percent| {
            let times = if percent == slowed { 1.5 } else { 1.0 };
            let mut run = run(percent, times * (40.0 + 4.0 * percent));
            run.usage.other_cpu_percent = utilization(if times > 1.0 { taken } else { 1.0 });
            run
        }));
        let time = found[Metric::Time].clone().unwrap();
        let ends = [0.05, 0.95].map(|p| time.quantile(p));
        ((time.median() / 440.0).ln().abs(), ends, found.notes)
    };
    let (_, [lower, upper], notes) = on(0.0, 1.0);
    assert!(!notes.concat().contains("other work"));
    for slowed in [5.0, 20.0] {
        let (unseen_error, ..) = on(slowed, 1.0);
        let (error, [seen_lower, seen_upper], notes) = on(slowed, 34.0);
        let note = format!("other work on this machine took up to 34% of the time of {slowed}% #1");
        assert!(notes.concat().contains(&note), "{notes:?}");
        assert!(seen_upper / seen_lower > upper / lower && error < unseen_error);
        assert!(seen_lower < 440.0 && 440.0 < seen_upper);
    }
}

/// Each at so many per cent of the data, with what its pull of an image takes and what follows it.
fn started(start: Start, percent: f64, pull: f64, rest: f64) -> Measurement {
    let pull = if start == Start::Cold { pull } else { 0.0 };
    Measurement {
        start: Some(start),
        ..run(percent, pull + rest)
    }
}

/// Two start cold and pull an image for minutes, the next is warm: the download shows the pull, and three sizes the growth.
#[test]
fn a_pull_that_the_download_shows_widens_nothing_else() {
    for (pull, percents) in [(240.0, [1.0, 2.0, 10.0]), (120.0, [1.0, 10.0, 20.0])] {
        let upper = |last| {
            let [first, second, third] = percents;
            let check = [(Start::Cold, first), (Start::Cold, second), (last, third)];
            let time = forecast_of(&check.map(|(start, percent)| {
                let run = started(start, percent, pull, 0.0);
                let pull = run.training_seconds.unwrap().0;
                with_phases(
                    run,
                    [pull + 2.0 + 0.2 * percent, 60.0 + 15.0 * percent, 5.0],
                )
            }))[Metric::Time]
                .clone()
                .unwrap();
            [time.quantile(0.95), time.if_steeper().quantile(0.99)]
        };
        let (warm, cold) = (upper(Start::Warm), upper(Start::Cold));
        for (warm, cold) in warm.into_iter().zip(cold) {
            assert!(warm < 1.25 * cold, "{warm} {cold}");
        }
    }
}

/// The first of a lane are cold and pull their image for 50 s; the rest are warm. The full run is cold.
#[test]
fn the_full_run_of_a_lane_is_forecast_cold() {
    use Start::{Cold, Warm};
    let lane = [
        (Cold, 2.0),
        (Cold, 5.0),
        (Warm, 5.0),
        (Warm, 10.0),
        (Warm, 20.0),
    ]
    .map(|(start, percent)| started(start, percent, 50.0, 5.0 + 10.0 * percent));
    let cold = median(&forecast_of(&lane), Metric::Time);
    assert!(near(cold, 1055.0, 0.03), "{cold}");
    // Taken for runs of one kind, they have a far larger fixed part, and grow less.
    let alike = lane.map(|run| Measurement { start: None, ..run });
    let alike = median(&forecast_of(&alike), Metric::Time);
    assert!(alike < 0.95 * 1055.0, "{alike}");
}

/// 10 GB of which a part goes with the data, and of that half or all with the work; canaries in turns of two levels, each 3 %
/// off to either side.
#[test]
fn memory_over_levels_of_work_and_data_is_held() {
    let places = [(1.0, 0.1), (10.0, 0.3), (20.0, 0.1)];
    let (mut held, mut all) = (0, 0);
    for (with_work, fixed) in [0.5, 1.0]
        .into_iter()
        .flat_map(|with_work| [0.3, 0.6].map(|fixed| (with_work, fixed)))
    {
        for signs in 0..8 {
            let measured = |(place, (percent, work)): (usize, &(f64, f64))| {
                let growing = (1.0 - fixed) * percent / 100.0;
                let exact = fixed + growing * (1.0 - with_work + with_work * work);
                let error = if signs >> place & 1 == 1 { 1.03 } else { 0.97 };
                let bytes = Bytes::from_f64(1e10 * exact * error);
                let mut run = with_memory(run(*percent, 1.0 + percent * work), bytes.0);
                (run.work, run.work_total) = (Some(*work), Some(1.0));
                run
            };
            let runs: Vec<Measurement> = places.iter().enumerate().map(measured).collect();
            let memory = forecast_of(&runs)[Metric::MemoryBytes].clone().unwrap();
            all += 1;
            held += i32::from(memory.quantile(0.05) <= 1e10 && memory.quantile(0.95) >= 1e10);
        }
    }
    assert!(held * 10 >= all * 9, "{held} of {all}");
}
