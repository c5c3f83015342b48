//! **Drift**: the same training takes more than it did, and why.
//!
//! [`check`] turns the records of a job since its reference into a drift with its causes. One law for all checks gives the time
//! of each one's full run (`forecast::ratio::levels`). The effects of prices, bytes and work are known; the rest is measured,
//! and a control chart ([`chart`]) decides whether it changed at all. An alarm needs more ([`rule`]): today's level must be above
//! what the policy allows with high certainty. `docs/drift.md` shows by simulation how often that is wrong.

pub mod causes;
pub mod chart;
mod pair;
pub mod rule;
#[cfg(test)]
mod simulation;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::forecast::ratio::{FullRunLevel, levels};
use crate::forecast::{Estimate, Predictive, Unknown};
use crate::instance::InstanceConfiguration;
use crate::measurement::Measurement;
use crate::spec::{ChangedSetting, DriftPolicy, TrainingSettings};
use crate::units::{Fraction, Percent, Usd, UsdPerHour};
use chart::{ChartPoint, ControlChart, MOST_CHECKS};
use pair::ReferencePair;
use rule::Rule;

/// What the difference between two forecasts is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[derive(derive_more::Display)]
pub enum Cause {
    /// There are more, or less, data.
    #[display("data")]
    Data,
    /// The price of a machine changed.
    #[display("price")]
    Price,
    /// The full run does more, or less, work per datum: `work.full` changed.
    #[display("work")]
    Work,
    /// The same work on the same data takes longer, or less long.
    #[display("code or platform")]
    CodeOrPlatform,
}

/// The part of a difference that is due to one cause.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CauseShare {
    pub cause: Cause,
    /// The part in billed time of the full run; 0 for a price.
    pub seconds: f64,
    /// The part in cost; absent without a price.
    pub usd: Option<f64>,
}

/// What a check for drift found about one job.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Drift {
    /// Whether the increase is certainly larger than the policy allows.
    pub drifted: bool,
    /// The change from the baseline to this check.
    pub change: DriftChange,
    /// The causes of `change`; their parts add up to the difference of the points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseShare>,
    /// The settings of the job that are others than the baseline's; empty too where its record does not have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedSetting>,
    /// P(the level is above what the policy allows), 0-1; absent where it is unknown.
    pub chance_over_limit: Option<f64>,
    /// The policy's share of the baseline that an increase must exceed to be drift; it must exceed `at_least_usd` too.
    pub limit_percent: Percent,
    pub at_least_usd: Usd,
    /// The shift that the control chart sees in the last checks; absent where it sees none.
    pub shift: Option<Shift>,
    /// Every check since the baseline, that included, oldest first; this one is the last.
    pub checks: Vec<Check>,
}

/// How much a full run takes more than with the baseline; less is negative.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct DriftChange {
    pub time_seconds: Option<Estimate>,
    pub cost_usd: Option<Estimate>,
    pub time_percent: Option<Estimate>,
    pub cost_percent: Option<Estimate>,
}

/// A lasting change of level, apart from what data, work and price make of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shift {
    /// The time of the first check on the new level.
    pub since: jiff::Timestamp,
    /// The size of the shift, in percent of the level before.
    pub percent: Estimate,
}

/// One check of a series.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    pub at: jiff::Timestamp,
    /// The commit; absent if the record does not say.
    pub commit: Option<String>,
    /// What the full run takes, in percent of the baseline's: 100 for the baseline itself. Cost where prices are known, else
    /// time.
    pub level_percent: f64,
}

/// One record of a series.
#[derive(Debug, Clone, Default)]
pub struct CheckRecord {
    pub at: jiff::Timestamp,
    pub commit: Option<String>,
    /// Of the code, 64 hex digits; absent where it is not known.
    pub code_key: Option<String>,
    /// The machine of the gate, if the canaries ran there.
    pub machine: Option<String>,
    /// The job's instance; `None` without a forecast.
    pub instance: Option<InstanceConfiguration>,
    /// Of the job; `None` in records of older versions.
    pub settings: Option<TrainingSettings>,
    /// All runs on `instance`.
    pub measurements: Vec<Measurement>,
    /// Of all machines, at that time; absent if unknown.
    pub price: Option<UsdPerHour>,
}

/// A record with a known level.
#[derive(Debug, Clone, Copy)]
struct ComparableRecord<'a> {
    record: &'a CheckRecord,
    level: FullRunLevel,
    point: ChartPoint,
    /// The logarithm of the price of all machines per second; an earlier record's if this one has none, else 0.
    ln_price: f64,
}

/// What the checks of a job since its reference say. `series` is oldest first: the reference, then every check, today's last.
///
/// `None` where there is nothing to compare today's check with. Unknown, with the reason, where today's own canaries do not say
/// what a full run takes; an earlier record that does not say it is left out. Of more than [`MOST_CHECKS`] records the
/// reference and the newest are looked at.
pub fn check(
    series: &[&CheckRecord],
    policy: &DriftPolicy,
    certainty: Fraction,
) -> Result<Option<Drift>, Unknown> {
    let [baseline, .., newest] = series else {
        return Ok(None);
    };
    // Its own reason, where it has one.
    levels(&[&newest.measurements[..]])?;
    let records = comparable(&in_window(series))?;
    let [reference, .., today] = records.as_slice() else {
        return Ok(None);
    };
    let pair = ReferencePair::of(reference.record, today.record)?;
    let chart = ControlChart::of(&records.iter().map(|one| one.point).collect::<Vec<_>>());
    let rule = Rule {
        limit: pair.limit(policy),
        certainty,
    };
    let known = pair.known_multiple(reference.level.ln_size, today.level.ln_size);
    let finding = rule.judge(&chart, known);
    let settings = baseline.settings.as_ref().zip(newest.settings.as_ref());
    Ok(Some(Drift {
        drifted: finding.drifted,
        causes: pair.causes(),
        changed: settings.map_or(Vec::new(), |(before, now)| before.changes_to(now)),
        change: pair.change(certainty),
        chance_over_limit: finding.chance_over_limit,
        limit_percent: policy.max,
        at_least_usd: policy.at_least,
        shift: chart.shift().map(|shift| Shift {
            since: records[shift.since].record.at,
            percent: as_percent(&shift.of_the_level_before, certainty),
        }),
        checks: (records.iter())
            .map(|one| one.check(reference, &pair))
            .collect(),
    }))
}

fn in_window<'a>(series: &[&'a CheckRecord]) -> Vec<&'a CheckRecord> {
    let (reference, checks) = series.split_at(series.len().min(1));
    let newest = &checks[checks.len().saturating_sub(MOST_CHECKS - 1)..];
    [reference, newest].concat()
}

/// The records with a known level, oldest first.
fn comparable<'a>(series: &[&'a CheckRecord]) -> Result<Vec<ComparableRecord<'a>>, Unknown> {
    let measurements: Vec<&[Measurement]> =
        series.iter().map(|one| &one.measurements[..]).collect();
    let mut ln_price = 0.0;
    let records = series.iter().copied().zip(levels(&measurements)?);
    let records = records.filter_map(|(record, level)| {
        ln_price = record.usd_per_second().map_or(ln_price, f64::ln);
        let level = level?;
        let measured = level.ln_seconds - level.ln_size;
        Some(ComparableRecord {
            record,
            level,
            point: ChartPoint::new(measured, level.standard_error)?,
            ln_price,
        })
    });
    Ok(records.collect())
}

impl CheckRecord {
    /// Of all machines; `None` unless it is positive and finite.
    fn usd_per_second(&self) -> Option<f64> {
        let price = self.price?.0 / 3600.0;
        (price.is_finite() && price > 0.0).then_some(price)
    }
}

impl ComparableRecord<'_> {
    fn check(&self, reference: &Self, pair: &ReferencePair) -> Check {
        let price = match pair.prices.is_some() {
            true => self.ln_price - reference.ln_price,
            false => 0.0,
        };
        let multiple = (self.level.ln_seconds - reference.level.ln_seconds + price).exp();
        Check {
            at: self.record.at,
            commit: self.record.commit.clone(),
            level_percent: 100.0 * multiple,
        }
    }
}

/// A multiple as the percent that it is more.
fn as_percent(multiple: &Predictive, certainty: Fraction) -> Estimate {
    Estimate::of(multiple, certainty).map(|multiple| 100.0 * (multiple - 1.0))
}

#[cfg(test)]
mod tests;
