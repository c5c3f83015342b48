mod cases;
mod counts;
mod defaults;
mod launcher;
mod program;
mod properties;
mod refusals;

use super::*;
use crate::metric::Metric;
use crate::spec::field::fields_of;
use crate::spec::*;
use crate::units::Seconds;

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

/// Every warning as `field: message`.
fn remarks(spec: &Spec) -> Vec<String> {
    let warnings = spec.warnings.iter();
    warnings
        .map(|warning| format!("{}: {}", warning.field, warning.message))
        .collect()
}

/// What a spec means, without what says it in other words.
fn meaning(mut spec: Spec) -> Spec {
    spec.hash.clear();
    spec.warnings.clear();
    spec
}

/// Each field as a sentence says it, a line each; then what has no field of its own.
fn fields(spec: &Spec) -> String {
    let job = &spec.jobs[0];
    let own = fields_of(spec).into_iter().chain(fields_of(job));
    let all = own.chain(Override::fields(&spec.overrides, &job.name));
    let mut lines: Vec<String> = all.map(|it| format!("{}: {}", it.path, it.words)).collect();
    lines.extend(
        job.alternatives
            .iter()
            .map(|it| format!("alternative: {it}")),
    );
    let implicit = job
        .budget
        .lines
        .iter()
        .filter(|line| line.origin == LineOrigin::Implicit);
    lines.extend(implicit.map(|line| format!("implicit: {} {}", line.kind, line.limit_words())));
    lines.join("\n")
}

/// Each value stands in the file as well: compare them where the snapshot changes.
#[test]
fn the_full_example_and_a_short_spec_mean_what_they_say() {
    let (example, local) = (spec(EXAMPLE), spec(LOCAL));
    insta::assert_snapshot!("example", fields(&example));
    insta::assert_snapshot!("local", fields(&local));
    let cost = FilePosition {
        line: 48,
        column: 13,
    };
    assert_eq!(example.place("jobs.churn.budget.cost"), Some(cost));
    assert_eq!(example.hash.len(), 16);
}

#[test]
fn all_of_the_example_is_served_and_what_has_no_effect_is_said() {
    let spec = spec(EXAMPLE);
    assert_eq!(
        remarks(&spec),
        ["recording: has no effect on the sagemaker backend"]
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
    assert_eq!(remarks(&spec), [""; 0]);
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
    assert_eq!(remarks(&local), [""; 0]);
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
