//! Why a command was not run. The failure of a command that ran is part of [`super::ProbeReport`], not an error.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

/// The probe could not run the command, or could not write its report.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("no command was given; write `canary-gate probe -- COMMAND ARGUMENTS...`")]
    NoCommand,
    #[error("command `{0}` was not found on PATH; install it, or give the path of the program")]
    NotOnPath(String),
    #[error("`{}` does not exist; give the path of a program, from the folder where it runs", shown(.0))]
    Missing(PathBuf),
    #[error("`{}` is a folder; name the program in it", shown(.0))]
    Folder(PathBuf),
    #[error("`{name}` is not executable; run `chmod +x {name}`, or start it through its interpreter, such as `python3 {name}`", name = shown(.0))]
    NotExecutable(PathBuf),
    #[error("`{}` names an interpreter in its first line that does not exist here; start it through an installed one, such as `python3 FILE`", shown(.0))]
    NoInterpreter(PathBuf),
    #[error("`{}` is not a program for this machine and has no `#!` line; start it through its interpreter, such as `sh FILE`", shown(.0))]
    NotAProgram(PathBuf),
    #[error("command `{}` could not be started; see the cause below", shown(.0))]
    NotStarted(PathBuf, #[source] io::Error),
    #[error("the report cannot be written to `{}`; give a writable file that is not a link", shown(.0))]
    Output(PathBuf, #[source] io::Error),
    #[error("the report cannot be written to stdout; give a file with `--output`")]
    Stdout(#[source] io::Error),
    #[error("a folder cannot be kept from being written to, so nothing was run: {0}")]
    NotReadOnly(String),
    #[error(
        "a command can be measured on Linux only, and this is {}: memory and CPU are read from Linux's /proc; \
         measure in a Linux container or on a Linux machine",
        std::env::consts::OS
    )]
    NotLinux,
    #[error("this process cannot watch a command: {0} failed; see the cause below")]
    Process(&'static str, #[source] io::Error),
}

impl ProbeError {
    /// As for `env` and `timeout`: 127 if there is no such command, 126 if it cannot be executed, else 125.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotOnPath(_) | Self::Missing(_) => 127,
            Self::Folder(_) | Self::NotExecutable(_) => 126,
            Self::NoInterpreter(_) | Self::NotAProgram(_) => 126,
            _ => 125,
        }
    }
}

/// A path or name for a message, with control characters escaped.
pub(super) fn shown(text: impl AsRef<OsStr>) -> String {
    let shown = |one: char| match one.is_control() {
        true => one.escape_default().to_string(),
        false => one.to_string(),
    };
    text.as_ref().to_string_lossy().chars().map(shown).collect()
}
