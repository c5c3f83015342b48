use proptest::prelude::*;

use super::*;
use crate::history::samples::{JOB, canary, forecast};

const PATH: &str =
    "main/churn/20261121T091407.123Z-forecast-3f9c2e1d8a7054b6-a1b2c3d4e5f60718.json";

fn file(scope: Scope, entry: Option<Entry>) -> Option<(Scope, String, Option<Entry>)> {
    Some((scope, JOB.to_owned(), entry))
}

#[test]
fn a_name_says_what_choosing_needs() {
    let entry = Entry {
        recorded_at: "2026-11-21T09:14:07.123Z".parse().unwrap(),
        scope: Scope::Main,
        job: JOB.to_owned(),
        kind: RecordKind::Forecast,
        key: "3f9c2e1d8a7054b6".to_owned(),
        id: "a1b2c3d4e5f60718".to_owned(),
    };
    assert_eq!(entry.path(), PATH);
    let file = file(Scope::Main, Some(entry));
    assert_eq!(record_file(PATH), file);
}

#[test]
fn a_name_that_is_not_exactly_ours_is_broken_beside_records_and_nothing_elsewhere() {
    for (from, to) in [
        ("20261121", "20261321"),
        ("20261121", "20260230"),
        ("T09", "T24"),
        ("07.123", "60.123"),
        ("07.123Z", "07.12Z"),
        ("07.123Z", "07.1234Z"),
        ("07.123Z", "07.123"),
        ("T", "t"),
        ("20261121", "+2261121"),
        ("forecast", "Forecast"),
        ("forecast", "guess"),
        ("3f9c", "3F9C"),
        ("3f9c", "3f9"),
        ("0718.json", "07189.json"),
        ("0718.json", "0718-.json"),
        ("0718.json", "071é.json"),
        ("-a1b2c3d4e5f60718", ""),
    ] {
        let path = PATH.replace(from, to);
        assert_ne!(path, PATH);
        let broken = file(Scope::Main, None);
        assert_eq!(record_file(&path), broken, "{path}");
    }
    for other in [
        ".gitignore",
        "measurements.jsonl",
        "last-report.json",
        "run-0",
        "run-0/work/x.json",
        "main/x.json",
        "main/churn/.x.json",
        "main/churn/.20261121T091407.123Z-forecast-3f9c2e1d8a7054b6-a1b2c3d4e5f60718.tmp",
        "main/churn/notes.txt",
        "main/churn/deeper/x.json",
        "main/ch urn/x.json",
        "main/%63hurn/x.json",
        "main/../x.json",
        "main//x.json",
        "",
    ] {
        assert_eq!(record_file(other), None, "{other}");
    }
}

#[test]
fn a_clock_that_is_far_off_and_unknown_code_give_a_name_all_the_same() {
    for clock in [Timestamp::MIN, Timestamp::MAX] {
        let mut far = forecast(0, 7);
        (far.recorded_at, far.code_key) = (clock, None);
        let entry = Entry::of(&far, Scope::Queue, "a".repeat(DIGITS));
        assert_eq!(entry.key, NO_KEY);
        let file = file(Scope::Queue, Some(entry.clone()));
        assert_eq!(record_file(&entry.path()), file);
        assert!(clock > Timestamp::MIN || entry.recorded_at == Timestamp::UNIX_EPOCH);
    }
}

#[test]
fn jobs_have_folders_that_are_safe_and_their_own() {
    for (job, folder) in [
        ("churn-2_a", "churn-2_a"),
        ("..", "%2E%2E"),
        ("a/b", "a%2Fb"),
        ("a b", "a%20b"),
        ("", "%"),
        ("%", "%25"),
        ("ü", "%C3%BC"),
    ] {
        assert_eq!(folder_of(job), folder);
        assert_eq!(job_of(folder).as_deref(), Some(job));
    }
    for other in ["%2f", "%41", "%", "%%", "%2", "%C3", "a%", ".", "..", "a b"] {
        assert!(job_of(other).is_none_or(|job| folder_of(&job) == other));
    }
}

proptest! {
    #[test]
    fn every_job_has_a_folder(job in any::<String>()) {
        let folder = folder_of(&job);
        prop_assert!(!folder.is_empty() && folder.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_%".contains(&byte)));
        prop_assert_eq!(job_of(&folder), Some(job));
    }

    #[test]
    fn names_sort_as_their_times_do(one in 0_i64..250_000_000_000_000, other in 0_i64..250_000_000_000_000) {
        let of = |millisecond| {
            let mut record = canary(0, 5);
            record.recorded_at = Timestamp::from_millisecond(millisecond).unwrap();
            Entry::of(&record, Scope::Main, "a".repeat(16))
        };
        let (one, other) = (of(one), of(other));
        prop_assert_eq!(one.path().cmp(&other.path()), one.recorded_at.cmp(&other.recorded_at));
        prop_assert_eq!(record_file(&one.path()).unwrap().2, Some(one));
    }

    #[test]
    fn no_path_brings_it_down(path in "(main|pr|local|queue|pr/1)?/?[a-z%é./-]{0,20}(T|Z|\\.|-|json|é|[0-9]{0,9}){0,12}") {
        let _ = record_file(&path);
    }
}
