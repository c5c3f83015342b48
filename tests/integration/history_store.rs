//! The history in each of its places: a folder, and an S3 prefix of the fake AWS.

use std::fs;
use std::sync::Barrier;

use canary_gate::history::record::Record;
use canary_gate::history::{Entry, History, Listing, Scope};
use jiff::Timestamp;
use tempfile::TempDir;

use crate::aws::{FakeAws, Fault, Operation};

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
    History::in_bucket(&aws.s3_client(3), URI, scope, 0.0).unwrap()
}

/// Where a history lies.
enum Place {
    Folder(TempDir),
    Bucket(FakeAws),
}

fn places() -> [Place; 2] {
    [
        Place::Folder(TempDir::new().unwrap()),
        Place::Bucket(bucket()),
    ]
}

impl Place {
    async fn history(&self, scope: Scope) -> History {
        match self {
            Self::Folder(folder) => History::in_folder(folder.path().to_owned(), scope),
            Self::Bucket(aws) => history(aws, scope).await,
        }
    }

    /// As messages name it.
    fn name(&self, path: &str) -> String {
        match self {
            Self::Folder(folder) => folder.path().join(path).display().to_string(),
            Self::Bucket(_) => format!("s3://{BUCKET}/{PREFIX}{path}"),
        }
    }

    fn put(&self, path: &str, content: &[u8]) -> String {
        match self {
            Self::Folder(folder) => {
                let file = folder.path().join(path);
                fs::create_dir_all(file.parent().unwrap()).unwrap();
                fs::write(file, content).unwrap();
            }
            Self::Bucket(aws) => {
                aws.put_object(BUCKET, &format!("{PREFIX}{path}"), content.to_vec());
            }
        }
        self.name(path)
    }

    fn content(&self, path: &str) -> Vec<u8> {
        match self {
            Self::Folder(folder) => fs::read(folder.path().join(path)).unwrap(),
            Self::Bucket(aws) => aws
                .object(BUCKET, &format!("{PREFIX}{path}"))
                .unwrap()
                .to_vec(),
        }
    }
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
    for place in places() {
        let history = place.history(Scope::Main).await;
        assert_eq!(history.list(None).await.unwrap(), Listing::default());
        let second = history.append(&canary(1, 6)).await.unwrap();
        let first = history.append(&canary(0, 5)).await.unwrap();
        let listing = history.list_at(Some("churn"), at(2)).await.unwrap();
        assert_eq!(listing.entries, [first, second]);
        let other = history.list(Some("chur")).await.unwrap();
        assert_eq!(other, Listing::default());
        let kept = vec![canary(0, 5), canary(1, 6)];
        assert_eq!(all(&history).await, (kept, vec![]));
    }
}

#[tokio::test]
async fn a_run_writes_and_reads_what_its_scope_lets_it() {
    let scopes = [
        Scope::Main,
        Scope::PullRequest(1),
        Scope::PullRequest(12),
        Scope::Queue,
        Scope::Local,
    ];
    for place in places() {
        for scope in scopes {
            let history = place.history(scope).await;
            let entry = history.append(&canary(0, 5)).await.unwrap();
            assert_eq!(entry.scope, scope);
        }
        // A scope that is none, and another history beside this one.
        place.put("pr/07/churn/x.json", b"{}");
        if let Place::Bucket(aws) = &place {
            aws.put_object(BUCKET, "team a/gate-elsewhere/main/churn/x.json", "{}");
        }
        for job in [None, Some("churn")] {
            for reader in scopes {
                let history = place.history(reader).await;
                let listing = history.list_at(job, at(1)).await.unwrap();
                let seen: Vec<Scope> = listing.entries.iter().map(|entry| entry.scope).collect();
                let readable = scopes.into_iter().filter(|scope| reader.reads(*scope));
                assert_eq!(seen, readable.collect::<Vec<_>>(), "{reader}");
                assert_eq!(listing.damaged, []);
            }
        }
        // Nor by a name from elsewhere.
        let local = place.history(Scope::Local).await;
        let local = local.list_at(None, at(1)).await.unwrap();
        let main = place.history(Scope::Main).await;
        let loaded = main.load(&local.entries).await.unwrap();
        assert_eq!((loaded.records.len(), loaded.damaged.len()), (1, 4));
        assert!(loaded.damaged[0].why.contains("does not read"));
    }
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    const WRITERS: u64 = 8;
    const EACH: u64 = 20;
    let runtime = || {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_all().build().unwrap()
    };
    for place in places() {
        let start = &Barrier::new(8);
        std::thread::scope(|scope| {
            for writer in 0..WRITERS {
                let place = &place;
                scope.spawn(move || {
                    runtime().block_on(async {
                        let history = place.history(Scope::Main).await;
                        start.wait();
                        for number in 0..EACH {
                            // All at the same instant.
                            let record = canary(0, writer * EACH + number);
                            history.append(&record).await.unwrap();
                        }
                    });
                });
            }
        });
        let (mut records, damaged) =
            runtime().block_on(async { all(&place.history(Scope::Main).await).await });
        records.sort_by_key(|record| format!("{:?}", record.content));
        let expected = (0..WRITERS * EACH).map(|number| canary(0, number));
        assert_eq!(records, expected.collect::<Vec<_>>());
        assert_eq!(damaged, [""; 0]);
    }
}

#[tokio::test]
async fn one_that_is_damaged_hides_no_other() {
    for place in places() {
        let history = place.history(Scope::Main).await;
        let entry = history.append(&canary(0, 5)).await.unwrap();
        let whole = place.content(&entry.path());
        let put = |minutes: i64, content: &[u8]| {
            let recorded_at = at(minutes);
            let entry = entry.clone();
            place.put(
                &Entry {
                    recorded_at,
                    ..entry
                }
                .path(),
                content,
            )
        };
        let cut = put(1, &whole[..whole.len() / 2]);
        let empty = put(2, b"");
        let newer = put(3, b"{\"schema_version\":7}");
        let large = put(4, &vec![b' '; (8 << 20) + 1]);
        let future = put(5 * 24 * 60, &whole);
        // What is not the history's is left alone.
        for other in [
            "main/churn/notes.txt",
            "main/x.json",
            "main/a b/x.json",
            "README.md",
            "measurements.jsonl",
            "run-0/main/churn/x.json",
            "elsewhere/churn/x.json",
        ] {
            place.put(other, b"{}");
        }
        let broken = place.put("main/churn/line\nbreak\u{1}.json", b"{}");
        let broken = match &place {
            Place::Folder(_) => broken,
            Place::Bucket(_) => broken.replace("\n", "\\n").replace('\u{1}', "\\u{1}"),
        };
        let (records, damaged) = all(&history).await;
        assert_eq!(records, [canary(0, 5)]);
        let expected = [
            format!("{future}: it is dated in the future"),
            format!("{broken}: its name is not a record's name"),
            format!("{cut}: it is cut short"),
            format!("{empty}: it is empty"),
            format!(
                "{newer}: it was written by a newer canary-gate (schema 7); this one reads up to 1: update it"
            ),
            format!("{large}: it is larger than 8 MiB"),
        ];
        assert_eq!(damaged, expected);
        let recorded_at = at(9);
        let gone = Entry {
            recorded_at,
            ..entry
        };
        let loaded = history.load(&[gone]).await.unwrap();
        assert_eq!(loaded.damaged[0].why, "it was removed after it was listed");
    }
}

#[tokio::test]
async fn a_history_of_many_pages_is_listed_whole_and_only_what_is_wanted_is_read() {
    let aws = bucket();
    let history = history(&aws, Scope::Main).await;
    let mut kept = Vec::new();
    for number in 0..25 {
        let minutes = i64::try_from(number).unwrap();
        kept.push(history.append(&canary(minutes, number % 5)).await.unwrap());
    }
    aws.page_size(4);
    let pages = aws.calls(Operation::ListObjectsV2);
    let listing = history.list_at(None, at(30)).await.unwrap();
    assert_eq!(listing.entries, kept);
    assert_eq!(aws.calls(Operation::ListObjectsV2) - pages, 7);

    let reads = aws.calls(Operation::GetObject);
    let found = history
        .newest_canary(&listing.entries, &key(3), |_| true)
        .await
        .unwrap();
    assert_eq!(found.records, [(kept[23].clone(), canary(23, 3))]);
    assert_eq!(aws.calls(Operation::GetObject) - reads, 1);
}

#[tokio::test]
async fn an_answer_that_was_lost_makes_no_second_record() {
    let aws = bucket();
    let history = history(&aws, Scope::Main).await;
    aws.fail(Operation::PutObject)
        .on_call(1)
        .with(Fault::AnswerLost);
    let entry = history.append(&canary(0, 5)).await.unwrap();
    assert_eq!(aws.calls(Operation::PutObject), 2);
    assert_eq!(keys(&aws), [format!("{PREFIX}{}", entry.path())]);
    assert_eq!(all(&history).await.0, [canary(0, 5)]);
}

/// Each row: S3's code, how many writes meet it before one is kept, and the error of a write that always meets it, with its help.
const REFUSED_WRITES: &str = "
PreconditionFailed | 1 | 5 random names are all taken | this is not chance
ConditionalRequestConflict | 2 | another write is in progress | start the check again later
NotImplemented | 0 | does not support conditional writes | let `history` name a folder";

#[tokio::test]
async fn a_refused_write_is_tried_again_and_is_an_error_where_that_does_not_help() {
    for row in REFUSED_WRITES.trim_start().lines() {
        let [code, passing, what, help] = row.split(" | ").collect::<Vec<_>>().try_into().unwrap();
        let aws = bucket();
        let history = history(&aws, Scope::Main).await;
        let refused = || Fault::error(code, "S3 says more of it");
        let passing: u64 = passing.parse().unwrap();
        if passing > 0 {
            aws.fail(Operation::PutObject)
                .on_calls(1..=passing)
                .with(refused());
            history.append(&canary(0, 5)).await.unwrap();
            assert_eq!(all(&history).await.0, [canary(0, 5)]);
        }
        aws.fail(Operation::PutObject).with(refused());
        let error = history.append(&canary(1, 5)).await.unwrap_err();
        assert_eq!(error.is_transient, code == "ConditionalRequestConflict");
        assert!(error.what.contains(what), "{error}");
        assert!(error.help.contains(help), "{}", error.help);
        assert_eq!(keys(&aws).len(), usize::from(passing > 0));
    }
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
    history.append(&canary(0, 5)).await.unwrap();
    assert_eq!(all(&history).await, (vec![canary(0, 5)], vec![]));
    aws.fail(Operation::GetObject).with(Fault::Throttled);
    let listing = history.list_at(None, at(1)).await.unwrap();
    let error = history.load(&listing.entries).await.unwrap_err();
    assert!(error.is_transient, "{error}");
}

#[tokio::test]
async fn what_is_not_allowed_names_the_permission() {
    let aws = bucket();
    let history = history(&aws, Scope::Main).await;
    let entry = history.append(&canary(0, 5)).await.unwrap();
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
    let write = history.append(&canary(1, 5)).await.unwrap_err();
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
        .append(&canary(0, 5))
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
    let nowhere = History::in_bucket(&aws.s3_client(1), "s3://", Scope::Main, 0.0);
    assert_eq!(
        nowhere.unwrap_err().what,
        "history: `s3://` is not an S3 URI"
    );
}
