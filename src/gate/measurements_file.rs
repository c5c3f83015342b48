//! The file that `--measurements` names. The history keeps what was measured in any case.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::console::{AppError, files};
use crate::measurement::{Measurement, table};

/// Where `--measurements` writes.
#[derive(Debug)]
pub(crate) enum MeasurementsFile {
    /// It was not given.
    Nowhere,
    /// JSON lines, appended as each run ends.
    Lines { path: PathBuf, file: File },
    /// The table of the seed library, written at the end.
    Csv {
        path: PathBuf,
        root: PathBuf,
        measurements: Vec<Measurement>,
    },
}

impl MeasurementsFile {
    /// Opens the file before anything is run, so that a path that cannot be written costs nothing. `root` is that of the
    /// checkout.
    pub(crate) fn open(path: Option<&Path>, root: &Path) -> Result<Self, AppError> {
        let Some(path) = path else {
            return Ok(Self::Nowhere);
        };
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl") => Self::lines(path, root),
            Some("csv") => {
                files::check_target(path, root)?;
                Ok(Self::Csv {
                    path: path.to_owned(),
                    root: root.to_owned(),
                    measurements: Vec::new(),
                })
            }
            _ => Err(AppError::usage(format!(
                "`--measurements {}`: the extension names no format of measurements",
                path.display()
            ))
            .help("name it .jsonl or .csv")),
        }
    }

    fn lines(path: &Path, root: &Path) -> Result<Self, AppError> {
        files::check_target(path, root)?;
        let cannot_write = |source| files::cannot_write(path, source);
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(files::OWNERS_ALONE)
            .custom_flags(nix::libc::O_NOFOLLOW)
            .open(path)
            .map_err(cannot_write)?;
        // A gate that was killed in mid-write leaves half a line; the next one must not be glued to it.
        if ends_in_mid_line(&mut file).map_err(cannot_write)? {
            file.write_all(b"\n").map_err(cannot_write)?;
        }
        Ok(Self::Lines {
            path: path.to_owned(),
            file,
        })
    }

    /// Keeps one measurement, whole or not at all: a line is one write.
    pub(crate) fn append(&mut self, measurement: &Measurement) -> Result<(), AppError> {
        match self {
            Self::Nowhere => Ok(()),
            Self::Lines { path, file } => file
                .write_all(table::to_json_line(measurement).as_bytes())
                .map_err(|source| files::cannot_write(path, source)),
            Self::Csv { measurements, .. } => {
                measurements.push(measurement.clone());
                Ok(())
            }
        }
    }

    /// Writes the table of what was measured until now.
    pub(crate) fn finish(&self) -> Result<(), AppError> {
        match self {
            Self::Nowhere | Self::Lines { .. } => Ok(()),
            Self::Csv {
                path,
                root,
                measurements,
            } => files::write_new(path, table::write_seed_csv(measurements).as_bytes(), root),
        }
    }
}

/// Whether the file's last line lacks its end.
fn ends_in_mid_line(file: &mut File) -> std::io::Result<bool> {
    if file.seek(SeekFrom::End(0))? == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}
