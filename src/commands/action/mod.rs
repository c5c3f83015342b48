//! `action`: what the GitHub Action starts. Event -> change -> policy -> gate -> comment, and the check fails last.
//!
//! The image holds neither git nor Python: files, changes and the base's spec come from GitHub's API, and canaries run on
//! SageMaker or are replayed.

mod acceptance;
mod inputs;
mod parts;
mod post_step;
mod published;
mod publisher;
mod specs;
mod step_files;
mod trigger;
mod workspace_owner;

use std::ops::ControlFlow;
use std::path::Path;

use crate::assess::whole_report;
use crate::backend::sagemaker::Sweep;
use crate::backend::{Reuse, RunPart};
use crate::change::{AffectedJob, Change};
use crate::cli::{Inconclusive, SpecArguments};
use crate::commands::drift;
use crate::commands::run::{Checked, RunRequest};
use crate::commands::sweep::{self, Sweeping};
use crate::console::signals::{self, Interruption};
use crate::console::{AppError, AppResult, Loudness, StepResult, printable, say};
use crate::exit::{self, Strictness};
use crate::gate::{GateFailure, outcome};
use crate::github::{Environment, Github};
use crate::grammar::count;
use crate::history::Command;
use crate::report::DOCUMENTS;
use crate::workspace::environment::pace;
use crate::workspace::{Checkout, Project, RunOrigin, base_policy, checkout, written_spec};
use inputs::{ActionCommand, Inputs, Upkeep, is_pattern};
use post_step::Stage;
use published::PublishedSpec;
use publisher::Publisher;
use specs::Specs;
use trigger::Trigger;

/// The most specs of a pull request that one step publishes: each is a comment and a check, brought up to date, and GitHub takes 500
/// writings an hour (<https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api>).
const MOST_SPECS: usize = 100;

/// What a variable says. A value that is not text is an error, not an empty value.
fn variable(name: &str) -> Option<String> {
    Some(std::env::var_os(name)?.to_string_lossy().into_owned())
}

pub(super) async fn action(loudness: Loudness) -> AppResult<u8> {
    let stage = Stage::of(std::env::args_os().next().as_deref(), &variable);
    if matches!(&stage, Stage::Post(left) if left.is_empty()) {
        return Ok(0);
    }
    let environment = Environment::read(&variable).or_fail(|| {
        AppError::usage("this is no step of a GitHub workflow")
            .help("`canary-gate action` runs only inside the GitHub Action; elsewhere use `canary-gate run`")
    })?;
    workspace_owner::become_owner(Path::new("."));
    let (inputs, wrong) = Inputs::read(&variable);
    if let Stage::Post(left) = stage {
        post_step::run(&environment, &left, &inputs).await;
        return Ok(0);
    }
    let mut publisher = Publisher::open(environment, &inputs);
    let mut published = Vec::new();
    let all = each_spec(&mut publisher, &mut published, &wrong, loudness);
    if let Some(checked) = all.await.transpose() {
        published.push(publisher.publish(checked).await);
    }
    Ok(publisher.end(&published))
}

/// Checks one spec after another, and publishes what is found of each that the change touches. What is to be said beside or in place
/// of it; `None` where one spec was to be checked, and was.
async fn each_spec(
    publisher: &mut Publisher<'_>,
    published: &mut Vec<PublishedSpec>,
    wrong: &[String],
    loudness: Loudness,
) -> Result<Option<Checked>, GateFailure> {
    // First of all: the first process of a container ignores a signal that it does not listen for.
    let mut interruption = signals::watch()?;
    let begun = begin(publisher, wrong);
    let step = match interruption.unless_interrupted(begun).await?? {
        ControlFlow::Continue(step) => step,
        ControlFlow::Break(checked) => return Ok(Some(checked)),
    };
    let SharedStep(trigger, specs) = &step;
    let mut looked_at = 0;
    for spec in &specs.all {
        // The next one hears the signals of this one's time too.
        let heard = std::mem::replace(&mut interruption, signals::watch()?);
        let mut own = match &spec.spec {
            Some(spec) if specs.are_many => publisher.of(&spec.to_string_lossy()),
            _ => publisher.clone(),
        };
        let is_beyond = published.len() == MOST_SPECS && trigger.pull_request().is_some();
        let checked = match is_beyond {
            true => Err(beyond_the_most(&mut own, trigger).into()),
            false => check(&mut own, &step, spec, heard, loudness).await,
        };
        let Some(checked) = checked.transpose() else {
            continue;
        };
        if specs.are_many {
            say(&format!("spec {}:", printable(&own.subject)));
        }
        let one = own.publish(checked).await;
        specs.spend(&one.checked);
        let code = one.checked.report.exit_code;
        published.push(one);
        looked_at += usize::from(!is_beyond);
        publisher.so_far.commit = own.so_far.commit;
        if is_beyond || exit::is_interruption(code) {
            break;
        }
    }
    if !specs.are_many {
        return Ok(None);
    }
    publisher.is_sum = !published.is_empty();
    (publisher.comment).take_if(|_| !specs.commented.contains(&publisher.subject));
    Ok(Some(sum_of(published, looked_at, specs.all.len())))
}

/// Of the first spec that is not looked at.
fn beyond_the_most(publisher: &mut Publisher<'_>, trigger: &Trigger) -> AppError {
    publisher.comment_on(trigger);
    AppError::usage(format!("{MOST_SPECS} specs were looked at, the most of one step, and neither this one nor those after it"))
        .help("split `spec` over several steps, or the change over several pull requests")
        .during("looking for specs")
}

/// What was found of several specs as one report, in which jobs are known by their specs too.
fn sum_of(published: &[PublishedSpec], looked_at: usize, all: usize) -> Checked {
    let touched = count(looked_at, "spec");
    let mut sum = nothing_run(vec![format!("{touched} of {all} looked at.")]);
    let report = &mut sum.report;
    for one in published {
        let (subject, mut found) = (&one.subject, one.checked.report.clone());
        for job in &mut found.jobs {
            job.name = format!("{subject}: {}", job.name);
        }
        for failure in &mut found.failures {
            let job = failure.job.iter().map(|job| format!(": {job}"));
            failure.job = Some(std::iter::once(subject.clone()).chain(job).collect());
        }
        report.verdict = report.verdict.min(found.verdict);
        report.jobs.append(&mut found.jobs);
        report.failures.append(&mut found.failures);
    }
    sum.is_pending = published.iter().any(|one| one.checked.is_pending);
    let codes = published.iter().map(|one| one.checked.report.exit_code);
    report.exit_code = exit::worst(&Vec::from_iter(codes));
    sum
}

/// What all specs of a step have in common.
struct SharedStep(Trigger, Specs);

/// The story of one spec up to the report; `None` where it is one of many that the change does not touch. `publisher` learns where to
/// report as soon as that is known.
async fn check(
    publisher: &mut Publisher<'_>,
    step: &SharedStep,
    spec: &SpecArguments,
    mut interruption: Interruption,
    loudness: Loudness,
) -> Result<Option<Checked>, GateFailure> {
    let inputs = publisher.inputs;
    let prepared = prepare(publisher, step, spec);
    let (project, request) = match interruption.unless_interrupted(prepared).await?? {
        ControlFlow::Continue(ready) => ready,
        ControlFlow::Break(checked) => return Ok(checked),
    };
    let is_tracked = inputs.command == ActionCommand::Drift && inputs.issue == Upkeep::Update;
    let issue = is_tracked.then(|| publisher.issue());
    let mut is_accepted = false;
    let before =
        async |request: &RunRequest<'_>, project: &Project, affected: &[AffectedJob<'_>]| {
            if inputs.command == ActionCommand::Report {
                let report = parts::report(request, project, affected, &inputs.report_from);
                return report.await.map(Some);
            }
            refuse_local(project, affected)?;
            if inputs.accept {
                let accepted = drift::accept(project, affected, &request.origin).await?;
                is_accepted = accepted.len() == affected.len();
                let report = outcome::assemble(project, Vec::new(), accepted, request.strictness);
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
    if inputs.command != ActionCommand::Report {
        inputs::name_in(&mut checked.report);
    }
    if let Some(issue) = issue.filter(|_| is_accepted || !inputs.accept) {
        published::track_issue(&step.0.github, &issue, &mut checked, is_accepted).await;
    }
    Ok(Some(checked))
}

/// Reads the event and looks for the specs, or has the result where there is nothing to look at.
async fn begin(
    publisher: &mut Publisher<'_>,
    wrong: &[String],
) -> AppResult<ControlFlow<Checked, SharedStep>> {
    let inputs = publisher.inputs;
    let event = trigger::read_event(&publisher.environment)?;
    let known = async {
        let github = client(&publisher.environment, inputs)?;
        Trigger::of(github, event, inputs.pull_request).await
    };
    let known = known.await;
    // A wrong input is reported in the comment too, if there is one.
    if let Ok(trigger) = &known {
        publisher.comment_on(trigger);
    }
    if !wrong.is_empty() {
        return Err(AppError::usage(wrong.join("; "))
            .help(format!("correct it under `with` of the step; the inputs are described in {DOCUMENTS}docs/action.md#inputs-and-outputs"))
            .during("reading the inputs"));
    }
    let trigger = known?;
    let is_of_change = matches!(
        inputs.command,
        ActionCommand::Run | ActionCommand::Detach | ActionCommand::Collect
    );
    if let Some(why) = trigger.nothing_to_measure().filter(|_| is_of_change) {
        let why = format!("Nothing was measured: {why}.");
        return Ok(ControlFlow::Break(nothing_run(vec![why])));
    }
    let unfit = match inputs.command {
        ActionCommand::Sweep => Some((
            "a sweep uses the checked-out spec, which a pull request must not choose",
            format!("run it on a schedule, as {DOCUMENTS}examples/workflows/sweep.yml does"),
        )),
        ActionCommand::Drift => Some((
            "drift is checked on a branch, not on a pull request",
            format!(
                "run it on a schedule, as {DOCUMENTS}examples/workflows/drift.yml does; `command: run` reports what a pull request changes"
            ),
        )),
        _ => None,
    };
    if let Some((why, help)) = unfit.filter(|_| trigger.pull_request().is_some()) {
        return Err(AppError::usage(why).help(help).during("reading the event"));
    }
    if trigger.is_from_fork(&publisher.environment.repository) {
        return Ok(ControlFlow::Break(from_fork(&trigger, inputs)));
    }
    let specs = Specs::find(&trigger, inputs, &publisher.environment.sha).await?;
    if specs.are_many {
        // Of a pull request that an input names, only now is it known which.
        if let Some(one) = trigger.pull_request() {
            publisher.check_on(&trigger, &one.head.sha);
        }
        publisher.begin_sum().await;
    }
    Ok(ControlFlow::Continue(SharedStep(trigger, specs)))
}

/// Reads files, change and policy of a spec, everything that comes from GitHub: the project at hand and what `run` would be asked for,
/// or the result where there is nothing to run; `None` where the change does not touch it.
async fn prepare<'a>(
    publisher: &mut Publisher<'a>,
    step: &SharedStep,
    spec: &SpecArguments,
) -> AppResult<ControlFlow<Option<Checked>, (Project, RunRequest<'a>)>> {
    let (SharedStep(trigger, specs), inputs) = (step, publisher.inputs);
    let github = &trigger.github;
    publisher.comment_on(trigger);
    if inputs.command == ActionCommand::Sweep {
        return Ok(ControlFlow::Break(Some(sweep_all(spec, inputs).await?)));
    }
    if let Some(why) = specs.is_over(spec) {
        return Ok(ControlFlow::Break(Some(nothing_run(vec![why]))));
    }
    // Its check would have the name of that of all specs, and be green before that is.
    if specs.are_many && is_pattern(&publisher.subject) {
        return Err(AppError::usage(
            "the path of this spec has a letter of a pattern: `*`, `?`, `[` or `{`",
        )
        .help("rename the file or its folder")
        .during("reading the spec"));
    }
    let tree_of = async |commit: &str| Ok(github.tree(commit).await?);
    let loaded = match written_spec::is_there(spec) || Path::new(".git").exists() {
        true => Project::load_commit(spec, &publisher.environment.sha, tree_of).await,
        false => Err(trigger::no_checkout()),
    };
    let commit = match &loaded {
        Ok(project) => project.checkout.as_ref().and_then(Checkout::commit),
        Err(_) => checkout::checked_out_commit(Path::new(".")),
    };
    publisher.so_far.commit.clone_from(&commit);
    let commit = commit.as_deref();
    // A spec that cannot be read fails the check of the head too, if that is what is checked out.
    let is_head = trigger.refuse_another_commit(commit).await;
    if let Some(one) = trigger.pull_request().filter(|_| is_head.is_ok()) {
        publisher.head = Some(one.clone());
        publisher.check_on(trigger, &one.head.sha);
    }
    let mut project = loaded.during("reading the spec")?;
    is_head?;
    project.region_flag.clone_from(&inputs.aws_region);
    project.role_to_assume.clone_from(&inputs.role_to_assume);
    let mut places = base_policy::places(&project, spec);
    places.extend(specs.moved_from(&project.place.file)?);
    let base = trigger.base(commit).await?;
    let policy = match &base {
        Some(base) => Some(base.policy(github, &project, &places).await?),
        None => None,
    };
    if let Some(path) = &inputs.template {
        let template = trigger.template(base.as_ref(), path).await;
        publisher.template = template.during("reading the template")?;
    }
    let change = match inputs.command {
        ActionCommand::Drift => None,
        _ => Some(trigger.change(&project, base.as_ref()).await?),
    };
    let (max_spend, of_new_jobs) = specs.left(inputs.max_spend);
    base_policy::apply(&mut project, policy, Some(of_new_jobs)).await?;
    let is_shown = !specs.are_many || specs.commented.contains(&publisher.subject);
    let is_untouched = |change| specs::is_untouched(&project, change);
    if !is_shown && change.as_ref().is_some_and(is_untouched) {
        return Ok(ControlFlow::Break(None));
    }
    let mut notes = Vec::new();
    if let Some(Change::Everything { why }) = &change {
        notes.push(format!("every job counts as changed: {why}"));
    }
    let base = match base {
        Some(base) => {
            let commit = base.commit(github, &project, &places, &mut notes);
            commit.await?
        }
        None => None,
    };
    let on_inconclusive = inputs.on_inconclusive;
    let strictness = Strictness {
        strict: inputs.strict.unwrap_or(project.spec.strict),
        on_inconclusive: on_inconclusive.unwrap_or(project.spec.on_inconclusive),
    };
    publisher.strictness = strictness;
    let command = match change {
        None => Command::Drift,
        Some(_) => Command::Run,
    };
    let mut origin = RunOrigin::in_actions(&variable, commit, command);
    if let Some(one) = trigger.pull_request() {
        origin = origin.of_pull_request(one.number, &one.head.branch);
    }
    let request = match change {
        None => {
            drift::refuse_another_place(&origin)?;
            RunRequest::drift(origin, strictness)
        }
        Some(change) => RunRequest::new(change, origin, strictness),
    };
    let request = RunRequest {
        jobs: &inputs.jobs,
        part: match inputs.command {
            ActionCommand::Detach => RunPart::Detach,
            ActionCommand::Collect => RunPart::Collect,
            _ => RunPart::Whole,
        },
        reuse: match inputs.fresh {
            true => Reuse::Never,
            false => request.reuse,
        },
        max_spend,
        max_spend_per_pull_request: inputs.max_spend_per_pull_request,
        base,
        notes,
        ..request
    };
    Ok(ControlFlow::Continue((project, request)))
}

/// The client of the repository's API.
fn client(environment: &Environment, inputs: &Inputs) -> AppResult<Github> {
    let Some(token) = &inputs.token else {
        return Err(AppError::usage("the input `github-token` is empty")
            .help("leave it out: its default is the workflow's own token, `${{ github.token }}`")
            .during("reading the inputs"));
    };
    Ok(Github::new(environment, token, pace()?)?)
}

/// Refuses local canaries: the image has nothing to run training code with.
fn refuse_local(project: &Project, affected: &[AffectedJob<'_>]) -> AppResult<()> {
    if !project.traits().runs_here || affected.is_empty() {
        return Ok(());
    }
    Err(AppError::usage("the action's image cannot run local canaries: it holds this program and nothing else")
        .help(format!("run the release binary in a step of its own, `canary-gate run --output part.json`, and then this action with `report-from: part.json`; see {DOCUMENTS}docs/action.md"))
        .during("choosing the backend"))
}

/// The result for a fork's pull request: nothing is run and nothing is spent.
fn from_fork(trigger: &Trigger, inputs: &Inputs) -> Checked {
    let number = trigger.pull_request().map_or(0, |one| one.number);
    let note = format!(
        "This pull request comes from a fork, so nothing of it was run and nothing was spent. After reading its code, a maintainer runs the gate on it by the workflow_dispatch workflow with `pull-request: {number}` in a protected environment ({DOCUMENTS}docs/action.md, {DOCUMENTS}examples/workflows/fork.yml)."
    );
    if inputs.on_fork == Inconclusive::Pass {
        return nothing_run(vec![note]);
    }
    let refused = AppError::failed(
        "this pull request comes from a fork, whose code is not run by itself, and `on-fork: fail` asks for a failure",
    )
    .during("choosing whose code is run");
    Checked {
        report: outcome::failed_report(&refused, exit::UNKNOWN, vec![note]),
        ..Checked::default()
    }
}

/// A result in which no job was looked at, and why.
fn nothing_run(why: Vec<String>) -> Checked {
    let now = jiff::Timestamp::now();
    Checked {
        report: whole_report::report(Vec::new(), why, Strictness::default(), now),
        ..Checked::default()
    }
}

/// `command: sweep`: stops what dead runs left, by the checked-out spec.
async fn sweep_all(spec: &SpecArguments, inputs: &Inputs) -> AppResult<Checked> {
    let mut project = Project::as_it_stands(spec)?;
    project.region_flag.clone_from(&inputs.aws_region);
    project.role_to_assume.clone_from(&inputs.role_to_assume);
    let now = Sweep::Expired(jiff::Timestamp::now());
    let code = sweep::of(&project, &now, Sweeping::ForReal).await?;
    let note = "Stopped and removed what dead runs of the gate left; the log lists it.";
    let mut checked = nothing_run(vec![note.to_owned()]);
    checked.report.exit_code = code;
    Ok(checked)
}
