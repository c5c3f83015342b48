//! What stands behind the numbers of a report: the canary runs and their cost, the law that carries the extrapolation,
//! prices, cautions.
//!
//! Plain text without escaping; Markdown and the terminal lay the same facts out.

use super::comparison::{self, Column};
use super::words::{self, Quantity, Subject};
use super::{InstanceForecast, JobReport};
use crate::forecast::{Estimate, Law};
use crate::instance::Price;
use crate::measurement::{Measurement, Outcome, Start, Utilization};
use crate::units::{Percent, Seconds, Usd};

/// A table of texts; each column is to be set left or right.
#[derive(Debug, Default)]
pub(super) struct Grid {
    pub(super) columns: Vec<(&'static str, Align)>,
    pub(super) rows: Vec<Vec<String>>,
}

/// Phases are worth a sentence when one beside the training takes this share of it.
const LEAST_PHASE: f64 = 0.005;

/// Words stand left, numbers right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Align {
    Left,
    Right,
}

impl Grid {
    /// Leaves out the columns in which no row says anything.
    fn without_empty_columns(self) -> Self {
        let is_said: Vec<bool> = (0..self.columns.len())
            .map(|index| self.rows.iter().any(|row| !row[index].is_empty()))
            .collect();
        let keep = |index: &usize| is_said[*index];
        Self {
            columns: (0..self.columns.len())
                .filter(keep)
                .map(|index| self.columns[index])
                .collect(),
            rows: self
                .rows
                .iter()
                .map(|row| {
                    (0..row.len())
                        .filter(keep)
                        .map(|i| row[i].clone())
                        .collect()
                })
                .collect(),
        }
    }
}

/// Every canary run, in the order of the plan. With several jobs the first column names the job.
pub(super) fn canary_runs(jobs: &[&JobReport]) -> Grid {
    let job_name = |job: &JobReport| {
        if jobs.len() > 1 {
            job.name.clone()
        } else {
            String::new()
        }
    };
    let rows = jobs.iter().flat_map(|job| {
        job.measurements.iter().map(|run| {
            let usage = &run.usage;
            vec![
                job_name(job),
                run.instance.to_string(),
                data(run),
                work(run),
                run.training_seconds.map_or(String::new(), seconds),
                memory(run),
                mean(usage.cpu_percent.as_ref()),
                mean(usage.gpu_percent.as_ref()),
                mean(usage.gpu_memory_percent.as_ref()),
                run.step_seconds.map_or(String::new(), |Seconds(time)| {
                    Quantity::StepTime.figure(time)
                }),
                match run.reused {
                    Some(_) => "earlier run",
                    None => run.start.map_or("", start),
                }
                .to_owned(),
                run.outcome.to_string(),
            ]
        })
    });
    Grid {
        columns: vec![
            ("Job", Align::Left),
            ("Instance", Align::Left),
            ("Data", Align::Right),
            ("Work", Align::Right),
            ("Time", Align::Right),
            ("Memory", Align::Right),
            ("CPU", Align::Right),
            ("GPU", Align::Right),
            ("GPU mem", Align::Right),
            ("Step", Align::Right),
            ("Start", Align::Left),
            ("Outcome", Align::Left),
        ],
        rows: rows.collect(),
    }
    .without_empty_columns()
}

fn start(start: Start) -> &'static str {
    match start {
        Start::Cold => "cold",
        Start::Warm => "warm",
    }
}

fn seconds(Seconds(value): Seconds) -> String {
    Quantity::Time.figure(value)
}

/// `1.0% (0.41 GiB)`
fn data(run: &Measurement) -> String {
    let mut data = words::share(run.data_share());
    if let Some(bytes) = run.bytes {
        data.push_str(&format!(" ({bytes})"));
    }
    data
}

/// The level, beside that of the full run: `5 of 50`.
fn work(run: &Measurement) -> String {
    match (run.work, run.work_total) {
        (Some(work), Some(total)) => format!("{work} of {total}"),
        _ => String::new(),
    }
}

/// `work 5 and 10 of 50`: the levels of all runs, where they have one and the same full work.
fn work_levels(jobs: &[&JobReport]) -> Option<String> {
    let runs = || jobs.iter().flat_map(|job| &job.measurements);
    let total = runs().next()?.work_total?;
    let mut levels: Vec<f64> = runs()
        .map(|run| run.work.filter(|_| run.work_total == Some(total)))
        .collect::<Option<_>>()?;
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let levels: Vec<String> = levels.iter().map(f64::to_string).collect();
    let levels = match levels.split_last()? {
        (only, []) => only.clone(),
        (last, others) => format!("{} and {last}", others.join(", ")),
    };
    Some(format!("work {levels} of {total}"))
}

fn memory(run: &Measurement) -> String {
    match &run.usage.memory {
        None => String::new(),
        Some(memory) => match (memory.percent, memory.bytes) {
            (Some(Percent(percent)), _) => Quantity::Percent.figure(percent),
            (None, Some(bytes)) => bytes.to_string(),
            (None, None) => String::new(),
        },
    }
}

fn mean(utilization: Option<&Utilization>) -> String {
    utilization.map_or(String::new(), |utilization| {
        Quantity::Percent.figure(utilization.mean.0)
    })
}

/// `5 runs, 1.12 USD, 1.8% of one full run`: what the check itself took, over these jobs. With work levels they follow
/// the number of runs: `12 runs, work 5 and 10 of 50, 1.12 USD`.
pub(super) fn spend(jobs: &[&JobReport]) -> String {
    let runs = jobs.iter().map(|job| job.measurements.len()).sum();
    let mut parts = vec![words::count(runs, "run")];
    let is_reused = |run: &&Measurement| run.reused.is_some();
    let reused = jobs
        .iter()
        .flat_map(|job| &job.measurements)
        .filter(is_reused)
        .count();
    if reused > 0 {
        let saved: Option<Usd> = jobs
            .iter()
            .filter_map(|job| job.spend.saved_usd)
            .reduce(|sum, saved| sum + saved);
        let saved = saved.map_or(String::new(), |Usd(usd)| {
            format!(", which saved {}", Quantity::Money.figure(usd))
        });
        let which = if reused == runs {
            "all".to_owned()
        } else {
            reused.to_string()
        };
        parts.push(format!("{which} taken over from earlier runs{saved}"));
        if reused == runs {
            return parts.join(", ");
        }
    }
    parts.extend(work_levels(jobs));
    let time: Seconds = jobs.iter().map(|job| job.spend.canary_seconds).sum();
    let paid: Option<Usd> = jobs.iter().map(|job| job.spend.canary_usd).sum();
    match paid {
        Some(Usd(usd)) => parts.push(Quantity::Money.figure(usd)),
        None => parts.push(seconds(time)),
    }
    let full = if jobs.len() == 1 {
        "one full run"
    } else {
        "one full run of each"
    };
    let full_usd: Option<Usd> = jobs.iter().map(|job| job.spend.full_run_usd).sum();
    let full_seconds: Option<f64> = jobs
        .iter()
        .map(|job| Some(job.forecasts.first()?.estimates.time_seconds?.point))
        .sum();
    match (paid, full_usd, full_seconds) {
        (Some(Usd(paid)), Some(Usd(full_usd)), _) if full_usd > 0.0 => {
            parts.push(format!("{} of {full}", words::share(paid / full_usd)));
        }
        (None, _, Some(full_seconds)) if full_seconds > 0.0 => {
            let share = words::share(time.0 / full_seconds);
            parts.push(format!("{share} of the time of {full}"));
        }
        _ => {}
    }
    parts.join(", ")
}

/// Canary runs of the job that did not complete by the doing of the training code: what happened, how often, and the
/// last line, which is hostile text.
pub(super) fn failures(job: &JobReport) -> Vec<(String, Option<String>)> {
    let mut failures: Vec<(&Measurement, usize)> = Vec::new();
    for run in &job.measurements {
        if !matches!(
            run.outcome,
            Outcome::Failed { .. } | Outcome::OutOfMemory { .. }
        ) {
            continue;
        }
        let is_same =
            |known: &Measurement| known.instance == run.instance && known.outcome == run.outcome;
        match failures.iter_mut().find(|(known, _)| is_same(known)) {
            Some((_, count)) => *count += 1,
            None => failures.push((run, 1)),
        }
    }
    failures
        .into_iter()
        .map(|(run, count)| {
            let runs = words::count(count, "canary run");
            let what = match &run.outcome {
                Outcome::OutOfMemory { .. } => "ran out of memory".to_owned(),
                outcome => outcome.to_string(),
            };
            let first = words::share(run.data_share());
            let on = if run.instance.is_local() {
                String::new()
            } else {
                format!(" on {}", run.instance)
            };
            let of = if count == 1 {
                format!("with {first} of the data")
            } else {
                format!("the first with {first} of the data")
            };
            let last_line = run.outcome.last_line().map(str::to_owned);
            (format!("{runs}{on} {what}, {of}"), last_line)
        })
        .collect()
}

/// How each configuration's forecast was made, in sentences: laws, phases, and the numbers that the table's columns do
/// not show. Configurations of which the same is to be said share an entry.
pub(super) fn explanations(job: &JobReport, columns: &[Column]) -> Vec<(Vec<String>, String)> {
    let mut groups: Vec<(Vec<String>, String)> = Vec::new();
    for forecast in &job.forecasts {
        let sentences = [
            source_sentence(forecast),
            law_sentence(job, forecast),
            phases_sentence(forecast),
            unshown_sentence(forecast, columns),
        ];
        let sentences: Vec<String> = sentences.into_iter().flatten().collect();
        if sentences.is_empty() {
            continue;
        }
        let explanation = sentences.join(" ");
        let instance = forecast.instance.to_string();
        match groups.iter_mut().find(|(_, known)| *known == explanation) {
            Some((instances, _)) => instances.push(instance),
            None => groups.push((vec![instance], explanation)),
        }
    }
    groups
}

/// `Not measured (needs up to 3.20 USD): memory is that of the canaries on ml.m5.2xlarge.`
fn source_sentence(forecast: &InstanceForecast) -> Option<String> {
    let (why, source) = (&forecast.not_measured, &forecast.estimated_from);
    Some(format!(
        "Not measured ({}): {}.",
        why.as_ref()?,
        source.as_ref()?
    ))
}

/// `Phases: start-up 2m, not billed; download 40s; training 5h 40m; upload 12s.` Absent where training is all there is.
fn phases_sentence(forecast: &InstanceForecast) -> Option<String> {
    let phases = &forecast.phases;
    let matters = |estimate: &Option<Estimate>| {
        let training = phases.training.map_or(0.0, |training| training.point);
        estimate.is_some_and(|phase| phase.point >= LEAST_PHASE * training)
    };
    if ![phases.startup, phases.download, phases.upload]
        .iter()
        .any(matters)
    {
        return None;
    }
    let phase = |name: &str, estimate: &Option<Estimate>, remark: &str| {
        let time = Quantity::Time.with_interval(estimate.as_ref()?);
        Some(format!("{name} {time}{remark}"))
    };
    let parts: Vec<String> = [
        phase("start-up", &phases.startup, ", not billed"),
        phase("download", &phases.download, ""),
        phase("training", &phases.training, ""),
        phase("upload", &phases.upload, ""),
    ]
    .into_iter()
    .flatten()
    .collect();
    (!parts.is_empty()).then(|| format!("Phases: {}.", parts.join("; ")))
}

/// `Beside the table: CPU 22% (20–24).`
fn unshown_sentence(forecast: &InstanceForecast, columns: &[Column]) -> Option<String> {
    let figures = comparison::unshown_figures(forecast, columns);
    (!figures.is_empty()).then(|| format!("Beside the table: {}.", figures.join("; ")))
}

/// `Time is assumed to grow in proportion to the data. Fixed cost 41s. The largest canary held 3.0% of the data.`
fn law_sentence(job: &JobReport, forecast: &InstanceForecast) -> Option<String> {
    let mut sentences = Vec::new();
    match (&forecast.law.time, &forecast.law.memory) {
        (None, None) => return None,
        (Some(time), Some(memory)) if time.name == memory.name && time.weight == memory.weight => {
            sentences.push(words::law(Subject::TimeAndMemory, time));
        }
        (time, memory) => {
            let time = time.as_ref().map(|law| words::law(Subject::Time, law));
            let memory = memory.as_ref().map(|law| words::law(Subject::Memory, law));
            sentences.extend(time.into_iter().chain(memory));
        }
    }
    // A line that starts below zero has no fixed part to show.
    if let Some(Law { intercept, .. }) = forecast.law.time
        && intercept > 0.0
    {
        sentences.push(format!("fixed cost {}", Quantity::Time.figure(intercept)));
    }
    if let Some(largest) = largest_share(job, forecast) {
        sentences.push(format!(
            "the largest canary held {} of the data",
            words::share(largest)
        ));
    }
    let sentences: Vec<String> = sentences.iter().map(|s| capitalized(s)).collect();
    Some(format!("{}.", sentences.join(". ")))
}

fn capitalized(sentence: &str) -> String {
    let mut characters = sentence.chars();
    characters.next().map_or(String::new(), |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

fn completed<'a>(
    job: &'a JobReport,
    forecast: &'a InstanceForecast,
) -> impl Iterator<Item = &'a Measurement> {
    job.measurements
        .iter()
        .filter(|run| run.is_completed() && run.instance == forecast.instance)
}

fn largest_share(job: &JobReport, forecast: &InstanceForecast) -> Option<f64> {
    completed(job, forecast)
        .map(Measurement::data_share)
        .max_by(f64::total_cmp)
}

/// What was measured beside what the law of time says, and the forecast as the last row of each configuration.
pub(super) fn law_against_measured(jobs: &[&JobReport]) -> Grid {
    let mut rows = Vec::new();
    for job in jobs {
        for forecast in &job.forecasts {
            let (Some(law), Some(full)) = (&forecast.law.time, &forecast.estimates.time_seconds)
            else {
                continue;
            };
            let several_jobs = jobs.len() > 1;
            let several_instances = several_jobs || job.forecasts.len() > 1;
            let head = [
                if several_jobs {
                    job.name.clone()
                } else {
                    String::new()
                },
                if several_instances {
                    forecast.instance.to_string()
                } else {
                    String::new()
                },
            ];
            rows.extend(law_rows(job, forecast, law, full).map(|row| [&head[..], &row].concat()));
        }
    }
    Grid {
        columns: vec![
            ("Job", Align::Left),
            ("Instance", Align::Left),
            ("Data", Align::Right),
            ("Measured", Align::Right),
            ("Law", Align::Right),
        ],
        rows,
    }
    .without_empty_columns()
}

/// One row for each size; the repeats of a size share a row. The law is that of the full work, so runs that did less stay
/// out.
fn law_rows(
    job: &JobReport,
    forecast: &InstanceForecast,
    law: &Law,
    full: &Estimate,
) -> impl Iterator<Item = [String; 3]> {
    let mut sizes: Vec<(f64, Vec<(f64, f64)>)> = Vec::new();
    for run in completed(job, forecast).filter(|run| run.work == run.work_total) {
        let Some(Seconds(time)) = run.training_seconds else {
            continue;
        };
        let point = (run.data_share(), time);
        match sizes.iter_mut().find(|(asked, _)| *asked == run.fraction.0) {
            Some((_, points)) => points.push(point),
            None => sizes.push((run.fraction.0, vec![point])),
        }
    }
    sizes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let measured: Vec<[String; 3]> = sizes
        .into_iter()
        .map(|(_, points)| {
            let runs = f64::from(u32::try_from(points.len()).unwrap_or(u32::MAX));
            let share = points.iter().map(|point| point.0).sum::<f64>() / runs;
            let times = || points.iter().map(|point| point.1);
            let ends = [
                times().fold(f64::INFINITY, f64::min),
                times().fold(0.0, f64::max),
            ]
            .map(|time| Quantity::Time.figure(time));
            let measured = if ends[0] == ends[1] {
                ends[0].clone()
            } else {
                ends.join("–")
            };
            let by_law = Quantity::Time.figure(law.at(share));
            [words::share(share), measured, by_law]
        })
        .collect();
    let forecast = Quantity::Time.with_interval(full);
    measured
        .into_iter()
        .chain([["100%".to_owned(), String::new(), forecast]])
}

/// A sentence and what it is about, in one word.
pub(super) type Caution = (&'static str, String);

/// Prices, assumptions, cautions of all these jobs.
pub(super) fn cautions(jobs: &[&JobReport]) -> Vec<Caution> {
    const PATHS_SHOWN: usize = 3;
    let mut cautions: Vec<Caution> = Vec::new();
    let several_jobs = jobs.len() > 1;
    for job in jobs {
        let lead = if several_jobs {
            format!("{}: ", job.name)
        } else {
            String::new()
        };
        for forecast in &job.forecasts {
            if let Some(price) = &forecast.price {
                let price = format!("{}: {}", forecast.instance, words::price(price));
                cautions.push(("price", price));
            }
        }
        if !job.affected_by.is_empty() {
            let mut paths = job.affected_by[..job.affected_by.len().min(PATHS_SHOWN)].join(", ");
            if job.affected_by.len() > PATHS_SHOWN {
                paths.push_str(&format!(
                    " and {} more",
                    job.affected_by.len() - PATHS_SHOWN
                ));
            }
            cautions.push(("changed", format!("{lead}{paths}")));
        }
        let notes = job.notes.iter();
        cautions.extend(notes.map(|note| ("note", format!("{lead}{note}"))));
        for (note, runs) in run_notes(job) {
            let about = match runs.as_slice() {
                [run] => format!("{} of the data", words::share(run.data_share())),
                runs => words::count(runs.len(), "run"),
            };
            let instance = &runs[0].instance;
            cautions.push(("note", format!("{lead}{instance}, {about}: {note}")));
        }
    }
    cautions.extend(interval_words(jobs).map(|words| ("interval", words)));
    // The same caution often holds for many runs or jobs.
    let mut seen = std::collections::HashSet::new();
    cautions.retain(|caution| seen.insert(caution.clone()));
    let prices = jobs
        .iter()
        .flat_map(|job| &job.forecasts)
        .filter_map(|forecast| forecast.price.as_ref());
    if prices.into_iter().any(Price::is_estimate) {
        let mark = "~ marks a cost that rests on an estimated price";
        cautions.push(("note", mark.to_owned()));
    }
    cautions
}

/// Each note of a job's runs, once for each configuration, with the runs that it concerns; never without one.
fn run_notes(job: &JobReport) -> Vec<(&str, Vec<&Measurement>)> {
    let mut found: Vec<(&str, Vec<&Measurement>)> = Vec::new();
    for run in &job.measurements {
        for note in &run.notes {
            let same = found
                .iter_mut()
                .find(|(known, runs)| known == note && runs[0].instance == run.instance);
            match same {
                Some((_, runs)) => runs.push(run),
                None => found.push((note, vec![run])),
            }
        }
    }
    found
}

/// What an interval promises.
fn interval_words(jobs: &[&JobReport]) -> Option<String> {
    let (job, forecast) = jobs
        .iter()
        .find_map(|job| Some((job, job.forecasts.first()?)))?;
    let level = forecast.estimates.time_seconds?.level;
    let holds = format!(
        "made to hold one new full run in {} of 100 cases",
        cases_of_a_hundred(level)
    );
    Some(match largest_share(job, forecast) {
        // A full run among the canaries: there is nothing beyond.
        Some(largest) if largest >= 1.0 && jobs.len() == 1 => holds,
        Some(largest) if jobs.len() == 1 => format!(
            "{holds}, if the law holds beyond {} of the data",
            words::share(largest)
        ),
        _ => format!("{holds}, if the law holds beyond the largest canary"),
    })
}

/// `90`, `99.8`: as many digits as the level has, and never all hundred cases.
fn cases_of_a_hundred(level: f64) -> String {
    let cases = Percent((level * 1e8).round() / 1e6);
    if cases.0 >= 100.0 {
        ">99".to_owned()
    } else {
        cases.exact().trim_end_matches('%').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn the_check_tells_its_share_of_the_full_run() {
        let mut report = samples::churn();
        assert_eq!(
            spend(&[&report.jobs[0]]),
            "5 runs, 1.12 USD, 1.8% of one full run"
        );
        // Without a price, by time: 6734 of 20520 seconds.
        report.jobs[0].spend.canary_usd = None;
        assert_eq!(
            spend(&[&report.jobs[0]]),
            "5 runs, 1h 52m, 33% of the time of one full run"
        );
    }

    #[test]
    fn the_law_stands_beside_runs_of_the_full_work() {
        let mut report = samples::within();
        for run in &mut report.jobs[0].measurements {
            run.work = Some(if run.replicate == 0 { 4.0 } else { 1.0 });
            run.work_total = Some(4.0);
        }
        let grid = law_against_measured(&[&report.jobs[0]]);
        assert_eq!(
            grid.rows,
            [
                ["1.0%", "0.76s", "0.78s"],
                ["2.0%", "1.4s", "1.4s"],
                ["3.1%", "2.0s", "2.0s"],
                ["100%", "", "58s (51s–1m 06s)"],
            ]
        );
    }

    #[test]
    fn work_levels_are_told_where_every_run_has_one_of_the_same_whole() {
        let mut report = samples::gpu();
        let levels = |report: &crate::report::Report| work_levels(&[&report.jobs[0]]);
        assert_eq!(levels(&report).as_deref(), Some("work 2 and 4 of 40"));
        report.jobs[0].measurements[2].work_total = Some(20.0);
        assert_eq!(levels(&report), None);
        assert_eq!(levels(&samples::churn()), None);
    }

    #[test]
    fn an_interval_never_promises_every_case() {
        for (level, cases) in [
            (0.9, "90"),
            (0.998, "99.8"),
            (0.9998, "99.98"),
            (1.0, ">99"),
        ] {
            assert_eq!(cases_of_a_hundred(level), cases);
        }
        let mut report = samples::within();
        report.jobs[0].measurements[0].bytes = report.jobs[0].measurements[0].bytes_total;
        assert_eq!(
            interval_words(&[&report.jobs[0]]).unwrap(),
            "made to hold one new full run in 90 of 100 cases"
        );
    }

    #[test]
    fn equal_failures_are_told_once() {
        let mut report = samples::failed();
        let told = failures(&report.jobs[0]);
        assert_eq!(told.len(), 1);
        assert_eq!(
            told[0].0,
            "3 canary runs on ml.m5.2xlarge failed (exit code 1), the first with 1.0% of the data"
        );
        report.jobs[0].measurements[0].outcome = Outcome::OutOfMemory { last_line: None };
        assert_eq!(failures(&report.jobs[0]).len(), 2);
    }

    #[test]
    fn repeats_of_a_size_share_a_row_and_the_forecast_ends_the_table() {
        let report = samples::within();
        let grid = law_against_measured(&[&report.jobs[0]]);
        assert_eq!(
            grid.rows,
            [
                ["1.0%", "0.76s–0.81s", "0.78s"],
                ["2.0%", "1.4s", "1.4s"],
                ["3.1%", "2.0s–2.1s", "2.0s"],
                ["100%", "", "58s (51s–1m 06s)"],
            ]
        );
    }
}
