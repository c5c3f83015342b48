//! `check --try`: one canary of one job, the smallest, to see whether the training code runs at all.

use crate::cli::CheckArguments;
use crate::console::{AppError, Loudness, print_prose, printable, signals};
use crate::exit;
use crate::gate::one_canary;
use crate::measurement::Outcome;
use crate::report::words;
use crate::spec::Job;
use crate::workspace::project::Project;

/// Runs it, and says how it ended; the exit code is that of `run` for the same outcome.
pub(super) async fn try_one(
    project: &Project,
    job: &Job,
    arguments: &CheckArguments,
    loudness: Loudness,
) -> Result<u8, AppError> {
    let interruption = signals::watch()?;
    let measurement = one_canary::run(
        project,
        job,
        &arguments.pass_env,
        arguments.policy.max_spend,
        interruption,
        loudness,
    )
    .await?;
    let name = printable(&job.name);
    let time = measurement
        .time()
        .map_or_else(String::new, |time| format!(" in {time}"));
    let paid = measurement
        .cost
        .map_or_else(String::new, |cost| format!(", {cost}"));
    let (code, ended) = match &measurement.outcome {
        Outcome::Completed if measurement.is_unread() => {
            let unread = format!(" completed{time}{paid}, and opened no file of its sample");
            (exit::FAILED, unread)
        }
        Outcome::Completed => {
            let next = format!(" completed{time}{paid}; next: `canary-gate plan --all`");
            (0, next)
        }
        outcome @ (Outcome::Failed { .. } | Outcome::OutOfMemory { .. }) => {
            (exit::FAILED, format!(": {}{paid}", outcome.words()))
        }
        outcome => (exit::UNKNOWN, format!(": {}{paid}", outcome.words())),
    };
    let sign = if code == 0 { "✓" } else { "✗" };
    let mut text = format!("\n{sign} the smallest canary of {name}{ended}\n");
    if let Some(line) = measurement.outcome.last_line() {
        text.push_str(&format!("    its last line: {}\n", printable(line)));
    }
    if let Some(way_out) = &measurement.way_out {
        text.push_str(&format!("    {}\n", printable(way_out)));
    } else if measurement.outcome == Outcome::TimedOut {
        text.push_str("    it ran until `canary.max_runtime`: raise that, or let canaries do less by `fractions` or `work`\n");
    }
    let ended = match code {
        0 => "the smallest canary completed",
        _ if measurement.is_unread() => "the training code did not read its sample",
        code => words::exit_words(code),
    };
    text.push_str(&format!("\nexit {code}: {ended}\n"));
    print_prose(&text)?;
    Ok(code)
}
