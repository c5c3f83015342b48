//! What is checked: the spec as a file, the checkout it lies in, what changed there, and the policy it is held against.

pub(crate) mod base_commit;
pub(crate) mod base_policy;
pub(crate) mod changed_files;
pub(crate) mod checkout;
pub(crate) mod code_files;
pub(crate) mod idle_globs;
pub(crate) mod project;
pub(crate) mod project_policy;
pub(crate) mod recorded;
pub(crate) mod run_origin;
pub(crate) mod stored_report;
pub(crate) mod written_spec;
