//! The recorded runs of one workload, sorted by what they are for.

use canary_gate_core::measurement::Measurement;
use canary_gate_core::units::Seconds;

use super::timings;

/// The columns that the comparison needs.
pub(crate) const COLUMNS: [&str; 8] = [
    "workload",
    "fraction_requested",
    "files",
    "files_total",
    "bytes",
    "bytes_total",
    "wall_seconds",
    "peak_rss_bytes",
];

/// The seed library's canaries, in percent of the data.
const CANARY_PERCENTS: [f64; 3] = [1.0, 2.0, 3.0];

/// How often each of them is run.
const REPLICATES: usize = 3;

/// One run and what is compared of it. All numbers are above 0.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) measurement: Measurement,
    /// Files of all files: the seed library's abscissa.
    pub(crate) file_share: f64,
    pub(crate) seconds: f64,
    pub(crate) peak_bytes: f64,
}

/// A workload with everything that a comparison needs.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    pub(crate) name: String,
    /// The nine canaries of the seed library: 1, 2 and 3 %, three each.
    pub(crate) canaries: Vec<Run>,
    /// All runs of less than the full data, by fraction and replicate; the nine are among them.
    pub(crate) partial: Vec<Run>,
    /// At least one.
    pub(crate) full: Vec<Run>,
}

impl Workload {
    /// What the nine canaries took together.
    pub(crate) fn canary_seconds(&self) -> f64 {
        self.canaries.iter().map(|run| run.seconds).sum()
    }
}

/// What a table held.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// In the order in which the table names them.
    pub(crate) workloads: Vec<Workload>,
    /// Sentences about the workloads that cannot be compared.
    pub(crate) skipped: Vec<String>,
}

/// The text is not a table that can be compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    #[error("the table has no column {}\n  needed: {}", missing.join(", "), COLUMNS.join(", "))]
    MissingColumns { missing: Vec<&'static str> },
    #[error("the table is empty; expected a header and one row for each run")]
    Empty,
    #[error(
        "the table has a problem\n  line {line}, column {column}: {found}, expected {expected}"
    )]
    Cell {
        line: u64,
        column: &'static str,
        found: String,
        expected: &'static str,
    },
    #[error("{run}: column {column} is empty or 0; every run needs a number above 0 there")]
    MissingValue { run: String, column: &'static str },
}

/// Reads a table; a workload without a full run or without the nine canaries is skipped.
pub(crate) fn read(text: &str) -> Result<Recorded, ReadError> {
    let mut by_name: Vec<(String, Vec<Run>)> = Vec::new();
    for measurement in timings::read(text)? {
        let run = Run::of(measurement)?;
        let name = &run.measurement.job;
        match by_name.iter_mut().find(|(other, _)| other == name) {
            Some((_, runs)) => runs.push(run),
            None => by_name.push((name.clone(), vec![run])),
        }
    }
    let mut recorded = Recorded {
        workloads: Vec::new(),
        skipped: Vec::new(),
    };
    for (name, runs) in by_name {
        match Workload::of(&name, runs) {
            Ok(workload) => recorded.workloads.push(workload),
            Err(reason) => recorded.skipped.push(format!(
                "workload `{}` is skipped: {reason}",
                name.escape_debug()
            )),
        }
    }
    Ok(recorded)
}

impl Run {
    fn of(measurement: Measurement) -> Result<Self, ReadError> {
        let missing = |column| ReadError::MissingValue {
            run: format!(
                "the run at {} #{} of workload `{}`",
                measurement.fraction,
                measurement.replicate.saturating_add(1),
                measurement.job.escape_debug()
            ),
            column,
        };
        let memory = measurement.usage.memory.as_ref();
        let peak = memory.and_then(|memory| memory.bytes);
        let peak_bytes = peak.ok_or_else(|| missing("peak_rss_bytes"))?.as_f64();
        // The reader leaves no 0 in these columns, but empty cells.
        let files = measurement.objects.ok_or_else(|| missing("files"))?;
        let files_total = measurement
            .objects_total
            .ok_or_else(|| missing("files_total"))?;
        measurement.bytes.ok_or_else(|| missing("bytes"))?;
        measurement
            .bytes_total
            .ok_or_else(|| missing("bytes_total"))?;
        let seconds = match measurement.training_seconds {
            Some(Seconds(seconds)) if seconds > 0.0 => seconds,
            _ => return Err(missing("wall_seconds")),
        };
        Ok(Self {
            file_share: ratio(files, files_total),
            seconds,
            peak_bytes,
            measurement,
        })
    }

    /// Of the data asked for.
    fn percent(&self) -> f64 {
        self.measurement.fraction.0 * 100.0
    }

    fn is_at(&self, percent: f64) -> bool {
        (self.percent() - percent).abs() < 1e-6
    }
}

impl Workload {
    fn of(name: &str, mut runs: Vec<Run>) -> Result<Self, String> {
        runs.sort_by(|a, b| {
            let key = |run: &Run| run.measurement.replicate;
            a.percent()
                .total_cmp(&b.percent())
                .then(key(a).cmp(&key(b)))
        });
        let (full, partial): (Vec<Run>, Vec<Run>) =
            runs.into_iter().partition(|run| run.is_at(100.0));
        if full.is_empty() {
            return Err("it has no full run (fraction_requested 1)".to_owned());
        }
        let mut canaries = Vec::new();
        for percent in CANARY_PERCENTS {
            let before = canaries.len();
            let here = partial.iter().filter(|run| run.is_at(percent));
            canaries.extend(here.take(REPLICATES).cloned());
            let found = canaries.len() - before;
            if found < REPLICATES {
                return Err(format!(
                    "the nine canaries need {REPLICATES} runs at {percent}%, and it has {found}"
                ));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            canaries,
            partial,
            full,
        })
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "a count of files is far below 2^53"
)]
fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}
