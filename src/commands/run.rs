//! `run`: the gate on the change that the flags name.
//!
//! The flags of `run` and of `drift` and an event of GitHub all become one [`RunRequest`].

use crate::backend::{Reuse, RunPart};
use crate::change::AffectedJob;
use crate::cli::RunArguments;
use crate::commands::publish::{self, ReportOutput};
use crate::commands::{merge_request, plan};
use crate::console::signals::{self, Interruption};
use crate::console::{AppError, AppResult, Loudness};
pub(crate) use crate::gate::RunRequest;
use crate::gate::{self, GateFailure, detached, outcome};
use crate::history::Command;
use crate::report::{Leftovers, Report};
use crate::units::Usd;
use crate::workspace::{BaseCommit, Project, RunOrigin, base_policy, changed_files};

pub(crate) async fn run(arguments: &RunArguments, loudness: Loudness) -> AppResult<u8> {
    let spec = (arguments.plan.spec.spec.iter()).map(|spec| spec.display().to_string());
    let about = Vec::from_iter(spec.chain(arguments.plan.change.jobs.iter().cloned()));
    let note = merge_request::wanted(arguments.comment.as_deref(), &about);
    let found = found(arguments, loudness).await;
    if let Some(note) = note {
        let found = found.as_ref();
        let found = found.map(|(output, checked)| (&checked.report, output.template.as_ref()));
        merge_request::post(&note, found).await;
    }
    let (output, Checked { report, error, .. }) = found?;
    output.publish_found(&report, error)
}

/// What the check found, and where its report is wanted.
async fn found(
    arguments: &RunArguments,
    loudness: Loudness,
) -> AppResult<(ReportOutput<'_>, Checked)> {
    let planned = &arguments.plan;
    let mut project = base_policy::load(planned).await?;
    project.grows = project.relative(arguments.measurements.iter());
    let written = || {
        let outputs = arguments.output.outputs.iter();
        outputs.chain(&arguments.measurements)
    };
    let change =
        changed_files::change(&planned.change, &project)?.without(&project.relative(written()));
    project.refuse_to_write_over_the_recording(written())?;
    let output = ReportOutput::prepare(&arguments.output, &project.root, loudness)?;
    let request = RunRequest {
        jobs: &planned.change.jobs,
        part: match (arguments.detach, arguments.collect) {
            (true, _) => RunPart::Detach,
            (false, true) => RunPart::Collect,
            (false, false) => RunPart::Whole,
        },
        alternatives: plan::alternatives(planned),
        reuse: match arguments.fresh {
            true => Reuse::Never,
            false => Reuse::Young,
        },
        max_spend: planned.policy.max_spend,
        max_spend_per_pull_request: planned.max_spend_per_pull_request,
        base: BaseCommit::of_git(&project, &planned.spec, &planned.change)?,
        notes: changed_files::note(&change, &planned.change)
            .into_iter()
            .collect(),
        measurements: arguments.measurements.as_deref(),
        pass_env: &arguments.pass_env,
        ..RunRequest::new(
            change,
            RunOrigin::of_environment(&project, Command::Run),
            publish::strictness(&arguments.verdict, &project.spec),
        )
    };
    let checked = request.check(project, signals::watch()?, loudness, async |_, _, _| {
        Ok(None)
    });
    Ok((output, checked.await?))
}

/// The result of a run; by default of one that looked at no job.
#[derive(Default)]
pub(crate) struct Checked {
    pub(crate) report: Report,
    /// How many jobs were to be checked.
    pub(crate) affected: usize,
    /// `None` if no spec was read.
    pub(crate) project: Option<Project>,
    /// Why it ended early, or why a job could not be checked.
    pub(crate) error: Option<AppError>,
    /// The cost of canaries that are not in the report.
    pub(crate) spent: Option<Usd>,
    pub(crate) left: Leftovers,
    /// What counts against a limit of the run.
    pub(crate) committed: Usd,
    /// Whether canaries go on when all is well, so that the verdict is still to come.
    pub(crate) is_pending: bool,
}

impl<'a> RunRequest<'a> {
    /// Runs the gate on a project whose policy is applied. `before` is called before the first canary; its report, if it returns
    /// one, stands for the run's, and no canary is started.
    pub(crate) async fn check(
        mut self,
        mut project: Project,
        mut interruption: Interruption,
        loudness: Loudness,
        before: impl AsyncFnOnce(
            &RunRequest<'a>,
            &Project,
            &[AffectedJob<'_>],
        ) -> AppResult<Option<Report>>,
    ) -> Result<Checked, GateFailure> {
        if self.part != RunPart::Whole {
            detached::prepare(&mut project)?;
        }
        let affected = changed_files::select_jobs(self.jobs, &project, &self.change)?;
        if affected.is_empty() {
            // The likeliest cause is a typing error in a glob.
            changed_files::warn_of_idle_globs(&project)?;
            let nothing = changed_files::nothing_affected(&self.change, self.jobs);
            self.notes.push(nothing);
        }
        let report = match outcome::undecidable_report(&project, &affected, self.strictness) {
            Some(report) => Some(report),
            None => {
                let before = before(&self, &project, &affected);
                interruption.unless_interrupted(before).await??
            }
        };
        let (report, error, left, committed) = match report {
            Some(report) => (report, None, Leftovers::Nothing, Usd::default()),
            None => {
                let gated = gate::run(&project, &affected, &self, interruption, loudness).await?;
                let (left, committed) = (gated.left, gated.committed);
                let (report, error) = gated.report(&project, self.notes, self.strictness);
                (report, error, left, committed)
            }
        };
        Ok(Checked {
            report,
            affected: affected.len(),
            is_pending: self.part == RunPart::Detach && project.policy.undecidable.is_none(),
            project: Some(project),
            error,
            spent: None,
            left,
            committed,
        })
    }
}
