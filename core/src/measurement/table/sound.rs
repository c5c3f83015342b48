//! Whether what a line of a table says can be: each amount by itself, and together.

use std::fmt;

use super::columns::{LONGEST_SECONDS, SECONDS};
use crate::measurement::{Measurement, Usage, Utilization};
use crate::units::{Fraction, Percent, Seconds, Usd};

/// A requested share and a share of the bytes differ when one is more than so many times the other.
const MOST_TIMES: f64 = 2.0;

/// The largest rounding error above 100 of a percentage.
const HAIR: f64 = 1e-6;

/// More than any training costs; a larger amount is an error that would dominate every sum.
const MOST_DOLLARS: f64 = 1e8;

/// What is wrong, after the name of the field.
type OddField = (String, String);

/// The impossible value of a run, if there is one.
pub(super) fn odd_value(run: &Measurement) -> Option<OddField> {
    let share = run.fraction.0;
    let is_share = share > 0.0 && share <= 1.0;
    let name = (run.job.is_empty()).then(|| odd("job", "an empty name", "that of a job"));
    let share = (!is_share).then(|| odd("fraction", share, "a number above 0 and at most 1"));
    let level = |(field, level): (&str, Option<f64>)| {
        let level = level.filter(|level| *level <= 0.0)?;
        Some(odd(field, level, "a number above 0"))
    };
    let mut levels = [("work", run.work), ("work_total", run.work_total)].into_iter();
    name.or(share)
        .or_else(|| levels.find_map(level))
        .or_else(|| contradiction(run, ["fraction", "objects"]))
        .or_else(|| odd_percentage(run))
        .or_else(|| odd_money(run))
        .or_else(|| odd_time(run))
}

/// Whether the times and the amounts of money of a run can be.
pub(in crate::measurement) fn has_sound_amounts(run: &Measurement) -> bool {
    odd_money(run).or_else(|| odd_time(run)).is_none()
}

/// Where a part is more than its whole, or the bytes contradict the share that was requested, by the names that the table has for
/// `fraction` and `objects`.
pub(super) fn contradiction(run: &Measurement, [fraction, objects]: [&str; 2]) -> Option<OddField> {
    fn above_whole<T: PartialOrd + fmt::Display>(
        field: &str,
        part: Option<T>,
        whole: Option<T>,
    ) -> Option<OddField> {
        let (part, whole) = part.zip(whole).filter(|(part, whole)| part > whole)?;
        let expected = format!("at most {field}_total, which is {whole}");
        Some(odd(field, part, &expected))
    }
    let (bytes, total) = (run.bytes.map(|one| one.0), run.bytes_total.map(|one| one.0));
    above_whole("bytes", bytes, total)
        .or_else(|| above_whole(objects, run.objects, run.objects_total))
        .or_else(|| above_whole("work", run.work, run.work_total))
        .or_else(|| {
            let (share, (bytes, total)) = share_of_bytes(run).zip(bytes.zip(total))?;
            let what = format!(
                "{bytes} of {total} is {share} of the data, but {fraction} is {}; expected within twice of each other; if few or uneven objects are the reason, give {objects}_total",
                run.fraction
            );
            Some(("bytes".to_owned(), what))
        })
}

/// The share of the bytes, where it contradicts the share that was requested.
///
/// Whole objects are drawn: one of thirteen is 8 % where 1 % was requested, and one large object may be half of the data. So only
/// a line that counts no objects is contradicted by its bytes.
fn share_of_bytes(run: &Measurement) -> Option<Fraction> {
    let (bytes, total) = run.bytes.zip(run.bytes_total)?;
    if run.objects.is_some() || run.objects_total.is_some() || total.0 == 0 {
        return None;
    }
    let share = bytes.as_f64() / total.as_f64();
    let times = share / run.fraction.0;
    let differs = !(1.0 / MOST_TIMES..=MOST_TIMES).contains(&times);
    differs.then_some(Fraction(share))
}

fn odd_money(run: &Measurement) -> Option<OddField> {
    let saved = run.reused.and_then(|reused| reused.saved_usd);
    let price = run.price.as_ref().map(|price| Usd(price.usd_per_hour.0));
    let money = [
        ("cost", run.cost),
        ("idle_usd", run.idle_usd),
        ("reused.saved_usd", saved),
        ("price.usd_per_hour", price),
    ];
    money.into_iter().find_map(|(field, amount)| {
        let dollars = amount?.0;
        let expected = format!("US dollars from 0 to {MOST_DOLLARS}; leave out what is missing");
        let is_odd = !(0.0..=MOST_DOLLARS).contains(&dollars);
        is_odd.then(|| odd(field, format!("{dollars:?}"), &expected))
    })
}

fn odd_time(run: &Measurement) -> Option<OddField> {
    let times = [
        ("training_seconds", run.training_seconds),
        ("billable_seconds", run.billable_seconds),
        ("step_seconds", run.step_seconds),
        ("idle_seconds", run.idle_seconds),
        ("phases.startup", run.phases.startup),
        ("phases.download", run.phases.download),
        ("phases.training", run.phases.training),
        ("phases.upload", run.phases.upload),
    ];
    times.into_iter().find_map(|(field, time)| {
        let Seconds(time) = time?;
        let expected = match time > LONGEST_SECONDS {
            true => SECONDS,
            false => "a number from 0; leave out what is missing",
        };
        let is_odd = !(0.0..=LONGEST_SECONDS).contains(&time);
        is_odd.then(|| odd(field, time, expected))
    })
}

fn odd(field: &str, found: impl fmt::Display, expected: &str) -> OddField {
    (
        field.to_owned(),
        format!("found {found}, expected {expected}"),
    )
}

/// A percentage as it is read, 0 to 100; `None` if it is another number.
pub(super) fn percentage(number: f64) -> Option<Percent> {
    (0.0..=100.0 + HAIR)
        .contains(&number)
        .then(|| Percent(number.min(100.0)))
}

fn odd_percentage(run: &Measurement) -> Option<OddField> {
    const EXPECTED: &str =
        "a percentage of the whole instance, 0 to 100; leave out what is missing";
    let of_hosts = (run.hosts.iter().enumerate())
        .map(|(index, host)| (format!("hosts[{index}].usage"), &host.usage));
    let mut usages = [("usage".to_owned(), &run.usage)]
        .into_iter()
        .chain(of_hosts);
    usages.find_map(|(field, usage)| {
        let mut percentages = percentages(usage).into_iter();
        let (name, odd_one) = percentages.find(|(_, percent)| percentage(percent.0).is_none())?;
        Some(odd(&format!("{field}.{name}"), odd_one.0, EXPECTED))
    })
}

fn percentages(usage: &Usage) -> Vec<(String, Percent)> {
    let levels: [(&str, &Option<Utilization>); 6] = [
        ("cpu_percent", &usage.cpu_percent),
        ("gpu_percent", &usage.gpu_percent),
        ("gpu_memory_percent", &usage.gpu_memory_percent),
        ("io_wait_percent", &usage.io_wait_percent),
        ("other_cpu_percent", &usage.other_cpu_percent),
        ("cpu_pressure_percent", &usage.cpu_pressure_percent),
    ];
    let peaks = [("memory", &usage.memory), ("gpu_memory", &usage.gpu_memory)];
    let peaks = peaks.into_iter().filter_map(|(name, peak)| {
        let percent = peak.as_ref()?.percent?;
        Some((format!("{name}.percent"), percent))
    });
    let mut all: Vec<(String, Percent)> = peaks.collect();
    for (name, level) in levels {
        let Some(level) = level else { continue };
        all.push((format!("{name}.mean"), level.mean));
        all.extend(level.p99.map(|p99| (format!("{name}.p99"), p99)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Outcome;
    use crate::units::Bytes;

    #[test]
    fn bytes_and_fraction_are_within_twice_of_each_other_unless_objects_explain_them() {
        for (fraction, bytes, total, objects, share) in [
            (0.01, 10, Some(1000), None, None),
            (0.01, 20, Some(1000), None, None),
            (0.01, 5, Some(1000), None, None),
            (0.01, 21, Some(1000), None, Some(0.021)),
            (0.01, 4, Some(1000), None, Some(0.004)),
            (1.0, 500, Some(1000), None, None),
            (0.01, 500, Some(1000), None, Some(0.5)),
            (0.01, 500, None, None, None),
            // One object of thirteen, and one that is half of the data.
            (0.01, 77, Some(1000), Some(13), None),
            (0.01, 500, Some(1000), Some(13), None),
        ] {
            let run = Measurement {
                bytes: Some(Bytes(bytes)),
                bytes_total: total.map(Bytes),
                objects_total: objects,
                ..Measurement::without_figures(
                    "churn".to_owned(),
                    "local".parse().unwrap(),
                    Fraction(fraction),
                    Outcome::Completed,
                )
            };
            assert_eq!(
                share_of_bytes(&run),
                share.map(Fraction),
                "{fraction} {bytes}"
            );
        }
    }
}
