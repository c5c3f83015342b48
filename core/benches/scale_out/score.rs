//! How well the runs of a group on large counts are forecast from those on small ones.

use std::collections::BTreeSet;

use canary_gate_core::forecast::Predictive;
use canary_gate_core::forecast::scale_out::{CountPrior, Load, ScaleOutLaws, ScaleOutRun, assume};

use super::ernest;
use super::log_log::LogLogLine;
use super::table::{Group, Run};

/// What is measured, and what is forecast from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Split {
    /// The smallest count and 4, for 8 and more; each size by itself.
    EachSize,
    /// The same with all sizes in one fit.
    AllSizes,
    /// All counts with the lower half of the sizes, for the upper half.
    SmallSizes,
    /// The lower half of the counts with the lower half of the sizes, the middle one included, for the upper halves.
    LowerHalves,
}

impl Split {
    /// The counts that are measured and those that are forecast.
    fn counts(self, of: &[u32]) -> Result<(Vec<u32>, Vec<u32>), String> {
        if of.len() < 3 {
            return Err(format!(
                "{} of instances; it takes three, two to fit and one to forecast",
                counted(of.len(), "count")
            ));
        }
        if self == Self::SmallSizes {
            return Ok((of.to_vec(), of.to_vec()));
        }
        if self == Self::LowerHalves {
            let (small, large) = of.split_at(of.len().div_ceil(2));
            return Ok((small.to_vec(), large.to_vec()));
        }
        let large: Vec<u32> = of.iter().copied().filter(|count| *count >= 8).collect();
        if of[0] >= 4 || !of.contains(&4) || large.is_empty() {
            return Err("it takes a count below 4, 4, and one of at least 8".to_owned());
        }
        Ok((vec![of[0], 4], large))
    }

    /// The sizes that are measured and those that are forecast, for each fit.
    fn sizes(self, of: &[f64]) -> Vec<(Vec<f64>, Vec<f64>)> {
        match self {
            Self::EachSize => of.iter().map(|size| (vec![*size], vec![*size])).collect(),
            Self::AllSizes => vec![(of.to_vec(), of.to_vec())],
            Self::SmallSizes if of.len() == 1 => Vec::new(),
            // A single size is small and large.
            Self::LowerHalves if of.len() == 1 => vec![(of.to_vec(), of.to_vec())],
            Self::SmallSizes | Self::LowerHalves => {
                let (small, large) = of.split_at(of.len().div_ceil(2));
                vec![(small.to_vec(), large.to_vec())]
            }
        }
    }
}

/// The methods compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    /// The program's.
    Weighed,
    /// One law, and the doubt in it chosen by hand.
    Ernest,
    /// Least squares of ln seconds over ln count and, where sizes differ, ln size.
    LogLog,
    /// What the program assumes from the largest small count alone, with the wanted size measured there.
    Assumed,
}

/// The forecasts of one method, each cell a count with a size.
#[derive(Debug, Clone, Default)]
pub(crate) struct MethodScore {
    /// ln(forecast / median of the cell's runs), by cell.
    pub(crate) errors: Vec<f64>,
    /// Upper / lower of the interval, by cell.
    pub(crate) ratios: Vec<f64>,
    /// The interval score of ln seconds (Gneiting and Raftery, JASA 102, 2007, eq. 43), by cell.
    interval_scores: Vec<f64>,
    /// Single runs in the cells, and those that the 90 % interval holds.
    pub(crate) runs: u32,
    pub(crate) held: u32,
}

impl MethodScore {
    fn add_cell(&mut self, forecast: &Predictive, sorted: &[f64]) {
        let (lower, upper) = (forecast.quantile(0.05), forecast.quantile(0.95));
        let mut outside = 0.0;
        for seconds in sorted {
            self.runs += 1;
            self.held += u32::from((lower..=upper).contains(seconds));
            outside += (lower / seconds).ln().max((seconds / upper).ln()).max(0.0);
        }
        let of_cell: f64 = sorted.iter().map(|_| 1.0).sum();
        let width = (upper / lower).ln();
        self.interval_scores.push(width + 20.0 * outside / of_cell);
        self.ratios.push(upper / lower);
        self.errors.push((forecast.median() / median(sorted)).ln());
    }

    fn add(&mut self, other: &Self) {
        self.errors.extend(&other.errors);
        self.ratios.extend(&other.ratios);
        self.interval_scores.extend(&other.interval_scores);
        self.runs += other.runs;
        self.held += other.held;
    }

    /// Median, mean and largest of |ln(forecast / median)|; `None` without a cell.
    pub(crate) fn error(&self) -> Option<[f64; 3]> {
        let mut errors: Vec<f64> = self.errors.iter().map(|error| error.abs()).collect();
        errors.sort_by(f64::total_cmp);
        let total: f64 = errors.iter().sum();
        let count: f64 = errors.iter().map(|_| 1.0).sum();
        let largest = errors.last().copied()?;
        Some([median(&errors), total / count, largest])
    }

    /// The share of single runs in the 90 % interval.
    pub(crate) fn coverage(&self) -> f64 {
        f64::from(self.held) / f64::from(self.runs)
    }

    /// The mean interval score.
    pub(crate) fn interval_score(&self) -> f64 {
        let count: f64 = self.interval_scores.iter().map(|_| 1.0).sum();
        self.interval_scores.iter().sum::<f64>() / count
    }

    /// The middle of upper / lower.
    pub(crate) fn ratio(&self) -> f64 {
        let mut ratios = self.ratios.clone();
        ratios.sort_by(f64::total_cmp);
        median(&ratios)
    }
}

/// The forecasts of one group, or of several.
#[derive(Debug, Clone, Default)]
pub(crate) struct Score {
    methods: [MethodScore; 4],
}

impl Score {
    /// Fits the small counts, with at most so many repeats of each cell, and forecasts the large ones. The error says what the
    /// group lacks.
    pub(crate) fn of(
        group: &Group,
        split: Split,
        repeats: usize,
        prior: &CountPrior,
    ) -> Result<Self, String> {
        let counts: BTreeSet<u32> = group.runs.iter().map(|run| run.count).collect();
        let counts: Vec<u32> = counts.into_iter().collect();
        let mut sizes: Vec<f64> = group.runs.iter().map(|run| run.size).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.dedup();
        let (small_counts, large_counts) = split.counts(&counts)?;
        let mut score = Self::default();
        for (small_sizes, large_sizes) in split.sizes(&sizes) {
            let small = measured(group, &small_counts, &small_sizes, repeats);
            for size in large_sizes {
                for count in &large_counts {
                    score.add_cell(group, &small, (*count, size), prior)?;
                }
            }
        }
        match score.of_method(Method::Weighed).errors.is_empty() {
            true => Err("no run that can be forecast; measure one on a large count".to_owned()),
            false => Ok(score),
        }
    }

    fn add_cell(
        &mut self,
        group: &Group,
        small: &[Run],
        (count, size): (u32, f64),
        prior: &CountPrior,
    ) -> Result<(), String> {
        let mut cell = cell(group, count, size);
        let known: BTreeSet<u32> = small.iter().map(|run| run.count).collect();
        if cell.is_empty() || known.len() < 2 {
            return Ok(());
        }
        cell.sort_by(f64::total_cmp);
        // Relative to the wanted size, so that it is the full data.
        let runs: Vec<ScaleOutRun> = small
            .iter()
            .map(|run| ScaleOutRun {
                load: Load::even(run.count, run.size / size),
                seconds: run.seconds,
            })
            .collect();
        let wanted = Load::even(count, 1.0);
        let weighed = ScaleOutLaws::fit(&runs, prior).map(|laws| laws.seconds(wanted));
        let forecasts = [
            Some(weighed.map_err(|unknown| unknown.to_string())?),
            ernest::forecast(&runs, wanted),
            Some(LogLogLine::through(small).at(count, size)),
            known
                .last()
                .and_then(|from| assumed(group, *from, count, size)),
        ];
        for (score, forecast) in self.methods.iter_mut().zip(forecasts) {
            if let Some(forecast) = forecast {
                score.add_cell(&forecast, &cell);
            }
        }
        Ok(())
    }

    pub(crate) fn of_method(&self, method: Method) -> &MethodScore {
        &self.methods[method as usize]
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (own, others) in self.methods.iter_mut().zip(&other.methods) {
            own.add(others);
        }
    }
}

/// The runs of some counts and sizes, at most `repeats` of each cell. Tables are sorted by seconds, so each cell begins elsewhere.
fn measured(group: &Group, counts: &[u32], sizes: &[f64], repeats: usize) -> Vec<Run> {
    let cells = (sizes.iter()).flat_map(|size| counts.iter().map(move |count| (*count, *size)));
    let of_cell = |(place, (count, size)): (usize, (u32, f64))| {
        let seconds = cell(group, count, size);
        let first = (2 * place).checked_rem(seconds.len()).unwrap_or_default();
        let taken = seconds.len().min(repeats);
        let from_there = seconds.into_iter().cycle().skip(first).take(taken);
        let run = move |seconds| Run {
            count,
            size,
            seconds,
        };
        from_there.map(run).collect::<Vec<Run>>()
    };
    cells.enumerate().flat_map(of_cell).collect()
}

fn cell(group: &Group, count: u32, size: f64) -> Vec<f64> {
    let runs = group.runs.iter();
    runs.filter(|run| run.count == count && run.size == size)
        .map(|run| run.seconds)
        .collect()
}

/// From the time of `size` on `from` instances alone. All of it counts as growing, which is what a line through the sizes says of
/// these jobs.
fn assumed(group: &Group, from: u32, count: u32, size: f64) -> Option<Predictive> {
    let mut base = cell(group, from, size);
    base.sort_by(f64::total_cmp);
    if base.is_empty() {
        return None;
    }
    // The noise of a few repetitions is small beside the assumption.
    let time = Predictive::log_student_t(median(&base), 0.0, f64::INFINITY);
    let loads = [from, count].map(|hosts| Load::even(hosts, 1.0));
    Some(assume(&time, 0.0, loads[0], loads[1]).seconds)
}

/// `1 count`, `2 counts`
fn counted(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// Of sorted values; not empty.
fn median(sorted: &[f64]) -> f64 {
    (sorted[(sorted.len() - 1) / 2] + sorted[sorted.len() / 2]) / 2.0
}
