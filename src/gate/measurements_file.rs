//! The file that `--measurements` names. The history keeps what was measured in any case.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::console::{AppError, AppResult, files};
use crate::git::own_files;
use crate::measurement::{Measurement, table};

/// Where `--measurements` writes at the end.
#[derive(Debug)]
pub(crate) struct MeasurementsFile<'a> {
    path: &'a Path,
    root: &'a Path,
    /// JSON lines are appended; `None` of the table of the seed library.
    lines: Option<File>,
}

impl<'a> MeasurementsFile<'a> {
    /// Opens the file before anything is run, so that a path that cannot be written costs nothing. `root` is that of the
    /// checkout.
    pub(crate) fn open(path: &'a Path, root: &'a Path) -> AppResult<Self> {
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
        Ok(Self { path, root, lines })
    }

    /// Writes what was measured.
    pub(crate) fn write(self, measurements: &[Measurement]) -> AppResult<()> {
        let Some(mut file) = self.lines else {
            let table = table::write_seed_csv(measurements);
            return files::write_new(self.path, table.as_bytes(), self.root);
        };
        let lines: String = measurements.iter().map(table::to_json_line).collect();
        let written = file.write_all(lines.as_bytes());
        written.map_err(|source| files::cannot_write(self.path, source))
    }
}

fn open_lines(path: &Path) -> AppResult<File> {
    let open = || {
        let mut file = files::owners_file().append(true).open(path)?;
        let mut last = Vec::new();
        // Of an empty file there is no last byte.
        if file.seek(SeekFrom::End(-1)).is_ok() {
            file.read_to_end(&mut last)?;
        }
        // A gate that was killed in mid-write leaves half a line; the next one must not be glued to it.
        if !matches!(&*last, b"" | b"\n") {
            file.write_all(b"\n")?;
        }
        Ok(file)
    };
    open().map_err(|source| files::cannot_write(path, source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Outcome;
    use crate::units::Fraction;

    #[test]
    fn lines_are_appended_to_what_anybody_has_written() {
        let measured = ["before", "theirs", "a", "b"].map(|job| {
            let instance = "local".parse().unwrap();
            let fraction = Fraction(0.01);
            Measurement::without_figures(job.to_owned(), instance, fraction, Outcome::Completed)
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs.jsonl");
        std::fs::write(&path, table::to_json_line(&measured[0])).unwrap();
        let file = MeasurementsFile::open(&path, folder.path()).unwrap();
        let mut other = File::options().append(true).open(&path).unwrap();
        let theirs = table::to_json_line(&measured[1]);
        other.write_all(theirs.as_bytes()).unwrap();
        file.write(&measured[2..]).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, measured.each_ref().map(table::to_json_line).concat());
    }
}
