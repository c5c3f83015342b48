//! The report over all jobs, and the entry of a job that could not be measured.

use crate::assess::row;
use crate::exit::Strictness;
use crate::instance::Offer;
use crate::report::{self, InstanceForecast, JobReport, Report};
use crate::spec::Job;
use crate::verdict::{self, Reason, Verdict};

/// The report over all jobs: the worst verdict, and the code of the worst that has one.
pub fn report(
    jobs: Vec<JobReport>,
    notes: Vec<String>,
    strictness: Strictness,
    now: jiff::Timestamp,
) -> Report {
    Report {
        generated_at: now,
        verdict: verdict::worst(jobs.iter().map(|job| job.verdict)),
        exit_code: report::exit_code(&jobs, [], strictness),
        jobs,
        notes,
        ..Report::begun()
    }
}

/// The entry of a job whose outcome is unknown.
pub fn unknown_report(job: &Job, by: &[String], reason: &Reason, notes: Vec<String>) -> JobReport {
    JobReport {
        name: job.name.clone(),
        verdict: Verdict::Unknown,
        reason: reason.clone(),
        affected_by: by.to_vec(),
        instance: job.instance.clone(),
        ranking: job.ranking,
        forecasts: vec![InstanceForecast {
            instance: job.instance.clone(),
            groups: row::groups(&Offer::unknown(&job.instance)),
            verdict: Verdict::Unknown,
            not_measured: Some(reason.to_string()),
            ..InstanceForecast::default()
        }],
        notes,
        ..JobReport::default()
    }
}
