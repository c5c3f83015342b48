//! The `replay` backend: a recording stands in for the machine. Nothing is run; each recorded run is handed out once.

use std::cell::Cell;
use std::fmt::Write;

use super::{
    Backend, BackendError, BackendFuture, BackendKeys, CanaryResult, ListedData, Planned, Ready,
    Session, Watcher,
};
use crate::canary::{CanaryRun, ChannelData, DataObject, Dataset, Key, data_key, listing_digest};
use crate::forecast::{FEWEST_RUNS, FEWEST_SIZES};
use crate::instance::{Capacity, InstanceConfiguration, InstanceType, tables};
use crate::measurement::table::MeasurementTable;
use crate::measurement::{Measurement, Outcome, Phases, Usage};
use crate::plan::{LadderSize, NotMeasured, Plan, PlannedRuns};
use crate::spec::{BackendKind, Job};
use crate::units::{Bytes, Fraction, Percent, Seconds};

/// Objects of data whose number the recording does not say: enough for every whole per cent.
const ASSUMED_OBJECTS: u64 = 100;
/// More are not laid out: a recording may claim any number, and only their shares matter.
const MOST_OBJECTS: u64 = 100_000;
/// Shares that differ by less are the same, written in another way.
const SAME_SHARE: f64 = 1e-9;
/// Shares that differ by less may have been meant.
const NEAR_SHARE: f64 = 0.2;
/// More names help nobody.
const NAMES_SHOWN: usize = 10;

/// Hands out recorded runs.
///
/// What it gives depends on the recording and on the order of the questions alone.
#[derive(Debug)]
pub struct ReplayBackend {
    /// The recording's file, as the spec names it.
    file: String,
    /// In the order of the recording.
    runs: Vec<RecordedRun>,
    /// What was assumed or left out when it was read.
    notes: Vec<String>,
}

#[derive(Debug)]
struct RecordedRun {
    measurement: Measurement,
    is_used: Cell<bool>,
}

/// What the recording says of a job's data; the first run that says it counts.
struct DataSize {
    objects: Option<u64>,
    bytes: Option<Bytes>,
}

impl ReplayBackend {
    /// A recording read from `file`. Runs that were themselves replayed are left out: a gate that keeps its measurements
    /// in its own recording must not be fed its echo.
    pub fn new(file: impl Into<String>, recording: MeasurementTable) -> Self {
        let MeasurementTable {
            mut measurements,
            mut notes,
        } = recording;
        let all = measurements.len();
        measurements.retain(|run| run.backend != Some(BackendKind::Replay));
        let echoes = all - measurements.len();
        if echoes > 0 {
            notes.push(format!(
                "{echoes} runs of the recording were themselves replayed and are left out"
            ));
        }
        let runs = measurements.into_iter().map(|measurement| RecordedRun {
            measurement,
            is_used: Cell::new(false),
        });
        Self {
            file: file.into(),
            runs: runs.collect(),
            notes,
        }
    }

    /// What a reader of the job's forecast should know, as sentences without a capital.
    fn notes(&self, job: &Job) -> Vec<String> {
        let mut notes = vec![format!(
            "the runs are replayed from the recording `{}`; nothing is run",
            self.file
        )];
        notes.extend(self.notes.iter().cloned());
        match self.data_size(job).objects {
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

    /// Whether the recording says how large the job's data is; if not, the sizes of the listing say nothing.
    fn knows_bytes(&self, job: &Job) -> bool {
        self.data_size(job).bytes.is_some()
    }

    /// Fails unless the recording has all of `runs` left; they are of one configuration.
    ///
    /// A design that asks for its runs at once is held against it before the first.
    fn check(&self, job: &Job, runs: &[CanaryRun]) -> Result<(), BackendError> {
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
    fn check_ladder(
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

    /// The recorded runs of a job, in the order of the recording.
    fn of_job<'a>(&'a self, job: &'a Job) -> impl Iterator<Item = &'a RecordedRun> {
        self.runs
            .iter()
            .filter(|run| run.measurement.job == job.name)
    }

    /// Those of them that no canary was given yet, on one configuration.
    fn unused<'a>(
        &'a self,
        job: &'a Job,
        instance: &'a InstanceConfiguration,
    ) -> impl Iterator<Item = &'a RecordedRun> {
        self.of_job(job)
            .filter(|run| !run.is_used.get() && run.measurement.is_on(instance))
    }

    /// Those of one fraction and, where both say one, of one work level.
    fn left(
        &self,
        job: &Job,
        instance: &InstanceConfiguration,
        fraction: Fraction,
        work: Option<f64>,
    ) -> u32 {
        let left = self
            .unused(job, instance)
            .filter(|run| is_same(run.measurement.fraction, fraction))
            .filter(|run| is_same_work(run.measurement.work, work))
            .count();
        u32::try_from(left).unwrap_or(u32::MAX)
    }

    fn data_size(&self, job: &Job) -> DataSize {
        DataSize {
            objects: self
                .of_job(job)
                .find_map(|run| run.measurement.objects_total),
            bytes: self.of_job(job).find_map(|run| run.measurement.bytes_total),
        }
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

impl ReplayBackend {
    /// The recording names no objects, so there are as many in every sampled channel as it says the data has, of equal size;
    /// where it does not say, 100. Where it does not say how many bytes they hold, each counts as one byte. Of channels that
    /// are whole in every canary nothing is known.
    fn list(&self, job: &Job) -> Result<Dataset, BackendError> {
        if self.of_job(job).next().is_none() {
            let jobs = distinct(self.runs.iter().map(|run| run.measurement.job.clone()));
            return Err(BackendError::new(
                format!(
                    "recording: `{}` holds no run of job `{}`",
                    self.file, job.name
                ),
                match jobs.as_slice() {
                    [] => "record some: `canary-gate run --measurements FILE.jsonl`".to_owned(),
                    jobs => format!(
                        "it holds runs of {}; name the job as the recording does",
                        listed(jobs)
                    ),
                },
            ));
        }
        let size = self.data_size(job);
        let objects = size
            .objects
            .unwrap_or(ASSUMED_OBJECTS)
            .clamp(1, MOST_OBJECTS);
        let channels = &job.training.channels;
        let sampled = channels.iter().filter(|channel| channel.sample).count() as u64;
        let bytes = size.bytes.unwrap_or(Bytes(objects * sampled));
        let mut shares = equal_shares(bytes, objects * sampled);
        Ok(Dataset {
            channels: channels
                .iter()
                .map(|channel| ChannelData {
                    name: channel.name.clone(),
                    sampled: channel.sample,
                    objects: (0..if channel.sample { objects } else { 0 })
                        .zip(shares.by_ref())
                        .map(|(index, bytes)| DataObject {
                            key: format!("recorded-{index:06}"),
                            bytes,
                        })
                        .collect(),
                })
                .collect(),
        })
    }

    /// The first recorded run of this job, configuration and fraction that was not handed out before, as it was recorded,
    /// but ended at the limit of the run asked for.
    fn replay(&self, job: &Job, run: &CanaryRun) -> Result<CanaryResult, BackendError> {
        let found = self
            .unused(job, &run.instance)
            .filter(|recorded| is_same(recorded.measurement.fraction, run.fraction))
            .find(|recorded| {
                let asked = run.work.as_ref().map(|work| work.level);
                is_same_work(recorded.measurement.work, asked)
            });
        let Some(recorded) = found else {
            return Err(BackendError::new(
                format!(
                    "recording: `{}` has no run left of job `{}` on {} with {} of the data",
                    self.file,
                    job.name,
                    run.instance,
                    share(run.fraction),
                ),
                self.way_out(job, &run.instance, &[run.fraction]),
            ));
        };
        recorded.is_used.set(true);
        let measurement = Measurement {
            backend: Some(BackendKind::Replay),
            // A recording does not tell which script starts a cluster's groups.
            instance: run.instance.clone(),
            fraction: run.fraction,
            ..recorded.measurement.clone()
        };
        Ok(CanaryResult {
            measurement: match run.max_runtime {
                Some(limit) => within(limit, measurement),
                None => measurement,
            },
            log_tail: Vec::new(),
        })
    }
}

impl Backend for ReplayBackend {
    fn open<'a>(&'a self, job: &'a Job) -> BackendFuture<'a, Box<dyn Session<'a> + 'a>> {
        let job = ReplayJob {
            backend: self,
            job,
            code: None,
        };
        Box::pin(async move { Ok(Box::new(job) as Box<dyn Session<'a> + 'a>) })
    }
}

/// A job whose runs are handed out. It is ready when it is open.
#[derive(Debug)]
struct ReplayJob<'a> {
    backend: &'a ReplayBackend,
    job: &'a Job,
    /// Known when it is prepared.
    code: Option<Key>,
}

impl<'a> Session<'a> for ReplayJob<'a> {
    fn list(&mut self) -> BackendFuture<'_, ListedData> {
        let listing = self.backend.list(self.job).map(|dataset| ListedData {
            dataset,
            knows_bytes: self.backend.knows_bytes(self.job),
        });
        Box::pin(async { listing })
    }

    fn check_supply(&self, plan: &mut Plan) -> Result<Vec<BackendError>, BackendError> {
        let check = |instance: &InstanceConfiguration, runs: &PlannedRuns| match runs {
            PlannedRuns::Fixed(runs) => self.backend.check(self.job, runs),
            PlannedRuns::Ladder(sizes) => self.backend.check_ladder(self.job, instance, sizes),
        };
        check(&self.job.instance, &plan.runs)?;
        let mut given_up = Vec::new();
        for alternative in &mut plan.alternatives {
            if let Ok(runs) = &alternative.runs
                && let Err(error) = check(&alternative.instance, runs)
            {
                given_up.push(error);
                alternative.runs = Err(NotMeasured::CouldNotRun);
            }
        }
        Ok(given_up)
    }

    fn notes(&self) -> Vec<String> {
        self.backend.notes(self.job)
    }

    fn prepare<'p>(self: Box<Self>, planned: Planned<'p>) -> BackendFuture<'p, Box<dyn Ready + 'a>>
    where
        'a: 'p,
    {
        let code = planned.code;
        Box::pin(async move { Ok(Box::new(Self { code, ..*self }) as Box<dyn Ready + 'a>) })
    }
}

impl Ready for ReplayJob<'_> {
    /// The data of a recording are what it lists, so two recordings of the same sizes are of the same data, whatever times
    /// they hold.
    fn keys<'k>(&'k self, dataset: &'k Dataset) -> BackendFuture<'k, BackendKeys> {
        let channels = dataset.channels.iter().zip(&self.job.training.channels);
        let data = data_key(channels.map(|(data, channel)| {
            let digest = listing_digest(&channel.uri, &data.objects);
            (data.name.as_str(), digest)
        }));
        let keys = BackendKeys {
            code: self.code,
            data: Some(data),
            machine: None,
        };
        Box::pin(async { Ok(keys) })
    }

    /// What the tables know; this machine has no part in it.
    fn capacity(&self, kind: &InstanceType) -> Option<Capacity> {
        tables::capacity(kind)
    }

    fn supply(
        &self,
        instance: &InstanceConfiguration,
        fraction: Fraction,
        work: Option<f64>,
    ) -> Option<u32> {
        Some(self.backend.left(self.job, instance, fraction, work))
    }

    fn at_once(&self, _: &InstanceConfiguration) -> u32 {
        self.job.canary.parallel
    }

    fn notes(&self) -> Vec<String> {
        self.backend.notes(self.job)
    }

    /// It is at its end at once, so there is nothing to cancel.
    fn run<'r>(
        &'r self,
        run: &'r CanaryRun,
        _: &'r Watcher<'r>,
    ) -> BackendFuture<'r, Option<CanaryResult>> {
        let result = self.backend.replay(self.job, run);
        Box::pin(async { result.map(Some) })
    }
}

/// What a machine that ends the run at `limit` would have measured: of a longer run only that it took longer.
fn within(limit: Seconds, recorded: Measurement) -> Measurement {
    let took = recorded.time();
    if took.is_none_or(|took| took <= limit) {
        return recorded;
    }
    Measurement {
        outcome: Outcome::TimedOut,
        phases: Phases::default(),
        training_seconds: Some(limit),
        billable_seconds: Some(limit),
        usage: Usage::default(),
        hosts: Vec::new(),
        step_seconds: None,
        ended_at: None,
        notes: Vec::new(),
        ..recorded
    }
}

/// A run that says no level, or of which none is asked, serves for any.
fn is_same_work(recorded: Option<f64>, asked: Option<f64>) -> bool {
    match (recorded, asked) {
        (Some(recorded), Some(asked)) => recorded == asked,
        _ => true,
    }
}

fn is_same(one: Fraction, other: Fraction) -> bool {
    (one.0 - other.0).abs() < SAME_SHARE
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

/// A share with enough digits to tell it from others.
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

/// `bytes` over `count` objects, so that they sum up to it.
fn equal_shares(bytes: Bytes, count: u64) -> impl Iterator<Item = Bytes> {
    let (each, rest) = (bytes.0 / count.max(1), bytes.0 % count.max(1));
    (0..count).map(move |index| Bytes(each + u64::from(index < rest)))
}

#[cfg(test)]
mod tests;
