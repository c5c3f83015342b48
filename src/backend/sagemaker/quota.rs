//! Quotas: how many machines of a type the account may use for training, and how many canaries fit at a time.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use aws_sdk_servicequotas::types::ServiceQuota;
use regex::Regex;

use super::{JobSession, SagemakerBackend};
use crate::aws::call::{Call, CallError, FailureKind};
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::plan::MachineQuotas;

const QUOTAS: Call<'_> = Call("servicequotas:ListServiceQuotas");
const SERVICE: &str = "sagemaker";

/// What SageMaker says when a job would go over a quota (`ResourceLimitExceeded`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refused {
    /// As Service Quotas names it: `ml.p3.2xlarge for training job usage`.
    pub(super) quota: String,
    pub(super) limit: u64,
    pub(super) used: u64,
    /// What the job would have added.
    pub(super) delta: u64,
}

impl Refused {
    /// Reads the message; `None` where it is worded otherwise.
    pub(super) fn parse(message: &str) -> Option<Self> {
        static REFUSED: LazyLock<Regex> = LazyLock::new(|| {
            let used = r"current utilization of (\d+).*request delta of (\d+)";
            Regex::new(&format!(r"(?s)service limit '(.*?)' is (\d+).*{used}"))
                .expect("the pattern is valid")
        });
        let (_, [quota, limit, used, delta]) = REFUSED.captures(message)?.extract();
        Some(Self {
            quota: quota.to_owned(),
            limit: limit.parse().ok()?,
            used: used.parse().ok()?,
            delta: delta.parse().ok()?,
        })
    }
}

/// The instance type that this region lacks, from the message of a refusal; `None` where the message says something else. SageMaker
/// also answers with the list of the region's types, which then lacks the asked one.
pub(super) fn missing_in_region(message: &str) -> Option<&str> {
    static MISSING: LazyLock<Regex> = LazyLock::new(|| {
        let of_enumeration = r"Value '(ml\.[^\s']*)' at 'resourceConfig\.instanceType' failed";
        let of_region = r"training-job/(ml\.\S*) is not available in this region";
        Regex::new(&format!("{of_region}|{of_enumeration}")).expect("the pattern is valid")
    });
    let found = MISSING.captures(message)?;
    Some(found.get(1).or(found.get(2))?.as_str())
}

/// What Service Quotas calls the machines of a type that all training jobs together may use.
pub(super) fn training_quota(instance_type: &str) -> String {
    format!("{instance_type} for training job usage")
}

/// What Service Quotas calls the machines of a type that may be kept in warm pools.
pub(super) fn pool_quota(instance_type: &str) -> String {
    format!("{instance_type} for training warm pool usage")
}

/// The name and the limit of a quota of training jobs' machines, or of those of warm pools; `None` for another quota.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a float-to-integer cast saturates; quotas are whole, and negative ones are left out"
)]
fn limit(quota: &ServiceQuota) -> Option<(String, u32)> {
    let name = quota.quota_name()?;
    let value = quota.value().filter(|value| *value >= 0.0)?;
    let (kind, _) = name.split_once(' ')?;
    let is_one = name == training_quota(kind) || name == pool_quota(kind);
    is_one.then(|| (name.to_owned(), value as u32))
}

impl JobSession<'_> {
    /// Lists quotas, as far as they may be read, until these are among them. Quotas that are known are not asked for again.
    async fn list_quotas(&self, names: &[String]) -> OutsideResult<()> {
        let backend = self.backend;
        let _asking = backend.asking.lock().await;
        let is_known = || {
            let known = backend.state.borrow();
            known.all_quotas.is_some() || names.iter().all(|name| known.quotas.contains_key(name))
        };
        let client = backend.aws().quotas;
        let own = client.list_service_quotas().service_code(SERVICE);
        let mut own = own.into_paginator().items().send();
        let others = client.list_aws_default_service_quotas();
        let others = others.service_code(SERVICE).into_paginator();
        let mut others = others.items().send();
        let mut is_own = true;
        while !is_known() {
            let listed = match is_own {
                true => QUOTAS.heard(own.next().await.transpose()),
                false => QUOTAS.heard(others.next().await.transpose()),
            };
            let state = &mut backend.state.borrow_mut();
            match listed {
                Ok(Some(quota)) => {
                    if let Some((name, limit)) = limit(&quota) {
                        state.quotas.entry(name).or_insert(limit);
                    }
                }
                Err(error) => {
                    let why = refused(&error)?;
                    // A role of before may lack the right to the others; the quotas that are known stay.
                    state.all_quotas = Some(if is_own { Err(why) } else { Ok(()) });
                }
                // The account's own list lacks the quotas that nobody has changed.
                Ok(None) if is_own => is_own = false,
                Ok(None) => state.all_quotas = Some(Ok(())),
            }
        }
        if let Some(Err(error)) = &backend.state.borrow().all_quotas {
            self.notes.add(format!(
                "the quotas could not be read, so canaries start without regard to them ({error})"
            ));
        }
        Ok(())
    }

    /// The types of the job's machines; their quotas are known after it, as far as they may be read.
    ///
    /// # Errors
    ///
    /// Where not one canary fits on `instance`.
    pub(super) async fn check_quotas(
        &self,
        wants_pools: bool,
    ) -> OutsideResult<BTreeSet<&InstanceType>> {
        let job = self.job;
        let wanted: BTreeSet<&InstanceType> = (job.configurations())
            .flat_map(|one| one.machines_by_type().into_keys())
            .collect();
        let names = wanted.iter().flat_map(|kind| {
            let of_pools = wants_pools.then(|| pool_quota(kind.name()));
            [Some(training_quota(kind.name())), of_pools]
        });
        self.list_quotas(&Vec::from_iter(names.flatten())).await?;
        let parallel = job.canary.parallel;
        if let Some(scarcest) = self.backend.scarcest(&job.instance, parallel) {
            let (at_once, limit) = (scarcest.at_once, scarcest.limit);
            let name = training_quota(scarcest.kind.name());
            if at_once == 0 {
                let needed = format!("{limit}, and a canary needs {}", scarcest.needed);
                return Err(too_small(&name, &needed, &job.instance));
            }
            if at_once < parallel && job.canary.design.replicates.is_some() {
                self.notes.add(format!(
                    "the quota \"{name}\" is {limit}, so canaries run {at_once} at a time, not {parallel}"
                ));
            }
        }
        Ok(wanted)
    }
}

/// The quota that has room for the fewest canaries of a configuration.
pub(super) struct Scarcest<'i> {
    /// How many canaries fit at a time; 0 where not one does.
    pub(super) at_once: u32,
    kind: &'i InstanceType,
    limit: u32,
    /// The machines of this type that a canary needs.
    needed: u32,
}

impl SagemakerBackend {
    /// The machines of a type that the account may use, as far as that was listed.
    pub(super) fn machine_quotas(&self, kind: &InstanceType) -> MachineQuotas {
        let known = &self.state.borrow().quotas;
        let limit = |name: String| known.get(&name).copied();
        MachineQuotas {
            training: limit(training_quota(kind.name())),
            warm_pool: limit(pool_quota(kind.name())),
        }
    }

    /// Of at most `most` canaries; `None` where no limit is known.
    pub(super) fn scarcest<'i>(
        &self,
        on: &'i InstanceConfiguration,
        most: u32,
    ) -> Option<Scarcest<'i>> {
        let needed = on.machines_by_type().into_iter();
        let all = needed.filter_map(|(kind, needed)| {
            let limit = self.machine_quotas(kind).training?;
            Some(Scarcest {
                at_once: at_once(limit, needed, most),
                kind,
                limit,
                needed,
            })
        });
        all.min_by_key(|one| one.at_once)
    }
}

/// How many canaries of `count` machines each may run at a time, at most `parallel`; 0 when not one fits.
fn at_once(limit: u32, count: u32, parallel: u32) -> u32 {
    (limit / count.max(1)).min(parallel)
}

/// The error for a quota without room for a canary. `room` says how large it is, and what needs more: `4, 4 in use, 1 more asked for`.
pub(super) fn too_small(quota: &str, room: &str, instance: &InstanceConfiguration) -> OutsideError {
    OutsideError::transient(format!("no quota for a canary on {instance}: `{quota}` is {room}"))
        .help(format!(
            "ask for more of `{quota}` in Service Quotas (service Amazon SageMaker), or choose another instance"
        ))
}

/// The reason for which quotas cannot be read; an error where the credentials are good for nothing.
fn refused(error: &CallError) -> OutsideResult<String> {
    match error.kind {
        FailureKind::NoCredentials | FailureKind::Expired | FailureKind::Clock => {
            Err(error.to_error("read the quotas"))
        }
        _ => Ok(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_refusal_names_quota_limit_and_use() {
        let message = "The account-level service limit 'ml.p3.2xlarge for training job usage' is 4 Instances, with current utilization of 3 Instances and a request delta of 2 Instances. Please use AWS Service Quotas to request an increase for this quota.";
        let refused = Refused::parse(message).unwrap();
        assert_eq!(refused.quota, training_quota("ml.p3.2xlarge"));
        assert_eq!((refused.limit, refused.used, refused.delta), (4, 3, 2));
    }

    #[test]
    fn other_words_are_no_refusal() {
        for message in [
            "",
            "Rate exceeded",
            "The account-level service limit 'x' is many",
            "The account-level service limit 'x' is 99999999999999999999 Instances",
            "The account-level service limit 'x' is 1 Instances, with current utilization of 0",
        ] {
            assert_eq!(Refused::parse(message), None, "{message}");
        }
    }

    #[test]
    fn a_type_that_the_region_lacks_is_named() {
        let message =
            "The requested resource training-job/ml.p3.2xlarge is not available in this region";
        assert_eq!(missing_in_region(message), Some("ml.p3.2xlarge"));
        let message = "1 validation error detected: Value 'ml.p3.2xlarge' at 'resourceConfig.instanceType' failed to satisfy constraint: Member must satisfy enum value set: [ml.m5.large, ml.m5.xlarge]";
        assert_eq!(missing_in_region(message), Some("ml.p3.2xlarge"));
        assert_eq!(missing_in_region("Requested resource not found."), None);
    }

    #[test]
    fn the_limit_of_training_is_not_that_of_other_uses() {
        let quota = |name: &str, value: f64| {
            ServiceQuota::builder()
                .quota_name(name)
                .value(value)
                .build()
        };
        let quotas = [
            quota("ml.m5.xlarge for spot training job usage", 9.0),
            quota("ml.m5.xlarge for training warm pool usage", 8.0),
            quota("ml.m5.xlarge for training job usage", 15.0),
            quota("ml.p3.2xlarge for training job usage", 0.0),
            quota("ml.odd.xlarge for training job usage", f64::NAN),
        ];
        let found: Vec<(String, u32)> = quotas.iter().filter_map(limit).collect();
        let training = |kind: &str, limit| (training_quota(kind), limit);
        assert_eq!(
            found,
            [
                (pool_quota("ml.m5.xlarge"), 8),
                training("ml.m5.xlarge", 15),
                training("ml.p3.2xlarge", 0)
            ]
        );
    }

    #[test]
    fn canaries_run_in_series_where_the_quota_is_small() {
        assert_eq!(at_once(15, 1, 3), 3);
        assert_eq!(at_once(2, 1, 3), 2);
        assert_eq!(at_once(11, 6, 3), 1);
        assert_eq!(at_once(5, 6, 3), 0);
        assert_eq!(at_once(0, 1, 3), 0);
    }

    proptest! {
        #[test]
        fn what_runs_at_once_fits(limit in 0_u32..100, count in 1_u32..30, parallel in 1_u32..10) {
            let jobs = at_once(limit, count, parallel);
            prop_assert!(jobs * count <= limit && jobs <= parallel);
            prop_assert!(jobs == parallel || (jobs + 1) * count > limit);
        }

        #[test]
        fn no_message_makes_reading_panic(text in "(service limit '|' is |[0-9]|current utilization of |ü| )*") {
            let _ = Refused::parse(&text);
        }
    }
}
