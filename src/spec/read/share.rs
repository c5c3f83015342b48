//! Scripts that draw their own share of the data.

use super::SpecReader;
use crate::spec::problems::{At, Located, quoted};
use crate::spec::raw;
use crate::spec::{FullShare, ScriptShare, SharePlace, Training};

/// The value of `full` with which the full run is handed nothing.
const OMIT: &str = "omit";
/// With fewer examples a canary of one per cent cannot be told from one of two.
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

    fn share_place(
        &mut self,
        hyperparameter: Option<Located<raw::Text>>,
        environment: Option<Located<raw::Text>>,
        at: &At,
    ) -> Option<SharePlace> {
        match (hyperparameter, environment) {
            (Some(name), None) => Some(SharePlace::Hyperparameter(name.value.0)),
            (None, Some(name)) => {
                let text = &name.value.0;
                if text.is_empty() || text.contains(['=', '\0']) {
                    let message = format!("{} cannot be a variable's name", quoted(text));
                    self.findings.wrong(&name.at, message);
                }
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
        for channel in training
            .channels
            .iter()
            .filter(|channel| channel.sample.is_drawn())
        {
            self.findings.wrong_with_help(
                at,
                format!(
                    "the script draws its share, and the channel {} is sampled too",
                    quoted(&channel.name)
                ),
                "remove `sample: true` from the channel, so that every canary gets all of it, or remove `share`",
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
