use super::*;
use crate::forecast::tests::run;
use crate::forecast::{Basis, Forecast, forecast};
use crate::instance::{Capacity, InstanceConfiguration};
use crate::measurement::{Outcome, Utilization};
use crate::metric::Metric;

/// Canaries of these percents of the data, each with what was seen of its memory and whether that is a lower bound.
fn runs(seen: &[(f64, Option<(f64, bool)>)]) -> Vec<Measurement> {
    let canary = |(share, memory): &(f64, Option<(f64, bool)>)| {
        let mut canary = run(*share, 10.0 * share);
        canary.usage.memory = memory.map(|(percent, is_lower_bound)| PeakMemory {
            percent: Some(Percent(percent)),
            source: "CloudWatch".to_owned(),
            is_lower_bound,
            ..PeakMemory::default()
        });
        if memory.is_none() {
            canary.usage.memory_seen_from = Some(Seconds(180.0));
        }
        canary
    };
    seen.iter().map(canary).collect()
}

fn of(runs: &[Measurement]) -> Forecast {
    let instance: InstanceConfiguration = "ml.m5.xlarge".parse().unwrap();
    forecast(&Basis {
        offer: &Offer::unknown(&instance),
        measurements: runs,
    })
}

#[test]
fn a_source_that_looks_seldom_is_doubted_whatever_it_saw() {
    let bound = |percent| Some((percent, true));
    let all = [(1.0, bound(20.0)), (5.0, bound(21.0)), (10.0, bound(22.0))];
    let known = of(&runs(&all));
    assert!(known[Metric::Memory].is_ok());
    assert_eq!(known.memory.doubt, Some(Doubt::LowerBound));
    assert_eq!(known.memory.at_least, None);

    let one = of(&runs(&[(1.0, None), (5.0, None), (10.0, bound(22.0))]));
    assert!(one[Metric::Memory].is_err());
    assert_eq!(one.memory.doubt, Some(Doubt::LowerBound));
    assert_eq!(one.memory.at_least, Some(22.0));
    assert!(
        one.notes.contains(&format!("memory {}", Doubt::LowerBound)),
        "{:?}",
        one.notes
    );
}

#[test]
fn memory_that_was_too_short_to_see_is_told_from_memory_that_did_not_come() {
    let mut unseen = runs(&[(1.0, None), (5.0, None), (10.0, None)]);
    let shortest = Seconds(180.0);
    let doubt = of(&unseen).memory.doubt;
    assert_eq!(doubt, Some(Doubt::TooShortToSee { shortest }));
    unseen[2].usage.memory_seen_from = None;
    assert_eq!(of(&unseen).memory.doubt, None);
}

const GPU_INSTANCE: &str = "ml.g4dn.xlarge";

/// On a machine with one GPU of 15 GiB and 16 GiB of its own.
fn on_a_gpu(runs: &[Measurement]) -> Forecast {
    let instance: InstanceConfiguration = GPU_INSTANCE.parse().unwrap();
    let offer = Offer::unknown(&instance).or_capacity(|| {
        Some(Capacity {
            vcpus: 4,
            memory: Bytes(16 * Bytes::GIB),
            gpus: 1,
            gpu_memory: Some(Bytes(15 * Bytes::GIB)),
        })
    });
    forecast(&Basis {
        offer: &offer,
        measurements: runs,
    })
}

/// Canaries of these percents of the data that held so much of the GPU, in GiB.
fn held(seen: &[(f64, f64)]) -> Vec<Measurement> {
    let canary = |(share, gibibytes): &(f64, f64)| {
        let mut canary = run(*share, 10.0 * share);
        canary.usage.gpu_memory = Some(PeakMemory {
            bytes: Some(Bytes::from_f64(gibibytes * Bytes(Bytes::GIB).as_f64())),
            percent: Some(Percent(gibibytes / 15.0 * 100.0)),
            source: "nvidia-smi".to_owned(),
            ..PeakMemory::default()
        });
        canary
    };
    seen.iter().map(canary).collect()
}

/// In percent of 15 GiB, by hand.
#[test]
fn the_memory_of_a_gpu_grows_by_a_law_but_where_a_framework_takes_what_there_is() {
    for (seen, median, doubt) in [
        // 2 GiB, and 10 GiB for all of the data, are 80 %.
        (
            &[(1.0, 2.1), (5.0, 2.5), (10.0, 3.0), (20.0, 4.0)][..],
            70.0..85.0,
            None,
        ),
        (&[(1.0, 6.0), (5.0, 6.0), (20.0, 6.0)], 39.9..44.0, None),
        (&[(1.0, 0.0), (5.0, 0.0), (20.0, 0.0)], 0.0..0.1, None),
        // One that was not full at a size shows a law.
        (&[(1.0, 4.0), (5.0, 9.0), (20.0, 14.1)], 90.0..1e9, None),
        // 75 % of the GPU beside a context, whatever the canary needs.
        (
            &[(1.0, 11.35), (5.0, 11.36), (20.0, 11.35)],
            75.0..80.0,
            Some(Doubt::JaxPool),
        ),
        // As much at every size, but not as much as JAX takes; and a need that grows beyond a step.
        (&[(1.0, 10.5), (5.0, 10.5), (20.0, 10.5)], 70.0..75.0, None),
        (&[(1.0, 12.0), (5.0, 12.0), (20.0, 12.0)], 80.0..85.0, None),
        (&[(1.0, 11.2), (5.0, 11.3), (20.0, 11.4)], 75.0..95.0, None),
    ] {
        let known = on_a_gpu(&held(seen));
        let percent = known[Metric::GpuMemory].as_ref().unwrap();
        assert!(
            median.contains(&percent.median()),
            "{seen:?}: {}",
            percent.median()
        );
        let bytes = known[Metric::GpuMemoryBytes].as_ref().unwrap().median();
        let all = Bytes(15 * Bytes::GIB).as_f64();
        assert!((bytes / all * 100.0 - percent.median()).abs() < 1e-6);
        assert!(known.law.gpu_memory.is_some() && known.law.memory.is_none());
        let expected = KnownPeak {
            is_measured: true,
            doubt,
            ..KnownPeak::default()
        };
        assert_eq!(known.gpu_memory, expected, "{seen:?}");
        let said = doubt.map(|doubt| format!("GPU memory {doubt}"));
        assert!(said.is_none_or(|said| known.notes.contains(&said)));
        // What does not grow passes no limit.
        assert!(median.end > 45.0 || percent.chance_above(100.0) < 0.01);
    }
    let known = on_a_gpu(&held(&[(1.0, 14.1), (5.0, 14.2), (20.0, 14.1)]));
    let why = known[Metric::GpuMemory].as_ref().unwrap_err();
    assert!(why.0.contains("`TF_FORCE_GPU_ALLOW_GROWTH=true`"), "{why}");
    assert!(known.gpu_memory.is_measured && known.gpu_memory.at_least.is_none());
}

#[test]
fn an_average_is_no_peak() {
    let mut averages = held(&[(1.0, 0.0), (5.0, 0.0), (20.0, 0.0)]);
    for run in &mut averages {
        run.usage.gpu_memory = None;
        run.usage.gpu_memory_percent = Some(Utilization {
            mean: Percent(30.0),
            p99: None,
            source: "nvidia-smi".to_owned(),
        });
    }
    let known = on_a_gpu(&averages);
    assert_eq!(known[Metric::GpuMemory].as_ref().unwrap().median(), 30.0);
    assert!(known[Metric::GpuMemoryBytes].is_err());
    assert_eq!(known.gpu_memory.doubt, Some(Doubt::Average));
}

#[test]
fn each_memory_runs_out_by_itself() {
    let mut runs = held(&[(1.0, 2.0), (5.0, 2.0), (20.0, 2.0)]);
    let last_line = None;
    runs[2].outcome = Outcome::OutOfMemory {
        of: MemoryOf::Gpu,
        last_line,
    };
    let known = on_a_gpu(&runs);
    assert!(known.gpu_memory.ran_out && !known.memory.ran_out);
    let why = known[Metric::GpuMemory].as_ref().unwrap_err();
    assert_eq!(
        why.0,
        "a canary ran out of GPU memory, and the full run will too"
    );
}

#[test]
fn what_is_not_seen_of_a_gpu_is_doubted_only_where_there_is_one() {
    let unseen = runs(&[(1.0, None), (5.0, None), (10.0, None)]);
    assert_eq!(of(&unseen).gpu_memory, KnownPeak::default());
    let shortest = Seconds(180.0);
    let known = on_a_gpu(&unseen).gpu_memory;
    assert_eq!(known.doubt, Some(Doubt::TooShortToSee { shortest }));
}

#[test]
fn the_driver_knows_better_than_the_tables_what_a_gpu_has() {
    let mut runs = held(&[(1.0, 6.0), (5.0, 6.0), (20.0, 6.0)]);
    let percent =
        |runs: &[Measurement]| on_a_gpu(runs)[Metric::GpuMemory].as_ref().unwrap().median();
    let by_tables = percent(&runs);
    for run in &mut runs {
        // Of 12 GiB, where the tables have 15.
        run.usage.gpu_memory.as_mut().unwrap().percent = Some(Percent(50.0));
    }
    assert!((percent(&runs) / by_tables - 15.0 / 12.0).abs() < 1e-6);
    // Of GPUs that differ the fullest decides.
    runs[2].usage.gpu_memory.as_mut().unwrap().percent = Some(Percent(40.0));
    assert!((40.0..60.0).contains(&percent(&runs)));
}
