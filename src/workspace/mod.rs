//! What is checked: the spec as a file, the checkout it lies in, what changed there, and the policy it is held against.

pub(crate) mod base_commit;
pub(crate) mod change;
pub(crate) mod checkout;
pub(crate) mod code;
pub(crate) mod policy;
pub(crate) mod project;
pub(crate) mod recorded;
pub(crate) mod who;
pub(crate) mod written_spec;
