//! Writes the spec of a training job: fills a template with what its description says.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{PROGRAM, SUBMIT_DIRECTORY, Tags, channels, is_script, list, text, yaml_of};
use crate::grammar::joined;
use crate::instance::{InstanceConfiguration, tables};
use crate::secret;
use crate::spec::page::FILL_IN;
use crate::spec::{ScriptLauncher, yaml_text as yaml};
use crate::units::{Seconds, Usd};

/// A budget allows this much more than the job took.
const MARGIN: f64 = 1.5;
/// SageMaker takes 50 tags, four of which canary-gate sets.
const MOST_TAGS: usize = 46;
/// What the SDK sets, and canary-gate sets itself for a canary; or, as the type of the machine, nobody reads any longer.
const SET_FOR_CANARIES: [&str; 6] = [
    PROGRAM,
    SUBMIT_DIRECTORY,
    "sagemaker_container_log_level",
    "sagemaker_instance_type",
    "sagemaker_job_name",
    "sagemaker_region",
];
/// Values of variables that are no secrets.
const SWITCHES: &str = "true false yes no on off none debug info warn warning error";
/// The most characters of a number that is taken for no secret.
const LONGEST_NUMBER: usize = 8;
/// A spec with the fields of a job in `<>`: by their paths, some with what stands where the job says nothing, or by a name of
/// [`DescribedJob::said`], among them conditions. A line with a field that says nothing is left out.
const TEMPLATE: &str = include_str!("job.yml");

/// The fields of a job that are not left out: those that the spec has, that AWS sets, and that a canary has in any case.
const KEPT: &str = include_str!("kept_fields.txt");

fn seconds(value: &Value) -> Option<Seconds> {
    let seconds = value.as_f64().filter(|seconds| *seconds > 0.0)?;
    Some(Seconds(seconds))
}

fn container(job: &Value) -> Option<String> {
    let algorithm = &job["AlgorithmSpecification"];
    let fields = [
        ("entrypoint", "ContainerEntrypoint"),
        ("arguments", "ContainerArguments"),
    ];
    let keys = fields.into_iter().filter_map(|(key, field)| {
        let words = yaml_of(&algorithm[field])?;
        Some(format!("{key}: {words}"))
    });
    let keys = joined(keys, ", ");
    (!keys.is_empty()).then(|| format!("{{{keys}}}"))
}

fn place_of_source(job: &Value) -> Option<String> {
    let packed = hyperparameter(job, SUBMIT_DIRECTORY).filter(|_| is_script(job));
    let place = packed.or(channels::source(job).map(str::to_owned));
    let place = place.or(is_script(job).then(|| "an unknown place".to_owned()))?;
    Some(yaml::remark(&place))
}

fn entry_point(job: &Value) -> Option<String> {
    let program = hyperparameter(job, PROGRAM)?;
    let is_inside = !program.starts_with('/') && !program.split('/').any(|part| part == "..");
    Some(match is_inside && !program.chars().any(char::is_control) {
        true => yaml::text(&program),
        false => {
            let program = yaml::remark(&program);
            format!("{FILL_IN}.py    # the job's script is not inside its folder: {program}")
        }
    })
}

fn says_something(value: &Value) -> bool {
    match value {
        Value::Object(all) => all.values().any(says_something),
        Value::Array(all) => all.iter().any(says_something),
        value => yaml_of(value).is_some(),
    }
}

/// The fields at and below a path that say something and are not in [`KEPT`], the shortest path that names each.
fn left_out(path: &str, value: &Value, fields: &mut BTreeSet<String>) {
    let as_usual = format!("{path}={}", text(value).unwrap_or_default());
    let mut kept = KEPT.split_whitespace();
    if !says_something(value) || kept.clone().any(|one| one == path || one == as_usual) {
        return;
    }
    let below = |name: &str| match path {
        "" => name.to_owned(),
        path => format!("{path}.{name}"),
    };
    let has_kept = kept.any(|one| one.starts_with(&below("")));
    match value {
        Value::Array(all) if has_kept => all.iter().for_each(|one| left_out(path, one, fields)),
        Value::Object(all) if has_kept => {
            (all.iter()).for_each(|(name, value)| left_out(&below(name), value, fields));
        }
        _ => fields.extend([path.to_owned()]),
    }
}

/// A job, what it ran on, and its tags.
pub(super) struct DescribedJob<'a> {
    pub(super) job: &'a Value,
    pub(super) machines: Option<&'a InstanceConfiguration>,
    pub(super) tags: &'a Tags,
    pub(super) region: &'a str,
}

impl DescribedJob<'_> {
    /// A commented spec that asks for what this job was. What a spec cannot say stands in remarks.
    pub(super) fn spec(&self) -> String {
        let line = |line: &str| {
            let mut parts = line.split('<');
            let mut text = parts.next()?.to_owned();
            for part in parts {
                let (field, rest) = part.split_once('>')?;
                text += &self.said(field)?;
                text += rest;
            }
            Some(text + "\n")
        };
        TEMPLATE.lines().filter_map(line).collect()
    }

    fn said(&self, field: &str) -> Option<String> {
        let job = self.job;
        let name = job["TrainingJobName"].as_str().unwrap_or_default();
        let (took, cost) = (self.time(), self.cost());
        let algorithm = &job["AlgorithmSpecification"];
        let has = |field: &str| !algorithm[field].is_null();
        let only_if = |is_so: bool| is_so.then(String::new);
        match field {
            "name" => Some(yaml::remark(name)),
            "status" => Some(yaml::remark(
                text(&job["TrainingJobStatus"]).unwrap_or("unknown"),
            )),
            "region" => Some(yaml::text(self.region)),
            "job" => Some(yaml::text(spec_name(name))),
            "no_image" => {
                only_if(yaml_of(&algorithm["TrainingImage"]).is_none() && !has("AlgorithmName"))
            }
            "no_own_image" => only_if(!has("TrainingImage")),
            "unpacked" => only_if(job["OutputDataConfig"]["CompressionType"] == "NONE"),
            "container" => container(job),
            "place_of_source" => place_of_source(job),
            "entry_point" => entry_point(job),
            "source_channel" => channels::source(job).map(|_| channels::CODE.to_owned()),
            "distribution" => distribution(job),
            "max_runtime" => {
                seconds(&job["StoppingCondition"]["MaxRuntimeInSeconds"]).map(Seconds::exact)
            }
            "hyperparameters" => hyperparameters(job),
            "environment" => named("environment", pairs(&job["Environment"]), |name, value| {
                !secret::is_named_so(name) && is_harmless(value)
            }),
            "tags" => tags(self.tags),
            "channels" => channels::said(job),
            "left_out" => {
                let mut fields = BTreeSet::new();
                left_out("", job, &mut fields);
                let fields = Vec::from_iter(fields).join(", ");
                (!fields.is_empty()).then(|| yaml::remark(&fields))
            }
            "metrics" => metrics(job),
            "instance" => Some(instance(job, self.machines)),
            "unsampled" => only_if(!channels::has_samples(job)),
            "finished" => only_if(took.is_some()),
            "unfinished" => only_if(took.is_none()),
            "unpriced" => only_if(took.is_some() && cost.is_none()),
            "took" => {
                let cost = cost.map(|cost| format!(", which cost {} on demand", Usd(cost)));
                Some(took?.exact() + &cost.unwrap_or_default())
            }
            "margin" => Some(MARGIN.to_string()),
            "time" => Some(Seconds((took?.0 * MARGIN / 60.0).ceil() * 60.0).exact()),
            "cost" => Some(Usd((cost? * MARGIN * 100.0).ceil() / 100.0).exact()),
            path => {
                let (path, otherwise) = path.split_once('|').unwrap_or((path, ""));
                let otherwise = Some(otherwise.to_owned()).filter(|text| !text.is_empty());
                job.pointer(path).and_then(yaml_of).or(otherwise)
            }
        }
    }

    /// Not what was billed: spot makes that less, and a budget holds for the price on demand.
    fn time(&self) -> Option<Seconds> {
        let times = ["TrainingTimeInSeconds", "BillableTimeInSeconds"];
        let time = times.iter().find_map(|field| seconds(&self.job[field]));
        time.filter(|_| self.job["TrainingJobStatus"] == "Completed")
    }

    /// `None` where the job did not complete, or no price is known.
    fn cost(&self) -> Option<f64> {
        let (time, machines) = (self.time()?, self.machines?.members());
        let costs = machines.into_iter().map(|(kind, count)| {
            let price = tables::price(kind, self.region)?;
            Some(price.usd_per_hour.cost(time, count).0)
        });
        costs.sum()
    }
}

/// The job's name without the time that the SDK puts behind it: `-2026-11-21-09-52-09-123`.
fn spec_name(name: &str) -> &str {
    let end = name.len().saturating_sub(24);
    let (own, time) = name.split_at_checked(end).unwrap_or((name, ""));
    let is_time = |byte: u8| byte.is_ascii_digit() || byte == b'-';
    let has_time = time.starts_with('-') && time.bytes().all(is_time);
    match if has_time { own } else { name } {
        "" => "train",
        name => name,
    }
}

/// What starts the script's processes, which the SDK says in hyperparameters. Where a spec cannot say it, these stay.
fn distribution(job: &Value) -> Option<String> {
    let entrypoint = &job["AlgorithmSpecification"]["ContainerEntrypoint"];
    // Such a container starts no toolkit, so its hyperparameters start no launcher.
    if !is_script(job) || !list(entrypoint).is_empty() {
        return None;
    }
    let [torchrun, mpi, processes, options, smddp, of_smddp, groups] =
        ScriptLauncher::HYPERPARAMETERS.map(|name| hyperparameter(job, name));
    let is_on = |value: Option<String>| value.as_deref() == Some("true");
    let has_smddp = is_on(smddp) && of_smddp.is_none_or(|options| options.trim().is_empty());
    let launcher = match (is_on(torchrun), is_on(mpi), has_smddp) {
        (true, false, false) => "torchrun: {}".to_owned(),
        (false, false, true) => "smdistributed: {}".to_owned(),
        (false, true, false) => {
            let is_possible = |count: &u32| (1..=ScriptLauncher::PROCESSES).contains(count);
            let count = processes.map(|count| count.parse().ok().filter(is_possible).ok_or(()));
            let count = count.transpose().ok()?;
            let count = count.map(|count| format!("processes_per_host: {count}"));
            // Where there are none the SDK sends an empty text.
            let options = options.filter(|options| !options.trim().is_empty());
            let options = options.map(|options| format!("options: {}", yaml::text(&options)));
            let keys = joined(count.into_iter().chain(options), ", ");
            format!("mpi: {{{keys}}}")
        }
        _ => return None,
    };
    let groups = groups.as_deref().unwrap_or("[]");
    let groups: Vec<String> = serde_json::from_str(groups).ok()?;
    let machines = list(&job["ResourceConfig"]["InstanceGroups"]).iter();
    let machines = Vec::from_iter(machines.map(|group| text(&group["InstanceGroupName"])));
    match (&machines[..], &groups[..]) {
        ([], [] | [_]) | ([_], []) => Some(format!("{{{launcher}}}")),
        (_, [group]) if machines.contains(&Some(group)) => {
            Some(format!("{{{launcher}, groups: [{}]}}", yaml::text(group)))
        }
        _ => None,
    }
}

fn hyperparameters(job: &Value) -> Option<String> {
    // What belongs to the toolkit and changes the training, such as sagemaker_parameter_server_enabled, is kept.
    let has_launcher = distribution(job).is_some();
    let own = pairs(&job["HyperParameters"]).filter(|(name, _)| {
        let is_said = has_launcher && ScriptLauncher::HYPERPARAMETERS.contains(name);
        !is_said && !SET_FOR_CANARIES.contains(name)
    });
    let own = own.map(|(name, value)| (name, decoded(job, &value)));
    named("hyperparameters", own, |name, _| !secret::is_named_so(name))
}

fn tags(tags: &Tags) -> Option<String> {
    let tags = tags.iter();
    let tags = tags.map(|(name, value)| (name.as_str(), value.clone()));
    let own = tags.filter(|(name, _)| {
        let name = name.to_lowercase();
        !name.starts_with("aws:") && !name.starts_with("canary-gate:")
    });
    named("tags", own.take(MOST_TAGS), |_, _| true)
}

fn pairs(map: &Value) -> impl Iterator<Item = (&str, String)> {
    let pairs = map.as_object().into_iter().flatten();
    pairs.filter_map(|(name, value)| Some((name.as_str(), value.as_str()?.to_owned())))
}

/// Values by name, of which those that may be secret are left out.
fn named<'a>(
    key: &str,
    values: impl Iterator<Item = (&'a str, String)>,
    is_open: impl Fn(&str, &str) -> bool,
) -> Option<String> {
    let mut values: Vec<(&str, String)> = values.collect();
    values.sort_unstable();
    let (open, closed): (Vec<_>, Vec<_>) =
        (values.into_iter()).partition(|(name, value)| is_open(name, value));
    let mut lines = Vec::new();
    if !closed.is_empty() {
        lines.push(format!(
            "      # Values of `{key}` that may be secret are left out: write no secrets into this file."
        ));
    }
    let closed = closed.into_iter();
    lines.extend(closed.map(|(name, _)| format!("      #   {}: {FILL_IN}", yaml::remark(name))));
    if !open.is_empty() {
        lines.push(format!("      {key}:"));
    }
    lines.extend(open.into_iter().map(|(name, value)| {
        let (name, value) = (yaml::text(name), yaml::text_or_number(&value));
        format!("        {name}: {value}")
    }));
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// In script mode the SDK writes values as JSON, and the toolkit reads them so. What would read as a number without its quotes
/// keeps them.
fn decoded(job: &Value, written: &str) -> String {
    let text = serde_json::from_str::<String>(written).ok();
    let is_text = |text: &String| serde_json::from_str::<serde_json::Value>(text).is_err();
    let text = text.filter(|text| is_script(job) && is_text(text));
    text.unwrap_or_else(|| written.to_owned())
}

fn hyperparameter(job: &Value, name: &str) -> Option<String> {
    Some(decoded(job, job["HyperParameters"][name].as_str()?))
}

/// A short number or a switch: no secret is so short.
fn is_harmless(value: &str) -> bool {
    let is_number = value.len() <= LONGEST_NUMBER && value.parse::<f64>().is_ok();
    let value = value.to_ascii_lowercase();
    is_number || SWITCHES.split(' ').any(|switch| switch == value)
}

fn metrics(job: &Value) -> Option<String> {
    let definitions = list(&job["AlgorithmSpecification"]["MetricDefinitions"]);
    let lines = definitions.iter().map(|definition| {
        // A pattern is of no use when it is cut.
        let [name, pattern] = ["Name", "Regex"]
            .map(|field| yaml::text(definition[field].as_str().unwrap_or_default()));
        format!("\n      #   {name}: {pattern}")
    });
    let lines: String = lines.collect();
    (!lines.is_empty()).then(|| format!(
        "      # The job's metrics. If one of them is the seconds of a training step, name it as `step_metric`.\n      # metrics:{lines}"
    ))
}

fn instance(job: &Value, machines: Option<&InstanceConfiguration>) -> String {
    let has_choice = !list(&job["ResourceConfig"]["InstancePreferences"]).is_empty();
    match machines {
        None => "ml.m5.xlarge    # the job has no instance type that a spec can name".to_owned(),
        Some(InstanceConfiguration::Heterogeneous { groups, .. }) => {
            let groups = groups.iter().map(|group| {
                let (name, kind) = (yaml::text(&group.name), &group.instance_type);
                format!("{name}: {}x {kind}", group.count)
            });
            format!("{{groups: {{{}}}}}", joined(groups, ", "))
        }
        Some(one) if has_choice => {
            format!(
                "{one}    # the job lets SageMaker choose among several types; a spec names one"
            )
        }
        Some(one) => one.to_string(),
    }
}
