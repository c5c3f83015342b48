//! The line that stays on a terminal of a canary that has ended.

use crate::canary::CanaryRun;
use crate::console::printable;
use crate::measurement::{Measurement, Outcome};
use crate::units::Seconds;

/// Columns of the canary's name, and of its time.
const NAME_WIDTH: usize = 10;
const TIME_WIDTH: usize = 8;

/// `✓ 1%        1.6s     0.0004 USD`, or what went wrong with the last line of its log.
pub(crate) fn ended(run: &CanaryRun, measurement: &Measurement, colours: bool) -> String {
    let sign = match (&measurement.outcome, colours) {
        (Outcome::Completed, false) => "✓",
        (Outcome::Completed, true) => "\u{1b}[32m✓\u{1b}[0m",
        (_, false) => "✗",
        (_, true) => "\u{1b}[31m✗\u{1b}[0m",
    };
    let name = short_name(run);
    let time = measurement.training_seconds;
    let time = time.map_or(String::new(), |time| time.to_string());
    let cost = measurement
        .cost
        .map_or(String::new(), |cost| cost.to_string());
    let said = match (&measurement.outcome, &measurement.reused) {
        (Outcome::Completed, Some(reused)) => {
            let age = Seconds::of_days(reused.age_days);
            format!("measured {age} ago and not run again")
        }
        (Outcome::Completed, None) => cost,
        (outcome, _) => match outcome.last_line() {
            Some(line) => format!("{outcome}: {}", printable(line)),
            None => outcome.to_string(),
        },
    };
    let line = format!("  {sign} {name:NAME_WIDTH$} {time:TIME_WIDTH$} {said}");
    line.trim_end().to_owned()
}

/// `3%`, `3% #2`: a canary that is not repeated needs no number.
pub(crate) fn short_name(run: &CanaryRun) -> String {
    let label = printable(&run.label());
    match label.split_once(" #1") {
        Some((before, after)) if !after.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("{before}{after}")
        }
        _ => label,
    }
}
