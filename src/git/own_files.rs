//! Files that the gate itself wrote into a checkout: reports, pages, tables. Untracked, they are nobody's code.
//!
//! They are named in a file of the git folder, where no commit can put any, as patterns that `git ls-files` leaves out.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use super::{path_of, process};

const LIST: &str = "canary-gate-outputs";
/// A longer one is somebody else's.
const LARGEST: u64 = 1 << 20;

/// The list of the checkout at `root`; `None` where it has none.
pub(super) fn list(root: &Path) -> Option<PathBuf> {
    let list = git_folder(root).ok()?.join(LIST);
    let metadata = list.symlink_metadata().ok()?;
    metadata.is_file().then_some(list)
}

/// Git's folder of the checkout at `root`: of a worktree, or a submodule, its own. Never that of a checkout around it.
fn git_folder(root: &Path) -> io::Result<PathBuf> {
    root.join(".git").symlink_metadata()?;
    let folder = process::text(root, ["rev-parse", "--git-dir"]);
    Ok(root.join(folder.map_err(io::Error::other)?))
}

/// Adds a file that was written.
pub(crate) fn remember(root: &Path, file: &Path) {
    // The file itself is written: that it is not remembered costs a canary at worst.
    if let Err(error) = add(root, file) {
        tracing::debug!("could not remember {}: {error}", file.display());
    }
}

/// Adds what standard output and standard error are written to, where this machine says which files these are; through a pipe, the
/// files of `tee`.
pub(super) fn remember_streams(root: &Path) {
    let streams = ["/proc/self/fd/1", "/proc/self/fd/2"].map(fs::read_link);
    // A pipe has a name that is no path.
    let (files, pipes): (Vec<_>, Vec<_>) =
        (streams.into_iter().flatten()).partition(|stream| stream.is_absolute());
    for file in files.into_iter().chain(copies(&pipes)) {
        remember(root, &file);
    }
}

/// The files that `tee` writes what comes from one of the pipes to. Of no other program it is known that it writes nothing else.
fn copies(pipes: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let processes = (!pipes.is_empty()).then(|| fs::read_dir("/proc"));
    let processes = processes.into_iter().flatten().flatten().flatten();
    let readers = processes.map(|process| process.path()).filter(|process| {
        let is_ours = |from| pipes.contains(&from);
        fs::read_link(process.join("fd/0")).is_ok_and(is_ours)
            && fs::read_to_string(process.join("comm")).is_ok_and(|name| name == "tee\n")
    });
    let files = readers.filter_map(|process| {
        let folder = fs::read_link(process.join("cwd")).ok()?;
        let words = fs::read(process.join("cmdline")).ok()?;
        let words = words.split(|byte| *byte == 0).skip(1);
        let files = words.filter(|word| !word.is_empty() && !word.starts_with(b"-"));
        Some(Vec::from_iter(files.map(|file| folder.join(path_of(file)))))
    });
    files.flatten()
}

/// Where a file lies below a root whose links are resolved; `None` if it lies elsewhere.
pub(crate) fn below(root: &Path, file: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new(".")).canonicalize().ok()?;
    let whole = folder.join(file.file_name()?);
    Some(whole.strip_prefix(root).ok()?.to_owned())
}

fn add(root: &Path, file: &Path) -> io::Result<()> {
    let within = below(&root.canonicalize()?, file);
    let Some(pattern) = within.and_then(|within| pattern(within.to_str()?)) else {
        return Ok(());
    };
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    options.custom_flags(nix::libc::O_NOFOLLOW);
    let mut list = options.open(git_folder(root)?.join(LIST))?;
    let mut known = String::new();
    (&mut list).take(LARGEST).read_to_string(&mut known)?;
    match known.lines().any(|line| line == pattern) {
        true => Ok(()),
        // A folder that takes its place is somebody's code.
        false => list.write_all(format!("{pattern}\n!{pattern}/\n").as_bytes()),
    }
}

/// As git reads a path from the root in a list of patterns; `None` of a name that no line can hold.
fn pattern(path: &str) -> Option<String> {
    let mut pattern = String::from("/");
    for character in path.chars() {
        match character {
            '\n' | '\r' => return None,
            '*' | '?' | '[' | ']' | '\\' | ' ' => pattern.extend(['\\', character]),
            other => pattern.push(other),
        }
    }
    Some(pattern)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_signs_of_a_pattern_is_only_itself() {
        assert_eq!(
            pattern("a/re port*[1].html").unwrap(),
            r"/a/re\ port\*\[1\].html"
        );
        assert_eq!(pattern("two\nlines.html"), None);
    }
}
