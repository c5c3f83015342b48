//! `action`: what the GitHub Action starts. Event -> change -> policy -> gate -> comment, and the check fails last.
//!
//! The image holds neither git nor Python: files, changes and the base's spec come from GitHub's API, and canaries run on
//! SageMaker or are replayed.

mod acceptance;
mod annotations;
mod parts;
mod post_step;
mod publisher;
mod step_files;
mod tracking;
mod trigger;
mod workspace_owner;

use std::path::{Path, PathBuf};

use crate::assess::whole_report;
use crate::backend::Reuse;
use crate::backend::RunPart;
use crate::backend::sagemaker::Sweep;
use crate::change::{AffectedJob, Change};
use crate::cli::SpecArguments;
use crate::commands::drift;
use crate::commands::run::{Checked, RunRequest};
use crate::commands::sweep::{self, Sweeping};
use crate::console::signals::{self, Interruption};
use crate::console::{AppError, Loudness};
use crate::exit::{self, Strictness};
use crate::gate::GateFailure;
use crate::gate::backend;
use crate::gate::run_report;
use crate::github::client::{Github, Settings};
use crate::github::environment::Environment;
use crate::github::event::GithubEvent;
use crate::github::inputs::{ActionCommand, InputError, Inputs, IssuePolicy, OnFork};
use crate::history::record::Command;
use crate::spec::OnInconclusive;
use crate::verdict::Verdict;
use crate::workspace::base_policy;
use crate::workspace::checkout::Checkout;
use crate::workspace::project::Project;
use crate::workspace::run_origin::RunOrigin;
use crate::workspace::written_spec;
use acceptance::LabelRequest;
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
    let checked = check(
        &mut publisher,
        &mut asked,
        &variable,
        interruption,
        loudness,
    );
    let mut checked = checked.await;
    if let (Some(asked), Ok(checked)) = (&asked, &mut checked) {
        publisher.shown = asked.apply(&publisher.environment, checked).await;
    }
    Ok(publisher.publish(checked).await)
}

/// The result of the preparation.
enum Prepared {
    /// What `run` would be asked for, and the project at hand.
    Ready(Box<(Project, RunRequest<'static>, Github)>),
    /// There is nothing to run.
    Done(Box<Checked>),
}

/// The story up to the report. `publisher` learns where to report as soon as that is known.
async fn check(
    publisher: &mut Publisher,
    asked: &mut Option<LabelRequest>,
    variable: &dyn Fn(&str) -> Option<String>,
    mut interruption: Interruption,
    loudness: Loudness,
) -> Result<Checked, GateFailure> {
    let (inputs, wrong) = Inputs::read(variable);
    let prepared = prepare(publisher, asked, &inputs, &wrong, variable);
    let (project, request, github) = match interruption.unless_interrupted(prepared).await?? {
        Prepared::Ready(ready) => *ready,
        Prepared::Done(checked) => return Ok(*checked),
    };
    let is_of_parts = is_of_parts(&inputs);
    let is_drift = inputs.command == ActionCommand::Drift && !is_of_parts;
    if is_drift {
        drift::refuse_another_place(&request.origin)?;
    }
    let request = RunRequest {
        jobs: &inputs.jobs,
        ..request
    };
    let is_detached = request.part == RunPart::Detach;
    let mut is_accepted = false;
    let issue = (is_drift && inputs.issue == IssuePolicy::Update).then(|| publisher.issue(&inputs));
    let before = async |request: &RunRequest<'_>,
                        project: &Project,
                        affected: &[AffectedJob<'_>]| {
        if is_of_parts {
            let report = parts::report(request, project, affected, &inputs.report_from);
            return report.await.map(Some);
        }
        refuse_local(project, affected)?;
        if inputs.accept {
            let accepted = drift::accept(project, affected, &request.origin).await?;
            is_accepted = accepted.len() == affected.len();
            let report = run_report::assemble(project, Vec::new(), accepted, request.strictness);
            return Ok(Some(report));
        }
        // Who collects starts nothing that the post step would have to stop.
        if request.part != RunPart::Collect {
            publisher.begin(request, project, affected).await;
        }
        Ok(None)
    };
    let checked = request.check(project, interruption, loudness, before);
    let mut checked = checked.await?;
    let is_undecidable = |project: &Project| project.policy.undecidable.is_some();
    publisher.is_pending = is_detached && !checked.project.as_ref().is_some_and(is_undecidable);
    match &issue {
        Some(marker) if is_accepted => tracking::close(&github, marker, &mut checked).await,
        Some(marker) if !inputs.accept => tracking::track(&github, marker, &mut checked).await,
        _ => {}
    }
    Ok(checked)
}

/// Whether the report is made of parts that other jobs wrote.
fn is_of_parts(inputs: &Inputs) -> bool {
    !inputs.report_from.is_empty() || inputs.command == ActionCommand::Report
}

/// Reads event, files, change and policy: everything that comes from GitHub.
async fn prepare(
    publisher: &mut Publisher,
    asked: &mut Option<LabelRequest>,
    inputs: &Inputs,
    wrong: &[InputError],
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<Prepared, AppError> {
    let done = |checked| Ok(Prepared::Done(Box::new(checked)));
    publisher.on_inconclusive = inputs.on_inconclusive;
    let event = trigger::read_event(&publisher.environment)?;
    if let (GithubEvent::NothingToMeasure { why }, None) = (&event, inputs.pull_request)
        && matches!(
            inputs.command,
            ActionCommand::Run | ActionCommand::Detach | ActionCommand::Collect
        )
        && wrong.is_empty()
    {
        return done(nothing_run(format!("Nothing was measured: {why}.")));
    }
    let known = async {
        let github = client(&publisher.environment, inputs)?;
        let trigger = Trigger::of(&github, event, inputs).await?;
        Ok::<_, AppError>((github, trigger))
    };
    let known = known.await;
    // A wrong input is reported in the comment too, if there is one.
    if let Ok((github, trigger)) = &known {
        publisher.comment_on(github, trigger, inputs);
    }
    refuse_wrong(wrong)?;
    let (github, trigger) = known?;
    if inputs.command == ActionCommand::Sweep {
        return done(sweep_all(&trigger, inputs).await?);
    }
    refuse_drift_of_a_change(&trigger, inputs)?;
    if trigger.is_from_fork(&publisher.environment.repository) {
        return done(from_fork(&trigger, inputs));
    }
    let spec = SpecArguments {
        spec: inputs.spec.as_ref().map(PathBuf::from),
    };
    if !written_spec::is_there(&spec) {
        let error = trigger.missing_spec(&github, &spec).await?;
        return Err(error.during("reading the spec"));
    }
    let tree_of = async |commit: &str| Ok(github.tree(commit).await?);
    let loaded = Project::load_commit(&spec, &publisher.environment.sha, tree_of).await;
    let mut project = loaded.map_err(|error| error.during("reading the spec"))?;
    project.region_flag.clone_from(&inputs.aws_region);
    project.role_to_assume.clone_from(&inputs.role_to_assume);
    publisher.about(&project);
    trigger.refuse_another_commit(&github, &project).await?;
    publisher.set_status_on(&github, &trigger, inputs);
    let base = trigger.base(&github, &project, &spec).await?;
    if let Some(path) = &inputs.template {
        publisher.template = trigger.template(&github, path).await?;
    }
    let left_from = trigger.left_from(&github, &project).await?;
    let is_drift = inputs.command == ActionCommand::Drift;
    let change = match is_drift {
        true => None,
        false => {
            let change = trigger.change(&github, &project, left_from.as_ref());
            Some(change.await?)
        }
    };
    let base_commit = Trigger::base_commit(&github, &project, &spec, left_from).await?;
    base_policy::apply(&mut project, base, inputs.max_spend)?;
    let strictness = strictness(inputs, &project);
    publisher.on_inconclusive = Some(strictness.on_inconclusive);
    *asked = trigger.of_itself().map(|pull_request| LabelRequest {
        github: github.clone(),
        pull_request: pull_request.clone(),
        strictness,
        subject: publisher.subject(inputs),
    });
    let origin = origin(&trigger, &project, inputs, variable);
    let mut notes = Vec::new();
    let request = match change {
        None => RunRequest::drift(origin, strictness),
        Some(change) => {
            if let Change::Everything { why } = &change {
                notes.push(format!("every job counts as changed: {why}"));
            }
            RunRequest::new(change, origin, strictness)
        }
    };
    let base = base_commit.and_then(|found| found.map_err(|why| notes.push(why)).ok());
    let request = RunRequest {
        part: match inputs.command {
            ActionCommand::Detach if !is_of_parts(inputs) => RunPart::Detach,
            ActionCommand::Collect if !is_of_parts(inputs) => RunPart::Collect,
            _ => RunPart::Whole,
        },
        reuse: match inputs.fresh {
            true => Reuse::Never,
            false => request.reuse,
        },
        max_spend: inputs.max_spend,
        max_spend_per_pull_request: inputs.max_spend_per_pull_request,
        base,
        notes,
        ..request
    };
    Ok(Prepared::Ready(Box::new((project, request, github))))
}

/// The client of the repository's API.
fn client(environment: &Environment, inputs: &Inputs) -> Result<Github, AppError> {
    let Some(token) = &inputs.token else {
        return Err(AppError::usage("the input `github-token` is empty")
            .help("leave it out: its default is the workflow's own token, `${{ github.token }}`")
            .during("reading the inputs"));
    };
    let settings = Settings {
        api_url: &environment.api_url,
        graphql_url: &environment.graphql_url,
        repository: &environment.repository,
        token,
        pace: backend::pace()?,
    };
    Ok(Github::new(settings)?)
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

/// By the input, else by the spec.
fn strictness(inputs: &Inputs, project: &Project) -> Strictness {
    Strictness {
        strict: inputs.strict.unwrap_or(project.spec.strict),
        on_inconclusive: inputs
            .on_inconclusive
            .unwrap_or(project.spec.on_inconclusive),
    }
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
    Checked::of_nothing(report)
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
    Ok(Checked::of_nothing(report))
}
