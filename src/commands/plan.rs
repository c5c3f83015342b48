//! `plan`: what `run` would do and what it may cost; spends nothing.

use std::fmt::Write;

use crate::backend::sagemaker::RunTags;
use crate::cli::PlanArguments;
use crate::console::{AppResult, print_prose, printable};
use crate::gate::{PullRequestLimit, RunHistory, backend};
use crate::history::Command;
use crate::plan::{self, Alternatives, KnownBefore, PlanError};
use crate::report::plan::{self as planned, PlannedJob};
use crate::workspace::{RunOrigin, base_policy, changed_files};

/// Which alternatives the arguments ask for.
pub(super) fn alternatives(arguments: &PlanArguments) -> Alternatives {
    match arguments.only_instance {
        true => Alternatives::Skip,
        false => Alternatives::Measure,
    }
}

pub(crate) async fn plan(arguments: &PlanArguments) -> AppResult<u8> {
    let project = base_policy::load(arguments).await?;
    let change = changed_files::change(&arguments.change, &project)?;
    let affected = changed_files::select_jobs(&arguments.change.jobs, &project, &change)?;
    if affected.is_empty() {
        // A typing error there is the likeliest reason.
        changed_files::warn_of_idle_globs(&project)?;
        let nothing = changed_files::nothing_affected(&change, &arguments.change.jobs);
        print_prose(&format!("{}\n", printable(&nothing)))?;
        return Ok(0);
    }
    if let Some(reason) = &project.policy.undecidable {
        let reason = printable(&reason.to_string());
        let unknown = affected.iter().map(|one| not_run(&one.job.name, &reason));
        print_prose(&unknown.collect::<String>())?;
        return Ok(0);
    }
    let alternatives = alternatives(arguments);
    let backend = backend::backend_of(&project, &[], RunTags::default()).await?;
    let mut text = changed_files::note(&change, &arguments.change)
        .map_or_else(String::new, |note| format!("{note}\n\n"));
    let removed = base_policy::removed_note(&project.policy);
    for note in project.policy.changes.notes.iter().chain(&removed) {
        let _ = writeln!(text, "{}\n", printable(note));
    }
    let origin = RunOrigin::of_environment(&project, Command::Run);
    let history = RunHistory::open(&project, &origin, None).await?;
    let limit = arguments.max_spend_per_pull_request;
    let limit = PullRequestLimit::open(limit, &project, &origin, &history).await?;
    if let Some(note) = limit.note() {
        let _ = writeln!(text, "{note}\n");
    }
    let in_dollars = arguments.policy.max_spend.is_some() || limit.account().is_some();
    let mut worst_cases = Vec::new();
    let mut details = String::new();
    for affected in &affected {
        let job = affected.job;
        let mut session = backend::open(&*backend, &project, job).await?;
        let listed = session.list().await?;
        let earlier = history.last_check(job).await?;
        match plan::plan(
            job,
            &listed.dataset,
            &|instance| project.canary_offer(job, instance, in_dollars),
            alternatives,
            KnownBefore {
                // What the jobs before it take is not known yet.
                left_of_run: arguments.policy.max_spend,
                earlier: &earlier,
            },
        ) {
            Ok(mut plan) => {
                backend::check_supply(&*session, &mut plan)?;
                plan.notes.extend(listed.notes.iter().cloned());
                let of_policy = project.policy.notes_of(&job.name).iter();
                plan.notes.extend(of_policy.map(|note| printable(note)));
                let planned = PlannedJob {
                    affected,
                    dataset: &listed.dataset,
                    knows_bytes: listed.knows_bytes,
                    plan: &plan,
                    traits: project.traits(),
                };
                let _ = writeln!(details, "{planned}");
                worst_cases.push(plan.total_worst_case());
            }
            Err(PlanError::Unknown(reason)) => {
                let _ = writeln!(details, "{}", not_run(&job.name, &reason.to_string()));
            }
            Err(error) => return Err(error.into()),
        }
    }
    if affected.len() > 1 {
        let max_spend = arguments.policy.max_spend;
        let totals = planned::totals(affected.len(), &worst_cases, max_spend);
        let _ = writeln!(text, "{totals}\n");
    }
    text.push_str(&details);
    print_prose(&text)?;
    Ok(0)
}

fn not_run(job: &str, reason: &str) -> String {
    format!("{job} · unknown: {reason}; nothing would be run\n")
}
