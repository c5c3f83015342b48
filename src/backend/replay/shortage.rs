//! What a person reads where the recording lacks the runs that are asked for.

use std::fmt::Write;

use super::super::BackendError;
use super::recording::{RecordedRuns, is_same};
use crate::canary::CanaryRun;
use crate::forecast::{FEWEST_RUNS, FEWEST_SIZES};
use crate::instance::InstanceConfiguration;
use crate::plan::LadderSize;
use crate::spec::Job;
use crate::units::{Fraction, Percent};

/// Shares that differ by less may have been meant.
const NEAR_SHARE: f64 = 0.2;
/// More names do not help.
const NAMES_SHOWN: usize = 10;

impl RecordedRuns {
    /// Fails unless the recording has all of `runs` left; they are of one configuration.
    ///
    /// A design that asks for its runs at once is held against it before the first.
    pub(super) fn check(&self, job: &Job, runs: &[CanaryRun]) -> Result<(), BackendError> {
        let Some(first) = runs.first() else {
            return Ok(());
        };
        let instance = &first.instance;
        let asked = tally(runs.iter().map(|run| run.fraction));
        let short: Vec<String> = asked
            .iter()
            .map(|(fraction, asked)| (*fraction, *asked, self.left(job, instance, *fraction, None)))
            .filter(|(_, asked, left)| left < asked)
            .map(|(fraction, asked, left)| format!("{left} of {asked} with {}", share(fraction)))
            .collect();
        if short.is_empty() {
            return Ok(());
        }
        let what = format!(
            "recording: `{}` has fewer runs of job `{}` on {instance} than the design asks for: {} of the data",
            self.file,
            job.name,
            short.join(", "),
        );
        let fractions: Vec<Fraction> = asked.into_iter().map(|(fraction, _)| fraction).collect();
        Err(BackendError::new(
            what,
            self.way_out(job, instance, &fractions),
        ))
    }

    /// Fails unless the recording has enough runs of the ladder's sizes for a forecast at all.
    pub(super) fn check_ladder(
        &self,
        job: &Job,
        instance: &InstanceConfiguration,
        ladder: &[LadderSize],
    ) -> Result<(), BackendError> {
        let left: Vec<u32> = ladder
            .iter()
            .map(|size| self.left(job, instance, size.fraction, None))
            .filter(|left| *left > 0)
            .collect();
        if left.len() >= FEWEST_SIZES && left.iter().sum::<u32>() as usize >= FEWEST_RUNS {
            return Ok(());
        }
        let what = format!(
            "recording: `{}` has too few runs of job `{}` on {instance} for a forecast: {} on {} of the design's fractions, and {FEWEST_RUNS} on {FEWEST_SIZES} are needed",
            self.file,
            job.name,
            left.iter().sum::<u32>(),
            left.len(),
        );
        let fractions: Vec<Fraction> = ladder.iter().map(|size| size.fraction).collect();
        Err(BackendError::new(
            what,
            self.way_out(job, instance, &fractions),
        ))
    }

    /// What a person can do where a run is asked for that the recording does not have.
    fn way_out(&self, job: &Job, instance: &InstanceConfiguration, asked: &[Fraction]) -> String {
        const RECORD: &str =
            "record more with `canary-gate run --measurements FILE.jsonl`, or change `canary`";
        let left = tally(
            self.unused(job, instance)
                .map(|run| run.measurement.fraction),
        );
        if left.is_empty() {
            let others = distinct(
                self.of_job(job)
                    .map(|run| run.measurement.instance.to_string()),
            );
            return match others.contains(&instance.to_string()) {
                true => format!("every run on {instance} was used once; {RECORD}"),
                false => format!(
                    "its runs are on {}; choose the instance among them, or record more with `canary-gate run --measurements FILE.jsonl`",
                    listed(&others)
                ),
            };
        }
        let runs: Vec<String> = left
            .iter()
            .map(|(fraction, count)| match count {
                1 => format!("1 run with {}", share(*fraction)),
                count => format!("{count} runs with {}", share(*fraction)),
            })
            .collect();
        // A table of the seed library's form holds the share that was read, which is near the one asked for.
        let is_near = asked.iter().any(|asked| {
            !left.iter().any(|(known, _)| is_same(*known, *asked))
                && left
                    .iter()
                    .any(|(known, _)| (known.0 - asked.0).abs() < NEAR_SHARE * asked.0)
        });
        let mut help = format!("left on {instance}: {}; {RECORD}", listed(&runs));
        if is_near {
            let _ = write!(
                help,
                "; shares near those asked for are of a .csv that holds the share of the bytes: a .jsonl holds the one asked for"
            );
        }
        help
    }
}

/// The design asks for a run that the recording has no more.
pub(super) fn none_left(recording: &RecordedRuns, job: &Job, run: &CanaryRun) -> BackendError {
    let what = format!(
        "recording: `{}` has no run left of job `{}` on {} with {} of the data",
        recording.file,
        job.name,
        run.instance,
        share(run.fraction),
    );
    BackendError::new(what, recording.way_out(job, &run.instance, &[run.fraction]))
}

/// The recording knows the job not at all.
pub(super) fn no_run(recording: &RecordedRuns, job: &Job) -> BackendError {
    let jobs = distinct(recording.runs.iter().map(|run| run.measurement.job.clone()));
    BackendError::new(
        format!(
            "recording: `{}` holds no run of job `{}`",
            recording.file, job.name
        ),
        match jobs.as_slice() {
            [] => "record some: `canary-gate run --measurements FILE.jsonl`".to_owned(),
            jobs => format!(
                "it holds runs of {}; name the job as the recording does",
                listed(jobs)
            ),
        },
    )
}

/// Each fraction once, with how often it came, from small to large.
fn tally(fractions: impl Iterator<Item = Fraction>) -> Vec<(Fraction, u32)> {
    let mut counts: Vec<(Fraction, u32)> = Vec::new();
    for fraction in fractions {
        match counts
            .iter_mut()
            .find(|(known, _)| is_same(*known, fraction))
        {
            Some((_, count)) => *count += 1,
            None => counts.push((fraction, 1)),
        }
    }
    counts.sort_by(|(one, _), (other, _)| one.0.total_cmp(&other.0));
    counts
}

/// A share with enough digits to distinguish it from others.
fn share(fraction: Fraction) -> String {
    Percent((fraction.0 * 1e8).round() / 1e6).exact()
}

fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known: Vec<String> = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    known
}

fn listed(names: &[String]) -> String {
    match names.get(NAMES_SHOWN..) {
        Some(more) if !more.is_empty() => format!(
            "{} and {} more",
            names[..NAMES_SHOWN].join(", "),
            more.len()
        ),
        _ => names.join(", "),
    }
}
