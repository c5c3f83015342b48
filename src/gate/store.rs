//! Measurements, kept as each run ends: always in the gate's own folder, and where `--measurements` says.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::console::{AppError, files};
use crate::measurement::{Measurement, table};
use crate::workspace::project::Project;

/// A file of measurements in the gate's own folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OwnFile {
    /// Of canaries.
    Canaries,
    /// Of full runs, which a forecast is held against and not made from.
    Actuals,
}

impl OwnFile {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Canaries => "measurements.jsonl",
            Self::Actuals => "actuals.jsonl",
        }
    }
}

/// A file of JSON lines.
#[derive(Debug)]
struct Lines {
    path: PathBuf,
    file: File,
    /// Device and inode, so that one file under two names is written once.
    identity: (u64, u64),
}

/// Where measurements go.
#[derive(Debug)]
pub(crate) struct Store {
    /// Appended to at once.
    lines: Vec<Lines>,
    /// Written at the end.
    csv: Option<PathBuf>,
    root: PathBuf,
    measurements: Vec<Measurement>,
}

impl Store {
    /// Opens every file before anything is run, so that a path that cannot be written costs nothing.
    pub(crate) fn open(
        project: &Project,
        own: OwnFile,
        also: Option<&Path>,
    ) -> Result<Self, AppError> {
        let mut store = Self {
            lines: Vec::new(),
            csv: None,
            root: project.root.clone(),
            measurements: Vec::new(),
        };
        match also.map(|path| {
            (
                path,
                path.extension().and_then(|extension| extension.to_str()),
            )
        }) {
            None => {}
            Some((path, Some("jsonl"))) => store.add_lines(path)?,
            Some((path, Some("csv"))) => {
                files::check_target(path, &project.root)?;
                store.csv = Some(path.to_owned());
            }
            Some((path, _)) => {
                return Err(AppError::usage(format!(
                    "`--measurements {}`: the kind is told by the extension",
                    path.display()
                ))
                .help("name it .jsonl or .csv"));
            }
        }
        let state = project.state_folder();
        files::make_state_folder(&state)?;
        store.add_lines(&state.join(own.name()))?;
        Ok(store)
    }

    fn add_lines(&mut self, path: &Path) -> Result<(), AppError> {
        files::check_target(path, &self.root)?;
        let cannot_write = |source| files::cannot_write(path, source);
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .custom_flags(nix::libc::O_NOFOLLOW)
            .open(path)
            .map_err(cannot_write)?;
        let metadata = file.metadata().map_err(cannot_write)?;
        let identity = (metadata.dev(), metadata.ino());
        if self.lines.iter().any(|known| known.identity == identity) {
            return Ok(());
        }
        // A gate that was killed in mid-write leaves half a line; the next one must not be glued to it.
        if ends_in_mid_line(&mut file).map_err(cannot_write)? {
            file.write_all(b"\n").map_err(cannot_write)?;
        }
        self.lines.push(Lines {
            path: path.to_owned(),
            file,
            identity,
        });
        Ok(())
    }

    /// Keeps one measurement, whole or not at all: a line is one write.
    pub(crate) fn append(&mut self, measurement: &Measurement) -> Result<(), AppError> {
        let line = table::to_json_line(measurement);
        let mut kept = Ok(());
        for lines in &mut self.lines {
            let written = lines
                .file
                .write_all(line.as_bytes())
                .map_err(|source| files::cannot_write(&lines.path, source));
            kept = kept.and(written);
        }
        self.measurements.push(measurement.clone());
        kept
    }

    /// Writes the table, of what was measured until now.
    pub(crate) fn finish(&self) -> Result<(), AppError> {
        match &self.csv {
            Some(path) => files::write_new(
                path,
                table::write_seed_csv(&self.measurements).as_bytes(),
                &self.root,
            ),
            None => Ok(()),
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
