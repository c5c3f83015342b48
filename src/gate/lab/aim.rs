//! What the canaries of a job aim at.

use super::design::ConfigurationDesign;
use crate::forecast::Forecast;
use crate::gate::request::Purpose;
use crate::instance::Offer;
use crate::measurement::Measurement;
use crate::metric::MemoryOf;
use crate::plan::{self, Aim};
use crate::spec::{Budget, Level, LineOrigin};
use crate::units::Seconds;

impl ConfigurationDesign<'_> {
    /// How long the full run may take by the budget's lines of time and cost; 0 without one.
    pub(super) fn allowed_by_the_budget(&self, offer: &Offer) -> Seconds {
        plan::allowed_by_the_budget(self.input.of.job, offer).unwrap_or(Seconds(0.0))
    }

    /// The shortest canary that measures what a written line still needs.
    pub(super) fn shortest(&self, measurements: &[Measurement]) -> Option<Seconds> {
        self.written_memory()
            .filter_map(|of| plan::shortest_for_memory(measurements, of))
            .max_by(|one, other| one.0.total_cmp(&other.0))
    }

    /// The memory that written lines which can fail the check are about.
    pub(super) fn written_memory(&self) -> impl Iterator<Item = MemoryOf> {
        let of_budget = self.input.purpose == Purpose::Budget;
        let lines = self.input.of.job.budget.lines.iter();
        lines
            .filter(move |line| {
                of_budget && line.origin == LineOrigin::Written && line.level == Level::Fail
            })
            .filter_map(|line| line.kind.memory_of())
    }

    /// Whether the measurements decide what the job's canaries are run for.
    pub(super) fn aim(
        &self,
        offer: &Offer,
        measurements: &[Measurement],
        forecast: &Forecast,
    ) -> Aim {
        self.aim_of(&self.input.of.job.budget, offer, measurements, forecast)
    }

    /// The same, by the lines of a budget.
    pub(super) fn aim_of(
        &self,
        budget: &Budget,
        offer: &Offer,
        measurements: &[Measurement],
        forecast: &Forecast,
    ) -> Aim {
        match self.input.purpose {
            Purpose::Budget => plan::aim(budget, offer, measurements, forecast),
            _ => plan::aim_without_lines(budget.certainty, forecast),
        }
    }
}
