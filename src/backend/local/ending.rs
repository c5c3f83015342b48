//! How the hosts of a run ended, and what is said of it. A failure of the training code is another outcome than a failure of the gate.

use crate::grammar::{distinct, list};
use crate::measurement::Outcome;
use crate::measurement::printed_figures::Printed;
use crate::probe::{Ending, OptMl, ProbeReport};

use super::cluster::ClusterHost;
use super::log_tail::LogTail;

/// SageMaker takes this much of `output/failure` for its FailureReason.
const FAILURE_TEXT: usize = 1024;

/// What runtimes print when memory ran out.
const MEMORY_WORDS: [&str; 4] = [
    "MemoryError",
    "std::bad_alloc",
    "OutOfMemoryError",
    "Cannot allocate memory",
];

/// One host, and how it ended.
#[derive(Debug)]
pub(super) struct EndedHost<'a> {
    pub(super) host: &'a ClusterHost<'a>,
    /// Absent where it was cancelled before its command had started.
    pub(super) report: Option<ProbeReport>,
    pub(super) tail: LogTail,
    /// What it printed at its end.
    pub(super) end: Vec<String>,
    /// The figures on standard output and standard error.
    pub(super) printed: [Printed; 2],
    pub(super) outcome: Outcome,
}

impl EndedHost<'_> {
    /// The worst reason first, then the first to end: of two that failed that one had the reason, and a host without a report had
    /// not started.
    /// A host that we ended because another failed counts less than that other.
    fn rank(&self) -> (u8, f64) {
        let rank = match self.outcome {
            Outcome::OutOfMemory { .. } => 0,
            Outcome::Failed { .. } => 1,
            Outcome::TimedOut => 2,
            Outcome::Stopped => 3,
            Outcome::NoCapacity | Outcome::PlatformError => 4,
            Outcome::Completed => 5,
        };
        let report = self.report.as_ref();
        let ended = report.map_or(f64::INFINITY, |report| report.wall_seconds.0);
        (rank, ended)
    }
}

/// The outcome of a host. Its `output/failure` speaks for the script, else the last line that it printed. That memory ran out is
/// believed where the machine was full: a program may also fail at a limit that it set itself.
pub(super) fn outcome(
    ending: Ending,
    failure_file: Option<&str>,
    last_line: Option<&str>,
    machine_was_full: bool,
) -> Outcome {
    let written = failure_file.map(str::trim).filter(|text| !text.is_empty());
    let said = written.or(last_line);
    let said = said.map(|text| text.chars().take(FAILURE_TEXT).collect::<String>());
    let is_of_memory = |text: &str| MEMORY_WORDS.iter().any(|words| text.contains(words));
    let ran_out = said.as_deref().is_some_and(is_of_memory);
    let exit_code = match ending {
        Ending::Exited { code: 0 } => return Outcome::Completed,
        Ending::TimedOut => return Outcome::TimedOut,
        Ending::Stopped { .. } => return Outcome::Stopped,
        Ending::OutOfMemory => return Outcome::out_of_memory(said),
        Ending::Exited { code } => code,
        // A shell reports this code for a process that a signal ended.
        Ending::Signaled { signal } => 128 + signal,
    };
    match ran_out && machine_was_full {
        true => Outcome::out_of_memory(said),
        false => Outcome::Failed {
            exit_code: Some(exit_code),
            last_line: said,
        },
    }
}

/// The host whose outcome is that of the run.
pub(super) fn decisive<'h, 'a>(hosts: &'h [EndedHost<'a>]) -> &'h EndedHost<'a> {
    let order = |one: &&EndedHost<'_>, other: &&EndedHost<'_>| {
        let (one, other) = (one.rank(), other.rank());
        one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
    };
    hosts.iter().min_by(order).expect("a run has a host")
}

/// The probes' cautions, each once, which of several hosts decided the end, and why `/opt/ml` may be the reason of a failure.
pub(super) fn notes(hosts: &[EndedHost<'_>], decisive: &EndedHost<'_>) -> Vec<String> {
    let reports = hosts.iter().filter_map(|host| host.report.as_ref());
    let mut notes = distinct(reports.flat_map(|report| report.notes.iter().cloned()));
    if hosts.len() > 1 {
        notes.extend(which_host(hosts, decisive));
    }
    let refused = hosts
        .iter()
        .find_map(|one| match &one.report.as_ref()?.opt_ml {
            Some(OptMl::NotAllowed { reason }) if one.tail.mentions("/opt/ml") => Some(reason),
            _ => None,
        });
    if let (Outcome::Failed { .. }, Some(reason)) = (&decisive.outcome, refused) {
        notes.push(format!(
            "The script uses /opt/ml, which could not be mounted for it on this machine ({reason}); let it read SM_MODEL_DIR and SM_CHANNEL_*, or allow user namespaces."
        ));
    }
    notes
}

/// A sentence that names the host that failed, or those that did not end in time; `None` where no host did either.
fn which_host(hosts: &[EndedHost<'_>], decisive: &EndedHost<'_>) -> Option<String> {
    let name = &decisive.host.label;
    match &decisive.outcome {
        Outcome::Failed { .. } => Some(format!("{name} failed; the other hosts were ended.")),
        Outcome::OutOfMemory { .. } => Some(format!(
            "{name} ran out of memory; the other hosts were ended."
        )),
        Outcome::TimedOut => {
            let late = hosts.iter().filter(|one| one.outcome == Outcome::TimedOut);
            let late = Vec::from_iter(late.map(|one| &one.host.label));
            Some(format!("At the time limit {} still ran.", list(&late)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_s_outcome_is_by_its_ending_and_by_what_it_said() {
        let exited = |code| Ending::Exited { code };
        let failed = |exit_code, line: Option<&str>| Outcome::Failed {
            exit_code: Some(exit_code),
            last_line: line.map(str::to_owned),
        };
        let of_machine = Outcome::out_of_memory(Some("MemoryError".to_owned()));
        let (bye, memory) = (Some("bye"), Some("MemoryError"));
        let no_column = "no such column: age";
        for (ending, failure_file, last_line, machine_was_full, expected) in [
            (
                exited(1),
                Some(no_column),
                bye,
                true,
                failed(1, Some(no_column)),
            ),
            (exited(1), Some("  \n"), bye, true, failed(1, bye)),
            // A runtime that says so is believed where it failed, and not at a limit that the program set itself.
            (exited(1), None, memory, true, of_machine),
            (exited(1), None, memory, false, failed(1, memory)),
            (exited(0), None, memory, true, Outcome::Completed),
            // As a shell reports it.
            (
                Ending::Signaled { signal: 11 },
                None,
                None,
                true,
                failed(139, None),
            ),
        ] {
            let ended = outcome(ending, failure_file, last_line, machine_was_full);
            assert_eq!(ended, expected);
        }
    }
}
