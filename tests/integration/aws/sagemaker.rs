//! SageMaker's training jobs, in AWS JSON 1.1.

use std::time::Instant;

use serde_json::{Value, json};

use super::fault::Refusal;
use super::job::Job;
use super::operation::Operation;
use super::script_run::ScriptRun;
use super::timeline::Timeline;
use super::{Core, Polls, State, groups, inputs, page, pools};

pub(super) fn answer(core: &Core, operation: Operation, input: &Value) -> Result<Value, Refusal> {
    match operation {
        Operation::CreateTrainingJob => create(core, input),
        Operation::DescribeTrainingJob => describe(&mut core.state(), input),
        Operation::StopTrainingJob => stop(&mut core.state(), input),
        Operation::UpdateTrainingJob => update(&mut core.state(), input),
        Operation::ListTrainingJobs => list(&mut core.state(), input),
        _ => list_tags(&mut core.state(), input),
    }
}

pub(super) fn create(core: &Core, input: &Value) -> Result<Value, Refusal> {
    check(input)?;
    let name = input["TrainingJobName"].as_str().unwrap_or_default();
    let (number, script, run_scripts, created, pool, is_warm) = {
        let mut state = core.state();
        if let Ok(job) = find(&mut state, name) {
            return Err(Refusal::new(
                "ResourceInUse",
                format!(
                    "Training job names must be unique within an AWS account and region, and a training job with this \
                     name already exists ({})",
                    job.arn()
                ),
            ));
        }
        let created = state.clock.now();
        let predecessor = pools::predecessor(&state, input, created);
        check_quota(&state, input, predecessor)?;
        if let Some((time, next)) = &mut state.between_creates {
            let now = Instant::now();
            if now < *next {
                return Err(Refusal::new("ThrottlingException", "Rate exceeded"));
            }
            *next = now + *time;
        }
        let pool = pools::pool_of(&mut state, input, predecessor, created);
        (
            state.jobs.len() + 1,
            state.script.clone(),
            state.run_scripts,
            created,
            pool,
            predecessor.is_some(),
        )
    };
    let (channels, problem) = match inputs::channels(&core.s3, input) {
        Ok(channels) => (channels, None),
        Err(problem) => (Vec::new(), Some(problem)),
    };
    let mut job = Job {
        name: name.to_owned(),
        number,
        input: input.clone(),
        channels,
        created,
        timeline: Timeline::completed(),
        elapsed: 0.0,
        began: Instant::now(),
        polls: 0,
        tags: tags(input),
        is_deleted: false,
        run: None,
        printed: None,
        pool,
        is_warm,
    };
    // The script is the test's; it may ask the fake things, so no lock is held.
    job.timeline = match problem {
        Some(problem) => Timeline::data_download_failed(&problem),
        None => script(&job).within(job.max_runtime()),
    };
    if is_warm {
        job.timeline = job.timeline.starting_within(pools::WARM_START);
    }
    if let Some(scale) = run_scripts
        && job.timeline.status(f64::MAX).0 == "Completed"
    {
        match ScriptRun::start(core, &job, scale) {
            Ok(Some(run)) => {
                job.run = Some(run);
                job.timeline = job.timeline.training(f64::INFINITY);
            }
            // A built-in algorithm has nothing that could be run here.
            Ok(None) => {}
            Err(problem) => job.timeline = Timeline::failed(format!("AlgorithmError: {problem}")),
        }
    }
    profile(core, &job);
    let arn = job.arn();
    core.state().jobs.push(job);
    Ok(json!({"TrainingJobArn": arn}))
}

/// Refuses a job for whose instances the account has no room beside those that still run.
fn check_quota(state: &State, input: &Value, predecessor: Option<usize>) -> Result<(), Refusal> {
    for (instance_type, delta) in groups::machines(input) {
        let quota = format!("{instance_type} for training job usage");
        let Some(limit) = state.quotas.get(&quota) else {
            continue;
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a quota of instances is a small whole number"
        )]
        let limit = *limit as u64;
        let running = state.jobs.iter().filter(|job| !job.has_ended());
        let used: u64 = running.map(|job| job.machines_of(&instance_type)).sum();
        // Machines that are kept count too.
        let used = used + pools::kept(state, &instance_type, predecessor);
        if used + delta > limit {
            return Err(Refusal::resource_limit(&instance_type, limit, used, delta));
        }
    }
    Ok(())
}

/// What the service itself refuses; what the model knows (names, lengths, what is required) is judged by it.
fn check(input: &Value) -> Result<(), Refusal> {
    let algorithm = &input["AlgorithmSpecification"];
    let resources = &input["ResourceConfig"];
    let stopping = &input["StoppingCondition"];
    let has_type =
        resources["InstanceType"].is_string() && resources["InstanceCount"].as_u64() >= Some(1);
    // SageMaker takes the first type with room; here there is always room.
    let has_preferences = resources["InstancePreferences"].is_array();
    let has_groups = resources["InstanceGroups"].is_array();
    let is_spot = input["EnableManagedSpotTraining"] == true;
    let is_kept = resources["KeepAlivePeriodInSeconds"].is_u64();
    let has_disks = ["ml.g4dn.", "ml.g5.", "ml.p4d.", "ml.c5d.", "ml.m5d."];
    let has_disks = |kind: &String| has_disks.iter().any(|disks| kind.starts_with(disks));
    let mut kinds = groups::machines(input).into_keys();
    let refused = [
        (
            algorithm["TrainingImage"].is_string() == algorithm["AlgorithmName"].is_string(),
            "You must specify either an algorithm name or a training image, and not both.",
        ),
        (
            has_type && has_preferences,
            "InstanceType or InstanceCount cannot be specified with InstancePreferences",
        ),
        (
            !has_type && !has_groups && !has_preferences,
            "InstanceType and InstanceCount are required in ResourceConfig",
        ),
        (
            resources["VolumeKmsKeyId"].is_string() && kinds.any(|kind| has_disks(&kind)),
            "VolumeKmsKeyId cannot be specified for an instance type which has local storage volumes",
        ),
        (
            is_spot != stopping["MaxWaitTimeInSeconds"].is_u64(),
            "MaxWaitTimeInSeconds has to be given with managed spot training, and only with it.",
        ),
        (
            is_kept && is_spot,
            "KeepAlivePeriodInSeconds cannot be specified with managed spot training",
        ),
        (
            is_kept && has_groups,
            "KeepAlivePeriodInSeconds cannot be specified with InstanceGroups",
        ),
    ];
    match refused.into_iter().find(|(is_refused, _)| *is_refused) {
        Some((_, why)) => Err(Refusal::validation(why)),
        None => groups::check(input),
    }
}

fn not_found() -> Refusal {
    Refusal::validation("Requested resource not found.")
}

fn find<'a>(state: &'a mut State, name: &str) -> Result<&'a mut Job, Refusal> {
    let job = state
        .jobs
        .iter_mut()
        .find(|job| job.name == name && !job.is_deleted)
        .ok_or_else(not_found)?;
    job.settle();
    Ok(job)
}

fn named<'a>(state: &'a mut State, input: &Value) -> Result<&'a mut Job, Refusal> {
    find(state, input["TrainingJobName"].as_str().unwrap_or_default())
}

fn describe(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    let polls = state.polls;
    let fate = state.pool_fate.clone();
    let job = named(state, input)?;
    job.polls += 1;
    if let Some(limit) = job.timeline.deleted_after_polls
        && job.polls > limit
    {
        job.is_deleted = true;
        return Err(not_found());
    }
    let mut answer = job.describe();
    pools::look(job, fate(job), &mut answer);
    match polls {
        Polls::NextStatus => {
            let next = job.timeline.next_change(job.elapsed);
            if next.is_finite() {
                job.elapsed = next;
            }
        }
        Polls::Seconds(seconds) => job.elapsed += seconds,
        Polls::Nothing | Polls::Clock { .. } => {}
    }
    Ok(answer)
}

/// Puts what the Debugger's profiler would write, where the job asks for it.
fn profile(core: &Core, job: &Job) {
    let config = &job.input["ProfilerConfig"];
    let profiles = core.state().profiles.clone();
    if let (Some(path), Some(text)) = (config["S3OutputPath"].as_str(), profiles(job))
        && let Ok((bucket, prefix)) = inputs::split(path)
        && config["DisableProfiler"] != true
    {
        let folder = format!("{}/{}", prefix.trim_end_matches('/'), job.name);
        let folder = folder.trim_start_matches('/');
        let key = format!(
            "{folder}/profiler-output/system/incremental/2026010100/1767225600.algo-1.json"
        );
        core.s3.put(bucket, &key, text.into());
    }
}

fn stop(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    let job = named(state, input)?;
    match job.status() {
        "InProgress" => {
            if let Some(run) = job.run.take() {
                run.stop();
                job.printed = Some(run.lines());
            }
            job.timeline = job.timeline.clone().stopped_at(job.elapsed);
            Ok(Value::Null)
        }
        "Stopping" => Ok(Value::Null),
        status => Err(Refusal::validation(format!(
            "The request was rejected because the training job is in status {status}."
        ))),
    }
}

fn update(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    let job = named(state, input)?;
    if let Some(seconds) = input["ResourceConfig"].get("KeepAlivePeriodInSeconds") {
        pools::update(job, seconds)?;
    }
    Ok(json!({"TrainingJobArn": job.arn()}))
}

fn list(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    for job in &mut state.jobs {
        job.settle();
    }
    let size = input["MaxResults"].as_u64().unwrap_or(10);
    let text = |key: &str| input[key].as_str();
    let mut found: Vec<&Job> = state
        .jobs
        .iter()
        .filter(|job| !job.is_deleted)
        .filter(|job| text("NameContains").is_none_or(|part| job.name.contains(part)))
        .filter(|job| text("StatusEquals").is_none_or(|status| job.status() == status))
        .filter(|job| {
            let status = job.summary()["WarmPoolStatus"]["Status"].clone();
            text("WarmPoolStatusEquals").is_none_or(|wanted| status == wanted)
        })
        .filter(|job| {
            let after = input["CreationTimeAfter"].as_f64();
            after.is_none_or(|after| job.created >= after)
        })
        .filter(|job| {
            let before = input["CreationTimeBefore"].as_f64();
            before.is_none_or(|before| job.created <= before)
        })
        .collect();
    // Newest first, as AWS does where nothing is said.
    if text("SortOrder") != Some("Ascending") {
        found.reverse();
    }
    let (range, next) = page(
        input["NextToken"].as_str(),
        size,
        state.page_size,
        found.len(),
    )?;
    let mut answer = json!({
        "TrainingJobSummaries": found[range].iter().map(|job| job.summary()).collect::<Vec<_>>(),
    });
    if let Some(next) = next {
        answer["NextToken"] = json!(next);
    }
    Ok(answer)
}

fn tags(input: &Value) -> Vec<(String, String)> {
    let pairs = input["Tags"].as_array().into_iter().flatten();
    pairs
        .map(|tag| {
            let text = |key: &str| tag[key].as_str().unwrap_or_default().to_owned();
            (text("Key"), text("Value"))
        })
        .collect()
}

fn by_arn<'a>(state: &'a mut State, input: &Value) -> Result<&'a mut Job, Refusal> {
    let arn = input["ResourceArn"].as_str().unwrap_or_default();
    let name = arn.rsplit('/').next().unwrap_or_default();
    find(state, name)
}

fn list_tags(state: &mut State, input: &Value) -> Result<Value, Refusal> {
    let tags = &by_arn(state, input)?.tags;
    let tags: Vec<_> = tags
        .iter()
        .map(|(key, value)| json!({"Key": key, "Value": value}))
        .collect();
    Ok(json!({"Tags": tags}))
}
