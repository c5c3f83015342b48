//! Ernest's law through runs on several counts of instances: one law in place of several that are weighed.

use std::collections::BTreeSet;

use canary_gate_core::forecast::Predictive;
use canary_gate_core::forecast::scale_out::{Load, ScaleOutRun};

use super::non_negative::{NonNegative, dot};

/// The least standard error of a new run, even if the runs agree exactly. A convention.
const LEAST_RELATIVE_ERROR: f64 = 0.02;

/// A run counts less the further its count is from the wanted one: its residual is multiplied by (smaller count / larger count)
/// to this power. The law bends where data start to fit into memory, so the nearest counts are the most relevant.
///
/// Chosen among 0, 1 and 2 on the small halves of two tables (Will, Bader and Thamsen, IEEE Big Data 2020: SGD and Sort on
/// 2 to 12 instances): the mean error of forecasting a larger size on known counts falls from 0.17 to 0.06 and from 0.06 to
/// 0.04 in ln.
const NEARNESS: i32 = 2;

/// Beyond the measured counts, the time differs from the law by no more than (wanted count / nearest count) to this power in 90 of
/// 100 cases.
///
/// 1.645 times the most likely standard deviation, 0.41, of forecasts for 6 instances from 2 and 4 on the small halves of
/// the same tables. The two jobs differ much (0.0 and 0.7), so it is a rough figure.
const COUNT_DOUBT: f64 = 0.67;

/// Beyond the largest measured share, the growing part differs from proportionality by no more than (wanted share / largest share)
/// to this power in 90 of 100 cases.
///
/// 1.645 times the root mean square, 0.26, of the error in ln by the growing part and by ln of the ratio of the sizes, where
/// the largest of the small sizes is forecast from the smaller ones on 2, 4 and 6 instances of the same tables (0.31 for
/// Sort, 0.22 for SGD). The sizes there differ by a fifth to a third; further out it is taken to go on as it does there.
const SHARE_DOUBT: f64 = 0.43;

/// The least share that counts as growing with the data, even if the fit shows less, as for one instance.
const LEAST_GROWING_SHARE: f64 = 0.05;

/// The terms of Venkataraman, Yang, Franklin, Recht and Stoica, "Ernest: Efficient Performance Prediction for Large-Scale
/// Advanced Analytics" (NSDI 2016, section 3.2), with the heaviest host's share in the place of size / n.
fn terms(load: Load) -> [f64; 4] {
    let hosts = f64::from(load.hosts);
    [1.0, load.heaviest, hosts.ln(), hosts]
}

/// The time of one new run, in seconds, from runs of the same job on several counts of one instance type.
///
/// Coefficients are not negative, and errors are factors: residuals are relative to the measured time. The interval covers the
/// noise of the runs, the uncertainty of the coefficients in use, and the deviation from the law beyond the measured counts and
/// sizes. `None` of a law that says nothing about the wanted load.
pub(crate) fn forecast(runs: &[ScaleOutRun], wanted: Load) -> Option<Predictive> {
    let counts: BTreeSet<u32> = runs.iter().map(|run| run.load.hosts).collect();
    let fit = ErnestFit::of(runs, wanted);
    let median = fit.median();
    let largest_share = runs.iter().map(|run| run.load.share).fold(0.0, f64::max);
    (median > 0.0 && median.is_finite()).then(|| {
        Predictive::log_student_t(median, fit.relative_error(), fit.degrees_of_freedom)
            .widened(distance(&counts, wanted.hosts).powf(COUNT_DOUBT) - 1.0)
            .widened(
                (wanted.share / largest_share)
                    .max(1.0)
                    .powf(SHARE_DOUBT * fit.growing_share())
                    - 1.0,
            )
    })
}

/// Ernest's law, fitted about one wanted load.
struct ErnestFit {
    law: NonNegative<4>,
    wanted: [f64; 4],
    /// Seconds; the longest run, so that no square overflows.
    unit: f64,
    /// Of the relative residuals about the wanted count.
    variance: f64,
    degrees_of_freedom: f64,
}

impl ErnestFit {
    fn of(runs: &[ScaleOutRun], wanted: Load) -> Self {
        let unit = runs.iter().map(|run| run.seconds).fold(0.0, f64::max);
        let nearness: Vec<f64> = runs
            .iter()
            .map(|run| ratio(run.load.hosts, wanted.hosts).powi(-NEARNESS))
            .collect();
        let nearest = nearness.iter().copied().fold(0.0, f64::max);
        let weights: Vec<f64> = nearness.iter().map(|weight| weight / nearest).collect();
        let rows: Vec<[f64; 4]> = runs
            .iter()
            .zip(&weights)
            .map(|(run, weight)| terms(run.load).map(|term| term * weight * unit / run.seconds))
            .collect();
        // One run more than terms, to estimate the noise.
        let law = NonNegative::fit(&rows, &weights, runs.len() - 1);

        // The nearer a run, the more its residual counts for the noise here. Kish's effective number of runs with these weights.
        let total: f64 = weights.iter().sum();
        let squares: f64 = weights.iter().map(|weight| weight.powi(2)).sum();
        let effective = total.powi(2) / squares;
        let degrees_of_freedom = (effective - law.terms_in_use()).max(1.0);
        let residual_squares: f64 = runs
            .iter()
            .zip(&weights)
            .map(|(run, weight)| {
                let fitted = dot(&law.coefficients, &terms(run.load)) * unit;
                weight * (fitted / run.seconds - 1.0).powi(2)
            })
            .sum();
        Self {
            variance: (residual_squares / total * effective / degrees_of_freedom)
                .max(LEAST_RELATIVE_ERROR.powi(2)),
            degrees_of_freedom,
            law,
            wanted: terms(wanted),
            unit,
        }
    }

    /// Seconds.
    fn median(&self) -> f64 {
        self.in_units() * self.unit
    }

    fn in_units(&self) -> f64 {
        dot(&self.law.coefficients, &self.wanted)
    }

    /// The standard error of ln of a new run: its own noise, and the coefficients' by the delta method.
    fn relative_error(&self) -> f64 {
        let relative = self.wanted.map(|term| term / self.in_units());
        (self.variance * (1.0 + self.law.leverage(&relative)))
            .ln_1p()
            .sqrt()
    }

    fn growing_share(&self) -> f64 {
        (self.law.coefficients[1] * self.wanted[1] / self.in_units()).max(LEAST_GROWING_SHARE)
    }
}

/// How far `wanted` is beyond the measured counts, as a factor; 1 within them.
fn distance(counts: &BTreeSet<u32>, wanted: u32) -> f64 {
    match (counts.first(), counts.last()) {
        (Some(fewest), Some(most)) if wanted < *fewest || wanted > *most => {
            ratio(wanted, *fewest).min(ratio(wanted, *most))
        }
        _ => 1.0,
    }
}

/// The larger by the smaller.
fn ratio(one: u32, other: u32) -> f64 {
    f64::from(one.max(other)) / f64::from(one.min(other))
}
