//! **Laws of scale-out**: how the time of a run changes with the count of instances, and the family of them that a forecast weighs.
//!
//! A time is `S (u d + (1 - u) f(load))`, as a law of data is (`forecast::law`): S its value on the base, a count with the full data
//! divided evenly, f the law's [`CountShape`], which is 1 there, u the part that is not divided, and d how that part goes
//! with the data ([`Undivided`]).

use std::iter;

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
    fn count(self, hosts: f64) -> f64 {
        match self {
            Self::All => hosts,
            Self::AllButOne => (hosts - 1.0).max(1.0),
        }
    }
}

/// What a host sends, beside its work on the data (Venkataraman et al., "Ernest", NSDI 2016, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Messages {
    /// Through a tree of the hosts: `ln n`.
    Tree,
    /// One to each host, or from it: `n`.
    Each,
}

/// Who works, and what is sent.
const KINDS: [(Workers, Messages); 4] = [
    (Workers::All, Messages::Tree),
    (Workers::All, Messages::Each),
    (Workers::AllButOne, Messages::Tree),
    (Workers::AllButOne, Messages::Each),
];

impl Messages {
    /// Relative to those of `base` hosts.
    fn at(self, hosts: f64, base: f64) -> f64 {
        match self {
            Self::Tree => (1.0 + (hosts / base).ln()).max(0.0),
            Self::Each => hosts / base,
        }
    }
}

/// The form of a law: the data of the heaviest host (Amdahl, AFIPS 1967, beside u), and messages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct CountShape {
    among: Workers,
    messages: Messages,
    /// The part that is messages.
    part: f64,
}

/// How the part that is not divided goes with the data: this much of it not at all, as a start-up or a fixed number of rounds, and the rest
/// in proportion, as a shuffle, a merge, what one host writes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Undivided {
    pub(super) fixed: f64,
}

/// Of a job that has both.
const PARTLY_FIXED: [f64; 6] = [0.4, 0.2, 0.1, 0.05, 0.025, 0.0125];

impl Undivided {
    /// With their prior probabilities: one of the two alone is three times as likely as both.
    pub(super) fn all() -> impl Iterator<Item = (Self, f64)> {
        let alone = [1.0, 0.0].map(|fixed| (Self { fixed }, 3.0 / 8.0));
        let both = PARTLY_FIXED.map(|fixed| (Self { fixed }, 1.0 / 24.0));
        alone.into_iter().chain(both)
    }

    pub(super) fn at(self, load: Load) -> f64 {
        self.fixed + (1.0 - self.fixed) * load.share
    }
}

impl CountShape {
    /// Relative to the full data, divided evenly, on `base` hosts.
    pub(super) fn at(self, load: Load, base: u32) -> f64 {
        let (hosts, base) = (f64::from(load.hosts), f64::from(base));
        // What there would be if every host had as much as the heaviest.
        let data = load.heaviest * hosts;
        let divided = data * self.among.count(base) / self.among.count(hosts);
        (1.0 - self.part) * divided + self.part * self.messages.at(hosts, base)
    }
}

/// The part of what grows that is messages, beside none.
const PARTS: [f64; 4] = [0.003, 0.01, 0.03, 0.1];

/// The forms with their prior probabilities, which sum to 1 if `silent` is that of no messages: Ernest's law, and the same where one
/// host coordinates, as likely as each other.
pub(super) fn shapes(silent: f64) -> impl Iterator<Item = (CountShape, f64)> {
    let each = (1.0 - silent) / count_as_float(PARTS.len());
    let parts = iter::once((0.0, silent)).chain(PARTS.map(|part| (part, each)));
    parts.flat_map(|(part, weight)| {
        KINDS.map(|(among, messages)| {
            let shape = CountShape {
                among,
                messages,
                part,
            };
            (shape, weight / 4.0)
        })
    })
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
        use Messages::{Each, Tree};
        for (among, messages, part, load, base, expected) in [
            (All, Each, 0.0, even(8, 0.5), 2, 0.125),
            (All, Tree, 0.0, uneven, 2, 1.0),
            (AllButOne, Each, 0.0, even(8, 1.0), 2, 1.0 / 7.0),
            // One host coordinates itself.
            (AllButOne, Each, 0.0, even(2, 1.0), 1, 1.0),
            (
                All,
                Tree,
                0.4,
                even(8, 1.0),
                2,
                0.15 + 0.4 * (1.0 + 4f64.ln()),
            ),
            (All, Each, 0.4, even(8, 0.5), 2, 0.6 * 0.125 + 0.4 * 4.0),
        ] {
            let shape = CountShape {
                among,
                messages,
                part,
            };
            let value = shape.at(load, base);
            assert!((value - expected).abs() < 1e-12, "{shape:?}: {value}");
        }
        for (fixed, expected) in [(0.0, 0.3), (0.1, 0.37), (1.0, 1.0)] {
            assert_eq!(Undivided { fixed }.at(even(4, 0.3)), expected);
        }
    }

    #[test]
    fn every_shape_is_one_on_its_base_and_prior_probabilities_sum_to_one() {
        let shapes: Vec<(CountShape, f64)> = shapes(0.3).collect();
        let of_shapes: f64 = shapes.iter().map(|(_, weight)| weight).sum();
        let of_undivided: f64 = Undivided::all().map(|(_, weight)| weight).sum();
        assert!((of_shapes - 1.0).abs() < 1e-12 && (of_undivided - 1.0).abs() < 1e-12);
        for base in [1, 2, 6] {
            for (shape, _) in &shapes {
                let value = shape.at(Load::even(base, 1.0), base);
                assert!((value - 1.0).abs() < 1e-12, "{shape:?}: {value}");
            }
        }
    }
}
