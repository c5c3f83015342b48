//! Debugger's system metrics: JSON lines in S3, a file a minute and host.
//!
//! Each core and each GPU has records of its own, 0-100 each. The last line of a file may be cut.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{peak_memory, utilization};
use crate::measurement::Usage;
use crate::units::Bytes;

const SOURCE: &str = "Debugger";
/// A record has some 130 bytes; what is longer is none.
const LONGEST_LINE: usize = 4096;
/// Of one metric on one host; a day at Debugger's highest rate, ten a second.
const MOST_POINTS: usize = 24 * 3600 * 10;

/// Where Debugger writes below a job's output path, with `/` at the end.
pub(in crate::backend) fn prefix(job_name: &str) -> String {
    format!("{job_name}/profiler-output/system/incremental/")
}

/// The host that a file is of: `algo-1` for `…/1790000160.algo-1.json`; `None` for other files.
pub(in crate::backend) fn host_of(key: &str) -> Option<&str> {
    let name = key.rsplit('/').next()?;
    let host = name.strip_suffix(".json")?.rsplit('.').next()?;
    let number = host.strip_prefix("algo-")?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(host)
}

/// The records of a series: their type, and their dimension or, of memory, their name.
type ProfilerSeries = (&'static str, &'static str);

const CPU: ProfilerSeries = ("cpu", "CPUUtilization");
const IO_WAIT: ProfilerSeries = ("cpu", "I/OWaitPercentage");
const GPU: ProfilerSeries = ("gpu", "GPUUtilization");
const GPU_MEMORY: ProfilerSeries = ("gpu", "GPUMemoryUtilization");
const MEMORY: ProfilerSeries = ("memory", "MemoryUsedPercent");

/// One line. Other fields are of no interest.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct ProfilerRecord<'a> {
    r#type: &'a str,
    name: &'a str,
    dimension: &'a str,
    value: f64,
    timestamp: f64,
}

impl ProfilerRecord<'_> {
    fn series(&self) -> Option<ProfilerSeries> {
        let what = match self.r#type {
            "memory" => self.name,
            _ => self.dimension,
        };
        let mut known = [CPU, IO_WAIT, GPU, GPU_MEMORY, MEMORY].into_iter();
        known.find(|series| *series == (self.r#type, what))
    }
}

/// What Debugger recorded of one host, file by file.
#[derive(Debug, Clone, Default)]
pub(in crate::backend) struct Recording {
    /// The mean over cores or GPUs at each time.
    points: BTreeMap<ProfilerSeries, Vec<f64>>,
}

impl Recording {
    /// Adds one of the host's files. What is no record is skipped.
    pub(in crate::backend) fn add(&mut self, file: &[u8]) {
        // The parts of one time stand in one file.
        let mut sums: BTreeMap<(ProfilerSeries, u64), (f64, u32)> = BTreeMap::new();
        let lines = file.split(|byte| *byte == b'\n');
        let lines = lines.filter(|line| line.len() <= LONGEST_LINE);
        let records = lines.filter_map(|line| serde_json::from_slice(line).ok());
        let sound = |record: &ProfilerRecord| (0.0..=100.0).contains(&record.value);
        for record in records.filter(sound) {
            if let Some(series) = record.series() {
                let time = record.timestamp.to_bits();
                let (sum, count) = sums.entry((series, time)).or_default();
                *sum += record.value;
                *count += 1;
            }
        }
        for ((series, _), (sum, count)) in sums {
            let points = self.points.entry(series).or_default();
            if points.len() < MOST_POINTS {
                points.push(sum / f64::from(count));
            }
        }
    }

    /// What the host used, of this much memory, where that is known.
    pub(in crate::backend) fn usage(&self, memory: Option<Bytes>) -> Usage {
        let points = |series| self.points.get(&series).map_or(&[][..], Vec::as_slice);
        let share = |series| utilization(points(series), SOURCE);
        let peak = points(MEMORY).iter().copied().reduce(f64::max);
        Usage {
            memory: peak.and_then(|percent| peak_memory(percent, memory, SOURCE)),
            cpu_percent: share(CPU),
            gpu_percent: share(GPU),
            gpu_memory_percent: share(GPU_MEMORY),
            io_wait_percent: share(IO_WAIT),
            ..Usage::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Percent;

    const FILE: &[u8] =
        include_bytes!("../../../../tests/data/sagemaker/profiler-system-1790000160.algo-1.json");
    const GIB_16: Bytes = Bytes(16 << 30);

    fn usage_of(file: &[u8]) -> Usage {
        let mut recording = Recording::default();
        recording.add(file);
        recording.usage(Some(GIB_16))
    }

    fn line(kind: &str, dimension: &str, value: &str, time: &str) -> String {
        format!(
            "{{\"Type\":\"{kind}\",\"Name\":\"x0\",\"Dimension\":\"{dimension}\",\"Value\":{value},\"NodeId\":\"algo-1\",\"Timestamp\":{time}}}\n"
        )
    }

    #[test]
    fn a_file_with_a_cut_last_line_gives_all_else() {
        assert!(!FILE.ends_with(b"}\n"));
        let usage = usage_of(FILE);
        let mean = |share: &Option<crate::measurement::Utilization>| share.as_ref().unwrap().mean.0;
        // Four cores at 12.5, 97.2, 99 and 100 %.
        assert!((mean(&usage.cpu_percent) - 77.175).abs() < 1e-9);
        assert!((mean(&usage.io_wait_percent) - 1.5).abs() < 1e-9);
        assert!((mean(&usage.gpu_percent) - 89.5).abs() < 0.5);
        assert!((mean(&usage.gpu_memory_percent) - 54.5).abs() < 0.5);
        let memory = usage.memory.unwrap();
        assert_eq!(memory.percent, Some(Percent(5.19)));
        assert_eq!(memory.source, "Debugger");
    }

    #[test]
    fn a_percentile_is_over_time_and_not_over_cores() {
        // One core always busy, one idle: half of the machine at every time.
        let mut text = String::new();
        for second in 0..150 {
            text += &line("cpu", "CPUUtilization", "100", &format!("{second}.5"));
            text += &line("cpu", "CPUUtilization", "0", &format!("{second}.5"));
        }
        let cpu = usage_of(text.as_bytes()).cpu_percent.unwrap();
        assert_eq!((cpu.mean, cpu.p99), (Percent(50.0), Some(Percent(50.0))));
    }

    #[test]
    fn hostile_lines_are_skipped() {
        let good = line("gpu", "GPUUtilization", "40", "1");
        let mut text = Vec::new();
        for bad in [
            line("gpu", "GPUUtilization", "-1", "1"),
            line("gpu", "GPUUtilization", "1e9", "1"),
            line("gpu", "GPUUtilization", "\"40\"", "1"),
            line("gpu", "Temperature", "90", "1"),
            "[".repeat(3000) + "\n",
            "x".repeat(1_000_000) + "\n",
            "null\n\n{}\n".to_owned(),
        ] {
            text.extend(bad.into_bytes());
        }
        text.extend(b"\xff\xfe\n");
        assert_eq!(usage_of(&text), Usage::default());
        text.extend(good.into_bytes());
        assert_eq!(usage_of(&text).gpu_percent.unwrap().mean, Percent(40.0));
    }

    #[test]
    fn a_file_says_by_its_name_whose_it_is() {
        let folder = prefix("cg-churn-01-0");
        assert_eq!(
            host_of(&format!("{folder}2026092115/1790000160.algo-12.json")),
            Some("algo-12")
        );
        assert_eq!(host_of("1790000160.algo-1.json"), Some("algo-1"));
        for key in [
            "1790000160.algo-1.json.tmp",
            "a.algo-.json",
            "a.algo-x.json",
            "",
            "/",
            "x.json",
        ] {
            assert_eq!(host_of(key), None, "{key}");
        }
    }
}
