//! What the training script prints of itself: the time of a training step, and the levels that budget lines name.
//!
//! Takes a stream in chunks of any size, and returns what the spec's metrics capture. Memory is bounded whatever the script
//! prints: only the first [`LINE_BYTES`] of a line are read, and at most 10,000 numbers are kept, evenly spread over
//! the run.

use super::levels::LevelValues;
use super::mpirun_tags::without_tags;
use super::thinned::{self, Thinned};
use crate::spec::PrintedMetric;
use crate::units::Seconds;

/// The most bytes that are read of a line. Log lines are shorter; a carriage return, as of a progress bar, ends a line too.
pub const LINE_BYTES: usize = 16 * 1024;

/// What is looked for in the output.
#[derive(Debug, Clone, Default)]
pub struct Sought<'a> {
    /// The seconds of a step.
    pub step: Option<&'a PrintedMetric>,
    /// Those of budget lines.
    pub levels: &'a [PrintedMetric],
}

impl Sought<'_> {
    pub fn is_nothing(&self) -> bool {
        self.step.is_none() && self.levels.is_empty()
    }
}

/// What one stream printed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Printed {
    pub steps: StepTimes,
    /// In the order of [`Sought::levels`]; empty where nothing was read.
    pub levels: Vec<LevelValues>,
}

/// The levels of both streams of each host, for [`of_run`](super::levels::of_run).
pub fn levels_of<'a>(hosts: &[&'a [Printed; 2]]) -> Vec<[&'a [LevelValues]; 2]> {
    let of_host = |[stdout, stderr]: &'a [Printed; 2]| [&stdout.levels[..], &stderr.levels[..]];
    hosts.iter().copied().map(of_host).collect()
}

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
        let levels = vec![LevelValues::default(); sought.levels.len()];
        Self {
            sought,
            line: Vec::new(),
            printed: Printed {
                levels,
                ..Printed::default()
            },
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
        let captured =
            |metric: &PrintedMetric| metric.captured(&printed).or_else(|| metric.captured(&line));
        if let Some(captured) = self.sought.step.and_then(captured) {
            self.printed.steps.add(captured);
        }
        for (metric, values) in self.sought.levels.iter().zip(&mut self.printed.levels) {
            if let Some(captured) = captured(metric) {
                values.add(number(captured));
            }
        }
        drop(printed);
        drop(line);
        self.line.clear();
    }
}

/// A captured number; a trailing full stop is ignored.
fn number(captured: &str) -> Option<f64> {
    captured.trim().trim_end_matches('.').parse().ok()
}

/// The step times of one stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StepTimes {
    /// Lines that matched, usable or not.
    matches: u64,
    /// The time of the first step in seconds, which includes compilation and cold caches.
    first: Option<f64>,
    /// In seconds.
    later: Thinned,
}

impl StepTimes {
    /// Adds a captured text; only a finite number above 0 is the time of a step.
    fn add(&mut self, captured: &str) {
        self.matches += 1;
        let Some(seconds) =
            number(captured).filter(|seconds| seconds.is_finite() && *seconds > 0.0)
        else {
            return;
        };
        match self.first {
            None => self.first = Some(seconds),
            Some(_) => self.later.add(seconds),
        }
    }

    /// The median over all steps except the first, or the first if it is the only one; `None` without a number above 0.
    pub fn median(&self) -> Option<Seconds> {
        thinned::median(self.later.kept())
            .or(self.first)
            .map(Seconds)
    }

    /// How many lines matched the metric, with or without a usable number.
    pub fn matches(&self) -> u64 {
        self.matches
    }
}

/// The step time of one run from the streams of its hosts, or why there is none.
///
/// A script may log to either stream or to both, so a host's stream with more matches counts. Hosts wait for each other at
/// every step, so the slowest host counts.
pub fn of_run(metric: &PrintedMetric, hosts: &[&[Printed; 2]]) -> Result<Seconds, String> {
    let slowest = hosts
        .iter()
        .filter_map(|[stdout, stderr]| {
            let (stdout, stderr) = (&stdout.steps, &stderr.steps);
            let said_more = if stderr.later.count() > stdout.later.count() || stdout.first.is_none()
            {
                stderr
            } else {
                stdout
            };
            said_more.median()
        })
        .max_by(|a, b| a.0.total_cmp(&b.0));
    slowest.ok_or_else(|| {
        let matches: u64 = hosts.iter().copied().flatten().map(|stream| stream.steps.matches()).sum();
        match matches {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measurement::thinned::KEPT;

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

    fn read(text: &[u8]) -> StepTimes {
        printed(text).steps
    }

    fn seconds_of(text: &str) -> Option<f64> {
        read(text.as_bytes()).median().map(|seconds| seconds.0)
    }

    #[test]
    fn the_first_step_is_cold_and_left_out() {
        assert_eq!(
            seconds_of("step time: 9\nstep time: 0.2\nstep time: 0.4\nstep time: 0.3\n"),
            Some(0.3)
        );
        assert_eq!(
            seconds_of("step time: 9\nstep time: 0.25\nstep time: 0.75\n"),
            Some(0.5)
        );
        assert_eq!(seconds_of("step time: 9\n"), Some(9.0));
        assert_eq!(seconds_of("epoch 1\n"), None);
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
            let steps = reader.finish().steps;
            (steps.matches(), steps.median().map(|seconds| seconds.0))
        };
        assert_eq!(of("^step time: ([0-9.]+)$"), (3, Some(4.0)));
        assert_eq!(of(r"^\[1,1\]<stderr>:step time: ([0-9.]+)"), (1, Some(3.0)));
    }

    #[test]
    fn carriage_returns_end_lines_and_the_last_line_needs_no_end() {
        assert_eq!(
            seconds_of("step time: 5\rstep time: 1\r\nstep time: 2\rstep time: 3"),
            Some(2.0)
        );
    }

    #[test]
    fn what_is_no_positive_number_is_not_counted() {
        let text = "step time: NaN\nstep time: -1\nstep time: inf\nstep time: 0\nstep time: 1e999\nstep time: soon\n";
        let times = read(text.as_bytes());
        assert_eq!((times.median(), times.matches()), (None, 6));
        // The full stop of a sentence is no part of the number.
        assert_eq!(
            seconds_of(&format!("{text}step time: 8\nstep time: 0.25.\n")),
            Some(0.25)
        );
    }

    #[test]
    fn bytes_that_are_no_text_and_endless_lines_do_no_harm() {
        let mut text = b"\xff\xfe step time: 4 \xff\nstep time: 2\n".to_vec();
        text.extend(std::iter::repeat_n(b'x', 10_000_000));
        text.extend(b"step time: 77\nstep time: 2\n");
        assert_eq!(read(&text).median(), Some(Seconds(2.0)));
        let metric = metric();
        let mut reader = reader(&metric);
        reader.read(&text[..9_000_000]);
        assert_eq!(reader.line.len(), LINE_BYTES);
    }

    #[test]
    fn very_many_steps_are_thinned_evenly() {
        let metric = metric();
        let mut reader = reader(&metric);
        for step in 0..1_000_000_u32 {
            reader.read(format!("step time: {}\n", step + 1).as_bytes());
            assert!(reader.printed.steps.later.kept().len() <= KEPT);
        }
        let times = reader.finish().steps;
        assert!(times.later.kept().len() > KEPT / 2);
        let gaps: Vec<f64> = times
            .later
            .kept()
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect();
        assert!(gaps.iter().all(|gap| *gap == 128.0), "{gaps:?}");
        let Seconds(median) = times.median().unwrap();
        assert!((median - 500_000.0).abs() <= 128.0, "{median}");
    }

    #[test]
    fn the_stream_that_says_more_speaks_for_a_host_and_the_slowest_host_for_the_run() {
        let quiet = || printed(b"step time: 7\n");
        let steps = |time: u32| printed(format!("step time: {time}\n").repeat(3).as_bytes());
        let metric = metric();
        assert_eq!(
            of_run(&metric, &[&[quiet(), steps(2)], &[steps(3), quiet()]]),
            Ok(Seconds(3.0))
        );
        assert_eq!(
            of_run(&metric, &[&[Printed::default(), quiet()]]),
            Ok(Seconds(7.0))
        );
    }

    #[test]
    fn a_run_without_a_step_time_says_why() {
        let why = |text: &[u8]| of_run(&metric(), &[&[printed(text), Printed::default()]]);
        assert_eq!(
            why(b"done\n"),
            Err("no line of the output matched the step metric `step`".to_owned())
        );
        assert_eq!(
            why(b"step time: -1\n"),
            Err(
                "the one line that matched the step metric `step` had no number above 0".to_owned()
            )
        );
        assert_eq!(
            why(b"step time: -1\nstep time: nan\n"),
            Err(
                "none of the 2 lines that matched the step metric `step` had a number above 0"
                    .to_owned()
            )
        );
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
            let found = reader.finish().steps;
            prop_assert_eq!(found.matches(), times.len() as u64);
            prop_assert_eq!(found, read(text.as_bytes()));
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            read(&bytes);
        }
    }
}
