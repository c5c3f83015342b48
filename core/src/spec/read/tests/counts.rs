//! Counts of machines: of canaries, and of ranges.

use super::*;

const CLOUD: &str = "version: 1
backend: sagemaker
jobs:
  taxi:
    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/xgboost:1
      role: arn:aws:iam::123456789012:role/Training
      output: s3://bucket/output/
      channels: {train: {uri: 's3://bucket/train/'}}
    instance: 4x ml.m5.xlarge
";

fn with(more: &str) -> String {
    format!("{CLOUD}    {more}\n")
}

#[test]
fn a_range_is_a_row_for_each_power_of_two_and_its_end_without_what_stands_there() {
    let rows = |more: &str| -> Vec<String> {
        let spec = spec(&with(more));
        let job = &spec.jobs[0];
        job.alternatives.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        rows("alternatives: [ml.m5.large, 1-6x ml.m5.xlarge]"),
        [
            "ml.m5.large",
            "ml.m5.xlarge",
            "2x ml.m5.xlarge",
            "6x ml.m5.xlarge"
        ]
    );
    assert_eq!(
        rows("alternatives: [3-9x ml.c5.large]"),
        ["3x ml.c5.large", "6x ml.c5.large", "9x ml.c5.large"]
    );
}

#[test]
fn wrong_counts_and_ranges_are_refused_where_they_stand() {
    let said = |text: &str| problems(text).join("\n");
    for (more, problem) in [
        (
            "canary: {counts: [1, 6]}",
            "jobs.taxi.canary.counts[1]: 6 machines; the full run has 4",
        ),
        (
            "canary: {counts: [4, 1]}",
            "jobs.taxi.canary.counts[1]: 1 does not rise above 4, the count before",
        ),
        ("canary: {counts: [0, 4]}", "jobs.taxi.canary.counts[0]: "),
        (
            "canary: {counts: []}",
            "jobs.taxi.canary.counts: there is no count",
        ),
        (
            "alternatives: [1-5000x ml.m5.xlarge]",
            "jobs.taxi.alternatives[0]: the range `1-5000x ml.m5.xlarge` ends with 5000; at most 512 are compared",
        ),
        (
            "alternatives: [8-1x ml.m5.xlarge]",
            "does not rise from 8 to 1",
        ),
        (
            "alternatives: [0-4x ml.m5.xlarge]",
            "begins with no machine",
        ),
        (
            "alternatives: [1-99999999999x ml.m5.xlarge]",
            "has a count that cannot be",
        ),
        (
            "alternatives: [1-4x local]",
            "SageMaker has no instance `local`",
        ),
        (
            "alternatives: [{groups: {a: 1-4x ml.m5.xlarge}}]",
            "jobs.taxi.alternatives[0].groups.a: `1-4x ml.m5.xlarge` is a range, and machines that run have one count",
        ),
    ] {
        let found = said(&with(more));
        assert!(found.contains(problem), "{more}: {found}");
    }
    for written in [
        "1-8 x ml.m5.xlarge",
        "1..8x ml.m5.xlarge",
        "1:8x ml.m5.xlarge",
        "1 to 8 x ml.m5.xlarge",
        "8..1x ml.m5.xlarge",
        "1-8xml.m5.xlarge",
        "1-8 ml.m5.xlarge",
    ] {
        assert_eq!(
            said(&with(&format!("alternatives: [\"{written}\"]"))),
            format!(
                "jobs.taxi.alternatives[0]: `{written}` is not an instance (write `1-8x ml.m5.xlarge`; a range is an item of `alternatives`)"
            )
        );
    }
    let apart = said(&with("alternatives: [2 x ml.m5.xlarge]"));
    assert!(apart.ends_with("(write `2x ml.m5.xlarge`)"), "{apart}");
    let instance = |instance: &str| CLOUD.replace("4x ml.m5.xlarge", instance);
    let one = instance("ml.m5.xlarge") + "    canary: {counts: [1, 4]}\n";
    assert!(said(&one).contains("counts: `instance` is one machine, `ml.m5.xlarge`"));
    assert!(said(&instance("1-4x ml.m5.xlarge")).contains("a range is an item of `alternatives`"));
    let groups = "{groups: {a: 1x ml.m5.xlarge, b: 1x ml.c5.xlarge}}";
    let groups = instance(groups) + "    canary: {counts: [1, 2]}\n";
    assert!(said(&groups).contains("canaries of instance groups run on all of their machines"));
}

#[test]
fn what_runs_on_which_count() {
    let bases = |more: &str| -> Vec<(u32, Vec<u32>, bool)> {
        let spec = spec(&with(more));
        let counts = spec.jobs[0].counts().into_iter().flatten();
        counts
            .map(|one| (one.base, one.further, one.follows))
            .collect()
    };
    assert_eq!(bases(""), [(1, vec![4], false)]);
    assert_eq!(bases("canary: {counts: [2, 3]}"), [(2, vec![3], false)]);
    assert_eq!(bases("canary: {counts: [4]}"), [(4, vec![], false)]);
    // The canaries on one machine are those of the first configuration of a type.
    assert_eq!(
        bases("alternatives: [1-8x ml.m5.xlarge, 2x ml.c5.large]"),
        [
            (1, vec![4], false),
            (1, vec![], true),
            (1, vec![2], true),
            (1, vec![8], true),
            (1, vec![2], false),
        ]
    );
    // What only the machines themselves show is measured on all of them.
    assert_eq!(
        bases("budget: {gpu_utilization: {min: 20%}}"),
        [(4, vec![], false)]
    );
    let local = LOCAL.replace(
        "instance: local",
        "instance: local\n    alternatives: [2x local, 1-4x local]",
    );
    let job = &spec(&local).jobs[0];
    let counts: Vec<_> = job.counts().into_iter().flatten().collect();
    let counts: Vec<_> = counts.iter().map(|one| (one.base, one.follows)).collect();
    assert_eq!(counts, [(1, false), (2, false), (1, true)]);
}

#[test]
fn counts_that_levels_of_work_overrule_are_said() {
    let levels = with("canary: {counts: [1, 4]}").replace(
        "      channels:",
        "      hyperparameters: {rounds: 50}\n      channels:",
    ) + "    work: {hyperparameter: rounds, full: 50, canary: [5, 10]}\n";
    let spec = spec(&levels);
    assert_eq!(
        remarks(&spec),
        [
            "jobs.taxi.canary.counts: has no effect beside levels of `work` on sampled data: all canaries run on the machines of `instance`"
        ]
    );
    assert_eq!(spec.jobs[0].counts()[0].as_ref().unwrap().base, 4);
}
