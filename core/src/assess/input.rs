//! The inputs of a job's report.

use crate::forecast::scale_out::DataLayout;
use crate::instance::{InstanceConfiguration, InstanceType, OfferOf, Price};
use crate::measurement::Measurement;
use crate::report::{Baseline, InstanceForecast};
use crate::spec::{Budget, Job};
use crate::units::Usd;

/// The inputs of a job's report.
#[derive(Clone)]
pub struct JobInput<'a> {
    pub name: &'a str,
    pub instance: &'a InstanceConfiguration,
    pub budget: &'a Budget,
    pub affected_by: &'a [String],
    /// In the order of the spec, each with the reason if it was not measured.
    pub alternatives: Vec<(&'a InstanceConfiguration, Option<String>)>,
    /// The runs on `instance` and on the alternatives.
    pub measurements: &'a [Measurement],
    /// As the spec has it; absent of measurements without one.
    pub job: Option<&'a Job>,
    /// Why no canary ran on all machines of `instance`, though one was to, and what to do, where that is known.
    pub none_on_all: Option<String>,
    /// The worst-case cost of the plan.
    pub worst_case: Option<Usd>,
    pub offer_of: OfferOf<'a>,
    /// How the data reach the hosts of the full run.
    pub layout: DataLayout,
    /// The result to compare with.
    pub base: Option<&'a BaseResult>,
    /// Whether the spec allows an instance type.
    pub is_allowed: &'a dyn Fn(&InstanceType) -> bool,
    /// Why the canaries ran without a probe that the spec asks for.
    pub lacks_probe: Option<String>,
    /// Further notes for the report.
    pub notes: Vec<String>,
}

/// An earlier run's result for the base of a change.
pub struct BaseResult {
    /// Without its instance, which the report names where it is another.
    pub baseline: Baseline,
    /// `forecasts[0]` is the configuration that the base trains on.
    pub forecasts: Vec<InstanceForecast>,
    pub measurements: Vec<Measurement>,
    /// The machine that measured it, if it is not this one.
    pub other_machine: Option<String>,
    /// Whether it was measured with other data, which the change itself did not change.
    pub has_other_data: bool,
}

/// The canaries of a job, and what turns them into forecasts.
#[derive(Clone, Copy)]
pub struct JobRuns<'a> {
    /// The runs of the job on any machines.
    pub measurements: &'a [Measurement],
    pub offer_of: OfferOf<'a>,
    /// How the data reach the hosts of the full run.
    pub layout: &'a DataLayout,
}

impl JobInput<'_> {
    pub(super) fn runs(&self) -> JobRuns<'_> {
        JobRuns {
            measurements: self.measurements,
            offer_of: self.offer_of,
            layout: &self.layout,
        }
    }
}

/// The price at the time of the newest measurement that has one.
pub fn measured_price(measurements: &[Measurement]) -> Option<Price> {
    let mut newest = measurements.iter().rev();
    newest.find_map(|measurement| measurement.price.clone())
}
