//! The recorded runs that stand in for a machine.

use std::cell::Cell;

use crate::canary::{CanaryRun, ChannelData, DataObject, Dataset};
use crate::instance::InstanceConfiguration;
use crate::measurement::Measurement;
use crate::measurement::table::MeasurementTable;
use crate::spec::{BackendKind, Job};
use crate::units::{Bytes, Fraction};

/// Objects of data whose number the recording does not say: enough for every whole per cent.
const ASSUMED_OBJECTS: u64 = 100;
/// More are not laid out: a recording may claim any number, and only their shares matter.
const MOST_OBJECTS: u64 = 100_000;
/// Shares that differ by less are the same, written in another way.
const SAME_SHARE: f64 = 1e-9;

/// Recorded runs, each handed out once.
#[derive(Debug)]
pub(super) struct RecordedRuns {
    /// The recording's file, as the spec names it.
    pub(super) file: String,
    /// In the order of the recording.
    pub(super) runs: Vec<RecordedRun>,
    /// What was assumed or left out when it was read.
    notes: Vec<String>,
}

#[derive(Debug)]
pub(super) struct RecordedRun {
    pub(super) measurement: Measurement,
    is_used: Cell<bool>,
}

/// What the recording says of a job's data; the first run that says it counts.
struct DataSize {
    objects: Option<u64>,
    bytes: Option<Bytes>,
}

impl RecordedRuns {
    /// A recording read from `file`. Runs that were themselves replayed are left out: a gate that keeps its measurements
    /// in its own recording must not be fed its echo.
    pub(super) fn new(file: String, table: MeasurementTable) -> Self {
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
        let runs = measurements.into_iter().map(|measurement| RecordedRun {
            measurement,
            is_used: Cell::new(false),
        });
        Self {
            file,
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
        if !channels.any(|channel| channel.sample.is_drawn()) {
            return notes;
        }
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
    pub(super) fn knows_bytes(&self, job: &Job) -> bool {
        self.data_size(job).bytes.is_some()
    }

    /// The recording names no objects, so there are as many in every sampled channel as it says the data has, of equal size;
    /// where it does not say, 100. Where it does not say how many bytes they hold, each counts as one byte. Of channels that
    /// are whole in every canary nothing is known.
    pub(super) fn dataset(&self, job: &Job) -> Dataset {
        let size = self.data_size(job);
        let objects = size
            .objects
            .unwrap_or(ASSUMED_OBJECTS)
            .clamp(1, MOST_OBJECTS);
        let channels = &job.training.channels;
        let sampled = channels
            .iter()
            .filter(|channel| channel.sample.is_drawn())
            .count() as u64;
        let bytes = size.bytes.unwrap_or(Bytes(objects * sampled));
        let mut shares = equal_shares(bytes, objects * sampled);
        Dataset {
            channels: channels
                .iter()
                .map(|channel| {
                    let is_drawn = channel.sample.is_drawn();
                    let count = if is_drawn { objects } else { 0 };
                    let recorded = (0..count).zip(shares.by_ref());
                    let objects = recorded.map(|(index, bytes)| DataObject {
                        key: format!("recorded-{index:06}"),
                        bytes,
                    });
                    ChannelData::new(&channel.name, is_drawn, objects.collect())
                })
                .collect(),
        }
    }

    /// The first recorded run of this job, configuration, fraction and work level that was not handed out before.
    pub(super) fn take(&self, job: &Job, run: &CanaryRun) -> Option<&Measurement> {
        let asked = run.work.as_ref().map(|work| work.level);
        let recorded = self
            .unused(job, &run.instance)
            .filter(|recorded| is_same(recorded.measurement.fraction, run.fraction))
            .find(|recorded| is_same_work(recorded.measurement.work, asked))?;
        recorded.is_used.set(true);
        Some(&recorded.measurement)
    }

    /// The recorded runs of a job, in the order of the recording.
    pub(super) fn of_job<'a>(&'a self, job: &Job) -> impl Iterator<Item = &'a RecordedRun> {
        self.runs
            .iter()
            .filter(|run| run.measurement.job == job.name)
    }

    /// Those of them that no canary was given yet, on one configuration.
    pub(super) fn unused<'a>(
        &'a self,
        job: &Job,
        instance: &InstanceConfiguration,
    ) -> impl Iterator<Item = &'a RecordedRun> {
        self.of_job(job)
            .filter(|run| !run.is_used.get() && run.measurement.is_on(instance))
    }

    /// Those of one fraction and, where both say one, of one work level.
    pub(super) fn left(
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
}

/// A run that says no level, or of which none is asked, serves for any.
fn is_same_work(recorded: Option<f64>, asked: Option<f64>) -> bool {
    match (recorded, asked) {
        (Some(recorded), Some(asked)) => recorded == asked,
        _ => true,
    }
}

pub(super) fn is_same(one: Fraction, other: Fraction) -> bool {
    (one.0 - other.0).abs() < SAME_SHARE
}

/// `bytes` over `count` objects, so that they sum up to it.
fn equal_shares(bytes: Bytes, count: u64) -> impl Iterator<Item = Bytes> {
    let (each, rest) = (bytes.0 / count.max(1), bytes.0 % count.max(1));
    (0..count).map(move |index| Bytes(each + u64::from(index < rest)))
}
