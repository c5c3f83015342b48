//! Scripts that draw their own share of the data.

use super::{SpecReader, limits};
use crate::spec::problems::{At, Located, quoted};
use crate::spec::raw;
use crate::spec::{FollowingCount, FullShare, ScriptShare, SharePlace, Training};

/// The value of `full` with which the full run is handed nothing.
const OMIT: &str = "omit";
/// With fewer examples the canaries' shares are too coarse: of 9 examples the smallest is 11 %.
const FEWEST_EXAMPLES: u64 = 10;

impl SpecReader<'_> {
    pub(super) fn share(
        &mut self,
        share: Located<raw::RawShare>,
        training: Option<&Training>,
    ) -> Option<ScriptShare> {
        let at = share.at;
        let raw = share.value;
        let full = self.full_share(raw.full.as_ref());
        let place = self.share_place(raw.hyperparameter, raw.environment, &at)?;
        if let Some(training) = training {
            self.refuse_sampled_channels(training, &at);
            self.check_full_value(&place, full?, training, &at);
        }
        Some(ScriptShare { place, full: full? })
    }

    /// A count that goes with what is drawn of a channel.
    pub(super) fn following_count(
        &mut self,
        share: Located<raw::RawShare>,
        training: Option<&Training>,
    ) -> Option<FollowingCount> {
        let at = share.at;
        let raw = share.value;
        let follows = raw.follows?;
        let full = match (raw.full.as_ref(), self.full_share(raw.full.as_ref())?) {
            (_, FullShare::Examples(examples)) => Some(examples),
            (full, _) => {
                self.findings.wrong_with_help(
                    full.map_or(&at, |full| &full.at),
                    "what follows a channel is a number of examples",
                    "write the number of all examples as `full`, such as `full: 50000`",
                );
                None
            }
        };
        let place = self.share_place(raw.hyperparameter, raw.environment, &at)?;
        if let Some(training) = training {
            let name = follows.value.0.as_str();
            let mut channels = training.channels.iter();
            match channels.find(|channel| channel.name == name) {
                Some(channel) if channel.sample.is_drawn() => {}
                Some(_) => self.findings.wrong_with_help(
                    &follows.at,
                    format!(
                        "nothing is drawn of {}: every canary gets all of it",
                        quoted(name)
                    ),
                    "name a channel that is sampled",
                ),
                None => {
                    let known = training.channels.iter();
                    let known = known.map(|channel| channel.name.as_str());
                    let otherwise = Some("name a channel that is sampled");
                    let what = "names no channel";
                    (self.findings).unknown(&follows.at, name, what, known, otherwise);
                }
            }
            self.check_full_value(&place, FullShare::Examples(full?), training, &at);
        }
        Some(FollowingCount {
            place,
            full: full?,
            channel: follows.value.0,
        })
    }

    /// A canary's level of work would stand where its share is handed over.
    pub(super) fn refuse_shared_work(&mut self, job: &raw::RawJob) {
        if let (Some(share), Some(work)) = (&job.share, &job.work)
            && let Some(share) = &share.value.hyperparameter
            && let Some(work) = &work.value.hyperparameter
            && share.value.0 == work.value.0
        {
            self.findings.wrong_with_help(
                &work.at,
                "`work` and `share` set the same hyperparameter",
                "name what the script reads its share from in `share`, and what makes canaries do less work per datum in `work`; or remove one of them",
            );
        }
    }

    fn share_place(
        &mut self,
        hyperparameter: Option<Located<raw::Text>>,
        environment: Option<Located<raw::Text>>,
        at: &At,
    ) -> Option<SharePlace> {
        match (hyperparameter, environment) {
            (Some(name), None) => {
                self.share_hyperparameter(&name);
                Some(SharePlace::Hyperparameter(name.value.0))
            }
            (None, Some(name)) => {
                self.share_variable(&name);
                Some(SharePlace::Environment(name.value.0))
            }
            (Some(_), Some(second)) => {
                self.findings.wrong_with_help(
                    &second.at,
                    "the share is handed over twice",
                    "write `hyperparameter` or `environment`, whichever the script reads",
                );
                None
            }
            (None, None) => {
                self.findings.wrong_with_help(
                    at,
                    "it is not said how the script gets its share",
                    "write `share: {hyperparameter: NAME}` or `share: {environment: NAME}`",
                );
                None
            }
        }
    }

    fn share_hyperparameter(&mut self, name: &Located<raw::Text>) {
        let text = &name.value.0;
        self.at_most(&name.at, "a name", text, limits::HYPERPARAMETER_NAME);
        let is_odd = |c: char| c.is_whitespace() || c.is_control() || c == '=';
        if text.is_empty() || text.starts_with('-') || text.contains(is_odd) {
            self.findings.wrong_with_help(
                &name.at,
                format!("{} cannot be a hyperparameter's name", quoted(text)),
                "write the name alone, such as `data_fraction`: the script gets `--data_fraction 0.01`",
            );
        } else if limits::is_hyperparameter_of_sagemaker(text) {
            self.findings.wrong_with_help(
                &name.at,
                format!("{} is one of SageMaker's own settings", quoted(text)),
                "name a hyperparameter that the script reads",
            );
        }
    }

    fn share_variable(&mut self, name: &Located<raw::Text>) {
        let text = &name.value.0;
        self.at_most(&name.at, "a name", text, limits::ENVIRONMENT_TEXT);
        if !limits::is_variable_name(text) {
            self.findings.wrong_with_help(
                &name.at,
                format!("{} cannot be a variable's name", quoted(text)),
                "write letters, digits and underscores, no digit first, such as `DATA_FRACTION`",
            );
        } else if limits::is_variable_of_others(text) {
            self.findings.wrong_with_help(
                &name.at,
                format!("{} has a meaning to other programs", quoted(text)),
                "name a variable that the script alone reads, such as `DATA_FRACTION`",
            );
        }
    }

    fn full_share(&mut self, full: Option<&Located<raw::AnyText>>) -> Option<FullShare> {
        let Some(full) = full else {
            return Some(FullShare::One);
        };
        let text = full.value.0.as_str();
        if text == OMIT {
            return Some(FullShare::Omitted);
        }
        if matches!(text.parse::<f64>(), Ok(1.0)) {
            return Some(FullShare::One);
        }
        match text.parse::<u64>() {
            Ok(examples) if examples >= FEWEST_EXAMPLES => Some(FullShare::Examples(examples)),
            Err(_) if text.starts_with(|c: char| c.is_ascii_digit()) => {
                let plain: String = text.chars().filter(|c| !"_, '".contains(*c)).collect();
                let meant = plain.parse::<f64>().ok().map(|number| number.to_string());
                let meant = meant.filter(|text| {
                    let count = text.parse::<u64>();
                    count.is_ok_and(|count| count >= FEWEST_EXAMPLES)
                });
                self.findings.wrong_with_help(
                    &full.at,
                    format!("{} is no number of examples", quoted(text)),
                    format!(
                        "write digits only, such as `{}`; `1.0`, the default, for a share",
                        meant.as_deref().unwrap_or("120000")
                    ),
                );
                None
            }
            _ => {
                self.findings.wrong_with_help(
                    &full.at,
                    format!("{} is not what a full run is handed", quoted(text)),
                    format!(
                        "write the number of all examples, {FEWEST_EXAMPLES} or more, for a count; `1.0`, the default, for a share; `{OMIT}` where the full run is handed nothing"
                    ),
                );
                None
            }
        }
    }

    /// Two draws, one by the gate and one by the script, would give neither share.
    fn refuse_sampled_channels(&mut self, training: &Training, at: &At) {
        let channels = training.channels.iter();
        for channel in channels.filter(|channel| channel.sample.is_drawn()) {
            self.findings.wrong_with_help(
                at,
                format!(
                    "the script draws its share, and the channel {} is sampled too",
                    quoted(&channel.name)
                ),
                "remove `sample` from the channel, so that every canary gets all of it; or remove `share`; or, where the script is to know how many examples it has, write `full: N, follows: CHANNEL`",
            );
        }
    }

    /// What the spec writes under that name is the full run's value.
    fn check_full_value(
        &mut self,
        place: &SharePlace,
        full: FullShare,
        training: &Training,
        at: &At,
    ) {
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
            self.findings.wrong_with_help(
                at,
                format!(
                    "in the full run {} is {expected}, but `training` says {}",
                    quoted(name),
                    quoted(value)
                ),
                "write the full run's value as `full`, or remove the name from `training`",
            );
        }
    }
}
