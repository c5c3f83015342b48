//! From records to the figures of the history's page, a record at a time: what is kept of one is small.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use jiff::Timestamp;
use jiff::civil::Date;

use super::record::{Content, ForecastRecord, Record, canary_identity};
use super::scope_spend::{bill, is_paid_canary};
use super::{Damaged, Entry, Scope};
use crate::measurement::{Measurement, Outcome};
use crate::metric::Metric;
use crate::report::escape::NAME_LIMIT;
use crate::report::history_figures::{
    CheckFigures, FigureAndLimit, FullRunFigures, HistoryFigures, JobFigures, QUIET_AFTER,
    SeriesSource, Spent, UnfinishedCheck, UnreadableRecords, month_of,
};
use crate::report::words;
use crate::verdict::Verdict;

/// Hex digits of a commit that are kept.
const COMMIT_DIGITS: usize = 7;
/// A longer address of a run is not kept.
const LONGEST_URL: usize = 300;
/// More repositories of one job are not named.
const MOST_REPOSITORIES: usize = 5;

/// The figures of a history, as far as its records were added, oldest first.
#[derive(Debug, Default)]
pub struct Tally {
    records: usize,
    span: Option<[Timestamp; 2]>,
    spent: BTreeMap<Date, Spent>,
    jobs: BTreeMap<String, JobTally>,
    /// Each canary once: it is in a record of its own and in those of its forecasts.
    seen: HashSet<String>,
}

#[derive(Debug, Default)]
struct JobTally {
    series: BTreeMap<SeriesSource, JobSeries>,
    newest_record: Timestamp,
    repositories: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct JobSeries {
    checks: Vec<CheckFigures>,
    full_runs: Vec<FullRunFigures>,
    unfinished: Option<UnfinishedCheck>,
}

impl Tally {
    /// Adds what the page has of one record. Records come oldest first.
    pub fn add(&mut self, entry: &Entry, record: &Record) {
        let at = entry.recorded_at;
        self.records += 1;
        let first = self.span.map_or(at, |[first, _]| first);
        self.span = Some([first, at]);
        for run in record.measurements() {
            if let Some(spent) = self.spent_on(record, run) {
                let month = self.spent.entry(month_of(at)).or_default();
                *month = *month + spent;
            }
        }
        let job = self.jobs.entry(entry.job.clone()).or_default();
        job.newest_record = at;
        let url = record.writer.run_url.as_deref();
        if let Some(repository) = url.and_then(repository_of)
            && job.repositories.len() < MOST_REPOSITORIES
        {
            job.repositories.insert(repository.to_owned());
        }
        if let Some(series) = job.series(entry.scope, record) {
            series.add(at, record);
        }
    }

    /// What a canary took; `None` if it is counted already or in another run's account. A full run is not a check.
    fn spent_on(&mut self, record: &Record, run: &Measurement) -> Option<Spent> {
        let time = run.time().unwrap_or_default();
        if let Some(reused) = run.reused {
            return Some(Spent {
                reused: 1,
                saved_time: time,
                saved_usd: reused.saved_usd.unwrap_or_default(),
                ..Spent::default()
            });
        }
        let is_new = is_paid_canary(record, run) && self.seen.insert(canary_identity(run));
        is_new.then(|| Spent {
            canaries: 1,
            time,
            usd: bill(run),
            unpriced: usize::from(run.cost.is_none()),
            ..Spent::default()
        })
    }

    /// The figures, at a time that is later than all records.
    pub fn finish(self, unreadable: &[Damaged], made_at: Timestamp) -> HistoryFigures {
        let newer = (unreadable.iter())
            .filter(|record| record.is_of_newer_version())
            .count();
        let jobs = self.jobs.into_iter();
        let mut jobs: Vec<JobFigures> = jobs.map(|(name, job)| job.finish(name, made_at)).collect();
        let cost = |job: &JobFigures| {
            let newest = job.newest().and_then(|check| check.cost);
            newest.map_or(0.0, |cost| cost.estimate.point)
        };
        jobs.sort_by(|one, other| {
            (one.is_quiet, one.standing())
                .cmp(&(other.is_quiet, other.standing()))
                .then(cost(other).total_cmp(&cost(one)))
                .then_with(|| one.name.cmp(&other.name))
        });
        HistoryFigures {
            made_at,
            records: self.records,
            span: self.span,
            unreadable: UnreadableRecords {
                newer,
                damaged: unreadable.len() - newer,
            },
            spent: self.spent,
            jobs,
        }
    }
}

impl JobTally {
    /// Where a record's forecast is drawn; `None` for pull requests and merge queues, which are other trainings than the
    /// branch's.
    fn series(&mut self, scope: Scope, record: &Record) -> Option<&mut JobSeries> {
        let branch = record.writer.branch.as_deref();
        let source = match scope {
            Scope::Main => {
                SeriesSource::Branch(branch.map(|branch| format!("{branch:.NAME_LIMIT$}")))
            }
            Scope::Local => SeriesSource::OwnMachines,
            Scope::PullRequest(_) | Scope::Queue => return None,
        };
        Some(self.series.entry(source).or_default())
    }

    fn finish(mut self, name: String, made_at: Timestamp) -> JobFigures {
        let own_machines = self.series.remove(&SeriesSource::OwnMachines);
        let own_machines = own_machines.unwrap_or_default();
        let of_branches: usize = self.series.values().map(|of| of.checks.len()).sum();
        // A release now and then does not take the place of the branch that is checked most.
        let busiest = (self.series.into_iter()).max_by_key(|(_, series)| series.checks.len());
        let drawn = busiest.filter(|(_, of)| !of.is_empty() || own_machines.is_empty());
        let of_drawn = (drawn.as_ref()).map_or(0, |(_, series)| series.checks.len());
        let (source, series) = drawn.unwrap_or((SeriesSource::OwnMachines, own_machines));
        let age = made_at.duration_since(self.newest_record).as_secs_f64();
        JobFigures {
            name,
            is_quiet: age > QUIET_AFTER.0,
            source,
            checks: series.checks,
            full_runs: series.full_runs,
            unfinished: series.unfinished,
            newest_record: self.newest_record,
            other_branches: of_branches - of_drawn,
            repositories: self.repositories.into_iter().collect(),
        }
    }
}

impl JobSeries {
    fn is_empty(&self) -> bool {
        self.checks.is_empty() && self.unfinished.is_none()
    }

    fn add(&mut self, at: Timestamp, record: &Record) {
        match &record.content {
            Content::Canary { measurement, .. } => {
                let ended = ended(&measurement.outcome).filter(|_| !measurement.ended_early);
                let check = self.unfinished.get_or_insert(UnfinishedCheck {
                    at,
                    canaries: 0,
                    ended: None,
                });
                check.at = at;
                check.canaries += 1;
                check.ended = ended.or(check.ended);
            }
            Content::FullRun { measurement } if measurement.is_completed() => {
                self.full_runs.push(FullRunFigures {
                    at,
                    time: measurement.time(),
                    cost: measurement.cost,
                });
            }
            Content::FullRun { .. } => {}
            Content::Forecast(forecast) => {
                self.checks.push(check(at, record, forecast));
                self.unfinished = None;
            }
        }
    }
}

fn check(at: Timestamp, record: &Record, forecast: &ForecastRecord) -> CheckFigures {
    let row = forecast.forecasts.first();
    let commit = record.commit.as_deref();
    let url = record.writer.run_url.as_ref();
    let figure = |metric: Metric| {
        let (estimate, limit) = (row?.estimates[metric]?, row?.most(metric));
        Some(FigureAndLimit { estimate, limit })
    };
    CheckFigures {
        at,
        verdict: words::shown_verdict(forecast.verdict, row),
        phrase: words::verdict_phrase(forecast.verdict, row),
        drifted: forecast.drifted,
        is_baseline: forecast.is_baseline,
        instance: row.map_or(String::new(), |row| {
            format!("{:.NAME_LIMIT$}", row.instance.to_string())
        }),
        time: figure(Metric::Time),
        cost: figure(Metric::Cost),
        commit: commit.map(|commit| format!("{commit:.COMMIT_DIGITS$}")),
        run_url: url.filter(|url| url.len() <= LONGEST_URL).cloned(),
    }
}

/// The outcome in words and what it makes of the job, unless it completed.
fn ended(outcome: &Outcome) -> Option<(&'static str, Verdict)> {
    let verdict = match outcome {
        Outcome::Completed => return None,
        Outcome::Failed { .. } | Outcome::OutOfMemory { .. } | Outcome::TimedOut => Verdict::Failed,
        // Capacity, the platform, or a person who stopped it.
        Outcome::Stopped | Outcome::NoCapacity | Outcome::PlatformError => Verdict::Unknown,
    };
    Some((outcome.words(), verdict))
}

/// `https://github.com/acme/churn` of the address of a run of GitHub Actions.
fn repository_of(url: &str) -> Option<&str> {
    let (repository, _) = url.split_once("/actions/runs/")?;
    (repository.starts_with("https://") && repository.len() <= LONGEST_URL).then_some(repository)
}

#[cfg(test)]
mod tests;
