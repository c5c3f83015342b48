//! How well recorded workloads are forecast: by the seed library's method, by ours on the same canaries, and by ours on
//! canaries that it chose for itself with no more canary seconds.
//!
//! `cargo bench --bench accuracy -- FILE.csv [--json]` reads a table with the columns of `tests/data/training-runs.csv`
//! (by name, in any order; others are ignored), with any workloads and any number of runs. A relative FILE is one in the
//! package's folder, where cargo starts benches. A workload that cannot be compared is skipped, with a word on standard
//! error. Three forecasts are made of each other one:
//!
//! - **seed**: the reference, re-made from its description (`comparison/seed.rs`), on the runs at 1, 2 and 3 %, three each;
//! - **fixed**: ours, on the same nine;
//! - **adaptive**: ours, on runs of the ladder 1, 2, 3, 5, 10, 20, 50 % that take no longer together than those nine.
//!
//! What is shown, for time and for memory:
//!
//! - **error**: ln(forecast / median of the full runs); per workload with its sign, in sum the median, mean and largest
//!   of its size over the workloads;
//! - **inside** (`coverage`): the share of single full runs inside the 90 % interval;
//! - **upper/lower** (`ratio`): how wide that interval is; in sum the median over the workloads;
//! - **score**: the interval score of ln over single full runs, smaller is better (`comparison/score.rs`);
//! - **spent** (`spend_ratio`): the seconds of the adaptive canaries, the nine being 1; in sum the largest.
//!
//! A forecast may be unknown. Then its reason stands below the table, and every figure over the workloads that would
//! need it is absent (`null` in JSON): a figure over the others alone would flatter a method that gives up on hard ones.
//!
//! `--json` prints these figures in sum as one JSON object, and nothing else, on standard output. Without it the time
//! that forecasts take on this machine is measured and shown too.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench reads its file and takes the time"
)]

mod comparison;
mod speed;

use std::path::PathBuf;
use std::process::ExitCode;
use std::{env, fs};

use comparison::{Comparison, workload};

const USAGE: &str = "usage: cargo bench --bench accuracy -- FILE.csv [--json]
  FILE.csv  a table of measured runs, such as ../tests/data/training-runs.csv
  --json    only the figures in sum, as JSON";

/// What was asked for.
struct Arguments {
    file: PathBuf,
    form: Form,
}

#[derive(Clone, Copy, PartialEq)]
enum Form {
    Text,
    Json,
}

fn main() -> ExitCode {
    match Arguments::read(env::args().skip(1)).and_then(|arguments| compare(&arguments)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(complaint) => {
            eprintln!("error: {complaint}");
            ExitCode::from(2)
        }
    }
}

impl Arguments {
    fn read(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut file = None;
        let mut form = Form::Text;
        for word in words {
            match word.as_str() {
                // Cargo says so to every bench.
                "--bench" => {}
                "--json" => form = Form::Json,
                option if option.starts_with('-') => {
                    return Err(format!(
                        "`{}` is not an option\n{USAGE}",
                        option.escape_debug()
                    ));
                }
                _ if file.is_some() => return Err(format!("more than one file\n{USAGE}")),
                path => file = Some(PathBuf::from(path)),
            }
        }
        let file = file.ok_or_else(|| format!("no file is named\n{USAGE}"))?;
        Ok(Self { file, form })
    }
}

fn compare(arguments: &Arguments) -> Result<(), String> {
    let shown = arguments.file.display();
    let text = fs::read_to_string(&arguments.file).map_err(|error| {
        format!("{shown} cannot be read: {error}\n  a relative path starts at the package's folder")
    })?;
    let recorded = workload::read(&text).map_err(|error| format!("{shown}: {error}"))?;
    for skipped in &recorded.skipped {
        eprintln!("{skipped}");
    }
    if recorded.workloads.is_empty() {
        return Err(format!("{shown}: no workload can be compared"));
    }
    let comparison = Comparison::of(&recorded.workloads);
    match arguments.form {
        Form::Json => println!("{}", comparison.summary().json()),
        Form::Text => {
            print!("{}", comparison.text());
            println!("{}", speed::measure(&recorded.workloads));
            print!("\n{}", comparison::rounds::text(&recorded.workloads));
        }
    }
    Ok(())
}
