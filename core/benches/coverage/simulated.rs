//! A run whose time was drawn and not measured.

use canary_gate_core::measurement::Measurement;
use canary_gate_core::measurement::table::read_csv;
use canary_gate_core::units::Seconds;

/// A completed run as a table of measured ones has it.
pub(crate) fn measured(share: f64, replicate: usize, seconds: f64) -> Measurement {
    let percent = 100.0 * share;
    let table = format!(
        "workload,fraction_requested,replicate,files,files_total,bytes,bytes_total,wall_seconds\n\
         simulated,{percent}%,{replicate},{percent},100,{percent}000000,100000000,1\n"
    );
    let mut runs = read_csv(&table)
        .expect("the table is well-formed")
        .measurements;
    let mut run = runs.pop().expect("the table has one row");
    // Not by way of text, which would round it.
    run.training_seconds = Some(Seconds(seconds));
    run
}
