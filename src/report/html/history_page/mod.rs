//! A history as a page: all jobs, those that need attention first, what a full run of each takes over time, and what its checks
//! cost.

mod grid;
mod over_time;
mod scale;
