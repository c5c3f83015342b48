//! Runs the canaries of a plan, on `instance` first and then on the alternatives.

mod aim;
mod ending;
mod late;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::FuturesUnordered;

use self::late::LateBatch;

use crate::assess::unfinished;
use crate::backend::{EndedPool, Ready};
use crate::canary::{CanaryRun, Dataset};
use crate::console::AppError;
use crate::console::progress::Earlier;
use crate::forecast::{self, Basis, FEWEST_RUNS, Forecast};
use crate::gate::ended_pools;
use crate::gate::request::Purpose;
use crate::gate::runner::{self, Ran, Records, Runner};
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::{self, Measurement};
use crate::metric::Metric;
use crate::plan::{
    self, JobLedger, LadderSize, NextRound, NotMeasured, Plan, PlannedRuns, RoundRule, RoundRun,
    Rung, Share, Situation, SpendingRule, StopReason, TIME_TO_STOP,
};
use crate::spec::Job;
use crate::units::Seconds;
use crate::workspace::project::Project;

/// A job that is ready to run.
pub(crate) struct DesignInput<'a> {
    pub(crate) project: &'a Project,
    pub(crate) job: &'a Job,
    /// Among the jobs of the run.
    pub(crate) place: usize,
    pub(crate) dataset: &'a Dataset,
    pub(crate) purpose: Purpose,
    pub(crate) ready: &'a dyn Ready,
    pub(crate) ledger: &'a JobLedger<'a>,
    /// `None` if no run of the job is kept, and none is reused.
    pub(crate) records: Option<&'a Records<'a>>,
}

/// The results of a job's canaries.
pub(crate) struct JobMeasurements {
    /// On `instance` and on the alternatives.
    pub(crate) measurements: Vec<Measurement>,
    /// Why there are fewer on `instance` than a forecast needs: they were not affordable, or could not be run today.
    pub(crate) broke_off: Option<String>,
    /// The error that ended the canaries on `instance`, if a person must fix it.
    pub(crate) failure: Option<AppError>,
    /// The machines that were kept, of configurations that need them no more.
    pub(crate) ended_pools: Vec<EndedPool>,
}

/// Runs the plan's canaries. An alternative never fails the job: one that cannot be run is marked so in the plan.
pub(crate) async fn measure<'a>(
    input: DesignInput<'a>,
    plan: &mut Plan,
    runner: &'a Runner<'a>,
) -> JobMeasurements {
    let job = input.job;
    let mut design = DesignLoop {
        input,
        runner,
        measurements: Vec::new(),
        late: FuturesUnordered::new(),
        broke_off: None,
        failure: None,
        late_failure: None,
        ended_pools: Vec::new(),
        notes: Vec::new(),
    };
    let done = design.run(&job.instance, &plan.runs).await;
    let ending = done.map(|done| design.ending(done));
    let has_cause = unfinished::cause(&design.measurements).is_some();
    let too_expensive = ending.clone().filter(|_| {
        // A canary that did not complete says more than what could not follow it.
        matches!(done, Some(StopReason::TooExpensive | StopReason::NoTimes)) && !has_cause
    });
    plan.notes.extend(ending);
    let broke_off = design.broke_off.take();
    let failure = design.failure.take();
    plan.notes.extend(broke_off.clone());
    if broke_off.is_some() {
        plan.leave_out_alternatives(&NotMeasured::CouldNotRun);
    }
    if design.measurements.iter().any(Measurement::has_failed) {
        plan.leave_out_alternatives(&NotMeasured::CodeFailed);
    }
    let is_adaptive = plan.is_adaptive();
    let mut money_is_known = true;
    let beyond = || Err(NotMeasured::BeyondTheShare(job.canary.max_share));
    for alternative in &mut plan.alternatives {
        let Ok(runs) = &alternative.runs else {
            continue;
        };
        if design.late_failure.is_some() || is_adaptive && !money_is_known {
            alternative.runs = Err(NotMeasured::CouldNotRun);
            continue;
        }
        if !design.has_room_for(&alternative.instance, runs) {
            alternative.runs = beyond();
            continue;
        }
        let before = design.measurements.len();
        match design.run(&alternative.instance, runs).await {
            Some(StopReason::TooExpensive) if design.measurements.len() == before => {
                alternative.runs = Err(NotMeasured::NothingLeft(design.input.ledger.tighter()));
            }
            Some(StopReason::BeyondTheShare) if design.measurements.len() == before => {
                alternative.runs = beyond();
            }
            _ if design.broke_off.is_none() => {}
            _ => {
                if let Some(error) = design.failure.take() {
                    runner.say_of(job, &error.in_a_line());
                }
                design.broke_off = None;
                alternative.runs = Err(NotMeasured::CouldNotRun);
                // What the lost run cost is not known, so nothing more may be spent.
                money_is_known = false;
            }
        }
    }
    design.settle_late().await;
    let late = design.late_failure.take();
    plan.notes.extend(late.as_ref().map(AppError::in_a_line));
    let broke_off = broke_off.or_else(|| late.as_ref().map(AppError::in_a_line));
    let failure = failure.or(late);
    plan.notes.append(&mut design.notes);
    JobMeasurements {
        measurements: design.measurements,
        broke_off: broke_off.or(too_expensive),
        failure,
        ended_pools: design.ended_pools,
    }
}

/// One job's canaries, and what they gave so far.
struct DesignLoop<'a> {
    input: DesignInput<'a>,
    runner: &'a Runner<'a>,
    /// In the order in which they were planned; of those that are late, what is known.
    measurements: Vec<Measurement>,
    /// Canaries that have ended, of which it is still collected what they used.
    late: FuturesUnordered<LocalBoxFuture<'a, LateBatch>>,
    /// Why nothing more can be run today.
    broke_off: Option<String>,
    /// The error, if a person must fix it.
    failure: Option<AppError>,
    /// The first that came with late points.
    late_failure: Option<AppError>,
    ended_pools: Vec<EndedPool>,
    notes: Vec<String>,
}

impl DesignLoop<'_> {
    /// Runs the design on one configuration; returns why the adaptive design ended.
    async fn run(
        &mut self,
        instance: &InstanceConfiguration,
        runs: &PlannedRuns,
    ) -> Option<StopReason> {
        let done = match runs {
            PlannedRuns::Ladder(sizes) => self.climb(instance, sizes).await,
            PlannedRuns::Fixed(runs) => {
                self.run_all(instance, runs).await;
                None
            }
        };
        // Kept machines bill while late points are waited for, and while others run.
        let (ready, cancellation) = (self.input.ready, self.runner.cancellation);
        let ended = ready.end_pools_on(instance, cancellation).await;
        ended_pools::bill(&ended, self.input.ledger, &|instance| self.offer(instance));
        self.ended_pools.extend(ended);
        done
    }

    /// The fixed design: the fewest runs of a forecast, and then every one that is within `canary.max_share`; all of them as
    /// far as they fit into the spend limit.
    async fn run_all(&mut self, instance: &InstanceConfiguration, runs: &[CanaryRun]) {
        let offer = self.offer(instance);
        let (fewest, more) = runs.split_at(plan::fewest(runs));
        self.run_batch(fewest, more.len(), &offer).await;
        let is_complete = self.on(instance).iter().all(Measurement::is_completed);
        let has_failed = self.broke_off.is_some() || self.late_failure.is_some();
        if more.is_empty() || !is_complete || has_failed {
            return;
        }
        let fitting = self.with_share(|share| share.fitting(more, &offer));
        if fitting < more.len() {
            self.notes.push(format!(
                "{} of {} canaries on {instance} were not run: with them all canaries would take more than canary.max_share ({}) of the full run.",
                more.len() - fitting,
                runs.len(),
                self.input.job.canary.max_share,
            ));
        }
        self.run_batch(&more[..fitting], 0, &offer).await;
    }

    /// Runs some canaries of the fixed design on one configuration; `to_come` more are planned after them.
    async fn run_batch(&mut self, runs: &[CanaryRun], to_come: usize, offer: &Offer) {
        let Some(instance) = runs.first().map(|run| &run.instance) else {
            return;
        };
        if self.runner.cancellation.is_cancelled() {
            return;
        }
        let earlier = Earlier {
            runs: self.on(instance).len(),
            to_come,
            is_open: false,
        };
        let ran = self.run_canaries(runs.to_vec(), offer, earlier).await;
        if ran.too_expensive > 0 {
            self.notes.push(format!(
                "{} of {} canaries on {instance} were not run: earlier ones cost more than they were to, and these could have passed {}.",
                ran.too_expensive,
                to_come + runs.len(),
                self.input.ledger.tighter().name(),
            ));
        }
        self.keep(ran);
    }

    /// Keeps what was measured, and what broke the batch off.
    fn keep(&mut self, ran: Ran) {
        self.measurements.extend(ran.measurements);
        match ran.failure {
            None => {}
            Some(error) if error.is_transient() => {
                self.runner
                    .say_of(self.input.job, &format!("× {}", error.in_a_line()));
                self.broke_off = Some(error.in_a_line());
                self.notes.extend(error.remedy().map(runner::what_to_do));
            }
            Some(error) => {
                self.broke_off = Some(error.in_a_line());
                self.failure = Some(error);
            }
        }
    }

    /// The adaptive design: one round after another, until it says why no more. `None` where a signal ended it.
    async fn climb(
        &mut self,
        instance: &InstanceConfiguration,
        ladder: &[LadderSize],
    ) -> Option<StopReason> {
        let offer = self.offer(instance);
        loop {
            let mut here = self.on(instance);
            if !self.late.is_empty() && !self.goes_on_in_any_case(&offer, &here) {
                self.settle_late().await;
                here = self.on(instance);
            }
            if self.late_failure.is_some() {
                return None;
            }
            let rungs = self.rungs(instance, ladder, here.len());
            let spent = here.iter().filter_map(Measurement::time).sum();
            let left = self.input.ledger.seconds_left(&offer);
            // Its machines may be kept after it, which is set aside with it.
            let pool = self.input.ready.warm_pool(instance);
            let kept = pool.map_or(Seconds(0.0), |pool| pool.keep_alive);
            let left = left.map(|left| Seconds((left.0 - kept.0).max(0.0)));
            let shortest = self.shortest(&here);
            let forecast = provisional(&offer, &here);
            // Two runs leave every forecast in doubt; the third is chosen by what they say.
            let is_in_doubt = plan::has_enough(&here)
                && (forecast.is_rough() || forecast.doubt(Metric::Time).is_some());
            let situation = Situation {
                ladder: &rungs,
                measurements: &here,
                budget: left.map(|left| spent + left),
                spent,
                max_runtime: self.input.job.canary.max_runtime,
                shortest,
                aim: self.aim(&offer, &here, &forecast),
                doubt: is_in_doubt.then(|| self.allowed_by_the_budget(&offer)),
                spending: self.spending(instance, &offer),
            };
            // Levels of work take turns run by run, and those of a round would have one.
            let levels = [0, 1].map(|more| plan::level(self.input.job, here.len() + more));
            let at_once = match levels[0] == levels[1] {
                true => self.input.ready.at_once(instance) as usize,
                false => 1,
            };
            let round = plan::next_round(
                &situation,
                &RoundRule {
                    at_once,
                    beside: TIME_TO_STOP + kept,
                    aim_after: &|runs| self.aim(&offer, runs, &provisional(&offer, runs)),
                    shortest_after: &|runs| self.shortest(runs),
                },
            );
            let round = match round {
                NextRound::Run(round) => round,
                NextRound::Done(done) => return Some(done),
            };
            let (job, dataset) = (self.input.job, self.input.dataset);
            let canary = |RoundRun { rung, limit }: RoundRun| {
                plan::canary(job, dataset, instance, &rung.size, &here, limit)
            };
            let runs: Vec<CanaryRun> = round.into_iter().map(canary).collect();
            let earlier = Earlier {
                runs: here.len(),
                to_come: 0,
                is_open: true,
            };
            let ran = self.run_canaries(runs, &offer, earlier).await;
            let is_refused = ran.measurements.is_empty() && ran.too_expensive > 0;
            self.keep(ran);
            // It would be chosen again.
            if is_refused && self.broke_off.is_none() {
                return Some(match plan::has_enough(&here) {
                    true => StopReason::NothingHelps,
                    false => StopReason::TooExpensive,
                });
            }
            if self.runner.cancellation.is_cancelled() || self.broke_off.is_some() {
                return None;
            }
        }
    }

    /// On `instance` by its own full run; alternatives share what is left of it.
    fn spending(&self, instance: &InstanceConfiguration, offer: &Offer) -> SpendingRule {
        let job = self.input.job;
        let by_share = SpendingRule::UpToAShare(job.canary.max_share);
        if *instance == job.instance {
            return by_share;
        }
        let left = self.with_share(|share| share.seconds_left(offer));
        left.map_or(by_share, SpendingRule::UpTo)
    }

    /// Whether an alternative can be measured within `canary.max_share`.
    fn has_room_for(&self, instance: &InstanceConfiguration, runs: &PlannedRuns) -> bool {
        let offer = self.offer(instance);
        self.with_share(|share| match runs {
            PlannedRuns::Ladder(sizes) => share.has_room_for_the_fewest(sizes, &offer),
            PlannedRuns::Fixed(runs) => share.fitting(runs, &offer) == runs.len(),
        })
    }

    fn with_share<T>(&self, ask: impl FnOnce(&Share<'_>) -> T) -> T {
        let job = self.input.job;
        ask(&Share {
            job,
            offer: &self.offer(&job.instance),
            measurements: &self.measurements,
        })
    }

    fn on(&self, instance: &InstanceConfiguration) -> Vec<Measurement> {
        self.measurements
            .iter()
            .filter(|run| run.is_on(instance))
            .cloned()
            .collect()
    }

    fn rungs(
        &self,
        instance: &InstanceConfiguration,
        ladder: &[LadderSize],
        earlier: usize,
    ) -> Vec<Rung> {
        let work = plan::level(self.input.job, earlier);
        ladder
            .iter()
            .map(|size| Rung {
                size: *size,
                work: work.as_ref().map_or(1.0, |work| work.level / work.full),
                supply: self.input.ready.supply(
                    instance,
                    size.fraction,
                    work.as_ref().map(|work| work.level),
                ),
            })
            .collect()
    }

    fn offer(&self, instance: &InstanceConfiguration) -> Offer {
        let ready = self.input.ready;
        let project = self.input.project;
        project.offer(instance, &|kind| ready.capacity(kind))
    }
}

/// What the canaries so far say, however few they are.
fn provisional(offer: &Offer, measurements: &[Measurement]) -> Forecast {
    let mut comparable = measurements.to_vec();
    measurement::choose_memory_sources(&mut comparable, FEWEST_RUNS);
    forecast::provisional(&Basis {
        offer,
        measurements: &comparable,
    })
}
