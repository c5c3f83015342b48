//! Why a forecast is another than that of the base, in sentences and as a table.

use super::document::Table;
use super::words::{self, Quantity};
use super::{Baseline, InstanceForecast, JobReport, Label, Prose, causes};
use crate::drift::{Cause, CauseShare};

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
    let settings = causes::settings_clause(&baseline.changed);
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
    let sentence = causes::sentence(&causes, are_settings_said);
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
    causes::table(&shares.unwrap_or_default(), "its interval", time, cost)
}

/// Whether how fast the same work is surely changed. Where the base trains on another configuration, that is no change of the code.
fn is_of_code(baseline: &Baseline, forecast: &InstanceForecast) -> bool {
    let rate = forecast.delta.rate_percent;
    baseline.instance.is_none() && rate.is_some_and(|rate| !words::is_noise(&rate))
}

/// What the data, the price and the work did is known; how fast the same work is was measured. Where the base trains on another
/// configuration, the price is that one's, and no change of anything.
fn of_change<'a>(baseline: &Baseline, forecast: &'a InstanceForecast) -> Vec<&'a CauseShare> {
    let (causes, part) = (&forecast.delta.causes, causes::LEAST_PART_SAID);
    causes::by_size(causes, part, |cause| match cause {
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
