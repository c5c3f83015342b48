//! Pure: from measurements to a job's part of the report.

pub(crate) mod advice;
mod base_comparison;
pub(crate) mod base_result;
pub(crate) mod drift_check;
pub(crate) mod extrapolated_rows;
pub(crate) mod first_error;
pub(crate) mod input;
pub(crate) mod judge;
pub(crate) mod other_counts;
mod row;
pub(crate) mod short_run;
pub(crate) mod training_plan;
pub(crate) mod unfinished;
mod versus_twin;
pub(crate) mod whole_report;
