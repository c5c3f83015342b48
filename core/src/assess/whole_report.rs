//! The report over all jobs, and the entry of a job that could not be measured.

use crate::assess::row;
use crate::exit::{self, Strictness};
use crate::report::{self, InstanceForecast, JobPolicy, JobReport, Report, Spend};
use crate::spec::Job;
use crate::verdict::{self, Reason, Verdict};

/// The report over all jobs: the worst verdict, and the code of the worst that has one.
pub fn report(
    jobs: Vec<JobReport>,
    notes: Vec<String>,
    strictness: Strictness,
    now: jiff::Timestamp,
) -> Report {
    let verdicts: Vec<Verdict> = jobs.iter().map(|job| job.verdict).collect();
    Report {
        schema_version: report::SCHEMA_VERSION,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        generated_at: now,
        run_url: None,
        commit: None,
        spec_hash: None,
        subject: None,
        policy: None,
        verdict: verdict::worst(verdicts.iter().copied()),
        exit_code: exit::code_of_run(verdicts, [], strictness),
        jobs,
        notes,
        failures: Vec::new(),
    }
}

/// The entry of a job whose outcome is unknown.
pub fn unknown_report(
    job: &Job,
    affected_by: &[String],
    reason: &Reason,
    notes: Vec<String>,
) -> JobReport {
    JobReport {
        name: job.name.clone(),
        verdict: Verdict::Unknown,
        reason: reason.clone(),
        affected_by: affected_by.to_vec(),
        instance: job.instance.clone(),
        baseline: None,
        recommendation: None,
        forecasts: vec![InstanceForecast {
            verdict: Verdict::Unknown,
            ..row::nothing_known(&job.instance, &reason.to_string())
        }],
        measurements: Vec::new(),
        advice: Vec::new(),
        warnings: Vec::new(),
        notes,
        policy: JobPolicy::default(),
        drift: None,
        spend: Spend::default(),
    }
}
