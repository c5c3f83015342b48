use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::*;
use crate::history::samples::{Sample, at, canary, forecast};
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
async fn a_record_is_not_written_through_a_link_in_its_place() {
    let sample = Sample::new(Scope::Main);
    let first = sample.keep(&canary(0, 5)).await;
    let target = sample.root().join("victim");
    let next = || Entry::of(&canary(1, 5), Scope::Main, "c".repeat(16));
    let folder = sample.file(&first).parent().unwrap().to_owned();
    symlink(&target, folder.join(next().file_name())).unwrap();
    let kept = RecordFolder::new(sample.root()).put(&next().path(), b"text");
    assert_eq!(kept.unwrap(), Placement::NameTaken);
    assert!(!target.exists());
}

#[tokio::test]
async fn a_pipe_in_a_records_place_is_not_waited_for() {
    let sample = Sample::new(Scope::Main);
    sample.keep(&canary(0, 5)).await;
    let pipe = Entry::of(&canary(1, 5), Scope::Main, "d".repeat(16));
    nix::unistd::mkfifo(&sample.file(&pipe), nix::sys::stat::Mode::S_IRWXU).unwrap();
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
    for (temporary, record) in states {
        let put = |name: String, length: Option<usize>| {
            if let Some(length) = length {
                fs::write(folder.join(name), &content[..length]).unwrap();
            }
        };
        put(HIDDEN.to_owned(), temporary);
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
        for name in [HIDDEN.to_owned(), entry.file_name(), next.file_name()] {
            let _ = fs::remove_file(folder.join(name));
        }
    }
}

#[tokio::test]
async fn a_writer_removes_what_others_left_long_ago() {
    let sample = Sample::new(Scope::Main);
    let first = sample.keep(&canary(0, 5)).await;
    let folder = sample.file(&first).parent().unwrap().to_owned();
    let put = |name: &str, age: Duration| {
        let file = File::create(folder.join(name)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    };
    let hour = Duration::from_secs(60 * 60);
    put(".record-old.tmp", 25 * hour);
    put(HIDDEN, 23 * hour);
    put(".somebody-elses.tmp", 48 * hour);
    sample.keep(&canary(2, 5)).await;
    let mut left = sample.hidden();
    left.sort();
    assert_eq!(left, [HIDDEN, ".somebody-elses.tmp"]);
}

#[tokio::test]
async fn a_name_that_is_taken_is_never_written_over() {
    let sample = Sample::new(Scope::Main);
    let draw = |digits: &'static [&'static str]| {
        let mut digits = digits.iter();
        move || digits.next().expect("no more is drawn").repeat(16)
    };
    let (history, record) = (&sample.history, canary(0, 5));
    let one = history.append_as(&record, draw(&["1"])).await.unwrap();
    let again = history.append_as(&record, draw(&["1", "1", "2"]));
    let again = again.await.unwrap();
    assert_eq!((one.id, again.id), ("1".repeat(16), "2".repeat(16)));
    let error = history.append_as(&record, draw(&["1"; 5])).await;
    let error = error.unwrap_err();
    assert!(error.what.contains("5 random names"), "{error}");
    assert_eq!(sample.all().await.0.records.len(), 2);
    assert_eq!(sample.hidden(), [""; 0]);
}
