//! What stands behind the numbers of a report: the law that carries the extrapolation, prices, cautions.
//!
//! Plain text, which may hold some from outside.

use super::comparison::{self, Column};
use super::document::DocumentLine;
use super::words::{self, Quantity, grouped};
use super::{InstanceForecast, JobReport, Label, Prose, Report};
use crate::forecast::{Estimate, Law};
use crate::grammar::first_of;
use crate::instance::Price;
use crate::measurement::newest_data::NewestData;
use crate::measurement::{Abscissa, Measurement};
use crate::metric::Metric;
use crate::verdict::Verdict;

/// Phases are worth a sentence when one beside the training takes this share of it.
const LEAST_PHASE: f64 = 0.005;

/// Notes of a job that is not decided, in a brief report.
const NOTES_SHOWN: usize = 3;

/// How each configuration's forecast was made, in sentences: laws, phases, and the numbers that the table's columns do
/// not show. Configurations of which the same is to be said share an entry.
pub(super) fn explanations(job: &JobReport, columns: &[Column]) -> Vec<(Vec<String>, String)> {
    let explained = job.forecasts.iter().map(|forecast| {
        let sentences = [
            source_sentence(forecast),
            law_sentence(job, forecast),
            phases_sentence(forecast),
            unshown_sentence(forecast, columns),
        ];
        let sentences = words::joined(sentences.into_iter().flatten(), " ");
        (forecast.instance.to_string(), sentences)
    });
    let explained = explained.filter(|(_, explanation)| !explanation.is_empty());
    let groups = grouped(explained, |(_, one), (_, other)| one == other).into_iter();
    let groups = groups.map(|group| {
        let (instances, mut explanations): (Vec<_>, Vec<_>) = group.into_iter().unzip();
        (instances, explanations.swap_remove(0))
    });
    groups.collect()
}

/// `Not measured (needs up to 3.20 USD): memory is that of the canaries on ml.m5.2xlarge.`
fn source_sentence(forecast: &InstanceForecast) -> Option<String> {
    let why = forecast.not_measured.as_ref()?;
    let source = forecast.estimated_from.as_ref()?;
    Some(format!("Not measured ({why}): {source}."))
}

/// `Phases: start-up 2m, not billed; download 40s; training 5h 40m; upload 12s.` Absent where training is all there is.
fn phases_sentence(forecast: &InstanceForecast) -> Option<String> {
    let phases = &forecast.phases;
    let training = phases.training.map_or(0.0, |training| training.point);
    let phases = [
        ("start-up", &phases.startup, ", not billed"),
        ("download", &phases.download, ""),
        ("training", &phases.training, ""),
        ("upload", &phases.upload, ""),
    ]
    .into_iter();
    let known = phases.filter_map(|(name, time, remark)| Some((name, time.as_ref()?, remark)));
    let is_large = |time: &Estimate| time.point >= LEAST_PHASE * training;
    let is_said = (known.clone()).any(|(name, time, _)| name != "training" && is_large(time));
    let said = known.map(|(name, time, remark)| {
        format!("{name} {}{remark}", Quantity::Time.with_interval(time))
    });
    is_said.then(|| format!("Phases: {}.", words::joined(said, "; ")))
}

/// `Beside the table: CPU 22% (20–24).`
fn unshown_sentence(forecast: &InstanceForecast, columns: &[Column]) -> Option<String> {
    let figures = comparison::unshown_figures(forecast, columns);
    (!figures.is_empty()).then(|| format!("Beside the table: {}.", figures.join("; ")))
}

/// `Time is assumed to grow in proportion to the data. Fixed cost 41s. The largest canary held 3.0% of the data.`
fn law_sentence(job: &JobReport, forecast: &InstanceForecast) -> Option<String> {
    let mut sentences = Vec::new();
    let abscissa = abscissa(job, forecast);
    match (&forecast.law.time, &forecast.law.memory) {
        (None, None) => return None,
        (Some(time), Some(memory)) if time.name == memory.name && time.weight == memory.weight => {
            sentences.push(words::law(&["time", "memory"], time, abscissa));
        }
        (time, memory) => {
            let laws = [("time", time), ("memory", memory)].into_iter();
            let laws =
                laws.filter_map(|(of, law)| Some(words::law(&[of], law.as_ref()?, abscissa)));
            sentences.extend(laws);
        }
    }
    // A line that starts below zero has no fixed part to show.
    if let Some(Law { intercept, .. }) = forecast.law.time
        && intercept > 0.0
    {
        sentences.push(format!("fixed cost {}", Quantity::Time.figure(intercept)));
    }
    if let Some(largest) = largest(job, forecast) {
        let (of, share) = (largest.reach_of(), words::share(largest.reach()));
        let held = of.verb();
        sentences.push(format!("the largest canary {held} {share} of the {of}"));
    }
    let sentences = sentences.iter().map(|s| words::capitalized(s));
    Some(format!("{}.", words::joined(sentences, ". ")))
}

pub(super) fn completed<'a>(
    job: &'a JobReport,
    forecast: &'a InstanceForecast,
) -> impl Iterator<Item = &'a Measurement> {
    let runs = job.measurements.iter();
    let here: Vec<&Measurement> = runs.filter(|run| run.is_on(&forecast.instance)).collect();
    // Of the data that the law is of.
    let newest = NewestData::of(&here).kept;
    newest.into_iter().filter(|run| run.is_completed())
}

/// What its canaries have shares of.
pub(super) fn abscissa(job: &JobReport, forecast: &InstanceForecast) -> Abscissa {
    let mut runs = completed(job, forecast);
    runs.next().map_or(Abscissa::Data, Measurement::abscissa)
}

/// The largest of the canaries that the time follows from, on its own machines or on another count of them.
fn largest<'a>(job: &'a JobReport, forecast: &'a InstanceForecast) -> Option<&'a Measurement> {
    let kind = forecast.scale_out.and(forecast.instance.single_type());
    let is_source = |run: &&Measurement| {
        kind.is_some() && run.instance.single_type() == kind && run.is_completed()
    };
    let on_other_counts = job.measurements.iter().filter(is_source);
    let runs = completed(job, forecast).chain(on_other_counts);
    runs.max_by(|a, b| a.reach().total_cmp(&b.reach()))
}

/// Prices, assumptions, cautions of all jobs.
pub(super) fn cautions(report: &Report) -> Vec<DocumentLine> {
    const PATHS_SHOWN: usize = 3;
    let mut cautions: Vec<DocumentLine> = Vec::new();
    let mut add = |label, text: String, is_brief| {
        cautions.push(DocumentLine::new(label, Prose::sentence(text)).brief_where(is_brief));
    };
    let jobs: Vec<&JobReport> = report.jobs.iter().collect();
    for job in &jobs {
        let lead = words::only_where(report.is_of_several_jobs(), || format!("{}: ", job.name));
        for forecast in &job.forecasts {
            let whole = forecast.price.iter();
            let whole = whole.map(|price| (forecast.instance.to_string(), price));
            let groups = forecast.groups.iter().filter_map(|group| {
                let machines = format!("{} ({})", group.name, group.instance_type);
                Some((machines, group.price.as_ref()?))
            });
            for (machines, price) in whole.chain(groups) {
                let price = words::price(price);
                add(Label::PRICE, format!("{machines}: {price}"), false);
            }
        }
        let paths = &job.affected_by;
        if !paths.is_empty() {
            let changed = lead.clone() + &first_of(paths, PATHS_SHOWN);
            add(Label::CHANGED_FILES, changed, false);
        }
        // They mostly say why it is not decided.
        let is_open = matches!(job.verdict, Verdict::Unknown | Verdict::NotJudged);
        let notes = job.notes.iter().cloned().chain(run_notes(job));
        for (index, note) in notes.enumerate() {
            let is_brief = is_open && index < NOTES_SHOWN;
            add(Label::NOTE, format!("{lead}{note}"), is_brief);
        }
    }
    let mut prices = (jobs.iter())
        .flat_map(|job| &job.forecasts)
        .flat_map(InstanceForecast::prices);
    let mark = match prices.any(Price::is_estimate) {
        true => "; ~ marks a cost that rests on an estimated price",
        false => "",
    };
    if let Some(words) = interval_words(&jobs) {
        add(Label::INTERVAL, format!("{words}{mark}"), true);
    }
    // The same caution often holds for many runs or jobs.
    words::distinct(cautions)
}

/// Each note of a job's runs, once for each configuration, with the runs that it concerns.
fn run_notes(job: &JobReport) -> impl Iterator<Item = String> {
    let notes = job.measurements.iter();
    let notes = notes.flat_map(|run| run.notes.iter().map(move |note| (note, run)));
    let same = grouped(notes, |(one, first), (other, run)| {
        one == other && first.instance == run.instance
    });
    same.into_iter().map(|noted| {
        let (note, run) = noted[0];
        let (share, abscissa) = (words::share(run.data_share()), run.abscissa());
        let about = match noted.len() {
            1 => format!("{share} of the {abscissa}"),
            count => words::count(count, "run"),
        };
        format!("{}, {about}: {note}", run.instance)
    })
}

/// What an interval promises.
fn interval_words(jobs: &[&JobReport]) -> Option<String> {
    let mut known = jobs.iter();
    let (job, forecast) = known.find_map(|job| Some((job, job.forecasts.first()?)))?;
    let cases = words::cases_of_a_hundred(forecast.estimates[Metric::Time]?.level);
    let holds = format!("{cases}% prediction interval for one full run");
    if let Some(share) = forecast.reached.filter(|_| jobs.len() == 1) {
        return Some(format!(
            "{holds}, if it goes on as in the first {share} of its steps"
        ));
    }
    Some(match largest(job, forecast) {
        // A full run among the canaries: there is nothing beyond.
        Some(largest) if largest.reach() >= 1.0 && jobs.len() == 1 => holds,
        Some(largest) if jobs.len() == 1 => format!(
            "{holds}, if growth beyond {} of the {} goes on as measured",
            words::share(largest.reach()),
            largest.reach_of()
        ),
        _ => format!("{holds}, if growth beyond the largest canary goes on as measured"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn an_interval_never_promises_every_case() {
        for (level, cases) in [
            (0.9, "90"),
            (0.998, "99.8"),
            (0.9998, "99.98"),
            (1.0, ">99"),
        ] {
            assert_eq!(words::cases_of_a_hundred(level), cases);
        }
        let mut report = samples::of("within");
        report.jobs[0].measurements[0].bytes = report.jobs[0].measurements[0].bytes_total;
        assert_eq!(
            interval_words(&[&report.jobs[0]]).unwrap(),
            "90% prediction interval for one full run"
        );
    }
}
