//! What git would store of a file on disk, without the filters that a checkout's configuration names: they are programs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::error::GitError;
use super::process::{self, entries};
use crate::code::TreeFile;

/// A pointer of Git LFS is shorter.
/// <https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>
const LONGEST_POINTER: u64 = 1024;

/// Those of `files`, as a commit has them, that lie on disk as git writes them there: with other line ends, or with the content that a
/// pointer of Git LFS names.
pub(super) fn as_checked_out(
    root: &Path,
    files: &[TreeFile],
) -> Result<BTreeSet<PathBuf>, GitError> {
    if files.is_empty() {
        return Ok(BTreeSet::new());
    }
    let mut git = process::command(root, ["hash-object", "--stdin-paths"]);
    process::without_filters(&mut git, &filters(root)?);
    let names: Vec<u8> = files.iter().flat_map(|file| quoted(&file.path)).collect();
    // One that cannot be read is changed.
    let ids = process::answer(git, "hash-object", &names).unwrap_or_default();
    let ids = String::from_utf8_lossy(&ids);
    let mut ids = ids.lines();
    let (same, other): (Vec<_>, Vec<_>) =
        (files.iter()).partition(|file| ids.next() == Some(&file.blob));
    let of_other = other.iter().map(|file| file.blob.as_str()).collect();
    let pointers = blobs(root, &of_other, LONGEST_POINTER)?;
    let of_lfs = other.into_iter().filter(|file| {
        let pointer = pointers.get(&file.blob);
        pointer.is_some_and(|pointer| is_what_it_says(&root.join(&file.path), pointer))
    });
    Ok(same
        .into_iter()
        .chain(of_lfs)
        .map(|file| file.path.clone())
        .collect())
}

/// The names of all filters that the configuration has.
fn filters(root: &Path) -> Result<BTreeSet<String>, GitError> {
    let arguments = "config --null --name-only --get-regexp ^filter\\.";
    // It fails where there is none.
    let keys = process::run(root, arguments.split(' ')).map_err(GitError::NotStarted)?;
    let name = |key: &[u8]| {
        let key = String::from_utf8_lossy(key);
        let name = key.strip_prefix("filter.")?.rsplit_once('.')?.0;
        Some(name.to_owned())
    };
    Ok(entries(&keys.stdout).filter_map(name).collect())
}

/// A line with a name that git reads as itself, whatever bytes it has.
fn quoted(path: &Path) -> Vec<u8> {
    let mut line = vec![b'"'];
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'"' | b'\\' | 0..=31 | 127.. => line.extend(format!("\\{byte:03o}").bytes()),
            plain => line.push(*plain),
        }
    }
    line.extend(b"\"\n");
    line
}

/// The contents of these blobs, without those that are larger than `most` bytes.
pub(super) fn blobs(
    root: &Path,
    ids: &BTreeSet<&str>,
    most: u64,
) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
    let ask = |option: &str, ids: &[&str]| {
        let command = process::command(root, ["cat-file", option]);
        let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
        process::answer(command, "cat-file", lines.as_bytes())
    };
    let ids: Vec<&str> = ids.iter().copied().collect();
    let listed = ask("--batch-check", &ids)?;
    let listed = String::from_utf8_lossy(&listed);
    // `3f9c… blob 120`
    let small: Vec<&str> = (listed.lines().filter_map(|line| {
        let (about, size) = line.rsplit_once(' ')?;
        let is_small = size.parse::<u64>().is_ok_and(|size| size <= most);
        about.strip_suffix(" blob").filter(|_| is_small)
    }))
    .collect();
    let answer = ask("--batch", &small)?;
    let mut left = answer.as_slice();
    let mut found = BTreeMap::new();
    while let Some(end) = left.iter().position(|byte| *byte == b'\n') {
        let about = String::from_utf8_lossy(&left[..end]).into_owned();
        let size = about.rsplit(' ').next().and_then(|size| size.parse().ok());
        let (Some(id), Some(size)) = (about.split(' ').next(), size) else {
            break;
        };
        let content = &left[end + 1..];
        found.insert(id.to_owned(), content.iter().take(size).copied().collect());
        left = content.get(size + 1..).unwrap_or_default();
    }
    Ok(found)
}

/// Whether `pointer` is one of Git LFS, and the file on disk has the content that it names.
fn is_what_it_says(file: &Path, pointer: &[u8]) -> bool {
    let pointer = String::from_utf8_lossy(pointer);
    let value = |key: &str| pointer.lines().find_map(|line| line.strip_prefix(key));
    let is_pointer = pointer.starts_with("version https://git-lfs.github.com/spec/");
    let (Some(digest), Some(size), true) = (value("oid sha256:"), value("size "), is_pointer)
    else {
        return false;
    };
    let is_file = file
        .symlink_metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.len().to_string() == size);
    is_file && digest_of(file).is_some_and(|found| found == digest)
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
