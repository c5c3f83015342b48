//! The least IAM policy that a spec needs.
//!
//! Of whom starts the canaries, and of the role that they run as. Resources are as narrow as IAM lets them be for each
//! action: <https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsagemaker.html>, and the
//! permissions of a training job: <https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-roles.html>.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::placing::is_copied;
use crate::spec::{BackendKind, Channel, ChannelSample, DataType, Job, Spec, WarmPoolPolicy};

/// Every canary's name begins so.
const CANARIES: &str = "training-job/cg-*";
const LOG_GROUP: &str = "/aws/sagemaker/TrainingJobs";
const SERVICE: &str = "sagemaker.amazonaws.com";

/// Whom a policy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grantee {
    /// Who runs canary-gate.
    Ci,
    /// The role that training jobs run as.
    Job,
}

/// Why there is no policy for a spec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PolicyError {
    #[error("a spec with `backend: {0}` needs no permission in AWS")]
    NotOnAws(BackendKind),
}

/// The policy as IAM takes it. `region` stands where the spec names none; without either the policy is for all regions.
///
/// # Errors
///
/// When nothing that the spec names is in AWS.
pub fn policy(spec: &Spec, region: Option<&str>, grantee: Grantee) -> Result<Value, PolicyError> {
    let scope = PolicyScope {
        spec,
        region: spec.region.as_deref().or(region).unwrap_or("*"),
    };
    let statements = match (spec.backend, grantee) {
        (BackendKind::Sagemaker, Grantee::Ci) => scope.for_ci(),
        (BackendKind::Sagemaker, Grantee::Job) => scope.for_job(),
        (_, Grantee::Ci) if scope.history().is_some() => scope.for_history(),
        (backend, _) => return Err(PolicyError::NotOnAws(backend)),
    };
    let has_resources = |statement: &Value| statement["Resource"] != json!([]);
    let statements: Vec<Value> = statements.into_iter().filter(has_resources).collect();
    Ok(json!({"Version": "2012-10-17", "Statement": statements}))
}

/// Partition and account of a role: `arn:aws:iam::123456789012:role/Name`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct AwsAccount<'a> {
    partition: &'a str,
    number: &'a str,
}

impl<'a> AwsAccount<'a> {
    fn of(role: &'a str) -> Option<Self> {
        let mut parts = role.split(':').skip(1);
        let (partition, number) = (parts.next()?, parts.nth(2)?);
        Some(Self { partition, number })
    }
}

/// A bucket and the start of keys in it.
fn place(uri: &str) -> Option<(&str, String)> {
    let rest = uri.strip_prefix("s3://")?;
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    Some((bucket, prefix.to_owned()))
}

/// Where canary-gate and its jobs write: inside the folder, whether or not the address ends with `/`.
fn folder(uri: &str) -> Option<(&str, String)> {
    let (bucket, prefix) = place(uri)?;
    let prefix = prefix.trim_end_matches('/');
    let slash = if prefix.is_empty() { "" } else { "/" };
    Some((bucket, format!("{prefix}{slash}")))
}

/// `*` and `?` in a key are wildcards to IAM, and `$` starts a variable: <https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_variables.html>
fn literal(key: &str) -> String {
    let mut text = String::new();
    for character in key.chars() {
        match character {
            '*' | '?' | '$' => {
                text.push_str("${");
                text.push(character);
                text.push('}');
            }
            _ => text.push(character),
        }
    }
    text
}

struct PolicyScope<'a> {
    spec: &'a Spec,
    region: &'a str,
}

impl PolicyScope<'_> {
    fn for_ci(&self) -> Vec<Value> {
        let canaries = || self.regional("sagemaker", &[CANARIES]);
        let roles: BTreeSet<String> = self.roles().map(str::to_owned).collect();
        let is_kept = |job: &Job| job.canary.warm_pool != WarmPoolPolicy::Off;
        let keeps = self.spec.jobs.iter().any(is_kept);
        let is_manifest = |channel: &Channel| channel.data_type == DataType::Manifest;
        let mut statements = vec![
            allow(
                "Canaries",
                "sagemaker:CreateTrainingJob sagemaker:DescribeTrainingJob sagemaker:StopTrainingJob sagemaker:AddTags sagemaker:ListTags",
                canaries(),
            ),
            allow("FindCanaries", "sagemaker:ListTrainingJobs", anything()),
            // Nothing else of a job may be changed, and no pool be kept longer.
            with(
                allow(
                    "EndWarmPools",
                    "sagemaker:UpdateTrainingJob",
                    if keeps { canaries() } else { Vec::new() },
                ),
                json!({"NumericEqualsIfExists": {"sagemaker:KeepAlivePeriod": "0"}}),
            ),
            with(
                allow("RoleOfCanaries", "iam:PassRole", roles),
                json!({"StringEquals": {"iam:PassedToService": SERVICE}}),
            ),
        ];
        statements.extend(self.list_buckets(self.history()));
        statements.extend([
            allow("CopyDataForFastFile", "s3:GetObject", self.data(is_copied)),
            allow("ReadManifests", "s3:GetObject", self.data(is_manifest)),
            allow("ReadRows", "s3:GetObject", self.data(has_rows)),
            self.decrypt_data(),
            allow(
                "CanaryFolder",
                "s3:GetObject s3:PutObject s3:DeleteObject",
                self.outputs(),
            ),
            self.records(),
        ]);
        statements.extend(self.kms_keys());
        statements.extend([
            allow("Metrics", "cloudwatch:GetMetricData", anything()),
            allow("Logs", "logs:DescribeLogStreams logs:GetLogEvents", self.log_groups()),
            allow(
                "PricesAndQuotas",
                "pricing:GetProducts servicequotas:ListServiceQuotas servicequotas:ListAWSDefaultServiceQuotas",
                anything(),
            ),
        ]);
        statements
    }

    /// A canary runs the code under test, which has no business with the history.
    fn for_job(&self) -> Vec<Value> {
        let mut statements = self.list_buckets(None);
        statements.push(allow("ReadData", "s3:GetObject", self.data(|_| true)));
        statements.push(allow(
            "CanaryFolder",
            "s3:GetObject s3:PutObject",
            self.outputs(),
        ));
        statements.extend(self.kms_keys());
        let mut jobs = self.spec.jobs.iter();
        let is_in_vpc = jobs.any(|job| !job.training.sagemaker.subnets.is_empty());
        statements.extend([
            allow(
                "Logs",
                "logs:CreateLogGroup logs:CreateLogStream logs:DescribeLogStreams logs:PutLogEvents",
                self.log_groups(),
            ),
            with(
                allow("Metrics", "cloudwatch:PutMetricData", anything()),
                json!({"StringEquals": {"cloudwatch:namespace": LOG_GROUP}}),
            ),
            allow(
                "PullImage",
                "ecr:BatchCheckLayerAvailability ecr:BatchGetImage ecr:GetAuthorizationToken ecr:GetDownloadUrlForLayer",
                anything(),
            ),
            allow(
                "Vpc",
                "ec2:CreateNetworkInterface ec2:CreateNetworkInterfacePermission ec2:DeleteNetworkInterface ec2:DeleteNetworkInterfacePermission ec2:DescribeDhcpOptions ec2:DescribeNetworkInterfaces ec2:DescribeSecurityGroups ec2:DescribeSubnets ec2:DescribeVpcs",
                if is_in_vpc { anything() } else { Vec::new() },
            ),
        ]);
        statements
    }

    /// Where canaries need nothing in AWS.
    fn for_history(&self) -> Vec<Value> {
        let mut statements = self.list_buckets(self.history());
        statements.push(self.records());
        statements
    }

    /// Records are never removed.
    fn records(&self) -> Value {
        let history = self.history();
        let records: Vec<String> = history.iter().map(|place| self.objects(place)).collect();
        allow("History", "s3:GetObject s3:PutObject", records)
    }

    /// Bucket and folder of the history, where it is in S3.
    fn history(&self) -> Option<(&str, String)> {
        folder(self.spec.history.as_deref()?)
    }

    /// The keys of outputs and volumes, which the one who starts a job uses as the job does.
    fn kms_keys(&self) -> impl Iterator<Item = Value> {
        let output = self.keys("OutputKeys", "kms:GenerateDataKey kms:Decrypt", |job| {
            job.training.sagemaker.output_kms_key.as_deref()
        });
        let volume = self.keys("VolumeKeys", "kms:CreateGrant kms:DescribeKey", |job| {
            job.training.sagemaker.volume_kms_key.as_deref()
        });
        output.into_iter().chain(volume)
    }

    fn roles(&self) -> impl Iterator<Item = &str> {
        (self.spec.jobs.iter()).filter_map(|job| job.training.sagemaker.role.as_deref())
    }

    fn accounts(&self) -> BTreeSet<AwsAccount<'_>> {
        self.roles().filter_map(AwsAccount::of).collect()
    }

    /// S3's ARNs name no account.
    fn partition(&self) -> &str {
        let accounts = self.accounts().into_iter().next();
        accounts.map_or("aws", |account| account.partition)
    }

    /// `arn:aws:SERVICE:us-east-1:123456789012:RESOURCE` in every account.
    fn regional(&self, service: &str, resources: &[&str]) -> Vec<String> {
        let of_account = |AwsAccount { partition, number }: AwsAccount<'_>| {
            let arn = format!("arn:{partition}:{service}:{}:{number}", self.region);
            let resources = resources.iter();
            resources.map(move |resource| format!("{arn}:{resource}"))
        };
        self.accounts().into_iter().flat_map(of_account).collect()
    }

    /// A group is named with its streams for some actions, and without them for others.
    fn log_groups(&self) -> Vec<String> {
        let group = format!("log-group:{LOG_GROUP}");
        self.regional("logs", &[&group, &format!("{group}:*")])
    }

    fn bucket(&self, name: &str) -> String {
        format!("arn:{}:s3:::{name}", self.partition())
    }

    /// All objects of a bucket whose keys begin so.
    fn objects(&self, (bucket, prefix): &(&str, String)) -> String {
        format!("{}/{}*", self.bucket(bucket), literal(prefix))
    }

    fn output_folders(&self) -> impl Iterator<Item = (&str, String)> {
        let jobs = self.spec.jobs.iter();
        jobs.filter_map(|job| folder(job.training.sagemaker.output.as_deref()?))
    }

    fn outputs(&self) -> BTreeSet<String> {
        self.output_folders()
            .map(|place| self.objects(&place))
            .collect()
    }

    /// Where the data of some channels begin.
    fn places(&self, is_read: impl Fn(&Channel) -> bool) -> impl Iterator<Item = (&str, String)> {
        let channels = self.spec.jobs.iter().flat_map(|job| &job.training.channels);
        let read = channels.filter(move |channel| is_read(channel));
        read.filter_map(|channel| place(&channel.uri))
    }

    fn data(&self, is_read: impl Fn(&Channel) -> bool) -> BTreeSet<String> {
        self.places(is_read)
            .map(|place| self.objects(&place))
            .collect()
    }

    /// Data, outputs and, where asked for, the history can be listed, and nothing else of their buckets.
    fn list_buckets(&self, history: Option<(&str, String)>) -> Vec<Value> {
        let mut buckets: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        let all = self
            .places(|_| true)
            .chain(self.output_folders())
            .chain(history);
        for (bucket, prefix) in all {
            let prefixes = buckets.entry(bucket).or_default();
            prefixes.insert(format!("{}*", literal(&prefix)));
        }
        (1..)
            .zip(&buckets)
            .map(|(number, (bucket, prefixes))| {
                let bucket = vec![self.bucket(bucket)];
                let list = allow(&format!("List{number}"), "s3:ListBucket", bucket);
                if prefixes.contains("*") {
                    // The whole bucket; a listing without a prefix meets no condition on it.
                    return list;
                }
                with(list, json!({"StringLike": {"s3:prefix": prefixes}}))
            })
            .collect()
    }

    /// The keys of data that are encrypted, which a spec does not name: any, but through S3 and for these data alone.
    /// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html#encryption-context>
    fn decrypt_data(&self) -> Value {
        let copied = self.places(|channel| is_copied(channel) || has_rows(channel));
        // With a key for the whole bucket its name stands for all objects.
        let of_place = |place: (&str, String)| [self.objects(&place), self.bucket(place.0)];
        let places: BTreeSet<String> = copied.flat_map(of_place).collect();
        let domain = match self.partition() {
            "aws-cn" => "amazonaws.com.cn",
            _ => "amazonaws.com",
        };
        let keys = match places.is_empty() {
            true => Vec::new(),
            false => self.regional("kms", &["key/*"]),
        };
        with(
            allow("DecryptDataForFastFile", "kms:Decrypt", keys),
            json!({
                "StringEquals": {"kms:ViaService": format!("s3.{}.{domain}", self.region)},
                "StringLike": {"kms:EncryptionContext:aws:s3:arn": places},
            }),
        )
    }

    /// Keys by id or ARN are resources; an alias can only be a condition on all keys.
    fn keys(
        &self,
        sid: &str,
        actions: &str,
        key_of: impl for<'j> Fn(&'j Job) -> Option<&'j str>,
    ) -> [Value; 2] {
        let mut keys: BTreeSet<String> = BTreeSet::new();
        let mut aliases: BTreeSet<String> = BTreeSet::new();
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
        let all = match aliases.is_empty() {
            true => Vec::new(),
            false => self.regional("kms", &["key/*"]),
        };
        let by_alias = allow(&format!("{sid}ByAlias"), actions, all);
        let condition = json!({"ForAnyValue:StringEquals": {"kms:ResourceAliases": aliases}});
        [allow(sid, actions, keys), with(by_alias, condition)]
    }
}

/// Whether canaries read rows that the gate copies.
fn has_rows(channel: &Channel) -> bool {
    channel.sample == ChannelSample::Rows
}

/// The resource of actions that know no resources.
fn anything() -> Vec<String> {
    vec!["*".to_owned()]
}

fn allow(sid: &str, actions: &str, resources: impl IntoIterator<Item = String>) -> Value {
    let actions: Vec<&str> = actions.split(' ').collect();
    let resources: Vec<String> = resources.into_iter().collect();
    json!({"Sid": sid, "Effect": "Allow", "Action": actions, "Resource": resources})
}

fn with(mut statement: Value, condition: Value) -> Value {
    let fields: Option<&mut Map<_, _>> = statement.as_object_mut();
    if let Some(fields) = fields {
        fields.insert("Condition".to_owned(), condition);
    }
    statement
}

#[cfg(test)]
mod tests;
