//! Pure: from measurements to a job's part of the report.

pub mod advice;
mod base_comparison;
pub mod drift_check;
pub mod first_error;
pub mod input;
pub mod judge;
mod memory_fits;
pub mod other_counts;
pub mod remarks;
mod row;
pub mod unfinished;
mod versus_twin;
pub mod whole_report;
