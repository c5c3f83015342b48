//! The adaptive design in rounds, beside the same run by run: what it saves of the wall-clock, and what that costs.

use std::fmt::Write as _;

use canary_gate_core::units::Seconds;

use super::adaptive::{AdaptiveResult, Spending, adaptive};
use super::score::{Scored, mean};
use super::workload::Workload;
use super::{Both, Quantity, ours, score_both};

/// The runs of a round.
const AT_ONCE: usize = 3;
/// The 90th percentile of the seed's cold start-ups, where data are copied as files; in seconds.
const COLD_START_UP: f64 = 176.0;
/// On these the constants of the forecast were chosen. Those of rounds were chosen with all in sight.
const FIRST: usize = 9;

/// One workload by both designs.
struct Pair {
    one_by_one: Scores,
    in_rounds: Scores,
}

struct Scores {
    result: AdaptiveResult,
    scored: Both<Result<Scored, String>>,
}

/// Two tables, by what the canaries may take.
pub(crate) fn text(workloads: &[Workload]) -> String {
    let mut text = format!(
        "Rounds of {AT_ONCE} beside one run at a time: canary seconds and wall-clock, one at a time being 1, with start-ups of 0 and\n\
         {COLD_START_UP} s (geometric means); mean size of the error and mean score, one at a time > in rounds\n"
    );
    type Asked = (&'static str, fn(&Workload) -> Spending);
    let asked: [Asked; 2] = [
        ("canary.max_share, until narrow", |_| Spending::AShare),
        ("the seconds of the nine, all", |workload| {
            Spending::All(Seconds(workload.canary_seconds()))
        }),
    ];
    for (title, spending) in asked {
        let pair = |workload| Pair {
            one_by_one: Scores::of(workload, spending(workload), 1),
            in_rounds: Scores::of(workload, spending(workload), AT_ONCE),
        };
        let pairs: Vec<Pair> = workloads.iter().map(pair).collect();
        let (first, others) = pairs.split_at(FIRST.min(pairs.len()));
        let _ = writeln!(
            text,
            "\n  {title:32} seconds  0 s  176 s |      time error      score |    memory error      score"
        );
        for (name, pairs) in [("first", first), ("others", others)] {
            let _ = writeln!(
                text,
                "  {name:10} {:2} workloads {}",
                pairs.len(),
                line(pairs)
            );
        }
    }
    text
}

impl Scores {
    fn of(workload: &Workload, spending: Spending, at_once: usize) -> Self {
        let result = adaptive(workload, spending, at_once);
        Self {
            scored: score_both(workload, &ours(&result.canaries)),
            result,
        }
    }
}

fn line(pairs: &[Pair]) -> String {
    let ratio = |value: &dyn Fn(&AdaptiveResult) -> f64| {
        let of_pair =
            |pair: &Pair| (value(&pair.in_rounds.result) / value(&pair.one_by_one.result)).ln();
        mean(&pairs.iter().map(of_pair).collect::<Vec<_>>()).exp()
    };
    let mut line = format!(
        "          {:.2} {:.2}   {:.2} |",
        ratio(&AdaptiveResult::seconds),
        ratio(&|result| result.wall_clock(0.0)),
        ratio(&|result| result.wall_clock(COLD_START_UP)),
    );
    for quantity in [Quantity::Time, Quantity::Memory] {
        let mean_of = |scores: fn(&Pair) -> &Scores, figure: fn(&Scored) -> f64| {
            let scored = pairs.iter().filter_map(|pair| {
                let scored = scores(pair).scored.get(quantity);
                scored.as_ref().ok().map(figure)
            });
            mean(&scored.collect::<Vec<_>>())
        };
        let error: fn(&Scored) -> f64 = |scored| scored.log_error.abs();
        let _ = write!(
            line,
            " {:.3} > {:.3} {:.2} > {:.2}",
            mean_of(|pair| &pair.one_by_one, error),
            mean_of(|pair| &pair.in_rounds, error),
            mean_of(|pair| &pair.one_by_one, Scored::mean_score),
            mean_of(|pair| &pair.in_rounds, Scored::mean_score),
        );
        line.push_str(if quantity == Quantity::Time { " |" } else { "" });
    }
    line
}
