//! Counts of machines: of canaries, and of ranges.

use super::*;

const CLOUD: &str = include_str!("testdata/counts.yml");

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
    // Levels of work overrule what is written.
    let levels = with("canary: {counts: [1, 4]}").replace(
        "      channels:",
        "      hyperparameters: {rounds: 50}\n      channels:",
    ) + "    work: {hyperparameter: rounds, full: 50, canary: [5, 10]}\n";
    assert_eq!(spec(&levels).jobs[0].counts()[0].as_ref().unwrap().base, 4);
    let local = LOCAL.replace(
        "instance: local",
        "instance: local\n    alternatives: [2x local, 1-4x local]",
    );
    let job = &spec(&local).jobs[0];
    let counts: Vec<_> = job.counts().into_iter().flatten().collect();
    let counts: Vec<_> = counts.iter().map(|one| (one.base, one.follows)).collect();
    assert_eq!(counts, [(1, false), (2, false), (1, true)]);
}
