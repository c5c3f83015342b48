//! How well the large runs of a group are forecast from its small ones.

use std::collections::BTreeSet;

use canary_gate::forecast::Predictive;
use canary_gate::forecast::scale_out::{Load, ScaleOutRun, assume, forecast};

use super::table::{Group, Run};

/// The methods compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// Ours.
    Ernest,
    /// The median on the largest small count and size, in proportion to size / count.
    Divide,
    /// Least squares of ln seconds over ln count and, where sizes differ, ln size.
    LogLog,
}

/// The forecasts of one group's large cells: every count and size among the upper halves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Score {
    /// ln(forecast / median of the cell's runs), by cell: of Ernest, of dividing, of the log-log line.
    pub(crate) errors: Vec<[f64; 3]>,
    /// Single runs in the large cells, and those that the 90 % interval holds.
    pub(crate) runs: u32,
    pub(crate) held: u32,
    /// Upper / lower of the interval, by cell.
    pub(crate) ratios: Vec<f64>,
    /// What is assumed from the largest small count alone, with the large size measured there.
    pub(crate) assumed: Assumed,
}

/// How scale-out fares where it is assumed: runs, those in the 90 % interval, and upper / lower by cell.
#[derive(Debug, Clone, Default)]
pub(crate) struct Assumed {
    pub(crate) runs: u32,
    pub(crate) held: u32,
    pub(crate) ratios: Vec<f64>,
}

impl Assumed {
    /// The share of single large runs in the interval, and the middle of upper / lower; `None` without any.
    pub(crate) fn coverage_and_ratio(&self) -> Option<(f64, f64)> {
        let coverage = f64::from(self.held) / f64::from(self.runs);
        (self.runs > 0).then(|| (coverage, median(&mut self.ratios.clone())))
    }

    /// Holds the runs of one cell against the time of `size` on `from` instances. All of it counts as growing, which is
    /// what a line through the sizes says of these jobs.
    fn add_cell(&mut self, group: &Group, from: u32, count: u32, size: f64, cell: &[f64]) {
        let mut base: Vec<f64> = (group.runs.iter())
            .filter(|run| run.count == from && run.size == size)
            .map(|run| run.seconds)
            .collect();
        if base.is_empty() {
            return;
        }
        // The noise of a few repetitions is small beside the assumption.
        let time = Predictive::log_student_t(median(&mut base), 0.0, f64::INFINITY);
        let loads = [from, count].map(|hosts| Load::even(hosts, 1.0));
        let Ok(answer) = assume(&time, 0.0, loads[0], loads[1]) else {
            return;
        };
        let (lower, upper) = (answer.seconds.quantile(0.05), answer.seconds.quantile(0.95));
        for seconds in cell {
            self.runs += 1;
            self.held += u32::from((lower..=upper).contains(seconds));
        }
        self.ratios.push(upper / lower);
    }
}

impl Score {
    /// Fits the small half and forecasts the large. The error says what the group lacks.
    pub(crate) fn of(group: &Group) -> Result<Self, String> {
        let counts: BTreeSet<u32> = group.runs.iter().map(|run| run.count).collect();
        let counts: Vec<u32> = counts.into_iter().collect();
        let mut sizes: Vec<f64> = group.runs.iter().map(|run| run.size).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        if counts.len() < 3 {
            return Err(format!(
                "{} of instances; it takes three, two to fit and one to forecast",
                of(counts.len(), "count")
            ));
        }
        let (small_counts, large_counts) = counts.split_at(counts.len().div_ceil(2));
        // A single size is small and large.
        let (small_sizes, large_sizes) = match sizes.len() {
            1 => (&sizes[..], &sizes[..]),
            many => sizes.split_at(many.div_ceil(2)),
        };
        let small: Vec<Run> = (group.runs.iter().copied())
            .filter(|run| small_counts.contains(&run.count) && small_sizes.contains(&run.size))
            .collect();
        let full = large_sizes[large_sizes.len() - 1];
        let runs: Vec<ScaleOutRun> = small
            .iter()
            .map(|run| ScaleOutRun {
                load: Load::even(run.count, run.size / full),
                seconds: run.seconds,
            })
            .collect();
        let baselines = Baselines::of(&small)
            .ok_or("no run on the largest small count and size; measure that cell")?;
        let mut score = Self::default();
        for count in large_counts {
            for size in large_sizes {
                let mut cell: Vec<f64> = (group.runs.iter())
                    .filter(|run| run.count == *count && run.size == *size)
                    .map(|run| run.seconds)
                    .collect();
                if cell.is_empty() {
                    continue;
                }
                let answer = forecast(&runs, Load::even(*count, size / full))
                    .map_err(|unknown| unknown.to_string())?
                    .seconds;
                let (lower, upper) = (answer.quantile(0.05), answer.quantile(0.95));
                for seconds in &cell {
                    score.runs += 1;
                    score.held += u32::from((lower..=upper).contains(seconds));
                }
                if let Some(from) = small_counts.last() {
                    score.assumed.add_cell(group, *from, *count, *size, &cell);
                }
                let truth = median(&mut cell);
                score.ratios.push(upper / lower);
                score.errors.push(
                    [
                        answer.median(),
                        baselines.divided(*count, *size),
                        baselines.log_log(*count, *size),
                    ]
                    .map(|forecast| (forecast / truth).ln()),
                );
            }
        }
        if score.errors.is_empty() {
            return Err(
                "no run on a large count and a large size; measure one to forecast".to_owned(),
            );
        }
        Ok(score)
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.errors.extend(&other.errors);
        self.ratios.extend(&other.ratios);
        self.runs += other.runs;
        self.held += other.held;
        self.assumed.runs += other.assumed.runs;
        self.assumed.held += other.assumed.held;
        self.assumed.ratios.extend(&other.assumed.ratios);
    }

    /// Median, mean and largest of |ln(forecast / median)|.
    pub(crate) fn error(&self, method: Method) -> [f64; 3] {
        let column = match method {
            Method::Ernest => 0,
            Method::Divide => 1,
            Method::LogLog => 2,
        };
        let mut errors: Vec<f64> = self
            .errors
            .iter()
            .map(|error| error[column].abs())
            .collect();
        let total: f64 = errors.iter().sum();
        let count: f64 = errors.iter().map(|_| 1.0).sum();
        let middle = median(&mut errors);
        [middle, total / count, errors[errors.len() - 1]]
    }

    /// The share of single large runs in the 90 % interval.
    pub(crate) fn coverage(&self) -> f64 {
        f64::from(self.held) / f64::from(self.runs)
    }

    pub(crate) fn ratio(&self) -> f64 {
        median(&mut self.ratios.clone())
    }
}

/// `1 count`, `2 counts`
fn of(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Sorts; not empty.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0
}

/// What the two plain rules need.
struct Baselines {
    /// Instance-seconds for one unit of data.
    unit_cost: f64,
    /// Means of ln count, ln size and ln seconds.
    center: [f64; 3],
    slopes: [f64; 2],
}

impl Baselines {
    fn of(small: &[Run]) -> Option<Self> {
        let count = small.iter().map(|run| run.count).max()?;
        let size = small.iter().map(|run| run.size).fold(0.0, f64::max);
        let mut base: Vec<f64> = (small.iter())
            .filter(|run| run.count == count && run.size == size)
            .map(|run| run.seconds)
            .collect();
        if base.is_empty() {
            return None;
        }
        let points: Vec<[f64; 3]> = small
            .iter()
            .map(|run| [f64::from(run.count), run.size, run.seconds].map(f64::ln))
            .collect();
        let number: f64 = points.iter().map(|_| 1.0).sum();
        let center =
            [0, 1, 2].map(|axis| points.iter().map(|point| point[axis]).sum::<f64>() / number);
        let product = |one: usize, other: usize| -> f64 {
            points
                .iter()
                .map(|point| (point[one] - center[one]) * (point[other] - center[other]))
                .sum()
        };
        // The normal equations of two centred columns; with one size only the count is left.
        let determinant = product(0, 0) * product(1, 1) - product(0, 1).powi(2);
        let slopes = if determinant > 1e-9 * product(0, 0).powi(2) {
            [
                (product(0, 2) * product(1, 1) - product(1, 2) * product(0, 1)) / determinant,
                (product(1, 2) * product(0, 0) - product(0, 2) * product(0, 1)) / determinant,
            ]
        } else {
            [product(0, 2) / product(0, 0), 0.0]
        };
        Some(Self {
            unit_cost: median(&mut base) * f64::from(count) / size,
            center,
            slopes,
        })
    }

    fn divided(&self, count: u32, size: f64) -> f64 {
        self.unit_cost * size / f64::from(count)
    }

    fn log_log(&self, count: u32, size: f64) -> f64 {
        let x = [f64::from(count).ln(), size.ln()];
        (self.center[2]
            + self.slopes[0] * (x[0] - self.center[0])
            + self.slopes[1] * (x[1] - self.center[1]))
            .exp()
    }
}
