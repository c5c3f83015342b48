//! The **report**: one value, several renderers. Nothing here computes a forecast or a verdict; it says what they were.
//!
//! The JSON form of [`Report`] is published and versioned; other programs rely on its names. An absent value is an
//! omitted key.
//!
//! What a reader sees is first a `Document`, which `compose` makes of the report: texts, tables, charts
//! and folded parts, each as what it is. [`markdown`], [`terminal`] and [`html`] lay it out and escape. [`to_json`] and [`csv::render`]
//! need no page.

mod acceptance;
pub mod actual;
mod background;
pub mod badge;
mod budget_lines;
mod canaries;
#[cfg(test)]
mod cases;
mod change;
mod comparison;
mod compose;
mod consistent;
pub mod csv;
mod document;
mod drift;
mod drift_issue;
pub mod escape;
mod estimates;
mod failures;
mod figures;
mod footer;
pub mod format;
mod help;
pub mod history_figures;
pub mod html;
mod json;
mod label;
mod length;
mod many_jobs;
mod mark;
pub mod markdown;
mod merge;
mod mermaid;
mod over_time;
pub mod plan;
mod plot;
mod policy_lines;
mod recommendation;
mod redact;
#[cfg(test)]
pub(crate) mod samples;
mod status;
pub mod template;
pub mod terminal;
mod text;
mod versus_twin;
mod what_to_do;
pub mod words;
use label::Label;
use mark::Mark;
use text::Prose;

pub use acceptance::{Acceptance, accept_overruns, overrun_ends};
pub use comparison::BUSY_GPU;
pub use drift_issue::{DriftIssue, drift_issue, drift_over};
pub use estimates::Estimates;
pub use json::{from_json, measurement_schema, omit_nulls, published, report_schema, to_json};
pub use length::{page_within, render_within};
pub use merge::merge;
pub use status::{Leftovers, ended, in_progress, status_line, unposted};
pub use text::DOCUMENTS;
pub use versus_twin::{BreakEven, VersusTwin};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use std::collections::BTreeMap;

use crate::drift::{CauseShare, Drift};
use crate::exit::{self, Strictness};
use crate::forecast::{Estimate, EstimateAtShare, Laws};
use crate::instance::{InstanceConfiguration, InstanceType, Price};
use crate::measurement::{Measurement, Outcome};
use crate::metric::{Metric, MetricName};
use crate::spec::{Bound, ChangedSetting, LineKind, Ranking};
use crate::units::{Fraction, Seconds, Usd, UsdPerHour, is_default};
use crate::verdict::{BudgetRow, Reason, Recommendation, Verdict};

/// The version written by this program. A reader refuses a newer one.
pub const SCHEMA_VERSION: u32 = 1;

/// What one run of the gate found, over all jobs.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    pub schema_version: u32,
    pub tool_version: String,
    /// The time at which the report was made, RFC 3339 in UTC.
    pub generated_at: jiff::Timestamp,
    pub run_url: Option<String>,
    /// The checked-out commit, in full; absent without git.
    pub commit: Option<String>,
    pub spec_hash: Option<String>,
    /// The spec's path, and the jobs where only some were asked for, e.g. `canary-gate.yml: churn, digits`; absent if unknown.
    pub subject: Option<String>,
    pub policy: Option<Policy>,
    /// The worst verdict of all jobs.
    pub verdict: Verdict,
    pub exit_code: u8,
    pub jobs: Vec<JobReport>,
    /// Notes about the whole run, e.g. that no job is affected.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Failures of the tool, or of its environment: each of one job or of the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Failure>,
}

impl Report {
    /// By this program, of a run that has found nothing yet.
    pub fn begun() -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            ..Self::default()
        }
    }

    /// Whether it says something of several jobs, with one that could not be checked: each thing that is said then names its job.
    fn is_of_several_jobs(&self) -> bool {
        let failed = self.failures.iter().filter_map(|it| it.job.as_ref());
        let mut names = self.jobs.iter().map(|job| &job.name).chain(failed);
        let first = names.next();
        names.any(|name| Some(name) != first)
    }
}

/// Why a job, or the whole run, could not be checked. May hold text of the pull request.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Failure {
    /// The name of the job; absent if the failure concerns the whole run.
    pub job: Option<String>,
    /// The activity that failed, e.g. `reading the spec`.
    pub phase: String,
    pub what: String,
    /// The causes, from the nearest to the deepest; of an invalid spec its problems, each with its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The advice on what to do about it.
    pub help: Option<String>,
}

/// The origin of the budgets.
#[skip_serializing_none]
#[serde_with::apply(Vec<String> => #[serde(default, skip_serializing_if = "Vec::is_empty")])]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Policy {
    /// The place of the spec, e.g. `work tree`, or the base branch.
    pub source: String,
    pub sha: Option<String>,
    /// The organization's policy that the spec extends, with its commit: `my-org/policies/canary-gate.yml@v1 (3f9c2e1)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    /// How the change's own policy differs, of what concerns every job; a sentence or two each.
    pub notes: Vec<String>,
    /// Jobs that the change removes from the spec, so that nothing of them is checked; without renamed ones.
    pub removed_jobs: Vec<String>,
}

impl Policy {
    /// Of this place, without a difference.
    pub fn of(source: impl Into<String>, sha: Option<String>) -> Self {
        Self {
            source: source.into(),
            sha,
            ..Self::default()
        }
    }
}

/// The policy of one job, beside the budget's own rows.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct JobPolicy {
    /// How the change's own policy for the job differs from the one that counts, and the overrides in force; a sentence or two
    /// each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The job's name in the base, whose policy counts; absent if the change does not rename it.
    pub renamed_from: Option<String>,
    /// Who accepted that the job is over its budget; absent if nobody did.
    pub accepted: Option<Acceptance>,
}

/// The result of one job.
#[skip_serializing_none]
#[serde_with::apply(Vec<String> => #[serde(default, skip_serializing_if = "Vec::is_empty")])]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct JobReport {
    pub name: String,
    pub verdict: Verdict,
    /// Why its verdict is what it is, and what to do about it. May hold text of the training code.
    #[serde(flatten)]
    pub reason: Reason,
    /// The changed paths that concern this job.
    pub affected_by: Vec<String>,
    /// The configuration of the full run, as written.
    pub instance: InstanceConfiguration,
    /// The record that the forecast is compared with; absent if there is none.
    pub baseline: Option<Baseline>,
    pub recommendation: Option<Recommendation>,
    /// What alternatives are ordered by in what a person reads; absent where the spec does not say.
    pub ranking: Option<Ranking>,
    /// The forecasts: first that of `instance`, then those of the alternatives in the order of the spec.
    pub forecasts: Vec<InstanceForecast>,
    /// Every canary run, in the order of the plan.
    pub measurements: Vec<Measurement>,
    pub advice: Vec<String>,
    /// What makes it doubtful that the canaries were like the full run, e.g. that time does not grow with the data.
    pub warnings: Vec<String>,
    pub notes: Vec<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub policy: JobPolicy,
    /// The result of a check for drift; absent without one.
    pub drift: Option<Drift>,
    pub spend: Spend,
}

impl JobReport {
    /// Whether a check found that it drifted.
    pub fn has_drifted(&self) -> bool {
        self.drift.as_ref().is_some_and(|drift| drift.drifted)
    }

    /// Whether a canary printed an error last, though its command ended with 0.
    pub fn may_have_failed(&self) -> bool {
        self.measurements.iter().any(|run| run.last_error.is_some())
    }

    /// Whether the job is unknown because of its code: a canary opened no file of its sample, or all canaries reached their time limit.
    /// Another start would find the same.
    fn is_unknown_by_its_code(&self) -> bool {
        let is_stopped = |run: &Measurement| run.outcome == Outcome::TimedOut;
        let canaries = &self.measurements;
        canaries.iter().any(Measurement::is_unread)
            || (!canaries.is_empty() && canaries.iter().all(is_stopped))
    }
}

/// The code that a run ends with which came to these jobs: of their verdicts, of drift, and of the `troubles` that kept it
/// from others.
pub fn exit_code(
    jobs: &[JobReport],
    troubles: impl IntoIterator<Item = u8>,
    strictness: Strictness,
) -> u8 {
    let drifts = jobs.iter().filter(|job| job.has_drifted());
    let troubles = troubles.into_iter().chain(drifts.map(|_| exit::DRIFT));
    let strictness = match jobs.iter().any(JobReport::is_unknown_by_its_code) {
        true => strictness.without_passing(),
        false => strictness,
    };
    exit::code_of_run(jobs.iter().map(|job| job.verdict), troubles, strictness)
}

/// The record that a job's forecast is compared with.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Baseline {
    /// The commit, in full; absent if the record does not say.
    pub commit: Option<String>,
    /// The branch it was measured on, as a reader knows it, e.g. `main`.
    pub branch: Option<String>,
    /// The days since it was recorded; never negative.
    pub age_days: f64,
    /// Whether its code is that of the base. If not, it is the newest record of the base branch.
    #[serde(default)]
    pub is_same_code: bool,
    /// Whether the data differ from those that it was measured with.
    #[serde(default)]
    pub data_changed: bool,
    /// The settings of the job that are others than the base's; empty too where its record does not have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed: Vec<ChangedSetting>,
    /// The base's configuration; absent if it is the same as the job's.
    pub instance: Option<InstanceConfiguration>,
}

/// The forecast for one instance configuration, or why there is none.
#[skip_serializing_none]
#[serde_with::apply(bool => #[serde(default, skip_serializing_if = "std::ops::Not::not")])]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct InstanceForecast {
    pub instance: InstanceConfiguration,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<PricedGroup>,
    pub verdict: Verdict,
    /// The reason why it was not measured, e.g. `needs up to 3.20 USD`; absent if it was.
    pub not_measured: Option<String>,
    /// The origin of the estimates of a configuration that was not measured, e.g. `memory is that of the canaries on
    /// ml.m5.2xlarge; time and cost are not known`; absent if it was measured, and if nothing is known of it.
    pub estimated_from: Option<String>,
    /// How the time follows from canaries on other counts of its machines; absent where it follows from its own.
    pub scale_out: Option<ScaleOutBasis>,
    /// The share of its steps that the full run, begun as a canary, had done; absent where the time does not follow from these.
    pub reached: Option<Fraction>,
    /// The most memory that a canary used, in percent of the machine; absent where memory has an estimate, or none was measured.
    pub memory_at_least: Option<f64>,
    /// Whether memory was seen so seldom, or not at all, that the true peak may be far higher; omitted if it was not.
    pub memory_is_lower_bound: bool,
    /// The same as `memory_at_least`, of the fullest GPU's memory.
    pub gpu_memory_at_least: Option<f64>,
    /// The same as `memory_is_lower_bound`, of the fullest GPU's memory.
    pub gpu_memory_is_lower_bound: bool,
    #[serde(default, with = "estimates")]
    #[schemars(with = "estimates::WrittenEstimates")]
    pub estimates: Estimates,
    /// Of several machines of one type: the time of one alone, divided by their number and their time, so 1 where n machines take an
    /// n-th of the time; absent where canaries ran on one count alone.
    pub efficiency: Option<Estimate>,
    /// The level of what the script prints, for each such line of the budget; omitted if there is none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metrics: BTreeMap<MetricName, Estimate>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub phases: PhaseEstimates,
    #[serde(default, skip_serializing_if = "is_default")]
    pub delta: Delta,
    /// Groups of machines beside machines of one type; absent of a configuration of one type.
    pub versus_twin: Option<VersusTwin>,
    #[serde(default)]
    pub law: Laws,
    /// The time of runs with less of the data, from the smallest canary to the full run, ascending; absent in reports of older versions,
    /// and where time does not follow from canaries on its own machines.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub time_by_share: Vec<EstimateAtShare>,
    pub price: Option<Price>,
    #[serde(default)]
    pub budget: Vec<BudgetRow>,
}

impl InstanceForecast {
    /// The most of a metric that the budget allows, in the metric's unit; `None` where no line says it.
    pub fn most(&self, metric: Metric) -> Option<f64> {
        let is_its =
            |row: &&BudgetRow| row.line == LineKind::Absolute(metric) && row.bound == Bound::Max;
        let limits = self.budget.iter().filter(is_its).map(|row| row.limit);
        let sound = limits.filter(|limit| limit.is_finite() && *limit > 0.0);
        sound.reduce(f64::min)
    }

    /// Whether the metric is memory that was seen so seldom, or not at all, that the true peak may be far higher.
    pub fn is_lower_bound(&self, metric: Metric) -> bool {
        let of = metric.memory_of();
        of.is_some_and(|of| of.pick(self.memory_is_lower_bound, self.gpu_memory_is_lower_bound))
    }

    /// What all its machines cost for one hour; `None` where a price is missing.
    pub fn usd_per_hour(&self) -> Option<UsdPerHour> {
        let of_all = |price: &Price, count: u32| price.usd_per_hour.0 * f64::from(count);
        let usd = match self.groups.as_slice() {
            [] => of_all(self.price.as_ref()?, self.instance.total_count()),
            groups => (groups.iter())
                .map(|group| Some(of_all(group.price.as_ref()?, group.count)))
                .sum::<Option<f64>>()?,
        };
        Some(UsdPerHour(usd))
    }

    /// The prices that its cost rests on.
    pub fn prices(&self) -> impl Iterator<Item = &Price> {
        let of_groups = self.groups.iter().filter_map(|group| group.price.as_ref());
        self.price.iter().chain(of_groups)
    }
}

/// What is known of the effect of another count of machines on the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ScaleOutBasis {
    /// By canaries on several counts.
    Measured,
    /// By canaries on one count, and a law that nothing has shown.
    Assumed,
}

/// One group of equal machines.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PricedGroup {
    pub name: String,
    pub instance_type: InstanceType,
    pub count: u32,
    /// The price of one of its machines.
    pub price: Option<Price>,
}

/// Each phase of the full run, in seconds; `startup` is not billed.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct PhaseEstimates {
    pub startup: Option<Estimate>,
    pub download: Option<Estimate>,
    pub training: Option<Estimate>,
    pub upload: Option<Estimate>,
}

/// The change against the base; empty without a baseline.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Delta {
    pub cost_usd: Option<Estimate>,
    pub time_seconds: Option<Estimate>,
    /// The change of cost in percent of the base's.
    pub cost_percent: Option<Estimate>,
    pub time_percent: Option<Estimate>,
    /// The additional time of the same work on the same data, in percent of the base's.
    pub rate_percent: Option<Estimate>,
    /// The causes of the change; empty if they are unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseShare>,
}

/// The cost of this run's own canaries, without reused ones.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spend {
    /// All that they are billed, with what was kept for them.
    pub canary_usd: Option<Usd>,
    pub canary_seconds: Seconds,
    /// What of `canary_usd` was for machines that a warm pool kept between canaries; absent without a price, or where none were.
    pub idle_usd: Option<Usd>,
    /// For how long they were kept, each of them; no part of `canary_seconds`. Absent where none were.
    pub idle_seconds: Option<Seconds>,
    /// The cost today of the canaries that were reused; absent without a price, or without reused canaries.
    pub saved_usd: Option<Usd>,
    pub worst_case_usd: Option<Usd>,
    /// The forecast cost of one full run.
    pub full_run_usd: Option<Usd>,
}
