//! The **metrics** of a full run: what is forecast, shown in a report, and limited by a budget.
//!
//! One row for each [`Metric`] says its names, its unit, its column and how a budget line about it is written. What reads
//! the spec, judges a budget and lays out a report follows the rows; only the forecast itself knows each metric by name.

mod line;
mod memory_of;
mod name;
mod unit;

use enum_map::EnumMap;

pub use line::{LineForm, LineKind};
pub use memory_of::MemoryOf;
pub use name::{MetricName, MetricNameError};
pub use unit::{Amount, Unit, WrittenForm};

use line::LineRow;

/// A quantity of the full run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, enum_map::Enum)]
pub enum Metric {
    /// Billed per instance.
    Time,
    /// Over all machines.
    Cost,
    /// Peak on the fullest host, as a share of the host's memory.
    Memory,
    /// The same in bytes.
    MemoryBytes,
    /// A mean over the whole instance, as the other utilizations.
    CpuUtilization,
    GpuUtilization,
    /// Peak of the fullest GPU, as a share of its memory.
    GpuMemory,
    /// The same in bytes.
    GpuMemoryBytes,
    /// The share of time that the cores wait for input and output.
    IoWait,
    StepTime,
    CostPerStep,
}

/// What is known of a metric beside how it is forecast.
#[derive(Clone, Copy)]
struct MetricRow {
    /// The name in the report's JSON.
    key: &'static str,
    words: &'static str,
    unit: Unit,
    /// The title of its column in a report; absent where it has none.
    title: Option<&'static str>,
    /// The budget line about its amount.
    line: Option<LineRow>,
    /// The budget line about how much more it is than on the base.
    increase: Option<LineRow>,
}

impl MetricRow {
    const fn of(key: &'static str, words: &'static str, unit: Unit) -> Self {
        Self {
            key,
            words,
            unit,
            title: None,
            line: None,
            increase: None,
        }
    }

    const fn titled(mut self, title: &'static str) -> Self {
        self.title = Some(title);
        self
    }

    const fn line(mut self, key: &'static str, description: &'static str) -> Self {
        self.line = Some(LineRow { key, description });
        self
    }

    const fn increase(mut self, key: &'static str, description: &'static str) -> Self {
        self.increase = Some(LineRow { key, description });
        self
    }
}

impl Metric {
    /// In the order of a report's estimates and columns.
    pub const ALL: [Self; 11] = [
        Self::Time,
        Self::Cost,
        Self::Memory,
        Self::MemoryBytes,
        Self::CpuUtilization,
        Self::GpuUtilization,
        Self::GpuMemory,
        Self::GpuMemoryBytes,
        Self::IoWait,
        Self::StepTime,
        Self::CostPerStep,
    ];

    const fn row(self) -> MetricRow {
        match self {
            Self::Time => MetricRow::of("time_seconds", "time", Unit::Time)
                .titled("Time")
                .line("time", "The longest time that the full run may take. Without this line `training.max_runtime` is the limit.")
                .increase("time_increase", "The most by which the full run may take longer than the base's, for instance `20%` or `{max: 20%, at_least: 10m}`."),
            Self::Cost => MetricRow::of("cost_usd", "cost", Unit::Money)
                .titled("Cost")
                .line("cost", "The most that the full run may cost, in US dollars.")
                .increase("cost_increase", "The most by which the full run may cost more than the base's, for instance `20%` or `{max: 20%, at_least: 5 USD}`."),
            Self::Memory => MetricRow::of("memory_percent", "memory", Unit::Percent)
                .titled("Memory")
                .line("memory", "The peak memory of the full run, as a share of the machine's. Without this line 100% is the limit."),
            Self::MemoryBytes => MetricRow::of("memory_bytes", "peak memory", Unit::Bytes),
            Self::CpuUtilization => MetricRow::of("cpu_percent", "CPU utilization", Unit::Percent)
                .titled("CPU")
                .line("cpu_utilization", "The mean CPU load of the full run, as a share of all cores, for instance `{min: 20%, level: warn}`."),
            Self::GpuUtilization => MetricRow::of("gpu_percent", "GPU utilization", Unit::Percent)
                .titled("GPU")
                .line("gpu_utilization", "The mean GPU load of the full run, as a share of all GPUs, for instance `{min: 50%, level: warn}`."),
            Self::GpuMemory => MetricRow::of("gpu_memory_percent", "GPU memory", Unit::Percent)
                .titled("GPU mem")
                .line("gpu_memory", "The peak memory of the full run on its fullest GPU, as a share of the GPU's. Without this line 100% is the limit."),
            Self::GpuMemoryBytes => MetricRow::of("gpu_memory_bytes", "peak GPU memory", Unit::Bytes),
            Self::IoWait => MetricRow::of("io_wait_percent", "I/O wait", Unit::Percent)
                .titled("I/O wait")
                .line("io_wait", "The mean share of time in which the cores wait for input and output, for instance `{max: 30%}`."),
            Self::StepTime => MetricRow::of("step_seconds", "step time", Unit::StepTime)
                .titled("Step"),
            Self::CostPerStep => MetricRow::of("cost_per_step_usd", "cost per step", Unit::Money)
                .titled("Cost/step")
                .line("cost_per_step", "The most that one training step may cost, in US dollars; needs `training.step_metric`."),
        }
    }

    /// The name in the report's JSON: `cost_usd`.
    pub const fn key(self) -> &'static str {
        self.row().key
    }

    /// The name for a reader: `CPU utilization`.
    pub const fn words(self) -> &'static str {
        self.row().words
    }

    pub const fn unit(self) -> Unit {
        self.row().unit
    }

    /// The title of its column in a report; `None` where it has none.
    pub const fn title(self) -> Option<&'static str> {
        self.row().title
    }

    /// Whether it follows from the price of the machines.
    pub fn is_priced(self) -> bool {
        self.unit() == Unit::Money
    }

    /// Whether a machine without a GPU has none of it.
    pub fn needs_gpu(self) -> bool {
        matches!(
            self,
            Self::GpuUtilization | Self::GpuMemory | Self::GpuMemoryBytes
        )
    }

    /// The share of a memory that the metric is.
    pub fn share_of(of: MemoryOf) -> Self {
        of.pick(Self::Memory, Self::GpuMemory)
    }

    /// The peak of a memory in bytes.
    pub fn bytes_of(of: MemoryOf) -> Self {
        of.pick(Self::MemoryBytes, Self::GpuMemoryBytes)
    }

    /// Whose peak of memory the metric is, as a share or in bytes; `None` of others.
    pub fn memory_of(self) -> Option<MemoryOf> {
        match self {
            Self::Memory | Self::MemoryBytes => Some(MemoryOf::Machine),
            Self::GpuMemory | Self::GpuMemoryBytes => Some(MemoryOf::Gpu),
            _ => None,
        }
    }
}

impl LineKind {
    /// Those with a row, in the order of a budget; lines about what the script prints follow.
    pub const ALL: [Self; 10] = [
        Self::Absolute(Metric::Cost),
        Self::Absolute(Metric::Time),
        Self::Absolute(Metric::Memory),
        Self::Absolute(Metric::GpuMemory),
        Self::Absolute(Metric::CostPerStep),
        Self::Increase(Metric::Cost),
        Self::Increase(Metric::Time),
        Self::Absolute(Metric::CpuUtilization),
        Self::Absolute(Metric::GpuUtilization),
        Self::Absolute(Metric::IoWait),
    ];

    /// How it is written.
    pub fn form(self) -> LineForm {
        const PRINTED: &str = "A limit of what the script prints, either from above or from below: of the median of the later half of a run's values.";
        const LOAD: &str = "A limit of a load, either from above or from below.";
        let (name, description, either_side) = match self {
            Self::Named(_) => ("MetricLine", PRINTED, Some("9000")),
            Self::Increase(Metric::Cost) => (
                "CostIncreaseLine",
                "A limit against the base, in cost.",
                None,
            ),
            Self::Increase(_) => (
                "TimeIncreaseLine",
                "A limit against the base, in time.",
                None,
            ),
            Self::Absolute(Metric::Cost | Metric::CostPerStep) => {
                ("CostLine", "A limit in US dollars.", None)
            }
            Self::Absolute(Metric::Time) => ("TimeLine", "A limit in time.", None),
            Self::Absolute(Metric::Memory | Metric::GpuMemory) => {
                ("ShareLine", "A limit as a share of the machine.", None)
            }
            Self::Absolute(_) => ("UtilizationLine", LOAD, Some("20")),
        };
        LineForm {
            name,
            description,
            either_side,
        }
    }
}

/// A value for each metric.
pub type PerMetric<T> = EnumMap<Metric, T>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_listed_as_they_are_numbered() {
        for (index, metric) in Metric::ALL.into_iter().enumerate() {
            assert_eq!(metric as usize, index, "{metric:?}");
        }
    }

    #[test]
    fn every_line_of_the_rows_is_listed_once() {
        let written = Metric::ALL.into_iter().flat_map(|metric| {
            let row = metric.row();
            let absolute = row.line.map(|_| LineKind::Absolute(metric));
            absolute
                .into_iter()
                .chain(row.increase.map(|_| LineKind::Increase(metric)))
        });
        let mut written: Vec<LineKind> = written.collect();
        let mut listed = LineKind::ALL.to_vec();
        written.sort();
        listed.sort();
        assert_eq!(written, listed);
    }
}
