//! Whose API is asked.

/// A service whose REST API has posts: what differs between one and another.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) name: &'static str,
    /// The variable that has the API's address.
    pub(super) address: &'static str,
    pub(super) accept: &'static str,
    /// The page that says whether it is out of order; a link in reports, which know both.
    pub(super) status: &'static str,
    /// The header that has the token, and what stands there before it.
    pub(super) token: (&'static str, &'static str),
    /// The method that changes a part of something.
    pub(super) change: &'static str,
    /// The path that says whose token it is; `None` where only GraphQL does.
    pub(super) viewer: Option<&'static str>,
    /// What to do where a token may not; `None` where a permission of the job is missing.
    pub(super) may_not: Option<&'static str>,
}

pub(super) static GITHUB: Service = Service {
    name: "GitHub",
    address: "GITHUB_API_URL",
    accept: "application/vnd.github+json",
    status: "https://www.githubstatus.com/",
    token: ("authorization", "Bearer "),
    change: "PATCH",
    viewer: None,
    may_not: None,
};

pub(super) static GITLAB: Service = Service {
    name: "GitLab",
    address: "CI_API_V4_URL",
    accept: "application/json",
    status: "https://status.gitlab.com/",
    token: ("private-token", ""),
    change: "PUT",
    viewer: Some("user"),
    may_not: Some(TOKEN_OF_GITLAB),
};

pub(super) const TOKEN_OF_GITLAB: &str = "make an access token of the merge request's project, with the role Reporter and the scope `api`, and keep it there as the masked variable CANARY_GATE_GITLAB_TOKEN; the job's own CI_JOB_TOKEN cannot write notes. A protected variable reaches only pipelines of protected branches, and none reaches that of a fork";
