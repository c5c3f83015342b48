//! `check`: whether this machine has what the spec asks for; with `--try` also whether one smallest canary of one job runs.

mod checked_thing;
mod program;
mod trial;

use self::checked_thing::CheckedThing;
use crate::backend::{Backend, ListedData, RunTags, Session};
use crate::canary::ChannelData;
use crate::cli::CheckArguments;
use crate::console::{AppResult, Loudness, print_prose, say};
use crate::exit;
use crate::gate::backend;
use crate::grammar::{count, only_where};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::plan::{self, Alternatives, KnownBefore};
use crate::spec::Job;
use crate::units::Bytes;
use crate::workspace::Project;
use crate::workspace::changed_files::{named_jobs, warn_of_idle_globs};

pub(crate) async fn check(arguments: &CheckArguments, loudness: Loudness) -> AppResult<u8> {
    let mut project = Project::load(&arguments.spec).await?;
    project.open_folders(&arguments.data)?;
    let jobs = named_jobs(&arguments.jobs, &project)?;
    project.warn(loudness);
    warn_of_idle_globs(&project)?;
    let mut text = format!(
        "✓ the spec has no errors: {}, backend {}\n",
        count(project.spec.jobs.len(), "job"),
        project.backend_words()
    );
    let mut missing = 0;
    let backend = match backend::backend_of(&project, &[], RunTags::default()).await {
        Ok(backend) => Some(backend),
        Err(error) => {
            missing += 1;
            text.push_str(&CheckedThing::refused("backend", error).lines());
            None
        }
    };
    for job in &jobs {
        text.push_str(&format!("\n{}\n", job.name));
        for finding in findings(&project, job, backend.as_deref()).await? {
            missing += usize::from(finding.why_missing().is_some());
            text.push_str(&finding.lines());
        }
    }
    if missing > 0 {
        let (missing, code) = (missing_here(missing), exit::TOOL_FAILED);
        let said = "something that the spec asks for is missing";
        print_prose(&format!("{text}\n{missing}\n\nexit {code}: {said}\n"))?;
        if arguments.canary {
            say("no canary is tried while something is missing");
        }
        return Ok(code);
    }
    print_prose(&format!(
        "{text}\neverything that could be looked at is there\n"
    ))?;
    match (arguments.canary, jobs.first()) {
        (true, Some(job)) => trial::try_one(&project, job, arguments, loudness).await,
        _ => Ok(0),
    }
}

/// `2 things are missing on this machine`
pub(super) fn missing_here(things: usize) -> String {
    let are = if things == 1 { "is" } else { "are" };
    format!("{} {are} missing on this machine", count(things, "thing"))
}

/// All of one job: its source, its program, its data, its machines and its plan.
pub(super) async fn findings(
    project: &Project,
    job: &Job,
    backend: Option<&dyn Backend>,
) -> AppResult<Vec<CheckedThing>> {
    let mut all = Vec::new();
    let source = backend::check_source(project, job)?;
    let is_source_missing = source.is_err();
    if !project.traits().replays {
        let folder = job.training.source_dir.as_deref();
        match source {
            Err(error) => all.push(CheckedThing::refused("source", error)),
            Ok(()) => {
                all.extend(folder.map(|folder| CheckedThing::ready("source", folder)));
                all.extend(program::script(project, job)?);
            }
        }
    }
    if project.traits().runs_here {
        all.extend(program::programs(project, job)?);
    }
    let Some(backend) = backend else {
        return Ok(all);
    };
    // What is signed in, and whether the buckets are there, comes first.
    let mut session = match backend::open(backend, project, job).await {
        Ok(session) => session,
        Err(error) => {
            all.push(match (project.traits().is_remote, is_source_missing) {
                // Its error is that of the source, which was said.
                (true, true) => {
                    CheckedThing::not_looked_at("access", "the source has to be there first")
                }
                (true, false) => CheckedThing::refused("access", error),
                (false, _) => CheckedThing::refused("folders", error),
            });
            return Ok(all);
        }
    };
    if project.traits().is_remote {
        all.push(CheckedThing::ready(
            "access",
            "signed in, and the job's buckets can be listed",
        ));
        let answers = session.account().await.into_iter();
        all.extend(answers.map(CheckedThing::from));
        all.push(CheckedThing::not_looked_at(
            "role",
            "AWS looks at it when a job starts: `check --try` starts one",
        ));
    }
    match list(backend, job).await {
        Ok(listed) => {
            let channels = listed.dataset.channels.iter();
            all.extend(channels.map(|channel| listed_channel(channel, listed.knows_bytes)));
            all.push(planned(project, job, &listed, &*session));
        }
        Err(errors) => {
            let errors = errors.into_iter();
            all.extend(errors.map(|error| CheckedThing::refused("data", error)));
        }
    }
    Ok(all)
}

/// Lists all channels. Of several that cannot be listed each is looked at by itself, so that all errors are said at once.
async fn list(backend: &dyn Backend, job: &Job) -> Result<ListedData, Vec<OutsideError>> {
    let whole = match listed(backend, job).await {
        Ok(data) => return Ok(data),
        Err(error) => error,
    };
    let mut errors = Vec::new();
    if job.training.channels.len() > 1 {
        for channel in &job.training.channels {
            let mut alone = job.clone();
            alone.training.channels = vec![channel.clone()];
            errors.extend(listed(backend, &alone).await.err());
        }
        // One cause, such as credentials, is said once.
        errors.dedup_by(|a, b| a.what == b.what);
    }
    match errors.is_empty() {
        true => Err(vec![whole]),
        false => Err(errors),
    }
}

async fn listed(backend: &dyn Backend, job: &Job) -> OutsideResult<ListedData> {
    backend.open(job).await?.list().await
}

/// What a channel holds.
fn listed_channel(channel: &ChannelData, knows_bytes: bool) -> CheckedThing {
    let size: Bytes = channel.objects.sizes().sum();
    let size = only_where(knows_bytes, || format!(", {size}"));
    let drawn = match (&channel.rows, channel.sampled) {
        (Some(_), _) => "canaries get some of the rows",
        (None, true) => "canaries get a sample",
        (None, false) => "whole in every canary",
    };
    let said = match channel.objects.len() {
        0 => "whole in every canary, and not listed".to_owned(),
        number => format!("{}{size}; {drawn}", count(number, "object")),
    };
    CheckedThing::ready(&format!("data {}", channel.name), said)
}

/// Whether the data give the canaries that a forecast needs, and what these cost at most.
fn planned(
    project: &Project,
    job: &Job,
    listed: &ListedData,
    session: &dyn Session<'_>,
) -> CheckedThing {
    let offer = |instance: &_| project.canary_offer(job, instance, false);
    let (alone, known) = (Alternatives::Skip, KnownBefore::default());
    match plan::plan(job, &listed.dataset, &offer, alone, known) {
        Ok(mut plan) => {
            if let Err(error) = backend::check_prices(project, job, &mut plan) {
                return CheckedThing::refused("price", error);
            }
            if let Err(error) = backend::check_supply(session, &mut plan) {
                return CheckedThing::refused("plan", error);
            }
            let price = match (plan.total_worst_case(), plan.own().worst_case) {
                (Some(worst), _) => format!("they cost at most {worst}"),
                (None, Some(worst)) => {
                    format!("they take at most {}", plan.own().offer.counted(worst))
                }
                (None, None) => "without a price they cost nothing".to_owned(),
            };
            let said = format!("there are data for canaries of several sizes; {price}");
            CheckedThing::ready("plan", said)
        }
        Err(error) => CheckedThing::refused("plan", error),
    }
}
