//! Why a forecast is another than that of the base, or of an earlier check: its causes and the settings that changed, in sentences and
//! as a table.

use super::document::Table;
use super::document::Title::{Numbers, Words};
use super::words::{self, Quantity};
use super::{Baseline, InstanceForecast, JobReport, Label, Prose};
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

/// `A full run takes 31% more than on main (a1b2c3d, 3 days ago). The same work on the same data takes 29% longer. The data
/// grew (+5.00 USD).`
///
/// The label says whether that names a cause, or only what changed. `None` where there is no baseline, or nothing was compared with it.
pub(super) fn said(job: &JobReport) -> Option<(Label, Prose)> {
    let baseline = job.baseline.as_ref()?;
    let forecast = job.forecasts.first()?;
    let delta = &forecast.delta;
    // Of cost where it is known, else of time.
    let whole = delta.cost_percent.or(delta.time_percent)?;
    let causes = of_change(baseline, forecast);
    let rate = delta.rate_percent;
    let rate = rate.filter(|_| is_of_code(baseline, forecast));
    let settings = settings_clause(&baseline.changed);
    let are_settings_said = settings.is_some();
    let settings = settings.map(|clause| match rate {
        Some(_) => Prose::fill("The likely cause: {}.", [clause]),
        None => Prose::fill("Since the base {}.", [clause]),
    });
    let instances = baseline.instance.as_ref().map(|other| {
        let instances = [&job.instance, other].map(|instance| Prose::name(instance.to_string()));
        Prose::fill("It trains on {}, the base on {}.", instances)
    });
    let base = reference(baseline);
    let change = Some(match words::is_noise(&whole) {
        true => Prose::fill("No difference beyond noise to {}.", [base]),
        false => {
            let more = if whole.point < 0.0 { "less" } else { "more" };
            let percent = Quantity::Percent.figure(whole.point.abs());
            let more = Prose::literal(format!("A full run takes {percent} {more}"));
            Prose::fill("{} than on {}.", [more, base])
        }
    });
    let rate = rate.map(|rate| {
        let is_less = rate.point < 0.0;
        let longer = if is_less { "less time" } else { "longer" };
        let percent = Quantity::Percent.figure(rate.point.abs());
        let said = format!("The same work on the same data takes {percent} {longer}.");
        Prose::literal(said)
    });
    let sentence = causes_sentence(&causes, are_settings_said);
    let is_data_named = causes.iter().any(|share| share.cause == Cause::Data);
    let other_data = (baseline.data_changed && !is_data_named)
        .then(|| Prose::own("The data changed; their amount is about the same."));
    let label = match instances.is_some() || sentence.is_some() {
        true => Label::WHY_CHANGED,
        false => Label::CHANGE,
    };
    let sentence = sentence.map(Prose::literal);
    let sentences = [settings, instances, change, rate, sentence, other_data];
    let text = Prose::joined(sentences.into_iter().flatten(), " ");
    Some((label, text))
}

/// The known causes and the change in all; `None` where there are none.
pub(super) fn table(job: &JobReport) -> Option<Table> {
    let compared = job.baseline.as_ref().zip(job.forecasts.first());
    let shares = compared.map(|(baseline, forecast)| of_change(baseline, forecast));
    let delta = compared.map(|(_, forecast)| &forecast.delta);
    let (time, cost) = delta.map_or((None, None), |delta| (delta.time_seconds, delta.cost_usd));
    causes_table(&shares.unwrap_or_default(), "its interval", time, cost)
}

/// Whether how fast the same work is surely changed. Where the base trains on another configuration, that is no change of the code.
fn is_of_code(baseline: &Baseline, forecast: &InstanceForecast) -> bool {
    let rate = forecast.delta.rate_percent;
    baseline.instance.is_none() && rate.is_some_and(|rate| !words::is_noise(&rate))
}

/// What the data, the price and the work did is known; how fast the same work is was measured. Where the base trains on another
/// configuration, the price is that one's, and no change of anything.
fn of_change<'a>(baseline: &Baseline, forecast: &'a InstanceForecast) -> Vec<&'a CauseShare> {
    let (causes, part) = (&forecast.delta.causes, LEAST_PART_SAID);
    by_size(causes, part, |cause| match cause {
        Cause::CodeOrPlatform => is_of_code(baseline, forecast),
        Cause::Price => baseline.instance.is_none(),
        Cause::Data | Cause::Work => true,
    })
}

/// `main (a1b2c3d, 3 days ago)`.
fn reference(baseline: &Baseline) -> Prose {
    let branch = baseline.branch.as_deref().map(Prose::name);
    let which = match (branch, baseline.is_same_code) {
        (Some(branch), true) => branch,
        (Some(branch), false) => Prose::fill("the newest on {}", [branch]),
        (None, true) => Prose::own("its base"),
        (None, false) => Prose::own("the newest of its base"),
    };
    let commit = baseline.commit.as_deref().map(Prose::commit);
    let age = Prose::literal(format!("{} ago", words::age(baseline.age_days)));
    let known = Prose::joined(commit.into_iter().chain([age]), ", ");
    Prose::fill("{} ({})", [which, known])
}

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
    // By cost; of equal cost, as sorting keeps the order, by time.
    shown.sort_by(|a, b| size(b).1.total_cmp(&size(a).1));
    shown.sort_by(|a, b| size(b).0.total_cmp(&size(a).0));
    shown
}

/// `The data grew (+8.00 USD) and the price rose (+5.00 USD).` That settings changed was said where `are_settings_said`.
pub(super) fn causes_sentence(causes: &[&CauseShare], are_settings_said: bool) -> Option<String> {
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
pub(super) fn causes_table(
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
        row(&share.cause.to_string(), [time, usd.unwrap_or_default()])
    };
    let points = said(|of, change| words::signed(of, change.point));
    let intervals = said(|of, change| of.interval(&change).unwrap_or_default());
    // A row of its own: beside the point it would make the table too wide for a narrow screen.
    let whole = [row("in all", points), row(interval_of, intervals)];
    let whole = whole.into_iter().filter(|_| !causes.is_empty());
    Table::of_texts(causes.iter().map(of_cause).chain(whole))
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
