//! On how many machines the canaries of a configuration run.

use super::{Job, Level, LineKind};
use crate::metric::Metric;

/// On how many machines canaries run, where the full run takes several.
#[derive(Debug, Clone, PartialEq, Eq, Default, derive_more::Display, derive_more::From)]
pub enum CanaryCounts {
    /// All on as many as the full run has.
    #[display("all machines")]
    AsTheFullRun,
    /// All on one, and one canary on as many as the full run has.
    #[default]
    #[display("1 and all machines")]
    OneAndAll,
    /// As written, rising: all on the first, and one canary on each other.
    #[display("{_0:?}")]
    #[from]
    Written(Vec<u32>),
}

/// The counts of machines that the canaries of one configuration run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountsOf {
    /// On which the design runs.
    pub base: u32,
    /// One canary on each, rising.
    pub further: Vec<u32>,
    /// The canaries on `base` are those of a configuration before it in the list.
    pub follows: bool,
}

impl Job {
    /// Of `instance`, and then of each alternative. Groups run on all of their machines.
    pub fn counts(&self) -> Vec<CountsOf> {
        let policy = self.counts_policy();
        let mut all: Vec<CountsOf> = Vec::new();
        let configurations = Vec::from_iter(self.configurations());
        for (place, configuration) in configurations.iter().enumerate() {
            let (kind, count) = (configuration.single_type(), configuration.total_count());
            let shares = kind.is_some()
                && (self.ranged.contains(configuration) || policy != CanaryCounts::AsTheFullRun);
            let mut before = all.iter().zip(&configurations).filter(|_| shares);
            let leader = before
                .find(|(before, other)| other.single_type() == kind && before.base <= count)
                .map(|(before, _)| before.base);
            let written = match &policy {
                _ if kind.is_none() => vec![count],
                CanaryCounts::AsTheFullRun => vec![count],
                CanaryCounts::OneAndAll => vec![1, count],
                CanaryCounts::Written(written) if place == 0 => written.clone(),
                CanaryCounts::Written(all) => all.iter().take(1).copied().chain([count]).collect(),
            };
            let written = leader.map_or(written, |base| vec![base, count]);
            let base = written.first().map_or(count, |first| count.min(*first));
            let further = written.into_iter();
            let further = further.filter(|one| *one > base && *one <= count);
            all.push(CountsOf {
                base,
                further: further.collect(),
                follows: leader.is_some(),
            });
        }
        all
    }

    /// Levels of work beside the data have no law of scale-out, nor has what only a forecast on the machines themselves gives.
    fn counts_policy(&self) -> CanaryCounts {
        let has_levels = self.work.is_some() && !self.differs_in_work_alone();
        let is_elsewhere = |line: LineKind| match line {
            LineKind::Absolute(metric) | LineKind::Increase(metric) => {
                matches!(metric, Metric::Time | Metric::Cost) || metric.memory_of().is_some()
            }
            LineKind::Named(_) => false,
        };
        let written = self.budget.written();
        let mut written = written.filter(|line| line.level == Level::Fail);
        match &self.canary.counts {
            _ if has_levels => CanaryCounts::AsTheFullRun,
            CanaryCounts::OneAndAll if written.any(|line| !is_elsewhere(line.kind)) => {
                CanaryCounts::AsTheFullRun
            }
            counts => counts.clone(),
        }
    }
}
