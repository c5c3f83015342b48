//! The `git` process.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::error::GitError;

/// Runs git without programs that a checkout's configuration could start, and without the caller's GIT_ variables. Filters are
/// turned off where files are read: see [`without_filters`].
pub(super) fn run<I, S>(folder: &Path, arguments: I) -> std::io::Result<Output>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    command(folder, arguments).output()
}

pub(super) fn command<I, S>(folder: &Path, arguments: I) -> Command
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let mut git = Command::new("git");
    git.current_dir(folder)
        .args([
            "-c",
            "core.fsmonitor=false",
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.quotePath=false",
        ])
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

/// Turns these filters off. They are programs that a checkout's configuration names.
pub(super) fn without_filters(git: &mut Command, filters: &BTreeSet<String>) {
    let mut count = 0;
    for filter in filters {
        // An empty program is none, and none is missed.
        for (key, value) in [
            ("clean", ""),
            ("smudge", ""),
            ("process", ""),
            ("required", "false"),
        ] {
            git.env(
                format!("GIT_CONFIG_KEY_{count}"),
                format!("filter.{filter}.{key}"),
            )
            .env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
    }
    git.env("GIT_CONFIG_COUNT", count.to_string());
}

/// Git's output for `input` on standard input, which is written from a thread: both pipes may fill up.
pub(super) fn answer(mut git: Command, name: &str, input: Vec<u8>) -> Result<Vec<u8>, GitError> {
    let mut child = git
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(GitError::NotStarted)?;
    let stdin = child.stdin.take();
    let writer = std::thread::spawn(move || {
        use std::io::Write;
        // If git ended early, its standard error says why.
        stdin.map(|mut stdin| stdin.write_all(&input))
    });
    let output = child.wait_with_output().map_err(GitError::NotStarted)?;
    let _ = writer.join();
    succeeded(output, name)
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

pub(super) fn text<I, S>(folder: &Path, arguments: I) -> Result<String, GitError>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let bytes = bytes(folder, arguments)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

pub(super) fn names(listed: &[u8]) -> Vec<String> {
    listed
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

pub(super) fn bytes<I, S>(folder: &Path, arguments: I) -> Result<Vec<u8>, GitError>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    let arguments: Vec<_> = arguments
        .into_iter()
        .map(|argument| argument.as_ref().to_owned())
        .collect();
    let name = arguments
        .first()
        .map(|name| name.to_string_lossy().into_owned());
    let output = command(folder, &arguments).output();
    succeeded(
        output.map_err(GitError::NotStarted)?,
        &name.unwrap_or_default(),
    )
}
