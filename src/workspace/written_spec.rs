//! The spec's file: where it is, and how it is read.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::cli::SpecArguments;
use crate::console::{AppError, files};
use crate::git;
use crate::instance::tables;
use crate::spec::{self, Spec, SpecSource};

/// The default places of a spec, in order of search.
pub(crate) const DEFAULT_PLACES: [&str; 2] = ["canary-gate.yml", ".github/canary-gate.yml"];

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
        let file = find(arguments)?;
        if let Ok(real) = file.canonicalize() {
            refuse_link_from_elsewhere(&file, &real)?;
            // Errors quote the file, so this is checked before it is read.
            if within.is_some_and(|folder| !real.starts_with(folder)) {
                return Err(AppError::usage(format!(
                    "the spec {} lies outside of the workspace",
                    file.display()
                ))
                .help("name a spec of the checkout, relative to the workspace"));
            }
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
        // The paths of a spec in .github are relative to the checkout.
        let folder = match beside.file_name() {
            Some(name) if name == ".github" => beside.parent().unwrap_or(&beside).to_owned(),
            _ => beside,
        };
        Ok(Self {
            spec,
            file: real,
            folder,
        })
    }
}

/// Refuses a spec that links out of the checkout: a pull request can commit such a link, and errors quote the file.
fn refuse_link_from_elsewhere(file: &Path, real: &Path) -> Result<(), AppError> {
    if !file.is_symlink() {
        return Ok(());
    }
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize();
    let root = folder
        .ok()
        .map(|folder| match git::GitCheckout::find(&folder) {
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

/// The spec file to read.
fn find(arguments: &SpecArguments) -> Result<PathBuf, AppError> {
    if let Some(file) = &arguments.spec {
        return Ok(file.clone());
    }
    DEFAULT_PLACES
        .iter()
        .map(PathBuf::from)
        .find(|file| file.exists())
        .ok_or_else(|| missing(&places(arguments)))
}

/// Whether there is a spec to read, good or bad.
pub(crate) fn is_there(arguments: &SpecArguments) -> bool {
    places(arguments)
        .iter()
        .any(|place| Path::new(place).symlink_metadata().is_ok())
}

/// Where the spec may be.
pub(crate) fn places(arguments: &SpecArguments) -> Vec<String> {
    match &arguments.spec {
        Some(named) => vec![named_or_found(Some(&named.to_string_lossy()))],
        None => DEFAULT_PLACES.map(str::to_owned).to_vec(),
    }
}

/// The error where no place has a spec.
pub(crate) fn missing(places: &[String]) -> AppError {
    AppError::usage(format!(
        "there is no spec: looked for {}",
        places.join(" and ")
    ))
    .help("write one with `canary-gate init`, or name it with `--spec FILE`")
}

/// The spec's path to show, readable or not.
pub(crate) fn named_or_found(named: Option<&str>) -> String {
    let found = || {
        DEFAULT_PLACES
            .into_iter()
            .find(|place| Path::new(place).exists())
    };
    let path = named.or_else(found).unwrap_or(DEFAULT_PLACES[0]);
    path.trim_start_matches("./").to_owned()
}

/// Reads at most one byte more than a spec may have.
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
    let mut bytes = Vec::new();
    let limit = u64::try_from(spec::MAX_SPEC_BYTES).unwrap_or(u64::MAX);
    files::open_plain(file)
        .and_then(|opened| opened.take(limit.saturating_add(1)).read_to_end(&mut bytes))
        .map_err(refuse)?;
    Ok(bytes)
}
