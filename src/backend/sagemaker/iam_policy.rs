//! The least IAM policy that a spec needs.
//!
//! Of whom starts the canaries, and of the role that they run as. Resources are as narrow as IAM lets them be for each
//! action: <https://docs.aws.amazon.com/service-authorization/latest/reference/list_amazonsagemaker.html>, and the
//! permissions of a training job: <https://docs.aws.amazon.com/sagemaker/latest/dg/sagemaker-roles.html>.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::spec::{
    BackendKind, Channel, ChannelSample, DataType, InputMode, Job, Spec, WarmPoolPolicy,
};

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
struct PolicyPlace<'a> {
    bucket: &'a str,
    prefix: &'a str,
}

impl<'a> PolicyPlace<'a> {
    fn of(uri: &'a str) -> Option<Self> {
        let rest = uri.strip_prefix("s3://")?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        Some(Self { bucket, prefix })
    }

    /// Where canary-gate and its jobs write: inside the folder, whether or not the address ends with `/`.
    fn folder(uri: &'a str) -> Option<(&'a str, String)> {
        let Self { bucket, prefix } = Self::of(uri)?;
        let prefix = prefix.trim_end_matches('/');
        let slash = if prefix.is_empty() { "" } else { "/" };
        Some((bucket, format!("{prefix}{slash}")))
    }
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
        let jobs = self.regional("sagemaker", &[CANARIES]);
        let roles: BTreeSet<&str> = self.roles().collect();
        let mut statements = vec![
            allow(
                "Canaries",
                &[
                    "sagemaker:CreateTrainingJob",
                    "sagemaker:DescribeTrainingJob",
                    "sagemaker:StopTrainingJob",
                    "sagemaker:AddTags",
                    "sagemaker:ListTags",
                ],
                jobs,
            ),
            allow("FindCanaries", &["sagemaker:ListTrainingJobs"], anything()),
        ];
        statements.extend(self.end_pools());
        statements.extend([with(
            allow(
                "RoleOfCanaries",
                &["iam:PassRole"],
                roles.into_iter().map(str::to_owned).collect(),
            ),
            json!({"StringEquals": {"iam:PassedToService": SERVICE}}),
        )]);
        statements.extend(self.list_buckets(self.history()));
        statements.extend(self.read_data("CopyDataForFastFile", &["s3:GetObject"], is_copied));
        let is_manifest = |channel: &Channel| channel.data_type == DataType::Manifest;
        statements.extend(self.read_data("ReadManifests", &["s3:GetObject"], is_manifest));
        statements.extend(self.read_data("ReadRows", &["s3:GetObject"], has_rows));
        statements.extend(self.find_uploads());
        statements.extend(self.decrypt_data());
        let in_folder = [
            "s3:GetObject",
            "s3:PutObject",
            "s3:DeleteObject",
            "s3:AbortMultipartUpload",
        ];
        statements.push(allow("CanaryFolder", &in_folder, self.outputs()));
        statements.extend(self.read_and_add_records());
        statements.extend(self.kms_keys());
        statements.extend([
            allow("Metrics", &["cloudwatch:GetMetricData"], anything()),
            allow(
                "Logs",
                &["logs:DescribeLogStreams", "logs:GetLogEvents"],
                self.log_groups(),
            ),
            allow(
                "PricesAndQuotas",
                &[
                    "pricing:GetProducts",
                    "servicequotas:ListServiceQuotas",
                    "servicequotas:ListAWSDefaultServiceQuotas",
                ],
                anything(),
            ),
        ]);
        statements
    }

    /// Machines that are kept between canaries are given back: nothing else of a job may be changed, and no pool be kept longer.
    fn end_pools(&self) -> Option<Value> {
        let is_kept = |job: &Job| job.canary.warm_pool != WarmPoolPolicy::Off;
        let end = allow(
            "EndWarmPools",
            &["sagemaker:UpdateTrainingJob"],
            self.regional("sagemaker", &[CANARIES]),
        );
        let only_ended = json!({"NumericEqualsIfExists": {"sagemaker:KeepAlivePeriod": "0"}});
        (self.spec.jobs.iter().any(is_kept)).then(|| with(end, only_ended))
    }

    /// The keys of outputs and volumes, which the one who starts a job uses as the job does.
    fn kms_keys(&self) -> impl Iterator<Item = Value> {
        let output = self.keys(
            "OutputKeys",
            &["kms:GenerateDataKey", "kms:Decrypt"],
            |job| job.training.sagemaker.output_kms_key.as_deref(),
        );
        let volume = self.keys(
            "VolumeKeys",
            &["kms:CreateGrant", "kms:DescribeKey"],
            |job| job.training.sagemaker.volume_kms_key.as_deref(),
        );
        output.into_iter().chain(volume)
    }

    /// Where canaries need nothing in AWS.
    fn for_history(&self) -> Vec<Value> {
        let mut statements = self.list_buckets(self.history());
        statements.extend(self.read_and_add_records());
        statements
    }

    /// Large draws of rows are put in parts, and those of a gate that was killed are looked for; its spec may have drawn rows
    /// where this one does not.
    fn find_uploads(&self) -> Option<Value> {
        let jobs = self.spec.jobs.iter();
        let buckets: BTreeSet<String> = jobs
            .filter_map(|job| PolicyPlace::folder(job.training.sagemaker.output.as_deref()?))
            .map(|(bucket, _)| format!("arn:{}:s3:::{bucket}", self.partition()))
            .collect();
        let buckets: Vec<String> = buckets.into_iter().collect();
        (!buckets.is_empty())
            .then(|| allow("FindUploads", &["s3:ListBucketMultipartUploads"], buckets))
    }

    /// Records are never removed.
    fn read_and_add_records(&self) -> Option<Value> {
        let (bucket, prefix) = self.history()?;
        let records = format!(
            "arn:{}:s3:::{bucket}/{}*",
            self.partition(),
            literal(&prefix)
        );
        let actions = ["s3:GetObject", "s3:PutObject"];
        Some(allow("History", &actions, vec![records]))
    }

    /// Bucket and folder of the history, where it is in S3.
    fn history(&self) -> Option<(&str, String)> {
        PolicyPlace::folder(self.spec.history.as_deref()?)
    }

    /// A canary runs the code under test, which has no business with the history.
    fn for_job(&self) -> Vec<Value> {
        let mut statements = self.list_buckets(None);
        statements.extend(self.read_data("ReadData", &["s3:GetObject"], |_| true));
        statements.push(allow(
            "CanaryFolder",
            &["s3:GetObject", "s3:PutObject"],
            self.outputs(),
        ));
        statements.extend(self.kms_keys());
        statements.extend([
            allow(
                "Logs",
                &[
                    "logs:CreateLogGroup",
                    "logs:CreateLogStream",
                    "logs:DescribeLogStreams",
                    "logs:PutLogEvents",
                ],
                self.log_groups(),
            ),
            with(
                allow("Metrics", &["cloudwatch:PutMetricData"], anything()),
                json!({"StringEquals": {"cloudwatch:namespace": LOG_GROUP}}),
            ),
            allow(
                "PullImage",
                &[
                    "ecr:BatchCheckLayerAvailability",
                    "ecr:BatchGetImage",
                    "ecr:GetAuthorizationToken",
                    "ecr:GetDownloadUrlForLayer",
                ],
                anything(),
            ),
        ]);
        if self
            .spec
            .jobs
            .iter()
            .any(|job| !job.training.sagemaker.subnets.is_empty())
        {
            statements.push(allow(
                "Vpc",
                &[
                    "ec2:CreateNetworkInterface",
                    "ec2:CreateNetworkInterfacePermission",
                    "ec2:DeleteNetworkInterface",
                    "ec2:DeleteNetworkInterfacePermission",
                    "ec2:DescribeDhcpOptions",
                    "ec2:DescribeNetworkInterfaces",
                    "ec2:DescribeSecurityGroups",
                    "ec2:DescribeSubnets",
                    "ec2:DescribeVpcs",
                ],
                anything(),
            ));
        }
        statements
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

    fn channels(&self) -> impl Iterator<Item = &Channel> {
        self.spec.jobs.iter().flat_map(|job| &job.training.channels)
    }

    /// `arn:aws:SERVICE:us-east-1:123456789012:RESOURCE` in every account.
    fn regional(&self, service: &str, resources: &[&str]) -> Vec<String> {
        let accounts = self.accounts().into_iter();
        accounts
            .flat_map(|AwsAccount { partition, number }| {
                resources.iter().map(move |resource| {
                    format!(
                        "arn:{partition}:{service}:{}:{number}:{resource}",
                        self.region
                    )
                })
            })
            .collect()
    }

    /// A group is named with its streams for some actions, and without them for others.
    fn log_groups(&self) -> Vec<String> {
        self.regional(
            "logs",
            &[
                &format!("log-group:{LOG_GROUP}"),
                &format!("log-group:{LOG_GROUP}:*"),
            ],
        )
    }

    fn outputs(&self) -> Vec<String> {
        let folders: BTreeSet<String> = (self.spec.jobs.iter())
            .filter_map(|job| PolicyPlace::folder(job.training.sagemaker.output.as_deref()?))
            .map(|(bucket, prefix)| {
                format!(
                    "arn:{}:s3:::{bucket}/{}*",
                    self.partition(),
                    literal(&prefix)
                )
            })
            .collect();
        folders.into_iter().collect()
    }

    /// Data, outputs and, where asked for, the history can be listed, and nothing else of their buckets.
    fn list_buckets(&self, history: Option<(&str, String)>) -> Vec<Value> {
        let mut buckets: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
        for place in self
            .channels()
            .filter_map(|channel| PolicyPlace::of(&channel.uri))
        {
            let prefixes = buckets.entry(place.bucket).or_default();
            prefixes.insert(format!("{}*", literal(place.prefix)));
        }
        let outputs = (self.spec.jobs.iter()).filter_map(|job| {
            job.training
                .sagemaker
                .output
                .as_deref()
                .and_then(PolicyPlace::folder)
        });
        for (bucket, prefix) in outputs.chain(history) {
            let prefixes = buckets.entry(bucket).or_default();
            prefixes.insert(format!("{}*", literal(&prefix)));
        }
        let arn = |bucket: &str| format!("arn:{}:s3:::{bucket}", self.partition());
        (1..)
            .zip(&buckets)
            .map(|(number, (bucket, prefixes))| {
                let list = allow(
                    &format!("List{number}"),
                    &["s3:ListBucket"],
                    vec![arn(bucket)],
                );
                if prefixes.contains("*") {
                    // The whole bucket; a listing without a prefix meets no condition on it.
                    return list;
                }
                with(list, json!({"StringLike": {"s3:prefix": prefixes}}))
            })
            .collect()
    }

    fn read_data(
        &self,
        sid: &str,
        actions: &[&str],
        is_read: impl Fn(&Channel) -> bool,
    ) -> Option<Value> {
        let data: BTreeSet<String> = self
            .channels()
            .filter(|channel| is_read(channel))
            .filter_map(|channel| PolicyPlace::of(&channel.uri))
            .map(|PolicyPlace { bucket, prefix }| {
                format!(
                    "arn:{}:s3:::{bucket}/{}*",
                    self.partition(),
                    literal(prefix)
                )
            })
            .collect();
        (!data.is_empty()).then(|| allow(sid, actions, data.into_iter().collect()))
    }

    /// The keys of data that are encrypted, which a spec does not name: any, but through S3 and for these data alone.
    /// <https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingKMSEncryption.html#encryption-context>
    fn decrypt_data(&self) -> Option<Value> {
        let copied = self
            .channels()
            .filter(|channel| is_copied(channel) || has_rows(channel));
        let places: BTreeSet<String> = copied
            .filter_map(|channel| PolicyPlace::of(&channel.uri))
            .flat_map(|PolicyPlace { bucket, prefix }| {
                let bucket = format!("arn:{}:s3:::{bucket}", self.partition());
                // With a key for the whole bucket its name stands for all objects.
                [format!("{bucket}/{}*", literal(prefix)), bucket]
            })
            .collect();
        let domain = match self.partition() {
            "aws-cn" => "amazonaws.com.cn",
            _ => "amazonaws.com",
        };
        let service = format!("s3.{}.{domain}", self.region);
        (!places.is_empty()).then(|| {
            with(
                allow(
                    "DecryptDataForFastFile",
                    &["kms:Decrypt"],
                    self.regional("kms", &["key/*"]),
                ),
                json!({
                    "StringEquals": {"kms:ViaService": service},
                    "StringLike": {"kms:EncryptionContext:aws:s3:arn": places},
                }),
            )
        })
    }

    /// Keys by id or ARN are resources; an alias can only be a condition on all keys.
    fn keys(
        &self,
        sid: &str,
        actions: &[&str],
        key_of: impl for<'j> Fn(&'j Job) -> Option<&'j str>,
    ) -> Vec<Value> {
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
        let mut statements = Vec::new();
        if !keys.is_empty() {
            statements.push(allow(sid, actions, keys.into_iter().collect()));
        }
        if !aliases.is_empty() {
            statements.push(with(
                allow(
                    &format!("{sid}ByAlias"),
                    actions,
                    self.regional("kms", &["key/*"]),
                ),
                json!({"ForAnyValue:StringEquals": {"kms:ResourceAliases": aliases}}),
            ));
        }
        statements
    }
}

/// Whether canaries read copies that the gate makes.
fn is_copied(channel: &Channel) -> bool {
    channel.sample == ChannelSample::Objects && channel.mode == InputMode::FastFile
}

/// Whether canaries read rows that the gate copies.
fn has_rows(channel: &Channel) -> bool {
    channel.sample == ChannelSample::Rows
}

/// Of actions that know no resources.
fn anything() -> Vec<String> {
    vec!["*".to_owned()]
}

fn allow(sid: &str, actions: &[&str], resources: Vec<String>) -> Value {
    let resources = Value::from(resources);
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
