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

/// Where `--measurements` writes; nowhere if it was not given.
#[derive(Debug, Default)]
pub(crate) struct MeasurementsFile(Option<MeasurementsOutput>);

#[derive(Debug)]
struct MeasurementsOutput {
    path: PathBuf,
    root: PathBuf,
    /// JSON lines, with what was appended as each run ended. `None` of the table of the seed library, which is written at the end.
    lines: Option<(File, String)>,
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
        let lines = match has_lines {
            true => Some((open_lines(path)?, String::new())),
            false => None,
        };
        own_files::remember(root, path);
        Ok(Self(Some(MeasurementsOutput {
            path: path.to_owned(),
            root: root.to_owned(),
            lines,
            measurements: Vec::new(),
        })))
    }

    /// Keeps one measurement, whole or not at all.
    pub(crate) fn append(
        &mut self,
        place: Place,
        measurement: &Measurement,
    ) -> Result<(), AppError> {
        let Some(open) = &mut self.0 else {
            return Ok(());
        };
        if let Some((file, appended)) = &mut open.lines {
            let line = table::to_json_line(measurement);
            file.write_all(line.as_bytes())
                .map_err(|source| files::cannot_write(&open.path, source))?;
            appended.push_str(&line);
        }
        open.measurements.push((place, measurement.clone()));
        Ok(())
    }

    /// What is known of a run of this gate by now; it is written at the end.
    pub(crate) fn revise(&mut self, measurement: &Measurement) {
        let all = self.0.iter_mut().flat_map(|open| &mut open.measurements);
        let mut all = all.map(|(_, known)| known);
        if let Some(known) = all.find(|known| known.is_same_run(measurement)) {
            *known = measurement.clone();
        }
    }

    /// Leaves what was measured in the spec's order, all at once: a gate that is killed meanwhile leaves lines as they were
    /// appended. So does one whose file somebody else has written to.
    pub(crate) fn finish(self) -> Result<(), AppError> {
        let Some(MeasurementsOutput {
            path,
            root,
            lines,
            mut measurements,
        }) = self.0
        else {
            return Ok(());
        };
        measurements.sort_by_key(|(place, _)| *place);
        let measurements: Vec<_> = measurements.into_iter().map(|(_, one)| one).collect();
        let Some((_, appended)) = lines else {
            let table = table::write_seed_csv(&measurements);
            return files::write_new(&path, table.as_bytes(), &root);
        };
        let ordered: String = measurements.iter().map(table::to_json_line).collect();
        if ordered == appended {
            return Ok(());
        }
        // A file that cannot be read back has all lines.
        let Ok(content) = files::open_plain(&path).and_then(|mut file| {
            let mut content = Vec::new();
            file.read_to_end(&mut content).map(|_| content)
        }) else {
            return Ok(());
        };
        let Some(before) = content.strip_suffix(appended.as_bytes()) else {
            return Ok(());
        };
        files::write_new(&path, &[before, ordered.as_bytes()].concat(), &root)
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

    fn place(job: usize) -> Place {
        Place {
            job,
            configuration: 0,
            number: 0,
        }
    }

    /// The jobs of a file after the end, where `b` ended before `a`, and `meanwhile` happened before the end.
    fn jobs(meanwhile: impl FnOnce(&Path)) -> Vec<String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        std::fs::write(&path, table::to_json_line(&measured("before"))).unwrap();
        let mut file = MeasurementsFile::open(Some(&path), folder.path()).unwrap();
        for (place, job) in [(place(1), "b"), (place(0), "a")] {
            file.append(place, &measured(job)).unwrap();
        }
        meanwhile(&path);
        file.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let of_line = |line| serde_json::from_str::<Measurement>(line).unwrap().job;
        text.lines().map(of_line).collect()
    }

    #[test]
    fn lines_are_there_as_runs_end_and_at_the_end_in_the_specs_order() {
        let seen = |path: &Path| {
            let text = std::fs::read_to_string(path).unwrap();
            assert_eq!(text.lines().count(), 3);
        };
        assert_eq!(jobs(seen), ["before", "a", "b"]);
    }

    #[test]
    fn what_somebody_else_appended_is_never_lost() {
        let other = |path: &Path| {
            let mut file = OpenOptions::new().append(true).open(path).unwrap();
            let line = table::to_json_line(&measured("theirs"));
            file.write_all(line.as_bytes()).unwrap();
        };
        assert_eq!(jobs(other), ["before", "b", "a", "theirs"]);
    }
}
