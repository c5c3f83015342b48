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

    fn ended(ending: &Ending, failure_file: Option<&str>, last_line: Option<&str>) -> Outcome {
        outcome(&HostEnding {
            ending,
            failure_file,
            last_line,
            machine_was_full: true,
        })
    }

    #[test]
    fn the_failure_file_speaks_before_the_last_line() {
        let failed = ended(
            &Ending::Exited { code: 1 },
            Some("no such column: age\n"),
            Some("bye"),
        );
        assert_eq!(failed.last_line(), Some("no such column: age"));
        let failed = ended(&Ending::Exited { code: 1 }, Some("  \n"), Some("bye"));
        assert_eq!(failed.last_line(), Some("bye"));
    }

    #[test]
    fn a_runtime_that_says_memory_ran_out_is_believed_only_when_it_failed() {
        let line = Some("MemoryError");
        assert!(matches!(
            ended(&Ending::Exited { code: 1 }, None, line),
            Outcome::OutOfMemory { .. }
        ));
        assert_eq!(
            ended(&Ending::Exited { code: 0 }, None, line),
            Outcome::Completed
        );
    }

    #[test]
    fn a_limit_that_the_program_set_itself_is_its_own_failure() {
        let ending = Ending::Exited { code: 1 };
        let at_a_limit = HostEnding {
            ending: &ending,
            failure_file: None,
            last_line: Some("MemoryError"),
            machine_was_full: false,
        };
        assert!(matches!(outcome(&at_a_limit), Outcome::Failed { .. }));
    }

    #[test]
    fn a_signal_is_reported_as_a_shell_does() {
        assert!(matches!(
            ended(&Ending::Signaled { signal: 11 }, None, None),
            Outcome::Failed {
                exit_code: Some(139),
                ..
            }
        ));
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
