//! The place of a project's history.

use std::path::{Path, PathBuf};

use crate::console::{AppError, AppResult, StepResult, files, printable, say};
use crate::gate::backend;
use crate::history::{Damaged, History, Scope};
use crate::report::DOCUMENTS;
use crate::workspace::environment::pace;
use crate::workspace::{Project, STATE_FOLDER};

/// Opens the history that the spec names, by default `.canary-gate/`. Nothing is created before the first write.
///
/// # Errors
///
/// The folder is outside the checkout; or git tracks a file in it: a branch could bring records of its own.
pub(crate) async fn open(project: &Project, scope: Scope) -> AppResult<History> {
    let written = project.spec.history.as_deref();
    let written = written.unwrap_or(STATE_FOLDER);
    if written.starts_with("s3:") {
        let aws = backend::aws(project).await?;
        return Ok(History::in_bucket(&aws.s3, written, scope, pace()?)?);
    }
    Ok(History::in_folder(folder(project, written)?, scope))
}

/// A folder of the checkout, which need not exist, with links resolved in the part that exists.
fn folder(project: &Project, written: &str) -> AppResult<PathBuf> {
    let joined: PathBuf = project.place_of(written).components().collect();
    let real = files::resolve_as_far_as_there(&joined).or_fail(|| {
        AppError::failed(format!("history: `{written}` cannot be read"))
            .help("make it readable for the user that runs the gate")
    })?;
    if !real.starts_with(&project.root) {
        return Err(AppError::usage(format!(
            "history: `{written}` leads outside the checkout, to {}",
            real.display()
        ))
        .help("keep the history inside the checkout, or in S3; links that leave it are refused"));
    }
    let Some(checkout) = &project.checkout else {
        return Ok(real);
    };
    // As it is written, and where it is.
    let places =
        [&joined, &real].map(|folder| folder.strip_prefix(&project.root).unwrap_or(folder));
    // A tracked path above the folder is a link or a submodule.
    let is_of_it = |file: &Path| {
        let mut places = places.iter();
        places.any(|place| file.starts_with(place) || place.starts_with(file))
    };
    let tracked = checkout.tracked()?;
    let Some(file) = tracked.iter().find(|file| is_of_it(file)) else {
        return Ok(real);
    };
    Err(AppError::usage(format!(
        "history: git tracks {}, so a pull request could bring records of its own",
        file.display()
    ))
    .help(format!(
        "take it out of git: `git rm -r --cached {}`, and commit; a history that runs share is best kept in S3 ({DOCUMENTS}docs/history.md)",
        written.trim_start_matches('/')
    ))
    .during("opening the history"))
}

/// Warns about an unreadable record.
pub(crate) fn warn_of(Damaged { place, why }: &Damaged) {
    say(&format!(
        "warning: skipped an unreadable record of the history: {}: {}",
        printable(place),
        printable(why)
    ));
}
