//! How canaries run, and the defaults that hold when nothing is written.

use super::{Instances, SpecReader};
use crate::spec::backend_kind::RunPlace;
use crate::spec::problems::Located;
use crate::spec::raw::{self, DesignKind, Either, Plain};
use crate::spec::{CanaryPolicy, Design, ProbePolicy, WarmPoolPolicy};
use crate::units::{Fraction, Percent, Seconds, Usd};

const FIXED_FRACTIONS: [f64; 3] = [0.01, 0.02, 0.03];
const DEFAULT_REPLICATES: u32 = 3;

/// More than a sensible plan holds; keeps a hostile spec from asking for millions of runs.
const MOST_FRACTIONS: usize = 100;
const MOST_REPLICATES: u32 = 100;
const MOST_PARALLEL: u32 = 100;

impl SpecReader<'_> {
    pub(super) fn canary(
        &mut self,
        raw: raw::Canary,
        instances: Option<&Instances>,
    ) -> CanaryPolicy {
        let (parallel, probe, pool) = match self.is_on(RunPlace::Cloud) {
            true => (3, ProbePolicy::ScriptMode, WarmPoolPolicy::Auto),
            false => (1, ProbePolicy::Off, WarmPoolPolicy::Off),
        };
        let limit = raw.spend_limit.map(|limit| self.spend_limit(&limit));
        CanaryPolicy {
            design: self.design(raw.design.as_ref(), raw.fractions, raw.replicates),
            counts: self.counts(raw.counts, instances),
            spend_limit: limit.unwrap_or(Usd(5.0)),
            max_share: (raw.max_share.map(|share| self.max_share(&share)))
                .unwrap_or(CanaryPolicy::DEFAULT_MAX_SHARE),
            skip_below: raw.skip_below.map_or(Seconds(300.0), Plain::plain),
            max_runtime: (raw.max_runtime.map(|runtime| self.runtime(&runtime)))
                .unwrap_or(Seconds(3600.0)),
            parallel: (raw.parallel.map(|parallel| self.parallel(&parallel))).unwrap_or(parallel),
            warm_pool: raw.warm_pool.map_or(pool, |pool| self.warm_pool(pool)),
            training_plan: raw.training_plan.is_some_and(Plain::plain),
            joined: raw.joined.is_none_or(Plain::plain),
            reuse: raw.reuse.map_or(Seconds(14.0 * 86_400.0), Plain::plain),
            seed: raw.seed.map_or(1, |seed| seed.value),
            probe: raw.probe.map_or(probe, |probe| self.probe(probe)),
        }
    }

    fn design(
        &mut self,
        design: Option<&Located<raw::Choice<DesignKind>>>,
        fractions: Option<Located<raw::List<raw::Quantity<Fraction>>>>,
        replicates: Option<Located<raw::Count>>,
    ) -> Design {
        // Replicates belong to the fixed design, so a spec with them means it.
        let kind = match (design, &replicates) {
            (Some(design), _) => design.value.0,
            (None, Some(_)) => DesignKind::Fixed,
            (None, None) => DesignKind::Adaptive,
        };
        let fractions = fractions.map(|fractions| self.fractions(fractions));
        if kind == DesignKind::Fixed {
            return Design::Fixed {
                fractions: fractions.unwrap_or_else(|| FIXED_FRACTIONS.map(Fraction).to_vec()),
                replicates: replicates.map_or(DEFAULT_REPLICATES, |count| self.replicates(&count)),
            };
        }
        if let Some(replicates) = replicates {
            self.findings.warn(
                &replicates.at,
                "has no effect: the adaptive design chooses its own replicates",
            );
        }
        Design::Adaptive {
            fractions: fractions.unwrap_or_else(|| Design::LADDER.to_vec()),
        }
    }

    fn fractions(
        &mut self,
        fractions: Located<raw::List<raw::Quantity<Fraction>>>,
    ) -> Vec<Fraction> {
        self.refuse_empty(&fractions, "there is no fraction");
        let (at, count) = (&fractions.at, fractions.value.0.len());
        (self.findings).at_most(at, count, "fractions", MOST_FRACTIONS, "planned");
        let mut last = Fraction(0.0);
        for fraction in &fractions.value.0 {
            let share = fraction.value.0;
            if share.0 <= 0.0 || share.0 > 1.0 {
                self.findings.wrong(
                    &fraction.at,
                    format!("{share} is not a share of the data: more than 0%, at most 100%"),
                );
            } else if share <= last {
                self.findings.wrong_with_help(
                    &fraction.at,
                    format!("{share} does not rise above {last}, the fraction before"),
                    "write each fraction once, from small to large",
                );
            }
            last = Fraction(last.0.max(share.0));
        }
        fractions.plain()
    }

    fn replicates(&mut self, replicates: &Located<raw::Count>) -> u32 {
        let (at, count) = (&replicates.at, replicates.value.0);
        (self.findings).at_most(at, count, "replicates", MOST_REPLICATES, "planned");
        count
    }

    fn spend_limit(&mut self, limit: &Located<raw::Quantity<Usd>>) -> Usd {
        let amount = limit.value.0;
        if amount.0 <= 0.0 {
            self.findings
                .wrong(&limit.at, "a spend limit is more than 0");
        }
        if self.is_on(RunPlace::This) && !self.has_local_price {
            self.findings.warn(
                &limit.at,
                "has no effect without `prices.local`; `canary.max_runtime` limits local canaries",
            );
        }
        amount
    }

    fn max_share(&mut self, share: &Located<raw::Quantity<Percent>>) -> Percent {
        let percent = share.value.0;
        if percent.0 <= 0.0 {
            self.findings.wrong_with_help(
                &share.at,
                "a share of the full run is more than 0%",
                "the three canaries that a forecast needs are run whatever it is",
            );
        }
        percent
    }

    fn parallel(&mut self, parallel: &Located<raw::Count>) -> u32 {
        let (at, count) = (&parallel.at, parallel.value.0);
        (self.findings).at_most(at, count, "canaries at once", MOST_PARALLEL, "started");
        if count > 1 && self.is_on(RunPlace::This) {
            self.findings.warn(
                &parallel.at,
                "canaries that share one machine slow each other down, which inflates the forecast",
            );
        }
        count
    }

    /// Capacity that is not there is not asked for.
    pub(super) fn check_training_plan(&mut self, job: &raw::RawJob) {
        let canary = job.canary.as_ref();
        let Some(switch) = canary.and_then(|canary| canary.value.training_plan.as_ref()) else {
            return;
        };
        let training = job.training.as_ref();
        let has_plan =
            training.is_some_and(|training| training.value.sagemaker.training_plan.is_some());
        if !self.is_on(RunPlace::Cloud) {
            self.no_effect(&switch.at);
        } else if switch.value && !has_plan {
            self.findings.wrong_with_help(
                &switch.at,
                "the job has no training plan",
                "write its ARN as `training.training_plan`, or remove the key",
            );
        }
    }

    /// A probe starts what the container would, and that is said once.
    pub(super) fn refuse_two_commands(&mut self, job: &raw::RawJob) {
        let canary = job
            .canary
            .as_ref()
            .and_then(|canary| canary.value.probe.as_ref());
        let Some(Either::Long(probe)) = canary.map(|probe| &probe.value) else {
            return;
        };
        let (Some(command), Some(training)) = (&probe.command, &job.training) else {
            return;
        };
        let keys = &training.value.sagemaker;
        let container = keys.container.as_ref();
        if container.is_some_and(|container| container.value.entrypoint.is_some()) {
            self.findings.wrong_with_help(
                &command.at,
                "`training.container.entrypoint` says already what the probe starts",
                "remove `canary.probe`: canaries have the probe by default",
            );
        } else if keys.algorithm.is_some() {
            self.findings.wrong_with_help(
                &command.at,
                "an algorithm takes its own channels only, so that no probe comes into its container",
                "remove `canary.probe`",
            );
        }
    }

    fn probe(&mut self, probe: Located<raw::Probe>) -> ProbePolicy {
        match self.place {
            RunPlace::Cloud => {}
            RunPlace::This => {
                let backend = self.backend_words();
                let message = format!("has no effect on {backend}, which always samples");
                self.findings.warn(&probe.at, message);
            }
            RunPlace::Recorded | RunPlace::Unknown => self.no_effect(&probe.at),
        }
        match probe.value {
            Either::Short(false) => ProbePolicy::Off,
            Either::Short(true) => ProbePolicy::ScriptMode,
            Either::Long(raw) => {
                if let Some(command) = &raw.command {
                    self.check_command(command);
                }
                let command = raw.command.map(Plain::plain);
                command.map_or(ProbePolicy::Off, ProbePolicy::Command)
            }
        }
    }
}
