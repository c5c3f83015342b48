//! What is checked: the spec's file, the checkout, what changed in it, and the policy that applies.

pub(crate) mod base_commit;
pub(crate) mod base_policy;
pub(crate) mod changed_files;
pub(crate) mod checkout;
pub(crate) mod code_files;
pub(crate) mod environment;
pub(crate) mod organization;
pub(crate) mod price_file;
pub(crate) mod project;
pub(crate) mod project_policy;
pub(crate) mod recorded;
pub(crate) mod run_origin;
pub(crate) mod written_spec;

pub(crate) use base_commit::BaseCommit;
pub(crate) use checkout::Checkout;
pub(crate) use project::{Project, STATE_FOLDER, environment_region};
pub(crate) use run_origin::RunOrigin;
