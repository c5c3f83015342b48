//! `validate`: the problems and the doubtful parts of the spec; spends nothing.

use std::fmt::Write;

use crate::backend::sagemaker::RunTags;
use crate::backend::{Backend, BackendError};
use crate::canary::Dataset;
use crate::cli::ValidateArguments;
use crate::commands::check::{data, missing_script};
use crate::console::{AppError, Loudness, print_prose, printable, say, warn};
use crate::gate::backend;
use crate::instance::tables;
use crate::plan::{self, Alternatives};
use crate::spec::Job;
use crate::workspace::base_policy;
use crate::workspace::idle_globs::warn_of_idle_globs;
use crate::workspace::project::Project;

pub(crate) async fn validate(arguments: &ValidateArguments) -> Result<u8, AppError> {
    let project = Project::load(&arguments.spec)?;
    let spec = &project.spec;
    project.warn(Loudness::Normal);
    for item in &spec.not_yet {
        let said = format!("not yet: {}; `plan` and `run` end with 2", item.what);
        warn(&item.field, &said);
    }
    base_policy::warn_of_expired(spec);
    warn_of_idle_globs(&project)?;
    let missing = warn_of_unplannable_jobs(&project).await?;
    let mut text = String::new();
    let jobs: Vec<&str> = spec.jobs.iter().map(|job| job.name.as_str()).collect();
    let (state, end) = match missing {
        0 => ("the spec is valid", String::new()),
        1 => (
            "the spec has no errors",
            "; 1 thing is missing on this machine".to_owned(),
        ),
        missing => (
            "the spec has no errors",
            format!("; {missing} things are missing on this machine"),
        ),
    };
    let _ = writeln!(
        text,
        "{state}: {} ({}), backend {}{end}",
        match jobs.len() {
            1 => "1 job".to_owned(),
            count => format!("{count} jobs"),
        },
        printable(&jobs.join(", ")),
        spec.backend,
    );
    print_prose(&text)?;
    Ok(0)
}

/// Warns about what `run` would refuse: missing data or source, a worst case above the spend limit. Returns how much is missing,
/// which never fails: a spec is checked also where its data are not.
async fn warn_of_unplannable_jobs(project: &Project) -> Result<usize, AppError> {
    let check_source = backend::source_check(project)?;
    let mut missing = 0;
    for job in &project.spec.jobs {
        if check_source(job).is_ok()
            && let Some(why) = missing_script(project, job)?
        {
            warn(&format!("jobs.{}.training", job.name), &why);
            missing += 1;
        }
    }
    // The backend's error names the field.
    let mut warn_of = |error: &BackendError| {
        say(&format!("warning: {}", printable(&error.what)));
        missing += 1;
    };
    if project.traits().is_remote {
        // Checks local files only; no service is called.
        for job in &project.spec.jobs {
            check_source(job).unwrap_or_else(|error| warn_of(&error));
        }
        return Ok(missing);
    }
    let backend = match backend::backend_of(project, &[], RunTags::of_nobody()).await {
        Ok(backend) => backend,
        Err(error) => {
            say(&format!("warning: {}", error.in_a_line()));
            return Ok(missing + 1);
        }
    };
    for job in &project.spec.jobs {
        check_source(job).unwrap_or_else(|error| warn_of(&error));
        match data::list(&*backend, job).await {
            Ok(listed) => {
                if let Err(error) = try_to_plan(&*backend, project, job, &listed.dataset).await {
                    warn_of(&error);
                }
            }
            Err(errors) => errors.iter().for_each(&mut warn_of),
        }
    }
    Ok(missing)
}

/// Plans a job as `plan` does; fails where the backend has too few runs for it.
async fn try_to_plan(
    backend: &dyn Backend,
    project: &Project,
    job: &Job,
    dataset: &Dataset,
) -> Result<(), BackendError> {
    let offer_of = |instance: &_| project.offer(instance, &tables::capacity);
    match plan::plan(job, dataset, &offer_of, Alternatives::Skip) {
        Ok(mut plan) => backend::check_supply(&*backend.open(job).await?, &mut plan)?,
        Err(error) => warn(&format!("jobs.{}", job.name), &error.to_string()),
    }
    Ok(())
}
