//! The files that a step writes for the runner and for later steps. A failure to write one is logged and changes no outcome.

use std::io;
use std::path::{Path, PathBuf};

use crate::console::{AppResult, files, say};
use crate::github::{Environment, outputs};
use crate::metric::Metric;
use crate::report::{self, Report, html};
use crate::units::{self, Usd};
use crate::workspace::{Project, STATE_FOLDER};

/// The report for later steps, in the gate's own folder.
const REPORT_FILE: &str = "report.json";
/// The same as a page, for a step that uploads it.
const PAGE_FILE: &str = "report.html";

/// Writes one of the runner's files, if it wants that.
fn write(file: Option<&PathBuf>, failed: &str, append: impl FnOnce(&Path) -> io::Result<()>) {
    if let Some(Err(error)) = file.map(|file| append(file)) {
        say(&format!("warning: {failed}: {error}"));
    }
}

/// Appends a text to the step summary.
pub(super) fn write_summary(environment: &Environment, text: &str) {
    let failed = "the step summary could not be written";
    write(environment.step_summary.as_ref(), failed, |file| {
        outputs::append_summary(file, text)
    });
}

/// Saves state for the post step.
pub(super) fn write_state(environment: &Environment, name: &str, value: &str) {
    let failed = "the state could not be written, so the post step cannot clean up";
    write(environment.state.as_ref(), failed, |file| {
        outputs::append_outputs(file, &[(name, value.to_owned())], rand::random())
    });
}

/// Writes the outputs of action.yml; `spent` is the cost of canaries that are not in the report, `json` and `page` are where it lies.
pub(super) fn write_outputs(
    environment: &Environment,
    (report, spent): (&Report, Option<Usd>),
    (json, page): (Option<String>, Option<String>),
    comment_url: Option<String>,
) {
    let verdict = report::csv::word(&report.verdict);
    // Of `instance` of the job with the worst verdict, the first of several.
    let worst = report.jobs.iter().min_by_key(|job| job.verdict);
    let cost = worst
        .and_then(|job| job.forecasts.first())
        .and_then(|forecast| forecast.estimates[Metric::Cost]);
    let mut of_jobs = report.jobs.iter().map(|job| &job.spend);
    let spent = units::sum(of_jobs.clone().map(|one| one.canary_usd).chain([spent]));
    let is_known = of_jobs.all(|one| one.canary_usd.is_some() || one.canary_seconds.0 <= 0.0);
    let spent = spent.filter(|_| is_known);
    let amount = |usd: f64| format!("{usd:.4}");
    let outputs = [
        ("verdict", Some(verdict)),
        ("exit-code", Some(report.exit_code.to_string())),
        ("report", json),
        ("report-html", page),
        ("comment-url", comment_url),
        ("cost-point", cost.map(|cost| amount(cost.point))),
        ("cost-lower", cost.map(|cost| amount(cost.lower))),
        ("cost-upper", cost.map(|cost| amount(cost.upper))),
        ("canary-cost", spent.map(|spent| amount(spent.0))),
    ];
    let known = outputs.into_iter();
    let known = known.filter_map(|(name, value)| Some((name, value?)));
    let known = Vec::from_iter(known);
    let failed = "the outputs could not be written";
    write(environment.output.as_ref(), failed, |file| {
        outputs::append_outputs(file, &known, rand::random())
    });
}

/// Writes the report for later steps, as JSON and as a page, beside the spec, else in the workspace; their paths from the workspace.
pub(super) fn keep_report(
    report: &Report,
    project: Option<&Project>,
) -> AppResult<(String, String)> {
    let workspace = files::current_folder()?;
    let (folder, root) = match project {
        Some(project) => (project.state_folder(), project.root.clone()),
        None => (workspace.join(STATE_FOLDER), workspace.clone()),
    };
    files::make_state_folder(&folder)?;
    let keep = |name: &str, text: String| -> AppResult<String> {
        let path = folder.join(name);
        files::write_new(&path, text.as_bytes(), &root)?;
        let shown = path.strip_prefix(&workspace).unwrap_or(&path);
        Ok(shown.to_string_lossy().into_owned())
    };
    let json = keep(REPORT_FILE, report::to_json(report))?;
    Ok((json, keep(PAGE_FILE, html::render(report))?))
}
