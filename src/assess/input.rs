//! What a job's part of the report is made from.

use crate::assess::base_result::BaseResult;
use crate::forecast::scale_out::DataLayout;
use crate::instance::{Capacity, InstanceConfiguration, InstanceType, Price};
use crate::measurement::Measurement;
use crate::plan::PriceOf;
use crate::spec::Budget;
use crate::units::Usd;

/// Capacities of machine types as the backend or the tables know them.
pub(crate) type CapacityOf<'a> = &'a dyn Fn(&InstanceType) -> Option<Capacity>;

/// What a job's part of the report is made from.
pub(crate) struct JobInput<'a> {
    pub(crate) name: &'a str,
    pub(crate) instance: &'a InstanceConfiguration,
    pub(crate) budget: &'a Budget,
    pub(crate) affected_by: &'a [String],
    /// In the order of the spec, each with why it was not measured, if so.
    pub(crate) alternatives: Vec<(&'a InstanceConfiguration, Option<String>)>,
    /// On `instance` and on the alternatives.
    pub(crate) measurements: &'a [Measurement],
    /// What the plan could have cost at most.
    pub(crate) worst_case: Option<Usd>,
    pub(crate) capacity_of: CapacityOf<'a>,
    pub(crate) price_of: PriceOf<'a>,
    /// How the data reach the hosts of the full run.
    pub(crate) layout: DataLayout,
    /// What the forecasts are compared with.
    pub(crate) base: Option<&'a BaseResult>,
    /// Whether the team may use a machine type.
    pub(crate) is_allowed: &'a dyn Fn(&InstanceType) -> bool,
    /// What is to be said beside.
    pub(crate) notes: Vec<String>,
}

/// What was paid when it was measured.
pub(crate) fn measured_price(measurements: &[Measurement]) -> Option<Price> {
    measurements
        .iter()
        .rev()
        .find_map(|measurement| measurement.price.clone())
}
