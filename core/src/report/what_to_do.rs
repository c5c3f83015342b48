//! What to do about a job that fails the check or could not be decided.

use super::budget_lines::{decisive_line, estimate_of, over_rows};
use super::document::{Block, Fold, FoldKind};
use super::recommendation::generous;
use super::text::{Prose, Verbatim};
use super::words::{distinct, only_where};
use super::{JobReport, Report, help};
use crate::exit;
use crate::measurement::Measurement;
use crate::plan;
use crate::spec::{BudgetLine, LineKind};
use crate::verdict::{BudgetRow, Verdict};

/// For how long lines to paste agree to an overrun.
const DAYS: i64 = 30;

/// The least share of the data that the sizes which [`plan::TOO_SMALL`] names begin with.
const SMALL: f64 = 0.1;

/// A reason of more characters than this, such as one with AWS's own words, stands in a fold as a whole.
const LONGEST_REASON: usize = 120;

/// A sentence or two; `None` where there is nothing to do.
pub(super) fn text(report: &Report, job: &JobReport) -> Option<Prose> {
    Some(match job.verdict {
        Verdict::Exceeded if job.policy.accepted.is_none() => over_budget(job),
        Verdict::Failed => failed(job),
        Verdict::Unknown => help::sentence(job.reason.advice.as_deref()?),
        Verdict::AtRisk if report.exit_code == exit::AT_RISK && doubted(job) => Prose::sentence(
            "Settle the doubt that the reason names, by what it says or by larger canaries: with `strict` a risk fails the check.",
        ),
        Verdict::AtRisk if report.exit_code == exit::AT_RISK => Prose::sentence(
            "Make the full run take less, or raise the limit: with `strict` a risk fails the check.",
        ),
        _ if job.has_drifted() => Prose::sentence(
            "Correct the cause, or accept the new level (`canary-gate drift --accept`, in the action `accept: true`), or allow more by `drift.max`.",
        ),
        Verdict::AtRisk if report.exit_code == 0 => Prose::sentence(
            "Nothing has to be done: `strict` is off, so a risk does not fail the check.",
        ),
        _ => return None,
    })
}

/// Whether the line that decides is at risk by a doubt, not by the chance that its limit is passed.
fn doubted(job: &JobReport) -> bool {
    let decisive = job.forecasts.first().and_then(decisive_line);
    decisive.is_some_and(|row| row.chance_of_breach.is_none())
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
    let agree = only_where(!overrides(job).is_empty(), || {
        Prose::own(
            ", or let the spec's owners accept more until a date, by an override in a pull request of its own",
        )
    });
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
    let rows = job.forecasts.first().map(over_rows).into_iter().flatten();
    let names = distinct(rows.map(|row| match row.line.metric() {
        Some(metric) => metric.words().into(),
        None => row.line.words(),
    }));
    match names.is_empty() {
        true => Prose::own("the job"),
        false => Prose::joined(names.into_iter().map(Prose::literal), " and "),
    }
}

fn failed(job: &JobReport) -> Prose {
    let failed = || job.measurements.iter().filter(|run| run.has_failed());
    let is_small = |run: &&Measurement| run.way_out.is_none() && run.data_share() < SMALL;
    let correct = match failed().next().and_then(|run| run.training_job.as_deref()) {
        Some(name) => Prose::fill(
            "Correct the training code; the whole log is that of the training job {} in CloudWatch.",
            [Prose::name(name)],
        ),
        None => Prose::own("Correct the training code; it fails already on a sample of the data."),
    };
    match failed().filter(is_small).count() {
        0 | 1 => correct,
        _ => Prose::fill("{} {}", [correct, Prose::sentence(plan::TOO_SMALL)]),
    }
}

/// Lines of the spec that agree to what these jobs are over; `None` if there are none, or if they are of several specs.
pub(super) fn agreement(report: &Report) -> Option<Fold> {
    report.spec_hash.as_ref()?;
    let until = report.generated_at.to_zoned(jiff::tz::TimeZone::UTC).date();
    let until = until.checked_add(jiff::Span::new().days(DAYS)).ok()?;
    let mut lines = vec!["overrides:".to_owned()];
    let jobs = report.jobs.iter();
    for job in jobs.filter(|job| job.verdict == Verdict::Exceeded && job.policy.accepted.is_none())
    {
        // A name may be more to YAML than text; JSON's text is YAML's too.
        let name = serde_json::Value::from(job.name.as_str());
        lines.extend(overrides(job).into_iter().map(|(line, up_to)| {
            format!("  - {{job: {name}, budget: {line}, up_to: {up_to}, until: {until}, reason: \"why, and who agreed\"}}")
        }));
    }
    let lines = (lines.len() > 1).then(|| Block::Paste(Verbatim::new(lines)));
    Fold::of(FoldKind::Agreement, lines)
}

/// The lines that a job is over, each with a limit that would be enough.
fn overrides(job: &JobReport) -> Vec<(LineKind, String)> {
    let Some(forecast) = job.forecasts.first() else {
        return Vec::new();
    };
    let enough = |row: &BudgetRow| {
        let enough = estimate_of(row.line, forecast)?.end(row.bound);
        let up_to = generous(row.line, row.bound, enough);
        // No spec makes a machine larger.
        let is_larger = row.line.memory_of().is_some() && up_to > BudgetLine::ALL_MEMORY.0;
        let is_possible = up_to.is_finite() && up_to > 0.0 && !is_larger;
        is_possible.then(|| (row.line, row.line.unit().exact(up_to)))
    };
    over_rows(forecast).filter_map(enough).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{markdown, samples};
    use crate::spec::read;

    #[test]
    fn an_overrun_has_lines_to_paste_that_the_spec_takes() {
        let page = markdown::render(&samples::of("over-budget"));
        let start = page.find("overrides:\n").unwrap();
        let lines: String = page[start..].lines().take(2).collect::<Vec<_>>().join("\n");
        assert_eq!(
            lines,
            "overrides:\n  - {job: \"churn\", budget: cost, up_to: 72 USD, until: 2026-12-21, reason: \"why, and who agreed\"}"
        );
        let spec = format!(
            "version: 1\nbackend: local\nprices: {{local: 1 USD/h}}\njobs:\n  churn:\n    training: {{command: [sh, train.sh], channels: {{train: {{uri: data}}}}}}\n    instance: local\n    budget: {{cost: 50 USD}}\n{lines}\n"
        );
        let spec = read("canary-gate.yml", spec.as_bytes(), &[])
            .unwrap_or_else(|errors| panic!("{}", errors.render(false, 100)));
        assert_eq!(spec.overrides[0].up_to.number, 72.0);
    }
}
