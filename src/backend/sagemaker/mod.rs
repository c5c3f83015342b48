//! The `sagemaker` backend: canaries are training jobs.
//!
//! Requests are built and answers are read by pure functions; the rest sends, waits and cleans up. AWS types stay in here.
#![allow(dead_code)]

mod archive;
mod description;
#[cfg(test)]
mod exchange;
mod failure;
pub mod from_job;
pub mod listing;
mod manifest;
mod metrics;
mod name;
pub mod policy;
mod price;
mod quota;
mod request;
mod s3_error;
pub mod s3_uri;
mod staging;

#[cfg(test)]
mod fake_s3;
