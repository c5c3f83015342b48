//! How well full runs are forecast from the progress that they print, as the program reads it and forecasts by it.
//!
//! `cargo bench --bench progress -- ../benches/progress/recordings/*.jsonl` reads the recorded output of jobs, line by line, on 1, 10
//! and 20 % of their data and in full. Of each full run it prints ln(forecast / seconds), then upper / lower end and whether the 90 %
//! interval holds it:
//!
//! - **small**: by the canaries of 1 and 20 %;
//! - **progress**: by those of 1 and 10 %, and the full run ended after a tenth of its seconds beyond the imports, which are what
//!   comes before the smallest canary's first count. A `?` marks what smaller canaries do not confirm.
//!
//! Below are median, mean and worst of its size, each job counted once in the mean, over the libraries that constants were chosen on
//! (tune) and the others (judge). It asserts nothing.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench reads its arguments' files"
)]

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use canary_gate_core::forecast::{Basis, Forecast, Predictive, forecast, provisional};
use canary_gate_core::instance::{InstanceConfiguration, InstanceType, Offer};
use canary_gate_core::measurement::printed_figures::{
    OutputReader, Printed, PrintedFigures, Sought,
};
use canary_gate_core::measurement::{Measurement, Outcome};
use canary_gate_core::metric::Metric;
use canary_gate_core::units::{Fraction, Seconds};

const USAGE: &str = "usage: cargo bench --bench progress -- RECORDING.jsonl ...";
/// The first words of the jobs that constants were not chosen on.
const JUDGE: [&str; 5] = ["catboost", "lightgbm", "lightning", "numpy", "transformers"];
/// The part of a full run after which it is ended.
const REACH: f64 = 0.1;

fn main() -> ExitCode {
    // Cargo adds a `--bench` of its own.
    let files: Vec<String> = env::args().skip(1).filter(|it| it != "--bench").collect();
    if files.is_empty() {
        eprintln!("{USAGE}");
        return ExitCode::FAILURE;
    }
    println!(
        "{:22}{:>8}{:>24}{:>24}  format, what is against it",
        "", "seconds", "small", "progress"
    );
    let mut judged = Vec::new();
    for file in &files {
        match fs::read_to_string(file)
            .map_err(|error| error.to_string())
            .and_then(|text| read(&text))
        {
            Ok(runs) => judged.extend(Case::of_job(Path::new(file), &runs)),
            Err(trouble) => {
                eprintln!("{file}: {trouble}\n{USAGE}");
                return ExitCode::FAILURE;
            }
        }
    }
    for (name, is_of) in [
        ("all", [true, true]),
        ("tune", [true, false]),
        ("judge", [false, true]),
    ] {
        let of = judged
            .iter()
            .filter(|case| is_of[usize::from(case.is_judge)]);
        println!("{}", sums(name, &of.collect::<Vec<_>>()));
    }
    ExitCode::SUCCESS
}

/// A run and its lines, each with its second.
struct Run {
    share: f64,
    seconds: f64,
    lines: Vec<(f64, String)>,
}

/// Each run begins with a row that has its share and its seconds.
fn read(text: &str) -> Result<Vec<Run>, String> {
    let mut runs: Vec<Run> = Vec::new();
    for row in text.lines() {
        let row: serde_json::Value =
            serde_json::from_str(row).map_err(|error| error.to_string())?;
        let number = |of: &serde_json::Value| of.as_f64().ok_or(format!("no number: {row}"));
        if let Some(line) = row.as_array() {
            let (at, said) = (number(&line[0])?, line[1].as_str().unwrap_or_default());
            let run = runs.last_mut().ok_or("a line before the first run")?;
            run.lines.push((at, said.to_owned()));
        } else {
            runs.push(Run {
                share: number(&row["share"])?,
                seconds: number(&row["seconds"])?,
                lines: Vec::new(),
            });
        }
    }
    Ok(runs)
}

impl Run {
    /// As a backend measures it; ended after so many seconds, if it was.
    fn measured(&self, limit: Option<f64>) -> Measurement {
        let (sought, time) = (Sought::default(), limit.unwrap_or(self.seconds));
        let mut reader = OutputReader::new(&sought);
        for (at, line) in self.lines.iter().filter(|line| line.0 <= time) {
            reader.read(Seconds(*at), format!("{line}\n").as_bytes());
        }
        let printed = [reader.finish(), Printed::default()];
        let figures =
            PrintedFigures::of_run(&sought, &[&printed], limit.is_none(), Some(Seconds(time)));
        let outcome = limit.map_or(Outcome::Completed, |_| Outcome::TimedOut);
        Measurement {
            training_seconds: Some(Seconds(time)),
            progress: figures.progress,
            ..Measurement::without_figures("job".to_owned(), local(), Fraction(self.share), outcome)
        }
    }
}

/// A full run, and what was forecast of it.
struct Case {
    is_judge: bool,
    /// One over the full runs of the job.
    weight: f64,
    /// By small canaries, and by progress: ln(forecast / seconds), upper / lower, and whether the interval holds it.
    found: [Option<(f64, f64, bool)>; 2],
}

impl Case {
    fn of_job(file: &Path, runs: &[Run]) -> Vec<Self> {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let canary = |share: f64| {
            let run = runs.iter().find(|run| run.share == share);
            run.map(|run| run.measured(None))
        };
        let [Some(smallest), Some(tenth), Some(fifth)] = [0.01, 0.1, 0.2].map(canary) else {
            return Vec::new();
        };
        let first = (smallest.progress.as_ref()).map_or(0.0, |progress| progress.points[0].0.0);
        let full: Vec<&Run> = runs.iter().filter(|run| run.share == 1.0).collect();
        let cases = full.iter().map(|run| {
            let ended = run.measured(Some(first + REACH * (run.seconds - first)));
            let said = ended.progress.as_ref().map_or(String::new(), |progress| {
                format!("{} {:?}", progress.format, progress.doubts)
            });
            let small = forecast_of(provisional, &[smallest.clone(), fifth.clone()]);
            let by = forecast_of(forecast, &[smallest.clone(), tenth.clone(), ended]);
            let scored = |forecast: &Forecast| {
                let time = forecast[Metric::Time].as_ref().ok()?;
                Some(score(time, run.seconds))
            };
            let found = [scored(&small), scored(&by).filter(|_| by.by_laws.is_some())];
            let doubt = by.doubt(Metric::Time).is_some();
            let columns = found.map(|found| {
                found.map_or(format!("{:>24}", "-"), |(error, ratio, is_held)| {
                    format!(
                        "{error:>10.2}{ratio:>7.2}{:>7}",
                        if is_held { "held" } else { "" }
                    )
                })
            });
            let mark = if doubt { "?" } else { " " };
            println!(
                "{name:22}{:>8.1}{}{mark} {said}",
                run.seconds,
                columns.concat()
            );
            Self {
                is_judge: JUDGE.iter().any(|judge| name.starts_with(judge)),
                weight: 1.0 / f64::from(u32::try_from(full.len()).unwrap_or(u32::MAX)),
                found,
            }
        });
        cases.collect()
    }
}

fn forecast_of(made: fn(&Basis) -> Forecast, measurements: &[Measurement]) -> Forecast {
    made(&Basis {
        offer: &Offer::of(&local(), &|_| None, &|_| None),
        measurements,
    })
}

fn local() -> InstanceConfiguration {
    InstanceConfiguration::one(InstanceType::local())
}

fn score(time: &Predictive, seconds: f64) -> (f64, f64, bool) {
    let [lower, upper] = [0.05, 0.95].map(|p| time.quantile(p));
    let is_held = lower <= seconds && seconds <= upper;
    ((time.median() / seconds).ln(), upper / lower, is_held)
}

fn sums(name: &str, cases: &[&Case]) -> String {
    let jobs: f64 = cases.iter().map(|case| case.weight).sum();
    let columns = ["small", "progress"].iter().zip([0, 1]).map(|(method, column)| {
        let found = cases.iter().filter_map(|case| Some((case.weight, case.found[column]?)));
        let found: Vec<_> = found.collect();
        let answered: f64 = found.iter().map(|(weight, _)| weight).sum();
        let mean = |of: fn(&(f64, f64, bool)) -> f64| {
            let sum: f64 = found.iter().map(|(weight, found)| weight * of(found)).sum();
            sum / answered
        };
        let middle = |of: fn(&(f64, f64, bool)) -> f64| {
            let mut all: Vec<f64> = found.iter().map(|(_, found)| of(found)).collect();
            all.sort_by(f64::total_cmp);
            let half = all.len() / 2;
            (all.get(half).zip(all.get(all.len().saturating_sub(1) / 2)))
                .map_or(f64::NAN, |(high, low)| f64::midpoint(*high, *low))
        };
        let size = |found: &(f64, f64, bool)| found.0.abs();
        let worst = found.iter().map(|(_, found)| size(found)).fold(0.0, f64::max);
        format!(
            "{name:6} {method:10}{answered:4.0} of {jobs:2.0} jobs: median {:.2}, mean {:.2}, worst {worst:.2}, held {:.0}%, upper / lower {:.2}",
            middle(size),
            mean(size),
            100.0 * mean(|found| f64::from(u8::from(found.2))),
            middle(|found| found.1),
        )
    });
    columns.collect::<Vec<_>>().join("\n")
}
