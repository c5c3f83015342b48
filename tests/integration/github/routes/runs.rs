//! The runs of a workflow.

use serde_json::{Value, json};

use super::super::answers::{Answer, node_id, repository};
use super::super::state::{State, WorkflowRun};
use super::{Place, asked, not_found};

/// The only workflow that the fake has, and its branch.
const FILE: &str = "canary-gate.yml";
const BRANCH: &str = "feature";

/// <https://docs.github.com/en/rest/actions/workflow-runs#list-workflow-runs-for-a-workflow>
pub(super) fn list(state: &State, place: &Place, file: &str, query: &str) -> Answer {
    if file != FILE {
        return not_found();
    }
    let is_wanted = asked(query, "branch").is_none_or(|branch| branch == BRANCH)
        && asked(query, "event").is_none_or(|event| event == "pull_request");
    let mut runs: Vec<&WorkflowRun> = state.runs.iter().filter(|_| is_wanted).collect();
    runs.sort_by(|one, other| other.created_at.cmp(&one.created_at));
    let runs: Vec<Value> = runs
        .into_iter()
        .take(100)
        .map(|run| workflow_run(place, run))
        .collect();
    Answer::json(
        200,
        &json!({"total_count": runs.len(), "workflow_runs": runs}),
    )
}

fn workflow_run(place: &Place, run: &WorkflowRun) -> Value {
    let WorkflowRun { id, .. } = run;
    let url = format!("{}/actions/runs/{id}", place.repository());
    json!({
        "id": id,
        "name": "canary-gate",
        "node_id": node_id("WFR", id),
        "head_branch": BRANCH,
        "head_sha": run.head,
        "path": format!(".github/workflows/{FILE}"),
        "display_title": "A change",
        "run_number": 12,
        "run_attempt": 1,
        "event": "pull_request",
        "status": "in_progress",
        "conclusion": null,
        "workflow_id": 159_038,
        "check_suite_id": 42,
        "check_suite_node_id": node_id("CS", 42),
        "url": url,
        "html_url": format!("{}/actions/runs/{id}", place.page()),
        "pull_requests": [],
        "created_at": run.created_at,
        "updated_at": run.created_at,
        "run_started_at": run.created_at,
        "jobs_url": format!("{url}/jobs"),
        "logs_url": format!("{url}/logs"),
        "check_suite_url": format!("{}/check-suites/42", place.repository()),
        "artifacts_url": format!("{url}/artifacts"),
        "cancel_url": format!("{url}/cancel"),
        "rerun_url": format!("{url}/rerun"),
        "workflow_url": format!("{}/actions/workflows/159038", place.repository()),
        "head_commit": null,
        "repository": repository(place, super::REPOSITORY),
        "head_repository": repository(place, &run.repository),
    })
}
