//! The file that `--measurements` names. The history keeps what was measured in any case.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::console::{AppError, files};
use crate::git::own_files;
use crate::measurement::{Measurement, table};

/// Where a canary stands in the spec's order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) job: usize,
    /// `instance` first, then the alternatives.
    pub(crate) configuration: usize,
    /// Among the canaries of the configuration.
    pub(crate) number: usize,
}

/// Where `--measurements` writes at the end; nowhere if it was not given.
#[derive(Debug, Default)]
pub(crate) struct MeasurementsFile(Option<MeasurementsOutput>);

#[derive(Debug)]
struct MeasurementsOutput {
    path: PathBuf,
    root: PathBuf,
    /// JSON lines are appended; `None` of the table of the seed library.
    lines: Option<File>,
    /// In the order in which they ended.
    measurements: Vec<(Place, Measurement)>,
}

impl MeasurementsFile {
    /// Opens the file before anything is run, so that a path that cannot be written costs nothing. `root` is that of the
    /// checkout.
    pub(crate) fn open(path: Option<&Path>, root: &Path) -> Result<Self, AppError> {
        let Some(path) = path else {
            return Ok(Self(None));
        };
        let has_lines = match path.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl") => true,
            Some("csv") => false,
            _ => {
                return Err(AppError::usage(format!(
                    "`--measurements {}`: the extension names no format of measurements",
                    path.display()
                ))
                .help("name it .jsonl or .csv"));
            }
        };
        files::check_target(path, root)?;
        let lines = has_lines.then(|| open_lines(path)).transpose()?;
        own_files::remember(root, path);
        Ok(Self(Some(MeasurementsOutput {
            path: path.to_owned(),
            root: root.to_owned(),
            lines,
            measurements: Vec::new(),
        })))
    }

    /// Takes one measurement.
    pub(crate) fn add(&mut self, place: Place, measurement: &Measurement) {
        if let Some(open) = &mut self.0 {
            open.measurements.push((place, measurement.clone()));
        }
    }

    /// Takes what is known of a run of this gate by now.
    pub(crate) fn revise(&mut self, measurement: &Measurement) {
        let all = self.0.iter_mut().flat_map(|open| &mut open.measurements);
        let mut all = all.map(|(_, known)| known);
        if let Some(known) = all.find(|known| known.is_same_run(measurement)) {
            *known = measurement.clone();
        }
    }

    /// Writes what was measured, in the spec's order.
    pub(crate) fn finish(self) -> Result<(), AppError> {
        let Some(mut open) = self.0 else {
            return Ok(());
        };
        open.measurements.sort_by_key(|(place, _)| *place);
        let measurements = open.measurements.into_iter().map(|(_, one)| one);
        let Some(mut file) = open.lines else {
            let table = table::write_seed_csv(&measurements.collect::<Vec<_>>());
            return files::write_new(&open.path, table.as_bytes(), &open.root);
        };
        let lines: String = measurements.map(|one| table::to_json_line(&one)).collect();
        let written = file.write_all(lines.as_bytes());
        written.map_err(|source| files::cannot_write(&open.path, source))
    }
}

fn open_lines(path: &Path) -> Result<File, AppError> {
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
    Ok(file)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Outcome;
    use crate::units::Fraction;

    fn measured(job: &str) -> Measurement {
        Measurement::without_figures(
            job.to_owned(),
            "local".parse().unwrap(),
            Fraction(0.01),
            Outcome::Completed,
        )
    }

    #[test]
    fn lines_are_appended_in_the_specs_order_to_what_anybody_has_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        let line = |job| table::to_json_line(&measured(job));
        std::fs::write(&path, line("before")).unwrap();
        let mut file = MeasurementsFile::open(Some(&path), folder.path()).unwrap();
        for (job, name) in [(1, "b"), (0, "a")] {
            let (configuration, number) = (0, 0);
            let place = Place {
                job,
                configuration,
                number,
            };
            file.add(place, &measured(name));
        }
        let mut other = OpenOptions::new().append(true).open(&path).unwrap();
        other.write_all(line("theirs").as_bytes()).unwrap();
        file.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, ["before", "theirs", "a", "b"].map(line).concat());
    }
}
