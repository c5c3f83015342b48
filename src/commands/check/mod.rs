//! `check`: whether this machine has what the spec asks for; with `--try` also whether one smallest canary of one job runs.

mod checked_thing;
pub(in crate::commands) mod data;
mod program;
mod trial;

use self::checked_thing::CheckedThing;
use crate::backend::sagemaker::RunTags;
use crate::backend::{Backend, ListedData};
use crate::cli::CheckArguments;
use crate::console::{AppError, Loudness, print_prose, printable, say};
use crate::exit;
use crate::gate::backend;
use crate::grammar::count;
use crate::instance::tables;
use crate::plan::{self, Alternatives};
use crate::spec::Job;
use crate::workspace::idle_globs::warn_of_idle_globs;
use crate::workspace::project::Project;

pub(crate) async fn check(arguments: &CheckArguments, loudness: Loudness) -> Result<u8, AppError> {
    let mut project = Project::load(&arguments.spec)?;
    project.open_folders(&arguments.data)?;
    let jobs = chosen(&project, &arguments.jobs)?;
    project.warn(loudness);
    warn_of_idle_globs(&project)?;
    project.refuse_not_yet(&jobs)?;
    let mut text = format!(
        "✓ the spec has no errors: {}, backend {}\n",
        count(project.spec.jobs.len(), "job"),
        project.spec.backend
    );
    let mut missing = 0;
    let backend = backend::backend_of(&project, &[], RunTags::of_nobody()).await;
    let mut of_backend = None;
    let backend = match backend {
        Ok(backend) => Some(backend),
        Err(error) => {
            of_backend = Some(CheckedThing::refused("backend", error));
            None
        }
    };
    if let Some(finding) = &of_backend {
        missing += usize::from(finding.is_missing());
        text.push_str(&finding.lines());
    }
    for job in &jobs {
        text.push_str(&format!("\n{}\n", job.name));
        for finding in findings(&project, job, backend.as_deref()).await? {
            missing += usize::from(finding.is_missing());
            text.push_str(&finding.lines());
        }
    }
    text.push_str(&match missing {
        0 => "\neverything that could be looked at is there\n".to_owned(),
        1 => "\n1 thing is missing on this machine\n".to_owned(),
        missing => format!("\n{missing} things are missing on this machine\n"),
    });
    if missing > 0 {
        let said = "something that the spec asks for is missing";
        text.push_str(&format!("\nexit {}: {said}\n", exit::TOOL_FAILED));
    }
    print_prose(&text)?;
    if missing > 0 {
        if arguments.canary {
            say("no canary is tried while something is missing");
        }
        return Ok(exit::TOOL_FAILED);
    }
    match (arguments.canary, jobs.first()) {
        (true, Some(job)) => trial::try_one(&project, job, arguments, loudness).await,
        _ => Ok(0),
    }
}

/// Why a job's script is not there for canaries; `None` where it is, and where the job names none.
pub(in crate::commands) fn missing_script(
    project: &Project,
    job: &Job,
) -> Result<Option<String>, AppError> {
    if project.traits().replays {
        return Ok(None);
    }
    let script = program::script(project, job)?;
    Ok(script.and_then(|script| script.why_missing().map(str::to_owned)))
}

/// The jobs of these names; all if none is named.
fn chosen<'a>(project: &'a Project, names: &[String]) -> Result<Vec<&'a Job>, AppError> {
    if names.is_empty() {
        return Ok(project.spec.jobs.iter().collect());
    }
    let job = |name: &String| {
        project.spec.job(name).ok_or_else(|| {
            let known: Vec<&str> = project
                .spec
                .jobs
                .iter()
                .map(|job| job.name.as_str())
                .collect();
            AppError::usage(format!("the spec has no job `{}`", printable(name)))
                .help(format!("its jobs are {}", known.join(", ")))
        })
    };
    names.iter().map(job).collect()
}

/// All of one job: its source, its program, its data, its machines and its plan.
async fn findings(
    project: &Project,
    job: &Job,
    backend: Option<&dyn Backend>,
) -> Result<Vec<CheckedThing>, AppError> {
    let mut all = Vec::new();
    let source = backend::source_check(project)?(job);
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
        all.extend(program::programs(project, job));
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
                (false, _) => CheckedThing::refused("caches", error),
            });
            return Ok(all);
        }
    };
    if project.traits().is_remote {
        all.push(CheckedThing::ready(
            "access",
            "signed in, and the job's buckets can be listed",
        ));
        all.push(match session.machines().await {
            Ok(Some(said)) => CheckedThing::ready("quota", said),
            Ok(None) => CheckedThing::not_looked_at("quota", "it could not be read"),
            Err(error) => CheckedThing::refused("quota", error),
        });
        for right in session.rights().await {
            all.push(match right.denied {
                None => CheckedThing::ready(right.name, format!("may {}", right.for_what)),
                Some(error) => CheckedThing::refused(right.name, error),
            });
        }
        all.push(CheckedThing::not_looked_at(
            "role",
            "AWS looks at it when a job starts: `check --try` starts one",
        ));
    }
    match data::list(backend, job).await {
        Ok(listed) => {
            all.extend(data::findings(&listed));
            all.push(planned(project, job, &listed));
        }
        Err(errors) => all.extend(
            errors
                .into_iter()
                .map(|error| CheckedThing::refused("data", error)),
        ),
    }
    Ok(all)
}

/// Whether the data give the canaries that a forecast needs, and what these cost at most.
fn planned(project: &Project, job: &Job, listed: &ListedData) -> CheckedThing {
    let offer = |instance: &_| project.offer(instance, &tables::capacity);
    if project.traits().needs_price
        && let Some(unpriced) = offer(&job.instance).unpriced()
    {
        return CheckedThing::missing(
            "price",
            format!("no price is known for {unpriced}, so no canary is launched"),
            "write one under `prices`",
        );
    }
    match plan::plan(job, &listed.dataset, &offer, Alternatives::Skip) {
        Ok(plan) => {
            let price = match plan.total_worst_case() {
                Some(worst) => format!("they cost at most {worst}"),
                None => "without a price they cost nothing".to_owned(),
            };
            CheckedThing::ready(
                "plan",
                format!("there are data for canaries of several sizes; {price}"),
            )
        }
        Err(error) => CheckedThing::refused("plan", error),
    }
}
