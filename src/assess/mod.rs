//! From measurements to a job's part of the report.

pub(crate) mod judge;
pub(crate) mod unmeasured;
pub(crate) mod versus;
