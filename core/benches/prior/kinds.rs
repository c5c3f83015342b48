//! Whether each kind of law earns its place in the family: the forecasts without it, with the shipped constants and with those
//! that the other workloads choose once it is gone.

use std::fmt::Write as _;

use canary_gate_core::forecast::trial::{FamilyWeights, Prior};

use crate::comparison::score::mean;
use crate::left_out::{
    CHOOSING_DESIGNS, Fit, LeftOutWorkload, MEMORY, Subject, TIME, cases, left_out_priors, of_each,
};

type Kind = (&'static str, fn(&mut FamilyWeights) -> &mut f64);

const KINDS: [Kind; 7] = [
    ("near linear", |laws| &mut laws.near_linear),
    ("power", |laws| &mut laws.power),
    ("linear-quadratic", |laws| &mut laws.linear_quadratic),
    ("plateau", |laws| &mut laws.plateau),
    ("hinge", |laws| &mut laws.hinge),
    ("constant", |laws| &mut laws.constant),
    ("capped", |laws| &mut laws.capped),
];

/// The nine canaries of 1-3 %, among the designs.
const NINE: usize = 1;
/// A smaller change of a workload's mean score is none.
const NO_CHANGE: f64 = 0.005;

/// How one workload is forecast.
#[derive(Clone, Copy)]
struct Figures {
    /// Means over the adaptive design's four budgets.
    log_density: f64,
    error: f64,
    score: f64,
    score_of_nine: f64,
}

impl Figures {
    fn of(case: &LeftOutWorkload, subject: &Subject, prior: &Prior) -> Self {
        let fits = CHOOSING_DESIGNS.map(|design| case.fit(design, subject, prior));
        let over =
            |figure: fn(&Fit) -> f64| mean(&fits.iter().flatten().map(figure).collect::<Vec<_>>());
        let nine = case
            .fit(NINE, subject, prior)
            .expect("recorded workloads can be forecast");
        Self {
            log_density: over(|fit| fit.log_density),
            error: over(|fit| fit.scored.log_error.abs()),
            score: over(|fit| fit.scored.mean_score()),
            score_of_nine: nine.scored.mean_score(),
        }
    }

    fn of_all(cases: &[LeftOutWorkload], subject: &Subject, priors: &[Prior]) -> Vec<Self> {
        of_each(cases, |case| {
            let at = cases.iter().position(|other| std::ptr::eq(other, case));
            Self::of(
                case,
                subject,
                &priors[at.expect("recorded workloads can be forecast")],
            )
        })
    }
}

/// The mean changes, in how many workloads the score is better and worse, the workload whose score changes most, and the
/// mean change of the score over the others.
fn changes(cases: &[LeftOutWorkload], with: &[Figures], without: &[Figures]) -> String {
    let of = |figure: fn(&Figures) -> f64| -> Vec<f64> {
        let pairs = without.iter().zip(with);
        pairs.map(|(new, old)| figure(new) - figure(old)).collect()
    };
    let scores = of(|one| one.score);
    let better = scores.iter().filter(|change| **change < -NO_CHANGE).count();
    let worse = scores.iter().filter(|change| **change > NO_CHANGE).count();
    let most = (0..scores.len()).max_by(|a, b| scores[*a].abs().total_cmp(&scores[*b].abs()));
    let most = most.expect("recorded workloads can be forecast");
    let others: Vec<f64> = (0..scores.len())
        .filter(|one| *one != most)
        .map(|one| scores[one])
        .collect();
    format!(
        "{:>+8.3} {:>+7.3} {:>+7.3} {:>+7.3} | {better:>6} {worse:>5} | {:>+7.3} {} ({:+.2})",
        mean(&of(|one| one.log_density)),
        mean(&of(|one| one.error)),
        mean(&scores),
        mean(&of(|one| one.score_of_nine)),
        mean(&others),
        cases[most].name,
        scores[most]
    )
}

fn density(figures: &[Figures]) -> f64 {
    mean(
        &figures
            .iter()
            .map(|one| one.log_density)
            .collect::<Vec<_>>(),
    )
}

/// Both subjects without a kind; without any but the line for `None`.
fn without(kind: Option<Kind>) -> [Subject; 2] {
    [TIME, MEMORY].map(|mut subject| {
        for (name, weight) in KINDS {
            if kind.is_none_or(|(removed, _)| removed == name) {
                *weight(&mut subject.shipped.laws) = 0.0;
            }
        }
        subject
    })
}

pub(crate) fn the_family_beside_a_line() {
    let cases = cases();
    let in_sample = |subjects: [&Subject; 2]| -> [Vec<Figures>; 2] {
        subjects.map(|subject| {
            let priors = vec![subject.shipped; cases.len()];
            Figures::of_all(&cases, subject, &priors)
        })
    };
    let left_out = |subjects: [&Subject; 2]| -> [Vec<Figures>; 2] {
        let priors = left_out_priors(&cases, subjects);
        std::array::from_fn(|index| Figures::of_all(&cases, subjects[index], &priors[index]))
    };
    let (shipped, others) = (in_sample([&TIME, &MEMORY]), left_out([&TIME, &MEMORY]));
    let mut tables = [TIME.name, MEMORY.name].map(|name| {
        format!(
            "\n{name:<27}{:>8} {:>7} {:>7} {:>7} | better worse | score but for",
            "density", "error", "score", "nine"
        )
    });
    let kinds = KINDS.into_iter().map(Some).chain([None]);
    let mut line = [0.0; 2];
    for kind in kinds {
        let subjects = without(kind);
        let subjects = subjects.each_ref();
        let (sample, out) = (in_sample(subjects), left_out(subjects));
        let name = kind.map_or("all of them", |(name, _)| name);
        for index in 0..2 {
            let of_sample = changes(&cases, &shipped[index], &sample[index]);
            let of_others = changes(&cases, &others[index], &out[index]);
            let _ = write!(
                tables[index],
                "\n{name:<17}in sample {of_sample}\n{:<17}left out  {of_others}",
                ""
            );
            line[index] = density(&sample[index]) - density(&shipped[index]);
        }
    }
    println!("{}\n{}", tables[0], tables[1]);
    // Of the last, the line alone. A mean of 0.1 over 28 workloads is a factor of 16 in their likelihood.
    assert!(line.iter().all(|change| *change < -0.2), "{line:?}");
}
