//! How often a check for drift is wrong, and how soon it is right, on simulated series of checks whose truth is known.
//!
//! `cargo bench --bench drift [-- HISTORIES]` prints these tables, each cell from HISTORIES (2,000 unless given) series:
//!
//! - the share of histories of 52 checks without any change in which the chart signals, and in which a rise is alarmed, for
//!   several worlds: those the limits were found for, and others; in the last rows levels are not drawn, but follow from nine
//!   canaries by the law that the program finds, for a tenth as many histories;
//! - the checks from a change until the chart finds it and until it is alarmed;
//! - the share of rises within what is allowed that are alarmed;
//! - the checks from the end of a change until the alarm ends.
//!
//! `cargo bench --bench drift -- causes [CASES]` prints how often the shares of what a change is made of are found within 10 points, from
//! CASES (200 unless given) changes each.
//!
//! `cargo bench --bench drift -- limits [HISTORIES]` finds the limits of `core/src/drift/chart.rs`, from 200,000 series for
//! each world unless HISTORIES is given. The seeds are fixed: who runs it again gets the same. It asserts nothing.

#[path = "drift/calibration.rs"]
mod calibration;
#[path = "drift/canaries.rs"]
mod canaries;
#[path = "drift/causes.rs"]
mod causes;
#[path = "coverage/random.rs"]
mod random;
#[path = "drift/rates.rs"]
mod rates;
#[path = "drift/world.rs"]
mod world;

use std::env;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo bench --bench drift [-- [limits | causes] [HISTORIES]]
  causes     find the causes of changes, so many of each kind (200)
  limits     find the limits of the control chart
  HISTORIES  series for each cell (2000 unless given), or for each world of the limits (200000)";

const HISTORIES: u32 = 2_000;
const HISTORIES_FOR_LIMITS: u32 = 200_000;

fn main() -> ExitCode {
    // Cargo adds a `--bench` of its own.
    let words: Vec<String> = env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let report = match words.as_slice() {
        ["limits", rest @ ..] => histories(rest, HISTORIES_FOR_LIMITS).map(calibration::report),
        ["causes", rest @ ..] => histories(rest, 200).map(causes::report),
        rest => histories(rest, HISTORIES).map(rates::report),
    };
    match report {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(complaint) => {
            eprintln!("error: {complaint}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn histories(words: &[&str], unless_given: u32) -> Result<u32, String> {
    match words {
        [] => Ok(unless_given),
        [word] => match word.parse() {
            Ok(histories) if histories > 0 => Ok(histories),
            _ => Err(format!("`{}` is not a number above 0", word.escape_debug())),
        },
        _ => Err("too many arguments".to_owned()),
    }
}
