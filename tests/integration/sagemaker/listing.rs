//! What lies in a channel, as it is listed from the fake's S3.

use std::collections::BTreeSet;

use canary_gate::backend::sagemaker::listing::{self, ListedChannel};
use canary_gate::spec;

use crate::aws::{FakeAws, Fault, Operation};

/// A fake with these objects, two keys a page.
fn aws(objects: &[(&str, usize)]) -> FakeAws {
    let aws = FakeAws::start();
    aws.make_bucket("data");
    for (key, bytes) in objects {
        aws.put_object("data", key, "x".repeat(*bytes));
    }
    aws.page_size(2);
    aws
}

/// The channel `uri` of a spec, such as `s3://data/train/, mode: FastFile`, listed; or what is said in place of it.
fn listed(aws: &FakeAws, uri: &str) -> Result<ListedChannel, String> {
    let spec = super::spec(super::FIXED).replace("s3://data/churn/train/", uri);
    let spec = spec::read("canary-gate.yml", spec.as_bytes(), &[]).unwrap();
    let channel = &spec.jobs[0].training.channels[0];
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    let listed = runtime.block_on(listing::list(&aws.s3_client(1), "train", channel));
    listed.map_err(|error| format!("{} | {}", error.what, error.help))
}

fn keys(listed: &ListedChannel) -> Vec<(&str, usize)> {
    let objects = listed.objects.iter();
    let pairs = objects.map(|one| (one.key.as_str(), usize::try_from(one.bytes.0).unwrap()));
    pairs.collect()
}

#[test]
fn a_channel_is_all_that_begins_like_its_uri_without_the_markers_of_folders() {
    const TREE: &[(&str, usize)] = &[
        ("data/train/", 0),
        ("data/train/2026/", 0),
        ("data/train/2026/part-1", 7),
        ("data/train/2026/part-2", 0),
        ("data/train/a b+c%.csv", 3),
        ("data/train/line\nbreak\u{1}ü🦀", 5),
        ("data/validation/part-1", 9),
    ];
    const TRAIN: &[(&str, usize)] = &[
        ("2026/part-1", 7),
        ("2026/part-2", 0),
        ("a b+c%.csv", 3),
        ("line\nbreak\u{1}ü🦀", 5),
    ];
    const FLAT: &[(&str, usize)] = &[("part-1", 1), ("part-2", 2), ("x/data.csv", 3)];
    for (objects, uri, base, expected) in [
        (
            TREE,
            "s3://data/data/train/",
            "s3://data/data/train/",
            TRAIN,
        ),
        (TREE, "s3://data/data/train", "s3://data/data/train/", TRAIN),
        (FLAT, "s3://data", "s3://data/", FLAT),
        (
            FLAT,
            "s3://data/x/data.csv",
            "s3://data/x/",
            &[("data.csv", 3)],
        ),
        (FLAT, "s3://data/part-", "s3://data/", &FLAT[..2]),
        // What an old tool leaves for an empty folder is no data.
        (
            &[("train-old/", 0), ("train/y", 1)],
            "s3://data/train",
            "s3://data/train/",
            &[("y", 1)],
        ),
    ] {
        let listed = listed(&aws(objects), uri).unwrap();
        assert_eq!(keys(&listed), expected, "{uri}");
        assert_eq!(listed.base.to_string(), base);
        assert!(listed.objects.digest().is_some());
    }
}

#[test]
fn many_pages_are_asked_for_side_by_side_and_found_in_order() {
    let names = (0..60).map(|index| match index % 3 {
        0 => format!("train/a b/ü%+{index:03}.csv"),
        1 => format!("train/{index}.csv"),
        _ => format!("train/folder-{}/part", index / 5),
    });
    let names: BTreeSet<String> = names.collect();
    let objects: Vec<(&str, usize)> = names.iter().map(String::as_str).zip(1..).collect();
    let expected = (objects.iter()).map(|(key, bytes)| (&key["train/".len()..], *bytes));
    let expected: Vec<(&str, usize)> = expected.collect();
    for fault in [
        None,
        // A policy may allow the channel's own prefix only.
        Some(Fault::AccessDenied),
        Some(Fault::Throttled),
    ] {
        let aws = aws(&objects);
        if let Some(fault) = fault {
            aws.fail(Operation::ListObjectsV2)
                .about("delimiter=")
                .with(fault);
        }
        assert_eq!(keys(&listed(&aws, "s3://data/train/").unwrap()), expected);
    }
}

#[test]
fn a_prefix_that_catches_more_or_less_than_was_meant_is_refused() {
    let end_it = "train.uri: `s3://data/train` also matches `train-old/x` | end it with `/`: `s3://data/train/`";
    for (objects, uri, said) in [
        (["train-old/x", "train/y"], "s3://data/train", end_it),
        (
            ["train/y", "train0/x"],
            "s3://data/train",
            &end_it.replace("train-old", "train0"),
        ),
        (
            ["x.csv", "x.csv.bak"],
            "s3://data/x.csv",
            "train.uri: `s3://data/x.csv` also matches `x.csv.bak` | give the data a folder of its own and end the uri with `/`: SageMaker takes every key that begins so",
        ),
        (
            ["part-1", "part-2"],
            "s3://data/part-, mode: FastFile",
            "train.uri: `s3://data/part-` ends within a name (`part-1`), and FastFile mode serves whole folders only | name the folder and end it with `/`, or use `mode: File`",
        ),
        (
            ["x", "train/"],
            "s3://data/train/",
            "train.uri: there are no objects in s3://data/train/ | check the prefix with `aws s3 ls`; it is case-sensitive and does not begin with `/`",
        ),
    ] {
        let bytes = |key: &str| usize::from(!key.ends_with('/'));
        let aws = aws(&objects.map(|key| (key, bytes(key))));
        assert_eq!(listed(&aws, uri).unwrap_err(), said);
    }
}

#[test]
fn what_s3_refuses_is_reported_with_what_to_do() {
    let could_not = "train.uri: could not list s3://data/train/: ";
    let permission = "s3:ListBucket on arn:aws:s3:::data with the prefix `train/`";
    for (fault, said) in [
        (
            Fault::AccessDenied,
            format!("{could_not}access denied | allow {permission} to the credentials of this run; the bucket policy and the encryption key must allow it too"),
        ),
        (
            Fault::error("NoSuchBucket", "no"),
            "train.uri: there is no bucket `data` | correct the name, or use credentials of the account that has it".to_owned(),
        ),
        (
            Fault::error("AuthorizationHeaderMalformed", "no"),
            "train.uri: the bucket `data` is in another region, and this run is in us-east-1 | use a bucket in us-east-1, or correct `region`: SageMaker reads and writes only in its own region".to_owned(),
        ),
        (
            Fault::error("SlowDown", "no"),
            format!("{could_not}AWS throttled every attempt of {permission} (SlowDown: no) | start the check again later; it reuses the canaries that completed"),
        ),
        (
            Fault::error("RequestTimeTooSkewed", "no"),
            format!("{could_not}AWS rejected the time of this machine's clock (RequestTimeTooSkewed: no) | correct the clock: requests are signed with the time"),
        ),
    ] {
        let aws = aws(&[]);
        aws.fail(Operation::ListObjectsV2).with(fault);
        assert_eq!(listed(&aws, "s3://data/train/").unwrap_err(), said);
    }
    let aws = aws(&[]);
    aws.make_bucket_in("far", "eu-west-1");
    let said = "train.uri: the bucket `far` is in eu-west-1, and this run is in us-east-1 | use a bucket in us-east-1, or write `region: eu-west-1`: SageMaker reads and writes only in its own region";
    assert_eq!(listed(&aws, "s3://far/train/").unwrap_err(), said);
}
