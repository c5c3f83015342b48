//! The `git` process.

use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::error::GitError;

/// Runs git without programs that a checkout's configuration could start, and without the caller's GIT_ variables.
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
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::null());
    for name in [
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_EXTERNAL_DIFF",
    ] {
        git.env_remove(name);
    }
    git
}

/// Git's output for `input` on standard input, which is written from a thread: both pipes may fill up.
pub(super) fn answer<const N: usize>(
    folder: &Path,
    arguments: [&str; N],
    input: String,
) -> Result<Vec<u8>, GitError> {
    let mut child = command(folder, arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(GitError::NotStarted)?;
    let stdin = child.stdin.take();
    let writer = std::thread::spawn(move || {
        use std::io::Write;
        // If git ended early, its standard error says why.
        stdin.map(|mut stdin| stdin.write_all(input.as_bytes()))
    });
    let output = child.wait_with_output().map_err(GitError::NotStarted)?;
    let _ = writer.join();
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(GitError::Failed {
        command: arguments.first().copied().unwrap_or_default().to_owned(),
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

/// A NUL-separated list. A name that is not UTF-8 is converted with replacement characters; `**` still matches it.
pub(super) fn paths<I, S>(folder: &Path, arguments: I) -> Result<Vec<String>, GitError>
where
    I: IntoIterator<Item = S>,
    S: AsRef<OsStr>,
{
    Ok(bytes(folder, arguments)?
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect())
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
    let output = run(folder, &arguments).map_err(GitError::NotStarted)?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    Err(GitError::Failed {
        command: arguments
            .first()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default(),
        said: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}
