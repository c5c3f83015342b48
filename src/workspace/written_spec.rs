//! The spec's file: where it is, and how it is read.

use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::cli::SpecArguments;
use crate::console::{AppError, StepResult, files};
use crate::git;
use crate::instance::tables;
use crate::spec::{self, Spec, SpecErrors};

/// The default places of a spec, in order of search.
pub(crate) const DEFAULT_PLACES: [&str; 2] = ["canary-gate.yml", ".github/canary-gate.yml"];

/// Names that a spec is given by mistake.
const NEAR_MISSES: [&str; 2] = ["canary-gate.yaml", ".github/canary-gate.yaml"];

/// A valid spec and its place.
pub(crate) struct WrittenSpec {
    pub(crate) spec: Spec,
    /// Links resolved.
    pub(crate) file: PathBuf,
    /// The folder that its paths are relative to; links resolved.
    pub(crate) folder: PathBuf,
}

impl WrittenSpec {
    /// Finds and reads the spec, which must lie inside `within` if that is given (links resolved).
    pub(crate) fn find(arguments: &SpecArguments, within: Option<&Path>) -> Result<Self, AppError> {
        let file = find(arguments, within)?;
        if let Ok(real) = file.canonicalize() {
            refuse_link_from_elsewhere(&file, &real)?;
            // Errors quote the file, so this is checked before it is read.
            if within.is_some_and(|folder| !real.starts_with(folder)) {
                let message = format!("the spec {} lies outside of the workspace", file.display());
                let help = "name a spec of the checkout, relative to the workspace";
                return Err(AppError::usage(message).help(help));
            }
        }
        let bytes = read_limited(&file)?;
        let name = file.to_string_lossy();
        let spec = parse(&name, &bytes)?;
        let real = file.canonicalize();
        let real = real.or_fail(|| AppError::failed(format!("{name} cannot be read")))?;
        Ok(Self {
            spec,
            folder: folder_of(&real).to_owned(),
            file: real,
        })
    }
}

/// The spec that a file of this name holds, on machines that AWS has.
pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<Spec, SpecErrors> {
    let known: Vec<&str> = tables::listed_types().collect();
    spec::read(name, bytes, &known)
}

/// The folder that the paths of a spec are relative to: those of one in `.github` to the checkout.
pub(crate) fn folder_of(file: &Path) -> &Path {
    let here = Path::new("");
    let folder = file.parent().unwrap_or(here);
    match folder.ends_with(".github") {
        true => folder.parent().unwrap_or(here),
        false => folder,
    }
}

/// Refuses a spec that links out of the checkout: a pull request can commit such a link, and errors quote the file.
fn refuse_link_from_elsewhere(file: &Path, real: &Path) -> Result<(), AppError> {
    if !file.is_symlink() {
        return Ok(());
    }
    let folder = Path::new(".").join(file.parent().unwrap_or(Path::new("")));
    let root = folder.canonicalize().map(|folder| {
        let checkout = git::GitCheckout::find(&folder).ok().flatten();
        checkout.map_or(folder, |checkout| checkout.root().to_owned())
    });
    if root.is_ok_and(|root| real.starts_with(root)) {
        return Ok(());
    }
    let file = file.display();
    let message = format!("the spec {file} is a link that leaves the checkout");
    Err(AppError::usage(message).help("replace it by the file itself"))
}

/// The spec file to read. Where it must lie `within` a folder, which is the working directory then, it is not looked for above.
fn find(arguments: &SpecArguments, within: Option<&Path>) -> Result<PathBuf, AppError> {
    if let Some(file) = &arguments.spec {
        return Ok(file.clone());
    }
    let found = match within {
        Some(_) => in_folder(Path::new(""), &DEFAULT_PLACES),
        None => found_upwards(),
    };
    found.ok_or_else(|| not_found(&search_folders()))
}

/// The spec at a default place of the working directory, else of the folders above it, up to the root of the checkout.
pub(crate) fn found_upwards() -> Option<PathBuf> {
    let folders = search_folders();
    let mut folders = folders.iter();
    folders.find_map(|folder| in_folder(folder, &DEFAULT_PLACES))
}

fn in_folder(folder: &Path, places: &[&str]) -> Option<PathBuf> {
    let mut files = places.iter().map(|place| folder.join(place));
    files.find(|file| file.exists())
}

/// The spec that a new one at `file`, which is not there yet, would hide, or be hidden by; or one with a name that is not looked for.
/// `None` where `file` is at no default place, since such a file is read only where it is named.
pub(crate) fn other_than(file: &Path) -> Option<PathBuf> {
    let whole = std::path::absolute(file).ok()?;
    let folder = folder_of(&whole);
    let mut default = DEFAULT_PLACES.iter().map(|place| folder.join(place));
    if default.all(|place| place != whole) {
        return None;
    }
    let folder = folder.canonicalize().ok()?;
    // From a folder below it the search begins there.
    let here = std::env::current_dir().ok();
    let nearest = here
        .filter(|here| here.starts_with(&folder))
        .unwrap_or(folder);
    let in_all = |places: [&'static str; 2]| {
        searched(&nearest).flat_map(move |folder| places.map(|place| folder.join(place)))
    };
    let mut others = in_all(DEFAULT_PLACES).chain(in_all(NEAR_MISSES));
    let other = others.find(|other| other.exists())?;
    Some(from_here(&other))
}

/// An absolute path as a person in the working directory writes it: `../canary-gate.yml`.
pub(crate) fn from_here(path: &Path) -> PathBuf {
    let here = std::env::current_dir().ok();
    let relative = here.and_then(|here| pathdiff::diff_paths(path, here));
    relative.unwrap_or_else(|| path.to_owned())
}

/// A folder and those above it up to the root of its checkout. Outside of a checkout the folder alone: what lies above is nobody's
/// project.
fn searched(folder: &Path) -> impl Iterator<Item = &Path> {
    let mut all = folder.ancestors();
    let root = all.position(|folder| folder.join(".git").exists());
    folder.ancestors().take(root.unwrap_or(0) + 1)
}

/// Where a spec is looked for, as a person in the working directory writes it: the empty path, `..`, and so on.
fn search_folders() -> Vec<PathBuf> {
    match std::env::current_dir() {
        Ok(here) => searched(&here).map(from_here).collect(),
        Err(_) => vec![PathBuf::new()],
    }
}

/// The error where no folder has a spec. A file whose name is nearly right is named.
fn not_found(folders: &[PathBuf]) -> AppError {
    let near = |folder: &PathBuf| in_folder(folder, &NEAR_MISSES);
    if let Some(file) = folders.iter().find_map(near) {
        let right = file.with_extension("yml");
        let (right, file) = (right.display(), file.display());
        let message = format!("there is no spec: found {file}, which is not looked for");
        let help = format!("rename it to {right}, or name it: `--spec {file}`");
        return AppError::usage(message).help(help);
    }
    let places = DEFAULT_PLACES.join(" and ");
    let above = match folders {
        [_] => "",
        _ => ", here and in the folders above, up to the root of the checkout",
    };
    AppError::usage(format!("there is no spec: looked for {places}{above}"))
        .help("write one with `canary-gate init`, or name it with `--spec FILE`")
}

/// Whether there is a spec to read, good or bad.
pub(crate) fn is_there(arguments: &SpecArguments) -> bool {
    let is_there = |place: &Path| place.symlink_metadata().is_ok();
    match &arguments.spec {
        Some(named) => is_there(named),
        None => DEFAULT_PLACES
            .iter()
            .any(|place| is_there(Path::new(place))),
    }
}

/// The spec's path to show, readable or not.
pub(crate) fn named_or_found(named: Option<&str>) -> String {
    let mut places = DEFAULT_PLACES.into_iter();
    let found = places.find(|place| Path::new(place).exists());
    let path = named.or(found).unwrap_or(DEFAULT_PLACES[0]);
    path.trim_start_matches("./").to_owned()
}

/// Reads at most one byte more than a spec may have.
pub(crate) fn read_limited(file: &Path) -> Result<Vec<u8>, AppError> {
    let name = file.display();
    let refuse = |source: std::io::Error| {
        let error = match source.kind() {
            ErrorKind::NotFound => AppError::usage(format!("there is no spec at {name}"))
                .help("write one with `canary-gate init`, or correct `--spec FILE`"),
            ErrorKind::IsADirectory => AppError::usage(format!("{name} is a folder, not a spec"))
                .help("name the file in it: `--spec DIR/canary-gate.yml`"),
            _ => AppError::usage(format!("the spec {name} cannot be read")),
        };
        error.caused_by(source)
    };
    let mut bytes = Vec::new();
    let limit = u64::try_from(spec::MAX_SPEC_BYTES).unwrap_or(u64::MAX);
    files::open_plain(file)
        .and_then(|opened| opened.take(limit.saturating_add(1)).read_to_end(&mut bytes))
        .map_err(refuse)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spec_in_the_forges_folder_mentions_the_checkout() {
        for (file, folder) in [
            ("canary-gate.yml", ""),
            (".github/canary-gate.yml", ""),
            ("ml/canary-gate.yml", "ml"),
            ("ml/.github/canary-gate.yml", "ml"),
        ] {
            assert_eq!(folder_of(Path::new(file)), Path::new(folder));
        }
    }
}
