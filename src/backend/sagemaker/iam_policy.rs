//! The least IAM policy that a spec needs.
//!
//! Of whom starts the canaries, and of the role that they run as. Resources are as narrow as IAM lets them be for each
//! action: <https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsagemaker.html>, and the
//! permissions of a training job: <https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-roles.html>.

use std::collections::{BTreeMap, BTreeSet};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::placing::is_copied;
use crate::aws::s3_uri::S3Uri;
use crate::spec::{BackendKind, Channel, ChannelSample, DataType, Job, Spec, WarmPoolPolicy};

/// Every canary's name begins so.
const CANARIES: &str = "training-job/cg-*";
const LOG_GROUP: &str = "/aws/sagemaker/TrainingJobs";
const SERVICE: &str = "sagemaker.amazonaws.com";
/// What is allowed, a statement a line: to whom, on what ([`PolicyScope::resources`]), the statement's name, and its actions.
const RIGHTS: &str = include_str!("iam_policy/rights.txt");

/// Whom a policy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Grantee {
    /// The identity that runs canary-gate.
    Ci,
    /// The role that training jobs run as.
    Job,
}

/// The policy as IAM takes it. `region` stands where the spec names none; without either the policy is for all regions. `None` where
/// nothing that the spec names is in AWS.
pub fn policy(spec: &Spec, region: Option<&str>, grantee: Grantee) -> Option<Value> {
    let scope = PolicyScope {
        spec,
        region: spec.region.as_deref().or(region).unwrap_or("*"),
    };
    let is_there = spec.backend == BackendKind::Sagemaker;
    let has_history = grantee == Grantee::Ci && !scope.places("history").is_empty();
    if !is_there && !has_history {
        return None;
    }
    let mut statements = Vec::new();
    for right in RIGHTS.lines() {
        let words: Vec<&str> = right.split(' ').collect();
        let [whom, on, sid, actions @ ..] = words.as_slice() else {
            continue;
        };
        let is_meant = match grantee {
            Grantee::Ci => matches!(*whom, "both" | "ci"),
            Grantee::Job => matches!(*whom, "both" | "job"),
        };
        // Elsewhere canaries need nothing in AWS.
        if is_meant
            && (is_there || *on == "history")
            && let Some((resources, condition)) = scope.resources(on)
            && !resources.is_empty()
        {
            statements.push(allow(sid, actions, &resources, condition));
        }
    }
    statements.extend(scope.list_buckets(grantee));
    Some(json!({"Version": "2012-10-17", "Statement": statements}))
}

/// Partition and account of a role: `arn:aws:iam::123456789012:role/Name`.
fn account_of(role: &str) -> Option<(&str, &str)> {
    let mut parts = role.split(':').skip(1);
    Some((parts.next()?, parts.nth(2)?))
}

fn place(uri: &str) -> Option<S3Uri> {
    S3Uri::read(uri, "uri").ok()
}

/// Where canary-gate and its jobs write: inside the folder, whether or not the address ends with `/`.
fn folder(uri: &str) -> Option<S3Uri> {
    place(uri).map(|place| place.as_folder())
}

/// `*` and `?` in a key are wildcards to IAM, and `$` starts a variable: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html>
fn literal(key: &str) -> String {
    let literal = |character| match character {
        '*' | '?' | '$' => format!("${{{character}}}"),
        _ => String::from(character),
    };
    key.chars().map(literal).collect()
}

struct PolicyScope<'a> {
    spec: &'a Spec,
    region: &'a str,
}

impl PolicyScope<'_> {
    /// What a word of [`RIGHTS`] stands for, and the condition under which it is allowed: `None` where the spec does not need it.
    fn resources(&self, on: &str) -> Option<(BTreeSet<String>, Value)> {
        let anything = || BTreeSet::from(["*".to_owned()]);
        let any_job = |is_one: fn(&Job) -> bool| self.spec.jobs.iter().any(is_one);
        let canaries = || self.regional("sagemaker", &[CANARIES]);
        let all_keys = || self.regional("kms", &["key/*"]);
        // An alias can only be a condition on all keys.
        let by_alias = |key_of: fn(&Job) -> Option<&str>| {
            let (_, aliases) = self.keys(key_of);
            let condition = json!({"ForAnyValue:StringEquals": {"kms:ResourceAliases": aliases}});
            (!aliases.is_empty()).then(|| (all_keys(), condition))
        };
        let resources = match on {
            "anything" => anything(),
            "canaries" => canaries(),
            "output_keys" => self.keys(output_key).0,
            "volume_keys" => self.keys(volume_key).0,
            "output_aliases" => return by_alias(output_key),
            "volume_aliases" => return by_alias(volume_key),
            // A group is named with its streams for some actions, and without them for others.
            "logs" => {
                let group = format!("log-group:{LOG_GROUP}");
                self.regional("logs", &[&group, &format!("{group}:*")])
            }
            "vpc" => any_job(|job| !job.training.sagemaker.subnets.is_empty()).then(anything)?,
            // Nothing else of a job may be changed, and no pool be kept longer.
            "kept" => {
                let keeps = any_job(|job| job.canary.warm_pool != WarmPoolPolicy::Off);
                let ends = json!({"NumericEqualsIfExists": {"sagemaker:KeepAlivePeriod": "0"}});
                return keeps.then(|| (canaries(), ends));
            }
            "roles" => {
                let roles = self.roles().map(str::to_owned).collect();
                let passed = json!({"StringEquals": {"iam:PassedToService": SERVICE}});
                return Some((roles, passed));
            }
            "metrics" => {
                let own = json!({"StringEquals": {"cloudwatch:namespace": LOG_GROUP}});
                return Some((anything(), own));
            }
            // The keys of data that are encrypted, which a spec does not name: any, but through S3 and for these data alone.
            // <https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html#encryption-context>
            "encrypted" => {
                // With a key for the whole bucket its name stands for all objects.
                let of_place = |place: &S3Uri| [self.objects(place), self.bucket(&place.bucket)];
                let places: BTreeSet<String> = self.places(on).iter().flat_map(of_place).collect();
                let domain = match self.partition() {
                    "aws-cn" => "amazonaws.com.cn",
                    _ => "amazonaws.com",
                };
                let through_s3 = json!({
                    "StringEquals": {"kms:ViaService": format!("s3.{}.{domain}", self.region)},
                    "StringLike": {"kms:EncryptionContext:aws:s3:arn": places},
                });
                return (!places.is_empty()).then(|| (all_keys(), through_s3));
            }
            places => (self.places(places).iter())
                .map(|place| self.objects(place))
                .collect(),
        };
        Some((resources, Value::Null))
    }

    /// What a word of [`RIGHTS`] stands for in S3.
    fn places(&self, of: &str) -> Vec<S3Uri> {
        let jobs = || self.spec.jobs.iter();
        let is_read: fn(&Channel) -> bool = match of {
            "history" => {
                let history = self.spec.history.as_deref().and_then(folder);
                return history.into_iter().collect();
            }
            "outputs" => {
                let outputs = jobs().filter_map(|job| job.training.sagemaker.output.as_deref());
                return outputs.filter_map(folder).collect();
            }
            "data" => |_| true,
            "copied" => is_copied,
            "manifests" => |channel| channel.data_type == DataType::Manifest,
            "rows" => has_rows,
            "encrypted" => |channel| is_copied(channel) || has_rows(channel),
            other => unreachable!("no right is on {other}"),
        };
        let channels = jobs().flat_map(|job| &job.training.channels);
        let read = channels.filter(|channel| is_read(channel));
        read.filter_map(|channel| place(&channel.uri)).collect()
    }

    fn roles(&self) -> impl Iterator<Item = &str> {
        (self.spec.jobs.iter()).filter_map(|job| job.training.sagemaker.role.as_deref())
    }

    fn accounts(&self) -> BTreeSet<(&str, &str)> {
        self.roles().filter_map(account_of).collect()
    }

    /// S3's ARNs name no account.
    fn partition(&self) -> &str {
        let accounts = self.accounts().into_iter().next();
        accounts.map_or("aws", |(partition, _)| partition)
    }

    /// `arn:aws:SERVICE:us-east-1:123456789012:RESOURCE` in every account.
    fn regional(&self, service: &str, resources: &[&str]) -> BTreeSet<String> {
        let of_account = |(partition, number): (&str, &str)| {
            let arn = format!("arn:{partition}:{service}:{}:{number}", self.region);
            let resources = resources.iter();
            resources.map(move |resource| format!("{arn}:{resource}"))
        };
        self.accounts().into_iter().flat_map(of_account).collect()
    }

    fn bucket(&self, name: &str) -> String {
        format!("arn:{}:s3:::{name}", self.partition())
    }

    /// All objects of a bucket whose keys begin so.
    fn objects(&self, place: &S3Uri) -> String {
        format!("{}/{}*", self.bucket(&place.bucket), literal(&place.key))
    }

    /// Data, outputs and, for who runs the gate, the history can be listed, and nothing else of their buckets.
    fn list_buckets(&self, grantee: Grantee) -> Vec<Value> {
        let mut buckets: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let listed: &[&str] = match grantee {
            Grantee::Ci => &["data", "outputs", "history"],
            // A canary runs the code under test, which has no business with the history.
            Grantee::Job => &["data", "outputs"],
        };
        for place in listed.iter().flat_map(|of| self.places(of)) {
            let prefixes = buckets.entry(place.bucket).or_default();
            prefixes.insert(format!("{}*", literal(&place.key)));
        }
        let list = |(number, (bucket, prefixes)): (usize, (String, BTreeSet<String>))| {
            let bucket = BTreeSet::from([self.bucket(&bucket)]);
            let condition = match prefixes.contains("*") {
                // The whole bucket; a listing without a prefix meets no condition on it.
                true => Value::Null,
                false => json!({"StringLike": {"s3:prefix": prefixes}}),
            };
            let name = format!("List{number}");
            allow(&name, &["s3:ListBucket"], &bucket, condition)
        };
        (1..).zip(buckets).map(list).collect()
    }

    /// Keys by id or ARN, which are resources, and by alias.
    fn keys(&self, key_of: fn(&Job) -> Option<&str>) -> (BTreeSet<String>, BTreeSet<String>) {
        let (mut keys, mut aliases) = (BTreeSet::new(), BTreeSet::new());
        for key in self.spec.jobs.iter().filter_map(key_of) {
            let name = key.rsplit_once(":alias/").map(|(_, name)| name);
            if let Some(alias) = name.or_else(|| key.strip_prefix("alias/")) {
                aliases.insert(format!("alias/{alias}"));
            } else if key.starts_with("arn:") {
                keys.insert(key.to_owned());
            } else {
                let id = key.strip_prefix("key/").unwrap_or(key);
                keys.extend(self.regional("kms", &[&format!("key/{id}")]));
            }
        }
        (keys, aliases)
    }
}

fn output_key(job: &Job) -> Option<&str> {
    job.training.sagemaker.output_kms_key.as_deref()
}

fn volume_key(job: &Job) -> Option<&str> {
    job.training.sagemaker.volume_kms_key.as_deref()
}

/// Whether canaries read rows that the gate copies.
fn has_rows(channel: &Channel) -> bool {
    channel.sample == ChannelSample::Rows
}

fn allow(sid: &str, actions: &[&str], resources: &BTreeSet<String>, condition: Value) -> Value {
    let mut statement =
        json!({"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources});
    if !condition.is_null() {
        statement["Condition"] = condition;
    }
    statement
}

#[cfg(test)]
mod tests;
