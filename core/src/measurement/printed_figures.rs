//! What a training script prints of itself: the time of a training step, the levels that budget lines name, such as tokens per
//! second, and how far it is.
//!
//! Takes a stream in chunks of any size, and keeps what the spec's metrics capture. Memory is bounded whatever the script prints: only
//! the first [`LINE_BYTES`] of a line are read, and at most 10,000 numbers of a metric are kept, evenly spread over the run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::mpirun_tags::without_tags;
use super::progress::{JobProgress, PrintedLoops};
use super::thinned::Thinned;
use crate::grammar;
use crate::metric::MetricName;
use crate::spec::{Job, PrintedMetric};
use crate::units::Seconds;

/// The most bytes that are read of a line. Log lines are shorter.
pub const LINE_BYTES: usize = 16 * 1024;
/// A carriage return, as of a progress bar, ends a line too; Keras takes its bar back by backspaces.
const LINE_ENDS: [u8; 3] = *b"\n\r\x08";

/// What is looked for in the output, beside the progress that libraries print.
#[derive(Debug, Clone, Default)]
pub struct Sought {
    /// The seconds of a step.
    pub step: Option<PrintedMetric>,
    /// The metrics of budget lines.
    pub levels: Vec<PrintedMetric>,
    /// How far the job is.
    pub progress: Option<PrintedMetric>,
}

impl Sought {
    pub fn of(job: &Job) -> Self {
        Self {
            step: job.training.step_metric(),
            levels: job.judged_metrics(),
            progress: job.training.progress(),
        }
    }

    /// The step first, where there is one.
    fn metrics(&self) -> impl Iterator<Item = &PrintedMetric> {
        self.step.iter().chain(&self.levels)
    }
}

/// What one stream printed: the values of each metric that is sought, none where nothing was read, and its loops.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Printed(Vec<Values>, PrintedLoops);

/// Numbers in their order.
type Values = Thinned<f64, KEPT>;

/// Reads one stream.
#[derive(Debug, Clone)]
pub struct OutputReader<'a> {
    sought: &'a Sought,
    /// The start of the current line.
    line: Vec<u8>,
    printed: Printed,
    /// When the latest chunk came.
    pub at: Seconds,
}

impl<'a> OutputReader<'a> {
    pub fn new(sought: &'a Sought) -> Self {
        let values = vec![Values::default(); sought.metrics().count()];
        Self {
            printed: Printed(values, PrintedLoops::default()),
            sought,
            line: Vec::new(),
            at: Seconds(0.0),
        }
    }

    /// Reads the next chunk, which came `at` these seconds after the start; bytes that are not UTF-8 become replacement characters.
    pub fn read(&mut self, at: Seconds, chunk: &[u8]) {
        self.at = at;
        let mut parts = chunk.split(|byte| LINE_ENDS.contains(byte));
        // `split` returns at least one part; each further one starts after a line end.
        if let Some(first) = parts.next() {
            self.extend(first);
        }
        for part in parts {
            self.end_line();
            self.extend(part);
        }
    }

    /// Reads the last line, which may lack its end, and returns what was found.
    pub fn finish(mut self) -> Printed {
        self.end_line();
        self.printed
    }

    fn extend(&mut self, part: &[u8]) {
        let room = LINE_BYTES - self.line.len();
        self.line.extend_from_slice(&part[..part.len().min(room)]);
    }

    fn end_line(&mut self) {
        if self.line.is_empty() {
            return;
        }
        let line = String::from_utf8_lossy(&self.line);
        let printed = without_tags(&line);
        // A pattern is of what the script prints; one that chooses a process names mpirun's tag.
        for (metric, values) in self.sought.metrics().zip(&mut self.printed.0) {
            let captured = metric.captured(&printed).or_else(|| metric.captured(&line));
            if let Some(captured) = captured {
                values.add(number(captured));
            }
        }
        let pattern = self.sought.progress.as_ref();
        let is_of_tag = pattern.is_some_and(|it| it.captured(&printed).is_none());
        let heard = if is_of_tag { &line } else { &printed };
        self.printed.1.hear(self.at, heard, pattern);
        drop(printed);
        drop(line);
        self.line.clear();
    }
}

/// A captured number, NaN where it is none; a trailing full stop is ignored.
fn number(captured: &str) -> f64 {
    let captured = captured.trim().trim_end_matches('.');
    captured.parse().unwrap_or(f64::NAN)
}

/// What the output of one run says.
#[derive(Debug, Default)]
pub struct PrintedFigures {
    pub step_seconds: Option<Seconds>,
    pub metrics: BTreeMap<MetricName, PrintedLevel>,
    /// Absent where none was printed.
    pub progress: Option<JobProgress>,
    /// Sentences on why a figure of a completed run is missing or in doubt.
    pub notes: Vec<String>,
}

impl PrintedFigures {
    /// From the streams of its hosts, in a run that took `time`. A run that broke off may have printed nothing yet, so nothing is said
    /// to be missing.
    pub fn of_run(
        sought: &Sought,
        hosts: &[&[Printed; 2]],
        is_completed: bool,
        time: Option<Seconds>,
    ) -> Self {
        let mut figures = Self::default();
        let mut notes = Vec::new();
        let nothing = Values::default();
        let loops = hosts.iter().rev().map(|[out, err]| [&out.1, &err.1]);
        let progress = loops.filter_map(|loops| JobProgress::of_host(loops, time));
        // Of equal ones the first host's.
        let is_of_use = |one: &JobProgress| (one.spoilt().is_none(), one.total.is_some());
        figures.progress = progress.max_by_key(|one| (is_of_use(one), one.points.len()));
        if let (Some(pattern), None) = (&sought.progress, &figures.progress) {
            notes.push(format!(
                "`{pattern}` captured no two counts that rise: its first group must capture what is done, as a plain number"
            ));
        }
        for (index, metric) in sought.metrics().enumerate() {
            let streams = (hosts.iter()).map(|streams| {
                (streams.each_ref()).map(|stream| stream.0.get(index).unwrap_or(&nothing))
            });
            let hosts: Vec<[&Values; 2]> = streams.collect();
            if index == 0 && sought.step.is_some() {
                let step = step_of_run(metric, &hosts).map_err(|why| notes.push(why));
                figures.step_seconds = step.ok();
                continue;
            }
            let level = level_of_run(metric, &hosts).map_err(|why| notes.push(why));
            if let (Ok(level), Ok(name)) = (level, metric.name().parse()) {
                if level.lowest.is_none() || level.highest.is_none() {
                    notes.push(format!(
                        "half of the later values of the metric `{metric}` and more are no finite numbers"
                    ));
                }
                figures.metrics.insert(name, level);
            }
        }
        Self {
            notes: if is_completed { notes } else { Vec::new() },
            ..figures
        }
    }
}

/// The step time of one run from the streams of its hosts, or why there is none.
///
/// A script may log to either stream or to both, so a host's stream with more steps counts. Hosts wait for each other at
/// every step, so the slowest host counts.
fn step_of_run(metric: &PrintedMetric, hosts: &[[&Values; 2]]) -> Result<Seconds, String> {
    // Only a finite number above 0 is the time of a step.
    let steps = |stream: &Values| -> Vec<f64> {
        let kept = stream.kept.iter().copied();
        kept.filter(|time| time.is_finite() && *time > 0.0)
            .collect()
    };
    let of_host = |streams: &[&Values; 2]| {
        let [stdout, stderr] = streams.map(steps);
        // Of equal ones the last.
        let said_more = [stderr, stdout].into_iter().max_by_key(Vec::len)?;
        let (first, later) = said_more.split_first()?;
        // The first includes compilation and cold caches.
        Some(median(later).unwrap_or(*first))
    };
    let slowest = hosts.iter().filter_map(of_host).max_by(f64::total_cmp);
    slowest.map(Seconds).ok_or_else(|| {
        let streams = hosts.iter().flatten();
        match streams.map(|stream| stream.count).sum::<u64>() {
            0 => format!("no line of the output matched the step metric `{metric}`"),
            1 => format!(
                "the one line that matched the step metric `{metric}` had no number above 0"
            ),
            count => format!(
                "none of the {count} lines that matched the step metric `{metric}` had a number above 0"
            ),
        }
    })
}

/// The level of one metric in one run.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrintedLevel {
    /// The least that the median can be, whatever numbers stand for values that are none; of several hosts that of the lowest. Absent
    /// where half of the values and more are none.
    pub lowest: Option<f64>,
    /// The most that it can be; of several hosts that of the highest.
    pub highest: Option<f64>,
    /// How many values the later half has; of several hosts on the one that printed fewest.
    pub values: u64,
}

/// The fewest values in the later half: of fewer, one odd value moves the median far. A convention.
const FEWEST_LATER: u64 = 5;

/// The level of one metric in one run in steady state, or why there is none: the median of the later half of its values. The earlier
/// half holds what settles: compilation, caches that fill, learning rates that warm up.
///
/// A host's stream with more values counts. Hosts that print too few are left out, since often only the first prints.
fn level_of_run(metric: &PrintedMetric, hosts: &[[&Values; 2]]) -> Result<PrintedLevel, String> {
    let of_host = |streams: &[&Values; 2]| {
        let said_more = streams.iter().max_by_key(|values| values.count);
        level(said_more.expect("there are two streams"))
    };
    let levels: Vec<PrintedLevel> = hosts.iter().map(of_host).collect();
    let enough = levels.iter().filter(|level| level.values >= FEWEST_LATER);
    let most = levels.iter().map(|level| level.values).max();
    let both = |choose: fn(f64, f64) -> f64, one: Option<f64>, other: Option<f64>| {
        Some(choose(one?, other?))
    };
    let of_both = |one: PrintedLevel, other: PrintedLevel| PrintedLevel {
        lowest: both(f64::min, one.lowest, other.lowest),
        highest: both(f64::max, one.highest, other.highest),
        values: one.values.min(other.values),
    };
    enough.copied().reduce(of_both).ok_or_else(|| match most {
        None | Some(0) => format!("fewer than 2 lines of the output matched the metric `{metric}`"),
        Some(most) => format!(
            "the metric `{metric}` has {} in the later half of the canary, where {FEWEST_LATER} are needed",
            grammar::count(usize::try_from(most).unwrap_or(usize::MAX), "value")
        ),
    })
}

/// The level of the later half of the values, without the middle one of an odd count.
fn level(values: &Values) -> PrintedLevel {
    let later = &values.kept[values.kept.len() - values.kept.len() / 2..];
    let median = |of_none: f64| {
        let stands_for = |value: &f64| if value.is_nan() { of_none } else { *value };
        let numbers: Vec<f64> = later.iter().map(stands_for).collect();
        median(&numbers).filter(|median| median.is_finite())
    };
    PrintedLevel {
        lowest: median(f64::NEG_INFINITY),
        highest: median(f64::INFINITY),
        values: values.count / 2,
    }
}

/// The most numbers kept; beyond that only every second, fourth, ... number of the run is kept.
const KEPT: usize = 10_000;

/// `None` of none.
fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        // Halved first, so that the sum stays finite.
        _ => Some(sorted[middle - 1] / 2.0 + sorted[middle] / 2.0),
    }
}

#[cfg(test)]
mod tests;
