//! canary-gate forecasts what a full training run will take from small canary runs, and fails CI on a projected overrun.
//!
//! The five-minute reading, in story order:
//!
//! ```text
//! spec -> change -> plan -> run -> measurement -> forecast -> verdict -> report
//! ```
//!
//! A [`spec`] says which training jobs exist and what they may cost. When a [`change`] touches a job's code, a [`plan`]
//! asks for small [`canary`] runs; a [`backend`] runs them and gives back [`measurement`]s; a [`forecast`] extrapolates
//! to full size with a prediction interval; a [`verdict`] holds it against the budget; a [`report`] tells the pull
//! request. A [`history`] keeps what was found, and [`drift`] tells when the same training takes more than it did. [`app`] is the only module that sees both the pure core and the edges.

// Tests in the library include the pure part of a bench, which names the library as a user does.
#[cfg(test)]
extern crate self as canary_gate;

// The pure core, importing leftward only.
pub mod units;

pub mod instance;

pub mod spec;

pub mod change;

pub mod canary;

pub mod measurement;

pub mod forecast;

pub mod verdict;

pub mod exit;

pub mod plan;

pub mod drift;

pub mod report;

// The edges: files, processes, clock, environment.
#[expect(
    clippy::disallowed_methods,
    reason = "an edge: reads which endpoints the environment names"
)]
pub mod aws;
#[expect(
    clippy::disallowed_methods,
    reason = "an edge: files, processes, clock"
)]
pub mod backend;
#[expect(clippy::disallowed_methods, reason = "an edge: starts git")]
pub mod git;
pub mod github;
#[expect(clippy::disallowed_methods, reason = "an edge: files and their times")]
pub mod history;
#[expect(
    clippy::disallowed_methods,
    reason = "an edge: /proc, processes, clock"
)]
pub mod probe;

// What ties them together.
#[expect(
    clippy::disallowed_methods,
    reason = "reads and writes what the core is given and gives"
)]
pub mod app;
pub mod cli;
