use std::collections::BTreeSet;

use aws_sdk_s3::operation::list_objects_v2::ListObjectsV2Output;
use aws_sdk_s3::types::Object;

use super::*;
use crate::backend::sagemaker::fake_s3::{FakeS3, S3Refusal};
use crate::spec::{ChannelSample, Compression, Distribution, RecordWrapper};

const FIELD: &str = "jobs.churn.training.channels.train";

fn channel(uri: &str, mode: InputMode) -> Channel {
    Channel {
        name: "train".to_owned(),
        uri: uri.to_owned(),
        data_type: crate::spec::DataType::default(),
        mode,
        content_type: None,
        distribution: Distribution::FullyReplicated,
        compression: Compression::None,
        record_wrapper: RecordWrapper::None,
        sample: ChannelSample::Objects,
        draw: crate::spec::ChannelDraw::default(),
        groups: Vec::new(),
    }
}

async fn list_of(objects: &[(&str, u64)], uri: &str) -> Result<ListedChannel, BackendError> {
    let s3 = FakeS3::with(objects).await;
    list(&s3.client, FIELD, &channel(uri, InputMode::File)).await
}

fn keys(listed: &ListedChannel) -> Vec<(String, u64)> {
    let objects = listed.objects.iter();
    (objects.map(|object| (object.key.clone(), object.bytes.0))).collect()
}

fn pairs(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected
        .iter()
        .map(|(key, bytes)| ((*key).to_owned(), *bytes))
        .collect()
}

fn text_of(result: Result<ListedChannel, BackendError>) -> String {
    let error = result.unwrap_err();
    format!("{} | {}", error.what, error.help)
}

#[tokio::test]
async fn a_folder_is_listed_over_several_pages_without_its_markers() {
    let objects = [
        ("b/data/train/", 0),
        ("b/data/train/2026/", 0),
        ("b/data/train/2026/part-1", 7),
        ("b/data/train/2026/part-2", 0),
        ("b/data/train/a b+c%.csv", 3),
        ("b/data/train/line\nbreak\u{1}ü🦀", 5),
        ("b/data/validation/part-1", 9),
    ];
    let expected = [
        ("2026/part-1", 7),
        ("2026/part-2", 0),
        ("a b+c%.csv", 3),
        ("line\nbreak\u{1}ü🦀", 5),
    ];
    for uri in ["s3://b/data/train/", "s3://b/data/train"] {
        let listed = list_of(&objects, uri).await.unwrap();
        assert_eq!(keys(&listed), pairs(&expected));
        assert_eq!(listed.base.to_string(), "s3://b/data/train/");
        assert!(listed.objects.digest().is_some());
    }
}

#[tokio::test]
async fn many_pages_are_asked_for_side_by_side_and_found_in_order() {
    let names = (0..60).map(|index| match index % 3 {
        0 => format!("b/data/train/a b/ü%+{index:03}.csv"),
        1 => format!("b/data/train/{index}.csv"),
        _ => format!("b/data/train/folder-{}/part", index / 5),
    });
    let names: BTreeSet<String> = names.collect();
    let objects: Vec<(&str, u64)> = names.iter().map(String::as_str).zip(1..).collect();
    let expected = (objects.iter()).map(|(key, bytes)| (&key["b/data/train/".len()..], *bytes));
    let expected: Vec<(&str, u64)> = expected.collect();
    for refusal in [
        None,
        // A policy may allow the channel's own prefix only.
        Some(S3Refusal::new("delimiter=", 403, "AccessDenied")),
        Some(S3Refusal::new("delimiter=", 503, "SlowDown")),
    ] {
        let s3 = FakeS3::with(&objects).await;
        s3.buckets().refusals.extend(refusal);
        let channel = channel("s3://b/data/train/", InputMode::File);
        let listed = list(&s3.client, FIELD, &channel).await.unwrap();
        assert_eq!(keys(&listed), pairs(&expected));
        let requests = &s3.buckets().requests;
        assert!(requests.iter().any(|line| line.contains("start-after=")));
    }
}

#[tokio::test]
async fn a_whole_bucket_one_object_and_names_that_begin_alike_are_listed() {
    let objects = [("b/part-1", 1), ("b/part-2", 2), ("b/x/data.csv", 3)];
    for (uri, base, expected) in [
        (
            "s3://b",
            "s3://b/",
            &[("part-1", 1), ("part-2", 2), ("x/data.csv", 3)][..],
        ),
        ("s3://b/x/data.csv", "s3://b/x/", &[("data.csv", 3)]),
        ("s3://b/part-", "s3://b/", &[("part-1", 1), ("part-2", 2)]),
    ] {
        let listed = list_of(&objects, uri).await.unwrap();
        assert_eq!(keys(&listed), pairs(expected), "{uri}");
        assert_eq!(listed.base.to_string(), base);
    }
}

#[tokio::test]
async fn a_prefix_that_is_no_folder_is_refused_where_it_matches_more() {
    let end_it = "jobs.churn.training.channels.train.uri: `s3://b/train` also matches `train-old/x` | end it with `/`: `s3://b/train/`";
    let before = [("b/train-old/x", 1), ("b/train/y", 1)];
    assert_eq!(text_of(list_of(&before, "s3://b/train").await), end_it);
    let after = [("b/train/y", 1), ("b/train0/x", 1)];
    assert_eq!(
        text_of(list_of(&after, "s3://b/train").await),
        end_it.replace("train-old", "train0")
    );
    let file = [("b/x.csv", 1), ("b/x.csv.bak", 1)];
    assert_eq!(
        text_of(list_of(&file, "s3://b/x.csv").await),
        "jobs.churn.training.channels.train.uri: `s3://b/x.csv` also matches `x.csv.bak` | give the data a folder of its own and end the uri with `/`: SageMaker takes every key that begins so"
    );
    // What an old tool leaves for an empty folder is no data.
    let marker = [("b/train-old/", 0), ("b/train/y", 1)];
    assert_eq!(
        list_of(&marker, "s3://b/train")
            .await
            .unwrap()
            .objects
            .len(),
        1
    );
}

#[tokio::test]
async fn fast_file_serves_folders_only() {
    let s3 = FakeS3::with(&[("b/part-1", 1), ("b/part-2", 2)]).await;
    let listed = list(
        &s3.client,
        FIELD,
        &channel("s3://b/part-", InputMode::FastFile),
    )
    .await;
    assert_eq!(
        text_of(listed),
        "jobs.churn.training.channels.train.uri: `s3://b/part-` ends within a name (`part-1`), and FastFile mode serves whole folders only | name the folder and end it with `/`, or use `mode: File`"
    );
}

#[tokio::test]
async fn nothing_there_is_an_error_that_names_the_uri() {
    let only_a_marker = [("b/train/", 0)];
    assert_eq!(
        text_of(list_of(&only_a_marker, "s3://b/train/").await),
        "jobs.churn.training.channels.train.uri: there are no objects in s3://b/train/ | check the prefix with `aws s3 ls`; it is case-sensitive and does not begin with `/`"
    );
}

#[tokio::test]
async fn what_s3_refuses_is_reported_with_what_to_do() {
    let refused = async |refusal| {
        let s3 = FakeS3::with(&[]).await;
        s3.buckets().refusals.push(refusal);
        text_of(
            list(
                &s3.client,
                FIELD,
                &channel("s3://b/train/", InputMode::File),
            )
            .await,
        )
    };
    let field = "jobs.churn.training.channels.train.uri";
    assert_eq!(
        refused(S3Refusal::new("GET", 404, "NoSuchBucket")).await,
        format!(
            "{field}: there is no bucket `b` | correct the name, or use credentials of the account that has it"
        )
    );
    assert_eq!(
        refused(S3Refusal::new("GET", 403, "AccessDenied")).await,
        format!(
            "{field}: could not list s3://b/train/: access denied | allow s3:ListBucket on arn:aws:s3:::b with the prefix `train/` to the credentials of this run; the bucket policy and the encryption key must allow it too"
        )
    );
    let elsewhere = format!(
        "{field}: the bucket `b` is in eu-west-1, and this run is in us-east-1 | use a bucket in us-east-1, or write `region: eu-west-1`: SageMaker reads and writes only in its own region"
    );
    let in_header = S3Refusal {
        headers: &[("x-amz-bucket-region", "eu-west-1")],
        ..S3Refusal::new("GET", 301, "PermanentRedirect")
    };
    assert_eq!(refused(in_header).await, elsewhere);
    let in_text = S3Refusal {
        more: "<Region>eu-west-1</Region>",
        ..S3Refusal::new("GET", 400, "AuthorizationHeaderMalformed")
    };
    assert_eq!(refused(in_text).await, elsewhere);
    let hostile = S3Refusal {
        more: "<Region>`rm`</Region>",
        ..S3Refusal::new("GET", 400, "AuthorizationHeaderMalformed")
    };
    assert!(
        refused(hostile)
            .await
            .contains("is in another region, and this run is in us-east-1")
    );
    assert_eq!(
        refused(S3Refusal::new("GET", 503, "SlowDown")).await,
        format!(
            "{field}: could not list s3://b/train/: AWS throttled every attempt of s3:ListBucket on arn:aws:s3:::b with the prefix `train/` (SlowDown: no) | start the check again later; it reuses the canaries that completed"
        )
    );
    assert_eq!(
        refused(S3Refusal::new("GET", 403, "RequestTimeTooSkewed")).await,
        format!(
            "{field}: could not list s3://b/train/: AWS rejected the time of this machine's clock (RequestTimeTooSkewed: no) | correct the clock: requests are signed with the time"
        )
    );
}

fn page(keys: &[&str], token: Option<&str>) -> ListObjectsV2Output {
    let objects = keys
        .iter()
        .map(|key| Object::builder().key(*key).size(1).build());
    ListObjectsV2Output::builder()
        .set_contents(Some(objects.collect()))
        .is_truncated(token.is_some())
        .set_next_continuation_token(token.map(str::to_owned))
        .build()
}

/// What becomes of pages that no S3 would send.
fn refused(pages: &[ListObjectsV2Output]) -> String {
    let uri = S3Uri::read("s3://b/t/", "f").unwrap();
    let place = ListedPlace {
        uri: &uri,
        field: "f",
    };
    let mut range = KeyRange::default();
    let error = pages.iter().find_map(|page| range.take(page, place).err());
    error.expect("one of the pages is refused").what
}

#[test]
fn a_broken_endpoint_ends_in_an_error() {
    let unsorted = "f: S3 listed keys that are not sorted, which S3 does only for directory buckets in s3://b/t/";
    assert_eq!(refused(&[page(&["t/b", "t/a"], None)]), unsorted);
    assert_eq!(
        refused(&[page(&["t/a"], Some("1")), page(&["t/a"], Some("2"))]),
        unsorted
    );
    assert_eq!(
        refused(&[page(&["t/a"], Some(""))]),
        "f: S3 listed more keys without a token to get them by in s3://b/t/"
    );
    assert_eq!(
        refused(&[page(&["u/a"], None)]),
        "f: S3 listed a key that was not asked for in s3://b/t/"
    );
    let empty: Vec<_> = (0..2000)
        .map(|token| page(&[], Some(&token.to_string())))
        .collect();
    assert_eq!(
        refused(&empty),
        "f: S3 listed page after page without keys in s3://b/t/"
    );
    let negative = Object::builder().key("t/a").size(-1).build();
    let negative = ListObjectsV2Output::builder().contents(negative).build();
    assert_eq!(
        refused(&[negative]),
        "f: S3 listed an object of negative size in s3://b/t/"
    );
}
