use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::history::samples::{JOB, Sample, at, canary, forecast, key};
use crate::history::{History, reading};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn what_was_kept_is_listed_and_read() {
    let sample = Sample::new(Scope::Main);
    assert_eq!(sample.history.list(None).await.unwrap(), Listing::default());
    let one = sample.keep(&forecast(1, 7)).await;
    let other = sample.keep(&canary(0, 5)).await;
    let listing = sample.history.list_at(None, at(2)).await.unwrap();
    assert_eq!(listing.entries, [other.clone(), one.clone()]);
    let (loaded, damaged) = sample.all().await;
    assert_eq!(
        loaded.records,
        [(other, canary(0, 5)), (one, forecast(1, 7))]
    );
    assert_eq!(damaged, [""; 0]);
    assert_eq!(sample.hidden(), [""; 0]);
}

#[tokio::test]
async fn records_are_their_owners_alone_and_not_gits() {
    let sample = Sample::new(Scope::PullRequest(12));
    let entry = sample.keep(&canary(0, 5)).await;
    let file = sample.file(&entry);
    assert_eq!(mode(&file), 0o600);
    for folder in file.ancestors().skip(1).take(4) {
        assert_eq!(mode(folder), 0o700, "{}", folder.display());
    }
    assert_eq!(
        fs::read_to_string(sample.root().join(".gitignore")).unwrap(),
        "*\n"
    );
}

#[tokio::test]
async fn git_ignores_the_folder_unless_it_does_already() {
    let sample = Sample::new(Scope::Main);
    fs::create_dir(sample.root()).unwrap();
    let ignore = sample.root().join(".gitignore");
    // As a crash leaves it.
    fs::write(&ignore, "").unwrap();
    sample.keep(&canary(0, 5)).await;
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
    fs::write(&ignore, "# ours\n").unwrap();
    sample.keep(&canary(1, 5)).await;
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "# ours\n");
    fs::remove_file(&ignore).unwrap();
    let target = sample.root().join("victim");
    symlink(&target, &ignore).unwrap();
    sample.keep(&canary(2, 5)).await;
    assert!(!target.exists());
}

#[tokio::test]
async fn a_run_writes_and_reads_what_its_scope_lets_it() {
    let sample = Sample::new(Scope::Main);
    let scopes = [
        Scope::Main,
        Scope::PullRequest(1),
        Scope::PullRequest(2),
        Scope::Queue,
        Scope::Local,
    ];
    for scope in scopes {
        let entry = sample.to(scope).append(&canary(0, 5), None).await.unwrap();
        assert_eq!(entry.scope, scope);
    }
    // A scope that is none.
    fs::create_dir_all(sample.root().join("pr/07/churn")).unwrap();
    for reader in scopes {
        let history = sample.to(reader);
        let listing = history.list_at(None, at(1)).await.unwrap();
        let seen: Vec<Scope> = listing.entries.iter().map(|entry| entry.scope).collect();
        let expected: Vec<Scope> = scopes
            .into_iter()
            .filter(|scope| reader.reads(*scope))
            .collect();
        assert_eq!(seen, expected, "{reader}");
        assert_eq!(listing.damaged, []);
    }
    // Nor by a name from elsewhere.
    let local = sample.to(Scope::Local).list_at(None, at(1)).await.unwrap();
    let loaded = sample.history.load(&local.entries).await.unwrap();
    assert_eq!(loaded.records.len(), 1);
    assert_eq!(loaded.damaged.len(), 4);
    assert!(loaded.damaged[0].why.contains("does not read"));
}

#[tokio::test]
async fn one_job_is_listed_alone_and_whatever_it_is_called() {
    let sample = Sample::new(Scope::Local);
    let names = ["churn", "churn-2", "a/../../b", "Übung 1", "%63hurn"];
    for name in names {
        let mut record = forecast(0, 7);
        record.job = name.to_owned();
        if let crate::history::record::Content::Forecast(forecast) = &mut record.content {
            forecast.measurements.clear();
        }
        sample.keep(&record).await;
    }
    for name in names {
        let listing = sample.history.list_at(Some(name), at(1)).await.unwrap();
        let jobs: Vec<&str> = listing
            .entries
            .iter()
            .map(|entry| entry.job.as_str())
            .collect();
        assert_eq!(jobs, [name]);
    }
    assert_eq!(sample.all().await.0.records.len(), names.len());
}

#[tokio::test]
async fn what_is_not_the_historys_is_left_alone() {
    let sample = Sample::new(Scope::Main);
    let entry = sample.keep(&canary(0, 5)).await;
    let root = sample.root();
    fs::write(root.join("measurements.jsonl"), "{}").unwrap();
    fs::write(root.join("last-report.json"), "{}").unwrap();
    fs::create_dir_all(root.join("run-0/main/churn")).unwrap();
    fs::write(root.join("main/README.md"), "hello").unwrap();
    fs::write(root.join("main/churn/notes.txt"), "hello").unwrap();
    fs::create_dir_all(root.join("main/a b")).unwrap();
    let (loaded, damaged) = sample.all().await;
    assert_eq!(loaded.records, [(entry, canary(0, 5))]);
    assert_eq!(damaged, [""; 0]);
}

#[tokio::test]
async fn one_that_is_damaged_hides_no_other() {
    let sample = Sample::new(Scope::Main);
    let good = sample.keep(&canary(0, 5)).await;
    let put = |minutes, content: &str| {
        let entry = Entry::of(&canary(minutes, 5), Scope::Main, None, "b".repeat(16));
        fs::write(sample.file(&entry), content).unwrap();
        entry.file_name()
    };
    let cut = put(1, "{\"schema_version\":1,");
    let newer = put(2, "{\"schema_version\":7}");
    let far = put(3 * 24 * 60, "");
    fs::write(sample.root().join("main/churn/copy.json"), "{}").unwrap();
    let folder = Entry::of(&canary(4, 5), Scope::Main, None, "b".repeat(16));
    fs::create_dir(sample.file(&folder)).unwrap();
    let large = put(5, "");
    let file = File::options()
        .write(true)
        .open(sample.root().join("main/churn").join(&large));
    file.unwrap().set_len(1 << 40).unwrap();
    let (loaded, damaged) = sample.all().await;
    assert_eq!(loaded.records, [(good, canary(0, 5))]);
    assert_eq!(
        damaged,
        [
            format!("{far}: it is dated in the future"),
            "copy.json: its name is not a record's name".to_owned(),
            format!("{cut}: it is cut short"),
            format!(
                "{newer}: it was written by a newer canary-gate (schema 7); this one reads up to 1: update it"
            ),
            format!("{}: it is not a regular file", folder.file_name()),
            format!("{large}: it is larger than 8 MiB"),
        ]
    );
}

#[tokio::test]
async fn nothing_is_read_through_links() {
    let elsewhere = Sample::new(Scope::Main);
    let entry = elsewhere.keep(&canary(0, 5)).await;
    // A record, its folder, its scope.
    for depth in [2, 1, 0] {
        let sample = Sample::new(Scope::Local);
        let path = entry.path();
        let (_, linked) = steps(&path).nth(depth).unwrap();
        let link = sample.root().join(linked);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(elsewhere.root().join(linked), &link).unwrap();
        let (loaded, damaged) = sample.all().await;
        assert_eq!(loaded.records, []);
        let name = link.file_name().unwrap().to_str().unwrap();
        assert_eq!(
            damaged,
            [format!("{name}: it is a link, and links are not followed")]
        );
        let direct = sample
            .history
            .load(std::slice::from_ref(&entry))
            .await
            .unwrap();
        assert_eq!(direct.records, []);
        if depth < 2 {
            let error = sample.to(Scope::Main).append(&canary(1, 5), None).await;
            assert!(error.unwrap_err().what.contains("is a link"));
        }
    }
    let sample = Sample::new(Scope::Main);
    symlink(elsewhere.root(), sample.root()).unwrap();
    let error = sample.history.list(None).await.unwrap_err();
    assert!(error.what.contains("is a link"), "{error}");
    assert!(sample.history.append(&canary(1, 5), None).await.is_err());
    assert_eq!(elsewhere.all().await.0.records.len(), 1);
}

#[tokio::test]
async fn a_record_is_not_written_through_a_link_in_its_place() {
    let sample = Sample::new(Scope::Main);
    let first = sample.keep(&canary(0, 5)).await;
    let target = sample.root().join("victim");
    let next = || Entry::of(&canary(1, 5), Scope::Main, None, "c".repeat(16));
    let folder = sample.file(&first).parent().unwrap().to_owned();
    for name in [next().file_name(), temporary_name(&next())] {
        symlink(&target, folder.join(&name)).unwrap();
        let kept = RecordFolder::new(sample.root())
            .keep(&next(), b"text")
            .unwrap();
        assert_eq!(kept, Placement::NameTaken);
        assert!(!target.exists());
        fs::remove_file(folder.join(name)).unwrap();
    }
}

#[tokio::test]
async fn a_pipe_in_a_records_place_is_not_waited_for() {
    let sample = Sample::new(Scope::Main);
    sample.keep(&canary(0, 5)).await;
    let pipe = Entry::of(&canary(1, 5), Scope::Main, None, "d".repeat(16));
    nix::unistd::mkfifo(&sample.file(&pipe), OF_FILES).unwrap();
    let (loaded, damaged) = sample.all().await;
    assert_eq!(loaded.records.len(), 1);
    assert_eq!(
        damaged,
        [format!("{}: it is not a regular file", pipe.file_name())]
    );
}

#[tokio::test]
async fn what_is_no_folder_says_so() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let history = History::in_folder(file.path().to_owned(), Scope::Main);
    let error = history.list(None).await.unwrap_err();
    assert_eq!(
        error.what,
        format!("{} is not a folder", file.path().display())
    );
    assert_eq!(error.help, "let `history` name a folder");
}

/// Every state in which a crash can leave the folder: a reader sees the others, and a writer goes on.
#[tokio::test]
async fn a_writer_may_be_broken_off_anywhere() {
    let content = reading::write(&canary(1, 6));
    let whole = content.len();
    let entry = Entry::of(&canary(1, 6), Scope::Main, None, "e".repeat(16));
    // How much of the temporary file is there, and of the record in its place.
    let mut states: Vec<(Option<usize>, Option<usize>)> = vec![(None, None)];
    states.extend((0..=whole).map(|length| (Some(length), None)));
    states.push((Some(whole), Some(whole)));
    states.push((None, Some(whole)));
    // What a broken disk may make of a file that was not yet durable.
    states.extend((0..whole - 1).map(|length| (None, Some(length))));

    let sample = Sample::new(Scope::Main);
    let good = sample.keep(&canary(0, 5)).await;
    let folder = sample.file(&good).parent().unwrap().to_owned();
    for (temporary, record) in states {
        let put = |name: String, length: Option<usize>| {
            if let Some(length) = length {
                fs::write(folder.join(name), &content[..length]).unwrap();
            }
        };
        put(temporary_name(&entry), temporary);
        put(entry.file_name(), record);

        let (loaded, damaged) = sample.all().await;
        let mut expected = vec![(good.clone(), canary(0, 5))];
        let mut complaints = Vec::new();
        match record {
            None => {}
            Some(length) if length == whole => expected.push((entry.clone(), canary(1, 6))),
            Some(0) => complaints.push(format!("{}: it is empty", entry.file_name())),
            Some(_) => complaints.push(format!("{}: it is cut short", entry.file_name())),
        }
        assert_eq!(loaded.records, expected, "{temporary:?} {record:?}");
        assert_eq!(damaged, complaints, "{temporary:?} {record:?}");

        let next = sample.keep(&forecast(2, 7)).await;
        let (loaded, _) = sample.all().await;
        assert_eq!(
            loaded.records.last().unwrap(),
            &(next.clone(), forecast(2, 7))
        );
        // Another writer may be at it still.
        assert_eq!(sample.hidden().len(), usize::from(temporary.is_some()));
        for name in [temporary_name(&entry), entry.file_name(), next.file_name()] {
            let _ = fs::remove_file(folder.join(name));
        }
    }
}

#[tokio::test]
async fn a_writer_removes_what_others_left_long_ago() {
    let sample = Sample::new(Scope::Main);
    let first = sample.keep(&canary(0, 5)).await;
    let folder = sample.file(&first).parent().unwrap().to_owned();
    let name = |digit: &str| {
        temporary_name(&Entry::of(
            &canary(1, 5),
            Scope::Main,
            None,
            digit.repeat(16),
        ))
    };
    let put = |name: &str, age: Duration| {
        let file = File::create(folder.join(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    };
    let hour = Duration::from_secs(60 * 60);
    put(&name("1"), 25 * hour);
    put(&name("2"), 23 * hour);
    put(".somebody-elses.tmp", 48 * hour);
    sample.keep(&canary(2, 5)).await;
    let mut left = sample.hidden();
    left.sort();
    assert_eq!(left, [name("2"), ".somebody-elses.tmp".to_owned()]);
}

#[tokio::test]
async fn a_name_that_is_taken_is_never_written_over() {
    let sample = Sample::new(Scope::Main);
    let draw = |digits: &'static [&'static str]| {
        let mut digits = digits.iter();
        move || digits.next().expect("no more is drawn").repeat(16)
    };
    let record = canary(0, 5);
    let one = sample
        .history
        .append_as(&record, None, draw(&["1"]))
        .await
        .unwrap();
    let again = sample
        .history
        .append_as(&record, None, draw(&["1", "1", "2"]))
        .await
        .unwrap();
    assert_eq!((one.id, again.id), ("1".repeat(16), "2".repeat(16)));
    let error = sample
        .history
        .append_as(&record, None, draw(&["1"; 5]))
        .await
        .unwrap_err();
    assert!(error.what.contains("5 random names"), "{error}");
    assert_eq!(sample.all().await.0.records.len(), 2);
    assert_eq!(sample.hidden(), [""; 0]);
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    const WRITERS: u64 = 8;
    const EACH: u64 = 40;
    let sample = Sample::new(Scope::Main);
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
    };
    let start = std::sync::Barrier::new(8);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (history, start) = (sample.to(Scope::Main), &start);
            scope.spawn(move || {
                start.wait();
                for number in 0..EACH {
                    // All at the same instant.
                    let record = canary(0, writer * EACH + number);
                    runtime().block_on(history.append(&record, None)).unwrap();
                }
            });
        }
    });
    let (loaded, damaged) = runtime().block_on(sample.all());
    let mut keys: Vec<&str> = loaded
        .records
        .iter()
        .filter_map(|(_, record)| record.key())
        .collect();
    keys.sort_unstable();
    let expected: Vec<String> = (0..WRITERS * EACH).map(key).collect();
    assert_eq!(keys, expected);
    assert_eq!(damaged, [""; 0]);
    assert_eq!(sample.hidden(), [""; 0]);
    assert_eq!(JOB, loaded.records[0].0.job);
}
