//! What git has stored: blobs, and what it makes of them on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use digest_io::IoWrapper;
use sha2::{Digest, Sha256};

use super::{GitError, process};
use crate::code::{TreeFile, blob_id};

/// A pointer of Git LFS is shorter.
/// <https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>
const LONGEST_POINTER: u64 = 1024;

/// Those of `files`, as a commit has them, that lie on disk as git writes them there: with other line ends, or with the content that a
/// pointer of Git LFS names.
pub(super) fn as_checked_out(
    root: &Path,
    files: &[TreeFile],
) -> Result<BTreeSet<PathBuf>, GitError> {
    let ids = files.iter().map(|file| file.blob.as_str()).collect();
    let pointers = blobs(root, &ids, LONGEST_POINTER)?;
    let with_crlf = with_crlf(root, files)?;
    let is_same = |file: &&TreeFile| {
        let (path, pointer) = (root.join(&file.path), pointers.get(&file.blob));
        pointer.is_some_and(|pointer| is_what_it_says(&path, pointer))
            || with_crlf.contains(file.path.as_path())
                && std::fs::read(path).is_ok_and(|mut content| {
                    let follows: Vec<u8> = content.iter().skip(1).copied().chain([0]).collect();
                    let mut follows = follows.iter();
                    content.retain(|byte| follows.next() != Some(&b'\n') || *byte != b'\r');
                    // Of what has one of these besides Git may leave the line ends as they are.
                    let is_text = !content.iter().any(|byte| matches!(byte, 0 | b'\r'));
                    is_text && blob_id(&file.blob, &content) == file.blob
                })
    };
    let same = files.iter().filter(is_same);
    Ok(same.map(|file| file.path.clone()).collect())
}

/// The paths that git checks out with CRLF, by attribute or by `core.autocrlf`. No filter is started to know.
fn with_crlf(root: &Path, files: &[TreeFile]) -> Result<BTreeSet<PathBuf>, GitError> {
    let paths = files.iter().map(|file| file.path.as_os_str());
    let paths = paths.flat_map(|path| [path.as_encoded_bytes(), b"\0"].concat());
    let ask = ["check-attr", "-z", "--stdin", "eol", "text"];
    let answer = process::answer(root, &ask, &Vec::from_iter(paths))?;
    // It fails where the key is not there, and is neither true nor false where input alone is converted.
    let is_auto = process::text(root, ["config", "--type=bool", "core.autocrlf"]);
    let is_auto = is_auto.is_ok_and(|value| value == "true");
    // Path, `eol`, value, path, `text`, value.
    let answer: Vec<&[u8]> = answer.split(|byte| *byte == 0).collect();
    let said = answer.chunks_exact(6).zip(files);
    let with_crlf = said.filter(|(said, _)| {
        let (eol, text) = (said[2], said[5]);
        text != b"unset" && (eol == b"crlf" || is_auto && eol != b"lf")
    });
    Ok(with_crlf.map(|(_, file)| file.path.clone()).collect())
}

/// The contents of these blobs, without those that are larger than `most` bytes.
pub(super) fn blobs(
    root: &Path,
    ids: &BTreeSet<&str>,
    most: u64,
) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
    let ask = |option: &str, ids: &[&str]| {
        let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
        process::answer(root, &["cat-file", option], lines.as_bytes())
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
    let mut hash = IoWrapper(Sha256::new());
    let mut file = BufReader::with_capacity(1 << 16, File::open(file).ok()?);
    io::copy(&mut file, &mut hash).ok()?;
    let bytes = hash.0.finalize();
    Some(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
