//! From measurements to a job's part of the report.

pub(crate) mod base_comparison;
pub(crate) mod extrapolated_rows;
pub(crate) mod judge;
