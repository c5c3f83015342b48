//! Where the action publishes what it found: the comment, the step summary, outputs, annotations, the log. Post first, then fail.

use crate::assess::whole_report;
use crate::change::AffectedJob;
use crate::commands::run::{Checked, RunRequest};
use crate::console::{AppError, files, printable, say};
use crate::exit::{self, Strictness};
use crate::gate::GateFailure;
use crate::github::client::Github;
use crate::github::commands::{self, AnnotationLevel, StopCommands};
use crate::github::environment::Environment;
use crate::github::error::GithubError;
use crate::github::inputs::{CommentPolicy, Inputs};
use crate::github::last_verdict::LastVerdict;
use crate::github::marker::{LONGEST_TEXT, Marker, MarkerKind, MarkerState, Order};
use crate::github::posts::PostPlace;
use crate::github::publication::{
    Intent, OlderComments, Publication, PublicationOutcome, Published,
};
use crate::github::shown_overrun::ShownOverrun;
use crate::github::status::{NewStatus, StatusState};
use crate::report::template::Template;
use crate::report::{
    self, Ended, InProgress, JobInProgress, Leftovers, Report, markdown, terminal,
};
use crate::spec::OnInconclusive;
use crate::units::Usd;
use crate::verdict::Verdict;
use crate::workspace::project::Project;
use crate::workspace::written_spec;

use super::trigger::Trigger;
use super::{annotations, step_files};

/// Of a summary that GitHub refuses to show whole.
const SHORT_SUMMARY: usize = 8_000;
/// What it remembers of an overrun; no label accepts one that takes more.
const LONGEST_REMEMBERED: usize = 16_000;
/// GitHub's limit of a step summary, with room for what is said about the comment.
const LONGEST_SUMMARY: usize = (1 << 20) - 4096;
/// As wide as a log is read.
const LOG_WIDTH: u16 = 120;

/// What is known of where to publish.
pub(super) struct Publisher {
    pub(super) environment: Environment,
    /// Whether an unknown outcome fails the check, once something says so.
    pub(super) on_inconclusive: Option<OnInconclusive>,
    /// Whether canaries go on when the step has ended well, so that its verdict is still to come.
    pub(super) is_pending: bool,
    /// What the comment remembers of an overrun, for a label that accepts it.
    pub(super) shown: Option<ShownOverrun>,
    /// The spec's path from the workspace.
    spec: String,
    commenting: Option<Commenting>,
    /// The status of the head that was read, if one is wanted.
    status: Option<HeadStatus>,
    /// Why the comment or the status could not be written, for an annotation: a title and a sentence.
    unposted: Vec<(&'static str, String)>,
    /// What is printed between its two lines cannot be a workflow command.
    stop: StopCommands,
    /// The layout of the page; `None`: ours.
    pub(super) template: Option<Template>,
    /// The policy, for the foot of the comment.
    policy: Option<report::Policy>,
    commit: Option<String>,
}

/// The comment on a pull request.
struct Commenting {
    github: Github,
    pull_request: u64,
    /// What the comment is known by: the spec, and the jobs where the step looks at some only.
    subject: String,
    order: Order,
    /// Whether the run is of a fork's own event, whose token can only read.
    only_reads: bool,
    older: OlderComments,
}

/// The status of a pull request's head.
struct HeadStatus {
    github: Github,
    sha: String,
    context: String,
}

impl Commenting {
    fn marker(&self, state: MarkerState) -> Marker {
        Marker {
            kind: MarkerKind::Report,
            spec: self.subject.clone(),
            order: self.order,
            state,
        }
    }

    async fn post(
        &self,
        state: MarkerState,
        body: &str,
        intent: Intent,
        last_verdict: LastVerdict,
    ) -> Result<Published, GithubError> {
        let publication = Publication {
            place: PostPlace::PullRequest(self.pull_request),
            marker: &self.marker(state),
            title: None,
            body,
            intent,
            older: self.older,
            last_verdict,
        };
        let now = jiff::Timestamp::now();
        self.github.publish(&publication, now).await
    }
}

impl Publisher {
    /// From here on the log is only a log: what a canary prints is no command.
    pub(super) fn open(environment: Environment) -> Self {
        let stop = StopCommands::new(files::random());
        say(&stop.begin());
        let publisher = Self {
            environment,
            on_inconclusive: None,
            is_pending: false,
            shown: None,
            spec: written_spec::named_or_found(None),
            commenting: None,
            status: None,
            unposted: Vec::new(),
            stop,
            template: None,
            policy: None,
            commit: None,
        };
        step_files::write_state(&publisher.environment, &[("opened", "true")]);
        publisher
    }

    /// The comment goes to the pull request, if there is one and it is wanted.
    pub(super) fn comment_on(&mut self, github: &Github, trigger: &Trigger, inputs: &Inputs) {
        self.spec = written_spec::named_or_found(inputs.spec.as_deref());
        let Some(pull_request) = trigger.pull_request() else {
            return;
        };
        if inputs.comment == CommentPolicy::Off {
            return;
        }
        let time = trigger.time().unwrap_or_else(jiff::Timestamp::now);
        self.commenting = Some(Commenting {
            github: github.clone(),
            pull_request: pull_request.number,
            subject: self.subject(inputs),
            order: self.environment.order(time),
            only_reads: trigger.is_from_fork(&self.environment.repository),
            older: match inputs.comment {
                CommentPolicy::New => OlderComments::Hide,
                CommentPolicy::Update | CommentPolicy::Off => OlderComments::WriteOver,
            },
        });
    }

    /// The head of the pull request was read: its status is set from here on, if one is wanted.
    pub(super) fn set_status_on(&mut self, github: &Github, trigger: &Trigger, inputs: &Inputs) {
        let pull_request = trigger.pull_request();
        self.status =
            pull_request
                .zip(inputs.commit_status.as_ref())
                .map(|(pull_request, context)| HeadStatus {
                    github: github.clone(),
                    sha: pull_request.head.sha.clone(),
                    context: context.clone(),
                });
    }

    /// Sets the status of the head, if one is wanted. That it cannot be set decides nothing.
    async fn set_status(&mut self, state: StatusState, description: &str) {
        let Some(head) = &self.status else {
            return;
        };
        let url = self.environment.run_url();
        let status = NewStatus {
            sha: &head.sha,
            context: &head.context,
            state,
            description,
            target_url: &url,
        };
        if let Err(error) = head.github.set_status(&status).await {
            let why = AppError::from(error).during("setting the commit's status");
            say(&format!("warning: {}", why.render(false).trim_end()));
            self.unposted
                .push(("the commit's status could not be set", why.in_a_line()));
        }
    }

    /// What a comment and an issue are known by: steps that share a spec and look at some of its jobs each have their own.
    pub(super) fn subject(&self, inputs: &Inputs) -> String {
        match &inputs.jobs[..] {
            [] => self.spec.clone(),
            jobs => format!("{}#{}", self.spec, jobs.join(",")),
        }
    }

    /// The marker of the tracking issue.
    pub(super) fn issue(&self, inputs: &Inputs) -> Marker {
        Marker {
            kind: MarkerKind::Drift,
            spec: self.subject(inputs),
            order: self.environment.order(jiff::Timestamp::now()),
            state: MarkerState::Final,
        }
    }

    /// What the foot of a comment says, also where the gate fails later.
    pub(super) fn about(&mut self, project: &Project) {
        self.commit = project
            .checkout
            .as_ref()
            .and_then(|checkout| checkout.commit());
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
        self.policy = Some(project.policy.source());
        self.leave_for_the_post_step(project, affected);
        self.set_status(StatusState::Pending, "canaries are running")
            .await;
        let Some(commenting) = &self.commenting else {
            return;
        };
        let body = report::in_progress(&InProgress {
            jobs: affected
                .iter()
                .map(|one| JobInProgress {
                    name: one.job.name.clone(),
                    instance: one.job.instance.to_string(),
                })
                .collect(),
            worst_case_usd: worst_case(request, project, affected),
            commit: self.commit.clone(),
            run_url: Some(self.environment.run_url()),
            policy: self.policy.clone(),
        });
        let posted = commenting
            .post(
                MarkerState::Running,
                &body,
                Intent::Show,
                LastVerdict::Folded,
            )
            .await;
        if let Err(error) = posted {
            say(&format!(
                "warning: the comment could not be posted yet: {}",
                printable(&error.to_string())
            ));
        }
    }

    /// What the post step needs should this one be killed: whose jobs to stop, where they wrote, which comment to finish.
    fn leave_for_the_post_step(&self, project: &Project, affected: &[AffectedJob<'_>]) {
        let jobs: Vec<&str> = affected.iter().map(|one| one.job.name.as_str()).collect();
        let outputs = affected.iter().filter_map(|one| {
            let output = one.job.training.sagemaker.output.as_deref()?;
            Some((one.job.name.clone(), output.into()))
        });
        let outputs: serde_json::Map<String, serde_json::Value> = outputs.collect();
        let mut state = vec![
            ("run_id", self.environment.run_id.to_string()),
            ("jobs", jobs.join(",")),
            ("spec", self.spec.clone()),
            ("outputs", serde_json::Value::Object(outputs).to_string()),
        ];
        state.extend(project.region().map(|region| ("region", region)));
        if let Some(commenting) = &self.commenting {
            state.push(("subject", commenting.subject.clone()));
            state.push(("order", commenting.order.to_string()));
            state.push(("pull_request", commenting.pull_request.to_string()));
        }
        let state: Vec<(&str, &str)> = state
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        step_files::write_state(&self.environment, &state);
    }

    /// Publishes what was found in every place, and returns the exit code. The summary comes first, since posting may take
    /// long; the comment is posted before the check fails.
    pub(super) async fn publish(mut self, checked: Result<Checked, GateFailure>) -> u8 {
        let publication = self.texts(checked);
        step_files::write_summary(&self.environment, &publication.summary, &publication.short);
        let url = self.post(&publication).await;
        let report = &publication.checked.report;
        let state = match publication.code {
            0 if self.is_pending => StatusState::Pending,
            0 => StatusState::Success,
            exit::EXCEEDED | exit::AT_RISK | exit::DRIFT | exit::FAILED => StatusState::Failure,
            _ => StatusState::Error,
        };
        self.set_status(state, &report::status_line(report)).await;
        let kept = step_files::keep_report(report, publication.checked.project.as_ref());
        let outputs = step_files::StepOutputs {
            report,
            spent: publication.spent,
            code: publication.code,
            kept: kept.as_ref(),
            comment_url: url.as_deref(),
        };
        step_files::write_outputs(&self.environment, &outputs);
        say(log(report).trim_end());
        // The report lists a spec's problems; the log shows them in their lines.
        if let Some(error) = &publication.checked.error
            && error.spec_errors().is_some()
        {
            say(error.render(false).trim_end());
        }
        if publication.checked.left == Leftovers::Nothing {
            step_files::write_state(&self.environment, &[("swept", "true")]);
        }
        say(&self.stop.end());
        for annotation in annotations::of(
            report,
            publication.checked.project.as_ref(),
            publication.checked.error.as_ref(),
        ) {
            say(&annotation);
        }
        for (title, why) in &self.unposted {
            say(&commands::annotation(
                AnnotationLevel::Warning,
                None,
                title,
                why,
            ));
        }
        publication.code
    }

    /// The texts of what was found.
    fn texts(&self, checked: Result<Checked, GateFailure>) -> PublishedTexts {
        let spent = checked.as_ref().err().and_then(|broken| broken.spent);
        let mut checked = checked.unwrap_or_else(|broken| self.broken(broken));
        let report = &mut checked.report;
        report.run_url = Some(self.environment.run_url());
        if report.commit.is_none() {
            report.commit.clone_from(&self.commit);
        }
        let short = report::render_within(report, SHORT_SUMMARY);
        let error = checked.error.as_ref();
        let interrupted = error.filter(|error| is_interruption(error.code()));
        if let Some(error) = interrupted {
            let ended = report::ended(&Ended {
                how: "cancelled".to_owned(),
                spent_usd: spent,
                leftovers: checked.left,
                commit: self.commit.clone(),
                run_url: Some(self.environment.run_url()),
                policy: self.policy.clone(),
            });
            return PublishedTexts {
                code: error.code(),
                comment: ended.clone(),
                last_verdict: LastVerdict::GivenBack,
                summary: ended,
                short,
                spent,
                checked,
            };
        }
        let marker = self.commenting.as_ref().map_or(0, |commenting| {
            commenting.marker(MarkerState::Final).to_string().len() + 1
        });
        let shown = self.shown.as_ref().map(|shown| format!("{shown}\n"));
        let shown = shown.filter(|line| line.len() < LONGEST_REMEMBERED);
        let shown = shown.unwrap_or_default();
        let room = LONGEST_TEXT.saturating_sub(marker + shown.len());
        let page = |limit| match &self.template {
            Some(template) => markdown::render_by(template, report),
            None => report::render_within(report, limit),
        };
        PublishedTexts {
            code: report.exit_code,
            comment: format!("{shown}{}", page(room)),
            last_verdict: LastVerdict::Replaced,
            summary: page(LONGEST_SUMMARY),
            short,
            spent,
            checked,
        }
    }

    /// A report that holds nothing but why there is none.
    fn broken(&self, broken: GateFailure) -> Checked {
        let GateFailure { error, spent, left } = broken;
        let strictness = Strictness {
            strict: false,
            on_inconclusive: self.on_inconclusive.unwrap_or(OnInconclusive::Fail),
        };
        let mut report =
            whole_report::report(Vec::new(), Vec::new(), strictness, jiff::Timestamp::now());
        report.failures = vec![error.failure(None)];
        report.notes.extend(spent.map(|spent| {
            let spent = spent.exact();
            format!("Canaries have cost {spent} until then.")
        }));
        report.verdict = Verdict::Unknown;
        report.exit_code = exit::code_of_run([], [error.code()], strictness);
        report.policy.clone_from(&self.policy);
        Checked {
            error: Some(error),
            left,
            ..Checked::of_nothing(report)
        }
    }

    /// Posts the comment if there is a pull request to post to, and notes for a later step that it is posted, and where. That it
    /// cannot be posted decides nothing: the report stands in the summary, and so does why.
    async fn post(&mut self, publication: &PublishedTexts) -> Option<String> {
        let commenting = self.commenting.as_ref()?;
        let checked = &publication.checked;
        // No job is affected, and the policy is the base's.
        let is_nothing = publication.code == 0
            && checked.affected == 0
            && (checked.project.as_ref()).is_some_and(|project| project.policy.is_as_on_the_base());
        let posted = commenting
            .post(
                MarkerState::Final,
                &publication.comment,
                match is_nothing {
                    true => Intent::Refresh,
                    false => Intent::Show,
                },
                publication.last_verdict,
            )
            .await;
        match posted {
            Ok(posted) => {
                if posted.outcome == PublicationOutcome::Nothing {
                    say(
                        "no comment is written: no job is affected, and there is none to bring up to date",
                    );
                }
                step_files::write_state(&self.environment, &[("posted", "true")]);
                for note in &posted.notes {
                    say(&format!("note: {}", printable(note)));
                }
                posted.url
            }
            Err(GithubError::Forbidden { .. }) if commenting.only_reads => {
                let why = "the token of a pull request from a fork can only read, so this report is no comment";
                let failure = AppError::failed(why)
                    .during("posting the comment")
                    .failure(None);
                let unposted = report::unposted(&failure);
                step_files::write_summary(&self.environment, &unposted, &unposted);
                say(&format!("note: {why}"));
                None
            }
            Err(error) => {
                let error = AppError::from(error).during("posting the comment");
                let unposted = report::unposted(&error.failure(None));
                step_files::write_summary(&self.environment, &unposted, &unposted);
                let why = error.in_a_line();
                say(&format!("warning: the comment could not be posted: {why}"));
                self.unposted.push(("the comment could not be posted", why));
                None
            }
        }
    }
}

/// What the action publishes, and how the step ends.
struct PublishedTexts {
    checked: Checked,
    code: u8,
    /// What canaries cost of which the report does not know.
    spent: Option<Usd>,
    comment: String,
    /// What becomes of the verdict that the comment had.
    last_verdict: LastVerdict,
    summary: String,
    short: String,
}

fn is_interruption(code: u8) -> bool {
    matches!(code, exit::INTERRUPTED | exit::TERMINATED)
}

/// The report as the log shows it.
fn log(report: &Report) -> String {
    terminal::render(
        report,
        terminal::TerminalStyle {
            colours: false,
            width: Some(LOG_WIDTH),
            depth: terminal::ReportDepth::Whole,
        },
    )
}

/// What canaries of these jobs may cost at most; `None` where one has no price.
fn worst_case(
    request: &RunRequest<'_>,
    project: &Project,
    affected: &[AffectedJob<'_>],
) -> Option<Usd> {
    let of_jobs: Usd = affected
        .iter()
        .map(|one| {
            let offer = project.offer(&one.job.instance);
            let is_priced = offer.unpriced().is_none();
            is_priced.then_some(one.job.canary.spend_limit)
        })
        .sum::<Option<Usd>>()?;
    let limits = [request.max_spend, request.max_spend_per_pull_request];
    let least = |one, other| if other < one { other } else { one };
    Some(limits.into_iter().flatten().fold(of_jobs, least))
}
