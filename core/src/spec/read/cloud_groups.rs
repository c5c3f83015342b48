//! Instance groups on SageMaker: what they exclude, and what they need.

use super::SpecReader;
use crate::spec::backend_kind::RunPlace;
use crate::spec::problems::{At, quoted};
use crate::spec::raw::{self, Either};

impl SpecReader<'_> {
    /// Groups of `instance` or of an alternative, against what the training says.
    pub(super) fn check_groups_in_the_cloud(&mut self, job: &raw::RawJob) {
        if !self.is_on(RunPlace::Cloud) {
            return;
        }
        let of_instance = (job.instance.iter()).filter_map(|one| groups(&one.value));
        let of_instance = of_instance.collect::<Vec<_>>();
        let others = (job.alternatives.iter()).flat_map(|list| &list.value.0);
        let of_others: Vec<_> = others.filter_map(|one| groups(&one.value)).collect();
        if of_instance.is_empty() && of_others.is_empty() {
            return;
        }
        let Some(training) = &job.training else {
            return;
        };
        let keys = &training.value.sagemaker;
        if let Some(spot) = keys.spot.as_ref().filter(|spot| spot.value) {
            match of_instance.is_empty() {
                false => self.findings.wrong_with_help(
                    &spot.at,
                    "instance groups with spot capacity are documented nowhere and refused here",
                    "remove `spot`, or choose one type of machine as `instance`",
                ),
                true => self.findings.warn(
                    &spot.at,
                    "instance groups with spot capacity are documented nowhere: a full run on the alternatives with groups is taken to be on demand",
                ),
            }
        }
        for script in
            (of_instance.iter().chain(&of_others)).filter_map(|one| one.entry_point.as_ref())
        {
            let field = format!("{}.entry_point", training.at.path);
            if keys.entry_point.is_none() && !self.findings.is_known(&field) {
                self.findings.wrong_with_help(
                    &script.at,
                    format!("the training has no `entry_point` that {} could take the place of", quoted(&script.value.text)),
                    "write `source_dir` and `entry_point` under `training`; or remove this one, and let the script look for its group",
                );
            }
        }
        let canary = job.canary.as_ref();
        let plan = canary.and_then(|canary| canary.value.training_plan.as_ref());
        if let Some(plan) = plan.filter(|plan| plan.value && !of_instance.is_empty()) {
            self.findings.wrong_with_help(
                &plan.at,
                "a training plan is capacity of one type of machine, and `instance` has groups",
                "remove the key: canaries on groups are on demand",
            );
        }
        let subnets = keys.subnets.as_ref();
        let subnets = subnets.filter(|list| !list.value.0.is_empty());
        self.caution_of_network(subnets.map(|list| &list.at));
    }

    /// Groups that cannot talk to each other wait until the time limit, and are billed for it.
    fn caution_of_network(&mut self, subnets: Option<&At>) {
        if let Some(at) = subnets {
            self.findings.warn(
                at,
                "machines of instance groups talk to each other: a security group has to let its own members in, or the job hangs until its time limit",
            );
        }
    }
}

pub(super) fn groups<M>(instance: &Either<M, raw::Groups>) -> Option<&raw::Groups> {
    match instance {
        Either::Short(_) => None,
        Either::Long(groups) => Some(groups),
    }
}
