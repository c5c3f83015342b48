//! Reports of parallel parts, made into one: `report --from a.json b.json`.

use std::collections::HashMap;

use super::consistent::make_consistent;
use super::words::distinct;
use super::{Report, SCHEMA_VERSION};
use crate::exit;
use crate::outside_error::{OutsideError, OutsideResult};

const HELP: &str = "each job belongs in one part; name each part once";

/// One report with the jobs of all parts, in the order of the parts. Its verdict is the worst, its exit code that of
/// the worst outcome whose code is not 0. What differs between the parts is left out and noted.
///
/// # Errors
///
/// There is no part; one job has two answers, and nothing says which one counts; or two parts are of two commits. Parts are counted
/// from 1, in the order given.
pub fn merge(mut parts: Vec<Report>) -> OutsideResult<Report> {
    refuse_duplicates(&parts)?;
    refuse_other_commits(&parts)?;
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
        return Err(OutsideError::of("no report was given").help(HELP));
    };
    let exit_code = exit::worst(&parts.iter().map(|part| part.exit_code).collect::<Vec<_>>());
    let mut common = |what, value: fn(&Report) -> Option<&str>| {
        let common = all_equal(parts.iter().map(value));
        if common.is_none() {
            notes.push(format!("the parts come from different {what}"));
        }
        common.flatten().map(str::to_owned)
    };
    // A part may not name its commit.
    let commit = common("commits", |part| part.commit.as_deref());
    let spec_hash = common("specs", |part| part.spec_hash.as_deref());
    let tool_version = common("versions of canary-gate", |part| Some(&part.tool_version));
    let subject = all_equal(parts.iter().map(|part| &part.subject)).cloned();
    let policy = all_equal(parts.iter().map(|part| &part.policy)).cloned();
    if policy.is_none() {
        notes.push("the parts were judged by different policies".to_owned());
    }
    let run_url = all_equal(parts.iter().map(|part| &part.run_url)).cloned();
    // Said once where several parts say it.
    let said = parts.iter_mut().map(|part| std::mem::take(&mut part.notes));
    let notes = distinct(notes.into_iter().chain(said.flatten()));
    Ok(Report {
        schema_version: SCHEMA_VERSION,
        tool_version: tool_version.unwrap_or_else(|| "mixed".to_owned()),
        generated_at,
        run_url: run_url.flatten(),
        commit,
        spec_hash,
        subject: subject.flatten(),
        policy: policy.flatten(),
        verdict,
        exit_code,
        notes,
        failures: (parts.iter_mut())
            .flat_map(|part| std::mem::take(&mut part.failures))
            .collect(),
        jobs: parts.into_iter().flat_map(|part| part.jobs).collect(),
    })
}

fn refuse_duplicates(parts: &[Report]) -> OutsideResult<()> {
    let mut seen = HashMap::new();
    for (second, part) in (1..).zip(parts) {
        for job in &part.jobs {
            if let Some(first) = seen.insert(&job.name, second) {
                let job = &job.name;
                return Err(OutsideError::of(format!(
                    "job `{job}` is in report {first} and again in report {second}; give each job once"
                ))
                .help(HELP));
            }
        }
    }
    Ok(())
}

/// A change is judged by what all of its jobs take at one commit.
fn refuse_other_commits(parts: &[Report]) -> OutsideResult<()> {
    let mut known = parts.iter().filter_map(|part| part.commit.as_deref());
    let first = known.next();
    match first.zip(known.find(|other| Some(*other) != first)) {
        Some((first, second)) => Err(OutsideError::of(format!(
            "one report is of commit {first}, and another is of {second}"
        ))
        .help("measure all parts on one commit")),
        None => Ok(()),
    }
}

fn all_equal<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;
    use crate::report::JobReport;
    use crate::verdict::Verdict;

    /// A sample with this verdict of its first job and this code.
    fn edited(name: &str, verdict: Verdict, code: u8) -> Report {
        let mut report = samples::of(name);
        (report.verdict, report.exit_code) = (verdict, code);
        report.jobs[0] = JobReport {
            verdict,
            name: name.to_owned(),
            ..report.jobs[0].clone()
        };
        report
    }

    #[test]
    fn the_worst_verdict_and_the_worst_code_decide_whatever_a_part_says_of_itself() {
        use Verdict::{AtRisk, Exceeded, Unknown, Within};
        let within = edited("within", Within, 0);
        for (parts, verdict, code, notes) in [
            (
                vec![within.clone(), samples::of("over-budget")],
                Exceeded,
                10,
                0,
            ),
            // Its rows say more.
            (
                vec![within.clone(), edited("over-budget", Within, 0)],
                Exceeded,
                10,
                1,
            ),
            // Unknown with `on_inconclusive: pass` is worse than at risk under `--strict`, but ends with 0.
            (
                vec![edited("unknown", Unknown, 0), edited("within", AtRisk, 11)],
                Unknown,
                11,
                0,
            ),
            (
                vec![within.clone(), edited("drifted", Within, 0)],
                Within,
                12,
                1,
            ),
            (vec![edited("drifted", Unknown, 14)], Unknown, 14, 0),
            (
                vec![edited("not_drifted", Within, 0), samples::of("over-budget")],
                Exceeded,
                10,
                0,
            ),
        ] {
            let merged = merge(parts).unwrap();
            let found = (merged.verdict, merged.exit_code, merged.notes.len());
            assert_eq!(found, (verdict, code, notes));
        }
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
        let nothing = merge(Vec::new()).unwrap_err();
        assert_eq!(nothing.to_string(), "no report was given");
    }

    #[test]
    fn what_differs_is_left_out_and_noted() {
        let mut other = samples::of("within");
        other.commit = None;
        let merged = merge(vec![samples::of("over-budget"), other]).unwrap();
        assert_eq!(merged.commit, None);
        assert_eq!(merged.notes, ["the parts come from different commits"]);
        assert_eq!(merged.spec_hash, samples::of("over-budget").spec_hash);
    }

    #[test]
    fn parts_of_two_commits_are_no_report() {
        let mut other = samples::of("within");
        other.commit = Some("0000000111111122222223333333444444455555".to_owned());
        let error = merge(vec![samples::of("over-budget"), other]).unwrap_err();
        insta::assert_snapshot!(error, @"one report is of commit 3f9c2e1d8a7054b6c1f2e3d4a5b6c7d8e9f0a1b2, and another is of 0000000111111122222223333333444444455555");
    }

    #[test]
    fn one_part_stays_as_it_is() {
        for (name, report) in samples::all() {
            assert_eq!(merge(vec![report.clone()]).unwrap(), report, "{name}");
        }
    }
}
