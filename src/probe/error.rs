//! Why a command was not run. The failure of a command that ran is part of [`super::ProbeReport`], not an error.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

/// The probe could not run the command, or could not write its report.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    #[error("no command was given; write `canary-gate probe -- COMMAND ARGUMENTS...`")]
    NoCommand,
    #[error(
        "command `{command}` was not found on PATH; install it, or give the path of the program"
    )]
    NotOnPath { command: String },
    #[error("`{}` does not exist; give the path of a program, from the folder where it runs", shown(.path))]
    Missing { path: PathBuf },
    #[error("`{}` is a folder; name the program in it", shown(.path))]
    Folder { path: PathBuf },
    #[error("`{0}` is not executable; run `chmod +x {0}`, or start it through its interpreter, such as `python3 {0}`", shown(.path))]
    NotExecutable { path: PathBuf },
    #[error("`{}` names an interpreter in its first line that does not exist here; start it through an installed one, such as `python3 FILE`", shown(.path))]
    NoInterpreter { path: PathBuf },
    #[error("`{}` is not a program for this machine and has no `#!` line; start it through its interpreter, such as `sh FILE`", shown(.path))]
    NotAProgram { path: PathBuf },
    #[error("command `{}` could not be started; see the cause below", shown(.path))]
    NotStarted { path: PathBuf, source: io::Error },
    #[error("the report cannot be written to `{}`; give a writable file that is not a link", shown(.path))]
    Output { path: PathBuf, source: io::Error },
    #[error("the report cannot be written to stdout; give a file with `--output`")]
    Stdout { source: io::Error },
    #[error("a folder cannot be kept from being written to, so nothing was run: {reason}")]
    NotReadOnly { reason: String },
    #[error(
        "a command can be measured on Linux only, and this is {}: memory and CPU are read from Linux's /proc; \
         measure in a Linux container or on a Linux machine",
        std::env::consts::OS
    )]
    NotLinux,
    #[error("this process cannot watch a command: {action} failed; see the cause below")]
    Process {
        action: &'static str,
        source: io::Error,
    },
}

impl ProbeError {
    /// As for `env` and `timeout`: 127 if there is no such command, 126 if it cannot be executed, else 125.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotOnPath { .. } | Self::Missing { .. } => 127,
            Self::Folder { .. }
            | Self::NotExecutable { .. }
            | Self::NoInterpreter { .. }
            | Self::NotAProgram { .. } => 126,
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
