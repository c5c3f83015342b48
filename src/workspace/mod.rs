//! What is checked: the spec's file, the checkout, what changed in it, and the policy that applies.

pub(crate) mod base_commit;
pub(crate) mod base_policy;
pub(crate) mod changed_files;
pub(crate) mod checkout;
pub(crate) mod code_files;
pub(crate) mod price_file;
pub(crate) mod project;
pub(crate) mod recorded;
pub(crate) mod run_origin;
pub(crate) mod written_spec;
