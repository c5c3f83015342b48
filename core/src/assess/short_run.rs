//! A full run that is so short that canaries are not worth it, or cost much beside it.

use crate::measurement::Measurement;
use crate::metric::Metric;
use crate::report::JobReport;
use crate::units::{Percent, Seconds};

/// What a report says of a job whose full run is forecast to take less than `canary.skip_below`.
pub fn advice(skip_below: Seconds, report: &JobReport) -> Option<String> {
    let full_run = Seconds(report.forecasts.first()?.estimates[Metric::Time]?.point);
    if full_run >= skip_below {
        return None;
    }
    let taken: Seconds = (report.measurements.iter())
        .filter_map(Measurement::time)
        .sum();
    let share = Percent(100.0 * taken.0 / full_run.0);
    Some(format!(
        "This job is hardly worth canaries: a full run is forecast at {full_run}, and they took {taken} ({share} of it). The training itself can run in CI in place of this check; a lower `canary.skip_below` ({skip_below}) ends this advice."
    ))
}

/// A warning that the canaries of this check on the job's own machines took more than their share, as the fewest of a forecast may.
pub fn beyond_the_share(max_share: Percent, report: &JobReport) -> Option<String> {
    let full_run = report.forecasts.first()?.estimates[Metric::Time]?.point;
    let is_own = |run: &&Measurement| run.reused.is_none() && run.is_on(&report.instance);
    let own = report.measurements.iter().filter(is_own);
    let taken: Seconds = own.filter_map(Measurement::time).sum();
    let share = Percent(100.0 * taken.0 / full_run);
    (share > max_share).then(|| {
        format!(
            "the canaries took {taken}, {share} of one full run, above `canary.max_share` ({max_share}): a forecast needs three runs; raise it to accept that, or run the training itself"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;

    #[test]
    fn a_run_shorter_than_the_limit_is_named_with_what_its_canaries_took() {
        let report = samples::of("within");
        let job = &report.jobs[0];
        let with = |skip_below| advice(Seconds(skip_below), job);
        let said = with(300.0).unwrap();
        assert!(said.contains("forecast at 58s, and they took"), "{said}");
        assert_eq!(with(58.0 / 2.0), None);
        assert_eq!(with(0.0), None);
    }
}
