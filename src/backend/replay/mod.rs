//! The `replay` backend: a recording stands in for the machine. Nothing is run; each recorded run is handed out once.

use std::cell::Cell;
use std::collections::BTreeMap;

use async_trait::async_trait;

use super::{
    Backend, BackendKeys, BoxReady, BoxSession, CanaryResult, CanaryState, CanaryStep, JobNotes,
    ListedData, Planned, Ready, Room, Session, Watcher,
};
use crate::canary::{CanaryRun, ChannelData, DataObject, Dataset, data_key, listing_digest};
use crate::forecast::{FEWEST_RUNS, FEWEST_SIZES};
use crate::grammar::{distinct, first_of};
use crate::instance::InstanceConfiguration;
use crate::measurement::table::MeasurementTable;
use crate::measurement::{Measurement, Outcome, Phases, Usage};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::plan::{NotMeasured, Plan, PlannedRuns};
use crate::spec::{BackendKind, Channel, Job};
use crate::units::{Bytes, Fraction, Percent, Seconds};

/// Objects of data whose number the recording does not say: enough for every whole per cent.
const ASSUMED_OBJECTS: u64 = 100;
/// More are not laid out: a recording may claim any number, and only their shares matter.
const MOST_OBJECTS: u64 = 100_000;
/// Shares that differ by less are the same, written in another way.
const SAME_SHARE: f64 = 1e-9;
/// More names do not help.
const NAMES_SHOWN: usize = 10;
const RECORD: &str = "record more with `canary-gate run --measurements FILE.jsonl`";

/// A run of the recording, with whether it was handed out.
type Recorded = (Measurement, Cell<bool>);

/// Hands out recorded runs, each once: what it gives depends on the recording and on the order of the questions alone.
#[derive(Debug)]
pub struct ReplayBackend {
    /// The recording's file, as the spec names it.
    file: String,
    /// In the order of the recording.
    runs: Vec<Recorded>,
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
}

#[async_trait(?Send)]
impl Backend for ReplayBackend {
    async fn open<'a>(&'a self, job: &'a Job) -> OutsideResult<BoxSession<'a>> {
        Ok(Box::new(ReplayJob { backend: self, job }))
    }
}

/// A job whose runs are handed out. It is ready when it is open.
#[derive(Debug, Clone, Copy)]
struct ReplayJob<'a> {
    backend: &'a ReplayBackend,
    job: &'a Job,
}

impl<'a> ReplayJob<'a> {
    /// What a reader of the job's forecast should know, as sentences without a capital.
    fn sentences(&self) -> Vec<String> {
        let mut notes = vec![format!(
            "the runs are replayed from the recording `{}`; nothing is run",
            self.backend.file
        )];
        notes.extend(self.backend.notes.iter().cloned());
        let mut channels = self.job.training.channels.iter();
        let is_sampled = channels.any(|channel| channel.sample.is_drawn());
        match self.objects_total() {
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
    fn objects_total(&self) -> Option<u64> {
        self.runs().find_map(|(run, _)| run.objects_total)
    }

    /// The size of the job's data. Where the recording does not say it, the sizes of the listing say nothing.
    fn bytes_total(&self) -> Option<Bytes> {
        self.runs().find_map(|(run, _)| run.bytes_total)
    }

    /// The recording names no objects, so there are as many in every sampled channel as it says the data has, of equal size;
    /// where it does not say, 100. Where it does not say how many bytes they hold, each counts as one byte. Of channels that
    /// are whole in every canary nothing is known.
    ///
    /// # Errors
    ///
    /// Where the recording holds no run of the job.
    fn dataset(&self) -> OutsideResult<Dataset> {
        let Self { backend, job, .. } = self;
        if self.runs().next().is_none() {
            let help = match listed(backend.runs.iter().map(|(run, _)| run.job.clone())) {
                none if none.is_empty() => {
                    "record some: `canary-gate run --measurements FILE.jsonl`".to_owned()
                }
                jobs => format!("it holds runs of {jobs}; name the job as the recording does"),
            };
            let what = format!(
                "recording: `{}` holds no run of job `{}`",
                backend.file, job.name
            );
            return Err(OutsideError::of(what).help(help));
        }
        let objects = self.objects_total().unwrap_or(ASSUMED_OBJECTS);
        let objects = objects.clamp(1, MOST_OBJECTS);
        let channels = job.training.channels.iter();
        let is_drawn = |channel: &&Channel| channel.sample.is_drawn();
        let all = objects * channels.clone().filter(is_drawn).count() as u64;
        let bytes = self.bytes_total().unwrap_or(Bytes(all));
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

    /// The first recorded run of this configuration, fraction and work level that was not handed out before, as it was recorded, but
    /// ended at the limit of the run asked for.
    fn replay(&self, run: &CanaryRun) -> OutsideResult<Measurement> {
        let asked = run.work.as_ref().map(|work| work.level);
        let left = self.left(&run.instance, (run.fraction, asked));
        let (recorded, is_used) = left.first().ok_or_else(|| {
            let (name, share) = (&self.job.name, share(run.fraction));
            let lack = format!(
                "no run left of job `{name}` on {} with {share} of the data",
                run.instance
            );
            self.lacks(&lack)
        })?;
        is_used.set(true);
        let measurement = Measurement {
            backend: Some(BackendKind::Replay),
            // A recording does not say which script starts a cluster's groups.
            instance: run.instance.clone(),
            fraction: run.fraction,
            ..recorded.clone()
        };
        Ok(within(run.max_runtime, measurement))
    }

    /// Its recorded runs, each with whether it was handed out.
    fn runs(&self) -> impl Iterator<Item = &'a Recorded> + use<'a> {
        let (all, name) = (self.backend.runs.iter(), &self.job.name);
        all.filter(move |(run, _)| run.job == *name)
    }

    /// The runs that are left of one fraction and, where both say one, of one work level.
    fn left(&self, on: &InstanceConfiguration, of: (Fraction, Option<f64>)) -> Vec<&'a Recorded> {
        let (fraction, work) = of;
        let left = self.runs().filter(|(run, is_used)| {
            let is_meant = run.is_on(on) && is_same(run.fraction, fraction);
            let has_level = run.work.zip(work).is_none_or(|(had, asked)| had == asked);
            is_meant && has_level && !is_used.get()
        });
        left.collect()
    }

    /// Fails unless the recording has all runs of a fixed design left, or enough of a ladder's sizes for a forecast at all.
    fn check(&self, instance: &InstanceConfiguration, runs: &PlannedRuns) -> OutsideResult<()> {
        let left = |fraction| self.left(instance, (fraction, None)).len();
        let whose = format!("of job `{}` on {instance}", self.job.name);
        let lack = match runs {
            PlannedRuns::Fixed(runs) => {
                let short = runs.iter().find_map(|CanaryRun { fraction, .. }| {
                    let asked = runs.iter().filter(|one| is_same(one.fraction, *fraction));
                    let (asked, left) = (asked.count(), left(*fraction));
                    (left < asked).then(|| format!("{left} of {asked} with {}", share(*fraction)))
                });
                short.map(|short| {
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
        lack.map_or(Ok(()), |lack| Err(self.lacks(&lack)))
    }

    /// The error that says what the recording lacks, what it holds, and what a person can do.
    fn lacks(&self, what: &str) -> OutsideError {
        let held = self.runs();
        let held = held.map(|(run, _)| format!("on {} with {}", run.instance, share(run.fraction)));
        OutsideError::of(format!("recording: `{}` has {what}", self.backend.file)).help(format!(
            "its runs, each of which is used once, are {}; {RECORD}, or change `instance` or `canary`",
            listed(held)
        ))
    }
}

#[async_trait(?Send)]
impl<'a> Session<'a> for ReplayJob<'a> {
    async fn list(&mut self) -> OutsideResult<ListedData> {
        Ok(ListedData {
            dataset: self.dataset()?,
            knows_bytes: self.bytes_total().is_some(),
            notes: self.sentences(),
        })
    }

    fn check_supply(&self, plan: &mut Plan) -> OutsideResult<Vec<OutsideError>> {
        self.check(&self.job.instance, plan.runs())?;
        let mut given_up = Vec::new();
        for alternative in &mut plan.all[1..] {
            if let Ok(runs) = &alternative.runs
                && let Err(error) = self.check(&alternative.instance, runs)
            {
                given_up.push(error);
                alternative.runs = Err(NotMeasured::CouldNotRun);
            }
        }
        Ok(given_up)
    }

    async fn prepare(self: Box<Self>, _: Planned<'_>) -> OutsideResult<BoxReady<'a>> {
        Ok(self)
    }
}

#[async_trait(?Send)]
impl Ready for ReplayJob<'_> {
    /// The data of a recording are what it lists, so two recordings of the same sizes are of the same data, whatever times
    /// they hold.
    async fn keys(&self, dataset: &Dataset) -> OutsideResult<BackendKeys> {
        let channels = dataset.channels.iter().zip(&self.job.training.channels);
        let data = data_key(channels.map(|(data, channel)| {
            let digest = listing_digest(&channel.uri, &data.objects);
            (data.name.as_str(), digest)
        }));
        Ok(BackendKeys {
            data: Some(data),
            ..BackendKeys::default()
        })
    }

    fn supply(
        &self,
        instance: &InstanceConfiguration,
        fraction: Fraction,
        work: Option<f64>,
    ) -> Option<u32> {
        u32::try_from(self.left(instance, (fraction, work)).len()).ok()
    }

    fn room(&self, _: &InstanceConfiguration) -> Room {
        Room {
            at_once: self.job.canary.parallel.max(1),
            keep_alive: None,
            host: None,
        }
    }

    fn notes(&self) -> JobNotes {
        JobNotes {
            sentences: self.sentences(),
            lacks_probe: None,
        }
    }

    /// It is at its end at once, so there is nothing to cancel.
    async fn run<'r>(&'r self, run: &'r CanaryRun, _: &'r Watcher<'r>) -> CanaryStep<'r> {
        let measured = self.replay(run).map(|measurement| {
            CanaryState::Measured(Box::new(CanaryResult {
                measurement,
                ..CanaryResult::default()
            }))
        });
        measured.into()
    }
}

/// What a machine that ends the run at `limit` would have measured: of a longer run only that it took longer.
fn within(limit: Option<Seconds>, recorded: Measurement) -> Measurement {
    let is_longer = |limit: &Seconds| recorded.time().is_some_and(|took| took > *limit);
    let Some(limit) = limit.filter(is_longer) else {
        return recorded;
    };
    Measurement {
        outcome: Outcome::TimedOut,
        phases: Phases::default(),
        training_seconds: Some(limit),
        billable_seconds: Some(limit),
        usage: Usage::default(),
        hosts: Vec::new(),
        step_seconds: None,
        metrics: BTreeMap::new(),
        progress: recorded.progress.and_then(|progress| progress.until(limit)),
        ended_at: None,
        notes: Vec::new(),
        ..recorded
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

/// A share with enough digits to distinguish it from others.
fn share(fraction: Fraction) -> String {
    Percent((fraction.0 * 1e8).round() / 1e6).exact()
}

/// Each name once.
fn listed(names: impl Iterator<Item = String>) -> String {
    first_of(&distinct(names), NAMES_SHOWN)
}

#[cfg(test)]
mod tests;
