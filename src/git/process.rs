//! The `git` process.

use std::ffi::OsStr;
use std::io::{Seek, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::error::GitError;

const OWN_CONFIGURATION: &str =
    "-c core.fsmonitor=false -c core.hooksPath=/dev/null -c core.quotePath=false";

/// Git without programs that a checkout's configuration could start, and without the caller's GIT_ variables. A command that filters
/// files is run in a new checkout of the gate's own alone.
fn command(folder: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
    let mut git = Command::new("git");
    git.current_dir(folder)
        .args(OWN_CONFIGURATION.split(' '))
        .args(arguments)
        .stdin(Stdio::null());
    // Another repository, another configuration, another program: none is the checkout's own.
    let all = std::env::vars_os().map(|(name, _)| name);
    for name in all.filter(|name| name.as_encoded_bytes().starts_with(b"GIT_")) {
        git.env_remove(name);
    }
    git.env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C");
    git
}

/// Git's output for `input` on standard input, which lies in a file: of two pipes each may fill up.
pub(super) fn answer(folder: &Path, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
    let mut file = tempfile::tempfile()?;
    file.write_all(input)?;
    file.rewind()?;
    let output = command(folder, arguments).stdin(file).output()?;
    succeeded(output, arguments[0])
}

fn succeeded(output: Output, name: &str) -> Result<Vec<u8>, GitError> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(GitError::Failed {
        command: name.to_owned(),
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

pub(super) fn text(
    folder: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<String, GitError> {
    let bytes = bytes(folder, arguments)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

pub(super) fn bytes(
    folder: &Path,
    arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
) -> Result<Vec<u8>, GitError> {
    let arguments = arguments.into_iter();
    let arguments: Vec<_> = arguments.map(|one| one.as_ref().to_owned()).collect();
    let name = arguments.first().map(|name| name.to_string_lossy());
    let output = command(folder, &arguments).output()?;
    succeeded(output, &name.unwrap_or_default())
}

/// The parts of a list that zero bytes end.
pub(super) fn entries(listed: &[u8]) -> impl Iterator<Item = &[u8]> {
    listed
        .split(|byte| *byte == 0)
        .filter(|entry| !entry.is_empty())
}
