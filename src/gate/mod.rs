//! One run of the gate: for each affected job plan -> canaries -> forecast -> verdict, and everything it started ended.

pub(crate) mod account;
pub(crate) mod backend;
pub(crate) mod batch;
mod collected;
pub(crate) mod detached;
mod ended_pools;
pub(crate) mod failure_logs;
pub(crate) mod gate_run;
mod job_gate;
mod lab;
pub(crate) mod measurements_file;
pub(crate) mod one_canary;
pub(crate) mod open_history;
pub(crate) mod outcome;
pub(crate) mod pass_env;
pub(crate) mod pull_request_limit;
mod request;
mod run;
pub(crate) mod run_history;
pub(crate) mod runner;

pub(crate) use job_gate::changes_data;
pub(crate) use outcome::{GateFailure, GateOutcome};
pub(crate) use pull_request_limit::PullRequestLimit;
pub(crate) use request::RunRequest;
pub(crate) use run::run;
pub(crate) use run_history::RunHistory;
pub(crate) use runner::Runner;
