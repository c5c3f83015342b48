//! What is said of a run beside its figures: the probes' cautions, which host decided its end, and what this machine lacks.

use crate::measurement::Outcome;
use crate::probe::{HostNames, OptMl, ProbeReport};

use super::cluster::{Cluster, ClusterHost};
use super::failure;
use super::process::HostResult;

/// One host, and how it ended.
#[derive(Debug)]
pub(super) struct EndedHost<'a> {
    pub(super) host: &'a ClusterHost,
    pub(super) result: &'a HostResult,
    pub(super) outcome: Outcome,
}

impl EndedHost<'_> {
    fn report(&self) -> Option<&ProbeReport> {
        self.result.report.as_ref()
    }

    /// The first of two that failed had the reason; a host without a report had not started.
    fn ended_at(&self) -> f64 {
        let report = self.report();
        report.map_or(f64::INFINITY, |report| report.wall_seconds.0)
    }
}

/// The host whose outcome is that of the run: the worst reason wins, then the first to end.
pub(super) fn decisive<'h, 'a>(hosts: &'h [EndedHost<'a>]) -> &'h EndedHost<'a> {
    let order = |one: &&EndedHost<'_>, other: &&EndedHost<'_>| {
        let rank = failure::rank(&one.outcome).cmp(&failure::rank(&other.outcome));
        rank.then(one.ended_at().total_cmp(&other.ended_at()))
    };
    hosts.iter().min_by(order).expect("a run has a host")
}

/// Each sentence once.
pub(super) fn of_run(
    cluster: &Cluster,
    hosts: &[EndedHost<'_>],
    decisive: &EndedHost<'_>,
) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in reports(hosts).flat_map(|report| &report.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    let outcome = &decisive.outcome;
    notes.extend(which_host(cluster, hosts, decisive));
    if hosts.len() > 1 && matches!(outcome, Outcome::Failed { .. } | Outcome::TimedOut) {
        notes.extend(without_names(hosts));
    }
    if matches!(outcome, Outcome::Failed { .. }) {
        notes.extend(without_opt_ml(hosts));
    }
    notes
}

fn reports<'a>(hosts: &'a [EndedHost<'_>]) -> impl Iterator<Item = &'a ProbeReport> {
    hosts.iter().filter_map(EndedHost::report)
}

/// Of several hosts, the one that failed, or those that did not end in time.
fn which_host(
    cluster: &Cluster,
    hosts: &[EndedHost<'_>],
    decisive: &EndedHost<'_>,
) -> Option<String> {
    if hosts.len() < 2 {
        return None;
    }
    let name = cluster.words(decisive.host);
    match &decisive.outcome {
        Outcome::Failed { .. } => Some(format!("{name} failed; the other hosts were ended.")),
        Outcome::OutOfMemory { .. } => Some(format!(
            "{name} ran out of memory; the other hosts were ended."
        )),
        Outcome::TimedOut => {
            let words = |outcome: Outcome| -> Vec<String> {
                let such = hosts.iter().filter(|one| one.outcome == outcome);
                such.map(|one| cluster.words(one.host)).collect()
            };
            let (late, done) = (words(Outcome::TimedOut), words(Outcome::Completed));
            let done = match done.as_slice() {
                [] => "no host had ended".to_owned(),
                done => format!("{} had ended", done.join(", ")),
            };
            Some(format!(
                "At the time limit {} still ran; {done}.",
                late.join(", ")
            ))
        }
        _ => None,
    }
}

fn without_names(hosts: &[EndedHost<'_>]) -> Option<String> {
    let reason = reports(hosts).find_map(|report| match &report.host_names {
        Some(HostNames::NotAllowed { reason }) => Some(reason),
        _ => None,
    })?;
    Some(format!(
        "The names of the hosts (algo-1, ...) have no addresses on this machine: {reason}."
    ))
}

/// Why `/opt/ml` may be the reason of a failure.
fn without_opt_ml(hosts: &[EndedHost<'_>]) -> Option<String> {
    let reason = hosts.iter().find_map(|one| match &one.report()?.opt_ml {
        Some(OptMl::NotAllowed { reason }) if one.result.tail.mentions("/opt/ml") => Some(reason),
        _ => None,
    })?;
    Some(format!(
        "The script uses /opt/ml, which could not be mounted for it on this machine ({reason}); let it read SM_MODEL_DIR and SM_CHANNEL_*, or allow user namespaces."
    ))
}
