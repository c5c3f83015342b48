//! From the file's bytes to a valid [`Spec`], and what stands at the top of it.

use std::collections::BTreeMap;

use serde_json::{Value as Json, json};
use sha2::{Digest, Sha256};

use super::errors::{NumberedLines, SpecErrors, in_order};
use super::instances::InstancePatterns;
use super::job::JobKeys;
use super::keys::{List, Map, mapping};
use super::kind::{Definitions, Kind, Refined, Text};
use super::limits::{self, s3_uri_problem};
use super::overrides::OverrideKeys;
use super::paths::{ProjectPath, path_problem};
use super::reader::{At, Reader, near_miss, quoted, rules};
use super::training::regions;
use super::yaml::{self, Node, Value};
use super::{BackendKind, Job, OnInconclusive, Spec, editor};
use crate::instance::InstanceType;
use crate::units::UsdPerHour;

/// A spec as it was found.
#[derive(Debug, Clone, Copy)]
pub struct SpecSource<'a> {
    /// The file as a reader knows it, e.g. `canary-gate.yml`.
    pub name: &'a str,
    /// The file's bytes; of a file larger than [`super::MAX_SPEC_BYTES`] one byte more than that is enough.
    pub bytes: &'a [u8],
}

/// Reads a spec. `known_types` are the instance types that AWS lists for training; another is a warning, since AWS adds
/// types faster than programs are updated. With an empty list none is doubted.
///
/// # Errors
///
/// With every problem of the file, or with the one that keeps it from being YAML at all.
pub fn read(source: SpecSource<'_>, known_types: &[&str]) -> Result<Spec, SpecErrors> {
    let fail = |problems, further| SpecErrors::new(source.name, source.bytes, problems, further);
    let node = yaml::parse(source.bytes).map_err(|problem| fail(vec![problem], 0))?;
    // The file's own mapping is shown by its first byte.
    let root = node.span.start..node.span.start + 1;
    let mut reader = Reader {
        known_types,
        spans: BTreeMap::from([(String::new(), [root.clone(), root])]),
        ..Reader::default()
    };
    let keys = SpecKeys::read(&node, &At::ROOT, &mut reader);
    match keys.and_then(|keys| reader.spec(keys)) {
        Some(mut spec) if reader.problems.is_empty() => {
            let lines = NumberedLines::of(source.bytes);
            let places = std::mem::take(&mut reader.places).into_iter();
            let places = places.map(|(path, offset)| (path, lines.place(offset)));
            spec.places = places.collect();
            spec.hash = hash(source.bytes);
            spec.warnings = in_order(reader.warnings);
            Ok(spec)
        }
        _ => Err(fail(reader.problems, reader.further)),
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
    SpecKeys::schema(&mut definitions);
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
    /// A canary-gate spec: which training jobs exist, what they may cost, and how their canaries run.
    pub(in crate::spec) struct SpecKeys named "Spec" {
        /// The version of this format: 1.
        required version: FormatVersion;
        /// The backend: where canaries run.
        required backend: ChosenBackend;
        /// The AWS region. Default: AWS_REGION, else us-east-1 for prices.
        optional region: Region;
        /// The directory or `s3://bucket/prefix/` in which records are kept. Default: `.canary-gate/`.
        optional history: Text;
        /// Prices of one machine for an hour, by instance type, for instance `local: 1.20 USD/h`, in place of the built-in ones.
        /// The full run of a job with `training.spot` is judged by those below `spot`, such as `spot: {ml.m5.xlarge: 0.08 USD/h}`,
        /// else at the price on demand.
        optional prices: Prices;
        /// Patterns of the allowed instance types, for instance `ml.m5.*`. Every type must match one. Default: all are allowed.
        optional allowed_instances: InstancePatterns;
        /// Whether a job that is at risk of exceeding its budget fails the check. Default: false.
        optional strict: bool;
        /// Whether an unknown outcome fails the check. Default: fail.
        optional on_inconclusive: OnInconclusive;
        /// The file of recorded runs that `backend: replay` takes for canary runs: a table (.csv) or JSON lines, as `canary-gate
        /// run --measurements FILE` writes them; a path relative to the spec's folder.
        optional recording: ProjectPath;
        /// The training jobs, by name. A name has 1 to 63 letters, digits and inner hyphens; with `backend: replay` it is the
        /// recording's, and may have underscores.
        required jobs: Map<JobKeys>;
        /// Known overruns that are agreed to, each with a ceiling, a reason and an expiry date.
        optional overrides: List<OverrideKeys>;
    }
}

/// The version of the format; only 1 can be read.
pub(super) enum FormatVersion {}

impl Kind for FormatVersion {
    type Value = ();

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<()> {
        match &node.value {
            Value::Number(text) if text == "1" => Some(()),
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

/// Prices by instance type.
type PricesByType = BTreeMap<InstanceType, UsdPerHour>;

/// Prices on demand, and below `spot` those of spot capacity.
pub(super) enum Prices {}

impl Kind for Prices {
    type Value = [PricesByType; 2];

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<[PricesByType; 2]> {
        let Value::Mapping(written) = &node.value else {
            return reader.wrong_kind(node, "a mapping of names to values", at);
        };
        let (spot, plain): (Vec<_>, Vec<_>) =
            (written.iter().cloned()).partition(|(key, _)| key.text == SPOT);
        reader.has_local_price = plain.iter().any(|(key, _)| key.text.trim() == "local");
        let plain = Node {
            value: Value::Mapping(plain),
            span: node.span.clone(),
        };
        let plain = reader.prices(&plain, at)?;
        for (key, _) in spot.iter().skip(1) {
            reader.given_twice(key, at);
        }
        let spot = spot.first().and_then(|(key, node)| {
            let at = at.key(SPOT);
            reader.found(&at, key, node);
            reader.prices(node, &at)
        });
        Some([plain, spot.unwrap_or_default()])
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
    fn spec(&mut self, keys: SpecKeys) -> Option<Spec> {
        // There is one version, so nothing is chosen by it.
        debug_assert!(keys.version.is_some() || !self.problems.is_empty());
        self.check_recording();
        let jobs = self.jobs(keys.jobs.unwrap_or_default());
        if let Some(history) = &keys.history {
            self.check_history(history);
            for job in &jobs {
                self.check_history_of(history, job);
            }
        }
        let overrides = self.overrides(keys.overrides.unwrap_or_default(), &jobs);
        let [prices, spot_prices] = keys.prices.unwrap_or_default();
        Some(Spec {
            backend: keys.backend?,
            region: keys.region,
            history: keys.history,
            prices,
            spot_prices,
            allowed_instances: keys.allowed_instances.unwrap_or_default(),
            strict: keys.strict.unwrap_or_default(),
            on_inconclusive: keys.on_inconclusive.unwrap_or(OnInconclusive::Fail),
            recording: keys.recording,
            jobs,
            overrides,
            warnings: Vec::new(),
            hash: String::new(),
            places: BTreeMap::new(),
        })
    }

    fn jobs(&mut self, written: Vec<(String, JobKeys)>) -> Vec<Job> {
        let at = At::ROOT.key("jobs");
        self.refuse_empty(&at, &written, "there is no job", None);
        let jobs = written.into_iter();
        let jobs: Vec<Job> = jobs
            .filter_map(|(name, keys)| self.job(&at.key(&name), name, keys))
            .collect();
        self.limit_patterns(&at, &jobs);
        jobs
    }

    fn prices(&mut self, node: &Node, at: &At) -> Option<PricesByType> {
        let mut by_type = BTreeMap::new();
        for (name, price) in Map::<UsdPerHour>::read(node, at, self)? {
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
        Some(by_type)
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
