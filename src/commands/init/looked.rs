//! The look at a checkout: which files there are, and the texts of those that may say something. Nothing of it is started, no
//! link is followed, and what is too much is left.

use std::fs;
use std::path::Path;

use super::data::SeenFile;
use super::found::{Overview, SourceText, says_something};
use crate::backend::project_paths::has_private_name;
use crate::console::files;
use crate::git;
use crate::units::Bytes;

/// Files and folders that are looked at.
const MOST_ENTRIES: usize = 50_000;
const DEEPEST: usize = 12;
const MOST_TEXTS: usize = 2_000;
const LARGEST_TEXT: Bytes = Bytes(1 << 20);
/// A notebook holds its pictures too.
const LARGEST_NOTEBOOK: Bytes = Bytes(8 << 20);
const LARGEST_TEXTS: u64 = 64 << 20;
/// Folders of packages, of builds, and of what trainings leave.
const PASSED_OVER: &str = "\
    node_modules venv env site-packages __pycache__ build dist target wandb mlruns \
    lightning_logs checkpoints outputs";

/// What was found below a folder, and what of it was not looked at, as sentences without a capital.
pub(super) fn look(folder: &Path) -> (Overview, Vec<String>) {
    let mut notes = Vec::new();
    let seen = walk(folder, &mut notes);
    let code = known_to_git(folder, &mut notes)
        .unwrap_or_else(|| seen.iter().map(|file| file.path.clone()).collect());
    let mut texts = Vec::new();
    let mut left = LARGEST_TEXTS;
    let (mut too_many, mut unreadable) = (0, 0);
    for path in code.iter().filter(|path| says_something(path)) {
        let limit = if path.ends_with(".ipynb") {
            LARGEST_NOTEBOOK
        } else {
            LARGEST_TEXT
        };
        let Some(bytes) = plain_size(folder, path) else {
            continue;
        };
        if texts.len() >= MOST_TEXTS || bytes > left {
            too_many += 1;
            continue;
        }
        match files::read_text_up_to(&folder.join(path), limit) {
            Ok(text) => {
                left -= bytes.min(left);
                let path = path.clone();
                texts.push(SourceText { path, text });
            }
            Err(_) => unreadable += 1,
        }
    }
    if too_many > 0 {
        notes.push(format!(
            "{too_many} files were not read, since there are too many"
        ));
    }
    if unreadable > 0 {
        notes.push(format!(
            "{unreadable} files were not read: they are no text, or larger than {LARGEST_TEXT}"
        ));
    }
    (Overview::of(&texts, &seen), notes)
}

/// The size of a file that is no link and lies below the folder; `None` for all else.
fn plain_size(folder: &Path, path: &str) -> Option<u64> {
    let file = folder.join(path);
    let metadata = file.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
    // A folder on the way may be a link that git has not seen yet.
    let real = file.canonicalize().ok()?;
    real.starts_with(folder).then_some(metadata.len())
}

/// The files below a folder that git tracks or would track, relative to it; `None` without git.
fn known_to_git(folder: &Path, notes: &mut Vec<String>) -> Option<Vec<String>> {
    let known = git::GitCheckout::find(folder).and_then(|checkout| match checkout {
        Some(checkout) => Ok(Some((checkout.listed()?.files, checkout.root().to_owned()))),
        None => Ok(None),
    });
    match known {
        Ok(None) => None,
        Ok(Some((all, root))) => {
            let files = all.into_iter().filter_map(|file| {
                let path = root.join(file.path);
                path.symlink_metadata().ok()?;
                path.strip_prefix(folder).ok()?.to_str().map(str::to_owned)
            });
            Some(
                files
                    .filter(|file| !has_private_name(Path::new(file)))
                    .take(MOST_ENTRIES)
                    .collect(),
            )
        }
        Err(error) => {
            notes.push(format!("git was not asked which files it tracks: {error}"));
            None
        }
    }
}

/// All plain files below a folder, sorted: data are often what git ignores.
fn walk(folder: &Path, notes: &mut Vec<String>) -> Vec<SeenFile> {
    let mut seen = Vec::new();
    let mut pending = std::collections::VecDeque::from([(String::new(), 0)]);
    let mut entries = 0;
    // Level by level, so that what is left is deep.
    while let Some((below, depth)) = pending.pop_front() {
        let Ok(listed) = fs::read_dir(folder.join(&below)) else {
            continue;
        };
        for entry in listed.flatten() {
            entries += 1;
            if entries > MOST_ENTRIES {
                notes.push(format!(
                    "only the first {MOST_ENTRIES} files and folders were looked at"
                ));
                seen.sort_by(|a: &SeenFile, b: &SeenFile| a.path.cmp(&b.path));
                return seen;
            }
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = if below.is_empty() {
                name.clone()
            } else {
                format!("{below}/{name}")
            };
            if name.starts_with('.') || has_private_name(Path::new(&path)) {
                continue;
            }
            // Of a link it is the link's own.
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            if kind.is_dir()
                && depth < DEEPEST
                && !PASSED_OVER.split(' ').any(|known| known == name)
            {
                pending.push_back((path, depth + 1));
            } else if kind.is_file() {
                let bytes = entry.metadata().map_or(0, |metadata| metadata.len());
                seen.push(SeenFile {
                    path,
                    bytes: Bytes(bytes),
                });
            }
        }
    }
    seen.sort_by(|a, b| a.path.cmp(&b.path));
    seen
}
