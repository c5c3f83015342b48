//! GitLab: the merge request of this job's pipeline, by GitLab's own variables and a token of its project.
//!
//! <https://docs.gitlab.com/ci/variables/predefined_variables/>

use super::address::split;
use super::service::{GITLAB, TOKEN_OF_GITLAB};
use super::{
    Forge, ForgeError, ForgeErrorKind, OlderComments, Order, PostPlace, Publication, Token,
};

const BEGAN: &str = "CI_PIPELINE_CREATED_AT";
/// Where nobody else reads what is sent.
const PRIVATE: [&str; 3] = ["https://", "http://127.0.0.1:", "http://localhost:"];
const ADDRESS: &str = "an https address, and the token is sent to no other";

/// A merge request as a job of its pipeline knows it, and that job's note there.
#[derive(Debug)]
pub struct MergeRequest {
    pub forge: Forge,
    pub note: Publication,
    pub job_url: String,
}

impl MergeRequest {
    /// That of this job. Sends nothing, and needs a runtime. Waits are multiplied by `pace`.
    pub fn of(variable: &dyn Fn(&str) -> Option<String>, pace: f64) -> Result<Self, ForgeError> {
        let given = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let required = |name| given(name).ok_or_else(|| wrong(name, "set"));
        let number = |name| required(name)?.parse().map_err(|_| wrong(name, "a number"));
        let address = required("CI_API_V4_URL")?;
        let iid = number("CI_MERGE_REQUEST_IID")?;
        // A fork's pipeline runs in the fork, and its merge request is elsewhere.
        let project = number("CI_MERGE_REQUEST_PROJECT_ID")?;
        // A job that is tried again has a number of its own, which is larger.
        let order = format!("{}/{}/1", required(BEGAN)?, required("CI_JOB_ID")?);
        let order =
            Order::parse(&order).ok_or_else(|| wrong(BEGAN, "a time, or CI_JOB_ID no number"))?;
        let is_private = |origin: &str| PRIVATE.iter().any(|one| origin.starts_with(one));
        let root = split(&address).filter(|(origin, _)| is_private(origin));
        let (origin, path) = root.ok_or_else(|| wrong("CI_API_V4_URL", ADDRESS))?;
        let token = given("CANARY_GATE_GITLAB_TOKEN").map(|text| Token::new(&text));
        let token = token.filter(Token::is_sendable).ok_or_else(|| {
            let what = "CANARY_GATE_GITLAB_TOKEN holds no token".to_owned();
            ForgeError::new(ForgeErrorKind::Forbidden, what, TOKEN_OF_GITLAB)
        })?;
        Ok(Self {
            forge: Forge::at(&GITLAB, format!("{origin}{path}/"), &token, pace)?,
            note: Publication {
                place: PostPlace::MergeRequest { project, iid },
                subject: required("CI_JOB_NAME")?,
                order,
                older: OlderComments::WriteOver,
            },
            job_url: required("CI_JOB_URL")?,
        })
    }
}

fn wrong(name: &str, expected: &str) -> ForgeError {
    let values = [("what", name.to_owned()), ("expected", expected.to_owned())];
    ForgeError::known("settings of GitLab", &values)
}
