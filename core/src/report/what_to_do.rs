//! What to do about a job that fails the check or could not be decided.

use std::borrow::Cow;

use super::text::Prose;
use super::{InstanceForecast, JobReport, help};
use crate::measurement::Outcome;
use crate::metric::Metric;
use crate::spec::{Level, LineKind};
use crate::verdict::{BudgetRow, LineVerdict, Verdict};

/// A reason of more characters than this, such as one with AWS's own words, stands in a fold as a whole.
const LONGEST_REASON: usize = 120;

/// A sentence or two; `None` where there is nothing to do.
pub(super) fn text(job: &JobReport) -> Option<Prose> {
    Some(match job.verdict {
        Verdict::Exceeded if job.policy.accepted.is_none() => over_budget(job),
        Verdict::Failed => failed(job),
        Verdict::Unknown => help::sentence(job.reason.advice.as_deref()?),
        _ => return None,
    })
}

/// Why, without what to do about it, as far as it has room in a headline.
pub(super) fn short_reason(job: &JobReport) -> Prose {
    match job.verdict {
        Verdict::Unknown => Prose::at_most(job.reason.why.as_str(), LONGEST_REASON),
        _ => Prose::literal(job.reason.to_string()),
    }
}

/// The whole reason, where the headline has only its beginning.
pub(super) fn whole_reason(job: &JobReport) -> Option<Prose> {
    let why = job.reason.why.as_str();
    let is_cut = job.verdict == Verdict::Unknown && why.chars().count() > LONGEST_REASON;
    let name = Prose::name(job.name.as_str());
    is_cut.then(|| Prose::fill("{}: {}", [name, Prose::paragraph(why)]))
}

fn over_budget(job: &JobReport) -> Prose {
    // No spec makes a machine larger.
    let is_of_machine = |row: &BudgetRow| {
        let memory = [Metric::Memory, Metric::GpuMemory].map(LineKind::Absolute);
        memory.contains(&row.line)
    };
    let mut rows = job.forecasts.first().into_iter().flat_map(over_rows);
    let agree = match rows.any(|row| !is_of_machine(row)) {
        false => Prose::default(),
        true => Prose::own(
            ", or let the owners of the spec agree to more until a day, by an override in a pull request of its own",
        ),
    };
    let cheapest = job.recommendation.as_ref();
    let cheapest = cheapest.and_then(|known| known.cheapest.as_deref());
    let cheapest = cheapest.filter(|cheapest| *cheapest != job.instance.to_string());
    match cheapest {
        Some(cheapest) => Prose::fill(
            "Train on {}, which is within the budget, or bring {} within it{}.",
            [Prose::name(cheapest), exceeded(job), agree],
        ),
        None => Prose::fill("Bring {} within the budget{}.", [exceeded(job), agree]),
    }
}

/// What the job is over: `time and cost`.
fn exceeded(job: &JobReport) -> Prose {
    let rows = job.forecasts.first().map(over_rows);
    let mut names: Vec<Cow<'static, str>> = Vec::new();
    for row in rows.into_iter().flatten() {
        let name = row
            .line
            .metric()
            .map_or_else(|| row.line.words(), |of| of.words().into());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.is_empty() {
        true => Prose::own("the job"),
        false => Prose::joined(names.into_iter().map(Prose::literal), " and "),
    }
}

fn failed(job: &JobReport) -> Prose {
    let is_failed = |outcome: &Outcome| matches!(outcome, Outcome::Failed { .. });
    let mut runs = job.measurements.iter();
    let run = runs.find(|run| is_failed(&run.outcome));
    match run.and_then(|run| run.training_job.as_deref()) {
        Some(name) => Prose::fill(
            "Correct the training code; the whole log is that of the training job {} in CloudWatch.",
            [Prose::name(name)],
        ),
        None => Prose::own("Correct the training code; it fails on a sample of the data too."),
    }
}

/// The lines that fail the job.
fn over_rows(forecast: &InstanceForecast) -> impl Iterator<Item = &BudgetRow> {
    let is_over =
        |row: &&BudgetRow| row.verdict == LineVerdict::Exceeded && row.counts_as() == Level::Fail;
    forecast.budget.iter().filter(is_over)
}
