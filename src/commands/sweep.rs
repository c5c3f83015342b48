//! `sweep`: stops the training jobs that dead runs of the gate left, and removes what they staged.

use crate::backend::sagemaker::{Leftover, LeftoverKind, RunTags, Sweep};
use crate::cli::SweepArguments;
use crate::console::{AppError, AppResult, print, printable, say};
use crate::exit;
use crate::gate::backend;
use crate::outside_error::OutsideResult;
use crate::workspace::Project;

/// Whether leftovers are stopped and removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sweeping {
    ForReal,
    OnlyShown,
}

pub(crate) async fn sweep(arguments: &SweepArguments) -> AppResult<u8> {
    let project = Project::as_it_stands(&arguments.spec)?;
    let sweep = match &arguments.run {
        Some(run) => Sweep::Run {
            id: run,
            of: None,
            detached: arguments.detached,
        },
        None => Sweep::Expired(jiff::Timestamp::now()),
    };
    let sweeping = match arguments.dry_run {
        true => Sweeping::OnlyShown,
        false => Sweeping::ForReal,
    };
    of(&project, &sweep, sweeping).await
}

/// Stops and removes what `sweep` selects, and prints it. Returns the exit code.
pub(crate) async fn of(project: &Project, sweep: &Sweep<'_>, sweeping: Sweeping) -> AppResult<u8> {
    if !project.traits().is_remote {
        let what = format!(
            "the {} backend leaves nothing behind to sweep",
            project.spec.backend
        );
        return Err(
            AppError::usage(what).help("name a spec with `backend: sagemaker`: `--spec FILE`")
        );
    }
    let backend = backend::sagemaker_backend(project, RunTags::default()).await?;
    let running = backend.left_on_machines().await?;
    let (left, others): (Vec<Leftover>, Vec<Leftover>) = running
        .into_iter()
        .partition(|leftover| sweep.takes(leftover));
    let jobs = &project.spec.jobs;
    let (places, trouble) = match sweep {
        // The staged objects of that run's jobs only.
        Sweep::Run { .. } => {
            let names: Vec<&str> = left.iter().map(|job| job.training_job.as_str()).collect();
            (backend.places_of(jobs, &names)?, None)
        }
        // Staged objects cost less than running jobs, so a failure to list them is reported last.
        Sweep::Expired(_) => match backend.left_in_s3(jobs).await {
            Ok(places) => (places, None),
            Err(error) => (Vec::new(), Some(error)),
        },
    };
    let lines = |leftovers: &[Leftover]| leftovers.iter().map(line).collect::<String>();
    let mut text = lines(&left);
    let shown = places.iter().map(|place| printable(&place.to_string()));
    text.extend(shown.map(|place| format!("{place}\n")));
    if left.is_empty() && places.is_empty() && trouble.is_none() {
        text.push_str(&match sweep {
            Sweep::Run { id, .. } => format!(
                "no job of run {} is in progress, and it keeps no warm pool\n",
                printable(id)
            ),
            Sweep::Expired(_) => "nothing is left behind\n".to_owned(),
        });
    }
    if !others.is_empty() {
        text.push_str(
            "\nstill in progress and not swept; `sweep --run ID` stops those of one run, with `--detached` those too that wait to be collected:\n",
        );
        text.push_str(&lines(&others));
    }
    print(&text)?;
    if sweeping == Sweeping::OnlyShown {
        return trouble.map_or(Ok(0), |error| Err(error.into()));
    }
    let (mut code, mut text) = (0, String::new());
    // What could not be swept is an error that keeps nothing else from being swept.
    let mut sweep = |done: String, result: OutsideResult<()>| match result {
        Ok(()) => text.push_str(&format!("{done}\n")),
        Err(error) => {
            code = exit::TOOL_FAILED;
            say(AppError::from(error).render(false).trim_end());
        }
    };
    for (leftover, result) in backend.stop_all(left).await {
        let done = match leftover.kind {
            LeftoverKind::Running => format!("stopped {}", leftover.training_job),
            LeftoverKind::WarmPool => format!("ended the warm pool of {}", leftover.training_job),
        };
        sweep(done, result);
    }
    for prefix in places {
        let result = backend.remove(&prefix).await;
        let prefix = printable(&prefix.to_string());
        sweep(format!("removed {prefix}"), result);
    }
    print(&text)?;
    trouble.map_or(Ok(code), |error| Err(error.into()))
}

/// A training job with its run and its expiry.
fn line(leftover: &Leftover) -> String {
    let pool = match leftover.kind {
        LeftoverKind::Running => "",
        LeftoverKind::WarmPool => "warm pool of ",
    };
    let (job, run) = (&leftover.training_job, printable(&leftover.run));
    let within = leftover.repository.as_ref();
    let within = within.map_or(String::new(), |name| format!(" in {}", printable(name)));
    let expires = (leftover.expires).map_or(String::new(), |time| format!(", expires {time:.0}"));
    let detached = leftover.is_detached.then_some(", detached");
    let detached = detached.unwrap_or_default();
    format!("{pool}{job}  of run {run}{within}{expires}{detached}\n")
}
