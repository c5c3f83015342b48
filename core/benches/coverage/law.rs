//! What the truth may be: how the growing part grows, and how runs vary about it.

use super::random::Random;

/// How the part that grows with the data goes, from 0 at no data to 1 at all of them.
pub(crate) struct Law {
    pub(crate) name: &'static str,
    pub(crate) growth: fn(f64) -> f64,
    pub(crate) noise: Noise,
    /// Whether the forecast's family has such a law.
    pub(crate) in_family: bool,
}

/// How the logarithms of runs vary about the law.
#[derive(Clone, Copy)]
pub(crate) enum Noise {
    /// Normal.
    Even,
    /// Student-t with 3 degrees of freedom, of the same standard deviation.
    HeavyTailed,
    /// Normal, and three times as large in a full run as in a small one.
    GrowingWithSize,
    /// Normal, but the first run of a series takes half as long again.
    ColdFirstRun,
}

impl Noise {
    /// The error of ln y in one run of `share` of the data.
    pub(crate) fn draw(
        self,
        deviation: f64,
        share: f64,
        is_first: bool,
        random: &mut Random,
    ) -> f64 {
        match self {
            Self::Even => deviation * random.normal(),
            // Its variance is 3, in units of its scale.
            Self::HeavyTailed => deviation * random.normal() / random.chi_squared(3).sqrt(),
            Self::GrowingWithSize => deviation * (1.0 + 2.0 * share) * random.normal(),
            Self::ColdFirstRun => {
                let cold = if is_first { 1.5_f64.ln() } else { 0.0 };
                cold + deviation * random.normal()
            }
        }
    }
}

const fn within(name: &'static str, growth: fn(f64) -> f64) -> Law {
    Law {
        name,
        growth,
        noise: Noise::Even,
        in_family: true,
    }
}

const fn outside(name: &'static str, growth: fn(f64) -> f64, noise: Noise) -> Law {
    Law {
        name,
        growth,
        noise,
        in_family: false,
    }
}

fn linear(x: f64) -> f64 {
    x
}

pub(crate) const LAWS: [Law; 25] = [
    within("linear", linear),
    within("x^0.7", |x| x.powf(0.7)),
    within("x^0.9", |x| x.powf(0.9)),
    within("x^1.1", |x| x.powf(1.1)),
    within("x^1.5", |x| x.powf(1.5)),
    within("x^2", |x| x * x),
    within("linear + quadratic", |x| 0.4 * x + 0.6 * x * x),
    within("plateau from 20%", |x| x.min(0.2) / 0.2),
    within("half slope from 15%", |x| {
        (x.min(0.15) + 0.5 * (x - 0.15).max(0.0)) / 0.575
    }),
    within("twice slope from 15%", |x| {
        (x.min(0.15) + 2.0 * (x - 0.15).max(0.0)) / 1.85
    }),
    within("nothing up to 15%", |x| (x - 0.15).max(0.0) / 0.85),
    within("constant", |_| 1.0),
    outside("saturation", |x| x * 1.1 / (x + 0.1), Noise::Even),
    // A million rows.
    outside(
        "n log n",
        |x| x * (1.0 + x.ln() / 1e6_f64.ln()),
        Noise::Even,
    ),
    outside(
        "quadratic + cubic",
        |x| 0.5 * x * x + 0.5 * x.powi(3),
        Noise::Even,
    ),
    outside("x^2.5", |x| x.powf(2.5), Noise::Even),
    outside("x^3", |x| x.powi(3), Noise::Even),
    outside("exponential", |x| (10.0 * x - 10.0).exp(), Noise::Even),
    outside(
        "jump at 60%",
        |x| if x < 0.6 { x / 1.5 } else { (x + 0.5) / 1.5 },
        Noise::Even,
    ),
    outside("steps of 10%", |x| (x * 10.0).ceil() / 10.0, Noise::Even),
    outside("plateau from 60%", |x| x.min(0.6) / 0.6, Noise::Even),
    outside(
        "sine about linear",
        |x| x * (1.0 + 0.1 * (6.0 * x.ln()).sin()),
        Noise::Even,
    ),
    outside("linear, heavy tails", linear, Noise::HeavyTailed),
    outside("linear, noisy when large", linear, Noise::GrowingWithSize),
    outside("linear, cold first run", linear, Noise::ColdFirstRun),
];
