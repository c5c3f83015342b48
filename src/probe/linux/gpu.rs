//! GPU utilization and memory, as `nvidia-smi` prints them twice a second: means over all GPUs, and the peak of the fullest.
//!
//! One process samples the whole run, since starting `nvidia-smi` costs a second of a core on a large host. If it fails, the
//! command runs on, and the figures are absent with the reason.

use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::error::shown;
use super::shares::Shares;
use crate::measurement::{PeakMemory, Usage};
use crate::units::{Bytes, Percent};

const QUERY: [&str; 4] = [
    "--query-gpu=index,utilization.gpu,memory.used,memory.total",
    "--format=csv,noheader,nounits",
    "-lms",
    "500",
];
pub(super) const NVIDIA_SMI: &str = "nvidia-smi";
/// In bytes; `nvidia-smi` prints no longer lines.
const LONGEST_LINE: usize = 4096;
/// In bytes; half a second of a large host is a small part of it.
const MOST_AT_A_TIME: u64 = 1 << 20;
/// How much of an unreadable line a note quotes.
const SHOWN_CHARACTERS: usize = 80;

/// One GPU at one time; a value is absent if the GPU does not report it (`[N/A]`).
#[derive(Debug, Clone, Copy, PartialEq)]
struct Reading {
    index: u32,
    busy_percent: Option<f64>,
    /// What it holds, of its own processes and of others, caches of their allocators included; in percent of its memory too.
    memory: Option<(Bytes, f64)>,
}

/// Reads `0, 87, 10240, 81920`.
fn parse_line(line: &str) -> Option<Reading> {
    let mut fields = line.split(',').map(str::trim);
    let index = fields.next()?.parse().ok()?;
    let mut number = || -> Option<Option<f64>> {
        let field = fields.next()?;
        if field.starts_with('[') && field.ends_with(']') {
            // `[N/A]`, `[Not Supported]`, `[Unknown Error]`
            return Some(None);
        }
        let value: f64 = field.parse().ok()?;
        (value.is_finite() && value >= 0.0).then_some(Some(value))
    };
    let (busy_percent, used, total) = (number()?, number()?, number()?);
    let memory = match (used, total) {
        // What the driver keeps may be rounded above the whole.
        (Some(used), Some(total)) if total > 0.0 => {
            let bytes = Bytes::from_f64(used.min(total) * Bytes(Bytes::MIB).as_f64());
            Some((bytes, (used / total * 100.0).min(100.0)))
        }
        _ => None,
    };
    fields.next().is_none().then_some(Reading {
        index,
        busy_percent,
        memory,
    })
}

#[derive(Default)]
struct Readings {
    /// The line that is not at its end.
    line: Vec<u8>,
    /// The readings of this round so far, one for each GPU.
    round: Vec<Reading>,
    /// The number of GPUs of the round that has most; 0 before a round is closed.
    most: usize,
    busy: Shares,
    memory: Shares,
    /// The peak of the fullest GPU; `None` before one was read.
    peak: Option<(Bytes, f64)>,
    unreadable: Option<String>,
}

impl Readings {
    fn take(&mut self, printed: &[u8]) {
        for byte in printed {
            match byte {
                b'\n' => {
                    let line = std::mem::take(&mut self.line);
                    self.take_line(&String::from_utf8_lossy(&line));
                }
                _ if self.line.len() < LONGEST_LINE => self.line.push(*byte),
                _ => {}
            }
        }
    }

    fn take_line(&mut self, line: &str) {
        let Some(reading) = parse_line(line.trim()) else {
            if !line.trim().is_empty() && self.unreadable.is_none() {
                let start: String = line.trim().chars().take(SHOWN_CHARACTERS).collect();
                self.unreadable = Some(shown(start));
            }
            return;
        };
        if (self.round.last()).is_some_and(|last| reading.index <= last.index) {
            self.close_round();
        }
        self.round.push(reading);
        if let Some(held) = reading.memory
            && self.peak.is_none_or(|(_, peak)| held.1 > peak)
        {
            self.peak = Some(held);
        }
    }

    fn close_round(&mut self) {
        let round = std::mem::take(&mut self.round);
        self.most = self.most.max(round.len());
        let busy = round.iter().filter_map(|one| one.busy_percent);
        self.busy.add_mean(busy);
        let memory = round.iter().filter_map(|one| one.memory);
        self.memory.add_mean(memory.map(|(_, percent)| percent));
    }

    /// The averages over all GPUs of the host, and the peak of the fullest; and a note where there are none.
    fn usage(&mut self) -> (Usage, Option<String>) {
        let is_read = self.most > 0 || !self.round.is_empty();
        // The end may come within a round: the mean of some GPUs is not that of all.
        if self.round.len() >= self.most {
            self.close_round();
        }
        let peak = self.peak.map(|(bytes, percent)| PeakMemory {
            bytes: Some(bytes),
            percent: Some(Percent(percent)),
            source: NVIDIA_SMI.to_owned(),
            ..PeakMemory::default()
        });
        let usage = Usage {
            gpu_percent: self.busy.utilization(NVIDIA_SMI),
            gpu_memory_percent: self.memory.utilization(NVIDIA_SMI),
            gpu_memory: peak,
            ..Usage::default()
        };
        let why = match &self.unreadable {
            _ if usage.gpu_percent.is_some() || usage.gpu_memory_percent.is_some() => {
                return (usage, None);
            }
            Some(line) => format!("nvidia-smi printed an unreadable line: `{line}`"),
            None if is_read => "the GPU does not report them".to_owned(),
            None => "nvidia-smi printed nothing".to_owned(),
        };
        (usage, Some(format!("no GPU figures: {why}")))
    }
}

/// The tool with its output in a pipe.
pub(super) fn printing(program: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// A running `nvidia-smi`.
pub(super) struct GpuSampler {
    child: Child,
    output: ChildStdout,
    readings: Readings,
}

impl GpuSampler {
    /// The error is a note for the report.
    pub(super) fn start(program: &Path) -> Result<Self, String> {
        let refused = |error: std::io::Error| {
            let program = shown(program);
            format!("no GPU figures: `{program}` could not be started: {error}")
        };
        let mut command = printing(program, &QUERY);
        // A group of its own, so that its children end with it.
        let mut child = command.process_group(0).spawn().map_err(refused)?;
        let output = child.stdout.take().expect("stdout is piped");
        let sampler = Self {
            child,
            output,
            readings: Readings::default(),
        };
        // Nobody waits for what it prints.
        let flags = FcntlArg::F_SETFL(OFlag::O_NONBLOCK);
        fcntl(&sampler.output, flags).map_err(|errno| refused(errno.into()))?;
        Ok(sampler)
    }

    /// Takes in what was printed since the last call.
    pub(super) fn look(&mut self) {
        let mut printed = Vec::new();
        // An error where nothing more is printed yet.
        let _ = (self.output.by_ref().take(MOST_AT_A_TIME)).read_to_end(&mut printed);
        self.readings.take(&printed);
    }

    pub(super) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("process numbers fit pid_t")
    }

    /// Ends it and returns its readings.
    pub(super) fn stop(mut self) -> (Usage, Option<String>) {
        self.look();
        self.readings.usage()
    }
}

impl Drop for GpuSampler {
    fn drop(&mut self) {
        let _ = killpg(Pid::from_raw(self.pid()), Signal::SIGKILL);
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage_of(text: &[u8]) -> (Usage, Option<String>) {
        let mut readings = Readings::default();
        text.chunks(5).for_each(|part| readings.take(part));
        readings.usage()
    }

    #[test]
    fn gpus_are_averaged_in_each_whole_round_over_what_they_report() {
        for (text, busy, memory) in [
            (
                "0, 100, 40960, 81920\n1, 0, 0, 81920\n0, 60, 81920, 81920\n1, 20, 0, 81920\n",
                45.0,
                37.5,
            ),
            // The last round is cut.
            ("0, 100, 0, 100\n1, 0, 0, 100\n0, 60, 0, 100\n", 50.0, 0.0),
            (
                "0, [N/A], 10, 100\n1, 50, [Not Supported], 100\n",
                50.0,
                10.0,
            ),
        ] {
            let (usage, note) = usage_of(text.as_bytes());
            assert_eq!(usage.gpu_percent.unwrap().mean, Percent(busy), "{text}");
            let of_memory = usage.gpu_memory_percent.unwrap();
            assert_eq!((of_memory.mean, of_memory.p99), (Percent(memory), None));
            assert_eq!(note, None);
        }
        let (none, note) = usage_of(b"0, [N/A], [N/A], [N/A]\n");
        let why = "no GPU figures: the GPU does not report them";
        assert_eq!((none, note.as_deref()), (Usage::default(), Some(why)));
    }

    #[test]
    fn the_peak_is_that_of_the_fullest_gpu_at_any_time() {
        // The second GPU is smaller, and the round with its highest reading is cut.
        let text =
            b"0, 10, 9000, 80000\n1, 0, 100, 16000\n1, 0, 15000, 16000\n0, 9, 40000, 80000\n";
        let peak = usage_of(text).0.gpu_memory.unwrap();
        assert_eq!(peak.bytes, Some(Bytes(15_000 * Bytes::MIB)));
        assert_eq!(peak.percent, Some(Percent(93.75)));
        assert!(!peak.is_lower_bound);
        // Never more than there is.
        let over = usage_of(b"0, 10, 16384, 16380\n").0.gpu_memory.unwrap();
        assert_eq!(over.bytes, Some(Bytes(16_380 * Bytes::MIB)));
        assert_eq!(over.percent, Some(Percent(100.0)));
        assert_eq!(usage_of(b"0, 10, [N/A], 16384\n").0.gpu_memory, None);
    }

    #[test]
    fn garbage_is_reported_and_cannot_move_the_cursor() {
        let mut text = b"NVIDIA-SMI has \x1b[2Jfailed\n\xff\xfe\n".to_vec();
        text.extend(vec![b'x'; 100_000]);
        let (usage, note) = usage_of(&text);
        assert_eq!(usage, Usage::default());
        assert_eq!(
            note.unwrap(),
            "no GPU figures: nvidia-smi printed an unreadable line: `NVIDIA-SMI has \\u{1b}[2Jfailed`"
        );
        assert!(usage_of(b"").1.unwrap().ends_with("printed nothing"));
        for line in [
            "0, 1, 2",
            "0, 1, 2, 3, 4",
            "x, 1, 2, 3",
            "0, -1, 2, 3",
            "0, NaN, 1, 2",
        ] {
            assert_eq!(parse_line(line), None, "{line}");
        }
    }
}
