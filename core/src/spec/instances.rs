//! What a job trains on: `instance` and its `alternatives`, with ranges of counts.

use globset::{Glob, GlobMatcher};
use serde_json::{Value as Json, json};

use super::keys::{Either, List, Map, mapping};
use super::kind::{Definitions, Kind, Refined, Text};
use super::paths::ScriptPath;
use super::reader::{At, Reader, near_miss, quoted, rules};
use super::yaml::Node;
use super::{RunPlace, Spec, limits};
use crate::grammar::pattern;
use crate::instance::{InstanceConfiguration, InstanceError, InstanceGroup, InstanceType};

/// More host processes than any one machine trains with.
const LOCAL_PROCESSES: u32 = 64;
/// More machines than any quota gives.
const MACHINES: u32 = 10_000;
/// More than a team lists; each takes time to compile.
const PATTERNS: usize = 100;
/// More rows than a report can show.
const ALTERNATIVES: usize = 50;
/// A report shows a row for each power of two.
const MOST_OF_A_RANGE: u32 = 512;

/// How machines are written.
const WRITTEN: &str = "write `ml.m5.xlarge`, `2x ml.m5.xlarge`, `local` or `2x local`; an item of `alternatives` may be a range, `1-8x ml.m5.xlarge`";

/// Compares a pattern of `allowed_instances` with a type.
fn lets_in(patterns: &[GlobMatcher], kind: &InstanceType) -> bool {
    patterns.iter().any(|pattern| pattern.is_match(kind.name()))
}

impl Spec {
    /// Whether `allowed_instances` lets a machine type in, the spec's own and the policy's. The patterns were found to be valid when
    /// they were read.
    pub fn allowed(&self) -> impl Fn(&InstanceType) -> bool + use<> {
        let of_policy = self.policy.iter().map(|it| &it.keys.allowed_instances);
        let lists = of_policy.chain([&self.allowed_instances]);
        let matcher = |pattern: &String| Some(Glob::new(pattern).ok()?.compile_matcher());
        let lists = lists.map(|list| Vec::from_iter(list.iter().filter_map(matcher)));
        let lists = Vec::from_iter(lists.filter(|list| !list.is_empty()));
        move |kind| lists.iter().all(|patterns| lets_in(patterns, kind))
    }
}

/// Patterns over instance types, which the reader keeps in compiled form for the instances that follow.
pub(super) enum InstancePatterns {}

impl Refined for InstancePatterns {
    type Of = List<Text>;
    type Value = Vec<String>;

    fn refine(mut patterns: Vec<String>, at: &At, reader: &mut Reader<'_>) -> Option<Vec<String>> {
        let help = Some("leave `allowed_instances` out to allow all");
        reader.refuse_empty(at, &patterns, "an empty list allows no instance", help);
        reader.at_most(at, patterns.len(), "patterns", PATTERNS, "read");
        patterns.truncate(PATTERNS);
        let mut matchers = Vec::new();
        for (index, text) in patterns.iter().enumerate() {
            match Glob::new(text) {
                Ok(glob) if text.len() <= 100 => matchers.push(glob.compile_matcher()),
                Ok(_) => reader.wrong(&at.item(index), "the pattern is too long"),
                Err(error) => {
                    let message = format!("{} is not a pattern: {}", quoted(text), error.kind());
                    reader.wrong(&at.item(index), message);
                }
            }
        }
        reader.allowed_instances = Some(matchers);
        Some(patterns)
    }
}

/// The schema of machines, as people say them.
fn machines_schema(counts: &str, examples: &[&str], error: &str) -> Json {
    let kind = r"(local|ml\.[a-zA-Z0-9-]+\.[a-zA-Z0-9-]+)";
    json!({
        "type": "string",
        "pattern": format!(r"^\s*({counts}x\s+)?{kind}\s*$"),
        "examples": examples,
        "errorMessage": format!("write an instance type, {error}"),
    })
}

/// Type and count of `6x ml.m5.4xlarge`: `ml.m5.2xlarge`, `local`, `2x local`.
pub(super) enum EqualMachines {}

impl Kind for EqualMachines {
    type Value = (InstanceType, u32);

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self::Value> {
        let text = Text::read(node, at, reader)?;
        let Some((_, last, kind)) = range_parts(&text) else {
            return reader.machines(&text, at);
        };
        let text = quoted(&text);
        let message = format!("{text} is a range, and machines that run have one count");
        let one = format!("write one, such as `{last}x {kind}`");
        let help = format!("{one}; a range is an item of `alternatives`");
        reader.refused(at, message, help)
    }

    fn schema(_: &mut Definitions) -> Json {
        machines_schema(
            "[1-9][0-9]*",
            &["ml.m5.2xlarge", "6x ml.m5.4xlarge", "local", "2x local"],
            "with a count where there are several: `ml.m5.2xlarge`, `6x ml.m5.4xlarge`, or `local`",
        )
    }
}

/// The rows of a range of counts, `1-8x ml.m5.xlarge`, or what [`EqualMachines`] are.
pub(super) enum MachineRange {}

impl Kind for MachineRange {
    /// The rows, and whether they are those of a range.
    type Value = (Vec<InstanceConfiguration>, bool);

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self::Value> {
        let text = Text::read(node, at, reader)?;
        match range_parts(&text) {
            Some(range) => Some((reader.range(&text, range, at)?, true)),
            None => Some((vec![homogeneous(reader.machines(&text, at)?)], false)),
        }
    }

    fn schema(_: &mut Definitions) -> Json {
        machines_schema(
            "[1-9][0-9]*(-[1-9][0-9]*)?",
            &["ml.m5.2xlarge", "6x ml.m5.4xlarge", "1-8x ml.m5.4xlarge"],
            "with a count or a range of counts where there are several: `ml.m5.2xlarge`, `6x ml.m5.4xlarge`, `1-8x ml.m5.4xlarge`",
        )
    }
}

fn homogeneous((instance_type, count): (InstanceType, u32)) -> InstanceConfiguration {
    InstanceConfiguration::Homogeneous(instance_type, count)
}

mapping! {
    /// Named groups of different machines; every group is billed for the whole job.
    pub(in crate::spec) struct GroupKeys named "Groups" {
        /// The machines of each group, by the group's name, for instance `data: 2x ml.c5.9xlarge`.
        required groups: Map<EqualMachines>;
        /// The script that starts all groups, if it is not the job's `entry_point`.
        optional entry_point: ScriptPath;
    }
}

/// Groups whose names and numbers are checked.
pub(super) enum Groups {}

impl Refined for Groups {
    type Of = GroupKeys;
    type Value = InstanceConfiguration;

    fn refine(keys: GroupKeys, at: &At, reader: &mut Reader<'_>) -> Option<InstanceConfiguration> {
        let (groups, at) = (keys.groups?, at.key("groups"));
        reader.refuse_empty(&at, &groups, "there is no group", None);
        reader.too_many(&at, "instance groups", groups.len(), limits::GROUPS);
        for (name, _) in &groups {
            rules! { reader, at.name(name);
                wrong "" if !limits::is_channel_name(name) =>
                    "a group's name is 1 to 64 letters, digits, dots, hyphens and underscores";
            }
        }
        let local = groups.iter().filter(|(_, (kind, _))| kind.is_local());
        let counts = local.map(|(_, (_, count))| *count);
        // One group with more was complained of.
        if counts.clone().all(|count| count <= LOCAL_PROCESSES) {
            let (what, most) = ("processes in all groups", u64::from(LOCAL_PROCESSES));
            let processes: u64 = counts.map(u64::from).sum();
            reader.at_most(&at, processes, what, most, "started");
        }
        let groups = groups.into_iter();
        let groups = groups.map(|(name, (instance_type, count))| InstanceGroup {
            name,
            instance_type,
            count,
        });
        Some(InstanceConfiguration::Heterogeneous {
            groups: groups.collect(),
            entry_point: keys.entry_point,
        })
    }
}

/// Machines as people say them, or named groups of them.
pub(super) type Instance = Either<EqualMachines, Groups>;

impl From<Either<(InstanceType, u32), Self>> for InstanceConfiguration {
    fn from(read: Either<(InstanceType, u32), Self>) -> Self {
        match read {
            Either::Short(machines) => homogeneous(machines),
            Either::Long(groups) => groups,
        }
    }
}

/// Configurations to compare, each an instance or a range of counts of one.
pub(super) type AlternativeRows = List<Either<MachineRange, Groups>>;

impl Reader<'_> {
    /// The rows of `alternatives` beside `instance`, and those of them that a range names.
    pub(super) fn alternatives(
        &mut self,
        at: &At,
        read: Vec<<Either<MachineRange, Groups> as Kind>::Value>,
        instance: Option<&InstanceConfiguration>,
    ) -> (Vec<InstanceConfiguration>, Vec<InstanceConfiguration>) {
        self.at_most(at, read.len(), "alternatives", ALTERNATIVES, "compared");
        let (mut others, mut ranged) = (Vec::new(), Vec::new());
        for (index, alternative) in read.into_iter().take(ALTERNATIVES).enumerate() {
            let (rows, is_range) = match alternative {
                Either::Short(rows) => rows,
                Either::Long(groups) => (vec![groups], false),
            };
            for row in rows {
                let is_new = instance != Some(&row) && !others.contains(&row);
                match (is_new, is_range) {
                    // A count of it that is compared already has its row.
                    (false, true) => continue,
                    (false, false) => {
                        let message = format!("{} stands here twice", quoted(&row.to_string()));
                        self.wrong(&at.item(index), message);
                    }
                    (true, true) => ranged.push(row.clone()),
                    (true, false) => {}
                }
                others.push(row);
            }
        }
        (others, ranged)
    }

    /// The names of the instance groups of each configuration that has some.
    pub(super) fn clusters(&self) -> Vec<Vec<String>> {
        let groups = self.instances.iter().map(InstanceConfiguration::groups);
        let names = groups.map(|groups| groups.iter().map(|group| group.name.clone()).collect());
        names.filter(|names: &Vec<_>| !names.is_empty()).collect()
    }

    pub(super) fn not_an_instance<T>(&mut self, error: &InstanceError, at: &At) -> Option<T> {
        let help = match &error.suggestion {
            Some(suggestion) => format!("did you mean {}?", quoted(suggestion)),
            None => WRITTEN.to_owned(),
        };
        let message = format!("{} is not an instance", quoted(&error.found));
        self.refused(at, message, help)
    }

    /// Type and count of `6x ml.m5.4xlarge`.
    fn machines(&mut self, text: &str, at: &At) -> Option<(InstanceType, u32)> {
        let (kind, count) = match text.parse::<InstanceConfiguration>() {
            Ok(InstanceConfiguration::Homogeneous(instance_type, count)) => (instance_type, count),
            // Its own text form of groups is for programs; a spec writes a mapping.
            Ok(InstanceConfiguration::Heterogeneous { .. }) => {
                let help = "groups are written `{groups: {name: 2x ml.m5.xlarge}}`";
                return self.refused(at, format!("{} is not an instance", quoted(text)), help);
            }
            Err(error) => {
                let found = text.to_owned();
                return self.not_an_instance(&InstanceError { found, ..error }, at);
            }
        };
        self.check_type(&kind, at);
        let (what, most) = match kind.is_local() {
            true => ("processes", LOCAL_PROCESSES),
            false => ("machines", MACHINES),
        };
        self.at_most(at, count, what, most, "started");
        Some((kind, count))
    }

    /// The rows of `1-8x ml.m5.xlarge`: the powers of two times the first, and the last.
    fn range(
        &mut self,
        text: &str,
        (first, last, kind): (&str, &str, &str),
        at: &At,
    ) -> Option<Vec<InstanceConfiguration>> {
        let kind: InstanceType = match kind.parse() {
            Ok(kind) => kind,
            Err(error) => return self.not_an_instance(&error, at),
        };
        let [from, to] = [first, last].map(|count| count.parse::<u32>().unwrap_or(u32::MAX));
        let problem = match from {
            0 => Some("begins with no machine".to_owned()),
            _ if from >= to => Some(format!("does not rise from {first} to {last}")),
            _ => (to > MOST_OF_A_RANGE)
                .then(|| format!("ends with {last}; at most {MOST_OF_A_RANGE} are compared")),
        };
        if let Some(problem) = problem {
            return self.refused(
                at,
                format!("the range {} {problem}", quoted(text)),
                format!("write a range such as `1-8x {kind}`, up to {MOST_OF_A_RANGE}, or one count: `4x {kind}`"),
            );
        }
        self.machines(&format!("{to}x {kind}"), at)?;
        let powers = std::iter::successors(Some(from), |count| count.checked_mul(2));
        let counts = powers.take_while(|count| *count < to).chain([to]);
        let rows = counts.map(|count| homogeneous((kind.clone(), count)));
        Some(rows.collect())
    }

    fn check_type(&mut self, instance_type: &InstanceType, at: &At) {
        let (message, help) = match (self.place(), instance_type.is_local()) {
            (RunPlace::This, false) => (
                format!("{} has no `{instance_type}`", self.backend_words()),
                "write `local` or `2x local`, or choose `backend: sagemaker`",
            ),
            (RunPlace::Cloud, true) => (
                "SageMaker has no instance `local`".to_owned(),
                "write one such as `ml.m5.xlarge`, or choose `backend: local`",
            ),
            _ => {
                let allowed = self.allowed_instances.as_ref();
                if allowed.is_some_and(|allowed| !lets_in(allowed, instance_type)) {
                    let message = format!("`{instance_type}` is not among `allowed_instances`");
                    self.wrong(at, message);
                }
                return self.warn_if_unknown(instance_type, at);
            }
        };
        self.refuse(at, message, help);
    }

    pub(super) fn warn_if_unknown(&mut self, instance_type: &InstanceType, at: &At) {
        let known = self.known_types;
        if instance_type.is_local() || known.is_empty() || known.contains(&instance_type.name()) {
            return;
        }
        let near = near_miss(instance_type.name(), known.iter().copied());
        let near = near.map_or(String::new(), |near| format!("; did you mean `{near}`?"));
        let message = format!(
            "`{instance_type}` is not among the training instances this program knows{near}"
        );
        self.warn(at, message);
    }
}

/// First, last and type of `1-8x ml.m5.xlarge`.
fn range_parts(text: &str) -> Option<(&str, &str, &str)> {
    let found = pattern!(r"^\s*([0-9]+)-([0-9]+)x\s+(.*\S)\s*$").captures(text)?;
    let (_, [first, last, kind]) = found.extract();
    Some((first, last, kind))
}
