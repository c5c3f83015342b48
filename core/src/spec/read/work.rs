//! Canaries that do less work per datum.

use super::SpecReader;
use crate::spec::problems::{Located, quoted};
use crate::spec::raw::{self, Plain};
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
            self.refuse_empty(levels, "there is no level");
            let (at, count) = (&levels.at, levels.value.0.len());
            (self.findings).at_most(at, count, "levels", MOST_LEVELS, "planned");
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
            canary: raw.canary?.plain(),
        })
    }

    fn check_work_name(
        &mut self,
        name: &Located<raw::Text>,
        full: Option<&Located<f64>>,
        training: &Training,
    ) {
        let text = name.value.0.as_str();
        let mut all = training.hyperparameters.iter();
        let names = all.clone().map(|(name, _)| name.as_str());
        let Some((_, value)) = all.find(|(known, _)| known == text) else {
            return (self.findings).unknown(&name.at, text, "names no hyperparameter", names, None);
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
