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

/// P(ln y is below `point`) and P(it is above), and the density there.
pub(super) fn around(components: &[Component], point: f64) -> ((f64, f64), f64) {
    let [below, above, density] = components.iter().fold([0.0; 3], |sums, one| {
        let of_one = one.spread.around(point - one.center);
        [0, 1, 2].map(|at: usize| sums[at] + one.weight * of_one[at])
    });
    ((below.min(1.0), above.min(1.0)), density)
}

/// The quantile of ln y, by Newton's method: the last step is taken where the chance is exact to a part of `accuracy`, and makes it
/// that squared. Sooner found where it is about a `step` from `near`.
pub(super) fn mixture_quantile(
    components: &[Component],
    p: f64,
    (near, step): (f64, f64),
    accuracy: f64,
) -> f64 {
    if let [one] = components {
        return one.center + one.spread.quantile(p);
    }
    let (mut point, mut step) = (near, step.max(QUANTILE_TOLERANCE));
    // A float cannot hold e^5000.
    let (mut low, mut high) = (-5000.0, 5000.0);
    for _ in 0..200 {
        let ((below, above), density) = around(components, point);
        // By the smaller tail, which is more precise, and by its logarithm, which is more nearly a line.
        let (direction, tail, wanted) = match p <= 0.5 {
            true => (1.0, below, p),
            false => (-1.0, above, 1.0 - p),
        };
        let tail = tail.max(f64::MIN_POSITIVE);
        let excess = direction * (wanted / tail).ln();
        // The tangent of a gap between two laws leads anywhere.
        let newton = (excess * tail / density.max(f64::MIN_POSITIVE)).clamp(-step, step);
        if excess.abs() <= accuracy || high - low <= QUANTILE_TOLERANCE {
            return (point + newton).clamp(low, high);
        }
        let end = if excess > 0.0 { &mut low } else { &mut high };
        *end = point;
        point += newton;
        step *= 2.0;
        if point <= low || point >= high {
            point = f64::midpoint(low, high);
        }
    }
    point
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
