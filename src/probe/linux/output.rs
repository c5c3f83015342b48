//! The destination of the report: opened before the command starts, written when it has ended.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

use super::error::ProbeError;
use super::{MARKED_LINE, ProbeOptions, ProbeReport, gate_socket};

/// Names and values.
pub(super) type CommandEnvironment = Vec<(OsString, OsString)>;

/// The destination of the report.
pub(super) struct Output<'a> {
    options: &'a ProbeOptions,
    /// Absent for standard output.
    opened: Option<File>,
}

impl<'a> Output<'a> {
    pub(super) fn open(options: &'a ProbeOptions) -> Result<Self, ProbeError> {
        let opened = match (options.gate_socket, &options.output) {
            (true, _) => {
                (io::stdin().as_fd().try_clone_to_owned()).map(|socket| Some(File::from(socket)))
            }
            (false, Some(path)) => {
                let mut new = OpenOptions::new();
                new.write(true).create(true).truncate(true).mode(0o600);
                new.custom_flags(libc::O_NOFOLLOW).open(path).map(Some)
            }
            (false, None) => Ok(None),
        };
        Ok(Self {
            opened: opened.map_err(|source| refused(options, source))?,
            options,
        })
    }

    /// The environment of the command, if the gate gives it.
    pub(super) fn environment(&mut self) -> Result<Option<CommandEnvironment>, ProbeError> {
        match &mut self.opened {
            Some(socket) if self.options.gate_socket => gate_socket::environment(socket)
                .map(Some)
                .map_err(|source| refused(self.options, source)),
            _ => Ok(None),
        }
    }

    /// One line of JSON.
    pub(super) fn write(self, report: &ProbeReport) -> Result<(), ProbeError> {
        let mut line = serde_json::to_vec(report).expect("a report is plain data");
        line.push(b'\n');
        if let (None, Some(mark)) = (&self.opened, &self.options.mark) {
            // The command's last line may lack a line end.
            line.splice(0..0, format!("\n{MARKED_LINE} {mark} ").into_bytes());
        }
        let written = match self.opened {
            Some(mut opened) => opened.write_all(&line),
            None => match io::stdout().write_all(&line) {
                // The reader has closed the pipe.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                written => written,
            },
        };
        written.map_err(|source| refused(self.options, source))
    }
}

/// Why the destination does not take the report, or the gate does not give the environment.
fn refused(options: &ProbeOptions, source: io::Error) -> ProbeError {
    match (options.gate_socket, &options.output) {
        (true, _) => ProbeError::Process("speaking with the gate through standard input", source),
        (false, Some(path)) => ProbeError::Output(path.clone(), source),
        (false, None) => ProbeError::Stdout(source),
    }
}
