use aws_sdk_s3::config::{BehaviorVersion, Region};
use aws_sdk_s3::types::Object;

use super::*;

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
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"));
    let s3 = Client::from_conf(config.build());
    let request = Request::list(&s3, "f", &uri);
    let mut range = KeyRange::default();
    let error = pages
        .iter()
        .find_map(|page| range.take(page, &request).err());
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
    let negative = Object::builder().key("t/a").size(-1).build();
    let negative = ListObjectsV2Output::builder().contents(negative).build();
    assert_eq!(
        refused(&[negative]),
        "f: S3 listed an object without a key or a size in s3://b/t/"
    );
}
