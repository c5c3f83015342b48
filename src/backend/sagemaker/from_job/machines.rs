//! The job's machines, and the budget that its time on them suggests.

use aws_sdk_sagemaker::operation::describe_training_job::DescribeTrainingJobOutput;

use crate::instance::{InstanceConfiguration, InstanceGroup, Price, tables};
use crate::spec::page::SpecPage;
use crate::spec::yaml_text as yaml;
use crate::units::{Seconds, Usd};

/// A budget allows this much more than the job took.
const MARGIN: f64 = 1.5;

pub(super) fn write_instance(
    page: &mut SpecPage,
    job: &DescribeTrainingJobOutput,
    instance: Option<&InstanceConfiguration>,
) {
    page.remark(
        2,
        "The machines of the full run. The budget is judged on them.",
    );
    let resources = job.resource_config();
    if resources.is_some_and(|resources| !resources.instance_preferences().is_empty()) {
        page.remark(
            2,
            "The job lets SageMaker choose among several types; a spec names one.",
        );
    }
    match instance {
        None => {
            page.remark(2, "The job has no instance type that a spec can name.");
            page.line(2, "instance: ml.m5.xlarge");
        }
        Some(InstanceConfiguration::Heterogeneous { groups, .. }) => {
            page.line(2, "instance:");
            page.line(3, "groups:");
            let machines =
                |group: &InstanceGroup| format!("{}x {}", group.count, group.instance_type);
            for group in groups {
                page.line(
                    4,
                    &format!("{}: {}", yaml::text(&group.name), machines(group)),
                );
            }
        }
        Some(homogeneous) => page.line(2, &format!("instance: {homogeneous}")),
    }
}

pub(super) fn budget(
    page: &mut SpecPage,
    job: &DescribeTrainingJobOutput,
    instance: Option<&InstanceConfiguration>,
    region: &str,
) {
    page.remark(
        2,
        "The limits of the full run. The check fails if one is likely exceeded.",
    );
    let is_completed = job
        .training_job_status()
        .is_some_and(|status| status.as_str() == "Completed");
    // Not what was billed: spot makes that less, and a budget holds for the price on demand.
    let seconds = job
        .training_time_in_seconds()
        .or(job.billable_time_in_seconds());
    let Some(time) = seconds
        .filter(|seconds| is_completed && *seconds > 0)
        .map(|seconds| Seconds(f64::from(seconds)))
    else {
        page.remark(2, "The job did not complete, so no limit follows from it.");
        page.line(2, "# budget: {time: 8h, cost: 50 USD, memory: 90%}");
        return;
    };
    let minutes = (time.0 * MARGIN / 60.0).ceil();
    page.remark(
        2,
        &format!(
            "The job took {}; {MARGIN} times as much is allowed here.",
            time.exact()
        ),
    );
    let cost = instance.and_then(|instance| cost(instance, time, region));
    if let Some((cost, prices)) = &cost {
        page.remark(2, &format!("At {prices} that was {cost} on demand."));
    }
    page.line(2, "budget:");
    page.line(3, &format!("time: {}", Seconds(minutes * 60.0).exact()));
    match cost {
        Some((cost, _)) => {
            let cents = (cost.0 * MARGIN * 100.0).ceil();
            page.line(3, &format!("cost: {}", Usd(cents / 100.0).exact()));
        }
        None => page.line(
            3,
            "# cost: 50 USD    # no price is known here; give one under `prices`",
        ),
    }
    page.line(3, "# memory: 90%");
}

/// With the prices it was made with; `None` unless all are known.
fn cost(instance: &InstanceConfiguration, time: Seconds, region: &str) -> Option<(Usd, String)> {
    let mut cost = Usd(0.0);
    let mut shown = Vec::new();
    for (kind, count) in instance.members() {
        let price: Price = tables::price(kind, region)?;
        cost = cost + price.usd_per_hour.cost(time, count);
        let mark = if price.is_estimate() { "~" } else { "" };
        shown.push(format!("{mark}{} USD/h for {kind}", price.usd_per_hour.0));
    }
    Some((cost, shown.join(" and ")))
}
