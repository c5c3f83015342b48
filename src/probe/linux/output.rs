//! The destination of the report: opened before the command starts, written when it has ended.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::libc;

use super::error::ProbeError;
use super::gate_socket;
use super::{Destination, MARKED_LINE, ProbeReport};

/// Names and values.
pub(super) type CommandEnvironment = Vec<(OsString, OsString)>;

/// The destination of the report.
pub(super) enum Output<'a> {
    Stdout { mark: Option<&'a str> },
    File(&'a Path, File),
    Gate(UnixStream),
}

impl<'a> Output<'a> {
    pub(super) fn open(output: &'a Destination) -> Result<Self, ProbeError> {
        let path = match output {
            Destination::Stdout { mark } => {
                let mark = mark.as_deref();
                return Ok(Self::Stdout { mark });
            }
            Destination::Gate => {
                let socket = io::stdin().as_fd().try_clone_to_owned();
                return Ok(Self::Gate(socket.map_err(no_gate)?.into()));
            }
            Destination::File(path) => path,
        };
        OpenOptions::new()
            .write(true)
            .create(true)
            .mode(0o600)
            .truncate(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
            .map(|file| Self::File(path, file))
            .map_err(|source| ProbeError::Output {
                path: path.to_owned(),
                source,
            })
    }

    /// The environment of the command, if the gate gives it.
    pub(super) fn environment(&self) -> Result<Option<CommandEnvironment>, ProbeError> {
        match self {
            Self::Gate(socket) => gate_socket::environment(socket).map(Some).map_err(no_gate),
            Self::Stdout { .. } | Self::File(..) => Ok(None),
        }
    }

    /// One line of JSON.
    pub(super) fn write(self, report: &ProbeReport) -> Result<(), ProbeError> {
        let mut line = serde_json::to_vec(report).expect("a report is plain data");
        line.push(b'\n');
        match self {
            Self::Stdout { mark } => {
                if let Some(mark) = mark {
                    // The command's last line may lack a line end.
                    line.splice(0..0, format!("\n{MARKED_LINE} {mark} ").into_bytes());
                }
                match io::stdout().write_all(&line) {
                    // The reader has closed the pipe.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                    result => result.map_err(|source| ProbeError::Stdout { source }),
                }
            }
            Self::Gate(mut socket) => socket.write_all(&line).map_err(no_gate),
            Self::File(path, mut file) => {
                file.write_all(&line).map_err(|source| ProbeError::Output {
                    path: path.to_owned(),
                    source,
                })
            }
        }
    }
}

fn no_gate(source: io::Error) -> ProbeError {
    ProbeError::Process {
        action: "speaking with the gate through standard input",
        source,
    }
}
