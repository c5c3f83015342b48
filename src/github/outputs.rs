//! The results of a step: outputs, state, and the step summary.
//!
//! An edge: the runner names a file for each (`GITHUB_OUTPUT`, `GITHUB_STATE`, `GITHUB_STEP_SUMMARY`). The files may have content
//! already, so they are only appended to. Formats and limits:
//! <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};
use thiserror::Error;

#[cfg(test)]
mod tests;

/// In bytes: GitHub refuses a summary of more than 1 MiB.
pub const SUMMARY_LIMIT: u64 = 1 << 20;

/// Why nothing was written.
#[derive(Debug, Error)]
pub enum OutputsError {
    #[error("could not append to {}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error(
        "`{name}` is not a valid output name: a name has letters, digits, `_` and `-`, and starts with a letter or `_`"
    )]
    Name { name: String },
    #[error("the value of the output `{name}` contains its random delimiter; run again")]
    Delimiter { name: String },
}

/// Appends outputs, or a step's state, which has the same format: all or, on an error, none.
///
/// A value may be any text. `random` must be new for each call: a value that contained the delimiter could set other outputs.
pub fn append_outputs(
    path: &Path,
    outputs: &[(&str, &str)],
    random: u128,
) -> Result<(), OutputsError> {
    let mut text = String::new();
    for (name, value) in outputs {
        text.push_str(&output(name, value, random)?);
    }
    let write = || {
        let mut target = Target::open(path)?;
        target.append(&text)
    };
    write().map_err(|source| in_file(path, source))
}

/// One output: its name, and its value up to a line that does not occur in it.
fn output(name: &str, value: &str, random: u128) -> Result<String, OutputsError> {
    let name_is_fine = !name.starts_with(|first: char| first.is_ascii_digit() || first == '-')
        && !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if !name_is_fine {
        return Err(OutputsError::Name {
            name: name.to_owned(),
        });
    }
    let delimiter = format!("canary-gate-{random:032x}");
    if value.contains(&delimiter) {
        return Err(OutputsError::Delimiter {
            name: name.to_owned(),
        });
    }
    Ok(format!("{name}<<{delimiter}\n{value}\n{delimiter}\n"))
}

/// Appends Markdown to the step summary, and keeps the file below [`SUMMARY_LIMIT`]: if `full` does not fit, writes `shorter`, if
/// necessary cut at the end of a line, with a last line that says so; nothing if the file is full.
pub fn append_summary(path: &Path, full: &str, shorter: &str) -> Result<(), OutputsError> {
    let write = || {
        let mut target = Target::open(path)?;
        let room = SUMMARY_LIMIT.saturating_sub(1 + target.length);
        // A blank line after the existing text, and a line end after ours.
        let room = usize::try_from(room).unwrap_or(0).saturating_sub(2);
        let gap = if target.length == 0 { "" } else { "\n" };
        match fitting(full, shorter, room) {
            Some(text) => target.append(&format!("{gap}{text}")),
            None => Ok(()),
        }
    };
    write().map_err(|source| in_file(path, source))
}

const SHORTENED: &str =
    "\n\nThe full report is too large for a step summary; this is its short form.\n";
const CUT: &str = "\n\nThe report is too large for a step summary; the rest is left out.\n";

/// The text that fits into `room` bytes.
fn fitting(full: &str, shorter: &str, room: usize) -> Option<String> {
    let full = full.trim_end();
    let shorter = shorter.trim_end();
    // One byte is for the end of the last line.
    if full.len() < room {
        return Some(format!("{full}\n"));
    }
    if shorter.len() + SHORTENED.len() <= room {
        return Some(format!("{shorter}{SHORTENED}"));
    }
    let room = room.checked_sub(CUT.len())?;
    let (beginning, _) = shorter[..shorter.floor_char_boundary(room)].rsplit_once('\n')?;
    Some(format!("{beginning}{CUT}"))
}

/// A file of the runner, opened for appending.
struct Target {
    file: File,
    /// In bytes, as it was found.
    length: u64,
    /// Whether what stands there ends in the middle of a line.
    is_open: bool,
}

impl Target {
    /// Follows no link, and waits for no pipe: only a plain file is written to.
    fn open(path: &Path) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .custom_flags(O_NOFOLLOW | O_NONBLOCK)
            .open(path)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a plain file"));
        }
        let length = metadata.len();
        let mut last = [b'\n'];
        if length > 0 {
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
        }
        Ok(Self {
            file,
            length,
            is_open: last != [b'\n'],
        })
    }

    /// In one piece, on a line of its own.
    fn append(&mut self, text: &str) -> io::Result<()> {
        let line_end = if self.is_open { "\n" } else { "" };
        self.file
            .write_all(format!("{line_end}{text}").as_bytes())?;
        self.file.flush()
    }
}

fn in_file(path: &Path, source: io::Error) -> OutputsError {
    OutputsError::File {
        path: path.to_owned(),
        source,
    }
}
