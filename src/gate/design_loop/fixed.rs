//! The fixed design on one configuration.

use super::DesignLoop;
use crate::canary::CanaryRun;
use crate::console::progress::Earlier;
use crate::measurement::Measurement;
use crate::plan::{self, Limit};
use crate::units::Usd;

impl DesignLoop<'_> {
    /// The fixed design: the fewest runs of a forecast, and then every one that is within `canary.max_share`; all of them as
    /// far as they fit into the spend limit.
    pub(super) async fn run_all(&mut self, runs: &[CanaryRun]) {
        let (fewest, more) = runs.split_at(plan::fewest(runs));
        if !self.fits_pull_request(fewest).await {
            self.note_refused(runs.len(), runs.len());
            return;
        }
        self.run_batch(fewest, more.len()).await;
        while let Some(run) = self.due_count(&self.measured()) {
            if self.is_over() || self.broke_off.is_some() {
                return;
            }
            self.try_count(run).await;
        }
        let is_complete = self.measured().iter().all(Measurement::is_completed);
        if more.is_empty() || !is_complete || self.broke_off.is_some() {
            return;
        }
        let (job, base) = (self.input.of.job, &self.configuration().base);
        let fitting = plan::within_the_share(job, base, &self.measured(), more);
        if fitting < more.len() {
            let note = format!(
                "{} of {} canaries on {} were not run: with them all canaries would take more than canary.max_share ({}) of the full run.",
                more.len() - fitting,
                runs.len(),
                self.configuration().runs_on(),
                self.input.of.job.canary.max_share,
            );
            self.notes.push(note);
        }
        self.run_batch(&more[..fitting], 0).await;
    }

    /// Whether the pull request's limit covers all of these that no earlier run has measured, so that nothing is paid for a forecast
    /// that cannot be made.
    async fn fits_pull_request(&self, runs: &[CanaryRun]) -> bool {
        if !self.account().is_of_pull_request() {
            return true;
        }
        let mut worst = Usd(0.0);
        for run in runs {
            let known = match self.input.of.records {
                Some(records) => records.found(run).await,
                None => Ok(None),
            };
            // What cannot be looked up is an error when it is to run.
            if let Ok(None) = known {
                let offer = self.configuration().offer_on(Some(&run.instance));
                let of_run = plan::worst_case(std::slice::from_ref(run), offer);
                // Its machines may be kept after it, which is set aside with it.
                let kept = offer.cost(self.kept_after(&run.instance));
                worst = worst + of_run.unwrap_or_default() + kept.unwrap_or_default();
            }
        }
        self.account().covers(worst)
    }

    fn note_refused(&mut self, refused: usize, of: usize) {
        let limit = self.account().limit();
        let why = match limit {
            Limit::PullRequest => format!("{} refused them", limit.name()),
            Limit::Job | Limit::Run => format!(
                "earlier canaries cost more than planned, and these could exceed {}",
                limit.name()
            ),
        };
        let instance = &self.configuration().instance;
        let note = format!("{refused} of {of} canaries on {instance} were not run: {why}.");
        self.notes.push(note);
    }

    /// Runs some canaries of the fixed design; `to_come` more are planned after them.
    async fn run_batch(&mut self, runs: &[CanaryRun], to_come: usize) {
        if runs.is_empty() || self.is_over() {
            return;
        }
        let earlier = Earlier {
            runs: self.measured().len(),
            to_come,
            is_open: false,
        };
        let ran = self.run_canaries(runs.to_vec(), earlier).await;
        if ran.too_expensive > 0 {
            self.note_refused(ran.too_expensive, to_come + runs.len());
        }
        self.keep(ran);
    }
}
