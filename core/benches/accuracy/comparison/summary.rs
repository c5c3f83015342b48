//! The figures over all workloads, in the form that other programs read.

use serde::Serialize;

use super::score::{Scored, as_float, largest, mean, median};
use super::{Both, Comparison, Quantity, Row};

/// The names are those of the JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Summary {
    pub(crate) seed: Both<Errors>,
    pub(crate) fixed: Both<Intervals>,
    pub(crate) adaptive: Chosen,
    pub(crate) default: Chosen,
}

/// |ln(forecast / median of the full runs)| over the workloads. All absent where one has no forecast.
#[derive(Debug, Serialize)]
pub(crate) struct Errors {
    pub(crate) median: Option<f64>,
    pub(crate) mean: Option<f64>,
    pub(crate) max: Option<f64>,
}

/// All absent where one workload has no forecast.
#[derive(Debug, Serialize)]
pub(crate) struct Intervals {
    #[serde(flatten)]
    pub(crate) errors: Errors,
    /// The share of single full runs inside the 90 % interval.
    pub(crate) coverage: Option<f64>,
    /// The median of upper over lower end.
    pub(crate) ratio: Option<f64>,
    /// The mean interval score of ln over single full runs.
    pub(crate) score: Option<f64>,
}

#[derive(Debug, Serialize)]
pub(crate) struct Chosen {
    #[serde(flatten)]
    pub(crate) quantities: Both<Intervals>,
    /// The largest over the workloads, the seconds of the nine canaries being 1; of the default their median, the full run being 1.
    pub(crate) spend_ratio: f64,
}

impl Summary {
    pub(crate) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("names are texts, values numbers or null")
    }
}

impl Comparison {
    pub(crate) fn summary(&self) -> Summary {
        let spent = |of: fn(&Row) -> f64| self.rows.iter().map(of).collect::<Vec<f64>>();
        Summary {
            seed: Both::of(|quantity| self.seed_errors(quantity)),
            fixed: Both::of(|quantity| self.intervals(|row| row.fixed.get(quantity))),
            adaptive: Chosen {
                quantities: Both::of(|quantity| self.intervals(|row| row.adaptive.get(quantity))),
                spend_ratio: largest(&spent(|row| row.spent.adaptive)),
            },
            default: Chosen {
                quantities: Both::of(|quantity| self.intervals(|row| row.default.get(quantity))),
                spend_ratio: median(&spent(|row| row.spent.default)),
            },
        }
    }

    fn seed_errors(&self, quantity: Quantity) -> Errors {
        let of_row = |row: &Row| row.seed.get(quantity).as_ref().map(|seed| seed.log_error);
        Errors::of(self.rows.iter().map(of_row).collect())
    }

    fn intervals<'a>(
        &'a self,
        scored: impl Fn(&'a Row) -> &'a Result<Scored, String>,
    ) -> Intervals {
        let of_row = |row| scored(row).as_ref().ok();
        let all: Option<Vec<&Scored>> = self.rows.iter().map(of_row).collect();
        let figure = |figure: fn(&[&Scored]) -> f64| all.as_deref().map(figure);
        let errors = all
            .as_ref()
            .map(|all| all.iter().map(|scored| scored.log_error).collect());
        Intervals {
            coverage: figure(|all| {
                let inside: usize = all.iter().map(|scored| scored.inside).sum();
                let runs: usize = all.iter().map(|scored| scored.scores.len()).sum();
                as_float(inside) / as_float(runs)
            }),
            ratio: figure(|all| median(&all.iter().map(|one| one.ratio).collect::<Vec<_>>())),
            score: figure(|all| {
                let scores: Vec<f64> = all.iter().flat_map(|one| one.scores.clone()).collect();
                mean(&scores)
            }),
            errors: Errors::of(errors),
        }
    }
}

impl Errors {
    /// From errors with their sign.
    fn of(log_errors: Option<Vec<f64>>) -> Self {
        let sizes: Option<Vec<f64>> =
            log_errors.map(|errors| errors.into_iter().map(f64::abs).collect());
        Self {
            median: sizes.as_deref().map(median),
            mean: sizes.as_deref().map(mean),
            max: sizes.as_deref().map(largest),
        }
    }
}
