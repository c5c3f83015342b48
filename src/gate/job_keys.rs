//! The keys of a job, whatever its backend: what its canaries and its baseline are looked up by.

use std::ffi::OsString;

use crate::backend::BackendKeys;
use crate::canary::{CanaryRun, Key, canary_key, machine_key, on_machine, without_probe};

/// The keys that identify a job's canaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JobKeys {
    /// `None` where git knows nothing of the code, and the backend no more.
    pub(crate) code: Option<Key>,
    pub(crate) data: Option<Key>,
    /// What `local` is, where canaries run on this machine.
    pub(crate) machine: Option<String>,
    /// Of it, and of what canaries see of the caller's environment.
    here: Option<Key>,
    /// Whether canaries run without a probe that the spec asks for.
    lacks_probe: bool,
}

impl JobKeys {
    /// The keys of a job that is ready. On this machine they hold for the values that canaries are handed, too.
    pub(crate) fn of(keys: BackendKeys, pass_env: &[String]) -> Self {
        let BackendKeys {
            code,
            data,
            machine,
            lacks_probe,
        } = keys;
        Self {
            code,
            data,
            here: machine.as_ref().map(|machine| here(machine, pass_env)),
            machine,
            lacks_probe,
        }
    }

    /// Of the code alone, for who runs nothing.
    pub(crate) fn of_code(code: Option<Key>) -> Self {
        Self {
            code,
            data: None,
            machine: None,
            here: None,
            lacks_probe: false,
        }
    }

    /// The key of a canary of the job.
    pub(crate) fn canary(&self, run: &CanaryRun) -> Option<Key> {
        let key = canary_key(&self.code?, &self.data?, run);
        Some(match &self.here {
            Some(here) => on_machine(&key, here),
            None if self.lacks_probe => without_probe(&key),
            None => key,
        })
    }
}

/// Of this machine and of the variables that canaries are handed.
fn here(machine: &str, pass_env: &[String]) -> Key {
    let mut names: Vec<&String> = pass_env.iter().collect();
    names.sort();
    names.dedup();
    let values: Vec<(&str, OsString)> = names
        .into_iter()
        .filter_map(|name| Some((name.as_str(), std::env::var_os(name)?)))
        .collect();
    let bytes = values.iter();
    machine_key(
        machine,
        bytes.map(|(name, value)| (*name, value.as_encoded_bytes())),
    )
}

#[cfg(test)]
mod tests;
