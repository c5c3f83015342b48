//! `validate`: the problems and the doubtful parts of the spec; spends nothing.

use crate::backend::sagemaker::RunTags;
use crate::cli::SpecArguments;
use crate::commands::check;
use crate::console::{AppResult, Loudness, print_prose, printable, say, warn};
use crate::gate::backend;
use crate::grammar::count;
use crate::workspace::changed_files::warn_of_idle_globs;
use crate::workspace::{Project, base_policy};

pub(crate) async fn validate(arguments: &SpecArguments) -> AppResult<u8> {
    let project = Project::load(arguments).await?;
    let spec = &project.spec;
    project.warn(Loudness::Normal);
    base_policy::warn_of_expired(spec);
    warn_of_idle_globs(&project)?;
    let missing = warn_of_missing(&project).await?;
    let jobs: Vec<&str> = spec.jobs.iter().map(|job| job.name.as_str()).collect();
    let (state, end) = match missing {
        0 => ("the spec is valid", String::new()),
        _ => (
            "the spec has no errors",
            format!("; {}", check::missing_here(missing)),
        ),
    };
    print_prose(&format!(
        "{state}: {} ({}), backend {}{end}\n",
        count(jobs.len(), "job"),
        printable(&jobs.join(", ")),
        project.backend_words(),
    ))?;
    Ok(0)
}

/// Warns about what `check` finds missing without calling a service, and counts it. It never fails: a spec is validated also where
/// its data are not.
async fn warn_of_missing(project: &Project) -> AppResult<usize> {
    let mut missing = 0;
    let mut backend = None;
    if !project.traits().is_remote {
        match backend::backend_of(project, &[], RunTags::default()).await {
            Ok(opened) => backend = Some(opened),
            Err(error) => {
                say(&format!("warning: {}", error.in_a_line()));
                missing += 1;
            }
        }
    }
    for job in &project.spec.jobs {
        for thing in check::findings(project, job, backend.as_deref()).await? {
            let Some(why) = thing.why_missing() else {
                continue;
            };
            missing += 1;
            // Many an error names the field.
            match why.split_once(": ") {
                Some((field, why)) if !field.contains(' ') => warn(field, why),
                _ => warn(&format!("jobs.{}.training", job.name), why),
            }
        }
    }
    Ok(missing)
}
