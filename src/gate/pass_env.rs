//! The variables that a local canary gets from the caller.

use std::ffi::OsString;

use crate::console::{AppError, AppResult};
use crate::secret::SecretMask;

/// Variables of the gate's own secrets. A local canary gets none of them, and may read them from `/proc` all the same.
const HELD: &str = include_str!("pass_env/held.txt");

/// The values that no output may show: those of the variables handed on, and the gate's own secrets.
pub(crate) fn secrets(pass_env: &[String]) -> SecretMask {
    let names = pass_env.iter().map(String::as_str).chain(HELD.lines());
    let values = names.filter_map(std::env::var_os);
    SecretMask::of(values.map(|value| value.to_string_lossy().into_owned()))
}

/// The variables that a canary gets from the caller; the backend adds its own.
///
/// A variable named with `--pass-env` and not set is an error: the training code would fail without it.
pub(crate) fn environment(pass_env: &[String]) -> AppResult<Vec<(OsString, OsString)>> {
    for name in pass_env {
        if matches!(name.as_str(), "HOME" | "TMPDIR") || name.starts_with("SM_") {
            return Err(AppError::usage(format!(
                "`--pass-env {name}`: a canary gets its own {name}"
            ))
            .help("hand the value on under another name"));
        }
        if std::env::var_os(name).is_none() {
            return Err(
                AppError::usage(format!("`--pass-env {name}`: the variable is not set"))
                    .help("set it, and give its name alone; or take the flag off"),
            );
        }
    }
    let handed_on = |name: &str| {
        matches!(name, "PATH" | "LANG" | "LD_LIBRARY_PATH")
            || name.starts_with("CUDA_")
            || pass_env.iter().any(|passed| passed == name)
    };
    Ok(std::env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(handed_on))
        .collect())
}
