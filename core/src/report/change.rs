//! Why a forecast is another than that of the base, in sentences.

use super::changed_settings;
use super::text::Prose;
use super::words::{self, Quantity};
use super::{Baseline, Delta, InstanceForecast, JobReport};
use crate::drift::{Cause, CauseShare};
use crate::forecast::Estimate;
pub(super) use crate::grammar::list as joined;
use crate::instance::InstanceConfiguration;
use crate::metric::Metric;

/// A part of the change that is less than this share of the base is not worth a word.
const LEAST_SHARE: f64 = 0.01;

/// A cause that is worth a word.
struct Notable {
    cause: Cause,
    is_more: bool,
    /// `+5 USD, +12%`.
    amount: String,
    size: f64,
}

/// What is said of a change against the base.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// In sentences.
    pub(super) text: Prose,
    /// Whether it names a cause; else only what changed, or that nothing did.
    pub(super) explains: bool,
}

/// `Training takes 31% longer per GiB than on main (a1b2c3d, 3 days ago). Data and price are the same.`
///
/// `None` where there is no baseline, or nothing was compared with it.
pub(super) fn said(job: &JobReport) -> Option<Said> {
    let baseline = job.baseline.as_ref()?;
    let forecast = job.forecasts.first()?;
    let delta = &forecast.delta;
    let whole = whole(delta)?;
    let base = reference(baseline);
    let notable = notable(baseline, forecast);
    let mut sentences = Vec::new();
    let mut besides_it = notable.as_slice();
    let is_slower = |one: &Notable| one.cause == Cause::CodeOrPlatform;
    let changed = changed_settings::clause(&baseline.changed);
    sentences.extend(changed.map(|clause| match notable.iter().any(is_slower) {
        true => Prose::fill("The likely cause: {}.", [clause]),
        false => Prose::fill("Since the base {}.", [clause]),
    }));
    if let Some(other) = &baseline.instance {
        let name = |instance: &InstanceConfiguration| Prose::name(instance.to_string());
        sentences.push(Prose::fill(
            "It trains on {}, the base on {}.",
            [name(&job.instance), name(other)],
        ));
    }
    match notable.split_first() {
        Some((first, others)) if baseline.instance.is_none() => {
            sentences.push(leading(first, job, delta, base));
            besides_it = others;
        }
        _ if words::is_noise(&whole) => {
            sentences.push(Prose::fill("No difference beyond noise to {}.", [base]));
        }
        _ => {
            let (percent, more) = more_or_less(whole.point);
            let more = Prose::literal(format!("A full run takes {percent} {more}"));
            sentences.push(Prose::fill("{} than on {}.", [more, base]));
        }
    }
    if !besides_it.is_empty() {
        let besides_it: Vec<String> = besides_it.iter().map(|one| besides(one, delta)).collect();
        sentences.push(Prose::literal(format!("Besides, {}.", joined(&besides_it))));
    }
    let is_rate_noise = delta
        .rate_percent
        .is_some_and(|rate| words::is_noise(&rate));
    if !notable.is_empty() && is_rate_noise && baseline.instance.is_none() {
        sentences.push(Prose::own("The rest is within noise."));
    }
    sentences.extend(unchanged(baseline, forecast, &notable));
    Some(Said {
        text: Prose::joined(sentences, " "),
        explains: baseline.instance.is_some() || !notable.is_empty(),
    })
}

/// Of cost where it is known, else of time, in percent of the base.
pub(super) fn whole(delta: &Delta) -> Option<Estimate> {
    delta.cost_percent.or(delta.time_percent)
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

/// The causes that stand out from noise, in order of size. What the data, the price and the work did is known; how fast
/// the same work is was measured. Where the base trains on another configuration, price and rate are that one's, and no change
/// of anything.
fn notable(baseline: &Baseline, forecast: &InstanceForecast) -> Vec<Notable> {
    let Delta {
        cost_usd,
        time_seconds,
        rate_percent,
        causes,
        ..
    } = &forecast.delta;
    let estimates = &forecast.estimates;
    let base = |total: Option<Estimate>, change: Option<Estimate>| {
        let base = total?.point - change?.point;
        (base > 0.0).then_some(base)
    };
    let base_usd = base(estimates[Metric::Cost], *cost_usd);
    let base_seconds = base(estimates[Metric::Time], *time_seconds);
    let mut notable: Vec<Notable> = causes
        .iter()
        .filter(|share| {
            let is_of_instance = matches!(share.cause, Cause::Price | Cause::CodeOrPlatform);
            baseline.instance.is_none() || !is_of_instance
        })
        .filter(|share| {
            share.cause != Cause::CodeOrPlatform
                || rate_percent.is_some_and(|rate| !words::is_noise(&rate))
        })
        .filter_map(|share| {
            let (value, quantity, base) = match (share.usd, base_usd) {
                (Some(usd), Some(base)) => (usd, Quantity::Money, base),
                _ => (share.seconds, Quantity::Time, base_seconds?),
            };
            let size = (value / base).abs();
            (size >= LEAST_SHARE).then(|| Notable {
                cause: share.cause,
                is_more: value > 0.0,
                amount: format!(
                    "{}, {}",
                    words::signed(quantity, value),
                    words::signed(Quantity::Percent, 100.0 * value / base)
                ),
                size,
            })
        })
        .collect();
    notable.sort_by(|a, b| b.size.total_cmp(&a.size));
    notable.truncate(4);
    notable
}

/// `Training takes 31% longer per GiB than on main (a1b2c3d).`, `There are more data than on main (a1b2c3d): +5 USD, +12%.`
fn leading(notable: &Notable, job: &JobReport, delta: &Delta, base: Prose) -> Prose {
    let words = match (notable.cause, notable.is_more) {
        (Cause::CodeOrPlatform, _) => {
            let per = if job.measurements.iter().any(|run| run.bytes.is_some()) {
                "per GiB"
            } else {
                "for the same data"
            };
            let longer = longer(delta, notable);
            let longer = Prose::literal(format!("Training takes {longer} {per}"));
            return Prose::fill("{} than on {}.", [longer, base]);
        }
        (Cause::Data, true) => "There are more data",
        (Cause::Data, false) => "There are fewer data",
        (Cause::Price, true) => "The price is higher",
        (Cause::Price, false) => "The price is lower",
        (Cause::Work, true) => "There is more work to do",
        (Cause::Work, false) => "There is less work to do",
    };
    let amount = Prose::literal(format!(": {}.", notable.amount));
    Prose::fill("{} than on {}{}", [Prose::own(words), base, amount])
}

fn besides(notable: &Notable, delta: &Delta) -> String {
    let amount = &notable.amount;
    match (notable.cause, notable.is_more) {
        (Cause::CodeOrPlatform, _) => {
            format!(
                "training takes {} for the same data ({amount})",
                longer(delta, notable)
            )
        }
        (Cause::Data, true) => format!("the data grew ({amount})"),
        (Cause::Data, false) => format!("the data shrank ({amount})"),
        (Cause::Price, true) => format!("the price rose ({amount})"),
        (Cause::Price, false) => format!("the price fell ({amount})"),
        (Cause::Work, true) => format!("there is more work to do ({amount})"),
        (Cause::Work, false) => format!("there is less work to do ({amount})"),
    }
}

/// `31% longer`, `12% less time`.
fn longer(delta: &Delta, notable: &Notable) -> String {
    let rate = delta.rate_percent.map_or(0.0, |rate| rate.point);
    let percent = Quantity::Percent.figure(rate.abs());
    if notable.is_more {
        format!("{percent} longer")
    } else {
        format!("{percent} less time")
    }
}

/// `31%` and `more`.
pub(super) fn more_or_less(percent: f64) -> (String, &'static str) {
    let more = if percent < 0.0 { "less" } else { "more" };
    (Quantity::Percent.figure(percent.abs()), more)
}

/// `Data and price are the same.`; that the data are others, where that explains nothing.
fn unchanged(
    baseline: &Baseline,
    forecast: &InstanceForecast,
    notable: &[Notable],
) -> Option<Prose> {
    let is_notable = |cause| notable.iter().any(|one| one.cause == cause);
    let causes = &forecast.delta.causes;
    if causes.is_empty() {
        return other_data(baseline, notable);
    }
    let is_priced = causes.iter().any(|share: &CauseShare| share.usd.is_some());
    let data = !is_notable(Cause::Data) && !baseline.data_changed;
    let price = !is_notable(Cause::Price) && is_priced && baseline.instance.is_none();
    let same = match (data, price) {
        // That nothing changed was said.
        _ if notable.is_empty() && baseline.instance.is_none() => None,
        (true, true) => Some("Data and price are the same."),
        (true, false) => Some("The data are the same."),
        (false, true) => Some("The price is the same."),
        (false, false) => None,
    };
    let said = [same.map(Prose::own), other_data(baseline, notable)];
    let said = Prose::joined(said.into_iter().flatten(), " ");
    (!said.is_empty()).then_some(said)
}

fn other_data(baseline: &Baseline, notable: &[Notable]) -> Option<Prose> {
    let is_named = notable.iter().any(|one| one.cause == Cause::Data);
    (baseline.data_changed && !is_named)
        .then(|| Prose::own("The data changed; their amount is about the same."))
}

#[cfg(test)]
mod tests {
    use super::super::{samples, terminal};
    use super::*;

    fn said(job: &JobReport) -> Option<String> {
        super::said(job).map(|said| terminal::inline(&said.text))
    }

    fn explains(job: &JobReport) -> bool {
        super::said(job).unwrap().explains
    }

    fn increased() -> JobReport {
        samples::of("increased").jobs.remove(0)
    }

    fn share(cause: Cause, seconds: f64, usd: f64) -> CauseShare {
        CauseShare {
            cause,
            seconds,
            usd: Some(usd),
        }
    }

    #[test]
    fn slower_code_is_said_in_percent_per_gigabyte() {
        assert_eq!(
            said(&increased()).unwrap(),
            "Training takes 31% longer per GiB than on main (a1b2c3d, 3 days ago). Data and price are the same."
        );
    }

    #[test]
    fn a_changed_setting_is_named_before_anything_else() {
        let mut job = increased();
        job.baseline.as_mut().unwrap().changed = vec![crate::spec::ChangedSetting {
            field: "training.hyperparameters.epochs".to_owned(),
            before: Some("10".to_owned()),
            now: Some("13".to_owned()),
        }];
        assert_eq!(
            said(&job).unwrap(),
            "The likely cause: training.hyperparameters.epochs changed from 10 to 13. Training takes 31% longer per GiB than on main (a1b2c3d, 3 days ago). Data and price are the same."
        );
        let rate = job.forecasts[0].delta.rate_percent.as_mut().unwrap();
        (rate.lower, rate.upper) = (-4.0, 80.0);
        assert!(
            said(&job).unwrap().starts_with(
                "Since the base training.hyperparameters.epochs changed from 10 to 13. "
            )
        );
    }

    #[test]
    fn several_causes_come_in_order_of_size() {
        let mut job = increased();
        job.forecasts[0].delta.causes = vec![
            share(Cause::Price, 0.0, 1.5),
            share(Cause::Data, 1600.0, 5.0),
            share(Cause::CodeOrPlatform, 3200.0, 10.0),
            share(Cause::Work, 3.0, 0.01),
        ];
        assert_eq!(
            said(&job).unwrap(),
            "Training takes 31% longer per GiB than on main (a1b2c3d, 3 days ago). Besides, the data grew (+5.00 USD, +10%) and the price rose (+1.50 USD, +3.1%)."
        );
        job.forecasts[0].delta.causes[2].usd = Some(-3.0);
        job.forecasts[0].delta.rate_percent.as_mut().unwrap().point = -6.0;
        assert_eq!(
            said(&job).unwrap(),
            "There are more data than on main (a1b2c3d, 3 days ago): +5.00 USD, +10%. Besides, training takes 6.0% less time for the same data (-3.00 USD, -6.2%) and the price rose (+1.50 USD, +3.1%)."
        );
    }

    #[test]
    fn what_is_known_is_named_where_the_rest_is_noise() {
        let mut job = increased();
        let delta = &mut job.forecasts[0].delta;
        delta.causes = vec![
            share(Cause::Data, -1600.0, -5.0),
            share(Cause::Price, 0.0, 0.0),
            share(Cause::CodeOrPlatform, 300.0, 1.0),
        ];
        let rate = delta.rate_percent.as_mut().unwrap();
        (rate.point, rate.lower, rate.upper) = (2.0, -4.0, 8.0);
        assert!(explains(&job));
        assert_eq!(
            said(&job).unwrap(),
            "There are fewer data than on main (a1b2c3d, 3 days ago): -5.00 USD, -10%. The rest is within noise. The price is the same."
        );
    }

    #[test]
    fn another_instance_is_the_cause_and_not_its_price() {
        let mut job = increased();
        job.baseline.as_mut().unwrap().instance = Some("ml.c5.large".parse().unwrap());
        job.forecasts[0].delta.causes = vec![
            share(Cause::Price, 0.0, 9.0),
            share(Cause::Data, 1600.0, 5.0),
            share(Cause::CodeOrPlatform, 300.0, 1.0),
        ];
        assert!(explains(&job));
        let instance = &job.instance;
        assert_eq!(
            said(&job).unwrap(),
            format!(
                "It trains on {instance}, the base on ml.c5.large. A full run takes 31% more than on main (a1b2c3d, 3 days ago). Besides, the data grew (+5.00 USD, +10%)."
            )
        );
        job.forecasts[0].delta.causes.remove(1);
        assert!(
            said(&job)
                .unwrap()
                .ends_with("3 days ago). The data are the same."),
            "{:?}",
            said(&job)
        );
    }

    #[test]
    fn what_noise_may_explain_is_no_cause() {
        let mut job = samples::of("within_noise").jobs.remove(0);
        assert!(!explains(&job));
        assert_eq!(
            said(&job).unwrap(),
            "No difference beyond noise to main (a1b2c3d, 3 days ago)."
        );
        let baseline = job.baseline.as_mut().unwrap();
        baseline.data_changed = true;
        baseline.is_same_code = false;
        (baseline.branch, baseline.commit) = (None, None);
        baseline.age_days = 0.2;
        assert_eq!(
            said(&job).unwrap(),
            "No difference beyond noise to the newest of its base (5 hours ago). The data changed; their amount is about the same."
        );
    }

    #[test]
    fn a_difference_without_known_causes_is_said_as_it_is() {
        let mut job = increased();
        job.forecasts[0].delta.causes.clear();
        job.baseline.as_mut().unwrap().is_same_code = false;
        assert_eq!(
            said(&job).unwrap(),
            "A full run takes 31% more than on the newest on main (a1b2c3d, 3 days ago)."
        );
        job.forecasts[0].delta = Delta::default();
        assert_eq!(said(&job), None);
        let mut job = increased();
        job.baseline = None;
        assert_eq!(said(&job), None);
    }
}
