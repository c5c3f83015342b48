//! From the file's bytes to a valid [`Spec`]: the one place where all complaints are made.
//!
//! Each file here checks one part of a job; `limits` holds what AWS allows. A check never stops at its first complaint:
//! a part that cannot be used becomes `None`, the rest is still checked.

mod budget;
mod canary;
mod channels;
mod cloud_groups;
mod counts;
mod draw;
mod instances;
pub(super) mod limits;
mod overrides;
mod paths;
mod reader;
mod share;
mod warm_pool;
mod work;

pub(super) use limits::S3Address;
pub(super) use paths::{ProjectPath, ScriptPath};
pub(super) use reader::{Instances, SpecReader, group_names};

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::backend_kind::RunPlace;
use super::errors::SpecErrors;
use super::excerpt::NumberedLines;
use super::problems::{At, Findings, Located, Problem, near_miss, quoted};
use super::raw::{self, FromNode, Plain};
use super::training::regions;
use super::yaml;
use super::{BackendKind, FilePosition, Job, Level, OnInconclusive, SampledBy, Spec, Training};
use crate::instance::{InstanceError, InstanceType};
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
    let node = yaml::parse(source.bytes).map_err(|problem| {
        let problem = Problem {
            path: String::new(),
            message: problem.message,
            help: problem.help,
            span: problem.span,
        };
        fail(vec![problem], 0)
    })?;
    let mut findings = Findings::default();
    // The root has no key: its first byte stands for it.
    let root = At {
        path: String::new(),
        span: node.span.start..node.span.start + 1,
    };
    let spec = raw::RawSpec::from_node(&node, &root, &mut findings)
        .and_then(|raw| SpecReader::new(&raw, known_types, &mut findings).spec(raw, &root));
    match spec {
        Some((mut spec, places)) if findings.problems.is_empty() => {
            let lines = NumberedLines::of(source.bytes);
            let places = places.into_iter();
            spec.places = places
                .map(|(path, offset)| (path, lines.place(offset)))
                .collect::<BTreeMap<String, FilePosition>>();
            spec.hash = hash(source.bytes);
            spec.warnings = findings.into_warnings();
            Ok(spec)
        }
        _ => Err(fail(findings.problems, findings.further)),
    }
}

/// The first 16 hex digits of the SHA-256.
fn hash(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest[..8]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// What lies in a history, beside which a prefix may hold something else.
const HISTORY_FOLDERS: [&str; 4] = ["main", "pr", "queue", "local"];

impl<'a> SpecReader<'a> {
    fn new(raw: &raw::RawSpec, known_types: &'a [&'a str], findings: &'a mut Findings) -> Self {
        let prices = raw.prices.as_ref();
        let backend = raw.backend.as_ref().map(|backend| backend.value.0);
        Self {
            findings,
            known_types,
            backend,
            place: backend.map_or(RunPlace::Unknown, BackendKind::place),
            allowed_instances: None,
            has_local_price: prices.is_some_and(|prices| {
                prices
                    .value
                    .plain
                    .names
                    .iter()
                    .any(|name| name.trim() == "local")
            }),
            places: Vec::new(),
            region: None,
        }
    }

    fn spec(mut self, raw: raw::RawSpec, root: &At) -> Option<(Spec, Vec<(String, usize)>)> {
        // There is one version, so nothing is chosen by it.
        debug_assert!(raw.version.is_some() || !self.findings.problems.is_empty());
        let region = raw.region.map(|region| self.region(region));
        let history_at = raw.history.as_ref().map(|history| history.at.clone());
        let history = raw.history.map(|history| self.history(&history));
        let (prices, spot_prices) = raw.prices.map_or((None, None), |prices| {
            let raw::MapWithSpot { plain, spot } = prices.value;
            let plain = self.prices(plain);
            (Some(plain), spot.map(|spot| self.prices(spot.value)))
        });
        let allowed_instances = self.allowed_instances(raw.allowed_instances);
        self.check_recording(raw.recording.as_ref(), root);
        let names = raw.jobs.as_ref().map(|jobs| jobs.value.names.clone());
        let jobs = raw.jobs.map(|jobs| self.jobs(jobs)).unwrap_or_default();
        if let (Some(history), Some(at)) = (&history, &history_at) {
            self.refuse_a_history_that_canaries_write(history, at, &jobs);
            self.refuse_a_history_in_the_data(history, at, &jobs);
        }
        let overrides = raw
            .overrides
            .map(|list| self.overrides(list, names.as_deref().unwrap_or_default(), &jobs));
        let spec = Spec {
            backend: self.backend?,
            region,
            history,
            prices: prices.unwrap_or_default(),
            spot_prices: spot_prices.unwrap_or_default(),
            allowed_instances,
            strict: raw.strict.is_some_and(Plain::plain),
            on_inconclusive: raw
                .on_inconclusive
                .map_or(OnInconclusive::Fail, Plain::plain),
            recording: raw.recording.map(Plain::plain),
            jobs,
            overrides: overrides.unwrap_or_default(),
            warnings: Vec::new(),
            hash: String::new(),
            places: BTreeMap::new(),
        };
        Some((spec, self.places))
    }

    fn region(&mut self, region: Located<raw::Text>) -> String {
        let text = region.value.0;
        let meant = near_miss(&text, regions()).filter(|meant| *meant != text);
        if !limits::is_region(&text) {
            self.findings.wrong_with_help(
                &region.at,
                format!("{} is not an AWS region", quoted(&text)),
                match meant {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "write it as AWS does, such as `us-east-1`".to_owned(),
                },
            );
        } else if let Some(meant) = meant
            && regions().all(|known| known != text)
        {
            // AWS opens new ones.
            self.findings.warn(
                &region.at,
                format!(
                    "{} is not a region that is known here; did you mean `{meant}`?",
                    quoted(&text)
                ),
            );
        }
        self.region = Some(text.clone());
        text
    }

    /// A folder of its own inside the checkout, or a prefix of S3. Links are resolved where it is opened.
    fn history(&mut self, history: &Located<raw::Text>) -> String {
        let text = history.value.0.as_str();
        if text.starts_with("s3:") {
            self.findings.form::<S3Address>(&history.at, text);
            return text.to_owned();
        }
        let mut parts = text.split('/').filter(|part| !part.is_empty());
        if parts.clone().all(|part| part == ".") {
            self.findings.wrong_with_help(
                &history.at,
                format!("{} is no folder of its own", quoted(text)),
                "name a folder for it, such as `.canary-gate/`",
            );
        } else if parts.any(|part| part.eq_ignore_ascii_case(".git")) {
            self.findings.wrong_with_help(
                &history.at,
                format!("{} lies in git's own folder", quoted(text)),
                "name another folder, such as `.canary-gate/`",
            );
        }
        self.findings.form::<ProjectPath>(&history.at, text);
        text.to_owned()
    }

    /// Every record would be an object of the data, and change what the next canary is.
    fn refuse_a_history_in_the_data(&mut self, history: &str, at: &At, jobs: &[Job]) {
        let folder = |place: &str| {
            let parts = place
                .split('/')
                .filter(|part| !part.is_empty() && *part != ".");
            let root = if place.starts_with('/') { "/" } else { "" };
            format!("{root}{}/", parts.collect::<Vec<_>>().join("/"))
        };
        let records = folder(history);
        let channels = jobs.iter().flat_map(|job| {
            job.training
                .channels
                .iter()
                .map(move |channel| (job, channel))
        });
        let mut holding =
            channels.filter(|(_, channel)| records.starts_with(&folder(&channel.uri)));
        if let Some((job, channel)) = holding.next() {
            self.findings.wrong_with_help(
                at,
                format!(
                    "it lies in the data of {}, channel {}, which it would change with every run",
                    quoted(&job.name),
                    quoted(&channel.name)
                ),
                "give the history a place of its own",
            );
        }
    }

    /// A training job may write below its output, and it runs the code of a change: what it wrote must not pass for a record.
    fn refuse_a_history_that_canaries_write(&mut self, history: &str, at: &At, jobs: &[Job]) {
        let folder = |uri: &str| format!("{}/", uri.trim_end_matches('/'));
        let history = folder(history);
        let shares = |job: &&Job| {
            let output = job.training.sagemaker.output.as_deref().map(folder);
            output.is_some_and(|output| {
                let below = output.strip_prefix(&history);
                let first = below.and_then(|below| below.split('/').next());
                let is_of_records = |folder: &str| HISTORY_FOLDERS.contains(&folder);
                history.starts_with(&output) || first.is_some_and(is_of_records)
            })
        };
        if let Some(job) = jobs.iter().find(shares) {
            self.findings.wrong_with_help(
                at,
                format!(
                    "the training jobs of {} may write there: its `training.output` and the history lie in one another",
                    quoted(&job.name)
                ),
                "give the history a prefix of its own, which the role of training jobs may not write",
            );
        }
    }

    fn prices(
        &mut self,
        prices: raw::Map<raw::Quantity<UsdPerHour>>,
    ) -> BTreeMap<InstanceType, UsdPerHour> {
        let mut by_type = BTreeMap::new();
        for entry in prices.entries {
            let price = entry.value.value.0;
            if price.0 <= 0.0 {
                self.findings.wrong_with_help(
                    &entry.value.at,
                    "a price is more than 0",
                    "leave the line out if the machine costs nothing",
                );
            }
            match entry.name.value.parse::<InstanceType>() {
                Ok(instance_type) => {
                    self.warn_if_unknown(&instance_type, &entry.name.at);
                    if by_type.contains_key(&instance_type) {
                        // The keys differ as texts, by spaces around a name.
                        let message = format!("the price of `{instance_type}` is given twice");
                        self.findings.wrong(&entry.name.at, message);
                    }
                    by_type.insert(instance_type, price);
                }
                Err(error) => self.not_an_instance(&error, &entry.name.at),
            }
        }
        by_type
    }

    fn not_an_instance(&mut self, error: &InstanceError, at: &At) {
        let help = match &error.suggestion {
            Some(suggestion) => format!("did you mean {}?", quoted(suggestion)),
            None => "write `ml.m5.xlarge`, `2x ml.m5.xlarge`, `local` or `2x local`".to_owned(),
        };
        let message = format!("{} is not an instance", quoted(&error.found));
        self.findings.wrong_with_help(at, message, help);
    }

    fn jobs(&mut self, jobs: Located<raw::Map<raw::RawJob>>) -> Vec<Job> {
        if jobs.value.names.is_empty() {
            self.findings.wrong(&jobs.at, "there is no job");
        }
        let entries = jobs.value.entries.into_iter();
        let read = entries
            .filter_map(|entry| self.job(entry.name, entry.value.value))
            .collect::<Vec<_>>();
        self.limit_patterns(&jobs.at, &read);
        read
    }

    fn job(&mut self, name: Located<String>, raw: raw::RawJob) -> Option<Job> {
        self.job_name(&name);
        self.remember(&name.at);
        self.refuse_two_commands(&raw);
        self.refuse_shared_work(&raw);
        self.check_group_scripts(&raw);
        self.check_groups_in_the_cloud(&raw);
        self.check_training_plan(&raw);
        self.check_warm_pool(&raw);
        let paths = raw.paths.map(|paths| self.globs(paths));
        let (instances, ranged) = self.instances(raw.instance, raw.alternatives);
        let (share, following) = match raw.share {
            Some(share) if share.value.follows.is_some() => (None, Some(share)),
            share => (share, None),
        };
        let sampling = match (&share, &raw.work) {
            (Some(_), _) => SampledBy::Script,
            (None, Some(_)) => SampledBy::GateIfAny,
            (None, None) => SampledBy::Gate,
        };
        let judged = (raw.budget.as_ref())
            .and_then(|budget| budget.value.metrics.as_ref())
            .map_or(Vec::new(), |metrics| metrics.value.names.clone());
        if let (Some(training), Some((instance, alternatives))) = (&raw.training, &instances)
            && let Some(volume) = &training.value.sagemaker.volume_gb
        {
            let all: Vec<_> = [instance].into_iter().chain(alternatives).collect();
            self.check_volume(volume, &all);
        }
        let training = raw
            .training
            .and_then(|training| self.training(training, instances.as_ref(), sampling, &judged));
        let share = share.and_then(|share| self.share(share, training.as_ref()));
        let following = following.and_then(|share| self.following_count(share, training.as_ref()));
        let is_sampled =
            |training: &Training| training.channels.iter().any(|one| one.sample.is_drawn());
        let is_work_alone = raw.work.is_some()
            && sampling == SampledBy::GateIfAny
            && training.as_ref().is_some_and(|one| !is_sampled(one));
        let canary = raw.canary.map(|canary| canary.value).unwrap_or_default();
        if let Some(fractions) = canary.fractions.as_ref().filter(|_| is_work_alone) {
            self.findings.warn(
                &fractions.at,
                "has no effect: no channel is sampled, so the levels of `work.canary` are the sizes of canaries",
            );
        }
        let has_levels = raw.work.is_some() && !is_work_alone;
        if let Some(counts) = canary.counts.as_ref().filter(|_| has_levels) {
            self.findings.warn(
                &counts.at,
                "has no effect beside levels of `work` on sampled data: all canaries run on the machines of `instance`",
            );
        }
        let work = (raw.work).and_then(|work| self.work(work, training.as_ref(), is_work_alone));
        let canary = self.canary(canary, instances.as_ref());
        let budget = self.budget(raw.budget, training.as_ref(), instances.as_ref(), &name.at);
        let drift = raw.drift.map(|drift| drift.value).unwrap_or_default();
        self.check_drift(&drift);
        let (instance, alternatives) = instances?;
        Some(Job {
            name: name.value,
            paths: paths.unwrap_or_default(),
            training: training?,
            instance,
            alternatives,
            ranged,
            share,
            following,
            work,
            canary,
            budget,
            drift: drift.into(),
        })
    }

    /// A recording may be of anybody's jobs, so that replayed ones may have underscores as well.
    fn job_name(&mut self, name: &Located<String>) {
        let (name_of, expected) = match self.is_on(RunPlace::Recorded) {
            true => (
                name.value.replace('_', "a"),
                "1 to 63 letters, digits, underscores and inner hyphens",
            ),
            false => (
                name.value.clone(),
                "1 to 63 letters, digits and inner hyphens, as SageMaker wants them",
            ),
        };
        if !limits::is_job_name(&name_of) {
            let message = format!("{} cannot be a job's name", quoted(&name.value));
            self.findings.wrong_with_help(&name.at, message, expected);
        }
    }

    /// Whether a list was written with nothing in it; one whose items could not be read has its complaints already.
    pub(in crate::spec) fn is_empty<T>(&self, list: &Located<raw::List<T>>) -> bool {
        list.value.0.is_empty() && !self.findings.is_known(&list.at.path)
    }

    /// Complains about a list without items.
    pub(in crate::spec) fn refuse_empty<T>(&mut self, list: &Located<raw::List<T>>, message: &str) {
        if self.is_empty(list) {
            self.findings.wrong(&list.at, message);
        }
    }

    /// Keeps where a field stands, for annotations of a pull request.
    fn remember(&mut self, at: &At) {
        self.places.push((at.path.clone(), at.span.start));
    }
}

fn level(raw: Option<Located<raw::Choice<Level>>>) -> Level {
    raw.map_or(Level::Fail, |level| level.value.0)
}

#[cfg(test)]
mod tests;
