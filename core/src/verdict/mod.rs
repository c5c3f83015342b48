//! The **verdict**: a budget held against a forecast.
//!
//! [`judge`] holds every line against its quantity's distribution, [`job_verdict`] takes the worst that counts, and
//! [`reason()`] says it in one sentence. [`recommend`] compares configurations, and [`smallest_fit`] names the machine whose
//! memory is enough.

mod against;
mod fitting;
mod reason;
mod recommendation;
mod row;
pub mod words;

pub use against::{Against, ExistingBreach};
pub use fitting::{Candidate, MemoryNeed, smallest_fit};
pub use reason::reason;
pub use recommendation::{
    ClosestFit, Contender, LimitNeeded, Recommendation, as_low_as_the_least, chance_below,
    recommend,
};
pub use row::{BudgetRow, Reason};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::forecast::{Doubt, Estimate, Forecast, Predictive, Quantity};
use crate::instance::Offer;
use crate::metric::{Amount, Metric};
use crate::spec::{Bound, Budget, BudgetLine, Level, LineKind, LineOrigin};
use crate::units::{Fraction, Percent};

/// Above this chance a breach is more likely than not.
const MORE_LIKELY_THAN_NOT: f64 = 0.5;

/// Chances this near a threshold are on it: 1 - 0.95 is 0.050000000000000044 in binary, and a distribution function is
/// good to about nine digits.
const CHANCE_ROUNDING: f64 = 1e-9;

/// The outcome of a job or a run, worst first: `Exceeded < Failed < ... < NotJudged`, so the worst is the minimum.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Verdict {
    /// A full run over budget is more likely than not.
    Exceeded,
    /// The training code failed in a canary.
    Failed,
    /// The verdict could not be decided; another run may decide it.
    Unknown,
    /// A full run within budget is likely, but not certain enough.
    AtRisk,
    Within,
    /// There is nothing to judge.
    #[default]
    NotJudged,
}

/// The outcome of one budget line.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LineVerdict {
    Exceeded,
    Unknown,
    AtRisk,
    Within,
    /// The line says nothing here, e.g. a GPU line without a GPU.
    NotApplicable,
}

/// One budget line held against a forecast.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgedLine {
    pub row: BudgetRow,
    pub origin: LineOrigin,
    /// Of an increase: what it must pass too, in the unit of what increases.
    pub at_least: Option<Amount>,
    /// What the limit is held against, in the same unit; absent where that has no distribution.
    pub estimate: Option<Estimate>,
    /// Why it is unknown or not applicable, why a canary has settled it, or why it is at risk in spite of its chance; else absent.
    pub reason: Option<String>,
}

impl JudgedLine {
    /// Without anything known.
    fn unknown(line: &BudgetLine) -> Self {
        Self {
            row: BudgetRow::unknown(line),
            origin: line.origin,
            at_least: line.at_least,
            estimate: None,
            reason: None,
        }
    }

    fn because(mut self, reason: impl Into<String>) -> Self {
        self.reason = Some(reason.into());
        self
    }

    fn found(mut self, chance_of_breach: f64, verdict: LineVerdict) -> Self {
        self.row.chance_of_breach = Some(chance_of_breach);
        self.row.verdict = verdict;
        self
    }

    /// What would be within is at risk, and its chance is not known.
    fn doubted(self, doubt: &Doubt) -> Self {
        match self.row.verdict {
            _ if doubt.is_of_source() => self.unseen(doubt.to_string()),
            LineVerdict::Within => self.without_chance().at_risk(doubt.to_string()),
            _ => self,
        }
    }

    /// The same where no canary of the plan can end it; `why` follows the quantity's name.
    #[must_use]
    pub fn unseen(self, why: impl Into<String>) -> Self {
        if self.row.verdict != LineVerdict::Within {
            return self;
        }
        let mut unseen = self.without_chance();
        if unseen.origin == LineOrigin::Written {
            return unseen.at_risk(why);
        }
        // What nobody asked for is not worth such a warning. A note says what was seen.
        unseen.row.verdict = LineVerdict::NotApplicable;
        unseen
    }

    fn without_chance(mut self) -> Self {
        self.row.chance_of_breach = None;
        self
    }

    /// Nothing is known of it but that the forecast is doubted.
    fn at_risk(mut self, doubt: impl Into<String>) -> Self {
        self.row.verdict = LineVerdict::AtRisk;
        self.because(doubt)
    }

    fn not_applicable(mut self, reason: &str) -> Self {
        self.row.verdict = LineVerdict::NotApplicable;
        self.because(reason)
    }

    /// Whether the line takes part in the job's verdict: it counts as fail, and is applicable.
    pub fn counts(&self) -> bool {
        self.row.counts_as() == Level::Fail && self.row.verdict != LineVerdict::NotApplicable
    }

    /// Whether more measurements need not be made for it: a breach is as certain as asked for, or as unlikely.
    pub fn is_decided(&self, certainty: Fraction) -> bool {
        self.row.chance_of_breach.is_some_and(|chance| {
            chance >= certainty.0 - CHANCE_ROUNDING || chance <= 1.0 - certainty.0 + CHANCE_ROUNDING
        })
    }
}

/// Every line of the budget, in its order, held against the forecast of the full run on one configuration.
///
/// `offer` is that configuration: it distinguishes a GPU that was not measured from one that is not there.
/// `against` is what the base takes; `None` where there is no baseline.
pub fn judge(
    budget: &Budget,
    forecast: &Forecast,
    offer: &Offer,
    against: Option<&Against>,
) -> Vec<JudgedLine> {
    let excusing = against.filter(|_| budget.existing_breach == Level::Warn);
    let lines = budget.lines.iter();
    let lines = lines.filter(|line| concerns(line, forecast, offer));
    let judged = lines.map(|line| {
        let mut judged = judge_line(line, budget, forecast, offer, against);
        let verdict = judged.row.verdict;
        judged.row.existing_breach = excusing.and_then(|against| {
            against::existing_breach(line, verdict, budget, forecast, offer, against)
        });
        judged
    });
    judged.collect()
}

/// Whether a line has anything to say: an implicit one of GPUs has not where there are none, nor where none is known of.
fn concerns(line: &BudgetLine, forecast: &Forecast, offer: &Offer) -> bool {
    let is_of_gpus = line.origin == LineOrigin::Implicit && needs_gpu(line);
    let known = &forecast.gpu_memory;
    !is_of_gpus || known.ran_out || offer.has_gpu() || (known.is_measured && !offer.has_no_gpu())
}

fn needs_gpu(line: &BudgetLine) -> bool {
    line.kind.metric().is_some_and(Metric::needs_gpu)
}

/// The lines as a report shows them: which of these decides is marked.
pub fn rows(lines: &[JudgedLine]) -> Vec<BudgetRow> {
    let mut rows: Vec<BudgetRow> = lines.iter().map(|line| line.row.clone()).collect();
    if let Some(row) = reason::deciding(lines).and_then(|index| rows.get_mut(index)) {
        row.decides = true;
    }
    rows
}

/// One line by itself, whatever the base took.
fn judge_line(
    line: &BudgetLine,
    budget: &Budget,
    forecast: &Forecast,
    offer: &Offer,
    against: Option<&Against>,
) -> JudgedLine {
    let certainty = budget.certainty;
    let is_max = line.bound == Bound::Max;
    let metric = line.kind.metric().filter(|_| is_max);
    let is_of_time = matches!(metric, Some(Metric::Time | Metric::Cost));
    let is_known = is_of_time && (budget.growth).is_some_and(|most| forecast.grows_at_most(most));
    let is_flat = |doubt: &&Doubt| matches!(doubt, Doubt::NoGrowthSeen(_));
    let is_of_all = |doubt: &Doubt| matches!(doubt, Doubt::EndedWithError);
    let doubt = metric.and_then(|metric| forecast.doubt(metric));
    // By the owners' word that is as it should be.
    let doubt = doubt.filter(|doubt| !(is_known && is_flat(doubt)));
    let Some(quantity) = quantity(line, forecast) else {
        let judged = against::judge_increase(line, certainty, against);
        let unlike = forecast.unlike.as_ref().filter(|unlike| is_of_all(unlike));
        return match unlike.or(doubt.filter(is_flat)) {
            Some(doubt) => judged.doubted(doubt),
            None => judged,
        };
    };
    let known = quantity.as_ref().ok();
    let judged = JudgedLine {
        estimate: known.map(|predictive| Estimate::of(predictive, certainty)),
        ..JudgedLine::unknown(line)
    };
    let ran_out = (line.kind.memory_of()).is_some_and(|of| forecast.peak(of).ran_out);
    if needs_gpu(line) && offer.has_no_gpu() && !ran_out {
        return judged.not_applicable("the machine has no GPU");
    }
    if let Some(settled) = settled_by_a_canary(line, forecast) {
        return judged.found(1.0, LineVerdict::Exceeded).because(settled);
    }
    match (&quantity, line.origin) {
        (Err(unknown), LineOrigin::Implicit) => judged.not_applicable(&unknown.0),
        (Err(unknown), LineOrigin::Written) => match doubt.filter(|doubt| doubt.is_of_source()) {
            Some(doubt) => judged.at_risk(doubt.to_string()),
            None => judged.because(&unknown.0),
        },
        (Ok(predictive), _) => {
            let chance = chance_of_breach(line, predictive);
            let found = judged.found(chance, verdict_of(chance, certainty));
            let unseen_growth = Doubt::UnseenGrowth {
                share: forecast.largest_share,
            };
            let is_over = found.row.verdict == LineVerdict::Exceeded;
            let of = metric.and_then(Metric::memory_of);
            let unseen = of.and_then(|of| forecast.peak(of).unseen).map(Percent);
            let unseen = unseen.filter(|percent| percent.0 > line.limit.number);
            let may_have_had = unseen.map(|percent| Doubt::MayHaveHad { percent });
            let may_pass =
                || verdict_of(chance_of_breach(line, predictive.if_steeper()), certainty);
            // What nobody asked for is at risk only where it would be exceeded.
            let is_asked = is_over || line.origin == LineOrigin::Written;
            let may_keep = |part: f64| {
                chance_of_breach(line, &predictive.scaled(part)) <= MORE_LIKELY_THAN_NOT
            };
            let unlike = forecast.unlike.filter(|doubt| match doubt {
                Doubt::UnlikeTheRest { files, bytes } if is_over => {
                    may_keep((files.0 / bytes.0).min(bytes.0 / files.0))
                }
                Doubt::UnlikeTheRest { .. } => is_asked,
                // They did less than the full run, so what is over stays so.
                _ => is_asked && !is_over,
            });
            let unlike = unlike.filter(|it| is_of_time || of.is_some() || is_of_all(it));
            let busy =
                (forecast.busy).filter(|busy| is_of_time && is_over && may_keep(busy.own_part));
            let busy = busy.map(|busy| Doubt::OtherWork { taken: busy.taken });
            if let Some(doubt) = unlike.or(busy) {
                return found.at_risk(doubt.to_string()).without_chance();
            }
            let of_progress = forecast.doubt_of_progress(predictive, line.limit.number);
            let of_progress = of_progress.filter(|_| is_of_time);
            match doubt.or(may_have_had.as_ref()).or(of_progress.as_ref()) {
                Some(doubt) => found.doubted(doubt),
                None if is_known || may_pass() == LineVerdict::Within => found,
                None if is_of_time || of.is_some() => found.doubted(&unseen_growth),
                None => found.unseen(changes_with_the_data(line, predictive, certainty)),
            }
        }
    }
}

/// Follows the quantity's name where its level may pass the limit by its trend alone.
fn changes_with_the_data(line: &BudgetLine, level: &Predictive, certainty: Fraction) -> String {
    let at_all_data = Estimate::of(level.if_steeper(), certainty).end(line.bound);
    let at_all_data = words::amount_beside(line.kind, at_all_data, line.limit.number);
    format!(
        "changes with the data, and may come to {at_all_data} at all of them if it goes on as from the smallest canary to the largest; larger canaries would show whether it does"
    )
}

/// A canary that ran out of memory, used more of it than the limit where that is all that is known, or was ended at its time
/// limit and had already passed the limit of the full run.
fn settled_by_a_canary(line: &BudgetLine, forecast: &Forecast) -> Option<String> {
    let limit = line.limit.number;
    let passes = |least: Option<f64>| least.is_some_and(|least| limit <= least);
    let settled = match line.kind {
        _ if line.bound == Bound::Min => return None,
        LineKind::Absolute(Metric::Time) if passes(forecast.time_at_least) => {
            "a canary already ran longer".to_owned()
        }
        LineKind::Absolute(Metric::Cost) if passes(forecast.cost_at_least) => {
            "a canary already ran long enough to cost more".to_owned()
        }
        LineKind::Absolute(metric) => {
            let of = metric.memory_of()?;
            let (known, name) = (forecast.peak(of), of.words());
            match known.at_least.filter(|least| limit < *least) {
                Some(least) => format!("a canary already used {} of the {name}", Percent(least)),
                None if known.ran_out => format!("a canary ran out of {name}"),
                None => return None,
            }
        }
        LineKind::Increase(_) | LineKind::Named(_) => return None,
    };
    Some(settled)
}

fn chance_of_breach(line: &BudgetLine, predictive: &Predictive) -> f64 {
    match line.bound {
        Bound::Max => predictive.chance_above(line.limit.number),
        Bound::Min => predictive.chance_below(line.limit.number),
    }
}

fn verdict_of(chance_of_breach: f64, certainty: Fraction) -> LineVerdict {
    match chance_of_breach {
        chance if chance > MORE_LIKELY_THAN_NOT + CHANCE_ROUNDING => LineVerdict::Exceeded,
        chance if chance <= 1.0 - certainty.0 + CHANCE_ROUNDING => LineVerdict::Within,
        _ => LineVerdict::AtRisk,
    }
}

/// The quantity that a line is about, in the unit of its limit; `None` for a comparison with a baseline.
fn quantity(line: &BudgetLine, forecast: &Forecast) -> Option<Quantity> {
    match line.kind {
        LineKind::Absolute(metric) => Some(forecast[metric].clone()),
        LineKind::Named(name) => Some(forecast.level(name, line.bound)),
        LineKind::Increase(_) => None,
    }
}

/// The verdict of a job by its lines of level fail; a line of level warn shows its verdict and does not count.
///
/// Not judged where no written line counts, unless an implicit one is at risk or exceeded: a job without a written budget
/// is not within one because its memory fits the machine.
pub fn job_verdict(lines: &[JudgedLine]) -> Verdict {
    let counting = lines.iter().filter(|line| line.counts());
    worst(counting.map(|line| match (line.row.makes(), line.origin) {
        (Some(made), _) => made,
        (None, LineOrigin::Written) => Verdict::Within,
        (None, LineOrigin::Implicit) => Verdict::NotJudged,
    }))
}

/// The worst of several; not judged for none.
pub fn worst(verdicts: impl Iterator<Item = Verdict>) -> Verdict {
    verdicts.min().unwrap_or(Verdict::NotJudged)
}

#[cfg(test)]
mod recorded;
#[cfg(test)]
pub(crate) mod tests;
