//! The work tree against a commit, without the filters that a checkout's configuration names: they are programs.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::error::GitError;
use super::process;

/// The mode of a submodule in an index.
const SUBMODULE: &str = "160000 ";
/// Submodules within submodules are followed this far.
const DEEPEST: u32 = 8;
/// A pointer of Git LFS is shorter.
/// <https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>
const LONGEST_POINTER: usize = 1024;

/// The tracked paths whose content on disk differs from that of the commit `fork`.
///
/// A file of Git LFS is compared with what its pointer says of it. One of any other filter is compared as it lies on disk: where
/// git has not seen it since it was written, it counts as changed.
pub(super) fn changed_since(root: &Path, fork: &str) -> Result<Vec<String>, GitError> {
    let mut filters = BTreeSet::new();
    collect_filters(root, &mut filters, 0)?;
    let arguments = [
        "diff",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--no-ext-diff",
        // What `.gitmodules` says of it is the change's own.
        "--ignore-submodules=none",
        "-z",
        fork,
        "--",
    ];
    let mut git = process::command(root, arguments);
    process::without_filters(&mut git, &filters);
    let listed = process::names(&process::output(git, &arguments)?);
    let mut changed = Vec::new();
    // `:100644 100644 3f9c… 0000… M`, then the path.
    for entry in listed.chunks(2) {
        let [about, path] = entry else { continue };
        let old = about.split(' ').nth(2).unwrap_or_default();
        if filters.is_empty() || !is_what_its_pointer_says(root, old, path) {
            changed.push(path.clone());
        }
    }
    Ok(changed)
}

/// The names of all filters that a checkout and its submodules know.
fn collect_filters(
    folder: &Path,
    filters: &mut BTreeSet<String>,
    depth: u32,
) -> Result<(), GitError> {
    let arguments = [
        "config",
        "--null",
        "--name-only",
        "--get-regexp",
        r"^filter\.",
    ];
    // It fails where there is none.
    let keys = process::run(folder, arguments).map_err(GitError::NotStarted)?;
    for key in process::names(&keys.stdout) {
        let name = key
            .strip_prefix("filter.")
            .and_then(|key| key.rsplit_once('.'));
        filters.extend(name.map(|(name, _)| name.to_owned()));
    }
    if depth == DEEPEST {
        return Ok(());
    }
    for entry in process::paths(folder, ["ls-files", "--stage", "-z"])? {
        let Some((about, path)) = entry.split_once('\t') else {
            continue;
        };
        let submodule = folder.join(path);
        if about.starts_with(SUBMODULE) && submodule.join(".git").exists() {
            collect_filters(&submodule, filters, depth + 1)?;
        }
    }
    Ok(())
}

/// Whether the blob is a pointer of Git LFS, and the file on disk has the content that it names.
fn is_what_its_pointer_says(root: &Path, blob: &str, path: &str) -> bool {
    let size = process::text(root, ["cat-file", "-s", blob]);
    let size: Option<usize> = size.ok().and_then(|size| size.parse().ok());
    if size.is_none_or(|size| size > LONGEST_POINTER) {
        return false;
    }
    let Ok(pointer) = process::text(root, ["cat-file", "blob", blob]) else {
        return false;
    };
    let value = |key: &str| pointer.lines().find_map(|line| line.strip_prefix(key));
    let is_pointer = pointer.starts_with("version https://git-lfs.github.com/spec/");
    let (Some(digest), Some(size), true) = (value("oid sha256:"), value("size "), is_pointer)
    else {
        return false;
    };
    let file = root.join(path);
    let is_file = file
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.len().to_string() == size);
    is_file && digest_of(&file).is_some_and(|found| found == digest)
}

fn digest_of(file: &Path) -> Option<String> {
    let mut file = File::open(file).ok()?;
    let mut hash = Sha256::new();
    let mut chunk = vec![0; 1 << 16];
    loop {
        match file.read(&mut chunk).ok()? {
            0 => break,
            count => hash.update(&chunk[..count]),
        }
    }
    let bytes = hash.finalize();
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
