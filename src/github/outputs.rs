//! The results of a step: outputs, state, and the step summary.
//!
//! An edge: the runner names a file for each (`GITHUB_OUTPUT`, `GITHUB_STATE`, `GITHUB_STEP_SUMMARY`), which is only appended to.
//! Formats and limits: <https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands>

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use nix::libc::{O_NOFOLLOW, O_NONBLOCK};

use super::line::cut;

/// The most bytes of a report: GitHub refuses a summary of more than 1 MiB, and what is said of the comment comes below.
pub const LONGEST_SUMMARY: usize = (1 << 20) - 4096;

const CUT: &str = "\n\nThe report is too large for a step summary; the rest is left out.\n";

/// Appends outputs, or a step's state, which has the same format: all or, on an error, none.
///
/// A value may be any text. `random` must be new for each call: a value that contained the delimiter could set other outputs.
pub fn append_outputs(path: &Path, outputs: &[(&str, String)], random: u128) -> io::Result<()> {
    let delimiter = format!("canary-gate-{random:032x}");
    if outputs.iter().any(|(_, value)| value.contains(&delimiter)) {
        let why = "a value contains the random delimiter; run again";
        return Err(io::Error::other(why));
    }
    let blocks = outputs
        .iter()
        .map(|(name, value)| format!("{name}<<{delimiter}\n{value}\n{delimiter}\n"));
    plain_file(path)?.write_all(blocks.collect::<String>().as_bytes())
}

/// Appends Markdown to the step summary, of which GitHub takes [`LONGEST_SUMMARY`].
pub fn append_summary(path: &Path, text: &str) -> io::Result<()> {
    let text = cut(text.trim_end(), LONGEST_SUMMARY, CUT);
    writeln!(plain_file(path)?, "{}", text.trim_end())
}

/// A file of the runner, for appending. Follows no link, and waits for no pipe.
fn plain_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.append(true).create(true);
    let file = options.custom_flags(O_NOFOLLOW | O_NONBLOCK).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a plain file")),
    }
}

#[cfg(test)]
mod tests;
