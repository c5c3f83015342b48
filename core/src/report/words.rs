//! How a report says things: numbers with their interval, verdicts, chances, laws, exit codes. Plain text; escaping and
//! layout are the renderers' work.

use super::{InstanceForecast, JobReport, Report};
use crate::exit;
use crate::forecast::{Estimate, Law};
pub use crate::grammar::count;
pub(super) use crate::grammar::{distinct, grouped, joined, only_where};
use crate::instance::{Price, PriceEvidence, PriceKind};
use crate::measurement::Abscissa;
use crate::spec::{Bound, LineKind};
use crate::units::{Percent, UsdPerHour};
use crate::verdict::{self, Verdict};

pub use crate::verdict::words::{bare_chance, chance};

/// What is shown where nothing is known.
pub const UNKNOWN: &str = "—";

pub use crate::metric::Unit as Quantity;

impl Quantity {
    /// The value with its unit: `5h 42m`, `63 USD`, `71%`.
    pub fn figure(self, value: f64) -> String {
        self.beyond_use(value)
            .unwrap_or_else(|| self.rounded(value))
    }

    /// The interval without a unit that the point already names: `5h 05m–6h 31m`, `56–72`, `-8.1s to -5.3s`. `None` where both
    /// ends read as the point does.
    pub fn interval(self, estimate: &Estimate) -> Option<String> {
        let end = |value| self.beyond_use(value).unwrap_or_else(|| self.bare(value));
        let ends = [estimate.lower, estimate.point, estimate.upper].map(end);
        // Beside a dash a minus would be misread.
        let is_negative = ends[0].starts_with('-') || ends[2].starts_with('-');
        let between = if is_negative { " to " } else { "–" };
        (ends[0] != ends[1] || ends[1] != ends[2])
            .then(|| format!("{}{between}{}", ends[0], ends[2]))
    }

    /// Point and interval on one line: `63 USD (56–72)`.
    pub fn with_interval(self, estimate: &Estimate) -> String {
        let point = self.figure(estimate.point);
        match self.interval(estimate) {
            Some(interval) => format!("{point} ({interval})"),
            None => point,
        }
    }

    /// A distribution with few degrees of freedom has ends that would fill a line with digits.
    fn beyond_use(self, value: f64) -> Option<String> {
        if value.is_nan() {
            return Some(UNKNOWN.to_owned());
        }
        let infinite = if value < 0.0 { "-∞" } else { "∞" };
        (value.abs() > self.largest_shown()).then(|| infinite.to_owned())
    }
}

/// A share of something, 0-1, as a percentage.
///
/// As a fraction of the spec is written: `2%`, `1.5%`.
pub fn share(value: f64) -> String {
    let figure = Quantity::Percent.figure(value * 100.0);
    match figure.strip_suffix('%') {
        Some(number) if number.contains('.') => {
            format!("{}%", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => figure,
    }
}

/// A value as a part of its limit, lest it be read as the value itself: `38%`, `of limit`; `2.4x`, `limit`; `24x`, `limit`.
pub fn used(of_limit: f64) -> (String, &'static str) {
    match of_limit {
        ..2.0 => (share(of_limit), "of limit"),
        2.0..10.0 => (format!("{of_limit:.1}x"), "limit"),
        _ => (format!("{}x", Quantity::Number.figure(of_limit)), "limit"),
    }
}

/// A limit as a reader knows it from the spec: `at most 50 USD`, `at least 20%`.
pub fn limit(line: LineKind, bound: Bound, limit: f64) -> String {
    let figure = line.exact(limit);
    format!("{} {figure}", bound.pick("at most", "at least"))
}

/// A value of a budget line beside its limit: `63 USD`.
pub fn line_figure(line: LineKind, value: f64, limit: f64) -> String {
    line.unit()
        .beyond_use(value)
        .unwrap_or_else(|| verdict::words::amount_beside(line, value, limit))
}

/// What follows a job's name in the line that names its verdict.
pub fn phrase(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Exceeded => "over budget",
        Verdict::Failed => "failed in a canary",
        Verdict::Unknown => "could not be decided",
        Verdict::AtRisk => "may exceed the budget",
        Verdict::Within => "within budget",
        Verdict::NotJudged => "not judged",
    }
}

/// The [`phrase`] of a verdict, but for a breach that the forecast shows to have been there at the base.
pub fn verdict_phrase(verdict: Verdict, forecast: Option<&InstanceForecast>) -> &'static str {
    match shown_verdict(verdict, forecast) == verdict {
        true => phrase(verdict),
        false => "over budget, as the base is",
    }
}

/// A verdict as a reader is shown it: where nothing is wrong but a breach that was there before, that is a warning.
pub fn shown_verdict(verdict: Verdict, forecast: Option<&InstanceForecast>) -> Verdict {
    let lines = forecast.map_or(&[][..], |forecast| &forecast.budget);
    let is_fine = matches!(verdict, Verdict::Within | Verdict::NotJudged);
    if is_fine && lines.iter().any(|line| line.excuse().is_some()) {
        Verdict::AtRisk
    } else {
        verdict
    }
}

/// Whether the check passes or fails, after a verdict that leaves that open: ` (the check passes)`; empty where other jobs
/// decide too.
pub fn outcome_of_check(report: &Report, shown: Verdict) -> &'static str {
    match (report.exit_code, shown) {
        (0, Verdict::Exceeded | Verdict::Unknown | Verdict::AtRisk | Verdict::NotJudged) => {
            " (the check passes)"
        }
        (exit::UNKNOWN, Verdict::Unknown) | (exit::AT_RISK, Verdict::AtRisk) => {
            " (the check fails)"
        }
        _ => "",
    }
}

/// What an exit code of this program means.
pub fn exit_words(code: u8) -> &'static str {
    match code {
        0 => "within budget, or nothing to judge",
        exit::TOOL_FAILED => "the tool failed, or its environment needs a correction",
        exit::USAGE => "wrong usage, or an invalid spec",
        exit::EXCEEDED => "a budget is exceeded",
        exit::AT_RISK => "a budget is at risk, and the check is strict",
        exit::DRIFT => "the training drifted from its baseline",
        exit::FAILED => "the training code failed in a canary",
        exit::UNKNOWN => "unknown: could not be decided",
        exit::INTERRUPTED => "interrupted by SIGINT",
        exit::TERMINATED => "interrupted by SIGTERM",
        _ => "a code that this version does not know",
    }
}

/// Why a run ends with its code.
pub fn closing(report: &Report) -> String {
    let code = report.exit_code;
    let is_checked_for_drift = report.jobs.iter().any(|job| job.drift.is_some());
    let is_excused =
        |job: &JobReport| shown_verdict(job.verdict, job.forecasts.first()) != job.verdict;
    let was_over = report.jobs.iter().any(is_excused);
    // Its canaries were detached.
    let is_to_come = (report.jobs.iter()).any(|job| job.measurements.is_empty());
    let why = match (code, report.verdict) {
        (0, Verdict::Exceeded) => "a budget is exceeded, which a person accepted",
        (0, Verdict::Within | Verdict::NotJudged) if was_over => {
            "a budget is exceeded as it was on the base, which passes"
        }
        (0, Verdict::Within | Verdict::NotJudged) if is_checked_for_drift => "no drift",
        (0, Verdict::Within) => "within budget",
        (0, Verdict::AtRisk) => "a budget is at risk, which passes unless the check is strict",
        (0, Verdict::NotJudged) if is_to_come => "nothing is judged yet",
        (0, Verdict::NotJudged) => "nothing to judge",
        (0, Verdict::Unknown) => "unknown, which passes with on_inconclusive: pass",
        _ => exit_words(code),
    };
    format!("exit {code}: {why}")
}

/// For how long: `3 days`, `5 hours`, `less than an hour`; a stored report may say anything.
pub fn age(days: f64) -> String {
    const LONGEST: f64 = 36_525.0; // a hundred years
    let hours = days * 24.0;
    let of = |number: f64, noun: &str| {
        let plural = if number == 1.0 { "" } else { "s" };
        format!("{number:.0} {noun}{plural}")
    };
    match hours {
        _ if !days.is_finite() || days > LONGEST => "a long time".to_owned(),
        ..1.0 => "less than an hour".to_owned(),
        ..48.0 => of(hours.round(), "hour"),
        _ => of(days.round(), "day"),
    }
}

/// The day, UTC: `2026-11-02`.
pub fn day(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d").to_string()
}

/// The day and the minute, UTC: `2026-11-02 17:06 UTC`.
pub fn minute(at: jiff::Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M UTC").to_string()
}

/// `90`, `99.8`: as many digits as the level has, and never all hundred cases.
pub fn cases_of_a_hundred(level: f64) -> String {
    let cases = Percent((level * 1e8).round() / 1e6);
    if cases.0 >= 100.0 {
        ">99".to_owned()
    } else {
        cases.exact().trim_end_matches('%').to_owned()
    }
}

/// How many there are beyond the most that are shown; `None` where all are.
pub(super) fn beyond(count: usize, most: usize) -> Option<usize> {
    count.checked_sub(most).filter(|further| *further > 0)
}

/// A change with its sign: `+13 USD`, `-5%`; `0` where there is none.
pub fn signed(quantity: Quantity, value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{}", quantity.figure(value))
}

/// Whether an interval of a change holds no change at all.
pub fn is_noise(change: &Estimate) -> bool {
    !(change.lower > 0.0 || change.upper < 0.0)
}

/// The first letter made large.
pub fn capitalized(sentence: &str) -> String {
    let mut characters = sentence.chars();
    characters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

/// Below this probability the most probable kind of growth is only one of several.
const LEAST_SURE: f64 = 0.6;

/// How the subject follows the data by this law: `time is assumed to grow in proportion to the data`.
pub fn law(subjects: &[&str], law: &Law, abscissa: Abscissa) -> String {
    let subject = subjects.join(" and ");
    let (is, seems, follows) = match subjects {
        [_] => ("is", "seems", "follows"),
        _ => ("are", "seem", "follow"),
    };
    // Never `100% sure` of what was weighed.
    let is_sure = law.weight >= 1.0;
    let sure = only_where(!is_sure, || {
        format!(" ({:.0}% sure)", (100.0 * law.weight).floor())
    });
    let behaviour = match law.name.as_str() {
        "linear" => format!("grow in proportion to the {abscissa}"),
        "constant" => format!("stay the same whatever the {abscissa}"),
        "more than linear" => format!("grow faster than the {abscissa}"),
        "less than linear" => format!("grow slower than the {abscissa}"),
        name => return format!("{subject} {follows} the law {name}{sure}"),
    };
    match law.weight {
        1.0.. => format!("{subject} {is} assumed to {behaviour}"),
        ..LEAST_SURE => format!("{subject} may {behaviour}{sure}"),
        _ => format!("{subject} {seems} to {behaviour}{sure}"),
    }
}

/// `0.461 USD/h per machine, AWS price list: us-east-1, on demand, 2026-11-02`
pub fn price(price: &Price) -> String {
    // Binary arithmetic would show as `9.166666666666666`.
    let hourly = UsdPerHour((price.usd_per_hour.0 * 1e4).round() / 1e4);
    let each = format!("{hourly} per machine");
    let each = match (price.kind, price.on_demand_usd_per_hour) {
        (PriceKind::Spot, Some(on_demand)) => {
            format!("{each} on spot capacity ({on_demand} on demand)")
        }
        (PriceKind::Spot, None) => format!("{each} on spot capacity"),
        (PriceKind::OnDemandForSpot, _) => {
            format!("{each} on demand, since `prices` has none below `spot`")
        }
        (PriceKind::OnDemand, _) => each,
    };
    let known = match price.evidence {
        PriceEvidence::Spec => return format!("{each}, from the spec"),
        PriceEvidence::PriceList => "AWS price list",
        PriceEvidence::AuthorQueried => "asked of AWS",
        PriceEvidence::BillLine => "from a bill",
        PriceEvidence::OtherComponent => "price of another SageMaker component",
        PriceEvidence::LibraryTable => "a published table",
        PriceEvidence::Estimate => "an estimate",
    };
    let date = price.as_of.as_ref();
    let date = date.map_or(String::new(), |date| format!(", {date}"));
    format!("{each}, {known}: {}{date}", price.source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_carries_its_unit_and_its_interval() {
        use Quantity::{Money, Percent, StepTime, Time};
        for (quantity, [point, lower, upper], shown) in [
            (Time, [20520.0, 18300.0, 23460.0], "5h 42m (5h 05m–6h 31m)"),
            (Money, [63.4, 56.0, 72.0], "63 USD (56–72)"),
            (Money, [0.5, 0.41, 0.0], "0.50 USD (0.41–0)"),
            (Percent, [71.0, 66.0, 78.0], "71% (66–78)"),
            (Percent, [94.0, 94.1, 93.9], "94%"),
            (Time, [60.0, 1.0, 1e300], "1m (1.0s–∞)"),
            (StepTime, [0.3204, 0.0042, 1.42], "320ms (4.2ms–1.4s)"),
            (StepTime, [5.2e-6, 0.0, 0.9951], "0.0052ms (0.00s–1.00s)"),
        ] {
            let estimate = Estimate {
                point,
                lower,
                upper,
                level: 0.9,
            };
            assert_eq!(quantity.with_interval(&estimate), shown);
        }
    }

    #[test]
    fn a_part_of_a_limit_is_not_read_as_a_value() {
        for (of_limit, said) in [
            (0.0, "0% of limit"),
            (0.0005, "0.05% of limit"),
            (0.38, "38% of limit"),
            (1.264, "126% of limit"),
            (2.13, "2.1x limit"),
            (9.96, "10.0x limit"),
            (24.14, "24x limit"),
            (1e300, "∞x limit"),
        ] {
            let (part, limit) = used(of_limit);
            assert_eq!(format!("{part} {limit}"), said);
        }
    }

    #[test]
    fn every_documented_code_has_words() {
        for code in [0, 1, 2, 10, 11, 12, 13, 14, 130, 143] {
            assert_ne!(exit_words(code), exit_words(77), "{code}");
        }
    }

    #[test]
    fn an_age_is_said_however_wrong_it_is() {
        for (days, said) in [
            (0.0, "less than an hour"),
            (-3.0, "less than an hour"),
            (1.0 / 24.0, "1 hour"),
            (0.2, "5 hours"),
            (1.9, "46 hours"),
            (2.0, "2 days"),
            (400.0, "400 days"),
            (1e300, "a long time"),
            (f64::NAN, "a long time"),
        ] {
            assert_eq!(age(days), said, "{days}");
        }
    }

    #[test]
    fn a_law_is_said_in_words() {
        let law_of = |name: &str, weight| Law {
            name: name.to_owned(),
            weight,
            intercept: 41.0,
            slope: 20_000.0,
            shape: crate::forecast::Shape::linear(),
        };
        assert_eq!(
            law(&["time"], &law_of("linear", 1.0), Abscissa::Data),
            "time is assumed to grow in proportion to the data"
        );
        assert_eq!(
            law(&["time"], &law_of("linear", 0.91), Abscissa::Data),
            "time seems to grow in proportion to the data (91% sure)"
        );
        assert_eq!(
            law(&["time"], &law_of("plateau", 0.5), Abscissa::Data),
            "time follows the law plateau (50% sure)"
        );
    }
}
