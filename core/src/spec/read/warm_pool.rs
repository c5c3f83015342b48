//! `canary.warm_pool`: its range, and what a pool excludes.

use super::{SpecReader, limits};
use crate::spec::WarmPoolPolicy;
use crate::spec::backend_kind::RunPlace;
use crate::spec::problems::{At, Located};
use crate::spec::raw::{self, Either};
use crate::units::Seconds;

impl SpecReader<'_> {
    pub(super) fn warm_pool(&mut self, pool: Located<raw::RawWarmPool>) -> WarmPoolPolicy {
        let read = match pool.value {
            Either::Short(word) => {
                if let WarmPoolPolicy::KeepAlive(time) = word.0 {
                    self.keep_alive(&pool.at, time);
                }
                word.0
            }
            Either::Long(long) => long.keep_alive.map_or(WarmPoolPolicy::Auto, |time| {
                self.keep_alive(&time.at, time.value.0);
                WarmPoolPolicy::KeepAlive(time.value.0)
            }),
        };
        if self.is_on(RunPlace::Cloud) {
            read
        } else {
            self.no_effect(&pool.at);
            WarmPoolPolicy::Off
        }
    }

    fn keep_alive(&mut self, at: &At, time: Seconds) {
        if time.0 < 1.0 {
            self.findings.wrong_with_help(
                at,
                "a warm pool is kept for at least 1s",
                "for none, write `warm_pool: off`",
            );
        } else if time > limits::KEEP_ALIVE {
            self.findings.wrong(
                at,
                format!(
                    "{time}; SageMaker keeps a pool for at most {}",
                    limits::KEEP_ALIVE
                ),
            );
        }
    }

    /// SageMaker keeps no pool of instance groups, and none for a job with spot capacity. `auto` takes none then; who writes a
    /// time means it.
    pub(super) fn check_warm_pool(&mut self, job: &raw::RawJob) {
        let canary = job.canary.as_ref();
        let Some(pool) = canary.and_then(|canary| canary.value.warm_pool.as_ref()) else {
            return;
        };
        let asks = match &pool.value {
            Either::Short(word) => matches!(word.0, WarmPoolPolicy::KeepAlive(_)),
            Either::Long(_) => true,
        };
        if !asks || !self.is_on(RunPlace::Cloud) {
            return;
        }
        let instance = job.instance.as_ref();
        let training = job.training.as_ref();
        let spot = training.and_then(|training| training.value.sagemaker.spot.as_ref());
        let what = if instance.is_some_and(|one| matches!(one.value, Either::Long(_))) {
            "instance groups have no warm pools"
        } else if spot.is_some_and(|spot| spot.value) {
            "a job with `training.spot` has no warm pools"
        } else {
            return;
        };
        self.findings
            .wrong_with_help(&pool.at, what, "write `warm_pool: off`, or remove the key");
    }
}
