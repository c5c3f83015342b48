//! The recorded runs that stand in for a machine, and what a person reads where they lack those that are asked for.

use std::cell::Cell;

use crate::canary::{CanaryRun, ChannelData, DataObject, Dataset};
use crate::forecast::{FEWEST_RUNS, FEWEST_SIZES};
use crate::instance::InstanceConfiguration;
use crate::measurement::Measurement;
use crate::measurement::table::MeasurementTable;
use crate::outside_error::OutsideError;
use crate::plan::PlannedRuns;
use crate::spec::{BackendKind, Channel, Job};
use crate::units::{Bytes, Fraction, Percent};

/// Objects of data whose number the recording does not say: enough for every whole per cent.
const ASSUMED_OBJECTS: u64 = 100;
/// More are not laid out: a recording may claim any number, and only their shares matter.
const MOST_OBJECTS: u64 = 100_000;
/// Shares that differ by less are the same, written in another way.
const SAME_SHARE: f64 = 1e-9;
/// More names do not help.
const NAMES_SHOWN: usize = 10;
const RECORD: &str = "record more with `canary-gate run --measurements FILE.jsonl`";

/// Hands out recorded runs, each once: what it gives depends on the recording and on the order of the questions alone.
#[derive(Debug)]
pub struct ReplayBackend {
    /// The recording's file, as the spec names it.
    file: String,
    /// In the order of the recording, each with whether it was handed out.
    runs: Vec<(Measurement, Cell<bool>)>,
    /// What was assumed or left out when it was read.
    notes: Vec<String>,
}

impl ReplayBackend {
    /// A recording read from `file`. Runs that were themselves replayed are left out: a gate that keeps its measurements
    /// in its own recording must not be fed its echo.
    pub fn new(file: impl Into<String>, table: MeasurementTable) -> Self {
        let MeasurementTable {
            mut measurements,
            mut notes,
            about_jobs,
        } = table;
        notes.extend(about_jobs);
        let all = measurements.len();
        measurements.retain(|run| run.backend != Some(BackendKind::Replay));
        let echoes = all - measurements.len();
        if echoes > 0 {
            notes.push(format!(
                "{echoes} runs of the recording were themselves replayed and are left out"
            ));
        }
        let runs = measurements.into_iter().map(|run| (run, Cell::default()));
        Self {
            file: file.into(),
            runs: runs.collect(),
            notes,
        }
    }

    /// What a reader of the job's forecast should know, as sentences without a capital.
    pub(super) fn notes(&self, job: &Job) -> Vec<String> {
        let mut notes = vec![format!(
            "the runs are replayed from the recording `{}`; nothing is run",
            self.file
        )];
        notes.extend(self.notes.iter().cloned());
        let mut channels = job.training.channels.iter();
        let is_sampled = channels.any(|channel| channel.sample.is_drawn());
        match self.objects_total(job) {
            _ if !is_sampled => {}
            None => notes.push(format!(
                "the recording does not say how many objects the data has; {ASSUMED_OBJECTS} of equal size are assumed"
            )),
            Some(objects) if objects > MOST_OBJECTS => notes.push(format!(
                "the recorded data has {objects} objects; {MOST_OBJECTS} of equal size stand for them in the plan"
            )),
            Some(_) => {}
        }
        notes
    }

    /// The number of objects of the job's data, by the first run that says it; `None` where no run does.
    fn objects_total(&self, job: &Job) -> Option<u64> {
        self.of_job(job).find_map(|run| run.objects_total)
    }

    /// The size of the job's data. Where the recording does not say it, the sizes of the listing say nothing.
    pub(super) fn bytes_total(&self, job: &Job) -> Option<Bytes> {
        self.of_job(job).find_map(|run| run.bytes_total)
    }

    /// The recording names no objects, so there are as many in every sampled channel as it says the data has, of equal size;
    /// where it does not say, 100. Where it does not say how many bytes they hold, each counts as one byte. Of channels that
    /// are whole in every canary nothing is known.
    ///
    /// # Errors
    ///
    /// Where the recording knows the job not at all.
    pub(super) fn dataset(&self, job: &Job) -> Result<Dataset, OutsideError> {
        if self.of_job(job).next().is_none() {
            let help = match listed(self.runs.iter().map(|(run, _)| run.job.clone())) {
                none if none.is_empty() => {
                    "record some: `canary-gate run --measurements FILE.jsonl`".to_owned()
                }
                jobs => format!("it holds runs of {jobs}; name the job as the recording does"),
            };
            let what = format!(
                "recording: `{}` holds no run of job `{}`",
                self.file, job.name
            );
            return Err(OutsideError::new(what, help));
        }
        let objects = self.objects_total(job).unwrap_or(ASSUMED_OBJECTS);
        let objects = objects.clamp(1, MOST_OBJECTS);
        let channels = job.training.channels.iter();
        let is_drawn = |channel: &&Channel| channel.sample.is_drawn();
        let all = objects * channels.clone().filter(is_drawn).count() as u64;
        let bytes = self.bytes_total(job).unwrap_or(Bytes(all));
        let mut shares = equal_shares(bytes, all);
        let recorded = channels.map(|channel| {
            let count = if is_drawn(&channel) { objects } else { 0 };
            let recorded = (0..count).zip(shares.by_ref());
            let objects = recorded.map(|(index, bytes)| DataObject {
                key: format!("recorded-{index:06}"),
                bytes,
            });
            ChannelData::new(&channel.name, is_drawn(&channel), objects.collect())
        });
        Ok(Dataset {
            channels: recorded.collect(),
        })
    }

    /// The first recorded run of this job, configuration, fraction and work level that was not handed out before.
    pub(super) fn take(&self, job: &Job, run: &CanaryRun) -> Result<&Measurement, OutsideError> {
        let asked = run.work.as_ref().map(|work| work.level);
        let mut left = self.left(job, &run.instance, run.fraction, asked);
        let (recorded, is_used) = left.next().ok_or_else(|| {
            let (name, share) = (&job.name, share(run.fraction));
            let lack = format!(
                "no run left of job `{name}` on {} with {share} of the data",
                run.instance
            );
            self.lacks(&lack, job, &run.instance)
        })?;
        is_used.set(true);
        Ok(recorded)
    }

    fn of_job<'a>(&'a self, job: &Job) -> impl Iterator<Item = &'a Measurement> {
        let all = self.runs.iter().map(|(run, _)| run);
        all.filter(|run| run.job == job.name)
    }

    /// The runs of a job on one configuration that no canary was given yet, in the order of the recording.
    fn unused<'a>(
        &'a self,
        job: &Job,
        instance: &InstanceConfiguration,
    ) -> impl Iterator<Item = &'a (Measurement, Cell<bool>)> {
        self.runs
            .iter()
            .filter(|(run, is_used)| run.job == job.name && run.is_on(instance) && !is_used.get())
    }

    /// The runs that are left of one fraction and, where both say one, of one work level.
    pub(super) fn left<'a>(
        &'a self,
        job: &Job,
        instance: &InstanceConfiguration,
        fraction: Fraction,
        work: Option<f64>,
    ) -> impl Iterator<Item = &'a (Measurement, Cell<bool>)> {
        self.unused(job, instance).filter(move |(run, _)| {
            is_same(run.fraction, fraction)
                && (run.work.zip(work)).is_none_or(|(recorded, asked)| recorded == asked)
        })
    }

    /// Fails unless the recording has all runs of a fixed design left, or enough of a ladder's sizes for a forecast at all.
    pub(super) fn check(
        &self,
        job: &Job,
        instance: &InstanceConfiguration,
        runs: &PlannedRuns,
    ) -> Result<(), OutsideError> {
        let left = |fraction| self.left(job, instance, fraction, None).count();
        let whose = format!("of job `{}` on {instance}", job.name);
        let lack = match runs {
            PlannedRuns::Fixed(runs) => {
                let asked = tally(runs.iter().map(|run| run.fraction));
                let short = asked.into_iter().filter_map(|(fraction, asked)| {
                    let left = left(fraction);
                    (left < asked).then(|| format!("{left} of {asked} with {}", share(fraction)))
                });
                let short = Vec::from_iter(short).join(", ");
                (!short.is_empty()).then(|| {
                    format!("fewer runs {whose} than the design asks for: {short} of the data")
                })
            }
            PlannedRuns::Ladder(sizes) => {
                let left = sizes.iter().map(|size| left(size.fraction));
                let left: Vec<usize> = left.filter(|left| *left > 0).collect();
                let (runs, sizes) = (left.iter().sum::<usize>(), left.len());
                (sizes < FEWEST_SIZES || runs < FEWEST_RUNS).then(|| format!(
                    "too few runs {whose} for a forecast: {runs} on {sizes} of the design's fractions, and {FEWEST_RUNS} on {FEWEST_SIZES} are needed"
                ))
            }
        };
        lack.map_or(Ok(()), |lack| Err(self.lacks(&lack, job, instance)))
    }

    /// The error that says what the recording lacks, what it has, and what a person can do.
    fn lacks(&self, what: &str, job: &Job, instance: &InstanceConfiguration) -> OutsideError {
        let left = tally(self.unused(job, instance).map(|(run, _)| run.fraction));
        let mut of_job = self.of_job(job);
        let help = if !left.is_empty() {
            let runs = left.into_iter().map(|(fraction, count)| match count {
                1 => format!("1 run with {}", share(fraction)),
                count => format!("{count} runs with {}", share(fraction)),
            });
            format!(
                "left on {instance}: {}; {RECORD}, or change `canary`",
                listed(runs)
            )
        } else if of_job.any(|run| run.is_on(instance)) {
            format!("every run on {instance} was used once; {RECORD}, or change `canary`")
        } else {
            let others = self.of_job(job).map(|run| run.instance.to_string());
            format!(
                "its runs are on {}; choose the instance among them, or {RECORD}",
                listed(others)
            )
        };
        OutsideError::new(format!("recording: `{}` has {what}", self.file), help)
    }
}

fn is_same(one: Fraction, other: Fraction) -> bool {
    (one.0 - other.0).abs() < SAME_SHARE
}

/// `bytes` over `count` objects, so that they sum up to it.
fn equal_shares(bytes: Bytes, count: u64) -> impl Iterator<Item = Bytes> {
    let (each, rest) = (bytes.0 / count.max(1), bytes.0 % count.max(1));
    (0..count).map(move |index| Bytes(each + u64::from(index < rest)))
}

/// Each fraction once, with how often it came, from small to large.
fn tally(fractions: impl Iterator<Item = Fraction>) -> Vec<(Fraction, usize)> {
    let mut all: Vec<Fraction> = fractions.collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let same = all.chunk_by(|one, other| is_same(*one, *other));
    same.map(|same| (same[0], same.len())).collect()
}

/// A share with enough digits to distinguish it from others.
fn share(fraction: Fraction) -> String {
    Percent((fraction.0 * 1e8).round() / 1e6).exact()
}

/// Each name once.
fn listed(names: impl Iterator<Item = String>) -> String {
    let mut known: Vec<String> = Vec::new();
    for name in names {
        if !known.contains(&name) {
            known.push(name);
        }
    }
    match known.len().saturating_sub(NAMES_SHOWN) {
        0 => known.join(", "),
        more => format!("{} and {more} more", known[..NAMES_SHOWN].join(", ")),
    }
}
