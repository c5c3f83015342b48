//! **Scaling laws**: how a quantity grows with the data, and the family of them that a forecast weighs.

use crate::units::count_as_float;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The form of a law: what part of its growth is reached at a share of the data.
///
/// Every shape is 0 or more, does not fall, and is 1 at the full data. A quantity is then `S (u + (1 - u) f(x))`: S its
/// value in the full run, u the part of it that is there without any data.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Shape {
    /// No growth: a fixed number of steps, a fixed subsample.
    Constant,
    /// `x^exponent`; 1 is linear, 2 compares all pairs.
    Power { exponent: f64 },
    /// `(1 - quadratic) x + quadratic x^2`: a linear part and one that compares pairs.
    LinearQuadratic { quadratic: f64 },
    /// `x (1 + half) / (x + half)`: an approach to a ceiling, which only reports of older versions have.
    Saturation { half: f64 },
    /// Linear up to a share and constant from there: a cache that is full.
    Plateau { at: f64 },
    /// Nothing up to a share, then linear: what the largest phase hides until it overtakes.
    Hinge { at: f64 },
    /// `x^exponent` up to a share and constant from there: a costly step on a sample of limited size.
    Capped { exponent: f64, at: f64 },
    /// `(e^(rate x) - 1) / (e^rate - 1)`; only a doubt, no forecast's law.
    #[serde(skip)]
    Exponential { rate: f64 },
}

impl Shape {
    /// Growth in proportion to the data.
    pub fn linear() -> Self {
        Self::Power { exponent: 1.0 }
    }

    /// The part of the growth reached at `share` of the data, in 0-1; 1 at 1.
    pub fn at(self, share: f64) -> f64 {
        match self {
            Self::Constant => 1.0,
            Self::Power { exponent: 1.0 } => share,
            Self::Power { exponent } => share.powf(exponent),
            Self::LinearQuadratic { quadratic } => {
                (1.0 - quadratic) * share + quadratic * share * share
            }
            Self::Saturation { half } => share * (1.0 + half) / (share + half),
            Self::Plateau { at } => share.min(at) / at,
            Self::Hinge { at } => (share - at).max(0.0) / (1.0 - at),
            Self::Capped { exponent, at } => (share.min(at) / at).powf(exponent),
            Self::Exponential { rate } => (rate * share).exp_m1() / rate.exp_m1(),
        }
    }

    /// Which of the four kinds of growth it is, as far as `share`: growth with a cap beyond is named by how it begins.
    pub(super) fn growth_up_to(self, share: f64) -> GrowthKind {
        match self {
            Self::Capped { at, .. } if at > share => GrowthKind::MoreThanLinear,
            Self::Constant => GrowthKind::Constant,
            Self::Power { exponent: 1.0 } => GrowthKind::Linear,
            Self::Power { exponent } if exponent < 1.0 => GrowthKind::LessThanLinear,
            Self::Saturation { .. } | Self::Plateau { .. } | Self::Capped { .. } => {
                GrowthKind::LessThanLinear
            }
            Self::Power { .. }
            | Self::LinearQuadratic { .. }
            | Self::Hinge { .. }
            | Self::Exponential { .. } => GrowthKind::MoreThanLinear,
        }
    }
}

/// Which law carries the extrapolation.
#[serde_with::skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Laws {
    pub time: Option<Law>,
    pub memory: Option<Law>,
    pub gpu_memory: Option<Law>,
}

/// A scaling law, `y = intercept + slope * shape(share)`, and how sure it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Law {
    /// The kind of growth: `constant`, `less than linear`, `linear`, `more than linear`.
    pub name: String,
    /// The probability of this kind of growth, 0-1.
    pub weight: f64,
    /// What does not grow with the data, in the unit of the quantity.
    pub intercept: f64,
    /// What the whole data adds, in the unit of the quantity.
    pub slope: f64,
    /// The most probable form of that kind; absent in reports of older versions, and then linear.
    #[serde(default = "Shape::linear")]
    pub shape: Shape,
}

impl Law {
    /// The law's value at a share of the data, in the unit of the quantity.
    pub fn at(&self, share: f64) -> f64 {
        self.intercept + self.slope * self.shape.at(share)
    }
}

/// The kind of a law's growth, by the name that reports have for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, derive_more::Display)]
pub(super) enum GrowthKind {
    #[display("constant")]
    Constant,
    #[display("less than linear")]
    LessThanLinear,
    #[display("linear")]
    Linear,
    #[display("more than linear")]
    MoreThanLinear,
}

impl GrowthKind {
    pub(super) const ALL: [Self; 4] = [
        Self::Constant,
        Self::LessThanLinear,
        Self::Linear,
        Self::MoreThanLinear,
    ];
}

/// The prior weight of each kind of shape; the weights need not sum to 1, and the members of a kind share its weight evenly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FamilyWeights {
    pub linear: f64,
    pub near_linear: f64,
    pub power: f64,
    pub linear_quadratic: f64,
    pub plateau: f64,
    pub hinge: f64,
    pub constant: f64,
    pub capped: f64,
}

/// Exponents about 1: caches, swapping, n log n over a decade.
const NEAR_LINEAR: [f64; 6] = [0.85, 0.9, 0.95, 1.05, 1.1, 1.15];
/// Exponents away from 1.
const POWERS: [f64; 6] = [0.5, 0.7, 1.3, 1.5, 1.75, 2.0];
const QUADRATIC_PARTS: [f64; 4] = [0.1, 0.3, 0.6, 0.9];
const PLATEAUS: [f64; 6] = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5];
const HINGES: [f64; 4] = [0.03, 0.07, 0.15, 0.3];
/// Exponents below a cap. Up to a cap beyond the largest canary, growth looks like growth without one.
const CAPPED_EXPONENTS: [f64; 2] = [2.0, 3.0];
const CAPS: [f64; 5] = [0.05, 0.1, 0.2, 0.35, 0.6];

/// Laws that are steeper than the family's, with their parts of the odds: what growth that no canary has shown yet may do. The
/// highest power stands for cliffs.
pub(super) const STEEPER: [(Shape, f64); 6] = [
    (Shape::Power { exponent: 1.5 }, 0.1),
    (Shape::Power { exponent: 2.5 }, 0.1),
    (Shape::Power { exponent: 3.0 }, 0.2),
    (Shape::Power { exponent: 4.0 }, 0.1),
    (Shape::Power { exponent: 8.0 }, 0.4),
    (Shape::Exponential { rate: 10.0 }, 0.1),
];

impl FamilyWeights {
    /// The laws with their prior probabilities, which sum to 1; laws without weight are left out.
    pub fn laws(&self) -> Vec<(Shape, f64)> {
        let power = |exponent| Shape::Power { exponent };
        let quadratics = QUADRATIC_PARTS.map(|quadratic| Shape::LinearQuadratic { quadratic });
        let plateaus = PLATEAUS.map(|at| Shape::Plateau { at });
        let with_cap = |at| CAPPED_EXPONENTS.map(|exponent| Shape::Capped { exponent, at });
        let kinds: [(f64, Vec<Shape>); 8] = [
            (self.linear, vec![power(1.0)]),
            (self.near_linear, NEAR_LINEAR.map(power).to_vec()),
            (self.power, POWERS.map(power).to_vec()),
            (self.linear_quadratic, quadratics.to_vec()),
            (self.plateau, plateaus.to_vec()),
            (self.hinge, HINGES.map(|at| Shape::Hinge { at }).to_vec()),
            (self.constant, vec![Shape::Constant]),
            (self.capped, CAPS.map(with_cap).concat()),
        ];
        let total: f64 = kinds.iter().map(|(weight, _)| weight).sum();
        kinds
            .into_iter()
            .filter(|(weight, _)| *weight > 0.0)
            .flat_map(|(weight, shapes)| {
                let each = weight / total / count_as_float(shapes.len());
                shapes.into_iter().map(move |shape| (shape, each))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::prior::{MEMORY, TIME};
    use super::*;

    fn all() -> Vec<(Shape, f64)> {
        let mut laws = TIME.laws.laws();
        laws.extend(MEMORY.laws.laws());
        laws
    }

    #[test]
    fn every_shape_rises_from_nothing_or_more_to_one() {
        for (shape, _) in all() {
            assert!((shape.at(1.0) - 1.0).abs() < 1e-12, "{shape:?}");
            let mut before = 0.0;
            for share in (0..=1000u32).map(|step| f64::from(step) / 1000.0) {
                let reached = shape.at(share);
                assert!(
                    reached >= before,
                    "{shape:?} at {share}: {reached} after {before}"
                );
                before = reached;
            }
        }
    }

    /// By hand.
    #[test]
    fn shapes_have_their_values() {
        let cubic_to_a_fifth = Shape::Capped {
            exponent: 3.0,
            at: 0.2,
        };
        for (shape, share, expected) in [
            (Shape::Constant, 0.2, 1.0),
            (Shape::linear(), 0.2, 0.2),
            (Shape::Power { exponent: 2.0 }, 0.3, 0.09),
            (Shape::LinearQuadratic { quadratic: 0.5 }, 0.2, 0.12),
            (Shape::Saturation { half: 1.0 }, 0.5, 2.0 / 3.0),
            (Shape::Plateau { at: 0.2 }, 0.1, 0.5),
            (Shape::Plateau { at: 0.2 }, 0.6, 1.0),
            (Shape::Hinge { at: 0.2 }, 0.1, 0.0),
            (Shape::Hinge { at: 0.2 }, 0.6, 0.5),
            (cubic_to_a_fifth, 0.1, 0.125),
            (cubic_to_a_fifth, 0.6, 1.0),
        ] {
            assert!((shape.at(share) - expected).abs() < 1e-12, "{shape:?}");
        }
    }

    #[test]
    fn the_prior_probabilities_of_the_laws_sum_to_one() {
        for prior in [TIME, MEMORY] {
            let laws = prior.laws.laws();
            let total: f64 = laws.iter().map(|(_, weight)| weight).sum();
            assert!((total - 1.0).abs() < 1e-12);
            let linear: f64 = laws
                .iter()
                .filter(|(shape, _)| shape.growth_up_to(1.0) == GrowthKind::Linear)
                .map(|(_, weight)| weight)
                .sum();
            assert!(linear > 0.5, "linear is the most probable: {linear}");
        }
        let only = FamilyWeights {
            power: 0.0,
            near_linear: 0.0,
            ..TIME.laws
        };
        assert!(only.laws().iter().all(|(_, weight)| *weight > 0.0));
        assert!(only.laws().len() < TIME.laws.laws().len());
    }

    /// A kind is named by whether the last part of the data adds less or more than its share of the growth.
    #[test]
    fn a_shape_is_named_by_how_it_grows() {
        for (shape, _) in all() {
            let middle = shape.at(0.5);
            let expected = match shape {
                Shape::Constant => GrowthKind::Constant,
                _ if (middle - 0.5).abs() < 1e-12 => GrowthKind::Linear,
                _ if middle > 0.5 => GrowthKind::LessThanLinear,
                _ => GrowthKind::MoreThanLinear,
            };
            assert_eq!(shape.growth_up_to(1.0), expected, "{shape:?}");
        }
        let capped = Shape::Capped {
            exponent: 2.0,
            at: 0.35,
        };
        assert_eq!(capped.growth_up_to(0.3), GrowthKind::MoreThanLinear);
        let names = GrowthKind::ALL.map(|kind| kind.to_string());
        assert_eq!(
            names,
            ["constant", "less than linear", "linear", "more than linear"]
        );
    }

    #[test]
    fn a_shape_survives_json_and_a_law_without_one_is_linear() {
        for (shape, _) in all() {
            let text = serde_json::to_string(&shape).unwrap();
            assert_eq!(serde_json::from_str::<Shape>(&text).unwrap(), shape);
        }
        assert_eq!(
            serde_json::to_string(&Shape::Plateau { at: 0.1 }).unwrap(),
            r#"{"kind":"plateau","at":0.1}"#
        );
        let old: Law =
            serde_json::from_str(r#"{"name":"linear","weight":1,"intercept":40,"slope":7160}"#)
                .unwrap();
        assert_eq!(old.shape, Shape::linear());
        assert_eq!(old.at(0.5), 3620.0);
    }
}
