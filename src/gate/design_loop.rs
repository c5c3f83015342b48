//! Runs the canaries of a plan, on `instance` first and then on the alternatives.

use crate::assess::unfinished;
use crate::backend::Ready;
use crate::canary::{CanaryRun, Dataset};
use crate::console::AppError;
use crate::console::progress::Earlier;
use crate::forecast::{self, Basis, Doubt, FEWEST_RUNS, Forecast};
use crate::gate::request::Purpose;
use crate::gate::runner::{self, Ran, Records, Runner, RunningJob};
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::{self, Measurement};
use crate::metric::Metric;
use crate::plan::{
    self, Aim, JobLedger, LadderSize, NARROW, Next, NotMeasured, Plan, PlannedRuns, Reached, Rung,
    Share, Situation, SpendingRule, StopReason, TighterLimit,
};
use crate::spec::{BudgetLine, Job, Level, LineKind, LineOrigin};
use crate::units::{Fraction, Seconds};
use crate::verdict::{self, JudgedLine, LineVerdict};
use crate::workspace::project::Project;

/// Before there are the fewest runs of a forecast, a line counts as decided only where the chance that is left is this part
/// of what certainty allows: two small runs do not determine a law, and the third one may lie far out.
const CHANCE_FOR_A_SHORT_CUT: f64 = 0.05;
/// A line is exceeded, whatever two canaries leave open, where the forecast is so many times its limit.
const TENFOLD: f64 = 10.0;

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
}

/// Runs the plan's canaries. An alternative never fails the job: one that cannot be run is marked so in the plan.
pub(crate) async fn measure(
    input: DesignInput<'_>,
    plan: &mut Plan,
    runner: &Runner<'_>,
) -> JobMeasurements {
    let job = input.job;
    let mut design = DesignLoop {
        input,
        measurements: Vec::new(),
        broke_off: None,
        failure: None,
        notes: Vec::new(),
    };
    let done = design.run(&job.instance, &plan.runs, runner).await;
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
        if is_adaptive && !money_is_known {
            alternative.runs = Err(NotMeasured::CouldNotRun);
            continue;
        }
        if !design.has_room_for(&alternative.instance, runs) {
            alternative.runs = beyond();
            continue;
        }
        let before = design.measurements.len();
        match design.run(&alternative.instance, runs, runner).await {
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
    plan.notes.append(&mut design.notes);
    JobMeasurements {
        measurements: design.measurements,
        broke_off: broke_off.or(too_expensive),
        failure,
    }
}

/// One job's canaries, and what they gave so far.
struct DesignLoop<'a> {
    input: DesignInput<'a>,
    measurements: Vec<Measurement>,
    /// Why nothing more can be run today.
    broke_off: Option<String>,
    /// The error, if a person must fix it.
    failure: Option<AppError>,
    notes: Vec<String>,
}

impl DesignLoop<'_> {
    /// Runs the design on one configuration; returns why the adaptive design ended.
    async fn run(
        &mut self,
        instance: &InstanceConfiguration,
        runs: &PlannedRuns,
        runner: &Runner<'_>,
    ) -> Option<StopReason> {
        match runs {
            PlannedRuns::Ladder(sizes) => self.climb(instance, sizes, runner).await,
            PlannedRuns::Fixed(runs) => {
                self.run_all(instance, runs, runner).await;
                None
            }
        }
    }

    /// The fixed design: the fewest runs of a forecast, and then every one that is within `canary.max_share`; all of them as
    /// far as they fit into the spend limit.
    async fn run_all(
        &mut self,
        instance: &InstanceConfiguration,
        runs: &[CanaryRun],
        runner: &Runner<'_>,
    ) {
        let offer = self.offer(instance);
        let (fewest, more) = runs.split_at(plan::fewest(runs));
        self.run_batch(fewest, more.len(), &offer, runner).await;
        let is_complete = self.on(instance).iter().all(Measurement::is_completed);
        if more.is_empty() || !is_complete || self.broke_off.is_some() {
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
        self.run_batch(&more[..fitting], 0, &offer, runner).await;
    }

    /// Runs some canaries of the fixed design on one configuration; `to_come` more are planned after them.
    async fn run_batch(
        &mut self,
        runs: &[CanaryRun],
        to_come: usize,
        offer: &Offer,
        runner: &Runner<'_>,
    ) {
        let Some(instance) = runs.first().map(|run| &run.instance) else {
            return;
        };
        if runner.cancellation.is_cancelled() {
            return;
        }
        let earlier = Earlier {
            runs: self.on(instance).len(),
            to_come,
            is_open: false,
        };
        let ran = self.run_canaries(runner, runs, offer, earlier).await;
        if ran.too_expensive > 0 {
            self.notes.push(format!(
                "{} of {} canaries on {instance} were not run: earlier ones cost more than they were to, and these could have passed {}.",
                ran.too_expensive,
                to_come + runs.len(),
                self.input.ledger.tighter().name(),
            ));
        }
        self.keep(ran, runner);
    }

    /// Keeps what was measured, and what broke the batch off.
    fn keep(&mut self, ran: Ran, runner: &Runner<'_>) {
        self.measurements.extend(ran.measurements);
        match ran.failure {
            None => {}
            Some(error) if error.is_transient() => {
                runner.say_of(self.input.job, &format!("× {}", error.in_a_line()));
                self.broke_off = Some(error.in_a_line());
                self.notes.extend(error.remedy().map(runner::what_to_do));
            }
            Some(error) => {
                self.broke_off = Some(error.in_a_line());
                self.failure = Some(error);
            }
        }
    }

    /// The adaptive design: one run at a time, until it says why no more. `None` where a signal ended it.
    async fn climb(
        &mut self,
        instance: &InstanceConfiguration,
        ladder: &[LadderSize],
        runner: &Runner<'_>,
    ) -> Option<StopReason> {
        let offer = self.offer(instance);
        loop {
            let here = self.on(instance);
            let rungs = self.rungs(instance, ladder, here.len());
            let spent = here.iter().filter_map(Measurement::time).sum();
            let left = self.input.ledger.seconds_left(&offer);
            let shortest = self.shortest(&here);
            let forecast = provisional(&offer, &here);
            // Two runs leave every forecast in doubt; the third is chosen by what they say.
            let is_in_doubt = plan::has_enough(&here)
                && (forecast.is_rough() || forecast.doubt(Metric::Time).is_some());
            let next = plan::next(&Situation {
                ladder: &rungs,
                measurements: &here,
                budget: left.map(|left| spent + left),
                spent,
                max_runtime: self.input.job.canary.max_runtime,
                shortest,
                aim: self.aim(&offer, &here, &forecast),
                doubt: is_in_doubt.then(|| self.allowed_by_the_budget(&offer)),
                spending: self.spending(instance, &offer),
            });
            let (rung, limit) = match next {
                Next::Run { rung, limit } => (rung, limit),
                Next::Done(done) => return Some(done),
            };
            let run = plan::canary(
                self.input.job,
                self.input.dataset,
                instance,
                &rung.size,
                &here,
                limit,
            );
            let earlier = Earlier {
                runs: here.len(),
                to_come: 0,
                is_open: true,
            };
            let ran = self.run_canaries(runner, &[run], &offer, earlier).await;
            self.keep(ran, runner);
            if runner.cancellation.is_cancelled() || self.broke_off.is_some() {
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

    /// How long the full run may take by the budget's lines of time and cost; 0 without one.
    fn allowed_by_the_budget(&self, offer: &Offer) -> Seconds {
        let seconds = |line: &BudgetLine| match line.kind {
            LineKind::Absolute(Metric::Time) => Some(line.limit.number),
            LineKind::Absolute(Metric::Cost) => {
                Some(line.limit.number / offer.cost(Seconds(1.0))?.0)
            }
            _ => None,
        };
        let budget = &self.input.job.budget;
        let of_fail = budget.lines.iter().filter(|line| line.level == Level::Fail);
        Seconds(of_fail.filter_map(seconds).reduce(f64::min).unwrap_or(0.0))
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

    async fn run_canaries(
        &self,
        runner: &Runner<'_>,
        runs: &[CanaryRun],
        offer: &Offer,
        earlier: Earlier,
    ) -> Ran {
        let DesignInput {
            job,
            place,
            ready,
            ledger,
            records,
            ..
        } = self.input;
        let of = RunningJob {
            job,
            place,
            ready,
            ledger,
            records,
        };
        runner::run(runner, of, runs, offer, earlier).await
    }

    /// The shortest canary that measures what a written line still needs.
    fn shortest(&self, measurements: &[Measurement]) -> Option<Seconds> {
        let mut lines = self.input.job.budget.lines.iter();
        let needs_memory = self.input.purpose == Purpose::Budget
            && lines.any(|line| {
                line.kind.memory_of().is_some()
                    && line.origin == LineOrigin::Written
                    && line.level == Level::Fail
            });
        needs_memory.then(|| plan::shortest_for_memory(measurements))?
    }

    /// Whether the measurements decide every line that can fail the check; without a written one, whether the forecast of
    /// the time is narrow.
    fn aim(&self, offer: &Offer, measurements: &[Measurement], forecast: &Forecast) -> Aim {
        let budget = &self.input.job.budget;
        let lines = verdict::judge(budget, forecast, offer, None);
        let counting: Vec<&JudgedLine> = lines.iter().filter(|line| line.counts()).collect();
        let is_written = |line: &&JudgedLine| line.origin == LineOrigin::Written;
        if self.input.purpose == Purpose::Budget && counting.iter().any(is_written) {
            // What stays unknown with the fewest runs is not measured, and more runs would not change that.
            let has_enough = plan::has_enough(measurements);
            let certainty = if has_enough {
                budget.certainty
            } else {
                Fraction(1.0 - (1.0 - budget.certainty.0) * CHANCE_FOR_A_SHORT_CUT)
            };
            // Other canaries may still decide what one beyond its time limit left unknown.
            let is_bounded = forecast.time_at_least.is_some() && forecast[Metric::Time].is_err();
            // A source that looks seldom leaves a doubt that more canaries do not end.
            let is_open_for_ever = |line: &JudgedLine| match line.row.verdict {
                LineVerdict::Unknown => !is_bounded,
                LineVerdict::AtRisk => (line.row.line.metric())
                    .and_then(|metric| forecast.doubt(metric))
                    .is_some_and(Doubt::is_of_source),
                _ => false,
            };
            let completed = measurements.iter().filter(|run| run.is_completed()).count();
            let is_clear = |line: &JudgedLine| completed > 1 && is_tenfold(line);
            let decided = counting.iter().all(|line| match has_enough {
                true => line.is_decided(certainty) || is_open_for_ever(line),
                false => line.is_decided(certainty) || is_clear(line),
            });
            let is_within = |line: &&JudgedLine| line.row.verdict == LineVerdict::Within;
            let is_rough = forecast.is_rough() && !is_within_if_cubic(forecast, &counting);
            return match decided {
                false => Aim::GoOn,
                true if is_rough && counting.iter().all(is_within) => {
                    Aim::OneSizeFurther(Reached::Decided)
                }
                true => Aim::Reached(Reached::Decided),
            };
        }
        let is_narrow = forecast[Metric::Time].as_ref().is_ok_and(|time| {
            time.quantile(budget.certainty.0) <= NARROW * time.quantile(1.0 - budget.certainty.0)
        });
        if is_narrow {
            Aim::Reached(Reached::Narrow)
        } else {
            Aim::GoOn
        }
    }

    /// Why the adaptive design ended on `instance`, for the report.
    fn ending(&self, done: StopReason) -> String {
        let limit = self.input.ledger.tighter();
        let amount = match limit {
            TighterLimit::OfTheJob => self.input.job.canary.spend_limit.to_string(),
            TighterLimit::OfTheRun => match self.input.ledger.left() {
                Some(left) => format!("{left} left for the whole run"),
                None => "for the whole run".to_owned(),
            },
        };
        let limit = limit.name();
        match done {
            StopReason::Reached(Reached::Decided) => {
                "No more canaries were run: the budget is decided as far as canaries can."
                    .to_owned()
            }
            StopReason::Reached(Reached::Narrow) => format!(
                "No more canaries were run: the upper end of the time is at most {NARROW} times the lower."
            ),
            StopReason::NothingHelps => format!(
                "No more canaries were run: every size of {} was run, or does not fit into {limit} and canary.max_runtime.",
                match self.input.job.differs_in_work_alone() {
                    true => "work.canary",
                    false => "canary.fractions",
                }
            ),
            StopReason::MaxRuntime => format!(
                "No more canaries were run: a larger one may take longer than canary.max_runtime ({}); a longer one would narrow the forecast.",
                self.input.job.canary.max_runtime
            ),
            StopReason::BeyondTheShare => format!(
                "No more canaries were run: with another one they would take more than canary.max_share ({}) of the full run.",
                self.input.job.canary.max_share
            ),
            StopReason::NoTimes => {
                "no canary measured a time, which the adaptive design plans with".to_owned()
            }
            StopReason::TooExpensive => format!(
                "the canaries that a forecast needs do not fit into {limit} ({amount}) and canary.max_runtime ({}); raise one of them",
                self.input.job.canary.max_runtime
            ),
            StopReason::Ended => {
                "No more canaries were run after one that did not complete.".to_owned()
            }
        }
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

/// Whether the forecast is ten times a line's limit: then two canaries decide it. A tenth of it they do not, for they are far too
/// small to show how the time grows.
fn is_tenfold(line: &JudgedLine) -> bool {
    let limit = line.row.limit;
    (line.estimate).is_some_and(|estimate| estimate.point >= TENFOLD * limit)
}

/// Whether time and cost would be within budget even if all growth up to the largest canary were that of a cube.
fn is_within_if_cubic(forecast: &Forecast, lines: &[&JudgedLine]) -> bool {
    let Some(times) = forecast.times_if_cubic() else {
        return false;
    };
    let is_of_time =
        |line: &&&JudgedLine| matches!(line.row.line.metric(), Some(Metric::Time | Metric::Cost));
    lines.iter().filter(is_of_time).all(|line| {
        let point = line.estimate.map(|estimate| estimate.point);
        point.is_some_and(|point| point * times <= line.row.limit)
    })
}
