//! The post step: cleans up after a step that was killed. It stops what the step left running and finishes its comment.
//!
//! The runner always starts it, from the same image with the same arguments, even if the step was never started. It
//! recognizes itself by its entry point's name and by what the step wrote to GITHUB_STATE.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::backend::sagemaker::{Sweep, SweptDetached};
use crate::cli::SpecArguments;
use crate::commands::sweep::Sweeping;
use crate::console::{AppError, files, printable, say};
use crate::github::commands::StopCommands;
use crate::github::environment::Environment;
use crate::github::inputs::{ActionCommand, Inputs};
use crate::github::last_verdict::LastVerdict;
use crate::github::marker::{Marker, MarkerKind, MarkerState, Order};
use crate::github::posts::PostPlace;
use crate::github::publication::{Intent, OlderComments, Publication};
use crate::report::{self, Ended, Leftovers};
use crate::workspace::project::Project;

/// The entry point of action.yml's post step; a link to the program.
const ENTRY_POINT: &str = "canary-gate-post";

/// What the main step saved before its first canary and at its end.
pub(super) struct MainStep {
    run_id: String,
    /// The jobs that it checks; empty for all.
    jobs: Vec<String>,
    /// Relative to the workspace.
    spec: Option<String>,
    region: Option<String>,
    /// The output of each job's canaries, by job name; policy may have changed it.
    outputs: BTreeMap<String, String>,
    /// Its unfinished comment: the pull request, the subject and the order; `None` if it was finished.
    unfinished: Option<(u64, String, Order)>,
    /// Whether nothing of it runs any more.
    is_swept: bool,
}

/// Which of the two steps this is.
pub(super) enum Stage {
    Main,
    /// `None` if the main step ended before its first canary: it left nothing.
    Post(Option<Box<MainStep>>),
}

impl Stage {
    /// The stage, by the program's name and the main step's state.
    pub(super) fn of(program: Option<&OsStr>, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let state = |name: &str| {
            let value = variable(&format!("STATE_{name}"));
            value.filter(|value| !value.is_empty())
        };
        let is_named = program
            .map(Path::new)
            .and_then(Path::file_name)
            .is_some_and(|name| name == ENTRY_POINT);
        let Some(run_id) = state("run_id") else {
            return match is_named || state("opened").is_some() {
                true => Self::Post(None),
                false => Self::Main,
            };
        };
        let number = state("pull_request").and_then(|number| number.parse().ok());
        let order = state("order").and_then(|order| Order::parse(&order));
        let jobs = state("jobs").unwrap_or_default();
        let jobs = jobs.split(',').filter(|job| !job.is_empty());
        let outputs = state("outputs").and_then(|text| serde_json::from_str(&text).ok());
        Self::Post(Some(Box::new(MainStep {
            run_id,
            jobs: jobs.map(str::to_owned).collect(),
            spec: state("spec"),
            region: state("region"),
            outputs: outputs.unwrap_or_default(),
            unfinished: match (number, state("subject"), order, state("posted")) {
                (Some(number), Some(subject), Some(order), None) => Some((number, subject, order)),
                _ => None,
            },
            is_swept: state("swept").is_some(),
        })))
    }
}

/// Cleans up after the main step. A post step never fails the job.
pub(super) async fn run(
    environment: &Environment,
    main: &MainStep,
    variable: &dyn Fn(&str) -> Option<String>,
) -> u8 {
    // Names of jobs and texts of AWS and GitHub must not be commands to the runner.
    let stop = StopCommands::new(files::random());
    say(&stop.begin());
    let leftovers = if main.is_swept {
        Leftovers::Nothing
    } else {
        say("the step was killed; stopping what it left");
        let (inputs, _) = Inputs::read(variable);
        sweep(main, &inputs).await.unwrap_or_else(|error| {
            say(error.render(false).trim_end());
            Leftovers::Unknown
        })
    };
    if let Err(error) = finish_comment(environment, main, leftovers, variable).await {
        say(error.render(false).trim_end());
    }
    say(&stop.end());
    0
}

/// Stops the training jobs of this step; those of other steps of the workflow run continue.
async fn sweep(main: &MainStep, inputs: &Inputs) -> Result<Leftovers, AppError> {
    let mut project = Project::load(&SpecArguments {
        spec: main.spec.as_ref().map(PathBuf::from),
    })?;
    if !project.traits().outlives_the_gate {
        return Ok(Leftovers::Nothing);
    }
    project.region_flag.clone_from(&main.region);
    project.role_to_assume.clone_from(&inputs.role_to_assume);
    for job in &mut project.spec.jobs {
        if let Some(output) = main.outputs.get(&job.name) {
            job.training.sagemaker.output = Some(output.clone());
        }
    }
    let sweep = Sweep::Run {
        id: &main.run_id,
        jobs: &main.jobs,
        // A step that was to detach and was killed has detached nothing: nobody knows of its canaries.
        detached: match inputs.command {
            ActionCommand::Detach => SweptDetached::Too,
            _ => SweptDetached::Not,
        },
    };
    let code = crate::commands::sweep::of(&project, &sweep, Sweeping::ForReal).await?;
    Ok(match code {
        0 => Leftovers::Nothing,
        _ => Leftovers::Unknown,
    })
}

async fn finish_comment(
    environment: &Environment,
    main: &MainStep,
    leftovers: Leftovers,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(), AppError> {
    let Some((pull_request, subject, order)) = &main.unfinished else {
        return Ok(());
    };
    let (inputs, _) = Inputs::read(variable);
    let github = super::client(environment, &inputs)?;
    let body = report::ended(&Ended {
        how: "ended before its time".to_owned(),
        leftovers,
        run_url: Some(environment.run_url()),
        ..Ended::default()
    });
    let publication = Publication {
        place: PostPlace::PullRequest(*pull_request),
        marker: &Marker {
            kind: MarkerKind::Report,
            spec: subject.clone(),
            order: *order,
            state: MarkerState::Final,
        },
        title: None,
        body: &body,
        intent: Intent::EndStub,
        older: OlderComments::WriteOver,
        last_verdict: LastVerdict::GivenBack,
    };
    let finished = github
        .publish(&publication, order.time)
        .await
        .map_err(|error| AppError::from(error).during("finishing the comment"))?;
    for note in &finished.notes {
        say(&format!("note: {}", printable(note)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(program: &str, state: &[(&str, &str)]) -> Stage {
        Stage::of(Some(OsStr::new(program)), &|name| {
            let known = state
                .iter()
                .find(|(known, _)| format!("STATE_{known}") == name);
            known.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn without_state_it_is_the_step_itself() {
        assert!(matches!(stage("/canary-gate", &[]), Stage::Main));
    }

    #[test]
    fn a_step_that_was_never_started_is_not_made_up_for() {
        assert!(matches!(stage("/canary-gate-post", &[]), Stage::Post(None)));
    }

    #[test]
    fn a_step_that_launched_nothing_left_nothing() {
        let stage = stage("/canary-gate", &[("opened", "true")]);
        assert!(matches!(stage, Stage::Post(None)));
    }

    #[test]
    fn what_the_step_did_itself_is_not_done_again() {
        let begun = [
            ("run_id", "4821"),
            ("jobs", "churn,digits"),
            ("outputs", r#"{"churn": "s3://canaries/"}"#),
            ("pull_request", "7"),
            ("order", "2026-11-21T09:14:07Z/4821/1"),
            ("subject", "canary-gate.yml"),
        ];
        let main = |more: &[(&str, &str)]| match stage("/canary-gate", &[&begun, more].concat()) {
            Stage::Post(Some(main)) => main,
            _ => panic!("it began"),
        };
        let killed = main(&[]);
        assert_eq!((killed.run_id.as_str(), killed.jobs.len()), ("4821", 2));
        assert_eq!(killed.outputs["churn"], "s3://canaries/");
        assert!(!killed.is_swept && killed.unfinished.is_some());
        // Its last word did not reach the comment.
        let silent = main(&[("swept", "true")]);
        assert!(silent.is_swept && silent.unfinished.is_some());
        // It had no time to see that everything stopped.
        let hasty = main(&[("posted", "true")]);
        assert!(!hasty.is_swept && hasty.unfinished.is_none());
    }
}
