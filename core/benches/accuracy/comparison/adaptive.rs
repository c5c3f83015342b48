//! Which recorded runs an adaptive gate takes as its canaries, run by run or in rounds.

use canary_gate_core::forecast::{self, Basis, Forecast, Predictive};
use canary_gate_core::instance::{InstanceConfiguration, InstanceType, Offer};
use canary_gate_core::measurement::{Measurement, Outcome, Usage};
use canary_gate_core::metric::Metric;
use canary_gate_core::plan::{
    Aim, LadderSize, NARROW, Reached, RoundRule, RoundRun, Rung, Situation, has_enough, next_round,
};
use canary_gate_core::spec::{CanaryPolicy, Design};
use canary_gate_core::units::{Bytes, Fraction, Percent, Seconds};

use super::workload::{Run, Workload};

/// What the canaries may take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Spending {
    /// So many seconds, all of them: designs are compared at equal cost.
    All(Seconds),
    /// As in a gate without a budget: `canary.max_share` of the full run, until the forecast is narrow.
    AShare,
}

/// The canaries of one workload, in the order in which they were asked for.
pub(crate) struct AdaptiveResult {
    pub(crate) canaries: Vec<Measurement>,
    /// The seconds of each run, round by round; a run that was ended at its limit counts too, without a measurement.
    pub(crate) rounds: Vec<Vec<f64>>,
}

impl AdaptiveResult {
    /// That they took together.
    pub(crate) fn seconds(&self) -> f64 {
        self.rounds.iter().flatten().sum()
    }

    /// One round after another, each a start-up and its longest run, in seconds.
    pub(crate) fn wall_clock(&self, start_up: f64) -> f64 {
        let longest = |round: &Vec<f64>| round.iter().copied().fold(0.0, f64::max);
        let rounds = self.rounds.iter();
        rounds.map(|round| start_up + longest(round)).sum()
    }
}

/// The program's own adaptive design on recorded runs, `at_once` to a round, each used once, in the order of their replicates. As
/// in the gate, a run that would pass its limit is ended there.
pub(crate) fn adaptive(workload: &Workload, spending: Spending, at_once: usize) -> AdaptiveResult {
    let mut recorded: Vec<(Fraction, Vec<&Run>)> = Design::LADDER
        .map(Fraction)
        .map(|fraction| {
            let is_of = |run: &&Run| (run.measurement.fraction.0 - fraction.0).abs() < 1e-9;
            let mut runs: Vec<&Run> = workload.partial.iter().filter(is_of).collect();
            runs.reverse();
            (fraction, runs)
        })
        .to_vec();
    let mut result = AdaptiveResult {
        canaries: Vec::new(),
        rounds: Vec::new(),
    };
    loop {
        let ladder: Vec<Rung> = recorded
            .iter()
            .map(|(fraction, runs)| Rung {
                size: LadderSize {
                    fraction: *fraction,
                    objects: 1,
                    bytes: Bytes(1),
                    share: fraction.0,
                },
                work: 1.0,
                supply: u32::try_from(runs.len()).ok(),
            })
            .collect();
        let aim = |runs: &[Measurement]| spending.aim(runs);
        let spent = result.seconds();
        let situation = Situation {
            ladder: &ladder,
            measurements: &result.canaries,
            budget: spending.budget(),
            // Rounding must not make a budget that is used up one that is passed.
            spent: Seconds(
                spending
                    .budget()
                    .map_or(spent, |budget| spent.min(budget.0)),
            ),
            max_runtime: Seconds(f64::INFINITY),
            shortest: None,
            doubt: spending.doubt(&result.canaries),
            aim: aim(&result.canaries),
            share: spending.share(),
        };
        let rule = RoundRule {
            at_once,
            beside: Seconds(0.0),
            aim_after: &aim,
            shortest_after: &|_| None,
        };
        let Ok(round) = next_round(&situation, &rule) else {
            return result;
        };
        let mut seconds = Vec::new();
        for RoundRun { rung, limit } in round {
            let run = recorded
                .iter_mut()
                .find(|(fraction, _)| *fraction == rung.size.fraction)
                .and_then(|(_, runs)| runs.pop())
                .expect("the design asks only for what the ladder can supply");
            seconds.push(run.seconds.min(limit.0));
            result.canaries.push(if run.seconds > limit.0 {
                Measurement {
                    outcome: Outcome::TimedOut,
                    training_seconds: Some(limit),
                    usage: Usage::default(),
                    ..run.measurement.clone()
                }
            } else {
                run.measurement.clone()
            });
        }
        result.rounds.push(seconds);
    }
}

impl Spending {
    fn budget(self) -> Option<Seconds> {
        match self {
            Self::All(seconds) => Some(seconds),
            Self::AShare => None,
        }
    }

    fn share(self) -> Percent {
        match self {
            Self::All(_) => Percent(f64::INFINITY),
            Self::AShare => CanaryPolicy::DEFAULT_MAX_SHARE,
        }
    }

    fn aim(self, runs: &[Measurement]) -> Aim {
        let is_narrow = |time: &Predictive| time.quantile(0.95) <= NARROW * time.quantile(0.05);
        let is_reached = self == Self::AShare
            && provisional(runs)[Metric::Time]
                .as_ref()
                .is_ok_and(is_narrow);
        match is_reached {
            true => Aim::Reached(Reached::Narrow),
            false => Aim::GoOn,
        }
    }

    fn doubt(self, runs: &[Measurement]) -> Option<Seconds> {
        let forecast = (self == Self::AShare && has_enough(runs)).then(|| provisional(runs))?;
        (forecast.is_in_doubt()).then_some(Seconds(0.0))
    }
}

fn provisional(measurements: &[Measurement]) -> Forecast {
    forecast::provisional(&Basis {
        offer: &Offer::unknown(&InstanceConfiguration::one(InstanceType::local())),
        measurements,
    })
}
