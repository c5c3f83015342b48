//! The built-in tables: the capacity of each machine type, and its price by region.
//!
//! They are in `data/` beside this file, with their sources and dates. A table is parsed at its first use.

use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Capacity, InstanceType, Price, PriceEvidence};
use crate::units::{Bytes, UsdPerHour};

static INSTANCES: LazyLock<Vec<InstanceRow>> =
    LazyLock::new(|| rows(include_str!("data/instances.csv")));
const PRICES: &str = include_str!("data/sagemaker-training-prices.csv");
const ESTIMATES: &str = include_str!("data/sagemaker-training-price-estimates.csv");

/// The capacity of one machine of this type. `None` for `local`, which is measured, and for a type that is not listed.
pub fn capacity(kind: &InstanceType) -> Option<Capacity> {
    row(kind).map(InstanceRow::capacity)
}

/// Whether SageMaker trains on this type. False for `local`.
pub fn is_listed(kind: &InstanceType) -> bool {
    row(kind).is_some()
}

/// How many GB the disks have together that machines of this type have of their own, which SageMaker encrypts itself; `None` where
/// there are none.
pub fn local_disks(kind: &InstanceType) -> Option<f64> {
    row(kind)?.local_nvme_gb.filter(|size| *size > 0.0)
}

/// Every listed type, by family and from small to large, for suggestions.
pub fn listed_types() -> impl Iterator<Item = &'static str> {
    INSTANCES.iter().map(|row| row.instance_type.as_str())
}

/// The on-demand price of one machine for one hour of training in a region such as `us-east-1`.
///
/// `None` if it is not known, and for `local`. No pair of type and region stands twice, so no estimate hides a price.
pub fn price(kind: &InstanceType, region: &str) -> Option<Price> {
    static TABLE: LazyLock<Vec<PriceRow>> =
        LazyLock::new(|| [PRICES, ESTIMATES].into_iter().flat_map(rows).collect());
    let is_of = |row: &&PriceRow| row.region == region && row.instance_type == kind.name();
    TABLE.iter().find(is_of).map(PriceRow::price)
}

/// GiB of one GPU as the driver has them (`nvidia-smi`, 15,360 and 11,441 MiB), where EC2 lists what is built in: error correction
/// takes a part.
const USABLE_GPU_MEMORY: [(&str, f64); 2] = [("T4", 15.0), ("K80", 11.173)];

fn row(kind: &InstanceType) -> Option<&'static InstanceRow> {
    INSTANCES
        .iter()
        .find(|row| row.instance_type == kind.name())
}

fn rows<Row: DeserializeOwned>(table: &str) -> Vec<Row> {
    csv::Reader::from_reader(table.as_bytes())
        .deserialize()
        .collect::<Result<_, _>>()
        .expect("the built-in tables are valid; a test reads every row of them")
}

#[derive(Deserialize)]
struct InstanceRow {
    instance_type: String,
    vcpus: u32,
    memory_gib: f64,
    gpus: u32,
    /// Empty where there is none.
    gpu_model: String,
    /// 0 where there is none.
    gpu_memory_gib_total: f64,
    local_nvme_gb: Option<f64>,
}

impl InstanceRow {
    fn capacity(&self) -> Capacity {
        Capacity {
            vcpus: self.vcpus,
            memory: gibibytes(self.memory_gib),
            gpus: self.gpus,
            gpu_memory: (self.gpus > 0).then(|| self.memory_of_each_gpu()),
        }
    }

    /// The GPUs of a machine are alike. In whole MiB, so that the same GPU has the same on all machines.
    fn memory_of_each_gpu(&self) -> Bytes {
        let listed = self.gpu_memory_gib_total / f64::from(self.gpus);
        let mut usable = USABLE_GPU_MEMORY.into_iter();
        let usable = usable.find(|(model, _)| *model == self.gpu_model);
        let Bytes(bytes) = gibibytes(usable.map_or(listed, |(_, gibibytes)| gibibytes));
        Bytes((bytes + Bytes::MIB / 2) / Bytes::MIB * Bytes::MIB)
    }
}

fn gibibytes(count: f64) -> Bytes {
    Bytes::from_f64(count * Bytes(Bytes::GIB).as_f64())
}

#[derive(Deserialize)]
struct PriceRow {
    instance_type: String,
    region: String,
    usd_per_hour: UsdPerHour,
    source: String,
    as_of: String,
    evidence: PriceEvidence,
}

impl PriceRow {
    fn price(&self) -> Price {
        Price {
            as_of: Some(self.as_of.clone()),
            ..Price::on_demand(self.usd_per_hour, &*self.source, self.evidence)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn kind(name: &str) -> InstanceType {
        name.parse().unwrap()
    }

    #[test]
    fn every_row_of_every_table_is_read_and_no_type_stands_twice() {
        assert_eq!(INSTANCES.len(), 225);
        let names: HashSet<&str> = listed_types().collect();
        assert_eq!(names.len(), 225);
        for name in names {
            let capacity = capacity(&kind(name)).unwrap();
            assert!(capacity.vcpus > 0 && capacity.memory.0 > 0, "{name}");
            assert_eq!(capacity.gpus > 0, capacity.gpu_memory.is_some(), "{name}");
        }
    }

    #[test]
    fn every_price_is_of_a_listed_type_once_in_a_region_and_none_is_hidden_by_an_estimate() {
        let mut seen = HashSet::new();
        for (table, count, is_estimate) in [(PRICES, 139, false), (ESTIMATES, 638, true)] {
            let rows = rows::<PriceRow>(table);
            assert_eq!(rows.len(), count);
            for PriceRow {
                instance_type,
                region,
                ..
            } in rows
            {
                let of = format!("{instance_type} in {region}");
                assert!(is_listed(&kind(&instance_type)), "{of}");
                let price = price(&kind(&instance_type), &region).unwrap();
                assert!(price.usd_per_hour.0 > 0.0 && price.as_of.is_some(), "{of}");
                assert_eq!(price.is_estimate(), is_estimate, "{of}");
                assert_eq!(price.source.starts_with("estimate: "), is_estimate, "{of}");
                assert!(seen.insert(of), "{instance_type} stands twice");
            }
        }
    }

    /// The main memory of a g5.xlarge is 16 GiB, and its GPU has another 22.4; a T4 has less than is built in.
    #[test]
    fn known_machines_have_what_aws_says() {
        for (name, vcpus, half_gibibytes, gpus, gpu_mebibytes) in [
            ("ml.m5.2xlarge", 8, 64, 0, None),
            ("ml.c4.xlarge", 4, 15, 0, None),
            ("ml.g5.xlarge", 4, 32, 1, Some(22_888)),
            ("ml.g5.12xlarge", 48, 384, 4, Some(22_888)),
            ("ml.g4dn.12xlarge", 48, 384, 4, Some(15 * 1024)),
        ] {
            let expected = Capacity {
                vcpus,
                memory: Bytes(half_gibibytes * Bytes::GIB / 2),
                gpus,
                gpu_memory: gpu_mebibytes.map(|mebibytes| Bytes(mebibytes * Bytes::MIB)),
            };
            assert_eq!(capacity(&kind(name)), Some(expected), "{name}");
        }
    }

    #[test]
    fn known_prices_come_with_source_date_and_evidence() {
        let m5 = price(&kind("ml.m5.2xlarge"), "us-east-1").unwrap();
        assert_eq!(m5.usd_per_hour, UsdPerHour(0.461));
        assert_eq!(m5.evidence, PriceEvidence::LibraryTable);
        assert_eq!(m5.as_of.as_deref(), Some("2022-03-24"));
        assert!(m5.source.contains("instance_price_info.csv"));

        let p4d = price(&kind("ml.p4d.24xlarge"), "us-east-1").unwrap();
        assert_eq!(p4d.usd_per_hour, UsdPerHour(25.251_288_3));
        assert_eq!(p4d.evidence, PriceEvidence::PriceList);

        let c6i = price(&kind("ml.c6i.xlarge"), "us-east-1").unwrap();
        assert_eq!(
            c6i,
            Price {
                as_of: Some("2026".to_owned()),
                ..Price::on_demand(
                    UsdPerHour(0.204),
                    "estimate: 1.2 x EC2 on-demand list, us-east-1, linear in size",
                    PriceEvidence::Estimate,
                )
            }
        );
    }

    #[test]
    fn what_is_not_known_is_none() {
        assert_eq!(price(&kind("ml.p5e.48xlarge"), "us-east-1"), None);
        assert_eq!(price(&kind("ml.m5.2xlarge"), "mars-north-1"), None);
        assert_eq!(price(&InstanceType::local(), "us-east-1"), None);
        assert_eq!(capacity(&InstanceType::local()), None);
        assert_eq!(capacity(&kind("ml.m5.3xlarge")), None);
        assert!(!is_listed(&InstanceType::local()));
    }
}
