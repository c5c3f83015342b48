//! What counts for a job, of the checkout and of a base's commit.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use crate::canary::{Key, code_key};
use crate::code::{CodeFile, CodeSelection, CodeTree, PathKind, Tree, TreeFile, from_root};
use crate::console::{AppError, AppResult, printable};
use crate::git::GitCheckout;
use crate::grammar::distinct;
use crate::spec::{BackendKind, Job};
use crate::workspace::checkout::{self, Checkout, CheckoutCode};
use crate::workspace::project::Project;

/// Files up to this size are read also where they count for no job: that they changed is said.
const SMALL: u64 = 1 << 16;
/// A file that a command names by its whole path counts up to this size: programs and scripts, no data.
const LARGEST_NAMED: u64 = 64 << 20;
/// What git does to files when it checks them out is written in files of this name.
const ATTRIBUTES: &str = ".gitattributes";

/// The code key of a job with this code; `None` without a file, since nothing then distinguishes its code. A built-in
/// algorithm of SageMaker has a key without files.
pub(crate) fn key_of_code(backend: BackendKind, job: &Job, code: &CodeTree) -> Option<Key> {
    let brings_its_code = backend.traits().is_remote && job.training.source_dir.is_none();
    let files =
        || -> Vec<CodeFile> { (code.files().iter().cloned().chain(named_outside(code))).collect() };
    (!code.files().is_empty() || brings_its_code).then(|| code_key(job, &files()))
}

/// The files outside the checkout that the command names by their whole path: programs and scripts.
fn named_outside(code: &CodeTree) -> impl Iterator<Item = CodeFile> {
    let is_file = |path: &&Path| {
        let metadata = path.metadata();
        metadata.is_ok_and(|about| about.is_file() && about.len() <= LARGEST_NAMED)
    };
    let named = distinct(code.named_outside().filter(is_file)).into_iter();
    named.filter_map(|path| {
        Some(CodeFile {
            blob: checkout::id_of(path, "").ok()?,
            real: path.to_owned(),
            path: path.to_owned(),
            kind: PathKind::File,
        })
    })
}

impl Project {
    /// The code key of a job; `None` without git.
    pub(crate) fn code_key(&self, job: &Job) -> AppResult<Option<Key>> {
        let code = self.code()?.of_jobs.get(&job.name);
        let key = |code| key_of_code(self.spec.backend, self.as_written(job), code);
        Ok(code.and_then(key).filter(|_| self.checkout.is_some()))
    }

    /// The files that count for each job, by its name, as they are listed: none of them is read. To be called once the base's policy is
    /// applied.
    pub(crate) fn listed_code(&self) -> AppResult<BTreeMap<String, CodeTree>> {
        let base = self.policy.base.as_ref();
        let mut of_jobs = BTreeMap::new();
        for job in &self.spec.jobs {
            let of_base = base.and_then(|base| base.job(&job.name));
            let selection = CodeSelection::of(job, &self.place.file, &self.place.folder, of_base);
            let code = CodeTree::of(self.files()?, selection).map_err(|problem| {
                AppError::failed(format!("jobs.{}: {problem}", job.name))
                    .help("leave out by `!` in `paths` what the job does not need")
            })?;
            of_jobs.insert(job.name.clone(), code);
        }
        Ok(of_jobs)
    }

    /// Reads the files that count, as they lie on disk. To be called once the base's policy is applied.
    pub(super) fn read_code(&self) -> AppResult<CheckoutCode> {
        let mut tree = self.files()?.clone();
        let mut of_jobs = self.listed_code()?;
        let mut counted: HashSet<OsString> = HashSet::new();
        for job in &self.spec.jobs {
            let data = self.data_of(job);
            // Without git nothing has a key, and data are not copied.
            let is_read = |file: &&CodeFile| {
                let is_data = || data.iter().any(|data| file.real.starts_with(data));
                file.kind.is_file() && (self.checkout.is_some() || !is_data())
            };
            let files = of_jobs[&job.name].files().iter().filter(is_read);
            counted.extend(files.map(|file| file.real.as_os_str().to_owned()));
        }
        let is_small = |path: &Path| {
            let metadata = self.root.join(path).symlink_metadata();
            metadata.is_ok_and(|metadata| metadata.len() <= SMALL)
        };
        let others = tree.files().iter().filter(|file| {
            let is_other = file.kind.is_file() && !counted.contains(file.path.as_os_str());
            is_other && self.checkout.is_some() && is_small(&file.path)
        });
        let read: Vec<&Path> = (counted.iter().map(Path::new))
            .chain(others.map(|file| &*file.path))
            .collect();
        let like = tree.files().iter().map(|file| &file.blob);
        let like = like.max_by_key(|id| id.len()).cloned().unwrap_or_default();
        let mut ids: HashMap<OsString, String> = HashMap::new();
        for (path, id) in read.iter().zip(checkout::ids(&self.root, &like, &read)) {
            match id {
                Ok(id) => drop(ids.insert(path.as_os_str().to_owned(), id)),
                // Gone since it was listed: somebody's temporary file.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(source) if counted.contains(path.as_os_str()) => {
                    let path = self.root.join(path);
                    return Err(
                        AppError::failed(format!("{} cannot be read", path.display()))
                            .help("make it readable for the user that runs the gate, or leave it out by `!` in `paths`")
                            .caused_by(source),
                    );
                }
                Err(_) => {}
            }
        }
        tree.set_ids(|file| ids.get(file.path.as_os_str()).cloned());
        for code in of_jobs.values_mut() {
            code.set_ids(|path| ids.get(path.as_os_str()).cloned());
        }
        let of_jobs = Rc::new(of_jobs);
        Ok(CheckoutCode { tree, of_jobs })
    }

    /// The places of a job's channels in the checkout, by their text, but for one that is its source itself.
    fn data_of(&self, job: &Job) -> Vec<PathBuf> {
        let place = |written: &str| from_root(&self.place.folder, written);
        let source = place(job.training.source_dir.as_deref().unwrap_or("."));
        let channels = job.training.channels.iter();
        let data = channels.map(|channel| place(&channel.uri));
        data.filter(|data| *data != source).collect()
    }

    /// The paths of the work tree that differ from its merge base with `base`: from the root, sorted.
    pub(crate) fn changed_since(
        &self,
        checkout: &GitCheckout,
        base: &str,
    ) -> AppResult<Vec<PathBuf>> {
        let before = checkout.tree(&checkout.merge_base(base)?)?;
        self.refuse_old_submodule(checkout, &before)?;
        let now = &self.code()?.tree;
        let mut changed = before.differing(now);
        let is_gone = |path: &PathBuf| now.get(path).is_none();
        if changed.iter().any(is_gone) {
            let sparse = checkout.listed()?.sparse;
            let is_kept =
                |path: &PathBuf| before.get(path).is_none_or(|file| !sparse.contains(file));
            changed.retain(|path| !is_gone(path) || is_kept(path));
        }
        // Where the change itself says what git makes of files, their bytes alone count.
        if changed.iter().any(|path| path.ends_with(ATTRIBUTES)) {
            return Ok(changed);
        }
        let other_content = changed.iter().filter_map(|path| {
            let (before, now) = (before.get(path)?, now.get(path)?);
            (before.kind == now.kind && now.kind.is_file()).then(|| before.clone())
        });
        let same = checkout.as_checked_out(other_content.collect())?;
        changed.retain(|path| !same.contains(path));
        Ok(changed)
    }

    /// A file of a job's data that git tracks and a sparse checkout leaves out.
    pub(crate) fn sparse_data(&self, job: &Job) -> AppResult<Option<PathBuf>> {
        let Some(checkout) = self.checkout.as_ref().and_then(Checkout::git) else {
            return Ok(None);
        };
        let code = self.code()?.of_jobs.get(&job.name);
        let is_data = |path: &PathBuf| code.is_some_and(|code| code.has_data(path));
        let sparse = checkout.listed()?.sparse.into_iter();
        let mut sparse = sparse.map(|file| file.path);
        Ok(sparse.find(|path| is_data(path) && !self.root.join(path).exists()))
    }

    /// Canaries would run the base's code of a submodule that HEAD has otherwise.
    fn refuse_old_submodule(&self, checkout: &GitCheckout, before: &Tree) -> AppResult<()> {
        let code = self.code()?;
        let is_unmoved = |file: &&TreeFile| {
            // As a folder: with `/` at its end.
            let folder = file.path.join("");
            let mut jobs = code.of_jobs.values();
            file.kind == PathKind::Submodule
                && code.tree.get(&file.path) == Some(*file)
                && jobs.any(|job| job.is_changed_by(&folder))
        };
        let unmoved = Vec::from_iter(before.files().iter().filter(is_unmoved));
        if unmoved.is_empty() {
            return Ok(());
        }
        let head = checkout.tree("HEAD")?;
        let is_old = |file: &&TreeFile| head.get(&file.path).is_some_and(|there| there != *file);
        match unmoved.into_iter().find(is_old) {
            None => Ok(()),
            Some(file) => Err(AppError::failed(format!(
                "the submodule `{}` is checked out at the base's commit, and HEAD names another",
                printable(&file.path.to_string_lossy())
            ))
            .help("check it out: git submodule update --init --recursive")),
        }
    }
}

#[cfg(test)]
mod tests;
