//! The source of a job as a `sourcedir.tar.gz`: the same files always give the same bytes.
//!
//! Names are sorted, and times, owners and all of a file's mode but whether it can be executed are left out. So an archive
//! is uploaded once, under its hash. Which files are the source is not decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use flate2::{Compression, GzBuilder, read::GzDecoder, write::GzEncoder};
use sha2::{Digest, Sha256};

use crate::backend::BackendError;
use crate::backend::source::SourceFile;
use crate::units::Bytes;

/// A source is code; what is larger is data that belongs on a channel. Uncompressed.
const LARGEST_SOURCE: Bytes = Bytes(Bytes::GIB);

/// One file of an archive.
#[derive(Debug, Clone)]
pub(super) struct ArchiveEntry {
    /// From the archive's root, with `/` between folders.
    pub(super) name: String,
    pub(super) executable: bool,
    pub(super) content: ArchivedContent,
}

impl ArchiveEntry {
    /// A file of the source; its name in the archive is its path from the source's folder.
    ///
    /// # Errors
    ///
    /// When that is not UTF-8.
    pub(super) fn of_file(file: SourceFile) -> Result<Self, BackendError> {
        let name = file.name.to_str().ok_or_else(|| {
            BackendError::new(
                format!("the name of {} is not UTF-8", file.path.display()),
                "rename it",
            )
        })?;
        Ok(Self {
            name: name.to_owned(),
            executable: file.is_executable,
            content: ArchivedContent::File(file),
        })
    }

    /// A file that is in no folder: a wrapper script, the probe.
    pub(super) fn of_bytes(name: impl Into<String>, executable: bool, bytes: Vec<u8>) -> Self {
        Self {
            name: name.into(),
            executable,
            content: ArchivedContent::Bytes(bytes),
        }
    }
}

/// Where a file's bytes come from.
#[derive(Debug, Clone)]
pub(super) enum ArchivedContent {
    /// Read when it is packed.
    File(SourceFile),
    Bytes(Vec<u8>),
}

/// An archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Packed {
    pub(super) bytes: Vec<u8>,
    /// Of `bytes`.
    pub(super) sha256_hex: String,
}

/// Packs files, in whatever order they come.
///
/// # Errors
///
/// For a name that is not a plain relative path or is taken, for a file that cannot be read, and above 1 GiB uncompressed.
pub(super) fn pack(
    entries: impl IntoIterator<Item = ArchiveEntry>,
) -> Result<Packed, BackendError> {
    pack_within(LARGEST_SOURCE, entries)
}

/// The files of an archive of ours, with their contents.
///
/// # Errors
///
/// When it is not one.
pub(super) fn unpack(packed: &Packed) -> Result<Vec<(String, Vec<u8>)>, BackendError> {
    let read = || -> io::Result<Vec<(String, Vec<u8>)>> {
        let mut archive = tar::Archive::new(GzDecoder::new(packed.bytes.as_slice()));
        let mut files = Vec::new();
        for entry in archive.entries()? {
            let mut entry = entry?;
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            files.push((name, content));
        }
        Ok(files)
    };
    read().map_err(|source| unpackable("the end", source))
}

fn pack_within(
    largest: Bytes,
    entries: impl IntoIterator<Item = ArchiveEntry>,
) -> Result<Packed, BackendError> {
    let mut sorted = BTreeMap::new();
    for entry in entries {
        check_name(&entry.name)?;
        let name = entry.name.clone();
        if sorted.insert(name.clone(), entry).is_some() {
            return Err(taken(&name, "occurs twice"));
        }
    }
    check_folders(&sorted)?;
    // Neither a time nor a file name nor an operating system.
    let gzip = GzBuilder::new()
        .mtime(0)
        .operating_system(255)
        .write(Vec::new(), Compression::default());
    let mut archive = tar::Builder::new(gzip);
    let mut left = largest.0;
    for (name, entry) in sorted {
        let content = read(entry.content, left)?.ok_or_else(|| {
            BackendError::new(
                format!("the source is larger than {largest}, at `{name}`"),
                "leave data and models out of `source_dir`: give data as a channel, or let git ignore the files",
            )
        })?;
        left -= content.len() as u64;
        append(&mut archive, &name, entry.executable, &content)
            .map_err(|source| unpackable(&name, source))?;
    }
    let bytes = archive
        .into_inner()
        .and_then(GzEncoder::finish)
        .map_err(|source| unpackable("the end", source))?;
    let digest = Sha256::digest(&bytes);
    let sha256_hex = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Packed { bytes, sha256_hex })
}

fn append(
    archive: &mut tar::Builder<GzEncoder<Vec<u8>>>,
    name: &str,
    executable: bool,
    content: &[u8],
) -> io::Result<()> {
    // A new header has no time, no owner and no names of them.
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(if executable { 0o755 } else { 0o644 });
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(content.len() as u64);
    archive.append_data(&mut header, name, content)
}

/// A file's bytes; `None` when there are more than `most`.
fn read(content: ArchivedContent, most: u64) -> Result<Option<Vec<u8>>, BackendError> {
    let bytes = match content {
        ArchivedContent::Bytes(bytes) => bytes,
        ArchivedContent::File(file) => {
            let mut bytes = Vec::new();
            let size = file.path.metadata().map_or(0, |metadata| metadata.len());
            if size > most {
                return Ok(None);
            }
            file.read(|part| {
                bytes.extend_from_slice(part);
                Ok(())
            })?;
            bytes
        }
    };
    Ok((bytes.len() as u64 <= most).then_some(bytes))
}

/// Unpacking it must not lead out of the folder.
fn check_name(name: &str) -> Result<(), BackendError> {
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    if name.split('/').all(plain) && !name.contains('\0') {
        return Ok(());
    }
    Err(BackendError::new(
        format!("{name:?} cannot be the name of a source file"),
        "keep the source inside its folder; names are relative, without `.` and `..`",
    ))
}

/// A name cannot be a file and the folder of another.
fn check_folders(entries: &BTreeMap<String, ArchiveEntry>) -> Result<(), BackendError> {
    let folders: BTreeSet<&str> = entries
        .keys()
        .flat_map(|name| name.match_indices('/').map(|(at, _)| &name[..at]))
        .collect();
    match entries.keys().find(|name| folders.contains(name.as_str())) {
        Some(name) => Err(taken(name, "is a file and a folder")),
        None => Ok(()),
    }
}

fn taken(name: &str, how: &str) -> BackendError {
    BackendError::new(
        format!("{name:?} {how} in the source"),
        "rename the file: canary-gate may have one of this name to add",
    )
}

fn unpackable(name: &str, source: io::Error) -> BackendError {
    BackendError::io(
        format!("the source cannot be packed, at {name:?}"),
        "rename the file, or let git ignore it",
        source,
    )
}

#[cfg(test)]
mod tests;
