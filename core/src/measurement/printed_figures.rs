//! What a training script prints of itself: the time of a training step, and the levels that budget lines name, such as tokens per
//! second.
//!
//! Takes a stream in chunks of any size, and keeps what the spec's metrics capture. Memory is bounded whatever the script prints: only
//! the first [`LINE_BYTES`] of a line are read, and at most 10,000 numbers of a metric are kept, evenly spread over the run.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::mpirun_tags::without_tags;
use crate::grammar;
use crate::metric::MetricName;
use crate::spec::PrintedMetric;
use crate::units::Seconds;

/// The most bytes that are read of a line. Log lines are shorter; a carriage return, as of a progress bar, ends a line too.
pub const LINE_BYTES: usize = 16 * 1024;

/// What is looked for in the output.
#[derive(Debug, Clone, Default)]
pub struct Sought<'a> {
    /// The seconds of a step.
    pub step: Option<&'a PrintedMetric>,
    /// The metrics of budget lines.
    pub levels: &'a [PrintedMetric],
}

impl<'a> Sought<'a> {
    pub fn is_nothing(&self) -> bool {
        self.metrics().next().is_none()
    }

    /// The step first, where there is one.
    fn metrics(&self) -> impl Iterator<Item = &'a PrintedMetric> + use<'a> {
        self.step.into_iter().chain(self.levels)
    }
}

/// What one stream printed, for each metric that is sought; empty where nothing was read.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Printed(Vec<Thinned>);

/// Reads one stream.
#[derive(Debug, Clone)]
pub struct OutputReader<'a> {
    sought: Sought<'a>,
    /// The start of the current line.
    line: Vec<u8>,
    printed: Printed,
}

impl<'a> OutputReader<'a> {
    pub fn new(sought: Sought<'a>) -> Self {
        Self {
            printed: Printed(vec![Thinned::default(); sought.metrics().count()]),
            sought,
            line: Vec::new(),
        }
    }

    /// Reads the next chunk; bytes that are not UTF-8 become replacement characters.
    pub fn read(&mut self, chunk: &[u8]) {
        let mut parts = chunk.split(|byte| matches!(byte, b'\n' | b'\r'));
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
        let line = String::from_utf8_lossy(&self.line);
        let printed = without_tags(&line);
        // A pattern is of what the script prints; one that chooses a process names mpirun's tag.
        for (metric, values) in self.sought.metrics().zip(&mut self.printed.0) {
            let captured = metric.captured(&printed).or_else(|| metric.captured(&line));
            if let Some(captured) = captured {
                values.add(number(captured));
            }
        }
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
    /// Sentences on why a figure of a completed run is missing or in doubt.
    pub notes: Vec<String>,
}

impl PrintedFigures {
    /// From the streams of its hosts. A run that broke off may have printed nothing yet, so nothing is said to be missing.
    pub fn of_run(sought: &Sought<'_>, hosts: &[&[Printed; 2]], is_completed: bool) -> Self {
        let mut figures = Self::default();
        let mut notes = Vec::new();
        for (index, metric) in sought.metrics().enumerate() {
            let of_host = |streams: &&[Printed; 2]| -> [Thinned; 2] {
                let of_stream = |stream: &Printed| stream.0.get(index).cloned();
                streams
                    .each_ref()
                    .map(|stream| of_stream(stream).unwrap_or_default())
            };
            let hosts: Vec<[Thinned; 2]> = hosts.iter().map(of_host).collect();
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
fn step_of_run(metric: &PrintedMetric, hosts: &[[Thinned; 2]]) -> Result<Seconds, String> {
    // Only a finite number above 0 is the time of a step.
    let steps = |stream: &Thinned| -> Vec<f64> {
        let kept = stream.kept.iter().copied();
        kept.filter(|time| time.is_finite() && *time > 0.0)
            .collect()
    };
    let of_host = |streams: &[Thinned; 2]| {
        let [stdout, stderr] = streams.each_ref().map(steps);
        let said_more = if stderr.len() > stdout.len() {
            stderr
        } else {
            stdout
        };
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
fn level_of_run(metric: &PrintedMetric, hosts: &[[Thinned; 2]]) -> Result<PrintedLevel, String> {
    let of_host = |streams: &[Thinned; 2]| {
        let said_more = streams.iter().max_by_key(|values| values.count);
        level(said_more.expect("there are two streams"))
    };
    let levels: Vec<PrintedLevel> = hosts.iter().map(of_host).collect();
    let enough = levels.iter().filter(|level| level.values >= FEWEST_LATER);
    let most = levels.iter().map(|level| level.values).max();
    enough.copied().reduce(of_both).ok_or_else(|| match most {
        None | Some(0) => format!("fewer than 2 lines of the output matched the metric `{metric}`"),
        Some(most) => format!(
            "the metric `{metric}` has {} in the later half of the canary, where {FEWEST_LATER} are needed",
            grammar::count(usize::try_from(most).unwrap_or(usize::MAX), "value")
        ),
    })
}

/// The level of the later half of the values, without the middle one of an odd count.
fn level(values: &Thinned) -> PrintedLevel {
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

fn of_both(one: PrintedLevel, other: PrintedLevel) -> PrintedLevel {
    let both = |choose: fn(f64, f64) -> f64, one: Option<f64>, other: Option<f64>| {
        Some(choose(one?, other?))
    };
    PrintedLevel {
        lowest: both(f64::min, one.lowest, other.lowest),
        highest: both(f64::max, one.highest, other.highest),
        values: one.values.min(other.values),
    }
}

/// The most numbers kept; beyond that only every second, fourth, ... number of the run is kept.
const KEPT: usize = 10_000;

/// Numbers in their order.
#[derive(Debug, Clone, Default, PartialEq)]
struct Thinned {
    /// Every `2^halvings`-th.
    kept: Vec<f64>,
    halvings: u32,
    count: u64,
}

impl Thinned {
    fn add(&mut self, number: f64) {
        if self.count.is_multiple_of(1 << self.halvings) {
            if self.kept.len() == KEPT {
                let mut index = 0_usize;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.halvings += 1;
            }
            // `KEPT` is even, so this number stays.
            self.kept.push(number);
        }
        self.count += 1;
    }
}

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
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn metric() -> PrintedMetric {
        PrintedMetric::new("step", "step time: (\\S+)").unwrap()
    }

    fn reader(metric: &PrintedMetric) -> OutputReader<'_> {
        OutputReader::new(Sought {
            step: Some(metric),
            levels: &[],
        })
    }

    fn printed(text: &[u8]) -> Printed {
        let metric = metric();
        let mut reader = reader(&metric);
        reader.read(text);
        reader.finish()
    }

    fn of_step(hosts: &[&[Printed; 2]]) -> Result<f64, String> {
        let sought = Sought {
            step: Some(&metric()),
            levels: &[],
        };
        let mut found = PrintedFigures::of_run(&sought, hosts, true);
        let step = found.step_seconds.map(|Seconds(time)| time);
        step.ok_or_else(|| found.notes.remove(0))
    }

    fn seconds_of(text: &[u8]) -> Option<f64> {
        of_step(&[&[printed(text), Printed::default()]]).ok()
    }

    #[test]
    fn a_step_is_the_median_of_the_numbers_above_0_without_the_first() {
        for (text, expected) in [
            (
                "step time: 9\nstep time: 0.2\nstep time: 0.4\nstep time: 0.3\n",
                Some(0.3),
            ),
            (
                "step time: 9\nstep time: 0.25\nstep time: 0.75\n",
                Some(0.5),
            ),
            ("step time: 9\n", Some(9.0)),
            ("epoch 1\n", None),
            // A carriage return ends a line, and the last line needs no end.
            (
                "step time: 5\rstep time: 1\r\nstep time: 2\rstep time: 3",
                Some(2.0),
            ),
            // The full stop of a sentence is no part of the number.
            (
                "step time: NaN\nstep time: -1\nstep time: 1e999\nstep time: soon\nstep time: 8\nstep time: 0.25.\n",
                Some(0.25),
            ),
        ] {
            assert_eq!(seconds_of(text.as_bytes()), expected, "{text}");
        }
    }

    /// mpirun brings the lines of all processes to the first host, each piece with its tag.
    #[test]
    fn a_pattern_from_a_line_s_begin_matches_what_mpirun_tags_and_one_with_a_tag_chooses_a_process()
    {
        let of = |pattern: &str| {
            let metric = PrintedMetric::new("step", pattern).unwrap();
            let mut reader = reader(&metric);
            reader.read(
                b"[1,0]<stdout>:step time: 9\n[1,1]<stderr>:step time: 3\n[1,0]<stdout>:step ti[1,0]<stdout>:me: 5\n",
            );
            reader.finish().0.remove(0).kept
        };
        assert_eq!(of("^step time: ([0-9.]+)$"), [9.0, 3.0, 5.0]);
        assert_eq!(of(r"^\[1,1\]<stderr>:step time: ([0-9.]+)"), [3.0]);
    }

    #[test]
    fn bytes_that_are_no_text_and_endless_lines_do_no_harm() {
        let mut text = b"\xff\xfe step time: 4 \xff\nstep time: 2\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', 10_000_000));
        text.extend(b"step time: 77\nstep time: 2\n");
        assert_eq!(seconds_of(&text), Some(2.0));
        let metric = metric();
        let mut reader = reader(&metric);
        reader.read(&text[..9_000_000]);
        assert_eq!(reader.line.len(), LINE_BYTES);
    }

    #[test]
    fn very_many_numbers_are_thinned_evenly() {
        let mut numbers = Thinned::default();
        for number in 0..1_000_000_u32 {
            numbers.add(f64::from(number));
            assert!(numbers.kept.len() <= KEPT);
        }
        assert!(numbers.kept.len() > KEPT / 2);
        assert!(
            numbers
                .kept
                .windows(2)
                .all(|pair| pair[1] - pair[0] == 128.0)
        );
        // The level is that of the later half.
        let level = level(&numbers);
        assert!((level.lowest.unwrap() - 750_000.0).abs() <= 128.0);
        assert_eq!(level.values, 500_000);
    }

    #[test]
    fn the_stream_that_says_more_speaks_for_a_host_and_the_slowest_host_for_the_run() {
        let quiet = || printed(b"step time: 7\n");
        let steps = |time: u32| printed(format!("step time: {time}\n").repeat(3).as_bytes());
        assert_eq!(
            of_step(&[&[quiet(), steps(2)], &[steps(3), quiet()]]),
            Ok(3.0)
        );
        assert_eq!(of_step(&[&[Printed::default(), quiet()]]), Ok(7.0));
    }

    #[test]
    fn a_run_without_a_step_time_says_why() {
        for (text, why) in [
            (
                "done\n",
                "no line of the output matched the step metric `step`",
            ),
            (
                "step time: -1\n",
                "the one line that matched the step metric `step` had no number above 0",
            ),
            (
                "step time: -1\nstep time: nan\n",
                "none of the 2 lines that matched the step metric `step` had a number above 0",
            ),
        ] {
            let found = of_step(&[&[printed(text.as_bytes()), Printed::default()]]);
            assert_eq!(found, Err(why.to_owned()));
        }
    }

    /// Of hosts, parted by `;`, the streams, parted by `/`, as their values; `12x50` is twelve times 50. What comes of them.
    fn level_of(hosts: &str) -> String {
        let of_stream = |values: &str| {
            let mut read = Thinned::default();
            for value in values.split_whitespace() {
                let (times, value) = value.split_once('x').unwrap_or(("1", value));
                (0..times.parse().unwrap()).for_each(|_| read.add(number(value)));
            }
            // Nothing was read of a stream without values.
            Printed(if read.count == 0 { vec![] } else { vec![read] })
        };
        let of_host = |host: &str| {
            let (stdout, stderr) = host.split_once('/').unwrap_or((host, ""));
            [stdout, stderr].map(of_stream)
        };
        let hosts: Vec<[Printed; 2]> = hosts.split(';').map(of_host).collect();
        let sought = Sought {
            step: None,
            levels: &[PrintedMetric::new("rate", r"tok/s: (\S+)").unwrap()],
        };
        let found = PrintedFigures::of_run(&sought, &hosts.iter().collect::<Vec<_>>(), true);
        let level = found.metrics.values().map(|level| {
            let [lowest, highest] =
                [level.lowest, level.highest].map(|end| end.unwrap_or(f64::NAN));
            format!("{lowest} to {highest} of {}", level.values)
        });
        level.chain(found.notes).collect::<Vec<_>>().join("; ")
    }

    /// Of hosts that print it the lowest and the highest; a value that is no number may be any.
    #[test]
    fn the_level_is_the_median_of_the_later_half() {
        for (hosts, level) in [
            ("1 2 3 4 5 90 100 110 95 1e3", "100 to 100 of 5"),
            // The middle one of an odd count is in neither half.
            ("5x1 7 10 20 30 40 50", "30 to 30 of 5"),
            ("5x9 1 2 3 4 nan", "2 to 3 of 5"),
            ("/12x40; 12x50/1; /2; /", "40 to 50 of 6"),
            (
                "5x9 1 2 inf nan soon",
                "1 to NaN of 5; half of the later values of the metric `rate` and more are no finite numbers",
            ),
            (
                "9x1",
                "the metric `rate` has 4 values in the later half of the canary, where 5 are needed",
            ),
            (
                "",
                "fewer than 2 lines of the output matched the metric `rate`",
            ),
        ] {
            assert_eq!(level_of(hosts), level, "{hosts}");
        }
    }

    #[test]
    fn a_run_that_broke_off_is_not_said_to_lack_what_it_prints() {
        let step = PrintedMetric::new("step_time", "step ([0-9.]+) s").unwrap();
        let levels = [PrintedMetric::new("tokens_per_second", "tok/s ([0-9.]+)").unwrap()];
        let sought = Sought {
            step: Some(&step),
            levels: &levels,
        };
        let nothing = <[Printed; 2]>::default();
        let notes = |is_completed| {
            let figures = PrintedFigures::of_run(&sought, &[&nothing], is_completed);
            figures.notes.len()
        };
        assert_eq!((notes(true), notes(false)), (2, 0));
    }

    proptest! {
        #[test]
        fn how_the_stream_is_cut_does_not_matter(
            times in prop::collection::vec(0.001_f64..1e6, 0..20),
            cut in 1_usize..40,
        ) {
            let text: String = times.iter().map(|time| format!("avg step time: {time} s\r\n")).collect();
            let metric = metric();
            let mut reader = reader(&metric);
            text.as_bytes().chunks(cut).for_each(|chunk| reader.read(chunk));
            let found = reader.finish();
            prop_assert_eq!(found.0[0].count, times.len() as u64);
            prop_assert_eq!(found, printed(text.as_bytes()));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            printed(&bytes);
        }
    }
}
