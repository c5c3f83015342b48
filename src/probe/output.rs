//! The destination of the report: opened before the command starts, written when it has ended.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use nix::libc;

use super::error::ProbeError;
use super::{MARKED_LINE, ProbeReport};

/// The destination of the report.
pub(super) enum Output<'a> {
    Stdout { mark: Option<&'a str> },
    File(&'a Path, File),
}

impl<'a> Output<'a> {
    pub(super) fn open(path: Option<&'a Path>, mark: Option<&'a str>) -> Result<Self, ProbeError> {
        let Some(path) = path else {
            return Ok(Self::Stdout { mark });
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
            Self::File(path, mut file) => {
                file.write_all(&line).map_err(|source| ProbeError::Output {
                    path: path.to_owned(),
                    source,
                })
            }
        }
    }
}
