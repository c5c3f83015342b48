//! The keys of a job, whatever its backend: what its canaries and its baseline are looked up by.

use std::ffi::OsString;

use crate::backend::BackendKeys;
use crate::canary::{CanaryRun, Key, canary_key, machine_key, on_machine, without_probe};

impl BackendKeys {
    /// The key of a canary of the job. On this machine it holds for the values that canaries are handed, too.
    pub(crate) fn canary(&self, run: &CanaryRun, pass_env: &[String]) -> Option<Key> {
        let key = canary_key(&self.code?, &self.data?, run);
        Some(match &self.machine {
            Some(machine) => on_machine(&key, &here(machine, pass_env)),
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
