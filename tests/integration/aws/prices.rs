//! The price list: GetProducts for SageMaker's instances, and the offer file that AWS publishes of them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::fault::Refusal;
use super::{State, page};

/// US dollars an hour for training, unless a test says otherwise.
pub(super) fn usual() -> BTreeMap<String, f64> {
    [
        ("ml.m5.large", 0.115),
        ("ml.m5.xlarge", 0.23),
        ("ml.m5.2xlarge", 0.461),
        ("ml.m5.4xlarge", 0.922),
        ("ml.c5.xlarge", 0.204),
        ("ml.c5.2xlarge", 0.408),
        ("ml.c5.4xlarge", 0.816),
        ("ml.g5.xlarge", 1.408),
        ("ml.p3.2xlarge", 3.825),
    ]
    .map(|(name, price)| (name.to_owned(), price))
    .into()
}

/// What becomes of the offer file.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OfferFile {
    Sound,
    /// Without its end.
    Cut,
    /// Its head says that it has so many bytes.
    Bytes(u64),
    /// It never goes on.
    Silent,
    /// With these texts in place of others.
    Edited(BTreeMap<String, String>),
}

/// `offers/v1.0/aws/AmazonSageMaker/current/us-east-1/index.json`, with its status, in the order and with the parts that AWS gives it:
/// hosting beside training, prices of nothing, and terms of another kind.
pub(super) fn offer_file(state: &State, path: &str) -> (u16, String) {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let [
        "offers",
        "v1.0",
        "aws",
        service,
        "current",
        region,
        "index.json",
    ] = parts[..]
    else {
        return (404, String::new());
    };
    if !region.starts_with("us-") && region != "eu-west-1" {
        return (403, "<Error><Code>AccessDenied</Code></Error>".to_owned());
    }
    let (mut products, mut terms) = (Map::new(), Map::new());
    for (instance, usd) in &state.prices {
        for (component, usd) in [
            ("Hosting", *usd * 1.1),
            ("Training", *usd),
            ("SpotTraining", 0.0),
        ] {
            let mut product = product(instance, component, usd);
            product["product"]["attributes"]["regionCode"] = json!(region);
            let sku = product["product"]["sku"].as_str().unwrap().to_owned();
            terms.insert(sku.clone(), product["terms"]["OnDemand"].take());
            products.insert(sku, product["product"].take());
        }
    }
    let reserved = json!({"SKUMLM5XLARGETRAINING": terms["SKUMLM5LARGEHOSTING"]});
    let file = json!({
        "formatVersion": "v1.0",
        "disclaimer": "This pricing list is for informational purposes only.",
        "offerCode": service,
        "version": "20261120180000",
        "publicationDate": "2026-11-20T18:00:00Z",
        "products": products,
        "terms": {"Reserved": reserved, "OnDemand": terms},
        "attributesList": {},
    });
    (200, file.to_string())
}

pub(super) fn answer(state: &State, input: &Value) -> Result<Value, Refusal> {
    let filters = input["Filters"].as_array().into_iter().flatten();
    let wanted: Vec<(&str, &str)> = filters
        .filter_map(|filter| Some((filter["Field"].as_str()?, filter["Value"].as_str()?)))
        .collect();
    let mut products = Vec::new();
    for (instance, usd) in &state.prices {
        // As in life, the list has the same instance for other uses too, and one of them costs nothing.
        for (component, usd) in [
            ("Training", *usd),
            ("Hosting", *usd * 1.1),
            ("SpotTraining", 0.0),
        ] {
            let product = product(instance, component, usd);
            let attributes = &product["product"]["attributes"];
            let fits = wanted.iter().all(|(field, value)| match *field {
                "productFamily" => product["product"]["productFamily"] == **value,
                "ServiceCode" | "servicecode" => *value == "AmazonSageMaker",
                field => attributes[field] == **value,
            });
            if fits && input["ServiceCode"] == "AmazonSageMaker" {
                products.push(product.to_string());
            }
        }
    }
    let limit = input["MaxResults"].as_u64().unwrap_or(100);
    let (range, next) = page(
        input["NextToken"].as_str(),
        limit,
        state.page_size,
        products.len(),
    )?;
    let mut answer = json!({"FormatVersion": "aws_v1", "PriceList": products[range]});
    if let Some(next) = next {
        answer["NextToken"] = json!(next);
    }
    Ok(answer)
}

fn product(instance: &str, component: &str, usd: f64) -> Value {
    let sku = format!("SKU{}{component}", instance.replace('.', "")).to_uppercase();
    let term = format!("{sku}.JRTCKXETXF");
    json!({
        "product": {
            "productFamily": "ML Instance",
            "attributes": {
                "regionCode": super::REGION,
                "instanceName": instance,
                "component": component,
                "platoinstancetype": component,
                "platoinstancename": instance,
            },
            "sku": sku,
        },
        "terms": {"OnDemand": {term.as_str(): {
            "priceDimensions": {format!("{term}.6YS6EN2CT7"): {
                "unit": "Hrs",
                "pricePerUnit": {"USD": format!("{usd:.10}")},
            }},
        }}},
    })
}
