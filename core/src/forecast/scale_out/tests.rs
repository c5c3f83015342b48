use proptest::prelude::*;

use super::*;
use crate::forecast::tests::near;
use crate::forecast::{Basis, Doubt, Quantity};
use crate::instance::{Capacity, Offer};
use crate::measurement::{HostUsage, Outcome, PeakMemory, Usage};
use crate::metric::Metric;
use crate::spec::Distribution;
use crate::units::{Bytes, Fraction, Percent, Seconds};

fn run(hosts: u32, share: f64, seconds: f64) -> ScaleOutRun {
    ScaleOutRun {
        load: Load::even(hosts, share),
        seconds,
    }
}

/// Eight runs, whole and half data on 1, 2, 4 and 8 instances.
fn eight_runs() -> Vec<ScaleOutRun> {
    [
        (1, 1.0, 100.0),
        (2, 1.0, 55.0),
        (4, 1.0, 36.0),
        (8, 1.0, 32.0),
        (1, 0.5, 55.0),
        (2, 0.5, 33.0),
        (4, 0.5, 26.0),
        (8, 0.5, 27.0),
    ]
    .map(|(hosts, share, seconds)| run(hosts, share, seconds))
    .to_vec()
}

fn reason(answer: Result<Predictive, Unknown>) -> String {
    answer.unwrap_err().0
}

/// The time of a new run by the laws of enough runs.
fn forecast(runs: &[ScaleOutRun], wanted: Load) -> Result<Predictive, Unknown> {
    Ok(weighed::of_enough(runs)?.seconds(wanted))
}

/// The upper quantile over the median.
fn reach(predictive: &Predictive) -> f64 {
    predictive.quantile(0.95) / predictive.median()
}

/// 100 s on one host: so much fixed, the rest divided among the workers; on 1, 2, 3, 4, 6 and 8 hosts.
fn divided(fixed: f64, workers: fn(f64) -> f64) -> Vec<ScaleOutRun> {
    let seconds = |hosts: u32| 100.0 * (fixed + (1.0 - fixed) / workers(f64::from(hosts)));
    let counts = [1, 2, 3, 4, 6, 8];
    counts.map(|hosts| run(hosts, 1.0, seconds(hosts))).to_vec()
}

#[test]
fn a_noiseless_law_is_recovered() {
    let all: fn(f64) -> f64 = |hosts| hosts;
    let all_but_one: fn(f64) -> f64 = |hosts| (hosts - 1.0).max(1.0);
    for workers in [all, all_but_one] {
        for fixed in [0.05, 0.2, 0.5] {
            let answer = forecast(&divided(fixed, workers), Load::even(12, 1.0)).unwrap();
            let expected = 100.0 * (fixed + (1.0 - fixed) / workers(12.0));
            let median = answer.median();
            assert!(near(median, expected, 0.04), "{median} for {expected}");
        }
    }
}

/// numpy 2.4.6 and scipy 1.17.1: the same laws on a grid of 2800 points of logit u from -14 to 14, `stats.t.cdf` of the mixture solved
/// by `optimize.brentq`. The coarser grid here and the merging of like components are the rest.
#[test]
fn point_and_interval_are_those_of_the_formulas() {
    let two = [run(2, 1.0, 400.0), run(4, 1.0, 210.0)];
    let eight = eight_runs();
    for (runs, wanted, expected) in [
        (
            &two[..],
            Load::even(8, 1.0),
            [99.954_8, 144.810_6, 213.213_6],
        ),
        (&two, Load::even(12, 1.0), [65.724_3, 124.737_4, 239.073_0]),
        (&eight, Load::even(4, 1.0), [33.586_7, 37.294_5, 41.590_1]),
        (&eight, Load::even(16, 2.0), [26.316_3, 36.262_0, 51.087_7]),
    ] {
        let seconds = ScaleOutLaws::fit(runs, &COUNT_PRIOR)
            .unwrap()
            .seconds(wanted);
        for (p, expected) in [0.05, 0.5, 0.95].into_iter().zip(expected) {
            let own = seconds.quantile(p);
            assert!(near(own, expected, 0.01), "{own} for {expected} at {p}");
        }
    }
}

/// The laws leave open what two counts cannot tell: whether all hosts work, and how the rest goes on.
#[test]
fn two_counts_leave_the_law_open_and_more_counts_close_it() {
    let all = divided(0.05, |hosts| hosts);
    let two: Vec<ScaleOutRun> = (all.iter().copied())
        .filter(|run| [2, 4].contains(&run.load.hosts))
        .collect();
    let width = |runs: &[ScaleOutRun]| {
        let laws = ScaleOutLaws::fit(runs, &COUNT_PRIOR).unwrap();
        let seconds = laws.seconds(Load::even(8, 1.0));
        assert!(seconds.quantile(0.05) < 16.9 && 16.9 < seconds.quantile(0.95));
        seconds.quantile(0.95) / seconds.quantile(0.05)
    };
    assert!(width(&two) > 1.8, "{}", width(&two));
    assert!(width(&all) < 1.3, "{}", width(&all));
}

#[test]
fn repeats_of_a_load_do_not_make_the_law_sure() {
    let once = [run(2, 1.0, 400.0), run(4, 1.0, 210.0)];
    let often: Vec<ScaleOutRun> = once.iter().flat_map(|run| [*run; 9]).collect();
    let seconds = |runs: &[ScaleOutRun]| {
        let laws = ScaleOutLaws::fit(runs, &COUNT_PRIOR).unwrap();
        laws.seconds(Load::even(8, 1.0))
    };
    assert_eq!(seconds(&once), seconds(&often));
    // And one that went astray does not matter.
    let mut astray = often;
    astray[0].seconds = 4000.0;
    let (once, astray) = (seconds(&once), seconds(&astray));
    assert!(near(once.quantile(0.95), astray.quantile(0.95), 1e-9));
}

/// On two hosts the data did not fit into memory; from four on, 20 s and 1600 s divided.
#[test]
fn an_overloaded_smallest_count_does_not_bend_the_law() {
    let fits = |hosts: u32| 20.0 + 1600.0 / f64::from(hosts);
    let mut runs = [4, 6, 8].map(|hosts| run(hosts, 1.0, fits(hosts))).to_vec();
    runs.push(run(2, 1.0, 9000.0));
    let seconds = forecast(&runs, Load::even(12, 1.0)).unwrap();
    let (point, upper) = (seconds.median(), seconds.quantile(0.95));
    assert!(near(point, fits(12), 0.15), "{point}");
    // The step to the smallest count is fifteenfold for half the hosts.
    assert!(upper < 2.0 * fits(12), "{upper}");
}

#[test]
fn the_heaviest_host_sets_the_time_and_the_interval_grows_with_the_distance() {
    let skewed = Load {
        heaviest: 0.5,
        ..Load::even(4, 1.0)
    };
    let skewed = forecast(&divided(0.05, |hosts| hosts), skewed)
        .unwrap()
        .median();
    assert!(near(skewed, 100.0 * (0.05 + 0.95 * 0.5), 0.03), "{skewed}");
    let spread = |hosts, share| reach(&forecast(&eight_runs(), Load::even(hosts, share)).unwrap());
    assert!(spread(8, 1.0) < spread(16, 1.0) && spread(16, 1.0) < spread(32, 1.0));
    assert!(spread(2, 1.0) < spread(2, 4.0));
}

#[test]
fn too_few_runs_or_counts_are_unknown_with_the_reason() {
    let wanted = Load::even(4, 1.0);
    for (runs, have) in [
        (&[][..], "0 completed runs on 0 counts"),
        (
            &[run(2, 0.1, 9.0), run(2, 0.2, 9.5), run(2, 0.3, 10.0)],
            "3 completed runs on 1 count",
        ),
        (
            &[run(1, 0.1, 9.0), run(2, 0.2, 9.5)],
            "2 completed runs on 2 counts",
        ),
    ] {
        assert_eq!(
            reason(forecast(runs, wanted)),
            format!("{have} of instances; a forecast of scale-out needs at least 3 on 2")
        );
    }
}

/// Of 100 s that are known exactly. The end of the interval is the time that did not change, up and down; where all is fixed there is
/// still the doubt of another count.
#[test]
fn an_assumption_scales_what_grows_and_allows_that_more_instances_bring_nothing() {
    let one = Predictive::log_student_t(100.0, 0.0, 5.0);
    let even = |hosts| Load::even(hosts, 1.0);
    let uneven = Load {
        heaviest: 0.4,
        ..even(4)
    };
    let [up, down] = [0.95, 0.05];
    for (fixed_share, from, to, median, (p, end)) in [
        (0.2, even(1), even(4), 40.0, (up, 100.0)),
        (0.2, even(1), uneven, 52.0, (up, 52.0 * 4f64.powf(0.66))),
        (0.2, even(4), even(4), 100.0, (up, 100.0)),
        (0.0, even(1), even(4), 25.0, (up, 100.0)),
        (0.0, even(6), even(12), 50.0, (up, 100.0)),
        (0.0, even(4), even(1), 400.0, (down, 100.0)),
        (1.0, even(1), even(4), 100.0, (up, 100.0 * 4f64.powf(0.66))),
    ] {
        let answer = assume(&one, fixed_share, from, to);
        assert!(near(answer.seconds.median(), median, 1e-9), "{answer:?}");
        assert!(near(answer.seconds.quantile(p), end, 1e-6), "{answer:?}");
        assert!(!answer.is_measured());
    }
}

fn measurement(instance: &str, share: f64, seconds: f64) -> Measurement {
    let total = Bytes(1_000_000);
    Measurement {
        bytes: Some(Bytes::from_f64(share * total.as_f64())),
        bytes_total: Some(total),
        training_seconds: Some(Seconds(seconds)),
        ..Measurement::without_figures(
            "train".to_owned(),
            configuration(instance),
            Fraction(share),
            Outcome::Completed,
        )
    }
}

/// `2x ml.m5.xlarge`
fn configuration(text: &str) -> InstanceConfiguration {
    let (count, kind) = text.split_once("x ").unwrap();
    InstanceConfiguration::Homogeneous(kind.parse().unwrap(), count.parse().unwrap())
}

#[test]
fn measurements_on_other_counts_of_the_type_forecast_the_wanted_one() {
    let mut failed = measurement("2x ml.m5.xlarge", 0.2, 1.0);
    failed.outcome = Outcome::Stopped;
    let mut measurements = vec![
        measurement("1x ml.m5.xlarge", 0.1, 10.0 + 9.0),
        measurement("1x ml.m5.xlarge", 0.2, 10.0 + 18.0),
        measurement("2x ml.m5.xlarge", 0.2, 10.0 + 9.0),
        failed,
        // Another type says nothing.
        measurement("4x ml.c5.xlarge", 1.0, 1.0),
    ];
    let wanted = configuration("3x ml.m5.xlarge");
    let load = Load::even(3, 1.0);
    let answer = forecast_from(&measurements, &wanted, None, load).unwrap();
    assert!(near(answer.seconds.median(), 40.0, 0.1));
    let within = configuration("2x ml.m5.xlarge");
    let within = forecast_from(&measurements, &within, None, Load::even(2, 1.0)).unwrap();
    let said = "scale-out is measured: the time on 2 instances follows from runs on 1 and 2";
    assert_eq!(within.note.unwrap(), said);
    let said = said.replace("on 2 instances", "on 3 instances")
        + ", and beyond the largest count it is a wide guess";
    assert_eq!(answer.note.as_ref().unwrap(), &said);

    // Less work per datum is another job.
    let mut less_work = measurement("4x ml.m5.xlarge", 0.2, 1.0);
    (less_work.work, less_work.work_total) = (Some(5.0), Some(50.0));
    measurements.push(less_work);
    let again = forecast_from(&measurements, &wanted, None, load).unwrap();
    assert_eq!(again, answer);

    measurements.truncate(2);
    assert_eq!(
        forecast_from(&measurements, &wanted, None, load)
            .unwrap_err()
            .0,
        "2 completed runs on 1 count of instances; a forecast of scale-out needs at least 3 on 2"
    );
}

#[test]
fn a_measured_shard_is_the_load_and_a_replica_is_divided_by_the_script() {
    let host = |bytes| HostUsage {
        host: "algo-1".to_owned(),
        group: None,
        bytes: Bytes(bytes),
        usage: Usage::default(),
    };
    let mut run = measurement("2x ml.m5.xlarge", 0.5, 60.0);
    assert_eq!(Load::of(&run), Load::even(2, 0.5));
    run.hosts = vec![host(100_000), host(400_000)];
    assert_eq!(Load::of(&run).heaviest, 0.4);
    run.hosts = vec![host(500_000), host(500_000)];
    assert_eq!(Load::of(&run), Load::even(2, 0.5));
}

/// Completed runs on `instance`, 1 MB of data in full; memory is 1 MB and ten times the data of a host, `held` of them all.
fn with_memory(instance: &str, held: f64) -> Vec<Measurement> {
    [0.1, 0.2, 0.4, 0.6]
        .map(|share| {
            let mut run = measurement(instance, share, 10.0 + 90.0 * share);
            run.usage.memory = Some(PeakMemory {
                bytes: Some(Bytes::from_f64(1e6 + 1e7 * share * held)),
                source: "cgroup memory.stat".to_owned(),
                ..PeakMemory::default()
            });
            run
        })
        .to_vec()
}

fn machine(bytes: u64) -> Capacity {
    Capacity {
        vcpus: 4,
        memory: Bytes(bytes),
        gpus: 0,
        gpu_memory: None,
    }
}

/// What follows from runs on one configuration, of machines with 20 MB, for another.
fn elsewhere_from(
    runs: &[Measurement],
    wanted: &str,
    memory: u64,
    layout: &DataLayout,
) -> Elsewhere {
    elsewhere_beside((runs, 20_000_000), runs, (wanted, memory), layout)
}

/// What the runs on one configuration, each machine with so much memory, say of another, of all runs.
fn elsewhere_beside(
    (on_one, own_memory): (&[Measurement], u64),
    all: &[Measurement],
    (wanted, memory): (&str, u64),
    layout: &DataLayout,
) -> Elsewhere {
    let own = Offer::unknown(&on_one[0].instance).or_capacity(|| Some(machine(own_memory)));
    let known = crate::forecast::forecast(&Basis {
        offer: &own,
        measurements: on_one,
    });
    let measured = Measured {
        offer: own,
        forecast: known,
        measurements: on_one.to_vec(),
    };
    let basis = Basis {
        offer: &Offer::unknown(&configuration(wanted)).or_capacity(|| Some(machine(memory))),
        measurements: all,
    };
    elsewhere(&basis, &[measured], layout)
}

fn median(quantity: &Quantity) -> f64 {
    quantity.as_ref().unwrap().median()
}

/// A machine's memory is 1 MB and 10 MB for all of the data; local hosts are processes of one machine, which add up.
#[test]
fn memory_is_that_of_a_host_with_all_of_the_data_or_with_its_shard() {
    let whole = DataLayout::default();
    let sharded = sharded();
    for (on, held, wanted, layout, megabytes) in [
        ("1x ml.m5.xlarge", 1.0, "6x ml.m5.xlarge", &whole, 11.0),
        ("1x ml.m5.xlarge", 1.0, "5x ml.m5.xlarge", &sharded, 3.0),
        ("5x ml.m5.xlarge", 0.2, "5x ml.c5.xlarge", &sharded, 3.0),
        ("2x local", 2.0, "3x local", &whole, 1.5 * 21.0),
    ] {
        let found = elsewhere_from(&with_memory(on, held), wanted, 20_000_000, layout);
        let bytes = median(&found.forecast[Metric::MemoryBytes]);
        assert!(near(bytes, megabytes * 1e6, 0.05), "{wanted}: {bytes}");
        assert!(near(
            median(&found.forecast[Metric::Memory]),
            bytes / 2e5,
            1e-9
        ));
        // Another type takes another time.
        assert_eq!(found.scale_out.is_none(), wanted.contains("c5"));
    }
    // What a host with all of the data needs does not follow from shards.
    let runs = with_memory("5x ml.m5.xlarge", 0.2);
    let one = elsewhere_from(&runs, "1x ml.m5.xlarge", 20_000_000, &sharded);
    assert!(one.forecast[Metric::MemoryBytes].is_err());
    assert_eq!(one.source.unwrap(), "time follows from scale-out, assumed");
}

/// Of objects that were not listed.
fn sharded() -> DataLayout {
    layout::tests::layout(&[(Distribution::ShardedByS3Key, None)])
}

fn any_runs() -> impl Strategy<Value = Vec<ScaleOutRun>> {
    prop::collection::vec((1..12_u32, 0.01..1.0f64, 1.0..1e4f64), 3..12).prop_map(|runs| {
        runs.into_iter()
            .map(|(hosts, share, seconds)| run(hosts, share, seconds))
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Powers of two are exact.
    #[test]
    fn the_point_lies_in_its_interval_whatever_the_order_and_the_unit(
        runs in any_runs(), hosts in 1..64_u32, share in 0.01..2.0f64, power in -300..300i32,
    ) {
        let factor = 2f64.powi(power);
        let slower = |run: &ScaleOutRun| ScaleOutRun { seconds: run.seconds * factor, ..*run };
        let turned: Vec<ScaleOutRun> = runs.iter().rev().map(slower).collect();
        let wanted = Load::even(hosts, share);
        match (forecast(&runs, wanted), forecast(&turned, wanted)) {
            (Ok(one), Ok(other)) => {
                prop_assert!(one.median() > 0.0 && one.median().is_finite());
                prop_assert!(one.quantile(0.05) <= one.median() && one.median() <= one.quantile(0.95));
                prop_assert!(near(one.median() * factor, other.median(), 1e-9));
                prop_assert!(near(reach(&one), reach(&other), 1e-9));
            }
            (one, other) => prop_assert_eq!(one, other),
        }
    }
}

fn megabytes(megabytes: f64) -> PeakMemory {
    PeakMemory {
        bytes: Some(Bytes::from_f64(megabytes * 1e6)),
        source: "cgroup memory.stat".to_owned(),
        ..PeakMemory::default()
    }
}

/// As a source that knows no bytes has it.
fn in_percent(memory: &PeakMemory) -> PeakMemory {
    PeakMemory {
        percent: memory.bytes.map(|bytes| Percent(bytes.as_f64() / 1e6)),
        bytes: None,
        ..memory.clone()
    }
}

/// By the law 3 MB for a fifth of the data, and 11 MB for all; 6 MB are 3 MB more whatever the data, or twice as much.
#[test]
fn a_canary_on_the_wanted_count_with_more_than_the_law_scales_it_and_leaves_it_in_doubt() {
    let in_bytes = with_memory("1x ml.m5.xlarge", 1.0);
    let mut in_percents = in_bytes.clone();
    for run in &mut in_percents {
        run.usage.memory = run.usage.memory.as_ref().map(in_percent);
    }
    let by_another = PeakMemory {
        source: "CloudWatch".to_owned(),
        ..megabytes(6.0)
    };
    let (more, not_seen) = (Some(Doubt::MoreOnItsCount), Some(Doubt::NotSeenOnItsCount));
    for (on_one, memory, doubt) in [
        (&in_bytes, megabytes(3.0), None),
        (&in_bytes, megabytes(6.0), more),
        (&in_bytes, in_percent(&megabytes(6.0)), more),
        (&in_percents, megabytes(6.0), more),
        (&in_percents, in_percent(&megabytes(6.0)), more),
        (&in_bytes, by_another, not_seen),
    ] {
        let mut here = with_memory("3x ml.m5.xlarge", 1.0)[1].clone();
        here.usage.memory = Some(memory);
        let all = [&on_one[..], &[here]].concat();
        let wanted = ("3x ml.m5.xlarge", 100_000_000);
        let found = elsewhere_beside((on_one, 100_000_000), &all, wanted, &DataLayout::default());
        let percent = found.forecast[Metric::Memory].as_ref().unwrap();
        // Megabytes of 100, so percents too.
        let [lower, upper] = [0.05, 0.95].map(|p| percent.quantile(p).round());
        let (lowest, highest) = match doubt == more {
            true => (14.0, 22.0..=99.0),
            false => (11.0, 11.0..=16.0),
        };
        assert!(
            lower <= lowest && highest.contains(&upper),
            "{lower} {upper}"
        );
        assert_eq!(found.forecast.memory.doubt, doubt);
        let said = match doubt {
            Some(Doubt::MoreOnItsCount) => {
                "memory: a canary on 3x ml.m5.xlarge used 2.0 times what those on ml.m5.xlarge give for as much data, and how it grows there is not known; `canary.counts: [3]` runs all canaries there"
            }
            Some(_) => {
                "memory: no canary on 3x ml.m5.xlarge was measured as those on ml.m5.xlarge were, so whether more is used there is not known; `canary.counts: [3]` runs all canaries there"
            }
            None => continue,
        };
        assert!(found.forecast.notes.contains(&said.to_owned()), "{found:?}");
    }
}
