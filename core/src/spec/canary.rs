//! How canaries run and what they may cost: the design, the counts of machines, warm pools, the probe.

use serde::Serialize;
use serde_json::{Value as Json, json};

use super::backend_kind::RunPlace;
use super::counts::CanaryCounts;
use super::field::FieldRule;
use super::instances::Instances;
use super::keys::{Either, List, keys, mapping};
use super::kind::{AnyText, Count, Definitions, Kind, Refined, words, wrong_kind};
use super::limits;
use super::reader::{At, Reader, near_miss, quoted};
use super::training::TrainingKeys;
use super::yaml::{Node, Value};
use crate::units::{Fraction, Percent, Seconds, Usd};

/// More than a sensible plan holds; keeps a hostile spec from asking for millions of runs.
const MOST_FRACTIONS: usize = 100;
const MOST_REPLICATES: u32 = 100;
const MOST_PARALLEL: u32 = 100;
/// More than a law of scale-out needs.
const MOST_COUNTS: usize = 8;

/// Which canary runs are asked for.
#[derive(Debug, Clone, PartialEq)]
pub enum Design {
    /// Every fraction, `replicates` times. Fractions rise strictly.
    Fixed {
        fractions: Vec<Fraction>,
        replicates: u32,
    },
    /// Chosen run by run; fractions rise strictly.
    Adaptive { fractions: Vec<Fraction> },
}

impl Design {
    /// The sizes of the adaptive design where none are written.
    pub const LADDER: [Fraction; 7] = [
        Fraction(0.01),
        Fraction(0.02),
        Fraction(0.03),
        Fraction(0.05),
        Fraction(0.1),
        Fraction(0.2),
        Fraction(0.5),
    ];
    const FIXED_FRACTIONS: [Fraction; 3] = [Fraction(0.01), Fraction(0.02), Fraction(0.03)];
    const DEFAULT_REPLICATES: u32 = 3;

    /// The adaptive one as it is by default.
    pub fn adaptive() -> Self {
        Self::Adaptive {
            fractions: Self::LADDER.to_vec(),
        }
    }
}

/// How canary runs are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum DesignKind {
    Adaptive,
    Fixed,
}

words! {
    DesignKind: "adaptive" Adaptive, "fixed" Fixed;
}

mapping! {
    /// The keys that say which canary runs are asked for.
    struct DesignKeys named "Design" {
        /// The rule that chooses canary runs: `adaptive` chooses them one by one, `fixed`, as where `replicates` is written, runs
        /// every fraction so often. Default: adaptive.
        optional design: DesignKind,
        /// The shares of the data that canaries run on, rising. Default: 1%, 2%, 3%, 5%, 10%, 20%, 50%; fixed: 1%, 2%, 3%.
        optional fractions: List<Fraction>,
        /// The number of runs of each fraction in the fixed design. Default: fixed: 3.
        optional replicates: Count,
    }
}

impl From<DesignKeys> for Design {
    fn from(keys: DesignKeys) -> Self {
        // Replicates belong to the fixed design, so a spec with them means it.
        let kind = match (keys.design, keys.replicates) {
            (Some(kind), _) => kind,
            (None, Some(_)) => DesignKind::Fixed,
            (None, None) => DesignKind::Adaptive,
        };
        match kind {
            DesignKind::Fixed => Self::Fixed {
                fractions: (keys.fractions).unwrap_or_else(|| Self::FIXED_FRACTIONS.to_vec()),
                replicates: keys.replicates.unwrap_or(Self::DEFAULT_REPLICATES),
            },
            DesignKind::Adaptive => Self::Adaptive {
                fractions: keys.fractions.unwrap_or_else(|| Self::LADDER.to_vec()),
            },
        }
    }
}

keys! {
    /// The rules of the canary runs: how many there are, and what they may cost.
    pub struct CanaryPolicy named "Canary" {
        with design: DesignKeys as Design => FieldRule::BASE.uncounted();
        /// The numbers of machines that canaries run on, where `instance` has several: all on the first, and one canary on each
        /// other. Default: one and all machines on SageMaker, all machines elsewhere.
        plain counts: CanaryCounts => FieldRule::BASE.uncounted();
        /// The most that the canaries of the job may cost in one check, in US dollars. Default: 5 USD.
        plain spend_limit: Usd, or Usd(5.0) => FieldRule::BASE.uncounted();
        /// The most that the canaries of a configuration may take together, in percent of the full run that they forecast. The
        /// three canaries that a forecast needs are run in any case. Default: 25%.
        plain max_share: Percent, or Self::DEFAULT_MAX_SHARE => FieldRule::BASE.uncounted();
        /// The time of a full run below which the report says that canaries are not worth it. Default: 5m.
        plain skip_below: Seconds, or Seconds(300.0) => FieldRule::HEAD.uncounted();
        /// The time after which a canary is stopped. Default: 1h.
        plain max_runtime: Seconds, or Seconds(3600.0) => FieldRule::BASE.uncounted();
        /// The number of canaries that run at once. Default: 3; locally: 1.
        plain parallel: Count as u32, or 3 => FieldRule::BASE.uncounted();
        /// SageMaker: whether machines are kept for the next canary, in a managed warm pool: `auto` where that pays, `off`, or
        /// `{keep_alive: 5m}`, at most 1h. Default: auto.
        plain warm_pool: WarmPoolPolicy, or WarmPoolPolicy::Auto => FieldRule::BASE.uncounted();
        /// Whether the script may join sampled tables that share a column: then nothing is run, since a join of samples has fewer
        /// rows than its share. Default: true.
        plain joined: bool, or true => FieldRule::BASE.uncounted();
        /// SageMaker: whether canaries on `instance` run on the capacity of `training.training_plan`. Default: false.
        plain training_plan: bool => FieldRule::BASE.uncounted();
        /// The age up to which an earlier canary is reused. Default: 14d.
        plain reuse: Seconds, or Seconds(14.0 * 86_400.0) => FieldRule::BASE.uncounted();
        /// The seed of the choice of sampled objects. Default: 1.
        plain seed: u64, or 1 => FieldRule::HEAD;
        /// Whether memory and load are sampled inside the container: in script mode, or around the command of a plain
        /// image. Local canaries always are. Default: true.
        plain probe: ProbePolicy, or ProbePolicy::ScriptMode => FieldRule::BASE;
    }
}

impl CanaryPolicy {
    /// The default of [`Self::max_share`].
    pub const DEFAULT_MAX_SHARE: Percent = Percent(25.0);
}

/// Whether to sample inside the container, where the backend starts one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum ProbePolicy {
    Off,
    /// It samples where the job has an entry point.
    ScriptMode,
    /// It samples around this command of a plain image.
    Command(Vec<String>),
}

mapping! {
    /// The command that the sampler starts.
    struct ProbeCommand named "ProbeCommand" {
        /// The command of the image, for instance `[train]`.
        required command: List<AnyText>,
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

impl ProbePolicy {
    /// The policy as a spec says it.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Off => "false".to_owned(),
            Self::ScriptMode => "true".to_owned(),
            Self::Command(words) => words.join(" "),
        }
    }
}

/// What `canary.warm_pool` asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum WarmPoolPolicy {
    /// A pool where it makes a check shorter for little money.
    Auto,
    /// No pool. A backend without pools always has this policy.
    Off,
    /// A pool for each configuration, kept for so long after a canary, from a second to an hour.
    KeepAlive(Seconds),
}

impl WarmPoolPolicy {
    const WORDS: [(&'static str, Self); 2] = [("auto", Self::Auto), ("off", Self::Off)];

    /// The policy as a spec says it.
    pub fn words(self) -> String {
        match self {
            Self::Auto => "auto".to_owned(),
            Self::Off => "off".to_owned(),
            Self::KeepAlive(time) => format!("keep_alive {}", time.exact()),
        }
    }
}

mapping! {
    /// Machines that are kept for the next canary.
    struct KeepAlive named "KeepAlive" {
        /// The time for which they are kept, from 1s to 1h.
        required keep_alive: Seconds,
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
            Value::Text(text) => {
                let mut words = Self::WORDS.iter();
                if let Some((_, policy)) = words.find(|(word, _)| word == text) {
                    return Some(*policy);
                }
                let is_time = text.starts_with(|first: char| first.is_ascii_digit());
                if !is_time && text.parse::<Seconds>().is_err() {
                    let near = near_miss(text, Self::WORDS.map(|(word, _)| word));
                    let help = near.map_or_else(
                        || "write `auto`, `off` or `{keep_alive: 5m}`".to_owned(),
                        |near| format!("did you mean `{near}`?"),
                    );
                    let text = quoted(text);
                    let message = format!("{text}, where `auto`, `off` or a time is needed");
                    reader.refuse(at, message, help);
                    return None;
                }
                (at.clone(), Seconds::read(node, at, reader)?)
            }
            // Its error asks for a unit.
            Value::Number(_) => (at.clone(), Seconds::read(node, at, reader)?),
            _ => return wrong_kind(node, "`auto`, `off` or a time such as `5m`", at, reader),
        };
        if time.0 < 1.0 {
            let message = "a warm pool is kept for at least 1s";
            reader.refuse(&at, message, "for none, write `warm_pool: off`");
        } else if time > limits::KEEP_ALIVE {
            let most = limits::KEEP_ALIVE;
            reader.wrong(
                &at,
                format!("{time}; SageMaker keeps a pool for at most {most}"),
            );
        }
        Some(Self::KeepAlive(time))
    }

    fn schema(definitions: &mut Definitions) -> Json {
        let words = Self::WORDS.map(|(word, _)| word).join("|");
        let written = crate::metric::Unit::Time.written();
        let [_, time] = written.examples;
        let word = json!({
            "type": "string",
            "pattern": format!("^({words})$|{}", written.pattern),
            "examples": ["auto", "off", time],
            "errorMessage": format!("write `auto`, `off` or a time, such as `{time}`"),
        });
        json!({ "anyOf": [word, KeepAlive::schema(definitions)] })
    }
}

impl Reader<'_> {
    /// Checks how canaries run, against what the job trains on, and gives what is not written the backend's default.
    pub(super) fn canary(
        &mut self,
        at: &At,
        mut policy: CanaryPolicy,
        instances: Option<&Instances>,
        training: Option<&TrainingKeys>,
    ) -> CanaryPolicy {
        let place = self.place();
        let is_cloud = place == RunPlace::Cloud;
        self.check_design(at, &policy.design);
        self.check_counts(&at.key("counts"), &policy.counts, instances);
        if !is_cloud && policy.counts == CanaryCounts::OneAndAll {
            // Hosts on this machine share it, and a recording has the runs that it has.
            policy.counts = CanaryCounts::AsTheFullRun;
        }
        let spend_limit = at.key("spend_limit");
        if policy.spend_limit.0 <= 0.0 {
            self.wrong(&spend_limit, "a spend limit is more than 0");
        }
        if self.has(&spend_limit) && place == RunPlace::This && !self.has_local_price {
            let message =
                "has no effect without `prices.local`; `canary.max_runtime` limits local canaries";
            self.warn(&spend_limit, message);
        }
        if policy.max_share.0 <= 0.0 {
            self.refuse(
                &at.key("max_share"),
                "a share of the full run is more than 0%",
                "the three canaries that a forecast needs are run whatever it is",
            );
        }
        self.check_runtime(&at.key("max_runtime"), policy.max_runtime);
        let parallel = at.key("parallel");
        self.at_most(
            &parallel,
            policy.parallel,
            "canaries at once",
            MOST_PARALLEL,
            "started",
        );
        if !is_cloud && !self.is_written(&parallel) {
            policy.parallel = 1;
        } else if policy.parallel > 1 && place == RunPlace::This {
            let message =
                "canaries that share one machine slow each other down, which inflates the forecast";
            self.warn(&parallel, message);
        }
        let plan = at.key("training_plan");
        if self.has(&plan) && !is_cloud {
            self.no_effect(&plan);
        }
        let pool = at.key("warm_pool");
        if !is_cloud {
            if self.is_written(&pool) {
                self.no_effect(&pool);
            }
            policy.warm_pool = WarmPoolPolicy::Off;
        }
        let probe = at.key("probe");
        if self.is_written(&probe) {
            match place {
                RunPlace::Cloud => {}
                RunPlace::This => {
                    let backend = self.backend_words();
                    let message = format!("has no effect on {backend}, which always samples");
                    self.warn(&probe, message);
                }
                RunPlace::Recorded | RunPlace::Unknown => self.no_effect(&probe),
            }
        } else if !is_cloud {
            policy.probe = ProbePolicy::Off;
        }
        if let (Some(training), true) = (training, is_cloud) {
            let instance = instances.map(|(instance, _)| instance);
            let has_groups = instance.is_some_and(|instance| !instance.groups().is_empty());
            self.check_canary_in_the_cloud(at, &policy, training, has_groups);
        }
        policy
    }

    fn check_canary_in_the_cloud(
        &mut self,
        at: &At,
        policy: &CanaryPolicy,
        training: &TrainingKeys,
        has_groups: bool,
    ) {
        let keys = &training.sagemaker;
        // Capacity that is not there is not asked for.
        let plan = at.key("training_plan");
        if policy.training_plan && keys.training_plan.is_none() {
            self.refuse(
                &plan,
                "the job has no training plan",
                "write its ARN as `training.training_plan`, or remove the key",
            );
        }
        if policy.training_plan && has_groups {
            self.refuse(
                &plan,
                "a training plan is capacity of one type of machine, and `instance` has groups",
                "remove the key: canaries on groups are on demand",
            );
        }
        // `auto` takes no pool then; who writes a time means it.
        let what = match has_groups {
            true => "instance groups have no warm pools",
            false => "a job with `training.spot` has no warm pools",
        };
        if matches!(policy.warm_pool, WarmPoolPolicy::KeepAlive(_)) && (has_groups || keys.spot) {
            let help = "write `warm_pool: off`, or remove the key";
            self.refuse(&at.key("warm_pool"), what, help);
        }
    }

    /// A probe starts what the container would, and that is said once.
    pub(super) fn refuse_two_commands(
        &mut self,
        at: &At,
        probe: &ProbePolicy,
        training: &TrainingKeys,
    ) {
        let command = at.key("probe").key("command");
        if !matches!(probe, ProbePolicy::Command(_)) {
            return;
        }
        if !training.sagemaker.container.entrypoint.is_empty() {
            self.refuse(
                &command,
                "`training.container.entrypoint` says already what the probe starts",
                "remove `canary.probe`: canaries have the probe by default",
            );
        } else if training.sagemaker.algorithm.is_some() {
            self.refuse(
                &command,
                "an algorithm takes its own channels only, so that no probe comes into its container",
                "remove `canary.probe`",
            );
        }
    }

    fn check_design(&mut self, at: &At, design: &Design) {
        let replicates_at = at.key("replicates");
        let fractions = match design {
            Design::Fixed {
                fractions,
                replicates,
            } => {
                self.at_most(
                    &replicates_at,
                    *replicates,
                    "replicates",
                    MOST_REPLICATES,
                    "planned",
                );
                fractions
            }
            Design::Adaptive { fractions } => {
                if self.has(&replicates_at) {
                    let message = "has no effect: the adaptive design chooses its own replicates";
                    self.warn(&replicates_at, message);
                }
                fractions
            }
        };
        let at = at.key("fractions");
        self.refuse_empty(&at, fractions, "there is no fraction", None);
        self.at_most(&at, fractions.len(), "fractions", MOST_FRACTIONS, "planned");
        let mut last = Fraction(0.0);
        for (index, share) in fractions.iter().enumerate() {
            let at = at.item(index);
            if share.0 <= 0.0 || share.0 > 1.0 {
                let message =
                    format!("{share} is not a share of the data: more than 0%, at most 100%");
                self.wrong(&at, message);
            } else if *share <= last {
                let message = format!("{share} does not rise above {last}, the fraction before");
                self.refuse(
                    &at,
                    message,
                    "write each fraction once, from small to large",
                );
            }
            last = Fraction(last.0.max(share.0));
        }
    }

    /// Checks that the counts that are written suit the job's machines.
    fn check_counts(&mut self, at: &At, counts: &CanaryCounts, instances: Option<&Instances>) {
        let CanaryCounts::Written(counts) = counts else {
            return;
        };
        let instance = instances.map(|(instance, _)| instance);
        let most = instance.map_or(u32::MAX, |instance| instance.total_count());
        if instance.is_some_and(|instance| instance.single_type().is_none()) {
            let message = "canaries of instance groups run on all of their machines";
            self.refuse(at, message, "remove `counts`");
        } else if let Some(instance) = instance.filter(|_| most == 1) {
            let message = format!(
                "`instance` is one machine, {}",
                quoted(&instance.to_string())
            );
            self.refuse(at, message, "remove `counts`, or write `instance: 4x ...`");
        }
        let is_counted = most > 1 && instance.is_some_and(|it| it.single_type().is_some());
        self.refuse_empty(at, counts, "there is no count", None);
        self.at_most(at, counts.len(), "counts", MOST_COUNTS, "measured");
        let mut last = 0;
        for (index, count) in counts.iter().enumerate() {
            let at = at.item(index);
            if is_counted && *count > most {
                self.wrong(&at, format!("{count} machines; the full run has {most}"));
            } else if *count <= last {
                let message = format!("{count} does not rise above {last}, the count before");
                self.refuse(&at, message, "write each count once, from small to large");
            }
            last = last.max(*count);
        }
    }
}
