//! Canaries that do less work per datum.

use super::SpecReader;
use crate::spec::problems::{Located, near_miss, quoted};
use crate::spec::raw;
use crate::spec::{Training, Work};

/// Two levels show what work costs. More than a few are a mistake, and every level multiplies the runs.
const MOST_LEVELS: usize = 10;

impl SpecReader<'_> {
    pub(super) fn work(
        &mut self,
        work: Located<raw::RawWork>,
        training: Option<&Training>,
        is_alone: bool,
    ) -> Option<Work> {
        let raw = work.value;
        if let (Some(name), Some(training)) = (&raw.hyperparameter, training) {
            self.check_work_name(name, raw.full.as_ref(), training);
        }
        if let Some(full) = &raw.full
            && full.value <= 0.0
        {
            self.findings
                .wrong(&full.at, "the full work is more than 0");
        }
        if let Some(levels) = &raw.canary {
            if self.is_empty(levels) {
                self.findings.wrong(&levels.at, "there is no level");
            }
            let count = levels.value.0.len();
            if count > MOST_LEVELS {
                self.findings.wrong(
                    &levels.at,
                    format!("{count} levels; at most {MOST_LEVELS} are planned"),
                );
            }
            let full = raw.full.as_ref().map_or(f64::INFINITY, |full| full.value);
            if let [only] = levels.value.0.as_slice()
                && (only.value < full || is_alone)
            {
                let message = match is_alone {
                    true => {
                        "no channel is sampled, and one level does not show what the rest takes"
                    }
                    false => "one level below the full work does not show what the rest takes",
                };
                self.findings.wrong_with_help(
                    &levels.at,
                    message,
                    "write two levels, e.g. a tenth and a fifth of the full work",
                );
            }
            let mut last = 0.0;
            for level in &levels.value.0 {
                if level.value <= last {
                    let than = if last == 0.0 {
                        "0".to_owned()
                    } else {
                        format!("{last}, the level before")
                    };
                    self.findings.wrong(
                        &level.at,
                        format!("{} is not more than {than}", level.value),
                    );
                }
                if level.value > full {
                    self.findings.wrong(
                        &level.at,
                        format!("{} is more than the full work of {full}", level.value),
                    );
                }
                last = last.max(level.value);
            }
        }
        Some(Work {
            hyperparameter: raw.hyperparameter?.value.0,
            full: raw.full?.value,
            canary: raw
                .canary?
                .value
                .0
                .into_iter()
                .map(|level| level.value)
                .collect(),
        })
    }

    fn check_work_name(
        &mut self,
        name: &Located<raw::Text>,
        full: Option<&Located<f64>>,
        training: &Training,
    ) {
        let text = name.value.0.as_str();
        let names = training
            .hyperparameters
            .iter()
            .map(|(name, _)| name.as_str());
        let Some((_, value)) = training
            .hyperparameters
            .iter()
            .find(|(known, _)| known == text)
        else {
            let near = near_miss(text, names);
            self.findings.push(
                &name.at,
                format!("{} names no hyperparameter", quoted(text)),
                near.map(|near| format!("did you mean {}?", quoted(near))),
            );
            return;
        };
        if let Some(full) = full
            && value.parse::<f64>().ok() != Some(full.value)
        {
            self.findings.wrong_with_help(
                &full.at,
                format!(
                    "the full work is {}, but the hyperparameter {} is {}",
                    full.value,
                    quoted(text),
                    quoted(value)
                ),
                "write the same number in both places: that of the full run",
            );
        }
    }
}
