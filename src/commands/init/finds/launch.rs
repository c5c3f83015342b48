//! A call that starts a training job, in the words of the spec.

use crate::commands::init::python::{PythonCall, PythonLiteral, PythonValue};
use crate::commands::init::read_file::ReadFile;

/// What a file says of one setting.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::commands::init) struct SaidSetting {
    /// `launch.py:12`
    pub(in crate::commands::init) place: String,
    /// As it is written there.
    pub(in crate::commands::init) written: String,
    /// `None` where it is not a literal.
    pub(in crate::commands::init) text: Option<String>,
    /// The texts of a list.
    pub(in crate::commands::init) items: Vec<String>,
}

/// A training job as a call has it. What the call does not say is `None`.
#[derive(Debug, Default)]
pub(in crate::commands::init) struct FoundLaunch {
    /// `launch.py:12`
    pub(in crate::commands::init) place: String,
    /// `PyTorch(...)`
    pub(in crate::commands::init) what: String,
    /// The folder of the file that holds the call; empty at the root.
    pub(in crate::commands::init) folder: String,
    pub(in crate::commands::init) name: Option<SaidSetting>,
    /// The spec's name of the framework, and its version.
    pub(in crate::commands::init) framework: Option<(&'static str, SaidSetting)>,
    pub(in crate::commands::init) image: Option<SaidSetting>,
    pub(in crate::commands::init) algorithm: Option<SaidSetting>,
    pub(in crate::commands::init) role: Option<SaidSetting>,
    pub(in crate::commands::init) instance_type: Option<SaidSetting>,
    pub(in crate::commands::init) instance_count: Option<SaidSetting>,
    pub(in crate::commands::init) entry_point: Option<SaidSetting>,
    pub(in crate::commands::init) source_dir: Option<SaidSetting>,
    /// What the container starts in place of a script, as with the SDK v3.
    pub(in crate::commands::init) command: Option<SaidSetting>,
    pub(in crate::commands::init) hyperparameters: Vec<(String, SaidSetting)>,
    pub(in crate::commands::init) environment: Vec<(String, SaidSetting)>,
    /// Each with its address.
    pub(in crate::commands::init) channels: Vec<(String, SaidSetting)>,
    pub(in crate::commands::init) output: Option<SaidSetting>,
    /// In seconds.
    pub(in crate::commands::init) max_runtime: Option<SaidSetting>,
    pub(in crate::commands::init) volume_gb: Option<SaidSetting>,
    pub(in crate::commands::init) spot: Option<SaidSetting>,
    pub(in crate::commands::init) checkpoints: Option<SaidSetting>,
    pub(in crate::commands::init) subnets: Option<SaidSetting>,
    pub(in crate::commands::init) security_groups: Option<SaidSetting>,
    /// What the spec has no key for here, each as it is written.
    pub(in crate::commands::init) left_out: Vec<SaidSetting>,
}

impl FoundLaunch {
    /// How much of it could be read off.
    pub(in crate::commands::init) fn literals(&self) -> usize {
        let settings = [
            &self.image,
            &self.algorithm,
            &self.role,
            &self.instance_type,
            &self.instance_count,
            &self.entry_point,
            &self.source_dir,
            &self.output,
            &self.max_runtime,
        ];
        let read = |said: &SaidSetting| usize::from(said.text.is_some());
        let of_pairs = |pairs: &[(String, SaidSetting)]| {
            pairs.iter().map(|(_, said)| read(said)).sum::<usize>()
        };
        settings.into_iter().flatten().map(read).sum::<usize>()
            + self
                .framework
                .iter()
                .map(|(_, said)| read(said))
                .sum::<usize>()
            + of_pairs(&self.hyperparameters)
            + 2 * of_pairs(&self.channels)
    }
}

/// Reads the settings of one file.
#[derive(Clone, Copy)]
pub(super) struct LaunchReader<'a> {
    pub(super) file: &'a ReadFile,
}

impl LaunchReader<'_> {
    pub(super) fn begin(self, call: &PythonCall) -> FoundLaunch {
        FoundLaunch {
            place: self.file.place(call.line),
            what: format!("{}(...)", call.name()),
            folder: self.file.folder().to_owned(),
            ..FoundLaunch::default()
        }
    }

    /// What a value says.
    pub(super) fn said(self, value: &PythonValue) -> SaidSetting {
        let resolved = self.file.python().resolved(value);
        SaidSetting {
            place: self.file.place(value.line),
            written: match (&value.literal, &resolved.literal) {
                // What the name stands for says more.
                (PythonLiteral::Name(_), PythonLiteral::Name(_)) => value.written.clone(),
                (PythonLiteral::Name(name), _) => format!("{name} = {}", resolved.written),
                _ => value.written.clone(),
            },
            text: text(&resolved.literal),
            items: match &resolved.literal {
                PythonLiteral::List(items) => {
                    let items = items.iter().map(|item| self.file.python().resolved(item));
                    items.filter_map(|item| text(&item.literal)).collect()
                }
                _ => Vec::new(),
            },
        }
    }

    /// All keywords of a call, those of `**settings` too.
    pub(super) fn keywords(self, call: &PythonCall) -> Vec<(String, PythonValue)> {
        let mut all = call.keywords.clone();
        for spread in &call.spread {
            all.extend(self.entries(spread));
        }
        all
    }

    /// The entries of a table, or the keywords of `dict(...)` or of another call, by name.
    pub(super) fn entries(self, value: &PythonValue) -> Vec<(String, PythonValue)> {
        match self.file.python().resolved(value).literal {
            PythonLiteral::Table(entries) => {
                let named = entries.into_iter().filter_map(|(key, value)| {
                    let key = self.file.python().resolved(&key);
                    Some((text(&key.literal)?, value))
                });
                named.collect()
            }
            PythonLiteral::Call(call) => call.keywords,
            _ => Vec::new(),
        }
    }

    /// The items of a list.
    pub(super) fn items(self, value: &PythonValue) -> Vec<PythonValue> {
        match self.file.python().resolved(value).literal {
            PythonLiteral::List(items) => items,
            _ => Vec::new(),
        }
    }

    /// The entries of a table, as they are said.
    pub(super) fn said_entries(self, value: &PythonValue) -> Vec<(String, SaidSetting)> {
        let entries = self.entries(value).into_iter();
        entries
            .map(|(name, value)| (name, self.said(&value)))
            .collect()
    }

    /// The value below these keys of nested tables or calls.
    pub(super) fn below(self, value: &PythonValue, keys: &[&str]) -> Option<PythonValue> {
        let Some((key, rest)) = keys.split_first() else {
            return Some(value.clone());
        };
        let mut entries = self.entries(value).into_iter();
        let (_, found) = entries.find(|(name, _)| name == key)?;
        self.below(&found, rest)
    }

    pub(super) fn said_below(self, value: &PythonValue, keys: &[&str]) -> Option<SaidSetting> {
        self.below(value, keys).map(|found| self.said(&found))
    }
}

/// A literal as text.
pub(super) fn text(literal: &PythonLiteral) -> Option<String> {
    match literal {
        PythonLiteral::Text(text) => Some(text.clone()),
        PythonLiteral::Number(number) => Some(number.clone()),
        PythonLiteral::Truth(truth) => Some(truth.to_string()),
        _ => None,
    }
}
