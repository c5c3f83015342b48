//! What is next on a configuration, by what is known of it, and in words why it ended.

use super::LabInput;
use super::configuration::{AskedRuns, BatchKind, CanaryBatch, Configuration, ConfigurationState};
use crate::assess::unfinished;
use crate::backend::RunPart;
use crate::canary::CanaryRun;
use crate::forecast::scale_out::DataLayout;
use crate::forecast::{self, Basis, FEWEST_RUNS, Forecast};
use crate::instance::{InstanceConfiguration, Offer};
use crate::measurement::{self, Measurement, Outcome};
use crate::metric::MemoryOf;
use crate::plan::{
    self, Aim, LadderSize, Limit, NARROW, NotMeasured, PlannedRuns, Reached, RoundRule, RoundRun,
    Rung, Situation, StopReason, TIME_TO_STOP,
};
use crate::spec::{Budget, BudgetLine, Level, LineOrigin};
use crate::units::{Fraction, Seconds};
use crate::verdict::Reason;

/// A configuration as its design sees it.
pub(super) struct ConfigurationDesign<'a> {
    pub(super) input: &'a LabInput<'a>,
    pub(super) one: &'a Configuration,
    /// How the data reach the hosts of the full run.
    pub(super) layout: &'a DataLayout,
    pub(super) state: &'a ConfigurationState,
    /// The state of the configurations before it.
    pub(super) before: &'a [ConfigurationState],
    /// Whether nothing more is to be run.
    pub(super) is_over: bool,
}

pub(super) enum NextCanaries {
    /// And a note.
    Run(CanaryBatch, Option<String>),
    /// The canary on a further count of machines, with a note.
    LeaveOut(InstanceConfiguration, String),
    /// Of a fixed design.
    LeaveOutTheRest(String),
    /// Why the adaptive design ended; `None` for the fixed one, and where a signal or a failure ended it.
    Done(Option<StopReason>),
}

impl ConfigurationDesign<'_> {
    /// `None` where it waits for what canaries that have ended used.
    pub(super) fn next(&self) -> Option<NextCanaries> {
        let state = self.state;
        if state.done.is_some() || state.broke_off.is_some() || self.is_over {
            return Some(NextCanaries::Done(state.done));
        }
        match &self.one.planned.runs {
            Ok(PlannedRuns::Ladder(sizes)) => {
                let goes_on = !self.one.is_on_fewer() && self.goes_on_in_any_case();
                if !state.late.is_empty() && !goes_on {
                    return None;
                }
                Some(self.next_count().unwrap_or_else(|| self.next_batch(sizes)))
            }
            Ok(PlannedRuns::Fixed(runs)) => Some(self.next_fixed(runs)),
            Err(_) => Some(NextCanaries::Done(None)),
        }
    }

    /// The fixed design: the fewest runs of a forecast, and then every one that is within `canary.max_share`; all of them as far as
    /// they fit into the account. What is collected is paid, so all of it is read; and nobody looks between those that are only
    /// started, so that those of an alternative fit together or not at all.
    fn next_fixed(&self, runs: &[CanaryRun]) -> NextCanaries {
        let (fewest, more) = runs.split_at(match self.input.runner.part {
            RunPart::Collect | RunPart::Detach => runs.len(),
            RunPart::Whole => plan::fewest(runs),
        });
        if self.state.asked == AskedRuns::Nothing {
            if !(self.one.account).fits_pull_request(self.state.worst_of_the_fewest) {
                return NextCanaries::LeaveOutTheRest(self.refused(runs.len(), runs.len()));
            }
            let is_alternative = !self.before.is_empty();
            if self.input.runner.part == RunPart::Detach && is_alternative && !self.covers(runs) {
                return NextCanaries::Done(None);
            }
            let limited = |run: &CanaryRun| match self.one.planned.follows {
                // The canary on a further count of machines, with a time limit that the money pays for.
                true => CanaryRun {
                    max_runtime: self.limit_of_count(run).or(run.max_runtime),
                    ..run.clone()
                },
                false => run.clone(),
            };
            let fewest: Vec<CanaryRun> = fewest.iter().map(limited).collect();
            return match fewest.is_empty() {
                true => NextCanaries::Done(None),
                false => {
                    let batch = self.state.batch(BatchKind::Fixed, fewest, Some(more.len()));
                    NextCanaries::Run(batch, None)
                }
            };
        }
        if let Some(count) = self.next_count() {
            return count;
        }
        let is_complete = self.state.measured.iter().all(Measurement::is_completed);
        if more.is_empty() || self.state.asked == AskedRuns::All || !is_complete {
            return NextCanaries::Done(None);
        }
        let (job, base) = (self.input.job, &self.one.planned.base);
        let fitting = plan::within_the_share(job, base, &self.state.measured, more);
        let note = (fitting < more.len()).then(|| {
            format!(
                "{} of {} canaries on {} were not run: with them all canaries would take more than canary.max_share ({}) of the full run.",
                more.len() - fitting,
                runs.len(),
                self.one.planned.runs_on(),
                job.canary.max_share,
            )
        });
        match note {
            Some(note) if fitting == 0 => NextCanaries::LeaveOutTheRest(note),
            note => {
                let runs = more[..fitting].to_vec();
                NextCanaries::Run(self.state.batch(BatchKind::Fixed, runs, Some(0)), note)
            }
        }
    }

    /// Whether the account has the money for all of them.
    fn covers(&self, runs: &[CanaryRun]) -> bool {
        let offer = |run: &CanaryRun| (self.input.runner).offer(self.input.job, &run.instance);
        let worst = |run| plan::worst_case(std::slice::from_ref(run), &offer(run));
        self.one.account.covers(runs.iter().filter_map(worst).sum())
    }

    /// A note that so many of those of the fixed design were refused.
    pub(super) fn refused(&self, refused: usize, of: usize) -> String {
        let limit = self.one.account.limit();
        let why = match limit {
            Limit::PullRequest => format!("{limit} refused them"),
            _ => format!("earlier canaries cost more than planned, and these could exceed {limit}"),
        };
        let instance = &self.one.planned.instance;
        format!("{refused} of {of} canaries on {instance} were not run: {why}.")
    }

    /// The adaptive design: the next round.
    fn next_batch(&self, ladder: &[LadderSize]) -> NextCanaries {
        match self.round(ladder) {
            Ok(runs) => NextCanaries::Run(self.state.batch(BatchKind::Round, runs, None), None),
            Err(done) => NextCanaries::Done(Some(done)),
        }
    }

    /// The share of its progress at which the full run may be ended that is begun here as a canary.
    pub(super) fn progress_share(&self) -> Option<Fraction> {
        let (job, planned) = (self.input.job, &self.one.planned);
        let work = job.work.as_ref().map(|work| work.full);
        let supply = (self.input.ready).supply(&planned.base, Fraction(1.0), work);
        // Checks for drift compare canaries of the same size.
        let is_asked = !self.input.request.is_drift && supply != Some(0);
        planned.progress_share(job).filter(|_| is_asked)
    }

    fn round(&self, ladder: &[LadderSize]) -> Result<Vec<CanaryRun>, StopReason> {
        let (job, one, here) = (self.input.job, self.one, &self.state.measured);
        let (dataset, base) = (self.input.dataset, &one.planned.base);
        // The same code would fail again, on more data.
        let is_bad = |run: &&Measurement| {
            !run.is_completed() && run.outcome != Outcome::TimedOut && !run.is_on(&one.planned.base)
        };
        if here.iter().any(|run| is_bad(&run)) {
            return Err(StopReason::Ended);
        }
        let on_base = self.on_base();
        let passed_over = measurement::on(here, &one.planned.base).len() - on_base.len();
        let rungs = self.rungs(&ladder[passed_over..], on_base.len());
        let spent = self.taken();
        // Its machines may be kept after it, which is set aside with it.
        let kept = self.kept_after(&one.planned.base);
        let offer = self.input.runner.offer(job, &one.planned.base);
        let left = one.account.seconds_left(&offer);
        let left = left.map(|left| left - self.kept_for_counts(left));
        let left = left.map(|left| Seconds((left.0 - kept.0).max(0.0)));
        let forecast = self.provisional(&on_base);
        // Two runs leave every forecast in doubt; the third is chosen by what they say.
        let [all, few] = [&one.planned.instance, base].map(|one| f64::from(one.total_count()));
        let machines = all / few;
        let allowed = plan::allowed_by_the_budget(job, &one.full_run_offer);
        let is_in_doubt = plan::has_enough(&on_base) && forecast.is_in_doubt();
        let situation = Situation {
            ladder: &rungs,
            measurements: &on_base,
            budget: left.map(|left| spent + left),
            spent,
            max_runtime: job.canary.max_runtime,
            shortest: self.shortest(&on_base),
            aim: self.aim(&job.budget, &on_base, &forecast),
            doubt: is_in_doubt.then(|| allowed.unwrap_or(Seconds(0.0)) * machines),
            // Each configuration by its own full run.
            share: self.share_with_room(),
        };
        // Levels of work take turns run by run, and those of a round would have one.
        let levels = [0, 1].map(|more| plan::level(job, on_base.len() + more));
        let at_once = match levels[0] == levels[1] {
            true => self.input.ready.room(&one.planned.base).at_once as usize,
            false => 1,
        };
        let next = plan::next_round(
            &situation,
            &RoundRule {
                at_once,
                beside: TIME_TO_STOP + kept,
                aim_after: &|runs| self.aim(&job.budget, runs, &self.provisional(runs)),
                shortest_after: &|runs| self.shortest(runs),
            },
        );
        let instead = next.as_ref().map(|round| &round[0]).map_err(|done| *done);
        let limit = (self.progress_share())
            .and_then(|share| plan::limit_of_full_run(&situation, instead, share));
        if let Some(limit) = limit {
            return Ok(vec![plan::begun_full_run(job, dataset, base, limit)]);
        }
        let earlier: Vec<Fraction> = on_base.iter().map(|run| run.fraction).collect();
        let canary = |RoundRun { rung, limit }: RoundRun| {
            plan::canary(job, dataset, base, &rung.size, &earlier, limit)
        };
        Ok(next?.into_iter().map(canary).collect())
    }

    fn rungs(&self, ladder: &[LadderSize], earlier: usize) -> Vec<Rung> {
        let (ready, base) = (self.input.ready, &self.one.planned.base);
        let work = plan::level(self.input.job, earlier);
        let level = work.as_ref().map(|work| work.level);
        ladder
            .iter()
            .map(|size| Rung {
                size: *size,
                work: work.as_ref().map_or(1.0, |work| work.level / work.full),
                supply: ready.supply(base, size.fraction, level),
            })
            .collect()
    }

    /// The shortest canary that measures what a written line still needs.
    pub(super) fn shortest(&self, measurements: &[Measurement]) -> Option<Seconds> {
        self.written_memory()
            .filter_map(|of| plan::shortest_for_memory(measurements, of))
            .max_by(|one, other| one.0.total_cmp(&other.0))
    }

    /// The memory that written lines which can fail the check are about.
    pub(super) fn written_memory(&self) -> impl Iterator<Item = MemoryOf> {
        let of_budget = !self.input.request.is_drift;
        let lines = self.input.job.budget.lines.iter();
        let written = lines.filter(move |line| of_budget && is_written_to_fail(line));
        written.filter_map(|line| line.kind.memory_of())
    }

    /// Whether the measurements decide what the job's canaries are run for, by the lines of a budget.
    pub(super) fn aim(
        &self,
        budget: &Budget,
        measurements: &[Measurement],
        forecast: &Forecast,
    ) -> Aim {
        match self.input.request.is_drift {
            true => plan::aim_without_lines(budget.certainty, forecast),
            false => plan::aim(budget, &self.one.full_run_offer, measurements, forecast),
        }
    }

    /// Why an alternative whose design has ended is not measured.
    pub(super) fn why_not(&self, done: Option<StopReason>) -> Option<NotMeasured> {
        let measured = &self.state.measured;
        if self.state.broke_off.is_some() {
            return Some(NotMeasured::CouldNotRun);
        }
        let is_refused = match &self.one.planned.runs {
            Ok(PlannedRuns::Fixed(runs)) => {
                let is_own = match self.input.runner.part {
                    RunPart::Detach => self.state.asked == AskedRuns::Nothing,
                    // Others ran on fewer of its machines, and its own canary was refused.
                    RunPart::Whole | RunPart::Collect => self.one.planned.follows,
                };
                is_own && measured.is_empty() && !runs.is_empty() && !self.is_over
            }
            // One that did not complete says more than what could not follow it.
            _ => {
                done == Some(StopReason::TooExpensive)
                    && measured.iter().all(Measurement::is_completed)
            }
        };
        is_refused.then(|| NotMeasured::NothingLeft(self.one.account.limit()))
    }

    /// Why the adaptive design ended on `instance`, for the report.
    pub(super) fn ending(&self, done: StopReason) -> Reason {
        let (job, limit) = (self.input.job, self.one.account.limit());
        let (share, longest) = (job.canary.max_share, job.canary.max_runtime);
        let sizes = match job.differs_in_work_alone() {
            true => "work.canary",
            false => "canary.fractions",
        };
        let has_unread = self.state.measured.iter().any(Measurement::is_unread);
        let why = match done {
            StopReason::TooExpensive => {
                return self.refusal().unwrap_or_else(|| self.unaffordable());
            }
            StopReason::NoTimes => {
                let why = "no canary measured a time, which the adaptive design plans with";
                return Reason::new(why);
            }
            StopReason::Reached(Reached::Decided) => {
                ": the budget is decided as far as canaries can"
            }
            StopReason::Reached(Reached::Narrow) => {
                &format!(": the upper end of the time is at most {NARROW} times the lower")
            }
            StopReason::NothingHelps => &format!(
                ": every size of {sizes} was run, or does not fit into {limit} and canary.max_runtime"
            ),
            StopReason::MaxRuntime => &format!(
                ": a larger one may take longer than canary.max_runtime ({longest}); a longer one would narrow the forecast"
            ),
            StopReason::BeyondTheShare => &format!(
                ": with another one they would take more than canary.max_share ({share}) of the full run"
            ),
            StopReason::Ended if has_unread => " after one that opened no file of its sample",
            StopReason::Ended => " after one that did not complete",
        };
        Reason::new(format!("No more canaries were run{why}."))
    }

    /// That the limit does not pay for the fewest canaries of a forecast.
    fn unaffordable(&self) -> Reason {
        let (account, canary) = (&self.one.account, &self.input.job.canary);
        let (limit, longest) = (account.limit(), canary.max_runtime);
        let counted = |amount| self.one.planned.offer.counted(amount);
        let whole = counted(canary.spend_limit);
        let amount = match (limit, self.input.account.left(), account.most()) {
            (Limit::Run, Some(left), _) => format!("{left} left for the whole run"),
            (Limit::Run, None, _) => "for the whole run".to_owned(),
            (_, _, Some(part)) if part < canary.spend_limit => {
                let part = counted(part);
                format!("{part}, which `instance` has of {whole} beside its alternatives")
            }
            _ => whole,
        };
        let raised = limit.raised();
        Reason::new(format!(
            "the canaries that a forecast needs do not fit into {limit} ({amount}) and canary.max_runtime ({longest})"
        ))
        .advising(format!("raise {raised} or canary.max_runtime"))
    }

    /// That there is no money for the fewest canaries on `instance`. One that did not complete says more than what could not follow
    /// it.
    pub(super) fn too_expensive(&self, ending: Option<&Reason>) -> Option<Reason> {
        let measured = &self.state.measured;
        if unfinished::cause(measured, None).is_some() {
            return None;
        }
        let is_ended = matches!(
            self.state.done,
            Some(StopReason::TooExpensive | StopReason::NoTimes)
        );
        let ending = ending.filter(|_| is_ended).cloned();
        ending.or_else(|| self.refusal().filter(|_| !plan::has_enough(measured)))
    }

    /// Why the pull request's limit refused a canary of this configuration, and what to do; `None` where it refused none.
    fn refusal(&self) -> Option<Reason> {
        let is_refused = self.one.account.limit() == Limit::PullRequest;
        (self.input.pull_request.refusal()).filter(|_| is_refused)
    }
}

/// Whether a line is written, and can fail the check.
pub(super) fn is_written_to_fail(line: &BudgetLine) -> bool {
    line.origin == LineOrigin::Written && line.level == Level::Fail
}

/// What the canaries so far say, however few they are.
pub(super) fn provisional(offer: &Offer, measurements: &[Measurement]) -> Forecast {
    let mut comparable = measurements.to_vec();
    measurement::choose_memory_sources(&mut comparable, FEWEST_RUNS);
    forecast::provisional(&Basis {
        offer,
        measurements: &comparable,
    })
}
