//! A drift check compared with those before it.

use crate::drift::{self, CheckRecord};
use crate::measurement;
use crate::report::{InstanceForecast, JobReport};
use crate::spec::{Job, TrainingSettings};
use crate::verdict::{Reason, Verdict};

/// Compares this check, which is complete, with the earlier ones; `this` has what the report does not say of it. Returns whether
/// this check is the new baseline: that is so where it is the first on the job's instance.
pub fn hold_against_earlier(
    job: &Job,
    earlier: &[CheckRecord],
    this: CheckRecord,
    report: &mut JobReport,
) -> bool {
    if report.may_have_failed() {
        report.verdict = report.verdict.min(Verdict::Unknown);
        let why = "a canary printed an error last, so its work may have failed, and no check can be held against it";
        report.reason = Reason::new(why).advising(measurement::LET_IT_FAIL);
        return false;
    }
    let Some(baseline) = earlier.first() else {
        let why = "the first check for drift; it is the baseline of those to come";
        not_judged(report, why);
        return true;
    };
    if let Some(before) = &baseline.instance
        && !before.is_same_machines(&job.instance)
    {
        let reason = format!(
            "the first check for drift on {}, before it was {}; it is the baseline of those to come",
            job.instance, before
        );
        not_judged(report, &reason);
        return true;
    }
    report.notes.extend(what_else_differs(baseline, &this));
    let own = report.forecasts.first();
    let today = CheckRecord {
        instance: Some(report.instance.clone()),
        settings: Some(TrainingSettings::of(job)),
        measurements: measurement::on(&report.measurements, &report.instance),
        price: own.and_then(InstanceForecast::usd_per_hour),
        ..this
    };
    let series: Vec<&CheckRecord> = earlier.iter().chain([&today]).collect();
    add(job, &series, report);
    false
}

/// No drift is judged. A budget that is not kept is.
fn not_judged(report: &mut JobReport, reason: &str) {
    if report.verdict < Verdict::Within {
        report.notes.push(reason.to_owned());
        return;
    }
    report.verdict = Verdict::NotJudged;
    report.reason = Reason::new(reason);
    if let Some(row) = report.forecasts.first_mut() {
        row.verdict = Verdict::NotJudged;
    }
}

/// Whether code and machine differ from the baseline's: possible causes of a difference.
fn what_else_differs(baseline: &CheckRecord, this: &CheckRecord) -> Vec<String> {
    let mut notes = Vec::new();
    if let (Some(theirs), Some(ours)) = (&baseline.code_key, &this.code_key) {
        notes.push(match theirs == ours {
            true => "the code is the same as that of the baseline".to_owned(),
            false => "the code is another than that of the baseline".to_owned(),
        });
    }
    if let (Some(theirs), Some(ours)) = (&baseline.machine, &this.machine)
        && theirs != ours
    {
        notes.push(format!(
            "the baseline was measured on another machine ({theirs}), so a difference may be the machine's"
        ));
    }
    notes
}

/// Adds the drift of a series to the report of its last check.
fn add(job: &Job, series: &[&CheckRecord], report: &mut JobReport) {
    match drift::check(series, &job.drift, job.budget.certainty) {
        Ok(found) => {
            report.drift = found;
            if report.has_drifted() && report.verdict == Verdict::NotJudged {
                let why = "a full run takes more than the drift policy allows";
                report.reason = Reason::new(why);
            }
        }
        Err(unknown) => {
            report.verdict = report.verdict.min(Verdict::Unknown);
            report.reason = Reason::new(format!("drift is unknown: {unknown}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_the_baseline_besides_the_training_is_said_where_both_sides_know_it() {
        let notes = |theirs: [Option<&str>; 2], ours: [Option<&str>; 2]| {
            let [baseline, this] = [theirs, ours].map(|known| {
                let [code_key, machine] = known.map(|text| text.map(str::to_owned));
                CheckRecord {
                    code_key,
                    machine,
                    ..CheckRecord::default()
                }
            });
            what_else_differs(&baseline, &this)
        };
        let same = [Some("code"), Some("here")];
        assert_eq!(
            notes(same, same),
            ["the code is the same as that of the baseline"]
        );
        assert_eq!(
            notes([Some("older code"), Some("there")], same),
            [
                "the code is another than that of the baseline",
                "the baseline was measured on another machine (there), so a difference may be the machine's"
            ]
        );
        assert_eq!(notes([None, None], same), Vec::<String>::new());
        assert_eq!(notes(same, [None, None]), Vec::<String>::new());
    }
}
