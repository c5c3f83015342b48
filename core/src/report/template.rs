//! The layout of pages: ours of HTML, and of Markdown ours or a team's own template, which is given the values of `values.json`.
//!
//! Every text in values is escaped already, so a template escapes nothing.

use std::sync::LazyLock;

use handlebars::{Handlebars, RenderError, RenderErrorReason, no_escape};
use serde_json::{Value, json};

use super::escape::{LINE_LIMIT, PARAGRAPH_LIMIT, for_markdown, for_markdown_with_code};
use super::{JobReport, Report};
use crate::metric::Metric;

const NAME: &str = "report";
pub(super) const OURS: &str = include_str!("../../templates/report.md.hbs");
/// One value of each kind.
pub(super) const EXAMPLE: &str = include_str!("../../templates/values.json");

pub(super) static OUR_TEMPLATE: LazyLock<Template> = LazyLock::new(|| {
    Template::parse(OURS).expect("it is part of the program and names only what there is")
});

pub(super) static OUR_PAGE: LazyLock<Template> =
    LazyLock::new(|| Template::ours(include_str!("../../templates/page.html.hbs")));

pub(super) static OUR_CHART: LazyLock<Template> =
    LazyLock::new(|| Template::ours(include_str!("../../templates/chart.md.hbs")));

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
    fn ours(text: &str) -> Self {
        Self::of(text).expect("it is part of the program")
    }

    fn of(text: &str) -> Result<Self, TemplateError> {
        let mut handlebars = Handlebars::new();
        handlebars.register_escape_fn(no_escape);
        let registered = handlebars.register_template_string(NAME, text);
        registered.map_err(|error| TemplateError(error.to_string()))?;
        Ok(Self(handlebars))
    }

    /// Reads a template and tries it on an example of all values, so that a name that does not exist is an error at once.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let Self(mut handlebars) = Self::of(text)?;
        handlebars.set_strict_mode(true);
        let example: Value =
            serde_json::from_str(EXAMPLE).expect("the example is part of the program");
        let tried = handlebars.render(NAME, &example);
        tried.map_err(|error| TemplateError::of(&error))?;
        // A list may be shorter than that of the example.
        handlebars.set_strict_mode(false);
        Ok(Self(handlebars))
    }

    /// `None` if a helper of the template fails on these values.
    pub(super) fn lay_out(&self, values: &Value) -> Option<String> {
        self.0.render(NAME, values).ok()
    }

    /// The page as a template of ours lays it out.
    pub(super) fn page(&self, values: &Value) -> String {
        let page = self.lay_out(values);
        page.expect("our template needs nothing but its values")
    }
}

/// What a template is given of a report beside its document.
pub(super) fn add_report(values: &mut Value, report: &Report) {
    values["verdict"] = json!(report.verdict);
    values["exit_code"] = json!(report.exit_code);
    values["commit"] = json!(report.commit.as_deref().map(line));
    values["run_url"] = json!(report.run_url.as_deref().map(line));
    values["jobs"] = report.jobs.iter().map(of_job).collect();
}

/// The estimates are of the full run on `instance`.
fn of_job(job: &JobReport) -> Value {
    let estimates = job.forecasts.iter().take(1).flat_map(|forecast| {
        Metric::ALL.into_iter().filter_map(|metric| {
            let of = forecast.estimates[metric]?;
            Some(json!({"metric": metric.key(), "point": of.point, "lower": of.lower, "upper": of.upper}))
        })
    });
    json!({
        "name": line(&job.name),
        "verdict": job.verdict,
        "reason": for_markdown_with_code(&job.reason.to_string(), PARAGRAPH_LIMIT),
        "instance": line(&job.instance.to_string()),
        "canary_usd": job.spend.canary_usd,
        "estimates": estimates.collect::<Value>(),
    })
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
