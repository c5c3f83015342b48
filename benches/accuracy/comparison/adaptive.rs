//! Which recorded runs an adaptive gate takes as its canaries.

use canary_gate::measurement::{Measurement, Outcome, Usage};
use canary_gate::plan::{Aim, LadderSize, Next, Rung, Situation, SpendingRule, next};
use canary_gate::units::{Bytes, Fraction, Seconds};

use super::workload::{Run, Workload};

/// The ladder of the adaptive design's defaults.
const LADDER: [f64; 7] = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5];

/// The canaries of one workload, in the order in which they were run.
pub(crate) struct AdaptiveResult {
    pub(crate) canaries: Vec<Measurement>,
    /// The seconds that they took together; a run that was ended at the budget's end counts too, without a measurement.
    pub(crate) seconds: f64,
}

/// The program's own adaptive design on recorded runs, each used once, in the order of their replicates. As in the gate,
/// a run that would pass its limit is ended there.
pub(crate) fn adaptive(workload: &Workload, budget_seconds: f64) -> AdaptiveResult {
    let mut recorded: Vec<(Fraction, Vec<&Run>)> = LADDER
        .map(|fraction| {
            let mut runs: Vec<&Run> = workload
                .partial
                .iter()
                .filter(|run| (run.measurement.fraction.0 - fraction).abs() < 1e-9)
                .collect();
            runs.reverse();
            (Fraction(fraction), runs)
        })
        .to_vec();
    let mut result = AdaptiveResult {
        canaries: Vec::new(),
        seconds: 0.0,
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
        let situation = Situation {
            ladder: &ladder,
            measurements: &result.canaries,
            budget: Some(Seconds(budget_seconds)),
            spent: Seconds(result.seconds),
            max_runtime: Seconds(f64::INFINITY),
            // The comparison is at equal seconds: all of them are spent.
            shortest: None,
            doubt: None,
            aim: Aim::GoOn,
            spending: SpendingRule::WholeBudget,
        };
        let Next::Run { rung, limit } = next(&situation) else {
            return result;
        };
        let run = recorded
            .iter_mut()
            .find(|(fraction, _)| *fraction == rung.size.fraction)
            .and_then(|(_, runs)| runs.pop())
            .expect("the design asks only for what the ladder can supply");
        let took = run.seconds.min(limit.0);
        // Rounding must not make a budget that is used up one that is passed.
        result.seconds = (result.seconds + took).min(budget_seconds);
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
}
