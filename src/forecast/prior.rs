//! The priors of time and memory.
//!
//! The values were chosen on the twenty-eight workloads of `tests/data/training-runs.csv`, in coarse steps, by how the intervals
//! scored (Gneiting and Raftery, JASA 102, 2007, eq. 43) that the adaptive design gave for the full runs with 0.7 to 2 times the
//! seconds of nine small canaries. `leave_one_out` does the same for each workload with all others, and `docs/forecasting.md`
//! shows the result: for time a score of 0.92 left out and 0.96 in the sample, for memory 0.60 and 0.61.

use super::law::FamilyWeights;
use super::posterior::Prior;

/// A sharp prior on linear: most training reads every byte the same number of times, and with small canaries a flat prior
/// mistakes noise for curvature. Saturation and plateau change little for the measured workloads; without them a plateau that
/// canaries of 10 to 50 % show clearly would be missed. A cap beyond the canaries is what no canary excludes: without its weight
/// the score is 1.9 and not 1.0, and with more of it the point of a square falls. Few degrees of freedom of the noise: jobs differ in
/// theirs, and those that stop early have more than any small canary shows.
pub(super) const TIME: Prior = Prior {
    laws: FamilyWeights {
        linear: 0.665,
        near_linear: 0.2,
        power: 0.05,
        linear_quadratic: 0.035,
        saturation: 0.01,
        plateau: 0.01,
        hinge: 0.015,
        constant: 0.125,
        capped: 0.004,
    },
    noise: 0.06,
    noise_degrees_of_freedom: 3.0,
    fixed_logit_mean: -2.5,
    fixed_logit_deviation: 2.0,
    no_work_weight: 0.05,
    all_work_weight: 0.5,
    exponent_drift: 0.08,
    least_growing: 0.15,
    cold_weight: 0.1,
};

/// Memory is measured almost without noise, is mostly fixed in small canaries, and is curved more often: caches fill up, and a
/// later phase overtakes the import.
pub(super) const MEMORY: Prior = Prior {
    laws: FamilyWeights {
        linear: 0.65,
        near_linear: 0.08,
        power: 0.025,
        linear_quadratic: 0.045,
        saturation: 0.025,
        plateau: 0.03,
        hinge: 0.035,
        constant: 0.045,
        capped: 0.045,
    },
    noise: 0.015,
    noise_degrees_of_freedom: 3.0,
    fixed_logit_mean: 0.0,
    fixed_logit_deviation: 2.0,
    no_work_weight: 0.8,
    all_work_weight: 0.05,
    exponent_drift: 0.1,
    least_growing: 0.75,
    cold_weight: 1.0,
};
