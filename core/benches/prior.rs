//! The constants of the forecast's prior: those that others would choose, whether each kind of law earns its place, and whether
//! the posterior is computed as it is written.
//!
//! `cargo bench --bench prior [-- left-out | kinds | calibration | cold]` prints the tables of `docs/forecasting.md`, in some minutes; it
//! ends with an error where a figure is out of its bounds. `-- published FILE.csv` reads series of fit times that others measured (`--shipped`: by the
//! shipped constants alone).

#[path = "prior/calibration.rs"]
mod calibration;
#[expect(
    dead_code,
    reason = "the bench `accuracy` shows more of a comparison than is used here"
)]
#[path = "accuracy/comparison/mod.rs"]
mod comparison;
#[path = "prior/kinds.rs"]
mod kinds;
#[path = "prior/left_out.rs"]
mod left_out;
#[path = "prior/published.rs"]
mod published;
#[path = "coverage/random.rs"]
mod random;
#[path = "coverage/simulated.rs"]
mod simulated;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Cargo adds a `--bench` of its own.
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    if let [command, file, ..] = &*words
        && command == "published"
    {
        published::each_family_by_what_the_others_teach(file);
        return ExitCode::SUCCESS;
    }
    let all = [
        (
            "left-out",
            left_out::each_workload_by_what_the_others_teach as fn(),
        ),
        ("kinds", kinds::the_family_beside_a_line),
        ("calibration", calibration::data_that_the_prior_brings_about),
        ("cold", calibration::cold_full_runs),
    ];
    if words
        .iter()
        .any(|word| all.iter().all(|(name, _)| name != word))
    {
        eprintln!(
            "usage: cargo bench --bench prior [-- left-out | kinds | calibration | cold | published FILE.csv]"
        );
        return ExitCode::from(2);
    }
    for (name, print) in all {
        if words.is_empty() || words.iter().any(|word| word == name) {
            print();
        }
    }
    ExitCode::SUCCESS
}
