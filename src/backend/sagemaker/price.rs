//! What AWS says that training costs: the price list's answers, and the offer file that it publishes. Both have products and terms.

use std::collections::BTreeMap;
use std::io::{BufReader, Read};

use aws_sdk_pricing::types::{Filter, FilterType};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;

use crate::aws::call::chain;
use crate::instance::price_file::{RegionPrices, is_price};
use crate::instance::{InstanceType, Price, PriceEvidence};
use crate::units::UsdPerHour;

/// Whose price list is asked.
pub const SERVICE: &str = "AmazonSageMaker";
const FAMILY: &str = "ML Instance";
const COMPONENT: &str = "Training";
/// A product has some 2 KB.
const LONGEST_PRODUCT: usize = 1 << 20;
/// Many times what a region's offer file has. What is held of one is at most some ten times its size.
pub const LARGEST_OFFER_FILE: u64 = 256 << 20;

/// The filters with which GetProducts returns the training price of one type in one region.
pub(in crate::backend) fn filters(instance_type: &InstanceType, region: &str) -> Vec<Filter> {
    [
        ("productFamily", FAMILY),
        ("regionCode", region),
        ("instanceName", instance_type.name()),
        ("component", COMPONENT),
    ]
    .into_iter()
    .map(|(field, value)| {
        let filter = Filter::builder().r#type(FilterType::TermMatch);
        let filter = filter.field(field).value(value).build();
        filter.expect("type, field and value are given")
    })
    .collect()
}

/// The on-demand price of training for one machine and hour, from the products of all pages; `as_of` is the day they were
/// asked for.
///
/// Prices of other types, regions, components or units are left out, and so are those of nothing. Where several are left,
/// the highest counts, since a gate must not promise too little. `None` where none is left.
pub(in crate::backend) fn parse(
    price_list: &[String],
    instance_type: &InstanceType,
    region: &str,
    as_of: &str,
) -> Option<Price> {
    let short = (price_list.iter()).filter(|product| product.len() <= LONGEST_PRODUCT);
    let listed = short.filter_map(|text| serde_json::from_str::<ListedProduct>(text).ok());
    let wanted = Some((region, instance_type.name()));
    let listed = listed.filter(|listed| listed.product.training() == wanted);
    let prices = listed.flat_map(|listed| prices(listed.terms.on_demand));
    let highest = UsdPerHour(prices.reduce(f64::max)?);
    Some(Price {
        as_of: Some(as_of.to_owned()),
        ..Price::on_demand(highest, "live", PriceEvidence::PriceList)
    })
}

/// The prices of training in a region, by the same rules, from the file of SageMaker's offers there, as it is read; `today` is the
/// day of that.
///
/// # Errors
///
/// Why it cannot be used: it has no end, is of another service, or has no such price.
pub fn published(file: impl Read, region: &str, today: Date) -> Result<RegionPrices, String> {
    let file = BufReader::new(file.take(LARGEST_OFFER_FILE));
    let file: OfferFile = serde_json::from_reader(file).map_err(|error| {
        let said = chain(&error);
        format!("they are cut, too large, or a page of a proxy or of a sign-in ({said})")
    })?;
    if file.offer_code != SERVICE {
        return Err(format!("they are those of `{:.40}`", file.offer_code));
    }
    let mut usd_per_hour: BTreeMap<InstanceType, UsdPerHour> = BTreeMap::new();
    let mut terms = file.terms.on_demand;
    for (sku, product) in file.products {
        let usd = terms
            .remove(&sku)
            .and_then(|of| prices(of).reduce(f64::max));
        let kind = product.training().filter(|(of, _)| *of == region);
        let kind = kind.and_then(|(_, kind)| kind.parse().ok());
        let kind = kind.filter(|kind: &InstanceType| !kind.is_local());
        if let Some((kind, usd)) = kind.zip(usd) {
            let UsdPerHour(highest) = usd_per_hour.entry(kind).or_default();
            *highest = highest.max(usd);
        }
    }
    match usd_per_hour.is_empty() {
        true => Err("none of them is of training".to_owned()),
        false => Ok(RegionPrices {
            published: file.publication_date.to_zoned(TimeZone::UTC).date(),
            read: today,
            usd_per_hour,
        }),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OfferFile {
    offer_code: String,
    publication_date: Timestamp,
    products: BTreeMap<String, Product>,
    terms: Terms<BTreeMap<String, Term>>,
}

/// An element of the price list's answer.
#[derive(Deserialize)]
struct ListedProduct {
    product: Product,
    terms: Terms<Term>,
}

/// By product in the file; of one product by term.
#[derive(Deserialize)]
struct Terms<T> {
    #[serde(rename = "OnDemand")]
    on_demand: BTreeMap<String, T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Term {
    price_dimensions: BTreeMap<String, Dimension>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Dimension {
    unit: Option<String>,
    price_per_unit: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Product {
    product_family: Option<String>,
    attributes: Attributes,
}

/// What is read of a product, however many it has. Types and components have two names each.
#[derive(Deserialize)]
struct Attributes {
    #[serde(rename = "regionCode")]
    region: Option<String>,
    component: Option<String>,
    platoinstancetype: Option<String>,
    #[serde(rename = "instanceName")]
    kind: Option<String>,
    platoinstancename: Option<String>,
}

impl Product {
    /// Region and type, where it is of training.
    fn training(&self) -> Option<(&str, &str)> {
        fn agreed(names: [&Option<String>; 2]) -> Option<&str> {
            let mut values = names.into_iter().flatten();
            let first = values.next()?;
            values.all(|value| value == first).then_some(first.as_str())
        }
        let of = &self.attributes;
        let is_training = self.product_family.as_deref() == Some(FAMILY)
            && agreed([&of.component, &of.platoinstancetype]) == Some(COMPONENT);
        let region = of.region.as_deref().filter(|_| is_training)?;
        Some((region, agreed([&of.kind, &of.platoinstancename])?))
    }
}

/// Every price above nothing for an hour on demand.
fn prices(terms: BTreeMap<String, Term>) -> impl Iterator<Item = f64> {
    let dimensions = terms.into_values().flat_map(|term| term.price_dimensions);
    dimensions.filter_map(|(_, dimension)| {
        let unit = dimension.unit.unwrap_or_default().to_lowercase();
        let usd = dimension.price_per_unit.get("USD")?.parse().ok()?;
        (["hrs", "hours"].contains(&unit.as_str()) && is_price(usd)).then_some(usd)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const ANSWER: &str = include_str!("../../../tests/data/sagemaker/pricing-get-products.json");

    fn product() -> String {
        let answer: Value = serde_json::from_str(ANSWER).unwrap();
        answer["PriceList"][0].as_str().unwrap().to_owned()
    }

    fn price(products: &[String]) -> Option<Price> {
        let kind = "ml.g5.xlarge".parse().unwrap();
        parse(products, &kind, "us-east-1", "2026-11-21")
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
        let changes = include_str!("../../../tests/data/sagemaker/other_products.txt").lines();
        assert_eq!(changes.clone().count(), 12);
        for (old, new) in changes.map(|change| change.split_once(" -> ").unwrap()) {
            assert!(product().contains(old), "{old}");
            assert_eq!(price(&[product().replace(old, new)]), None, "{new}");
        }
    }

    #[test]
    fn of_several_prices_the_highest_counts() {
        let dearer = product().replace("1.4080000000", "1.5000000000");
        let price = price(&[dearer, product()]).unwrap();
        assert_eq!(price.usd_per_hour, UsdPerHour(1.5));
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
    fn an_offer_file_has_the_same_price_and_none_where_it_is_cut() {
        let product: Value = serde_json::from_str(&product()).unwrap();
        let terms = &product["terms"]["OnDemand"];
        let text = json!({
            "offerCode": SERVICE,
            "publicationDate": "2026-11-20T18:00:00Z",
            "products": {"A": product["product"], "B": {"attributes": {}}},
            "terms": {"Reserved": {"A": {}}, "OnDemand": {"B": terms, "A": terms}},
        });
        let read =
            |text: &str| published(text.as_bytes(), "us-east-1", "2026-11-26".parse().unwrap());
        let text = text.to_string();
        let prices = read(&text).unwrap();
        assert_eq!(prices.published.to_string(), "2026-11-20");
        let usd = prices.usd_per_hour.into_iter().collect::<Vec<_>>();
        assert_eq!(usd, [("ml.g5.xlarge".parse().unwrap(), UsdPerHour(1.408))]);
        for end in 0..text.len() {
            assert!(read(&text[..end]).is_err(), "{end}");
        }
        assert!(read(&text.replace("EXAMPLE", "OTHER")).is_ok());
        assert!(read(&text.replace("\"A\"", "\"C\"")).is_ok());
        assert!(read(&text.replace(SERVICE, "AmazonEC2")).is_err());
        let page = read("<!DOCTYPE html><title>Sign in</title>").unwrap_err();
        assert!(page.contains("a page of a proxy"), "{page}");
        assert!(read(&format!("{text},")).is_err());
    }

    #[test]
    fn the_question_names_type_region_and_component() {
        let filters = filters(&"ml.g5.xlarge".parse().unwrap(), "eu-west-1");
        let filters = filters.iter();
        let asked =
            filters.map(|one| format!("{} {} {}\n", one.field(), one.r#type(), one.value()));
        insta::assert_snapshot!(asked.collect::<String>());
    }
}
