//! The history under an S3 prefix, on the fake AWS.

use canary_gate::history::record::Record;
use canary_gate::history::{Entry, History, Listing, Scope};
use futures_util::future::join_all;
use jiff::Timestamp;

use crate::aws::{FakeAws, Fault, Operation};
use crate::aws_fake::s3_of_attempts;

const BUCKET: &str = "records";
const URI: &str = "s3://records/team a/gate";
const PREFIX: &str = "team a/gate/";

fn at(minutes: i64) -> Timestamp {
    let midnight: Timestamp = "2026-11-21T00:00:00Z".parse().unwrap();
    Timestamp::from_second(midnight.as_second() + 60 * minutes).unwrap()
}

fn key(number: u64) -> String {
    format!("{number:016x}").repeat(4)
}

/// A canary's record.
fn canary(minutes: i64, number: u64) -> Record {
    let record = serde_json::json!({
        "schema_version": 1,
        "tool_version": "0.1.0",
        "recorded_at": at(minutes),
        "job": "churn",
        "writer": {"event": "push", "command": "run", "branch": "main"},
        "content": {
            "kind": "canary",
            "canary_key": key(number),
            "measurement": {
                "schema_version": 1,
                "job": "churn",
                "instance": "ml.m5.2xlarge",
                "fraction": 0.02,
                "replicate": 0,
                "outcome": {"kind": "completed"},
                "training_seconds": 61.5,
            },
        },
    });
    serde_json::from_value(record).unwrap()
}

/// A fake with an empty bucket.
fn bucket() -> FakeAws {
    let aws = FakeAws::start();
    aws.make_bucket(BUCKET);
    aws
}

/// A history whose client tries everything up to three times.
async fn history(aws: &FakeAws, scope: Scope) -> History {
    History::in_bucket(&s3_of_attempts(aws, 3).await, URI, scope, 0.0).unwrap()
}

/// Every record that the run may read on the day after, and why others are passed over.
async fn all(history: &History) -> (Vec<Record>, Vec<String>) {
    let listing = history.list_at(None, at(24 * 60)).await.unwrap();
    let loaded = history.load(&listing.entries).await.unwrap();
    let records = loaded.records.into_iter().map(|(_, record)| record);
    let damaged = listing.damaged.into_iter().chain(loaded.damaged);
    let damaged = damaged.map(|damaged| format!("{}: {}", damaged.place, damaged.why));
    (records.collect(), damaged.collect())
}

fn keys(aws: &FakeAws) -> Vec<String> {
    aws.keys(BUCKET, "")
}

#[tokio::test]
async fn what_was_kept_is_listed_and_read() {
    let aws = bucket();
    let history = history(&aws, Scope::Main).await;
    assert_eq!(history.list(None).await.unwrap(), Listing::default());
    let second = history.append(&canary(1, 6), None).await.unwrap();
    let first = history.append(&canary(0, 5), None).await.unwrap();
    assert_eq!(
        keys(&aws),
        [&first, &second].map(|entry| format!("{PREFIX}{}", entry.path()))
    );
    let listing = history.list_at(Some("churn"), at(2)).await.unwrap();
    assert_eq!(listing.entries, [first, second]);
    assert_eq!(
        history.list(Some("chur")).await.unwrap(),
        Listing::default()
    );
    assert_eq!(
        all(&history).await,
        (vec![canary(0, 5), canary(1, 6)], vec![])
    );
}

#[tokio::test]
async fn a_run_writes_and_reads_what_its_scope_lets_it() {
    let aws = bucket();
    let scopes = [
        Scope::Main,
        Scope::PullRequest(1),
        Scope::PullRequest(12),
        Scope::Queue,
        Scope::Local,
    ];
    for scope in scopes {
        let history = history(&aws, scope).await;
        history.append(&canary(0, 5), None).await.unwrap();
    }
    aws.put_object(BUCKET, "team a/gate-elsewhere/main/churn/x.json", "{}");
    for job in [None, Some("churn")] {
        for reader in scopes {
            let listing = history(&aws, reader)
                .await
                .list_at(job, at(1))
                .await
                .unwrap();
            let seen: Vec<Scope> = listing.entries.iter().map(|entry| entry.scope).collect();
            let readable = scopes.into_iter().filter(|scope| reader.reads(*scope));
            assert_eq!(seen, readable.collect::<Vec<_>>(), "{reader}");
            assert_eq!(listing.damaged, []);
        }
    }
}

#[tokio::test]
async fn a_history_of_many_pages_is_listed_whole_and_only_what_is_wanted_is_read() {
    let aws = bucket();
    let history = history(&aws, Scope::Main).await;
    let mut kept = Vec::new();
    for number in 0..25 {
        let minutes = i64::try_from(number).unwrap();
        kept.push(
            history
                .append(&canary(minutes, number % 5), None)
                .await
                .unwrap(),
        );
    }
    aws.page_size(4);
    let pages = aws.calls(Operation::ListObjectsV2);
    let listing = history.list_at(None, at(30)).await.unwrap();
    assert_eq!(listing.entries, kept);
    assert_eq!(aws.calls(Operation::ListObjectsV2) - pages, 7);

    let reads = aws.calls(Operation::GetObject);
    let found = history
        .newest_canary(&listing.entries, "churn", &key(3), |_| true)
        .await
        .unwrap();
    assert_eq!(found.record.unwrap(), (kept[23].clone(), canary(23, 3)));
    assert_eq!(aws.calls(Operation::GetObject) - reads, 1);
}

#[tokio::test]
async fn writers_at_the_same_time_lose_nothing() {
    let aws = bucket();
    let writers = [
        history(&aws, Scope::Main).await,
        history(&aws, Scope::Main).await,
    ];
    let appends = (0..100).map(|number| {
        let writer = &writers[usize::from(number % 2 == 0)];
        // All at the same instant.
        async move { writer.append(&canary(0, number), None).await.unwrap() }
    });
    join_all(appends).await;
    let (mut records, damaged) = all(&writers[0]).await;
    records.sort_by_key(|record| format!("{:?}", record.content));
    assert_eq!(
        records,
        (0..100).map(|number| canary(0, number)).collect::<Vec<_>>()
    );
    assert_eq!(damaged, [""; 0]);
}

#[tokio::test]
async fn an_answer_that_was_lost_makes_no_second_record() {
    let aws = bucket();
    let history = history(&aws, Scope::Main).await;
    aws.fail(Operation::PutObject)
        .on_call(1)
        .with(Fault::AnswerLost);
    let entry = history.append(&canary(0, 5), None).await.unwrap();
    assert_eq!(aws.calls(Operation::PutObject), 2);
    assert_eq!(keys(&aws), [format!("{PREFIX}{}", entry.path())]);
    assert_eq!(all(&history).await.0, [canary(0, 5)]);
}

#[tokio::test]
async fn a_name_that_is_taken_is_left_to_whom_it_belongs() {
    let aws = bucket();
    let history = history(&aws, Scope::Main).await;
    let taken = || {
        Fault::error(
            "PreconditionFailed",
            "At least one of the pre-conditions you specified did not hold",
        )
    };
    aws.fail(Operation::PutObject).on_call(1).with(taken());
    history.append(&canary(0, 5), None).await.unwrap();
    assert_eq!(all(&history).await.0, [canary(0, 5)]);
    aws.fail(Operation::PutObject).with(taken());
    let error = history.append(&canary(1, 5), None).await.unwrap_err();
    assert!(
        error.what.contains("5 random names are all taken"),
        "{error}"
    );
}

#[tokio::test]
async fn a_conflict_with_another_write_is_waited_out() {
    let aws = bucket();
    let history = history(&aws, Scope::Main).await;
    let conflict = || {
        Fault::error(
            "ConditionalRequestConflict",
            "The conditional request cannot succeed due to a conflicting operation against this resource.",
        )
    };
    aws.fail(Operation::PutObject)
        .on_calls(1..=2)
        .with(conflict());
    history.append(&canary(0, 5), None).await.unwrap();
    assert_eq!(all(&history).await.0, [canary(0, 5)]);
    aws.fail(Operation::PutObject).with(conflict());
    let error = history.append(&canary(1, 5), None).await.unwrap_err();
    assert!(error.is_transient);
    assert!(
        error.what.contains("another write is in progress"),
        "{error}"
    );
    assert_eq!(keys(&aws).len(), 1);
}

#[tokio::test]
async fn throttling_is_waited_out_or_an_error() {
    let aws = bucket();
    let history = history(&aws, Scope::Main).await;
    aws.fail(Operation::PutObject)
        .on_calls(1..=2)
        .with(Fault::Throttled);
    aws.fail(Operation::ListObjectsV2)
        .on_call(1)
        .with(Fault::Page(503));
    aws.fail(Operation::GetObject)
        .on_call(1)
        .with(Fault::Dropped);
    history.append(&canary(0, 5), None).await.unwrap();
    assert_eq!(all(&history).await, (vec![canary(0, 5)], vec![]));
    aws.fail(Operation::GetObject).with(Fault::Throttled);
    let listing = history.list_at(None, at(1)).await.unwrap();
    let error = history.load(&listing.entries).await.unwrap_err();
    assert!(error.is_transient, "{error}");
}

#[tokio::test]
async fn a_store_without_conditional_writes_is_refused() {
    let aws = bucket();
    let history = history(&aws, Scope::Main).await;
    let unknown = "A header you provided implies functionality that is not implemented.";
    aws.fail(Operation::PutObject)
        .with(Fault::error("NotImplemented", unknown));
    let error = history.append(&canary(0, 5), None).await.unwrap_err();
    assert!(
        error.what.contains("does not support conditional writes"),
        "{error}"
    );
    assert!(
        error.help.contains("let `history` name a folder"),
        "{}",
        error.help
    );
}

#[tokio::test]
async fn what_is_not_allowed_names_the_permission() {
    let aws = bucket();
    let history = history(&aws, Scope::Main).await;
    let entry = history.append(&canary(0, 5), None).await.unwrap();
    for operation in [
        Operation::ListObjectsV2,
        Operation::GetObject,
        Operation::PutObject,
    ] {
        aws.fail(operation).with(Fault::AccessDenied);
    }
    let list = history.list(None).await.unwrap_err();
    let read = history
        .load(std::slice::from_ref(&entry))
        .await
        .unwrap_err();
    let write = history.append(&canary(1, 5), None).await.unwrap_err();
    for (error, doing, permission) in [
        (
            list,
            "list",
            "s3:ListBucket on arn:aws:s3:::records with the prefix `team a/gate/main/`",
        ),
        (
            read,
            "read",
            "s3:GetObject on arn:aws:s3:::records/team a/gate/main/churn/",
        ),
        (
            write,
            "write",
            "s3:PutObject on arn:aws:s3:::records/team a/gate/main/churn/",
        ),
    ] {
        let what = format!("history: could not {doing} s3://records/team a/gate/main/");
        assert!(error.what.starts_with(&what), "{error}");
        assert!(error.what.ends_with("access denied"), "{error}");
        assert!(error.help.contains(permission), "{}", error.help);
        assert!(!error.is_transient);
    }
}

#[tokio::test]
async fn a_bucket_that_is_elsewhere_or_nowhere_says_so() {
    let aws = FakeAws::start();
    let error = history(&aws, Scope::Main)
        .await
        .list(None)
        .await
        .unwrap_err();
    assert_eq!(error.what, "history: there is no bucket `records`");
    aws.make_bucket_in(BUCKET, "eu-west-1");
    let error = history(&aws, Scope::Main)
        .await
        .append(&canary(0, 5), None)
        .await
        .unwrap_err();
    assert_eq!(
        error.what,
        "history: the bucket `records` is in eu-west-1, and this run is in us-east-1"
    );
    assert_eq!(
        error.help,
        "use a bucket in us-east-1, or write `region: eu-west-1`: SageMaker reads and writes only in its own region"
    );
    let nowhere = History::in_bucket(&s3_of_attempts(&aws, 1).await, "s3://", Scope::Main, 0.0);
    assert_eq!(
        nowhere.unwrap_err().what,
        "history: `s3://` is not an S3 URI"
    );
}

#[tokio::test]
async fn one_that_is_damaged_hides_no_other() {
    let aws = bucket();
    let history = history(&aws, Scope::Main).await;
    let entry = history.append(&canary(0, 5), None).await.unwrap();
    let whole = aws
        .object(BUCKET, &format!("{PREFIX}{}", entry.path()))
        .unwrap();
    let put = |minutes: i64, content: &[u8]| {
        let name = Entry {
            recorded_at: at(minutes),
            ..entry.clone()
        }
        .path();
        aws.put_object(BUCKET, &format!("{PREFIX}{name}"), content.to_vec());
        format!("s3://{BUCKET}/{PREFIX}{name}")
    };
    let cut = put(1, &whole[..whole.len() / 2]);
    let empty = put(2, b"");
    let large = put(3, &vec![b' '; (8 << 20) + 1]);
    let future = put(5 * 24 * 60, &whole);
    for other in [
        "main/churn/",
        "main/churn/notes.txt",
        "main/x.json",
        "README.md",
        "elsewhere/churn/x.json",
    ] {
        aws.put_object(BUCKET, &format!("{PREFIX}{other}"), "");
    }
    aws.put_object(
        BUCKET,
        &format!("{PREFIX}main/churn/line\nbreak\u{1}.json"),
        "{}",
    );
    let (records, damaged) = all(&history).await;
    assert_eq!(records, [canary(0, 5)]);
    assert_eq!(
        damaged,
        [
            format!("{future}: it is dated in the future"),
            format!(
                "s3://{BUCKET}/{PREFIX}main/churn/line\\nbreak\\u{{1}}.json: its name is not a record's name"
            ),
            format!("{cut}: it is cut short"),
            format!("{empty}: it is empty"),
            format!("{large}: it is larger than 8 MiB"),
        ]
    );
    let gone = Entry {
        recorded_at: at(9),
        ..entry
    };
    let loaded = history.load(&[gone]).await.unwrap();
    assert_eq!(loaded.damaged[0].why, "it was removed after it was listed");
}
