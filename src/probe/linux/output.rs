//! The destination of the report: opened before the command starts, written when it has ended.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;

use nix::libc;

use super::error::ProbeError;
use super::{Destination, MARKED_LINE, ProbeReport, gate_socket};

/// Names and values.
pub(super) type CommandEnvironment = Vec<(OsString, OsString)>;

/// The destination of the report.
pub(super) struct Output<'a> {
    destination: &'a Destination,
    /// Absent for standard output.
    opened: Option<File>,
}

impl<'a> Output<'a> {
    pub(super) fn open(destination: &'a Destination) -> Result<Self, ProbeError> {
        let opened = match destination {
            Destination::Stdout { .. } => Ok(None),
            Destination::Gate => {
                (io::stdin().as_fd().try_clone_to_owned()).map(|socket| Some(File::from(socket)))
            }
            Destination::File(path) => {
                let mut options = OpenOptions::new();
                options.write(true).create(true).truncate(true).mode(0o600);
                options.custom_flags(libc::O_NOFOLLOW).open(path).map(Some)
            }
        };
        Ok(Self {
            opened: opened.map_err(|source| refused(destination, source))?,
            destination,
        })
    }

    /// The environment of the command, if the gate gives it.
    pub(super) fn environment(&mut self) -> Result<Option<CommandEnvironment>, ProbeError> {
        match (&mut self.opened, self.destination) {
            (Some(socket), Destination::Gate) => gate_socket::environment(socket)
                .map(Some)
                .map_err(|source| refused(self.destination, source)),
            _ => Ok(None),
        }
    }

    /// One line of JSON.
    pub(super) fn write(self, report: &ProbeReport) -> Result<(), ProbeError> {
        let mut line = serde_json::to_vec(report).expect("a report is plain data");
        line.push(b'\n');
        if let Destination::Stdout { mark: Some(mark) } = self.destination {
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
        written.map_err(|source| refused(self.destination, source))
    }
}

/// Why the destination does not take the report, or the gate does not give the environment.
fn refused(destination: &Destination, source: io::Error) -> ProbeError {
    match destination {
        Destination::Stdout { .. } => ProbeError::Stdout(source),
        Destination::File(path) => ProbeError::Output(path.clone(), source),
        Destination::Gate => {
            ProbeError::Process("speaking with the gate through standard input", source)
        }
    }
}
