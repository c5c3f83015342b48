//! Where the action publishes what it finds of a spec, what it says before canaries run, and what the post step would have to do.

use std::cell::RefCell;
use std::rc::Rc;

use crate::change::AffectedJob;
use crate::commands::publish;
use crate::commands::run::RunRequest;
use crate::console::{AppError, printable, say};
use crate::exit::Strictness;
use crate::gate::gate_run;
use crate::github::{
    Annotation, AnnotationLevel, CheckState, Environment, ForgeErrorKind, Github, HeadCheck,
    HeadCheckKind, Intent, OlderComments, PostPlace, PostText, Publication, PullRequest, commands,
};
use crate::report::template::Template;
use crate::report::{self, Report};
use crate::units::Usd;
use crate::workspace::{Project, written_spec};

use super::inputs::CommentPolicy;
use super::post_step::{self, BegunStep};
use super::{ActionCommand, Inputs, Trigger, Upkeep, step_files};

/// The title of a check while its canaries run.
pub(super) const RUNNING: &str = "canaries are running";

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
    pub(super) so_far: Report,
    /// The spec's path from the workspace; of several specs the input.
    spec: String,
    /// The name by which a comment and an issue are found again. Steps that share a spec and look at some of its jobs each have their own.
    pub(super) subject: String,
    pub(super) comment: Option<Publication>,
    /// Whether the run is of a fork's own event, whose token can only read.
    pub(super) only_reads: bool,
    /// The check of the commit, if one is wanted, once it is known of which.
    pub(super) check: Option<HeadCheck>,
    /// That the comment or the check could not be written, and why.
    pub(super) unposted: Vec<Annotation>,
    /// The line up to which nothing that is printed is a workflow command.
    pub(super) end_of_log: String,
    /// What the post step has to do, of all specs.
    left: Rc<RefCell<Vec<BegunStep>>>,
}

impl<'a> Publisher<'a> {
    /// From here on the log is only a log: what a canary prints is no command.
    pub(super) fn open(environment: Environment, inputs: &'a Inputs) -> Self {
        let named = Some(inputs.specs.join(", ")).filter(|named| !named.is_empty());
        let spec = written_spec::named_or_found(named.as_deref());
        let [begin, end_of_log] = commands::stop_commands(rand::random());
        say(&begin);
        step_files::write_state(&environment, post_step::BEGUN, "[]");
        let named = |joint: &str, between: &str| match &inputs.jobs[..] {
            [] => spec.clone(),
            jobs => format!("{spec}{joint}{}", jobs.join(between)),
        };
        Self {
            inputs,
            so_far: Report {
                subject: Some(named(": ", ", ")),
                run_url: Some(environment.run_url()),
                ..Report::begun()
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
        one.so_far.subject = Some(spec.to_owned());
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
    pub(super) fn done(&self, what: impl FnOnce(&mut BegunStep)) {
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
    pub(super) fn comment_on(&mut self, trigger: &Trigger) {
        self.github = Some(trigger.github.clone());
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
    pub(super) async fn write_check(
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
    pub(super) fn warn(&mut self, title: &str, why: &AppError) {
        let shown = why.render_beside(false);
        say(&format!("warning: {title}:\n{}", shown.trim_end()));
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
        self.so_far.policy = Some(project.policy.source(&project.spec));
        let names = affected.iter().map(|one| one.job.name.clone());
        let outputs = affected.iter().filter_map(|one| {
            let output = one.job.training.sagemaker.output.clone()?;
            Some((one.job.name.clone(), output))
        });
        self.leave(BegunStep {
            jobs: names.collect(),
            spec: Some(self.spec.clone().into()),
            spec_tag: gate_run::spec_tag(project),
            region: project.region(),
            outputs: outputs.collect(),
            comment: self.comment.clone(),
            ..BegunStep::default()
        });
        // `None` where one has no price.
        let most = affected.iter().map(|one| {
            let is_priced = project.offer(&one.job.instance).unpriced().is_none();
            is_priced.then_some(one.job.canary.spend_limit)
        });
        let limits = [request.max_spend, request.max_spend_per_pull_request].into_iter();
        let most = most.sum::<Option<Usd>>();
        let most = most.map(|most| limits.flatten().fold(most, crate::plan::least));
        let body = report::in_progress(affected, most, &self.so_far);
        let state = CheckState::Running;
        self.write_check(state, (RUNNING, &body), &[]).await;
        let Some((github, comment)) = self.github.as_ref().zip(self.comment.as_ref()) else {
            return;
        };
        let text = PostText::comment(&body, Intent::Stub);
        if let Err(error) = publish::posted(github, comment, &text).await {
            say(&format!(
                "warning: the comment could not be posted yet: {}",
                printable(&error.to_string())
            ));
        }
    }
}
