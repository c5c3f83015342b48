//! The level of what a training script prints in steady state, such as tokens per second.
//!
//! A run's level is the median of the later half of its values. The earlier half holds what settles: compilation, caches that
//! fill, learning rates that warm up.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::thinned::{self, Thinned};
use crate::grammar;
use crate::metric::MetricName;
use crate::spec::PrintedMetric;

/// The fewest values in the later half: of fewer, one odd value moves the median far. A convention.
const FEWEST_LATER: u64 = 5;

/// The level of one metric in one run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PrintedLevel {
    /// The least that the median can be, whatever numbers stand for values that are none; of several hosts that of the lowest. Absent
    /// where half of the values and more are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lowest: Option<f64>,
    /// The most that it can be; of several hosts that of the highest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub highest: Option<f64>,
    /// How many values the later half has; of several hosts on the one that printed fewest.
    pub values: u64,
}

/// The values of one metric in one stream.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LevelValues(Thinned);

impl LevelValues {
    /// Adds a captured value; `None` of a text that is no number.
    pub(super) fn add(&mut self, number: Option<f64>) {
        self.0.add(number.unwrap_or(f64::NAN));
    }

    /// Of the later half, without the middle one of an odd count.
    fn level(&self) -> PrintedLevel {
        let kept = self.0.kept();
        let later = &kept[kept.len() - kept.len() / 2..];
        let median = |of_none: f64| {
            let stands_for = |value: &f64| if value.is_nan() { of_none } else { *value };
            let numbers: Vec<f64> = later.iter().map(stands_for).collect();
            thinned::median(&numbers).filter(|median| median.is_finite())
        };
        PrintedLevel {
            lowest: median(f64::NEG_INFINITY),
            highest: median(f64::INFINITY),
            values: self.0.count() / 2,
        }
    }
}

/// The levels of one run from the streams of its hosts, and a note for each that is missing or in doubt.
///
/// A host's stream with more values counts. Hosts that print too few are left out, since often only the first prints.
pub fn of_run(
    metrics: &[PrintedMetric],
    hosts: &[[&[LevelValues]; 2]],
) -> (BTreeMap<MetricName, PrintedLevel>, Vec<String>) {
    let mut levels = BTreeMap::new();
    let mut notes = Vec::new();
    for (index, metric) in metrics.iter().enumerate() {
        let of_hosts = hosts.iter().filter_map(|streams| {
            let values = streams.iter().filter_map(|stream| stream.get(index));
            Some(values.max_by_key(|values| values.0.count())?.level())
        });
        let of_hosts: Vec<PrintedLevel> = of_hosts.collect();
        let most = of_hosts.iter().map(|level| level.values).max();
        let enough = of_hosts
            .into_iter()
            .filter(|level| level.values >= FEWEST_LATER);
        let (Some(level), Ok(name)) = (enough.reduce(of_both), metric.name().parse()) else {
            notes.push(match most {
                None | Some(0) => format!("fewer than 2 lines of the output matched the metric `{metric}`"),
                Some(most) => format!(
                    "the metric `{metric}` has {} in the later half of the canary, where {FEWEST_LATER} are needed",
                    grammar::count(usize::try_from(most).unwrap_or(usize::MAX), "value")
                ),
            });
            continue;
        };
        if level.lowest.is_none() || level.highest.is_none() {
            notes.push(format!(
                "half of the later values of the metric `{metric}` and more are no finite numbers"
            ));
        }
        levels.insert(name, level);
    }
    (levels, notes)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of_values(values: &[&str]) -> Vec<LevelValues> {
        let mut read = LevelValues::default();
        values.iter().for_each(|value| read.add(value.parse().ok()));
        vec![read]
    }

    fn of_hosts(hosts: &[[&[LevelValues]; 2]]) -> (Option<PrintedLevel>, Vec<String>) {
        let metrics = [PrintedMetric::new("rate", r"tok/s: (\S+)").unwrap()];
        let (levels, notes) = of_run(&metrics, hosts);
        (levels.values().next().copied(), notes)
    }

    fn of_one(values: &[&str]) -> (Option<PrintedLevel>, Vec<String>) {
        of_hosts(&[[&of_values(values), &of_values(&[])]])
    }

    fn exactly(median: f64, values: u64) -> Option<PrintedLevel> {
        Some(PrintedLevel {
            lowest: Some(median),
            highest: Some(median),
            values,
        })
    }

    #[test]
    fn the_level_is_the_median_of_the_later_half() {
        let slow_start = ["1", "2", "3", "4", "5", "90", "100", "110", "95", "1e3"];
        assert_eq!(of_one(&slow_start), (exactly(100.0, 5), vec![]));
        // The middle one of an odd count is in neither half.
        let odd = ["1", "1", "1", "1", "1", "7", "10", "20", "30", "40", "50"];
        assert_eq!(of_one(&odd).0, exactly(30.0, 5));
    }

    #[test]
    fn too_few_values_are_no_level() {
        let said = |values: &[&str]| of_one(values);
        assert_eq!(
            said(&["1"; 9]),
            (
                None,
                vec![
                    "the metric `rate` has 4 values in the later half of the canary, where 5 are needed"
                        .to_owned()
                ]
            )
        );
        assert_eq!(
            said(&[]).1,
            ["fewer than 2 lines of the output matched the metric `rate`"]
        );
    }

    #[test]
    fn a_value_that_is_no_number_may_be_any() {
        let later = |values: [&'static str; 5]| {
            let all: Vec<&str> = ["9"; 5].into_iter().chain(values).collect();
            of_one(&all)
        };
        let (level, notes) = later(["1", "2", "3", "4", "nan"]);
        let level = level.unwrap();
        assert_eq!((level.lowest, level.highest), (Some(2.0), Some(3.0)));
        assert!(notes.is_empty());
        let (level, notes) = later(["1", "2", "inf", "nan", "soon"]);
        let level = level.unwrap();
        assert_eq!((level.lowest, level.highest), (Some(1.0), None));
        assert_eq!(
            notes,
            ["half of the later values of the metric `rate` and more are no finite numbers"]
        );
    }

    #[test]
    fn hosts_that_print_it_give_the_lowest_and_the_highest() {
        let steady = |value: &str| of_values(&[value; 12]);
        let quiet = || of_values(&[]);
        let (level, notes) = of_hosts(&[
            [&quiet(), &steady("40")],
            [&steady("50"), &of_values(&["1"])],
            [&quiet(), &of_values(&["2"])],
            // Nothing was read.
            [&[], &[]],
        ]);
        assert_eq!(
            level,
            Some(PrintedLevel {
                lowest: Some(40.0),
                highest: Some(50.0),
                values: 6
            })
        );
        assert!(notes.is_empty());
    }

    #[test]
    fn very_many_values_have_the_level_of_their_later_half() {
        let mut values = LevelValues::default();
        (0..100_000).for_each(|step| values.add(Some(f64::from(step))));
        let (level, _) = of_hosts(&[[&[values], &[]]]);
        let level = level.unwrap();
        assert!((level.lowest.unwrap() - 75_000.0).abs() < 50.0);
        assert_eq!(level.values, 50_000);
    }
}
