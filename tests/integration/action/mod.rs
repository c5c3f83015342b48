//! `canary-gate action`: the gate on an event of GitHub, and its comment.

mod accept_label;
mod detached;
mod events;
mod forks;
mod history;
mod parts;
mod policy;
mod pull_request;
mod pull_request_limit;
mod role;
pub(crate) mod sagemaker;
mod trouble;
pub(crate) mod workflow;
