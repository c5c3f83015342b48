//! What a job trains on: `instance` and its `alternatives`.

use globset::Glob;

use super::cloud_groups::groups;
use super::counts::counts_meant;
use super::{Instances, SpecReader, limits};
use crate::instance::{InstanceConfiguration, InstanceGroup, InstanceType};
use crate::spec::Spec;
use crate::spec::backend_kind::RunPlace;
use crate::spec::problems::{At, Located, near_miss, quoted};
use crate::spec::raw::{self, Either, Plain};
use crate::spec::training::is_script;

/// More host processes than any one machine trains with.
const LOCAL_PROCESSES: u32 = 64;
/// More machines than any quota gives.
const MACHINES: u32 = 10_000;
/// More than a team lists; each takes time to compile.
const PATTERNS: usize = 100;
/// More rows than a report can show.
const ALTERNATIVES: usize = 50;

impl Spec {
    /// Whether `allowed_instances` lets a machine type in. The patterns were found to be valid when the spec was read.
    pub fn allowed(&self) -> impl Fn(&InstanceType) -> bool + use<> {
        let patterns: Vec<_> = self
            .allowed_instances
            .iter()
            .filter_map(|pattern| Some(Glob::new(pattern).ok()?.compile_matcher()))
            .collect();
        move |kind| {
            patterns.is_empty() || (patterns.iter()).any(|pattern| pattern.is_match(kind.name()))
        }
    }
}

impl SpecReader<'_> {
    /// The patterns as written, kept in compiled form for the instances that follow.
    pub(super) fn allowed_instances(
        &mut self,
        patterns: Option<Located<raw::List<raw::Text>>>,
    ) -> Vec<String> {
        let Some(patterns) = patterns else {
            return Vec::new();
        };
        if self.is_empty(&patterns) {
            self.findings.wrong_with_help(
                &patterns.at,
                "an empty list allows no instance",
                "leave `allowed_instances` out to allow all",
            );
        }
        let count = patterns.value.0.len();
        (self.findings).at_most(&patterns.at, count, "patterns", PATTERNS, "read");
        let mut matchers = Vec::new();
        let mut written = Vec::new();
        for pattern in patterns.value.0.into_iter().take(PATTERNS) {
            let text = pattern.value.0;
            match Glob::new(&text) {
                Ok(glob) if text.len() <= 100 => matchers.push(glob.compile_matcher()),
                Ok(_) => self.findings.wrong(&pattern.at, "the pattern is too long"),
                Err(error) => {
                    let message = format!("{} is not a pattern: {}", quoted(&text), error.kind());
                    self.findings.wrong(&pattern.at, message);
                }
            }
            written.push(text);
        }
        self.allowed_instances = Some(matchers);
        written
    }

    pub(super) fn instances(
        &mut self,
        instance: Option<Located<raw::Instance>>,
        alternatives: Option<Located<raw::List<raw::Alternative>>>,
    ) -> (Option<Instances>, Vec<InstanceConfiguration>) {
        let instance = instance.and_then(|instance| {
            self.remember(&instance.at);
            self.instance(instance)
        });
        let mut others: Vec<InstanceConfiguration> = Vec::new();
        let mut ranged: Vec<InstanceConfiguration> = Vec::new();
        if let Some(alternatives) = alternatives {
            let (at, count) = (&alternatives.at, alternatives.value.0.len());
            (self.findings).at_most(at, count, "alternatives", ALTERNATIVES, "compared");
            for alternative in alternatives.value.0.into_iter().take(ALTERNATIVES) {
                let at = alternative.at.clone();
                let alternative = match alternative.value {
                    Either::Short(raw::MachineRange(text)) => {
                        if let Some(rows) = self.range(&text, &at) {
                            // A count of it that is compared already has its row.
                            let is_new = |row: &InstanceConfiguration| {
                                instance.as_ref() != Some(row) && !others.contains(row)
                            };
                            let rows: Vec<_> = rows.into_iter().filter(is_new).collect();
                            ranged.extend(rows.iter().cloned());
                            others.extend(rows);
                            continue;
                        }
                        Either::Short(raw::Machines(text))
                    }
                    Either::Long(groups) => Either::Long(groups),
                };
                let alternative = Located {
                    value: alternative,
                    at: at.clone(),
                };
                let Some(alternative) = self.instance(alternative) else {
                    continue;
                };
                if instance.as_ref() == Some(&alternative) || others.contains(&alternative) {
                    self.findings.wrong(
                        &at,
                        format!("{} stands here twice", quoted(&alternative.to_string())),
                    );
                }
                others.push(alternative);
            }
        }
        (instance.map(|instance| (instance, others)), ranged)
    }

    fn instance(&mut self, instance: Located<raw::Instance>) -> Option<InstanceConfiguration> {
        let at = instance.at;
        match instance.value {
            Either::Short(machines) => {
                let (instance_type, count) = self.machines(&machines, &at)?;
                Some(InstanceConfiguration::Homogeneous {
                    instance_type,
                    count,
                })
            }
            Either::Long(groups) => self.groups(groups),
        }
    }

    fn groups(&mut self, raw: raw::Groups) -> Option<InstanceConfiguration> {
        let groups = raw.groups?;
        if groups.value.names.is_empty() {
            self.findings.wrong(&groups.at, "there is no group");
        }
        let count = groups.value.names.len();
        self.at_most_many(&groups.at, "instance groups", count, limits::GROUPS);
        let mut members = Vec::new();
        for entry in groups.value.entries {
            if !limits::is_channel_name(&entry.name.value) {
                self.findings.wrong(
                    &entry.name.at,
                    "a group's name is 1 to 64 letters, digits, dots, hyphens and underscores",
                );
            }
            if let Some((instance_type, count)) = self.machines(&entry.value.value, &entry.value.at)
            {
                members.push(InstanceGroup {
                    name: entry.name.value,
                    instance_type,
                    count,
                });
            }
        }
        let local = members
            .iter()
            .filter(|group| group.instance_type.is_local());
        let processes: u64 = local.map(|group| u64::from(group.count)).sum();
        let alone = |group: &InstanceGroup| group.count > LOCAL_PROCESSES;
        if !members.iter().any(alone) {
            let (what, most) = ("processes in all groups", u64::from(LOCAL_PROCESSES));
            (self.findings).at_most(&groups.at, processes, what, most, "started");
        }
        Some(InstanceConfiguration::Heterogeneous {
            groups: members,
            entry_point: raw.entry_point.map(Plain::plain),
        })
    }

    /// The script of groups takes the place of the one that a local command names.
    pub(super) fn check_group_scripts(&mut self, job: &raw::RawJob) {
        let command =
            (job.training.as_ref()).and_then(|training| training.value.local.command.as_ref());
        let Some(command) = command.filter(|_| self.is_on(RunPlace::This)) else {
            return;
        };
        if command.value.0.iter().any(|word| is_script(&word.value.0)) {
            return;
        }
        let own = job.instance.iter().filter_map(|one| groups(&one.value));
        let others = job.alternatives.iter().flat_map(|list| &list.value.0);
        let others = others.filter_map(|one| groups(&one.value));
        for script in own.chain(others).filter_map(|it| it.entry_point.as_ref()) {
            self.findings.wrong_with_help(
                &script.at,
                format!("`command` names no script that {} could take the place of", quoted(&script.value.text)),
                "write a command with a script that ends with `.py` or `.sh`, such as `[python3, train.py]`; or remove `entry_point`",
            );
        }
    }

    /// Type and count of `6x ml.m5.4xlarge`.
    pub(super) fn machines(
        &mut self,
        written: &raw::Machines,
        at: &At,
    ) -> Option<(InstanceType, u32)> {
        if self.refuse_range(&written.0, at) {
            return None;
        }
        let parsed = written.0.parse();
        if parsed.is_err()
            && let Some(meant) = counts_meant(&written.0)
            && meant != written.0
        {
            let help = match meant.contains('-') {
                true => format!(
                    "write {}; a range is an item of `alternatives`",
                    quoted(&meant)
                ),
                false => format!("write {}", quoted(&meant)),
            };
            let message = format!("{} is not an instance", quoted(&written.0));
            self.findings.wrong_with_help(at, message, help);
            return None;
        }
        // The configuration's own text form of groups is for programs; a spec writes a mapping.
        if written.0.contains(':') {
            self.findings.wrong_with_help(
                at,
                format!("{} is not an instance", quoted(&written.0)),
                "groups are written `{groups: {name: 2x ml.m5.xlarge}}`",
            );
            return None;
        }
        let (instance_type, count) = match parsed {
            Ok(InstanceConfiguration::Homogeneous {
                instance_type,
                count,
            }) => (instance_type, count),
            Ok(InstanceConfiguration::Heterogeneous { .. }) => return None,
            Err(error) => {
                self.not_an_instance(&error, at);
                return None;
            }
        };
        self.check_type(&instance_type, at);
        let (what, most) = match instance_type.is_local() {
            true => ("processes", LOCAL_PROCESSES),
            false => ("machines", MACHINES),
        };
        self.findings.at_most(at, count, what, most, "started");
        Some((instance_type, count))
    }

    fn check_type(&mut self, instance_type: &InstanceType, at: &At) {
        if self.is_on(RunPlace::This) && !instance_type.is_local() {
            self.findings.wrong_with_help(
                at,
                format!("{} has no `{instance_type}`", self.backend_words()),
                "write `local` or `2x local`, or choose `backend: sagemaker`",
            );
            return;
        }
        if self.is_on(RunPlace::Cloud) && instance_type.is_local() {
            self.findings.wrong_with_help(
                at,
                "SageMaker has no instance `local`",
                "write one such as `ml.m5.xlarge`, or choose `backend: local`",
            );
            return;
        }
        if let Some(allowed) = &self.allowed_instances
            && !(allowed.iter()).any(|pattern| pattern.is_match(instance_type.name()))
        {
            let message = format!("`{instance_type}` is not among `allowed_instances`");
            self.findings.wrong(at, message);
        }
        self.warn_if_unknown(instance_type, at);
    }

    pub(super) fn warn_if_unknown(&mut self, instance_type: &InstanceType, at: &At) {
        let known = self.known_types;
        if instance_type.is_local() || known.is_empty() || known.contains(&instance_type.name()) {
            return;
        }
        let near = near_miss(instance_type.name(), known.iter().copied());
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        self.findings.warn(
            at,
            format!(
                "`{instance_type}` is not among the training instances this program knows{near}"
            ),
        );
    }
}
