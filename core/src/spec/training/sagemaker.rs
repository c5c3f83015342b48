//! What the SageMaker backend makes of a spec: its keys of `training`, and their checks against what its API takes.

use super::framework::Framework;
use super::program::{ContainerWords, NO_CREDENTIALS, RawContainer, STARTED};
use super::{BackendEntry, RawTraining, launcher, program};
use crate::instance::{InstanceConfiguration, tables};
use crate::spec::backend_kind::RunPlace;
use crate::spec::field::{FieldRule, keys};
use crate::spec::problems::{At, Findings, Located, quoted};
use crate::spec::raw::{
    AnyText, Count, Formed, FromNode, List, Map, Plain, Text, forms, has_items, inline_schema,
};
use crate::spec::read::{S3Address, ScriptPath, SpecReader, limits};
use crate::spec::yaml::Node;
use crate::spec::{Channel, Traits};
use crate::units::{Bytes, Seconds};

/// What the API takes.
const RETRIES: u32 = 30;
/// SageMaker's own default.
pub(super) const MAX_RUNTIME: Seconds = Seconds(86_400.0);

pub(super) const ENTRY: BackendEntry = BackendEntry {
    traits: Traits {
        outlives_the_gate: true,
        needs_price: true,
        is_remote: true,
        image_brings_code: true,
        ..Traits::NONE
    },
    place: RunPlace::Cloud,
    check,
    max_runtime: |_| Some(MAX_RUNTIME),
};

forms! {
    RoleArn: limits::is_role, "is not the ARN of a role", "write `arn:aws:iam::123456789012:role/Name`";
    KmsKey: limits::is_kms_key, "is not a key", "write the key's id, ARN or alias";
    SubnetId: |text| limits::is_id(text, "subnet-"), "is not one of subnets",
        "write an id such as `subnet-0a1b2c3d`";
    SecurityGroupId: |text| limits::is_id(text, "sg-"), "is not one of security groups",
        "write an id such as `sg-0a1b2c3d`";
    /// A name, or an ARN.
    Algorithm: limits::is_algorithm, "is not an algorithm",
        "write its name, or `arn:aws:sagemaker:us-east-1:123456789012:algorithm/name`";
    RegistryCredentials: |text| text == NO_CREDENTIALS || limits::is_function(text),
        "is not the ARN of a Lambda function",
        "write `arn:aws:lambda:us-east-1:123456789012:function:name`, or `none` where the registry asks for no credentials";
    TrainingPlan: limits::is_training_plan, "is not the ARN of a training plan",
        "write `arn:aws:sagemaker:us-east-1:123456789012:training-plan/name`";
    ChannelName: limits::is_channel_name, "cannot be a channel's name",
        "write 1 to 64 letters, digits, dots, hyphens and underscores";
}

/// A size of a disk.
#[derive(Debug)]
pub(in crate::spec) struct Gigabytes(u32);

impl FromNode for Gigabytes {
    fn from_node(node: &Node, at: &At, findings: &mut Findings) -> Option<Self> {
        let Count(gigabytes) = Count::from_node(node, at, findings)?;
        if gigabytes > limits::VOLUME_GB {
            let most = limits::VOLUME_GB;
            let message = format!("{gigabytes} GB; a volume has at most {most} GB");
            findings.wrong(at, message);
        }
        Some(Self(gigabytes))
    }
}

inline_schema!(Gigabytes, "Gigabytes", { "type": "integer", "minimum": 1 });

impl Plain for Gigabytes {
    type Value = Bytes;

    fn plain(self) -> Bytes {
        Bytes(u64::from(self.0) * Bytes::GIB)
    }
}

keys! {
    /// What only SageMaker understands. A job of another backend may leave out what SageMaker needs.
    pub struct SagemakerTraining of SagemakerKeys {
        /// SageMaker: the address of the training image.
        optional image: Text as String => FieldRule::named(STARTED).setting();
        /// SageMaker: an image of AWS by its framework and version, in place of `image`.
        optional framework: Framework as Framework => FieldRule::named(STARTED).setting();
        /// SageMaker: the name or ARN of an algorithm, of the Marketplace or your own, in place of `image`.
        optional algorithm: Formed<Algorithm> as String => FieldRule::named(STARTED).setting();
        /// SageMaker: what the container starts in place of the image's own entry point.
        plain container: RawContainer as ContainerWords => FieldRule::EACH;
        /// SageMaker: for an image in a registry of your own in the VPC, the ARN of the Lambda function that gives its credentials,
        /// or `none`.
        optional registry_credentials: Formed<RegistryCredentials> as String => FieldRule::BASE.uncounted();
        /// SageMaker: the ARN of the role that the job runs as.
        optional role: Formed<RoleArn> as String => FieldRule::BASE.uncounted();
        /// SageMaker: the script that is started, a path in `source_dir`.
        optional entry_point: Formed<ScriptPath> as String => FieldRule::HEAD.setting();
        /// SageMaker: the channel on which the container gets the files of `source_dir`. The Python SDK v3 calls it `code`.
        optional source_channel: Formed<ChannelName> as String => FieldRule::HEAD;
        /// SageMaker: the place of the job's output, an `s3://bucket/prefix/`.
        optional output: Formed<S3Address> as String => FieldRule::BASE.uncounted();
        /// SageMaker: the size of the disk in GB. Default: 30.
        plain volume_gb: Gigabytes as Bytes, or Bytes(30 * Bytes::GIB) => FieldRule::HEAD;
        /// SageMaker: the KMS key that encrypts the disk.
        optional volume_kms_key: Formed<KmsKey> as String => FieldRule::BASE.uncounted();
        /// SageMaker: the KMS key that encrypts the output.
        optional output_kms_key: Formed<KmsKey> as String => FieldRule::BASE.uncounted();
        /// SageMaker: whether the full run uses spot capacity; canaries never do. Default: false.
        plain spot: bool as bool => FieldRule::named("Its cost is judged by it.").uncounted();
        /// SageMaker: the place of checkpoints, an `s3://bucket/prefix/`.
        optional checkpoints: Formed<S3Address> as String => FieldRule::BASE.uncounted();
        /// SageMaker: the subnets of a VPC; needs `security_groups`.
        plain subnets: List<Formed<SubnetId>> as Vec<String> => FieldRule::BASE;
        /// SageMaker: the security groups of a VPC; needs `subnets`.
        plain security_groups: List<Formed<SecurityGroupId>> as Vec<String> => FieldRule::BASE;
        /// SageMaker: whether the container is cut off from the network. Default: false.
        plain network_isolation: bool as bool => FieldRule::BASE;
        /// SageMaker: whether the traffic between the machines is encrypted. Default: false.
        plain encrypt_traffic: bool as bool => FieldRule::BASE.setting();
        /// SageMaker: how often SageMaker starts the full run again after an error of its own, at most 30; never a canary.
        /// Default: not at all.
        optional retries: Count as u32 => FieldRule::HEAD.uncounted();
        /// SageMaker: the ARN of the training plan on whose prepaid capacity the full run is. Canaries run on it only with
        /// `canary.training_plan`.
        optional training_plan: Formed<TrainingPlan> as String => FieldRule::BASE.uncounted();
        /// SageMaker: whether Debugger profiles canaries. Where this is not written, it does if no probe runs.
        optional profiler: bool as bool => FieldRule::HEAD;
        /// SageMaker: the tags of the training job, by name.
        plain tags: Map<AnyText> as Vec<(String, String)> => FieldRule::BASE.uncounted();
    }
}

impl SagemakerTraining {
    /// Whether it is known what the container starts, so that a probe can start it. An algorithm takes its own channels only, so
    /// that nothing can be brought into its container.
    pub fn has_known_start(&self) -> bool {
        let has_command = self.entry_point.is_some() || !self.container.entrypoint.is_empty();
        has_command && self.algorithm.is_none()
    }

    /// Whether a VPC is named, if only by half.
    pub fn is_in_vpc(&self) -> bool {
        !self.subnets.is_empty() || !self.security_groups.is_empty()
    }
}

/// What a SageMaker job must have, cannot have, or would better have.
fn check(reader: &mut SpecReader<'_>, raw: &RawTraining, at: &At) {
    let keys = &raw.sagemaker;
    if let Some(command) = &raw.local.command {
        reader.findings.wrong_with_help(
            &command.at,
            "a SageMaker job starts its image, not a command",
            "write `source_dir` and `entry_point`, or choose `backend: local`",
        );
    }
    if let Some(caches) = &raw.local.caches {
        reader.no_effect(&caches.at);
    }
    // One that could not be read has its complaint.
    let framework_path = format!("{}.framework", at.path);
    let names_framework = keys.framework.is_some() || reader.findings.is_known(&framework_path);
    let needed = [
        (
            keys.image.is_none() && keys.algorithm.is_none() && !names_framework,
            "image",
            Some("write `image`, `framework: {pytorch: 2.8}` or `algorithm`"),
        ),
        (keys.role.is_none(), "role", None),
        (keys.output.is_none(), "output", None),
    ];
    for (_, key, help) in needed.into_iter().filter(|(missing, _, _)| *missing) {
        let message = format!("a SageMaker job needs `{key}`");
        reader.findings.missing(at, key, &message, help);
    }
    let isolated = keys.network_isolation.as_ref().filter(|it| it.value);
    let channels = raw.channels.as_ref();
    let channels = channels.map_or(0, |channels| channels.value.names.len());
    if let Some(isolated) = isolated
        && keys.entry_point.is_some()
        && channels == *limits::CHANNELS.end()
    {
        reader.findings.wrong_with_help(
            &isolated.at,
            format!("{channels} channels beside it; SageMaker takes {channels} in all, and a script without network comes on one of its own"),
            "put two channels under one prefix",
        );
    }
    program::check(reader, raw);
    launcher::check_on_sagemaker(reader, raw);
    if let (Some(folder), None, None) = (&raw.source_dir, &keys.entry_point, &keys.source_channel) {
        reader.findings.warn(
            &folder.at,
            "without `entry_point` the image must know which script to start",
        );
    }
    if let Some(spot) = &keys.spot
        && spot.value
        && keys.checkpoints.is_none()
    {
        reader.findings.warn(
            &spot.at,
            "without `checkpoints` an interrupted run starts again from nothing",
        );
    }
}

impl SpecReader<'_> {
    /// What holds of the keys whatever the backend is.
    pub(super) fn check_sagemaker_keys(&mut self, keys: &SagemakerKeys) {
        if let Some(image) = &keys.image {
            self.check_image(image, keys.registry_credentials.is_some());
        }
        if let Some(container) = &keys.container {
            self.check_container(container);
        }
        let (subnets, groups) = (&keys.subnets, &keys.security_groups);
        self.at_most_of(subnets.as_ref(), "subnets", limits::SUBNETS);
        self.at_most_of(groups.as_ref(), "security groups", limits::SECURITY_GROUPS);
        let subnets_at = subnets.as_ref().map(|list| &list.at);
        let at = subnets_at.or(groups.as_ref().map(|list| &list.at));
        let is_half = has_items(subnets.as_ref()) != has_items(groups.as_ref());
        if let Some(at) = at.filter(|_| is_half) {
            let message = "`subnets` and `security_groups` belong together: give both or neither";
            self.findings.wrong(at, message);
        }
        if let Some(retries) = keys.retries.as_ref().filter(|it| it.value.0 > RETRIES) {
            let count = retries.value.0;
            let message = format!("{count} retries; SageMaker takes at most {RETRIES}");
            self.findings.wrong(&retries.at, message);
        }
        if let Some(tags) = &keys.tags {
            self.check_tags(tags);
        }
    }

    /// SageMaker refuses a volume that is larger than a type's own disks.
    pub(in crate::spec) fn check_volume(
        &mut self,
        volume: &Located<Gigabytes>,
        instances: &[&InstanceConfiguration],
    ) {
        let kinds = instances
            .iter()
            .flat_map(|one| one.machines_by_type().into_keys());
        let mut disks = kinds.filter_map(|kind| Some((kind, tables::local_disks(kind)?)));
        let asked = f64::from(volume.value.0);
        let smaller = disks.find(|(_, gigabytes)| asked > *gigabytes);
        if let Some((kind, gigabytes)) = smaller.filter(|_| self.is_on(RunPlace::Cloud)) {
            self.findings.wrong(
                &volume.at,
                format!("{asked} GB; {kind} has disks of its own with {gigabytes} GB, and SageMaker refuses more"),
            );
        }
    }

    /// What canaries write would become data of the next ones, and change what they are compared with.
    pub(super) fn refuse_output_among_data(
        &mut self,
        output: &Located<Formed<S3Address>>,
        channels: &[Channel],
    ) {
        let written = output.value.text.trim_end_matches('/');
        let around = channels.iter().find(|channel| {
            channel.uri.starts_with("s3://")
                && format!("{written}/").starts_with(channel.uri.as_str())
        });
        if let Some(channel) = around {
            self.findings.wrong_with_help(
                &output.at,
                format!("lies within the data of channel {}", quoted(&channel.name)),
                "write to another prefix: what canaries write would be read as data",
            );
        }
    }

    fn check_image(&mut self, image: &Located<Text>, has_registry: bool) {
        let text = &image.value.0;
        self.at_most(&image.at, "an image name", text, limits::IMAGE);
        if text.contains(char::is_whitespace) {
            self.findings
                .wrong(&image.at, "an image name holds no spaces");
        } else if !has_registry {
            self.warn_of_registry(image);
        }
    }

    /// SageMaker pulls images from ECR in its own region.
    fn warn_of_registry(&mut self, image: &Located<Text>) {
        let Some(region) = limits::region_of_image(&image.value.0) else {
            self.findings.warn(
                &image.at,
                "is not in Amazon ECR, and SageMaker takes images from elsewhere only with `registry_credentials`, `subnets` and `security_groups`",
            );
            return;
        };
        if let Some(own) = self.region.as_ref().filter(|own| *own != region) {
            let message = format!(
                "is in {}, and the job runs in {own}: SageMaker takes images of its own region",
                quoted(region)
            );
            self.findings.warn(&image.at, message);
        }
    }

    fn check_tags(&mut self, tags: &Located<Map<AnyText>>) {
        let count = tags.value.names.len();
        if count > limits::TAGS {
            let most = limits::TAGS;
            self.findings.wrong(&tags.at, format!("{count} tags; SageMaker takes 50, five of which canary-gate sets itself, so at most {most}"));
        }
        for entry in &tags.value.entries {
            let texts = [
                ("a key", &entry.name.value, &entry.name.at, limits::TAG_NAME),
                (
                    "a value",
                    &entry.value.value.0,
                    &entry.value.at,
                    limits::TAG_VALUE,
                ),
            ];
            for (what, text, at, most) in texts {
                self.at_most(at, what, text, most);
                if !limits::is_tag_text(text) {
                    let message = "a tag holds letters, digits, spaces and `_.:/=+-@` only";
                    self.findings.wrong(at, message);
                }
            }
            let lower = entry.name.value.to_lowercase();
            let owners = [("aws:", "AWS"), ("canary-gate:", "canary-gate")];
            for (_, owner) in owners
                .iter()
                .filter(|(begins, _)| lower.starts_with(begins))
            {
                let message = format!("tags of this form are set by {owner} alone");
                self.findings.wrong(&entry.name.at, message);
            }
        }
    }
}
