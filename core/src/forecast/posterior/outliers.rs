//! Runs that lie far from the others count for less.

use super::Observation;

/// Beyond this many standard deviations a run's weight falls in the second pass (Huber's function; Huber and Ronchetti,
/// Robust Statistics, 2nd ed. 2009, section 7.8).
const HUBER: f64 = 2.5;
/// The fewest runs for the second pass: with fewer an outlier cannot be identified.
pub(super) const ROBUST_FROM: usize = 4;
/// The fewest runs of one size whose median cannot be the outlier.
const FEWEST_REPLICATES: usize = 3;
/// Samples whose bytes differ by a smaller factor are of one size, whatever their fractions.
pub(in crate::forecast) const ONE_SIZE: f64 = 1.1;
/// The median absolute deviation of normal errors times this is their standard deviation (ibid., section 1.1).
const MAD_TO_DEVIATION: f64 = 1.4826;

/// A fit of groups of runs, each sorted by work, start and then share, and the runs with their final weights. An outlier is far from the
/// fit compared with others of its group: a group with another law is none as a whole. `fitted` gives ln of a run's value by a fit.
pub(in crate::forecast) fn robust<T>(
    groups: &[&[Observation]],
    least_scale: f64,
    fit: impl Fn(&[Vec<Observation>]) -> T,
    fitted: impl Fn(&T, usize, &Observation) -> f64,
) -> (T, Vec<Vec<Observation>>) {
    // An outlier among the smallest runs can bend the laws until it fits them; replicates of its size reveal it.
    let guess = |runs: &&[Observation]| without_outlying_replicates(runs, least_scale);
    let guess: Vec<Vec<Observation>> = groups.iter().map(guess).collect();
    let first = fit(&guess);
    let residuals = groups.iter().enumerate().map(|(group, runs)| {
        let residual = |run: &Observation| run.value.ln() - fitted(&first, group, run);
        let residuals: Vec<f64> = runs.iter().map(residual).collect();
        let middle = median(residuals.clone());
        residuals.iter().map(|one| one - middle).collect()
    });
    let residuals: Vec<Vec<f64>> = residuals.collect();
    let distances: Vec<f64> = residuals.iter().flatten().map(|one| one.abs()).collect();
    let reweighed: Vec<Vec<Observation>> = (groups.iter().zip(&residuals))
        .map(|(runs, own)| doubted(runs, own, distances.clone(), least_scale))
        .collect();
    match reweighed == guess {
        true => (first, guess),
        false => (fit(&reweighed), reweighed),
    }
}

/// The runs, with less weight for those whose residual is beyond [`HUBER`] times the scale of the distances.
fn doubted(
    runs: &[Observation],
    residuals: &[f64],
    distances: Vec<f64>,
    least_scale: f64,
) -> Vec<Observation> {
    let scale = (MAD_TO_DEVIATION * median(distances)).max(least_scale);
    let both = runs.iter().zip(residuals);
    let doubted = both.map(|(run, residual)| Observation {
        weight: run.weight * (HUBER * scale / residual.abs()).min(1.0),
        ..*run
    });
    doubted.collect()
}

/// `runs`, sorted by work, start and then share, cut where the first two change or the share exceeds [`ONE_SIZE`] times the first of its
/// size.
fn of_one_size(runs: &[Observation]) -> Vec<&[Observation]> {
    let mut sizes = Vec::new();
    let mut rest = runs;
    while let [first, ..] = rest {
        let is_other = |run: &Observation| {
            let is_same = run.work == first.work && run.is_warm == first.is_warm;
            !is_same || run.share >= ONE_SIZE * first.share
        };
        let end = rest.iter().position(is_other).unwrap_or(rest.len());
        let (size, others) = rest.split_at(end);
        sizes.push(size);
        rest = others;
    }
    sizes
}

/// The runs, sorted by share, with less weight for those far from the median of at least [`FEWEST_REPLICATES`] of their size. The
/// scale is that of all such distances except those of the medians themselves, which are 0.
fn without_outlying_replicates(runs: &[Observation], least_scale: f64) -> Vec<Observation> {
    let mut residuals = Vec::new();
    let mut distances = Vec::new();
    for size in of_one_size(runs) {
        let middle = median(size.iter().map(|run| run.value.ln()).collect());
        let has_middle = size.len() >= FEWEST_REPLICATES;
        let residual = |run: &Observation| match has_middle {
            true => run.value.ln() - middle,
            false => 0.0,
        };
        let of_size: Vec<f64> = size.iter().map(residual).collect();
        residuals.extend(&of_size);
        if has_middle {
            distances.extend(of_size.iter().map(|residual| residual.abs()));
            // The middle run has distance 0 from itself, which says nothing of the noise.
            let least = distances.iter().rposition(|distance| *distance == 0.0);
            distances.remove(least.expect("the middle is one of them"));
        }
    }
    doubted(runs, &residuals, distances, least_scale)
}

/// The median of values in any order; of an even count the upper one in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}
