//! The inputs of a job's report.

use crate::assess::base_result::BaseResult;
use crate::forecast::scale_out::DataLayout;
use crate::instance::{InstanceConfiguration, InstanceType, OfferOf, Price};
use crate::measurement::Measurement;
use crate::spec::Budget;
use crate::units::{Seconds, Usd};

/// The inputs of a job's report.
#[derive(Clone)]
pub(crate) struct JobInput<'a> {
    pub(crate) name: &'a str,
    pub(crate) instance: &'a InstanceConfiguration,
    pub(crate) budget: &'a Budget,
    pub(crate) affected_by: &'a [String],
    /// In the order of the spec, each with the reason if it was not measured.
    pub(crate) alternatives: Vec<(&'a InstanceConfiguration, Option<String>)>,
    /// On `instance` and on the alternatives.
    pub(crate) measurements: &'a [Measurement],
    /// `canary.max_runtime`, where it is known.
    pub(crate) max_runtime: Option<Seconds>,
    /// The worst-case cost of the plan.
    pub(crate) worst_case: Option<Usd>,
    pub(crate) offer_of: OfferOf<'a>,
    /// How the data reach the hosts of the full run.
    pub(crate) layout: DataLayout,
    /// The result to compare with.
    pub(crate) base: Option<&'a BaseResult>,
    /// Whether the spec allows an instance type.
    pub(crate) is_allowed: &'a dyn Fn(&InstanceType) -> bool,
    /// Why the canaries ran without a probe that the spec asks for.
    pub(crate) lacks_probe: Option<String>,
    /// Further notes for the report.
    pub(crate) notes: Vec<String>,
}

/// The price at the time of the newest measurement that has one.
pub(crate) fn measured_price(measurements: &[Measurement]) -> Option<Price> {
    measurements
        .iter()
        .rev()
        .find_map(|measurement| measurement.price.clone())
}
