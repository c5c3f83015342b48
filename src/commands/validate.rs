//! `validate`: the problems and the doubtful parts of the spec; spends nothing.

use std::fmt::Write;

use crate::backend::sagemaker::{self, RunTags};
use crate::backend::{Backend, BackendError};
use crate::cli::ValidateArguments;
use crate::console::{AppError, Loudness, print, printable, say, warn};
use crate::gate::backend::{self, AnyBackend};
use crate::instance::tables;
use crate::plan::{self, Alternatives};
use crate::spec::NotYetEffect;
use crate::workspace::base_policy;
use crate::workspace::idle_globs::warn_of_idle_globs;
use crate::workspace::project::Project;

pub(crate) async fn validate(arguments: &ValidateArguments) -> Result<u8, AppError> {
    let project = Project::load(&arguments.spec)?;
    let spec = &project.spec;
    project.warn(Loudness::Normal);
    for item in &spec.not_yet {
        let effect = match item.effect {
            NotYetEffect::Refuse => "`plan` and `run` end with 2",
            NotYetEffect::Ignore => "it has no effect",
        };
        warn(&item.field, &format!("not yet: {}; {effect}", item.what));
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
    if project.traits().is_remote {
        // Checks local files only; no service is called.
        let place = backend::place(project)?;
        for job in &project.spec.jobs {
            if let Err(error) = sagemaker::check_source(&place, job) {
                say(&format!("warning: {}", printable(&error.what)));
            }
        }
        return Ok(());
    }
    let backend = match AnyBackend::of(project, &[], RunTags::of_nobody()).await {
        Ok(backend) => backend,
        Err(error) => {
            say(&format!("warning: {}", error.in_a_line()));
            return Ok(());
        }
    };
    for job in &project.spec.jobs {
        let field = format!("jobs.{}", job.name);
        // The backend's error names the field.
        let warn_of = |error: &BackendError| say(&format!("warning: {}", printable(&error.what)));
        if let Err(error) = backend.check_source(job) {
            warn_of(&error);
        }
        match backend.list(job).await {
            Err(error) => warn_of(&error),
            Ok(dataset) => {
                let offer_of = |instance: &_| project.offer(instance, &tables::capacity);
                match plan::plan(job, &dataset, &offer_of, Alternatives::Skip) {
                    Ok(mut plan) => {
                        if let Err(error) = backend.check_supply(job, &mut plan) {
                            warn_of(&error);
                        }
                    }
                    Err(error) => warn(&field, &error.to_string()),
                }
            }
        }
    }
    Ok(())
}
