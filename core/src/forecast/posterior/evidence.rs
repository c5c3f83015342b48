//! How well each candidate explains the runs: the grid over the fixed part and the part that goes with the work.

use std::ops::Range;

use super::super::law::{STEEPER, Shape};
use super::super::predictive::Spread;
use super::{NEGLIGIBLE, Observation, Prior, WeighedLaw};
use crate::units::count_as_float;

/// The grid over logit u: wide enough for a fixed part of a millionth, and for a growing part of a millionth.
const LOGIT_BOUND: i32 = 14;
/// The first steps of that grid; halved twice they are of 1.
const LOGIT_STEP: usize = 4;
/// Each pass over logit u halves this many steps on either side of the highest point so far.
const ZOOM_REACH: usize = 2;
/// All steps of a first grid are halved so often, but for those between places that are lower than its highest by more than this, in
/// the logarithm: they are negligible, and there are as many of them as others.
const HALVINGS: usize = 2;
const NO_PART_OF_IT: f64 = 15.0;
/// The finest step is 2^-25, which resolves the noise of any float.
const MOST_ZOOM_PASSES: usize = 25;
/// The grid is fine enough if the neighbours of its highest point are lower by less than this, in the logarithm: steps of about a
/// standard deviation, at which the trapezoidal rule integrates a normal density to six digits.
const FINE_ENOUGH: f64 = 0.5;
/// Values of k, the part of the growth that goes with the work: so many steps in ln(1 - k + k q) of the least work q.
const WORK_STEPS: u32 = 24;
/// By how much steeper laws are likelier where the runs show no curve: a power of 4 through two sizes is at risk then.
const WITHOUT_A_CURVE: f64 = 2.0;
/// Neighbours that differ by less than this factor are one size.
const SAME_SIZE: f64 = 1.2;

/// The runs, prepared for many candidates: one group, or several that share the law and the noise but have each its own S.
#[derive(Clone)]
pub(in crate::forecast) struct Evidence<'a> {
    prior: &'a Prior,
    groups: Vec<Group>,
    /// Whether there are cold runs and warm ones, and that matters.
    is_mixed: bool,
    /// Those of all groups, each with the logarithm of its value.
    runs: Vec<(Observation, f64)>,
    /// The noise as the runs show it.
    pub(in crate::forecast) noise: ResidualNoise,
    /// ln f of the share at which the prior of the fixed part holds: 0 for the full run.
    ln_reached: f64,
    /// How what goes with the work grows with it.
    work_growth: Shape,
}

/// The knowledge of s^2, the variance of the noise, to which the squares of the runs' residuals are added.
#[derive(Debug, Clone, Copy)]
pub(in crate::forecast) struct ResidualNoise {
    /// s^2 times its degrees of freedom, without those residuals.
    pub(in crate::forecast) known_squares: f64,
    /// The degrees of freedom of s^2, those of the runs included.
    pub(in crate::forecast) degrees_of_freedom: f64,
}

impl ResidualNoise {
    /// The noise after so many runs in so many groups; each group has a location of its own, which takes a degree of freedom.
    pub(in crate::forecast) fn of(prior: &Prior, runs: usize, groups: usize) -> Self {
        Self {
            known_squares: prior.noise_degrees_of_freedom * prior.noise.powi(2),
            degrees_of_freedom: prior.noise_degrees_of_freedom + count_as_float(runs)
                - count_as_float(groups),
        }
    }

    /// The scale of s^2 where residuals have these squares.
    pub(in crate::forecast) fn variance(&self, squares: f64) -> f64 {
        (self.known_squares + squares) / self.degrees_of_freedom
    }

    /// The spread of a value with this variance.
    pub(in crate::forecast) fn spread(&self, variance: f64) -> Spread {
        Spread::new(variance.sqrt(), self.degrees_of_freedom)
    }

    /// The spread of one new run about a location that runs of so much weight have shown.
    pub(in crate::forecast) fn of_a_run(&self, squares: f64, weight_total: f64) -> Spread {
        self.spread(self.variance(squares) * (1.0 + 1.0 / weight_total))
    }
}

/// Runs with one S.
#[derive(Clone)]
struct Group {
    /// Where they stand among all.
    runs: Range<usize>,
    weight_total: f64,
}

impl<'a> Evidence<'a> {
    /// At least one group, none of them empty.
    pub(in crate::forecast) fn new(groups: &[&[Observation]], prior: &'a Prior) -> Self {
        debug_assert!(!groups.is_empty() && groups.iter().all(|group| !group.is_empty()));
        let mut before = 0;
        let group = |group: &&[Observation]| {
            let start = before;
            before += group.len();
            Group {
                runs: start..before,
                weight_total: group.iter().map(|run| run.weight).sum(),
            }
        };
        let groups_of_runs: Vec<Group> = groups.iter().map(group).collect();
        let runs = groups.concat();
        Self {
            prior,
            noise: ResidualNoise::of(prior, runs.len(), groups.len()),
            groups: groups_of_runs,
            is_mixed: prior.no_cold_weight < 1.0
                && runs.iter().any(|run| run.is_warm)
                && runs.iter().any(|run| !run.is_warm),
            runs: (runs.into_iter())
                .map(|run| (run, run.value.ln()))
                .collect(),
            ln_reached: 0.0,
            work_growth: Shape::linear(),
        }
    }

    /// Laws that are steeper than all of the family: of the data, and of the work where no run did all of it. `share` and `work` are the
    /// largest that ran.
    pub(super) fn steeper_laws(&self, share: f64, work: f64) -> Vec<WeighedLaw> {
        let odds = self.prior.steeper_odds;
        if odds == 0.0 {
            return Vec::new();
        }
        let mut shares = Vec::from_iter(self.runs.iter().map(|(run, _)| run.share));
        shares.sort_by(f64::total_cmp);
        let sizes = shares.chunk_by(|less, more| *more < SAME_SIZE * less);
        let of_data = match sizes.count() {
            0..=2 => odds * WITHOUT_A_CURVE,
            _ => odds,
        };
        let both = |shape: Shape, work_growth: Shape, odds: f64| {
            let fixed_of = |reached: f64| {
                let ln_reached = reached.ln();
                let runs = Self {
                    ln_reached,
                    work_growth,
                    ..self.clone()
                };
                runs.candidates(shape, &runs.work_parts(), (odds / 2.0).ln())
            };
            // How much of the full run is fixed, or of the largest canary: neither is known better.
            [1.0, shape.at(share) * work_growth.at(work)]
                .map(fixed_of)
                .concat()
        };
        let laws = STEEPER.into_iter().flat_map(|(steep, part)| {
            // Beside the work the data may do nothing, or go on in proportion, or as it does.
            let beside = [Shape::Constant, Shape::linear(), steep];
            let beside = beside.into_iter().filter(|_| work < 1.0);
            let by_work = beside.flat_map(|shape| both(shape, steep, odds * part));
            let by_data = both(steep, Shape::linear(), of_data * part);
            Vec::from_iter(by_data.into_iter().chain(by_work))
        });
        laws.collect()
    }

    /// Adds other runs' information on the noise: the squares of their residuals and their degrees of freedom.
    pub(in crate::forecast) fn beside(mut self, squares: f64, degrees_of_freedom: f64) -> Self {
        self.noise.known_squares += squares;
        self.noise.degrees_of_freedom += degrees_of_freedom;
        self
    }

    /// The weight of the runs of each group.
    pub(in crate::forecast) fn weight_totals(&self) -> Vec<f64> {
        self.groups.iter().map(|group| group.weight_total).collect()
    }

    /// A candidate's estimate of ln S in each group.
    pub(in crate::forecast) fn centers(&self, candidate: &WeighedLaw) -> Vec<f64> {
        let relative = |place: usize| candidate.ln_relative_of(&self.runs[place].0);
        let center = |group: &Group| self.center_and_squares(group, relative).0;
        self.groups.iter().map(center).collect()
    }

    /// The prior probability of a candidate of this evidence.
    pub(in crate::forecast) fn prior_probability(&self, candidate: &WeighedLaw) -> f64 {
        (candidate.weight + self.penalty(candidate.squares)).exp()
    }

    /// The reduction of the log evidence by residuals with these squares.
    fn penalty(&self, squares: f64) -> f64 {
        self.noise.degrees_of_freedom / 2.0 * (self.noise.known_squares + squares).ln()
    }

    /// The values of k with the logarithms of their prior probabilities; only 0 where the work does not differ.
    ///
    /// Between the masses on none and all, the factor h = 1 - k + k g(q) of the least work q is uniform on a logarithmic scale: even
    /// steps of k itself would leave a large gap before k = 1.
    pub(in crate::forecast) fn work_parts(&self) -> Vec<(f64, f64)> {
        let works = self.runs.iter().map(|(run, _)| run.work);
        let least = self.work_growth.at(works.fold(1.0, f64::min));
        if least >= 1.0 {
            return vec![(0.0, 0.0)];
        }
        let range = least.ln();
        let part = |at: f64| ((1.0 - (at * range).exp()) / (1.0 - least)).min(1.0);
        let steps = f64::from(WORK_STEPS);
        let places: Vec<f64> = (0..=WORK_STEPS)
            .map(|step| f64::from(step) / steps)
            .collect();
        let (none, all) = (self.prior.no_work_weight, self.prior.all_work_weight);
        let last = places.len() - 1;
        (0..=last)
            .map(|index| {
                let width = width(&places, index);
                let mass = match index {
                    0 => none,
                    _ if index == last => all,
                    _ => 0.0,
                };
                let mass = mass + (1.0 - none - all) * width;
                (part(places[index]), mass.ln())
            })
            .collect()
    }

    /// The grid over u and k for one law, each point with the logarithm of its probability.
    pub(in crate::forecast) fn candidates(
        &self,
        shape: Shape,
        parts: &[(f64, f64)],
        log_prior: f64,
    ) -> Vec<WeighedLaw> {
        let of_part =
            |(part, weight): &(f64, f64)| self.with_work_part(shape, *part, log_prior + weight);
        parts.iter().map(of_part).collect::<Vec<_>>().concat()
    }

    /// The grid over u for one law and one part that goes with the work.
    pub(in crate::forecast) fn with_work_part(
        &self,
        shape: Shape,
        work_part: f64,
        log_prior: f64,
    ) -> Vec<WeighedLaw> {
        let law = WeighedLaw {
            work_growth: self.work_growth,
            ..unweighed(shape, work_part, log_prior)
        };
        let runs = self.runs.iter();
        let growth: Vec<f64> = runs
            .map(|(run, _)| shape.at(run.share) * law.of_work(run.work))
            .collect();
        // If nothing grows, u does not affect the runs. A constant may still start to grow beyond them: for that drift the mean of
        // u's prior counts.
        if growth.iter().all(|growth| *growth == 1.0) && !self.is_mixed {
            let law = self.at_fixed_part(law, self.prior.fixed_logit_mean);
            return vec![self.weigh(law, &growth)];
        }
        self.over_fixed_part(law, &growth)
    }

    fn at_fixed_part<F: Copy>(&self, law: WeighedLaw<F>, logit: f64) -> WeighedLaw<F> {
        let fixed = 1.0 / (1.0 + (-logit - self.ln_reached).exp());
        WeighedLaw { fixed, ..law }
    }

    /// The grid over u for one law whose growth at each run is given: coarse everywhere, then finer and finer about its highest
    /// point, since with little noise the posterior is very narrow.
    pub(in crate::forecast) fn over_fixed_part<F: Copy>(
        &self,
        law: WeighedLaw<F>,
        growth: &[f64],
    ) -> Vec<WeighedLaw<F>> {
        let deviation = self.prior.fixed_logit_deviation;
        let density =
            |logit: f64| -0.5 * ((logit - self.prior.fixed_logit_mean) / deviation).powi(2);
        let log_scale = -(deviation * std::f64::consts::TAU.sqrt()).ln();
        integrated(
            (-LOGIT_BOUND..=LOGIT_BOUND)
                .step_by(LOGIT_STEP)
                .map(f64::from),
            ZOOM_REACH,
            |logit, to| self.add_over_cold_part(self.at_fixed_part(law, logit), growth, to),
            density,
            |evidence, logit, width| evidence + density(logit) + width.ln() + log_scale,
        )
    }

    /// The grid over c for one law and one fixed part, finer and finer about its highest point; one point where all runs started
    /// alike. Of one variable the squares have one minimum, so no other can be missed.
    fn add_over_cold_part<F: Copy>(
        &self,
        law: WeighedLaw<F>,
        growth: &[f64],
        to: &mut Vec<WeighedLaw<F>>,
    ) {
        if !self.is_mixed {
            return to.push(self.weigh(law, growth));
        }
        let none = self.prior.no_cold_weight;
        to.extend(integrated(
            [0.0, 1.0].into_iter(),
            1,
            |cold_part, to| to.push(self.weigh(WeighedLaw { cold_part, ..law }, growth)),
            |_| 0.0,
            // Uniform but for the mass on 0.
            |evidence, cold_part, width| {
                let mass = if cold_part == 0.0 { none } else { 0.0 };
                evidence + (mass + (1.0 - none) * width).ln()
            },
        ));
    }

    /// The evidence of one candidate and its estimate of ln S in the first group; `growth` holds f(x) h(q) of each run.
    fn weigh<F: Copy>(&self, candidate: WeighedLaw<F>, growth: &[f64]) -> WeighedLaw<F> {
        let fixed = candidate.fixed;
        let if_warm = fixed * (1.0 - candidate.cold_part);
        let relative = |place: usize| {
            let is_warm = self.runs[place].0.is_warm;
            let without_data = if is_warm { if_warm } else { fixed };
            let relative = without_data + (1.0 - fixed) * growth[place];
            relative.max(f64::MIN_POSITIVE).ln()
        };
        let groups = self.groups.iter();
        let mut centers = groups.map(|group| self.center_and_squares(group, relative));
        let (center, mut squares) = centers.next().expect("there is at least one group");
        squares += centers.map(|(_, squares)| squares).sum::<f64>();
        WeighedLaw {
            center,
            squares,
            weight: candidate.weight - self.penalty(squares),
            ..candidate
        }
    }

    /// The location of ln S, and the sum of weighted squared residuals; `relative` gives ln(u + (1 - u) f(x) h(q)) of the run at a place
    /// among all.
    fn center_and_squares(&self, group: &Group, relative: impl Fn(usize) -> f64) -> (f64, f64) {
        let (mut sum, mut squares) = (0.0, 0.0);
        // The sum of squares about the first residual loses no digits if all are nearly equal.
        let mut origin = None;
        for place in group.runs.clone() {
            let (run, logarithm) = &self.runs[place];
            let residual = logarithm - relative(place);
            let distance = residual - *origin.get_or_insert(residual);
            sum += run.weight * distance;
            squares += run.weight * distance * distance;
        }
        let mean = sum / group.weight_total;
        let squares = (squares - group.weight_total * mean * mean).max(0.0);
        (origin.unwrap_or_default() + mean, squares)
    }
}

/// The laws of a grid over one variable by the trapezoidal rule, the grid made finer where it is not negligible, and then finer and
/// finer about its highest point: each pass halves `reach` steps on either side of it. `at` adds the laws of a place to a list,
/// `density` gives the logarithm of its prior density, and `weight` what the evidence of a law becomes at a place that stands for so much.
fn integrated<F: Copy>(
    places: impl Iterator<Item = f64>,
    reach: usize,
    at: impl Fn(f64, &mut Vec<WeighedLaw<F>>),
    density: impl Fn(f64) -> f64,
    weight: impl Fn(f64, f64, f64) -> f64,
) -> Vec<WeighedLaw<F>> {
    let mut laws = Vec::with_capacity(64);
    let mut point = |place: f64| {
        let start = laws.len();
        at(place, &mut laws);
        let height = ln_sum(&laws[start..]) + density(place);
        (place, height, start..laws.len())
    };
    let mut grid: Vec<_> = places.map(&mut point).collect();
    for pass in 0..HALVINGS + MOST_ZOOM_PASSES {
        let last = grid.len() - 1;
        let height = |index: usize| grid[index].1;
        let highest = (0..=last)
            .max_by(|a, b| height(*a).total_cmp(&height(*b)))
            .expect("the grid is not empty");
        let lower = height(highest.saturating_sub(1)).min(height((highest + 1).min(last)));
        if pass >= HALVINGS && height(highest) - lower < FINE_ENOUGH {
            break;
        }
        let is_halved = |index: usize| match pass < HALVINGS {
            true => height(index).max(height(index + 1)) > height(highest) - NO_PART_OF_IT,
            false => index < highest + reach && index + reach >= highest,
        };
        let mut finer = Vec::with_capacity(2 * grid.len());
        for index in 0..=last {
            finer.push(grid[index].clone());
            if index < last && is_halved(index) {
                finer.push(point(f64::midpoint(grid[index].0, grid[index + 1].0)));
            }
        }
        grid = finer;
    }
    let places: Vec<f64> = grid.iter().map(|(place, ..)| *place).collect();
    for (index, (place, _, at)) in grid.into_iter().enumerate() {
        let width = width(&places, index);
        for law in &mut laws[at] {
            law.weight = weight(law.weight, place, width);
        }
    }
    laws
}

/// What a place of a rising grid stands for by the trapezoidal rule.
fn width(places: &[f64], index: usize) -> f64 {
    let last = places.len() - 1;
    (places[(index + 1).min(last)] - places[index.saturating_sub(1)]) / 2.0
}

/// The highest evidence of these laws.
pub(in crate::forecast) fn highest_weight<'a, F: 'a>(
    laws: impl IntoIterator<Item = &'a WeighedLaw<F>>,
) -> f64 {
    let weights = laws.into_iter().map(|law| law.weight);
    weights.fold(f64::NEG_INFINITY, f64::max)
}

/// The laws that are not negligible beside the best, each with its probability in the place of its evidence; and the logarithm of the
/// evidence of all.
pub(in crate::forecast) fn probable<F>(mut laws: Vec<WeighedLaw<F>>) -> (Vec<WeighedLaw<F>>, f64) {
    let best = highest_weight(&laws);
    laws.retain(|law| law.weight - best > NEGLIGIBLE.ln());
    let all = ln_sum(&laws);
    for law in &mut laws {
        law.weight = (law.weight - all).exp();
    }
    (laws, all)
}

/// A law of which nothing is fixed, before the runs are asked.
pub(in crate::forecast) fn unweighed<F>(shape: F, work_part: f64, log_prior: f64) -> WeighedLaw<F> {
    WeighedLaw {
        shape,
        fixed: 0.0,
        work_part,
        work_growth: Shape::linear(),
        cold_part: 0.0,
        weight: log_prior,
        center: 0.0,
        squares: 0.0,
    }
}

/// The logarithm of the sum of the weights, of which there is at least one.
fn ln_sum<F>(laws: &[WeighedLaw<F>]) -> f64 {
    let [one] = laws else {
        let highest = highest_weight(laws);
        let sum: f64 = laws.iter().map(|law| (law.weight - highest).exp()).sum();
        return highest + sum.ln();
    };
    one.weight
}

/// One candidate for each fixed part: the most probable cold part, with the weight of all. Where candidates of two sides are paired, all
/// of them would be too many.
pub(in crate::forecast) fn without_cold_parts(laws: &[WeighedLaw]) -> Vec<WeighedLaw> {
    laws.chunk_by(|a, b| a.fixed == b.fixed)
        .map(|same| {
            let best = same.iter().max_by(|a, b| a.weight.total_cmp(&b.weight));
            WeighedLaw {
                weight: ln_sum(same),
                ..*best.expect("a chunk is not empty")
            }
        })
        .collect()
}
