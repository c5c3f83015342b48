//! `check --try`: one canary of one job, the smallest, to see whether the training code runs at all; and the next where that may be too
//! small.

use crate::cli::CheckArguments;
use crate::console::{AppResult, Loudness, print_prose, printable, say};
use crate::exit;
use crate::gate::one_canary;
use crate::measurement::{LET_IT_FAIL, Outcome};
use crate::plan::TOO_SMALL;
use crate::report::words;
use crate::spec::{Job, yaml_text};
use crate::units::{Seconds, Usd};
use crate::workspace::Project;

/// Runs it, and says how it ended; the exit code is that of `run` for the same outcome.
pub(super) async fn try_one(
    project: &Project,
    job: &Job,
    arguments: &CheckArguments,
    loudness: Loudness,
) -> AppResult<u8> {
    let (pass_env, max_spend) = (&arguments.pass_env, arguments.policy.max_spend);
    let run = async |job: &Job, max_spend| {
        one_canary::run(project, job, pass_env, max_spend, loudness).await
    };
    let (measurement, smaller) = run(job, max_spend).await?;
    let size = (smaller.as_ref()).map_or("smallest", |_| "second smallest");
    let name = printable(&job.name);
    let time = (measurement.time()).map_or_else(String::new, |time| format!(" in {time}"));
    let paid = (measurement.cost).map_or_else(String::new, |cost| format!(", {cost}"));
    let failed = format!(": {}{paid}", measurement.outcome.words());
    let (code, ended) = match measurement.outcome {
        Outcome::Completed if measurement.is_unread() => {
            let unread = format!(" completed{time}{paid}, and opened no file of its sample");
            (exit::FAILED, unread)
        }
        Outcome::Completed if measurement.last_error.is_some() => {
            let unsure = format!(" completed{time}{paid}, and printed an error last");
            (exit::FAILED, unsure)
        }
        Outcome::Completed => {
            let next = format!(" completed{time}{paid}; next: `canary-gate plan --all`");
            (0, next)
        }
        _ if measurement.has_crashed() => (exit::FAILED, failed),
        _ => (exit::UNKNOWN, failed),
    };
    let sign = if code == 0 { "✓" } else { "✗" };
    let mut text = format!("\n{sign} the {size} canary of {name}{ended}\n");
    let error = measurement.last_error.as_deref();
    if let Some(line) = measurement.outcome.last_line().or(error) {
        text.push_str(&format!("    its last line: {}\n", printable(line)));
    }
    if let Some(way_out) = &measurement.way_out {
        text.push_str(&format!("    {}\n", printable(way_out)));
    } else if error.is_some() {
        text.push_str(&format!("    its work may have failed: {LET_IT_FAIL}\n"));
    } else if measurement.outcome == Outcome::TimedOut {
        text.push_str("    it ran until `canary.max_runtime`: raise that, or let canaries do less by `fractions` or `work`\n");
    }
    if let Some(smaller) = &smaller {
        let share = words::share(smaller.data_share());
        let line = printable(smaller.outcome.last_line().unwrap_or("it printed nothing"));
        text.push_str(&match code {
            0 => format!("    the smallest, with {share} of the data, failed, and `run` passes over it: {line}\n"),
            _ => format!("    the smallest, with {share} of the data, failed too: {line}\n    {TOO_SMALL}\n"),
        });
    }
    // A second canary is free of charge on this machine, and within the limits of the first all the same.
    let cure = (measurement.cure.as_ref()).filter(|_| project.traits().runs_here);
    if let Some(command) = cure.filter(|_| smaller.is_none()) {
        say("trying another command, which may mend that");
        let left = |limit: Usd| limit - measurement.cost.unwrap_or_default();
        let mut cured = job.clone();
        cured.training.local.command.clone_from(command);
        cured.canary.spend_limit = left(job.canary.spend_limit);
        if let Some(Seconds(most)) = &mut cured.canary.max_seconds {
            let taken = measurement.time().unwrap_or(job.canary.max_runtime);
            let machines = f64::from(job.instance.total_count());
            *most = (*most - taken.0 * machines).max(0.0);
        }
        let ended = match run(&cured, max_spend.map(left)).await {
            Ok((again, _)) if again.is_completed() => Some("completes with this line".to_owned()),
            // The line mends another error than this one.
            Ok((again, _)) if again.outcome == measurement.outcome => None,
            Ok((again, _)) => {
                let said = again.outcome.last_line().or(again.way_out.as_deref());
                let said = said.unwrap_or_default();
                Some(format!("fails with this line too: {said}"))
            }
            Err(error) if exit::is_interruption(error.code()) => {
                print_prose(&text)?;
                return Err(error);
            }
            Err(error) => {
                let why = error.in_a_line();
                Some(format!("could not be tried with this line: {why}"))
            }
        };
        text.extend(ended.map(|ended| {
            format!(
                "\n  the canary {}\n    under `jobs.{name}.training`, in place of `command`:\n      command: {}\n",
                printable(&ended),
                yaml_text::list(command)
            )
        }));
    }
    let ended = match code {
        0 => &format!("the {size} canary completed"),
        _ if measurement.is_unread() => "the training code did not read its sample",
        code => words::exit_words(code),
    };
    text.push_str(&format!("\nexit {code}: {ended}\n"));
    print_prose(&text)?;
    Ok(code)
}
