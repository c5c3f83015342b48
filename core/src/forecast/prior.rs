//! The priors of time, of memory, and of the memory of GPUs.
//!
//! The values were chosen on the first nine workloads of `tests/data/training-runs.csv`, in coarse steps, by how the intervals
//! scored (Gneiting and Raftery, JASA 102, 2007, eq. 43) that several designs gave for the full runs: canaries of 1-3 %, of
//! 1 and 20 %, of 2 to 50 %, and those of the adaptive design. Among values with nearly the same score the more cautious ones
//! were chosen. The weight of a cap was chosen on all twenty-eight: with it the score of the adaptive design is 0.97 for time
//! and 0.74 for memory. `benches/prior` and `docs/forecasting.md` show the results on workloads left out. The odds of steeper laws
//! were chosen on the laws of `benches/wrong_green`, those of memory so that a canary of 5 % decides what is a third of the machine; the
//! weights of work for memory on lines whose memory goes with none, half or all of it.

use super::law::FamilyWeights;
use super::posterior::Prior;

/// A sharp prior on linear: most training reads every byte the same number of times, and with small canaries a flat prior
/// mistakes noise for curvature. A plateau changes little for the measured workloads; without it one that
/// canaries of 10 to 50 % show clearly would be missed. No canary excludes
/// a cap beyond it; with more weight on one than this, the point of a square falls.
pub const TIME: Prior = Prior {
    laws: FamilyWeights {
        linear: 0.665,
        near_linear: 0.1,
        power: 0.035,
        linear_quadratic: 0.035,
        plateau: 0.015,
        hinge: 0.015,
        constant: 0.125,
        capped: 0.004,
    },
    noise: 0.05,
    noise_degrees_of_freedom: 6.0,
    fixed_logit_mean: -2.0,
    fixed_logit_deviation: 3.0,
    no_work_weight: 0.05,
    all_work_weight: 0.5,
    // By judgement: no pool of warm machines has been measured.
    no_cold_weight: 0.2,
    exponent_drift: 0.08,
    least_growing: 0.15,
    cold_weight: 0.1,
    steeper_odds: 0.15,
};

/// Of a download, in which the image is pulled: each byte takes as long. A law that begins late, or a steep one, would hide behind a
/// pull that only the smaller canaries had.
pub(super) const DOWNLOAD: Prior = Prior {
    laws: FamilyWeights {
        power: 0.0,
        linear_quadratic: 0.0,
        hinge: 0.0,
        capped: 0.0,
        ..TIME.laws
    },
    steeper_odds: 0.0,
    ..TIME
};

/// Of what begins when the script does: a cold start adds nothing to it.
pub(super) const TIME_ONCE_STARTED: Prior = Prior {
    no_cold_weight: 1.0,
    ..TIME
};

/// Memory is measured almost without noise, is mostly fixed in small canaries, and is curved more often: caches fill up, and a
/// later phase overtakes the import.
pub const MEMORY: Prior = Prior {
    laws: FamilyWeights {
        linear: 0.65,
        near_linear: 0.08,
        power: 0.045,
        linear_quadratic: 0.045,
        plateau: 0.075,
        hinge: 0.035,
        constant: 0.045,
        capped: 0.045,
    },
    noise: 0.015,
    noise_degrees_of_freedom: 2.0,
    fixed_logit_mean: 0.0,
    fixed_logit_deviation: 3.0,
    no_work_weight: 0.4,
    all_work_weight: 0.3,
    no_cold_weight: 1.0,
    exponent_drift: 0.13,
    least_growing: 0.75,
    cold_weight: 1.0,
    steeper_odds: 0.01,
};

/// That of a GPU is not calibrated: no workload with one has been measured. It is that of memory, but for two things that are known of
/// training in batches. What a GPU holds (parameters, gradients, the optimizer's state, the activations of a batch) does not
/// grow with the data, unless all of them are kept there; and there is no import whose peak a later phase overtakes.
pub(super) const GPU_MEMORY: Prior = Prior {
    laws: FamilyWeights {
        hinge: 0.03,
        constant: 1.0,
        capped: 0.02,
        ..MEMORY.laws
    },
    least_growing: 0.35,
    ..MEMORY
};
