//! **Advice** on what would make canaries and the full run shorter or cheaper. Each has its evidence and a figure of what it would bring,
//! and is silent without them. A new one is a file and a line of `ALL`.

mod cpu_bound;
mod gpu_starved;
mod image;
mod input_mode;
mod installs;
mod unused_memory;

use crate::assess::input::JobInput;
use crate::assess::memory_fits;
use crate::forecast::scale_out::Measured;
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::metric::Metric;
use crate::plan::with_count;
use crate::units::Seconds;
use crate::verdict::Candidate;

const ALL: [fn(&Measured, &JobInput<'_>) -> Option<String>; 6] = [
    input_mode::advice,
    image::advice,
    installs::advice,
    gpu_starved::advice,
    cpu_bound::advice,
    unused_memory::advice,
];

/// Percent of the processors. Where they are busier, nothing else could be waited for.
const BUSY: f64 = 85.0;

/// As sentences, of the job's own machines.
pub fn all(measured: &Measured, input: &JobInput<'_>) -> Vec<String> {
    let said = ALL.iter().filter_map(|advice| advice(measured, input));
    said.collect()
}

fn median(measured: &Measured, metric: Metric) -> Option<f64> {
    Some(measured.forecast[metric].as_ref().ok()?.median())
}

/// ` (0.12 USD)`; nothing without a price.
fn cost(measured: &Measured, time: Seconds) -> String {
    let cost = measured.offer.cost(time);
    cost.map_or(String::new(), |cost| format!(" ({cost})"))
}

/// A machine of the job, and the other types of its generation that the spec allows and that have the same GPUs. `None` locally,
/// of groups, and of accelerators whose load nobody measures.
fn others<'a>(
    measured: &Measured,
    input: &'a JobInput<'_>,
) -> Option<(Candidate, impl Iterator<Item = Candidate> + 'a)> {
    let kind = measured.instance().single_type()?;
    let is_own = |one: &Candidate| one.kind == *kind && !kind.family().starts_with("trn");
    let own = memory_fits::listed(input).find(is_own)?;
    // `m5`, `c5` and `r5` differ in their memory above all.
    let line = |kind: &InstanceType| kind.family().trim_start_matches(['m', 'c', 'r']).to_owned();
    let what = move |one: &Candidate| (line(&one.kind), one.capacity.gpus, one.capacity.gpu_memory);
    let same = what(&own);
    let others = memory_fits::listed(input).filter(move |other| what(other) == same);
    Some((own, others))
}

/// As many machines of another type, and the price of one: ``, at 0.82 USD/h in place of 0.41 USD/h: `alternatives: [ml.c5.4xlarge]` ``.
/// `None` without a spec, and where it compares them already.
fn in_place(own: &Candidate, input: &JobInput<'_>, other: &Candidate) -> Option<String> {
    let mut compared = input.job?.alternatives.iter();
    if compared.any(|it| it.single_type() == Some(&other.kind)) {
        return None;
    }
    let one = InstanceConfiguration::one(other.kind.clone());
    let there = with_count(&one, input.instance.total_count());
    let price = |of: &Candidate| {
        let price = of.price.as_ref()?;
        let mark = if price.is_estimate() { "~" } else { "" };
        Some(format!("{mark}{}", price.usd_per_hour))
    };
    let prices = price(other).zip(price(own));
    let prices = prices.map(|(there, here)| format!(", at {there} in place of {here}"));
    let prices = prices.unwrap_or_default();
    Some(format!("{prices}: `alternatives: [{there}]`"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::scale_out::DataLayout;
    use crate::forecast::{Forecast, Predictive, Unknown};
    use crate::instance::Offer;
    use crate::spec::Budget;

    fn said(
        full_run: f64,
        download: f64,
        cold_offset: Option<f64>,
        installs: Option<f64>,
    ) -> Vec<String> {
        let instance: InstanceConfiguration = "ml.m5.large".parse().unwrap();
        let about = |seconds| Predictive::log_student_t(seconds, 0.1, 9.0);
        let unknown = Forecast::unknown(&Unknown("nothing was measured".to_owned()));
        let mut forecast = unknown.with(Metric::Time, Ok(about(full_run)));
        forecast.phases.download = Some(about(download));
        forecast.cold_offset = cold_offset.map(Seconds);
        forecast.installs = installs.map(Seconds);
        let measured = Measured {
            forecast,
            offer: Offer::unknown(&instance),
            measurements: Vec::new(),
        };
        let input = JobInput {
            name: "taxi",
            instance: &instance,
            budget: &Budget::unwritten(),
            affected_by: &[],
            alternatives: Vec::new(),
            measurements: &[],
            job: None,
            none_on_all: None,
            worst_case: None,
            offer_of: &Offer::unknown,
            layout: DataLayout::default(),
            base: None,
            is_allowed: &|_| true,
            lacks_probe: None,
            notes: Vec::new(),
        };
        all(&measured, &input)
    }

    #[test]
    fn each_has_its_evidence_and_its_gain() {
        insta::assert_snapshot!(said(7200.0, 900.0, Some(48.0), Some(35.0)).join("\n"), @"
        the full run is forecast to copy its data for 15m of its 2h before it trains. Input mode FastFile, or FSx for Lustre, reads them while it trains, which saves up to that, as far as the script reads each file once and in order. In 90 of 100 jobs elsewhere (2 GB of data) a cold start-up took at most 2m 23s with FastFile, 2m 16s with FSx and 2m 56s with File.
        a cold start adds at least 48s to the billed time, by the cold canaries beside the warm ones. A smaller image, of stable layers with the one that changes last, saves up to that for each cold canary and for the full run.
        the first 35s or more of the billed training time pass before the script begins, since `requirements.txt` is installed in them. An image that holds these packages saves most of that for each canary and for the full run.
        ");
    }

    #[test]
    fn what_would_bring_little_is_not_advised() {
        assert_eq!(said(7200.0, 20.0, None, None), Vec::<String>::new());
        // Many seconds, and a hundredth of the full run.
        assert_eq!(
            said(36_000.0, 300.0, Some(4.0), Some(3.0)),
            Vec::<String>::new()
        );
    }
}
