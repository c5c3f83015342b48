//! Whether a canary opened its sample, by what the probes of its hosts saw.

use std::collections::BTreeMap;

use crate::canary::CanaryRun;

/// Whether any file of a sampled channel was opened on any host; `None` where a host's probe does not know it, and of a run that
/// holds all of the data.
pub(super) fn of_run<'a>(
    run: &CanaryRun,
    hosts: impl Iterator<Item = Option<&'a BTreeMap<String, bool>>>,
) -> Option<bool> {
    let hosts: Vec<&BTreeMap<String, bool>> = hosts.collect::<Option<_>>()?;
    let sampled = run.channels.iter().filter(|channel| channel.sampled);
    let seen = sampled.flat_map(|channel| hosts.iter().filter_map(|host| host.get(&channel.name)));
    seen.copied()
        .reduce(|one, other| one || other)
        .filter(|_| !run.is_full())
}
