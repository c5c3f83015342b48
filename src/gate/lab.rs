//! **The lab**: the canaries of a job. One loop starts what is next on each configuration, and hears what becomes of it; what is
//! next follows from what is known of that configuration alone, so that the report is the same in whatever order canaries end.

mod configuration;
mod counts;
mod design;

use std::slice::from_ref;

use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::mpsc;

pub(crate) use self::counts::beyond_the_share;

use self::configuration::{
    AskedRuns, BatchKind, CanaryBatch, Configuration, ConfigurationStage, ConfigurationState,
};
use self::design::{ConfigurationDesign, NextCanaries};
use crate::backend::{EndedPool, Ready, RunPart};
use crate::canary::{CanaryRun, Dataset};
use crate::change::AffectedJob;
use crate::console::AppError;
use crate::forecast::scale_out::DataLayout;
use crate::gate::batch::{self, CanaryFate, CanaryMeans, Ran};
use crate::gate::ended_pools;
use crate::gate::pull_request_limit::PullRequestLimit;
use crate::gate::request::RunRequest;
use crate::gate::run_history::Records;
use crate::gate::runner::Runner;
use crate::instance::InstanceConfiguration;
use crate::measurement::{self, Measurement};
use crate::plan::{self, Account, KeptMachines, NotMeasured, Plan, StopReason};
use crate::spec::Job;
use crate::verdict::Reason;

/// A job whose canaries are run.
pub(crate) struct LabInput<'a> {
    pub(crate) runner: &'a Runner<'a>,
    pub(crate) affected: &'a AffectedJob<'a>,
    pub(crate) job: &'a Job,
    pub(crate) dataset: &'a Dataset,
    pub(crate) ready: &'a dyn Ready,
    /// `None` if no run of the job is kept, and none is reused.
    pub(crate) records: Option<&'a Records<'a>>,
    pub(crate) request: &'a RunRequest<'a>,
    pub(crate) account: &'a Account,
    pub(crate) pull_request: &'a PullRequestLimit,
}

/// The results of a job's canaries.
#[derive(Default)]
pub(crate) struct JobMeasurements {
    /// On `instance` and on the alternatives.
    pub(crate) measurements: Vec<Measurement>,
    /// Why there are fewer on `instance` than a forecast needs: they were not affordable, or could not be run today.
    pub(crate) broke_off: Option<Reason>,
    /// The error that ended the canaries on `instance`: of those that are waited for only one that a person must fix.
    pub(crate) failure: Option<AppError>,
    /// Canaries that nobody waits for, and those without money or room, in the order of the plan.
    pub(crate) standing: Vec<(CanaryRun, CanaryFate)>,
}

/// Runs the plan's canaries as far as this part of the run goes. An alternative never fails the job: one that cannot be run is
/// marked so in the plan. No machine is kept after it; of one that may still be billed the plan has a note, before the others.
///
/// # Errors
///
/// Where the history cannot be read.
pub(crate) async fn measure(
    input: &LabInput<'_>,
    plan: &mut Plan,
) -> Result<JobMeasurements, AppError> {
    let configurations = Configuration::all(input, plan);
    let mut states = Vec::with_capacity(configurations.len());
    for one in &configurations {
        states.push(ConfigurationState::new(input, one).await?);
    }
    let kept = KeptMachines::default();
    let (freed, heard) = mpsc::unbounded_channel();
    let mut lab = Lab {
        input,
        kept: &kept,
        configurations: &configurations,
        states,
        layout: DataLayout::of(input.job, Some(input.dataset)),
        given_up: None,
        late_failure: None,
        under_way: FuturesUnordered::new(),
        batches: 0,
        freed,
        heard,
    };
    lab.run().await;
    let (mut measured, ended) = lab.into_measurements(plan);
    let measurements = &mut measured.measurements;
    let account = (input.account, &kept);
    let left = ended_pools::end_all(input.ready, ended, measurements, account, input.runner).await;
    plan.notes.splice(0..0, left);
    Ok(measured)
}

/// A canary, by configuration, batch and its place there, whose machines are free: what it gave, as far as that is known.
type FreedCanary = (usize, usize, usize, Measurement);

/// What has come to its end on a configuration.
enum EndedStep {
    Batch(usize, Ran),
    Pools(Vec<EndedPool>),
}

struct Lab<'a> {
    input: &'a LabInput<'a>,
    kept: &'a KeptMachines,
    /// `instance` first, then the alternatives.
    configurations: &'a [Configuration],
    states: Vec<ConfigurationState>,
    layout: DataLayout,
    /// Why no alternative is measured any more.
    given_up: Option<NotMeasured>,
    /// One that came with late points, of the first place and batch of those that did.
    late_failure: Option<((usize, usize), AppError)>,
    under_way: FuturesUnordered<LocalBoxFuture<'a, (usize, EndedStep)>>,
    /// How many were started.
    batches: usize,
    freed: mpsc::UnboundedSender<FreedCanary>,
    heard: mpsc::UnboundedReceiver<FreedCanary>,
}

impl<'a> Lab<'a> {
    async fn run(&mut self) {
        loop {
            for place in 0..self.states.len() {
                self.go_on(place);
            }
            tokio::select! {
                // What has ended as a whole is not late.
                biased;
                ended = self.under_way.next() => match ended {
                    Some((place, EndedStep::Batch(batch, ran))) => self.take(place, batch, ran),
                    Some((place, EndedStep::Pools(ended))) => self.end(place, ended),
                    None => return,
                },
                Some((place, batch, index, measurement)) = self.heard.recv() => {
                    self.hear(place, batch, index, measurement);
                }
            }
        }
    }

    /// Does what is next on a configuration, as far as that is known.
    fn go_on(&mut self, place: usize) {
        loop {
            match self.states[place].stage {
                ConfigurationStage::Waiting => match self.may_begin(place) {
                    None => return,
                    Some(Ok(())) => self.states[place].stage = ConfigurationStage::Idle,
                    Some(Err(why)) => {
                        self.states[place].why_not = Some(why);
                        self.states[place].stage = ConfigurationStage::Ended;
                    }
                },
                ConfigurationStage::Idle => match self.design(place).next() {
                    None => return,
                    Some(NextCanaries::Run(batch, note)) => {
                        self.states[place].notes.extend(note);
                        self.start(place, batch);
                    }
                    Some(NextCanaries::LeaveOut(canary, note)) => {
                        self.states[place].left_out.push(canary);
                        self.states[place].notes.push(note);
                    }
                    Some(NextCanaries::LeaveOutTheRest(note)) => {
                        self.states[place].asked = AskedRuns::All;
                        self.states[place].notes.push(note);
                    }
                    Some(NextCanaries::Done(done)) => {
                        self.states[place].why_not = self.design(place).why_not(done);
                        self.states[place].done = done;
                        self.pass_over(place);
                        self.end_pools(place);
                    }
                },
                ConfigurationStage::Busy | ConfigurationStage::Ended => return,
            }
        }
    }

    fn design(&self, place: usize) -> ConfigurationDesign<'_> {
        ConfigurationDesign {
            input: self.input,
            one: &self.configurations[place],
            layout: &self.layout,
            state: &self.states[place],
            before: &self.states[..place],
            is_over: self.is_over(place),
        }
    }

    /// Whether an alternative begins, or is not measured; `None` where that is not known yet.
    fn may_begin(&self, place: usize) -> Option<Result<(), NotMeasured>> {
        if place == 0 {
            return Some(Ok(()));
        }
        if let Some(why_not) = &self.given_up {
            return Some(Err(why_not.clone()));
        }
        // There is no verdict yet: what is read of it now would have no cost in the report that has one.
        let is_unjudged =
            self.input.runner.part == RunPart::Collect && self.states[0].broke_off.is_some();
        if self.late_failure.is_some() || is_unjudged {
            return Some(Err(NotMeasured::CouldNotRun));
        }
        // Before a signal it did not come to its turn.
        if self.input.runner.cancellation.is_cancelled() {
            return Some(Ok(()));
        }
        let one = &self.configurations[place];
        let mut before = self.states[..place].iter();
        let is_next = before.all(|state| state.stage == ConfigurationStage::Ended);
        // `instance` has proved role, image and code, and the machines are not those of the ones before.
        let may_run_beside = self.input.runner.project.traits().is_remote
            && !one.planned.follows
            && self.states[0].is_proved
            // What the pull request has left may not pay for both, and `instance` is judged.
            && self.input.account.is_covered()
            && self.has_room_beside_those_before(place);
        (is_next || may_run_beside).then(|| self.design(place).has_base())
    }

    /// Between two rounds those before use no machines, but need them again, and may keep some.
    fn has_room_beside_those_before(&self, place: usize) -> bool {
        let own = &self.configurations[place].planned.instance;
        let before = self.configurations.iter().zip(&self.states[..place]);
        let at_work = before.filter(|(_, state)| state.stage != ConfigurationStage::Ended);
        let at_work = at_work.map(|(one, _)| &one.planned.instance).chain([own]);
        let is_alike = |one: &&InstanceConfiguration| one.single_type() == own.single_type();
        let instances: Vec<&InstanceConfiguration> = at_work.filter(is_alike).collect();
        instances.len() < 2 || self.input.ready.has_room_for_all(&instances)
    }

    /// Whether nothing more is to be run: after a signal, a failure on `instance`, or one that came late.
    fn is_over(&self, place: usize) -> bool {
        self.input.runner.cancellation.is_cancelled()
            || self.late_failure.is_some()
            || !self.configurations[place].is_wanted.get()
    }

    fn start(&mut self, place: usize, batch: CanaryBatch) {
        let one = &self.configurations[place];
        let (runner, number) = (self.input.runner, self.batches);
        let by = CanaryMeans {
            job: self.input.job,
            ready: self.input.ready,
            records: self.input.records,
            kept: self.kept,
            account: &one.account,
            is_wanted: &one.is_wanted,
        };
        let (runs, earlier, freed) = (batch.runs.clone(), batch.earlier, self.freed.clone());
        // What is collected waits for no machine.
        let is_heard = runner.part != RunPart::Collect;
        self.under_way.push(Box::pin(async move {
            // Nobody hears it once all are free.
            let freed = |index, measurement| {
                if is_heard {
                    drop(freed.send((place, number, index, measurement)));
                }
            };
            let ran = batch::run(runner, by, &runs, earlier, &freed).await;
            (place, EndedStep::Batch(number, ran))
        }));
        self.batches += 1;
        let state = &mut self.states[place];
        if matches!(batch.kind, BatchKind::Fixed) {
            state.asked = match state.asked {
                AskedRuns::Nothing => AskedRuns::TheFewest,
                AskedRuns::TheFewest | AskedRuns::All => AskedRuns::All,
            };
        }
        state.stage = ConfigurationStage::Busy;
        state.batch = Some(CanaryBatch { number, ..batch });
    }

    /// The machines of a canary are free. Where those of its batch are, and all have completed, what they used is collected while
    /// others run.
    fn hear(&mut self, place: usize, number: usize, index: usize, measurement: Measurement) {
        self.learn(place, from_ref(&measurement));
        let state = &mut self.states[place];
        let Some(batch) = state.batch.as_mut().filter(|one| one.number == number) else {
            return;
        };
        batch.free.insert(index, measurement);
        let is_free = batch.free.len() == batch.runs.len()
            && batch.free.values().all(Measurement::is_completed);
        if is_free && let Some(batch) = state.batch.take() {
            state.late.insert(number, state.measured.len());
            state.measured.extend(batch.free.into_values());
            state.stage = ConfigurationStage::Idle;
        }
    }

    /// What a completed or failed canary says of the others.
    fn learn(&mut self, place: usize, measurements: &[Measurement]) {
        self.states[place].is_proved |= measurements.iter().any(Measurement::is_completed);
        // The smallest may be passed over, which the end shows.
        let is_passable = |run| (self.configurations[place].planned).passes_over(from_ref(run));
        let is_bad = |run| Measurement::has_failed(run) && !is_passable(run) || run.is_unread();
        if place == 0 && measurements.iter().any(is_bad) {
            self.give_up_alternatives(NotMeasured::CodeFailed);
        }
    }

    /// A failure on the smallest size alone counts no more where larger ones make a forecast.
    fn pass_over(&mut self, place: usize) {
        let planned = &self.configurations[place].planned;
        let measured = &mut self.states[place].measured;
        let on_base = measurement::on(measured, &planned.base);
        if planned.passes_over(&on_base) && plan::has_enough(&on_base) {
            let failed = measured.iter_mut().filter(|run| run.has_failed());
            failed.take(1).for_each(|run| run.passed_over = true);
        }
        if place == 0 && measured.iter().any(Measurement::has_failed) {
            self.give_up_alternatives(NotMeasured::CodeFailed);
        }
    }

    /// No canary of an alternative is started any more; those under way go on to their end, and are paid, as are those that are only
    /// collected.
    fn give_up_alternatives(&mut self, why: NotMeasured) {
        if self.input.runner.part == RunPart::Collect {
            return;
        }
        self.given_up.get_or_insert(why);
        for one in &self.configurations[1..] {
            one.is_wanted.set(false);
        }
    }

    /// Takes what a batch gave.
    fn take(&mut self, place: usize, number: usize, ran: Ran) {
        self.learn(place, &ran.measurements);
        let state = &mut self.states[place];
        if let Some(from) = state.late.remove(&number) {
            state.revise(from, ran.measurements);
            if let Some(error) = ran.failure {
                let own = (place, number);
                let known = self.late_failure.take().filter(|(of, _)| *of < own);
                self.late_failure = known.or(Some((own, error)));
            }
            return;
        }
        let Some(batch) = state.batch.take() else {
            return;
        };
        let is_over = self.is_over(place);
        let is_waited_for = self.input.runner.part != RunPart::Detach;
        let design = self.design(place);
        let is_empty = ran.measurements.is_empty();
        let mut note = None;
        let mut done = None;
        match batch.kind {
            BatchKind::Fixed if !ran.standing.is_empty() && is_waited_for => {
                let of = batch.earlier.to_come.unwrap_or_default() + batch.runs.len();
                note = Some(design.refused(ran.standing.len(), of));
            }
            BatchKind::Count if is_empty && ran.failure.is_none() && !is_over => {
                note = Some(design.refused_count(&batch.runs[0]));
            }
            // It would be refused again.
            BatchKind::Round if is_empty => {
                done = Some(match plan::has_enough(&design.on_base()) {
                    true => StopReason::NothingHelps,
                    false => StopReason::TooExpensive,
                });
            }
            _ => {}
        }
        let broke_off = ran.failure.as_ref().map(AppError::reason);
        let state = &mut self.states[place];
        state.notes.extend(note);
        state.done = done.filter(|_| !is_over && broke_off.is_none());
        state.stage = ConfigurationStage::Idle;
        if matches!(batch.kind, BatchKind::Count) && (is_empty || broke_off.is_some()) {
            state.left_out.push(batch.runs[0].instance.clone());
        }
        state.measured.extend(ran.measurements);
        let standing = ran.standing.into_iter();
        let standing = standing.map(|(index, fate)| (batch.runs[index].clone(), fate));
        state.standing.extend(standing);
        match ran.failure {
            None => return,
            Some(error) if place == 0 && !is_waited_for => state.failure = Some(error),
            Some(error) if error.is_transient() => {
                // That of `instance` is the job's own reason.
                if place > 0 {
                    state.notes.push(error.reason().to_string());
                }
                (self.input.runner).say_of(self.input.job, &format!("× {}", error.in_a_line()));
            }
            // An alternative never fails the job.
            Some(error) if place > 0 => {
                self.input.runner.say_of(self.input.job, &error.in_a_line());
            }
            Some(error) => state.failure = Some(error),
        }
        state.broke_off = broke_off;
        if place == 0 {
            self.give_up_alternatives(NotMeasured::CouldNotRun);
        }
    }

    /// Kept machines bill while late points are waited for, and while others run.
    fn end_pools(&mut self, place: usize) {
        let (one, ready) = (&self.configurations[place], self.input.ready);
        self.states[place].stage = ConfigurationStage::Busy;
        self.under_way.push(Box::pin(async move {
            let mut ended = ready.end_pools(Some(&one.planned.instance)).await;
            // Those on another configuration's machines are its own to end.
            if one.is_on_fewer() && !one.planned.follows {
                ended.extend(ready.end_pools(Some(&one.planned.base)).await);
            }
            (place, EndedStep::Pools(ended))
        }));
    }

    fn end(&mut self, place: usize, ended: Vec<EndedPool>) {
        let account = &self.configurations[place].account;
        ended_pools::bill(&ended, account, self.kept, self.input.runner.project);
        self.states[place].ended_pools.extend(ended);
        self.states[place].stage = ConfigurationStage::Ended;
    }

    /// Returns what was measured, and the pools of machines that ended.
    fn into_measurements(mut self, plan: &mut Plan) -> (JobMeasurements, Vec<EndedPool>) {
        let own = self.design(0);
        let ending = self.states[0].done.map(|done| own.ending(done));
        let too_expensive = own.too_expensive(ending.as_ref());
        if self.states[0].left_out.contains(&plan.own().instance) {
            plan.none_on_all = Some(NotMeasured::PastTheLimit(own.one.account.limit()));
        }
        let broke_off = self.states[0].broke_off.take();
        let failure = self.states[0].failure.take();
        let alternatives = plan.all[1..].iter_mut().zip(&mut self.states[1..]);
        for (alternative, state) in alternatives.filter(|(one, _)| one.runs.is_ok()) {
            if let Some(why) = self.given_up.clone().or_else(|| state.why_not.take()) {
                alternative.runs = Err(why);
            }
        }
        let late = self.late_failure.map(|(_, error)| error);
        let late_reason = late.as_ref().map(AppError::reason);
        let reasons = [&ending, &broke_off, &late_reason].into_iter().flatten();
        plan.notes.extend(reasons.map(Reason::to_string));
        let mut measured = JobMeasurements::default();
        let mut ended_pools = Vec::new();
        for state in self.states {
            plan.notes.extend(state.notes);
            measured.measurements.extend(state.measured);
            measured.standing.extend(state.standing);
            ended_pools.extend(state.ended_pools);
        }
        measured.broke_off = broke_off.or(late_reason).or(too_expensive);
        measured.failure = failure.or(late);
        (measured, ended_pools)
    }
}
