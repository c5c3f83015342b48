//! `drift`: every job measured anew and held against the checks before; or only the records of those.

use crate::assess::judge::{self, JobInput};
use crate::change::{AffectedJob, Change};
use crate::cli::DriftArguments;
use crate::commands::{report, run};
use crate::console::files::Outputs;
use crate::console::{AppError, Loudness, print, printable, signals};
use crate::exit::Strictness;
use crate::forecast::scale_out::DataLayout;
use crate::gate::job_keys::JobKeys;
use crate::gate::run_history::{RecordedForecast, RunHistory};
use crate::gate::runner::Reuse;
use crate::history::Scope;
use crate::history::record::{self, Command, Record};
use crate::instance::tables;
use crate::measurement::Measurement;
use crate::plan::Alternatives;
use crate::report::{InstanceForecast, JobReport, Report};
use crate::spec::Job;
use crate::units::UsdPerHour;
use crate::verdict::Verdict;
use crate::workspace::project::Project;
use crate::workspace::run_origin::RunOrigin;
use crate::workspace::{base_policy, changed_files};
use crate::{drift, gate};

pub(crate) async fn drift(arguments: &DriftArguments, loudness: Loudness) -> Result<u8, AppError> {
    let mut project = Project::load(&arguments.spec)?;
    base_policy::apply_overrides(&mut project);
    let everything = Change::Everything {
        why: "a check for drift looks at every job".to_owned(),
    };
    let jobs = changed_files::select_jobs(&arguments.jobs, &project, &everything)?;
    let origin = RunOrigin::of_environment(&project, Command::Drift);
    refuse_another_place(&origin)?;
    if arguments.accept {
        for line in accept(&project, &jobs, &origin).await? {
            print(&format!("{}\n", printable(&line)))?;
        }
        return Ok(0);
    }
    let outputs = Outputs::prepare(&arguments.output.outputs, &project.root)?;
    let strictness = run::strictness(&arguments.verdict, &project.spec);
    if arguments.from_history {
        let report = from_history(&project, &jobs, &origin, strictness).await?;
        report::publish(&report, arguments.output.format, &outputs)?;
        return Ok(report.exit_code);
    }
    project.refuse_not_yet(&jobs.iter().map(|one| one.job).collect::<Vec<_>>())?;
    project.refuse_to_write_over_the_recording(arguments.output.outputs.iter())?;
    let request = gate::GateRequest {
        affected: &jobs,
        alternatives: Alternatives::Skip,
        reuse: Reuse::Never,
        origin,
        base: None,
        measurements: None,
        pass_env: &arguments.pass_env,
    };
    let gated = gate::run(&project, &request, signals::watch()?, loudness).await?;
    let found = gated.report(&project, Vec::new(), strictness);
    gate::tell(found, &project, arguments.output.format, &outputs)
}

/// A check is of use where later ones find it: on the branch that a workflow runs for, and outside of Actions.
pub(crate) fn refuse_another_place(origin: &RunOrigin) -> Result<(), AppError> {
    if matches!(origin.scope, Scope::Main | Scope::Local) {
        return Ok(());
    }
    Err(AppError::usage(
        "a check for drift is of a branch as it stands, and this workflow run is none of it",
    )
    .help("run it on a schedule, a push or a workflow_dispatch, on the commit that the workflow was started for, as examples/workflows/drift.yml does")
    .during("reading the event"))
}

/// Holds what was just measured of a job against the checks before. Gives back whether this check is the baseline of those to
/// come: it is whole, and the first on the job's instance.
pub(crate) fn hold_against_earlier(
    job: &Job,
    earlier: &[RecordedForecast],
    commit: Option<String>,
    keys: &JobKeys,
    report: &mut JobReport,
    is_whole: bool,
) -> bool {
    let Some((baseline, found)) = earlier.first() else {
        if is_whole {
            not_judged(
                report,
                "the first check for drift; it is the baseline of those to come",
            );
        }
        return is_whole;
    };
    if let Some(row) = found.forecasts.first()
        && row.instance != job.instance
    {
        if is_whole {
            let reason = format!(
                "the first check for drift on {}, before it was {}; it is the baseline of those to come",
                job.instance, row.instance
            );
            not_judged(report, &reason);
        }
        return is_whole;
    }
    // What broke off, or whose training failed, is told as that.
    if !is_whole {
        return false;
    }
    report.notes.extend(what_else_differs(baseline, keys));
    let today = Check {
        at: jiff::Timestamp::now(),
        commit,
        measurements: of_instance(&report.measurements, report),
        price: report.forecasts.first().and_then(price_of_all),
    };
    let mut series: Vec<Check> = earlier.iter().map(Check::of).collect();
    series.push(today);
    add(job, &series, report);
    false
}

fn not_judged(report: &mut JobReport, reason: &str) {
    report.verdict = Verdict::NotJudged;
    report.reason = reason.to_owned();
    if let Some(row) = report.forecasts.first_mut() {
        row.verdict = Verdict::NotJudged;
    }
}

/// What tells whose a difference may be: whether the code is that of the baseline, and the machine.
fn what_else_differs(baseline: &Record, keys: &JobKeys) -> Vec<String> {
    let mut notes = Vec::new();
    let ours = keys.code.map(|key| key.to_string());
    if let (Some(theirs), Some(ours)) = (&baseline.code_key, &ours) {
        notes.push(match theirs == ours {
            true => "the code is the same as that of the baseline".to_owned(),
            false => "the code is another than that of the baseline".to_owned(),
        });
    }
    if let (Some(theirs), Some(ours)) = (&baseline.machine, &keys.machine)
        && theirs != ours
    {
        notes.push(format!(
            "the baseline was measured on another machine ({theirs}), so a difference may be the machine's"
        ));
    }
    notes
}

/// Adds what a series of checks says, of which the last is the report's own.
fn add(job: &Job, series: &[Check], report: &mut JobReport) {
    let series: Vec<drift::Record<'_>> = series.iter().map(Check::record).collect();
    match drift::check(&series, &job.drift, job.budget.certainty) {
        Ok(found) => {
            report.drift = found;
            if report.has_drifted() && report.verdict == Verdict::NotJudged {
                report.reason = "a full run takes more than the drift policy allows".to_owned();
            }
        }
        Err(unknown) => {
            report.verdict = report.verdict.min(Verdict::Unknown);
            report.reason = format!("whether it drifted cannot be told: {unknown}");
        }
    }
}

/// One check of a series.
struct Check {
    at: jiff::Timestamp,
    commit: Option<String>,
    /// On the configuration that the job trained on.
    measurements: Vec<Measurement>,
    /// Of all machines, at the time.
    price: Option<UsdPerHour>,
}

impl Check {
    fn of((record, found): &RecordedForecast) -> Self {
        let row = found.forecasts.first();
        let instance = row.map(|row| &row.instance);
        let runs = found.measurements.iter();
        Self {
            at: record.recorded_at,
            commit: record.commit.clone(),
            measurements: runs
                .filter(|run| Some(&run.instance) == instance)
                .cloned()
                .collect(),
            price: row.and_then(price_of_all),
        }
    }

    fn record(&self) -> drift::Record<'_> {
        drift::Record {
            at: self.at,
            commit: self.commit.as_deref(),
            measurements: &self.measurements,
            price: self.price,
        }
    }
}

/// What all machines of a configuration cost.
fn price_of_all(row: &InstanceForecast) -> Option<UsdPerHour> {
    let each = row.price.as_ref()?.usd_per_hour.0;
    Some(UsdPerHour(each * f64::from(row.instance.total_count())))
}

fn of_instance(measurements: &[Measurement], report: &JobReport) -> Vec<Measurement> {
    let runs = measurements.iter();
    runs.filter(|run| run.instance == report.instance)
        .cloned()
        .collect()
}

/// The newest check of each job held against those before, from the records alone.
async fn from_history(
    project: &Project,
    jobs: &[AffectedJob<'_>],
    origin: &RunOrigin,
    strictness: Strictness,
) -> Result<Report, AppError> {
    let history = RunHistory::open(project, origin).await?;
    let mut reports = Vec::new();
    let mut notes = Vec::new();
    for one in jobs {
        let job = one.job;
        history.look_up(&job.name).await?;
        let checks = history.checks(&job.name).await?;
        let Some((_, newest)) = checks.last() else {
            let branch = origin.writer.branch.as_ref();
            let branch = branch.map_or(String::new(), |branch| format!(" on branch {branch}"));
            notes.push(format!(
                "There is no check of {}{branch} in the history.",
                job.name
            ));
            continue;
        };
        let mut report = recorded_report(project, job, newest);
        if checks.len() > 1 {
            let series: Vec<Check> = checks.iter().map(Check::of).collect();
            add(job, &series, &mut report);
        } else {
            not_judged(
                &mut report,
                "there is one check only; it is the baseline of those to come",
            );
        }
        reports.push(report);
    }
    let mut report = gate::assemble(project, reports, notes, strictness);
    report.exit_code = crate::report::exit_code(&report.jobs, [], strictness);
    Ok(report)
}

/// A job's part of the report, from what was measured then; nothing is spent.
fn recorded_report(project: &Project, job: &Job, found: &record::Forecast) -> JobReport {
    let instance = found
        .forecasts
        .first()
        .map_or(&job.instance, |row| &row.instance);
    let measurements: Vec<Measurement> = found
        .measurements
        .iter()
        .filter(|run| run.instance == *instance && run.has_sound_amounts())
        .map(|run| Measurement {
            cost: None,
            reused: None,
            ..run.clone()
        })
        .collect();
    judge::job_report(&JobInput {
        name: &job.name,
        instance,
        budget: &job.budget,
        affected_by: &[],
        alternatives: Vec::new(),
        measurements: &measurements,
        worst_case: None,
        capacity_of: &tables::capacity,
        price_of: &|instance| project.price(instance),
        layout: DataLayout::of(job, None),
        base: None,
        is_allowed: &project.spec.allowed(),
        notes: Vec::new(),
    })
}

/// Makes the newest check of each job the baseline of those to come; gives back what to tell of each.
pub(crate) async fn accept(
    project: &Project,
    jobs: &[AffectedJob<'_>],
    origin: &RunOrigin,
) -> Result<Vec<String>, AppError> {
    let history = RunHistory::open(project, origin).await?;
    let mut newest = Vec::new();
    for one in jobs {
        history.look_up(&one.job.name).await?;
        let checks = history.checks(&one.job.name).await?;
        newest.extend(checks.into_iter().last());
    }
    if newest.is_empty() {
        return Err(AppError::usage("there is no check to accept")
            .help("check first: `canary-gate drift`; the first check is the baseline by itself"));
    }
    let mut told = Vec::new();
    for (record, found) in &newest {
        if found.is_baseline {
            told.push(format!(
                "{}: the check of {:.0} is the baseline already",
                record.job, record.recorded_at
            ));
            continue;
        }
        history.accept(record, found).await;
        if let Some(error) = history.take_failure() {
            return Err(error.of_job(&record.job));
        }
        let where_to = match origin.scope {
            Scope::Local => ", for checks outside of GitHub Actions",
            _ => "",
        };
        told.push(format!(
            "{}: the check of {:.0} is the baseline from now on{where_to}",
            record.job, record.recorded_at
        ));
    }
    Ok(told)
}
