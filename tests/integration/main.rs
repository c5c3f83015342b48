//! The real binary, tried as its user would: each test makes a small project in a folder of its own and runs commands in it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests try the program from outside"
)]

mod accuracy;
mod action;
mod action_yml;
mod architecture;
mod aws;
mod aws_fake;
mod bad_specs;
mod begun;
mod cancellation;
mod chain;
mod check_command;
mod command_line;
mod doc_commands;

mod examples;
mod fake;
mod from_job;
mod github;
mod github_api;
mod github_publication;
mod history_command;
mod history_page;
mod history_store;
mod html;
mod iam_policy;
mod init_layouts;
mod layouts;
mod other_ci;
mod project;
mod proxy;
mod published;
mod quickstart;
mod readme;
mod recorded;
mod sagemaker;
mod scale_out_bench;
mod scenarios;
mod secrets;
mod spec_page;
mod template;
mod terminal;
mod unmeasured;
mod warnings;
