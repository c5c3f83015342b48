//! Live prices, from the price list's answers.

use aws_sdk_pricing::types::{Filter, FilterType};
use serde_json::Value;

use crate::instance::{InstanceType, Price, PriceEvidence};
use crate::units::UsdPerHour;

/// Whose price list is asked.
pub(in crate::backend) const SERVICE: &str = "AmazonSageMaker";
const COMPONENT: &str = "Training";
/// A product has some 2 KB.
const LONGEST_PRODUCT: usize = 1 << 20;
/// Many times what the dearest machine costs.
const HIGHEST: f64 = 100_000.0;

/// Whether the price list can be asked for a region in US dollars: in China it is in yuan, and GovCloud's credentials do not reach
/// it.
pub(in crate::backend) fn is_listed(region: &str) -> bool {
    !region.starts_with("cn-") && !region.starts_with("us-gov-")
}

/// The filters with which GetProducts returns the training price of one type in one region.
pub(in crate::backend) fn filters(instance_type: &InstanceType, region: &str) -> Vec<Filter> {
    [
        ("productFamily", "ML Instance"),
        ("regionCode", region),
        ("instanceName", instance_type.name()),
        ("component", COMPONENT),
    ]
    .into_iter()
    .map(|(field, value)| {
        Filter::builder()
            .r#type(FilterType::TermMatch)
            .field(field)
            .value(value)
            .build()
            .expect("type, field and value are given")
    })
    .collect()
}

/// The on-demand price of training for one machine and hour, from the products of all pages; `as_of` is the day they were
/// asked for.
///
/// Prices of other types, regions, components or units are left out, and so are those of nothing. Where several are left,
/// the highest counts, since a gate must not promise too little; the source says so. `None` where none is left.
pub(in crate::backend) fn parse(
    price_list: &[String],
    instance_type: &InstanceType,
    region: &str,
    as_of: &str,
) -> Option<Price> {
    let mut prices: Vec<f64> = price_list
        .iter()
        .filter(|product| product.len() <= LONGEST_PRODUCT)
        .filter_map(|product| serde_json::from_str::<Value>(product).ok())
        .filter(|product| is_of(product, instance_type, region))
        .flat_map(|product| on_demand(&product))
        .collect();
    prices.sort_unstable_by(f64::total_cmp);
    prices.dedup();
    let highest = *prices.last()?;
    let source = match prices.len() {
        1 => "live".to_owned(),
        several => format!("live, the highest of {several} prices"),
    };
    Some(Price {
        as_of: Some(as_of.to_owned()),
        ..Price::on_demand(UsdPerHour(highest), source, PriceEvidence::PriceList)
    })
}

/// Whether a product is the training of this type in this region. Types and components have two names each.
fn is_of(product: &Value, instance_type: &InstanceType, region: &str) -> bool {
    let attributes = &product["product"]["attributes"];
    let is = |names: [&str; 2], wanted: &str| {
        let mut values = names.iter().filter_map(|name| attributes[name].as_str());
        let first = values.next();
        first == Some(wanted) && values.all(|value| value == wanted)
    };
    attributes["regionCode"].as_str() == Some(region)
        && is(["component", "platoinstancetype"], COMPONENT)
        && is(["instanceName", "platoinstancename"], instance_type.name())
}

/// Every price above nothing for an hour on demand.
fn on_demand(product: &Value) -> Vec<f64> {
    let entries = |value: &Value| -> Vec<Value> {
        let object = value.as_object();
        object.map_or_else(Vec::new, |object| object.values().cloned().collect())
    };
    entries(&product["terms"]["OnDemand"])
        .iter()
        .flat_map(|term| entries(&term["priceDimensions"]))
        .filter(|dimension| {
            let unit = dimension["unit"].as_str().unwrap_or_default();
            ["hrs", "hours"].contains(&unit.to_lowercase().as_str())
        })
        .filter_map(|dimension| dimension["pricePerUnit"]["USD"].as_str()?.parse().ok())
        .filter(|usd: &f64| usd.is_finite() && *usd > 0.0 && *usd <= HIGHEST)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = include_str!("../../../tests/data/sagemaker/pricing-get-products.json");

    fn product() -> String {
        let answer: Value = serde_json::from_str(ANSWER).unwrap();
        answer["PriceList"][0].as_str().unwrap().to_owned()
    }

    fn price(products: &[String]) -> Option<Price> {
        parse(
            products,
            &"ml.g5.xlarge".parse().unwrap(),
            "us-east-1",
            "2026-11-21",
        )
    }

    #[test]
    fn the_price_lists_answer_is_read() {
        assert_eq!(
            price(&[product()]),
            Some(Price {
                as_of: Some("2026-11-21".to_owned()),
                ..Price::on_demand(UsdPerHour(1.408), "live", PriceEvidence::PriceList)
            })
        );
        // The same product on two pages is one price.
        assert_eq!(price(&[product(), product()]), price(&[product()]));
    }

    #[test]
    fn other_products_are_left_out() {
        for (old, new) in [
            ("1.4080000000", "0.0000000000"),
            ("1.4080000000", "-1"),
            ("1.4080000000", "NaN"),
            ("1.4080000000", "inf"),
            ("1.4080000000", "1e9"),
            ("\"Hrs\"", "\"GB-Mo\""),
            ("\"USD\"", "\"CNY\""),
            ("\"OnDemand\"", "\"Reserved\""),
            ("\"component\": \"Training\"", "\"component\": \"Hosting\""),
            (
                "\"platoinstancetype\": \"Training\"",
                "\"platoinstancetype\": \"SpotTraining\"",
            ),
            (
                "\"instanceName\": \"ml.g5.xlarge\"",
                "\"instanceName\": \"ml.g5.2xlarge\"",
            ),
            (
                "\"regionCode\": \"us-east-1\"",
                "\"regionCode\": \"us-west-2\"",
            ),
        ] {
            assert!(product().contains(old), "{old}");
            assert_eq!(price(&[product().replace(old, new)]), None, "{new}");
        }
    }

    #[test]
    fn of_several_prices_the_highest_counts_and_says_so() {
        let dearer = product().replace("1.4080000000", "1.5000000000");
        let price = price(&[dearer, product()]).unwrap();
        assert_eq!(price.usd_per_hour, UsdPerHour(1.5));
        assert_eq!(price.source, "live, the highest of 2 prices");
    }

    #[test]
    fn what_is_no_product_is_no_price() {
        let odd = [
            "",
            "{",
            "null",
            "[]",
            "{\"product\":{\"attributes\":[]}}",
            &"[".repeat(100_000),
        ];
        assert_eq!(price(&odd.map(str::to_owned)), None);
        assert_eq!(price(&[]), None);
        let terms = product().replace("{\"EXAMPLESKU000001.JRTCKXETXF\"", "[{\"x\"");
        assert_eq!(price(&[terms]), None);
    }

    #[test]
    fn the_question_names_type_region_and_component() {
        let filters = filters(&"ml.g5.xlarge".parse().unwrap(), "eu-west-1");
        let asked: Vec<_> = filters
            .iter()
            .map(|filter| (filter.field(), filter.value()))
            .collect();
        assert_eq!(
            asked,
            [
                ("productFamily", "ML Instance"),
                ("regionCode", "eu-west-1"),
                ("instanceName", "ml.g5.xlarge"),
                ("component", "Training"),
            ]
        );
        assert!(
            filters
                .iter()
                .all(|filter| *filter.r#type() == FilterType::TermMatch)
        );
    }
}
