//! One training job: what triggers it, the full run, its canaries and its budget.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::channel::DRAWS;
use super::instances::{AlternativeRows, Instance};
use super::keys::{Either, List, mapping};
use super::kind::{Text, words};
use super::reader::{At, Reader, quoted, rules};
use super::share::{SampledBy, ShareKeys};
use super::training::is_script;
use super::{
    Budget, CanaryPolicy, DriftPolicy, FieldRule, FollowingCount, RunPlace, ScriptShare, Training,
    Work, fields, limits,
};
use crate::instance::InstanceConfiguration;

fields! {
    /// One training job: what triggers it, the full run, and its budget.
    #[derive(Debug, Clone, PartialEq)]
    pub struct Job {
        /// 1-63 letters, digits and inner hyphens; underscores as well where it is replayed.
        pub name: String = FieldRule::HEAD.uncounted(),
        /// Globs over paths relative to the spec's folder; `!` excludes, a leading `/` is the checkout root.
        pub paths: Vec<String> = FieldRule::named("Until it is merged both count.").uncounted(),
        pub training: Training = FieldRule::EACH,
        /// What the team will train on; the budget is judged on it.
        pub instance: InstanceConfiguration = FieldRule::HEAD.uncounted(),
        pub alternatives: Vec<InstanceConfiguration>,
        /// What alternatives are ordered by where a person reads them.
        pub ranking: Option<Ranking> = FieldRule::HEAD.uncounted(),
        /// Those of `alternatives` that a range of counts names.
        pub ranged: Vec<InstanceConfiguration>,
        /// The script draws its own share of the data; no channel is sampled then.
        pub share: Option<ScriptShare> = FieldRule::named(DRAWS),
        /// A count of examples that goes with what is drawn of a channel.
        pub following: Option<FollowingCount> = FieldRule::named(DRAWS).at("share"),
        pub work: Option<Work> = FieldRule::UNCOMPARED,
        pub canary: CanaryPolicy = FieldRule::EACH,
        pub budget: Budget = FieldRule::EACH,
        pub drift: DriftPolicy = FieldRule::EACH,
        /// Whether its canaries may cost less than it asks for, since the base does not have it.
        pub is_capped: bool = FieldRule::HEAD.uncounted(),
    }
}

words! {
    /// What alternatives are compared by; the least is the best.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Ranking {
        "cost" Cost,
        "time" Time,
        /// Twice as fast is worth up to four times the price of a machine.
        "time_squared_price" TimeSquaredPrice,
    }
}

mapping! {
    /// One training job.
    pub(in crate::spec) struct JobKeys named "Job" {
        /// Patterns of the files that count, relative to the spec's folder; `!` excludes, a leading `/` is the checkout root. A
        /// change of one, or of data in the checkout, triggers the job. All of `source_dir` counts that no `!` leaves out. Canaries
        /// get no other files. Default: every file.
        plain paths: List<Text> as Vec<String>, or vec!["**".to_owned()];
        /// The full run: its code, its data and its settings.
        required training: Training;
        /// The machines of the full run. The budget is judged on them.
        required instance: Instance as InstanceConfiguration;
        /// Other configurations to compare, which never change the exit code. A range, `1-8x ml.m5.xlarge`, has a row for each
        /// power of two and its end. Without this key groups on SageMaker are compared with their largest type alone; `[]` asks for none.
        optional alternatives: AlternativeRows;
        /// What orders the `alternatives` that fit, the best first; `time_squared_price` is time x time x price. Without it the worst
        /// verdict leads.
        optional ranking: Ranking;
        /// Hands the script its share of the data, which it draws itself from a database, a hub, a generator; no channel is sampled
        /// then. With `follows` the gate draws, and hands over a count.
        optional share: ShareKeys;
        /// The hyperparameter that canaries set lower. Where no channel is sampled, canaries differ in it alone.
        optional work: Work;
        /// How many canaries there are, and what they may cost.
        plain canary: CanaryPolicy as CanaryPolicy;
        /// The limits of the full run.
        plain budget: Budget as Budget;
        /// The increase that a scheduled check reports as drift.
        plain drift: DriftPolicy as DriftPolicy;
    }
}

impl Job {
    /// `instance` first, then the alternatives.
    pub fn configurations(&self) -> impl Iterator<Item = &InstanceConfiguration> {
        std::iter::once(&self.instance).chain(&self.alternatives)
    }

    /// Each with its key in the spec: `instance`, `alternatives[0]`.
    pub fn keyed_configurations(&self) -> impl Iterator<Item = (String, &InstanceConfiguration)> {
        let others = (0..self.alternatives.len()).map(|at| format!("alternatives[{at}]"));
        let keys = std::iter::once("instance".to_owned()).chain(others);
        keys.zip(self.configurations())
    }
}

impl Reader<'_> {
    /// The job of the keys at `at`; `None` where a part that it must have could not be read.
    pub(super) fn job(&mut self, at: &At, name: String, keys: JobKeys) -> Option<Job> {
        self.check_job_name(at, &name);
        let paths_at = at.key("paths");
        if !keys.paths.is_empty() || self.has(&paths_at) {
            self.globs(&paths_at, &keys.paths);
        }
        self.check_groups_of(at, &keys);
        let share = (keys.share.as_ref()).and_then(|share| share.hyperparameter.as_ref());
        let work = keys.work.as_ref().map(|work| &work.hyperparameter);
        rules! { self, at;
            // A canary's level of work would stand where its share is handed over.
            refuse "work.hyperparameter" if share.is_some() && share == work =>
                "`work` and `share` set the same hyperparameter",
                "name what the script reads its share from in `share`, and what makes canaries do less work per datum in `work`; or remove one of them";
        }
        let own = keys.instance.as_ref();
        let twin = own.filter(|_| keys.alternatives.is_none() && self.is_on(RunPlace::Cloud));
        let others = keys.alternatives.unwrap_or_default();
        let (mut alternatives, ranged) = self.alternatives(&at.key("alternatives"), others, own);
        alternatives.extend(twin.and_then(InstanceConfiguration::twin));
        let own = keys.instance.iter();
        let instances = own.flat_map(|own| [own].into_iter().chain(&alternatives));
        self.instances = instances.cloned().collect();
        let sampling = match (&keys.share, &keys.work) {
            (Some(share), _) if share.follows.is_none() => SampledBy::Script,
            (_, Some(_)) => SampledBy::GateIfAny,
            (_, None) => SampledBy::Gate,
        };
        let canary_at = at.key("canary");
        let canary = self.canary(&canary_at, keys.canary, keys.training.as_ref());
        let training = (keys.training).and_then(|it| self.training(at, it, sampling));
        let share = (keys.share).map(|it| self.share(&at.key("share"), it, training.as_ref()));
        let (share, following) = share.unwrap_or_default();
        let is_work_alone = sampling == SampledBy::GateIfAny
            && training.as_ref().is_some_and(|it| !it.is_sampled());
        let [fractions, counts] = ["fractions", "counts"]
            .map(|key| keys.work.is_some() && self.is_written(&canary_at.key(key)));
        rules! { self, canary_at;
            warn "fractions" if fractions && is_work_alone =>
                "has no effect: no channel is sampled, so the levels of `work.canary` are the sizes of canaries";
            warn "counts" if counts && !is_work_alone =>
                "has no effect beside levels of `work` on sampled data: all canaries run on the machines of `instance`";
        }
        if let Some(work) = &keys.work {
            self.check_work(&at.key("work"), work, training.as_ref(), is_work_alone);
        }
        let mut budget = keys.budget;
        self.budget(at, &mut budget, training.as_ref());
        self.above_0(&at.below_by("drift.max"), keys.drift.max.0, "a limit");
        Some(Job {
            name,
            paths: keys.paths,
            training: training?,
            instance: keys.instance?,
            alternatives,
            ranking: keys.ranking,
            ranged,
            share,
            following,
            work: keys.work,
            canary,
            budget,
            drift: keys.drift,
            is_capped: false,
        })
    }

    /// A recording may be of anybody's jobs, so that replayed ones may have underscores as well.
    fn check_job_name(&mut self, at: &At, name: &str) {
        // An underscore is as good as a letter in a recording, and else no character of a name.
        let is_recorded = self.is_on(RunPlace::Recorded);
        let expected = match is_recorded {
            true => "1 to 63 letters, digits, underscores and inner hyphens",
            false => "1 to 63 letters, digits and inner hyphens, as SageMaker wants them",
        };
        let letters = name.replace('_', "a");
        if !limits::is_job_name(if is_recorded { &letters } else { name }) {
            let message = format!("{} cannot be a job's name", quoted(name));
            self.refuse(&at.own_name(), message, expected);
        }
    }

    /// Instance groups of `instance` or of an alternative, against what the training says.
    fn check_groups_of(&mut self, at: &At, keys: &JobKeys) {
        let Some(training) = &keys.training else {
            return;
        };
        let own = keys.instance.iter().map(|own| (at.key("instance"), own));
        let others = keys.alternatives.iter().flatten().enumerate();
        let others = others.filter_map(|(index, one)| match one {
            Either::Short(_) => None,
            Either::Long(groups) => Some((at.key("alternatives").item(index), groups)),
        });
        let all = own.chain(others);
        let groups: Vec<_> = all.filter(|(_, one)| !one.groups().is_empty()).collect();
        let (is_here, is_cloud) = (self.is_on(RunPlace::This), self.is_on(RunPlace::Cloud));
        let command = &training.local.command;
        let has_command = is_here && !command.is_empty() && !command.iter().any(|it| is_script(it));
        let is_bare = is_cloud
            && training.sagemaker.entry_point.is_none()
            && !self.is_wrong(&at.below_by("training.entry_point"));
        for (at, one) in &groups {
            let script = quoted(one.entry_point().unwrap_or_default());
            let has_script = one.entry_point().is_some();
            rules! { self, at;
                refuse "entry_point" if has_script && has_command =>
                    format!("`command` names no script that {script} could take the place of"),
                    "write a command with a script that ends with `.py` or `.sh`, such as `[python3, train.py]`; or remove `entry_point`";
                refuse "entry_point" if has_script && is_bare =>
                    format!("the training has no `entry_point` that {script} could take the place of"),
                    "write `source_dir` and `entry_point` under `training`; or remove this one, and let the script look for its group";
            }
        }
        let first = groups.first();
        let has_own = first.is_some_and(|(first, _)| *first == at.key("instance"));
        let on_spot = is_cloud && !groups.is_empty() && training.sagemaker.spot;
        rules! { self, at;
            refuse "training.spot" if on_spot && has_own =>
                "instance groups with spot capacity are documented nowhere and refused here",
                "remove `spot`, or choose one type of machine as `instance`";
            warn "training.spot" if on_spot && !has_own =>
                "instance groups with spot capacity are documented nowhere: a full run on the alternatives with groups is taken to be on demand";
            // Groups that cannot talk to each other wait until the time limit, and are billed for it.
            warn "training.subnets" if is_cloud && !groups.is_empty() && !training.sagemaker.subnets.is_empty() =>
                "machines of instance groups talk to each other: a security group has to let its own members in, or the job hangs until its time limit";
        }
    }
}
