//! Globs of a spec that match nothing.

use crate::change::PathGlobs;
use crate::console::{AppError, warn};
use crate::workspace::project::Project;

/// Warns about globs that match no file, which are mostly typing errors.
pub(crate) fn warn_of_idle_globs(project: &Project) -> Result<(), AppError> {
    let Some(files) = project.known_files()? else {
        return Ok(());
    };
    for job in &project.spec.jobs {
        for (index, pattern) in job.paths.iter().enumerate() {
            // An exclusion may be meant for files to come.
            if pattern.starts_with('!') {
                continue;
            }
            let globs = PathGlobs::new(std::slice::from_ref(pattern), &project.place.folder);
            if !files.iter().any(|file| globs.matches(file)) {
                warn(
                    &format!("jobs.{}.paths[{index}]", job.name),
                    &format!("`{pattern}` matches no file that git knows"),
                );
            }
        }
    }
    Ok(())
}
