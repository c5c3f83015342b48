//! Mixtures of Student-t distributions: their components, and their quantiles.

use super::Spread;

/// One part of a mixture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::forecast) struct Component {
    /// Its probability.
    pub(in crate::forecast) weight: f64,
    pub(in crate::forecast) center: f64,
    pub(in crate::forecast) spread: Spread,
}

impl Component {
    /// The only component of a distribution, about its middle.
    pub(super) fn alone(spread: Spread) -> Self {
        Self {
            weight: 1.0,
            center: 0.0,
            spread,
        }
    }
}

/// Components whose centres are closer than this share of the larger scale are merged, keeping mean and variance. If a narrow
/// and a broad one share a centre, quantiles between them move; `simulation` measures the coverage of the intervals.
pub(super) const MERGE_WITHIN: f64 = 0.4;
/// More components than this are merged further.
pub(super) const MOST_COMPONENTS: usize = 24;
/// A quantile is found to this distance in ln y.
pub(super) const QUANTILE_TOLERANCE: f64 = 1e-10;

/// Sorted by centre, with indistinguishable neighbours merged, keeping mean and variance.
pub(in crate::forecast) fn merged(mut components: Vec<Component>) -> Vec<Component> {
    components.sort_by(|a, b| a.center.total_cmp(&b.center));
    let Some(&start) = components.first() else {
        return components;
    };
    let mut within = MERGE_WITHIN;
    loop {
        let mut first = start;
        // The first of a group is apart from that of the one before.
        let groups = components.chunk_by(|_, next| {
            let scale = first.spread.scale.max(next.spread.scale);
            let is_near = next.center - first.center <= within * scale;
            if !is_near {
                first = *next;
            }
            is_near
        });
        let groups: Vec<&[Component]> = groups.take(MOST_COMPONENTS + 1).collect();
        if groups.len() <= MOST_COMPONENTS {
            return groups.into_iter().map(as_one).collect();
        }
        within *= 1.5;
    }
}

/// One component with the probability, mean and variance of several.
pub(super) fn as_one(group: &[Component]) -> Component {
    if let [one] = group {
        return *one;
    }
    let weight: f64 = group.iter().map(|one| one.weight).sum();
    let mean = |value: &dyn Fn(&Component) -> f64| {
        group.iter().map(|one| one.weight * value(one)).sum::<f64>() / weight
    };
    let center = mean(&|one| one.center);
    let variance = mean(&|one| one.spread.scale.powi(2) + (one.center - center).powi(2));
    // Equal ones unchanged: rounding must not turn a whole number into a fraction.
    let first = group[0].spread.degrees_of_freedom;
    let is_first = |one: &Component| one.spread.degrees_of_freedom == first;
    let degrees_of_freedom = match group.iter().all(is_first) {
        true => first,
        false => 1.0 / mean(&|one| 1.0 / one.spread.degrees_of_freedom),
    };
    Component {
        weight,
        center,
        spread: Spread::new(variance.sqrt(), degrees_of_freedom),
    }
}

/// P(ln y is below `point`) and P(it is above).
pub(super) fn below_and_above(components: &[Component], point: f64) -> (f64, f64) {
    let (below, above) = components.iter().fold((0.0, 0.0), |(below, above), one| {
        let (less, more) = one.spread.below_and_above(point - one.center);
        (below + one.weight * less, above + one.weight * more)
    });
    (below.min(1.0), above.min(1.0))
}

/// The quantile of ln y, its chance exact to a part of `accuracy`; sooner found where it is about a `step` from `near`.
pub(super) fn mixture_quantile(
    components: &[Component],
    p: f64,
    (near, step): (f64, f64),
    accuracy: f64,
) -> f64 {
    if let [one] = components {
        return one.center + one.spread.quantile(p);
    }
    // By the smaller tail, which is more precise, and by its logarithm, which is more nearly a line.
    let excess = |point: f64| {
        let (below, above) = below_and_above(components, point);
        let ln = |part: f64| part.max(1e-6).ln();
        if p <= 0.5 {
            ln(below / p)
        } else {
            -ln(above / (1.0 - p))
        }
    };
    let mut step = step.max(QUANTILE_TOLERANCE);
    let (mut low, mut at_low) = (near, excess(near));
    let (mut high, mut at_high) = (low, at_low);
    // A float cannot hold e^5000.
    while at_low > 0.0 && low > -5000.0 {
        (high, at_high) = (low, at_low);
        low -= step;
        step *= 2.0;
        at_low = excess(low);
    }
    while at_high < 0.0 && high < 5000.0 {
        (low, at_low) = (high, at_high);
        high += step;
        step *= 2.0;
        at_high = excess(high);
    }
    // The Illinois variant of false position (Dowell and Jarratt, BIT 11, 1971): never slower than halving by much, and it needs no
    // density.
    let mut last_side = 0;
    for _ in 0..200 {
        if high - low <= QUANTILE_TOLERANCE || at_high == at_low {
            break;
        }
        let guess = (low * at_high - high * at_low) / (at_high - at_low);
        let guess = match guess > low && guess < high {
            true => guess,
            false => f64::midpoint(low, high),
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

/// The least of some values that weigh `mass` together with all below it; sorts the values, of which there is at least one, each with its
/// weight.
pub(in crate::forecast) fn weighted_quantile(values: &mut [(f64, f64)], mass: f64) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut reached = 0.0;
    let found = values.iter().find(|(_, weight)| {
        reached += weight;
        reached >= mass
    });
    found.or(values.last()).map_or(0.0, |(value, _)| *value)
}
