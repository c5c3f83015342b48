//! The change that the flags name: git references, a list of files, or everything.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::change::{AffectedJob, Change, affected_jobs};
use crate::cli::ChangeArguments;
use crate::code::{PathGlobs, PathKind, TreeFile, without_dots};
use crate::console::{AppError, AppResult, StepResult, files, printable, say, warn};
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
    if let Some(file) = &arguments.changed_files {
        let list = format!("the list of changed files {}", file.display());
        let text = if file.as_os_str() == "-" {
            files::text_up_to(std::io::stdin(), files::LARGEST_TEXT)
        } else {
            files::read_text(file)
        };
        let text = text.or_fail(|| {
            AppError::usage(format!("{list} cannot be read"))
                .help("it is a text file with one path a line, relative to the checkout root")
        })?;
        let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
        let paths = lines.filter(|line| !line.is_empty()).map(listed_path);
        let paths: Vec<PathBuf> = paths.collect::<AppResult<_>>()?;
        if paths.is_empty() {
            say("warning: the list of changed files is empty, so no job is affected");
        }
        if let Some(odd) = paths.iter().find(|path| path.is_absolute()) {
            say(&format!(
                "warning: `{}` is not relative to the checkout root, and concerns no job",
                printable(&odd.to_string_lossy())
            ));
        }
        refuse_unknown(&paths, arguments, project)?;
        return Ok(Change::Paths {
            paths,
            between: format!("the list {}", file.display()),
        });
    }
    let Some(checkout) = project.checkout.as_ref().and_then(Checkout::git) else {
        if arguments.base.is_some() || arguments.head.is_some() {
            let message = "`--base` and `--head` need a git checkout, and git knows none here";
            let help = "name the changes with `--changed-files FILE` or `--all`";
            return Err(AppError::usage(message).help(help));
        }
        return everything("there is no git checkout here");
    };
    let base = arguments.base.clone().or_else(|| checkout.default_base());
    let Some(base) = base else {
        if let Some(head) = &arguments.head {
            let message = format!("there is no origin to compare `{head}` with");
            return Err(AppError::usage(message).help("name what to compare with: `--base REF`"));
        }
        return everything("there is no origin to compare with; `--base REF` names one");
    };
    let head = arguments.head.as_deref();
    Ok(Change::Paths {
        paths: project.changed_since(checkout, &base, head)?,
        between: format!("{base} to {}", head.unwrap_or("the work tree")),
    })
}

/// A line of the list as a path. Git quotes a name with bytes other than those of plain text, unless `-c core.quotePath=false`; statuses
/// and sums are of other lists.
fn listed_path(line: &str) -> AppResult<PathBuf> {
    let is_quoted = line.starts_with('"') || line.starts_with("[\"");
    if is_quoted || line.contains('\t') || line.contains(" | ") {
        return Err(not_a_path(line));
    }
    Ok(without_dots(&PathBuf::from(line)))
}

fn not_a_path(line: &str) -> AppError {
    let line = printable(line);
    let what = format!("`{line}` is not a path of the checkout, here or on the base");
    AppError::usage(what).help("list one path a line, unquoted and relative to the checkout root, as `git -c core.quotePath=false diff --name-only --no-renames` does")
}

/// Refuses a list of which no path is known here, on the base or to the last commit, such as one from another folder than the root: it
/// would concern no job.
fn refuse_unknown(
    paths: &[PathBuf],
    arguments: &ChangeArguments,
    project: &Project,
) -> AppResult<()> {
    let git = project.checkout.as_ref().and_then(Checkout::git);
    // Without its parent a commit's removals are not known.
    let Some((git, Ok(parent))) = git.map(|git| (git, git.resolve("HEAD~1"))) else {
        return Ok(());
    };
    let base = arguments.base.clone().or_else(|| git.default_base());
    let base = base.and_then(|base| git.merge_base(&base, "HEAD").ok());
    let commits = [Some(parent), base].into_iter().flatten();
    let trees = Vec::from_iter(commits.flat_map(|commit| git.tree(&commit)));
    let is_here = |path: &PathBuf| project.root.join(path).symlink_metadata().is_ok();
    let was_there = |path: &PathBuf| trees.iter().any(|tree| tree.get(path).is_some());
    let is_known = |path: &PathBuf| is_here(path) || was_there(path);
    match paths.first().filter(|_| !paths.iter().any(is_known)) {
        Some(path) => Err(not_a_path(&path.to_string_lossy())),
        None => Ok(()),
    }
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

/// Refuses a `--head` that is not checked out, or of which a file that counts lies otherwise on disk: canaries run the checkout.
pub(crate) fn refuse_another_head(arguments: &ChangeArguments, project: &Project) -> AppResult<()> {
    let checkout = project.checkout.as_ref().and_then(Checkout::git);
    let (Some(head), Some(checkout)) = (&arguments.head, checkout) else {
        return Ok(());
    };
    if Some(checkout.resolve(head)?) == checkout.commit() {
        let tree = checkout.tree(head)?;
        let code = &project.code()?.of_jobs;
        // What the commit does not have was made since, as by a build.
        let counts = |path: &PathBuf| {
            let is_there = tree.get(&path.components().collect::<PathBuf>()).is_some();
            let is_spec = path.as_os_str() == &*project.place.file;
            is_there && (is_spec || code.values().any(|code| code.is_changed_by(path)))
        };
        let other = project.differing_on_disk(checkout, &tree)?;
        return match other.into_iter().find(counts) {
            None => Ok(()),
            Some(path) => Err(AppError::usage(format!(
                "`{}` is not on disk as `--head {head}` has it, and canaries run what is on disk",
                printable(&path.to_string_lossy())
            ))
            .help("commit or restore it (`git status` lists what differs), or leave out `--head` to check the work tree")),
        };
    }
    let message =
        format!("`--head {head}` is not what is checked out here, and canaries run what is");
    Err(AppError::usage(message).help(format!("check it out first: git checkout {head}")))
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
