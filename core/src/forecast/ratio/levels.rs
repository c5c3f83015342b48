//! The levels of many records under **one law**: a series for a control chart.

use super::super::Unknown;
use super::super::posterior::{
    Evidence, Observation, Prior, ResidualNoise, WeighedLaw, probable, robust, without_cold_parts,
};
use super::super::runs::Runs;
use super::sides::{Axis, Side};
use crate::measurement::Measurement;

/// The level of one record's full run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FullRunLevel {
    /// The logarithm of its billed time in seconds, with the record's own full data and work.
    pub ln_seconds: f64,
    /// The part of `ln_seconds` due to its full data and work under the common law; its differences between records are free of
    /// noise.
    pub ln_size: f64,
    /// Of `ln_seconds`, given the law: the noise of the record's own canaries, without the effect of day and machine.
    pub standard_error: f64,
}

/// The level of each record, with one law and one noise for all: if all canaries have the same sizes, uncertainty in the law
/// moves all levels alike and cancels between them. `None` for a record with too few completed runs for a law of its own.
///
/// Unknown if no record has enough.
pub fn levels(records: &[&[Measurement]]) -> Result<Vec<Option<FullRunLevel>>, Unknown> {
    let runs: Vec<Runs> = records.iter().map(|record| Runs::choose(record)).collect();
    let quantity = super::TIME;
    let alone = Axis::of(&[]);
    let is_enough = |runs: &&Runs| Side::of(runs, &alone, quantity).is_ok();
    let axis = Axis::of(&runs.iter().filter(is_enough).collect::<Vec<_>>());
    let sides = runs.iter().map(|runs| Side::of(runs, &axis, quantity));
    let sides: Vec<Result<Side, Unknown>> = sides.collect();
    let enough: Vec<&Side> = sides.iter().flatten().collect();
    if enough.is_empty() {
        let why = sides.into_iter().find_map(Result::err);
        return Err(why.unwrap_or_else(|| Unknown("there is no record".to_owned())));
    }
    let mut found = of_sides(&enough, quantity.prior).into_iter();
    let level = |side: &Result<Side, Unknown>| side.as_ref().ok().and_then(|_| found.next());
    Ok(sides.iter().map(level).collect())
}

fn of_sides(sides: &[&Side], prior: &Prior) -> Vec<FullRunLevel> {
    let runs = sides.iter().map(|side| side.observations.as_slice());
    let (series, _) = robust(
        &runs.collect::<Vec<_>>(),
        prior.noise,
        |records| SharedLaws::fit(records, prior),
        |laws, record, run| laws.mean(|law, centers| centers[record] + law.ln_relative_of(run)),
    );
    series.levels(sides)
}

/// The laws that all records may share.
struct SharedLaws {
    /// Each with ln S of every record.
    laws: Vec<(WeighedLaw, Vec<f64>)>,
    weights: Vec<f64>,
    noise: ResidualNoise,
}

impl SharedLaws {
    fn fit(groups: &[Vec<Observation>], prior: &Prior) -> Self {
        let slices: Vec<&[Observation]> = groups.iter().map(Vec::as_slice).collect();
        let evidence = Evidence::new(&slices, prior);
        let parts = evidence.work_parts();
        let laws = prior.laws.laws().into_iter().flat_map(|(shape, weight)| {
            without_cold_parts(&evidence.candidates(shape, &parts, weight.ln()))
        });
        let (laws, _) = probable(laws.collect());
        Self {
            laws: (laws.into_iter())
                .map(|one| (one, evidence.centers(&one)))
                .collect(),
            weights: evidence.weight_totals(),
            noise: evidence.noise,
        }
    }

    /// The mean over the laws of a value of one law and record.
    fn mean(&self, of: impl Fn(&WeighedLaw, &[f64]) -> f64) -> f64 {
        let laws = self.laws.iter();
        let weighed = laws.map(|(law, centers)| law.weight * of(law, centers));
        weighed.sum()
    }

    fn levels(&self, sides: &[&Side]) -> Vec<FullRunLevel> {
        let variance = self.mean(|law, _| self.noise.variance(law.squares));
        let of_one = |(record, side): (usize, &&Side)| {
            let ln_size = |law: &WeighedLaw| law.relative(side.full.share, side.full.work).0.ln();
            FullRunLevel {
                ln_seconds: self.mean(|law, centers| centers[record] + ln_size(law)),
                ln_size: self.mean(|law, _| ln_size(law)),
                standard_error: (variance / self.weights[record]).sqrt(),
            }
        };
        sides.iter().enumerate().map(of_one).collect()
    }
}
