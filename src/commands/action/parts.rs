//! `report-from`: parts of a report from other jobs of the workflow, judged again by this job's policy.
//!
//! Any step may have written a part, so its measurements count and its verdicts do not.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use crate::assess::input::{BaseResult, JobInput};
use crate::assess::{judge, whole_report};
use crate::backend::BackendKeys;
use crate::change::AffectedJob;
use crate::code::PathGlobs;
use crate::commands::run::RunRequest;
use crate::console::{AppError, AppResult, StepResult};
use crate::exit;
use crate::forecast::scale_out::DataLayout;
use crate::gate::{RunHistory, changes_data, outcome};
use crate::instance::InstanceConfiguration;
use crate::measurement::Measurement;
use crate::report::{self, JobReport, Report};
use crate::spec::Job;
use crate::verdict::{Reason, Verdict};
use crate::workspace::{Checkout, Project, recorded};

/// Entries of folders that a search looks at.
const MOST_ENTRIES: usize = 100_000;
/// The most parts of a report, which are all kept in memory.
const MOST_PARTS: usize = 1000;

/// One report of all parts: every affected job is in it, judged by the project's budget.
pub(super) async fn report(
    request: &RunRequest<'_>,
    project: &Project,
    affected: &[AffectedJob<'_>],
    patterns: &[String],
) -> AppResult<Report> {
    let history = RunHistory::open(project, &request.origin, None).await?;
    let commit = project.checkout.as_ref().and_then(Checkout::commit);
    let mut parts = Vec::new();
    for file in find(patterns)? {
        refuse_tracked(project, &file)?;
        let mut part = recorded::report(&file).during("reading the parts")?;
        if part.commit.is_none() || part.commit != commit {
            let of = part.commit.as_deref().unwrap_or("that it does not name");
            let why = format!(
                "its part was measured on commit {of}, which is not the checked-out commit"
            );
            for job in &mut part.jobs {
                job.reason = Reason::new(&why).advising("check out the same commit in every leg");
                (job.measurements, job.forecasts, job.notes) = (Vec::new(), Vec::new(), Vec::new());
            }
            part.commit.clone_from(&commit);
        }
        parts.push(part);
    }
    let merged = report::merge(parts).or_fail(|| {
        AppError::usage("the parts cannot be merged")
            .help("each job belongs in one part; see what `report-from` matches")
            .during("merging the parts")
    })?;
    let mut jobs: Vec<JobReport> = Vec::new();
    for job in &project.spec.jobs {
        let concerned = affected.iter().find(|one| one.job.name == job.name);
        let by = concerned.map_or(&[][..], |affected| &affected.by);
        let unknown = |why, notes| whole_report::unknown_report(job, by, why, notes);
        let Some(part) = merged.jobs.iter().find(|part| part.name == job.name) else {
            // A leg that failed before it wrote its part must not turn the check green.
            let why = Reason::new("no part has it: its leg failed or was not started");
            let why = why.advising("see why in that leg's log, and run it again");
            jobs.extend(concerned.map(|_| unknown(&why, Vec::new())));
            continue;
        };
        let is_sound = |run: &&Measurement| run.job == job.name && run.has_sound_amounts();
        let measurements: Vec<_> = part.measurements.iter().filter(is_sound).cloned().collect();
        if measurements.is_empty() {
            jobs.push(unknown(&part.reason, part.notes.clone()));
            continue;
        }
        // The data are not listed here: whether they changed the leg has found.
        let keys = BackendKeys {
            code: project.code_key(job)?,
            ..BackendKeys::default()
        };
        let base = history.base(job, &keys, request.base.as_ref()).await;
        let mut base = base.during("looking for what to compare with")?;
        if let Some((base, affected)) = base.as_mut().zip(concerned) {
            let baseline = part.baseline.as_ref();
            base.has_other_data = baseline.is_some_and(|baseline| baseline.data_changed)
                && !changes_data(project, affected)?;
        }
        let base = base.as_ref();
        jobs.push(judged_again(project, job, by, part, &measurements, base));
    }
    let mut notes = request.notes.clone();
    let names = merged.jobs.iter().map(|part| &part.name);
    let unknown = names.filter(|name| project.spec.job(name).is_none());
    notes.extend(
        unknown.map(|name| format!("job {name} of a part is left out: the spec has no such job")),
    );
    notes.extend(merged.notes);
    let mut report = outcome::assemble(project, jobs, notes, request.strictness);
    report.failures = merged.failures;
    let troubles = report.failures.iter().map(|_| exit::TOOL_FAILED);
    report.exit_code = report::exit_code(&report.jobs, troubles, request.strictness);
    Ok(report)
}

/// A job's measurements under this project's budget.
fn judged_again(
    project: &Project,
    job: &Job,
    by: &[String],
    part: &JobReport,
    measurements: &[Measurement],
    base: Option<&BaseResult>,
) -> JobReport {
    let not_measured = |instance: &InstanceConfiguration| {
        let is_measured = part.measurements.iter().any(|run| run.is_on(instance));
        let mut rows = part.forecasts.iter();
        let row = rows.find(|row| row.instance.is_same_machines(instance));
        let why = row.and_then(|row| row.not_measured.clone());
        (!is_measured).then(|| why.unwrap_or_else(|| "no part measured it".to_owned()))
    };
    let mut report = judge::job_report(&JobInput {
        name: &job.name,
        instance: &job.instance,
        budget: &job.budget,
        affected_by: by,
        alternatives: (job.alternatives.iter())
            .map(|instance| (instance, not_measured(instance)))
            .collect(),
        measurements,
        job: Some(job),
        none_on_all: not_measured(&job.instance),
        worst_case: part.spend.worst_case_usd,
        offer_of: &|instance| project.offer_to(job, instance),
        layout: DataLayout::of(job, None),
        base,
        is_allowed: &project.spec.allowed(),
        lacks_probe: None,
        notes: part.notes.clone(),
    });
    // Without a written budget only the leg knows that its canaries could not be decided.
    if report.verdict == Verdict::NotJudged && part.verdict == Verdict::Unknown {
        report.verdict = Verdict::Unknown;
        report.reason = part.reason.clone();
    }
    report
}

/// Refuses a tracked part: a pull request could commit measurements of its choice.
fn refuse_tracked(project: &Project, file: &Path) -> AppResult<()> {
    let real = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    if !project.is_tracked(&real)? {
        return Ok(());
    }
    let what = format!("the part {} is a file of the repository", file.display());
    Err(AppError::usage(what)
        .help("parts are what other jobs of this workflow run wrote: download them into a folder that git does not track")
    .during("reading the parts"))
}

/// The files that the patterns match, sorted. Each pattern must match one.
fn find(patterns: &[String]) -> AppResult<BTreeSet<PathBuf>> {
    let refused = |what: String| {
        let help = "download the parts of this run into a folder of their own in the workspace before this step, and name it from there: `report-from: parts/*.json`";
        Err(AppError::usage(what).help(help).during("reading the parts"))
    };
    if patterns.is_empty() {
        return refused("`command: report` has no parts to report".to_owned());
    }
    let mut found = BTreeSet::new();
    for pattern in patterns {
        let pattern = pattern.trim_start_matches("./");
        if pattern.starts_with('/') {
            return refused(format!(
                "`report-from`: `{pattern}` is not relative to the workspace"
            ));
        }
        let globs = PathGlobs::new(&[pattern.to_owned()], "");
        let Some(matched) = files_below(&start_of(pattern), &globs) else {
            return refused(format!(
                "`report-from`: for `{pattern}` there are over {MOST_ENTRIES} files to look at"
            ));
        };
        if matched.is_empty() {
            return refused(format!("`report-from`: no file matches `{pattern}`"));
        }
        found.extend(matched);
    }
    if found.len() > MOST_PARTS {
        return refused(format!("`report-from`: there are over {MOST_PARTS} parts"));
    }
    Ok(found)
}

/// The deepest folder that all matches of a pattern lie in.
pub(super) fn start_of(pattern: &str) -> PathBuf {
    let literal = pattern.find(['*', '?', '[', '{']).unwrap_or(pattern.len());
    let folder = pattern[..literal].rsplit_once('/');
    PathBuf::from(folder.map_or("", |(folder, _)| folder))
}

/// Finds every plain file at or below a folder that the globs match. Returns `None` where there is too much to look at, since a part
/// that is not found may be the one that fails. No link is followed: a pull request can commit one.
fn files_below(start: &Path, globs: &PathGlobs) -> Option<Vec<PathBuf>> {
    let is_link = |folder: &Path| folder.is_symlink() || folder.ends_with("..");
    if start.ancestors().any(is_link) {
        return Some(Vec::new());
    }
    let walk = WalkDir::new(Path::new(".").join(start)).min_depth(1);
    let mut entries = walk.into_iter();
    // A folder that cannot be listed has no parts; the caller reports that nothing matches.
    let looked_at = entries.by_ref().take(MOST_ENTRIES).flatten();
    let files = looked_at.filter(|entry| entry.file_type().is_file());
    let paths = files.filter_map(|file| Some(file.path().strip_prefix(".").ok()?.to_owned()));
    let found = paths.filter(|path| globs.matches(path)).collect();
    entries.next().is_none().then_some(found)
}
