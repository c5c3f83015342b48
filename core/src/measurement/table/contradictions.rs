//! What a line of a table says that cannot be true together, or at all.

use crate::measurement::{Measurement, Usage, Utilization};
use crate::units::{Fraction, Percent};

/// A requested share and a share of the bytes differ when one is more than so many times the other.
const MOST_TIMES: f64 = 2.0;

/// The largest rounding error above 100 of a percentage.
const HAIR: f64 = 1e-6;

/// The share of the bytes, where it contradicts the share that was requested.
///
/// Whole objects are drawn: one of thirteen is 8 % where 1 % was requested, and one large object may be half of the data. So only
/// a line that counts no objects is contradicted by its bytes.
pub(super) fn share_of_bytes(run: &Measurement) -> Option<Fraction> {
    let (bytes, total) = run.bytes.zip(run.bytes_total)?;
    if run.objects.is_some() || run.objects_total.is_some() || total.0 == 0 {
        return None;
    }
    let share = bytes.as_f64() / total.as_f64();
    let times = share / run.fraction.0;
    let differs = !(1.0 / MOST_TIMES..=MOST_TIMES).contains(&times);
    differs.then_some(Fraction(share))
}

/// The words of [`share_of_bytes`], by the names that the table has: `500 of 1000 is 50% of the data, but fraction_requested is 1%`.
pub(super) fn share_of_bytes_words(
    run: &Measurement,
    [fraction, objects_total]: [&str; 2],
) -> Option<String> {
    let share = share_of_bytes(run)?;
    let (bytes, total) = run.bytes.zip(run.bytes_total)?;
    Some(format!(
        "{} of {} is {share} of the data, but {fraction} is {}; expected within twice of each other; if few or uneven objects are the reason, give {objects_total}",
        bytes.0, total.0, run.fraction
    ))
}

/// A percentage as it is read, 0 to 100; `None` if it is another number.
pub(super) fn percentage(number: f64) -> Option<Percent> {
    (0.0..=100.0 + HAIR)
        .contains(&number)
        .then(|| Percent(number.min(100.0)))
}

/// The first percentage of a run that is not one, with its field.
pub(super) fn odd_percentage(run: &Measurement) -> Option<(String, f64)> {
    let of_hosts = (run.hosts.iter().enumerate())
        .map(|(index, host)| (format!("hosts[{index}].usage"), &host.usage));
    [("usage".to_owned(), &run.usage)]
        .into_iter()
        .chain(of_hosts)
        .find_map(|(field, usage)| {
            let (name, percent) = percentages(usage)
                .into_iter()
                .find(|(_, percent)| percentage(percent.0).is_none())?;
            Some((format!("{field}.{name}"), percent.0))
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

    fn run(fraction: f64, bytes: u64) -> Measurement {
        Measurement {
            bytes: Some(Bytes(bytes)),
            bytes_total: Some(Bytes(1000)),
            ..Measurement::without_figures(
                "churn".to_owned(),
                "local".parse().unwrap(),
                Fraction(fraction),
                Outcome::Completed,
            )
        }
    }

    #[test]
    fn bytes_and_fraction_are_within_twice_of_each_other() {
        for (fraction, bytes, share) in [
            (0.01, 10, None),
            (0.01, 20, None),
            (0.01, 5, None),
            (0.01, 21, Some(0.021)),
            (0.01, 4, Some(0.004)),
            (1.0, 500, None),
            (0.01, 500, Some(0.5)),
        ] {
            assert_eq!(
                share_of_bytes(&run(fraction, bytes)),
                share.map(Fraction),
                "{fraction} {bytes}"
            );
        }
        let mut unknown = run(0.01, 500);
        unknown.bytes_total = None;
        assert_eq!(share_of_bytes(&unknown), None);
    }

    #[test]
    fn few_objects_or_large_ones_are_no_contradiction() {
        // One object of thirteen, and one that is half of the data.
        for bytes in [77, 500] {
            let mut few = run(0.01, bytes);
            assert!(share_of_bytes(&few).is_some());
            few.objects_total = Some(13);
            assert_eq!(share_of_bytes(&few), None);
        }
    }
}
