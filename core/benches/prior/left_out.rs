//! The constants of `prior` on workloads they were not chosen on: each of the measured ones is forecast with the constants
//! whose intervals score best on all others.
//!

use std::collections::HashMap;
use std::fmt::Write as _;

use canary_gate_core::forecast::trial::{self, Prior, Runs};
use canary_gate_core::forecast::{Estimate, Predictive};
use canary_gate_core::measurement::Measurement;
use canary_gate_core::units::{Fraction, Seconds};

use crate::comparison::adaptive::{Spending, adaptive};
use crate::comparison::score::{Scored, largest, mean, median};
use crate::comparison::workload::{self, Workload};

const MEASURED: &str = include_str!("../../../tests/data/training-runs.csv");

/// Kinds of canaries; the first two are shown.
const DESIGNS: [&str; 5] = [
    "adaptive",
    "nine at 1-3%",
    "adaptive, 0.7 times the seconds",
    "adaptive, 1.4 times the seconds",
    "adaptive, twice the seconds",
];
const SHOWN_DESIGNS: usize = 2;
/// The designs whose scores choose the constants. One budget alone says little: a few seconds more or less are other canaries.
pub(crate) const CHOOSING_DESIGNS: [usize; 4] = [0, 2, 3, 4];

/// One workload: the canaries of each design, and the full runs.
pub(crate) struct LeftOutWorkload {
    /// It is left out together with all others of its name.
    pub(crate) name: String,
    designs: [Vec<Measurement>; DESIGNS.len()],
    full: Vec<Measurement>,
}

pub(crate) fn cases() -> Vec<LeftOutWorkload> {
    let recorded = workload::read(MEASURED).expect("recorded workloads can be forecast");
    recorded.workloads.iter().map(LeftOutWorkload::of).collect()
}

fn measurements(runs: &[workload::Run]) -> Vec<Measurement> {
    runs.iter().map(|run| run.measurement.clone()).collect()
}

impl LeftOutWorkload {
    fn of(workload: &Workload) -> Self {
        let seconds = workload.canary_seconds();
        let adaptive = |times: f64| {
            let all = Spending::All(Seconds(times * seconds));
            adaptive(workload, all, 1).canaries
        };
        Self {
            name: workload.name.clone(),
            designs: [
                adaptive(1.0),
                measurements(&workload.canaries),
                adaptive(0.7),
                adaptive(1.4),
                adaptive(2.0),
            ],
            full: measurements(&workload.full),
        }
    }

    /// One of a single design.
    pub(crate) fn once(name: String, canaries: Vec<Measurement>, full: Vec<Measurement>) -> Self {
        let mut designs: [Vec<Measurement>; DESIGNS.len()] = Default::default();
        designs[0] = canaries;
        Self {
            name,
            designs,
            full,
        }
    }

    /// `None` if too few of the canaries completed, which no prior changes.
    fn forecast(&self, design: usize, subject: &Subject, prior: &Prior) -> Option<Predictive> {
        (subject.forecast)(&self.designs[design], prior)
    }

    pub(crate) fn fit(&self, design: usize, subject: &Subject, prior: &Prior) -> Option<Fit> {
        let predictive = self.forecast(design, subject, prior)?;
        let values: Vec<f64> = self.full.iter().filter_map(subject.value).collect();
        let densities: Vec<f64> = values
            .iter()
            .map(|value| log_density(&predictive, *value))
            .collect();
        let estimate = Estimate::of(&predictive, Fraction(0.95));
        Some(Fit {
            is_above: median(&values) > estimate.upper,
            // The mean: the full runs are of one machine and not independent.
            log_density: mean(&densities),
            scored: Scored::of(&estimate, &values),
        })
    }
}

/// One forecast held against the full runs.
pub(crate) struct Fit {
    /// Whether the median of the full runs is above the interval.
    pub(crate) is_above: bool,
    pub(crate) log_density: f64,
    pub(crate) scored: Scored,
}

/// Of ln y at `value`, from the distribution function on both sides of it.
fn log_density(predictive: &Predictive, value: f64) -> f64 {
    const STEP: f64 = 1e-3;
    let (low, high) = (value * (-STEP).exp(), value * STEP.exp());
    // The smaller tail has the digits.
    let between = if value < predictive.median() {
        predictive.chance_below(high) - predictive.chance_below(low)
    } else {
        predictive.chance_above(low) - predictive.chance_above(high)
    };
    (between / (2.0 * STEP)).max(f64::MIN_POSITIVE).ln()
}

/// For each case, in parallel: this is most of the tests' time.
pub(crate) fn of_each<T: Send>(
    cases: &[LeftOutWorkload],
    figure: impl Fn(&LeftOutWorkload) -> T + Sync,
) -> Vec<T> {
    let figure = &figure;
    std::thread::scope(|scope| {
        let start = |case| scope.spawn(move || figure(case));
        let threads: Vec<_> = cases.iter().map(start).collect();
        let results = threads
            .into_iter()
            .map(|thread| thread.join().expect("recorded workloads can be forecast"));
        results.collect()
    })
}

/// What is forecast.
pub(crate) struct Subject {
    pub(crate) name: &'static str,
    pub(crate) shipped: Prior,
    /// What is tried in place of the constants of [`CONSTANTS`].
    levels: [[f64; 3]; CONSTANTS.len()],
    value: fn(&Measurement) -> Option<f64>,
    forecast: fn(&[Measurement], &Prior) -> Option<Predictive>,
}

type Constant = (&'static str, fn(&mut Prior) -> &mut f64);

const CONSTANTS: [Constant; 4] = [
    ("noise", |prior| &mut prior.noise),
    ("freedom", |prior| &mut prior.noise_degrees_of_freedom),
    ("fixed", |prior| &mut prior.fixed_logit_deviation),
    ("drift", |prior| &mut prior.exponent_drift),
];

/// The fifth constant, one for time and memory: the weight of growth that stops at a cap, as a multiple of the shipped one. Few
/// workloads show it, and left out they would leave nobody to learn it from but those of the other quantity.
const CAPPED: [f64; 4] = [0.0, 0.3, 1.0, 2.0];

/// Which level of each constant, and of the weight of a cap.
type Levels = ([usize; CONSTANTS.len()], usize);

pub(crate) const TIME: Subject = Subject {
    name: "time",
    shipped: trial::TIME,
    levels: [
        [0.05, 0.06, 0.08],
        [6.0, 3.0, 2.0],
        [3.0, 2.5, 2.0],
        [0.08, 0.06, 0.11],
    ],
    value: seconds,
    forecast: time,
};

pub(crate) const MEMORY: Subject = Subject {
    name: "memory",
    shipped: trial::MEMORY,
    levels: [
        [0.015, 0.02, 0.01],
        [2.0, 3.0, 5.0],
        [3.0, 2.5, 2.0],
        [0.13, 0.1, 0.07],
    ],
    value: memory_bytes,
    forecast: memory,
};

fn seconds(run: &Measurement) -> Option<f64> {
    Some(run.time()?.0)
}

fn memory_bytes(run: &Measurement) -> Option<f64> {
    Some(run.usage.memory.as_ref()?.bytes?.as_f64())
}

/// The time of the full run; `None` where too few canaries completed.
fn time(canaries: &[Measurement], prior: &Prior) -> Option<Predictive> {
    let runs = Runs::choose(canaries);
    let posterior = runs.weigh("it", prior, seconds).ok()?;
    let bounded = posterior.given_at_least(&runs.lower_bounds());
    Some(bounded.predict_at(1.0, 1.0))
}

/// The memory of the full run, in bytes; `None` where too few canaries completed.
fn memory(canaries: &[Measurement], prior: &Prior) -> Option<Predictive> {
    let posterior = Runs::choose(canaries).weigh("it", prior, memory_bytes);
    Some(posterior.ok()?.predict_at(1.0, 1.0))
}

impl Subject {
    fn prior(&self, (levels, capped): Levels) -> Prior {
        let mut prior = self.shipped;
        prior.laws.capped *= CAPPED[capped];
        for (((_, constant), of_constant), level) in CONSTANTS.iter().zip(self.levels).zip(levels) {
            *constant(&mut prior) = of_constant[level];
        }
        prior
    }
}

/// The interval scores of one subject, computed when asked for.
struct Scores<'a> {
    cases: &'a [LeftOutWorkload],
    subject: &'a Subject,
    known: HashMap<Levels, Vec<f64>>,
}

impl Scores<'_> {
    /// The sum over the cases other than `left_out`, and over the designs that choose.
    fn of_others(&mut self, levels: Levels, left_out: &str) -> f64 {
        let (cases, subject) = (self.cases, self.subject);
        let scores = self.known.entry(levels).or_insert_with(|| {
            let prior = subject.prior(levels);
            of_each(cases, |case| {
                let fits = CHOOSING_DESIGNS.map(|design| case.fit(design, subject, &prior));
                let scores = fits.iter().flatten().map(|fit| fit.scored.mean_score());
                scores.sum()
            })
        });
        let others = (scores.iter().zip(cases)).filter(|(_, case)| case.name != left_out);
        others.map(|(score, _)| score).sum()
    }

    /// From the first level of each constant, one constant at a time to its best level until none is better; and its score.
    fn descend(&mut self, capped: usize, left_out: &str) -> ([usize; CONSTANTS.len()], f64) {
        let mut best = [0; CONSTANTS.len()];
        let mut least = self.of_others((best, capped), left_out);
        loop {
            let before = least;
            for constant in 0..CONSTANTS.len() {
                for level in 0..self.subject.levels[constant].len() {
                    let mut other = best;
                    other[constant] = level;
                    let score = self.of_others((other, capped), left_out);
                    if score < least {
                        (best, least) = (other, score);
                    }
                }
            }
            if least == before {
                return (best, least);
            }
        }
    }
}

/// The constants of time and memory that score best on the cases other than `left_out`.
fn best(scores: &mut [Scores; 2], left_out: &str) -> [Levels; 2] {
    let tried = (0..CAPPED.len()).map(|capped| {
        let found = scores.each_mut().map(|of| of.descend(capped, left_out));
        let total: f64 = found.iter().map(|(_, score)| score).sum();
        (total, found.map(|(levels, _)| (levels, capped)))
    });
    let best = tried.min_by(|(a, _), (b, _)| a.total_cmp(b));
    best.expect("recorded workloads can be forecast").1
}

/// The priors of time and memory for each case, with the constants that score best on all others.
pub(crate) fn left_out_priors(
    cases: &[LeftOutWorkload],
    subjects: [&Subject; 2],
) -> [Vec<Prior>; 2] {
    let mut scores = subjects.map(|subject| Scores {
        cases,
        subject,
        known: HashMap::new(),
    });
    let mut chosen: HashMap<&str, [Levels; 2]> = HashMap::new();
    for LeftOutWorkload { name, .. } in cases {
        (chosen.entry(name)).or_insert_with(|| best(&mut scores, name));
    }
    std::array::from_fn(|index| {
        let of_case =
            |case: &LeftOutWorkload| subjects[index].prior(chosen[case.name.as_str()][index]);
        cases.iter().map(of_case).collect()
    })
}

/// The figures of one method over the workloads.
struct Sum {
    median: f64,
    mean: f64,
    max: f64,
    coverage: f64,
    ratio: f64,
    score: f64,
}

impl Sum {
    fn of(scored: &[Scored]) -> Self {
        let errors: Vec<f64> = scored.iter().map(|one| one.log_error.abs()).collect();
        let ratios: Vec<f64> = scored.iter().map(|one| one.ratio).collect();
        let scores: Vec<f64> = scored.iter().map(Scored::mean_score).collect();
        let inside: usize = scored.iter().map(|one| one.inside).sum();
        let runs: usize = scored.iter().map(|one| one.scores.len()).sum();
        Self {
            median: median(&errors),
            mean: mean(&errors),
            max: largest(&errors),
            coverage: float(inside) / float(runs),
            ratio: median(&ratios),
            score: mean(&scores),
        }
    }

    fn text(&self) -> String {
        format!(
            "{:>6.3} {:>6.3} {:>6.3} {:>6.0}% {:>6.2} {:>6.2}",
            self.median,
            self.mean,
            self.max,
            100.0 * self.coverage,
            self.ratio,
            self.score
        )
    }
}

fn shown(scored: &Scored) -> String {
    format!(
        " | {:>+6.2} {}/{} {:>7.2} {:>6.2}",
        scored.log_error,
        scored.inside,
        scored.scores.len(),
        scored.ratio,
        scored.mean_score()
    )
}

fn constants(prior: &Prior) -> String {
    let mut prior = *prior;
    let mut text = format!("{:>6.3}", prior.laws.capped);
    for (_, constant) in CONSTANTS {
        let _ = write!(text, " {:>7.3}", constant(&mut prior));
    }
    text
}

/// The table of one subject, `priors` being those for each case; and the sums over the shown designs.
fn table(
    cases: &[LeftOutWorkload],
    subject: &Subject,
    priors: &[Prior],
) -> (String, [Sum; SHOWN_DESIGNS]) {
    let names: String = CONSTANTS
        .iter()
        .map(|(name, _)| format!(" {name:>7}"))
        .collect();
    let mut text = format!(
        "\n{}, each forecast with the constants of the others: error, inside, upper/lower, score\n\n{:<16} {:>6}{names} | {:<25} | {}\n",
        subject.name, "left out", "capped", DESIGNS[0], DESIGNS[1]
    );
    let mut all: [Vec<Scored>; SHOWN_DESIGNS] = Default::default();
    for (case, prior) in cases.iter().zip(priors) {
        let _ = write!(text, "{:<16} {}", case.name, constants(prior));
        for (design, all) in all.iter_mut().enumerate() {
            let scored = case
                .fit(design, subject, prior)
                .expect("recorded workloads can be forecast")
                .scored;
            text.push_str(&shown(&scored));
            all.push(scored);
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{:<16} {}", "(shipped)", constants(&subject.shipped));
    (text, all.map(|scored| Sum::of(&scored)))
}

/// The sums over the shown designs.
fn sums(cases: &[LeftOutWorkload], subject: &Subject, prior: &Prior) -> [Sum; SHOWN_DESIGNS] {
    let fits = of_each(cases, |case| {
        std::array::from_fn::<_, SHOWN_DESIGNS, _>(|design| {
            case.fit(design, subject, prior)
                .expect("recorded workloads can be forecast")
                .scored
        })
    });
    std::array::from_fn(|design| {
        let scored: Vec<Scored> = fits.iter().map(|fit| fit[design].clone()).collect();
        Sum::of(&scored)
    })
}

/// The adaptive design at its four budgets, with the shipped constants: the sums, and whether forecasts lean to one side: the
/// error with its sign, for each workload the mean, and the workload with the largest left out.
fn at_four_budgets(cases: &[LeftOutWorkload], subject: &Subject) -> String {
    let scored: Vec<Vec<Scored>> = of_each(cases, |case| {
        let fits = CHOOSING_DESIGNS.map(|design| case.fit(design, subject, &subject.shipped));
        fits.into_iter().flatten().map(|fit| fit.scored).collect()
    });
    let signed =
        |scored: &Vec<Scored>| mean(&scored.iter().map(|one| one.log_error).collect::<Vec<_>>());
    let mut errors: Vec<(f64, &str)> = scored
        .iter()
        .map(signed)
        .zip(cases.iter().map(|case| case.name.as_str()))
        .collect();
    errors.sort_by(|(a, _), (b, _)| a.abs().total_cmp(&b.abs()));
    let (_, largest) = errors.pop().expect("recorded workloads can be forecast");
    let others: Vec<f64> = errors.iter().map(|(error, _)| *error).collect();
    let middle = mean(&others);
    let squares: f64 = others.iter().map(|error| (error - middle).powi(2)).sum();
    let count = float(others.len());
    let standard_error = (squares / (count - 1.0) / count).sqrt();
    let low = others.iter().filter(|error| **error < 0.0).count();
    let all = scored.concat();
    format!(
        "{:<29} {}   {} of {} forecast\n\nerror with its sign without {largest}: {middle:+.3} +- {standard_error:.3}, low in {low} of {count}\n",
        "at four budgets    shipped",
        Sum::of(&all).text(),
        all.len(),
        CHOOSING_DESIGNS.len() * cases.len()
    )
}

pub(crate) fn each_workload_by_what_the_others_teach() {
    let cases = cases();
    let priors = left_out_priors(&cases, [&TIME, &MEMORY]);
    for ((subject, most), priors) in [(&TIME, 1.3), (&MEMORY, 0.8)].into_iter().zip(priors) {
        let (mut text, left_out) = table(&cases, subject, &priors);
        let _ = writeln!(
            text,
            "\n{:<29} {:>6} {:>6} {:>6} {:>7} {:>6} {:>6}",
            "", "median", "mean", "max", "inside", "u/l", "score"
        );
        let shipped = sums(&cases, subject, &subject.shipped);
        for design in 0..SHOWN_DESIGNS {
            for (name, sums) in [("shipped", &shipped), ("left out", &left_out)] {
                let _ = writeln!(
                    text,
                    "{:<18} {name:<10} {}",
                    DESIGNS[design],
                    sums[design].text()
                );
            }
        }
        text.push_str(&at_four_budgets(&cases, subject));
        println!("{text}");
        assert!(
            left_out[0].score <= most && left_out[0].coverage >= 0.85,
            "{text}"
        );
    }
}

#[expect(clippy::cast_precision_loss, reason = "some hundred runs")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}
