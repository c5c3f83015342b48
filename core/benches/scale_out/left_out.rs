//! Each table forecast with the prior that the other tables choose.

use canary_gate_core::forecast::scale_out::CountPrior;

use super::score::{Method, Score, Split};
use super::table::Group;

/// The priors to choose among.
fn priors() -> Vec<CountPrior> {
    let mut priors = Vec::new();
    for silent in [0.3, 0.5] {
        for fixed_logit_above_overload in [0.0, -3.0] {
            for drift in [0.15, 0.3, 0.45] {
                priors.push(CountPrior {
                    silent,
                    fixed_logit_above_overload,
                    drift,
                });
            }
        }
    }
    priors
}

/// A prior chooses no interval that holds less than this of another table's runs in any way, if one holds more.
const LEAST_HELD: f64 = 0.85;

/// Of one table with one prior: a score for each way that it can be split.
type Scores = Vec<Option<Score>>;

/// A line for each table, by what the others choose: of those priors that hold enough of each of them, the one with the least mean
/// interval score.
pub(crate) fn lines(tables: &[(String, Vec<Group>)], splits: &[(Split, &str)]) -> Vec<String> {
    let priors = priors();
    let scores: Vec<Vec<Scores>> = (priors.iter())
        .map(|prior| {
            let of = |(_, groups): &(String, Vec<Group>)| of_table(groups, splits, prior);
            tables.iter().map(of).collect()
        })
        .collect();
    let mut lines = vec!["each table by the prior that the others choose: error and share held, Ernest's error and share".to_owned()];
    for (left, (name, _)) in tables.iter().enumerate() {
        let chosen = (0..priors.len())
            .min_by(|a, b| rank(&scores[*a], left).total_cmp(&rank(&scores[*b], left)))
            .expect("there are priors");
        lines.push(format!("{name}: {:?}", priors[chosen]));
        for ((_, how), score) in splits.iter().zip(&scores[chosen][left]) {
            let Some(score) = score else { continue };
            let [ours, ernest] = [Method::Weighed, Method::Ernest].map(|method| {
                let score = score.of_method(method);
                let error = score.error().map_or(f64::NAN, |[median, ..]| median);
                (error, score.coverage() * 100.0)
            });
            let over = match (ours.0 > ernest.0 + 0.02, ours.1 < LEAST_HELD * 100.0) {
                (true, _) => "  worse than Ernest's",
                (_, true) => "  holds too few",
                _ => "",
            };
            lines.push(format!(
                "  {how:<66} {:.3} {:>5.1}%   {:.3} {:>5.1}%{over}",
                ours.0, ours.1, ernest.0, ernest.1
            ));
        }
    }
    lines
}

fn of_table(groups: &[Group], splits: &[(Split, &str)], prior: &CountPrior) -> Scores {
    let of_split = |(split, _): &(Split, &str)| {
        let mut sum: Option<Score> = None;
        for group in groups {
            if let Ok(score) = Score::of(group, *split, usize::MAX, prior) {
                sum.get_or_insert_default().add(&score);
            }
        }
        sum
    };
    splits.iter().map(of_split).collect()
}

/// Of a prior by all tables but one; less is better.
fn rank(of_tables: &[Scores], left: usize) -> f64 {
    let others = of_tables.iter().enumerate().filter(|(at, _)| *at != left);
    let scores = others.flat_map(|(_, scores)| scores.iter().flatten());
    let weighed: Vec<_> = scores
        .map(|score| score.of_method(Method::Weighed))
        .collect();
    let holds = weighed.iter().all(|score| score.coverage() >= LEAST_HELD);
    let total: f64 = weighed.iter().map(|score| score.interval_score()).sum();
    total + if holds { 0.0 } else { 1e6 }
}
