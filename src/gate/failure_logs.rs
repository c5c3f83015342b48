//! The logs of canaries that failed: files below `.canary-gate/logs/`, those of the last run that had any.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;

use crate::console::{AppError, AppResult, files, say};
use crate::measurement::Measurement;
use crate::workspace::{Project, written_spec};

/// Below the gate's own folder.
const FOLDER: &str = "logs";
/// What a job prints is for its owner alone.
const BITS_OF_FOLDER: u32 = 0o700;
const EXTENSION: &str = "log";
/// The most characters of a job's name, or of its machines', in the name of a file.
const NAME_LENGTH: usize = 40;

/// Writes what a canary printed, which is the `number`th of its job on its machines, without secrets; returns the path to show. `None`
/// where it printed nothing, and where the file cannot be written, which is said. The first log of a run, which has `kept` none yet,
/// takes the place of those of earlier runs.
pub(crate) fn keep(
    project: &Project,
    kept: &mut BTreeSet<String>,
    canary: &Measurement,
    number: usize,
    lines: &[String],
) -> Option<PathBuf> {
    if lines.is_empty() {
        return None;
    }
    let is_first = kept.is_empty();
    let machines = canary.instance.to_string();
    let name = free_name(kept, &canary.job, &machines, number);
    let path = project.state_folder().join(FOLDER).join(name);
    let text: String = lines.iter().map(|line| printed(line) + "\n").collect();
    let written = prepare(project, is_first)
        .and_then(|()| files::write_new(&path, text.as_bytes(), &project.root));
    if let Err(error) = written {
        let why = error.in_a_line();
        say(&format!("warning: the log is not kept: {why}"));
        return None;
    }
    Some(written_spec::from_here(&path))
}

/// `digits-local-3.log`, as progress numbers the canary, whatever the job or its machines are called. Where names become the same, with
/// a further number.
fn free_name(kept: &mut BTreeSet<String>, job: &str, machines: &str, number: usize) -> String {
    let is_odd = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_';
    let stem = format!("{job:.NAME_LENGTH$}-{machines:.NAME_LENGTH$}-{number}");
    let stem = stem.replace(is_odd, "-");
    let again = (2..).map(|again| format!("{stem}-{again}.{EXTENSION}"));
    let names = std::iter::once(format!("{stem}.{EXTENSION}")).chain(again);
    let mut free = names.filter(|name| kept.insert(name.clone()));
    free.next().expect("names do not end")
}

/// Makes the folder; before the first log of a run it is emptied.
fn prepare(project: &Project, is_first: bool) -> AppResult<()> {
    let state = project.state_folder();
    files::make_state_folder(&state)?;
    let folder = state.join(FOLDER);
    let cannot_write = |source| files::cannot_write(&folder, source);
    if folder.is_symlink() {
        return Err(AppError::failed(format!("{} is a link", folder.display()))
            .help("remove the link; logs are kept in a folder of the gate's own"));
    }
    fs::DirBuilder::new()
        .recursive(true)
        .mode(BITS_OF_FOLDER)
        .create(&folder)
        .map_err(cannot_write)?;
    if !is_first {
        return Ok(());
    }
    for entry in fs::read_dir(&folder).map_err(cannot_write)?.flatten() {
        let is_log = entry.path().extension().is_some_and(|end| end == EXTENSION);
        if is_log {
            // One that stays is overwritten, or older than the others.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// A line without what would move a terminal's cursor when the file is shown.
fn printed(line: &str) -> String {
    let is_shown = |c: &char| !c.is_control() || *c == '\t';
    line.chars().filter(is_shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_after_its_job_whatever_that_is_called() {
        let mut kept = BTreeSet::new();
        for (job, name) in [
            ("churn", "churn-2x-local-3.log"),
            ("churn", "churn-2x-local-3-2.log"),
            ("../../etc/passwd", "------etc-passwd-2x-local-3.log"),
            ("a b/c\u{1b}[2J", "a-b-c--2J-2x-local-3.log"),
        ] {
            assert_eq!(free_name(&mut kept, job, "2x local", 3), name);
        }
        let long = free_name(&mut kept, &"x".repeat(300), &"y".repeat(300), 3);
        assert_eq!(long.len(), 2 * NAME_LENGTH + "--3.log".len());
    }

    #[test]
    fn a_log_cannot_move_the_cursor() {
        assert_eq!(printed("\u{1b}[2J\tgone\u{7}\r"), "[2J\tgone");
    }
}
