//! `run`: the gate. Change -> plan -> canaries -> forecast -> verdict -> report.

use crate::backend::sagemaker::ReusePolicy;
use crate::backend::{Backend, Cancellation};
use crate::change::AffectedJob;
use crate::cli::{Inconclusive, RunArguments, VerdictArguments};
use crate::exit::{self, Strictness};
use crate::forecast::scale_out::DataLayout;
use crate::plan::{self, Alternatives, PlanError};
use crate::report::{JobReport, Report};
use crate::spec::{OnInconclusive, Spec};
use crate::verdict::Verdict;

use super::actuals::LAST_REPORT;
use super::backend::AnyBackend;
use super::canaries::Runner;
use super::files::{self, Outputs};
use super::gate_run::GateRun;
use super::judge::{self, JobInput};
use super::progress::Progress;
use super::project::Project;
use super::store::{OwnFile, Store};
use super::{
    AppError, Loudness, change, measure, policy, printable, report, say, signals, validate,
};

/// Stands for a job's name where the whole run of the gate failed; no job has an empty one.
const GATE: &str = "";

pub(super) async fn run(arguments: &RunArguments, loudness: Loudness) -> Result<u8, AppError> {
    let mut project = Project::load(&arguments.spec)?;
    change::refuse_another_head(&arguments.change, &project)?;
    let base = policy::base_of(&project, &arguments.spec, &arguments.change)?;
    policy::settle(&mut project, base, arguments.policy.max_spend)?;
    let written = || {
        arguments
            .output
            .outputs
            .iter()
            .chain(&arguments.measurements)
    };
    let change = change::change(&arguments.change, &project)?.without(&project.relative(written()));
    let affected = change::select(&arguments.change, &project, &change)?;
    project.refuse_not_yet(
        &affected
            .iter()
            .map(|affected| affected.job)
            .collect::<Vec<_>>(),
    )?;
    project.refuse_to_write_over_the_recording(written())?;
    let outputs = Outputs::prepare(&arguments.output.outputs, &project.root)?;
    let strictness = strictness(&arguments.verdict, &project.spec);
    if let Some(report) = policy::undecidable_report(&project, &affected, strictness) {
        report::publish(&report, arguments.output.format, &outputs)?;
        return Ok(report.exit_code);
    }
    let gate_run = GateRun::begin(&project)?;
    let tags = gate_run.tags(if arguments.fresh {
        ReusePolicy::Own
    } else {
        ReusePolicy::Young
    });
    let backend = AnyBackend::of(&project, &arguments.pass_env, tags).await?;
    let own_report = project.state_folder().join(LAST_REPORT);
    let mut store = Store::open(
        &project,
        OwnFile::Canaries,
        arguments.measurements.as_deref(),
    )?;
    files::check_target(&own_report, &project.root)?;
    project.warn(loudness);

    let interruption = signals::watch()?;
    let cancellation = interruption.cancellation.clone();
    let progress = Progress::new(loudness);
    let mut runner = Runner {
        backend: &backend,
        store: &mut store,
        progress: &progress,
        cancellation: &cancellation,
    };
    // After a second signal none of this comes to its end, and the next start finds what is left.
    let work = async {
        let gated = gate_all(&project, &affected, arguments, &mut runner).await;
        let finished = backend.finish(&cancellation).await;
        match &finished {
            Ok(()) => gate_run.end(),
            // After a signal nobody reads the report.
            Err(error) if cancellation.is_cancelled() => say(&printable(&error.what)),
            Err(_) => {}
        }
        gated.map(|gated| (gated, finished))
    };
    let gated = interruption.unless_impatient(work, &progress).await;
    store.finish()?;
    let ((jobs, mut failures), finished) = gated?;
    if let Err(error) = finished {
        failures.push((GATE, error.into()));
    }

    let mut notes: Vec<String> = change::note(&change, &arguments.change)
        .into_iter()
        .collect();
    if affected.is_empty() {
        // A typing error there is the likeliest reason.
        validate::warn_of_idle_globs(&project)?;
        notes.push(change::nothing_affected(&change, &arguments.change));
    }
    for (name, _) in &failures {
        notes.push(match *name {
            GATE => "training jobs may be left running; standard error says which".to_owned(),
            name => format!("job {name} could not be checked; standard error says why"),
        });
    }
    let mut report = assemble(&project, jobs, notes, strictness);
    let failed = one_error(failures);
    if let Some(error) = &failed {
        report.exit_code = exit::worst(&[report.exit_code, error.code()]);
    }
    // Whoever reads standard output has the report even if a file of it cannot be written.
    let mut written = report::publish(&report, arguments.output.format, &outputs);
    if !report.jobs.is_empty() {
        let json = crate::report::to_json(&report);
        written = written.and(files::write_new(
            &own_report,
            json.as_bytes(),
            &project.root,
        ));
    }
    let Some(error) = failed else {
        return written.map(|()| report.exit_code);
    };
    // Two troubles are both said; the job's is the command's own.
    if let Err(unwritten) = written {
        say(unwritten.render(false).trim_end());
    }
    Err(error.ending_with(report.exit_code))
}

/// Each affected job's part of the report. A job that cannot be checked does not keep the others from it.
async fn gate_all<'a>(
    project: &Project,
    affected: &[AffectedJob<'a>],
    arguments: &RunArguments,
    runner: &mut Runner<'_, AnyBackend>,
) -> Result<(Vec<JobReport>, Vec<(&'a str, AppError)>), AppError> {
    let mut jobs = Vec::new();
    let mut failures = Vec::new();
    for affected in affected {
        match gate(project, affected, arguments, runner).await {
            Ok((report, failure)) => {
                jobs.push(report);
                failures.extend(failure.map(|error| (affected.job.name.as_str(), error)));
            }
            // Nobody can mend it today, so it is the job's outcome.
            Err(error) if error.is_passing() => {
                say(error.render(false).trim_end());
                let notes = project.ignored_not_yet(affected.job);
                let reason = error.in_a_line();
                jobs.push(judge::unknown_report(
                    affected.job,
                    &affected.by,
                    &reason,
                    notes,
                ));
            }
            Err(error) => failures.push((affected.job.name.as_str(), error)),
        }
        if runner.cancellation.is_cancelled() {
            break;
        }
    }
    Ok((jobs, failures))
}

/// The last of the failures as the command's own, after the others were printed.
fn one_error(failures: Vec<(&str, AppError)>) -> Option<AppError> {
    let mut errors = failures
        .into_iter()
        .map(|(name, error)| match name {
            GATE => error,
            name => error.of_job(name),
        })
        .collect::<Vec<_>>();
    let last = errors.pop();
    for error in errors {
        say(error.render(false).trim_end());
    }
    last
}

/// One job from its data to its part of the report, and what ended it before its time if a person must mend that.
async fn gate(
    project: &Project,
    affected: &AffectedJob<'_>,
    arguments: &RunArguments,
    runner: &mut Runner<'_, AnyBackend>,
) -> Result<(JobReport, Option<AppError>), AppError> {
    let job = affected.job;
    let looking = async {
        runner.backend.preflight(project, job).await?;
        runner.backend.list(job).await
    };
    let dataset = unless_cancelled(looking, runner.cancellation).await??;
    let alternatives = if arguments.only_instance {
        Alternatives::Skip
    } else {
        Alternatives::Measure
    };
    let price_of = |instance: &_| project.price(instance);
    let mut plan = match plan::plan(job, &dataset, &price_of, alternatives) {
        Ok(plan) => plan,
        Err(PlanError::Unknown(reason)) => {
            let notes = project.ignored_not_yet(job);
            let report = judge::unknown_report(job, &affected.by, &reason, notes);
            return Ok((report, None));
        }
        Err(error) => return Err(unplannable(&error)),
    };
    let preparing = runner.backend.prepare(project, job, &dataset, &mut plan);
    unless_cancelled(preparing, runner.cancellation).await??;
    let mut measured = measure::measure(project, &mut plan, job, &dataset, runner).await;
    let failure = measured.failure.take();
    if measured.measurements.is_empty()
        && let Some(error) = failure
    {
        return Err(error);
    }
    let mut notes = runner.backend.notes(job);
    notes.extend(plan.notes.iter().cloned());
    notes.extend(project.ignored_not_yet(job));
    let mut report = judge::job_report(&JobInput {
        name: &job.name,
        instance: &job.instance,
        budget: &job.budget,
        affected_by: &affected.by,
        alternatives: plan.outcomes(),
        measurements: &measured.measurements,
        worst_case: plan.total_worst_case(),
        capacity_of: &|kind| runner.backend.capacity(kind),
        price_of: &price_of,
        layout: DataLayout::of(job, runner.backend.knows_bytes(job).then_some(&dataset)),
        is_allowed: &project.spec.allowed(),
        notes,
    });
    // Also without a written budget: what the canaries were to tell cannot be told.
    if let Some(reason) = measured.broke_off
        && matches!(report.verdict, Verdict::NotJudged | Verdict::Unknown)
    {
        report.verdict = Verdict::Unknown;
        if let Some(instance) = report.forecasts.first_mut() {
            instance.verdict = Verdict::Unknown;
        }
        report.notes.retain(|note| *note != reason);
        report.reason = reason;
    }
    // That a person must mend something is the command's own error; the job is not judged by it.
    if failure.is_some() && report.verdict == Verdict::Unknown {
        report.verdict = Verdict::NotJudged;
        if let Some(instance) = report.forecasts.first_mut() {
            instance.verdict = Verdict::NotJudged;
        }
    }
    Ok((report, failure))
}

/// Does what may be dropped half-way, unless a signal comes; that ends the run in words of its own.
async fn unless_cancelled<T>(
    work: impl Future<Output = T>,
    cancellation: &Cancellation,
) -> Result<T, AppError> {
    tokio::select! {
        done = work => Ok(done),
        () = cancellation.cancelled() => Err(AppError::failed("interrupted before the first canary")),
    }
}

/// Data that cannot be sampled is for a person to mend.
pub(super) fn unplannable(error: &PlanError) -> AppError {
    AppError::failed(error.to_string()).help(match error {
        PlanError::OneObject { .. } => {
            "split the data into partition files, 100 or more; a canary draws whole files"
        }
        PlanError::NothingSampled { .. } => {
            "take `sample: false` off the channel that holds the training data"
        }
        PlanError::Unknown(_) => "see the plan with `canary-gate plan`",
    })
}

/// Flag, then spec.
pub(super) fn strictness(arguments: &VerdictArguments, spec: &Spec) -> Strictness {
    Strictness {
        strict: arguments.strict || spec.strict,
        on_inconclusive: match arguments.on_inconclusive {
            Some(Inconclusive::Fail) => OnInconclusive::Fail,
            Some(Inconclusive::Pass) => OnInconclusive::Pass,
            None => spec.on_inconclusive,
        },
    }
}

/// The report over all jobs.
pub(super) fn assemble(
    project: &Project,
    mut jobs: Vec<JobReport>,
    notes: Vec<String>,
    strictness: Strictness,
) -> Report {
    for job in &mut jobs {
        let of_policy = project.policy.notes_of(&job.name);
        job.notes.extend(of_policy.iter().cloned());
    }
    let of_policy = project.policy.notes.iter().cloned();
    let notes = of_policy.chain(notes).collect();
    let commit = project
        .checkout
        .as_ref()
        .and_then(crate::git::Checkout::commit);
    let mut report = judge::report(jobs, notes, strictness, jiff::Timestamp::now());
    report.policy = Some(project.policy.source());
    report.commit = commit;
    report.spec_hash = Some(project.spec.hash.clone());
    report
}
