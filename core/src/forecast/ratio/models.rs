//! Three models of a change, weighed by how well each explains both sides.
//!
//! With a law (f, u, k) as in `posterior`, and one noise variance for both sides:
//!
//! - **all**: both sides have the same law, and everything is multiplied by one factor;
//! - **parts**: the form of the growth is the same, and its fixed and its growing part changed each by itself: the two sides
//!   differ in u;
//! - **form**: each side has a law of its own.
//!
//! All three have as many locations, each with a flat prior, and as many runs: the constants of their evidence are the same and
//! cancel. They differ in the prior mass of their laws, so the simpler one wins if all explain the runs equally well (MacKay,
//! Information Theory, Inference, and Learning Algorithms, 2003, chapter 28).

use super::super::law::Shape;
use super::super::posterior::{
    Evidence, NEGLIGIBLE, Prior, ResidualNoise, WeighedLaw, highest_weight, without_cold_parts,
};
use super::super::predictive::{Component, Predictive, Spread, merged, weighted_quantile};
use super::Factors;
use super::sides::{Axis, AxisPoint, ComparedValue, Side};
use crate::measurement::Abscissa;
use crate::units::count_as_float;

/// The prior probability of each model. Most changes of a level affect everything or nothing: another machine, another library,
/// more epochs. Next come changes of the work per datum, which leave the start of the program as it is. The form rarely changes,
/// as when code starts to compare pairs.
const ALL: f64 = 0.7;
const PARTS: f64 = 0.25;
const FORM: f64 = 0.05;

/// The ratio of the new full run to the base's, under all models.
#[derive(Debug, Clone)]
pub(super) struct WeighedRatio {
    /// The ratio of the new full run to the base's.
    pub(super) total: Predictive,
    /// At the data and the work of the new full run: the part that neither explains.
    pub(super) rate: Predictive,
    pub(super) factors: Factors,
    /// The probabilities of the three ways.
    #[cfg(test)]
    pub(super) chances: [f64; 3],
}

/// A pair of laws with less weight than this relative to all before it is left out.
const NEGLIGIBLE_PAIR: f64 = 1e-7;

/// The ratio under the three models. `squares` are those of each side's closest law.
pub(super) fn weigh(
    axis: &Axis,
    (sides, squares): ([&Side; 2], [f64; 2]),
    quantity: ComparedValue,
) -> WeighedRatio {
    let session_effect = quantity.session_effect.and(quantity.session_effect);
    let pair = ComparedSides::new(sides, squares, quantity.prior);
    let (all, parts, form) = (pair.all(), pair.parts(), pair.form());
    let ways = [(ALL, all), (PARTS, parts), (FORM, form)];
    let whole: f64 = ways.iter().map(|(chance, way)| chance * way.evidence).sum();
    let scaled = |of: fn(&Way) -> &Vec<Component>| {
        let lists = ways.iter().map(|(chance, way)| {
            let one = |one: &Component| Component {
                weight: one.weight * chance / whole,
                center: one.center,
                spread: whole_degrees(one.spread.and(session_effect)),
            };
            of(way).iter().map(one).collect::<Vec<_>>()
        });
        Predictive::mixture_of(lists.filter(|list| !list.is_empty()).collect())
    };
    let median = |of: fn(&[LawAtPoint; 3]) -> f64| {
        let one = |(mass, [law, _]): &(f64, [WeighedLaw; 2])| {
            let weight = mass * pair.likelihood(law.squares);
            (of(&pair.base_law_at_points(law)), weight)
        };
        let mut causes: Vec<(f64, f64)> = pair.common.iter().map(one).collect();
        let half = causes.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
        weighted_quantile(&mut causes, half)
    };
    let total = scaled(|way| &way.total);
    let shares = median(|[base, more, _]| more.logarithm - base.logarithm).exp();
    let works = median(|[_, more, new]| new.logarithm - more.logarithm).exp();
    let (data, work) = match axis.abscissa {
        Some(Abscissa::Work) => (works, shares),
        _ => (shares, works),
    };
    WeighedRatio {
        rate: scaled(|way| &way.rate),
        factors: Factors {
            data,
            work,
            rate: total.median() / (data * work),
        },
        total,
        #[cfg(test)]
        chances: [0, 1, 2].map(|way: usize| ways[way].0 * ways[way].1.evidence / whole),
    }
}

/// Both sides, prepared.
struct ComparedSides<'a> {
    sides: [&'a Side; 2],
    prior: &'a Prior,
    /// The noise as all runs of both sides show it.
    noise: ResidualNoise,
    /// The least squares that each side's residuals may have.
    squares: [f64; 2],
    /// The weight of the runs of each side.
    weights: [f64; 2],
    /// The laws of both sides together with their prior probabilities, each as the base has it and as the new side does.
    common: Vec<(f64, [WeighedLaw; 2])>,
    /// The laws of each side by itself, for each form of law.
    apart: Vec<[Vec<Own>; 2]>,
}

/// A law of one side by itself.
#[derive(Debug, Clone, Copy)]
struct Own {
    candidate: WeighedLaw,
    /// Its prior probability.
    mass: f64,
    /// The prior probability of its form, f and k, alone.
    form: f64,
}

/// The result of one model; each weight is its prior probability times its likelihood.
#[derive(Debug, Default)]
struct Way {
    evidence: f64,
    total: Vec<Component>,
    rate: Vec<Component>,
}

/// A law at a point: the logarithm of a run's value there, and the share of it that grows.
#[derive(Debug, Clone, Copy)]
struct LawAtPoint {
    logarithm: f64,
    growing: f64,
    work_part: f64,
    place: AxisPoint,
}

impl<'a> ComparedSides<'a> {
    fn new(sides: [&'a Side; 2], squares: [f64; 2], prior: &'a Prior) -> Self {
        let both = Evidence::new(&sides.map(|side| side.observations.as_slice()), prior);
        let parts = both.work_parts();
        let forms = prior.laws.laws().into_iter().flat_map(|(shape, weight)| {
            let with_part =
                move |(part, part_weight): &(f64, f64)| (shape, *part, weight.ln() + part_weight);
            parts.iter().map(with_part)
        });
        let forms: Vec<(Shape, f64, f64)> = forms.collect();
        let owns = [0, 1].map(|side: usize| {
            let other = 1 - side;
            let others = count_as_float(sides[other].observations.len());
            Evidence::new(&[&sides[side].observations], prior).beside(squares[other], others - 1.0)
        });
        let laws_of = |evidence: &Evidence, (shape, part, form): &(Shape, f64, f64)| {
            without_cold_parts(&evidence.with_work_part(*shape, *part, *form))
        };
        let apart = forms.iter().map(|form| {
            owns.each_ref().map(|own| {
                let laws = laws_of(own, form).into_iter();
                let law = |candidate: WeighedLaw| Own {
                    mass: own.prior_probability(&candidate),
                    form: form.2.exp(),
                    candidate,
                };
                laws.map(law).collect::<Vec<_>>()
            })
        });
        let mut apart: Vec<[Vec<Own>; 2]> = apart.collect();
        for side in [0, 1] {
            let laws = apart.iter().flat_map(|laws| &laws[side]);
            let least = highest_weight(laws.map(|own| &own.candidate)) + NEGLIGIBLE.ln();
            for laws in &mut apart {
                laws[side].retain(|own| own.candidate.weight > least);
            }
        }
        let common: Vec<WeighedLaw> = forms.iter().flat_map(|form| laws_of(&both, form)).collect();
        let least = highest_weight(&common) + NEGLIGIBLE.ln();
        let common = common.into_iter().filter(|law| law.weight > least);
        let with_center = |law: WeighedLaw| {
            let [_, center] = both.centers(&law)[..] else {
                unreachable!("there are two groups");
            };
            let mass = both.prior_probability(&law);
            (mass, [law, WeighedLaw { center, ..law }])
        };
        let weights = both.weight_totals();
        Self {
            sides,
            prior,
            noise: both.noise,
            squares,
            weights: [weights[0], weights[1]],
            common: common.map(with_center).collect(),
            apart,
        }
    }

    /// The likelihood of residuals with these squares, relative to the least possible squares.
    fn likelihood(&self, squares: f64) -> f64 {
        let least = self.squares.iter().sum();
        let times = self.noise.variance(squares) / self.noise.variance(least);
        times.powf(-self.noise.degrees_of_freedom / 2.0)
    }

    /// The base's full run, the same with the new side's data, and the new side's own.
    fn places(&self) -> [AxisPoint; 3] {
        let [base, new] = self.sides.map(|side| side.full);
        let more_data = AxisPoint {
            share: new.share,
            ..base
        };
        [base, more_data, new]
    }

    /// A law of the base at the three points of [`Self::places`].
    fn base_law_at_points(&self, law: &WeighedLaw) -> [LawAtPoint; 3] {
        self.places().map(|place| self.law_at(law, place))
    }

    fn law_at(&self, law: &WeighedLaw, place: AxisPoint) -> LawAtPoint {
        let (relative, growing) = law.relative(place.share, place.work);
        LawAtPoint {
            logarithm: law.center + relative.ln(),
            growing: growing.max(self.prior.least_growing),
            work_part: law.work_part,
            place,
        }
    }

    /// The same law on both sides.
    fn all(&self) -> Way {
        let mut way = Way::default();
        for (mass, [law, of_new]) in &self.common {
            let weight = mass * self.likelihood(law.squares);
            let base = self.base_law_at_points(law);
            let new = self.law_at(of_new, self.sides[1].full);
            way.add_pair(self, weight, law.squares, base, new);
        }
        way
    }

    /// The same form of growth, and fixed parts of their own.
    fn parts(&self) -> Way {
        let mut way = Way::default();
        for [of_base, of_new] in &self.apart {
            let mut of_form = Way::default();
            let at_full = |own: &Own| (*own, self.law_at(&own.candidate, self.sides[1].full));
            let news: Vec<(Own, LawAtPoint)> = of_new.iter().map(at_full).collect();
            for own in of_base {
                let base = self.base_law_at_points(&own.candidate);
                for (other, new) in &news {
                    let squares = own.candidate.squares + other.candidate.squares;
                    let weight = own.mass * other.mass / own.form * self.likelihood(squares);
                    if weight > NEGLIGIBLE_PAIR * (way.evidence + of_form.evidence) {
                        of_form.add_pair(self, weight, squares, base, *new);
                    }
                }
            }
            if of_form.total.is_empty() {
                continue;
            }
            way.evidence += of_form.evidence;
            way.total.extend(merged(of_form.total));
            way.rate.extend(merged(of_form.rate));
        }
        way
    }

    /// Each side by itself, as if the other had the least squares that it can have: the change is the difference of two mixtures.
    fn form(&self) -> Way {
        let mixture = |side: usize, at: &dyn Fn(&WeighedLaw) -> LawAtPoint| {
            let of_one = |own: &Own| {
                let point = at(&own.candidate);
                let squares = own.candidate.squares + self.squares[1 - side];
                let doubt = self.doubt_beyond(point, self.sides[side].reach);
                let variance = self.noise.variance(squares) / self.weights[side];
                Component {
                    weight: own.mass * self.likelihood(squares),
                    center: point.logarithm,
                    spread: self.noise.spread(variance + doubt),
                }
            };
            let laws = self.apart.iter().flat_map(|laws| &laws[side]);
            merged(laws.map(of_one).collect())
        };
        let new = mixture(1, &|law| self.law_at(law, self.sides[1].full));
        let difference = |place: usize| {
            let base = mixture(0, &|law| self.base_law_at_points(law)[place]);
            let pairs = base.iter().flat_map(|base| {
                new.iter().map(move |new| Component {
                    weight: base.weight * new.weight,
                    center: new.center - base.center,
                    spread: base.spread.and(new.spread),
                })
            });
            merged(pairs.collect())
        };
        let total = difference(0);
        Way {
            evidence: total.iter().map(|one| one.weight).sum(),
            total,
            rate: difference(2),
        }
    }

    /// The variance at a point due to the drift of growth beyond the largest run (`Posterior::predict_at`).
    fn doubt_beyond(&self, point: LawAtPoint, reach: AxisPoint) -> f64 {
        let [data, work] = distances(point.place, reach);
        let walks = data.powi(3) + point.work_part.powi(2) * work.powi(3);
        (self.prior.exponent_drift * point.growing).powi(2) * walks / 3.0
    }

    /// The variance of the difference between two points if both sides' growth drifts alike: only the part of one side beyond the
    /// other on the same walk is uncertain. The canaries of either side show the law as far as they reach.
    fn doubt_between(&self, base: LawAtPoint, new: LawAtPoint) -> f64 {
        let [one, other] = self.sides.map(|side| side.reach);
        let reach = AxisPoint {
            share: one.share.max(other.share),
            work: one.work.max(other.work),
        };
        let ([data, work], [new_data, new_work]) =
            (distances(base.place, reach), distances(new.place, reach));
        let walk = |at: f64, a: f64, new_at: f64, b: f64| {
            (a * a * at.powi(3) + b * b * new_at.powi(3)) / 3.0
                - 2.0 * a * b * covariance(at, new_at)
        };
        let (a, b) = (base.growing, new.growing);
        let walks = walk(data, a, new_data, b)
            + walk(work, a * base.work_part, new_work, b * new.work_part);
        self.prior.exponent_drift.powi(2) * walks.max(0.0)
    }
}

impl Way {
    fn add_pair(
        &mut self,
        pair: &ComparedSides,
        weight: f64,
        squares: f64,
        base: [LawAtPoint; 3],
        new: LawAtPoint,
    ) {
        self.evidence += weight;
        let locations =
            pair.noise.variance(squares) * (1.0 / pair.weights[0] + 1.0 / pair.weights[1]);
        let difference = |base: LawAtPoint| Component {
            weight,
            center: new.logarithm - base.logarithm,
            spread: pair.noise.spread(locations + pair.doubt_between(base, new)),
        };
        self.total.push(difference(base[0]));
        self.rate.push(difference(base[2]));
    }
}

/// How far a point is beyond the largest run, in ln of the data and of the work.
fn distances(place: AxisPoint, reach: AxisPoint) -> [f64; 2] {
    let times = [place.share / reach.share, place.work / reach.work];
    times.map(|times| times.ln().max(0.0))
}

/// Of the integral of a random walk at two distances: that of min(s, t) over both.
fn covariance(a: f64, b: f64) -> f64 {
    let (near, far) = (a.min(b), a.max(b));
    near * near * (3.0 * far - near) / 6.0
}

/// Whole degrees of freedom, rounded down: tails no thinner, and the distribution function is a short series.
fn whole_degrees(mut spread: Spread) -> Spread {
    spread.degrees_of_freedom = spread.degrees_of_freedom.floor().max(1.0);
    spread
}
