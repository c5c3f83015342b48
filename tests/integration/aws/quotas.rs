//! Service Quotas of SageMaker.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::fault::Refusal;
use super::{Operation, State, page};

/// Room for 20 of the instances with a usual price, and other quotas between them, as in life.
pub(super) fn usual() -> BTreeMap<String, f64> {
    let mut quotas = BTreeMap::from([
        ("Longest run time for a training job".to_owned(), 432_000.0),
        (
            "Maximum number of instances per training job".to_owned(),
            20.0,
        ),
        (
            "Number of instances across all training jobs".to_owned(),
            40.0,
        ),
        ("Rate of CreateTrainingJob requests".to_owned(), 1.0),
    ]);
    for instance in super::prices::usual().keys() {
        for (usage, value) in [
            ("training job usage", 20.0),
            ("spot training job usage", 20.0),
            ("training warm pool usage", 0.0),
            ("endpoint usage", 2.0),
        ] {
            quotas.insert(format!("{instance} for {usage}"), value);
        }
    }
    quotas
}

pub(super) fn answer(state: &State, operation: Operation, input: &Value) -> Result<Value, Refusal> {
    if input["ServiceCode"] != "sagemaker" {
        return Err(Refusal::new(
            "NoSuchResourceException",
            "The request failed because the specified service does not exist.",
        ));
    }
    let listed = match operation {
        Operation::ListAWSDefaultServiceQuotas => &state.default_quotas,
        _ => &state.quotas,
    };
    let quotas: Vec<_> = listed
        .iter()
        .map(|(name, value)| json!({"QuotaName": name, "Value": value}))
        .collect();
    let limit = input["MaxResults"].as_u64().unwrap_or(100);
    let (range, next) = page(
        input["NextToken"].as_str(),
        limit,
        state.page_size,
        quotas.len(),
    )?;
    let mut answer = json!({"Quotas": quotas[range]});
    if let Some(next) = next {
        answer["NextToken"] = json!(next);
    }
    Ok(answer)
}
