//! Where the action publishes what it found: the comment, the step summary, outputs, annotations, the log. Post first, then fail.

use std::cell::RefCell;
use std::rc::Rc;

use crate::change::AffectedJob;
use crate::commands::run::{Checked, RunRequest};
use crate::console::{AppError, files, printable, say};
use crate::exit::{self, Strictness};
use crate::gate::{GateFailure, gate_run};
use crate::github::client::Github;
use crate::github::commands::{self, Annotation, AnnotationLevel};
use crate::github::environment::Environment;
use crate::github::error::ForgeErrorKind;
use crate::github::head_check::{CheckState, HeadCheck, HeadCheckKind};
use crate::github::marker::LONGEST_TEXT;
use crate::github::outputs::LONGEST_SUMMARY;
use crate::github::posts::PostPlace;
use crate::github::publication::{
    Intent, OlderComments, PostText, Publication, PublicationOutcome,
};
use crate::github::pull_request::PullRequest;
use crate::github::shown_overrun::ShownOverrun;
use crate::report::template::Template;
use crate::report::{self, Ended, InProgress, JobInProgress, Leftovers, ReportStamp, terminal};
use crate::units::Usd;
use crate::verdict::Verdict;
use crate::workspace::project::Project;
use crate::workspace::written_spec;

use super::inputs::{self, ActionCommand, CommentPolicy, Inputs, Upkeep};
use super::post_step::{self, BegunStep};
use super::trigger::Trigger;
use super::{annotations, post, step_files};

/// What it remembers of an overrun; no label accepts one that takes more.
const LONGEST_REMEMBERED: usize = 16_000;
/// The title of a check while its canaries run.
const RUNNING: &str = "canaries are running";
/// As wide as a log is read.
const LOG_WIDTH: u16 = 120;

/// What is known of where to publish what is found of a spec, or of several together.
#[derive(Clone)]
pub(super) struct Publisher<'a> {
    pub(super) inputs: &'a Inputs,
    pub(super) environment: Environment,
    /// Which uncertain outcomes fail the check, as far as that is known.
    pub(super) strictness: Strictness,
    /// Whether what it publishes was published of each spec by itself.
    pub(super) is_sum: bool,
    /// What asks GitHub, once it is known where to.
    pub(super) github: Option<Github>,
    /// The pull request whose head is checked out, once that is known.
    pub(super) head: Option<PullRequest>,
    /// The layout of the page; `None`: ours.
    pub(super) template: Option<Template>,
    /// What is said of the run above and below the report.
    pub(super) stamp: ReportStamp,
    /// The spec's path from the workspace; of several specs the input.
    spec: String,
    /// The name by which a comment and an issue are found again. Steps that share a spec and look at some of its jobs each have their own.
    pub(super) subject: String,
    pub(super) comment: Option<Publication>,
    /// Whether the run is of a fork's own event, whose token can only read.
    only_reads: bool,
    /// The check of the commit, if one is wanted, once it is known of which.
    check: Option<HeadCheck>,
    /// That the comment or the check could not be written, and why.
    unposted: Vec<Annotation>,
    /// The line up to which nothing that is printed is a workflow command.
    end_of_log: String,
    /// What the post step has to do, of all specs.
    left: Rc<RefCell<Vec<BegunStep>>>,
}

/// What was published of a spec.
pub(super) struct PublishedSpec {
    pub(super) subject: String,
    pub(super) checked: Checked,
    /// The comment's.
    url: Option<String>,
    annotations: Vec<Annotation>,
}

impl<'a> Publisher<'a> {
    /// From here on the log is only a log: what a canary prints is no command.
    pub(super) fn open(environment: Environment, inputs: &'a Inputs) -> Self {
        let named = Some(inputs.specs.join(", ")).filter(|named| !named.is_empty());
        let spec = written_spec::named_or_found(named.as_deref());
        let [begin, end_of_log] = commands::stop_commands(files::random());
        say(&begin);
        step_files::write_state(&environment, post_step::BEGUN, "[]");
        let named = |joint: &str, between: &str| match &inputs.jobs[..] {
            [] => spec.clone(),
            jobs => format!("{spec}{joint}{}", jobs.join(between)),
        };
        Self {
            inputs,
            stamp: ReportStamp {
                subject: Some(named(": ", ", ")),
                run_url: Some(environment.run_url()),
                ..ReportStamp::default()
            },
            environment,
            strictness: Strictness {
                on_inconclusive: inputs.on_inconclusive.unwrap_or_default(),
                ..Strictness::default()
            },
            is_sum: false,
            github: None,
            head: None,
            template: None,
            subject: named("#", ","),
            spec,
            comment: None,
            only_reads: false,
            check: None,
            unposted: Vec::new(),
            end_of_log,
            left: Rc::default(),
        }
    }

    /// The publisher of one of several specs.
    pub(super) fn of(&self, spec: &str) -> Self {
        let mut one = self.clone();
        one.stamp.subject = Some(spec.to_owned());
        (one.spec, one.subject) = (spec.to_owned(), spec.to_owned());
        (one.comment, one.check, one.unposted) = (None, None, Vec::new());
        one
    }

    /// Begins the check of several specs together.
    pub(super) async fn begin_sum(&mut self) {
        self.leave(BegunStep::default());
        let text = "Each spec that the change touches has a check of its own.";
        let state = CheckState::Running;
        self.write_check(state, (RUNNING, text), &[]).await;
    }

    /// Says to the post step what it will have to do for this subject.
    fn leave(&self, begun: BegunStep) {
        self.left.borrow_mut().push(BegunStep {
            subject: self.subject.clone(),
            check: self.check.clone(),
            ..begun
        });
        self.done(|_| {});
    }

    /// Says to the post step what it need not do any more for this subject.
    fn done(&self, what: impl FnOnce(&mut BegunStep)) {
        let mut left = self.left.borrow_mut();
        let Some(own) = left.iter_mut().find(|one| one.subject == self.subject) else {
            return;
        };
        what(own);
        left.retain(|one| one.spec.is_some() || one.comment.is_some() || one.check.is_some());
        let left = serde_json::to_string(&*left).unwrap_or_default();
        step_files::write_state(&self.environment, post_step::BEGUN, &left);
    }

    /// The comment goes to the pull request, if there is one and it is wanted.
    pub(super) fn comment_on(&mut self, github: &Github, trigger: &Trigger) {
        self.github = Some(github.clone());
        self.only_reads = trigger.is_from_fork(&self.environment.repository);
        // A fork that nobody asked to run is not judged, and its token can only read; nor does a sweep judge.
        let is_judged = !self.only_reads && self.inputs.command != ActionCommand::Sweep;
        if let Some(sha) = trigger.head().filter(|_| is_judged) {
            self.check_on(trigger, sha);
        }
        let older = match self.inputs.comment {
            CommentPolicy::New => OlderComments::Hide,
            CommentPolicy::Update => OlderComments::WriteOver,
            CommentPolicy::Off => return,
        };
        let time = trigger.of_itself().map(|one| one.updated_at);
        let comment = |pull_request: &PullRequest| Publication {
            order: (self.environment).order(time.unwrap_or_else(jiff::Timestamp::now)),
            place: PostPlace::PullRequest(pull_request.number),
            older,
            ..self.issue()
        };
        self.comment = trigger.pull_request().map(comment);
    }

    /// The check goes to this commit, if one is wanted.
    pub(super) fn check_on(&mut self, trigger: &Trigger, sha: &str) {
        let inputs = self.inputs;
        let is_only = inputs.specs.is_empty() && inputs.jobs.is_empty();
        let subject = &self.subject;
        let (kind, name) = match (&inputs.commit_status, inputs.check_run) {
            (Some(name), _) if is_only => (HeadCheckKind::Status, name.clone()),
            (Some(name), _) => (HeadCheckKind::Status, format!("{name} ({subject})")),
            (None, Upkeep::Update) => (HeadCheckKind::CheckRun, format!("canary-gate ({subject})")),
            (None, Upkeep::Off) => return,
        };
        let (run, attempt) = (self.environment.run_url(), self.environment.run_attempt);
        let branch = trigger.pull_request().map(|one| &*one.base.branch);
        self.check = Some(HeadCheck {
            sha: sha.to_owned(),
            name,
            kind,
            page: HeadCheck::page_of(&run, attempt, branch),
        });
    }

    /// Writes the check, if one is wanted, and says whether it is there. That it cannot be written decides nothing.
    async fn write_check(
        &mut self,
        state: CheckState,
        text: (&str, &str),
        annotations: &[Annotation],
    ) -> bool {
        let Some((github, check)) = self.github.as_ref().zip(self.check.as_ref()) else {
            return false;
        };
        let error = match check.write(github, state, text, annotations).await {
            Ok(true) => return true,
            Ok(false) => {
                say(
                    "note: the check of this commit is that of a newer run, or a failure of this one, so it is left unchanged",
                );
                // What is not written there has no lines there.
                self.check.take_if(|_| state != CheckState::Running);
                return true;
            }
            Err(error) => error,
        };
        let is_forbidden = error.kind == ForgeErrorKind::Forbidden;
        let why = AppError::from(error);
        // Who does not require it need not grant it.
        match is_forbidden && check.kind == HeadCheckKind::CheckRun {
            true => say(&format!(
                "note: no check run is written: {}; grant `checks: write`, or write `check-run: off`",
                why.in_a_line()
            )),
            false => self.warn("the check of this commit could not be written", &why),
        }
        if is_forbidden {
            self.check = None;
            // Nor can the post step write it.
            self.done(|left| left.check = None);
        }
        false
    }

    /// Says in the log and in an annotation what could not be written.
    fn warn(&mut self, title: &str, why: &AppError) {
        say(&format!(
            "warning: {title}:\n{}",
            why.render_beside(false).trim_end()
        ));
        self.unposted.push(Annotation {
            level: AnnotationLevel::Warning,
            place: None,
            title: title.to_owned(),
            message: why.in_a_line(),
        });
    }

    /// The tracking issue.
    pub(super) fn issue(&self) -> Publication {
        Publication {
            place: PostPlace::Issues,
            subject: self.subject.clone(),
            order: self.environment.order(jiff::Timestamp::now()),
            older: OlderComments::WriteOver,
        }
    }

    /// Says that canaries are about to run, and notes what the post step needs should this one be killed.
    pub(super) async fn begin(
        &mut self,
        request: &RunRequest<'_>,
        project: &Project,
        affected: &[AffectedJob<'_>],
    ) {
        if affected.is_empty() {
            return;
        }
        self.stamp.policy = Some(project.policy.source());
        let jobs = affected.iter().map(|one| one.job.name.clone());
        let outputs = affected.iter().filter_map(|one| {
            let output = one.job.training.sagemaker.output.clone()?;
            Some((one.job.name.clone(), output))
        });
        self.leave(BegunStep {
            jobs: jobs.collect(),
            spec: Some(self.spec.clone().into()),
            spec_tag: gate_run::spec_tag(project),
            region: project.region(),
            outputs: outputs.collect(),
            comment: self.comment.clone(),
            ..BegunStep::default()
        });
        let body = report::in_progress(&InProgress {
            jobs: affected
                .iter()
                .map(|one| JobInProgress {
                    name: one.job.name.clone(),
                    instance: one.job.instance.to_string(),
                })
                .collect(),
            worst_case_usd: worst_case(request, project, affected),
            stamp: self.stamp.clone(),
        });
        let state = CheckState::Running;
        self.write_check(state, (RUNNING, &body), &[]).await;
        let Some((github, comment)) = self.github.as_ref().zip(self.comment.as_ref()) else {
            return;
        };
        let text = PostText::comment(&body, Intent::Stub);
        if let Err(error) = post::publish(github, comment, &text).await {
            say(&format!(
                "warning: the comment could not be posted yet: {}",
                printable(&error.to_string())
            ));
        }
    }

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
        report.run_url.clone_from(&self.stamp.run_url);
        report.subject.clone_from(&self.stamp.subject);
        if report.commit.is_none() {
            report.commit.clone_from(&self.stamp.commit);
        }
        let texts = self.texts(&checked, shown);
        if !self.is_sum {
            step_files::write_summary(&self.environment, &texts.summary);
        }
        let url = self.post(&texts).await;
        let (report, project) = (&checked.report, checked.project.as_ref());
        let error = checked.error.as_ref();
        // What is found of a spec stands at its lines.
        let found = (!self.is_sum).then(|| annotations::of(report, project, error));
        let mut annotations = found.unwrap_or_default();
        let state = match report.exit_code {
            0 if checked.is_pending => CheckState::Running,
            0 => CheckState::Success,
            exit::INTERRUPTED | exit::TERMINATED => CheckState::Cancelled,
            _ => CheckState::Failure,
        };
        let title = match state {
            CheckState::Running => RUNNING.to_owned(),
            _ => report::status_line(report),
        };
        if self
            .write_check(state, (&title, &texts.page), &annotations)
            .await
        {
            self.done(|left| left.check = None);
            // At their lines they stand once.
            let is_there = |check: &HeadCheck| check.kind == HeadCheckKind::CheckRun;
            if self.check.as_ref().is_some_and(is_there) {
                annotations.iter_mut().for_each(|one| one.place = None);
            }
        }
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
        let spent = published.iter().filter_map(|one| one.checked.spent);
        let spent = spent.reduce(|sum, spent| sum + spent);
        let urls = published.iter().filter_map(|one| one.url.clone());
        let url = urls.reduce(|all, url| format!("{all}\n{url}"));
        step_files::write_outputs(&self.environment, (report, spent), kept.ok().unzip(), url);
        say(&self.end_of_log);
        for annotation in published.iter().flat_map(|one| &one.annotations) {
            say(&annotation.command());
        }
        report.exit_code
    }

    /// The texts of what was found; the comment begins with what it is to remember of an overrun.
    fn texts(&self, checked: &Checked, shown: Option<ShownOverrun>) -> PublishedTexts {
        let report = &checked.report;
        let is_interruption = matches!(report.exit_code, exit::INTERRUPTED | exit::TERMINATED);
        let is_cancelled = checked.error.is_some() && is_interruption;
        // No job is affected, and the policy is the base's.
        let is_nothing = report.exit_code == 0
            && checked.affected == 0
            && (checked.project.as_ref()).is_some_and(|project| project.policy.is_as_on_the_base());
        let page = |limit| match is_cancelled {
            true => report::ended(&Ended {
                how: "cancelled".to_owned(),
                spent_usd: checked.spent,
                leftovers: checked.left,
                stamp: self.stamp.clone(),
            }),
            false => report::page_within(report, self.template.as_ref(), limit),
        };
        let shown = shown.map(|shown| format!("{shown}\n"));
        let shown = shown.filter(|line| line.len() < LONGEST_REMEMBERED);
        let shown = shown.unwrap_or_default();
        let room = (self.comment.as_ref()).map_or(LONGEST_TEXT, Publication::room);
        PublishedTexts {
            page: page(room.saturating_sub(shown.len())),
            shown,
            intent: match is_nothing {
                _ if is_cancelled => Intent::NoVerdict,
                true => Intent::Refresh,
                false => Intent::Verdict,
            },
            summary: page(LONGEST_SUMMARY),
        }
    }

    /// A report that holds nothing but why there is none.
    fn broken(&self, broken: GateFailure) -> Checked {
        let GateFailure { error, spent, left } = broken;
        let why = spent.map(|spent| format!("Canaries have cost {} until then.", spent.exact()));
        let mut checked = super::nothing_run(why.into_iter().collect());
        let report = &mut checked.report;
        report.failures = vec![error.failure(None)];
        report.verdict = Verdict::Unknown;
        report.exit_code = exit::code_of_run([], [error.code()], self.strictness);
        report.policy.clone_from(&self.stamp.policy);
        inputs::name_in(report);
        Checked {
            error: Some(error),
            spent,
            left,
            ..checked
        }
    }

    /// Posts the comment if there is a pull request to post to, and notes for a later step that it is posted, and where. That it
    /// cannot be posted decides nothing: the report stands in the summary, and so does why.
    async fn post(&mut self, texts: &PublishedTexts) -> Option<String> {
        let (github, comment) = self.github.as_ref().zip(self.comment.as_ref())?;
        let body = format!("{}{}", texts.shown, texts.page);
        let text = PostText::comment(&body, texts.intent);
        let failure = match post::publish(github, comment, &text).await {
            Ok(posted) => {
                if posted.outcome == PublicationOutcome::Nothing && texts.intent == Intent::Refresh
                {
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

/// What the action publishes.
struct PublishedTexts {
    /// For the comment and the check run.
    page: String,
    /// What the comment remembers above it.
    shown: String,
    /// The state that the comment is to have.
    intent: Intent,
    summary: String,
}

/// What canaries of these jobs may cost at most; `None` where one has no price.
fn worst_case(
    request: &RunRequest<'_>,
    project: &Project,
    affected: &[AffectedJob<'_>],
) -> Option<Usd> {
    let of_jobs = affected.iter().map(|one| {
        let is_priced = project.offer(&one.job.instance).unpriced().is_none();
        is_priced.then_some(one.job.canary.spend_limit)
    });
    let of_jobs: Usd = of_jobs.sum::<Option<Usd>>()?;
    let limits = [request.max_spend, request.max_spend_per_pull_request];
    Some((limits.into_iter().flatten()).fold(of_jobs, crate::plan::least))
}
