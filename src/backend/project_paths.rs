//! The folders of a project, and where the spec's paths lead: into the checkout, and to data below an opened data root.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::code::CodeTree;
use crate::outside_error::OutsideError;
use crate::spec::{ON_THIS_MACHINE, is_secret_name};

/// The folders of a project, against which the spec's paths are resolved.
#[derive(Debug, Clone)]
pub struct ProjectPaths {
    /// The checkout root, or the spec's folder without git; all links resolved.
    pub checkout: PathBuf,
    /// The folder that the spec's paths are relative to; all links resolved.
    pub spec_folder: PathBuf,
    /// What counts for each job, by its name, read before anything was started.
    pub code: Rc<BTreeMap<String, CodeTree>>,
    /// The gate's own folder, `.canary-gate` beside the spec.
    pub state: PathBuf,
    /// The folder of the history, all links resolved; `None` if it is in S3.
    pub history: Option<PathBuf>,
    /// The folders outside the checkout that data may lie in; all links resolved.
    pub data_roots: Vec<PathBuf>,
    /// The folders that caches of canaries may lie in; all links resolved.
    pub caches: Vec<PathBuf>,
    /// The home folder of who starts the gate, as the environment names it.
    pub home: Option<PathBuf>,
}

impl ProjectPaths {
    /// A path of the spec as a real path inside the checkout: below the spec's folder, or below the checkout root with a
    /// leading `/`; with `file://` one on this machine, below a folder of data.
    pub(super) fn resolve(&self, written: &str) -> Result<PathBuf, Unresolved> {
        let joined = match (
            written.strip_prefix(ON_THIS_MACHINE),
            written.strip_prefix('/'),
        ) {
            (Some(absolute), _) => PathBuf::from(absolute),
            (None, Some(rooted)) => self.checkout.join(rooted),
            (None, None) => self.spec_folder.join(written),
        };
        let real = joined
            .canonicalize()
            .map_err(|source| Unresolved::Missing(joined.clone(), source))?;
        match self.check(&real) {
            Ok(()) => Ok(real),
            Err(closed) => Err(Unresolved::Closed(closed, real)),
        }
    }

    /// Whether training code may have what lies at a path whose links are all resolved: source and data alike.
    ///
    /// # Errors
    ///
    /// With the reason if it may not.
    pub(super) fn check(&self, real: &Path) -> Result<(), Closed> {
        let is_data = self.data_roots.iter().any(|root| real.starts_with(root));
        if !real.starts_with(&self.checkout) && !is_data {
            Err(Closed::Outside)
        } else if self.is_private(real) {
            Err(Closed::Private)
        } else {
            Ok(())
        }
    }

    /// Whether a path in the checkout is private. The checkout's token lies in `.git/config`.
    pub(super) fn is_private(&self, path: &Path) -> bool {
        let mut roots = [&self.checkout].into_iter().chain(&self.data_roots);
        let below = roots.find_map(|root| path.strip_prefix(root).ok());
        let below = below.unwrap_or(path);
        // A history in the project's own folder, `history: .`, closes nothing.
        let history = self
            .history
            .as_ref()
            .filter(|history| !self.spec_folder.starts_with(history));
        has_private_name(below)
            || path.starts_with(&self.state)
            || history.is_some_and(|history| path.starts_with(history))
    }
}

/// Whether a path below the checkout is git's, the gate's own, or of a name that secrets have: `.env.local`, `.aws`.
pub fn has_private_name(below: &Path) -> bool {
    below.components().any(|part| {
        let part = part.as_os_str().to_string_lossy();
        // What has no dot may be code, and `.config` has settings.
        let is_secret = part.starts_with('.') && part != ".config" && is_secret_name(&part);
        is_secret || part == ".git" || part == ".canary-gate" || part.starts_with(".env")
    })
}

/// Why a path of the spec does not lead to a file or folder in the checkout.
#[derive(Debug)]
pub(crate) enum Unresolved {
    Missing(PathBuf, std::io::Error),
    Closed(Closed, PathBuf),
}

/// The words of an error about a path that does not lead to a file or folder in the checkout: what to do in each case.
pub(crate) struct PathHelp {
    /// The words before the path, such as `the data `.
    pub(crate) what: &'static str,
    pub(crate) missing: &'static str,
    pub(crate) outside: &'static str,
    pub(crate) private: &'static str,
}

impl Unresolved {
    /// The problem with a path that is written in a field of the spec.
    pub(crate) fn refused(self, field: &str, written: &str, help: &PathHelp) -> OutsideError {
        let said = format!("{field}: `{written}`");
        match self {
            Self::Missing(path, source) => OutsideError::io(
                format!(
                    "{field}: {}`{written}` cannot be read: {}",
                    help.what,
                    path.display()
                ),
                help.missing,
                source,
            ),
            Self::Closed(closed, path) => {
                let (leads, why, way_out) = match closed {
                    Closed::Outside if written.starts_with(ON_THIS_MACHINE) => (
                        "outside the checkout, to",
                        ", which is not open: a spec alone opens no folder",
                        help.outside,
                    ),
                    Closed::Outside => ("outside the checkout, to", "", help.outside),
                    Closed::Private => (
                        "to",
                        ", which is private: git's, the gate's own, or a file of secrets",
                        help.private,
                    ),
                };
                let path = path.display();
                OutsideError::of(format!("{said} leads {leads} {path}{why}")).help(way_out)
            }
        }
    }
}

/// Why training code may not have a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    /// It lies outside the checkout.
    Outside,
    Private,
}

impl Closed {
    /// What a link to such a file is, in a sentence.
    pub(super) fn link(self) -> &'static str {
        match self {
            Self::Outside => "a link that leaves the checkout",
            Self::Private => "a link to a private file, such as one in .git",
        }
    }
}
