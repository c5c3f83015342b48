//! What a job's report says beside its verdict of what its canaries and its full run take.

use std::collections::BTreeSet;

use crate::grammar::list;
use crate::measurement::Measurement;
use crate::metric::Metric;
use crate::plan::Plan;
use crate::report::JobReport;
use crate::spec::{CanaryPolicy, Job};
use crate::units::{Percent, Seconds};

/// A warning that the canaries of this check on the job's own machines took more than their share, as the fewest of a forecast may.
pub fn beyond_the_share(max_share: Percent, report: &JobReport) -> Option<String> {
    let full_run = report.forecasts.first()?.estimates[Metric::Time]?.point;
    let is_own = |run: &&Measurement| run.reused.is_none() && run.is_on(&report.instance);
    let own = report.measurements.iter().filter(is_own);
    let taken: Seconds = own.filter_map(Measurement::time).sum();
    let share = Percent(100.0 * taken.0 / full_run);
    (share > max_share).then(|| {
        format!(
            "the canaries took {taken}, {share} of one full run, above `canary.max_share` ({max_share}): a forecast needs three; raise it to accept that, or run the training itself"
        )
    })
}

/// What the full run takes of a training plan; `None` without one, and where its time is not known.
pub fn training_plan(job: &Job, report: &JobReport) -> Option<String> {
    let plan = job.training.sagemaker.training_plan.as_deref()?;
    let name = plan.rsplit_once('/').map_or(plan, |(_, name)| name);
    let time = report.forecasts.first()?.estimates[Metric::Time]?;
    let hours = |seconds: f64| seconds * f64::from(report.instance.total_count()) / 3600.0;
    let canaries = match job.canary.training_plan {
        true => "Canaries run in it too.",
        false => "Canaries run outside it.",
    };
    Some(format!(
        "The full run takes {:.1} instance hours ({:.1}–{:.1}) of the training plan {name}, which are prepaid: its cost is what they would cost on demand. {canaries}",
        hours(time.point),
        hours(time.lower),
        hours(time.upper),
    ))
}

/// That no dollars limited canaries, what did in their place, and what to do.
pub fn without_price(canary: &CanaryPolicy, plan: &Plan, region: Option<String>) -> Option<String> {
    let measured = plan.all.iter().filter(|one| one.runs.is_ok());
    let counted = measured.filter(|one| one.offer.counts_time());
    let members = counted.flat_map(|one| &one.offer.members);
    let unpriced = members.filter(|member| member.price.is_none());
    let names: BTreeSet<&str> = unpriced.map(|member| member.instance_type.name()).collect();
    let most = canary.max_seconds.filter(|_| !names.is_empty())?;
    let region = region.map_or(String::new(), |region| format!(" in {region}"));
    Some(format!(
        "no price is known for {}{region}, so costs are unknown: canaries ran under {most} of machine time (`canary.max_seconds`). Write one under `prices`, or run `canary-gate prices update`",
        list(&Vec::from_iter(names))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use crate::spec::read;

    fn job(more: &str) -> Job {
        let text = format!(
            "version: 1
backend: sagemaker
jobs:
  churn:
    training:
      framework: {{pytorch: 2.8}}
      role: arn:aws:iam::123456789012:role/Train
      output: s3://bucket/out/
      channels: {{train: {{uri: s3://bucket/train/}}}}
{more}    instance: ml.g5.xlarge
"
        );
        read("canary-gate.yml", text.as_bytes(), &[])
            .unwrap()
            .jobs
            .remove(0)
    }

    #[test]
    fn prepaid_hours_stand_beside_the_dollars() {
        let mut report = samples::of("within").jobs.remove(0);
        assert_eq!(training_plan(&job(""), &report), None);
        let plan = job(
            "      training_plan: arn:aws:sagemaker:us-east-1:123456789012:training-plan/winter\n",
        );
        let time = report.forecasts[0].estimates[Metric::Time]
            .as_mut()
            .unwrap();
        (time.point, time.lower, time.upper) = (7200.0, 5400.0, 10_800.0);
        assert_eq!(
            training_plan(&plan, &report).unwrap(),
            "The full run takes 2.0 instance hours (1.5–3.0) of the training plan winter, which are prepaid: its cost is what they would cost on demand. Canaries run outside it."
        );
        report.forecasts[0].estimates[Metric::Time] = None;
        assert_eq!(training_plan(&plan, &report), None);
    }
}
