//! One job's way through the gate: its data, its plan, its canaries, its part of the report, and what is kept of it.

use std::cell::RefCell;
use std::path::Path;

use crate::assess::input::{BaseResult, JobInput};
use crate::assess::{drift_check, judge, remarks, whole_report};
use crate::backend::{BackendKeys, BoxReady, BoxSession, JobNotes, ListedData, RunPart};
use crate::canary::Dataset;
use crate::change::AffectedJob;
use crate::console::signals::unless_cancelled;
use crate::console::{AppError, AppResult, StepResult};
use crate::drift::CheckRecord;
use crate::forecast::scale_out::DataLayout;
use crate::gate::lab::{self, JobMeasurements, LabInput};
use crate::gate::run_history::{RecordedForecast, Records, check_of};
use crate::gate::{
    GateOutcome, PullRequestLimit, RunHistory, RunRequest, Runner, backend, collected, detached,
};
use crate::instance::InstanceConfiguration;
use crate::metric::Metric;
use crate::plan::{self, Account, KnownBefore, Plan, PlanError};
use crate::report::{InstanceForecast, JobReport};
use crate::spec::{BudgetLine, Job};
use crate::verdict::Verdict;
use crate::workspace::Project;

/// What the jobs of a run of the gate share.
pub(crate) struct Gate<'a> {
    pub(crate) request: &'a RunRequest<'a>,
    pub(crate) history: &'a RunHistory,
    pub(crate) runner: &'a Runner<'a>,
    pub(crate) pull_request: &'a PullRequestLimit,
}

/// One job of a run of the gate.
pub(crate) struct JobGate<'a> {
    pub(crate) gate: &'a Gate<'a>,
    pub(crate) affected: &'a AffectedJob<'a>,
    pub(crate) account: &'a Account,
}

impl<'a> JobGate<'a> {
    /// One job from its data to its part of the report.
    pub(crate) async fn run(&self) -> AppResult<GateOutcome> {
        let (gate, affected, account) = (self.gate, self.affected, self.account);
        let (request, history, runner) = (gate.request, gate.history, gate.runner);
        let (job, project) = (affected.job, runner.project);
        let looking = unless_cancelled(self.look(), &runner.cancellation);
        let (session, listing, checks) = looking.await??;
        let dataset = &listing.dataset;
        let alternatives = request.alternatives;
        let offer_of = |instance: &_| runner.offer(job, instance);
        let earlier = match project.traits().is_remote {
            true => unless_cancelled(history.last_check(job), &runner.cancellation).await??,
            false => Vec::new(),
        };
        let known = KnownBefore {
            left_of_run: account.left(),
            earlier: &earlier,
        };
        let mut plan = match plan::plan(job, dataset, &offer_of, alternatives, known) {
            Ok(plan) => plan,
            Err(PlanError::Unknown(reason)) => {
                let report = whole_report::unknown_report(job, &affected.by, &reason, Vec::new());
                return Ok(GateOutcome::of(report, None));
            }
            Err(error) => return Err(AppError::from(error).during("planning the canaries")),
        };
        let preparing = self.prepare(session, dataset, &mut plan);
        let (ready, keys, base) = unless_cancelled(preparing, &runner.cancellation).await??;
        // A recording hands its runs out again and again; nothing is measured.
        let records = (!project.traits().replays).then(|| Records {
            job,
            history,
            keys: keys.clone(),
            request,
            paid: RefCell::default(),
        });
        let input = LabInput {
            runner,
            affected,
            job,
            dataset,
            ready: &*ready,
            records: records.as_ref(),
            request,
            account,
            pull_request: gate.pull_request,
        };
        let mut measured = match request.part {
            RunPart::Whole => lab::measure(&input, &mut plan).await?,
            RunPart::Detach => return detached::launch(&input, &mut plan).await,
            RunPart::Collect => match collected::collect(&input, &mut plan).await? {
                Ok(measured) => measured,
                Err(not_yet) => return Ok(not_yet),
            },
        };
        let failure = measured.failure.take();
        let failure = failure.map(|error| error.during("running the canaries"));
        if measured.measurements.is_empty()
            && let Some(error) = failure
        {
            return Err(error);
        }
        let JobNotes {
            sentences: mut notes,
            lacks_probe,
        } = ready.notes();
        notes.extend(plan.notes.iter().cloned());
        notes.extend(self.no_base_yet(&keys, base.as_ref()));
        let full_run_offer = |instance: &InstanceConfiguration| project.offer_to(job, instance);
        let mut report = judge::job_report(&JobInput {
            name: &job.name,
            instance: &job.instance,
            budget: &job.budget,
            affected_by: &affected.by,
            alternatives: plan.outcomes(),
            measurements: &measured.measurements,
            job: Some(job),
            none_on_all: plan.none_on_all.as_ref().map(ToString::to_string),
            worst_case: plan.total_worst_case(),
            offer_of: &full_run_offer,
            layout: DataLayout::of(job, listing.knows_bytes.then_some(dataset)),
            base: base.as_ref(),
            is_allowed: &project.spec.allowed(),
            lacks_probe,
            notes,
        });
        report.notes.extend(remarks::training_plan(job, &report));
        let unpriced = remarks::without_price(&job.canary, &plan, project.region());
        (report.warnings).extend(unpriced.filter(|_| project.traits().is_remote));
        if !project.traits().replays {
            let beyond = remarks::beyond_the_share(job.canary.max_share, &report);
            report.warnings.extend(beyond);
        }
        set_unfinished(&mut report, measured, failure.as_ref());
        // What a signal cut short is no forecast.
        let kept = match runner.cancellation.is_cancelled() {
            true => Ok(()),
            false => self.keep(&keys, &checks, &mut report).await,
        };
        let kept = kept.during("reading the checks before");
        Ok(GateOutcome::of(report, failure.or(kept.err())))
    }

    /// What may be read, what there is of the job already, and its data; for a check for drift also the checks before it, oldest
    /// first. Spends nothing.
    async fn look(&self) -> AppResult<(BoxSession<'a>, ListedData, Vec<RecordedForecast>)> {
        let (job, gate) = (self.affected.job, self.gate);
        let (history, runner) = (gate.history, gate.runner);
        let opened = backend::open(&*runner.backend, runner.project, job).await;
        let mut session = opened.during("checking access, quota and prices")?;
        (history.of_job(&job.name).await).during("reading the history")?;
        (history.kept.check_writable(&job.name).await).during("opening the history")?;
        let checks = match gate.request.is_drift {
            true => history.checks(&job.name).await,
            false => Ok(Vec::new()),
        };
        let checks = checks.during("reading the checks before")?;
        let listed = session.list().await.during("listing the data")?;
        Ok((session, listed, checks))
    }

    /// Makes the job ready to run, and finds out what it is known by and what it is compared with.
    async fn prepare(
        &self,
        session: BoxSession<'a>,
        dataset: &Dataset,
        plan: &mut Plan,
    ) -> AppResult<(BoxReady<'a>, BackendKeys, Option<BaseResult>)> {
        let (job, gate) = (self.affected.job, self.gate);
        if gate.request.part == RunPart::Collect {
            // It starts no machine.
            plan.pools = None;
        }
        let prepared = backend::prepare(session, gate.runner.project, job, dataset, plan).await;
        let ready = prepared.during("preparing the canaries")?;
        let keys = backend::keys(&*ready, gate.runner.project, job, dataset).await;
        let keys = keys.during("reading code and data")?;
        let base = gate.request.base.as_ref();
        let base = gate.history.base(job, &keys, base).await;
        let mut base = base.during("looking for what to compare with")?;
        if let Some(base) = &mut base {
            let changes_data = changes_data(gate.runner.project, self.affected)?;
            base.has_other_data = base.baseline.data_changed && !changes_data;
        }
        Ok((ready, keys, base))
    }

    /// A note that there is nothing to compare with, and why.
    fn no_base_yet(&self, keys: &BackendKeys, base: Option<&BaseResult>) -> Option<String> {
        let (job, request) = (self.affected.job, self.gate.request);
        if base.is_some() || request.is_drift {
            return None;
        }
        if let Some(commit) = &request.base {
            let theirs = commit.code.get(&job.name);
            // What has not changed has nothing to be compared with.
            if theirs.is_some() && theirs == keys.code.as_ref() {
                return None;
            }
            let (sha, branch) = (&commit.sha, commit.branch());
            return Some(format!(
                "There is no base yet to compare with: the history has no run of commit {sha:.7} of {branch} that this one may read, and none of a push or a schedule on {branch}."
            ));
        }
        let is_increase = |line: &BudgetLine| line.kind.is_increase();
        let has_increase = job.budget.lines.iter().any(is_increase);
        has_increase.then(|| {
        "There is no base to compare with, so increases are not judged: they are on a pull request, and with `--base REF`.".to_owned()
    })
    }

    /// Keeps the record of what was found. A check for drift is first compared with the checks before it. The record is kept
    /// also if it is unknown whether it is a new baseline.
    async fn keep(
        &self,
        keys: &BackendKeys,
        checks: &[RecordedForecast],
        report: &mut JobReport,
    ) -> AppResult<()> {
        let (job, gate) = (self.affected.job, self.gate);
        let (request, history) = (gate.request, gate.history);
        // A check that broke off, or whose training failed, says nothing that others could be held against.
        let has_time = |row: &InstanceForecast| row.estimates[Metric::Time].is_some();
        let is_whole = !matches!(report.verdict, Verdict::Failed | Verdict::Unknown)
            && report.forecasts.first().is_some_and(has_time);
        let may_be_baseline = is_whole && !report.may_have_failed();
        let is_baseline = match request.is_drift {
            true => {
                let earlier: Vec<CheckRecord> = checks.iter().map(check_of).collect();
                let this = CheckRecord {
                    at: jiff::Timestamp::now(),
                    commit: history.commit.clone(),
                    code_key: keys.code.map(|key| key.to_string()),
                    machine: keys.machine.clone(),
                    ..CheckRecord::default()
                };
                // An incomplete check is reported as such.
                Ok(is_whole && drift_check::hold_against_earlier(job, &earlier, this, report))
            }
            false if may_be_baseline && request.origin.may_set_the_baseline() => {
                history.is_another_training(report, keys).await
            }
            false => Ok(false),
        };
        let known = *is_baseline.as_ref().unwrap_or(&false);
        history.keep_forecast(job, report, keys, known).await;
        is_baseline.map(|_| ())
    }
}

/// The verdict of a job whose canaries broke off: unknown, also without a written budget.
fn set_unfinished(report: &mut JobReport, measured: JobMeasurements, failure: Option<&AppError>) {
    let is_now = |report: &mut JobReport, verdict| {
        report.verdict = verdict;
        if let Some(instance) = report.forecasts.first_mut() {
            instance.verdict = verdict;
        }
    };
    if let Some(reason) = measured.broke_off
        && matches!(report.verdict, Verdict::NotJudged | Verdict::Unknown)
    {
        is_now(report, Verdict::Unknown);
        let said = reason.to_string();
        report.notes.retain(|note| *note != said);
        report.reason = reason;
    }
    // An error that a person must correct is the command's own; the job is not judged by it.
    if failure.is_some() && report.verdict == Verdict::Unknown {
        is_now(report, Verdict::NotJudged);
    }
}

/// Whether the change has other data itself: its files, or where the spec says that they lie.
pub(crate) fn changes_data(project: &Project, affected: &AffectedJob<'_>) -> AppResult<bool> {
    let AffectedJob { job, by } = affected;
    let code = project.code()?.of_jobs.get(&job.name);
    // DVC's lock is of other stages too.
    let is_data =
        |path: &Path| !path.ends_with("dvc.lock") && code.is_some_and(|code| code.has_data(path));
    let base = project.policy.base.as_ref();
    let before = base.and_then(|base| base.job(&job.name));
    let places = |job: &Job| {
        let channels = job.training.channels.iter();
        Vec::from_iter(channels.map(|channel| channel.uri.clone()))
    };
    let are_others = before.is_some_and(|(before, _)| places(before) != places(job));
    Ok(are_others || by.iter().any(|path| is_data(Path::new(path))))
}
