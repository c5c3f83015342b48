//! A full run on prepaid capacity: its hours, beside its dollars.

use crate::metric::Metric;
use crate::report::JobReport;
use crate::spec::Job;

/// What the full run takes of a training plan; `None` without one, and where its time is not known.
pub fn note(job: &Job, report: &JobReport) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::samples;
    use crate::spec::{SpecSource, read};

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
        let source = SpecSource {
            name: "canary-gate.yml",
            bytes: text.as_bytes(),
        };
        read(source, &[]).unwrap().jobs.remove(0)
    }

    #[test]
    fn prepaid_hours_stand_beside_the_dollars() {
        let mut report = samples::of("within").jobs.remove(0);
        assert_eq!(note(&job(""), &report), None);
        let plan = job(
            "      training_plan: arn:aws:sagemaker:us-east-1:123456789012:training-plan/winter\n",
        );
        let time = report.forecasts[0].estimates[Metric::Time]
            .as_mut()
            .unwrap();
        (time.point, time.lower, time.upper) = (7200.0, 5400.0, 10_800.0);
        assert_eq!(
            note(&plan, &report).unwrap(),
            "The full run takes 2.0 instance hours (1.5–3.0) of the training plan winter, which are prepaid: its cost is what they would cost on demand. Canaries run outside it."
        );
        report.forecasts[0].estimates[Metric::Time] = None;
        assert_eq!(note(&plan, &report), None);
    }
}
