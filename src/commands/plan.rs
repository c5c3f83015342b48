//! `plan`: what `run` would do and what it may cost; spends nothing.

use std::fmt::Write;

use crate::backend::ListedData;
use crate::backend::sagemaker::RunTags;
use crate::canary::{CanaryRun, WorkLevel};
use crate::change::AffectedJob;
use crate::cli::PlanArguments;
use crate::console::{AppError, print, printable};
use crate::gate::backend;
use crate::instance::tables;
use crate::plan::{self, Alternatives, LadderSize, Plan, PlanError, PlannedRuns};
use crate::spec::Traits;
use crate::units::{Bytes, Fraction};
use crate::workspace::idle_globs;
use crate::workspace::project::Project;
use crate::workspace::{base_policy, changed_files};

pub(crate) async fn plan(arguments: &PlanArguments) -> Result<u8, AppError> {
    let mut project = Project::load(&arguments.spec)?;
    let base = base_policy::base_of(&project, &arguments.spec, &arguments.change)?;
    base_policy::apply(&mut project, base, arguments.policy.max_spend)?;
    let change = changed_files::change(&arguments.change, &project)?;
    let affected = changed_files::select(&arguments.change, &project, &change)?;
    project.refuse_not_yet(
        &affected
            .iter()
            .map(|affected| affected.job)
            .collect::<Vec<_>>(),
    )?;
    if affected.is_empty() {
        // A typing error there is the likeliest reason.
        idle_globs::warn_of_idle_globs(&project)?;
        print(&format!(
            "{}\n",
            printable(&changed_files::nothing_affected(
                &change,
                &arguments.change.jobs
            ))
        ))?;
        return Ok(0);
    }
    if let Some(reason) = &project.policy.undecidable {
        let jobs = affected.iter();
        let unknown = |one: &AffectedJob<'_>| {
            let reason = printable(reason);
            format!(
                "{} · unknown: {reason}; nothing would be run\n",
                one.job.name
            )
        };
        print(&jobs.map(unknown).collect::<String>())?;
        return Ok(0);
    }
    let alternatives = if arguments.only_instance {
        Alternatives::Skip
    } else {
        Alternatives::Measure.on(project.spec.backend)
    };
    let backend = backend::backend_of(&project, &[], RunTags::of_nobody()).await?;
    let mut text = changed_files::note(&change, &arguments.change)
        .map_or_else(String::new, |note| format!("{note}\n\n"));
    for note in &project.policy.notes {
        let _ = writeln!(text, "{}\n", printable(note));
    }
    for affected in &affected {
        let job = affected.job;
        let mut session = backend::open(&*backend, &project, job).await?;
        let listed = session.list().await?;
        match plan::plan(
            job,
            &listed.dataset,
            &|instance| project.offer(instance, &tables::capacity),
            alternatives,
        ) {
            Ok(mut plan) => {
                backend::check_supply(&*session, &mut plan)?;
                plan.notes.extend(session.notes());
                let of_policy = project.policy.notes_of(&job.name).iter();
                plan.notes.extend(of_policy.map(|note| printable(note)));
                let traits = project.traits();
                describe(&mut text, affected, &listed, &plan, traits);
            }
            Err(PlanError::Unknown(reason)) => {
                let _ = writeln!(
                    text,
                    "{} · unknown: {reason}; nothing would be run\n",
                    job.name
                );
            }
            Err(error) => return Err(error.into()),
        }
    }
    print(&text)?;
    Ok(0)
}

/// One job's plan, as text.
fn describe(
    text: &mut String,
    affected: &AffectedJob<'_>,
    listed: &ListedData,
    plan: &Plan,
    traits: &Traits,
) {
    let job = affected.job;
    let ListedData {
        dataset,
        knows_bytes,
    } = listed;
    let knows_bytes = *knows_bytes;
    let _ = writeln!(
        text,
        "{} · {} on {}{}",
        job.name,
        match &plan.runs {
            PlannedRuns::Ladder(_) => "canaries chosen one by one".to_owned(),
            PlannedRuns::Fixed(list) => runs(list.len()),
        },
        job.instance,
        match affected.by.as_slice() {
            [] => String::new(),
            [one] => format!(", because {} changed", printable(one)),
            [first, rest @ ..] => format!(
                ", because {} and {} more changed",
                printable(first),
                rest.len()
            ),
        }
    );
    let total = dataset.objects_total().unwrap_or(0);
    for (fraction, objects, bytes, rest) in sizes(&plan.runs) {
        let bytes = match knows_bytes {
            true => format!(", about {bytes}"),
            false => String::new(),
        };
        let fraction = fraction.to_string();
        let _ = writeln!(
            text,
            "  {fraction:>5}  {objects} of {total} objects{bytes}{rest}"
        );
    }
    let total = dataset.bytes_total();
    if plan.is_adaptive()
        && let Some(work) = &job.work
    {
        let levels: Vec<String> = WorkLevel::of_canaries(work)
            .map(|level| level.text())
            .collect();
        let _ = writeln!(
            text,
            "  work levels     {} {}, in turn",
            printable(&work.hyperparameter),
            levels.join(", ")
        );
    }
    let work = job.work.as_ref().map(WorkLevel::of_full_run);
    if knows_bytes {
        let _ = writeln!(text, "  full run        {total}{}", level(work.as_ref()));
    }
    let _ = writeln!(
        text,
        "  worst case      {}",
        match plan.worst_case {
            Some(worst) if plan.is_adaptive() => format!(
                "{worst} of {}; no canary is started that could pass the limit, and each is ended after {}, or sooner where what is left asks for it",
                job.canary.spend_limit, job.canary.max_runtime
            ),
            Some(worst) => format!(
                "{worst} of {} ({} each, ended then)",
                job.canary.spend_limit, job.canary.max_runtime
            ),
            None if traits.needs_price => {
                "no price is known, so no canary would be launched; write one under `prices`"
                    .to_owned()
            }
            None => format!(
                "no price, so the spend limit does not apply; each run is ended after {}",
                job.canary.max_runtime
            ),
        }
    );
    let _ = writeln!(
        text,
        "  expected        not known before the first canary has run"
    );
    let _ = match traits.replays {
        true => {
            writeln!(text, "  wall-clock      none, the runs are recorded")
        }
        false => writeln!(
            text,
            "  wall-clock      at most {}{}, {} at a time",
            plan.wall_clock,
            match traits.start_up_unknown {
                true => " and the start-up of each canary",
                false => "",
            },
            if plan.is_adaptive() {
                1
            } else {
                job.canary.parallel
            }
        ),
    };
    for alternative in &plan.alternatives {
        let what = match &alternative.runs {
            Ok(PlannedRuns::Ladder(_)) => "canaries chosen one by one from what is left".to_owned(),
            Ok(PlannedRuns::Fixed(list)) => format!(
                "{}{}",
                runs(list.len()),
                alternative
                    .worst_case
                    .map(|worst| format!(", worst case {worst}"))
                    .unwrap_or_default()
            ),
            Err(why) => format!("not measured ({why})"),
        };
        let _ = writeln!(text, "  alternative     {} · {what}", alternative.instance);
    }
    for note in &plan.notes {
        let _ = writeln!(text, "  note            {note}");
    }
    text.push('\n');
}

/// Fraction, objects and bytes of each size, and a word on its runs.
fn sizes(runs: &PlannedRuns) -> Vec<(Fraction, u64, Bytes, String)> {
    let runs = match runs {
        PlannedRuns::Ladder(sizes) => {
            let word = |index| if index == 0 { ", first" } else { "" };
            let sizes = sizes.iter().enumerate();
            let row = |(index, size): (usize, &LadderSize)| {
                let word = word(index).to_owned();
                (size.fraction, size.objects, size.bytes, word)
            };
            return sizes.map(row).collect();
        }
        PlannedRuns::Fixed(runs) => runs,
    };
    // Replicates of one size and work level differ only in the objects drawn.
    let mut sizes: Vec<(&CanaryRun, usize)> = Vec::new();
    for run in runs {
        match sizes
            .iter_mut()
            .find(|(known, _)| known.objects == run.objects && known.work == run.work)
        {
            Some((_, count)) => *count += 1,
            None => sizes.push((run, 1)),
        }
    }
    let row = |(run, count): (&CanaryRun, usize)| {
        let times = match count {
            1 => "once".to_owned(),
            2 => "twice".to_owned(),
            count => format!("{count} times"),
        };
        let word = format!("{}, {times}", level(run.work.as_ref()));
        (run.fraction, run.objects, run.bytes, word)
    };
    sizes.into_iter().map(row).collect()
}

/// `, num_round 5` behind a size; nothing where there is no work level.
fn level(work: Option<&WorkLevel>) -> String {
    work.map_or(String::new(), |work| {
        format!(", {}", printable(&work.to_string()))
    })
}

fn runs(count: usize) -> String {
    match count {
        1 => "1 canary".to_owned(),
        count => format!("{count} canaries"),
    }
}
