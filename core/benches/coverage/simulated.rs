//! A run whose time was drawn and not measured.

use canary_gate_core::instance::InstanceConfiguration;
use canary_gate_core::measurement::{Measurement, Outcome};
use canary_gate_core::units::{Bytes, Percent, Seconds};

/// A completed run of a whole per cent of the data, as measured ones have it.
pub(crate) fn measured(share: f64, replicate: usize, seconds: f64) -> Measurement {
    let percent = 100.0 * share;
    let files: u64 = (percent.to_string().parse()).expect("it is a whole per cent");
    Measurement {
        objects: Some(files),
        objects_total: Some(100),
        bytes: Some(Bytes(files * 1_000_000)),
        bytes_total: Some(Bytes(100_000_000)),
        replicate: replicate.try_into().expect("there are few replicates"),
        training_seconds: Some(Seconds(seconds)),
        ..Measurement::without_figures(
            "simulated".to_owned(),
            InstanceConfiguration::default(),
            Percent(percent).as_fraction(),
            Outcome::Completed,
        )
    }
}
