//! What a change is made of, in a sentence and as a table, and the settings that changed.

use super::document::Table;
use super::document::Title::{Numbers, Words};
use super::text::Prose;
use super::words::{self, Quantity};
use crate::drift::{Cause, CauseShare};
use crate::forecast::Estimate;
use crate::grammar;
use crate::spec::ChangedSetting;

/// There are four; a stored report may name more.
const SHOWN: usize = 8;
/// Other changed settings are counted.
const SETTINGS_SHOWN: usize = 4;
/// Of the largest cause; what has less is shown by no digit beside it.
pub(super) const LEAST_PART: f64 = 1e-6;
/// The same of what is worth a word.
pub(super) const LEAST_PART_SAID: f64 = 0.01;

/// In dollars where they are known, and in seconds.
fn size(share: &CauseShare) -> (f64, f64) {
    (share.usd.unwrap_or(0.0).abs(), share.seconds.abs())
}

/// Those that are meant, the largest first, without those that have less than this part of the largest of all: what rounding left of a
/// difference is none.
pub(super) fn by_size(
    causes: &[CauseShare],
    part: f64,
    is_meant: impl Fn(Cause) -> bool,
) -> Vec<&CauseShare> {
    let causes = causes.iter().take(SHOWN);
    let most = |of: fn((f64, f64)) -> f64| {
        let sizes = causes.clone().map(|share| of(size(share)));
        part * sizes.fold(0.0, f64::max)
    };
    let (usd, seconds) = (most(|size| size.0), most(|size| size.1));
    let is_large = |share: &&CauseShare| size(share).0 > usd || size(share).1 > seconds;
    let shown = causes.filter(|share| is_meant(share.cause));
    let mut shown: Vec<&CauseShare> = shown.filter(is_large).collect();
    shown.sort_by(|a, b| {
        let ((a_usd, a_seconds), (b_usd, b_seconds)) = (size(a), size(b));
        let by_usd = b_usd.total_cmp(&a_usd);
        by_usd.then(b_seconds.total_cmp(&a_seconds))
    });
    shown
}

/// `The data grew (+8.00 USD) and the price rose (+5.00 USD).` That settings changed was said where `are_settings_said`.
pub(super) fn sentence(causes: &[&CauseShare], are_settings_said: bool) -> Option<String> {
    let named = causes.iter().filter_map(|share| {
        let (quantity, value) = match share.usd {
            Some(usd) => (Quantity::Money, usd),
            None => (Quantity::Time, share.seconds),
        };
        let what = match (share.cause, value > 0.0) {
            (Cause::Data, true) => "the data grew",
            (Cause::Data, false) => "the data shrank",
            (Cause::Price, true) => "the price rose",
            (Cause::Price, false) => "the price fell",
            (Cause::Work, true) => "there is more work to do",
            (Cause::Work, false) => "there is less work to do",
            (Cause::CodeOrPlatform, true) if are_settings_said => "training got slower",
            (Cause::CodeOrPlatform, false) if are_settings_said => "training got faster",
            (Cause::CodeOrPlatform, true) => "code or platform got slower",
            (Cause::CodeOrPlatform, false) => "code or platform got faster",
        };
        (value != 0.0).then(|| format!("{what} ({})", words::signed(quantity, value)))
    });
    let named = grammar::list(&named.collect::<Vec<_>>());
    (!named.is_empty()).then(|| format!("{}.", words::capitalized(&named)))
}

/// Cause, time and cost, then the whole change and its interval; `None` without a cause.
pub(super) fn table(
    causes: &[&CauseShare],
    interval_of: &str,
    time: Option<Estimate>,
    cost: Option<Estimate>,
) -> Option<Table> {
    let row = |name: &str, [time, cost]: [String; 2]| {
        vec![
            Words("Cause").over(name.to_owned()),
            Numbers("Time").over(time),
            Numbers("Cost").over(cost),
        ]
    };
    let said = |said: fn(Quantity, Estimate) -> String| {
        let both = [(Quantity::Time, time), (Quantity::Money, cost)];
        both.map(|(of, change)| change.map_or(String::new(), |change| said(of, change)))
    };
    let of_cause = |share: &&CauseShare| {
        let time = words::signed(Quantity::Time, share.seconds);
        let usd = share.usd.map(|usd| words::signed(Quantity::Money, usd));
        row(name(share.cause), [time, usd.unwrap_or_default()])
    };
    let points = said(|of, change| words::signed(of, change.point));
    let intervals = said(|of, change| of.interval(&change).unwrap_or_default());
    // A row of its own: beside the point it would make the table too wide for a narrow screen.
    let whole = [row("in all", points), row(interval_of, intervals)];
    let whole = whole.into_iter().filter(|_| !causes.is_empty());
    Table::of_texts(causes.iter().map(of_cause).chain(whole))
}

fn name(cause: Cause) -> &'static str {
    match cause {
        Cause::Data => "data",
        Cause::Price => "price",
        Cause::Work => "work",
        Cause::CodeOrPlatform => "code or platform",
    }
}

/// `training.hyperparameters.epochs changed from 10 to 20`, and more of them; `None` where nothing changed. Without a full stop.
pub(super) fn settings_clause(changed: &[ChangedSetting]) -> Option<Prose> {
    Prose::list(Prose::first_of(changed.iter().map(setting), SETTINGS_SHOWN).collect())
}

fn setting(changed: &ChangedSetting) -> Prose {
    let field = Prose::name(&changed.field);
    let [before, now] =
        [&changed.before, &changed.now].map(|value| value.as_ref().map(Prose::name));
    match (before, now) {
        (Some(before), Some(now)) => Prose::fill("{} changed from {} to {}", [field, before, now]),
        (None, Some(now)) => Prose::fill("{} is new ({})", [field, now]),
        (Some(before), None) => Prose::fill("{} is gone (before {})", [field, before]),
        (None, None) => Prose::fill("{} changed", [field]),
    }
}
