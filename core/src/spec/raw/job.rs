//! One job as written: its training, its instances and its canaries.

use super::budget::{RawBudget, RawDrift};
use super::reader::{Either, List, Map, mapping};
use super::scalar::{
    AnyText, Choice, Count, Formed, Quantity, Text, Words, from_text, inline_schema,
};
use super::warm_pool::RawWarmPool;
use crate::spec::read::ScriptPath;
use crate::spec::training::RawTraining;
use crate::units::{Fraction, Percent, Seconds, Usd};

mapping! {
    /// One training job.
    pub(in crate::spec) struct RawJob {
        /// Patterns of the files that count, relative to the spec's folder; `!` excludes, a leading `/` is the checkout root. A
        /// change of one triggers the job. All of `source_dir` counts that no `!` leaves out. Canaries get no other files. Default:
        /// every file.
        optional paths: List<Text>,
        /// The full run: its code, its data and its settings.
        required training: RawTraining,
        /// The machines of the full run. The budget is judged on them.
        required instance: Instance,
        /// Other configurations to compare, which never change the exit code. A range of counts, `1-8x ml.m5.xlarge`, is a row for
        /// each power of two and for its end.
        optional alternatives: List<Alternative>,
        /// Where the script is handed its share of the data, which it draws itself: of a database, a hub, a generator. No channel
        /// is sampled then, but with `follows`: then the gate draws, and the script is handed a count.
        optional share: RawShare,
        /// The hyperparameter that canaries set lower. Where no channel is sampled, canaries differ in it alone.
        optional work: RawWork,
        /// The rules of the canary runs: how many there are, and what they may cost.
        optional canary: Canary,
        /// The limits of the full run.
        optional budget: RawBudget,
        /// The increase that a scheduled check reports as drift.
        optional drift: RawDrift,
    }
}

/// Machines as people say them, or named groups of them.
pub(in crate::spec) type Instance = Either<Machines, Groups>;

/// Text that the schema gives a pattern.
macro_rules! patterned {
    ($(#[$doc:meta])* $name:ident, $pattern:literal, $examples:tt, $error:literal) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub(in crate::spec) struct $name(pub(in crate::spec) String);

        from_text!($name, Text);
        inline_schema!($name, "Machines", {
            "type": "string",
            "pattern": $pattern,
            "examples": $examples,
            "errorMessage": $error,
        });
    };
}

patterned!(
    /// `ml.m5.2xlarge`, `6x ml.m5.4xlarge`, `local`, `2x local`.
    Machines,
    r"^\s*([1-9][0-9]*x\s+)?(local|ml\.[a-zA-Z0-9-]+\.[a-zA-Z0-9-]+)\s*$",
    ["ml.m5.2xlarge", "6x ml.m5.4xlarge", "local", "2x local"],
    "write an instance type, with a count where there are several: `ml.m5.2xlarge`, `6x ml.m5.4xlarge`, or `local`"
);

/// An instance, or a range of counts of one.
pub(in crate::spec) type Alternative = Either<MachineRange, Groups>;

patterned!(
    /// `1-8x ml.m5.xlarge`, or what [`Machines`] are.
    MachineRange,
    r"^\s*([1-9][0-9]*(-[1-9][0-9]*)?x\s+)?(local|ml\.[a-zA-Z0-9-]+\.[a-zA-Z0-9-]+)\s*$",
    ["ml.m5.2xlarge", "6x ml.m5.4xlarge", "1-8x ml.m5.4xlarge"],
    "write an instance type, with a count or a range of counts where there are several: `ml.m5.2xlarge`, `6x ml.m5.4xlarge`, `1-8x ml.m5.4xlarge`"
);

mapping! {
    /// Named groups of different machines; every group is billed for the whole job.
    pub(in crate::spec) struct Groups {
        /// The machines of each group, by the group's name, for instance `data: 2x ml.c5.9xlarge`.
        required groups: Map<Machines>,
        /// The script that starts all groups, if it is not the job's `entry_point`.
        optional entry_point: Formed<ScriptPath>,
    }
}

mapping! {
    /// The place in which a script is handed its share of the data, `0.01` or a number of examples. Give one of the two.
    pub(in crate::spec) struct RawShare {
        /// The name of the hyperparameter, for instance `data_fraction` or `max_train_samples`.
        optional hyperparameter: Text,
        /// The name of the environment variable, for instance `DATA_FRACTION`.
        optional environment: Text,
        /// The value in the full run: `1.0` for a share, a whole number for a count of examples, `omit` where the full run is
        /// handed nothing. Default: 1.0.
        optional full: AnyText,
        /// A sampled channel: the script is handed the number of examples that goes with what is drawn of it, such as
        /// `num_training_samples`.
        optional follows: Text,
    }
}

mapping! {
    /// A hyperparameter that says how much work one datum takes, such as a number of rounds.
    pub(in crate::spec) struct RawWork {
        /// The name of the hyperparameter under `training.hyperparameters`.
        required hyperparameter: Text,
        /// The value in the full run, the same as under `training.hyperparameters`.
        required full: f64,
        /// The values in canaries, rising. Every fraction of the data is run at each; where no channel is sampled they take the
        /// place of fractions.
        required canary: List<f64>,
    }
}

/// How canary runs are chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::spec) enum DesignKind {
    Adaptive,
    Fixed,
}

impl Words for DesignKind {
    const WORDS: &'static [(&'static str, Self)] =
        &[("adaptive", Self::Adaptive), ("fixed", Self::Fixed)];
}

mapping! {
    /// The rules of the canary runs: how many there are, and what they may cost.
    pub(in crate::spec) struct Canary {
        /// The rule that chooses canary runs: `adaptive` chooses them one by one, `fixed`, as where `replicates` is written, runs
        /// every fraction so often. Default: adaptive.
        optional design: Choice<DesignKind>,
        /// The shares of the data that canaries run on, rising. Default: 1%, 2%, 3%, 5%, 10%, 20%, 50%; fixed: 1%, 2%, 3%.
        optional fractions: List<Quantity<Fraction>>,
        /// The number of runs of each fraction in the fixed design. Default: fixed: 3.
        optional replicates: Count,
        /// The numbers of machines that canaries run on, where `instance` has several: all on the first, and one canary on each
        /// other. Default: one and all machines on SageMaker, all machines elsewhere.
        optional counts: List<Count>,
        /// The most that the canaries of the job may cost in one check, in US dollars. Default: 5 USD.
        optional spend_limit: Quantity<Usd>,
        /// The most that the canaries of a configuration may take together, in percent of the full run that they forecast. The
        /// three canaries that a forecast needs are run in any case. Default: 25%.
        optional max_share: Quantity<Percent>,
        /// The time of a full run below which the report says that canaries are not worth it. Default: 5m.
        optional skip_below: Quantity<Seconds>,
        /// The time after which a canary is stopped. Default: 1h.
        optional max_runtime: Quantity<Seconds>,
        /// The number of canaries that run at once. Default: 3; locally: 1.
        optional parallel: Count,
        /// SageMaker: whether machines are kept for the next canary, in a managed warm pool: `auto` where that pays, `off`, or
        /// `{keep_alive: 5m}`, at most 1h. Default: auto.
        optional warm_pool: RawWarmPool,
        /// Whether the script may join sampled tables that share a column: then nothing is run, since a join of samples has fewer
        /// rows than its share. Default: true.
        optional joined: bool,
        /// SageMaker: whether canaries on `instance` run on the capacity of `training.training_plan`. Default: false.
        optional training_plan: bool,
        /// The age up to which an earlier canary is reused. Default: 14d.
        optional reuse: Quantity<Seconds>,
        /// The seed of the choice of sampled objects. Default: 1.
        optional seed: u64,
        /// Whether memory and load are sampled inside the container: in script mode, or around the command of a plain
        /// image. Local canaries always are. Default: true.
        optional probe: Probe,
    }
}

/// A switch, or the command of a plain image.
pub(in crate::spec) type Probe = Either<bool, ProbeCommand>;

mapping! {
    /// The command that the sampler starts.
    pub(in crate::spec) struct ProbeCommand {
        /// The command of the image, for instance `[train]`.
        required command: List<AnyText>,
    }
}
