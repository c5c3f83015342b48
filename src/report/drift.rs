//! What a check for drift found, in words: plain text, but for the job's name, which is left out.

use super::document::{Align, Grid};
use super::mark::Mark;
use super::text::Prose;
use super::words::{self, Quantity};
use super::{JobReport, change, changed_settings};
use crate::drift::{Cause, CauseShare, Drift, DriftChange};
use crate::forecast::Estimate;
use crate::metric::Metric;
use crate::units::Usd;

/// There are four; a stored report may name more.
const CAUSES_SHOWN: usize = 8;

/// Of the largest cause; what has less is shown by no digit beside it.
const LEAST_PART: f64 = 1e-6;

/// Of the checks on a terminal's line.
const CHECKS_IN_A_LINE: usize = 40;

/// The whole height of the bars is at least this much of the baseline, in percent: a thousandth is no mountain.
const LEAST_RANGE: f64 = 10.0;

/// The sign of a check.
pub(super) fn mark(drift: &Drift) -> Mark {
    match (drift.drifted, is_less(drift)) {
        (false, _) if may_have_drifted(drift) => Mark::Doubtful,
        (false, _) => Mark::Good,
        (true, false) => Mark::Rose,
        (true, true) => Mark::Fell,
    }
}

/// Whether the change is larger than the policy allows, and not certain, be it within noise or not.
fn may_have_drifted(drift: &Drift) -> bool {
    let Some((_, _, percent)) = of_cost_or_time(&drift.change) else {
        return false;
    };
    let is_large = percent.is_some_and(|percent| percent.point > drift.limit_percent.0);
    let is_dear = drift
        .change
        .cost_usd
        .is_none_or(|usd| usd.point > drift.at_least_usd.0);
    !drift.drifted && is_large && is_dear
}

fn is_less(drift: &Drift) -> bool {
    of_cost_or_time(&drift.change).is_some_and(|(_, change, _)| change.point < 0.0)
}

/// What follows the job's name: `drifted: a full run takes 63 USD, 13 USD (26%) more than on 2026-11-02`.
pub(super) fn headline(job: &JobReport, drift: &Drift) -> String {
    let finding = finding(job, drift);
    let state = match drift.drifted {
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

/// Whether the sentences name a cause.
pub(super) fn explains(drift: &Drift) -> bool {
    causes_sentence(drift).is_some() || drift.drifted && !drift.changed.is_empty()
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

/// What is to be known beside the headline, a sentence each: what changed, the causes, where the level moved, how sure it is.
pub(super) fn sentences(drift: &Drift) -> Vec<Prose> {
    let changed = changed_settings::clause(&drift.changed).map(|clause| match drift.drifted {
        true => Prose::fill("The likely cause: {}.", [clause]),
        false => Prose::fill("Since the baseline {}.", [clause]),
    });
    let causes = causes_sentence(drift);
    let shift = drift.shift.map(|shift| {
        let (percent, moved) = match change::more_or_less(shift.percent.point) {
            (percent, "less") => (percent, "fell"),
            (percent, _) => (percent, "rose"),
        };
        let interval = Quantity::Percent.interval(&shift.percent);
        let interval = interval.map_or(String::new(), |interval| format!(" ({interval})"));
        let beside = if drift.drifted {
            ""
        } else {
            "; that alone is no drift"
        };
        format!(
            "The level {moved} by {percent}{interval} with the check of {}{beside}.",
            when(drift, shift.since)
        )
    });
    let chance = drift.chance_over_limit.filter(|_| drift.drifted);
    let chance = chance.map(|chance| {
        format!(
            "Above the allowed {}: {} likely.",
            allowed(drift),
            words::bare_chance(chance)
        )
    });
    let own = [causes, shift, chance].into_iter().flatten();
    changed.into_iter().chain(own.map(Prose::literal)).collect()
}

/// `The data grew (+8.00 USD), the price rose (+5.00 USD).`
fn causes_sentence(drift: &Drift) -> Option<String> {
    if is_within_noise(drift) {
        return None;
    }
    let named: Vec<String> = by_size(drift)
        .into_iter()
        .filter_map(|share| {
            let (amount, value) = match share.usd {
                Some(usd) => (words::signed(Quantity::Money, usd), usd),
                None => (words::signed(Quantity::Time, share.seconds), share.seconds),
            };
            let is_changed = !drift.changed.is_empty();
            let what = match (share.cause, value > 0.0) {
                // Not code or platform: that its settings changed was said.
                (Cause::CodeOrPlatform, true) if is_changed => "training got slower",
                (Cause::CodeOrPlatform, false) if is_changed => "training got faster",
                (Cause::Data, true) => "the data grew",
                (Cause::Data, false) => "the data shrank",
                (Cause::Price, true) => "the price rose",
                (Cause::Price, false) => "the price fell",
                (Cause::Work, true) => "there is more work to do",
                (Cause::Work, false) => "there is less work to do",
                (Cause::CodeOrPlatform, true) => "code or platform got slower",
                (Cause::CodeOrPlatform, false) => "code or platform got faster",
            };
            (value != 0.0).then(|| format!("{what} ({amount})"))
        })
        .collect();
    (!named.is_empty()).then(|| format!("{}.", words::capitalized(&change::joined(&named))))
}

/// Whether the level surely moved. What moved it by no known amount, code or platform, is blamed of nothing else.
fn has_moved(drift: &Drift) -> bool {
    drift.drifted || drift.shift.is_some()
}

/// The largest first, without those that have no part: what rounding left of a difference is none.
fn by_size(drift: &Drift) -> Vec<&CauseShare> {
    let mut causes: Vec<&CauseShare> = drift.causes.iter().take(CAUSES_SHOWN).collect();
    causes.retain(|share| has_moved(drift) || share.cause != Cause::CodeOrPlatform);
    let size = |share: &CauseShare| (share.usd.unwrap_or(0.0).abs(), share.seconds.abs());
    let (mut most_usd, mut most_seconds) = (0.0_f64, 0.0_f64);
    for (usd, seconds) in causes.iter().map(|share| size(share)) {
        (most_usd, most_seconds) = (most_usd.max(usd), most_seconds.max(seconds));
    }
    causes.retain(|share| {
        let (usd, seconds) = size(share);
        usd > LEAST_PART * most_usd || seconds > LEAST_PART * most_seconds
    });
    causes.sort_by(|a, b| {
        let ((a_usd, a_seconds), (b_usd, b_seconds)) = (size(a), size(b));
        b_usd
            .total_cmp(&a_usd)
            .then(b_seconds.total_cmp(&a_seconds))
    });
    causes
}

/// Cause, time and cost, the largest first, then the whole change and its interval. Empty where the change is within noise, of which
/// nothing can be the cause.
pub(super) fn causes(drift: &Drift) -> Grid {
    // The rows add up to the change, or there are none.
    let shown = match is_within_noise(drift) || !has_moved(drift) {
        true => Vec::new(),
        false => by_size(drift),
    };
    let mut rows: Vec<Vec<String>> = shown
        .into_iter()
        .map(|share| {
            let name = match share.cause {
                Cause::Data => "data",
                Cause::Price => "price",
                Cause::Work => "work",
                Cause::CodeOrPlatform => "code or platform",
            };
            vec![
                name.to_owned(),
                words::signed(Quantity::Time, share.seconds),
                share
                    .usd
                    .map_or(String::new(), |usd| words::signed(Quantity::Money, usd)),
            ]
        })
        .collect();
    if !rows.is_empty() {
        let (time, cost) = (drift.change.time_seconds, drift.change.cost_usd);
        let point = |quantity, change: Option<Estimate>| {
            change.map_or(String::new(), |change| {
                words::signed(quantity, change.point)
            })
        };
        let interval = |quantity: Quantity, change: Option<Estimate>| {
            change
                .and_then(|change| quantity.interval(&change))
                .unwrap_or_default()
        };
        let row = |name: &str, time: String, cost: String| vec![name.to_owned(), time, cost];
        rows.push(row(
            "in all",
            point(Quantity::Time, time),
            point(Quantity::Money, cost),
        ));
        // A row of its own: beside the point it would make the table too wide for a narrow screen.
        rows.push(row(
            "interval of these two checks",
            interval(Quantity::Time, time),
            interval(Quantity::Money, cost),
        ));
    }
    Grid {
        columns: vec![
            ("Cause", Align::Left),
            ("Time", Align::Right),
            ("Cost", Align::Right),
        ],
        rows,
    }
    .without_empty_columns()
}

/// The checks in one line: `▁▁▂▁▅▅▆ 7 checks since 2026-11-02`. `None` for fewer than two.
///
/// Without numbers: one law gives the levels of all checks, and they differ from the figures of the newest two.
pub(super) fn line(drift: &Drift) -> Option<String> {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let levels: Vec<f64> = drift
        .checks
        .iter()
        .map(|check| check.level_percent)
        .collect();
    if levels.len() < 2 {
        return None;
    }
    let shown = &levels[levels.len().saturating_sub(CHECKS_IN_A_LINE)..];
    let lowest = shown.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = shown.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let range = (highest - lowest).max(LEAST_RANGE);
    let bar = |level: &f64| {
        let part = (level - lowest) / range;
        // Of the bars the first whose share of the range is not passed; a flat line stands at the bottom.
        let place = (1..BARS.len()).find(|place| {
            let end = f64::from(u32::try_from(*place).unwrap_or(u32::MAX)) / 8.0;
            part.is_nan() || part < end
        });
        BARS[place.unwrap_or(BARS.len()) - 1]
    };
    let bars: String = shown.iter().map(bar).collect();
    let since = since(drift).unwrap_or_default();
    Some(format!(
        "{bars} {} since {since}",
        words::count(levels.len(), "check"),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::{samples, terminal};
    use super::*;
    use crate::drift::Check;

    fn drifted() -> JobReport {
        samples::drifted().jobs.remove(0)
    }

    fn said(job: &JobReport) -> String {
        headline(job, job.drift.as_ref().unwrap())
    }

    fn sentences(drift: &Drift) -> Vec<String> {
        let sentences = super::sentences(drift);
        sentences.iter().map(terminal::inline).collect()
    }

    fn estimate(point: f64, lower: f64, upper: f64) -> Option<Estimate> {
        Some(Estimate {
            point,
            lower,
            upper,
            level: 0.9,
        })
    }

    #[test]
    fn a_drift_is_said_with_its_amount_and_its_day() {
        assert_eq!(
            said(&drifted()),
            "drifted: a full run takes 63 USD, 13 USD (26%) more than on 2026-11-02"
        );
        assert_eq!(mark(drifted().drift.as_ref().unwrap()), Mark::Rose);
        let mut cheaper = drifted();
        let drift = cheaper.drift.as_mut().unwrap();
        drift.change.cost_usd = estimate(-13.0, -16.0, -10.0);
        drift.change.cost_percent = estimate(-26.0, -30.0, -20.0);
        assert_eq!(mark(drift), Mark::Fell);
        assert_eq!(
            said(&cheaper),
            "drifted: a full run takes 63 USD, 13 USD (26%) less than on 2026-11-02"
        );
    }

    #[test]
    fn no_drift_is_within_noise_or_within_what_is_allowed() {
        let mut job = samples::not_drifted().jobs.remove(0);
        assert_eq!(
            said(&job),
            "has no drift: a full run takes 51 USD; +2.0% against 2026-11-02 is within noise (7 checks)"
        );
        let drift = job.drift.as_mut().unwrap();
        drift.causes = samples::drifted().jobs.remove(0).drift.unwrap().causes;
        assert_eq!(causes(drift).rows.len(), 0);
        assert_eq!(sentences(drift).len(), 0);
        drift.change.cost_usd = estimate(4.0, 2.0, 6.0);
        drift.change.cost_percent = estimate(8.0, 4.0, 12.0);
        assert_eq!(
            said(&job),
            "has no drift: a full run takes 51 USD, 4.00 USD (8.0%) more than on 2026-11-02, which is not surely above the 15% and 5 USD that are allowed"
        );
        let drift = job.drift.as_mut().unwrap();
        drift.change = DriftChange::default();
        drift.checks.clear();
        assert_eq!(
            said(&job),
            "has no drift: a full run takes 51 USD (0 checks since its baseline)"
        );
    }

    #[test]
    fn two_noisy_checks_blame_nothing() {
        let mut job = drifted();
        let drift = job.drift.as_mut().unwrap();
        drift.checks.drain(1..6);
        (drift.drifted, drift.shift) = (false, None);
        drift
            .causes
            .retain(|share| share.cause == Cause::CodeOrPlatform);
        // Not surely more than allowed, and not even surely more.
        for lower in [1.0, -9.0] {
            let drift = job.drift.as_mut().unwrap();
            drift.change.cost_usd = estimate(11.0, lower / 2.0, 22.0);
            drift.change.cost_percent = estimate(22.0, lower, 43.0);
            assert_eq!(mark(drift), Mark::Doubtful);
            assert_eq!(sentences(drift), [""; 0]);
            assert_eq!(causes(drift).rows.len(), 0);
            assert!(!explains(drift));
            assert_eq!(
                said(&job),
                "has no drift yet: 22% above the baseline of 2026-11-02, not certain; a full run takes 63 USD (2 checks)"
            );
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_two_checks_differ_by_nothing_uncertain_is_blamed(
            change in -60.0..300.0_f64,
            width in 0.0..200.0_f64,
            usd in -50.0..50.0_f64,
        ) {
            let mut job = drifted();
            let drift = job.drift.as_mut().unwrap();
            (drift.drifted, drift.shift) = (false, None);
            drift.change.cost_usd = estimate(usd, usd - width, usd + width);
            drift.change.cost_percent = estimate(change, change - width, change + width);
            for share in &mut drift.causes {
                share.usd = Some(usd);
            }
            proptest::prop_assert_eq!(causes(drift).rows.len(), 0);
            for sentence in sentences(drift) {
                proptest::prop_assert!(!sentence.contains("slower") && !sentence.contains("faster"));
            }
            proptest::prop_assert!(!said(&job).contains("drifted"));
        }
    }

    #[test]
    fn where_the_level_may_not_have_moved_only_what_is_known_is_named() {
        let mut drift = drifted().drift.unwrap();
        (drift.drifted, drift.shift) = (false, None);
        assert_eq!(
            sentences(&drift),
            ["The data grew (+8.00 USD) and the price rose (+3.60 USD)."]
        );
        assert_eq!(causes(&drift).rows.len(), 0);
    }

    #[test]
    fn a_changed_setting_is_the_likely_cause_of_a_drift() {
        let mut drift = drifted().drift.unwrap();
        drift.changed = vec![crate::spec::ChangedSetting {
            field: "training.image".to_owned(),
            before: Some("xgboost:1.7-1".to_owned()),
            now: Some("xgboost:3.0-5".to_owned()),
        }];
        assert_eq!(
            sentences(&drift)[0],
            "The likely cause: training.image changed from xgboost:1.7-1 to xgboost:3.0-5."
        );
        drift.drifted = false;
        assert_eq!(
            sentences(&drift)[0],
            "Since the baseline training.image changed from xgboost:1.7-1 to xgboost:3.0-5."
        );
    }

    #[test]
    fn causes_are_named_from_the_largest() {
        let job = drifted();
        let drift = job.drift.as_ref().unwrap();
        assert_eq!(
            sentences(drift),
            [
                "The data grew (+8.00 USD), the price rose (+3.60 USD) and code or platform got slower (+1.40 USD).",
                "The level rose by 21% (15–27) with the check of 2026-11-14.",
                "Above the allowed 15% and 5 USD: 98% likely.",
            ]
        );
        assert_eq!(
            causes(drift).rows,
            [
                ["data", "+43m 28s", "+8.00 USD"],
                ["price", "0", "+3.60 USD"],
                ["code or platform", "+7m 36s", "+1.40 USD"],
                ["in all", "+51m 04s", "+13 USD"],
                ["interval of these two checks", "33m 20s–1h 10m", "8.90–17"],
            ]
        );
    }

    #[test]
    fn a_cause_without_any_part_is_left_out_and_a_fall_has_its_minus() {
        let mut drift = drifted().drift.unwrap();
        for (share, (seconds, usd)) in
            (drift.causes.iter_mut()).zip([(0.0, 0.0), (-6.7, -0.001), (1e-12, 1e-12)])
        {
            (share.seconds, share.usd) = (seconds, Some(usd));
        }
        drift.change.time_seconds = estimate(-6.7, -8.1, -5.3);
        drift.change.cost_usd = None;
        drift.change.time_percent = estimate(-42.0, -51.0, -33.0);
        assert_eq!(
            causes(&drift).rows,
            [
                ["data", "-6.7s", "-0.0010 USD"],
                ["in all", "-6.7s", ""],
                ["interval of these two checks", "-8.1s to -5.3s", ""],
            ]
        );
        assert_eq!(sentences(&drift)[0], "The data shrank (-0.0010 USD).");
    }

    #[test]
    fn checks_of_one_day_differ_by_their_time() {
        let mut job = samples::not_drifted().jobs.remove(0);
        let drift = job.drift.as_mut().unwrap();
        for (check, minute) in drift.checks.iter_mut().zip(6..) {
            let at = format!("2026-11-21T17:{minute:02}:59Z");
            check.at = at.parse().unwrap();
        }
        let seen = line(drift).unwrap();
        assert!(
            seen.ends_with(" 7 checks since 2026-11-21 17:06 UTC"),
            "{seen}"
        );
        assert!(
            said(&job).contains("against 2026-11-21 17:06 UTC is within noise"),
            "{}",
            said(&job)
        );
    }

    #[test]
    fn no_number_of_a_stored_report_breaks_its_rendering() {
        for number in [0.0, -0.0, 1e308, -1e308, 1e-308, f64::INFINITY, f64::NAN] {
            let mut report = samples::drifted();
            let drift = report.jobs[0].drift.as_mut().unwrap();
            let extreme = estimate(number, -number, number);
            drift.change = DriftChange {
                time_seconds: extreme,
                cost_usd: extreme,
                time_percent: extreme,
                cost_percent: extreme,
            };
            for share in &mut drift.causes {
                (share.seconds, share.usd) = (number, Some(number));
            }
            drift.causes = drift.causes.repeat(1000);
            drift.limit_percent.0 = number;
            drift.at_least_usd.0 = number;
            drift.chance_over_limit = Some(number);
            drift.shift.as_mut().unwrap().percent = extreme.unwrap();
            drift.checks[1].level_percent = number;
            let text = crate::report::markdown::render(&report);
            let issue = crate::report::drift_issue(&report).unwrap();
            let style = crate::report::terminal::TerminalStyle::default();
            let terminal = crate::report::terminal::render(&report, style);
            for text in [text, issue.body, terminal] {
                assert!(text.len() < 20_000, "{number}: {}", text.len());
            }
        }
    }

    #[test]
    fn whatever_a_stored_report_says_of_its_checks_is_a_line() {
        let mut drift = drifted().drift.unwrap();
        assert_eq!(line(&drift).unwrap(), "▁▂▁▁▇██ 7 checks since 2026-11-02");
        let check = drift.checks[0].clone();
        let with = |level_percent| Check {
            level_percent,
            ..check.clone()
        };
        drift.checks = vec![with(100.0); 3];
        assert!(line(&drift).unwrap().starts_with("▁▁▁ "));
        drift.checks = vec![with(100.0), with(100.1), with(103.0)];
        assert!(line(&drift).unwrap().starts_with("▁▁▃ "));
        drift.checks = vec![with(1e308), with(-1e308), with(f64::NAN)];
        line(&drift).unwrap();
        drift.checks = vec![with(100.0); 100_000];
        assert!(line(&drift).unwrap().len() < 400);
        drift.checks.truncate(1);
        assert_eq!(line(&drift), None);
    }
}
