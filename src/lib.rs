//! canary-gate forecasts what a full training run will take from small canary runs, and fails CI on a projected overrun.
//!
//! The five-minute reading, in story order:
//!
//! ```text
//! spec -> change -> plan -> run -> measurement -> forecast -> verdict -> report
//! ```
//!
//! A [`spec`] says which training jobs exist and what they may cost. When a [`change`] touches a job's code, a [`plan`]
//! asks for small [`canary`] runs; a [`backend`] runs them and returns [`measurement`]s; a [`forecast`] extrapolates
//! to full size with a prediction interval; a [`verdict`] compares it with the budget; a [`report`] shows the result on
//! the pull request. A [`history`] keeps what was found, and [`drift`] finds when the same training takes more than it did.
//! [`commands`] are the doors; behind them the gate sees both the pure core and the edges.

#![expect(
    clippy::disallowed_methods,
    reason = "edges and what ties them together: files, processes, clock, environment"
)]

// The pure core, a crate of its own: it can name nothing of this one.
pub use canary_gate_core::{
    assess, canary, change, code, drift, exit, forecast, grammar, instance, measurement, metric,
    outside_error, plan, report, rows, secret, spec, units, verdict,
};

// The edges.
pub mod aws;
pub mod backend;
pub mod git;
#[warn(clippy::disallowed_methods)]
pub mod github;
pub mod history;
pub mod probe;

// What ties them together, importing downward only: commands, gate, workspace, console.
#[warn(clippy::disallowed_methods)]
pub mod cli;
pub mod commands;
mod console;
mod gate;
mod workspace;
