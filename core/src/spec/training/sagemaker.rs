//! What the SageMaker backend makes of a spec: its keys of `training`, and their checks against what its API takes.

use std::rc::Rc;

use super::framework::Framework;
use super::program::{ContainerWords, STARTED};
use super::{BackendEntry, RunPlace, Training, launcher, program};
use crate::instance::tables;
use crate::spec::Channel;
use crate::spec::field::FieldRule;
use crate::spec::keys::{List, Map, mapping};
use crate::spec::kind::{AnyText, Count, Refined, Text, known_forms};
use crate::spec::limits::{self, S3Address};
use crate::spec::paths::ScriptPath;
use crate::spec::reader::{At, Reader, quoted, rules};
use crate::units::{Bytes, Seconds};

/// SageMaker's own default.
pub(super) const MAX_RUNTIME: Seconds = Seconds(86_400.0);

pub(super) const ENTRY: BackendEntry = BackendEntry {
    place: RunPlace::Cloud,
    check,
    max_runtime: |_| Some(MAX_RUNTIME),
};

known_forms! {
    RoleArn: limits::is_role,
        "is not the ARN of a role", "write `arn:aws:iam::123456789012:role/Name`";
    KmsKey: limits::is_kms_key,
        "is not a key", "write the key's id, ARN or alias";
    SubnetId: limits::is_subnet,
        "is not one of subnets", "write an id such as `subnet-0a1b2c3d`";
    SecurityGroupId: limits::is_security_group,
        "is not one of security groups", "write an id such as `sg-0a1b2c3d`";
    Algorithm: limits::is_algorithm,
        "is not an algorithm", "write its name, or `arn:aws:sagemaker:us-east-1:123456789012:algorithm/name`";
    TrainingPlan: limits::is_training_plan,
        "is not the ARN of a training plan", "write `arn:aws:sagemaker:us-east-1:123456789012:training-plan/name`";
    ChannelName: limits::is_channel_name,
        "cannot be a channel's name", "write 1 to 64 letters, digits, dots, hyphens and underscores";
}

/// A size of a disk.
pub(in crate::spec) enum Gigabytes {}

impl Refined for Gigabytes {
    type Of = Count;
    type Value = Bytes;

    fn refine(gigabytes: u32, at: &At, reader: &mut Reader<'_>) -> Option<Bytes> {
        let most = limits::VOLUME_GB;
        rules! { reader, at;
            wrong "" if gigabytes > most => format!("{gigabytes} GB; a volume has at most {most} GB");
        }
        Some(Bytes(u64::from(gigabytes) * Bytes::GIB))
    }
}

mapping! {
    /// What only SageMaker understands. A job of another backend may leave out what SageMaker needs.
    pub struct SagemakerTraining named "Sagemaker" {
        /// SageMaker: the address of the training image.
        optional image: Text as String => FieldRule::named(STARTED).setting();
        /// SageMaker: an image of AWS by its framework and version, in place of `image`.
        optional framework: Framework => FieldRule::named(STARTED).setting();
        /// SageMaker: the name or ARN of an algorithm, of the Marketplace or your own, in place of `image`.
        optional algorithm: Algorithm as String => FieldRule::named(STARTED).setting();
        /// SageMaker: what the container starts in place of the image's own entry point.
        plain container: ContainerWords => FieldRule::EACH;
        /// SageMaker: the ARN of the role that the job runs as.
        optional role: RoleArn as String => FieldRule::BASE.uncounted();
        /// SageMaker: the script that is started, a path in `source_dir`.
        optional entry_point: ScriptPath as String => FieldRule::HEAD.setting();
        /// SageMaker: the channel on which the container gets the files of `source_dir`. The Python SDK v3 calls it `code`.
        optional source_channel: ChannelName as String => FieldRule::HEAD;
        /// SageMaker: the place of the job's output, an `s3://bucket/prefix/`.
        optional output: S3Address as String => FieldRule::BASE.uncounted();
        /// SageMaker: whether the model is packed (`OutputDataConfig.CompressionType`), in canaries too. Default: true.
        plain pack_model: bool, or true => FieldRule::HEAD.setting();
        /// SageMaker: the size of the disk in GB. Default: 30.
        plain volume_gb: Gigabytes as Bytes, or Bytes(30 * Bytes::GIB) => FieldRule::HEAD;
        /// SageMaker: the KMS key that encrypts the disk.
        optional volume_kms_key: KmsKey as String => FieldRule::BASE.uncounted();
        /// SageMaker: the KMS key that encrypts the output.
        optional output_kms_key: KmsKey as String => FieldRule::BASE.uncounted();
        /// SageMaker: whether the full run uses spot capacity; canaries never do. Default: false.
        plain spot: bool => FieldRule::named("Its cost is judged by it.").uncounted();
        /// SageMaker: the subnets of a VPC; needs `security_groups`.
        plain subnets: List<SubnetId> as Vec<String> => FieldRule::BASE;
        /// SageMaker: the security groups of a VPC; needs `subnets`.
        plain security_groups: List<SecurityGroupId> as Vec<String> => FieldRule::BASE;
        /// SageMaker: whether the container is cut off from the network. Default: false.
        plain network_isolation: bool => FieldRule::BASE;
        /// SageMaker: whether the traffic between the machines is encrypted. Default: false.
        plain encrypt_traffic: bool => FieldRule::BASE.setting();
        /// SageMaker: the ARN of the training plan on whose prepaid capacity the full run is. Canaries run on it only with
        /// `canary.training_plan`.
        optional training_plan: TrainingPlan as String => FieldRule::BASE.uncounted();
        /// SageMaker: whether Debugger profiles canaries, beside the probe and CloudWatch. Default: false.
        plain profiler: bool => FieldRule::HEAD;
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
fn check(reader: &mut Reader<'_>, training: &Training, at: &At) {
    let keys = &training.sagemaker;
    let no_code = keys.entry_point.is_none() && keys.source_channel.is_none();
    let channels = training.channels.len();
    let is_full = channels == *limits::CHANNELS.end();
    let is_named = reader.is_written(&at.key("framework"));
    let is_needed = |key: &str, is_missing: bool| is_missing && !reader.is_wrong(&at.key(key));
    let no_image = !is_named && keys.image.is_none() && keys.algorithm.is_none();
    let no_image = is_needed("image", no_image);
    let no_role = is_needed("role", keys.role.is_none());
    let no_output = is_needed("output", keys.output.is_none());
    rules! { reader, at;
        refuse "command" if reader.has(&at.key("command")) =>
            "a SageMaker job starts its image, not a command",
            "write `source_dir` and `entry_point`, or choose `backend: local`";
        refuse "" if no_image =>
            "a SageMaker job needs `image`", "write `image`, `framework: {pytorch: 2.8}` or `algorithm`";
        wrong "" if no_role => "a SageMaker job needs `role`";
        wrong "" if no_output => "a SageMaker job needs `output`";
        refuse "network_isolation" if keys.network_isolation && keys.entry_point.is_some() && is_full =>
            format!("{channels} channels beside it; SageMaker takes {channels} in all, and a script without network comes on one of its own"),
            "put two channels under one prefix";
        warn "source_dir" if training.source_dir.is_some() && no_code =>
            "without `entry_point` the image must know which script to start";
        warn "dependencies" if no_code && training.source_dir.is_none() && !training.dependencies.is_empty() =>
            "without `entry_point` or `source_dir` no code is packed";
    }
    reader.no_effect(&at.key("caches"));
    program::check(reader, training, at);
    launcher::check_on_sagemaker(reader, training, at);
}

impl Reader<'_> {
    /// What holds of the keys whatever the backend is.
    pub(super) fn check_sagemaker_keys(&mut self, at: &At, keys: &SagemakerTraining) {
        if let Some(image) = &keys.image {
            self.check_image(&at.key("image"), image);
        }
        if let Some(framework) = &keys.framework {
            self.check_framework(&at.key("framework"), framework);
        }
        if self.has(&at.key("container")) {
            self.check_container(&at.key("container"), &keys.container);
        }
        let (subnets, groups) = (at.key("subnets"), at.key("security_groups"));
        self.too_many(&subnets, "subnets", keys.subnets.len(), limits::SUBNETS);
        let count = keys.security_groups.len();
        self.too_many(&groups, "security groups", count, limits::SECURITY_GROUPS);
        if keys.subnets.is_empty() != keys.security_groups.is_empty() {
            let at = [subnets, groups].into_iter().find(|at| self.is_written(at));
            let message = "`subnets` and `security_groups` belong together: give both or neither";
            self.wrong(&at.unwrap_or(At::ROOT), message);
        }
        if self.has(&at.key("volume_gb")) && self.is_on(RunPlace::Cloud) {
            self.check_volume(&at.key("volume_gb"), keys.volume_gb);
        }
        self.check_tags(&at.key("tags"), &keys.tags);
    }

    /// SageMaker refuses a volume that is larger than a type's own disks.
    fn check_volume(&mut self, at: &At, volume: Bytes) {
        let asked = f64::from(u32::try_from(volume.0 / Bytes::GIB).unwrap_or(u32::MAX));
        let instances = Rc::clone(&self.instances);
        let kinds = instances.iter().flat_map(|one| one.machines_by_type());
        let kinds = kinds.map(|(kind, _)| kind);
        let mut disks = kinds.filter_map(|kind| Some((kind, tables::local_disks(kind)?)));
        if let Some((kind, gigabytes)) = disks.find(|(_, gigabytes)| asked > *gigabytes) {
            self.wrong(at, format!("{asked} GB; {kind} has disks of its own with {gigabytes} GB, and SageMaker refuses more"));
        }
    }

    /// What canaries write would become data of the next ones, and change what they are compared with.
    pub(super) fn refuse_output_among_data(&mut self, at: &At, output: &str, channels: &[Channel]) {
        if let Some(channel) = channels.iter().find(|channel| channel.holds(output)) {
            let message = format!("lies within the data of channel {}", quoted(&channel.name));
            let help = "write to another prefix: what canaries write would be read as data";
            self.refuse(at, message, help);
        }
    }

    fn check_image(&mut self, at: &At, image: &str) {
        self.too_long(at, "an image name", image, limits::IMAGE);
        if image.contains(char::is_whitespace) {
            return self.wrong(at, "an image name holds no spaces");
        }
        // SageMaker pulls images from ECR in its own region.
        let Some(region) = limits::region_of_image(image) else {
            return self.warn(
                at,
                "is not in Amazon ECR: copy it there, for canaries take images from nowhere else",
            );
        };
        if let Some(own) = self.region.as_ref().filter(|own| *own != region) {
            let region = quoted(region);
            let message = format!(
                "is in {region}, and the job runs in {own}: SageMaker takes images of its own region"
            );
            self.warn(at, message);
        }
    }

    fn check_tags(&mut self, at: &At, tags: &[(String, String)]) {
        let what = "tags beside six of canary-gate's own";
        self.too_many(at, what, tags.len(), limits::TAGS);
        for (name, value) in tags {
            let (name_at, value_at) = (at.name(name), at.key(name));
            for (what, text, at, most) in [
                ("a key", name, &name_at, limits::TAG_NAME),
                ("a value", value, &value_at, limits::TAG_VALUE),
            ] {
                self.too_long(at, what, text, most);
                rules! { self, at;
                    wrong "" if !limits::is_tag_text(text) => "a tag holds letters, digits, spaces and `_.:/=+-@` only";
                }
            }
            let lower = name.to_lowercase();
            for (beginning, owner) in [("aws:", "AWS"), ("canary-gate:", "canary-gate")] {
                rules! { self, name_at;
                    wrong "" if lower.starts_with(beginning) => format!("tags of this form are set by {owner} alone");
                }
            }
        }
    }
}
