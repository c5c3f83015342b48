//! The tables of `docs/machines.md` and `docs/when-to-use.md` about lanes are what the planner says of these specs.

use canary_gate::canary::{DataObject, Dataset, Objects};
use canary_gate::instance::{InstanceConfiguration, Offer, tables};
use canary_gate::measurement::{Measurement, Outcome};
use canary_gate::plan::{
    self, Alternatives, ConfigurationRuns, LanePlan, Schedule, StartUpMode, Ways,
    configuration_runs, no_quotas,
};
use canary_gate::spec::{self, Job, SpecSource};
use canary_gate::units::{Bytes, Fraction, Seconds};

/// Job `example` on a machine, with its one channel and with further keys of the job.
fn job(instance: &str, channel: &str, more: &str) -> Job {
    let text = format!(
        "version: 1
backend: sagemaker
region: us-east-1
jobs:
  example:
    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1
      role: arn:aws:iam::123456789012:role/Train
      subnets: [subnet-0123456789abcdef0]
      security_groups: [sg-0123456789abcdef0]
      channels: {{train: {channel}}}
      output: s3://canaries/out/
    instance: {instance}
{more}"
    );
    let source = SpecSource {
        name: "canary-gate.yml",
        bytes: text.as_bytes(),
    };
    let spec = spec::read(source, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    spec.job("example").unwrap().clone()
}

fn offer(instance: &InstanceConfiguration) -> Offer {
    let price = |kind: &_| tables::price(kind, "us-east-1");
    Offer::of(instance, &tables::capacity, &price)
}

/// The plan of a job over a hundred objects, where an earlier check took canaries of these fractions and times.
fn lanes(job: &Job, earlier: &[(f64, f64)]) -> LanePlan {
    let key = |index| format!("part-{index:03}");
    let objects = (0..100).map(|index| DataObject {
        key: key(index),
        bytes: Bytes(400_000_000),
    });
    let dataset = Dataset::of_listing(job, vec![objects.collect::<Objects>().into()]).unwrap();
    let plan = plan::plan(job, &dataset, &offer, Alternatives::Measure).unwrap();
    let measured = |(fraction, time): &(f64, f64)| Measurement {
        training_seconds: Some(Seconds(*time)),
        ..Measurement::without_figures(
            job.name.clone(),
            job.instance.clone(),
            Fraction(*fraction),
            Outcome::Completed,
        )
    };
    let earlier: Vec<Measurement> = earlier.iter().map(measured).collect();
    LanePlan {
        all: configuration_runs(job, &plan.runs, &plan.alternatives, &earlier, &offer),
        ..plan.lanes.unwrap()
    }
}

fn minutes(way: &Schedule) -> String {
    format!("{:.1} min", way.wall_clock.0 / 60.0)
}

fn idle(way: &Schedule) -> String {
    format!("{:.0} s, {:.4} USD", way.idle.0, way.idle_usd.unwrap().0)
}

fn assert_in(file: &str, rows: &[String]) {
    let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let missing: Vec<&String> = rows.iter().filter(|row| !text.contains(*row)).collect();
    assert!(missing.is_empty(), "{file} lacks:\n{missing:#?}");
}

/// The channel of a job, and what else it needs, by input mode.
fn channel(mode: StartUpMode) -> (&'static str, &'static str) {
    match mode {
        StartUpMode::File => ("{uri: s3://data/train/}", ""),
        StartUpMode::FastFile => ("{uri: s3://data/train/, mode: FastFile}", ""),
        StartUpMode::FileSystem => (
            "{uri: fsx://fs-0123456789abcdef0/data, sample: false}",
            "    share: {hyperparameter: n, full: 100}\n",
        ),
    }
}

/// Nine canaries of 113 s on ml.m5.2xlarge, three at a time: all at once, and in the rounds of the fixed design.
#[test]
fn the_seed_s_nine_canaries_by_input_mode() {
    let modes = [
        StartUpMode::File,
        StartUpMode::FastFile,
        StartUpMode::FileSystem,
    ];
    let row = |mode: StartUpMode| {
        let (channel, more) = channel(mode);
        let fixed = "    canary: {design: fixed, fractions: [1%, 2%, 5%], replicates: 3}\n";
        let job = job("ml.m5.2xlarge", channel, &format!("{more}{fixed}"));
        assert_eq!(StartUpMode::of(&job), mode);
        let in_rounds = lanes(&job, &[(0.01, 113.0), (0.02, 113.0), (0.05, 113.0)]);
        let widths: Vec<usize> = in_rounds.all[0].rounds.iter().map(Vec::len).collect();
        assert_eq!(widths, [3, 6]);
        let at_once = LanePlan {
            all: vec![ConfigurationRuns {
                rounds: vec![vec![Seconds(113.0); 9]],
                ..in_rounds.all[0].clone()
            }],
            ..in_rounds.clone()
        };
        let (at_once, in_rounds) = (at_once.ways(&no_quotas), in_rounds.ways(&no_quotas));
        let with_idle = |way: &Schedule| format!("{} ({})", minutes(way), idle(way));
        let times = [
            minutes(&at_once.one_after_another),
            minutes(&at_once.side_by_side),
            with_idle(&at_once.one_lane),
            with_idle(&at_once.chosen),
            minutes(&in_rounds.side_by_side),
            with_idle(&in_rounds.chosen),
        ];
        format!("| {} | {} |", mode.words(), times.join(" | "))
    };
    assert_in("docs/machines.md", &modes.map(row));
}

/// Four canaries of 2, 3, 5 and 8 minutes, as the adaptive design runs them by default, and one at a time.
#[test]
fn what_a_pull_request_check_takes() {
    let jobs = [
        ("ml.m5.2xlarge", StartUpMode::File),
        ("ml.g5.xlarge", StartUpMode::FastFile),
        ("ml.g5.12xlarge", StartUpMode::FileSystem),
    ];
    let row = |(instance, mode): (&str, StartUpMode)| {
        let times = [120.0, 180.0, 300.0, 480.0];
        let earlier: Vec<(f64, f64)> = [0.01, 0.02, 0.05, 0.1].into_iter().zip(times).collect();
        let (channel, more) = channel(mode);
        let ways = |canary: &str| -> Ways {
            let job = job(instance, channel, &format!("{more}{canary}"));
            lanes(&job, &earlier).ways(&no_quotas)
        };
        let (usual, chain) = (ways(""), ways("    canary: {parallel: 1}\n"));
        let usd = offer(&instance.parse().unwrap()).cost(Seconds(times.iter().sum()));
        let with_pools = |way: &Schedule| {
            format!(
                "{} | {:.2} USD",
                minutes(way),
                usd.unwrap().0 + way.idle_usd.unwrap().0
            )
        };
        format!(
            "| `{instance}`, {} | {} | {} | {} |",
            mode.words(),
            minutes(&usual.one_after_another),
            with_pools(&usual.chosen),
            with_pools(&chain.chosen),
        )
    };
    assert_in("docs/when-to-use.md", &jobs.map(row));
}
