//! Reports of parallel parts, made into one: `report --from a.json b.json`.

use std::collections::HashMap;

use super::consistent::make_consistent;
use super::{Report, SCHEMA_VERSION};
use crate::exit;

/// The parts do not make one report. Parts are counted from 1, in the order given.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    #[error("no report was given")]
    Nothing,
    /// One job has two answers, and nothing says which one counts.
    #[error("job `{job}` is in report {first} and again in report {second}; give each job once")]
    DuplicateJob {
        job: String,
        first: usize,
        second: usize,
    },
}

/// One report with the jobs of all parts, in the order of the parts. Its verdict is the worst, its exit code that of
/// the worst outcome whose code is not 0. What differs between the parts is left out and noted.
pub fn merge(mut parts: Vec<Report>) -> Result<Report, MergeError> {
    refuse_duplicates(&parts)?;
    let mut notes = Vec::new();
    for (number, part) in (1..).zip(&mut parts) {
        if make_consistent(part) {
            notes.push(format!(
                "the verdict or the exit code of report {number} contradicted its rows and was computed again"
            ));
        }
    }
    let verdict = parts.iter().map(|part| part.verdict).min();
    let generated_at = parts.iter().map(|part| part.generated_at).max();
    let (Some(verdict), Some(generated_at)) = (verdict, generated_at) else {
        return Err(MergeError::Nothing);
    };
    let exit_code = exit::worst(&parts.iter().map(|part| part.exit_code).collect::<Vec<_>>());
    let commit = common(&parts, |part| part.commit.as_deref(), "commits", &mut notes);
    let spec_hash = common(
        &parts,
        |part| part.spec_hash.as_deref(),
        "specs",
        &mut notes,
    );
    let tool_version = common(
        &parts,
        |part| Some(&part.tool_version),
        "versions of canary-gate",
        &mut notes,
    );
    let policies: Vec<_> = parts.iter().map(|part| part.policy.clone()).collect();
    let policy = match all_equal(&policies) {
        Some(policy) => policy.clone(),
        None => {
            notes.push("the parts were judged by different policies".to_owned());
            None
        }
    };
    let run_urls: Vec<_> = parts.iter().map(|part| part.run_url.clone()).collect();
    let run_url = all_equal(&run_urls).cloned().flatten();
    let mut jobs = Vec::new();
    let mut failures = Vec::new();
    for part in parts {
        // Said once where several parts say it.
        for note in part.notes {
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        jobs.extend(part.jobs);
        failures.extend(part.failures);
    }
    Ok(Report {
        schema_version: SCHEMA_VERSION,
        tool_version: tool_version.unwrap_or_else(|| "mixed".to_owned()),
        generated_at,
        run_url,
        commit,
        spec_hash,
        policy,
        verdict,
        exit_code,
        jobs,
        notes,
        failures,
    })
}

fn refuse_duplicates(parts: &[Report]) -> Result<(), MergeError> {
    let mut seen: HashMap<&str, usize> = HashMap::new();
    for (number, part) in (1..).zip(parts) {
        for job in &part.jobs {
            if let Some(first) = seen.insert(&job.name, number) {
                return Err(MergeError::DuplicateJob {
                    job: job.name.clone(),
                    first,
                    second: number,
                });
            }
        }
    }
    Ok(())
}

/// The value where all parts have the same; otherwise none, and a note that names them all.
fn common(
    parts: &[Report],
    value: impl Fn(&Report) -> Option<&str>,
    what: &str,
    notes: &mut Vec<String>,
) -> Option<String> {
    let values: Vec<Option<&str>> = parts.iter().map(value).collect();
    if let Some(value) = all_equal(&values) {
        return value.map(str::to_owned);
    }
    let mut named: Vec<String> = Vec::new();
    for value in values {
        let short: String = value.unwrap_or("none").chars().take(12).collect();
        if !named.contains(&short) {
            named.push(short);
        }
    }
    notes.push(format!(
        "the parts come from different {what}: {}",
        named.join(", ")
    ));
    None
}

fn all_equal<T: PartialEq>(values: &[T]) -> Option<&T> {
    let first = values.first()?;
    values.iter().all(|value| value == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::verdict::Verdict;

    #[test]
    fn the_worst_part_decides() {
        let merged = merge(vec![samples::of("within"), samples::of("over-budget")]).unwrap();
        assert_eq!(merged.verdict, Verdict::Exceeded);
        assert_eq!(merged.exit_code, 10);
        let names: Vec<&str> = merged.jobs.iter().map(|job| job.name.as_str()).collect();
        assert_eq!(names, ["digits", "churn"]);
    }

    #[test]
    fn a_verdict_that_passes_does_not_hide_a_code_that_fails() {
        // Unknown with `on_inconclusive: pass` is worse than at risk under `--strict`, but ends with 0.
        let mut passing = samples::of("unknown");
        passing.exit_code = 0;
        let mut strict = samples::of("within");
        strict.verdict = Verdict::AtRisk;
        strict.jobs[0].verdict = Verdict::AtRisk;
        strict.exit_code = 11;
        let merged = merge(vec![passing, strict]).unwrap();
        assert_eq!((merged.verdict, merged.exit_code), (Verdict::Unknown, 11));
    }

    #[test]
    fn a_part_that_contradicts_its_jobs_is_set_right_and_says_so() {
        let mut edited = samples::of("over-budget");
        (edited.verdict, edited.exit_code) = (Verdict::Within, 0);
        let merged = merge(vec![samples::of("within"), edited]).unwrap();
        assert_eq!((merged.verdict, merged.exit_code), (Verdict::Exceeded, 10));
        assert_eq!(
            merged.notes,
            [
                "the verdict or the exit code of report 2 contradicted its rows and was computed again"
            ]
        );
    }

    #[test]
    fn a_job_that_drifted_has_its_code_below_what_is_unknown() {
        let mut edited = samples::of("drifted");
        edited.exit_code = 0;
        let merged = merge(vec![samples::of("within"), edited.clone()]).unwrap();
        assert_eq!((merged.verdict, merged.exit_code), (Verdict::Within, 12));
        assert_eq!(merged.notes.len(), 1);
        edited.exit_code = 14;
        edited.verdict = Verdict::Unknown;
        edited.jobs[0].verdict = Verdict::Unknown;
        assert_eq!(merge(vec![edited]).unwrap().exit_code, 14);
        let mut fine = samples::of("not_drifted");
        fine.jobs[0].name = "ranker".to_owned();
        assert_eq!(
            merge(vec![samples::of("over-budget"), fine])
                .unwrap()
                .exit_code,
            10
        );
    }

    #[test]
    fn a_job_given_twice_is_an_error_that_names_both() {
        let parts = vec![
            samples::of("over-budget"),
            samples::of("within"),
            samples::of("over-budget"),
        ];
        let error = merge(parts).unwrap_err();
        assert_eq!(
            error.to_string(),
            "job `churn` is in report 1 and again in report 3; give each job once"
        );
        assert_eq!(merge(Vec::new()), Err(MergeError::Nothing));
    }

    #[test]
    fn what_differs_is_left_out_and_noted() {
        let mut other = samples::of("within");
        other.commit = Some("0000000111111122222223333333444444455555".to_owned());
        let merged = merge(vec![samples::of("over-budget"), other]).unwrap();
        assert_eq!(merged.commit, None);
        assert_eq!(
            merged.notes,
            ["the parts come from different commits: 3f9c2e1d8a70, 000000011111"]
        );
        assert_eq!(merged.spec_hash, samples::of("over-budget").spec_hash);
    }

    #[test]
    fn one_part_stays_as_it_is() {
        for (name, report) in samples::all() {
            assert_eq!(merge(vec![report.clone()]), Ok(report), "{name}");
        }
    }
}
