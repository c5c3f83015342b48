//! The ways to run a plan's canaries as text for a terminal: how long each takes, and what its machines cost idle.

use std::fmt;

use crate::instance::InstanceConfiguration;
use crate::plan::{KnownStartUp, Lanes, NoPool, Schedule, Ways};
use crate::units::Seconds;

/// The ways of one job.
#[derive(Debug, Clone)]
pub struct PlannedWays {
    pub ways: Ways,
    pub start_up: KnownStartUp,
    /// In the order of the lanes.
    pub instances: Vec<InstanceConfiguration>,
    pub times: CanaryTimes,
}

/// Where the times of canaries come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CanaryTimes {
    /// The newest check in the history.
    Measured,
    /// Each takes `canary.max_runtime`.
    Longest,
}

impl fmt::Display for PlannedWays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ways = &self.ways;
        writeln!(f, "  {:<16}{}", "ways to run", self.heading())?;
        let mut rows = vec![("one at a time, cold", &ways.one_after_another)];
        if ways.side_by_side != ways.one_after_another {
            rows.push(("side by side, cold", &ways.side_by_side));
        }
        rows.push(("one at a time, kept warm", &ways.one_lane));
        if rows.iter().all(|(_, way)| **way != ways.chosen) {
            rows.push(("side by side, kept warm", &ways.chosen));
        }
        for (name, way) in rows {
            let mark = match *way == ways.chosen {
                true => "> ",
                false => "",
            };
            let time = way.wall_clock.to_string();
            writeln!(f, "  {mark:<2}{name:<32}{time:>8}{}", idle(way))?;
        }
        writeln!(f, "  {:<16}{}", "start-up", self.start_ups())?;
        for (index, instance) in self.instances.iter().enumerate() {
            let Some(lanes) = ways.chosen.lanes.get(index) else {
                continue;
            };
            let why = ways.no_pool.get(index).copied().flatten();
            let mut label = "warm pool";
            for line in pool(instance, *lanes, why) {
                writeln!(f, "  {label:<16}{line}")?;
                label = "";
            }
        }
        Ok(())
    }
}

impl PlannedWays {
    fn heading(&self) -> &'static str {
        match self.times {
            CanaryTimes::Measured => {
                "wall-clock, if canaries take as long as before; `>` is chosen"
            }
            CanaryTimes::Longest => "wall-clock, if canaries take their time limit; `>` is chosen",
        }
    }

    /// `2m 56s cold, 1m 10s warm (File, P90 of AWS's measurement)`
    fn start_ups(&self) -> String {
        let known = self.start_up;
        let from = |starts: Option<usize>| {
            starts.map_or("P90 of AWS's measurement".to_owned(), |count| {
                format!("P90 of {count} canaries on record")
            })
        };
        let (cold, warm) = (from(known.cold_starts), from(known.warm_starts));
        let (times, mode) = (known.times, known.mode.words());
        match cold == warm {
            true => format!("{} cold, {} warm ({mode}, {cold})", times.cold, times.warm),
            false => format!(
                "{} cold ({mode}, {cold}), {} warm ({warm})",
                times.cold, times.warm
            ),
        }
    }
}

/// ` + 0.0069 USD for 54s of waiting machines`
fn idle(way: &Schedule) -> String {
    if way.idle == Seconds(0.0) {
        return String::new();
    }
    let usd = way.idle_usd;
    let usd = usd.map_or(String::new(), |usd| format!("{usd} for "));
    format!("  + {usd}{} idle", way.idle)
}

/// The lines of one configuration.
fn pool(instance: &InstanceConfiguration, lanes: Lanes, why: Option<NoPool>) -> Vec<String> {
    match (lanes.keep_alive, why, instance.single_type()) {
        (Some(keep_alive), _, Some(kind)) => {
            let machines = lanes.count.saturating_mul(instance.total_count());
            vec![
                format!(
                    "{instance}: {} at a time, kept up to {keep_alive} after each canary",
                    lanes.count
                ),
                format!("needs {machines} of `{kind} for training warm pool usage`"),
            ]
        }
        (_, Some(why), _) => vec![format!("{instance}: none, {why}")],
        _ => vec![format!("{instance}: none")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{ConfigurationRuns, MachineQuotas, StartUpMode, ways};
    use crate::spec::WarmPoolPolicy;
    use crate::units::Usd;

    /// The seed's nine canaries of 113 s on ml.m5.2xlarge, and one alternative that is too dear to be kept.
    #[test]
    fn four_ways_are_lines_and_each_configuration_says_whether_it_is_kept() {
        let nine = |instance: &str, usd: f64| ConfigurationRuns {
            instance: instance.parse().unwrap(),
            rounds: vec![vec![Seconds(113.0)], vec![Seconds(113.0); 8]],
            usd_per_second: Some(Usd(usd / 3600.0)),
            parallel: 3,
            waits_for_proof: instance != "ml.m5.2xlarge",
            can_be_kept: true,
        };
        let all = [nine("ml.m5.2xlarge", 0.461), nine("ml.p5.48xlarge", 63.296)];
        let mode = StartUpMode::FastFile;
        let known = mode.observed([]);
        let no_quotas = |_: &_| MachineQuotas::default();
        let mut planned = PlannedWays {
            ways: ways(
                &all,
                WarmPoolPolicy::Auto,
                Usd(5.0),
                known.times,
                &no_quotas,
            ),
            start_up: known,
            instances: all.iter().map(|one| one.instance.clone()).collect(),
            times: CanaryTimes::Longest,
        };
        let shown = planned.to_string();
        planned.times = CanaryTimes::Measured;
        planned.start_up.cold_starts = Some(12);
        insta::assert_snapshot!(format!("{shown}\n{planned}"));
    }
}
