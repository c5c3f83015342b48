mod cases;
mod counts;
mod defaults;
mod launcher;
mod program;
mod properties;
mod refusals;

use super::*;
use crate::instance::{InstanceConfiguration, InstanceGroup};
use crate::metric::Metric;
use crate::spec::*;
use crate::units::{Bytes, Fraction, Percent, Seconds, Usd};

/// A spec for SageMaker with a value for nearly every key.
const EXAMPLE: &str = include_str!("testdata/example.yml");

/// A local spec as short as can be.
const LOCAL: &str = include_str!("testdata/local.yml");

/// What AWS is taken to list.
const KNOWN_TYPES: [&str; 6] = [
    "ml.m5.xlarge",
    "ml.m5.2xlarge",
    "ml.m5.4xlarge",
    "ml.c5.4xlarge",
    "ml.c5.9xlarge",
    "ml.p3.2xlarge",
];

fn try_read(text: &str) -> Result<Spec, SpecErrors> {
    let source = SpecSource {
        name: "canary-gate.yml",
        bytes: text.as_bytes(),
    };
    read(source, &KNOWN_TYPES)
}

#[track_caller]
fn spec(text: &str) -> Spec {
    try_read(text).unwrap_or_else(|errors| panic!("{}", errors.render(false, 100)))
}

/// Every problem as `field: message (help)`.
#[track_caller]
fn problems(text: &str) -> Vec<String> {
    let errors = try_read(text).expect_err("the spec has a problem");
    let problems = errors.problems().iter();
    problems
        .map(|problem| match &problem.help {
            Some(help) => format!("{problem} ({help})"),
            None => problem.to_string(),
        })
        .collect()
}

/// The example with one text replaced by another.
#[track_caller]
fn example_with(from: &str, to: &str) -> String {
    assert!(EXAMPLE.contains(from), "{from}");
    EXAMPLE.replacen(from, to, 1)
}

/// The one problem of the example after a change.
#[track_caller]
fn remarks(spec: &Spec) -> Vec<String> {
    let warnings = spec.warnings.iter();
    warnings
        .map(|warning| format!("{}: {}", warning.field, warning.message))
        .collect()
}

fn not_yet(spec: &Spec) -> Vec<String> {
    let all = spec.not_yet.iter();
    all.map(|one| format!("{}: {}", one.field, one.what))
        .collect()
}

#[test]
fn the_full_example_means_what_it_says() {
    let spec = spec(EXAMPLE);
    assert_eq!(spec.backend, BackendKind::Sagemaker);
    assert_eq!(spec.region.as_deref(), Some("us-east-1"));
    assert_eq!(spec.history.as_deref(), Some("s3://my-bucket/canary-gate/"));
    assert_eq!(spec.prices[&InstanceType::local()], UsdPerHour(1.2));
    assert_eq!(spec.allowed_instances, ["ml.m5.*", "ml.c5.*", "ml.p3.*"]);
    assert_eq!(
        (spec.strict, spec.on_inconclusive),
        (false, OnInconclusive::Fail)
    );
    let job = &spec.jobs[0];
    assert_eq!(job.name, "churn");
    assert_eq!(
        job.paths,
        ["training/churn/**", "requirements.txt", "!**/*.md"]
    );
    let pairs = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    };
    assert_eq!(
        job.training,
        Training {
            source_dir: Some("training/churn".to_owned()),
            hyperparameters: pairs(&[("max_depth", "5"), ("num_round", "50"), ("eta", "0.10")]),
            environment: Vec::new(),
            distribution: None,
            channels: vec![
                Channel {
                    name: "train".to_owned(),
                    uri: "s3://my-bucket/churn/train/".to_owned(),
                    data_type: crate::spec::DataType::default(),
                    mode: InputMode::File,
                    content_type: Some("text/csv".to_owned()),
                    distribution: Distribution::FullyReplicated,
                    compression: Compression::None,
                    record_wrapper: RecordWrapper::None,
                    sample: ChannelSample::Objects,
                    draw: crate::spec::ChannelDraw::default(),
                    groups: Vec::new(),
                },
                Channel {
                    name: "validation".to_owned(),
                    uri: "s3://my-bucket/churn/val/".to_owned(),
                    data_type: crate::spec::DataType::default(),
                    mode: InputMode::File,
                    content_type: None,
                    distribution: Distribution::FullyReplicated,
                    compression: Compression::None,
                    record_wrapper: RecordWrapper::None,
                    sample: ChannelSample::Whole,
                    draw: crate::spec::ChannelDraw::default(),
                    groups: Vec::new(),
                },
            ],
            max_runtime: Some(Seconds(43_200.0)),
            metrics: pairs(&[("step", "avg step time: ([0-9.]+)")]),
            step_metric: PrintedMetric::new("step", "avg step time: ([0-9.]+)").ok(),
            local: LocalTraining::default(),
            sagemaker: SagemakerTraining {
                image: Some(
                    "683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1"
                        .to_owned()
                ),
                role: Some("arn:aws:iam::123456789012:role/SageMakerTraining".to_owned()),
                entry_point: Some("train.py".to_owned()),
                output: Some("s3://my-bucket/canary-output/".to_owned()),
                volume: Bytes(100 * Bytes::GIB),
                tags: pairs(&[("team", "growth")]),
                ..SagemakerTraining::default()
            },
        }
    );
    assert_eq!(job.instance.to_string(), "ml.m5.2xlarge");
    assert_eq!(job.alternatives[1].to_string(), "6x ml.m5.4xlarge");
    let group = |name: &str, kind: &str| InstanceGroup {
        name: name.to_owned(),
        instance_type: kind.parse().unwrap(),
        count: 1,
    };
    assert_eq!(
        job.alternatives[2],
        InstanceConfiguration::Heterogeneous {
            groups: vec![
                group("data", "ml.c5.9xlarge"),
                group("dnn", "ml.p3.2xlarge")
            ],
            entry_point: Some("launcher.py".to_owned()),
        }
    );
    let work = job.work.as_ref().unwrap();
    assert_eq!(
        (work.hyperparameter.as_str(), work.full),
        ("num_round", 50.0)
    );
    assert_eq!(work.canary, [5.0, 10.0]);
    assert_eq!(
        job.canary,
        CanaryPolicy {
            design: Design::Adaptive {
                fractions: Design::LADDER.to_vec(),
            },
            counts: CanaryCounts::OneAndAll,
            spend_limit: Usd(5.0),
            max_share: Percent(25.0),
            skip_below: Seconds(300.0),
            max_runtime: Seconds(3600.0),
            parallel: 3,
            warm_pool: WarmPoolPolicy::KeepAlive(Seconds(600.0)),
            training_plan: false,
            joined: true,
            reuse: Seconds(1_209_600.0),
            seed: 1,
            probe: ProbePolicy::ScriptMode,
        }
    );
    let lines: Vec<_> = job
        .budget
        .lines
        .iter()
        .map(|line| {
            (
                line.kind.fixed_key(),
                line.bound,
                line.limit,
                line.level,
                line.at_least,
                line.origin,
            )
        })
        .collect();
    use {Bound::*, Level::*, LineOrigin::*};
    assert_eq!(
        lines,
        [
            ("cost", Max, Usd(50.0).into(), Fail, None, Written),
            ("time", Max, Seconds(28_800.0).into(), Fail, None, Written),
            ("memory", Max, Percent(90.0).into(), Fail, None, Written),
            ("cost_per_step", Max, Usd(0.1).into(), Fail, None, Written),
            (
                "cost_increase",
                Max,
                Percent(20.0).into(),
                Fail,
                Some(Usd(5.0).into()),
                Written
            ),
            (
                "cpu_utilization",
                Min,
                Percent(20.0).into(),
                Warn,
                None,
                Written
            ),
            (
                "gpu_memory",
                Max,
                Percent(100.0).into(),
                Fail,
                None,
                Implicit
            ),
        ]
    );
    assert_eq!(
        (job.budget.certainty, job.budget.existing_breach),
        (Fraction(0.95), Warn)
    );
    assert_eq!(
        job.drift,
        DriftPolicy {
            max: Percent(15.0),
            at_least: Usd(5.0)
        }
    );
    assert_eq!(
        spec.overrides,
        [Override {
            job: "churn".to_owned(),
            budget: LineKind::Absolute(Metric::Cost),
            up_to: Usd(90.0).into(),
            until: jiff::civil::date(2026, 12, 31),
            reason: "new feature set, agreed with finance".to_owned(),
        }]
    );
    assert_eq!(
        spec.place("jobs.churn.budget.cost"),
        Some(FilePosition {
            line: 48,
            column: 13
        })
    );
    assert_eq!(spec.hash.len(), 16);
}

#[test]
fn all_of_the_example_is_served_and_what_has_no_effect_is_said() {
    let spec = spec(EXAMPLE);
    assert_eq!(not_yet(&spec), [""; 0]);
    assert_eq!(
        remarks(&spec),
        ["recording: has no effect on the sagemaker backend"]
    );
}

#[test]
fn a_short_local_spec_gets_the_defaults() {
    let spec = spec(LOCAL);
    assert_eq!((spec.not_yet.len(), spec.warnings.len()), (0, 0));
    let job = &spec.jobs[0];
    assert_eq!(job.training.max_runtime, None);
    assert_eq!(
        job.canary,
        CanaryPolicy {
            design: Design::Adaptive {
                fractions: [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5]
                    .map(Fraction)
                    .to_vec()
            },
            counts: CanaryCounts::AsTheFullRun,
            spend_limit: Usd(5.0),
            max_share: Percent(25.0),
            skip_below: Seconds(300.0),
            max_runtime: Seconds(3600.0),
            parallel: 1,
            warm_pool: WarmPoolPolicy::Off,
            training_plan: false,
            joined: true,
            reuse: Seconds(1_209_600.0),
            seed: 1,
            probe: ProbePolicy::Off,
        }
    );
    let lines: Vec<_> = job
        .budget
        .lines
        .iter()
        .map(|line| (line.kind, line.limit.number, line.origin))
        .collect();
    assert_eq!(
        lines,
        [Metric::Memory, Metric::GpuMemory].map(|metric| (
            LineKind::Absolute(metric),
            100.0,
            LineOrigin::Implicit
        ))
    );
}

#[test]
fn implicit_lines_give_way_to_tighter_ones_only() {
    let origins = |budget: &str| -> Vec<(LineKind, f64, LineOrigin)> {
        let text = LOCAL.replace("      channels", "      max_runtime: 12h\n      channels");
        let spec = spec(&format!("{text}    budget: {budget}\n"));
        let lines = spec.jobs[0].budget.lines.iter();
        lines
            .map(|line| (line.kind, line.limit.number, line.origin))
            .collect()
    };
    let written = |metric: Metric, limit| (metric.into(), limit, LineOrigin::Written);
    let implicit = |metric: Metric, limit| (metric.into(), limit, LineOrigin::Implicit);
    use crate::metric::Metric::{GpuMemory, Memory, Time};
    assert_eq!(
        origins("{time: 8h, memory: 90%}"),
        [
            written(Time, 28_800.0),
            written(Memory, 90.0),
            implicit(GpuMemory, 100.0)
        ]
    );
    assert_eq!(
        origins("{time: 13h, memory: {max: 90%, level: warn}}"),
        [
            written(Time, 46_800.0),
            written(Memory, 90.0),
            implicit(Memory, 100.0),
            implicit(GpuMemory, 100.0),
            implicit(Time, 43_200.0),
        ]
    );
}

#[test]
fn the_template_of_init_is_valid() {
    let spec = spec(init_template());
    assert_eq!((remarks(&spec), spec.not_yet), (Vec::new(), Vec::new()));
    // The SageMaker variant at its end is one as well.
    let variant = init_template().split("on SageMaker:\n#\n").nth(1).unwrap();
    let variant: Vec<&str> = variant
        .lines()
        .map(|line| line.strip_prefix("# ").unwrap())
        .collect();
    assert_eq!(remarks(&self::spec(&variant.join("\n"))), [""; 0]);
}

#[test]
fn a_pool_is_asked_for_by_a_word_or_a_time() {
    let pool = |written: &str| {
        let text = EXAMPLE.replacen("warm_pool: 10m", written, 1);
        spec(&text).jobs[0].canary.warm_pool
    };
    let kept = WarmPoolPolicy::KeepAlive(Seconds(300.0));
    assert_eq!(pool("warm_pool: auto"), WarmPoolPolicy::Auto);
    assert_eq!(pool("warm_pool: off"), WarmPoolPolicy::Off);
    assert_eq!(pool("warm_pool: {keep_alive: 5m}"), kept);
    assert_eq!(pool("warm_pool: 5m"), kept);
    assert_eq!(pool(""), WarmPoolPolicy::Auto);
}

/// Two metrics, and these lines about what the script prints.
fn with_levels(lines: &str) -> String {
    let metrics = "      metrics: {tokens_per_second: 'tok/s: (\\S+)', loss: 'loss (?=x)([0-9.]+)'}\n      channels";
    let text = LOCAL.replacen("      channels", metrics, 1);
    format!("{text}    budget: {{metrics: {lines}}}\n")
}

#[test]
fn a_line_about_what_the_script_prints_has_a_limit_of_one_side() {
    let read = spec(&with_levels("{tokens_per_second: {min: 9e3, level: warn}}"));
    let budget = &read.jobs[0].budget;
    let name = "tokens_per_second".parse().unwrap();
    let line = budget.written_line(LineKind::Named(name)).unwrap();
    assert_eq!((line.bound, line.level), (Bound::Min, Level::Warn));
    assert_eq!(line.limit_words(), "at least 9000");
    let names: Vec<String> = (read.jobs[0].judged_metrics().iter())
        .map(ToString::to_string)
        .collect();
    assert_eq!(names, ["tokens_per_second"]);
    // The other one is still not read.
    assert_eq!(remarks(&read).len(), 1);
}

#[test]
fn a_spec_of_either_backend_can_be_replayed() {
    let replayed = |text: &str, backend: &str| {
        let recording = if text.contains("\nrecording:") {
            ""
        } else {
            "\nrecording: runs.csv"
        };
        let text = text.replacen(
            &format!("backend: {backend}"),
            &format!("backend: replay{recording}"),
            1,
        );
        spec(&text)
    };
    let local = replayed(LOCAL, "local");
    assert_eq!((local.not_yet.len(), remarks(&local)), (0, Vec::new()));
    assert_eq!(local.recording.as_deref(), Some("runs.csv"));
    // Nothing is gained and nothing lost by the change: what holds by default is what held.
    let job = |spec: &Spec| spec.jobs[0].clone();
    assert_eq!(job(&local), job(&spec(LOCAL)));

    let cloud = replayed(EXAMPLE, "sagemaker");
    // A recording keeps no machines.
    let mut original = job(&spec(EXAMPLE));
    original.canary.warm_pool = WarmPoolPolicy::Off;
    // It has the runs that it has, on whatever machines.
    original.canary.counts = CanaryCounts::AsTheFullRun;
    assert_eq!(job(&cloud), original);
    assert!(!not_yet(&cloud).contains(&"backend: the replay backend".to_owned()));
}

#[test]
fn a_channel_may_lie_in_a_file_system() {
    let text = EXAMPLE
        .replace(
            "s3://my-bucket/churn/val/",
            "fsx://fs-0123456789abcdef0/fsx/val",
        )
        .replace(
            "subnets: [] ",
            "subnets: [subnet-0a1b]\n      security_groups: [sg-0a1b] ",
        );
    let spec = spec(&text);
    let channel = &spec.jobs[0].training.channels[1];
    let file_system = FileSystem::of_uri(&channel.uri).unwrap().unwrap();
    assert_eq!(file_system.directory, "/fsx/val");
    assert!(!channel.sample.is_drawn());
}
