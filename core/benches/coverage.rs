//! How often the interval of the time holds, and how far off its point lies, on simulated jobs whose truth is known.
//!
//! `cargo bench --bench coverage [-- TRUTHS]` prints two tables. The first has a row for each law: those of the forecast's
//! family, and others. The second has one for each fixed part and noise of the linear law. For each of three designs:
//!
//! - **in**: the share of new full runs inside the 90 % interval;
//! - **error**: the median of |ln(forecast / the full run without noise)|;
//! - **u/l**: the median of upper over lower end;
//! - **?**: the share of forecasts that growth which no canary could show may leave far behind;
//! - **narrow**: the same as **in** of the forecasts at which the gate's own design stops, those with u/l of at most 1.5.
//!
//! A row of the first table pools TRUTHS (20 unless given) forecasts for each of three fixed parts and three noises, one
//! of the second has as many; each is held against 20 new full runs. The seed is fixed. Every law is as frequent as any
//! other here, which real ones are not, and nothing drifts. So the tables show where the interval is too sure and where it
//! is cautious. It asserts nothing.

#[path = "coverage/law.rs"]
mod law;
#[path = "coverage/random.rs"]
mod random;
#[path = "coverage/simulated.rs"]
mod simulated;

use std::env;
use std::process::ExitCode;

use canary_gate_core::forecast::{Basis, Forecast, forecast};
use canary_gate_core::instance::{InstanceConfiguration, InstanceType, Offer};
use canary_gate_core::measurement::Measurement;
use canary_gate_core::metric::Metric;
use canary_gate_core::plan::NARROW;

use law::{LAWS, Law};
use random::Random;
use simulated::measured;

const USAGE: &str = "usage: cargo bench --bench coverage [-- TRUTHS]
  TRUTHS  forecasts for each law, design, fixed part and noise; 20 unless given";

const TRUTHS: u32 = 20;
const NEW_RUNS: u32 = 20;
const SEED: u64 = 1;

/// Percent of the data, in the order of the runs.
const DESIGNS: [(&str, &[u8]); 3] = [
    ("1, 2, 3% three times", &[1, 1, 1, 2, 2, 2, 3, 3, 3]),
    ("1, 10, 50, 20%", &[1, 10, 50, 20]),
    ("1, 5, 20, 10%", &[1, 5, 20, 10]),
];

/// The part of a full run that is there without any data.
const FIXED_PARTS: [f64; 3] = [0.02, 0.1, 0.4];
/// The standard deviation of ln y from run to run.
const NOISES: [f64; 3] = [0.02, 0.05, 0.1];

/// Of a full run without noise, in seconds.
const FULL: f64 = 1000.0;

fn main() -> ExitCode {
    match truths(env::args().skip(1)) {
        Ok(truths) => {
            print!("{}", report(truths));
            ExitCode::SUCCESS
        }
        Err(complaint) => {
            eprintln!("error: {complaint}\n{USAGE}");
            ExitCode::from(2)
        }
    }
}

fn truths(words: impl Iterator<Item = String>) -> Result<u32, String> {
    // Cargo adds a `--bench` of its own.
    let words: Vec<String> = words.filter(|word| word != "--bench").collect();
    match words.as_slice() {
        [] => Ok(TRUTHS),
        [word] => match word.parse() {
            Ok(truths) if truths > 0 => Ok(truths),
            _ => Err(format!("`{}` is not a number above 0", word.escape_debug())),
        },
        _ => Err("more than one argument".to_owned()),
    }
}

/// A job whose truth is known.
#[derive(Clone, Copy)]
struct Job {
    law: &'static Law,
    fixed: f64,
    noise: f64,
}

impl Job {
    /// The seconds of one run of `share` of the data.
    fn run(&self, share: f64, is_first: bool, random: &mut Random) -> f64 {
        let expected = self.fixed + (1.0 - self.fixed) * (self.law.growth)(share);
        let error = self.law.noise.draw(self.noise, share, is_first, random);
        FULL * expected * error.exp()
    }

    fn forecast(&self, design: &[u8], random: &mut Random) -> Forecast {
        let runs: Vec<Measurement> = design
            .iter()
            .enumerate()
            .map(|(index, percent)| {
                let seconds = self.run(f64::from(*percent) / 100.0, index == 0, random);
                measured(f64::from(*percent) / 100.0, index, seconds)
            })
            .collect();
        forecast(&Basis {
            offer: &Offer::unknown(&InstanceConfiguration::one(InstanceType::local())),
            measurements: &runs,
        })
    }
}

/// What the forecasts of one cell came to.
#[derive(Default)]
struct Found {
    inside: u32,
    runs: u32,
    narrow_inside: u32,
    narrow_runs: u32,
    doubted: u32,
    forecasts: u32,
    errors: Vec<f64>,
    ratios: Vec<f64>,
}

impl Found {
    fn add(&mut self, job: &Job, design: &[u8], random: &mut Random) {
        let forecast = job.forecast(design, random);
        let predictive = forecast[Metric::Time]
            .as_ref()
            .expect("every design has enough runs on enough sizes");
        self.forecasts += 1;
        self.doubted += u32::from(forecast.may_grow_faster());
        let (lower, upper) = (predictive.quantile(0.05), predictive.quantile(0.95));
        self.errors.push((predictive.median() / FULL).ln().abs());
        self.ratios.push(upper / lower);
        let narrow = u32::from(upper <= NARROW * lower);
        for _ in 0..NEW_RUNS {
            let run = job.run(1.0, false, random);
            let inside = u32::from((lower..=upper).contains(&run));
            self.inside += inside;
            self.narrow_inside += narrow * inside;
            self.narrow_runs += narrow;
            self.runs += 1;
        }
    }

    fn text(&mut self) -> String {
        format!(
            " | {:>4.0}% {:>6.3} {:>6.2} {:>4.0}% {:>6}",
            100.0 * f64::from(self.inside) / f64::from(self.runs),
            median(&mut self.errors),
            median(&mut self.ratios),
            100.0 * f64::from(self.doubted) / f64::from(self.forecasts),
            match self.narrow_runs {
                0 => "-".to_owned(),
                runs => format!(
                    "{:.0}%",
                    100.0 * f64::from(self.narrow_inside) / f64::from(runs)
                ),
            },
        )
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// One row: the same jobs under each design.
fn row(name: &str, jobs: &[Job], truths: u32) -> String {
    let cells: String = DESIGNS
        .iter()
        .map(|(_, design)| {
            let mut random = Random(SEED);
            let mut found = Found::default();
            for job in jobs {
                for _ in 0..truths {
                    found.add(job, design, &mut random);
                }
            }
            found.text()
        })
        .collect();
    format!("{name:<26}{cells}\n")
}

fn header(first: &str) -> String {
    let designs: String = DESIGNS
        .iter()
        .map(|(name, _)| format!(" | {name:<32}"))
        .collect();
    let columns = " |    in  error    u/l     ? narrow".repeat(DESIGNS.len());
    let header = format!("{:<26}{designs}\n{first:<26}{columns}\n", "");
    header
        .lines()
        .map(|line| format!("{}\n", line.trim_end()))
        .collect()
}

fn report(truths: u32) -> String {
    let mut text = header("law");
    for in_family in [true, false] {
        text += if in_family {
            "in the family\n"
        } else {
            "outside it\n"
        };
        for law in LAWS.iter().filter(|law| law.in_family == in_family) {
            let jobs: Vec<Job> = FIXED_PARTS
                .iter()
                .flat_map(|fixed| {
                    NOISES.map(|noise| Job {
                        law,
                        fixed: *fixed,
                        noise,
                    })
                })
                .collect();
            text += &row(&format!("  {}", law.name), &jobs, truths);
        }
    }
    text += &format!("\n{}", header("linear: fixed part, noise"));
    for fixed in FIXED_PARTS {
        for noise in NOISES {
            let jobs = [Job {
                law: &LAWS[0],
                fixed,
                noise,
            }];
            // As many forecasts as in a row of the first table.
            let truths = truths.saturating_mul(9);
            text += &row(&format!("  {fixed}, {noise}"), &jobs, truths);
        }
    }
    text
}
