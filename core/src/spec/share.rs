//! Who draws a canary's share of the data, what a script is handed that draws it itself, and canaries that do less work per datum.

use derive_more::Display;
use serde::Serialize;

use super::keys::{List, mapping};
use super::kind::{AnyText, Refined, Text, first_problem, forms};
use super::limits::{ENVIRONMENT_TEXT, HYPERPARAMETER_NAME};
use super::reader::{At, Reader, quoted, rules};
use super::{Job, Training, limits};
use crate::grammar::joined;

/// The value of `full` with which the full run is handed nothing.
const OMIT: &str = "omit";
/// With fewer examples the canaries' shares are too coarse: of 9 examples the smallest is 11 %.
const FEWEST_EXAMPLES: u64 = 10;
/// Two levels show what work costs. More than a few are a mistake, and every level multiplies the runs.
const MOST_LEVELS: usize = 10;

const TWO_LEVELS: &str = "write two levels, e.g. a tenth and a fifth of the full work";

/// Who draws the share of the data that a canary holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::spec) enum SampledBy {
    /// Objects of channels.
    Gate,
    /// The same where a channel is sampled; where none is, canaries differ in their work alone.
    GateIfAny,
    /// By the share that it is handed.
    Script,
}

/// The script is handed its share of the data, and draws it itself: `{hyperparameter: max_train_samples, full: 120000}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Display)]
#[display("{{{place}, full: {}}}", full.text().as_deref().unwrap_or(OMIT))]
pub struct ScriptShare {
    pub place: SharePlace,
    pub full: FullShare,
}

/// Where a script is handed its share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Display)]
#[display("{}: {}", self.kind(), self.name())]
pub enum SharePlace {
    /// Of this name; it need not be one of `training.hyperparameters`.
    Hyperparameter(String),
    /// The variable of this name.
    Environment(String),
}

impl SharePlace {
    pub fn name(&self) -> &str {
        match self {
            Self::Hyperparameter(name) | Self::Environment(name) => name,
        }
    }

    /// Its key in the spec.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Hyperparameter(_) => "hyperparameter",
            Self::Environment(_) => "environment",
        }
    }
}

/// A count of examples that the script is handed, in proportion to what is drawn of a channel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Display)]
#[display("{{{place}, full: {full}, follows: {channel}}}")]
pub struct FollowingCount {
    pub place: SharePlace,
    /// In the full run.
    pub full: u64,
    /// The channel's name; it is sampled.
    pub channel: String,
}

/// What the full run is handed as its share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum FullShare {
    /// `1.0`; canaries get a part of it, such as `0.01`.
    One,
    /// Nothing; canaries as with [`FullShare::One`].
    Omitted,
    /// The number of all examples; canaries get a smaller one.
    Examples(u64),
}

impl FullShare {
    /// The parts of which a canary draws some: examples, or millionths.
    pub fn parts(self) -> u64 {
        match self {
            Self::One | Self::Omitted => 1_000_000,
            Self::Examples(examples) => examples,
        }
    }

    /// What the full run is handed; `None`: nothing.
    pub fn text(self) -> Option<String> {
        match self {
            Self::One => Some("1.0".to_owned()),
            Self::Omitted => None,
            Self::Examples(examples) => Some(examples.to_string()),
        }
    }
}

impl Refined for FullShare {
    type Of = AnyText;
    type Value = Self;

    fn refine(text: String, at: &At, reader: &mut Reader<'_>) -> Option<Self> {
        if text == OMIT {
            return Some(Self::Omitted);
        }
        if matches!(text.parse::<f64>(), Ok(1.0)) {
            return Some(Self::One);
        }
        if let Ok(examples) = text.parse()
            && examples >= FEWEST_EXAMPLES
        {
            return Some(Self::Examples(examples));
        }
        let message = format!("{} is not what a full run is handed", quoted(&text));
        let help = format!(
            "write the number of all examples in digits, {FEWEST_EXAMPLES} or more, for a count; `1.0`, the default, for a share; `{OMIT}` where the full run is handed nothing"
        );
        reader.refused(at, message, help)
    }
}

forms! {
    /// The name of a hyperparameter that is the script's own.
    OwnHyperparameter: |name| {
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '=';
        first_problem! {
            name.starts_with('-') || name.contains(is_odd) => "cannot be a hyperparameter's name",
                "write the name alone, such as `data_fraction`: the script gets `--data_fraction 0.01`";
            limits::is_hyperparameter_of_sagemaker(name) => "is one of SageMaker's own settings",
                "name a hyperparameter that the script reads";
        }
    };
    /// The name of a variable that is the script's own.
    OwnVariable: |name| first_problem! {
        !limits::is_variable_name(name) => "cannot be a variable's name",
            "write letters, digits and underscores, no digit first, such as `DATA_FRACTION`";
        limits::is_variable_of_others(name) => "has a meaning to other programs",
            "name a variable that the script alone reads, such as `DATA_FRACTION`";
    };
}

mapping! {
    /// The place in which a script is handed its share of the data, `0.01` or a number of examples. Give one of the two.
    pub(in crate::spec) struct ShareKeys named "Share" {
        /// The name of the hyperparameter, for instance `data_fraction` or `max_train_samples`.
        optional hyperparameter: OwnHyperparameter;
        /// The name of the environment variable, for instance `DATA_FRACTION`.
        optional environment: OwnVariable;
        /// The value in the full run: `1.0` for a share, a whole number for a count of examples, `omit` where the full run is
        /// handed nothing. Default: 1.0.
        optional full: FullShare;
        /// A sampled channel: the script is handed the number of examples that goes with what is drawn of it, such as
        /// `num_training_samples`.
        optional follows: Text;
    }
}

impl Reader<'_> {
    /// The share that the script draws, or the count that goes with what is drawn of a channel.
    pub(super) fn share(
        &mut self,
        at: &At,
        keys: ShareKeys,
        training: Option<&Training>,
    ) -> (Option<ScriptShare>, Option<FollowingCount>) {
        let full_at = at.key("full");
        let is_written = self.is_written(&full_at);
        let full = keys.full.or((!is_written).then_some(FullShare::One));
        if keys.follows.is_some() && matches!(full, Some(FullShare::One | FullShare::Omitted)) {
            let message = "what follows a channel is a number of examples";
            let help = "write the number of all examples as `full`, such as `full: 50000`";
            self.refuse(if is_written { &full_at } else { at }, message, help);
        }
        let place = self.share_place(at, &keys);
        if let Some(training) = training {
            self.check_sampling_beside(at, keys.follows.as_deref(), training);
            if let (Some(place), Some(full)) = (&place, full) {
                self.check_full(at, place, full, training);
            }
        }
        match (place, full, keys.follows) {
            (Some(place), Some(full), None) => (Some(ScriptShare { place, full }), None),
            (Some(place), Some(FullShare::Examples(full)), Some(channel)) => {
                let following = FollowingCount {
                    place,
                    full,
                    channel,
                };
                (None, Some(following))
            }
            _ => (None, None),
        }
    }

    /// A count follows a channel of which something is drawn. Beside a share nothing is: two draws, one by the gate and one by the
    /// script, would give neither share.
    fn check_sampling_beside(&mut self, at: &At, follows: Option<&str>, training: &Training) {
        let mut channels = training.channels.iter();
        let Some(channel) = follows else {
            for channel in channels.filter(|channel| channel.sample.is_drawn()) {
                let name = quoted(&channel.name);
                const HELP: &str = "remove `sample` from the channel, so that every canary gets all of it; or remove `share`; or, where the script is to know how many examples it has, write `full: N, follows: CHANNEL`";
                let message =
                    format!("the script draws its share, and the channel {name} is sampled too");
                self.refuse(at, message, HELP);
            }
            return;
        };
        const HELP: &str = "name a channel that is sampled";
        let at = at.key("follows");
        match channels.find(|known| known.name == channel) {
            Some(known) if known.sample.is_drawn() => {}
            Some(_) => {
                let name = quoted(channel);
                let message = format!("nothing is drawn of {name}: every canary gets all of it");
                self.refuse(&at, message, HELP);
            }
            None => {
                let known = training.channels.iter().map(|known| known.name.as_str());
                self.unknown(&at, channel, "names no channel", known, Some(HELP));
            }
        }
    }

    fn share_place(&mut self, at: &At, keys: &ShareKeys) -> Option<SharePlace> {
        let (hyperparameter, environment) = (&keys.hyperparameter, &keys.environment);
        for (key, name, most) in [
            ("hyperparameter", hyperparameter, HYPERPARAMETER_NAME),
            ("environment", environment, ENVIRONMENT_TEXT),
        ] {
            let name = name.as_deref().unwrap_or_default();
            self.too_long(&at.key(key), "a name", name, most);
        }
        rules! { self, at;
            refuse "environment" if hyperparameter.is_some() && environment.is_some() =>
                "the share is handed over twice", "write `hyperparameter` or `environment`, whichever the script reads";
            refuse "" if hyperparameter.is_none() && environment.is_none() =>
                "it is not said how the script gets its share",
                "write `share: {hyperparameter: NAME}` or `share: {environment: NAME}`";
        }
        let hyperparameter = hyperparameter.clone().map(SharePlace::Hyperparameter);
        hyperparameter.xor(environment.clone().map(SharePlace::Environment))
    }

    /// Checks that the value which the spec writes under the place's name is the full run's.
    fn check_full(&mut self, at: &At, place: &SharePlace, full: FullShare, training: &Training) {
        let (written, name) = match place {
            SharePlace::Hyperparameter(name) => (&training.hyperparameters, name),
            SharePlace::Environment(name) => (&training.environment, name),
        };
        let Some((_, value)) = written.iter().find(|(known, _)| known == name) else {
            return;
        };
        let expected = full.text();
        let is_same = expected.as_ref().is_some_and(|expected| {
            value == expected || value.parse::<f64>().ok() == expected.parse::<f64>().ok()
        });
        if !is_same {
            let expected = expected.unwrap_or_else(|| "not there".to_owned());
            let (name, value) = (quoted(name), quoted(value));
            let message =
                format!("in the full run {name} is {expected}, but `training` says {value}");
            let help = "write the full run's value as `full`, or remove the name from `training`";
            self.refuse(at, message, help);
        }
    }
}

mapping! {
    /// A hyperparameter that says how much work one datum takes, such as a number of rounds.
    #[derive(Serialize, Display)]
    #[display("{hyperparameter} {full} (canaries: {})", joined(canary.iter().map(f64::to_string), ", "))]
    pub struct Work named "Work" {
        /// The name of the hyperparameter under `training.hyperparameters`.
        needed hyperparameter: Text as String;
        /// The value in the full run, the same as under `training.hyperparameters`.
        needed full: f64 as f64;
        /// The values in canaries, rising. Every fraction of the data is run at each; where no channel is sampled they take the
        /// place of fractions.
        needed canary: List<f64> as Vec<f64>;
    }
}

impl Job {
    /// Whether canaries hold all of the data, and differ in their work alone.
    pub fn differs_in_work_alone(&self) -> bool {
        self.work.is_some() && self.share.is_none() && !self.training.is_sampled()
    }
}

impl Reader<'_> {
    pub(super) fn check_work(
        &mut self,
        at: &At,
        work: &Work,
        training: Option<&Training>,
        is_alone: bool,
    ) {
        let full_at = at.key("full");
        let full = Some(work.full).filter(|_| self.has(&full_at));
        if let Some(training) = training.filter(|_| !work.hyperparameter.is_empty()) {
            self.check_work_name(at, &work.hyperparameter, full, training);
        }
        self.above_0(&full_at, full.unwrap_or(1.0), "the full work");
        let (at, levels) = (&at.key("canary"), &work.canary);
        self.at_most(at, levels.len(), "levels", MOST_LEVELS, "planned");
        let full = full.unwrap_or(f64::INFINITY);
        let is_below = matches!(levels[..], [only] if only < full);
        rules! { self, at;
            refuse "" if is_alone && levels.len() == 1 =>
                "no channel is sampled, and one level does not show what the rest takes", TWO_LEVELS;
            refuse "" if !is_alone && is_below =>
                "one level below the full work does not show what the rest takes", TWO_LEVELS;
        }
        self.rising(at, levels, "level", |level| match level {
            _ if level <= 0.0 => Some(format!("{level} is not more than 0")),
            _ if level > full => Some(format!("{level} is more than the full work of {full}")),
            _ => None,
        });
    }

    fn check_work_name(&mut self, at: &At, name: &str, full: Option<f64>, training: &Training) {
        let mut all = training.hyperparameters.iter();
        let names = all.clone().map(|(name, _)| name.as_str());
        let Some((_, value)) = all.find(|(known, _)| known == name) else {
            let at = at.key("hyperparameter");
            return self.unknown(&at, name, "names no hyperparameter", names, None);
        };
        if let Some(full) = full
            && value.parse::<f64>().ok() != Some(full)
        {
            let (name, value) = (quoted(name), quoted(value));
            let message =
                format!("the full work is {full}, but the hyperparameter {name} is {value}");
            let help = "write the same number in both places: that of the full run";
            self.refuse(&at.key("full"), message, help);
        }
    }
}
