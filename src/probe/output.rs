//! Where the report goes: opened before the command starts, written when it has ended.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;

use super::ProbeReport;
use super::error::ProbeError;

/// Where the report goes.
pub(super) enum Output<'a> {
    Stdout,
    File(&'a Path, File),
}

impl<'a> Output<'a> {
    pub(super) fn open(path: Option<&'a Path>) -> Result<Self, ProbeError> {
        let Some(path) = path else {
            return Ok(Self::Stdout);
        };
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .custom_flags(libc::O_NOFOLLOW)
            .open(path)
            .map(|file| Self::File(path, file))
            .map_err(|source| ProbeError::Output {
                path: path.to_owned(),
                source,
            })
    }

    /// One line of JSON.
    pub(super) fn write(self, report: &ProbeReport) -> Result<(), ProbeError> {
        let mut line = serde_json::to_vec(report).expect("a report is plain data");
        line.push(b'\n');
        match self {
            Self::Stdout => match io::stdout().write_all(&line) {
                // Whoever read has gone.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
                result => result.map_err(|source| ProbeError::Stdout { source }),
            },
            Self::File(path, mut file) => {
                file.write_all(&line).map_err(|source| ProbeError::Output {
                    path: path.to_owned(),
                    source,
                })
            }
        }
    }
}
