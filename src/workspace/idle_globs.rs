//! Globs of a spec that match nothing.

use crate::code::{PathGlobs, PathKind, TreeFile};
use crate::console::{AppError, warn};
use crate::workspace::project::Project;

/// Warns about globs that match no file, which are mostly typing errors.
pub(crate) fn warn_of_idle_globs(project: &Project) -> Result<(), AppError> {
    if project.checkout.is_none() {
        return Ok(());
    }
    let files = project.files()?.files();
    for job in &project.spec.jobs {
        for (index, pattern) in job.paths.iter().enumerate() {
            // An exclusion may be meant for files to come.
            if pattern.starts_with('!') {
                continue;
            }
            let globs = PathGlobs::new(std::slice::from_ref(pattern), &project.place.folder);
            let is_meant = |file: &TreeFile| match file.kind {
                PathKind::File | PathKind::Executable => globs.matches(&file.path),
                PathKind::Link | PathKind::Submodule => globs.may_match_in(&file.path),
            };
            if !files.iter().any(is_meant) {
                warn(
                    &format!("jobs.{}.paths[{index}]", job.name),
                    &format!("`{pattern}` matches no file that git knows"),
                );
            }
        }
    }
    Ok(())
}
