//! The **posterior** of a quantity's growth: every law of the family weighed by how well it explains the runs.
//!
//! The model, for one run of `x` of the data with `q` of the full run's work per datum:
//!
//! ```text
//! ln y = ln S + ln(u + (1 - u) f(x) (1 - k + k q)) + e,    e ~ N(0, s^2 / w)
//! ```
//!
//! S is the value of the full run, u the part of it that is there without any data, f the law's [`Shape`], k the part of the
//! growing rest that grows with the work (0 and unused where all runs do the full work), w a run's weight. Given (f, u, k)
//! this is a location problem in ln S with unknown variance: under a flat prior on ln S and an inverse-gamma prior on s^2
//! the evidence is closed and ln y of a new run is Student-t (Gelman et al., Bayesian Data Analysis, 3rd ed. 2013, sections
//! 3.2-3.3; Bernardo and Smith, Bayesian Theory, 1994, appendix A.2, for the evidence). Over u and k it is summed on a
//! grid, over f by the family's prior weights (Hoeting et al., Bayesian Model Averaging, Statistical Science 14, 1999).

use super::law::{FamilyWeights, Growth, Shape};
use super::predictive::{Component, Predictive, Spread};
use super::{Law, count_as_float};

/// What is taken to be likely before anything is measured. How the values were found: `prior`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Prior {
    pub(super) laws: FamilyWeights,
    /// Run-to-run noise of ln y, a standard deviation, and how many runs' worth of degrees of freedom stand behind it.
    pub(super) noise: f64,
    pub(super) noise_degrees_of_freedom: f64,
    /// The fixed part: logit u is normal with this mean and standard deviation.
    pub(super) fixed_logit_mean: f64,
    pub(super) fixed_logit_deviation: f64,
    /// How likely none of the growth goes with the work, as of reading, and how likely all of it does, as of epochs; the
    /// rest is spread evenly over the parts between.
    pub(super) no_work_weight: f64,
    pub(super) all_work_weight: f64,
    /// How far growth may leave every law of the family beyond the largest canary: its exponent is taken to drift as a
    /// random walk in ln x, with this standard deviation for each unit of ln x.
    pub(super) exponent_drift: f64,
    /// The part of a forecast that counts as growing in that doubt though it seems fixed.
    pub(super) least_growing: f64,
    /// The weight of the first run of a series, which finds caches cold.
    pub(super) cold_weight: f64,
}

/// One completed run as the posterior sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Observation {
    /// Of the data, in (0, 1].
    pub(super) share: f64,
    /// Of the full run's work, in (0, 1].
    pub(super) work: f64,
    /// Positive and finite.
    pub(super) value: f64,
    /// The inverse of its noise variance, relative to that of an ordinary run.
    pub(super) weight: f64,
}

impl Observation {
    /// With less weight where its residual lies beyond [`HUBER`] times the scale of residuals.
    fn doubted(&self, residual: f64, scale: f64) -> Self {
        Self {
            weight: self.weight * (HUBER * scale / residual.abs()).min(1.0),
            ..*self
        }
    }
}

/// Beyond this many standard deviations a run's weight falls in the second pass (Huber's function; Huber and Ronchetti,
/// Robust Statistics, 2nd ed. 2009, section 7.8).
const HUBER: f64 = 2.5;
/// Runs from which the second pass is made: with fewer an odd one out cannot be told.
const ROBUST_FROM: usize = 4;
/// Runs of one size of which the one in the middle cannot be the odd one out.
const FEWEST_REPLICATES: usize = 3;
/// Samples of one size differ in their bytes by less than this.
const ONE_SIZE: f64 = 1.1;
/// The median absolute deviation of normal errors times this is their standard deviation (ibid., section 1.1).
const MAD_TO_DEVIATION: f64 = 1.4826;

/// The grid over logit u: wide enough for a fixed part of a millionth, and for a growing part of a millionth.
const LOGIT_BOUND: i32 = 14;
/// Each pass cuts this many steps on either side of the highest point so far into [`ZOOM`] parts.
const ZOOM_REACH: usize = 3;
const ZOOM: i32 = 3;
/// 3^16 is the finest step: a needle of any noise that a float can tell.
const MOST_ZOOM_PASSES: usize = 16;
/// The grid is fine enough where its highest point's neighbours are less than this much lower, in the logarithm: steps of
/// about a standard deviation, at which the trapezoidal rule has a normal density to six digits.
const FINE_ENOUGH: f64 = 0.5;
/// Values of k, the part of the growth that goes with the work: so many steps in ln(1 - k + k q) of the least work q, and so
/// many more between the neighbours of the best of them.
const WORK_STEPS: u32 = 16;
const FINER_WORK_STEPS: u32 = 8;
/// Candidates that are less probable than this beside the best one are dropped.
const NEGLIGIBLE: f64 = 1e-6;

/// One (f, u, k) with its probability and what it says of ln S.
#[derive(Debug, Clone, Copy)]
struct Candidate {
    shape: Shape,
    fixed: f64,
    work_part: f64,
    /// The logarithm of its probability, up to a constant; then the probability.
    weight: f64,
    /// Of ln S.
    center: f64,
    /// The sum of weighted squared residuals.
    squares: f64,
}

impl Candidate {
    /// u + (1 - u) f(x) h(q), and the part of it that grows.
    fn relative(&self, share: f64, work: f64) -> (f64, f64) {
        let growing = (1.0 - self.fixed)
            * self.shape.at(share)
            * (1.0 - self.work_part + self.work_part * work);
        (
            (self.fixed + growing).max(f64::MIN_POSITIVE),
            growing / (self.fixed + growing).max(f64::MIN_POSITIVE),
        )
    }
}

/// What the runs say of a quantity's growth.
#[derive(Debug, Clone)]
pub(super) struct Posterior {
    prior: Prior,
    /// Probabilities sum to 1.
    candidates: Vec<Candidate>,
    /// Of the noise, after the runs.
    degrees_of_freedom: f64,
    weight_total: f64,
    largest_share: f64,
    largest_work: f64,
}

impl Posterior {
    /// Weighs the laws by the runs, in any order. At least one run; values are positive.
    pub(super) fn fit(observations: &[Observation], prior: &Prior) -> Self {
        debug_assert!(!observations.is_empty());
        let mut ordered = observations.to_vec();
        // Sums of floats depend on their order; the forecast must not.
        ordered.sort_by(|a, b| {
            (a.work.total_cmp(&b.work))
                .then(a.share.total_cmp(&b.share))
                .then(a.value.total_cmp(&b.value))
                .then(a.weight.total_cmp(&b.weight))
        });
        if ordered.len() < ROBUST_FROM {
            return Self::fit_once(&ordered, prior);
        }
        // One odd run among the smallest can bend the laws so far that it looks like all others; its own size tells.
        let guess = without_odd_replicates(&ordered, prior.noise);
        let first = Self::fit_once(&guess, prior);
        let reweighed = first.without_outliers(&ordered);
        if reweighed == guess {
            first
        } else {
            Self::fit_once(&reweighed, prior)
        }
    }

    fn fit_once(observations: &[Observation], prior: &Prior) -> Self {
        let runs = Evidence::new(observations, prior);
        let parts = runs.work_parts();
        let mut candidates: Vec<Candidate> = prior
            .laws
            .laws()
            .into_iter()
            .flat_map(|(shape, weight)| runs.candidates(shape, &parts, weight.ln()))
            .collect();
        let best = candidates
            .iter()
            .map(|candidate| candidate.weight)
            .fold(f64::NEG_INFINITY, f64::max);
        for candidate in &mut candidates {
            candidate.weight = (candidate.weight - best).exp();
        }
        candidates.retain(|candidate| candidate.weight > NEGLIGIBLE);
        let total: f64 = candidates.iter().map(|candidate| candidate.weight).sum();
        for candidate in &mut candidates {
            candidate.weight /= total;
        }
        Self {
            prior: *prior,
            candidates,
            degrees_of_freedom: runs.degrees_of_freedom(),
            weight_total: runs.weight_total,
            largest_share: observations.iter().map(|run| run.share).fold(0.0, f64::max),
            largest_work: observations.iter().map(|run| run.work).fold(0.0, f64::max),
        }
    }

    /// The runs with less weight for those that lie far from the fit.
    fn without_outliers(&self, observations: &[Observation]) -> Vec<Observation> {
        let residuals: Vec<f64> = observations
            .iter()
            .map(|run| {
                let fitted: f64 = self
                    .candidates
                    .iter()
                    .map(|one| one.weight * (one.center + one.relative(run.share, run.work).0.ln()))
                    .sum();
                run.value.ln() - fitted
            })
            .collect();
        let center = median(residuals.clone());
        let deviations = residuals
            .iter()
            .map(|residual| (residual - center).abs())
            .collect();
        let scale = (MAD_TO_DEVIATION * median(deviations)).max(self.prior.noise);
        observations
            .iter()
            .zip(residuals)
            .map(|(run, residual)| run.doubted(residual - center, scale))
            .collect()
    }

    /// The distribution of one new run with `share` of the data and `work` of the full run's work.
    pub(super) fn predict_at(&self, share: f64, work: f64) -> Predictive {
        let beyond = (share / self.largest_share).ln().max(0.0);
        let beyond_work = (work / self.largest_work).ln().max(0.0);
        Predictive::mixture(
            self.candidates
                .iter()
                .map(|one| {
                    let (relative, growing) = one.relative(share, work);
                    let growing = growing.max(self.prior.least_growing);
                    // More data and more work are two walks, the second of what goes with the work.
                    let walks = beyond.powi(3) + one.work_part.powi(2) * beyond_work.powi(3);
                    let doubt = self.prior.exponent_drift * growing * (walks / 3.0).sqrt();
                    Component {
                        weight: one.weight,
                        center: one.center + relative.ln(),
                        spread: self.noise(one).with_doubt(doubt),
                    }
                })
                .collect(),
        )
    }

    /// The same, given that runs of these shares of data and work would have taken longer than so much: each candidate is
    /// weighed by how likely that is. Unchanged where no candidate allows it.
    pub(super) fn given_at_least(mut self, bounds: &[(f64, f64, f64)]) -> Self {
        for (share, work, least) in bounds {
            let chances: Vec<f64> = self
                .candidates
                .iter()
                .map(|one| {
                    let center = one.center + one.relative(*share, *work).0.ln();
                    self.noise(one).chance_above(least.ln() - center)
                })
                .collect();
            let total: f64 = self
                .candidates
                .iter()
                .zip(&chances)
                .map(|(one, chance)| one.weight * chance)
                .sum();
            if total < f64::MIN_POSITIVE {
                continue;
            }
            for (one, chance) in self.candidates.iter_mut().zip(chances) {
                one.weight *= chance / total;
            }
        }
        self
    }

    /// Of one new run under one candidate, without doubt in the law.
    fn noise(&self, candidate: &Candidate) -> Spread {
        Spread {
            scale: (self.noise_variance(candidate) * (1.0 + 1.0 / self.weight_total)).sqrt(),
            degrees_of_freedom: self.degrees_of_freedom,
        }
    }

    /// The posterior scale of s^2 under one candidate.
    fn noise_variance(&self, candidate: &Candidate) -> f64 {
        let prior = self.prior.noise_degrees_of_freedom * self.prior.noise.powi(2);
        (prior + candidate.squares) / self.degrees_of_freedom
    }

    /// The kind of growth that is most probable, and the most probable law of that kind.
    pub(super) fn law(&self) -> Law {
        let probability = |growth: Growth| -> f64 {
            self.candidates
                .iter()
                .filter(|one| one.shape.growth() == growth)
                .map(|one| one.weight)
                .sum()
        };
        let growth = Growth::ALL
            .into_iter()
            .max_by(|a, b| probability(*a).total_cmp(&probability(*b)))
            .expect("there are four kinds");
        let of_kind = || {
            self.candidates
                .iter()
                .filter(move |one| one.shape.growth() == growth)
        };
        let best = of_kind()
            .max_by(|a, b| a.weight.total_cmp(&b.weight))
            .expect("the most probable kind has a candidate");
        // The line drawn is the mean over the fixed part of the best shape, not its highest grid point.
        let same = || of_kind().filter(|one| one.shape == best.shape);
        let weight: f64 = same().map(|one| one.weight).sum();
        let mean = |value: fn(&Candidate) -> f64| {
            same().map(|one| one.weight * value(one)).sum::<f64>() / weight
        };
        let full = mean(|one| one.center).exp();
        let fixed = mean(|one| one.fixed);
        let (intercept, slope) = match growth {
            Growth::Constant => (full, 0.0),
            _ => (full * fixed, full * (1.0 - fixed)),
        };
        Law {
            name: growth.name().to_owned(),
            // Never all: the family does not hold every law.
            weight: probability(growth).min(0.999),
            intercept,
            slope,
            shape: best.shape,
        }
    }
}

/// The runs, prepared for many candidates.
struct Evidence<'a> {
    observations: &'a [Observation],
    prior: &'a Prior,
    logarithms: Vec<f64>,
    weight_total: f64,
}

impl<'a> Evidence<'a> {
    fn new(observations: &'a [Observation], prior: &'a Prior) -> Self {
        Self {
            observations,
            prior,
            logarithms: observations.iter().map(|run| run.value.ln()).collect(),
            weight_total: observations.iter().map(|run| run.weight).sum(),
        }
    }

    /// Of s^2 after the runs: those of its prior and one for each run, less the one that ln S takes.
    fn degrees_of_freedom(&self) -> f64 {
        self.prior.noise_degrees_of_freedom + count_as_float(self.observations.len()) - 1.0
    }

    /// The values of k with the logarithms of their prior probabilities; only 0 where the work does not differ.
    ///
    /// Between the masses on none and all, every factor h = 1 - k + k q that the least work q may have is as likely as
    /// another on a logarithmic scale: even steps of k itself would leave a gap of many times before k = 1.
    fn work_parts(&self) -> Vec<(f64, f64)> {
        let least = self
            .observations
            .iter()
            .map(|run| run.work)
            .fold(1.0, f64::min);
        if least >= 1.0 {
            return vec![(0.0, 0.0)];
        }
        let range = least.ln();
        let part = |at: f64| ((1.0 - (at * range).exp()) / (1.0 - least)).min(1.0);
        let steps = f64::from(WORK_STEPS);
        let mut places: Vec<f64> = (0..=WORK_STEPS)
            .map(|step| f64::from(step) / steps)
            .collect();
        let evidence = |at: f64| {
            let weighed = self.with_work_part(Shape::linear(), part(at), 0.0);
            weighed
                .iter()
                .map(|one| one.weight)
                .fold(f64::NEG_INFINITY, f64::max)
        };
        let best = places
            .iter()
            .copied()
            .map(|at| (at, evidence(at)))
            .max_by(|(_, a), (_, b)| a.total_cmp(b))
            .map_or(0.0, |(at, _)| at);
        let (from, to) = ((best - 1.0 / steps).max(0.0), (best + 1.0 / steps).min(1.0));
        places.extend(
            (1..FINER_WORK_STEPS)
                .map(|step| from + (to - from) * f64::from(step) / f64::from(FINER_WORK_STEPS)),
        );
        places.sort_by(f64::total_cmp);
        places.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        let (none, all) = (self.prior.no_work_weight, self.prior.all_work_weight);
        let last = places.len() - 1;
        (0..=last)
            .map(|index| {
                let width = (places[(index + 1).min(last)] - places[index.saturating_sub(1)]) / 2.0;
                let mass = match index {
                    0 => none,
                    _ if index == last => all,
                    _ => 0.0,
                };
                (
                    part(places[index]),
                    (mass + (1.0 - none - all) * width).ln(),
                )
            })
            .collect()
    }

    /// The grid over u and k for one law, each point with the logarithm of its probability.
    fn candidates(&self, shape: Shape, parts: &[(f64, f64)], log_prior: f64) -> Vec<Candidate> {
        parts
            .iter()
            .flat_map(|(part, weight)| self.with_work_part(shape, *part, log_prior + weight))
            .collect()
    }

    fn with_work_part(&self, shape: Shape, work_part: f64, log_prior: f64) -> Vec<Candidate> {
        let growth: Vec<f64> = self
            .observations
            .iter()
            .map(|run| shape.at(run.share) * (1.0 - work_part + work_part * run.work))
            .collect();
        self.over_fixed_part(shape, &growth, work_part, log_prior)
    }

    /// The grid over u: coarse everywhere, then finer and finer about its highest point, since with little noise the
    /// posterior is a needle.
    fn over_fixed_part(
        &self,
        shape: Shape,
        growth: &[f64],
        work_part: f64,
        log_prior: f64,
    ) -> Vec<Candidate> {
        let candidate = |logit: f64| {
            let fixed = 1.0 / (1.0 + (-logit).exp());
            self.weigh(
                Candidate {
                    shape,
                    fixed,
                    work_part,
                    weight: log_prior,
                    center: 0.0,
                    squares: 0.0,
                },
                growth,
            )
        };
        // Where nothing grows, u says nothing of the runs. What seems constant may still begin to grow beyond them: in the doubt
        // about that it counts as growing by the mean of u's prior.
        if growth.iter().all(|growth| *growth == 1.0) {
            return vec![candidate(self.prior.fixed_logit_mean)];
        }
        let deviation = self.prior.fixed_logit_deviation;
        let density =
            |logit: f64| -0.5 * ((logit - self.prior.fixed_logit_mean) / deviation).powi(2);
        let point = |logit: f64| {
            let one = candidate(logit);
            (logit, one, one.weight + density(logit))
        };
        let mut grid: Vec<(f64, Candidate, f64)> = (-LOGIT_BOUND..=LOGIT_BOUND)
            .map(|logit| point(f64::from(logit)))
            .collect();
        for _ in 0..MOST_ZOOM_PASSES {
            let last = grid.len() - 1;
            let highest = (0..=last)
                .max_by(|a, b| grid[*a].2.total_cmp(&grid[*b].2))
                .expect("the grid is not empty");
            let neighbours = [highest.saturating_sub(1), (highest + 1).min(last)];
            let lower = neighbours
                .map(|index| grid[index].2)
                .into_iter()
                .fold(f64::INFINITY, f64::min);
            if grid[highest].2 - lower < FINE_ENOUGH {
                break;
            }
            let (from, to) = (
                highest.saturating_sub(ZOOM_REACH),
                (highest + ZOOM_REACH).min(last),
            );
            for index in from..to {
                let (start, end) = (grid[index].0, grid[index + 1].0);
                grid.extend(
                    (1..ZOOM).map(|part| {
                        point(start + (end - start) * f64::from(part) / f64::from(ZOOM))
                    }),
                );
            }
            grid.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        // The trapezoidal rule over logit u, with its prior density.
        let log_scale = -(deviation * std::f64::consts::TAU.sqrt()).ln();
        (0..grid.len())
            .map(|index| {
                let before = grid[index.saturating_sub(1)].0;
                let after = grid[(index + 1).min(grid.len() - 1)].0;
                Candidate {
                    weight: grid[index].2 + ((after - before) / 2.0).ln() + log_scale,
                    ..grid[index].1
                }
            })
            .collect()
    }

    /// The evidence of one candidate and what it says of ln S; `growth` holds f(x) h(q) of each run.
    fn weigh(&self, candidate: Candidate, growth: &[f64]) -> Candidate {
        let fixed = candidate.fixed;
        let (mut sum, mut squares) = (0.0, 0.0);
        // The sum of squares about the first residual loses no digits where all are nearly equal.
        let mut origin = None;
        for ((run, logarithm), growth) in self.observations.iter().zip(&self.logarithms).zip(growth)
        {
            let relative = (fixed + (1.0 - fixed) * growth).max(f64::MIN_POSITIVE);
            let residual = logarithm - relative.ln();
            let distance = residual - *origin.get_or_insert(residual);
            sum += run.weight * distance;
            squares += run.weight * distance * distance;
        }
        let mean = sum / self.weight_total;
        let squares = (squares - self.weight_total * mean * mean).max(0.0);
        let prior = self.prior.noise_degrees_of_freedom * self.prior.noise.powi(2);
        let exponent = self.degrees_of_freedom() / 2.0;
        Candidate {
            center: origin.unwrap_or_default() + mean,
            squares,
            weight: candidate.weight - exponent * (prior + squares).ln(),
            ..candidate
        }
    }
}

/// `runs` cut where the work changes, and where the share passes [`ONE_SIZE`] times that of the first of its size; they rise
/// in work, and in share within it.
fn of_one_size(runs: &[Observation]) -> Vec<&[Observation]> {
    let mut sizes = Vec::new();
    let mut rest = runs;
    while let [first, ..] = rest {
        let is_other =
            |run: &Observation| run.work != first.work || run.share >= ONE_SIZE * first.share;
        let end = rest.iter().position(is_other).unwrap_or(rest.len());
        let (size, others) = rest.split_at(end);
        sizes.push(size);
        rest = others;
    }
    sizes
}

/// The runs with less weight for those that lie far from the median of at least [`FEWEST_REPLICATES`] of their size; `runs`
/// rise in share. The scale is that of all such distances but those of the medians themselves, which are 0.
fn without_odd_replicates(runs: &[Observation], least_scale: f64) -> Vec<Observation> {
    let sizes = of_one_size(runs);
    let residuals: Vec<f64> = sizes
        .iter()
        .flat_map(|size| {
            let middle = median(size.iter().map(|run| run.value.ln()).collect());
            let has_middle = size.len() >= FEWEST_REPLICATES;
            size.iter().map(move |run| {
                if has_middle {
                    run.value.ln() - middle
                } else {
                    0.0
                }
            })
        })
        .collect();
    let mut distances: Vec<f64> = residuals.iter().map(|residual| residual.abs()).collect();
    distances.sort_by(f64::total_cmp);
    let middles = sizes
        .iter()
        .map(|size| {
            if size.len() >= FEWEST_REPLICATES {
                1
            } else {
                size.len()
            }
        })
        .sum();
    let scale = (MAD_TO_DEVIATION * median(distances.split_off(middles))).max(least_scale);
    runs.iter()
        .zip(residuals)
        .map(|(run, residual)| run.doubted(residual, scale))
        .collect()
}

/// Of values in any order; the upper one of the two in the middle.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
