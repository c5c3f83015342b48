//! `canary-gate action`: the gate on an event of GitHub, and its comment.

mod detached;
mod events;
mod pull_request_limit;
mod role;
pub(crate) mod sagemaker;
pub(crate) mod workflow;
