//! The file of AWS's published prices that stands beside a spec: what `canary-gate prices update` writes and the gate reads.

use std::collections::BTreeMap;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use super::{InstanceType, Price, PriceEvidence};
use crate::grammar::count;
use crate::units::UsdPerHour;

/// What it is called, in the folder of the spec.
pub const PRICE_FILE: &str = "canary-gate.prices.json";
/// Many times what the dearest machine costs.
const HIGHEST: f64 = 100_000.0;

/// Prices of one machine for an hour of training, by region.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceFile(pub BTreeMap<String, RegionPrices>);

/// The prices of one region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegionPrices {
    /// The day, UTC, on which AWS published them.
    pub published: Date,
    /// The day, UTC, on which they were read.
    pub read: Date,
    /// Each as [`is_price`] has it.
    pub usd_per_hour: BTreeMap<InstanceType, UsdPerHour>,
}

/// Whether a price of a machine is above nothing and below what no machine costs.
pub fn is_price(usd_per_hour: f64) -> bool {
    usd_per_hour > 0.0 && usd_per_hour <= HIGHEST
}

impl PriceFile {
    /// Reads the text of a file, which is hostile where it comes with a change.
    ///
    /// # Errors
    ///
    /// The reason why the text is not such a file; it may quote the text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut all = file.0.values().flat_map(|of| &of.usd_per_hour);
        match all.find(|(kind, price)| kind.is_local() || !is_price(price.0)) {
            None => Ok(file),
            Some((kind, price)) => Err(format!("{kind} cannot have the price {price}")),
        }
    }

    /// The file's JSON, as [`Self::parse`] reads it.
    pub fn text(&self) -> String {
        let text = serde_json::to_string_pretty(self);
        text.expect("dates, names and numbers are JSON") + "\n"
    }

    /// The price of one machine for an hour of training, and how old it is on a day; `None` where the file has none.
    pub fn price(&self, kind: &InstanceType, region: &str, today: Date) -> Option<Price> {
        let of = self.0.get(region)?;
        let dollars = *of.usd_per_hour.get(kind)?;
        let age = (today - of.published).get_days();
        let age = count(usize::try_from(age).unwrap_or(0), "day");
        let source = format!("{PRICE_FILE}, {age} old");
        Some(Price {
            as_of: Some(of.published.to_string()),
            ..Price::on_demand(dollars, source, PriceEvidence::PriceList)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{"eu-west-1": {"published": "2026-11-20", "read": "2026-11-25", "usd_per_hour": {"ml.m5.2xlarge": 0.514}}}"#;

    #[test]
    fn a_price_says_which_file_it_is_from_and_how_old_it_is() {
        let file = PriceFile::parse(TEXT).unwrap();
        assert_eq!(PriceFile::parse(&file.text()).as_ref(), Ok(&file));
        let kind = "ml.m5.2xlarge".parse().unwrap();
        for (today, source) in [
            ("2026-11-19", "canary-gate.prices.json, 0 days old"),
            ("2026-11-21", "canary-gate.prices.json, 1 day old"),
            ("2027-11-20", "canary-gate.prices.json, 365 days old"),
        ] {
            let price = file.price(&kind, "eu-west-1", today.parse().unwrap());
            let price = price.unwrap();
            assert_eq!(price.usd_per_hour, UsdPerHour(0.514));
            assert_eq!(price.as_of.as_deref(), Some("2026-11-20"));
            assert_eq!(price.source, source);
        }
        let today = "2026-11-26".parse().unwrap();
        assert_eq!(file.price(&kind, "us-east-1", today), None);
    }

    #[test]
    fn a_hostile_file_is_refused() {
        for (old, new) in [
            ("ml.m5.2xlarge", "local"),
            ("0.514", "0"),
            ("0.514", "-1"),
            ("0.514", "1e9"),
            ("0.514", "1e999"),
            ("0.514", "\"0.514\""),
            ("2026-11-20", "yesterday"),
            ("\"read\"", "\"write\""),
            ("}}}", "}}"),
        ] {
            assert!(TEXT.contains(old), "{old}");
            assert!(PriceFile::parse(&TEXT.replace(old, new)).is_err(), "{new}");
        }
    }
}
