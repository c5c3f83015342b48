mod cases;
mod defaults;
mod launcher;
mod properties;
mod refusals;

use super::*;
use crate::spec::field::fields_of;
use crate::spec::*;

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
    read("canary-gate.yml", text.as_bytes(), &KNOWN_TYPES)
}

#[track_caller]
fn spec(text: &str) -> Spec {
    try_read(text).unwrap_or_else(|errors| panic!("{}", errors.render(false, 100)))
}

/// Every problem as `field: message (help)`.
#[track_caller]
fn problems(text: &str) -> Vec<String> {
    let errors = try_read(text).expect_err("the spec has a problem");
    let problems = errors.problems.iter();
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
    let counts = job.counts().into_iter();
    lines.extend(counts.map(|it| format!("{it:?}")));
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
    assert_eq!(example.file.place("jobs.churn.budget.cost"), Some(cost));
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
