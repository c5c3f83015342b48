//! A spec under an **organization's policy**, which the specs of many repositories extend: each may only be stricter.

use std::sync::Arc;

use super::field::{FieldValue, HasFields, fields_of};
use super::policy::not_allowed;
use super::read::{OrganizationPolicy, PricesByType};
use super::{BudgetLine, Job, LineOrigin, Prices, Spec, SpecErrors, SpecFile, SpecProblem};
use crate::grammar::choice;
use crate::instance::InstanceType;
use crate::metric::Metric;

const HELP: &str =
    "write what the policy has, or stricter; of what is left out the policy's counts";

const NO_LOCAL_PRICE: &str = "this machine has no price: name that of `local` under `prices`, in the policy where that has prices";

/// Each key of the policy with the spec's value, its own, and how the first is to the second where it is looser.
macro_rules! take {
    ($all:ident, $above:expr; $($key:literal: $own:expr, $most:expr, $is_looser:tt;)+) => {$(
        let field = format!("{}{}", $above, $key);
        $all.take((&field, $key), &mut $own, &$most, |own, most| own $is_looser most);
    )+};
}

impl Spec {
    /// Puts the spec under the policy that it extends.
    ///
    /// # Errors
    ///
    /// With all that is looser than the policy.
    pub fn extend(&mut self, policy: &Arc<OrganizationPolicy>) -> Result<(), SpecErrors> {
        let mut problems = self.narrow(policy);
        let allowed = policy.with("allowed_instances", &choice(&policy.keys.allowed_instances));
        problems.extend(not_allowed(self, &allowed));
        let has_price = self.prices.on_demand.contains_key(&InstanceType::local());
        let unpriced = |job: &&Job| job.instance.is_local() && !has_price;
        for job in self.jobs.iter().filter(unpriced) {
            let lines = job.budget.written();
            let priced = lines.filter(|line| line.kind.metric().is_some_and(Metric::is_priced));
            problems.extend(priced.map(|line| {
                let field = format!("jobs.{}.budget.{}", job.name, line.kind);
                SpecProblem::of(&field, NO_LOCAL_PRICE, None)
            }));
        }
        self.file.refuse(problems, HELP)
    }

    /// Takes from a policy what the spec does not write, and what it writes looser, and returns what that is.
    pub fn narrow(&mut self, policy: &Arc<OrganizationPolicy>) -> Vec<SpecProblem> {
        let (most, file, said) = (&policy.keys, &self.file, Vec::new());
        let mut all = Narrowing { policy, file, said };
        take! { all, "";
            "strict": self.strict, most.strict, <;
            "on_inconclusive": self.on_inconclusive, most.on_inconclusive, >;
        }
        if let Some(Prices { on_demand, spot }) = &most.prices {
            all.prices("prices", &mut self.prices.on_demand, on_demand);
            all.prices("prices.spot", &mut self.prices.spot, spot);
        }
        all.jobs(&mut self.jobs, |_| true);
        for (index, agreed) in self.overrides.iter_mut().enumerate() {
            let field = format!("overrides[{index}].up_to");
            let key = format!("budget.{}", agreed.budget);
            if let Some(line) = most.budget.written_line(agreed.budget) {
                let widens = |own: &_, _: &_| line.would_be_widened_by(*own);
                all.take((&field, &key), &mut agreed.up_to, &line.limit, widens);
            }
        }
        self.policy = Some(policy.clone());
        all.said
    }

    /// The same of some jobs alone, where all else that the spec has is another's, which is narrowed already.
    pub(super) fn narrow_jobs(
        &mut self,
        policy: &Arc<OrganizationPolicy>,
        are: impl Fn(&Job) -> bool,
    ) -> Vec<SpecProblem> {
        let (file, said) = (&self.file, Vec::new());
        let mut all = Narrowing { policy, file, said };
        all.jobs(&mut self.jobs, are);
        all.said
    }
}

impl OrganizationPolicy {
    /// That it has a value under a key, and where.
    fn with(&self, key: &str, most: &str) -> String {
        let line = self.file.place(key).map_or(1, |place| place.line);
        let name = &self.file.name;
        format!("the policy {name}, which has {most} in line {line}")
    }
}

/// A policy, the file of the spec that is put under it, and what of that was looser so far.
struct Narrowing<'a> {
    policy: &'a OrganizationPolicy,
    file: &'a SpecFile,
    said: Vec<SpecProblem>,
}

impl Narrowing<'_> {
    fn say(&mut self, field: &str, own: &str, key: &str, most: &str) {
        let why = format!("{own} is looser than {}", self.policy.with(key, most));
        self.said.push(SpecProblem::of(field, why, None));
    }

    /// Takes the policy's value of a key for the spec's field.
    fn take<T: HasFields>(
        &mut self,
        (field, key): (&str, &str),
        own: &mut T,
        most: &T,
        is_looser: impl Fn(&T, &T) -> bool,
    ) {
        let is_written = self.file.spans.contains_key(field);
        if !self.policy.file.spans.contains_key(key) || (is_written && !is_looser(own, most)) {
            return;
        }
        if is_written {
            let [own, most] = [&*own, most].map(|it| fields_of(it).remove(0).words);
            self.say(field, &own, key, &most);
        }
        own.clone_from(most);
    }

    fn jobs(&mut self, jobs: &mut [Job], are: impl Fn(&Job) -> bool) {
        let jobs = jobs.iter_mut().filter(|job| are(job));
        jobs.for_each(|job| self.job(job));
    }

    fn job(&mut self, job: &mut Job) {
        let policy = &self.policy.keys;
        let (canary, own) = (&mut job.canary, &mut job.budget);
        let above = format!("jobs.{}.", job.name);
        take! { self, above;
            "canary.spend_limit": canary.spend_limit, policy.canary.spend_limit, >;
            "canary.max_seconds": canary.max_seconds, policy.canary.max_seconds, >;
            "canary.max_share": canary.max_share, policy.canary.max_share, >;
            "budget.certainty": own.certainty, policy.budget.certainty, <;
            "budget.existing_breach": own.existing_breach, policy.budget.existing_breach, >;
        }
        own.lines.retain(|line| line.origin == LineOrigin::Written);
        for line in policy.budget.written() {
            let key = format!("budget.{}", line.kind);
            let field = format!("{above}{key}");
            match own.lines.iter_mut().find(|own| own.kind == line.kind) {
                Some(own) => self.take((&field, &key), own, line, BudgetLine::is_looser_than),
                None => own.lines.push(line.clone()),
            }
        }
        own.renew_implicit_lines(job.training.max_runtime);
    }

    /// With prices in the policy a spec has no others: with one near zero any cost would be within the budget.
    fn prices(&mut self, key: &str, own: &mut PricesByType, most: &PricesByType) {
        for (kind, price) in std::mem::replace(own, most.clone()) {
            let field = format!("{key}.{kind}");
            match most.get(&kind) {
                Some(most) if price >= *most => drop(own.insert(kind, price)),
                Some(most) => self.say(&field, &price.said(), &field, &most.said()),
                None => self.say(&field, &price.said(), key, "no price of it"),
            }
        }
    }
}
