//! `forecast FILE`: offline, from recorded measurements. With a spec, its budgets are judged; without, only that memory
//! fits the machine.

use std::collections::HashMap;

use crate::assess::input::JobInput;
use crate::assess::{judge, whole_report};
use crate::cli::ForecastArguments;
use crate::commands::publish::{self, ReportOutput};
use crate::console::{AppError, AppResult, Loudness, files};
use crate::exit::Strictness;
use crate::forecast::scale_out::DataLayout;
use crate::gate::outcome;
use crate::instance::{InstanceConfiguration, InstanceType, Offer, OfferOf, tables};
use crate::measurement::Measurement;
use crate::report::JobReport;
use crate::spec::{Budget, Job, OnInconclusive};
use crate::workspace::project::DEFAULT_REGION;
use crate::workspace::{Project, base_policy, environment_region, recorded};

/// Why a configuration of the spec has no runs here.
const NOT_IN_FILE: &str = "no run of it in the file";

pub(crate) async fn forecast(arguments: &ForecastArguments, loudness: Loudness) -> AppResult<u8> {
    let mut project = Project::load_if_there(&arguments.spec).await?;
    if let Some(project) = &mut project {
        project.region_flag.clone_from(&arguments.region);
        base_policy::apply_overrides(project);
    }
    let root = match &project {
        Some(project) => project.root.clone(),
        None => files::current_folder()?,
    };
    let output = ReportOutput::prepare(&arguments.output, &root, loudness)?;
    let file = arguments.file.display();
    let refused = || AppError::usage(format!("the measurements {file} cannot be read"));
    let mut recorded = recorded::read(&arguments.file, files::LARGEST_TEXT, refused)?;
    if let Some(name) = &arguments.as_job {
        for measurement in &mut recorded.measurements {
            measurement.job.clone_from(name);
        }
    } else {
        recorded.notes.extend(recorded.about_jobs.take());
    }
    let allowed = project.as_ref().map(|project| project.spec.allowed());
    let is_allowed = |kind: &InstanceType| allowed.as_ref().is_none_or(|allows| allows(kind));
    let mut jobs = Vec::new();
    for (name, measurements) in by_job(recorded.measurements, &arguments.jobs)? {
        let (measurements, note) = newest_run(measurements);
        let notes: Vec<String> = recorded.notes.iter().cloned().chain(note).collect();
        let known = project.as_ref().and_then(|project| project.spec.job(&name));
        let offer_of = |instance: &InstanceConfiguration| match (&project, known) {
            (Some(project), Some(job)) => project.offer_to(job, instance),
            (Some(project), None) => project.offer(instance),
            (None, _) => offer_by_the_tables(instance, arguments.region.as_deref()),
        };
        let report = offline_report(&name, known, &measurements, &offer_of, &is_allowed, notes);
        jobs.push(report);
    }
    let report = match &project {
        Some(project) => {
            let strictness = publish::strictness(&arguments.verdict, &project.spec);
            outcome::assemble(project, jobs, Vec::new(), strictness)
        }
        None => {
            let strictness = Strictness {
                strict: arguments.verdict.strict,
                on_inconclusive: OnInconclusive::Fail,
            };
            let note =
                "No spec was found, so no budget is judged but that memory fits the machine.";
            let now = jiff::Timestamp::now();
            whole_report::report(jobs, vec![note.to_owned()], strictness, now)
        }
    };
    output.publish(&report)
}

/// One job's part of the report, from its recorded measurements alone.
fn offline_report(
    name: &str,
    known: Option<&Job>,
    measurements: &[Measurement],
    offer_of: OfferOf<'_>,
    is_allowed: &dyn Fn(&InstanceType) -> bool,
    notes: Vec<String>,
) -> JobReport {
    // The budget is judged on the spec's instance, measured or not; its alternatives follow in their order.
    let of_spec = known.into_iter().flat_map(Job::configurations);
    let mut instances: Vec<&InstanceConfiguration> = of_spec.collect();
    for measurement in measurements {
        if !instances.iter().any(|known| measurement.is_on(known)) {
            instances.push(&measurement.instance);
        }
    }
    let unwritten = Budget::unwritten();
    let Some((first, others)) = instances.split_first() else {
        unreachable!("a job is named by its measurements");
    };
    let not_measured = |instance: &InstanceConfiguration| {
        let is_measured = measurements.iter().any(|run| run.is_on(instance));
        (!is_measured).then(|| NOT_IN_FILE.to_owned())
    };
    judge::job_report(&JobInput {
        name,
        instance: first,
        budget: known.map_or(&unwritten, |job| &job.budget),
        affected_by: &[],
        alternatives: (others.iter())
            .map(|instance| (*instance, not_measured(instance)))
            .collect(),
        measurements,
        job: known,
        none_on_all: Some(NOT_IN_FILE.to_owned()),
        worst_case: None,
        offer_of,
        layout: known.map_or_else(DataLayout::default, |job| DataLayout::of(job, None)),
        base: None,
        is_allowed,
        lacks_probe: None,
        notes,
    })
}

/// Of a job's measurements those from the newest run of the gate in the file, and a word on the others.
///
/// Earlier runs measured other code; a forecast from both would be of neither. A table that does not name runs is one.
fn newest_run(mut measurements: Vec<Measurement>) -> (Vec<Measurement>, Option<String>) {
    // GitHub's ids are numbers, so only the time decides which is newest; of one time, the last in the file.
    let newest = measurements
        .iter()
        .filter_map(|measurement| Some((measurement.ended_at, measurement.run.as_ref()?)))
        .max_by_key(|(ended_at, _)| *ended_at)
        .map(|(_, run)| run.clone());
    let all = measurements.len();
    measurements.retain(|measurement| measurement.run == newest);
    let left_out = all - measurements.len();
    let note = (left_out > 0).then(|| {
        format!(
            "{left_out} measurements of earlier runs are left out; the newest run is {}",
            newest.as_deref().unwrap_or("unnamed")
        )
    });
    (measurements, note)
}

/// The measurements of each job, in the order in which the jobs come; only of those that `--job` names.
fn by_job(
    measurements: Vec<Measurement>,
    asked: &[String],
) -> AppResult<Vec<(String, Vec<Measurement>)>> {
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut jobs: Vec<(String, Vec<Measurement>)> = Vec::new();
    for measurement in measurements {
        let name = &measurement.job;
        let place = *places.entry(name.clone()).or_insert_with(|| {
            jobs.push((name.clone(), Vec::new()));
            jobs.len() - 1
        });
        jobs[place].1.push(measurement);
    }
    if jobs.is_empty() {
        return Err(AppError::usage("the file holds no measurements")
            .help("`canary-gate run --measurements FILE` writes them"));
    }
    if let Some(name) = asked.iter().find(|name| !places.contains_key(*name)) {
        let names: Vec<&str> = jobs.iter().map(|(name, _)| name.as_str()).collect();
        return Err(
            AppError::usage(format!("the file holds no measurements of job `{name}`"))
                .help(format!("its jobs are {}", names.join(", "))),
        );
    }
    jobs.retain(|(name, _)| asked.is_empty() || asked.contains(name));
    Ok(jobs)
}

fn offer_by_the_tables(instance: &InstanceConfiguration, region: Option<&str>) -> Offer {
    let region = region.map(str::to_owned).or_else(environment_region);
    let region = region.as_deref().unwrap_or(DEFAULT_REGION);
    Offer::of(instance, &tables::capacity, &|kind| {
        tables::price(kind, region)
    })
}
