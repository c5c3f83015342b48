//! Whether the posterior is computed as it is written: on data drawn from its own prior, an interval of 90 % holds 90 %.
//!
//! The truth is drawn as the model says it comes about: the law by the family's weights, the fixed part and the noise by
//! their priors, the growth beyond the largest canary with its drift, whose size is known no better than the noise's, the
//! first run with its lesser weight. On such data an exact posterior predictive is calibrated whatever the prior (Rubin, Annals of Statistics 12, 1984; Cook, Gelman and
//! Rubin, JCGS 15, 2006), so this tests the computation and says nothing about real jobs: those are `left_out`'s, and
//! laws the prior did not draw are those of the bench `coverage`.

use canary_gate_core::forecast::trial::{MEMORY, Observation, Posterior, Prior, TIME};
use canary_gate_core::forecast::{Predictive, Shape};
use statrs::distribution::{ContinuousCDF, Normal};

use crate::random::Random;

/// Shares of the data, the first run first.
const DESIGNS: [&[f64]; 3] = [
    &[0.01, 0.01, 0.01, 0.02, 0.02, 0.02, 0.03, 0.03, 0.03],
    &[0.01, 0.1, 0.5, 0.2],
    &[0.01, 0.05, 0.2, 0.1],
];

/// For each design: the pooled coverage is then known to about 0.01.
const TRUTHS: u32 = 150;

/// What the prior may bring about.
struct Truth {
    shape: Shape,
    fixed: f64,
    /// The standard deviation of ln y.
    noise: f64,
    /// How far growth may drift beyond the largest canary: the standard deviation of ln y in the full run before its noise.
    drift: f64,
}

impl Truth {
    fn draw(prior: &Prior, largest: f64, random: &mut Random) -> Self {
        let laws = prior.laws.laws();
        let mut left = random.uniform();
        let (shape, _) = laws
            .iter()
            .find(|(_, weight)| {
                left -= weight;
                left <= 0.0
            })
            .unwrap_or(&laws[0]);
        // Of what seems constant the model takes the mean of u's prior.
        let deviation = match shape {
            Shape::Constant => 0.0,
            _ => prior.fixed_logit_deviation,
        };
        let logit = prior.fixed_logit_mean + deviation * random.normal();
        let fixed = 1.0 / (1.0 + (-logit).exp());
        let growing = (1.0 - fixed).max(prior.least_growing);
        let distance = (1.0 / largest).ln();
        Self {
            shape: *shape,
            fixed,
            noise: prior.noise * spread(whole(prior.noise_degrees_of_freedom), random),
            drift: prior.exponent_drift * growing * (distance.powi(3) / 3.0).sqrt(),
        }
    }

    fn runs(&self, design: &[f64], prior: &Prior, random: &mut Random) -> Vec<Observation> {
        design
            .iter()
            .enumerate()
            .map(|(index, share)| {
                let weight = if index == 0 { prior.cold_weight } else { 1.0 };
                let expected = self.fixed + (1.0 - self.fixed) * self.shape.at(*share);
                let error = self.noise / weight.sqrt() * random.normal();
                Observation {
                    weight,
                    ..Observation::new(*share, 1.0, expected * error.exp())
                }
            })
            .collect()
    }

    /// P(a new full run lies in the central 90 % of `predictive`), exactly, over its noise and the drift, `times` as large as
    /// the prior says: fewer draws then do.
    fn chance_inside(&self, predictive: &Predictive, times: f64) -> f64 {
        let below = |p: f64| {
            let z = predictive.quantile(p).ln() / self.noise.hypot(times * self.drift);
            Normal::standard().cdf(z)
        };
        below(0.95) - below(0.05)
    }
}

/// The share of new full runs inside their intervals, for each design.
#[derive(Debug, Default)]
struct Coverage {
    /// Where the drift is what the model says.
    as_written: Vec<f64>,
    /// Where the size of the drift is exactly the prior's, which the model does not presume to know.
    known_drift: Vec<f64>,
}

impl Coverage {
    fn of(prior: &Prior) -> Self {
        let mut coverage = Self::default();
        for design in DESIGNS {
            let mut random = Random(1);
            let largest = design.iter().copied().fold(0.0, f64::max);
            let (mut as_written, mut known_drift) = (0.0, 0.0);
            for _ in 0..TRUTHS {
                let truth = Truth::draw(prior, largest, &mut random);
                let runs = truth.runs(design, prior, &mut random);
                let predictive = Posterior::fit(&runs, prior).predict_at(1.0, 1.0);
                let degrees_of_freedom = whole(prior.noise_degrees_of_freedom)
                    + u32::try_from(design.len()).expect("designs are short")
                    - 1;
                let times = spread(degrees_of_freedom, &mut random);
                as_written += truth.chance_inside(&predictive, times);
                known_drift += truth.chance_inside(&predictive, 1.0);
            }
            coverage.as_written.push(as_written / f64::from(TRUTHS));
            coverage.known_drift.push(known_drift / f64::from(TRUTHS));
        }
        coverage
    }
}

fn pooled(by_design: &[f64]) -> f64 {
    by_design.iter().sum::<f64>()
        / f64::from(u32::try_from(by_design.len()).expect("designs are short"))
}

/// A standard deviation in units of its scale, where so many degrees of freedom stand behind it.
fn spread(degrees_of_freedom: u32, random: &mut Random) -> f64 {
    (f64::from(degrees_of_freedom) / random.chi_squared(degrees_of_freedom)).sqrt()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the priors have a few whole degrees of freedom"
)]
fn whole(degrees_of_freedom: f64) -> u32 {
    degrees_of_freedom as u32
}

pub(crate) fn data_that_the_prior_brings_about() {
    for (name, prior) in [("time", TIME), ("memory", MEMORY)] {
        let coverage = Coverage::of(&prior);
        let (as_written, known) = (pooled(&coverage.as_written), pooled(&coverage.known_drift));
        println!(
            "{name}: {as_written:.3}, by design {:.3?}",
            coverage.as_written
        );
        println!(
            "{name}, drift of known size: {known:.3}, by design {:.3?}",
            coverage.known_drift
        );
        assert!(
            (0.88..=0.93).contains(&as_written),
            "{name}: {coverage:.3?}"
        );
        // The tails of the doubt are then too heavy, by a few points.
        assert!((0.88..=0.95).contains(&known), "{name}: {coverage:.3?}");
    }
}

/// Lanes, of which the first run is cold, and mixtures, on lines and with noise of 4 %.
pub(crate) fn cold_full_runs() {
    let designs: [&[(f64, bool)]; 3] = [
        &[(0.01, false), (0.03, true), (0.1, true), (0.2, true)],
        &[(0.01, false), (0.03, true), (0.2, true)],
        &[(0.01, false), (0.03, false), (0.1, true), (0.2, true)],
    ];
    let mut random = Random(7);
    let (mut inside, mut all) = ([0; 3], 0);
    for draw in 0..60_u32 {
        let offset = 20.0 + f64::from(draw % 5) * 10.0;
        let fixed = [2.0, 20.0, 60.0][draw as usize % 3];
        let growing = [300.0, 3600.0][draw as usize % 2];
        all += 1;
        for (design, inside) in designs.iter().zip(&mut inside) {
            let mut noise = || f64::exp(0.04 * random.normal());
            let runs: Vec<_> = design
                .iter()
                .enumerate()
                .map(|(index, &(share, is_warm))| {
                    let start = if is_warm { 0.0 } else { offset };
                    let value = (fixed + growing * share + start) * noise();
                    let weight = if index == 0 { TIME.cold_weight } else { 1.0 };
                    Observation {
                        weight,
                        is_warm,
                        ..Observation::new(share, 1.0, value)
                    }
                })
                .collect();
            let full = Posterior::fit(&runs, &TIME).predict_at(1.0, 1.0);
            let truth = (fixed + growing + offset) * noise();
            let is_inside = (full.quantile(0.05)..=full.quantile(0.95)).contains(&truth);
            *inside += i32::from(is_inside);
        }
    }
    println!("cold full runs inside, of {all}: {inside:?}");
    assert!(
        inside.iter().all(|inside| inside * 100 >= all * 88),
        "{inside:?} of {all}"
    );
}
