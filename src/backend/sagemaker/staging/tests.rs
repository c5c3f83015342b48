use super::*;
use crate::backend::sagemaker::fake_s3::{FakeS3, S3Refusal};
use crate::canary::DataObject;

fn uri(text: &str) -> S3Uri {
    S3Uri::read(text, "output").unwrap()
}

fn sample(objects: &[(&str, u64)]) -> Objects {
    let object = |(key, bytes): &(&str, u64)| DataObject {
        key: (*key).to_owned(),
        bytes: Bytes(*bytes),
    };
    objects.iter().map(object).collect()
}

fn stage() -> StagedSample {
    StagedSample::of(&uri("s3://out/canaries"), "cg-churn-1")
}

async fn place(s3: &FakeS3, objects: &Objects) -> Result<(), BackendError> {
    let base = uri("s3://b/train/");
    stage()
        .place(&s3.client, "channels.train", "train", &base, objects, None)
        .await
}

const DATA: [(&str, u64); 3] = [
    ("b/train/2026/part 1+2%.csv", 3),
    ("b/train/line\nbreakü", 5),
    ("b/train/z", 1),
];

#[tokio::test]
async fn a_sample_is_copied_with_its_names_and_removed_again() {
    let s3 = FakeS3::with(&DATA).await;
    s3.buckets()
        .objects
        .insert("out/canaries/cg-stage/cg-churn-10/x".to_owned(), 1);
    let objects = sample(&[("2026/part 1+2%.csv", 3), ("line\nbreakü", 5)]);
    place(&s3, &objects).await.unwrap();
    assert_eq!(
        s3.keys()[3..],
        [
            "out/canaries/cg-stage/cg-churn-1/train/2026/part 1+2%.csv",
            "out/canaries/cg-stage/cg-churn-1/train/line\nbreakü",
            "out/canaries/cg-stage/cg-churn-10/x",
        ]
    );
    assert!(
        s3.buckets().requests.iter().any(|request| {
            request.contains("x-amz-copy-source=b/train/2026/part%201%2B2%25.csv")
        })
    );
    for _ in 0..2 {
        stage().remove(&s3.client).await.unwrap();
        assert_eq!(s3.keys()[3..], ["out/canaries/cg-stage/cg-churn-10/x"]);
    }
}

#[tokio::test]
async fn many_objects_are_copied_and_removed() {
    let names: Vec<String> = (0..100).map(|index| format!("part-{index:03}")).collect();
    let objects: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let s3 = FakeS3::with(&[]).await;
    for name in &names {
        s3.buckets().objects.insert(format!("b/train/{name}"), 1);
    }
    place(&s3, &sample(&objects)).await.unwrap();
    assert_eq!(s3.keys().len(), 200);
    stage().remove(&s3.client).await.unwrap();
    assert_eq!(s3.keys().len(), 100);
}

#[tokio::test]
async fn what_was_copied_before_an_error_is_removed() {
    let s3 = FakeS3::with(&DATA).await;
    s3.buckets()
        .refusals
        .push(S3Refusal::new("train/z?", 403, "AccessDenied"));
    let error = place(&s3, &sample(&[("2026/part 1+2%.csv", 3), ("z", 1)]))
        .await
        .unwrap_err();
    assert_eq!(
        (error.what.as_str(), error.help.as_str()),
        (
            "channels.train: could not copy, for a FastFile canary, s3://b/train/z: access denied",
            "allow s3:GetObject on arn:aws:s3:::b/train/* and s3:PutObject on arn:aws:s3:::out/canaries/cg-stage/cg-churn-1/train/* to the credentials of this run; the bucket policy and the encryption key must allow it too"
        )
    );
    assert_eq!(s3.keys(), DATA.map(|(key, _)| key));
}

#[tokio::test]
async fn what_s3_cannot_copy_is_reported_before_anything_is_copied() {
    let s3 = FakeS3::with(&DATA).await;
    let large = check_sizes("channels.train", &sample(&[("a", 1), ("big", 6 << 30)]));
    let large = large.unwrap_err();
    assert_eq!(
        (large.what.as_str(), large.help.as_str()),
        (
            "channels.train: an object has 6.00 GiB; S3 copies at most 5.00 GiB at once, and a FastFile canary needs a copy",
            "use `mode: File`, whose canaries read a manifest, or split the data into smaller objects"
        )
    );
    let long = place(&s3, &sample(&[(&"x".repeat(1000), 1)]))
        .await
        .unwrap_err();
    assert!(
        long.what.contains("is too long for a copy below s3://out/"),
        "{}",
        long.what
    );
    assert!(s3.buckets().requests.is_empty());
}

#[tokio::test]
async fn what_cannot_be_removed_is_reported() {
    let s3 = FakeS3::with(&DATA).await;
    place(&s3, &sample(&[("2026/part 1+2%.csv", 3), ("z", 1)]))
        .await
        .unwrap();
    s3.buckets().kept = vec!["canaries/cg-stage/cg-churn-1/train/z".to_owned()];
    let error = stage().remove(&s3.client).await.unwrap_err();
    assert_eq!(
        (error.what.as_str(), error.help.as_str()),
        (
            "1 staged objects in s3://out/canaries/cg-stage/cg-churn-1/ could not be removed: canaries/cg-stage/cg-churn-1/train/z: AccessDenied",
            "remove them: `aws s3 rm --recursive s3://out/canaries/cg-stage/cg-churn-1/`"
        )
    );
    assert_eq!(s3.keys().len(), DATA.len() + 1);
}

#[tokio::test]
async fn what_is_named_by_its_hash_is_uploaded_once() {
    let s3 = FakeS3::with(&[]).await;
    let to = uri("s3://out/code/abc.tar.gz");
    let put = async |existing, key| {
        let content = b"content".to_vec();
        upload(
            &s3.client,
            "output",
            &to,
            content,
            "application/gzip",
            existing,
            key,
        )
        .await
    };
    put(Existing::Keep, Some("alias/ours")).await.unwrap();
    assert_eq!(s3.keys(), ["out/code/abc.tar.gz"]);
    let sent = || {
        s3.buckets()
            .requests
            .iter()
            .filter(|one| one.starts_with("PUT"))
            .count()
    };
    assert_eq!(sent(), 1);
    let request = s3.buckets().requests[1].clone();
    assert!(request.contains("aws-kms-key-id=alias/ours"), "{request}");
    assert!(
        request.contains("content-type=application/gzip"),
        "{request}"
    );
    put(Existing::Keep, None).await.unwrap();
    assert_eq!(sent(), 1);
    put(Existing::Replace, None).await.unwrap();
    assert_eq!(sent(), 2);
    // A HEAD that is forbidden says nothing of the object.
    s3.buckets()
        .refusals
        .push(S3Refusal::new("HEAD", 403, "AccessDenied"));
    put(Existing::Keep, None).await.unwrap();
    assert_eq!(sent(), 3);
    s3.buckets()
        .refusals
        .push(S3Refusal::new("PUT", 403, "AccessDenied"));
    let error = put(Existing::Keep, Some("alias/ours")).await.unwrap_err();
    assert_eq!(
        error.what,
        "output: could not write s3://out/code/abc.tar.gz: access denied"
    );
    assert!(error.help.contains(
        "s3:PutObject on arn:aws:s3:::out/code/abc.tar.gz, and kms:GenerateDataKey on alias/ours"
    ));
}
