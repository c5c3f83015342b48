//! How a host's process ended, in the words of a measurement. A failure of the training code is another outcome than a failure of the gate.

use crate::measurement::Outcome;
use crate::metric::MemoryOf;
use crate::probe::Ending;

/// SageMaker takes this much of `output/failure` for its FailureReason.
const FAILURE_TEXT: usize = 1024;

/// What runtimes print when memory ran out.
const MEMORY_WORDS: [&str; 4] = [
    "MemoryError",
    "std::bad_alloc",
    "OutOfMemoryError",
    "Cannot allocate memory",
];

/// What one host left behind.
#[derive(Debug, Clone)]
pub(super) struct HostEnding<'a> {
    pub(super) ending: &'a Ending,
    /// The content of `output/failure`, if the script wrote it.
    pub(super) failure_file: Option<&'a str>,
    /// The last line it printed that is not blank.
    pub(super) last_line: Option<&'a str>,
    /// Whether memory was short at all; a program may also fail at a limit that it set itself.
    pub(super) machine_was_full: bool,
}

/// The outcome of a host. `output/failure` speaks for the script, else its last line.
pub(super) fn outcome(host: &HostEnding<'_>) -> Outcome {
    let said = host
        .failure_file
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .or(host.last_line)
        .map(|text| text.chars().take(FAILURE_TEXT).collect::<String>());
    let ran_out = said
        .as_deref()
        .is_some_and(|text| MEMORY_WORDS.iter().any(|words| text.contains(words)));
    match host.ending {
        Ending::Exited { code: 0 } => Outcome::Completed,
        Ending::TimedOut => Outcome::TimedOut,
        Ending::Stopped { .. } => Outcome::Stopped,
        Ending::OutOfMemory => Outcome::OutOfMemory {
            of: MemoryOf::Machine,
            last_line: said,
        },
        Ending::Exited { .. } | Ending::Signaled { .. } if ran_out && host.machine_was_full => {
            Outcome::OutOfMemory {
                of: MemoryOf::Machine,
                last_line: said,
            }
        }
        Ending::Exited { code } => Outcome::Failed {
            exit_code: Some(*code),
            last_line: said,
        },
        Ending::Signaled { signal } => Outcome::Failed {
            // What a shell reports for a process that a signal ended.
            exit_code: Some(128 + signal),
            last_line: said,
        },
    }
}

/// How bad an outcome is, the worst first: a host that we ended because another failed does not count.
pub(super) fn rank(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::OutOfMemory { .. } => 0,
        Outcome::Failed { .. } => 1,
        Outcome::TimedOut => 2,
        Outcome::Stopped => 3,
        Outcome::NoCapacity | Outcome::PlatformError => 4,
        Outcome::Completed => 5,
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
        let of_machine = Outcome::OutOfMemory {
            of: MemoryOf::Machine,
            last_line: Some("MemoryError".to_owned()),
        };
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
            let ended = outcome(&HostEnding {
                ending: &ending,
                failure_file,
                last_line,
                machine_was_full,
            });
            assert_eq!(ended, expected);
        }
    }

    #[test]
    fn a_host_ended_because_another_failed_does_not_hide_the_failure() {
        let failed = Outcome::Failed {
            exit_code: Some(1),
            last_line: None,
        };
        let mut outcomes = [Outcome::Stopped, failed.clone(), Outcome::Completed];
        outcomes.sort_by_key(rank);
        assert_eq!(outcomes[0], failed);
    }
}
