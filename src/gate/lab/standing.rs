//! What the canaries so far say of the full run, for who watches.

use super::design::ConfigurationDesign;
use crate::console::progress::StandingForecast;
use crate::measurement::Measurement;
use crate::metric::Metric;
use crate::report::words;
use crate::spec::LineOrigin;
use crate::verdict::{self, JudgedLine};

/// One canary shows no growth.
const FEWEST: usize = 2;

impl ConfigurationDesign<'_> {
    /// Shows the forecast on `instance` as it stands beside its budget: `cost 63 USD (56–72), at most 50 USD`.
    /// Canaries of the batch under way that are free count too.
    pub(super) fn show_standing(&self) {
        // It is computed for a terminal only.
        if self.place != 0 || !self.runner.progress.is_live() {
            return;
        }
        let free = self
            .state
            .batch
            .iter()
            .flat_map(|batch| batch.free.values());
        let here: Vec<Measurement> = self.state.measured.iter().chain(free).cloned().collect();
        let completed = here
            .iter()
            .filter(|run| run.is_completed() && run.is_on(&self.one.planned.base));
        if completed.count() < FEWEST {
            return;
        }
        let forecast = self.provisional_of(&here);
        let job = self.input.of.job;
        let lines = verdict::judge(&job.budget, &forecast, &self.one.full_run_offer, None);
        let is_shown = |line: &&JudgedLine| {
            let is_increase = line.row.line.is_increase();
            let metric = line.row.line.metric();
            !is_increase && matches!(metric, Some(Metric::Time | Metric::Cost))
        };
        let mut said: Vec<String> = lines.iter().filter(is_shown).filter_map(in_words).collect();
        said.dedup();
        if said.is_empty() {
            return;
        }
        let standing = StandingForecast {
            words: format!("forecast so far: {}", said.join("; ")),
            law: forecast.law.time.clone(),
        };
        self.runner.progress.stand(self.input.of.place, standing);
    }
}

/// The limit of a line that nobody wrote is not what the reader thinks of.
fn in_words(line: &JudgedLine) -> Option<String> {
    let row = &line.row;
    let figure = row.line.unit().with_interval(line.estimate.as_ref()?);
    let name = row.line.words();
    Some(match line.origin {
        LineOrigin::Written => {
            let limit = words::limit(row.line, row.bound, row.limit);
            format!("{name} {figure}, {limit}")
        }
        _ => format!("{name} {figure}"),
    })
}
