//! The files that a job's code is known by.

use std::path::{Path, PathBuf};

use crate::canary::{CodeFile, Key, code_key};
use crate::change::PathGlobs;
use crate::console::AppError;
use crate::github::tree;
use crate::spec::{BackendKind, Job};
use crate::workspace::project::Project;

/// Which files a job's code is known by: those that its `paths` match, and those of its source, unless `!` leaves them out.
#[derive(Debug)]
pub(crate) struct CodeSelection {
    /// Those of every spec that speaks of the job.
    pub(crate) globs: Vec<PathGlobs>,
    /// The folders that its source is packed from, relative to the checkout root.
    pub(crate) sources: Vec<PathBuf>,
}

impl CodeSelection {
    /// Whether a file, relative to the checkout root, counts.
    ///
    /// Source files count even if a change to them does not start the gate. `!` excludes a file only if every spec excludes it:
    /// otherwise a change could hide its own code and be taken for an earlier one.
    pub(crate) fn takes(&self, file: &str) -> bool {
        self.globs.iter().any(|globs| globs.matches(file))
            || (self.is_source(file) && !self.globs.iter().all(|globs| globs.mentions(file)))
    }

    fn is_source(&self, file: &str) -> bool {
        let file = Path::new(file);
        self.sources.iter().any(|folder| file.starts_with(folder))
    }
}

/// The code key of a job with these files; `None` without a file, since nothing then distinguishes its code. A built-in
/// algorithm of SageMaker has a key without files.
pub(crate) fn key_of_files(backend: BackendKind, job: &Job, files: &[CodeFile]) -> Option<Key> {
    let brings_its_code = backend.traits().image_brings_code && job.training.source_dir.is_none();
    (!files.is_empty() || brings_its_code).then(|| code_key(job, files))
}

impl Project {
    /// The code key of a job; `None` without git.
    pub(crate) fn code_key(&self, job: &Job) -> Result<Option<Key>, AppError> {
        let files = self.code_files(job)?;
        let key = key_of_files(self.spec.backend, self.as_written(job), &files);
        Ok(key.filter(|_| self.checkout.is_some()))
    }

    /// The files of a job's code, each with its git blob id; empty without git. These are the files that `paths` match, here or
    /// on the base, and those of its source, unless `!` excludes them in both.
    fn code_files(&self, job: &Job) -> Result<Vec<CodeFile>, AppError> {
        let (Some(checkout), Some(files)) = (&self.checkout, self.known_files()?) else {
            return Ok(Vec::new());
        };
        let mut globs = vec![PathGlobs::new(&job.paths, &self.place.folder)];
        let base = self.policy.base.as_ref();
        globs.extend(base.and_then(|base| {
            let job = base.spec.as_ref()?.job(&job.name)?;
            Some(PathGlobs::new(&job.paths, &base.place.folder))
        }));
        let selection = CodeSelection {
            globs,
            sources: self.source_folders(job, files),
        };
        let matched: Vec<String> = files
            .iter()
            .filter(|file| selection.takes(file))
            .cloned()
            .collect();
        let blobs = checkout.blobs(&matched)?.into_iter();
        let mut code: Vec<CodeFile> = blobs.map(|(path, blob)| CodeFile { path, blob }).collect();
        // Git hashes no link to a folder on disk; its target counts all the same.
        for path in matched {
            let link = self.root.join(&path);
            if let Ok(target) = link.read_link()
                && link.is_dir()
            {
                let blob = tree::blob_id(target.as_os_str().as_encoded_bytes());
                code.push(CodeFile { path, blob });
            }
        }
        Ok(code)
    }

    /// The folders of a job's source, relative to the root: `source_dir`, and the folders that its links lead to.
    fn source_folders(&self, job: &Job, files: &[String]) -> Vec<PathBuf> {
        let within = |path: PathBuf| {
            let real = path.canonicalize().ok()?;
            Some(real.strip_prefix(&self.root).ok()?.to_owned())
        };
        let own = job.training.source_dir.as_ref().and_then(|written| {
            within(match written.strip_prefix('/') {
                Some(rooted) => self.root.join(rooted),
                None => self.folder.join(written),
            })
        });
        let mut folders: Vec<PathBuf> = own.into_iter().collect();
        let links: Vec<&String> = files
            .iter()
            .filter(|file| self.root.join(file).is_symlink())
            .collect();
        // A linked folder may hold links too.
        let mut looked_at = 0;
        while let Some(folder) = folders.get(looked_at).cloned() {
            looked_at += 1;
            let inside = links
                .iter()
                .filter(|link| Path::new(link).starts_with(&folder));
            for link in inside {
                let target = within(self.root.join(link));
                let target = target.filter(|target| self.root.join(target).is_dir());
                folders.extend(target.filter(|target| !folders.contains(target)));
            }
        }
        folders
    }
}
