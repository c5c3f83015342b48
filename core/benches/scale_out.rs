//! How well scale-out is forecast: the laws that the program weighs, beside Ernest's law, a log-log line and what is assumed from one
//! count alone.
//!
//! `cargo bench --bench scale_out -- FILE.tsv ...` reads tab-separated tables with the columns `instance_count`,
//! `data_size_MB`, `gross_runtime` and any others, such as those of the public C3O experiments (Will, Bader and Thamsen,
//! IEEE Big Data 2020). A group is what remains when count and size are set aside. Of each it prints, for four ways of choosing what
//! is measured, the median of |ln(forecast / median of the runs)|, how many single runs the 90 % interval holds, and the middle of
//! its upper / lower; then the same over all groups, also with two repetitions and with one. Of several tables it prints each by the
//! prior that the others choose, which takes some minutes. It asserts nothing.
//!
//! Four tables were at hand, all of one framework on one kind of cluster: that one host may coordinate is their choice, and no other
//! framework's.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench reads its arguments' files"
)]

#[path = "scale_out/ernest.rs"]
mod ernest;
#[path = "scale_out/left_out.rs"]
mod left_out;
#[path = "scale_out/log_log.rs"]
mod log_log;
#[path = "scale_out/non_negative.rs"]
mod non_negative;
#[path = "scale_out/score.rs"]
mod score;
#[path = "scale_out/table.rs"]
mod table;

use std::process::ExitCode;
use std::{env, fs};

use canary_gate_core::forecast::scale_out::COUNT_PRIOR;
use score::{Method, Score, Split};
use table::Group;

const USAGE: &str = "usage: cargo bench --bench scale_out -- FILE.tsv ...";

/// The repetitions of each cell: all of them, and as few as canaries have.
const REPEATS: [usize; 3] = [usize::MAX, 2, 1];

const SPLITS: [(Split, &str); 4] = [
    (
        Split::EachSize,
        "the smallest count and 4, for 8 and more, each size by itself",
    ),
    (
        Split::AllSizes,
        "the smallest count and 4, for 8 and more, all sizes in one fit",
    ),
    (
        Split::SmallSizes,
        "the lower half of the sizes on all counts, for the upper half",
    ),
    (
        Split::LowerHalves,
        "the lower halves of counts and sizes, for the upper halves",
    ),
];

const METHODS: [(Method, &str); 4] = [
    (Method::Weighed, "weighed laws"),
    (Method::Ernest, "Ernest"),
    (Method::LogLog, "log-log line"),
    (Method::Assumed, "assumed"),
];

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
    let mut tables = Vec::new();
    for file in &arguments {
        match report(file) {
            Ok((text, groups)) => {
                println!("{text}");
                tables.push((file.clone(), groups));
            }
            Err(trouble) => {
                eprintln!("{file}: {trouble}");
                code = ExitCode::FAILURE;
            }
        }
    }
    if tables.len() > 1 {
        println!("{}", left_out::lines(&tables, &SPLITS).join("\n"));
    }
    code
}

fn report(file: &str) -> Result<(String, Vec<Group>), String> {
    let text = fs::read_to_string(file)
        .map_err(|error| format!("cannot be read ({error}); give the path of a table\n{USAGE}"))?;
    let groups = table::read(&text).map_err(|error| error.to_string())?;
    let width = groups.iter().map(|group| group.name.len()).max();
    let width = width.unwrap_or_default().max("all, 1 repetition".len());
    let mut lines = Vec::new();
    let mut is_scored = false;
    for (split, how) in SPLITS {
        lines.push(format!("{file}: {how}"));
        let names = METHODS.map(|(_, name)| format!("{name:^24}"));
        lines.push(format!("{:width$}  {:>5}  {}", "", "", names.join("  ")));
        let columns = format!("{:>6}  {:>6}  {:>8}", "error", "holds", "up/low");
        let columns = METHODS.map(|_| columns.as_str()).join("  ");
        lines.push(format!("{:width$}  {:>5}  {columns}", "group", "cells"));
        for repeats in REPEATS {
            let (sum, rows) = scored(&groups, split, repeats, width);
            // The groups by themselves with all repetitions alone.
            if repeats == usize::MAX {
                lines.extend(rows);
            }
            let Some(sum) = sum else { continue };
            is_scored = true;
            let name = match repeats {
                1 => "all, 1 repetition".to_owned(),
                usize::MAX => "all".to_owned(),
                some => format!("all, {some} repetitions"),
            };
            lines.push(row(&name, width, &sum));
        }
        lines.push(String::new());
    }
    match is_scored {
        true => Ok((lines.join("\n"), groups)),
        false => Err(format!("no group can be scored\n{}", lines.join("\n"))),
    }
}

/// All groups together, and a line for each.
fn scored(
    groups: &[Group],
    split: Split,
    repeats: usize,
    width: usize,
) -> (Option<Score>, Vec<String>) {
    let mut sum: Option<Score> = None;
    let mut rows = Vec::new();
    for group in groups {
        match Score::of(group, split, repeats, &COUNT_PRIOR) {
            Ok(score) => {
                rows.push(row(&group.name, width, &score));
                sum.get_or_insert_default().add(&score);
            }
            Err(lack) => rows.push(format!("left out: {}: {lack}", group.name)),
        }
    }
    (sum, rows)
}

fn row(name: &str, width: usize, score: &Score) -> String {
    let columns = METHODS.map(|(method, _)| {
        let score = score.of_method(method);
        let Some([median, ..]) = score.error() else {
            return format!("{:>24}", "-");
        };
        let (coverage, ratio) = (score.coverage() * 100.0, score.ratio());
        format!("{median:>6.3}  {coverage:>5.1}%  {ratio:>8.2}")
    });
    let cells = score.of_method(Method::Weighed).errors.len();
    format!("{name:width$}  {cells:>5}  {}", columns.join("  "))
}
