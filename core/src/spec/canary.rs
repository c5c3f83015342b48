//! How canaries run and what they may cost: the design, the counts of machines, warm pools, the probe.

use std::rc::Rc;

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::keys::{Either, List, mapping};
use super::kind::{AnyText, Count, Definitions, Kind, Refined, words};
use super::reader::{At, Reader, did_you_mean, quoted, rules};
use super::yaml::{Node, Value};
use super::{CanaryCounts, FieldRule, RunPlace, Training, limits};
use crate::metric::Unit;
use crate::units::{Fraction, Percent, Seconds, Usd, UsdPerHour};

/// More than a sensible plan holds; keeps a hostile spec from asking for millions of runs.
const MOST_FRACTIONS: usize = 100;
const MOST_REPLICATES: u32 = 100;
const MOST_PARALLEL: u32 = 100;
/// More than a law of scale-out needs.
const MOST_COUNTS: usize = 8;

/// Which canary runs are asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Design {
    /// They rise strictly.
    pub fractions: Vec<Fraction>,
    /// Each fraction is run so often; absent of the adaptive design, which chooses run by run.
    pub replicates: Option<u32>,
}

impl Design {
    /// The sizes of the adaptive design where none are written. The fixed one has those up to 3%.
    pub const LADDER: [f64; 7] = [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5];
    const DEFAULT_REPLICATES: u32 = 3;
}

words! {
    /// How canary runs are chosen.
    #[derive(Debug, Clone, Copy, PartialEq)]
    pub(super) enum DesignKind {
        "adaptive" Adaptive,
        "fixed" Fixed,
    }
}

mapping! {
    /// The keys that say which canary runs are asked for.
    pub(in crate::spec) struct DesignKeys named "Design" {
        /// The rule that chooses canary runs: `adaptive` chooses them one by one, `fixed`, as where `replicates` is written, runs
        /// every fraction so often. Default: adaptive.
        optional design: DesignKind;
        /// The shares of the data that canaries run on, rising. Default: 1%, 2%, 3%, 5%, 10%, 20%, 50%; fixed: 1%, 2%, 3%.
        optional fractions: List<Fraction>;
        /// The number of runs of each fraction in the fixed design. Default: fixed: 3.
        optional replicates: Count;
    }
}

impl From<DesignKeys> for Design {
    fn from(keys: DesignKeys) -> Self {
        // Replicates belong to the fixed design, so a spec with them means it.
        let is_fixed = match keys.design {
            Some(kind) => kind == DesignKind::Fixed,
            None => keys.replicates.is_some(),
        };
        let sizes = if is_fixed { 3 } else { Self::LADDER.len() };
        let ladder = || Self::LADDER[..sizes].iter().copied().map(Fraction);
        let fractions = keys.fractions.unwrap_or_else(|| ladder().collect());
        let replicates = keys.replicates.unwrap_or(Self::DEFAULT_REPLICATES);
        Self {
            fractions,
            replicates: is_fixed.then_some(replicates),
        }
    }
}

mapping! {
    /// How many canaries there are, and what they may cost.
    pub struct CanaryPolicy named "Canary" {
        with design: DesignKeys as Design => FieldRule::BASE.uncounted();
        /// The numbers of machines that canaries run on, where `instance` has several: all on the first, and one canary on each
        /// other. Default: one and all machines on SageMaker, all machines elsewhere.
        plain counts: List<Count> as CanaryCounts => FieldRule::BASE.uncounted();
        /// The most that the canaries of the job may cost in one check, in US dollars. Default: 5 USD.
        plain spend_limit: Usd, or Usd(5.0) => FieldRule::BASE.uncounted();
        /// In place of dollars, the machine time of all canaries in one check on machines without a price. Without it, or
        /// beside `--max-spend`, none runs there on SageMaker.
        optional max_seconds: Seconds => FieldRule::BASE.uncounted();
        /// The most that the canaries of a configuration may take together, in percent of the full run that they forecast. The
        /// three canaries that a forecast needs are run in any case. Default: 25%.
        plain max_share: Percent, or Self::DEFAULT_MAX_SHARE => FieldRule::BASE.uncounted();
        /// Whether the full run is begun where canaries print their progress, in place of a larger one, and ended at a share of it:
        /// `auto` at about 10%, `off`, or at most 50%. Default: auto.
        plain progress: ProgressShare, or ProgressShare::AUTO => FieldRule::BASE.uncounted();
        /// The time after which a canary is stopped. Default: 1h; locally: 10m.
        plain max_runtime: Seconds, or Seconds(3600.0) => FieldRule::BASE.uncounted();
        /// The number of canaries that run at once. Default: 3; locally: 1.
        plain parallel: Count as u32, or 3 => FieldRule::BASE.uncounted();
        /// SageMaker: whether machines are kept for the next canary, in a managed warm pool: `auto` where that pays, `off`, or
        /// `{keep_alive: 5m}`, at most 1h. Default: auto.
        plain warm_pool: WarmPoolPolicy, or WarmPoolPolicy::Auto => FieldRule::BASE.uncounted();
        /// Whether the script may join sampled tables that share a column, or take in pairs files that share their names: then
        /// nothing is run, since samples of both have fewer rows or pairs than their share. Default: true.
        plain joined: bool, or true => FieldRule::BASE.uncounted();
        /// SageMaker: whether canaries on `instance` run on the capacity of `training.training_plan`. Default: false.
        plain training_plan: bool => FieldRule::BASE.uncounted();
        /// The age up to which an earlier canary is reused. Default: 14d.
        plain reuse: Seconds, or Seconds(14.0 * 86_400.0) => FieldRule::BASE.uncounted();
        /// The seed of the choice of sampled objects. Default: 1.
        plain seed: u64, or 1 => FieldRule::BASE;
        /// Whether memory and load are sampled inside the container: in script mode, or around the command of a plain
        /// image. Local canaries always are. Default: true.
        plain probe: ProbePolicy, or ProbePolicy::ScriptMode => FieldRule::BASE;
    }
}

impl CanaryPolicy {
    /// The default of [`Self::max_share`].
    pub const DEFAULT_MAX_SHARE: Percent = Percent(25.0);

    /// What an hour of a machine without a price counts against [`Self::spend_limit`]: so much that `max_seconds` use it up.
    pub fn stand_in(&self) -> Option<UsdPerHour> {
        let Seconds(most) = self.max_seconds?;
        Some(UsdPerHour(3600.0 * self.spend_limit.0 / most))
    }
}

/// Whether to sample inside the container, where the backend starts one.
#[derive(Debug, Clone, PartialEq, Serialize, derive_more::Display)]
pub enum ProbePolicy {
    #[display("false")]
    Off,
    /// It samples where the job has an entry point.
    #[display("true")]
    ScriptMode,
    /// It samples around this command of a plain image.
    #[display("{}", _0.join(" "))]
    Command(Vec<String>),
}

mapping! {
    /// The command that the sampler starts.
    pub(in crate::spec) struct ProbeCommand named "ProbeCommand" {
        /// The command of the image, for instance `[train]`.
        required command: List<AnyText>;
    }
}

/// A switch, or the command of a plain image.
type Probe = Either<bool, ProbeCommand>;

impl Refined for ProbePolicy {
    type Of = Probe;
    type Value = Self;

    fn refine(probe: Either<bool, ProbeCommand>, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
        Some(match probe {
            Either::Short(false) => Self::Off,
            Either::Short(true) => Self::ScriptMode,
            Either::Long(probe) => {
                let command = probe.command?;
                reader.check_command(&at.key("command"), &command);
                Self::Command(command)
            }
        })
    }
}

/// The share of its progress at which a full run is ended that canaries begin; `None`: they begin none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProgressShare(pub Option<Fraction>);

impl ProgressShare {
    const AUTO: Self = Self(Some(Fraction(0.1)));

    /// The share as a spec says it.
    pub(super) fn words(self) -> String {
        match self.0 {
            _ if self == Self::AUTO => "auto".to_owned(),
            Some(share) => share.to_string(),
            None => "off".to_owned(),
        }
    }
}

impl Kind for ProgressShare {
    type Value = Self;

    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
        let share = match &node.value {
            Value::Text(text) if text == "auto" => return Some(Self::AUTO),
            Value::Text(text) if text == "off" => return Some(Self(None)),
            Value::Text(text) if text.starts_with(|first: char| first.is_ascii_digit()) => {
                Fraction::read(node, at, reader)?
            }
            _ => return reader.wrong_kind(node, "`auto`, `off` or a share such as `5%`", at),
        };
        rules! { reader, at;
            refuse "" if !(0.01..=0.5).contains(&share.0) =>
                format!("{share}, where a share of the full run from 1% to 50% is needed"),
                "write `progress: 10%`, or `progress: off` for none";
        }
        Some(Self(Some(share)))
    }

    fn schema(_: &mut Definitions) -> Json {
        auto_or(Unit::Percent, "a share", "5%")
    }
}

/// The schema of an amount in whose place `auto` or `off` may stand.
fn auto_or(unit: Unit, noun: &str, example: &str) -> Json {
    json!({
        "type": "string",
        "pattern": format!("^(auto|off)$|{}", unit.written().pattern),
        "examples": ["auto", "off", example],
        "errorMessage": format!("write `auto`, `off` or {noun}, such as `{example}`"),
    })
}

/// What `canary.warm_pool` asks for.
#[derive(Debug, Clone, Copy, PartialEq, derive_more::Display)]
#[display(rename_all = "lowercase")]
pub enum WarmPoolPolicy {
    /// A pool where it makes a check shorter for little money.
    Auto,
    /// No pool. A backend without pools always has this policy.
    Off,
    /// A pool for each configuration, kept for so long after a canary, from a second to an hour.
    #[display("keep_alive {}", _0.exact())]
    KeepAlive(Seconds),
}

mapping! {
    /// Machines that are kept for the next canary.
    pub(in crate::spec) struct KeepAlive named "KeepAlive" {
        /// The time for which they are kept, from 1s to 1h.
        required keep_alive: Seconds;
    }
}

impl Kind for WarmPoolPolicy {
    type Value = Self;

    /// A word or a time, or the time under its name.
    fn read(node: &Node, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
        let (at, time) = match &node.value {
            Value::Mapping(_) => {
                let long = KeepAlive::read(node, at, reader)?;
                (at.key("keep_alive"), long.keep_alive?)
            }
            Value::Text(text) if text == "auto" => return Some(Self::Auto),
            Value::Text(text) if text == "off" => return Some(Self::Off),
            Value::Text(text)
                if !text.starts_with(|first: char| first.is_ascii_digit())
                    && text.parse::<Seconds>().is_err() =>
            {
                let help = did_you_mean(text, ["auto", "off"]);
                let help = help.unwrap_or("write `auto`, `off` or `{keep_alive: 5m}`".to_owned());
                let text = quoted(text);
                let message = format!("{text}, where `auto`, `off` or a time is needed");
                return reader.refused(at, message, help);
            }
            // The error of a number asks for a unit.
            Value::Text(_) | Value::Number(_) => (at.clone(), Seconds::read(node, at, reader)?),
            _ => return reader.wrong_kind(node, "`auto`, `off` or a time such as `5m`", at),
        };
        rules! { reader, at;
            refuse "" if time.0 < 1.0 =>
                "a warm pool is kept for at least 1s", "for none, write `warm_pool: off`";
            wrong "" if time > limits::KEEP_ALIVE =>
                format!("{time}; SageMaker keeps a pool for at most {}", limits::KEEP_ALIVE);
        }
        Some(Self::KeepAlive(time))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        let [_, example] = Unit::Time.written().examples;
        let word = auto_or(Unit::Time, "a time", example);
        json!({ "anyOf": [word, KeepAlive::schema(definitions)] })
    }
}

impl Reader<'_> {
    /// Checks how canaries run, against what the job trains on, and gives what is not written the backend's default.
    pub(super) fn canary(
        &mut self,
        at: &At,
        mut policy: CanaryPolicy,
        training: Option<&Training>,
    ) -> CanaryPolicy {
        let place = self.place();
        self.check_design(at, &policy.design);
        self.check_counts(&at.key("counts"), &policy.counts);
        let spend_limit = at.key("spend_limit");
        self.above_0(&spend_limit, policy.spend_limit.0, "a spend limit");
        let most = policy.max_seconds.map_or(1.0, |most| most.0);
        self.above_0(&at.key("max_seconds"), most, "machine time");
        let is_here = place == RunPlace::This;
        let is_parallel = policy.parallel > 1 && self.is_written(&at.key("parallel"));
        let is_begun = policy.progress.0.is_some() && self.is_written(&at.key("progress"));
        rules! { self, at;
            refuse "progress" if is_begun && policy.design.replicates.is_some() =>
                "the fixed design runs only its fractions, and never begins the full run",
                "remove `progress`, or write `design: adaptive` without `replicates`";
            warn "spend_limit" if is_here && !self.may_have_local_price() && self.is_written(&spend_limit) =>
                "has no effect without `prices.local`; `canary.max_runtime` limits local canaries";
            refuse "max_share" if policy.max_share.0 <= 0.0 =>
                "a share of the full run is more than 0%",
                "the three canaries that a forecast needs are run whatever it is";
            warn "parallel" if is_here && is_parallel =>
                "canaries that share one machine slow each other down, which inflates the forecast";
        }
        self.check_runtime(&at.key("max_runtime"), policy.max_runtime);
        let parallel = at.key("parallel");
        let (what, most) = ("canaries at once", MOST_PARALLEL);
        self.at_most(&parallel, policy.parallel, what, most, "started");
        if place != RunPlace::Cloud {
            for key in ["training_plan", "warm_pool", "probe"] {
                self.no_effect(&at.key(key));
            }
            policy.warm_pool = WarmPoolPolicy::Off;
            if !self.is_written(&at.key("probe")) {
                policy.probe = ProbePolicy::Off;
            }
            if policy.counts == CanaryCounts::OneAndAll {
                // Hosts on this machine share it, and a recording has the runs that it has.
                policy.counts = CanaryCounts::AsTheFullRun;
            }
            if !self.is_written(&parallel) {
                policy.parallel = 1;
            }
            if is_here && !self.is_written(&at.key("max_runtime")) {
                policy.max_runtime = Seconds(600.0);
            }
        }
        let Some(training) = training.map(|training| &training.sagemaker) else {
            return policy;
        };
        let has_groups = (self.instances.first()).is_some_and(|one| !one.groups().is_empty());
        let keeps_warm = matches!(policy.warm_pool, WarmPoolPolicy::KeepAlive(_));
        let starts_probe = matches!(policy.probe, ProbePolicy::Command(_));
        let has_entrypoint = !training.container.entrypoint.is_empty();
        let is_cloud = place == RunPlace::Cloud;
        let takes_plan = policy.training_plan && is_cloud;
        rules! { self, at;
            // A probe starts what the container would, and that is said once.
            refuse "probe.command" if starts_probe && has_entrypoint =>
                "`training.container.entrypoint` says already what the probe starts",
                "remove `canary.probe`: canaries have the probe by default";
            refuse "probe.command" if starts_probe && !has_entrypoint && training.algorithm.is_some() =>
                "an algorithm takes its own channels only, so that no probe comes into its container",
                "remove `canary.probe`";
            // Capacity that is not there is not asked for.
            refuse "training_plan" if takes_plan && training.training_plan.is_none() =>
                "the job has no training plan", "write its ARN as `training.training_plan`, or remove the key";
            refuse "training_plan" if takes_plan && has_groups =>
                "a training plan is capacity of one type of machine, and `instance` has groups",
                "remove the key: canaries on groups are on demand";
            // `auto` takes no pool then; who writes a time means it.
            refuse "warm_pool" if is_cloud && keeps_warm && has_groups =>
                "instance groups have no warm pools", "write `warm_pool: off`, or remove the key";
            refuse "warm_pool" if is_cloud && keeps_warm && training.spot && !has_groups =>
                "a job with `training.spot` has no warm pools", "write `warm_pool: off`, or remove the key";
        }
        policy
    }

    fn check_design(&mut self, at: &At, design: &Design) {
        let replicates_at = at.key("replicates");
        let fractions = &design.fractions;
        if let Some(replicates) = design.replicates {
            let most = MOST_REPLICATES;
            self.at_most(&replicates_at, replicates, "replicates", most, "planned");
        } else if self.is_written(&replicates_at) {
            let message = "has no effect: the adaptive design chooses its own replicates";
            self.warn(&replicates_at, message);
        }
        let at = at.key("fractions");
        self.at_most(&at, fractions.len(), "fractions", MOST_FRACTIONS, "planned");
        self.rising(&at, fractions, "fraction", |share| {
            let is_share = share.0 > 0.0 && share.0 <= 1.0;
            (!is_share)
                .then(|| format!("{share} is not a share of the data: more than 0%, at most 100%"))
        });
    }

    /// Checks that the counts that are written suit the job's machines.
    fn check_counts(&mut self, at: &At, counts: &CanaryCounts) {
        let CanaryCounts::Written(counts) = counts else {
            return;
        };
        let instances = Rc::clone(&self.instances);
        let instance = instances.first();
        let most = instance.map_or(u32::MAX, |instance| instance.total_count());
        let is_of_groups = instance.is_some_and(|instance| instance.single_type().is_none());
        let shown = instance.map_or_else(String::new, ToString::to_string);
        rules! { self, at;
            refuse "" if is_of_groups =>
                "canaries of instance groups run on all of their machines", "remove `counts`";
            refuse "" if most == 1 && !is_of_groups =>
                format!("`instance` is one machine, `{shown}`"), "remove `counts`, or write `instance: 4x ...`";
        }
        self.at_most(at, counts.len(), "counts", MOST_COUNTS, "measured");
        self.rising(at, counts, "count", |count| {
            (count > most && most > 1 && !is_of_groups)
                .then(|| format!("{count} machines; the full run has {most}"))
        });
    }
}
