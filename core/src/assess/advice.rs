//! **Advice** on what would make canaries and the full run shorter or cheaper. Each has its evidence and a figure of what it would bring,
//! and is silent without them. A new one is a function and a line of `ALL`.

use std::cmp::Reverse;
use std::ops::Range;

use crate::assess::input::JobInput;
use crate::assess::memory_fits;
use crate::forecast::scale_out::{Measured, peak_bytes};
use crate::grammar::{count, only_where};
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::metric::{MemoryOf, Metric};
use crate::plan::{StartUpMode, with_count};
use crate::report::BUSY_GPU;
use crate::units::{Bytes, Seconds};
use crate::verdict::Candidate;

const ALL: [fn(&Measured, &JobInput<'_>) -> Option<String>; 6] = [
    input_mode,
    image,
    installs,
    gpu_starved,
    cpu_bound,
    unused_memory,
];

/// Percent of the processors. Where they are busier, nothing else could be waited for.
const BUSY: f64 = 85.0;
/// Percent of the time. Idle GPUs wait for nothing.
const WAITING_GPU: Range<f64> = 5.0..BUSY_GPU;
/// Whoever uses less of a machine's memory pays for memory.
const LITTLE_MEMORY: f64 = 1.0 / 3.0;
/// What takes less of a start is noise.
const LONG: Seconds = Seconds(10.0);
/// Shorter downloads are not worth a change, nor are those that take less than this part of the full run.
const LONG_DOWNLOAD: Seconds = Seconds(60.0);
const MUCH_OF_THE_RUN: f64 = 0.05;

/// As sentences, of the job's own machines.
pub fn all(measured: &Measured, input: &JobInput<'_>) -> Vec<String> {
    let said = ALL.iter().filter_map(|advice| advice(measured, input));
    said.collect()
}

/// FastFile or a file system in place of copying the data before training. The download is billed, and only input mode File has one.
fn input_mode(measured: &Measured, _: &JobInput<'_>) -> Option<String> {
    let download = Seconds(measured.forecast.phases.download.as_ref()?.median());
    let full_run = measured.forecast[Metric::Time].as_ref().ok()?.median();
    let is_worth_it = download > LONG_DOWNLOAD && download.0 > MUCH_OF_THE_RUN * full_run;
    is_worth_it.then(|| {
        format!(
            "the full run is forecast to copy its data for {download}{} of its {} before it trains. Input mode FastFile, or FSx for Lustre, reads them while it trains, which saves up to that, as far as the script reads each file once and in order. In 90 of 100 jobs elsewhere (2 GB of data) a cold start-up took at most {} with FastFile, {} with FSx and {} with File.",
            cost(measured, download),
            Seconds(full_run),
            StartUpMode::FastFile.cold(),
            StartUpMode::FileSystem.cold(),
            StartUpMode::File.cold(),
        )
    })
}

/// An image that a cold start pulls faster: by what cold canaries took longer than warm ones, as surely as 90 %.
fn image(measured: &Measured, _: &JobInput<'_>) -> Option<String> {
    let offset = measured.forecast.cold_offset.filter(|time| *time > LONG)?;
    Some(format!(
        "a cold start adds at least {offset}{} to the billed time, by the cold canaries beside the warm ones. A smaller image, of stable layers with the one that changes last, saves up to that for each cold canary and for the full run.",
        cost(measured, offset),
    ))
}

/// Packages in the image, in place of installing them at each start: by the canary in which the script began soonest, since in the
/// others the image may have been pulled as well.
fn installs(measured: &Measured, _: &JobInput<'_>) -> Option<String> {
    let installs = measured.forecast.installs.filter(|time| *time > LONG)?;
    Some(format!(
        "the first {installs}{} or more of the billed training time pass before the script begins, since `requirements.txt` is installed in them. An image that holds these packages saves most of that for each canary and for the full run.",
        cost(measured, installs),
    ))
}

/// GPUs that wait for the processors of their machine. Machines beside these save money where an hour of them costs less than what the
/// time saved would have, for each hour that is left.
fn gpu_starved(measured: &Measured, input: &JobInput<'_>) -> Option<String> {
    let [time, cpu] = [Metric::Time, Metric::CpuUtilization].map(|of| median(measured, of));
    let (time, cpu) = (time?, cpu.filter(|cpu| *cpu > BUSY)?);
    let gpu = median(measured, Metric::GpuUtilization).filter(|gpu| WAITING_GPU.contains(gpu))?;
    let (kind, hosts) = measured.instance().members()[0];
    let capacity = measured.capacity()?;
    let processes = (input.job).map_or(1, |job| job.training.processes(capacity.gpus, hosts));
    let beside = only_where(processes > 1, || {
        format!(" beside the job's {processes} processes")
    });
    // The machine itself takes one.
    let workers = capacity.vcpus.saturating_sub(1 + processes).max(1);
    let workers = count(usize::try_from(workers).unwrap_or(usize::MAX), "worker");
    let (time, by_gpu) = (Seconds(time), Seconds(time * gpu / 100.0));
    let most = measured.offer.cost(Seconds(3600.0 * (100.0 / gpu - 1.0)));
    let most = most.filter(|_| !kind.is_local()).map(|most| format!(" Or machines without a GPU prepare the data beside it, which saves money while they cost less than {most} an hour: `alternatives: [{{groups: {{data: 1x ml.c5.4xlarge, gpu: {hosts}x {kind}}}}}]`."));
    Some(format!(
        "the GPUs are busy {gpu:.0}% of the time and the processors {cpu:.0}%, so the GPUs wait for data. If the GPUs were the limit, the full run would take {by_gpu}{} of its {time}. A loader has room for {workers} on each machine{beside}.{}",
        cost(measured, by_gpu),
        most.unwrap_or_default(),
    ))
}

/// Processors at their limit, and the next larger machine of the family. At best all of the time goes with the number of vCPUs, as far as
/// the GPUs let it.
fn cpu_bound(measured: &Measured, input: &JobInput<'_>) -> Option<String> {
    let [time, cpu, gpu] = [Metric::Time, Metric::CpuUtilization, Metric::GpuUtilization]
        .map(|metric| median(measured, metric));
    let (time, cpu) = (time?, cpu.filter(|cpu| *cpu > BUSY)?);
    let (own, others) = others(measured, input)?;
    let idle = (own.capacity.gpus == 0).then_some(0.0);
    let gpu = gpu.or(idle).filter(|gpu| *gpu < BUSY_GPU)?;
    let vcpus = own.capacity.vcpus;
    let larger = others.filter(|other| other.kind.family() == own.kind.family());
    let larger = larger.filter(|other| other.capacity.vcpus > vcpus);
    let larger = larger.min_by_key(|other| other.capacity.vcpus)?;
    let more = larger.capacity.vcpus;
    let part = (f64::from(vcpus) / f64::from(more)).max(gpu / 100.0);
    let (time, at_best) = (Seconds(time), Seconds(time * part));
    Some(format!(
        "the processors are busy {cpu:.0}% of the time and are the limit. With {more} vCPUs in place of {vcpus} the full run takes at best {at_best} of its {time}{}.",
        in_place(&own, input, &larger)?,
    ))
}

/// Memory that a full run does not use, and a smaller machine that holds what it does. That has as many vCPUs, or as many as the load
/// needs. It is cheaper, where both prices are known. It holds growth that no canary could show.
fn unused_memory(measured: &Measured, input: &JobInput<'_>) -> Option<String> {
    let (own, others) = others(measured, input)?;
    let peak = peak_bytes(measured, MemoryOf::Machine)?;
    let known = measured.forecast.memory;
    let (certainty, memory) = (input.budget.certainty.0, own.capacity.memory.as_f64());
    let most = peak.quantile(certainty);
    if known.doubt.is_some() || known.at_least.is_some() || most > LITTLE_MEMORY * memory {
        return None;
    }
    let unseen = known.unseen.map_or(0.0, |percent| memory * percent / 100.0);
    let needed = peak.if_steeper().quantile(certainty).max(unseen);
    let needed = needed / input.budget.memory_allowed(MemoryOf::Machine).0;
    let load = measured.forecast[Metric::CpuUtilization].as_ref();
    let load = load.map(|load| load.quantile(certainty) * f64::from(own.capacity.vcpus));
    let fits = others.filter(|other| {
        let (there, vcpus) = (other.capacity.memory, other.capacity.vcpus);
        let has_room = |load: &f64| *load <= BUSY * f64::from(vcpus);
        let is_as_fast = vcpus == own.capacity.vcpus
            || vcpus < own.capacity.vcpus && load.as_ref().is_ok_and(has_room);
        let prices = other.price.as_ref().zip(own.price.as_ref());
        let is_cheaper = prices.is_none_or(|(there, here)| there.usd_per_hour < here.usd_per_hour);
        is_as_fast && is_cheaper && there < own.capacity.memory && there.as_f64() >= needed
    });
    let fit = fits.max_by_key(|other| (other.capacity.vcpus, Reverse(other.capacity.memory)))?;
    Some(format!(
        "the full run is likely to use at most {} of a machine's {}. {} vCPUs with {} hold it{}.",
        Bytes::from_f64(most),
        own.capacity.memory,
        fit.capacity.vcpus,
        fit.capacity.memory,
        in_place(&own, input, &fit)?,
    ))
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
