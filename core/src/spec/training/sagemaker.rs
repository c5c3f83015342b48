//! What the SageMaker backend makes of a spec: its keys of `training`, and their checks against what its API takes.

use super::framework::{Framework, RawFramework};
use super::program::{ContainerWords, RawContainer, RegistryCredentials, STARTED};
use super::{BackendEntry, RawTraining, launcher, program};
use crate::instance::{InstanceConfiguration, tables};
use crate::spec::field::{FieldRule, fields};
use crate::spec::problems::{At, Located, quoted};
use crate::spec::raw::{AnyText, Count, List, Map, Text, mapping};
use crate::spec::read::{SpecReader, limits};
use crate::spec::rules::{DataRule, LimitRule, MachineRule, ProbeRule, Rules};
use crate::spec::{Channel, Traits};
use crate::units::{Bytes, Seconds};

const DEFAULT_VOLUME_GB: u32 = 30;
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
    rules: Rules {
        data: DataRule::Cloud,
        machines: MachineRule::Cloud,
        probe: ProbeRule::Served,
        parallel: 3,
        limits: LimitRule::Sagemaker,
        has_warm_pools: true,
        ..Rules::ANY
    },
    check,
    max_runtime: |_| Some(MAX_RUNTIME),
};

mapping! {
    /// What only SageMaker understands.
    pub(in crate::spec) struct SagemakerKeys {
        /// SageMaker: the address of the training image.
        optional image: Text,
        /// SageMaker: an image of AWS by its framework and version, in place of `image`.
        optional framework: RawFramework,
        /// SageMaker: the name or ARN of an algorithm, of the Marketplace or your own, in place of `image`.
        optional algorithm: Text,
        /// SageMaker: what the container starts in place of the image's own entry point.
        optional container: RawContainer,
        /// SageMaker: for an image in a registry of your own in the VPC, the ARN of the Lambda function that gives its credentials,
        /// or `none`.
        optional registry_credentials: Text,
        /// SageMaker: the ARN of the role that the job runs as.
        optional role: Text,
        /// SageMaker: the script that is started, a path in `source_dir`.
        optional entry_point: Text,
        /// SageMaker: the channel on which the container gets the files of `source_dir`. The Python SDK v3 calls it `code`.
        optional source_channel: Text,
        /// SageMaker: the place of the job's output, an `s3://bucket/prefix/`.
        optional output: Text,
        /// SageMaker: the size of the disk in GB. Default: 30.
        optional volume_gb: Count,
        /// SageMaker: the KMS key that encrypts the disk.
        optional volume_kms_key: Text,
        /// SageMaker: the KMS key that encrypts the output.
        optional output_kms_key: Text,
        /// SageMaker: whether the full run uses spot capacity; canaries never do. Default: false.
        optional spot: bool,
        /// SageMaker: the place of checkpoints, an `s3://bucket/prefix/`.
        optional checkpoints: Text,
        /// SageMaker: the subnets of a VPC; needs `security_groups`.
        optional subnets: List<Text>,
        /// SageMaker: the security groups of a VPC; needs `subnets`.
        optional security_groups: List<Text>,
        /// SageMaker: whether the container is cut off from the network. Default: false.
        optional network_isolation: bool,
        /// SageMaker: whether the traffic between the machines is encrypted. Default: false.
        optional encrypt_traffic: bool,
        /// SageMaker: how often SageMaker starts the full run again after an error of its own, at most 30; never a canary.
        /// Default: not at all.
        optional retries: Count,
        /// SageMaker: the ARN of the training plan on whose prepaid capacity the full run is. Canaries run on it only with
        /// `canary.training_plan`.
        optional training_plan: Text,
        /// SageMaker: whether Debugger profiles canaries. Where this is not written, it does if no probe runs.
        optional profiler: bool,
        /// SageMaker: the tags of the training job, by name.
        optional tags: Map<AnyText>,
    }
}

fields! {
    /// The full run in SageMaker's own words. A job of another backend may leave out what SageMaker needs.
    #[derive(Debug, Clone, PartialEq)]
    pub struct SagemakerTraining {
        pub image: Option<String> = FieldRule::named(STARTED).setting(),
        /// In place of an image.
        pub framework: Option<Framework> = FieldRule::named(STARTED).setting(),
        /// In place of an image.
        pub algorithm: Option<String> = FieldRule::named(STARTED).setting(),
        pub container: ContainerWords = FieldRule::EACH,
        /// Of an image outside Amazon ECR.
        pub registry_credentials: Option<RegistryCredentials> = FieldRule::BASE.uncounted(),
        pub role: Option<String> = FieldRule::BASE.uncounted(),
        pub entry_point: Option<String> = FieldRule::HEAD.setting(),
        /// No channel of data has this name; never beside an entry point.
        pub source_channel: Option<String> = FieldRule::HEAD,
        pub output: Option<String> = FieldRule::BASE.uncounted(),
        pub volume: Bytes = FieldRule::HEAD.at("volume_gb"),
        pub volume_kms_key: Option<String> = FieldRule::BASE.uncounted(),
        pub output_kms_key: Option<String> = FieldRule::BASE.uncounted(),
        pub spot: bool = FieldRule::named("Its cost is judged by it.").uncounted(),
        pub checkpoints: Option<String> = FieldRule::BASE.uncounted(),
        pub subnets: Vec<String> = FieldRule::BASE,
        pub security_groups: Vec<String> = FieldRule::BASE,
        pub network_isolation: bool = FieldRule::BASE,
        pub encrypt_traffic: bool = FieldRule::BASE.setting(),
        /// Of the full run.
        pub retries: Option<u32> = FieldRule::HEAD.uncounted(),
        /// Of the full run: the ARN of prepaid capacity.
        pub training_plan: Option<String> = FieldRule::BASE.uncounted(),
        /// Whether Debugger profiles canaries; `None`: where no probe runs.
        pub profiler: Option<bool> = FieldRule::HEAD,
        pub tags: Vec<(String, String)> = FieldRule::BASE.uncounted(),
    }
}

impl Default for SagemakerTraining {
    /// What holds where nothing is written.
    fn default() -> Self {
        Self {
            image: None,
            framework: None,
            algorithm: None,
            container: ContainerWords::default(),
            registry_credentials: None,
            role: None,
            entry_point: None,
            source_channel: None,
            output: None,
            volume: volume(DEFAULT_VOLUME_GB),
            volume_kms_key: None,
            output_kms_key: None,
            spot: false,
            checkpoints: None,
            subnets: Vec::new(),
            security_groups: Vec::new(),
            network_isolation: false,
            encrypt_traffic: false,
            retries: None,
            training_plan: None,
            profiler: None,
            tags: Vec::new(),
        }
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

fn volume(gigabytes: u32) -> Bytes {
    Bytes(u64::from(gigabytes) * Bytes::GIB)
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
    let needed = [
        (
            keys.image.is_none() && keys.algorithm.is_none() && keys.framework.is_none(),
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
    let isolated = keys
        .network_isolation
        .as_ref()
        .filter(|switch| switch.value);
    let channels = raw
        .channels
        .as_ref()
        .map_or(0, |channels| channels.value.names.len());
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
    pub(super) fn sagemaker_training(&mut self, raw: SagemakerKeys) -> SagemakerTraining {
        let (subnets, security_groups) = self.network(raw.subnets, raw.security_groups);
        SagemakerTraining {
            image: raw
                .image
                .map(|image| self.image(&image, raw.registry_credentials.is_some())),
            framework: raw
                .framework
                .and_then(|framework| self.framework(framework)),
            algorithm: raw.algorithm.map(|algorithm| self.algorithm(&algorithm)),
            container: self.container(raw.container),
            registry_credentials: (raw.registry_credentials)
                .map(|credentials| self.registry_credentials(&credentials)),
            role: raw.role.map(|role| self.role(role)),
            entry_point: raw.entry_point.map(|script| self.script(&script)),
            source_channel: raw
                .source_channel
                .map(|channel| self.source_channel(&channel)),
            output: raw.output.map(|output| self.s3_uri(&output)),
            volume: volume(self.volume_gb(raw.volume_gb)),
            volume_kms_key: raw.volume_kms_key.map(|key| self.kms_key(key)),
            output_kms_key: raw.output_kms_key.map(|key| self.kms_key(key)),
            spot: raw.spot.is_some_and(|spot| spot.value),
            checkpoints: raw.checkpoints.map(|checkpoints| self.s3_uri(&checkpoints)),
            subnets,
            security_groups,
            network_isolation: raw.network_isolation.is_some_and(|switch| switch.value),
            encrypt_traffic: raw.encrypt_traffic.is_some_and(|switch| switch.value),
            retries: raw.retries.map(|retries| self.retries(&retries)),
            training_plan: raw.training_plan.map(|plan| self.training_plan(&plan)),
            profiler: raw.profiler.map(|switch| switch.value),
            tags: self.tags(raw.tags),
        }
    }

    fn volume_gb(&mut self, volume: Option<Located<Count>>) -> u32 {
        let Some(volume) = volume else {
            return DEFAULT_VOLUME_GB;
        };
        let gigabytes = volume.value.0;
        if gigabytes > limits::VOLUME_GB {
            let most = limits::VOLUME_GB;
            let message = format!("{gigabytes} GB; a volume has at most {most} GB");
            self.findings.wrong(&volume.at, message);
        }
        gigabytes
    }

    /// SageMaker refuses a volume that is larger than a type's own disks.
    pub(in crate::spec) fn check_volume(
        &mut self,
        volume: &Located<Count>,
        instances: &[&InstanceConfiguration],
    ) {
        let kinds = instances
            .iter()
            .flat_map(|one| one.machines_by_type().into_keys());
        let mut disks = kinds.filter_map(|kind| Some((kind, tables::local_disks(kind)?)));
        let asked = f64::from(volume.value.0);
        let smaller = disks.find(|(_, gigabytes)| asked > *gigabytes);
        if let Some((kind, gigabytes)) =
            smaller.filter(|_| self.rules().limits == LimitRule::Sagemaker)
        {
            self.findings.wrong(
                &volume.at,
                format!("{asked} GB; {kind} has disks of its own with {gigabytes} GB, and SageMaker refuses more"),
            );
        }
    }

    /// What canaries write would become data of the next ones, and change what they are compared with.
    pub(super) fn refuse_output_among_data(
        &mut self,
        output: &Located<Text>,
        channels: &[Channel],
    ) {
        let written = output.value.0.trim_end_matches('/');
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

    fn image(&mut self, image: &Located<Text>, has_registry: bool) -> String {
        let text = &image.value.0;
        self.at_most(&image.at, "an image name", text, limits::IMAGE);
        if text.contains(char::is_whitespace) {
            self.findings
                .wrong(&image.at, "an image name holds no spaces");
        } else if !has_registry {
            self.warn_of_registry(image);
        }
        text.clone()
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

    fn role(&mut self, role: Located<Text>) -> String {
        let text = role.value.0;
        if !limits::is_role(&text) {
            self.findings.wrong_with_help(
                &role.at,
                format!("{} is not the ARN of a role", quoted(&text)),
                "write `arn:aws:iam::123456789012:role/Name`",
            );
        }
        text
    }

    fn kms_key(&mut self, key: Located<Text>) -> String {
        let text = key.value.0;
        if !limits::is_kms_key(&text) {
            self.findings.wrong_with_help(
                &key.at,
                format!("{} is not a key", quoted(&text)),
                "write the key's id, ARN or alias",
            );
        }
        text
    }

    fn tags(&mut self, raw: Option<Located<Map<AnyText>>>) -> Vec<(String, String)> {
        let Some(raw) = raw else { return Vec::new() };
        let count = raw.value.names.len();
        if count > limits::TAGS {
            self.findings.wrong(
                &raw.at,
                format!(
                    "{count} tags; SageMaker takes 50, five of which canary-gate sets itself, so at most {}",
                    limits::TAGS
                ),
            );
        }
        let entries = raw.value.entries.into_iter();
        entries
            .map(|entry| {
                let (name, value) = (entry.name.value, entry.value.value.0);
                self.at_most(&entry.name.at, "a key", &name, limits::TAG_NAME);
                self.at_most(&entry.value.at, "a value", &value, limits::TAG_VALUE);
                for (text, at) in [(&name, &entry.name.at), (&value, &entry.value.at)] {
                    if !limits::is_tag_text(text) {
                        self.findings.wrong(
                            at,
                            "a tag holds letters, digits, spaces and `_.:/=+-@` only",
                        );
                    }
                }
                let lower = name.to_lowercase();
                if lower.starts_with("aws:") || lower.starts_with("canary-gate:") {
                    let owner = if lower.starts_with("aws:") {
                        "AWS"
                    } else {
                        "canary-gate"
                    };
                    self.findings.wrong(
                        &entry.name.at,
                        format!("tags of this form are set by {owner} alone"),
                    );
                }
                (name, value)
            })
            .collect()
    }

    fn network(
        &mut self,
        subnets: Option<Located<List<Text>>>,
        security_groups: Option<Located<List<Text>>>,
    ) -> (Vec<String>, Vec<String>) {
        let place = subnets
            .as_ref()
            .or(security_groups.as_ref())
            .map(|list| list.at.clone());
        let subnets = self.ids(subnets, "subnets", "subnet-", limits::SUBNETS);
        let groups = self.ids(
            security_groups,
            "security groups",
            "sg-",
            limits::SECURITY_GROUPS,
        );
        if let Some(at) = place
            && subnets.is_empty() != groups.is_empty()
        {
            self.findings.wrong(
                &at,
                "`subnets` and `security_groups` belong together: give both or neither",
            );
        }
        (subnets, groups)
    }

    fn ids(
        &mut self,
        list: Option<Located<List<Text>>>,
        what: &str,
        prefix: &str,
        limit: usize,
    ) -> Vec<String> {
        let Some(list) = list else { return Vec::new() };
        self.at_most_many(&list.at, what, list.value.0.len(), limit);
        let ids = list.value.0.into_iter();
        ids.map(|id| {
            let text = id.value.0;
            if !limits::is_id(&text, prefix) {
                self.findings.wrong_with_help(
                    &id.at,
                    format!("{} is not one of {what}", quoted(&text)),
                    format!("write an id such as `{prefix}0a1b2c3d`"),
                );
            }
            text
        })
        .collect()
    }
}
