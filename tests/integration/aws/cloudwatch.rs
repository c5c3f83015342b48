//! CloudWatch's GetMetricData: one point a minute for each host of a training job, while it trains.

use std::sync::Arc;

use serde_json::{Value, json};

use super::fault::Refusal;
use super::job::Job;
use super::{State, page};

const MINUTE: f64 = 60.0;

/// One minute of one metric of one host, which a test may give a value.
#[derive(Debug)]
pub(crate) struct MetricPoint<'a> {
    pub(crate) job: &'a Job,
    pub(crate) host: &'a str,
    pub(crate) metric: &'a str,
    /// `Average`, `Maximum` and the like.
    pub(crate) statistic: &'a str,
    /// Counted from 0 at the start of the training.
    pub(crate) minute: usize,
}

type Values = dyn Fn(&MetricPoint<'_>) -> Option<f64> + Send + Sync;

/// What CloudWatch knows of the hosts.
#[derive(Clone)]
pub(crate) struct Metrics {
    values: Arc<Values>,
}

impl Metrics {
    /// Every metric as the function says. The function may not ask the fake anything.
    pub(crate) fn of(
        values: impl Fn(&MetricPoint<'_>) -> Option<f64> + Send + Sync + 'static,
    ) -> Self {
        Self {
            values: Arc::new(values),
        }
    }

    /// These metrics, the same every minute on every host; no others.
    pub(crate) fn constant(metrics: &'static [(&str, f64)]) -> Self {
        Self::of(move |point| {
            let found = metrics.iter().find(|(name, _)| *name == point.metric)?;
            Some(found.1)
        })
    }
}

pub(super) fn answer(state: &State, input: &Value) -> Result<Value, Refusal> {
    let queries = input["MetricDataQueries"].as_array();
    let queries = queries.map_or(&[][..], Vec::as_slice);
    if queries.len() > 500 {
        return Err(Refusal::new(
            "ValidationError",
            "The collection MetricDataQueries must not have a size greater than 500.",
        ));
    }
    let start = input["StartTime"].as_f64().unwrap_or_default();
    // The start is rounded down to the minute and is part of the range, the end is not.
    let range = (start / MINUTE).floor() * MINUTE..input["EndTime"].as_f64().unwrap_or_default();
    let token = input["NextToken"].as_str();
    let (shown, next) = page(token, 500, state.page_size, queries.len())?;
    let results: Vec<Value> = queries[shown]
        .iter()
        .map(|query| {
            let mut points = series(state, query)?;
            points.retain(|(time, _)| range.contains(time));
            if input["ScanBy"] != "TimestampAscending" {
                points.reverse();
            }
            let (times, values): (Vec<_>, Vec<_>) = points.into_iter().unzip();
            let metric = &query["MetricStat"]["Metric"]["MetricName"];
            Ok(json!({
                "Id": query["Id"],
                "Label": query["Label"].as_str().or(metric.as_str()),
                "Timestamps": times,
                "Values": values,
                "StatusCode": "Complete",
            }))
        })
        .collect::<Result<_, Refusal>>()?;
    let mut answer = json!({"MetricDataResults": results, "Messages": []});
    if let Some(next) = next {
        answer["NextToken"] = json!(next);
    }
    Ok(answer)
}

/// Time and value of every point of a query, oldest first.
fn series(state: &State, query: &Value) -> Result<Vec<(f64, f64)>, Refusal> {
    let stat = &query["MetricStat"];
    if stat.is_null() {
        return Err(Refusal::new(
            "ValidationError",
            "Error in expression: the fake knows metrics only, no expressions",
        ));
    }
    let metric = &stat["Metric"];
    let dimensions = metric["Dimensions"].as_array().into_iter().flatten();
    let host = dimensions
        .filter(|dimension| dimension["Name"] == "Host")
        .find_map(|dimension| dimension["Value"].as_str())
        .unwrap_or_default();
    let Some((name, host)) = host.split_once('/') else {
        return Ok(Vec::new());
    };
    let found = state
        .jobs
        .iter()
        .rev()
        .find(|job| job.name == name && job.hosts().iter().any(|own| own == host));
    let span = found.and_then(|job| Some((job, job.training_span()?)));
    let (Some((job, (start, end))), true) =
        (span, metric["Namespace"] == "/aws/sagemaker/TrainingJobs")
    else {
        return Ok(Vec::new());
    };
    let first = (start / MINUTE).floor() * MINUTE;
    let values = &state.metrics.values;
    let points = (0_u32..)
        .map(|minute| (minute, first + f64::from(minute) * MINUTE))
        .take_while(|(_, time)| *time < end)
        .filter_map(|(minute, time)| {
            let value = values(&MetricPoint {
                job,
                host,
                metric: metric["MetricName"].as_str()?,
                statistic: stat["Stat"].as_str()?,
                minute: usize::try_from(minute).ok()?,
            })?;
            Some((time, value))
        });
    Ok(points.collect())
}
