//! The files that a step writes for the runner and for later steps. A failure to write one is logged and changes no outcome.

use crate::console::{AppError, files, say};
use crate::github::environment::Environment;
use crate::github::outputs;
use crate::metric::Metric;
use crate::report::{self, Report, html};
use crate::units::Usd;
use crate::workspace::project::{Project, STATE_FOLDER};

/// The report for later steps, in the gate's own folder.
const REPORT_FILE: &str = "report.json";
/// The same as a page, for a step that uploads it.
const PAGE_FILE: &str = "report.html";

/// Appends the report to the step summary; `shorter` if `text` does not fit.
pub(super) fn write_summary(environment: &Environment, text: &str, shorter: &str) {
    let Some(path) = &environment.step_summary else {
        return;
    };
    if let Err(error) = outputs::append_summary(path, text, shorter) {
        say(&format!(
            "warning: the step summary could not be written: {error}"
        ));
    }
}

/// Paths relative to the workspace.
pub(super) struct KeptReport {
    json: String,
    page: String,
}

/// The sources of the outputs in action.yml.
pub(super) struct StepOutputs<'a> {
    pub(super) report: &'a Report,
    /// The cost of canaries that are not in the report.
    pub(super) spent: Option<Usd>,
    pub(super) code: u8,
    /// Absent where it could not be written.
    pub(super) kept: Option<&'a KeptReport>,
    pub(super) comment_url: Option<&'a str>,
}

pub(super) fn write_outputs(environment: &Environment, step: &StepOutputs<'_>) {
    let StepOutputs { report, .. } = step;
    let Some(path) = &environment.output else {
        return;
    };
    let verdict = serde_json::to_value(report.verdict).unwrap_or_default();
    let mut outputs: Vec<(&str, String)> = vec![
        ("verdict", verdict.as_str().unwrap_or_default().to_owned()),
        ("exit-code", step.code.to_string()),
    ];
    if let Some(kept) = step.kept {
        outputs.push(("report", kept.json.clone()));
        outputs.push(("report-html", kept.page.clone()));
    }
    outputs.extend(step.comment_url.map(|url| ("comment-url", url.to_owned())));
    // Of `instance` of the job with the worst verdict, the first of several.
    let worst = report.jobs.iter().min_by_key(|job| job.verdict);
    let cost = worst
        .and_then(|job| job.forecasts.first())
        .and_then(|forecast| forecast.estimates[Metric::Cost]);
    if let Some(cost) = cost {
        outputs.push(("cost-point", format!("{:.4}", cost.point)));
        outputs.push(("cost-lower", format!("{:.4}", cost.lower)));
        outputs.push(("cost-upper", format!("{:.4}", cost.upper)));
    }
    let spent = report
        .jobs
        .iter()
        .filter_map(|job| job.spend.canary_usd)
        .chain(step.spent)
        .reduce(|sum, cost| sum + cost);
    outputs.extend(spent.map(|spent| ("canary-cost", format!("{:.4}", spent.0))));
    let outputs: Vec<(&str, &str)> = outputs
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    if let Err(error) = outputs::append_outputs(path, &outputs, files::random()) {
        say(&format!(
            "warning: the outputs could not be written: {error}"
        ));
    }
}

/// Saves state for the post step.
pub(super) fn write_state(environment: &Environment, state: &[(&str, &str)]) {
    let Some(path) = &environment.state else {
        return;
    };
    if let Err(error) = outputs::append_outputs(path, state, files::random()) {
        say(&format!(
            "warning: the state could not be written, so the post step cannot clean up: {error}"
        ));
    }
}

/// Writes the report for later steps, as JSON and as a page, beside the spec, else in the workspace. `None` after a failure, which
/// is logged.
pub(super) fn keep_report(report: &Report, project: Option<&Project>) -> Option<KeptReport> {
    let kept = try_to_keep(report, project);
    kept.map_err(|error| say(error.render(false).trim_end()))
        .ok()
}

fn try_to_keep(report: &Report, project: Option<&Project>) -> Result<KeptReport, AppError> {
    let workspace = std::env::current_dir()
        .and_then(|folder| folder.canonicalize())
        .map_err(|source| AppError::failed("the workspace is gone").caused_by(source))?;
    let (folder, root) = match project {
        Some(project) => (project.state_folder(), project.root.clone()),
        None => (workspace.join(STATE_FOLDER), workspace.clone()),
    };
    files::make_state_folder(&folder)?;
    let keep = |name: &str, text: String| -> Result<String, AppError> {
        let path = folder.join(name);
        files::write_new(&path, text.as_bytes(), &root)?;
        let shown = path.strip_prefix(&workspace).unwrap_or(&path);
        Ok(shown.to_string_lossy().into_owned())
    };
    Ok(KeptReport {
        json: keep(REPORT_FILE, report::to_json(report))?,
        page: keep(PAGE_FILE, html::render(report))?,
    })
}
