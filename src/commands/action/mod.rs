//! `action`: what the GitHub Action starts. Event -> change -> policy -> gate -> comment, and the check fails last.
//!
//! The image holds neither git nor Python: files, changes and the base's spec come from GitHub's API, and canaries run on
//! SageMaker or are replayed.

mod acceptance;
mod annotations;
mod checked;
mod client;
mod parts;
mod post_step;
mod publisher;
mod step_files;
mod tracking;
mod trigger;
mod workspace_owner;

use std::path::{Path, PathBuf};

use crate::assess::whole_report;
use crate::backend::RunPart;
use crate::backend::sagemaker::Sweep;
use crate::change::{AffectedJob, Change};
use crate::cli::SpecArguments;
use crate::commands::drift;
use crate::commands::sweep::{self, Sweeping};
use crate::console::signals::{self, Interruption};
use crate::console::{AppError, Loudness};
use crate::exit::{self, Strictness};
use crate::gate;
use crate::gate::GateFailure;
use crate::gate::detached;
use crate::gate::run_history::RunHistory;
use crate::gate::run_report;
use crate::gate::{GateRequest, Purpose, Reuse};
use crate::github::client::Github;
use crate::github::environment::Environment;
use crate::github::event::GithubEvent;
use crate::github::inputs::{ActionCommand, InputError, Inputs, IssuePolicy, OnFork};
use crate::github::pull_request::PullRequest;
use crate::history::record::Command;
use crate::plan::Alternatives;
use crate::spec::OnInconclusive;
use crate::verdict::Verdict;
use crate::workspace::base_commit::BaseCommit;
use crate::workspace::checkout::Checkout;
use crate::workspace::idle_globs;
use crate::workspace::project::Project;
use crate::workspace::run_origin::RunOrigin;
use crate::workspace::written_spec;
use crate::workspace::{base_policy, changed_files};
use acceptance::AskedHead;
use checked::Checked;
use parts::ComparedWith;
use post_step::Stage;
use publisher::Publisher;
use trigger::Trigger;

pub(super) async fn action(loudness: Loudness) -> Result<u8, AppError> {
    // A value that is not text is an error, not an empty value.
    let variable = |name: &str| Some(std::env::var_os(name)?.to_string_lossy().into_owned());
    let stage = Stage::of(std::env::args_os().next().as_deref(), &variable);
    if let Stage::Post(None) = stage {
        return Ok(0);
    }
    let environment = Environment::read(&variable).map_err(|error| {
        AppError::usage("this is no step of a GitHub workflow")
            .help(error.help())
            .caused_by(error)
    })?;
    workspace_owner::become_owner(Path::new("."));
    if let Stage::Post(Some(main)) = stage {
        return Ok(post_step::run(&environment, &main, &variable).await);
    }
    // First of all: the first process of a container ignores a signal that it does not listen for.
    let interruption = signals::watch()?;
    let mut publisher = Publisher::open(environment);
    let mut asked = None;
    let mut checked = check(
        &mut publisher,
        &mut asked,
        &variable,
        interruption,
        loudness,
    )
    .await;
    if let (Some(asked), Ok(checked)) = (&asked, &mut checked) {
        publisher.shown = asked.apply(&publisher.environment, checked).await;
    }
    Ok(publisher.publish(checked).await)
}

/// All that is known before the first canary.
struct ReadyStep {
    project: Project,
    inputs: Inputs,
    change: Change,
    origin: RunOrigin,
    /// The commit to compare with; `None` if there is no change to compare.
    base: Option<BaseCommit>,
    /// Why the change is compared with nothing, though there is a base.
    uncompared: Option<String>,
    /// The pull request whose own event started the check.
    pull_request: Option<PullRequest>,
    github: Github,
}

/// The result of the preparation.
enum Prepared {
    Ready(Box<ReadyStep>),
    /// There is nothing to run.
    Done(Box<Checked>),
}

/// The story up to the report. `publisher` learns where to report as soon as that is known.
async fn check(
    publisher: &mut Publisher,
    asked: &mut Option<AskedHead>,
    variable: &dyn Fn(&str) -> Option<String>,
    mut interruption: Interruption,
    loudness: Loudness,
) -> Result<Checked, GateFailure> {
    let prepared = interruption.unless_interrupted(prepare(publisher, variable));
    let ReadyStep {
        mut project,
        inputs,
        change,
        origin,
        base,
        uncompared,
        pull_request,
        github,
    } = match prepared.await?? {
        Prepared::Ready(ready) => *ready,
        Prepared::Done(checked) => return Ok(*checked),
    };
    *asked = pull_request.map(|pull_request| AskedHead {
        github: github.clone(),
        pull_request,
        strictness: strictness(&inputs, &project),
        subject: publisher.subject(&inputs),
    });
    let part = part(&inputs);
    if part != RunPart::Whole && inputs.report_from.is_empty() {
        detached::prepare(&mut project)?;
    }
    let affected = changed_files::select_jobs(&inputs.jobs, &project, &change)?;
    publisher.is_untouched = affected.is_empty() && project.policy.is_as_on_the_base();
    project.refuse_not_yet(&affected.iter().map(|one| one.job).collect::<Vec<_>>())?;
    let strictness = strictness(&inputs, &project);
    let mut notes = notes(&inputs, &project, &change, &affected)?;
    notes.extend(uncompared);
    if let Some(report) = run_report::undecidable_report(&project, &affected, strictness) {
        return Ok(Checked::without_canaries(report, Some(project)));
    }
    if !inputs.report_from.is_empty() || inputs.command == ActionCommand::Report {
        let history = RunHistory::open(&project, &origin, None).await?;
        let versus = ComparedWith {
            history: &history,
            commit: base.as_ref(),
        };
        let report =
            parts::report(&project, &affected, &inputs, notes, strictness, &versus).await?;
        return Ok(Checked::without_canaries(report, Some(project)));
    }
    refuse_local(&project, &affected)?;
    let is_drift = inputs.command == ActionCommand::Drift;
    if is_drift {
        drift::refuse_another_place(&origin)?;
    }
    let issue = (is_drift && inputs.issue == IssuePolicy::Update).then(|| publisher.issue(&inputs));
    if inputs.accept {
        let accepted = drift::accept(&project, &affected, &origin).await?;
        let are_all = accepted.len() == affected.len();
        let report = run_report::assemble(&project, Vec::new(), accepted, strictness);
        let mut checked = Checked::without_canaries(report, Some(project));
        if let Some(marker) = issue.as_ref().filter(|_| are_all) {
            tracking::close(&github, marker, &mut checked).await;
        }
        return Ok(checked);
    }
    // Who collects starts nothing that the post step would have to stop.
    if part != RunPart::Collect {
        let limits = [inputs.max_spend, inputs.max_spend_per_pull_request];
        let least = (limits.into_iter().flatten())
            .reduce(|one, other| if one < other { one } else { other });
        let begun = publisher.begin(&project, &affected, least);
        interruption.unless_interrupted(begun).await?;
    }
    let request = GateRequest {
        affected: &affected,
        alternatives: if is_drift {
            Alternatives::Skip
        } else {
            Alternatives::Measure
        },
        reuse: if inputs.fresh || is_drift {
            Reuse::Never
        } else {
            Reuse::Young
        },
        purpose: if is_drift {
            Purpose::Drift
        } else {
            Purpose::Budget
        },
        part,
        max_spend: inputs.max_spend,
        max_spend_per_pull_request: inputs.max_spend_per_pull_request,
        origin,
        base,
        measurements: None,
        pass_env: &[],
    };
    let jobs_asked = affected.len();
    let gated = gate::run(&project, &request, interruption, loudness).await?;
    let left = gated.left;
    publisher.is_pending = part == RunPart::Detach;
    let (report, error) = gated.report(&project, notes, strictness);
    let mut checked = Checked {
        report,
        project: Some(project),
        error,
        left,
    };
    if let Some(marker) = &issue {
        tracking::track(&github, marker, jobs_asked, &mut checked).await;
    }
    Ok(checked)
}

fn part(inputs: &Inputs) -> RunPart {
    match inputs.command {
        ActionCommand::Detach => RunPart::Detach,
        ActionCommand::Collect => RunPart::Collect,
        _ => RunPart::Whole,
    }
}

/// Reads event, files, change and policy: everything that comes from GitHub.
async fn prepare(
    publisher: &mut Publisher,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Prepared, AppError> {
    let (inputs, wrong) = Inputs::read(variable);
    publisher.on_inconclusive = inputs.on_inconclusive;
    let event = trigger::read_event(&publisher.environment)?;
    if let (GithubEvent::NothingToMeasure { why }, None) = (&event, inputs.pull_request)
        && matches!(
            inputs.command,
            ActionCommand::Run | ActionCommand::Detach | ActionCommand::Collect
        )
        && wrong.is_empty()
    {
        let note = format!("Nothing was measured: {why}.");
        return Ok(Prepared::Done(Box::new(nothing_run(note))));
    }
    let known = async {
        let github = client::client(&publisher.environment, &inputs)?;
        let trigger = Trigger::of(&github, event, &inputs).await?;
        Ok::<_, AppError>((github, trigger))
    };
    let known = known.await;
    // A wrong input is reported in the comment too, if there is one.
    if let Ok((github, trigger)) = &known {
        publisher.comment_on(github, trigger, &inputs);
    }
    refuse_wrong(&wrong)?;
    let (github, trigger) = known?;
    let done = |checked| Ok(Prepared::Done(Box::new(checked)));
    if inputs.command == ActionCommand::Sweep {
        return done(sweep_all(&trigger, &inputs).await?);
    }
    refuse_drift_of_a_change(&trigger, &inputs)?;
    if trigger.is_from_fork(&publisher.environment.repository) {
        return done(from_fork(&trigger, &inputs));
    }
    let spec = SpecArguments {
        spec: inputs.spec.as_ref().map(PathBuf::from),
    };
    if !written_spec::is_there(&spec) {
        let error = trigger.missing_spec(&github, &spec).await?;
        return Err(error.during("reading the spec"));
    }
    let mut project = load(&github, &publisher.environment, &spec).await?;
    project.region_flag.clone_from(&inputs.aws_region);
    project.role_to_assume.clone_from(&inputs.role_to_assume);
    publisher.about(&project);
    trigger.refuse_another_commit(&github, &project).await?;
    publisher.set_status_on(&github, &trigger, &inputs);
    let change = match inputs.command {
        ActionCommand::Drift => Change::Everything {
            why: "a check for drift looks at every job".to_owned(),
        },
        _ => trigger.change(&github, &project).await?,
    };
    let base = trigger.base(&github, &project, &spec).await?;
    let base_commit = trigger.base_commit(&github, &project, &spec).await?;
    base_policy::apply(&mut project, base, inputs.max_spend)?;
    let mut uncompared = None;
    let base_commit =
        base_commit.and_then(|found| found.map_err(|why| uncompared = Some(why)).ok());
    publisher.on_inconclusive = Some(strictness(&inputs, &project).on_inconclusive);
    Ok(Prepared::Ready(Box::new(ReadyStep {
        origin: origin(&trigger, &project, &inputs, variable),
        base: base_commit,
        uncompared,
        pull_request: trigger.of_itself().cloned(),
        project,
        inputs,
        change,
        github,
    })))
}

/// The origin of the run; of a pull request's check whatever event started it.
fn origin(
    trigger: &Trigger,
    project: &Project,
    inputs: &Inputs,
    variable: &dyn Fn(&str) -> Option<String>,
) -> RunOrigin {
    let command = match inputs.command {
        ActionCommand::Drift => Command::Drift,
        _ => Command::Run,
    };
    let commit = project.checkout.as_ref().and_then(Checkout::commit);
    let origin = RunOrigin::in_actions(variable, commit.as_deref(), command);
    match trigger.pull_request() {
        Some(pull_request) => {
            origin.of_pull_request(pull_request.number, &pull_request.head.branch)
        }
        None => origin,
    }
}

/// Refuses a drift check of a pull request: the gate reports what a change costs.
fn refuse_drift_of_a_change(trigger: &Trigger, inputs: &Inputs) -> Result<(), AppError> {
    let is_drift = inputs.command == ActionCommand::Drift;
    if is_drift && trigger.pull_request().is_some() {
        return Err(AppError::usage(
            "drift is checked on a branch, not on a pull request",
        )
        .help("run it on a schedule, as examples/workflows/drift.yml does; `command: run` reports what a pull request changes")
        .during("reading the event"));
    }
    Ok(())
}

fn refuse_wrong(errors: &[InputError]) -> Result<(), AppError> {
    if errors.is_empty() {
        return Ok(());
    }
    let all: Vec<String> = errors.iter().map(ToString::to_string).collect();
    Err(AppError::usage(all.join("; "))
        .help("correct it under `with` of the step; the inputs are described in docs/action.md")
        .during("reading the inputs"))
}

/// The spec of the checked-out commit, in its checkout.
async fn load(
    github: &Github,
    environment: &Environment,
    spec: &SpecArguments,
) -> Result<Project, AppError> {
    let tree_of = async |commit: &str| Ok(github.tree(commit).await?);
    let loaded = Project::load_commit(spec, &environment.sha, tree_of).await;
    loaded.map_err(|error| error.during("reading the spec"))
}

/// By the input, else by the spec.
fn strictness(inputs: &Inputs, project: &Project) -> Strictness {
    Strictness {
        strict: inputs.strict.unwrap_or(project.spec.strict),
        on_inconclusive: inputs
            .on_inconclusive
            .unwrap_or(project.spec.on_inconclusive),
    }
}

/// Notes on how the change was found.
fn notes(
    inputs: &Inputs,
    project: &Project,
    change: &Change,
    affected: &[AffectedJob<'_>],
) -> Result<Vec<String>, AppError> {
    let mut notes = Vec::new();
    if let Change::Everything { why } = change {
        notes.push(format!("every job counts as changed: {why}"));
    }
    if affected.is_empty() {
        idle_globs::warn_of_idle_globs(project)?;
        notes.push(changed_files::nothing_affected(change, &inputs.jobs));
    }
    Ok(notes)
}

/// Refuses local canaries: the image has nothing to run training code with.
fn refuse_local(project: &Project, affected: &[AffectedJob<'_>]) -> Result<(), AppError> {
    if !project.traits().runs_here || affected.is_empty() {
        return Ok(());
    }
    Err(AppError::usage("the action's image cannot run local canaries: it holds this program and nothing else")
        .help("run the release binary in a step of its own, `canary-gate run --output part.json`, and then this action with `report-from: part.json`; see docs/action.md")
        .during("choosing the backend"))
}

/// The result for a fork's pull request: nothing is run and nothing is spent.
fn from_fork(trigger: &Trigger, inputs: &Inputs) -> Checked {
    if inputs.on_fork == OnFork::Pass {
        return nothing_run(trigger.how_to_run_a_fork());
    }
    let mut checked = nothing_run(trigger.how_to_run_a_fork());
    let refused = AppError::failed(
        "this pull request comes from a fork, whose code is not run by itself, and `on-fork: fail` asks for a failure",
    )
    .during("choosing whose code is run");
    checked.report.failures = vec![refused.failure(None)];
    checked.report.verdict = Verdict::Unknown;
    checked.report.exit_code = exit::UNKNOWN;
    checked
}

/// A result in which no job was looked at, and why.
fn nothing_run(why: String) -> Checked {
    let strictness = Strictness {
        strict: false,
        on_inconclusive: OnInconclusive::Fail,
    };
    let report = whole_report::report(Vec::new(), vec![why], strictness, jiff::Timestamp::now());
    Checked::without_canaries(report, None)
}

/// `command: sweep`: stops what dead runs left, by the checked-out spec.
async fn sweep_all(trigger: &Trigger, inputs: &Inputs) -> Result<Checked, AppError> {
    if trigger.pull_request().is_some() {
        return Err(AppError::usage(
            "a sweep uses the checked-out spec, which a pull request must not choose",
        )
        .help("run it on a schedule, as examples/workflows/sweep.yml does")
        .during("reading the event"));
    }
    let arguments = SpecArguments {
        spec: inputs.spec.as_ref().map(PathBuf::from),
    };
    let mut project = Project::load(&arguments)?;
    project.region_flag.clone_from(&inputs.aws_region);
    project.role_to_assume.clone_from(&inputs.role_to_assume);
    let now = Sweep::Expired(jiff::Timestamp::now());
    let code = sweep::of(&project, &now, Sweeping::ForReal).await?;
    let strictness = strictness(inputs, &project);
    let note = "Stopped and removed what dead runs of the gate left; the log lists it.".to_owned();
    let mut report =
        whole_report::report(Vec::new(), vec![note], strictness, jiff::Timestamp::now());
    report.exit_code = code;
    Ok(Checked::without_canaries(report, None))
}
