//! **Laws of scale-out**: how the time of a run changes with the count of instances, and the family of them that a forecast weighs.
//!
//! A time is `S (u d + (1 - u) f(load))`, as a law of data is (`forecast::law`): S its value on the base, a count with the full data
//! divided evenly, f the law's [`CountShape`], which is 1 there, u the part that is not divided, and d how that part goes
//! with the data ([`Undivided`]).

use super::Load;
use crate::units::count_as_float;

/// The hosts that the data are divided among.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Workers {
    All,
    /// From two hosts on, one coordinates and works on no data: a scheduler, a parameter server, the application master that
    /// Spark keeps on one of the machines.
    AllButOne,
}

impl Workers {
    const ALL: [Self; 2] = [Self::All, Self::AllButOne];

    fn count(self, hosts: f64) -> f64 {
        match self {
            Self::All => hosts,
            Self::AllButOne => (hosts - 1.0).max(1.0),
        }
    }
}

/// The form of a law.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum CountShape {
    /// The data of the heaviest host (Amdahl, AFIPS 1967, beside u).
    Divided { among: Workers },
    /// A part of it goes through a tree of messages between the hosts: `ln n` (Venkataraman et al., "Ernest", NSDI 2016, section 3.2).
    Tree { among: Workers, part: f64 },
    /// A part of it is added by every host, such as a message to each: `n` (ibid.).
    Messages { among: Workers, part: f64 },
    /// `n^-exponent`: the log-log line, as where hosts exchange the borders of what they hold. Nothing is fixed beside it.
    Power { exponent: f64, of_data: f64 },
}

/// How the part that is not divided goes with the data.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Undivided {
    /// Not at all: a start-up, a fixed number of rounds.
    Fixed,
    /// In proportion: a shuffle, a merge, what one host writes.
    WithData,
}

impl Undivided {
    pub(super) const ALL: [Self; 2] = [Self::Fixed, Self::WithData];

    pub(super) fn at(self, load: Load) -> f64 {
        match self {
            Self::Fixed => 1.0,
            Self::WithData => load.share,
        }
    }
}

impl CountShape {
    /// Relative to the full data, divided evenly, on `base` hosts.
    pub(super) fn at(self, load: Load, base: u32) -> f64 {
        let (hosts, base) = (f64::from(load.hosts), f64::from(base));
        // What there would be if every host had as much as the heaviest.
        let data = load.heaviest * hosts;
        let divided = |among: Workers| data * among.count(base) / among.count(hosts);
        match self {
            Self::Divided { among } => divided(among),
            Self::Tree { among, part } => {
                (1.0 - part) * divided(among) + part * (1.0 + (hosts / base).ln()).max(0.0)
            }
            Self::Messages { among, part } => (1.0 - part) * divided(among) + part * hosts / base,
            Self::Power { exponent, of_data } => {
                data.powf(of_data) * (hosts / base).powf(-exponent)
            }
        }
    }
}

/// The part of what grows that is messages.
const PARTS: [f64; 6] = [0.003, 0.01, 0.03, 0.1, 0.3, 0.6];
/// Exponents of the count. Nearer to 1 a power is the divided law with little fixed beside it.
const EXPONENTS: [f64; 14] = [
    0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75,
];
/// Exponents of the data beside a power of the count.
const OF_DATA: [f64; 6] = [0.6, 0.8, 0.9, 1.0, 1.1, 1.2];

/// The laws with their prior probabilities, which sum to 1: the four forms are as likely as each other, and so are the members of
/// each.
pub(super) fn laws() -> Vec<(CountShape, Undivided, f64)> {
    let among = |of: fn(Workers) -> Vec<CountShape>| -> Vec<(CountShape, Undivided)> {
        let shapes = Workers::ALL.into_iter().flat_map(of);
        shapes
            .flat_map(|shape| Undivided::ALL.map(|undivided| (shape, undivided)))
            .collect()
    };
    let forms = [
        among(|among| vec![CountShape::Divided { among }]),
        among(|among| PARTS.map(|part| CountShape::Tree { among, part }).to_vec()),
        among(|among| {
            PARTS
                .map(|part| CountShape::Messages { among, part })
                .to_vec()
        }),
        powers(),
    ];
    let each = 1.0 / count_as_float(forms.len());
    forms
        .into_iter()
        .flat_map(|members| {
            let weight = each / count_as_float(members.len());
            members
                .into_iter()
                .map(move |(shape, undivided)| (shape, undivided, weight))
        })
        .collect()
}

fn powers() -> Vec<(CountShape, Undivided)> {
    let power = |exponent| OF_DATA.map(|of_data| CountShape::Power { exponent, of_data });
    let shapes = EXPONENTS.into_iter().flat_map(power);
    shapes.map(|shape| (shape, Undivided::Fixed)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand.
    #[test]
    fn shapes_have_their_values() {
        use Workers::{All, AllButOne};
        let even = Load::even;
        let uneven = Load {
            heaviest: 0.5,
            ..even(4, 1.0)
        };
        for (shape, load, base, expected) in [
            (CountShape::Divided { among: All }, even(8, 0.5), 2, 0.125),
            (CountShape::Divided { among: All }, uneven, 2, 1.0),
            (
                CountShape::Divided { among: AllButOne },
                even(8, 1.0),
                2,
                1.0 / 7.0,
            ),
            // One host coordinates itself.
            (
                CountShape::Divided { among: AllButOne },
                even(2, 1.0),
                1,
                1.0,
            ),
            (
                CountShape::Tree {
                    among: All,
                    part: 0.4,
                },
                even(8, 1.0),
                2,
                0.6 * 0.25 + 0.4 * (1.0 + 4f64.ln()),
            ),
            (
                CountShape::Messages {
                    among: All,
                    part: 0.4,
                },
                even(8, 0.5),
                2,
                0.6 * 0.125 + 0.4 * 4.0,
            ),
            (
                CountShape::Power {
                    exponent: 0.5,
                    of_data: 1.0,
                },
                even(8, 0.5),
                2,
                0.25,
            ),
        ] {
            let value = shape.at(load, base);
            assert!((value - expected).abs() < 1e-12, "{shape:?}: {value}");
        }
        assert_eq!(Undivided::WithData.at(uneven), 1.0);
        assert_eq!(Undivided::WithData.at(even(4, 0.3)), 0.3);
        assert_eq!(Undivided::Fixed.at(even(4, 0.3)), 1.0);
    }

    #[test]
    fn every_shape_is_one_on_its_base_and_the_prior_probabilities_sum_to_one() {
        let laws = laws();
        let total: f64 = laws.iter().map(|(_, _, weight)| weight).sum();
        assert!((total - 1.0).abs() < 1e-12);
        for base in [1, 2, 6] {
            for (shape, _, _) in &laws {
                let value = shape.at(Load::even(base, 1.0), base);
                assert!((value - 1.0).abs() < 1e-12, "{shape:?}: {value}");
            }
        }
    }
}
