//! From a file's bytes to a valid [`Spec`], or to a policy that specs extend, and what stands at the top of both.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use super::errors::{SpecErrors, SpecFile, in_order};
use super::instances::InstancePatterns;
use super::job::JobKeys;
use super::keys::{Either, Map, mapping};
use super::kind::{Definitions, Kind, Refined, Text, forms};
use super::limits::{self, s3_uri_problem};
use super::paths::path_problem;
use super::reader::{At, Reader, near_miss, quoted, rules};
use super::training::regions;
use super::yaml::{self, Node, Value};
use super::{
    BackendKind, Budget, CanaryPolicy, FieldRule, Job, LineKind, OnInconclusive, Spec, editor,
    fields,
};
use crate::instance::InstanceType;
use crate::units::UsdPerHour;

/// Reads a spec from a file that a reader knows as `name`, e.g. `canary-gate.yml`; of one larger than [`super::MAX_SPEC_BYTES`] one byte
/// more than that is enough. `known_types` are the instance types that AWS lists for training; another is a warning, since AWS adds
/// types faster than programs are updated. With an empty list none is doubted.
///
/// # Errors
///
/// With every problem of the file, or with the one that keeps it from being YAML at all.
pub fn read(name: &str, bytes: &[u8], known_types: &[&str]) -> Result<Spec, SpecErrors> {
    let reader = Reader {
        known_types,
        ..Reader::default()
    };
    let (mut spec, file) = read_keys(name, bytes, reader, |spec, reader| reader.spec(spec))?;
    spec.hash = hash(bytes);
    spec.file = file;
    Ok(spec)
}

/// Reads an organization's policy.
///
/// # Errors
///
/// As [`read`].
pub fn read_policy(name: &str, bytes: &[u8]) -> Result<OrganizationPolicy, SpecErrors> {
    let (keys, file) = read_keys(name, bytes, Reader::default(), |keys, it| it.policy(keys))?;
    Ok(OrganizationPolicy { file, keys })
}

/// What a file's keys mean.
fn read_keys<K: Kind<Value = K>, T>(
    name: &str,
    bytes: &[u8],
    mut reader: Reader<'_>,
    meaning: impl FnOnce(K, &mut Reader<'_>) -> Option<T>,
) -> Result<(T, SpecFile), SpecErrors> {
    let fail = |problems, further| SpecErrors::new(name, bytes, problems, further);
    let node = yaml::parse(bytes).map_err(|problem| fail(vec![problem], 0))?;
    // The file's own mapping is shown by its first byte.
    let root = node.span.start..node.span.start + 1;
    reader
        .spans
        .insert(String::new(), (String::new(), [root.clone(), root]));
    let keys = K::read(&node, &At::ROOT, &mut reader);
    let read = keys.and_then(|keys| meaning(keys, &mut reader));
    match read.filter(|_| reader.problems.is_empty()) {
        Some(read) => {
            let (name, bytes) = (name.to_owned(), bytes.to_vec());
            let spans = reader.spans.into_values();
            let spans = spans.map(|(path, [_, shown])| (path, shown)).collect();
            Ok((read, SpecFile { name, bytes, spans }))
        }
        None => Err(fail(reader.problems, reader.further)),
    }
}

/// The first 16 hex digits of the SHA-256.
fn hash(bytes: &[u8]) -> String {
    let digest = &Sha256::digest(bytes)[..8];
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The JSON Schema of a spec, draft 2020-12, made from the types it is read with: what an editor needs to complete and check one.
/// What a schema cannot say (an override must name a job) is left to [`read`].
pub fn json_schema() -> Json {
    let mut definitions = Definitions::new();
    Spec::schema(&mut definitions);
    // A reader of the file wants to know first what it is.
    let draft = "https://json-schema.org/draft/2020-12/schema";
    let mut schema = serde_json::Map::from_iter([
        ("$schema".to_owned(), draft.into()),
        ("title".to_owned(), "canary-gate spec, version 1".into()),
    ]);
    if let Some(Json::Object(root)) = definitions.shift_remove("Spec") {
        schema.extend(root);
    }
    schema.insert("$defs".to_owned(), definitions.into());
    editor::describe_keys(&mut schema);
    schema.into()
}

mapping! {
    /// What no spec that extends the policy may loosen.
    pub(in crate::spec) struct PolicyKeys named "Policy" {
        needed version: FormatVersion;
        optional extends: Nothing;
        plain allowed_instances: InstancePatterns as Vec<String>;
        optional prices: Prices;
        plain strict: bool;
        plain on_inconclusive: OnInconclusive;
        plain canary: CanaryPolicy as CanaryPolicy;
        plain budget: Budget as Budget;
    }
}

/// Beside the budget's lines, the keys of `canary` and `budget` that a policy has.
const LIMITS: &str = "spend_limit max_seconds max_share certainty existing_breach";

/// A valid policy of an organization.
#[derive(Debug, Clone, PartialEq)]
pub struct OrganizationPolicy {
    /// Its name as errors and reports have it: `my-org/policies/canary-gate.yml@v1 (3f9c2e1)`.
    pub file: SpecFile,
    pub(in crate::spec) keys: PolicyKeys,
}

forms! {
    /// The address of a policy.
    // Git reads `any-g1a2b3c4` as that commit, of whomever it is.
    Extends: |text| (!limits::is_policy_address(text) || limits::is_described_commit(text)).then_some((
        "is no file of a repository at a branch, a tag or a commit",
        "write owner, repository, path and that, such as `my-org/policies/canary-gate.yml@v1`"
    ));
    /// What a policy extends.
    Nothing: |_| Some(("is extended by a policy, which extends nothing", "write its keys here, and remove `extends`"));
}

/// The version of the format; only 1 can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FormatVersion;

impl Kind for FormatVersion {
    type Value = Self;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
        match &node.value {
            Value::Number(text) if text == "1" => Some(Self),
            Value::Number(text) => {
                let message = format!("version {} of the spec is not known", quoted(text));
                let help = "this program reads `version: 1`; a newer one may read more";
                reader.refused(at, message, help)
            }
            _ => reader.wrong_kind(node, "the number 1", at),
        }
    }

    fn schema(_: &mut Definitions) -> Json {
        json!({ "const": 1 })
    }
}

/// The backend, by which what follows is read.
pub(super) enum ChosenBackend {}

impl Refined for ChosenBackend {
    type Of = BackendKind;
    type Value = BackendKind;

    fn refine(backend: BackendKind, _: &At, reader: &mut Reader<'_>) -> Option<BackendKind> {
        reader.backend = Some(backend);
        reader.backend
    }
}

/// A region of AWS, in which what follows is checked.
pub(super) enum Region {}

impl Refined for Region {
    type Of = Text;
    type Value = String;

    fn refine(text: String, at: &At, reader: &mut Reader<'_>) -> Option<String> {
        let meant = near_miss(&text, regions()).filter(|meant| *meant != text);
        if !limits::is_region(&text) {
            let otherwise = Some("write it as AWS does, such as `us-east-1`");
            reader.unknown(at, &text, "is not an AWS region", meant, otherwise);
        } else if let Some(meant) = meant
            && regions().all(|known| known != text)
        {
            // AWS opens new ones.
            let text = quoted(&text);
            let message =
                format!("{text} is not a region that is known here; did you mean `{meant}`?");
            reader.warn(at, message);
        }
        reader.region = Some(text.clone());
        Some(text)
    }
}

/// Jobs by their names, which the reader keeps for the overrides that follow.
pub(super) enum Jobs {}

impl Refined for Jobs {
    type Of = Map<JobKeys>;
    type Value = Vec<Job>;

    fn refine(
        written: Vec<(String, JobKeys)>,
        at: &At,
        reader: &mut Reader<'_>,
    ) -> Option<Vec<Job>> {
        reader.refuse_empty(at, &written, "there is no job", None);
        let read = |(name, keys): (String, JobKeys)| reader.job(&at.key(&name), name, keys);
        let jobs = Vec::from_iter(written.into_iter().filter_map(read));
        reader.limit_patterns(at, &jobs);
        reader.jobs = jobs.iter().cloned().collect();
        Some(jobs)
    }
}

/// Prices by instance type.
pub(super) type PricesByType = BTreeMap<InstanceType, UsdPerHour>;

fields! {
    /// Prices of one machine, which win over the tables.
    #[derive(Debug, Clone, PartialEq, Default)]
    pub struct Prices {
        pub on_demand: PricesByType = FieldRule::BASE.uncounted().at(""),
        /// What full runs on spot capacity are judged by.
        pub spot: PricesByType = FieldRule::BASE.uncounted(),
    }
}

impl Kind for Prices {
    type Value = Self;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
        let (mut spot, mut on_demand) = (Vec::new(), Vec::new());
        for (name, price) in Map::<Either<UsdPerHour, Map<UsdPerHour>>>::read(node, at, reader)? {
            match price {
                Either::Long(prices) if name == SPOT => spot = prices,
                Either::Short(price) if name != SPOT => on_demand.push((name, price)),
                Either::Long(_) | Either::Short(_) => {
                    let message = "a type has one price, and `spot` has prices by type";
                    let help =
                        "write `{ml.m5.xlarge: 0.23 USD/h, spot: {ml.m5.xlarge: 0.07 USD/h}}`";
                    reader.refuse(&at.key(&name), message, help);
                }
            }
        }
        Some(Self {
            on_demand: reader.prices(on_demand, at),
            spot: reader.prices(spot, &at.key(SPOT)),
        })
    }

    fn schema(definitions: &mut Definitions) -> Json {
        let price = UsdPerHour::schema(definitions);
        json!({
            "type": "object",
            "properties": { SPOT: {
                "title": SPOT,
                "description": "The same of spot machines.",
                "type": "object",
                "additionalProperties": price,
            } },
            "additionalProperties": price,
        })
    }
}

const SPOT: &str = "spot";

/// What lies in a history, beside which a prefix may hold something else.
const HISTORY_FOLDERS: [&str; 4] = ["main", "pr", "queue", "local"];

impl Reader<'_> {
    /// Checks what concerns the whole spec.
    fn spec(&mut self, mut spec: Spec) -> Option<Spec> {
        self.check_recording();
        if let Some(history) = &spec.history {
            self.check_history(history);
            for job in &spec.jobs {
                self.check_history_of(history, job);
            }
        }
        self.refuse_second_overrides(&spec.overrides);
        spec.warnings = in_order(std::mem::take(&mut self.warnings));
        Some(spec)
    }

    /// Checks what is checked of a spec's jobs, and that there are no keys but limits.
    fn policy(&mut self, mut keys: PolicyKeys) -> Option<PolicyKeys> {
        let lines = LineKind::ALL.iter().map(|kind| kind.fixed_key());
        let limits = Vec::from_iter(LIMITS.split(' ').chain(lines));
        let [canary, budget] = ["canary", "budget"].map(|key| At::ROOT.key(key));
        self.canary(&canary, keys.canary.clone(), None);
        self.budget(&At::ROOT, &mut keys.budget, None);
        for at in [canary, budget] {
            let written = self.keys_below(&at).into_iter();
            for key in written.filter(|key| !limits.contains(&key.as_str())) {
                const HELP: &str = "remove it here, and write it there";
                self.refuse(&at.key(&key), "is each spec's own, for its own jobs", HELP);
            }
        }
        Some(keys)
    }

    fn prices(&mut self, written: Vec<(String, UsdPerHour)>, at: &At) -> PricesByType {
        let mut by_type = BTreeMap::new();
        for (name, price) in written {
            let (name_at, price_at) = (at.name(&name), at.key(&name));
            if price.0 <= 0.0 {
                let help = "leave the line out if the machine costs nothing";
                self.refuse(&price_at, "a price is more than 0", help);
            }
            let instance_type = match name.parse::<InstanceType>() {
                Ok(instance_type) => instance_type,
                Err(error) => {
                    self.not_an_instance::<()>(&error, &name_at);
                    continue;
                }
            };
            self.warn_if_unknown(&instance_type, &name_at);
            let known = by_type.insert(instance_type.clone(), price);
            if known.is_some() {
                // The keys differ as texts, by spaces around a name.
                let message = format!("the price of `{instance_type}` is given twice");
                self.wrong(&name_at, message);
            }
        }
        by_type
    }

    /// A folder of its own inside the checkout, or a prefix of S3. Links are resolved where it is opened.
    fn check_history(&mut self, text: &str) {
        let at = At::ROOT.key("history");
        if text.starts_with("s3:") {
            return self.form(&at, text, s3_uri_problem(text));
        }
        let mut parts = text.split('/').filter(|part| !matches!(*part, "" | "."));
        let first = parts.clone().next();
        rules! { self, at;
            refuse "" if first.is_none() =>
                format!("{} is no folder of its own", quoted(text)), "name a folder for it, such as `.canary-gate/`";
            refuse "" if parts.any(|part| part.eq_ignore_ascii_case(".git")) =>
                format!("{} lies in git's own folder", quoted(text)), "name another folder, such as `.canary-gate/`";
        }
        self.form(&at, text, path_problem(text));
    }

    /// Every record would be an object of the data, and change what the next canary is; and a training job may write below its
    /// output, and it runs the code of a change: what it wrote must not pass for a record.
    fn check_history_of(&mut self, history: &str, job: &Job) {
        let parts = |place: &str| {
            let root = if place.starts_with('/') { "/" } else { "" };
            let parts = place.split('/').filter(|part| !matches!(*part, "" | "."));
            format!("{root}{}/", parts.collect::<Vec<_>>().join("/"))
        };
        let folder = parts(history);
        let mut channels = job.training.channels.iter();
        let holding = channels.find(|channel| folder.starts_with(&parts(&channel.uri)));
        let channel = quoted(holding.map_or("", |channel| &channel.name));
        let name = quoted(&job.name);
        let is_shared = job.training.sagemaker.output.iter().any(|output| {
            let output = parts(output);
            let below = output.strip_prefix(&folder);
            let first = below.and_then(|below| below.split('/').next());
            folder.starts_with(&output) || first.is_some_and(|it| HISTORY_FOLDERS.contains(&it))
        });
        rules! { self, At::ROOT;
            refuse "history" if is_shared =>
                format!("the training jobs of {name} may write there: its `training.output` and the history lie in one another"),
                "give the history a prefix of its own, which the role of training jobs may not write";
            refuse "history" if holding.is_some() =>
                format!("it lies in the data of {name}, channel {channel}, which it would change with every run"),
                "give the history a place of its own";
        }
    }
}

#[cfg(test)]
mod tests;
