//! How well Ernest's law forecasts scale-out: fits the small half of a table, forecasts the large half, prints the error.
//!
//! `cargo bench --bench scale_out -- FILE.tsv ...` reads tab-separated tables with the columns `instance_count`,
//! `data_size_MB`, `gross_runtime` and any others, such as those of the public C3O experiments (Will, Bader and Thamsen,
//! IEEE Big Data 2020); a last pair of columns says how what is assumed from one count fares. A group is what remains when count and size are set aside. Small: the lower half of its counts with
//! the lower half of its sizes, the middle one included; large: the upper halves. It asserts nothing.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench reads its arguments' files"
)]

#[path = "scale_out/score.rs"]
mod score;
#[path = "scale_out/table.rs"]
mod table;

use std::process::ExitCode;
use std::{env, fs};

use score::{Method, Score};

const USAGE: &str = "usage: cargo bench --bench scale_out -- FILE.tsv ...";

fn main() -> ExitCode {
    // Cargo adds a `--bench` of its own.
    let arguments: Vec<String> = env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    if arguments.is_empty() {
        eprintln!("no table given\n{USAGE}");
        return ExitCode::FAILURE;
    }
    if let Some(option) = arguments.iter().find(|word| word.starts_with('-')) {
        eprintln!("unknown option {option}\n{USAGE}");
        return ExitCode::FAILURE;
    }
    let mut code = ExitCode::SUCCESS;
    for file in &arguments {
        match report(file) {
            Ok(text) => println!("{text}"),
            Err(trouble) => {
                eprintln!("{file}: {trouble}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

fn report(file: &str) -> Result<String, String> {
    let text = fs::read_to_string(file)
        .map_err(|error| format!("cannot be read ({error}); give the path of a table\n{USAGE}"))?;
    let groups = table::read(&text).map_err(|error| error.to_string())?;

    let width = groups
        .iter()
        .map(|group| group.name.len())
        .max()
        .unwrap_or_default()
        .max(8);
    let mut lines = vec![
        format!(
            "{file}: |ln(forecast / median)| on the large counts and sizes, fitted on the small"
        ),
        format!(
            "{:width$}  {:>5}  {:^20}  {:>9}  {:>6}  {:^20}  {:^20}  {:>9}  {:>6}",
            "",
            "",
            "Ernest",
            "90% holds",
            "upper/",
            "divided by n",
            "log-log line",
            "assumed:",
            "upper/"
        ),
        format!(
            "{:width$}  {:>5}  {MEDIAN_MEAN_MAX}  {:>9}  {:>6}  {MEDIAN_MEAN_MAX}  {MEDIAN_MEAN_MAX}  {:>9}  {:>6}",
            "group", "cells", "of runs", "lower", "90% holds", "lower"
        ),
    ];
    let mut sum = Score::default();
    let mut left_out = Vec::new();
    for group in &groups {
        match Score::of(group) {
            Ok(score) => {
                lines.push(row(&group.name, width, &score));
                sum.add(&score);
            }
            Err(lack) => left_out.push(format!("left out: {}: {lack}", group.name)),
        }
    }
    if sum.errors.is_empty() {
        return Err(format!("no group can be scored\n{}", left_out.join("\n")));
    }
    lines.push(row("in sum", width, &sum));
    lines.extend(left_out);
    Ok(lines.join("\n") + "\n")
}

const MEDIAN_MEAN_MAX: &str = "median   mean    max";

fn row(name: &str, width: usize, score: &Score) -> String {
    let three = |method| {
        score
            .error(method)
            .map(|error| format!("{error:>6.3}"))
            .join(" ")
    };
    let assumed = score.assumed.coverage_and_ratio();
    let assumed = assumed.map_or(String::new(), |(coverage, ratio)| {
        format!("  {:>8.1}%  {ratio:>6.2}", coverage * 100.0)
    });
    format!(
        "{name:width$}  {:>5}  {}  {:>8.1}%  {:>6.2}  {}  {}{assumed}",
        score.errors.len(),
        three(Method::Ernest),
        score.coverage() * 100.0,
        score.ratio(),
        three(Method::Divide),
        three(Method::LogLog),
    )
}
