use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::*;
use crate::history::samples::{Sample, canary, forecast};
use crate::history::{Entry, History, reading};

/// The name of a temporary file.
const HIDDEN: &str = ".record-Ab3xYz.tmp";

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
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
    let ignore = sample.root().join(".gitignore");
    // As a crash leaves it.
    fs::write(&ignore, "").unwrap();
    sample.keep(&canary(1, 5)).await;
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "*\n");
    fs::write(&ignore, "# ours\n").unwrap();
    sample.keep(&canary(3, 5)).await;
    assert_eq!(fs::read_to_string(&ignore).unwrap(), "# ours\n");
    fs::remove_file(&ignore).unwrap();
    let target = sample.root().join("victim");
    symlink(&target, &ignore).unwrap();
    sample.keep(&canary(2, 5)).await;
    assert!(!target.exists());
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
        let listing = sample.history.list(Some(name)).await.unwrap();
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
async fn nothing_is_read_through_links() {
    let elsewhere = Sample::new(Scope::Main);
    let entry = elsewhere.keep(&canary(0, 5)).await;
    // A record, its folder, its scope.
    for depth in [2, 1, 0] {
        let sample = Sample::new(Scope::Local);
        let path = entry.path();
        let linked = path
            .splitn(4, '/')
            .take(depth + 1)
            .collect::<Vec<_>>()
            .join("/");
        let link = sample.root().join(&linked);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(elsewhere.root().join(&linked), &link).unwrap();
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
            let error = sample.to(Scope::Main).append(&canary(1, 5)).await;
            assert!(error.unwrap_err().what.contains("is a link"));
        }
    }
    let sample = Sample::new(Scope::Main);
    symlink(elsewhere.root(), sample.root()).unwrap();
    let error = sample.history.list(None).await.unwrap_err();
    assert!(error.what.contains("is a link"), "{error}");
    assert!(sample.history.append(&canary(1, 5)).await.is_err());
    assert_eq!(elsewhere.all().await.0.records.len(), 1);
}

#[tokio::test]
async fn what_has_a_records_name_is_not_replaced_followed_or_waited_for() {
    let sample = Sample::new(Scope::Main);
    let first = sample.keep(&canary(0, 5)).await;
    let target = sample.root().join("victim");
    let link = Entry::of(&canary(1, 5), Scope::Main, "c".repeat(16));
    symlink(&target, sample.file(&link)).unwrap();
    let folder = RecordFolder {
        root: sample.root(),
    };
    for taken in [&first, &link] {
        let kept = folder.put(&taken.path(), b"text");
        assert_eq!(kept.unwrap(), Placement::NameTaken);
    }
    assert!(!target.exists());
    fs::remove_file(sample.file(&link)).unwrap();
    let pipe = Entry::of(&canary(1, 5), Scope::Main, "d".repeat(16));
    nix::unistd::mkfifo(&sample.file(&pipe), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let (loaded, damaged) = sample.all().await;
    assert_eq!(loaded.records, [(first, canary(0, 5))]);
    let name = pipe.stem();
    assert_eq!(damaged, [format!("{name}.json: it is not a regular file")]);
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
    let entry = Entry::of(&canary(1, 6), Scope::Main, "e".repeat(16));
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
    let name_of = |entry: &crate::history::Entry| format!("{}.json", entry.stem());
    for (temporary, record) in states {
        let put = |name: String, length: Option<usize>| {
            if let Some(length) = length {
                fs::write(folder.join(name), &content[..length]).unwrap();
            }
        };
        put(HIDDEN.to_owned(), temporary);
        put(name_of(&entry), record);

        let (loaded, damaged) = sample.all().await;
        let mut expected = vec![(good.clone(), canary(0, 5))];
        let mut complaints = Vec::new();
        match record {
            None => {}
            Some(length) if length == whole => expected.push((entry.clone(), canary(1, 6))),
            Some(0) => complaints.push(format!("{}: it is empty", name_of(&entry))),
            Some(_) => complaints.push(format!("{}: it is cut short", name_of(&entry))),
        }
        assert_eq!(loaded.records, expected, "{temporary:?} {record:?}");
        assert_eq!(damaged, complaints, "{temporary:?} {record:?}");

        let next = sample.keep(&forecast(2, 7)).await;
        let (loaded, _) = sample.all().await;
        assert_eq!(
            loaded.records.last().unwrap(),
            &(next.clone(), forecast(2, 7))
        );
        for name in [HIDDEN.to_owned(), name_of(&entry), name_of(&next)] {
            let _ = fs::remove_file(folder.join(name));
        }
    }
}
