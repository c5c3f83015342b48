//! Whose API is asked.

/// A service whose REST API has posts: what differs between one and another.
#[derive(Debug)]
pub(super) struct Service {
    pub(super) name: &'static str,
    /// The variable that has the API's address.
    pub(super) address: &'static str,
    pub(super) accept: &'static str,
    /// The header that has the token, and what stands there before it.
    pub(super) token: (&'static str, &'static str),
    /// The method that changes a part of something.
    pub(super) change: &'static str,
}

pub(super) static GITHUB: Service = Service {
    name: "GitHub",
    address: "GITHUB_API_URL",
    accept: "application/vnd.github+json",
    token: ("authorization", "Bearer "),
    change: "PATCH",
};
