//! Annotations: each job without a good verdict at the place in the spec that decided it, and each failure.

use crate::console::AppError;
use crate::github::{Annotation, AnnotationLevel};
use crate::report::{JobReport, Report, words};
use crate::spec::SpecErrors;
use crate::verdict::Verdict;
use crate::workspace::Project;

/// GitHub shows at most ten annotations of a level for a step.
const MOST: usize = 10;

/// The annotations of a report, worst first; of a spec that cannot be read, its problems.
pub(super) fn of(
    report: &Report,
    project: Option<&Project>,
    error: Option<&AppError>,
) -> Vec<Annotation> {
    if let Some(errors) = error.and_then(AppError::spec_errors) {
        return of_spec(errors);
    }
    let failures = report.failures.iter().map(|failure| {
        let job = failure.job.as_ref();
        let job = job.map_or(String::new(), |job| format!("{job}: "));
        let message = format!("{job}{}: {}", failure.phase, failure.what);
        Annotation {
            level: AnnotationLevel::Error,
            place: None,
            title: "canary-gate could not check".to_owned(),
            message,
        }
    });
    let mut jobs: Vec<&JobReport> = report.jobs.iter().collect();
    jobs.sort_by_key(|job| job.verdict);
    let jobs = jobs.into_iter().filter_map(|job| of_job(job, project));
    failures.chain(jobs).take(MOST).collect()
}

/// Every problem of a spec, at its line.
fn of_spec(errors: &SpecErrors) -> Vec<Annotation> {
    let problems = errors.problems.iter().take(MOST);
    let annotated = problems.map(|problem| {
        let help = problem.help.as_ref();
        let help = help.map_or(String::new(), |help| format!(" ({help})"));
        Annotation {
            level: AnnotationLevel::Error,
            place: problem.place.map(|place| (errors.name.clone(), place)),
            title: "invalid spec".to_owned(),
            message: format!("{problem}{help}"),
        }
    });
    annotated.collect()
}

fn of_job(job: &JobReport, project: Option<&Project>) -> Option<Annotation> {
    let level = match job.verdict {
        Verdict::Exceeded if job.policy.accepted.is_some() => AnnotationLevel::Warning,
        Verdict::Exceeded | Verdict::Failed | Verdict::Unknown => AnnotationLevel::Error,
        Verdict::AtRisk => AnnotationLevel::Warning,
        Verdict::Within | Verdict::NotJudged => return None,
    };
    let accepted = job.policy.accepted.as_ref();
    let accepted = accepted.map_or(String::new(), |by| format!(", accepted by {}", by.by));
    let budget = job.forecasts.first().map(|forecast| &forecast.budget);
    let deciding = budget.and_then(|lines| lines.iter().find(|line| line.decides));
    let name = &job.name;
    // The budget line, else the job's instance, else the job.
    let spot = |project: &Project| {
        let fields = [
            deciding.map(|line| format!("jobs.{name}.budget.{}", line.line.key())),
            Some(format!("jobs.{name}.instance")),
            Some(format!("jobs.{name}")),
        ];
        let mut places =
            (fields.iter().flatten()).filter_map(|field| project.spec.file.place(field));
        Some((project.place.file.clone(), places.next()?))
    };
    Some(Annotation {
        level,
        place: project.and_then(spot),
        title: format!("{} {}{accepted}", job.name, words::phrase(job.verdict)),
        message: job.reason.to_string(),
    })
}
