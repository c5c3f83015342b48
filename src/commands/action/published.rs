//! What the action found, published in every place: the summary, the comment, the check, outputs, annotations, the log; and the
//! tracking issue of a check for drift.

use crate::commands::publish;
use crate::commands::run::Checked;
use crate::console::{AppError, printable, say};
use crate::exit;
use crate::gate::{GateFailure, outcome};
use crate::github::marker::LONGEST_TEXT;
use crate::github::outputs::LONGEST_SUMMARY;
use crate::github::{
    Annotation, AnnotationLevel, CheckState, ForgeErrorKind, Github, HeadCheck, HeadCheckKind,
    Intent, PostText, Publication, PublicationOutcome,
};
use crate::report::{self, JobReport, Leftovers, Report, terminal, words};
use crate::spec::SpecErrors;
use crate::units;
use crate::verdict::Verdict;
use crate::workspace::Project;

use super::publisher::{Publisher, RUNNING};
use super::{inputs, step_files};

/// What it remembers of an overrun; no label accepts one that takes more.
const LONGEST_REMEMBERED: usize = 16_000;
/// GitHub shows at most ten annotations of a level for a step.
const MOST_ANNOTATIONS: usize = 10;
/// As wide as a log is read.
const LOG_WIDTH: u16 = 120;

/// What was published of a spec.
pub(super) struct PublishedSpec {
    pub(super) subject: String,
    pub(super) checked: Checked,
    /// The comment's.
    url: Option<String>,
    annotations: Vec<Annotation>,
}

impl Publisher<'_> {
    /// Publishes what was found in every place. The summary comes first, since posting may take long.
    pub(super) async fn publish(
        &mut self,
        mut checked: Result<Checked, GateFailure>,
    ) -> PublishedSpec {
        let shown = match &mut checked {
            Ok(checked) if !self.is_sum => self.accept_overrun(checked).await,
            _ => None,
        };
        let mut checked = checked.unwrap_or_else(|broken| self.broken(broken));
        let report = &mut checked.report;
        report.run_url.clone_from(&self.so_far.run_url);
        report.subject.clone_from(&self.so_far.subject);
        if report.commit.is_none() {
            report.commit.clone_from(&self.so_far.commit);
        }
        // The comment begins with what it is to remember of an overrun.
        let shown = shown.map(|shown| format!("{shown}\n"));
        let shown = shown.filter(|line| line.len() < LONGEST_REMEMBERED);
        let shown = shown.unwrap_or_default();
        let room = (self.comment.as_ref()).map_or(LONGEST_TEXT, Publication::room);
        let page = self.page(&checked, room.saturating_sub(shown.len()));
        if !self.is_sum {
            let summary = self.page(&checked, LONGEST_SUMMARY);
            step_files::write_summary(&self.environment, &summary);
        }
        let url = self.post(&format!("{shown}{page}"), intent(&checked)).await;
        let mut annotations = self.end_check(&checked, &page).await;
        let (report, error) = (&checked.report, checked.error.as_ref());
        let style = terminal::TerminalStyle {
            colours: false,
            width: Some(LOG_WIDTH),
            depth: match self.is_sum {
                true => terminal::ReportDepth::Brief,
                false => terminal::ReportDepth::Whole,
            },
        };
        say(terminal::render(report, style).trim_end());
        // The report lists a spec's problems; the log shows them in their lines.
        if let Some(error) = error.filter(|error| error.spec_errors().is_some()) {
            say(error.render(false).trim_end());
        }
        if checked.left == Leftovers::Nothing {
            self.done(|left| left.spec = None);
        }
        annotations.append(&mut self.unposted);
        PublishedSpec {
            subject: self.subject.clone(),
            checked,
            url,
            annotations,
        }
    }

    /// Ends the step by what was published last, which is of all specs: its files and outputs, and the annotations of each. The
    /// exit code.
    pub(super) fn end(&self, published: &[PublishedSpec]) -> u8 {
        let Some(last) = published.last() else {
            return exit::TOOL_FAILED;
        };
        let report = &last.checked.report;
        let kept = step_files::keep_report(report, last.checked.project.as_ref())
            .map_err(|error| say(error.render(false).trim_end()));
        let spent = units::sum(published.iter().map(|one| one.checked.spent));
        let urls = published.iter().filter_map(|one| one.url.clone());
        let url = urls.reduce(|all, url| format!("{all}\n{url}"));
        step_files::write_outputs(&self.environment, (report, spent), kept.ok().unzip(), url);
        say(&self.end_of_log);
        for annotation in published.iter().flat_map(|one| &one.annotations) {
            say(&annotation.command());
        }
        report.exit_code
    }

    /// The page of what was found, in at most so many bytes.
    fn page(&self, checked: &Checked, limit: usize) -> String {
        match is_cancelled(checked) {
            true => report::ended("cancelled", checked.spent, checked.left, &self.so_far),
            false => report::page_within(&checked.report, self.template.as_ref(), limit),
        }
    }

    /// Writes the check's last word. What is found of a spec stands at its lines: its annotations, without their places where the check
    /// has these.
    async fn end_check(&mut self, checked: &Checked, page: &str) -> Vec<Annotation> {
        let (report, project) = (&checked.report, checked.project.as_ref());
        let found = (!self.is_sum).then(|| annotations(report, project, checked.error.as_ref()));
        let mut annotations = found.unwrap_or_default();
        let state = match report.exit_code {
            0 if checked.is_pending => CheckState::Running,
            0 => CheckState::Success,
            code if exit::is_interruption(code) => CheckState::Cancelled,
            _ => CheckState::Failure,
        };
        let title = match state {
            CheckState::Running => RUNNING.to_owned(),
            _ => report::status_line(report),
        };
        if self.write_check(state, (&title, page), &annotations).await {
            self.done(|left| left.check = None);
            let is_there = |check: &HeadCheck| check.kind == HeadCheckKind::CheckRun;
            if self.check.as_ref().is_some_and(is_there) {
                annotations.iter_mut().for_each(|one| one.place = None);
            }
        }
        annotations
    }

    /// A report that holds nothing but why there is none.
    fn broken(&self, broken: GateFailure) -> Checked {
        let GateFailure { error, spent, left } = broken;
        let why = spent.map(|spent| format!("Canaries have cost {} until then.", spent.exact()));
        let code = exit::code_of_run([], [error.code()], self.strictness);
        let mut report = outcome::failed_report(&error, code, Vec::from_iter(why));
        report.policy.clone_from(&self.so_far.policy);
        inputs::name_in(&mut report);
        Checked {
            report,
            error: Some(error),
            spent,
            left,
            ..Checked::default()
        }
    }

    /// Posts the comment if there is a pull request to post to, and notes for a later step that it is posted, and where. That it
    /// cannot be posted decides nothing: the report stands in the summary, and so does why.
    async fn post(&mut self, body: &str, intent: Intent) -> Option<String> {
        let (github, comment) = self.github.as_ref().zip(self.comment.as_ref())?;
        let text = PostText::comment(body, intent);
        let failure = match publish::posted(github, comment, &text).await {
            Ok(posted) => {
                if posted.outcome == PublicationOutcome::Nothing && intent == Intent::Refresh {
                    say(
                        "no comment is written: no job is affected, and there is none to bring up to date",
                    );
                }
                self.done(|left| left.comment = None);
                return posted.url;
            }
            Err(error) if error.kind == ForgeErrorKind::Forbidden && self.only_reads => {
                let why = "the token of a pull request from a fork can only read, so this report is no comment";
                say(&format!("note: {why}"));
                AppError::failed(why)
            }
            Err(error) => {
                let error = AppError::from(error);
                self.warn("the comment could not be posted", &error);
                error
            }
        };
        let unposted = report::unposted(&failure.during("posting the comment").failure(None));
        step_files::write_summary(&self.environment, &unposted);
        None
    }
}

fn is_cancelled(checked: &Checked) -> bool {
    checked.error.is_some() && exit::is_interruption(checked.report.exit_code)
}

/// The state that the comment is to have.
fn intent(checked: &Checked) -> Intent {
    // No job is affected, and the policy is the base's.
    let is_nothing = checked.report.exit_code == 0
        && checked.affected == 0
        && (checked.project.as_ref()).is_some_and(|project| project.policy.is_as_on_the_base());
    match (is_cancelled(checked), is_nothing) {
        (true, _) => Intent::NoVerdict,
        (false, true) => Intent::Refresh,
        (false, false) => Intent::Verdict,
    }
}

/// The annotations of a report, worst first; of a spec that cannot be read, its problems.
fn annotations(
    report: &Report,
    project: Option<&Project>,
    error: Option<&AppError>,
) -> Vec<Annotation> {
    if let Some(errors) = error.and_then(AppError::spec_errors) {
        return annotations_of_spec(errors);
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
    let jobs = jobs
        .into_iter()
        .filter_map(|job| annotation_of_job(job, project));
    failures.chain(jobs).take(MOST_ANNOTATIONS).collect()
}

/// Every problem of a spec, at its line.
fn annotations_of_spec(errors: &SpecErrors) -> Vec<Annotation> {
    let problems = errors.problems.iter().take(MOST_ANNOTATIONS);
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

fn annotation_of_job(job: &JobReport, project: Option<&Project>) -> Option<Annotation> {
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

/// Makes the tracking issue of a check for drift say what the report says, and closes it where no job drifts or what drifted was
/// accepted. It stays as it is if a job could not be checked, whose drift may go on. An error is reported and does not change how the
/// check ends.
pub(super) async fn track_issue(
    github: &Github,
    issue: &Publication,
    checked: &mut Checked,
    is_accepted: bool,
) {
    let report = &checked.report;
    let drift = report::drift_issue(report).filter(|_| !is_accepted);
    let is_all_checked = checked.affected > 0
        && report.failures.is_empty()
        && report.jobs.len() == checked.affected
        && report.jobs.iter().all(|job| job.drift.is_some());
    let over = report::drift_over(report);
    let (title, body, intent) = match &drift {
        Some(drift) => (Some(&*drift.title), &*drift.body, Intent::Verdict),
        None if is_accepted || is_all_checked => (None, &*over, Intent::Close),
        None => return,
    };
    let text = PostText {
        title,
        body,
        intent,
    };
    let tracked = match publish::posted(github, issue, &text).await {
        Err(error) => {
            let error = AppError::from(error).during("keeping the tracking issue");
            checked.report.failures.push(error.failure(None));
            return say(error.render(false).trim_end());
        }
        Ok(tracked) => tracked,
    };
    let how = match tracked.outcome {
        PublicationOutcome::Created => "opened",
        PublicationOutcome::Updated => "brought up to date",
        PublicationOutcome::Closed => "closed: the drift is over",
        PublicationOutcome::Unchanged => "up to date already",
        PublicationOutcome::Superseded => "left alone: a newer run has written already",
        PublicationOutcome::Nothing => return,
    };
    let url = tracked.url.as_deref().unwrap_or_default();
    say(&format!("tracking issue {how} {}", printable(url)));
}
