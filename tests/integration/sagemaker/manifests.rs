//! Channels that a manifest of the user's own lists: canaries get a share of its lines.

use super::{created, gate, project};
use crate::aws::FakeAws;
use crate::project::Project;

const FIXED: &str = "{design: fixed, fractions: [10%, 20%, 50%], replicates: 1, max_runtime: 30m}";
const PREFIX: &str = "train: {uri: s3://data/churn/train/}";

/// Of the hundred objects below the prefix every other one is listed, and `more`.
fn listed(channel: &str, more: &str) -> (Project, FakeAws) {
    let (project, aws) = project(FIXED);
    let names = (0..100)
        .step_by(2)
        .map(|index| format!("\"part-{index:03}.csv\""));
    let names: Vec<String> = names.collect();
    let text = format!(
        "[{{\"prefix\": \"s3://data/churn/train/\"}}, {}{more}]",
        names.join(", ")
    );
    aws.put_object("data", "churn/train.manifest", text);
    let spec = project.read("canary-gate.yml");
    assert!(spec.contains(PREFIX));
    let channel = format!("train: {{uri: s3://data/churn/train.manifest, {channel}}}");
    project.write("canary-gate.yml", &spec.replace(PREFIX, &channel));
    (project, aws)
}

#[test]
fn canaries_get_a_share_of_the_lines_of_a_manifest() {
    let (project, aws) = listed("data_type: ManifestFile", "");
    gate(&project, &aws, &["plan", "--all"])
        .ended_with(0)
        .reported("10%  5 of 50 objects");
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let mut counts = Vec::new();
    for job in aws.jobs() {
        let keys = job.channel_keys("train");
        let is_even = |key: &String| key.ends_with(['0', '2', '4', '6', '8']);
        let number = |key: &String| key.trim_end_matches(".csv").to_owned();
        assert!(keys.iter().all(|key| is_even(&number(key))), "{keys:?}");
        counts.push(keys.len());
    }
    counts.sort_unstable();
    assert_eq!(counts, [5, 10, 25]);
    assert_eq!(created(&aws).len(), 3);
}

#[test]
fn a_whole_manifest_is_handed_over_as_it_is() {
    let (project, aws) = listed(
        "data_type: ManifestFile, sample: false}\n        more: {uri: s3://data/churn/train/",
        "",
    );
    aws.train(|job| {
        let keys = job.channel_keys("more").len();
        let seconds = f64::from(u32::try_from(keys).unwrap());
        crate::aws::Timeline::completed().training(60.0 + 10.0 * seconds)
    });
    gate(&project, &aws, &["run", "--all"]).ended_with(0);
    let job = &aws.jobs()[0];
    let source = &job.input()["InputDataConfig"][0]["DataSource"]["S3DataSource"];
    assert_eq!(source["S3DataType"], "ManifestFile");
    assert_eq!(source["S3Uri"], "s3://data/churn/train.manifest");
    assert_eq!(job.channel_keys("train").len(), 50);
}

#[test]
fn keys_that_are_not_there_are_said_before_a_canary() {
    let (project, aws) = listed("data_type: ManifestFile", ", \"part-200.csv\", \"x.csv\"");
    let words = gate(&project, &aws, &["run", "--all"])
        .ended_with(1)
        .words();
    let said = "the manifest names 2 objects that are not there, such as s3://data/churn/train/part-200.csv";
    assert!(words.contains(said), "{words}");
    assert!(created(&aws).is_empty());
    aws.put_object(
        "data",
        "churn/train.manifest",
        "{\"source-ref\": \"s3://a/b\"}\n",
    );
    gate(&project, &aws, &["plan", "--all"])
        .ended_with(1)
        .complained("is not a manifest, which is one JSON array");
}

#[test]
fn what_cannot_be_sampled_is_refused_by_name() {
    for (channel, said) in [
        (
            "data_type: AugmentedManifestFile, mode: Pipe",
            "an augmented manifest cannot be sampled",
        ),
        (
            "data_type: ManifestFile, mode: FastFile",
            "FastFile reads whole folders, not manifests",
        ),
    ] {
        let (project, aws) = listed(channel, "");
        let words = gate(&project, &aws, &["validate"]).ended_with(2).words();
        assert!(words.contains(said), "{words}");
    }
}
