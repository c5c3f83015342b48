//! The change that the flags name: since a git reference, or everything.

use std::collections::BTreeMap;
use std::path::Path;

use crate::change::{AffectedJob, Change, affected_jobs};
use crate::cli::ChangeArguments;
use crate::code::{PathGlobs, PathKind, TreeFile};
use crate::console::{AppError, AppResult, files, printable, warn};
use crate::grammar::{count, only_where};
use crate::spec::Job;
use crate::workspace::{Checkout, Project};

/// The change that the flags name; by default the work tree since its merge base with origin's HEAD.
pub(crate) fn change(arguments: &ChangeArguments, project: &Project) -> AppResult<Change> {
    let everything = |why: &str| {
        Ok(Change::Everything {
            why: why.to_owned(),
        })
    };
    if arguments.all {
        return everything("--all");
    }
    let Some(checkout) = project.checkout.as_ref().and_then(Checkout::git) else {
        return everything("there is no git checkout here");
    };
    let base = arguments.base.clone().or_else(|| checkout.default_base());
    let Some(base) = base else {
        return everything("there is no origin to compare with; `--base REF` names one");
    };
    Ok(Change::Paths {
        paths: project.changed_since(checkout, &base)?,
        between: format!("{base} to the work tree"),
    })
}

/// The affected jobs, limited to `names` unless that is empty.
pub(crate) fn select_jobs<'a>(
    names: &[String],
    project: &'a Project,
    change: &Change,
) -> AppResult<Vec<AffectedJob<'a>>> {
    let named = named_jobs(names, project)?;
    let base = project.policy.base.as_ref();
    let none = BTreeMap::new();
    let code = match change {
        Change::Everything { .. } => &none,
        Change::Paths { .. } => &*project.code()?.of_jobs,
    };
    let mut jobs = affected_jobs(&project.spec, &project.place, base, change, code);
    jobs.retain(|affected| named.iter().any(|job| job.name == affected.job.name));
    Ok(jobs)
}

/// The jobs of these names, in the order of the spec; all if none is named.
///
/// # Errors
///
/// A name is not a job of the spec.
pub(crate) fn named_jobs<'a>(names: &[String], project: &'a Project) -> AppResult<Vec<&'a Job>> {
    let jobs = &project.spec.jobs;
    if let Some(name) = names.iter().find(|name| project.spec.job(name).is_none()) {
        let known: Vec<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        return Err(
            AppError::usage(format!("the spec has no job `{}`", printable(name)))
                .help(format!("its jobs are {}", known.join(", "))),
        );
    }
    let is_meant = |job: &&Job| names.is_empty() || names.contains(&job.name);
    Ok(jobs.iter().filter(is_meant).collect())
}

/// Why every job counts as changed, if `--all` did not ask for it.
pub(crate) fn note(change: &Change, arguments: &ChangeArguments) -> Option<String> {
    match change {
        Change::Everything { why } if !arguments.all => {
            Some(format!("every job counts as changed: {why}"))
        }
        _ => None,
    }
}

/// The report's note that no job is affected.
pub(crate) fn nothing_affected(change: &Change, names: &[String]) -> String {
    let among = only_where(!names.is_empty(), || format!(" among {}", names.join(", ")));
    match change {
        Change::Everything { .. } => format!("no job{among} to look at"),
        Change::Paths { paths, between } if paths.is_empty() => {
            format!("no job{among} is affected: nothing changed from {between}")
        }
        Change::Paths { paths, between } => format!(
            "no job{among} is affected: {} changed from {between}, and none concerns a job",
            count(paths.len(), "file")
        ),
    }
}

/// Warns about a script that names the spec's file: no canary has it, and a script that can do without takes something else.
fn warn_of_read_spec(project: &Project, job: &Job) {
    let Some(script) = job.training.script() else {
        return;
    };
    let folder = project.place_of(job.training.source_dir.as_deref().unwrap_or("."));
    let spec = Path::new(&project.place.file).file_name();
    let spec = spec.unwrap_or_default().to_string_lossy();
    // A script that is not there is said elsewhere.
    if files::read_text(&folder.join(script)).is_ok_and(|text| text.contains(&*spec)) {
        warn(
            &format!("jobs.{}.training", job.name),
            &format!(
                "`{script}` names {spec}, which no canary has: hand it the values as hyperparameters"
            ),
        );
    }
}

/// Warns about globs that match no file, which are mostly typing errors, and about scripts that read the spec.
pub(crate) fn warn_of_idle_globs(project: &Project) -> AppResult<()> {
    if project.checkout.is_none() {
        return Ok(());
    }
    let files = project.files()?.files();
    for job in &project.spec.jobs {
        warn_of_read_spec(project, job);
        for (index, pattern) in job.paths.iter().enumerate() {
            // An exclusion may be meant for files to come.
            if pattern.starts_with('!') {
                continue;
            }
            let globs = PathGlobs::new(std::slice::from_ref(pattern), &project.place.folder);
            let is_meant = |file: &TreeFile| match file.kind {
                PathKind::File | PathKind::Executable => globs.matches(&file.path),
                PathKind::Link | PathKind::Submodule => globs.may_match_in(&file.path),
            };
            if !files.iter().any(is_meant) {
                warn(
                    &format!("jobs.{}.paths[{index}]", job.name),
                    &format!("`{pattern}` matches no file that git knows"),
                );
            }
        }
    }
    Ok(())
}
