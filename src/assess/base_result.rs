//! The earlier result that a job is compared with.

use crate::measurement::Measurement;
use crate::report::InstanceForecast;
use crate::spec::ChangedSetting;
use crate::units::Seconds;

/// An earlier run's result for the base of a change.
pub(crate) struct BaseResult {
    /// The checked-out commit, in full; absent without git.
    pub(crate) commit: Option<String>,
    pub(crate) branch: Option<String>,
    /// `forecasts[0]` is the configuration that the base trains on.
    pub(crate) forecasts: Vec<InstanceForecast>,
    pub(crate) measurements: Vec<Measurement>,
    /// Whether its code is that of the base commit.
    pub(crate) is_same_code: bool,
    pub(crate) data_changed: bool,
    /// The settings of the job that are others now.
    pub(crate) changed: Vec<ChangedSetting>,
    /// The machine that measured it, if it is not this one.
    pub(crate) other_machine: Option<String>,
    /// Since it was recorded; never negative.
    pub(crate) age: Seconds,
}
