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
    /// What is run counts even where a change to it would not start the gate. A change that leaves its own code out by `!`
    /// would be taken for an earlier one, so every spec must leave it out.
    pub(crate) fn takes(&self, file: &str) -> bool {
        self.globs.iter().any(|globs| globs.matches(file))
            || (self.is_source(file) && !self.globs.iter().all(|globs| globs.speaks_of(file)))
    }

    fn is_source(&self, file: &str) -> bool {
        let file = Path::new(file);
        self.sources.iter().any(|folder| file.starts_with(folder))
    }
}

/// The key of a job's code that these files make; `None` where no file counts though one is run, for then nothing tells its
/// code from another. An algorithm that SageMaker brings along is known by the spec alone.
pub(crate) fn key_of_files(backend: BackendKind, job: &Job, files: &[CodeFile]) -> Option<Key> {
    let brings_its_code = backend == BackendKind::Sagemaker && job.training.source_dir.is_none();
    (!files.is_empty() || brings_its_code).then(|| code_key(job, files))
}

impl Project {
    /// The key of a job's code; `None` where git knows nothing of it.
    pub(crate) fn code_key(&self, job: &Job) -> Result<Option<Key>, AppError> {
        let files = self.code_files(job)?;
        let key = key_of_files(self.spec.backend, self.as_written(job), &files);
        Ok(key.filter(|_| self.checkout.is_some()))
    }

    /// The files that a job's code is known by, each with git's id of its content as it lies there; without git none. They are
    /// those that its `paths` match, here or on the base, and those of its source, unless `!` leaves them out in both.
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
        // A link to a folder is no blob of its own there; where it leads counts all the same.
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

    /// The folders that a job's source is packed from, relative to the root: its own, and those that links in it lead to.
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
        // Behind a link there may be another.
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
