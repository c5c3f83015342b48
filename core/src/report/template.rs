//! The layout of the Markdown page: ours, or a team's own template.
//!
//! A template is given `PageValues`. Every text in them is escaped for Markdown already, so a template escapes nothing.

use std::sync::LazyLock;

use handlebars::{Handlebars, RenderError, RenderErrorReason, no_escape};
use serde::Serialize;

use super::escape::{LINE_LIMIT, PARAGRAPH_LIMIT, for_markdown, for_markdown_with_code};
use super::{JobReport, Report};
use crate::metric::Metric;
use crate::verdict::Verdict;

const NAME: &str = "report";
pub(super) const OURS: &str = include_str!("../../templates/report.md.hbs");
/// One value of each kind.
pub(super) const EXAMPLE: &str = include_str!("../../templates/values.json");

static OUR_TEMPLATE: LazyLock<Template> = LazyLock::new(|| {
    Template::parse(OURS).expect("it is part of the program and names only what there is")
});

/// A template that names only values that there are.
#[derive(Debug, Clone)]
pub struct Template(Handlebars<'static>);

/// Why a text is no template: what is wrong and where.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(String);

impl TemplateError {
    fn of(error: &RenderError) -> Self {
        let line = error.line_no.unwrap_or(1);
        Self(match error.reason() {
            RenderErrorReason::MissingVariable(Some(name)) => {
                format!("line {line}: there is no value `{name}`")
            }
            other => format!("line {line}: {other}"),
        })
    }
}

impl Template {
    /// Reads a template and tries it on an example of all values, so that a name that does not exist is an error at once.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut handlebars = Handlebars::new();
        handlebars.register_escape_fn(no_escape);
        let registered = handlebars.register_template_string(NAME, text);
        registered.map_err(|error| TemplateError(error.to_string()))?;
        handlebars.set_strict_mode(true);
        let example: serde_json::Value =
            serde_json::from_str(EXAMPLE).expect("the example is part of the program");
        let tried = handlebars.render(NAME, &example);
        tried.map_err(|error| TemplateError::of(&error))?;
        // A list may be shorter than that of the example.
        handlebars.set_strict_mode(false);
        Ok(Self(handlebars))
    }

    /// `None` if a helper of the template fails on these values.
    pub(super) fn lay_out(&self, values: &PageValues) -> Option<String> {
        self.0.render(NAME, values).ok()
    }
}

impl PageValues {
    /// With what only a report has.
    pub(super) fn of_report(self, report: &Report) -> Self {
        Self {
            verdict: Some(report.verdict),
            exit_code: Some(report.exit_code),
            commit: report.commit.as_deref().map(line),
            run_url: report.run_url.as_deref().map(line),
            jobs: report.jobs.iter().map(JobValues::of).collect(),
            ..self
        }
    }
}

/// The page as our template lays it out.
pub(super) fn lay_out(values: &PageValues) -> String {
    let page = OUR_TEMPLATE.lay_out(values);
    page.expect("our template needs nothing but its values")
}

/// What a template is given. An absent value is null, so every name is there.
#[derive(Debug, Default, Serialize)]
pub(super) struct PageValues {
    pub(super) headlines: Vec<MarkedText>,
    pub(super) warnings: Vec<MarkedText>,
    pub(super) table: Option<TableValues>,
    /// Finished paragraphs.
    pub(super) blocks: Vec<String>,
    pub(super) remarks: String,
    pub(super) left_out: Option<String>,
    pub(super) folds: Vec<FoldValues>,
    pub(super) footer: String,
    pub(super) verdict: Option<Verdict>,
    pub(super) exit_code: Option<u8>,
    pub(super) commit: Option<String>,
    pub(super) run_url: Option<String>,
    pub(super) jobs: Vec<JobValues>,
}

#[derive(Debug, Serialize)]
pub(super) struct MarkedText {
    pub(super) mark: &'static str,
    pub(super) text: String,
}

#[derive(Debug, Serialize)]
pub(super) struct TableValues {
    pub(super) columns: Vec<ColumnValues>,
    pub(super) rows: Vec<Vec<CellValues>>,
}

#[derive(Debug, Serialize)]
pub(super) struct ColumnValues {
    /// Empty if the cells say what they are.
    pub(super) title: String,
    pub(super) is_number: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct CellValues {
    pub(super) mark: Option<&'static str>,
    pub(super) text: String,
    pub(super) detail: Option<String>,
    pub(super) is_strong: bool,
}

#[derive(Debug, Serialize)]
pub(super) struct FoldValues {
    pub(super) summary: String,
    pub(super) blocks: Vec<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct JobValues {
    name: String,
    verdict: Verdict,
    reason: String,
    instance: String,
    canary_usd: Option<f64>,
    estimates: Vec<EstimateValues>,
}

/// One metric of the full run on `instance`.
#[derive(Debug, Serialize)]
struct EstimateValues {
    metric: &'static str,
    point: f64,
    lower: f64,
    upper: f64,
}

impl JobValues {
    fn of(job: &JobReport) -> Self {
        let estimates = job.forecasts.first().map(|forecast| {
            let known = Metric::ALL.into_iter();
            let known = known.filter_map(|metric| Some((metric, forecast.estimates[metric]?)));
            known.map(|(metric, estimate)| EstimateValues {
                metric: metric.key(),
                point: estimate.point,
                lower: estimate.lower,
                upper: estimate.upper,
            })
        });
        Self {
            name: line(&job.name),
            verdict: job.verdict,
            reason: for_markdown_with_code(&job.reason, PARAGRAPH_LIMIT),
            instance: line(&job.instance.to_string()),
            canary_usd: job.spend.canary_usd.map(|usd| usd.0),
            estimates: estimates.into_iter().flatten().collect(),
        }
    }
}

fn line(text: &str) -> String {
    for_markdown(text, LINE_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_that_names_what_there_is_not_is_an_error_before_it_is_used() {
        for (template, said) in [
            ("{{#each jobs}}{{name}}", "each"),
            ("{{verdcit}}", "verdcit"),
            (
                "\n{{#each jobs}}{{no_such_value}}{{/each}}",
                "line 2: there is no value `no_such_value`",
            ),
            ("{{> other}}", "other"),
            ("{{shout verdict}}", "shout"),
        ] {
            let error = Template::parse(template).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }
}
