//! The look at a checkout: which files there are, and the texts of those that may say something. Nothing of it is started, no
//! link is followed, and what is too much is left.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use super::data::{SeenFile, look_into_files};
use super::found::Overview;
use super::text::{SourceText, pattern};
use super::watched::WatchedCommand;
use crate::backend::project_paths::has_private_name;
use crate::console::files;
use crate::git::{GitCheckout, GitError};
use crate::grammar::count;
use crate::units::Bytes;

/// Files and folders that are looked at.
const MOST_ENTRIES: usize = 50_000;
/// A notebook holds its pictures too.
const LARGEST_TEXT: Bytes = Bytes(2 * Bytes::MIB);
/// Signs in names, beside letters and digits, that have no meaning to a shell's pattern or a spec.
const PLAIN_SIGNS: &str = "._-+=@ ";

/// What was found below a folder, and what of it was not looked at, as sentences without a capital.
pub(super) fn look(folder: &Path, command: Option<WatchedCommand>) -> (Overview, Vec<String>) {
    let mut notes = Vec::new();
    let seen = walk(folder, &mut notes);
    let known = known_to_git(folder).unwrap_or_else(|error| {
        notes.push(format!("git was not asked which files it tracks: {error}"));
        None
    });
    let mut texts = Vec::from_iter(command.as_ref().map(WatchedCommand::text));
    let mut unread = 0;
    for path in seen.iter().map(|file| &file.path) {
        let file = folder.join(path);
        let is_known = known.as_ref().is_none_or(|known| known.contains(&file));
        let is_text = ["requirements", "says_something"].map(pattern);
        if !is_known || !is_text.iter().any(|one| one.is_match(path)) {
            continue;
        }
        match files::read_text_up_to(&file, LARGEST_TEXT) {
            Ok(text) => texts.push(SourceText {
                path: path.clone(),
                text,
            }),
            Err(_) => unread += 1,
        }
    }
    if unread > 0 {
        notes.push(format!(
            "{unread} files were not read: they are no text, or larger than {LARGEST_TEXT}"
        ));
    }
    let mut found = Overview::of(&texts, &seen);
    let pythons = [".venv", "venv"].map(|at| folder.join(at).join("bin/python"));
    let python = pythons.iter().find(|python| python.is_file());
    found.python = python.map(|python| python.display().to_string());
    if let Some(command) = command {
        notes.push(command.put_into(&mut found, &seen));
        look_into_files(&mut found.data, folder, &seen);
    }
    (found, notes)
}

/// The files that git tracks or would track; `None` without git.
fn known_to_git(folder: &Path) -> Result<Option<HashSet<PathBuf>>, GitError> {
    let Some(checkout) = GitCheckout::find(folder)? else {
        return Ok(None);
    };
    let files = checkout.listed()?.files.into_iter();
    let files = files.map(|file| checkout.root().join(file.path));
    Ok(Some(files.collect()))
}

/// All plain files below a folder with plain names, sorted: data are often what git ignores.
fn walk(folder: &Path, notes: &mut Vec<String>) -> Vec<SeenFile> {
    let mut seen = Vec::new();
    let (mut entries, mut odd) = (0, 0);
    // Level by level, so that what is left is deep.
    let mut pending = VecDeque::from([String::new()]);
    'walk: while let Some(below) = pending.pop_front() {
        let listed = fs::read_dir(folder.join(&below)).into_iter().flatten();
        for entry in listed.flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                notes.push(format!(
                    "only the first {MOST_ENTRIES} files and folders were looked at"
                ));
                break 'walk;
            }
            // The kind is the link's own, not that of what it leads to.
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{below}{name}");
            let is_hidden = name.starts_with('.') && name != ".gitkeep";
            if is_hidden || has_private_name(Path::new(&path)) {
                continue;
            }
            // What stands for bytes that are no text is no plain sign.
            let is_plain = |c: char| c.is_alphanumeric() || PLAIN_SIGNS.contains(c);
            if !name.chars().all(is_plain) {
                odd += 1;
                continue;
            }
            if kind.is_dir() && !pattern("passed_over").is_match(&name) {
                pending.push_back(format!("{path}/"));
            } else if kind.is_file() {
                let bytes = Bytes(entry.metadata().map_or(0, |metadata| metadata.len()));
                seen.push(SeenFile { path, bytes });
            }
        }
    }
    if odd > 0 {
        let names = count(odd, "name");
        notes.push(format!(
            "passed over {names} with other signs than letters, digits and `{PLAIN_SIGNS}`"
        ));
    }
    seen.sort_by(|a, b| a.path.cmp(&b.path));
    seen
}
