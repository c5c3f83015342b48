//! [`Predictive`]: the distribution of one quantity of one new full run.

use statrs::distribution::{Continuous, ContinuousCDF, Normal, StudentsT};

/// Above this a Student-t cannot be told from a normal, and its quantile would lose digits.
const NORMAL_FROM: f64 = 1e7;

/// Up to so many whole degrees of freedom the distribution function is a short series.
const SERIES_TO: f64 = 100.0;

/// The quantile of the standard normal that leaves 5 % above it: half of a central 90 % interval.
const NORMAL_95: f64 = 1.644_853_626_951_472_2;

/// The distribution of one quantity of one new full run.
///
/// There are two kinds. An **amount** (time, money, memory) errs by a factor rather than by a difference, so ln y is a
/// mixture of Student-t distributions, one for each law that may hold: always positive, and the spread is relative. A
/// **level** (a share of the machine, 0-100 %) is Student-t about its centre, with what lies outside the range heaped on
/// its two ends.
///
/// Both are closed under a change of unit, [`Predictive::scaled`].
#[derive(Debug, Clone, PartialEq)]
pub struct Predictive {
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    /// Components are of ln(y / median) and sorted by centre; at least one.
    Amount {
        median: f64,
        components: Vec<Component>,
    },
    /// The spread is of y, which stays in 0 to `ceiling`.
    Level {
        center: f64,
        ceiling: f64,
        spread: Spread,
    },
}

/// One part of a mixture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Component {
    /// Its probability.
    pub(super) weight: f64,
    pub(super) center: f64,
    pub(super) spread: Spread,
}

/// Components of a mixture whose centres lie closer than this part of the larger scale are one, with mean and variance kept.
/// Where a narrow one and a broad one share a centre, quantiles between them move; `simulation` shows what intervals hold.
const MERGE_WITHIN: f64 = 0.4;
/// More components than this are merged further.
const MOST_COMPONENTS: usize = 24;
/// Parts into which each term of a sum is cut.
const PARTS_OF_A_TERM: usize = 60;
/// A quantile is found to this distance in ln y.
const QUANTILE_TOLERANCE: f64 = 1e-10;

/// How far a new run may lie from the point: scale and degrees of freedom of a Student-t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    /// Not negative; 0 is a quantity known exactly.
    pub(super) scale: f64,
    /// Positive; infinite for a normal.
    pub(super) degrees_of_freedom: f64,
}

impl Spread {
    /// The spread of the sum of two independent errors, as one Student-t whose degrees of freedom follow the
    /// Welch-Satterthwaite equation (Satterthwaite, Biometrics Bulletin 2, 1946, eq. 17).
    pub(super) fn and(self, other: Self) -> Self {
        let scale = self.scale.hypot(other.scale);
        if scale == 0.0 {
            return self;
        }
        // Shares of the variance, so that no square can overflow or vanish.
        let own = (self.scale / scale).powi(2);
        let others = (other.scale / scale).powi(2);
        let doubt =
            own.powi(2) / self.degrees_of_freedom + others.powi(2) / other.degrees_of_freedom;
        Self {
            scale,
            degrees_of_freedom: 1.0 / doubt,
        }
    }

    /// The spread with an independent doubt of scale `doubt` added to the variance, on the same degrees of freedom: the
    /// doubt is taken to be known no better than the noise.
    pub(super) fn with_doubt(self, doubt: f64) -> Self {
        Self {
            scale: self.scale.hypot(doubt),
            ..self
        }
    }

    fn quantile(self, p: f64) -> f64 {
        if self.scale == 0.0 || p == 0.5 {
            return 0.0;
        }
        let standard = if self.degrees_of_freedom >= NORMAL_FROM {
            Normal::standard().inverse_cdf(p)
        } else {
            student_quantile(&self.student(), p)
        };
        self.scale * standard
    }

    /// P(the error is above `distance`).
    pub(super) fn chance_above(self, distance: f64) -> f64 {
        self.below_and_above(distance).1
    }

    /// P(the error is below `distance`) and P(it is above); a spread of 0 is never beyond its own point.
    fn below_and_above(self, distance: f64) -> (f64, f64) {
        if self.scale == 0.0 {
            return (
                if distance > 0.0 { 1.0 } else { 0.0 },
                if distance < 0.0 { 1.0 } else { 0.0 },
            );
        }
        let z = distance / self.scale;
        if self.degrees_of_freedom >= NORMAL_FROM {
            (Normal::standard().cdf(z), Normal::standard().sf(z))
        } else if self.degrees_of_freedom <= SERIES_TO && self.degrees_of_freedom.fract() == 0.0 {
            let beyond = student_tail(z.abs(), self.degrees_of_freedom);
            if z < 0.0 {
                (beyond, 1.0 - beyond)
            } else {
                (1.0 - beyond, beyond)
            }
        } else {
            (self.student().cdf(z), self.student().sf(z))
        }
    }

    fn student(self) -> StudentsT {
        StudentsT::new(0.0, 1.0, self.degrees_of_freedom)
            .expect("degrees of freedom are positive by construction")
    }
}

/// P(T > `t`) of a Student-t with whole degrees of freedom, `t` not negative: a finite series, and thirty times faster than
/// the incomplete beta function (Abramowitz and Stegun, Handbook of Mathematical Functions, 1964, 26.7.3 and 26.7.4).
fn student_tail(t: f64, degrees_of_freedom: f64) -> f64 {
    let angle = (t / degrees_of_freedom.sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let is_odd = degrees_of_freedom % 2.0 == 1.0;
    let mut term = if is_odd { cosine } else { 1.0 };
    let mut index = if is_odd { 2.0 } else { 1.0 };
    let mut sum = 0.0;
    while index < degrees_of_freedom {
        sum += term;
        term *= cosine * cosine * index / (index + 1.0);
        index += 2.0;
    }
    let central = if is_odd {
        (angle + sine * sum) / std::f64::consts::FRAC_PI_2
    } else {
        sine * sum
    };
    ((1.0 - central) / 2.0).max(0.0)
}

/// One Newton step on the tail mends statrs's quantile, which is off by 2e-6 for 100,000 degrees of freedom.
fn student_quantile(student: &StudentsT, p: f64) -> f64 {
    let tail = p.min(1.0 - p);
    let rough = student.inverse_cdf(tail).abs();
    let distance = rough + (student.sf(rough) - tail) / student.pdf(rough);
    if p < 0.5 { -distance } else { distance }
}

impl Predictive {
    /// An amount. `median` is positive, `relative_scale` (of ln y) not negative, both finite; `degrees_of_freedom` is
    /// positive.
    pub fn log_student_t(median: f64, relative_scale: f64, degrees_of_freedom: f64) -> Self {
        debug_assert!(median > 0.0 && median.is_finite());
        debug_assert!(relative_scale >= 0.0 && degrees_of_freedom > 0.0);
        Self {
            kind: Kind::Amount {
                median,
                components: vec![Component {
                    weight: 1.0,
                    center: 0.0,
                    spread: Spread {
                        scale: relative_scale,
                        degrees_of_freedom,
                    },
                }],
            },
        }
    }

    /// An amount whose ln y is the mixture of `components`, of which there is at least one; weights sum to 1.
    pub(super) fn mixture(components: Vec<Component>) -> Self {
        Self::centered(1.0, merged(components))
    }

    /// `components` are of ln(y / `unit`); moves them so that they are of ln(y / median).
    fn centered(unit: f64, mut components: Vec<Component>) -> Self {
        let middle = mixture_quantile(&components, 0.5);
        for component in &mut components {
            component.center -= middle;
        }
        Self {
            kind: Kind::Amount {
                median: bounded(unit * middle.exp()),
                components,
            },
        }
    }

    /// A level in 0-100. `center` lies in that range, `scale` is not negative, `degrees_of_freedom` is positive.
    pub fn level(center: f64, scale: f64, degrees_of_freedom: f64) -> Self {
        debug_assert!((0.0..=100.0).contains(&center) && scale >= 0.0 && degrees_of_freedom > 0.0);
        Self {
            kind: Kind::Level {
                center,
                ceiling: 100.0,
                spread: Spread {
                    scale,
                    degrees_of_freedom,
                },
            },
        }
    }

    /// The sum of independent amounts, e.g. of the phases of a run; `None` for none, and for a level.
    ///
    /// Each amount is cut into parts that are finer in the tails, every part is added to every other, and the sums are put
    /// together again as a mixture: quantiles from 1 to 99 % to half a per cent of the value. Where a term has a gap between
    /// two laws, up to 4 % of probability is smeared over it.
    pub fn sum(amounts: &[Self]) -> Option<Self> {
        let (first, others) = amounts.split_first()?;
        others
            .iter()
            .try_fold(first.clone(), |sum, next| sum.plus(next))
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        let (ours, theirs) = (self.parts()?, other.parts()?);
        let mut sums: Vec<(f64, f64)> = ours
            .iter()
            .flat_map(|(value, weight)| {
                theirs.iter().map(move |(others, other_weight)| {
                    (bounded(value + others).ln(), weight * other_weight)
                })
            })
            .collect();
        sums.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut components = Vec::with_capacity(MOST_COMPONENTS);
        let (mut rest, mut before) = (sums.as_slice(), 0.0);
        for end in probability_steps(MOST_COMPONENTS) {
            let mut reached = before;
            let count = rest
                .iter()
                .take_while(|(_, weight)| {
                    let belongs = reached + weight / 2.0 <= end;
                    reached += if belongs { *weight } else { 0.0 };
                    belongs
                })
                .count();
            let (chunk, others) = rest.split_at(if end < 1.0 { count } else { rest.len() });
            (rest, before) = (others, reached);
            components.extend(as_normal(chunk));
        }
        Some(Self::centered(1.0, components))
    }

    /// An amount in parts with their probabilities, each the quantile in its middle; `None` for a level.
    fn parts(&self) -> Option<Vec<(f64, f64)>> {
        let Kind::Amount { median, components } = &self.kind else {
            return None;
        };
        let quantile = quantiles(components);
        let mut before = 0.0;
        let parts = probability_steps(PARTS_OF_A_TERM).map(|end| {
            let part = (
                bounded(median * quantile(f64::midpoint(before, end)).exp()),
                end - before,
            );
            before = end;
            part
        });
        Some(parts.collect())
    }

    /// The point of the forecast: a new run is as likely above as below.
    pub fn median(&self) -> f64 {
        match self.kind {
            Kind::Amount { median, .. } => median,
            Kind::Level { center, .. } => center,
        }
    }

    /// The value that a new run stays below with probability `p`, in (0, 1). Always finite; positive for an amount,
    /// in range for a level.
    pub fn quantile(&self, p: f64) -> f64 {
        match &self.kind {
            Kind::Amount { median, components } => {
                bounded(median * mixture_quantile(components, p).exp())
            }
            Kind::Level {
                center,
                ceiling,
                spread,
            } => (center + spread.quantile(p)).clamp(0.0, *ceiling),
        }
    }

    /// P(a new run exceeds `limit`), in 0-1.
    pub fn chance_above(&self, limit: f64) -> f64 {
        match &self.kind {
            Kind::Amount { .. } if limit <= 0.0 => 1.0,
            Kind::Amount { median, components } => {
                below_and_above(components, limit.ln() - median.ln()).1
            }
            Kind::Level { .. } if limit < 0.0 => 1.0,
            Kind::Level { ceiling, .. } if limit >= *ceiling => 0.0,
            Kind::Level { center, spread, .. } => spread.below_and_above(limit - center).1,
        }
    }

    /// P(a new run stays below `limit`), in 0-1.
    pub fn chance_below(&self, limit: f64) -> f64 {
        match &self.kind {
            _ if limit <= 0.0 => 0.0,
            Kind::Amount { median, components } => {
                below_and_above(components, limit.ln() - median.ln()).0
            }
            Kind::Level { ceiling, .. } if limit > *ceiling => 1.0,
            Kind::Level { center, spread, .. } => spread.below_and_above(limit - center).0,
        }
    }

    /// The same quantity in another unit; `factor` is positive and finite.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        debug_assert!(factor > 0.0 && factor.is_finite());
        let kind = match &self.kind {
            Kind::Amount { median, components } => Kind::Amount {
                median: bounded(median * factor),
                components: components.clone(),
            },
            Kind::Level {
                center,
                ceiling,
                spread,
            } => Kind::Level {
                center: center * factor,
                ceiling: ceiling * factor,
                spread: Spread {
                    scale: spread.scale * factor,
                    ..*spread
                },
            },
        };
        Self { kind }
    }

    /// An amount times an unknown factor: log-normal about 1, in 1/(1+`share`) to 1+`share` in 90 of 100 cases.
    /// A level is returned as it is: it is not a product.
    #[must_use]
    pub fn widened(&self, share: f64) -> Self {
        let Kind::Amount { median, components } = &self.kind else {
            return self.clone();
        };
        let factor = Spread {
            scale: share.ln_1p() / NORMAL_95,
            degrees_of_freedom: f64::INFINITY,
        };
        let components = components
            .iter()
            .map(|component| Component {
                spread: component.spread.and(factor),
                ..*component
            })
            .collect();
        Self::centered(*median, components)
    }
}

/// An amount is positive and finite, however far a spread reaches.
fn bounded(value: f64) -> f64 {
    value.clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// Sorted by centre, and neighbours that cannot be told apart as one, with mean and variance kept.
fn merged(mut components: Vec<Component>) -> Vec<Component> {
    components.sort_by(|a, b| a.center.total_cmp(&b.center));
    let mut within = MERGE_WITHIN;
    loop {
        let mut groups: Vec<Vec<Component>> = Vec::new();
        for component in &components {
            match groups.last_mut() {
                Some(group)
                    if component.center - group[0].center
                        <= within * group[0].spread.scale.max(component.spread.scale) =>
                {
                    group.push(*component);
                }
                _ => groups.push(vec![*component]),
            }
        }
        if groups.len() <= MOST_COMPONENTS {
            return groups.iter().map(|group| as_one(group)).collect();
        }
        within *= 1.5;
    }
}

/// The upper ends of `count` steps of probability, 1 the last: by the quintic that is flat at 0 and at 1, which makes them
/// finer towards both tails.
fn probability_steps(count: usize) -> impl Iterator<Item = f64> {
    (1..=count).map(move |step| {
        let position = super::count_as_float(step) / super::count_as_float(count);
        position.powi(3) * (10.0 - 15.0 * position + 6.0 * position * position)
    })
}

/// The values of a part of a distribution, each with its weight, as one normal; `None` for no value.
fn as_normal(values: &[(f64, f64)]) -> Option<Component> {
    let weight: f64 = values.iter().map(|(_, weight)| weight).sum();
    let (first, _) = values.first()?;
    // From the first value on, so that equal values have exactly themselves as their mean.
    let center = first
        + values
            .iter()
            .map(|(value, weight)| weight * (value - first))
            .sum::<f64>()
            / weight;
    let variance = values
        .iter()
        .map(|(value, weight)| weight * (value - center).powi(2))
        .sum::<f64>()
        / weight;
    Some(Component {
        weight,
        center,
        spread: Spread {
            scale: variance.sqrt(),
            degrees_of_freedom: f64::INFINITY,
        },
    })
}

/// The quantiles of ln y, many of them for little: a table of the probability below some points about each component says
/// between which two a quantile lies, and it is sought there to a hundredth of the least probable part of a term.
fn quantiles(components: &[Component]) -> impl Fn(f64) -> f64 {
    const POINTS: [f64; 8] = [-6.0, -3.0, -1.5, -0.5, 0.5, 1.5, 3.0, 6.0];
    const ACCURACY: f64 = 5e-6;
    let mut points: Vec<f64> = components
        .iter()
        .flat_map(|one| POINTS.map(|point| one.center + point * one.spread.scale))
        .collect();
    points.sort_by(f64::total_cmp);
    let table: Vec<(f64, f64)> = points
        .into_iter()
        .map(|point| (point, below_and_above(components, point).0))
        .collect();
    move |p| {
        let next = table.partition_point(|(_, below)| *below < p);
        match (next.checked_sub(1).map(|last| table[last]), table.get(next)) {
            (Some((low, below)), Some((high, above))) if components.len() > 1 => false_position(
                |point| below_and_above(components, point).0 - p,
                (low, below - p),
                (*high, above - p),
                ACCURACY,
            ),
            _ => mixture_quantile(components, p),
        }
    }
}

/// One component with the probability, mean and variance of several.
fn as_one(group: &[Component]) -> Component {
    if let [one] = group {
        return *one;
    }
    let weight: f64 = group.iter().map(|one| one.weight).sum();
    let mean = |value: &dyn Fn(&Component) -> f64| {
        group.iter().map(|one| one.weight * value(one)).sum::<f64>() / weight
    };
    let center = mean(&|one| one.center);
    let variance = mean(&|one| one.spread.scale.powi(2) + (one.center - center).powi(2));
    // Equal ones as they are: rounding must not make a whole number a broken one.
    let first = group[0].spread.degrees_of_freedom;
    let degrees_of_freedom = if group
        .iter()
        .all(|one| one.spread.degrees_of_freedom == first)
    {
        first
    } else {
        1.0 / mean(&|one| 1.0 / one.spread.degrees_of_freedom)
    };
    Component {
        weight,
        center,
        spread: Spread {
            scale: variance.sqrt(),
            degrees_of_freedom,
        },
    }
}

/// P(ln y is below `point`) and P(it is above).
fn below_and_above(components: &[Component], point: f64) -> (f64, f64) {
    let (below, above) = components.iter().fold((0.0, 0.0), |(below, above), one| {
        let (less, more) = one.spread.below_and_above(point - one.center);
        (below + one.weight * less, above + one.weight * more)
    });
    (below.min(1.0), above.min(1.0))
}

/// The quantile of ln y.
fn mixture_quantile(components: &[Component], p: f64) -> f64 {
    if let [one] = components {
        return one.center + one.spread.quantile(p);
    }
    let excess = |point: f64| {
        let (below, above) = below_and_above(components, point);
        // The smaller tail has the digits.
        if p <= 0.5 {
            below - p
        } else {
            (1.0 - p) - above
        }
    };
    let ends = |side: f64| {
        let far = |one: &Component| one.center + side * one.spread.scale;
        let values = components.iter().map(far);
        if side < 0.0 {
            values.fold(f64::INFINITY, f64::min)
        } else {
            values.fold(f64::NEG_INFINITY, f64::max)
        }
    };
    let (mut low, mut high) = (ends(-1.0), ends(1.0));
    let mut step = (high - low).max(QUANTILE_TOLERANCE);
    let (mut at_low, mut at_high) = (excess(low), excess(high));
    // Beyond e^5000 lies nothing that a float could hold.
    while at_low > 0.0 && low > -5000.0 {
        low -= step;
        step *= 2.0;
        at_low = excess(low);
    }
    while at_high < 0.0 && high < 5000.0 {
        high += step;
        step *= 2.0;
        at_high = excess(high);
    }
    false_position(excess, (low, at_low), (high, at_high), 1e-13)
}

/// Where `excess`, which does not fall, passes 0 between two points with its values there; to `accuracy` in its value, or to
/// [`QUANTILE_TOLERANCE`].
///
/// The Illinois variant of false position (Dowell and Jarratt, BIT 11, 1971): never slower than halving by much, and it
/// needs no density.
fn false_position(
    excess: impl Fn(f64) -> f64,
    (mut low, mut at_low): (f64, f64),
    (mut high, mut at_high): (f64, f64),
    accuracy: f64,
) -> f64 {
    let mut last_side = 0;
    for _ in 0..200 {
        if high - low <= QUANTILE_TOLERANCE || at_high == at_low {
            break;
        }
        let guess = (low * at_high - high * at_low) / (at_high - at_low);
        let guess = if guess > low && guess < high {
            guess
        } else {
            f64::midpoint(low, high)
        };
        let at_guess = excess(guess);
        if at_guess.abs() < accuracy {
            return guess;
        }
        if at_guess < 0.0 {
            (low, at_low) = (guess, at_guess);
            if last_side == -1 {
                at_high /= 2.0;
            }
            last_side = -1;
        } else {
            (high, at_high) = (guess, at_guess);
            if last_side == 1 {
                at_low /= 2.0;
            }
            last_side = 1;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
impl Predictive {
    /// Of a distribution with one component.
    pub(super) fn spread(&self) -> Spread {
        match &self.kind {
            Kind::Amount { components, .. } => components[0].spread,
            Kind::Level { spread, .. } => *spread,
        }
    }
}

#[cfg(test)]
mod tests;
