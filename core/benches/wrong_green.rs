//! How often the verdict on the time is wrong, on simulated jobs whose truth is known.
//!
//! `cargo bench --bench wrong_green [-- TRUTHS]` runs the gate's own default design on laws of six families, with a fixed part of
//! 1, 10 and 30 % and noise of 1, 3 and 10 %, and prints a row for each law and one for each family:
//!
//! - **green over**: the share of verdicts *within* where the limit is .5, .65, .8 and .95 of the truth;
//! - **red at 1.3**: the share *exceeded* where the limit is 1.3 times the truth;
//! - **green at 1.3, 2 and 3**: the share *within* where it is so many times the truth;
//! - **spent**: the canaries' seconds at 1.3 times, in parts of the full run.
//!
//! A cell of fixed part and noise has TRUTHS jobs (1 unless given) for each limit. The seed is fixed. Every law is as frequent as any
//! other here, which real ones are not. It asserts nothing.

#[path = "wrong_green/law.rs"]
mod law;
#[expect(dead_code, reason = "shared with benches that draw more")]
#[path = "coverage/random.rs"]
mod random;
#[path = "coverage/simulated.rs"]
mod simulated;

use std::env;
use std::process::ExitCode;

use canary_gate_core::forecast::{Basis, forecast, provisional};
use canary_gate_core::instance::{InstanceConfiguration, InstanceType, Offer};
use canary_gate_core::measurement::Measurement;
use canary_gate_core::metric::{Amount, Metric};
use canary_gate_core::plan::{
    LadderSize, RoundRule, RoundRun, Rung, Situation, aim, has_enough, next_round,
};
use canary_gate_core::spec::{Bound, Budget, BudgetLine, CanaryPolicy, Design, Level, LineOrigin};
use canary_gate_core::units::{Bytes, Fraction, Seconds};
use canary_gate_core::verdict::{LineVerdict, judge};

use law::{FAMILIES, Family, Law};
use random::Random;
use simulated::measured;

const USAGE: &str = "usage: cargo bench --bench wrong_green [-- TRUTHS]
  TRUTHS  jobs for each law, limit, fixed part and noise; 1 unless given";

const SEED: u64 = 1;
/// The part of a full run that is there without any data.
const FIXED_PARTS: [f64; 3] = [0.01, 0.1, 0.3];
/// The standard deviation of ln y from run to run.
const NOISES: [f64; 3] = [0.01, 0.03, 0.1];
/// In parts of the truth.
const TOO_SMALL: [f64; 4] = [0.5, 0.65, 0.8, 0.95];
const LARGE_ENOUGH: [f64; 3] = [1.3, 2.0, 3.0];
/// Of a full run without noise, in seconds.
const FULL: f64 = 1000.0;

fn main() -> ExitCode {
    let words: Vec<String> = env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let truths = match words.as_slice() {
        [] => Some(1),
        [word] => word.parse().ok().filter(|truths| *truths > 0),
        _ => None,
    };
    let Some(truths) = truths else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    println!(
        "{:<34}{:>10}{:>10}{:>26}{:>8}\n{:<34}{:>10}{:>10}{:>10}{:>8}{:>8}",
        "",
        "green",
        "red",
        "green",
        "spent",
        "family, law",
        "over",
        "at 1.3",
        "at 1.3",
        "at 2",
        "at 3"
    );
    for family in &FAMILIES {
        print!("{}", rows(family, truths));
    }
    ExitCode::SUCCESS
}

/// A row for each law, and that of the family.
fn rows(family: &Family, truths: u32) -> String {
    let laws: Vec<(&Law, Found)> = std::thread::scope(|scope| {
        let started: Vec<_> = (family.laws.iter())
            .map(|law| (law, scope.spawn(|| Found::of(law, truths))))
            .collect();
        (started.into_iter())
            .map(|(law, found)| (law, found.join().expect("a law's thread ends")))
            .collect()
    });
    let mut all = Found::default();
    for (_, found) in &laws {
        all.add(found);
    }
    let mut text = all.row(family.name);
    for (law, found) in &laws {
        text += &found.row(&format!("  {}", law.name));
    }
    text
}

/// How many verdicts were what.
#[derive(Debug, Clone, Copy, Default)]
struct Found {
    over: u32,
    green_over: u32,
    under: u32,
    red_under: u32,
    green_under: [u32; LARGE_ENOUGH.len()],
    spent: f64,
}

impl Found {
    fn of(law: &Law, truths: u32) -> Self {
        let mut random = Random(SEED);
        let mut found = Self::default();
        for fixed in FIXED_PARTS {
            for noise in NOISES {
                let job = Job { law, fixed, noise };
                for _ in 0..truths {
                    for part in TOO_SMALL {
                        let (verdict, _) = job.gated(part * FULL, &mut random);
                        found.over += 1;
                        found.green_over += u32::from(verdict == LineVerdict::Within);
                    }
                    let large = LARGE_ENOUGH.map(|times| job.gated(times * FULL, &mut random));
                    let (verdict, spent) = large[0];
                    found.under += 1;
                    found.red_under += u32::from(verdict == LineVerdict::Exceeded);
                    found.spent += spent / FULL;
                    for (green, (verdict, _)) in found.green_under.iter_mut().zip(large) {
                        *green += u32::from(verdict == LineVerdict::Within);
                    }
                }
            }
        }
        found
    }

    fn add(&mut self, other: &Self) {
        self.over += other.over;
        self.green_over += other.green_over;
        self.under += other.under;
        self.red_under += other.red_under;
        for (green, others) in self.green_under.iter_mut().zip(other.green_under) {
            *green += others;
        }
        self.spent += other.spent;
    }

    fn row(&self, name: &str) -> String {
        let percent = |part: u32, of: u32| 100.0 * f64::from(part) / f64::from(of);
        let [little, twice, thrice] = self.green_under.map(|green| percent(green, self.under));
        format!(
            "{name:<34}{:>9.1}%{:>9.1}%{little:>9.1}%{twice:>7.1}%{thrice:>7.1}%{:>8.2}\n",
            percent(self.green_over, self.over),
            percent(self.red_under, self.under),
            self.spent / f64::from(self.under),
        )
    }
}

/// A job whose truth is known.
#[derive(Clone, Copy)]
struct Job<'a> {
    law: &'a Law,
    fixed: f64,
    noise: f64,
}

impl Job<'_> {
    /// The seconds of one run of `share` of the data.
    fn run(&self, share: f64, random: &mut Random) -> f64 {
        let expected = (self.law.time)(self.fixed, share) / (self.law.time)(self.fixed, 1.0);
        FULL * expected * (self.noise * random.normal()).exp()
    }

    /// The verdict of the gate's default design on a time of at most `limit` seconds, and the seconds of its canaries.
    fn gated(&self, limit: f64, random: &mut Random) -> (LineVerdict, f64) {
        let offer = Offer::unknown(&InstanceConfiguration::one(InstanceType::local()));
        let budget = at_most(limit);
        let rungs = Design::LADDER.map(Fraction).map(|fraction| Rung {
            size: LadderSize {
                fraction,
                objects: 1,
                bytes: Bytes(1),
                share: fraction.0,
            },
            work: 1.0,
            supply: None,
        });
        let mut measurements: Vec<Measurement> = Vec::new();
        let mut spent = 0.0;
        let found = |measurements: &[Measurement]| {
            provisional(&Basis {
                offer: &offer,
                measurements,
            })
        };
        let aim_after = |runs: &[Measurement]| aim(&budget, &offer, runs, &found(runs));
        loop {
            let so_far = found(&measurements);
            let is_in_doubt = has_enough(&measurements) && so_far.is_in_doubt();
            let situation = Situation {
                ladder: &rungs,
                measurements: &measurements,
                budget: None,
                spent: Seconds(spent),
                max_runtime: Seconds(f64::INFINITY),
                shortest: None,
                aim: aim(&budget, &offer, &measurements, &so_far),
                doubt: is_in_doubt.then_some(Seconds(limit)),
                share: CanaryPolicy::DEFAULT_MAX_SHARE,
            };
            let rule = RoundRule {
                at_once: 1,
                beside: Seconds(0.0),
                aim_after: &aim_after,
                shortest_after: &|_| None,
            };
            let Ok(round) = next_round(&situation, &rule) else {
                break;
            };
            for RoundRun { rung, .. } in round {
                let seconds = self.run(rung.size.share, random);
                spent += seconds;
                measurements.push(measured(rung.size.share, measurements.len(), seconds));
            }
        }
        let forecast = forecast(&Basis {
            offer: &offer,
            measurements: &measurements,
        });
        let verdict = judge(&budget, &forecast, &offer, None)[0].row.verdict;
        (verdict, spent)
    }
}

/// A budget of one line.
fn at_most(seconds: f64) -> Budget {
    Budget {
        lines: vec![BudgetLine {
            kind: Metric::Time.into(),
            bound: Bound::Max,
            limit: Amount::from(Seconds(seconds)),
            level: Level::Fail,
            at_least: None,
            origin: LineOrigin::Written,
            overridden: None,
        }],
        ..Budget::unwritten()
    }
}
