//! The folders of a project, and where the spec's paths lead: into the checkout and nowhere else.

use std::path::PathBuf;

/// The folders of a project, against which the spec's paths are resolved.
#[derive(Debug, Clone)]
pub struct ProjectPaths {
    /// The checkout root, or the spec's folder without git; all links resolved.
    pub checkout: PathBuf,
    /// The folder that the spec's paths are relative to; all links resolved.
    pub spec_folder: PathBuf,
    /// The files that git knows, relative to the checkout root; `None` without git.
    pub known_files: Option<Vec<String>>,
    /// The gate's own folder, `.canary-gate` beside the spec.
    pub state: PathBuf,
}

impl ProjectPaths {
    /// A path of the spec as a real path inside the checkout: below the spec's folder, or below the checkout root with a
    /// leading `/`.
    pub(super) fn resolve(&self, written: &str) -> Result<PathBuf, Unresolved> {
        let joined = match written.strip_prefix('/') {
            Some(rooted) => self.checkout.join(rooted),
            None => self.spec_folder.join(written),
        };
        let real = joined
            .canonicalize()
            .map_err(|source| Unresolved::Missing(joined.clone(), source))?;
        if real.starts_with(&self.checkout) {
            Ok(real)
        } else {
            Err(Unresolved::Outside(real))
        }
    }
}

/// Why a path of the spec does not lead to a file or folder in the checkout.
#[derive(Debug)]
pub(super) enum Unresolved {
    Missing(PathBuf, std::io::Error),
    Outside(PathBuf),
}
