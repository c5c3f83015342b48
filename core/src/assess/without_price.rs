//! Canaries on machines without a known price.

use std::collections::BTreeSet;

use crate::grammar::list;
use crate::plan::Plan;
use crate::spec::CanaryPolicy;

/// That no dollars limited canaries, what did in their place, and what to do.
pub fn warning(canary: &CanaryPolicy, plan: &Plan, region: Option<String>) -> Option<String> {
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
