//! `validate`: the problems and the doubtful parts of the spec; spends nothing.

use std::fmt::Write;

use crate::backend::sagemaker::RunTags;
use crate::backend::{Backend, BackendError};
use crate::cli::ValidateArguments;
use crate::console::{AppError, Loudness, print, printable, say, warn};
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
    warn_of_unplannable_jobs(&project).await?;
    let mut text = String::new();
    let jobs: Vec<&str> = spec.jobs.iter().map(|job| job.name.as_str()).collect();
    let _ = writeln!(
        text,
        "the spec is valid: {} ({}), backend {}",
        match jobs.len() {
            1 => "1 job".to_owned(),
            count => format!("{count} jobs"),
        },
        printable(&jobs.join(", ")),
        spec.backend,
    );
    print(&text)?;
    Ok(0)
}

/// Warns about what `run` would refuse: missing data or source, a worst case above the spend limit.
async fn warn_of_unplannable_jobs(project: &Project) -> Result<(), AppError> {
    let check_source = backend::source_check(project)?;
    // The backend's error names the field.
    let warn_of = |error: &BackendError| say(&format!("warning: {}", printable(&error.what)));
    if project.traits().is_remote {
        // Checks local files only; no service is called.
        for job in &project.spec.jobs {
            check_source(job).unwrap_or_else(|error| warn_of(&error));
        }
        return Ok(());
    }
    let backend = match backend::backend_of(project, &[], RunTags::of_nobody()).await {
        Ok(backend) => backend,
        Err(error) => {
            say(&format!("warning: {}", error.in_a_line()));
            return Ok(());
        }
    };
    for job in &project.spec.jobs {
        check_source(job).unwrap_or_else(|error| warn_of(&error));
        if let Err(error) = try_to_plan(&*backend, project, job).await {
            warn_of(&error);
        }
    }
    Ok(())
}

/// Lists and plans a job as `plan` does; fails where the backend cannot.
async fn try_to_plan(
    backend: &dyn Backend,
    project: &Project,
    job: &Job,
) -> Result<(), BackendError> {
    let mut session = backend.open(job).await?;
    let dataset = session.list().await?.dataset;
    let offer_of = |instance: &_| project.offer(instance, &tables::capacity);
    match plan::plan(job, &dataset, &offer_of, Alternatives::Skip) {
        Ok(mut plan) => backend::check_supply(&*session, &mut plan)?,
        Err(error) => warn(&format!("jobs.{}", job.name), &error.to_string()),
    }
    Ok(())
}
