//! Which files are a job's source: those that count for it and lie in its `source_dir`, else in the spec's folder; never `.git`,
//! `.env*`, the gate's own folders, or the data of a channel.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::digest::Update;

use crate::code::{BlobHash, CodeFile, PathKind};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::spec::Job;

use super::project_paths::{PathHelp, ProjectPaths};

/// A job's source.
#[derive(Debug)]
pub(super) struct Source {
    /// All links resolved.
    pub(super) folder: PathBuf,
    pub(super) files: Vec<SourceFile>,
}

/// A file of it, as it was when the job's code was read.
#[derive(Debug, Clone)]
pub(super) struct SourceFile {
    /// The path from the source's folder.
    pub(super) name: PathBuf,
    /// Where it lies.
    pub(super) path: PathBuf,
    pub(super) is_executable: bool,
    /// The id of its content.
    pub(super) blob: String,
}

impl SourceFile {
    /// Hands its bytes over, and fails where they are others than those that were read.
    pub(super) fn read(
        &self,
        mut take: impl FnMut(&[u8]) -> OutsideResult<()>,
    ) -> OutsideResult<()> {
        let unreadable = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => self.changed(),
            _ => OutsideError::io(
                format!("the source file {} cannot be read", self.path.display()),
                "make it readable for the user that runs the gate",
                source,
            ),
        };
        let mut file = File::open(&self.path).map_err(unreadable)?;
        let length = file.metadata().map_err(unreadable)?.len();
        let mut hash = BlobHash::new(&self.blob, length);
        let mut chunk = vec![0; 1 << 16];
        while let count @ 1.. = file.read(&mut chunk).map_err(unreadable)? {
            hash.update(&chunk[..count]);
            take(&chunk[..count])?;
        }
        match hash.end() == self.blob {
            true => Ok(()),
            false => Err(self.changed()),
        }
    }

    fn changed(&self) -> OutsideError {
        OutsideError::of(format!(
                "the source file {} has changed since this run read it, so no canary gets it",
                self.path.display()
            )).help("keep the checkout as it is while canaries run, also from training code; if it is this run's own log, as of `| cat > FILE`, write that elsewhere or let git ignore it; then run the gate again")
    }
}

/// Finds the source of a job.
///
/// Channel data is left out: a script that would read it past its channel would train on everything and make the
/// canary a full run.
pub(super) fn find(paths: &ProjectPaths, job: &Job) -> OutsideResult<Source> {
    let field = format!("jobs.{}.training.source_dir", job.name);
    let place = |field: &str, written: &str| {
        let help = PathHelp {
            what: "",
            missing: "correct the path; it is relative to the spec's folder",
            outside: "keep the source inside the checkout",
            private: "name the folder that holds the script",
        };
        let resolved = paths.resolve(written);
        resolved.map_err(|problem| problem.refused(field, written, &help))
    };
    let folder = match &job.training.source_dir {
        None => paths.spec_folder.clone(),
        Some(written) => place(&field, written)?,
    };
    if !folder.is_dir() {
        return Err(
            OutsideError::of(format!("{field}: {} is not a folder", folder.display()))
                .help("name the folder that holds the script"),
        );
    }
    // Where each lies in the checkout, and its name in the source.
    let mut roots = vec![(folder.clone(), PathBuf::new())];
    let beside = format!("jobs.{}.training.dependencies", job.name);
    for written in &job.training.dependencies {
        let real = place(&beside, written)?;
        let name = PathBuf::from(Path::new(written).file_name().unwrap_or_default());
        if folder.join(&name).symlink_metadata().is_ok() {
            return Err(OutsideError::of(format!(
                "{beside}: `{written}` would lie beside the source under a name that is taken"
            ))
            .help("rename it, or remove it where the source holds it already"));
        }
        roots.push((real, name));
    }
    let channels = job.training.channels.iter();
    let data = channels.filter_map(|channel| paths.resolve(&channel.uri).ok());
    // A channel that is the source folder itself is no reason to copy nothing.
    let data: Vec<PathBuf> = data.filter(|data| *data != folder).collect();
    let mut files: Vec<SourceFile> = Vec::new();
    let code = paths.code.get(&job.name);
    let names = |path: &Path| -> Vec<PathBuf> {
        let below = |(root, name): &(PathBuf, PathBuf)| {
            let inside = path.strip_prefix(root).ok()?;
            // Of a file nothing is inside, and joined with nothing its name would end with `/`.
            Some(name.join(inside).components().collect())
        };
        roots.iter().filter_map(below).collect()
    };
    let mut links = Vec::new();
    for file in code.map_or(&[][..], |code| code.files()) {
        let CodeFile {
            path,
            real,
            kind,
            blob,
        } = file;
        let (as_found, real) = (paths.checkout.join(path), paths.checkout.join(real));
        let names = names(&as_found);
        let is_data = |path: &PathBuf| data.iter().any(|data| path.starts_with(data));
        if names.is_empty() || is_data(&as_found) || paths.is_private(&as_found) {
            continue;
        }
        match kind {
            PathKind::Link => links.push(as_found),
            PathKind::Submodule => {}
            // A link is as private as what it leads to.
            _ if is_data(&real) || paths.is_private(&real) => {}
            PathKind::File | PathKind::Executable => {
                files.extend(names.into_iter().map(|name| SourceFile {
                    name,
                    path: real.clone(),
                    is_executable: *kind == PathKind::Executable,
                    blob: blob.clone(),
                }));
            }
        }
    }
    for link in links {
        let closed = link.canonicalize().map(|real| paths.check(&real));
        let is_followed =
            |file: &SourceFile| names(&link).iter().any(|name| file.name.starts_with(name));
        let leads = match closed {
            Err(error) => format!("a link that leads nowhere ({error})"),
            Ok(Err(closed)) => closed.link().to_owned(),
            Ok(Ok(())) if files.iter().any(is_followed) => continue,
            Ok(Ok(())) => "a link to nothing that git knows".to_owned(),
        };
        tracing::warn!(
            "{} is {leads}; it is left out of the source",
            link.display()
        );
    }
    let has_files = |name: &PathBuf| files.iter().any(|file| file.name.starts_with(name));
    if let Some((empty, name)) = roots.iter().find(|(_, name)| !has_files(name)) {
        let is_source = name.as_os_str().is_empty();
        return Err(OutsideError::of(format!(
                "{}: {} holds no source files that count for the job",
                if is_source { &field } else { &beside },
                empty.display()
            )).help("track its files with git, or name another folder; files that git ignores, that `paths` leaves out, and data of channels are not copied"));
    }
    Ok(Source { folder, files })
}
