//! Annotations: each breached budget line at its place in the spec, and each failure.

use crate::console::AppError;
use crate::github::commands::{self, AnnotationLevel};
use crate::report::{JobReport, Report, words};
use crate::spec::{self, SpecErrors};
use crate::verdict::{BudgetRow, LineVerdict, Verdict};
use crate::workspace::project::Project;

/// GitHub shows at most ten annotations of a level for a step.
const MOST: usize = 10;

/// The workflow commands, worst first.
pub(super) fn of(
    report: &Report,
    project: Option<&Project>,
    error: Option<&AppError>,
) -> Vec<String> {
    if let Some(errors) = error.and_then(AppError::spec_errors) {
        return of_spec(errors);
    }
    let failures = report.failures.iter().map(|failure| {
        let job = failure
            .job
            .as_ref()
            .map_or(String::new(), |job| format!("{job}: "));
        let message = format!("{job}{}: {}", failure.phase, failure.what);
        commands::annotation(
            AnnotationLevel::Error,
            None,
            "canary-gate could not check",
            &message,
        )
    });
    let mut jobs: Vec<&JobReport> = report.jobs.iter().collect();
    jobs.sort_by_key(|job| job.verdict);
    let jobs = jobs.into_iter().flat_map(|job| of_job(job, project));
    failures.chain(jobs).take(MOST).collect()
}

/// Every problem of a spec, at its line.
fn of_spec(errors: &SpecErrors) -> Vec<String> {
    let problems = errors.problems().iter().take(MOST);
    let annotated = problems.map(|problem| {
        let place = problem.place.and_then(|place| {
            Some(commands::AnnotationPlace {
                file: errors.name(),
                line: place.line.try_into().ok()?,
                column: place.column.try_into().ok(),
            })
        });
        let help = problem.help.as_ref();
        let help = help.map_or(String::new(), |help| format!(" ({help})"));
        let message = format!("{problem}{help}");
        commands::annotation(AnnotationLevel::Error, place, "invalid spec", &message)
    });
    annotated.collect()
}

fn of_job(job: &JobReport, project: Option<&Project>) -> Vec<String> {
    let level = match job.verdict {
        Verdict::Exceeded if job.policy.accepted.is_some() => AnnotationLevel::Warning,
        Verdict::Exceeded | Verdict::Failed | Verdict::Unknown => AnnotationLevel::Error,
        Verdict::AtRisk => AnnotationLevel::Warning,
        Verdict::Within | Verdict::NotJudged => return Vec::new(),
    };
    let lines: &[BudgetRow] = job
        .forecasts
        .first()
        .map_or(&[], |forecast| &forecast.budget);
    let accepted = job.policy.accepted.as_ref();
    let accepted = accepted.map_or(String::new(), |by| format!(", accepted by {}", by.by));
    let title = format!("{} {}{accepted}", job.name, words::phrase(job.verdict));
    let deciding = lines.iter().find(|line| line.decides);
    let spot = spot(job, deciding, project);
    let mut annotations = vec![commands::annotation(level, spot, &title, &job.reason)];
    let others = lines
        .iter()
        .filter(|line| !line.decides && line.counts_as() == spec::Level::Fail);
    for line in others {
        let (level, what) = match line.verdict {
            LineVerdict::Exceeded => (level, "exceeded"),
            LineVerdict::AtRisk => (AnnotationLevel::Warning, "at risk"),
            LineVerdict::Unknown => (AnnotationLevel::Error, "unknown"),
            LineVerdict::Within | LineVerdict::NotApplicable => continue,
        };
        let chance = line.chance_of_breach.map_or(String::new(), |chance| {
            format!(", a breach is {:.0}% likely", chance * 100.0)
        });
        let message = format!("{} is {what}{chance}", line.line.words());
        let title = format!("{}: {} {what}", job.name, line.line.words());
        let spot = self::spot(job, Some(line), project);
        annotations.push(commands::annotation(level, spot, &title, &message));
    }
    annotations
}

/// The place in the spec: the budget line, else the job's instance, else the job.
fn spot<'a>(
    job: &JobReport,
    line: Option<&BudgetRow>,
    project: Option<&'a Project>,
) -> Option<commands::AnnotationPlace<'a>> {
    let project = project?;
    let name = &job.name;
    let fields = [
        line.map(|line| format!("jobs.{name}.budget.{}", line.line.key())),
        Some(format!("jobs.{name}.instance")),
        Some(format!("jobs.{name}")),
    ];
    let place = fields
        .iter()
        .flatten()
        .find_map(|field| project.spec.place(field))?;
    Some(commands::AnnotationPlace {
        file: &project.place.file,
        line: place.line.try_into().ok()?,
        column: place.column.try_into().ok(),
    })
}
