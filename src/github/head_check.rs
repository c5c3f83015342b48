//! The check of a commit under a spec's own name, which a ruleset can require: a check run, or a status where the token may write
//! no check runs.
//!
//! Each write lists what is there first, and leaves what a newer run wrote. Each run has a check run of its own, which of others only
//! a newer one writes to, with its verdict: the earlier ones may stand in another suite and count. So of two runs that end at once on
//! one head, no write of the older takes the newer's word away. A creation whose answer is lost is sent again: what is doubled is
//! written to alike.
//!
//! One gap stays: an older run that has looked can still write last. Its check stands beside the newer's, and its verdict in those of
//! still earlier runs; of statuses, which have one place, in front of it. A workflow's concurrency group closes it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::commit::object_id;
use super::line::cut;
use super::marker::{CUT, LONGEST_TEXT, encoded};
use super::{Annotation, ForgeError, ForgeErrorKind, Github};

/// Where a check stands, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeadCheck {
    pub sha: String,
    pub name: String,
    pub kind: HeadCheckKind,
    /// The page of the run's attempt, which says how new the check is, and the branch that the head is to be merged into:
    /// `https://…/actions/runs/4821/attempts/1#main`.
    pub page: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HeadCheckKind {
    CheckRun,
    Status,
}

/// How a check stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckState {
    Running,
    Success,
    /// The gate found a reason against the change, or could not check it.
    Failure,
    /// The run ended before its time.
    Cancelled,
}

impl CheckState {
    /// What a status says, and how a check run is concluded.
    fn words(self) -> (&'static str, Option<&'static str>) {
        match self {
            Self::Running => ("pending", None),
            Self::Success => ("success", Some("success")),
            Self::Failure => ("failure", Some("failure")),
            Self::Cancelled => ("error", Some("cancelled")),
        }
    }
}

/// Check runs, or of each name the newest status.
#[derive(Deserialize)]
struct ListedChecks {
    #[serde(alias = "statuses")]
    check_runs: Vec<ListedCheck>,
}

#[derive(Deserialize)]
struct ListedCheck {
    id: u64,
    #[serde(alias = "context")]
    name: String,
    #[serde(alias = "target_url")]
    external_id: Option<String>,
    /// `None` while a check run is open.
    #[serde(alias = "state")]
    conclusion: Option<String>,
}

impl ListedCheck {
    fn run(&self) -> Option<(u64, u64)> {
        run_of(self.external_id.as_deref()?)
    }

    fn has_failed(&self) -> bool {
        let ended = self.conclusion.as_deref();
        ended.is_some_and(|word| !["pending", "success"].contains(&word))
    }
}

/// A run's number and its attempt's: the larger is the newer.
fn run_of(page: &str) -> Option<(u64, u64)> {
    let (page, _) = page.split_once('#').unwrap_or((page, ""));
    let (_, numbers) = page.rsplit_once("/runs/")?;
    let (run, attempt) = numbers.split_once("/attempts/")?;
    Some((run.parse().ok()?, attempt.parse().ok()?))
}

/// The branch that a page names.
fn branch_of(page: &str) -> Option<&str> {
    page.split_once('#').map(|(_, branch)| branch)
}

impl HeadCheck {
    /// The page of an attempt at a run, for a head that is to be merged into a branch; `None` where it is in no pull request.
    pub fn page_of(run_url: &str, attempt: u32, branch: Option<&str>) -> String {
        let branch = branch.map_or(String::new(), |branch| format!("#{}", encoded(branch)));
        format!("{run_url}/attempts/{attempt}{branch}")
    }

    /// Writes the check. Returns false where it left what is there: the check of a newer run, or a failure of this one. The title is
    /// one line of at most 140 characters, the summary is Markdown, and at most 50 annotations may have a place. The token needs
    /// `checks: write` or `statuses: write`.
    pub async fn write(
        &self,
        github: &Github,
        state: CheckState,
        (title, summary): (&str, &str),
        annotations: &[Annotation],
    ) -> Result<bool, ForgeError> {
        let (sha, ours) = (object_id(&self.sha)?, run_of(&self.page));
        let (word, conclusion) = state.words();
        let list = match self.kind {
            HeadCheckKind::CheckRun => {
                format!("check-runs?check_name={}&filter=all", encoded(&self.name))
            }
            HeadCheckKind::Status => "status?".to_owned(),
        };
        let list = format!("commits/{sha}/{list}&per_page=100");
        let mut listed = github.get_json::<ListedChecks>(&list).await?.check_runs;
        // Another's of this name, a status of an older version of the gate, and what another pull request of this head found.
        let branch = branch_of(&self.page);
        let is_of_branch =
            |one: &ListedCheck| one.external_id.as_deref().and_then(branch_of) == branch;
        listed.retain(|one| one.name == self.name && one.run().is_some() && is_of_branch(one));
        // Another step of this run may have failed under this name; that is not made good.
        let is_good = matches!(state, CheckState::Running | CheckState::Success);
        let stays = |one: &ListedCheck| is_good && one.run() == ours && one.has_failed();
        if listed.iter().any(|one| one.run() > ours || stays(one)) {
            return Ok(false);
        }
        if self.kind == HeadCheckKind::Status {
            let body = json!({
                "context": self.name, "state": word, "description": title, "target_url": self.page,
            });
            let _: Value = github
                .send_json("POST", &format!("statuses/{sha}"), Some(&body))
                .await?;
            return Ok(true);
        }
        let mut body = json!({
            "name": self.name, "external_id": self.page, "details_url": self.page, "status": "in_progress",
            "output": {"title": title, "summary": cut(summary, LONGEST_TEXT, CUT)},
        });
        if let Some(conclusion) = conclusion {
            body["status"] = json!("completed");
            body["conclusion"] = json!(conclusion);
        }
        let send = async |method, path: &str, body: &Value| {
            let written: Value = github.send_json(method, path, Some(body)).await?;
            github.writes_as(&written).await;
            Ok::<_, ForgeError>(())
        };
        let path = |one: &ListedCheck| format!("check-runs/{}", one.id);
        let is_own = |one: &&ListedCheck| one.run() == ours;
        let is_last = conclusion.is_some();
        for one in listed.iter().filter(|one| is_last && !is_own(one)) {
            match send("PATCH", &path(one), &body).await {
                // What another app wrote stays.
                Err(error) if error.kind != ForgeErrorKind::Forbidden => return Err(error),
                _ => {}
            }
        }
        // A change adds them to those that are there.
        let places = annotations.iter().filter_map(Annotation::in_check_run);
        body["output"]["annotations"] = places.collect();
        let mut own = listed.iter().filter(is_own).peekable();
        if own.peek().is_none() {
            body["head_sha"] = json!(sha);
            send("POST", "check-runs", &body).await?;
        }
        for one in own {
            send("PATCH", &path(one), &body).await?;
        }
        Ok(true)
    }
}
