//! The variables that the runner of GitHub Actions sets for a step.
//!
//! Source: "Variables reference" and "Workflow commands" in GitHub's documentation of Actions.

use std::path::PathBuf;

use super::{ForgeError, Order};

/// The variables that this program uses. The runner reads the files when the step has ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Environment {
    /// The address of the API, e.g. `https://api.github.com`, or an Enterprise server's `https://HOST/api/v3`.
    pub api_url: String,
    /// Empty where the runner does not say it.
    pub graphql_url: String,
    /// The address of the web pages, e.g. `https://github.com`.
    pub server_url: String,
    /// `owner/name`.
    pub repository: String,
    pub event_name: String,
    /// The file of the event that started the workflow.
    pub event_path: PathBuf,
    /// The commit that started the workflow; on a pull request GitHub's own merge of it.
    pub sha: String,
    pub run_id: u64,
    /// Counts from 1; a rerun of a workflow keeps its run id.
    pub run_attempt: u32,
    /// Absent if the runner wants none.
    pub output: Option<PathBuf>,
    pub state: Option<PathBuf>,
    pub step_summary: Option<PathBuf>,
}

impl Environment {
    /// Reads the variables through `variable`; an empty one counts as unset.
    ///
    /// # Errors
    ///
    /// The first required variable that is missing.
    pub fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Self, ForgeError> {
        let optional = |name| variable(name).filter(|value| !value.is_empty());
        let required = |name| optional(name).ok_or(ForgeError::settings(name, "set"));
        let or = |name, default: &str| optional(name).unwrap_or_else(|| default.to_owned());
        Ok(Self {
            api_url: required("GITHUB_API_URL")?,
            graphql_url: or("GITHUB_GRAPHQL_URL", ""),
            server_url: or("GITHUB_SERVER_URL", "https://github.com"),
            repository: required("GITHUB_REPOSITORY")?,
            event_name: required("GITHUB_EVENT_NAME")?,
            event_path: required("GITHUB_EVENT_PATH")?.into(),
            sha: required("GITHUB_SHA")?,
            run_id: number(&required("GITHUB_RUN_ID")?, "GITHUB_RUN_ID")?,
            run_attempt: number(&or("GITHUB_RUN_ATTEMPT", "1"), "GITHUB_RUN_ATTEMPT")?,
            output: optional("GITHUB_OUTPUT").map(PathBuf::from),
            state: optional("GITHUB_STATE").map(PathBuf::from),
            step_summary: optional("GITHUB_STEP_SUMMARY").map(PathBuf::from),
        })
    }

    /// The page of this workflow run.
    pub fn run_url(&self) -> String {
        let server = self.server_url.trim_end_matches('/');
        format!("{server}/{}/actions/runs/{}", self.repository, self.run_id)
    }

    /// This run's place in the order of runs. `time` is that of the event, so that a rerun stays before the runs of later pushes.
    pub fn order(&self, time: jiff::Timestamp) -> Order {
        Order {
            time,
            run: self.run_id,
            attempt: self.run_attempt,
        }
    }
}

fn number<T: std::str::FromStr>(text: &str, name: &str) -> Result<T, ForgeError> {
    text.parse()
        .map_err(|_| ForgeError::settings(name, "a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: [(&str, &str); 7] = [
        ("GITHUB_API_URL", "https://api.github.com"),
        ("GITHUB_REPOSITORY", "example/models"),
        ("GITHUB_EVENT_NAME", "pull_request"),
        ("GITHUB_EVENT_PATH", "/github/workflow/event.json"),
        ("GITHUB_SHA", "3f9c2e1d8a7054b6c1f2e3d4a5b6c7d8e9f0a1b2"),
        ("GITHUB_RUN_ID", "4821"),
        ("GITHUB_OUTPUT", ""),
    ];

    fn read(changed: &[(&str, &str)]) -> Result<Environment, ForgeError> {
        Environment::read(&|name| {
            let value = changed
                .iter()
                .chain(&STEP)
                .find(|(known, _)| *known == name);
            value.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_step_is_known_by_its_variables() {
        let step = read(&[]).unwrap();
        assert_eq!(
            step.run_url(),
            "https://github.com/example/models/actions/runs/4821"
        );
        assert_eq!((step.run_attempt, step.output), (1, None));
        let step = read(&[("GITHUB_SERVER_URL", "https://ghe.example/")]).unwrap();
        let page = "https://ghe.example/example/models/actions/runs/4821";
        assert_eq!(step.run_url(), page);
    }

    #[test]
    fn what_is_not_a_step_says_what_is_missing() {
        let missing = Environment::read(&|_| None).unwrap_err();
        assert_eq!(missing.to_string(), "GITHUB_API_URL is not set");
        let odd = read(&[("GITHUB_RUN_ID", "many")]).unwrap_err();
        assert_eq!(odd.to_string(), "GITHUB_RUN_ID is not a number");
    }
}
