//! What a check for drift found, in words: plain text, but for the job's name, which is left out.

use super::document::Table;
use super::words::{self, Quantity};
use super::{JobReport, Label, Mark, Prose, Report, change};
use crate::drift::{Cause, CauseShare, Drift, DriftChange};
use crate::forecast::Estimate;
use crate::metric::Metric;
use crate::units::Usd;

/// The sign of a check.
pub(super) fn mark(drift: &Drift) -> Mark {
    let change = of_cost_or_time(&drift.change).map(|(_, change, _)| change.point);
    match (drift.drifted, change.is_some_and(|change| change < 0.0)) {
        (false, _) if may_have_drifted(drift) => Mark::DOUBTFUL,
        (false, _) => Mark::GOOD,
        (true, false) => Mark::ROSE,
        (true, true) => Mark::FELL,
    }
}

/// Whether the change is larger than the policy allows, and not certain, be it within noise or not.
fn may_have_drifted(drift: &Drift) -> bool {
    let percent = of_cost_or_time(&drift.change).and_then(|(_, _, percent)| percent);
    let is_large = percent.is_some_and(|percent| percent.point > drift.limit_percent.0);
    let cost = drift.change.cost_usd;
    let is_dear = cost.is_none_or(|usd| usd.point > drift.at_least_usd.0);
    !drift.drifted && is_large && is_dear
}

/// What follows the job's name: `drifted (the check fails): a full run takes 63 USD, 13 USD (26%) more than on 2026-11-02`.
pub(super) fn headline(report: &Report, job: &JobReport, drift: &Drift) -> String {
    let finding = finding(job, drift);
    let state = match drift.drifted {
        true if report.exit_code != 0 => "drifted (the check fails)",
        true => "drifted",
        false if may_have_drifted(drift) => "has no drift yet",
        false => "has no drift",
    };
    format!("{state}: {finding}")
}

/// `a full run takes 63 USD, 13 USD (26%) more than on 2026-11-02`, `a full run takes 51 USD; +2% against 2026-11-02 is within
/// noise (7 checks)`.
pub(super) fn finding(job: &JobReport, drift: &Drift) -> String {
    // Where prices are not known on both sides, time is compared and shown.
    let compared = of_cost_or_time(&drift.change).map(|(quantity, ..)| quantity);
    let takes = match level(job, compared) {
        Some(level) => format!("a full run takes {level}"),
        None => "what a full run takes is not known".to_owned(),
    };
    let since = since(drift);
    let (than, since) = match &since {
        Some(day) => (format!("than on {day}"), day.as_str()),
        None => ("than its baseline".to_owned(), "its baseline"),
    };
    let checks = words::count(drift.checks.len(), "check");
    let Some((quantity, change, percent)) = of_cost_or_time(&drift.change) else {
        return format!("{takes} ({checks} since {since})");
    };
    if let Some(percent) = percent.filter(|_| may_have_drifted(drift)) {
        let above = Quantity::Percent.figure(percent.point);
        return format!("{above} above the baseline of {since}, not certain; {takes} ({checks})");
    }
    if is_within_noise(drift) {
        let by = match percent {
            Some(percent) => words::signed(Quantity::Percent, percent.point),
            None => words::signed(quantity, change.point),
        };
        return format!("{takes}; {by} against {since} is within noise ({checks})");
    }
    let more = if change.point < 0.0 { "less" } else { "more" };
    let amount = quantity.figure(change.point.abs());
    let share = percent.map_or(String::new(), |percent| {
        format!(" ({})", Quantity::Percent.figure(percent.point.abs()))
    });
    let allowed = match allowed(drift) {
        _ if drift.drifted || change.point < 0.0 => String::new(),
        allowed => format!(", which is not surely above the {allowed} that are allowed"),
    };
    format!("{takes}, {amount}{share} {more} {than}{allowed}")
}

/// What a full run takes now, in what is compared: `63 USD`.
fn level(job: &JobReport, compared: Option<Quantity>) -> Option<String> {
    let estimates = &job.forecasts.first()?.estimates;
    let cost = estimates[Metric::Cost].filter(|_| compared != Some(Quantity::Time));
    match cost {
        Some(cost) => Some(Quantity::Money.figure(cost.point)),
        None => Some(Quantity::Time.figure(estimates[Metric::Time]?.point)),
    }
}

/// When the baseline was measured: the day, and the time too where the newest check is of the same day.
pub(super) fn since(drift: &Drift) -> Option<String> {
    drift.checks.first().map(|check| when(drift, check.at))
}

/// The day of a check; its time too where all checks are of one day.
fn when(drift: &Drift, at: jiff::Timestamp) -> String {
    let mut days = drift.checks.iter().map(|check| words::day(check.at));
    match (days.next(), days.next_back()) {
        (Some(first), Some(last)) if first == last => words::minute(at),
        _ => words::day(at),
    }
}

/// Whether the text names no change, since there may be none.
fn is_within_noise(drift: &Drift) -> bool {
    let change = of_cost_or_time(&drift.change);
    let is_noise =
        change.is_none_or(|(_, change, percent)| words::is_noise(&percent.unwrap_or(change)));
    !drift.drifted && is_noise
}

/// The change of cost where it is known, else of time, and the same in percent.
fn of_cost_or_time(change: &DriftChange) -> Option<(Quantity, Estimate, Option<Estimate>)> {
    let cost = change
        .cost_usd
        .map(|usd| (Quantity::Money, usd, change.cost_percent));
    cost.or_else(|| Some((Quantity::Time, change.time_seconds?, change.time_percent)))
}

/// The change in percent with its sign: `+26%`.
pub(super) fn percent(drift: &Drift) -> Option<String> {
    let (_, _, percent) = of_cost_or_time(&drift.change)?;
    Some(words::signed(Quantity::Percent, percent?.point))
}

/// `15%`, `15% and 5 USD`.
pub(super) fn allowed(drift: &Drift) -> String {
    let share = drift.limit_percent.exact();
    match drift.at_least_usd {
        Usd(usd) if usd > 0.0 => format!("{share} and {}", Usd(usd).exact()),
        _ => share,
    }
}

/// What is to be known beside the headline, if anything is: what changed, the causes, where the level moved, how sure it is. The label
/// says whether that names a cause.
pub(super) fn said(drift: &Drift) -> Option<(Label, Prose)> {
    let changed = change::settings_clause(&drift.changed).map(|clause| match drift.drifted {
        true => Prose::fill("The likely cause: {}.", [clause]),
        false => Prose::fill("Since the baseline {}.", [clause]),
    });
    let causes = by_size(drift, change::LEAST_PART_SAID);
    let causes = change::causes_sentence(&causes, !drift.changed.is_empty());
    let causes = causes.filter(|_| !is_within_noise(drift));
    let shift = drift.shift.map(|shift| {
        let percent = Quantity::Percent.figure(shift.percent.point.abs());
        let is_less = shift.percent.point < 0.0;
        let moved = if is_less { "fell" } else { "rose" };
        let interval = Quantity::Percent.interval(&shift.percent);
        let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
        let beside = words::only_where(!drift.drifted, || "; that alone is no drift");
        let at = when(drift, shift.since);
        format!("The level {moved} by {percent}{interval} with the check of {at}{beside}.")
    });
    let chance = drift.chance_over_limit.filter(|_| drift.drifted);
    let chance = chance.map(|chance| {
        let (chance, allowed) = (words::bare_chance(chance), allowed(drift));
        format!("The rise is {chance} likely over the allowed {allowed}.")
    });
    let label = match causes.is_some() || drift.drifted && changed.is_some() {
        true => Label::WHY_CHANGED,
        false => Label::CHANGE,
    };
    let own = [causes, shift, chance].into_iter().flatten();
    let sentences = changed.into_iter().chain(own.map(Prose::literal));
    let said = Prose::joined(sentences, " ");
    (!said.is_empty()).then_some((label, said))
}

/// Whether the level surely moved. What moved it by no known amount, code or platform, is blamed of nothing else.
fn has_moved(drift: &Drift) -> bool {
    drift.drifted || drift.shift.is_some()
}

fn by_size(drift: &Drift, part: f64) -> Vec<&CauseShare> {
    let is_known = |cause| has_moved(drift) || cause != Cause::CodeOrPlatform;
    change::by_size(&drift.causes, part, is_known)
}

/// `None` where the change is within noise, of which nothing can be the cause: its rows add up to the change, or there are none.
pub(super) fn causes(drift: &Drift) -> Option<Table> {
    let is_caused = has_moved(drift) && !is_within_noise(drift);
    let shown = words::only_where(is_caused, || by_size(drift, change::LEAST_PART));
    let (time, cost) = (drift.change.time_seconds, drift.change.cost_usd);
    change::causes_table(&shown, "interval of these two checks", time, cost)
}

#[cfg(test)]
mod tests;
