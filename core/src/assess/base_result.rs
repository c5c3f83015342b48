//! The earlier result that a job is compared with.

use crate::measurement::Measurement;
use crate::report::InstanceForecast;
use crate::spec::ChangedSetting;
use crate::units::Seconds;

/// An earlier run's result for the base of a change.
pub struct BaseResult {
    /// The checked-out commit, in full; absent without git.
    pub commit: Option<String>,
    pub branch: Option<String>,
    /// `forecasts[0]` is the configuration that the base trains on.
    pub forecasts: Vec<InstanceForecast>,
    pub measurements: Vec<Measurement>,
    /// Whether its code is that of the base commit.
    pub is_same_code: bool,
    pub data_changed: bool,
    /// The settings of the job that are others now.
    pub changed: Vec<ChangedSetting>,
    /// The machine that measured it, if it is not this one.
    pub other_machine: Option<String>,
    /// Since it was recorded; never negative.
    pub age: Seconds,
}
