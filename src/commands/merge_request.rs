//! The note on a merge request of GitLab: what a command found is posted first, and then it ends as it would without.

use crate::commands::publish;
use crate::console::{AppError, say};
use crate::exit;
use crate::gate::outcome::failed_report;
use crate::github::{Intent, MergeRequest, PostText, PublicationOutcome};
use crate::report::template::Template;
use crate::report::{self, Report};
use crate::workspace::environment::pace;

/// Where a note goes, if one is wanted and can be written; what is missing is said before anything is spent. A CI job has a note for
/// each spec and jobs that it is asked `about`. Needs a runtime.
pub(crate) fn wanted(service: Option<&str>, about: &[String]) -> Option<MergeRequest> {
    service?;
    let variable = |name: &str| std::env::var(name).ok();
    let found = pace().and_then(|pace| Ok(MergeRequest::of(&variable, pace)?));
    let mut found = found.map_err(|error| warn(&error)).ok()?;
    found.note.subject = [&[found.note.subject][..], about].concat().join("#");
    Some(found)
}

/// Writes there what was found, or why nothing could be; an interrupted run leaves the note as it is. That it cannot be written
/// decides nothing.
pub(crate) async fn post(
    place: &MergeRequest,
    found: Result<(&Report, Option<&Template>), &AppError>,
) {
    let (mut report, template) = match found {
        Ok((report, template)) => (report.clone(), template),
        Err(error) if exit::is_interruption(error.code()) => return,
        Err(error) => (failed_report(error, error.code(), Vec::new()), None),
    };
    report.run_url = Some(place.job_url.clone());
    let mut policy = report.policy.iter();
    let is_as_on_the_base = policy.all(|one| one.notes.is_empty() && one.removed_jobs.is_empty());
    let intent = match report.exit_code == 0 && report.jobs.is_empty() && is_as_on_the_base {
        true => Intent::Refresh,
        false => Intent::Verdict,
    };
    let page = report::page_within(&report, template, place.note.room());
    let text = PostText::comment(&page, intent);
    match publish::posted(&place.forge, &place.note, &text).await {
        Ok(published) => say(match published.outcome {
            PublicationOutcome::Nothing => {
                "no note is written: no job is affected, and there is none to bring up to date"
            }
            PublicationOutcome::Superseded => return,
            _ => "the note on the merge request is up to date",
        }),
        Err(error) => warn(&error.into()),
    }
}

fn warn(error: &AppError) {
    say("warning: no note on a merge request is written:");
    say(error.render_beside(false).trim_end());
}
