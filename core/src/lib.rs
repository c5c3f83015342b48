//! The pure core of canary-gate: what it knows and decides, from values alone. It reads no file, no clock, no environment and no
//! network, and names no runtime; the program around it (`canary-gate`) does.
//!
//! In story order; each room imports those before it only.

pub mod grammar;

pub mod secret;

pub mod outside_error;

pub mod units;

pub mod rows;

pub mod metric;

pub mod instance;

pub mod spec;

pub mod code;

pub mod change;

pub mod canary;

pub mod measurement;

pub mod forecast;

pub mod verdict;

pub mod exit;

pub mod plan;

pub mod drift;

pub mod report;

pub mod assess;
