//! Runs the canaries of a plan, on `instance` and beside it on the alternatives.

mod aim;
mod alternative;
mod beside;
mod counts;
mod ending;
mod fixed;
mod late;
mod standing;

use std::cell::Cell;

use futures_util::future::{LocalBoxFuture, join_all};
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::futures::Notified;

pub(crate) use self::counts::beyond_the_share;

use self::beside::{Configuration, Configurations};
use self::late::LateBatch;

use crate::assess::unfinished;
use crate::backend::EndedPool;
use crate::canary::{CanaryRun, Dataset};
use crate::console::AppError;
use crate::console::progress::Earlier;
use crate::forecast::{self, Basis, FEWEST_RUNS, Forecast};
use crate::gate::ended_pools;
use crate::gate::request::{JobMoney, Purpose};
use crate::gate::runner::{Ran, Runner, RunningJob};
use crate::gate::turns::MachineSharing;
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::{self, Measurement, Outcome};
use crate::plan::{
    self, Account, LadderSize, Limit, NextRound, NotMeasured, Plan, PlannedRuns, RoundRule,
    RoundRun, Rung, Situation, SpendingRule, StopReason, TIME_TO_STOP,
};
use crate::units::Seconds;
use crate::verdict::Reason;
use crate::workspace::project::Project;

/// A job that is ready to run.
pub(crate) struct DesignInput<'a> {
    pub(crate) of: RunningJob<'a>,
    pub(crate) project: &'a Project,
    pub(crate) dataset: &'a Dataset,
    pub(crate) purpose: Purpose,
    pub(crate) money: JobMoney<'a>,
    pub(crate) machines: MachineSharing,
}

/// The results of a job's canaries.
pub(crate) struct JobMeasurements {
    /// On `instance` and on the alternatives.
    pub(crate) measurements: Vec<Measurement>,
    /// Why there are fewer on `instance` than a forecast needs: they were not affordable, or could not be run today.
    pub(crate) broke_off: Option<Reason>,
    /// The error that ended the canaries on `instance`, if a person must fix it.
    pub(crate) failure: Option<AppError>,
    /// The machines that were kept, of configurations that need them no more.
    pub(crate) ended_pools: Vec<EndedPool>,
}

/// Runs the plan's canaries. An alternative never fails the job: one that cannot be run is marked so in the plan.
pub(crate) async fn measure(
    input: DesignInput<'_>,
    plan: &mut Plan,
    runner: &Runner<'_>,
) -> JobMeasurements {
    let configurations = Configurations::new(&input, plan);
    let has_late_failure = Cell::new(false);
    let at = |place| DesignLoop {
        input: &input,
        runner,
        configurations: &configurations,
        place,
        late: FuturesUnordered::new(),
        broke_off: None,
        failure: None,
        late_failure: None,
        has_late_failure: &has_late_failure,
        ended_pools: Vec::new(),
        notes: Vec::new(),
    };
    let alternatives = configurations
        .alternatives()
        .map(|place| at(place).run_alternative());
    let (own, mut others) = futures_util::join!(at(0).run_on_instance(), join_all(alternatives));
    plan.notes
        .extend(own.ending.as_ref().map(Reason::to_string));
    plan.notes
        .extend(own.broke_off.as_ref().map(Reason::to_string));
    if own.broke_off.is_some() {
        plan.leave_out_alternatives(&NotMeasured::CouldNotRun);
    }
    if own.has_failed {
        plan.leave_out_alternatives(&NotMeasured::CodeFailed);
    }
    for (alternative, ended) in plan.alternatives.iter_mut().zip(&mut others) {
        if let Some(why) = ended.why_not.take()
            && alternative.runs.is_ok()
        {
            alternative.runs = Err(why);
        }
    }
    let mut late = own.late_failure;
    let (mut notes, mut ended_pools) = (own.notes, own.ended_pools);
    for ended in others {
        late = late.or(ended.late_failure);
        notes.extend(ended.notes);
        ended_pools.extend(ended.ended_pools);
    }
    let late_reason = late.as_ref().map(AppError::reason);
    plan.notes
        .extend(late_reason.as_ref().map(Reason::to_string));
    plan.notes.append(&mut notes);
    JobMeasurements {
        measurements: configurations.into_measurements(),
        broke_off: own.broke_off.or(late_reason).or(own.too_expensive),
        failure: own.failure.or(late),
        ended_pools,
    }
}

/// How the canaries of one configuration ended.
#[derive(Default)]
struct EndedConfiguration {
    /// Why an alternative is not measured.
    why_not: Option<NotMeasured>,
    /// On `instance`: why the adaptive design ended, in words, and whether that is for the lack of money.
    ending: Option<Reason>,
    too_expensive: Option<Reason>,
    broke_off: Option<Reason>,
    failure: Option<AppError>,
    late_failure: Option<AppError>,
    has_failed: bool,
    ended_pools: Vec<EndedPool>,
    notes: Vec<String>,
}

/// The canaries of one configuration of a job.
struct DesignLoop<'a> {
    input: &'a DesignInput<'a>,
    runner: &'a Runner<'a>,
    configurations: &'a Configurations<'a>,
    /// Among them.
    place: usize,
    /// Canaries that have ended, of which it is still collected what they used.
    late: FuturesUnordered<LocalBoxFuture<'a, LateBatch>>,
    /// Why nothing more can be run today.
    broke_off: Option<Reason>,
    /// The error, if a person must fix it.
    failure: Option<AppError>,
    /// The first that came with late points.
    late_failure: Option<AppError>,
    /// Whether there is one on any configuration of the job.
    has_late_failure: &'a Cell<bool>,
    ended_pools: Vec<EndedPool>,
    notes: Vec<String>,
}

impl DesignLoop<'_> {
    /// Runs the canaries on `instance`. Without them there is nothing to compare alternatives with.
    async fn run_on_instance(mut self) -> EndedConfiguration {
        let runs = self.configuration().runs.clone();
        let done = match &runs {
            Ok(runs) => self.run(runs).await,
            Err(_) => None,
        };
        let ending = done.map(|done| self.ending(done));
        let measured = self.measured();
        let has_cause = unfinished::cause(&measured, None).is_some();
        let too_expensive = ending.clone().filter(|_| {
            // A canary that did not complete says more than what could not follow it.
            matches!(done, Some(StopReason::TooExpensive | StopReason::NoTimes)) && !has_cause
        });
        let is_short = !has_cause && !plan::has_enough(&measured);
        let refusal = self.refusal().filter(|_| is_short);
        let too_expensive = too_expensive.or(refusal);
        let has_failed = (measured.iter()).any(|run| run.has_failed() || run.is_unread());
        if has_failed {
            self.configurations
                .give_up_alternatives(NotMeasured::CodeFailed);
        }
        self.configurations.end(self.place);
        self.settle_late().await;
        EndedConfiguration {
            ending,
            too_expensive,
            has_failed,
            ..self.ended()
        }
    }

    fn ended(self) -> EndedConfiguration {
        EndedConfiguration {
            broke_off: self.broke_off,
            failure: self.failure,
            late_failure: self.late_failure,
            ended_pools: self.ended_pools,
            notes: self.notes,
            ..EndedConfiguration::default()
        }
    }

    /// Runs the design on the configuration; returns why the adaptive design ended.
    async fn run(&mut self, runs: &PlannedRuns) -> Option<StopReason> {
        let done = match runs {
            PlannedRuns::Ladder(sizes) => self.climb(sizes).await,
            PlannedRuns::Fixed(runs) => {
                self.run_all(runs).await;
                None
            }
        };
        self.end_pools().await;
        done
    }

    /// Kept machines bill while late points are waited for, and while others run.
    async fn end_pools(&mut self) {
        let DesignInput { of, project, .. } = self.input;
        let (one, cancellation) = (self.configuration(), self.runner.cancellation);
        let mut ended = of.ready.end_pools_on(&one.instance, cancellation).await;
        // Those on another configuration's machines are its own to end.
        if self.is_on_fewer() && !one.follows {
            ended.extend(of.ready.end_pools_on(&one.base, cancellation).await);
        }
        let offer_of = |instance: &InstanceConfiguration| {
            project.offer(instance, &|kind| of.ready.capacity(kind))
        };
        ended_pools::bill(&ended, &one.account, self.input.money.kept, &offer_of);
        self.ended_pools.extend(ended);
    }

    /// Whether nothing more is to be run: after a signal, a failure on `instance`, or one that came late.
    fn is_over(&self) -> bool {
        self.runner.cancellation.is_cancelled()
            || self.has_late_failure.get()
            || !self.configuration().is_wanted.get()
    }

    /// Waits until more is known of the configurations before.
    async fn wait_for(&mut self, changed: Notified<'_>) {
        tokio::select! {
            () = changed => {}
            () = self.runner.cancellation.cancelled() => {}
            Some(late) = self.late.next(), if !self.late.is_empty() => self.revise(late),
        }
    }

    /// Keeps what was measured, and what broke the batch off.
    fn keep(&mut self, ran: Ran) {
        (self.configuration().measured.borrow_mut()).extend(ran.measurements);
        match ran.failure {
            None => {}
            Some(error) if error.is_transient() => {
                self.runner
                    .say_of(self.input.of.job, &format!("× {}", error.in_a_line()));
                self.broke_off = Some(error.reason());
                // That of `instance` is the job's own reason.
                if self.place > 0 {
                    self.notes.push(error.reason().to_string());
                }
            }
            Some(error) => {
                self.broke_off = Some(error.reason());
                self.failure = Some(error);
            }
        }
        if self.place == 0 && self.broke_off.is_some() {
            self.configurations
                .give_up_alternatives(NotMeasured::CouldNotRun);
        }
    }

    /// The adaptive design: one round after another, until it says why no more. `None` where a signal or a failure ended it.
    async fn climb(&mut self, ladder: &[LadderSize]) -> Option<StopReason> {
        loop {
            let goes_on = !self.is_on_fewer() && self.goes_on_in_any_case(&self.measured());
            if !self.late.is_empty() && !goes_on {
                self.settle_late().await;
            }
            if self.is_over() {
                return None;
            }
            let here = self.measured();
            if let Some(run) = self.due_count(&here) {
                self.try_count(run).await;
                if self.broke_off.is_some() || self.is_over() {
                    return None;
                }
                continue;
            }
            let on_base = self.on_base(&here);
            let round = match self.round(ladder, &here) {
                NextRound::Run(round) => round,
                NextRound::Done(done) => return Some(done),
            };
            let (job, dataset) = (self.input.of.job, self.input.dataset);
            let base = &self.configuration().base;
            let canary = |RoundRun { rung, limit }: RoundRun| {
                plan::canary(job, dataset, base, &rung.size, &on_base, limit)
            };
            let runs: Vec<CanaryRun> = round.into_iter().map(canary).collect();
            let earlier = Earlier {
                runs: here.len(),
                to_come: 0,
                is_open: true,
            };
            let ran = self.run_canaries(runs, earlier).await;
            let is_empty = ran.measurements.is_empty();
            self.keep(ran);
            if self.broke_off.is_some() || is_empty && self.is_over() {
                return None;
            }
            // It would be refused again.
            if is_empty {
                return Some(match plan::has_enough(&on_base) {
                    true => StopReason::NothingHelps,
                    false => StopReason::TooExpensive,
                });
            }
        }
    }

    /// The next round after the canaries `here`.
    fn round(&self, ladder: &[LadderSize], here: &[Measurement]) -> NextRound {
        let (job, offer) = (self.input.of.job, self.judged_offer());
        let one = self.configuration();
        let on_base = self.on_base(here);
        if let Some(other) = here
            .iter()
            .find(|run| !run.is_completed() && !run.is_on(&one.base))
        {
            // The same code would fail again, on more data.
            if other.outcome != Outcome::TimedOut {
                return NextRound::Done(StopReason::Ended);
            }
        }
        let rungs = self.rungs(ladder, on_base.len());
        let spent = self.taken(here);
        // Its machines may be kept after it, which is set aside with it.
        let kept = self.kept_after(&one.base);
        let left = one.account.seconds_left(&one.base_offer);
        let left = left.map(|left| left - self.kept_for_counts(here, left));
        let left = left.map(|left| Seconds((left.0 - kept.0).max(0.0)));
        let forecast = self.provisional(&on_base, here);
        // Two runs leave every forecast in doubt; the third is chosen by what they say.
        let [all, base] = [&one.instance, &one.base].map(|one| f64::from(one.total_count()));
        let machines = all / base;
        let is_in_doubt = plan::has_enough(&on_base) && forecast.is_in_doubt();
        let situation = Situation {
            ladder: &rungs,
            measurements: &on_base,
            budget: left.map(|left| spent + left),
            spent,
            max_runtime: job.canary.max_runtime,
            shortest: self.shortest(&on_base),
            aim: self.aim(offer, &on_base, &forecast),
            doubt: is_in_doubt.then(|| self.allowed_by_the_budget(offer) * machines),
            // Each configuration by its own full run.
            spending: SpendingRule::UpToAShare(self.share_with_room(here)),
        };
        // Levels of work take turns run by run, and those of a round would have one.
        let levels = [0, 1].map(|more| plan::level(job, on_base.len() + more));
        let at_once = match levels[0] == levels[1] {
            true => self.input.of.ready.at_once(&one.base) as usize,
            false => 1,
        };
        plan::next_round(
            &situation,
            &RoundRule {
                at_once,
                beside: TIME_TO_STOP + kept,
                aim_after: &|runs| self.aim(offer, runs, &self.provisional(runs, here)),
                shortest_after: &|runs| self.shortest(runs),
            },
        )
    }

    fn configuration(&self) -> &Configuration {
        self.configurations.at(self.place)
    }

    fn account(&self) -> &Account {
        &self.configuration().account
    }

    /// Why the pull request's limit refused a canary of this configuration, and what to do; `None` where it refused none.
    fn refusal(&self) -> Option<Reason> {
        let is_refused = self.account().limit() == Limit::PullRequest;
        self.input
            .money
            .pull_request
            .refusal()
            .filter(|_| is_refused)
    }

    /// As the full run buys it.
    fn judged_offer(&self) -> &Offer {
        &self.configuration().full_run_offer
    }

    /// In the order in which they were planned; of those that are late, what is known.
    fn measured(&self) -> Vec<Measurement> {
        self.configuration().measured.borrow().clone()
    }

    fn rungs(&self, ladder: &[LadderSize], earlier: usize) -> Vec<Rung> {
        let work = plan::level(self.input.of.job, earlier);
        ladder
            .iter()
            .map(|size| Rung {
                size: *size,
                work: work.as_ref().map_or(1.0, |work| work.level / work.full),
                supply: self.input.of.ready.supply(
                    &self.configuration().base,
                    size.fraction,
                    work.as_ref().map(|work| work.level),
                ),
            })
            .collect()
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
