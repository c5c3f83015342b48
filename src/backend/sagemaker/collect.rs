//! Collecting what a canary used, with a bounded wait for what comes late.

use std::collections::BTreeMap;
use std::time::Duration;

use aws_sdk_cloudwatch::types::MetricDataResult;
use jiff::Timestamp;

use super::description::age;
use super::logs::MOST_PAGES;
use super::metrics::{self, cloudwatch, debugger, probe};
use super::placing::output;
use super::{CanaryUnderWay, Found, JobDescription, JobState, ProbeWay, job_hosts};
use crate::aws::call::{Call, CallError, CallResult};
use crate::backend::{END_LINES, note_opened};
use crate::grammar::list;
use crate::measurement::printed_figures::{OutputReader, Printed, PrintedFigures, Sought};
use crate::measurement::{Measurement, Outcome};
use crate::probe::{Ending, ProbeReport};
use crate::secret::SecretMask;
use crate::units::Seconds;

/// Of a log that is read for the job's progress alone: a megabyte each.
const FIRST_PAGES: usize = 20;
/// Looks for late points, and the time between two: three minutes in all.
const LOOKS: u32 = 12;
const BETWEEN_LOOKS: Duration = Duration::from_secs(15);
/// Nothing comes later than this after the end.
const LATEST: Seconds = Seconds(300.0);
/// Lines of each host that go to the job log when a canary fails.
const LOG_LINES: usize = 20;
/// Files of Debugger that are read: one a minute and host.
const MOST_FILES: i32 = 600;
/// A minute of one host has some hundred kilobytes.
const LARGEST_FILE: i64 = 16 << 20;

/// Sources, as a sentence begins with them.
const LOG: &str = "the log";
const POINTS: &str = "CloudWatch's metrics";

const METRICS: Call<'_> = Call("cloudwatch:GetMetricData");

/// What came until now.
#[derive(Debug, Default)]
struct Arrived {
    /// By host.
    reports: BTreeMap<String, ProbeReport>,
    answers: Vec<MetricDataResult>,
    /// Hosts without a line in the log.
    silent: Vec<String>,
    /// The end of what each host printed.
    log_tail: Vec<String>,
    /// Why a host without a report will have none, by its log.
    no_probe: Option<&'static str>,
    /// Why a source cannot be read at all, by its name; it is not asked again.
    refused: BTreeMap<&'static str, CallError>,
}

impl Arrived {
    /// A sentence where nothing at all came from some of several hosts: the others may have waited for it.
    fn caution_of_silence(&self, hosts: &[metrics::Host]) -> Option<String> {
        let is_silent = |host: &&metrics::Host| {
            self.silent.contains(&host.name) && host.sources == metrics::Sources::default()
        };
        let silent = Vec::from_iter(hosts.iter().filter(is_silent).map(metrics::Host::words));
        (!silent.is_empty() && silent.len() < hosts.len()).then(|| {
            format!(
                "nothing came from {}, neither a line nor a metric: it may never have started, and the others may have waited for it",
                list(&silent)
            )
        })
    }

    /// Whether a probe found no `nvidia-smi` in its container, on a machine with GPUs.
    fn lacks_gpu(&self, hosts: &[metrics::Host]) -> bool {
        hosts.iter().any(|host| {
            let report = self.reports.get(&host.name);
            host.has_gpus() && report.is_some_and(|report| report.usage.gpu_memory.is_none())
        })
    }

    /// The hosts, placed by what has come, and a sentence where one is not.
    fn hosts(&self, of: &CanaryUnderWay<'_>) -> (Vec<metrics::Host>, Option<String>) {
        let names = of.hosts();
        let said = names.iter().map(|name| {
            let own = self.reports.get(name)?.container_host.as_ref()?;
            own.group.as_deref()
        });
        job_hosts::place(of.ready.job, of.run, &names, &Vec::from_iter(said))
    }
}

impl CanaryUnderWay<'_> {
    /// Enters what the hosts, the probe and the log say of a canary: its usage, steps, metrics and installs, and that memory ran out where
    /// the kernel says so. What cannot be had is missing, with a note. Nothing is entered before all has come, so it may be dropped.
    /// Returns the end of the log, as far as that was read.
    pub(super) async fn collect(
        &self,
        found: &Found,
        description: &JobDescription,
        measurement: &mut Measurement,
    ) -> Vec<String> {
        let (run, ready) = (self.run, self.ready);
        let name = found.name.to_string();
        let names = self.hosts();
        let arrived = self.wait(&name, description).await;
        let is_completed = description.state == JobState::Completed;
        let said = self.said(&name, description).await;
        let recordings = self.read_debugger(&name).await;
        let (mut hosts, not_placed) = arrived.hosts(self);
        for (index, host) in hosts.iter_mut().enumerate() {
            let report = arrived.reports.get(&host.name);
            host.sources.probe = report.map(probe::usage).unwrap_or_default();
            // A type that no table has is measured by its probe alone.
            if host.capacity.is_none() && run.instance.groups().is_empty() {
                continue;
            }
            host.sources.cloudwatch = cloudwatch::read(&arrived.answers, index, host);
            if let Some(recording) = recordings.get(&host.name) {
                let memory = host.capacity.as_ref().map(|capacity| capacity.memory);
                host.sources.debugger = recording.usage(memory);
            }
        }
        let has_all_reports = arrived.reports.len() == hosts.len();
        // On another type of machine the program may be of the wrong kind.
        if run.instance == ready.job.instance
            && description.mark().is_some()
            && is_completed
            && !has_all_reports
        {
            let why = arrived.no_probe.unwrap_or("its line is not in the log");
            ready.notes.set_lacks_probe(why);
        }
        let (mut usage, unknown_hosts) = metrics::of_machine(&hosts);
        let is_short = |time: Seconds| time < cloudwatch::SEEN_FROM;
        let has_gpus = hosts.iter().any(metrics::Host::has_gpus);
        let is_unseen = usage.memory.is_none() || has_gpus && usage.gpu_memory.is_none();
        let all_answered = arrived.refused.is_empty();
        if is_unseen && all_answered && description.training_seconds.is_some_and(is_short) {
            usage.memory_seen_from = Some(cloudwatch::SEEN_FROM);
        }
        let notes = &mut measurement.notes;
        notes.extend(said.notes);
        notes.extend(unknown_hosts);
        notes.extend(not_placed);
        notes.extend(arrived.caution_of_silence(&hosts));
        let reports = arrived.reports.values();
        for note in reports.clone().flat_map(|report| &report.notes) {
            if !notes.contains(note) {
                notes.push(note.clone());
            }
        }
        let refused = arrived.refused.iter().rev();
        notes.extend(refused.map(|(what, error)| format!("{what} could not be read: {error}")));
        if usage.is_empty() {
            notes.push("no metric of this canary arrived in time".to_owned());
        }
        // The kernel's own word is better than what SageMaker makes of an exit code.
        let mut endings = reports.clone().map(|report| report.ending);
        if matches!(measurement.outcome, Outcome::Failed { .. })
            && endings.any(|ending| ending == Ending::OutOfMemory)
        {
            let last_line = measurement.outcome.last_line().map(str::to_owned);
            measurement.outcome = Outcome::out_of_memory(last_line);
        }
        // What passed before the script, on the host where it ran longest, where it was started after its packages were installed.
        if let ProbeWay::Source {
            has_requirements: true,
            ..
        } = ready.placed.probe
            && has_all_reports
        {
            let script = reports.map(|report| report.wall_seconds.0);
            measurement.installs_seconds = (script.reduce(f64::max))
                .zip(description.phases.training)
                .map(|(script, training)| Seconds((training.0 - script).max(0.0)));
        }
        let reports = names.iter().map(|host| arrived.reports.get(host));
        note_opened(measurement, run, &Vec::from_iter(reports));
        measurement.usage = usage;
        measurement.hosts = metrics::of_each_host(&hosts);
        measurement.step_seconds = said.step_seconds;
        measurement.metrics = said.metrics;
        measurement.progress = said.progress;
        arrived.log_tail
    }

    /// Waits for the probe's lines, and without them, or without their word on the GPUs there are, for CloudWatch's points, until all
    /// are there or none will come.
    async fn wait(&self, name: &str, description: &JobDescription) -> Arrived {
        let mark = description.mark();
        let span = description.started_at.zip(description.ended_at);
        let looks = match span {
            Some((_, end)) if age(end) > LATEST => 0,
            _ => LOOKS,
        };
        let mut arrived = Arrived::default();
        for look in 0..=looks {
            if look == 1 {
                self.watcher.phase("waiting for its metrics");
            }
            if look > 0 {
                let waiting = self.backend.pace.wait(BETWEEN_LOOKS);
                let waited = self.watcher.cancellation.run_until_cancelled(waiting);
                if waited.await.is_none() {
                    break;
                }
            }
            if let Some(mark) = mark
                && !arrived.refused.contains_key(LOG)
            {
                let read = self.read_probes(name, mark, &mut arrived).await;
                (arrived.refused).extend(read.err().map(|error| (LOG, error)));
            }
            let (placed, _) = arrived.hosts(self);
            let lacks_probes = arrived.reports.len() < placed.len();
            let is_needed = lacks_probes || arrived.lacks_gpu(&placed);
            let Some(span) = span.filter(|_| is_needed) else {
                break;
            };
            if !arrived.refused.contains_key(POINTS) {
                match self.read_cloudwatch(name, span).await {
                    Ok(answers) => arrived.answers = answers,
                    Err(error) => drop(arrived.refused.insert(POINTS, error)),
                }
            }
            let waits_for_probe = lacks_probes
                && mark.is_some()
                && !arrived.refused.contains_key(LOG)
                && arrived.no_probe.is_none();
            let waits_for_points = !arrived.refused.contains_key(POINTS)
                && !cloudwatch::is_complete(&arrived.answers, &placed, span);
            if !waits_for_points && !waits_for_probe {
                break;
            }
        }
        arrived
    }

    /// What the last lines of the hosts' logs say.
    async fn read_probes(&self, name: &str, mark: &str, arrived: &mut Arrived) -> CallResult<()> {
        let hosts = &self.hosts();
        arrived.silent.clear();
        arrived.log_tail.clear();
        for host in hosts {
            let read = self.backend.last_log_lines(name, host).await?;
            if read.is_empty() {
                arrived.silent.push(host.clone());
            }
            let lines = || read.iter().map(String::as_str);
            let found = probe::find_reports(lines(), mark, host);
            if found.is_empty() {
                arrived.no_probe = arrived.no_probe.or_else(|| probe::refusal(lines()));
            }
            let known = found.into_iter().filter(|(host, _)| hosts.contains(host));
            arrived.reports.extend(known);
            let end = read[read.len().saturating_sub(END_LINES)..].iter();
            (arrived.log_tail).extend(end.map(|line| format!("{host} {line}")));
        }
        Ok(())
    }

    async fn read_cloudwatch(
        &self,
        name: &str,
        span: (Timestamp, Timestamp),
    ) -> CallResult<Vec<MetricDataResult>> {
        let (start, end) = cloudwatch::window(span);
        let mut results = Vec::new();
        for queries in cloudwatch::queries(name, &self.hosts()).chunks(cloudwatch::MOST_QUERIES) {
            let asked = self.backend.aws().cloudwatch.get_metric_data();
            let asked = asked.set_metric_data_queries(Some(queries.to_vec()));
            let asked = asked.start_time(start).end_time(end);
            let mut pages = asked.into_paginator().send();
            while let Some(page) = pages.next().await {
                results.extend(METRICS.heard(page)?.metric_data_results.unwrap_or_default());
            }
        }
        Ok(results)
    }

    /// Debugger's files by host; none where nobody asked for them, and where they cannot be read: they are a bonus.
    async fn read_debugger(&self, name: &str) -> BTreeMap<String, debugger::Recording> {
        let mut recordings: BTreeMap<String, debugger::Recording> = BTreeMap::new();
        let is_asked = self.ready.job.training.sagemaker.profiler;
        let (true, Ok(output)) = (is_asked, output(self.ready.job)) else {
            return recordings;
        };
        let place = output.below(&debugger::prefix(name));
        let s3 = self.backend.aws().s3;
        let listing = s3.list_objects_v2().bucket(&place.bucket);
        let listed = listing.prefix(&place.key).max_keys(MOST_FILES).send().await;
        let objects = listed.ok().and_then(|page| page.contents);
        for object in objects.unwrap_or_default() {
            if let Some(key) = object.key()
                && let Some(host) = debugger::host_of(key)
                && object.size().is_some_and(|size| size <= LARGEST_FILE)
                && let Ok(file) = (s3.get_object().bucket(&place.bucket).key(key).send()).await
                && let Ok(content) = file.body.collect().await
            {
                let recording = recordings.entry(host.to_owned()).or_default();
                recording.add(&content.into_bytes());
            }
        }
        recordings
    }

    /// What the log says of steps, of the budget's metrics and of the job's progress, or why it does not say what is asked.
    async fn said(&self, name: &str, description: &JobDescription) -> PrintedFigures {
        let sought = Sought::of(self.ready.job);
        let what = match (&sought.step, &sought.levels[..], &sought.progress) {
            (Some(_), [], _) => Some("step times"),
            (Some(_), _, _) => Some("step times and the metrics of the budget"),
            (None, [_, ..], _) => Some("the metrics of the budget"),
            (None, [], Some(_)) => Some("the progress"),
            (None, [], None) => None,
        };
        // Where nothing is asked, the beginning of the first host's log is enough for its progress.
        let mut hosts = self.hosts();
        if what.is_none() {
            hosts.truncate(1);
        }
        let most_pages = what.map_or(FIRST_PAGES, |_| MOST_PAGES);
        let start = description.started_at.map(|start| start.as_millisecond());
        let mut printed = Vec::new();
        for host in &hosts {
            let mut reader = OutputReader::new(&sought);
            let hear = |time: Option<i64>, line: &str| {
                let since = time.zip(start).map_or(0, |(time, start)| time - start);
                let since = Duration::from_millis(u64::try_from(since).unwrap_or(0));
                let at = Seconds(since.as_secs_f64());
                reader.read(at, line.as_bytes());
                reader.read(at, b"\n");
            };
            let heard = self.backend.each_log_line(name, host, most_pages, hear);
            if let Err(error) = heard.await {
                let note = what.map(|what| format!("{what} could not be read: {error}"));
                return PrintedFigures {
                    notes: Vec::from_iter(note),
                    ..PrintedFigures::default()
                };
            }
            // CloudWatch has both streams in one.
            printed.push([reader.finish(), Printed::default()]);
        }
        let printed: Vec<_> = printed.iter().collect();
        let is_completed = description.state == JobState::Completed;
        let time = description.training_seconds;
        PrintedFigures::of_run(&sought, &printed, is_completed, time)
    }

    /// The end of what each host printed, and more of it: the last page of its log, up to a megabyte. The host is named where
    /// there are several.
    pub(super) async fn log(&self, found: &Found) -> (Vec<String>, Vec<String>) {
        let name = found.name.to_string();
        let hosts = self.hosts();
        let (mut tail, mut log) = (Vec::new(), Vec::new());
        for host in &hosts {
            // The failure is reported without it; its log is in CloudWatch.
            let lines = self.backend.last_log_lines(&name, host).await;
            // Before a host's name stands between two lines of one secret.
            let lines = SecretMask::default().mask_lines(&lines.unwrap_or_default());
            let named = |line: String| match hosts.len() {
                0 | 1 => line,
                _ => format!("{host} {line}"),
            };
            let lines: Vec<String> = lines.into_iter().map(named).collect();
            tail.extend_from_slice(&lines[lines.len().saturating_sub(LOG_LINES)..]);
            log.extend(lines);
        }
        (tail, log)
    }

    /// `algo-1`, `algo-2`, ... by number.
    fn hosts(&self) -> Vec<String> {
        let numbers = 1..=self.run.instance.total_count();
        numbers.map(|number| format!("algo-{number}")).collect()
    }
}
