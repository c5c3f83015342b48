//! The project of a command: the valid spec, its checkout, and the policy that it is judged by.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use walkdir::WalkDir;

use crate::backend::project_paths::{Closed, PathHelp, Unresolved, has_private_name};
use crate::change::SpecPlace;
use crate::cli::{DataArguments, SpecArguments};
use crate::code::{PathKind, Tree, TreeFile, without_dots};
use crate::console::{AppError, Loudness, StepResult, files, printable, say, warn};
use crate::git;
use crate::instance::price_file::PriceFile;
use crate::instance::{Capacity, InstanceConfiguration, InstanceType, Offer, Price, tables};
use crate::spec::{Job, Spec, Traits, is_secret_place};
use crate::workspace::checkout::{self, Checkout, CheckoutCode, CommitCheckout};
use crate::workspace::environment::variable;
use crate::workspace::organization;
use crate::workspace::price_file;
use crate::workspace::project_policy::ProjectPolicy;
use crate::workspace::written_spec::{self, DEFAULT_PLACES, WrittenSpec};

/// The gate's own folder, beside the spec.
pub(crate) const STATE_FOLDER: &str = ".canary-gate";
/// The region of prices if none is named.
pub(crate) const DEFAULT_REGION: &str = "us-east-1";

/// A valid spec in its checkout.
#[derive(Debug)]
pub(crate) struct Project {
    pub(crate) spec: Spec,
    pub(crate) place: SpecPlace,
    /// `None` without git.
    pub(crate) checkout: Option<Checkout>,
    /// The checkout root, or the folder that paths are relative to; links resolved.
    pub(crate) root: PathBuf,
    /// The folder that the spec's paths are relative to; links resolved.
    pub(crate) folder: PathBuf,
    /// The folders outside the checkout that data may lie in, links resolved: `--data-root`.
    pub(crate) data_roots: Vec<PathBuf>,
    /// The folders that caches of canaries may lie in, links resolved: `--cache`.
    pub(crate) caches: Vec<PathBuf>,
    /// The value of `--region`.
    pub(crate) region_flag: Option<String>,
    /// The ARN of the role that the program assumes itself, by a token of GitHub's: the action's input.
    pub(crate) role_to_assume: Option<String>,
    /// The commit's own spec, before policy was applied; `None` if no policy was.
    pub(crate) own_spec: Option<Spec>,
    /// The policy that applies; the spec's own until the base's is applied.
    pub(crate) policy: ProjectPolicy,
    /// Files of the checkout, from its root, that this run writes while canaries run; they are nobody's code.
    pub(crate) grows: Vec<String>,
    /// Listed once.
    files: OnceCell<Tree>,
    /// Read once, before anything is started: what a canary does to the checkout is nobody's code.
    code: OnceCell<CheckoutCode>,
    /// Today's prices, from the backend.
    prices: RefCell<BTreeMap<InstanceType, Price>>,
    /// AWS's published prices beside the spec; those of the base where its policy applies.
    pub(crate) price_file: PriceFile,
    /// What this machine has, where canaries run on it.
    host: OnceCell<Capacity>,
}

impl Project {
    /// Reads the spec under the policy that it extends, in the checkout that git finds.
    pub(crate) async fn load(arguments: &SpecArguments) -> Result<Self, AppError> {
        Self::as_it_stands(arguments)?.under_policy().await
    }

    /// The same without that policy, for what judges nothing: it needs no network.
    pub(crate) fn as_it_stands(arguments: &SpecArguments) -> Result<Self, AppError> {
        let written = WrittenSpec::find(arguments, None)?;
        let checkout = git::GitCheckout::find(&written.folder)?.map(Checkout::Git);
        Self::of(written, checkout)
    }

    /// Reads the spec in a checkout without git. `tree_of` lists a commit; `head` is taken for the commit if the
    /// checkout does not name one.
    pub(crate) async fn load_commit(
        arguments: &SpecArguments,
        head: &str,
        tree_of: impl AsyncFnOnce(&str) -> Result<Arc<Tree>, AppError>,
    ) -> Result<Self, AppError> {
        let workspace = files::current_folder()?;
        let written = WrittenSpec::find(arguments, Some(&workspace))?;
        let root = checkout::root_of(&written.folder, &workspace).unwrap_or(workspace);
        let commit = checkout::checked_out_commit(&root).unwrap_or_else(|| {
            say(&format!(
                "warning: the checked-out commit cannot be read from .git; GITHUB_SHA is used in its place: {}",
                printable(head)
            ));
            head.to_owned()
        });
        let tree = tree_of(&commit).await?;
        let checkout = CommitCheckout { root, commit, tree };
        let project = Self::of(written, Some(Checkout::Commit(checkout)))?;
        project.under_policy().await
    }

    async fn under_policy(mut self) -> Result<Self, AppError> {
        if let Some(policy) = organization::policy_of(&self.spec).await? {
            self.spec.extend(&policy)?;
        }
        Ok(self)
    }

    fn of(written: WrittenSpec, checkout: Option<Checkout>) -> Result<Self, AppError> {
        let WrittenSpec { spec, file, folder } = written;
        let root = checkout.as_ref().map_or(&*folder, Checkout::root);
        let root = root.to_owned();
        let relative = |path: &Path| {
            let below = path.strip_prefix(&root).unwrap_or(Path::new(""));
            below.to_string_lossy().into_owned()
        };
        let place = SpecPlace {
            file: relative(&file),
            folder: relative(&folder),
        };
        Ok(Self {
            spec,
            place,
            checkout,
            root,
            folder,
            data_roots: Vec::new(),
            caches: Vec::new(),
            region_flag: None,
            role_to_assume: None,
            own_spec: None,
            policy: ProjectPolicy::default(),
            grows: Vec::new(),
            files: OnceCell::new(),
            code: OnceCell::new(),
            prices: RefCell::default(),
            price_file: price_file::read(&price_file::beside(&file))?,
            host: OnceCell::new(),
        })
    }

    /// Lets data, and caches, lie below these folders too. Only who starts the gate can: a spec cannot.
    pub(crate) fn open_folders(&mut self, arguments: &DataArguments) -> Result<(), AppError> {
        let roots = arguments.data_roots.iter();
        let opened_roots = roots.map(|root| opened(root, "--data-root", "data"));
        self.data_roots = opened_roots.collect::<Result<_, _>>()?;
        for root in &arguments.caches {
            let real = opened(root, "--cache", "caches")?;
            let home = std::env::var_os("HOME").map(PathBuf::from);
            let home = home.and_then(|home| home.canonicalize().ok());
            if is_secret_place(&real, home.as_deref()) {
                return Err(AppError::usage(format!(
                    "`--cache {}` opens {}, a place of secrets, which no canary gets",
                    root.display(),
                    real.display()
                ))
                .help("name the folder that holds the models or the data alone"));
            }
            self.caches.push(real);
        }
        Ok(())
    }

    /// Those of `paths` that lie in the checkout, relative to its root.
    pub(crate) fn relative<'a>(&self, paths: impl Iterator<Item = &'a PathBuf>) -> Vec<String> {
        let inside = paths.filter_map(|path| git::own_files::below(&self.root, path));
        let written = inside.map(|path| path.to_string_lossy().into_owned());
        written.collect()
    }

    /// A path as written, relative to the checkout root, with no link resolved; `None` if it lies elsewhere.
    pub(crate) fn relative_as_written(&self, path: &Path) -> Option<String> {
        let whole = without_dots(&folder_as_written()?.join(path));
        // A link above the root is not part of the checkout.
        let above: Vec<&Path> = whole.ancestors().skip(1).collect();
        let is_root = |folder: &Path| folder.canonicalize().is_ok_and(|real| real == self.root);
        let root = above.into_iter().rfind(|folder| is_root(folder))?;
        let inside = whole.strip_prefix(root).ok()?;
        Some(inside.to_string_lossy().into_owned())
    }

    /// Loads the named spec, else one at a default place; `None` if there is none.
    pub(crate) async fn load_if_there(arguments: &SpecArguments) -> Result<Option<Self>, AppError> {
        match arguments.spec.is_some() || written_spec::found_upwards().is_some() {
            true => Self::load(arguments).await.map(Some),
            false => Ok(None),
        }
    }

    /// Prints the spec's warnings.
    pub(crate) fn warn(&self, loudness: Loudness) {
        if loudness == Loudness::Quiet {
            return;
        }
        for warning in &self.spec.warnings {
            warn(&warning.field, &warning.message);
        }
    }

    /// The files that git knows, from the checkout's root; without git all files of the project.
    pub(crate) fn files(&self) -> Result<&Tree, AppError> {
        if self.files.get().is_none() {
            let mut listed = match &self.checkout {
                Some(checkout) => checkout.files()?,
                None => self.walked()?,
            };
            let is_written = |path: &Path| self.grows.iter().any(|it| Path::new(it) == path);
            listed.retain(|file| !is_written(&file.path));
            // Set here only, and the program has one thread.
            let _ = self.files.set(checkout::on_disk(&self.root, listed));
        }
        Ok(self.files.get().expect("it was just set"))
    }

    /// The other files of the checkout, from its root, that are named as this spec is, or as one is by default.
    pub(crate) fn other_specs(&self) -> Result<Vec<PathBuf>, AppError> {
        let own = Path::new(&self.place.file);
        let names = [own, Path::new(DEFAULT_PLACES[0])].map(Path::file_name);
        let paths = self.files()?.files().iter().map(|file| &file.path);
        let is_other = |path: &&PathBuf| *path != own && names.contains(&path.file_name());
        Ok(paths.filter(is_other).cloned().collect())
    }

    /// What counts for each job, by the base's policy too: to be asked for once that is applied.
    pub(crate) fn code(&self) -> Result<&CheckoutCode, AppError> {
        if self.code.get().is_none() {
            let _ = self.code.set(self.read_code()?);
        }
        Ok(self.code.get().expect("it was just set"))
    }

    /// Without git: every file of the project that is not private.
    fn walked(&self) -> Result<Vec<TreeFile>, AppError> {
        let below = |path: &Path| path.strip_prefix(&self.root).unwrap_or(path).to_owned();
        let mut files = Vec::new();
        let all = WalkDir::new(&self.root).min_depth(1).into_iter();
        for entry in all.filter_entry(|entry| !has_private_name(&below(entry.path()))) {
            let entry = entry.or_fail(|| {
                AppError::failed(format!("{} cannot be read", self.root.display()))
                    .help("make it readable for the user that runs the gate")
            })?;
            files.extend((!entry.file_type().is_dir()).then(|| TreeFile {
                path: below(entry.path()),
                blob: String::new(),
                kind: PathKind::File,
            }));
        }
        Ok(files)
    }

    /// Whether git tracks a path of the checkout, or would with the next `git add`.
    pub(crate) fn is_tracked(&self, path: &Path) -> Result<bool, AppError> {
        let Ok(relative) = path.strip_prefix(&self.root) else {
            return Ok(false);
        };
        Ok(self.checkout.is_some() && self.files()?.get(relative).is_some())
    }

    /// The job as the commit writes it: its keys must not change when it is merged.
    pub(crate) fn as_written<'a>(&'a self, job: &'a Job) -> &'a Job {
        let own = self.own_spec.as_ref();
        own.and_then(|spec| spec.job(&job.name)).unwrap_or(job)
    }

    /// The gate's own folder, where measurements and workspaces lie.
    pub(crate) fn state_folder(&self) -> PathBuf {
        self.folder.join(STATE_FOLDER)
    }

    /// Keeps what a service says that machines cost today.
    pub(crate) fn learn_prices(&self, prices: BTreeMap<InstanceType, Price>) {
        self.prices.borrow_mut().extend(prices);
    }

    /// Keeps what this machine has, of which nothing is known before canaries are prepared on it.
    pub(crate) fn learn_host(&self, host: Option<Capacity>) {
        if let Some(host) = host {
            let _ = self.host.set(host);
        }
    }

    /// What the machines of a configuration have and cost.
    pub(crate) fn offer(&self, instance: &InstanceConfiguration) -> Offer {
        let capacity = |kind: &InstanceType| match kind.is_local() {
            true => self.host.get().cloned(),
            false => tables::capacity(kind),
        };
        Offer::of(instance, &capacity, &|kind| self.price(kind))
    }

    /// The same for a full run of a job, which may buy spot capacity. Canaries never do.
    pub(crate) fn offer_to(&self, job: &Job, instance: &InstanceConfiguration) -> Offer {
        let offer = self.offer(instance);
        match job.training.sagemaker.spot {
            true => offer.on_spot(|kind| self.spec.prices.spot.get(kind).copied()),
            false => offer,
        }
    }

    /// The same for canaries of a job: where no limit is in dollars, a machine without a price counts by `canary.max_seconds`.
    pub(crate) fn canary_offer(
        &self,
        job: &Job,
        instance: &InstanceConfiguration,
        is_limited_in_dollars: bool,
    ) -> Offer {
        let mut offer = self.offer(instance);
        offer.stand_in = job.canary.stand_in().filter(|_| !is_limited_in_dollars);
        offer
    }

    /// The price of one machine for one hour: the spec's, else today's, else the file's, else the tables'.
    fn price(&self, kind: &InstanceType) -> Option<Price> {
        if let Some(price) = self.spec.prices.on_demand.get(kind) {
            return Some(Price::from_spec(*price));
        }
        if let Some(price) = self.prices.borrow().get(kind) {
            return Some(price.clone());
        }
        let region = self.region();
        let region = region.as_deref().unwrap_or(DEFAULT_REGION);
        let of_file = self.price_file.price(kind, region, today());
        of_file.or_else(|| tables::price(kind, region))
    }

    /// Its backend, and the policy that it extends: `local, under my-org/policies/canary-gate.yml@v1 (3f9c2e1)`.
    pub(crate) fn backend_words(&self) -> String {
        let policy = self.spec.policy.iter().map(|it| it.file.name.clone());
        let backend = [self.spec.backend.to_string()].into_iter();
        Vec::from_iter(backend.chain(policy)).join(", under ")
    }

    /// What its backend is like.
    pub(crate) fn traits(&self) -> Traits {
        self.spec.backend.traits()
    }

    /// Flag, then spec, then environment.
    pub(crate) fn region(&self) -> Option<String> {
        let written = self.region_flag.as_ref().or(self.spec.region.as_ref());
        written.cloned().or_else(environment_region)
    }

    /// Where a path of the spec leads: from the checkout's root with a leading `/`, else from the spec's folder.
    pub(crate) fn place_of(&self, written: &str) -> PathBuf {
        match written.strip_prefix('/') {
            Some(rooted) => self.root.join(rooted),
            None => self.folder.join(written),
        }
    }

    /// The file of the spec's recording, all links resolved; inside the checkout.
    pub(crate) fn recording_file(&self, written: &str) -> Result<PathBuf, AppError> {
        let joined = self.place_of(written);
        let real = joined.canonicalize();
        let found = match real.map_err(|source| Unresolved::Missing(joined, source)) {
            // The error for a file that is no table quotes its first line.
            Ok(real) => match real.strip_prefix(&self.root).map(has_private_name) {
                Ok(false) => return Ok(real),
                Ok(true) => Unresolved::Closed(Closed::Private, real),
                Err(_) => Unresolved::Closed(Closed::Outside, real),
            },
            Err(missing) => missing,
        };
        let help = PathHelp {
            what: "",
            missing: "put the file there, or correct the path; it is relative to the spec's folder, a leading `/` is the checkout root",
            outside: "keep the recording inside the checkout; links that leave it are refused",
            private: "name a table of measurements",
        };
        Err(found.refused("recording", written, &help).into())
    }

    /// Refuses to overwrite the recording.
    pub(crate) fn refuse_to_write_over_the_recording<'a>(
        &self,
        mut paths: impl Iterator<Item = &'a PathBuf>,
    ) -> Result<(), AppError> {
        let recording = match &self.spec.recording {
            Some(recording) if self.traits().replays => self.recording_file(recording)?,
            _ => return Ok(()),
        };
        match paths.find(|path| path.canonicalize().is_ok_and(|real| real == recording)) {
            None => Ok(()),
            Some(path) => {
                let what = format!("{} is the recording that is replayed", path.display());
                Err(AppError::usage(what).help("write to another file"))
            }
        }
    }
}

/// The current folder as the shell names it, if that is right.
fn folder_as_written() -> Option<PathBuf> {
    let real = std::env::current_dir().ok()?;
    let written = std::env::var_os("PWD").map(PathBuf::from);
    let written = written.filter(|written| written.is_absolute());
    let is_here = |folder: &PathBuf| same_file::is_same_file(folder, &real).unwrap_or(false);
    Some(written.filter(is_here).unwrap_or(real))
}

/// Today's date, UTC.
pub(crate) fn today() -> jiff::civil::Date {
    let now = jiff::Timestamp::now();
    now.to_zoned(jiff::tz::TimeZone::UTC).date()
}

/// The value of AWS_REGION; `None` if it is empty.
pub(crate) fn environment_region() -> Option<String> {
    variable("AWS_REGION")
}

/// A folder that a flag opens, all links resolved.
fn opened(root: &Path, flag: &str, what: &str) -> Result<PathBuf, AppError> {
    let real = root.canonicalize().or_fail(|| {
        let help = match root.starts_with("~") {
            true => format!("the shell did not expand `~`, such as in quotes or after `=`: write `{flag} \"$HOME/...\"`"),
            false => format!("name a folder that {what} lie in"),
        };
        AppError::usage(format!("`{flag} {}` cannot be read", root.display()))
            .help(help)
    })?;
    if !real.is_dir() || real.parent().is_none() {
        let help = format!("name the folder that the {what} lie in, not the whole machine");
        let message = format!("`{flag} {}` is no folder of {what}", root.display());
        return Err(AppError::usage(message).help(help));
    }
    Ok(real)
}
