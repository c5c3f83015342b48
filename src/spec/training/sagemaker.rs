//! What the SageMaker backend makes of a spec: its keys of `training`, and their checks against what its API takes.

use super::{BackendEntry, RawTraining};
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
        start_up_unknown: true,
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
        /// SageMaker: the ARN of the role that the job runs as.
        optional role: Text,
        /// SageMaker: the script that is started, a path in `source_dir`.
        optional entry_point: Text,
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
        /// SageMaker: whether Debugger profiles canaries. Where this is not written, it does if no probe runs.
        optional profiler: bool,
        /// SageMaker: the tags of the training job, by name.
        optional tags: Map<AnyText>,
    }
}

/// The full run in SageMaker's own words. A job of another backend may leave out what SageMaker needs.
#[derive(Debug, Clone, PartialEq)]
pub struct SagemakerTraining {
    pub image: Option<String>,
    pub role: Option<String>,
    pub entry_point: Option<String>,
    pub output: Option<String>,
    pub volume: Bytes,
    pub volume_kms_key: Option<String>,
    pub output_kms_key: Option<String>,
    pub spot: bool,
    pub checkpoints: Option<String>,
    pub subnets: Vec<String>,
    pub security_groups: Vec<String>,
    pub network_isolation: bool,
    /// Whether Debugger profiles canaries; `None`: where no probe runs.
    pub profiler: Option<bool>,
    pub tags: Vec<(String, String)>,
}

impl Default for SagemakerTraining {
    /// What holds where nothing is written.
    fn default() -> Self {
        Self {
            image: None,
            role: None,
            entry_point: None,
            output: None,
            volume: volume(DEFAULT_VOLUME_GB),
            volume_kms_key: None,
            output_kms_key: None,
            spot: false,
            checkpoints: None,
            subnets: Vec::new(),
            security_groups: Vec::new(),
            network_isolation: false,
            profiler: None,
            tags: Vec::new(),
        }
    }
}

impl SagemakerTraining {
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
        (keys.image.is_none(), "image"),
        (keys.role.is_none(), "role"),
        (keys.output.is_none(), "output"),
    ];
    for (_, key) in needed.into_iter().filter(|(missing, _)| *missing) {
        let message = format!("a SageMaker job needs `{key}`");
        reader.findings.missing(at, key, &message, None);
    }
    if let (Some(folder), None) = (&raw.source_dir, &keys.entry_point) {
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
            image: raw.image.map(|image| self.image(&image)),
            role: raw.role.map(|role| self.role(role)),
            entry_point: raw.entry_point.map(|script| self.script(&script)),
            output: raw.output.map(|output| self.s3_uri(&output)),
            volume: volume(self.volume_gb(raw.volume_gb)),
            volume_kms_key: raw.volume_kms_key.map(|key| self.kms_key(key)),
            output_kms_key: raw.output_kms_key.map(|key| self.kms_key(key)),
            spot: raw.spot.is_some_and(|spot| spot.value),
            checkpoints: raw.checkpoints.map(|checkpoints| self.s3_uri(&checkpoints)),
            subnets,
            security_groups,
            network_isolation: raw.network_isolation.is_some_and(|switch| switch.value),
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

    fn image(&mut self, image: &Located<Text>) -> String {
        let text = &image.value.0;
        self.at_most(&image.at, "an image name", text, limits::IMAGE);
        if text.contains(char::is_whitespace) {
            self.findings
                .wrong(&image.at, "an image name holds no spaces");
        } else {
            self.warn_of_registry(image);
        }
        text.clone()
    }

    /// SageMaker pulls images from ECR in its own region.
    fn warn_of_registry(&mut self, image: &Located<Text>) {
        let Some(region) = limits::region_of_image(&image.value.0) else {
            self.findings.warn(
                &image.at,
                "is not in Amazon ECR, and SageMaker takes images from elsewhere only with settings that a spec cannot say",
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
                    "{count} tags; SageMaker takes 50, four of which canary-gate sets itself, so at most {}",
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
