//! The project a command works on: the spec, read and checked, and the checkout it lies in.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::canary::CodeFile;
use crate::change::{PathGlobs, SpecPlace};
use crate::cli::SpecArguments;
use crate::git::Checkout;
use crate::instance::{InstanceConfiguration, InstanceType, Price, tables};
use crate::spec::{self, BackendKind, Job, NotYetEffect, Spec, SpecSource};

use super::policy::ProjectPolicy;
use super::{AppError, Loudness, warn};

/// Where a spec is looked for, in this order.
pub(super) const DEFAULT_PLACES: [&str; 2] = ["canary-gate.yml", ".github/canary-gate.yml"];
/// The gate's own folder, beside the spec.
const STATE_FOLDER: &str = ".canary-gate";
/// Prices are for this region where nobody says one.
pub(super) const DEFAULT_REGION: &str = "us-east-1";

/// A valid spec in its checkout.
#[derive(Debug)]
pub(super) struct Project {
    pub(super) spec: Spec,
    pub(super) place: SpecPlace,
    /// `None` where git knows no checkout.
    pub(super) checkout: Option<Checkout>,
    /// The checkout root, or the folder that paths are relative to; links resolved.
    pub(super) root: PathBuf,
    /// The folder that the spec's paths are relative to; links resolved.
    pub(super) folder: PathBuf,
    /// What `--region` says.
    pub(super) region_flag: Option<String>,
    /// Whose policy counts; until it is settled, the spec's own.
    pub(super) policy: ProjectPolicy,
    /// Asked of git once.
    files: OnceCell<Vec<String>>,
    /// What the backend says that machines cost today.
    prices: RefCell<BTreeMap<InstanceType, Price>>,
}

impl Project {
    /// Finds, reads and checks the spec.
    pub(super) fn load(arguments: &SpecArguments) -> Result<Self, AppError> {
        let file = find(arguments)?;
        if let Ok(real) = file.canonicalize() {
            refuse_link_from_elsewhere(&file, &real)?;
        }
        let bytes = read_limited(&file)?;
        let name = file.to_string_lossy();
        let spec = spec::read(
            SpecSource {
                name: &name,
                bytes: &bytes,
            },
            &tables::listed_types().collect::<Vec<_>>(),
        )?;
        let real = file.canonicalize().map_err(|source| {
            AppError::failed(format!("{name} cannot be read")).caused_by(source)
        })?;
        let beside = real.parent().unwrap_or(Path::new("/")).to_owned();
        // A spec in .github speaks of the checkout, not of .github.
        let folder = match beside.file_name() {
            Some(name) if name == ".github" => beside.parent().unwrap_or(&beside).to_owned(),
            _ => beside,
        };
        let checkout = Checkout::find(&folder)?;

        let root = checkout
            .as_ref()
            .map_or_else(|| folder.clone(), |checkout| checkout.root().to_owned());
        let relative = |path: &Path| {
            path.strip_prefix(&root)
                .map(|path| path.to_string_lossy().into_owned())
                .unwrap_or_default()
        };
        let place = SpecPlace {
            file: relative(&real),
            folder: relative(&folder),
        };
        Ok(Self {
            spec,
            place,
            checkout,
            root,
            folder,
            region_flag: None,
            policy: ProjectPolicy::default(),
            files: OnceCell::new(),
            prices: RefCell::default(),
        })
    }

    /// Those of `paths` that lie in the checkout, relative to its root.
    pub(super) fn relative<'a>(&self, paths: impl Iterator<Item = &'a PathBuf>) -> Vec<String> {
        paths
            .filter_map(|path| {
                let folder = path
                    .parent()
                    .filter(|folder| !folder.as_os_str().is_empty());
                let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
                let inside = folder.join(path.file_name()?);
                let relative = inside.strip_prefix(&self.root).ok()?;
                Some(relative.to_string_lossy().into_owned())
            })
            .collect()
    }

    /// Loads a spec that nobody named if there is one.
    pub(super) fn load_if_there(arguments: &SpecArguments) -> Result<Option<Self>, AppError> {
        let there = arguments.spec.is_some()
            || DEFAULT_PLACES.iter().any(|place| Path::new(place).exists());
        there.then(|| Self::load(arguments)).transpose()
    }

    /// Doubts about the spec go to standard error.
    pub(super) fn warn(&self, loudness: Loudness) {
        if loudness == Loudness::Quiet {
            return;
        }
        for warning in &self.spec.warnings {
            warn(&warning.field, &warning.message);
        }
    }

    /// The files that git knows, relative to the checkout root; `None` without git.
    pub(super) fn known_files(&self) -> Result<Option<&[String]>, AppError> {
        let Some(checkout) = &self.checkout else {
            return Ok(None);
        };
        if self.files.get().is_none() {
            // Nobody else sets it: the program has one thread.
            let _ = self.files.set(checkout.files()?);
        }
        Ok(self.files.get().map(Vec::as_slice))
    }

    /// Whether git tracks a path of the checkout, or would with the next `git add`.
    pub(super) fn is_tracked(&self, path: &Path) -> Result<bool, AppError> {
        let Ok(relative) = path.strip_prefix(&self.root) else {
            return Ok(false);
        };
        let relative = relative.to_string_lossy();
        let files = self.known_files()?;
        Ok(files.is_some_and(|files| files.iter().any(|file| *file == relative)))
    }

    /// The files that a job's `paths` match, and those of its source that no pattern speaks of, each with git's id of its content as it lies there; without git none.
    pub(super) fn code_files(&self, job: &Job) -> Result<Vec<CodeFile>, AppError> {
        let (Some(checkout), Some(files)) = (&self.checkout, self.known_files()?) else {
            return Ok(Vec::new());
        };
        let globs = PathGlobs::new(&job.paths, &self.place.folder);
        // What is run counts even where a change to it would not start the gate; what `!` leaves out does not.
        let source = job.training.source_dir.as_ref().and_then(|written| {
            let joined = match written.strip_prefix('/') {
                Some(rooted) => self.root.join(rooted),
                None => self.folder.join(written),
            };
            let real = joined.canonicalize().ok()?;
            Some(real.strip_prefix(&self.root).ok()?.to_owned())
        });
        let is_unspoken_source = |file: &String| {
            source
                .as_ref()
                .is_some_and(|source| Path::new(file).starts_with(source))
                && !globs.speaks_of(file)
        };
        let matched: Vec<String> = files
            .iter()
            .filter(|file| globs.matches(file) || is_unspoken_source(file))
            .cloned()
            .collect();
        Ok(checkout
            .blobs(&matched)?
            .into_iter()
            .map(|(path, blob)| CodeFile { path, blob })
            .collect())
    }

    /// The gate's own folder, where measurements and workspaces lie.
    pub(super) fn state_folder(&self) -> PathBuf {
        self.folder.join(STATE_FOLDER)
    }

    /// Today's prices, which win over the tables.
    pub(super) fn learn_prices(&self, prices: BTreeMap<InstanceType, Price>) {
        self.prices.borrow_mut().extend(prices);
    }

    /// The price of a configuration for one machine and hour: the spec's, else today's, else the tables'.
    pub(super) fn price(&self, instance: &InstanceConfiguration) -> Option<Price> {
        let kind = instance.single_type()?;
        if let Some(price) = self.spec.prices.get(kind) {
            return Some(Price::from_spec(*price));
        }
        if let Some(price) = self.prices.borrow().get(kind) {
            return Some(price.clone());
        }
        tables::price(kind, self.region().as_deref().unwrap_or(DEFAULT_REGION))
    }

    /// Spec, then flag, then environment.
    pub(super) fn region(&self) -> Option<String> {
        self.spec
            .region
            .clone()
            .or_else(|| self.region_flag.clone())
            .or_else(environment_region)
    }

    /// Refuses to go on where something asked for is not served yet, before any call.
    pub(super) fn refuse_not_yet(&self, jobs: &[&Job]) -> Result<(), AppError> {
        let concerns = |field: &str| {
            !field.starts_with("jobs.")
                || jobs
                    .iter()
                    .any(|job| field.starts_with(&format!("jobs.{}.", job.name)))
        };
        let refused: Vec<_> = self
            .spec
            .not_yet
            .iter()
            .filter(|item| item.effect == NotYetEffect::Refuse && concerns(&item.field))
            .collect();
        if refused.is_empty() {
            return Ok(());
        }
        let all: Vec<String> = refused
            .iter()
            .map(|item| format!("{} ({})", item.field, item.what))
            .collect();
        Err(AppError::usage(format!(
            "not served yet: {}; nothing was run",
            all.join(", ")
        ))
        .help("leave it out, or wait for a version that serves it"))
    }

    /// The file of the spec's recording, all links resolved; inside the checkout.
    pub(super) fn recording_file(&self, written: &str) -> Result<PathBuf, AppError> {
        let joined = match written.strip_prefix('/') {
            Some(rooted) => self.root.join(rooted),
            None => self.folder.join(written),
        };
        let real = joined.canonicalize().map_err(|source| {
            AppError::failed(format!("recording: `{written}` cannot be read: {}", joined.display()))
                .help("put the file there, or correct the path; it is relative to the spec's folder, a leading `/` is the checkout root")
                .caused_by(source)
        })?;
        if !real.starts_with(&self.root) {
            return Err(AppError::failed(format!(
                "recording: `{written}` leads outside the checkout, to {}",
                real.display()
            ))
            .help("keep the recording inside the checkout; links that leave it are refused"));
        }
        Ok(real)
    }

    /// Refuses to write where the recording is read from.
    pub(super) fn refuse_to_write_over_the_recording<'a>(
        &self,
        mut paths: impl Iterator<Item = &'a PathBuf>,
    ) -> Result<(), AppError> {
        let recording = match (&self.spec.recording, self.spec.backend) {
            (Some(recording), BackendKind::Replay) => self.recording_file(recording)?,
            _ => return Ok(()),
        };
        match paths.find(|path| path.canonicalize().is_ok_and(|real| real == recording)) {
            None => Ok(()),
            Some(path) => Err(AppError::usage(format!(
                "{} is the recording that is replayed",
                path.display()
            ))
            .help("write to another file")),
        }
    }

    /// What the report says of parts of the spec that are accepted and have no effect yet, for one job or for all.
    pub(super) fn ignored_not_yet(&self, job: &Job) -> Vec<String> {
        self.spec
            .not_yet
            .iter()
            .filter(|item| {
                !item.field.starts_with("jobs.")
                    || item.field.starts_with(&format!("jobs.{}.", job.name))
            })
            .filter_map(|item| match item.effect {
                NotYetEffect::Refuse => None,
                NotYetEffect::Ignore => {
                    Some(format!("`{}` has no effect yet: {}", item.field, item.what))
                }
            })
            .collect()
    }
}

/// A pull request can commit a spec that is a link; it may not lead out of the checkout, and errors quote what they read.
fn refuse_link_from_elsewhere(file: &Path, real: &Path) -> Result<(), AppError> {
    if !file.is_symlink() {
        return Ok(());
    }
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    let root = folder.ok().map(|folder| match Checkout::find(&folder) {
        Ok(Some(checkout)) => checkout.root().to_owned(),
        _ => folder,
    });
    if root.is_some_and(|root| real.starts_with(root)) {
        return Ok(());
    }
    Err(AppError::usage(format!(
        "the spec {} is a link that leaves the checkout",
        file.display()
    ))
    .help("replace it by the file itself"))
}

/// AWS's own variable; empty is as good as unset.
pub(super) fn environment_region() -> Option<String> {
    std::env::var("AWS_REGION")
        .ok()
        .filter(|region| !region.is_empty())
}

/// The spec file to read.
fn find(arguments: &SpecArguments) -> Result<PathBuf, AppError> {
    if let Some(file) = &arguments.spec {
        return Ok(file.clone());
    }
    DEFAULT_PLACES
        .iter()
        .map(PathBuf::from)
        .find(|file| file.exists())
        .ok_or_else(|| {
            AppError::usage(format!(
                "there is no spec: looked for {}",
                DEFAULT_PLACES.join(" and ")
            ))
            .help("write one with `canary-gate init`, or name it with `--spec FILE`")
        })
}

/// Reads a spec without reading more than one may hold.
fn read_limited(file: &Path) -> Result<Vec<u8>, AppError> {
    let name = file.display();
    let refuse = |source: std::io::Error| {
        let error = match source.kind() {
            std::io::ErrorKind::NotFound => AppError::usage(format!("there is no spec at {name}"))
                .help("write one with `canary-gate init`, or correct `--spec FILE`"),
            std::io::ErrorKind::IsADirectory => {
                AppError::usage(format!("{name} is a folder, not a spec"))
                    .help("name the file in it: `--spec DIR/canary-gate.yml`")
            }
            _ => AppError::usage(format!("the spec {name} cannot be read")),
        };
        error.caused_by(source)
    };
    // A pipe would block for ever, and a device has no end.
    if file
        .metadata()
        .is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
    {
        return Err(AppError::usage(format!(
            "the spec {name} is not a plain file"
        )));
    }
    let mut bytes = Vec::new();
    let limit = u64::try_from(spec::MAX_SPEC_BYTES).unwrap_or(u64::MAX);
    File::open(file)
        .and_then(|opened| opened.take(limit.saturating_add(1)).read_to_end(&mut bytes))
        .map_err(refuse)?;
    Ok(bytes)
}
