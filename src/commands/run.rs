//! `run`: the gate on the change that the flags name.

use crate::backend::RunPart;
use crate::cli::RunArguments;
use crate::commands::{publish, strictness};
use crate::console::files::Outputs;
use crate::console::{AppError, Loudness, signals};
use crate::gate;
use crate::gate::detached;
use crate::gate::run_report;
use crate::gate::{GateRequest, Purpose, Reuse};
use crate::history::record::Command;
use crate::plan::Alternatives;
use crate::workspace::base_commit::BaseCommit;
use crate::workspace::idle_globs;
use crate::workspace::project::Project;
use crate::workspace::run_origin::RunOrigin;
use crate::workspace::{base_policy, changed_files};

pub(crate) async fn run(arguments: &RunArguments, loudness: Loudness) -> Result<u8, AppError> {
    let mut project = Project::load(&arguments.spec)?;
    project.open_folders(&arguments.data)?;
    project.grows = project.relative(arguments.measurements.iter());
    changed_files::refuse_another_head(&arguments.change, &project)?;
    let base = base_policy::base_of(&project, &arguments.spec, &arguments.change)?;
    base_policy::apply(&mut project, base, arguments.policy.max_spend)?;
    let part = match (arguments.detach, arguments.collect) {
        (true, _) => RunPart::Detach,
        (false, true) => RunPart::Collect,
        (false, false) => RunPart::Whole,
    };
    if part != RunPart::Whole {
        detached::prepare(&mut project)?;
    }
    let written = || {
        arguments
            .output
            .outputs
            .iter()
            .chain(&arguments.measurements)
    };
    let change =
        changed_files::change(&arguments.change, &project)?.without(&project.relative(written()));
    let affected = changed_files::select(&arguments.change, &project, &change)?;
    project.refuse_not_yet(
        &affected
            .iter()
            .map(|affected| affected.job)
            .collect::<Vec<_>>(),
    )?;
    project.refuse_to_write_over_the_recording(written())?;
    let outputs = Outputs::prepare(&arguments.output.outputs, &project.root, loudness)?;
    let strictness = strictness::strictness(&arguments.verdict, &project.spec);
    if let Some(report) = run_report::undecidable_report(&project, &affected, strictness) {
        publish::publish(&report, &arguments.output, &outputs)?;
        return Ok(report.exit_code);
    }
    let request = GateRequest {
        affected: &affected,
        alternatives: if arguments.only_instance {
            Alternatives::Skip
        } else {
            Alternatives::Measure
        },
        reuse: if arguments.fresh {
            Reuse::Never
        } else {
            Reuse::Young
        },
        purpose: Purpose::Budget,
        part,
        max_spend: arguments.policy.max_spend,
        max_spend_per_pull_request: arguments.pull_request.max_spend,
        origin: RunOrigin::of_environment(&project, Command::Run),
        base: BaseCommit::of_git(&project, &arguments.spec, &arguments.change)?,
        measurements: arguments.measurements.as_deref(),
        pass_env: &arguments.pass_env,
    };
    let gated = gate::run(&project, &request, signals::watch()?, loudness).await?;

    let mut notes: Vec<String> = changed_files::note(&change, &arguments.change)
        .into_iter()
        .collect();
    if affected.is_empty() {
        // The likeliest cause is a typing error in a glob.
        idle_globs::warn_of_idle_globs(&project)?;
        notes.push(changed_files::nothing_affected(
            &change,
            &arguments.change.jobs,
        ));
    }
    let found = gated.report(&project, notes, strictness);
    publish::publish_found(found, &arguments.output, &outputs)
}
