//! Why a forecast is another than that of the base, in sentences and as a table.

use super::document::Table;
use super::text::Prose;
use super::words::{self, Quantity};
use super::{Baseline, InstanceForecast, JobReport, causes, changed_settings};
use crate::drift::{Cause, CauseShare};
use crate::instance::InstanceConfiguration;

/// What is said of a change against the base.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Said {
    /// In sentences.
    pub(super) text: Prose,
    /// Whether it names a cause; else only what changed, or that nothing did.
    pub(super) explains: bool,
}

/// `A full run takes 31% more than on main (a1b2c3d, 3 days ago). The same work on the same data takes 29% longer. The data
/// grew (+5.00 USD).`
///
/// `None` where there is no baseline, or nothing was compared with it.
pub(super) fn said(job: &JobReport) -> Option<Said> {
    let baseline = job.baseline.as_ref()?;
    let forecast = job.forecasts.first()?;
    let delta = &forecast.delta;
    // Of cost where it is known, else of time.
    let whole = delta.cost_percent.or(delta.time_percent)?;
    let causes = of_change(baseline, forecast);
    let rate = delta
        .rate_percent
        .filter(|_| is_of_code(baseline, forecast));
    let settings = changed_settings::clause(&baseline.changed);
    let are_settings_said = settings.is_some();
    let settings = settings.map(|clause| match rate {
        Some(_) => Prose::fill("The likely cause: {}.", [clause]),
        None => Prose::fill("Since the base {}.", [clause]),
    });
    let instances = baseline.instance.as_ref().map(|other| {
        let name = |instance: &InstanceConfiguration| Prose::name(instance.to_string());
        let instances = [name(&job.instance), name(other)];
        Prose::fill("It trains on {}, the base on {}.", instances)
    });
    let base = reference(baseline);
    let change = match words::is_noise(&whole) {
        true => Prose::fill("No difference beyond noise to {}.", [base]),
        false => {
            let more = if whole.point < 0.0 { "less" } else { "more" };
            let percent = Quantity::Percent.figure(whole.point.abs());
            let more = Prose::literal(format!("A full run takes {percent} {more}"));
            Prose::fill("{} than on {}.", [more, base])
        }
    };
    let rate = rate.map(|rate| {
        let longer = if rate.point < 0.0 {
            "less time"
        } else {
            "longer"
        };
        let percent = Quantity::Percent.figure(rate.point.abs());
        Prose::literal(format!(
            "The same work on the same data takes {percent} {longer}."
        ))
    });
    let sentence = causes::sentence(&causes, are_settings_said);
    let is_data_named = causes.iter().any(|share| share.cause == Cause::Data);
    let other_data = (baseline.data_changed && !is_data_named)
        .then(|| Prose::own("The data changed; their amount is about the same."));
    let explains = instances.is_some() || sentence.is_some();
    let sentence = sentence.map(Prose::literal);
    let sentences = [
        settings,
        instances,
        Some(change),
        rate,
        sentence,
        other_data,
    ];
    Some(Said {
        text: Prose::joined(sentences.into_iter().flatten(), " "),
        explains,
    })
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

#[cfg(test)]
mod tests {
    use super::super::{Delta, samples, terminal};
    use super::*;

    fn increased() -> JobReport {
        samples::of("increased").jobs.remove(0)
    }

    fn shares(shares: &[(Cause, f64)]) -> Vec<CauseShare> {
        let share = |(cause, usd): &(Cause, f64)| CauseShare {
            cause: *cause,
            seconds: 320.0 * usd,
            usd: Some(*usd),
        };
        shares.iter().map(share).collect()
    }

    #[test]
    fn a_change_is_said_with_its_causes() {
        type Change = fn(&mut JobReport);
        let noisy_rate: Change = |job| {
            let rate = job.forecasts[0].delta.rate_percent.as_mut().unwrap();
            (rate.lower, rate.upper) = (-4.0, 80.0);
        };
        let setting: Change = |job| {
            job.baseline.as_mut().unwrap().changed = vec![crate::spec::ChangedSetting {
                field: "epochs".to_owned(),
                before: Some("10".to_owned()),
                now: Some("13".to_owned()),
            }];
        };
        let several: Change = |job| {
            let causes = [
                (Cause::Price, 1.5),
                (Cause::Data, 5.0),
                (Cause::CodeOrPlatform, -10.0),
            ];
            job.forecasts[0].delta.causes = shares(&causes);
        };
        let instance: Change = |job| {
            job.baseline.as_mut().unwrap().instance = Some("ml.c5.large".parse().unwrap());
        };
        let other_data: Change = |job| {
            let baseline = job.baseline.as_mut().unwrap();
            (baseline.data_changed, baseline.is_same_code) = (true, false);
            (baseline.branch, baseline.commit) = (None, None);
            (baseline.age_days, job.forecasts[0].delta.causes) = (0.2, Vec::new());
        };
        let cases: [(&[Change], &str); 6] = [
            (
                &[],
                "A full run takes 31% more than on main (a1b2c3d, 3 days ago). The same work on the same data takes 31% longer. \
                 Code or platform got slower (+15 USD).",
            ),
            (
                &[setting],
                "The likely cause: epochs changed from 10 to 13. A full run takes 31% more than on main (a1b2c3d, 3 days ago). \
                 The same work on the same data takes 31% longer. Training got slower (+15 USD).",
            ),
            (
                &[setting, noisy_rate],
                "Since the base epochs changed from 10 to 13. A full run takes 31% more than on main (a1b2c3d, 3 days ago).",
            ),
            (
                &[several],
                "A full run takes 31% more than on main (a1b2c3d, 3 days ago). The same work on the same data takes 31% longer. \
                 Code or platform got faster (-10 USD), the data grew (+5.00 USD) and the price rose (+1.50 USD).",
            ),
            (
                &[several, instance],
                "It trains on ml.m5.2xlarge, the base on ml.c5.large. A full run takes 31% more than on main (a1b2c3d, 3 days ago). \
                 The data grew (+5.00 USD).",
            ),
            (
                &[other_data, noisy_rate],
                "A full run takes 31% more than on the newest of its base (5 hours ago). The data changed; their amount is about the same.",
            ),
        ];
        for (changes, expected) in cases {
            let mut job = increased();
            changes.iter().for_each(|change| change(&mut job));
            assert_eq!(terminal::inline(&said(&job).unwrap().text), expected);
        }
    }

    #[test]
    fn what_noise_may_explain_is_no_cause() {
        let mut job = samples::of("within_noise").jobs.remove(0);
        let found = said(&job).unwrap();
        let text = "No difference beyond noise to main (a1b2c3d, 3 days ago).";
        assert_eq!(
            (terminal::inline(&found.text).as_str(), found.explains),
            (text, false)
        );
        job.forecasts[0].delta = Delta::default();
        assert_eq!(said(&job), None);
        job.baseline = None;
        assert_eq!(said(&job), None);
        assert_eq!(table(&job), None);
    }
}
