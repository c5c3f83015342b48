//! The identity of a run of the gate: what its training jobs are tagged with, kept until the run has ended properly.
//!
//! A gate that is killed leaves its file behind, and the next one of the same region goes on under the same id: it owns the
//! jobs that still run.

use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::backend::{Reuse, RunPart, RunTags};
use crate::console::{AppError, AppResult, files};
use crate::workspace::Project;

/// GitHub's number of a workflow run.
const GITHUB_RUN: &str = "GITHUB_RUN_ID";
/// `owner/name`.
const GITHUB_REPOSITORY: &str = "GITHUB_REPOSITORY";
/// Gates at work at the same time in one checkout; more would be odd.
const MOST_RUNS: usize = 64;
/// An id and a region have far less.
const LONGEST_FILE: u64 = 300;

/// One run of the gate.
#[derive(Debug)]
pub(crate) struct GateRun {
    pub(crate) id: String,
    /// Locked as long as this run lives; `None` in GitHub Actions, which has an id of its own.
    file: Option<(PathBuf, Flock<File>)>,
    /// Whether a gate that was killed, or ended without a report of what it was billed, had this id.
    pub(crate) is_resumed: bool,
}

impl GateRun {
    /// The run that GitHub names, else the one that a killed gate left behind, else a new one. Only a backend whose canaries
    /// outlive the gate needs one that is kept, and only who starts some: who collects leaves alone what a killed gate left.
    pub(crate) fn begin(project: &Project, part: RunPart) -> AppResult<Self> {
        let github = std::env::var(GITHUB_RUN).ok().filter(|id| is_id(id));
        let is_kept = project.traits().is_remote && part != RunPart::Collect;
        if github.is_some() || !is_kept {
            return Ok(Self {
                id: github.unwrap_or_else(new_id),
                file: None,
                is_resumed: false,
            });
        }
        let state = project.state_folder();
        files::make_state_folder(&state)?;
        let region = project.region().unwrap_or_default();
        for number in 0..MOST_RUNS {
            let path = state.join(format!("run-{number}"));
            // A pull request could name somebody else's run.
            if project.is_tracked(&path)? {
                return Err(AppError::failed(format!(
                    "{} is tracked by git; it names the run of a gate, and must be this machine's own",
                    path.display()
                ))
                .help("remove it from the repository: git rm --cached FILE"));
            }
            let cannot_write = |source| files::cannot_write(&path, source);
            let file = files::owners_file().write(true).truncate(false).open(&path);
            let file = file.map_err(cannot_write)?;
            let mut lock = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(lock) => lock,
                // A process that holds the lock is at work.
                Err((_, Errno::EWOULDBLOCK)) => continue,
                Err((_, error)) => return Err(cannot_write(error.into())),
            };
            // It may have been removed between opening and locking.
            if !path.exists() {
                continue;
            }
            let mut left = String::new();
            let read = (&*lock).take(LONGEST_FILE).read_to_string(&mut left);
            let mut lines = left.lines().filter(|_| read.is_ok());
            let known = lines.next().filter(|id| is_id(id)).zip(lines.next());
            // Its jobs are out of this run's sight.
            if known.is_some_and(|(_, of_region)| of_region != region) {
                continue;
            }
            let id = known.map_or_else(new_id, |(id, _)| id.to_owned());
            if known.is_none() {
                lock.set_len(0)
                    .and_then(|()| lock.seek(SeekFrom::Start(0)))
                    .and_then(|_| lock.write_all(format!("{id}\n{region}\n").as_bytes()))
                    .and_then(|()| lock.sync_all())
                    .map_err(cannot_write)?;
            }
            return Ok(Self {
                id,
                is_resumed: known.is_some(),
                file: Some((path, lock)),
            });
        }
        Err(AppError::failed(format!(
            "{MOST_RUNS} gates are at work in {}",
            state.display()
        ))
        .help("wait until one has ended"))
    }

    /// The tags of its training jobs.
    pub(crate) fn tags(&self, project: &Project, reuse: Reuse, part: RunPart) -> RunTags {
        let repository = std::env::var(GITHUB_REPOSITORY).ok();
        RunTags {
            run: self.id.clone(),
            is_exclusive: self.file.is_some(),
            is_resumed: self.is_resumed,
            spec: spec_tag(project),
            repository: repository.filter(|name| is_id(name)),
            reuse,
            part,
            ..RunTags::default()
        }
    }

    /// Forgets the id: nothing of the run is left.
    pub(crate) fn end(&self) {
        if let Some((path, _lock)) = &self.file {
            // What cannot be removed is found and gone on with by the next run.
            let _ = fs::remove_file(path);
        }
    }
}

/// The value of the tag `canary-gate:spec`: its path from the checkout's root, in characters that a tag takes, and at most as many.
pub(crate) fn spec_tag(project: &Project) -> String {
    let coded = |letter| match letter {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '/' | '-' | '_' | '.' => String::from(letter),
        other => format!("={:x}", u32::from(other)),
    };
    let tag: String = project.place.file.chars().map(coded).collect();
    tag.chars().take(256).collect()
}

/// Unique also among containers that start at the same second, with the same number for their only process.
fn new_id() -> String {
    format!(
        "{:.0}/{}/{:08x}",
        jiff::Timestamp::now(),
        std::process::id(),
        rand::random::<u32>()
    )
}

/// Whether a text has the form of a tag's value.
fn is_id(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 128
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b":/-_.".contains(&byte))
}
