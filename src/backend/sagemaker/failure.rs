//! Why a training job failed: SageMaker's `FailureReason`, told apart by its class.
//!
//! The class is the text before the first colon. What comes after an `AlgorithmError:` is the script's own text, hostile,
//! and counts only for whether memory ran out.

use crate::measurement::Outcome;

/// What runtimes say when memory ran out; compared without regard to case.
const MEMORY_WORDS: &str = "out of memory, outofmemoryerror, memoryerror, std::bad_alloc, \
    cannot allocate memory, can't allocate memory, oom when allocating";
/// What SageMaker says when the machine's memory ran out.
const PLATFORM_MEMORY_WORDS: &str = "instance type with more memory, out of memory";
/// Exit codes of a process that was killed, which is what the kernel does when memory runs out.
const KILLED: [i32; 2] = [137, -9];

/// A reason, classed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FailureClass {
    /// It says something of the training code on this machine, or that there was no machine. The script's last line is as it came.
    Outcome(Outcome),
    /// SageMaker itself failed.
    Internal,
    /// The data, the role, the image or the VPC: a person must correct it. The text is SageMaker's, without its class.
    Configuration(String),
    /// An unknown class, or none.
    Unknown,
}

impl FailureClass {
    /// The class of a `FailureReason`, of which SageMaker gives at most 1,024 characters.
    pub(super) fn of(reason: &str) -> Self {
        let reason = reason.trim();
        let (class, text) = reason.split_once(':').unwrap_or(("", reason));
        let text = text.trim();
        match class.trim() {
            "AlgorithmError" => Self::Outcome(of_script(text)),
            "CapacityError" => Self::Outcome(Outcome::NoCapacity),
            "InternalServerError" => Self::Internal,
            _ if text.contains("InsufficientInstanceCapacity") => {
                Self::Outcome(Outcome::NoCapacity)
            }
            "ClientError" if mentions(text, PLATFORM_MEMORY_WORDS) => {
                Self::Outcome(Outcome::out_of_memory(None))
            }
            "ClientError" => Self::Configuration(text.to_owned()),
            _ => Self::Unknown,
        }
    }
}

fn of_script(text: &str) -> Outcome {
    let exit_code = exit_code(text);
    let last_line = last_line(text);
    let killed = exit_code.is_some_and(|code| KILLED.contains(&code));
    match killed || mentions(text, MEMORY_WORDS) {
        true => Outcome::out_of_memory(last_line),
        false => Outcome::Failed {
            exit_code,
            last_line,
        },
    }
}

fn mentions(text: &str, words: &str) -> bool {
    let text = text.to_ascii_lowercase();
    words.split(", ").any(|word| text.contains(word))
}

/// `, exit code: 1` at the end, which SageMaker appends; else `ExitCode 1` at the start, which the toolkit writes. Between
/// them is what the script said.
fn exit_code(text: &str) -> Option<i32> {
    let appended = without_exit_code(text).1;
    appended.or_else(|| {
        let rest = text.strip_prefix("ExecuteUserScriptError:").unwrap_or(text);
        let number = rest.trim_start().strip_prefix("ExitCode ")?;
        number.split_whitespace().next()?.parse().ok()
    })
}

/// The text before `, exit code: 1`, and the code.
fn without_exit_code(text: &str) -> (&str, Option<i32>) {
    let cut = text.rsplit_once("exit code: ").and_then(|(before, code)| {
        let code = code.trim().parse().ok()?;
        Some((before.trim_end().trim_end_matches(','), Some(code)))
    });
    cut.unwrap_or((text, None))
}

/// The last line of what the script said that is not blank: the toolkit's `ErrorMessage`, else all of it.
fn last_line(text: &str) -> Option<String> {
    let text = without_exit_code(text).0;
    let said = match text.split_once("ErrorMessage \"") {
        Some((_, message)) => {
            let end = message.rfind("\"\nCommand ");
            let message = end.map_or(message, |end| &message[..end]);
            message.trim_end().trim_end_matches('"')
        }
        None => text,
    };
    let mut lines = said.lines().rev().map(str::trim);
    lines.find(|line| !line.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn user_code(exit_code: Option<i32>, last_line: &str) -> FailureClass {
        FailureClass::Outcome(Outcome::Failed {
            exit_code,
            last_line: Some(last_line.to_owned()),
        })
    }

    #[test]
    fn a_lack_of_memory_has_many_names() {
        for reason in [
            "ClientError: Please use an instance type with more memory, or reduce the size of job data processed on an instance.",
            "ClientError: Artifact upload failed:ClientError: Out of Memory. Please use a larger instance",
            "AlgorithmError: , exit code: 137",
            "AlgorithmError: ExecuteUserScriptError:\nExitCode 137\nErrorMessage \"\"\nCommand \"python3 train.py\", exit code: 137",
            "AlgorithmError: ExecuteUserScriptError:\nExitCode -9\nErrorMessage \"\"",
            "AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nErrorMessage \"RuntimeError: CUDA out of memory. Tried to allocate 2 GiB\"\nCommand \"python3 train.py\", exit code: 1",
            "AlgorithmError: terminate called after throwing an instance of 'std::bad_alloc', exit code: 134",
            "AlgorithmError: numpy.core._exceptions._ArrayMemoryError: Unable to allocate 12 GiB, exit code: 1",
        ] {
            let class = FailureClass::of(reason);
            assert!(
                matches!(class, FailureClass::Outcome(Outcome::OutOfMemory { .. })),
                "{reason}: {class:?}"
            );
        }
    }

    #[test]
    fn a_script_that_failed_is_a_result_with_its_last_line() {
        let class = FailureClass::of(
            "AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nErrorMessage \"Traceback (most recent call last):\n  File \"train.py\", line 3\nKeyError: 'age'\n\"\nCommand \"/usr/bin/python3 train.py --epochs 1\", exit code: 1",
        );
        assert_eq!(class, user_code(Some(1), "KeyError: 'age'"));
        // What a plain image wrote to /opt/ml/output/failure.
        assert_eq!(
            FailureClass::of("AlgorithmError: no such column\n\nage, exit code: 3"),
            user_code(Some(3), "age")
        );
        // Cut at 1,024 characters: the code at the end is gone, that at the start is left.
        assert_eq!(
            FailureClass::of(
                "AlgorithmError: ExecuteUserScriptError:\nExitCode 2\nErrorMessage \"usage: trai"
            ),
            user_code(Some(2), "usage: trai")
        );
        assert_eq!(
            FailureClass::of("AlgorithmError:"),
            FailureClass::Outcome(Outcome::Failed {
                exit_code: None,
                last_line: None
            })
        );
    }

    #[test]
    fn what_a_script_prints_does_not_pass_for_its_exit_code() {
        let class = FailureClass::of(
            "AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nErrorMessage \"the child ended with exit code: 137, sadly\"\nCommand \"python3 train.py\", exit code: 1",
        );
        let line = "the child ended with exit code: 137, sadly";
        assert_eq!(class, user_code(Some(1), line));
        // Nor does it pass for another class.
        let class = FailureClass::of("AlgorithmError: CapacityError: InternalServerError: x");
        assert!(matches!(
            class,
            FailureClass::Outcome(Outcome::Failed { .. })
        ));
    }

    #[test]
    fn no_capacity_is_no_fault_of_the_code() {
        for reason in [
            "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance type.",
            "ClientError: Unable to provision requested ML compute capacity due to InsufficientInstanceCapacity error. Please retry using a different ML instance type.",
        ] {
            let class = FailureClass::Outcome(Outcome::NoCapacity);
            assert_eq!(FailureClass::of(reason), class, "{reason}");
        }
    }

    #[test]
    fn what_says_nothing_of_the_code_is_no_outcome() {
        let internal = FailureClass::of(
            "InternalServerError: We encountered an internal error.  Please try again.",
        );
        assert_eq!(internal, FailureClass::Internal);
        let download = FailureClass::of(
            "ClientError: Data download failed:Access denied. s3://bucket/train/ 403",
        );
        assert_eq!(
            download,
            FailureClass::Configuration(
                "Data download failed:Access denied. s3://bucket/train/ 403".to_owned()
            )
        );
        for text in ["NovelError: what", "no class at all", ""] {
            assert_eq!(FailureClass::of(text), FailureClass::Unknown);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_classing_panic(
            class in "(AlgorithmError: ?|ClientError: ?|ExecuteUserScriptError:|ErrorMessage \")*",
            text in "(?s).{0,200}",
            end in "(\"\nCommand |, exit code: ?)?\\PC{0,20}",
        ) {
            let _ = FailureClass::of(&format!("{class}{text}{end}"));
        }
    }
}
