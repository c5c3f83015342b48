//! The **posterior** of a quantity's growth: every law of the family weighed by how well it explains the runs.
//!
//! The model, for one run of `x` of the data with `q` of the full run's work per datum:
//!
//! ```text
//! ln y = ln S + ln(u (1 - c z) + (1 - u) f(x) (1 - k + k g(q))) + e,    e ~ N(0, s^2 / w)
//! ```
//!
//! S is the value of the full run, started cold; z is 1 for a run on a warm machine and c the part of u that only cold runs have (0
//! and unused where all runs started alike), u the part of it that is there without any data, f the law's [`Shape`], k the part of the
//! growing rest that grows with the work (0 and unused where all runs do the full work) by g, which is in proportion in every law
//! of the family, w a run's weight. Given (f, u, k)
//! this is a location problem in ln S with unknown variance: under a flat prior on ln S and an inverse-gamma prior on s^2
//! the evidence is closed and ln y of a new run is Student-t (Gelman et al., Bayesian Data Analysis, 3rd ed. 2013, sections
//! 3.2-3.3; Bernardo and Smith, Bayesian Theory, 1994, appendix A.2, for the evidence). Over u, k and c it is summed on a
//! grid, over f by the family's prior weights (Hoeting et al., Bayesian Model Averaging, Statistical Science 14, 1999).

mod evidence;
mod outliers;

pub(super) use evidence::{
    Evidence, ResidualNoise, highest_weight, probable, unweighed, without_cold_parts,
};
use outliers::ROBUST_FROM;
pub(super) use outliers::{ONE_SIZE, robust};

use super::law::{FamilyWeights, GrowthKind, Law, Shape};
use super::predictive::{Component, Predictive, weighted_quantile};

/// The prior of a quantity. `prior` says how its values were chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prior {
    pub laws: FamilyWeights,
    /// Run-to-run noise of ln y, a standard deviation, and how many runs' worth of degrees of freedom stand behind it.
    pub noise: f64,
    pub noise_degrees_of_freedom: f64,
    /// The fixed part: logit u is normal with this mean and standard deviation.
    pub fixed_logit_mean: f64,
    pub fixed_logit_deviation: f64,
    /// The probability that none of the growth is proportional to the work, as of reading, and that all of it is, as of epochs;
    /// the rest is spread evenly over the parts between.
    pub no_work_weight: f64,
    pub all_work_weight: f64,
    /// The probability that a cold start adds nothing; the rest is spread evenly over the part of it in what is fixed. 1 where how a
    /// machine was started changes nothing.
    pub no_cold_weight: f64,
    /// How far growth may leave every law of the family beyond the largest canary: its exponent drifts as a random walk in ln x,
    /// with this standard deviation per unit of ln x.
    pub exponent_drift: f64,
    /// The part of a forecast that counts as growing in that drift even if it seems fixed.
    pub least_growing: f64,
    /// The weight of the first run of a series, which finds caches cold, and of one whose CPU other work took.
    pub cold_weight: f64,
    /// The odds of the laws that are steeper than any of the family (`law::STEEPER`), together against all of it.
    pub steeper_odds: f64,
}

/// One completed run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observation {
    /// The share of the data that was really sampled, in (0, 1].
    pub share: f64,
    /// The fraction requested, which identifies the size: samples of one size differ a little in bytes.
    pub fraction: f64,
    /// The share of the full run's work per datum, in (0, 1].
    pub work: f64,
    /// Finite, and positive where a law is fit.
    pub value: f64,
    /// The inverse of its noise variance, relative to that of an ordinary run.
    pub weight: f64,
    /// Whether it is the first of its series, which finds caches cold, or lost much of its CPU to other work.
    pub is_doubtful: bool,
    /// Whether its machine had run a canary before: then it lacks what only a cold start takes.
    pub is_warm: bool,
}

impl Observation {
    /// An ordinary run, started cold.
    pub fn new(share: f64, work: f64, value: f64) -> Self {
        Self {
            share,
            fraction: share,
            work,
            value,
            weight: 1.0,
            is_doubtful: false,
            is_warm: false,
        }
    }
}

/// Candidates that are less probable than this relative to the best one are dropped.
pub(super) const NEGLIGIBLE: f64 = 1e-6;
/// No candidate is more probable than by this logarithm: beyond it the family has no say.
const MOST_LOG_ODDS: f64 = 100.0;

/// Sorted by work, cold before warm, then by share. Sums of floats depend on their order; the forecast must not.
pub(super) fn in_order(observations: &[Observation]) -> Vec<Observation> {
    let mut ordered = observations.to_vec();
    ordered.sort_by(|a, b| {
        (a.work.total_cmp(&b.work))
            .then(a.is_warm.cmp(&b.is_warm))
            .then(a.share.total_cmp(&b.share))
            .then(a.value.total_cmp(&b.value))
            .then(a.weight.total_cmp(&b.weight))
    });
    ordered
}

/// One (f, u, k, c) with its probability and its estimate of ln S. `F` is the type that names f.
#[derive(Debug, Clone, Copy)]
pub(super) struct WeighedLaw<F = Shape> {
    pub(super) shape: F,
    pub(super) fixed: f64,
    pub(super) work_part: f64,
    /// g.
    pub(super) work_growth: Shape,
    /// c: of the fixed part what only a cold run takes, in 0-1; 0 where cold and warm runs are not both there.
    pub(super) cold_part: f64,
    /// The logarithm of its probability, up to a constant; then the probability.
    pub(super) weight: f64,
    /// The estimate of ln S.
    pub(super) center: f64,
    /// The sum of weighted squared residuals.
    pub(super) squares: f64,
}

impl WeighedLaw {
    /// Of a cold run: u + (1 - u) f(x) h(q), and the part of it that grows.
    pub(super) fn relative(&self, share: f64, work: f64) -> (f64, f64) {
        self.relative_at(self.shape.at(share), work)
    }

    fn relative_at(&self, growth: f64, work: f64) -> (f64, f64) {
        let growing = (1.0 - self.fixed) * growth * self.of_work(work);
        let total = (self.fixed + growing).max(f64::MIN_POSITIVE);
        (total, growing / total)
    }

    /// 1 - k + k g(q): how much of the growth so much work reaches.
    pub(super) fn of_work(&self, work: f64) -> f64 {
        1.0 - self.work_part + self.work_part * self.work_growth.at(work)
    }

    /// What this law gives a run relative to a cold full run, as a logarithm.
    pub(super) fn ln_relative_of(&self, run: &Observation) -> f64 {
        self.ln_relative_at(self.shape.at(run.share), run)
    }

    /// The same where f of the run's share is known.
    fn ln_relative_at(&self, growth: f64, run: &Observation) -> f64 {
        let cold = self.relative_at(growth, run.work).0;
        let offset = match run.is_warm {
            true => self.fixed * self.cold_part,
            false => 0.0,
        };
        (cold - offset).max(f64::MIN_POSITIVE).ln()
    }
}

/// The laws of the family with their probabilities, and ln of the evidence of all.
fn family(observations: &[Observation], prior: &Prior) -> (Vec<WeighedLaw>, f64) {
    let runs = Evidence::new(&[observations], prior);
    let parts = runs.work_parts();
    let family = prior.laws.laws().into_iter();
    let laws = family.map(|(shape, weight)| runs.candidates(shape, &parts, weight.ln()));
    probable(laws.collect::<Vec<_>>().concat())
}

/// The posterior of a quantity's growth, given the runs.
#[derive(Debug, Clone)]
pub struct Posterior {
    prior: Prior,
    /// Probabilities sum to 1.
    candidates: Vec<WeighedLaw>,
    /// The laws that are steeper than any of the family; their weights are odds against it.
    steeper: Vec<WeighedLaw>,
    /// The noise as the runs show it.
    noise: ResidualNoise,
    weight_total: f64,
    largest_share: f64,
    largest_work: f64,
}

impl Posterior {
    /// Weighs the laws by the runs, in any order. At least one run; values are positive.
    pub fn fit(observations: &[Observation], prior: &Prior) -> Self {
        Self::fit_and_reweigh(observations, prior).0
    }

    /// Like [`Posterior::fit`], and returns the runs in a fixed order with their final weights, which are less for outliers.
    pub(super) fn fit_and_reweigh(
        observations: &[Observation],
        prior: &Prior,
    ) -> (Self, Vec<Observation>) {
        debug_assert!(!observations.is_empty());
        let ordered = in_order(observations);
        if ordered.len() < ROBUST_FROM {
            return (Self::fit_once(&ordered, prior), ordered);
        }
        let fit = |runs: &[Vec<Observation>]| family(&runs[0], prior);
        let (laws, runs) = robust(&[&ordered], prior.noise, fit, |laws, _, run| {
            let forms = laws.0.chunk_by(|a, b| a.shape == b.shape);
            let fitted = forms.flat_map(|laws| {
                let growth = laws[0].shape.at(run.share);
                let fitted = move |one: &WeighedLaw| one.center + one.ln_relative_at(growth, run);
                laws.iter().map(move |one| one.weight * fitted(one))
            });
            fitted.sum()
        });
        let runs = runs.concat();
        (Self::of_laws(&runs, prior, laws), runs)
    }

    /// The squares of the residuals from the law that comes closest to the runs.
    pub(super) fn least_squares(&self) -> f64 {
        let squares = self.candidates.iter().map(|one| one.squares);
        squares.fold(f64::INFINITY, f64::min)
    }

    fn fit_once(observations: &[Observation], prior: &Prior) -> Self {
        Self::of_laws(observations, prior, family(observations, prior))
    }

    /// With the laws of the family, and ln of the evidence of all.
    fn of_laws(
        observations: &[Observation],
        prior: &Prior,
        (candidates, all): (Vec<WeighedLaw>, f64),
    ) -> Self {
        let runs = Evidence::new(&[observations], prior);
        let largest = |of: fn(&Observation) -> f64| observations.iter().map(of).fold(0.0, f64::max);
        let (largest_share, largest_work) = (largest(|run| run.share), largest(|run| run.work));
        let least = all + (NEGLIGIBLE * highest_weight(&candidates)).ln();
        let steeper = runs.steeper_laws(largest_share, largest_work).into_iter();
        let steeper = steeper.filter(|law| law.weight > least);
        let odds = |law: WeighedLaw| (law.weight - all).min(MOST_LOG_ODDS).exp();
        let steeper = steeper.map(|law| WeighedLaw {
            weight: odds(law),
            ..law
        });
        Self {
            prior: *prior,
            candidates,
            steeper: steeper.collect(),
            noise: runs.noise,
            weight_total: runs.weight_totals().iter().sum(),
            largest_share,
            largest_work,
        }
    }

    /// The distribution of one new run with `share` of the data and `work` of the full run's work.
    pub fn predict_at(&self, share: f64, work: f64) -> Predictive {
        let beyond = (share / self.largest_share).ln().max(0.0);
        let beyond_work = (work / self.largest_work).ln().max(0.0);
        let component = |one: &WeighedLaw| {
            let (relative, growing) = one.relative(share, work);
            let growing = growing.max(self.prior.least_growing);
            // More data and more work are two walks; the second concerns the part that grows with the work.
            let walks = beyond.powi(3) + one.work_part.powi(2) * beyond_work.powi(3);
            let doubt = self.prior.exponent_drift * growing * (walks / 3.0).sqrt();
            Component {
                weight: one.weight,
                center: one.center + relative.ln(),
                spread: (self.noise.of_a_run(one.squares, self.weight_total)).with_doubt(doubt),
            }
        };
        let by_family: Vec<Component> = self.candidates.iter().map(component).collect();
        if self.steeper.is_empty() || beyond.max(beyond_work) == 0.0 {
            return Predictive::mixture(by_family);
        }
        let odds: f64 = self.steeper.iter().map(|one| one.weight).sum();
        let steeper = self.steeper.iter().map(component);
        let all = by_family.iter().copied().chain(steeper);
        let all = all.map(|one| Component {
            weight: one.weight / (1.0 + odds),
            ..one
        });
        let if_steeper = Predictive::mixture(all.collect());
        Predictive::mixture(by_family).or_if_steeper(if_steeper)
    }

    /// Conditions on these lower bounds, runs whose full values are more: each candidate is weighed by their probability. Unchanged if no candidate allows them.
    pub fn given_at_least(mut self, bounds: &[Observation]) -> Self {
        for bound in bounds {
            let chance_of = |one: &WeighedLaw| {
                let center = one.center + one.relative(bound.share, bound.work).0.ln();
                let noise = self.noise.of_a_run(one.squares, self.weight_total);
                noise.chance_above(bound.value.ln() - center)
            };
            let chances: Vec<f64> = self.candidates.iter().map(chance_of).collect();
            let both = self.candidates.iter().zip(&chances);
            let total: f64 = both.map(|(one, chance)| one.weight * chance).sum();
            if total < f64::MIN_POSITIVE {
                continue;
            }
            let steeper: Vec<f64> = self.steeper.iter().map(chance_of).collect();
            let all = self.candidates.iter_mut().chain(&mut self.steeper);
            for (one, chance) in all.zip(chances.into_iter().chain(steeper)) {
                one.weight *= chance / total;
            }
        }
        self
    }

    /// What a cold start adds at least, as surely as `certainty`, in the unit of the value. `None` where cold and warm runs are not
    /// both there.
    pub(super) fn cold_offset(&self, certainty: f64) -> Option<f64> {
        let offset = |one: &WeighedLaw| one.center.exp() * one.fixed * one.cold_part;
        let candidates = self.candidates.iter();
        let mut offsets: Vec<(f64, f64)> =
            candidates.map(|one| (offset(one), one.weight)).collect();
        let is_known = offsets.iter().any(|(offset, _)| *offset > 0.0);
        is_known.then(|| weighted_quantile(&mut offsets, 1.0 - certainty))
    }

    /// The kind of growth that is most probable, and the most probable law of that kind.
    pub(super) fn law(&self) -> Law {
        let growth_of = |one: &WeighedLaw| one.shape.growth_up_to(self.largest_share);
        let of_kind = |growth: GrowthKind| {
            let all = self.candidates.iter();
            all.filter(move |one| growth_of(one) == growth)
        };
        let probability = |growth| of_kind(growth).map(|one| one.weight).sum::<f64>();
        let growth = GrowthKind::ALL
            .into_iter()
            .max_by(|a, b| probability(*a).total_cmp(&probability(*b)))
            .expect("there are four kinds");
        let best = of_kind(growth)
            .max_by(|a, b| a.weight.total_cmp(&b.weight))
            .expect("the most probable kind has a candidate");
        // The line drawn is the mean over the fixed part of the best shape, not its highest grid point.
        let same = || of_kind(growth).filter(|one| one.shape == best.shape);
        let weight: f64 = same().map(|one| one.weight).sum();
        let mean = |value: fn(&WeighedLaw) -> f64| {
            same().map(|one| one.weight * value(one)).sum::<f64>() / weight
        };
        let full = mean(|one| one.center).exp();
        let fixed = mean(|one| one.fixed);
        let (intercept, slope) = match growth {
            GrowthKind::Constant => (full, 0.0),
            _ => (full * fixed, full * (1.0 - fixed)),
        };
        Law {
            name: growth.to_string(),
            // Never 1: the family does not contain every law.
            weight: probability(growth).min(0.999),
            intercept,
            slope,
            shape: best.shape,
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
