//! `drift`: every job measured again and compared with the earlier checks.

use crate::change::AffectedJob;
use crate::cli::DriftArguments;
use crate::commands::publish::{self, ReportOutput};
use crate::commands::run::{Checked, RunRequest};
use crate::console::{AppError, AppResult, Loudness, print, printable, signals};
use crate::gate::RunHistory;
use crate::history::{Command, Scope};
use crate::workspace::{Project, RunOrigin, base_policy, changed_files};

pub(crate) async fn drift(arguments: &DriftArguments, loudness: Loudness) -> AppResult<u8> {
    let mut project = Project::load(&arguments.spec).await?;
    project.open_folders(&arguments.data)?;
    base_policy::apply_overrides(&mut project);
    let origin = RunOrigin::of_environment(&project, Command::Drift);
    let strictness = publish::strictness(&arguments.verdict, &project.spec);
    let request = RunRequest::drift(origin.clone(), strictness);
    let jobs = changed_files::select_jobs(&arguments.jobs, &project, &request.change)?;
    refuse_another_place(&origin)?;
    if arguments.accept {
        for line in accept(&project, &jobs, &origin).await? {
            print(&format!("{}\n", printable(&line)))?;
        }
        return Ok(0);
    }
    let output = ReportOutput::prepare(&arguments.output, &project.root, loudness)?;
    project.refuse_to_write_over_the_recording(arguments.output.outputs.iter())?;
    let request = RunRequest {
        jobs: &arguments.jobs,
        max_spend: arguments.max_spend,
        pass_env: &arguments.pass_env,
        ..request
    };
    let checked = request.check(project, signals::watch()?, loudness, async |_, _, _| {
        Ok(None)
    });
    let Checked { report, error, .. } = checked.await?;
    output.publish_found(&report, error)
}

/// A check is of use where later ones find it: on the branch that a workflow runs for, and outside of Actions.
pub(crate) fn refuse_another_place(origin: &RunOrigin) -> AppResult<()> {
    if matches!(origin.scope, Scope::Main | Scope::Local) {
        return Ok(());
    }
    Err(AppError::usage(
        "drift is checked on a branch, and this workflow run has no branch of its own",
    )
    .help("run it on a schedule, a push or a workflow_dispatch, on the commit that the workflow was started for, as examples/workflows/drift.yml does")
    .during("reading the event"))
}

/// Makes the newest check of each job the baseline of those to come; returns a line for each.
pub(crate) async fn accept(
    project: &Project,
    jobs: &[AffectedJob<'_>],
    origin: &RunOrigin,
) -> AppResult<Vec<String>> {
    let history = RunHistory::open(project, origin, None).await?;
    let mut newest = Vec::new();
    for one in jobs {
        let checks = history.checks(&one.job.name).await?;
        newest.extend(checks.into_iter().last());
    }
    if newest.is_empty() {
        return Err(AppError::usage("there is no check to accept")
            .help("check first: `canary-gate drift`; the first check is the baseline by itself"));
    }
    let mut lines = Vec::new();
    for (record, found) in &newest {
        if found.is_baseline {
            lines.push(format!(
                "{}: the check of {:.0} is the baseline already",
                record.job, record.recorded_at
            ));
            continue;
        }
        history.accept(record, found).await;
        if let Some(error) = history.take_failure() {
            return Err(error.of_job(&record.job));
        }
        let where_to = match origin.scope {
            Scope::Local => ", for checks outside of GitHub Actions",
            _ => "",
        };
        lines.push(format!(
            "{}: the check of {:.0} is the baseline from now on{where_to}",
            record.job, record.recorded_at
        ));
    }
    Ok(lines)
}
