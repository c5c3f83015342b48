//! The post step: cleans up after a step that was killed. It stops what the step left running and finishes its comment.
//!
//! The runner always starts it, from the same image with the same arguments, even if the step was never started. It
//! recognizes itself by its entry point's name and by what the step wrote to GITHUB_STATE.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{ActionCommand, Inputs};
use crate::backend::sagemaker::Sweep;
use crate::cli::SpecArguments;
use crate::commands::publish;
use crate::commands::sweep::{self, Sweeping};
use crate::console::{AppResult, StepResult, say};
use crate::github::{CheckState, Environment, HeadCheck, Intent, PostText, Publication, commands};
use crate::report::{self, Leftovers, Report};
use crate::workspace::Project;

/// The entry point of action.yml's post step; a link to the program.
const ENTRY_POINT: &str = "canary-gate-post";

/// The name in GITHUB_STATE of what is left to be done; of several values the last counts.
pub(super) const BEGUN: &str = "begun";

/// What the main step saves of a spec before its first canary, until it is done: whose jobs to stop, where they wrote, which comment
/// to finish.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct BegunStep {
    /// As the comment is known by.
    pub(super) subject: String,
    /// The jobs that it checks; empty for all.
    pub(super) jobs: Vec<String>,
    /// Relative to the workspace; absent where nothing of it runs any more.
    pub(super) spec: Option<PathBuf>,
    /// As its training jobs are tagged.
    pub(super) spec_tag: String,
    pub(super) region: Option<String>,
    /// The output of each job's canaries, by job name; policy may have changed it.
    pub(super) outputs: BTreeMap<String, String>,
    /// Its comment, if it writes one.
    pub(super) comment: Option<Publication>,
    /// The check of its commit, if it writes one.
    pub(super) check: Option<HeadCheck>,
}

/// Which of the two steps this is.
#[derive(Debug, PartialEq)]
pub(super) enum Stage {
    Main,
    /// What is left to be cleaned up; empty if the main step was done, or ended before its first canary.
    Post(Vec<BegunStep>),
}

impl Stage {
    /// The stage, by the program's name and the main step's state.
    pub(super) fn of(program: Option<&OsStr>, variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let begun = variable(&format!("STATE_{BEGUN}")).filter(|value| !value.is_empty());
        let name = program.map(Path::new).and_then(Path::file_name);
        let is_named = name.is_some_and(|name| name == ENTRY_POINT);
        match begun {
            Some(begun) => Self::Post(serde_json::from_str(&begun).unwrap_or_default()),
            None if is_named => Self::Post(Vec::new()),
            None => Self::Main,
        }
    }
}

/// Cleans up after the main step. A post step never fails the job.
pub(super) async fn run(environment: &Environment, left: &[BegunStep], inputs: &Inputs) {
    // Names of jobs and texts of AWS and GitHub must not be commands to the runner.
    let [begin, end] = commands::stop_commands(rand::random());
    say(&begin);
    for begun in left {
        let leftovers = match &begun.spec {
            None => Leftovers::Nothing,
            Some(_) => {
                say("the step was killed; stopping what it left");
                let swept = sweep(environment, begun, inputs).await;
                swept.unwrap_or_else(|error| {
                    say(error.render(false).trim_end());
                    Leftovers::Unknown
                })
            }
        };
        if let Err(error) = finish(environment, begun, leftovers, inputs).await {
            say(error.render(false).trim_end());
        }
    }
    say(&end);
}

/// Stops the training jobs of this step; those of other steps of the workflow run continue.
async fn sweep(
    environment: &Environment,
    begun: &BegunStep,
    inputs: &Inputs,
) -> AppResult<Leftovers> {
    let spec = begun.spec.clone();
    let mut project = Project::as_it_stands(&SpecArguments { spec })?;
    if !project.traits().is_remote {
        return Ok(Leftovers::Nothing);
    }
    project.region_flag.clone_from(&begun.region);
    project.role_to_assume.clone_from(&inputs.role_to_assume);
    for job in &mut project.spec.jobs {
        if let Some(output) = begun.outputs.get(&job.name) {
            job.training.sagemaker.output = Some(output.clone());
        }
    }
    let sweep = Sweep::Run {
        id: &environment.run_id.to_string(),
        of: Some((&begun.spec_tag, &begun.jobs)),
        // A step that was to detach and was killed has detached nothing: nobody knows of its canaries.
        detached: inputs.command == ActionCommand::Detach,
    };
    Ok(
        match sweep::of(&project, &sweep, Sweeping::ForReal).await? {
            0 => Leftovers::Nothing,
            _ => Leftovers::Unknown,
        },
    )
}

/// Says in the comment and in the check that the step ended before its time, where it had no last word there.
async fn finish(
    environment: &Environment,
    begun: &BegunStep,
    leftovers: Leftovers,
    inputs: &Inputs,
) -> AppResult<()> {
    if begun.comment.is_none() && begun.check.is_none() {
        return Ok(());
    }
    let github = super::client(environment, inputs)?;
    let how = "ended before its time";
    let run = Report {
        subject: Some(begun.subject.clone()),
        run_url: Some(environment.run_url()),
        ..Report::begun()
    };
    let body = report::ended(how, None, leftovers, &run);
    let finished = match &begun.comment {
        Some(comment) => {
            let text = PostText::comment(&body, Intent::EndStub);
            publish::posted(&github, comment, &text).await.map(drop)
        }
        None => Ok(()),
    };
    if let Some(check) = &begun.check {
        let written = check.write(&github, CheckState::Cancelled, (how, &body), &[]);
        let written = written.await.during("finishing the check of the commit");
        if let Err(error) = written {
            say(error.render(false).trim_end());
        }
    }
    finished.during("finishing the comment")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::github::head_check::HeadCheckKind;
    use crate::github::marker::Order;
    use crate::github::posts::PostPlace;
    use crate::github::publication::OlderComments;

    #[test]
    fn which_step_it_is_follows_from_its_name_and_what_the_step_itself_wrote() {
        let begun = BegunStep {
            subject: "canary-gate.yml".to_owned(),
            jobs: vec!["churn".to_owned()],
            spec: Some("canary-gate.yml".into()),
            spec_tag: "canary-gate.yml".to_owned(),
            region: None,
            outputs: [("churn".to_owned(), "s3://canaries/".to_owned())].into(),
            comment: Some(Publication {
                place: PostPlace::PullRequest(7),
                subject: "canary-gate.yml".to_owned(),
                order: Order::parse("2026-11-21T09:14:07Z/4821/1").unwrap(),
                older: OlderComments::WriteOver,
            }),
            check: Some(HeadCheck {
                sha: "3f9c2e1".to_owned(),
                name: "canary-gate (canary-gate.yml)".to_owned(),
                kind: HeadCheckKind::CheckRun,
                page: "https://github.com/example/models/actions/runs/4821/attempts/1".to_owned(),
            }),
        };
        let json = serde_json::to_string(&[&begun]).unwrap();
        for (program, state, stage) in [
            ("/canary-gate", None, Stage::Main),
            ("/canary-gate-post", None, Stage::Post(Vec::new())),
            ("/canary-gate", Some("[]"), Stage::Post(Vec::new())),
            ("/canary-gate", Some(&*json), Stage::Post(vec![begun])),
        ] {
            let found = Stage::of(Some(OsStr::new(program)), &|name| {
                let known = state.filter(|_| name == "STATE_begun");
                known.map(str::to_owned)
            });
            assert_eq!(found, stage, "{program} {state:?}");
        }
    }
}
