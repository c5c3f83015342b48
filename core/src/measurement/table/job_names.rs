//! The jobs of the seed library's table: its `job_name` is that of a training job, which is unique, and rows belong together only
//! as far as their names say it.

use std::collections::HashSet;

use regex::Captures;

use super::quoted;
use crate::grammar::pattern;

/// The job of rows whose names name none.
pub(super) const UNNAMED_JOB: &str = "canary-training";

/// Fewer rows give no forecast, so nothing is won by taking them for one job.
const FEWEST_ROWS: usize = 3;

/// The job of each row, in their order, and a caution if the names do not group the rows as they stand.
///
/// The time of the start is cut off a name. If every name then occurs once, a number at its end is cut too; if they still occur
/// once each, the names group nothing, and all rows are one job.
pub(super) fn jobs_of(names: &[Option<&str>]) -> (Vec<String>, Option<String>) {
    let stamped = (names.iter()).map(|name| name.map_or(UNNAMED_JOB, without_stamp));
    let stamped: Vec<&str> = stamped.collect();
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    if names.len() < FEWEST_ROWS || groups(&stamped) {
        return (owned(&stamped), None);
    }
    let counted: Vec<&str> = stamped.iter().map(|name| without_counter(name)).collect();
    if groups(&counted) {
        let note = "no two rows have the same job_name; a number at its end is taken for a counter";
        return (owned(&counted), Some(note.to_owned()));
    }
    let note = format!(
        "no two rows have the same job_name ({}, …), so all {} are taken for one job; `--as-job NAME` names it",
        quoted(names[0].unwrap_or_default()),
        names.len()
    );
    (vec![UNNAMED_JOB.to_owned(); names.len()], Some(note))
}

/// Whether a name occurs twice.
fn groups(names: &[&str]) -> bool {
    names.iter().collect::<HashSet<_>>().len() < names.len()
}

/// The job of a training job's name. Names of training jobs are unique, so SageMaker's library and this table's append the
/// time of the start to the name of the job: `churn-2022-03-22-18-50-24-038` belongs to `churn`.
fn without_stamp<'a>(name: &'a str) -> &'a str {
    // Year, month, day, hour, minute and second; a fraction of a second may follow.
    let stamped = pattern!("^(?:(.*?)-+)?[0-9]{4}(?:-[0-9]{2}){5}(?:-[0-9]+)?$");
    let before = |found: Captures<'a>| or_unnamed(found.get(1).map_or("", |name| name.as_str()));
    stamped.captures(name).map_or(name, before)
}

/// `churn-3` and `churn_03` belong to `churn`.
fn without_counter(name: &str) -> &str {
    let start = name.trim_end_matches(|character: char| character.is_ascii_digit());
    or_unnamed(start.trim_end_matches(['-', '_']))
}

fn or_unnamed(name: &str) -> &str {
    if name.is_empty() { UNNAMED_JOB } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs(names: &[&str]) -> (Vec<String>, Option<String>) {
        jobs_of(&names.iter().map(|name| Some(*name)).collect::<Vec<_>>())
    }

    #[test]
    fn runs_of_one_job_are_found_by_the_name_before_the_time() {
        for (name, job) in [
            ("churn-2022-03-22-18-50-24-038", "churn"),
            ("churn-v2-2022-03-22-18-50-24", "churn-v2"),
            (
                "canary-training--job-2022-03-22-18-50-24-03891",
                "canary-training--job",
            ),
            ("churn", "churn"),
            ("churn-2022-03-22", "churn-2022-03-22"),
            ("2022-03-22-18-50-24-038", "canary-training"),
            ("größe-é-2022-03-22-18-50-24-1", "größe-é"),
        ] {
            assert_eq!(jobs(&[name]).0, [job], "{name}");
        }
    }

    #[test]
    fn names_that_group_rows_are_jobs() {
        let one_of_each = ["churn", "churn", "fraud"];
        assert_eq!(
            jobs(&one_of_each),
            (one_of_each.map(str::to_owned).to_vec(), None)
        );
        // Two rows are no forecast, together or apart.
        assert_eq!(jobs(&["churn", "fraud"]).0, ["churn", "fraud"]);
        assert_eq!(jobs_of(&[None; 3]), (vec![UNNAMED_JOB.to_owned(); 3], None));
    }

    #[test]
    fn counters_at_the_end_are_cut_where_that_groups_rows() {
        let (found, note) = jobs(&["churn-1", "churn-2", "fraud_03", "fraud_04", "fraud-5"]);
        assert_eq!(found, ["churn", "churn", "fraud", "fraud", "fraud"]);
        assert!(note.unwrap().contains("counter"));
        // A name that is used twice is a name, whatever its end.
        assert_eq!(
            jobs(&["resnet50", "resnet50", "resnet101"]).0[2],
            "resnet101"
        );
    }

    #[test]
    fn names_that_group_nothing_are_one_job() {
        let (found, note) = jobs(&["a1b2-x", "c3d4-y", "e5f6-z"]);
        assert_eq!(found, [UNNAMED_JOB; 3]);
        assert_eq!(
            note.unwrap(),
            "no two rows have the same job_name (`a1b2-x`, …), so all 3 are taken for one job; `--as-job NAME` names it"
        );
    }
}
