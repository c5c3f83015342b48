//! The level of what a training script prints.

use std::collections::{BTreeMap, BTreeSet};

use super::{Quantity, Runs, Unknown, level};
use crate::measurement::Measurement;
use crate::measurement::printed_figures::PrintedLevel;
use crate::metric::MetricName;

/// The level of what the script prints, by the hosts and the values that matter for a limit.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelForecast {
    /// What a lower limit is held against.
    pub lowest: Quantity,
    /// What an upper limit is held against.
    pub highest: Quantity,
}

/// The level of each metric that a run has printed.
pub(super) fn levels(runs: &Runs) -> BTreeMap<MetricName, LevelForecast> {
    let of_end = |name: MetricName, end: fn(&PrintedLevel) -> Option<f64>| {
        let printed = |run: &Measurement| run.metrics.get(&name).copied();
        let all = |is_fine: fn(f64) -> bool| {
            runs.all_have(|run| printed(run).is_none_or(|level| end(&level).is_some_and(is_fine)))
        };
        if !all(|_| true) {
            return Err(Unknown(format!(
                "in a canary half of the later values of {name} and more are no finite numbers"
            )));
        }
        if !all(|level| level > 0.0) {
            return Err(Unknown(format!(
                "the level of {name} is not above 0 in a canary, and only levels above 0 are forecast"
            )));
        }
        runs.level(level::positive, name.as_str(), |run| end(&printed(run)?))
    };
    let entered = runs.entered().iter();
    let names = entered.flat_map(|run| run.metrics.keys().copied());
    let forecast = |name| LevelForecast {
        lowest: of_end(name, |level| level.lowest),
        highest: of_end(name, |level| level.highest),
    };
    let names: BTreeSet<MetricName> = names.collect();
    let levels = names.into_iter().map(|name| (name, forecast(name)));
    levels.collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::run;
    use super::*;

    /// The forecast of runs with these lowest and highest levels.
    fn of(levels: &[Option<(f64, f64)>]) -> Option<LevelForecast> {
        let name: MetricName = "rate".parse().unwrap();
        let measured = |level: &Option<(f64, f64)>| {
            let mut run = run(1.0, 60.0);
            let level = level.map(|(lowest, highest)| PrintedLevel {
                lowest: Some(lowest).filter(|level| level.is_finite()),
                highest: Some(highest).filter(|level| level.is_finite()),
                values: 9,
            });
            run.metrics.extend(level.map(|level| (name, level)));
            run
        };
        let runs: Vec<Measurement> = levels.iter().map(measured).collect();
        super::levels(&Runs::choose(&runs)).remove(&name)
    }

    /// The figures are those of the oracle in `level.rs`: numpy and scipy on ln(2), ln(3), ln(4).
    #[test]
    fn each_side_has_its_own_level_and_a_run_without_one_does_not_count() {
        let level = of(&[
            Some((2.0, 20.0)),
            None,
            Some((3.0, 30.0)),
            Some((4.0, 40.0)),
        ])
        .unwrap();
        let (lowest, highest) = (level.lowest.unwrap(), level.highest.unwrap());
        assert!((lowest.median() - 2.884_499_140_614_816_6).abs() < 1e-12);
        assert!((lowest.quantile(0.05) - 0.891_540_823_466_254_6).abs() < 1e-9);
        assert!((highest.median() - 28.844_991_406_148_166).abs() < 1e-11);
    }

    #[test]
    fn what_is_no_positive_level_in_any_run_is_unknown() {
        let why = |quantity: Quantity| quantity.unwrap_err().0;
        let level = of(&[Some((2.0, 2.0)), Some((2.0, 2.0)), Some((0.0, 3.0))]).unwrap();
        assert!(why(level.lowest).contains("is not above 0 in a canary"));
        assert!(level.highest.is_ok());
        let level = of(&[
            Some((2.0, 2.0)),
            Some((2.0, f64::INFINITY)),
            Some((2.0, 2.0)),
        ])
        .unwrap();
        assert!(why(level.highest).contains("no finite numbers"));
        assert!(level.lowest.is_ok());
        let alone = of(&[Some((2.0, 2.0)), None]).unwrap();
        assert_eq!(
            why(alone.lowest),
            "rate was measured in 1 completed run; a forecast needs at least 2"
        );
        assert_eq!(of(&[None, None]), None);
    }
}
