//! A recorded training of which one is the base of the other.

use std::fmt::Write as _;

/// Nine recorded canaries of a training that takes `fixed` seconds and `rate` more for all of its data, a few per cent off.
pub(crate) fn recording(fixed: f64, rate: f64) -> String {
    let mut text = "workload,fraction_requested,wall_seconds\n".to_owned();
    let noise = [1.01, 0.98, 1.02, 0.99, 1.03, 0.97, 1.0, 1.02, 0.99];
    for (index, noise) in noise.into_iter().enumerate() {
        let percent = [1.0, 2.0, 3.0][index / 3];
        let seconds = (fixed + rate * percent / 100.0) * noise;
        let _ = writeln!(text, "sums,{percent}%,{seconds:.3}");
    }
    text
}

pub(crate) fn spec(budget: &str) -> String {
    format!(
        "\
version: 1
backend: replay
recording: runs.csv
prices: {{local: 36 USD/h}}
jobs:
  sums:
    paths: [train.py]
    training: {{command: [python3, train.py], channels: {{train: {{uri: data}}}}}}
    instance: local
    canary: {{design: fixed, max_share: 10000%, max_runtime: 1h, spend_limit: 900 USD}}
    budget: {budget}
"
    )
}
