//! Policy from the base and today's overrides, applied to a project before anything is planned.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::change::{BaseSpec, SpecPlace};
use crate::cli::{ChangeArguments, PlanArguments, SpecArguments};
use crate::code::Tree;
use crate::console::{AppError, AppResult, warn};
use crate::git::{self, GitError};
use crate::grammar;
use crate::instance::price_file::{PRICE_FILE, PriceFile};
use crate::instance::tables;
use crate::report::Policy;
use crate::spec::policy::{self, BasePolicyError, MERGE_IT_ALONE};
use crate::spec::{MAX_SPEC_BYTES, OnInconclusive, Spec};
use crate::units::Usd;
use crate::verdict::Reason;
use crate::workspace::checkout::{self, Checkout};
use crate::workspace::organization::{self, SHORT_COMMIT};
use crate::workspace::price_file;
use crate::workspace::project::{Project, today};
use crate::workspace::project_policy::ProjectPolicy;
use crate::workspace::written_spec::{self, DEFAULT_PLACES, folder_of};

/// What canaries of jobs that the base does not know may cost together, where nobody says.
pub(crate) const CAP_OF_NEW_JOBS: Usd = Usd(5.0);
/// Names that are shown before the rest is counted.
const MOST_NAMES: usize = 10;

/// The tip of the base branch, with its files at the places of a spec.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    /// The name to show, e.g. `main`.
    pub(crate) name: String,
    /// The full commit id.
    pub(crate) sha: String,
    /// In the order of [`places`]; the first that exists is the base's spec.
    pub(crate) files: Vec<BaseFile>,
    /// AWS's published prices beside that spec; none where it has no spec.
    pub(crate) prices: Vec<BaseFile>,
    /// All of its files, where a recording is held against them.
    pub(crate) tree: Option<Arc<Tree>>,
}

/// A place where the base may have its spec.
#[derive(Debug, Clone)]
pub(crate) struct BaseFile {
    /// Relative to the checkout root.
    pub(crate) place: String,
    /// `None` if the base has no such file, an error if it cannot be read. A file larger than [`MAX_SPEC_BYTES`] may be cut
    /// one byte after that.
    pub(crate) bytes: Option<Result<Vec<u8>, String>>,
}

/// The default places in the folders above that of a place, the nearest first: `a/canary-gate.yml`, then `canary-gate.yml`, for
/// `a/b/canary-gate.yml`. The base's spec may have been found there, so neither taking it away nor adding one below it evades its
/// policy.
fn places_above(place: &str) -> Vec<String> {
    let folder = place.rsplit_once('/').map_or("", |(folder, _)| folder);
    let above = Path::new(folder).ancestors().skip(1);
    above
        .flat_map(|folder| DEFAULT_PLACES.map(|place| folder.join(place)))
        .map(|place| place.to_string_lossy().into_owned())
        .collect()
}

/// The places of the base's spec, relative to the checkout root, in order of search. Moving the spec must not evade its policy.
///
/// Without `--spec` they are those of the same search on the base, whatever the change has there: the default places, then those of
/// the folders above. With it they are the named file, then the default places that no longer exist. The path as written comes
/// before the path with links resolved, so that a folder turned into a link cannot redirect the search.
pub(crate) fn places(project: &Project, arguments: &SpecArguments) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    // The base may have a folder that the change removed.
    let [beside, below] = DEFAULT_PLACES;
    let beside = PathBuf::from(beside);
    let resolved = project.relative(std::iter::once(&beside));
    let as_written = project.relative_as_written(&beside);
    let above_here = as_written.clone().or_else(|| resolved.first().cloned());
    let defaults = as_written.into_iter().chain(resolved).flat_map(|place| {
        let other = Path::new(&place).with_file_name(below);
        [place, other.to_string_lossy().into_owned()]
    });
    match &arguments.spec {
        None => {
            places.extend(defaults);
            let above = above_here.as_deref().map(places_above).unwrap_or_default();
            places.extend(above);
            places.push(project.place.file.clone());
        }
        Some(named) => {
            places.extend(project.relative_as_written(named));
            places.extend(project.relative(std::iter::once(named)));
            places.push(project.place.file.clone());
            let is_gone = |place: &String| project.root.join(place).symlink_metadata().is_err();
            places.extend(defaults.filter(is_gone));
        }
    }
    places.retain(|place| !place.is_empty());
    grammar::distinct(places)
}

/// The place of the base's spec that became the one at `place`, from the checkout's root, among specs that may have come or gone since
/// a change left its base; `None` where that is no new one, or none is gone.
///
/// # Errors
///
/// Several are gone, and it is like none of them: it would choose its own limits.
pub(crate) fn moved_from(
    place: &str,
    specs: &[PathBuf],
    before: &Tree,
    head: &Tree,
) -> AppResult<Option<String>> {
    let place = Path::new(place);
    let is_gone = |spec: &&PathBuf| before.get(spec).is_some() && head.get(spec).is_none();
    let gone: Vec<&PathBuf> = specs.iter().filter(is_gone).collect();
    if before.get(place).is_some() || gone.is_empty() {
        return Ok(None);
    }
    let blob = |tree: &Tree, path: &Path| tree.get(path).map(|file| file.blob.clone());
    let own = blob(head, place);
    let same = |one: &&&PathBuf| gone.len() == 1 || blob(before, one) == own;
    match gone.iter().find(same) {
        Some(gone) => Ok(Some(gone.to_string_lossy().into_owned())),
        None => Err(AppError::usage("this pull request takes several specs away and adds this one, so nobody knows whose limits it has")
            .help("move one spec in a pull request, or several without a change to them")),
    }
}

/// A commit's files at the places of the spec. Where it has none there, the change may have moved the spec since it branched off at
/// `fork`: then the file is at the old place.
pub(crate) fn spec_files(
    checkout: &git::GitCheckout,
    commit: &str,
    fork: &str,
    project: &Project,
    spec: &SpecArguments,
) -> AppResult<Vec<BaseFile>> {
    let mut files = files_at(checkout, commit, places(project, spec))?;
    if files.iter().any(|file| file.bytes.is_some()) {
        return Ok(files);
    }
    let (before, head) = (checkout.tree(fork)?, checkout.tree("HEAD")?);
    let name = Path::new(&project.place.file).file_name();
    let paths = before.files().iter().map(|file| &file.path);
    let specs = Vec::from_iter(paths.filter(|path| path.file_name() == name).cloned());
    let moved = moved_from(&project.place.file, &specs, &before, &head)?;
    files.extend(files_at(checkout, commit, moved.into_iter().collect())?);
    Ok(files)
}

/// The tip of `--base`; `None` without the flag.
pub(crate) fn base_of(
    project: &Project,
    spec: &SpecArguments,
    change: &ChangeArguments,
) -> AppResult<Option<Base>> {
    let Some(name) = &change.base else {
        return Ok(None);
    };
    let Some(checkout) = project.checkout.as_ref().and_then(Checkout::git) else {
        return Err(AppError::usage(
            "`--base` takes policy from a commit, and git knows no checkout here",
        )
        .help("leave `--base` out, or run in a clone"));
    };
    let commit = checkout.resolve(name)?;
    let fork = checkout.merge_base(name);
    let fork = fork.unwrap_or_else(|_| commit.clone());
    let files = spec_files(checkout, &commit, &fork, project, spec)?;
    let prices = files_at(checkout, &commit, price_place(&files))?;
    let replays = project.traits().replays;
    let tree = replays.then(|| checkout.tree(&commit).map(Arc::new));
    Ok(Some(Base {
        name: name.clone(),
        sha: commit,
        files,
        prices,
        tree: tree.transpose()?,
    }))
}

/// Where a commit's prices are: beside its spec, which is the first of these files that is there.
pub(crate) fn price_place(files: &[BaseFile]) -> Vec<String> {
    let spec = files.iter().find(|file| file.bytes.is_some());
    let place = spec.map(|spec| price_file::beside(Path::new(&spec.place)));
    Vec::from_iter(place.map(|place| place.to_string_lossy().into_owned()))
}

/// A commit's files at these places.
pub(crate) fn files_at(
    checkout: &git::GitCheckout,
    commit: &str,
    places: Vec<String>,
) -> Result<Vec<BaseFile>, AppError> {
    let of_place = |place: String| {
        let bytes = match checkout.file_at(commit, &place, MAX_SPEC_BYTES + 1) {
            Ok(bytes) => bytes.map(Ok),
            Err(error @ GitError::Link(_)) => Some(Err(error.to_string())),
            Err(error) => return Err(error.into()),
        };
        Ok(BaseFile { place, bytes })
    };
    places.into_iter().map(of_place).collect()
}

/// The project that arguments name, with the policy of their base.
///
/// # Errors
///
/// The spec is invalid, the base cannot be read, or the change asks for what the base's policy does not allow.
pub(crate) async fn load(arguments: &PlanArguments) -> AppResult<Project> {
    let mut project = Project::load(&arguments.spec).await?;
    project.open_folders(&arguments.data)?;
    let base = base_of(&project, &arguments.spec, &arguments.change)?;
    apply(&mut project, base, arguments.policy.max_spend).await?;
    Ok(project)
}

/// Applies the base's policy, if there is a base, and today's overrides. To be called once, before jobs are chosen. Canaries of
/// jobs that the base does not know may cost at most `max_spend` together, 5 USD where there is none.
///
/// If the base's spec cannot be read or has another backend, [`undecidable`](ProjectPolicy::undecidable) says why nothing can be judged.
///
/// # Errors
///
/// The change asks for something that the base's policy does not allow.
pub(crate) async fn apply(
    project: &mut Project,
    base: Option<Base>,
    max_spend: Option<Usd>,
) -> Result<(), AppError> {
    if let Some(base) = base {
        apply_base(project, base, max_spend.unwrap_or(CAP_OF_NEW_JOBS)).await?;
    }
    // An undecidable project still has the change's own overrides, which must not count.
    if project.policy.undecidable.is_none() {
        apply_overrides(project);
    }
    Ok(())
}

/// Applies the overrides in force today to the budgets, and notes each of them and each expired one.
pub(crate) fn apply_overrides(project: &mut Project) {
    for (job, note) in project.spec.apply_overrides(today()) {
        let notes = &mut project.policy.changes.job_notes;
        notes.entry(job).or_default().push(note);
    }
}

/// Warns about expired overrides.
pub(crate) fn warn_of_expired(spec: &Spec) {
    let today = today();
    for (index, agreed) in spec.overrides.iter().enumerate() {
        if today > agreed.until {
            let why = format!("expired on {}; the budget's own limit counts", agreed.until);
            warn(&format!("overrides[{index}]"), &why);
        }
    }
}

async fn apply_base(project: &mut Project, base: Base, cap: Usd) -> Result<(), AppError> {
    let Base { name, sha, .. } = &base;
    let shown = format!("{name} ({})", sha.get(..SHORT_COMMIT).unwrap_or(sha));
    let recording = (base.tree.as_ref()).and_then(|tree| recording_note(project, tree, &shown));
    let mut notes = Vec::from_iter(recording);
    notes.extend(take_prices(project, base.prices, &shown));
    let looked_for = base.files.iter().map(|file| file.place.as_str());
    let looked_for = Vec::from_iter(looked_for).join(", ");
    let mut found = spec_of(base.files);
    if let Some((_, Ok(spec))) = &mut found
        && let Some(policy) = organization::policy_of(spec).await?
    {
        // What is looser than a policy that moved is the policy's: the change may be the one that mends it.
        let looser = spec.narrow(&policy).into_iter();
        notes.extend(looser.map(|it| format!("On {shown} {it}; the policy's counts.")));
    }
    let policy = &mut project.policy;
    let mut of_base = None;
    match found {
        None => notes.push(format!(
            "There is no spec on {shown} (looked for {looked_for}), so this pull request's own policy stands in."
        )),
        Some((file, read)) => {
            if file != project.place.file {
                notes.push(format!(
                    "The spec of {shown} is {file}, that of this pull request is {}.",
                    project.place.file
                ));
            }
            policy.source = Some(Policy::of(base.name, Some(base.sha)));
            let folder = folder_of(Path::new(&file)).to_string_lossy().into_owned();
            // Whatever asks for the base's job of a name finds a renamed one.
            let spec = read.as_ref().ok();
            let spec = spec.map(|base| policy::follow_renames(&project.spec, base).0);
            policy.base = Some(BaseSpec {
                place: SpecPlace { file: file.clone(), folder },
                spec,
            });
            match read {
                Ok(spec) => of_base = Some(spec),
                Err(why) => {
                    let why = format!(
                        "the spec {file} on {shown} cannot be read ({why}), so there is no policy to judge by"
                    );
                    let advice = "fix that spec in a pull request of its own, and the next change is judged again";
                    policy.undecidable = Some(Reason::new(why).advising(advice));
                }
            }
        }
    }
    policy.changes.notes = notes;
    // The change must not decide whether an undecidable check fails.
    if policy.undecidable.is_some() {
        project.spec.strict = false;
        project.spec.on_inconclusive = OnInconclusive::Fail;
        return Ok(());
    }
    match policy::apply_base_policy(&project.spec, of_base.as_ref(), cap, &tables::is_listed) {
        Ok((spec, mut changes)) => {
            let notes = std::mem::take(&mut policy.changes.notes);
            changes.notes.splice(..0, notes);
            policy.changes = changes;
            project.own_spec = Some(std::mem::replace(&mut project.spec, spec));
        }
        Err(error @ BasePolicyError::BackendChanged { .. }) => {
            let reason = Reason::new(error.to_string());
            policy.undecidable = Some(reason.advising(MERGE_IT_ALONE));
            policy.has_other_backend = true;
        }
        Err(BasePolicyError::NotAllowed(errors)) => return Err(errors.into()),
    }
    Ok(())
}

/// Takes the base's published prices in place of the change's, and says so where they differ.
fn take_prices(project: &mut Project, of_base: Vec<BaseFile>, shown: &str) -> Option<String> {
    let is_there = of_base.iter().any(|file| file.bytes.is_some());
    let read = of_base.into_iter().find_map(|file| file.bytes);
    let read = read.map(|bytes| PriceFile::parse(&String::from_utf8_lossy(&bytes?)));
    let problem = match &read {
        Some(Err(error)) => format!(" and cannot be read there ({error})"),
        _ => String::new(),
    };
    let prices = read.and_then(Result::ok).unwrap_or_default();
    let own = std::mem::replace(&mut project.price_file, prices);
    let differs = own != project.price_file || !problem.is_empty();
    differs.then(|| match is_there {
        true => format!("{PRICE_FILE} is not as on {shown}{problem}, whose prices count."),
        false => format!("{PRICE_FILE} is not on {shown}: its prices count when merged."),
    })
}

/// That the recording is another than the base's: what is replayed is the change's own word. `None` where it is the same, or cannot be
/// read, which is an error of its own.
fn recording_note(project: &Project, base: &Tree, shown: &str) -> Option<String> {
    let written = project.spec.recording.as_deref()?;
    let file = project.recording_file(written).ok()?;
    let path = file.strip_prefix(&project.root).ok()?;
    let differs = match base.get(path).map(|of_base| &of_base.blob) {
        None => format!("is not on {shown}"),
        Some(blob) if checkout::id_of(&file, blob).is_ok_and(|id| id == *blob) => return None,
        Some(_) => format!("is another than that of {shown}"),
    };
    Some(format!(
        "The recording {} {differs}: the runs that are replayed are this pull request's own.",
        path.display()
    ))
}

/// The base's spec, the first of its files that exists: its place, and what it says or why it is invalid.
pub(crate) fn spec_of(files: Vec<BaseFile>) -> Option<(String, Result<Spec, String>)> {
    let mut files = files.into_iter();
    let (place, bytes) = files.find_map(|file| Some((file.place, file.bytes?)))?;
    let spec = bytes.and_then(|bytes| read(&place, &bytes));
    Some((place, spec))
}

fn read(place: &str, bytes: &[u8]) -> Result<Spec, String> {
    written_spec::parse(place, bytes).map_err(|errors| {
        let first = errors.problems.first();
        let first = first.map_or_else(String::new, ToString::to_string);
        match errors.count() {
            1 => first,
            count => format!("{count} problems, the first: {first}"),
        }
    })
}

/// A note that jobs are removed; `None` if there are none.
pub(crate) fn removed_note(policy: &ProjectPolicy) -> Option<String> {
    let removed = &policy.changes.removed_jobs;
    let names = grammar::at_most(removed.iter().cloned(), MOST_NAMES).join(", ");
    (!removed.is_empty()).then(|| {
        format!("Nothing is checked of jobs that this pull request removes from the spec: {names}.")
    })
}
