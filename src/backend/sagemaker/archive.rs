//! The source of a job as a `sourcedir.tar.gz`: the same files always give the same bytes.
//!
//! Names are sorted, and times, owners and all of a file's mode but whether it can be executed are left out. So an archive
//! is uploaded once, under its hash. Which files are the source is not decided here.

use std::collections::BTreeMap;
use std::io;

use flate2::{Compression, GzBuilder, write::GzEncoder};
use sha2::{Digest, Sha256};

use crate::backend::source::SourceFile;
use crate::outside_error::{OutsideError, OutsideResult};
use crate::units::Bytes;

/// A source is code; what is larger is data that belongs on a channel. Uncompressed.
pub(super) const LARGEST_SOURCE: Bytes = Bytes(Bytes::GIB);

/// A file that canary-gate puts beside the source: the probe, a wrapper script.
#[derive(Debug)]
pub(super) struct OwnFile<'a> {
    /// The name, which lies in no folder.
    pub(super) name: &'a str,
    pub(super) is_executable: bool,
    pub(super) bytes: &'a [u8],
}

/// The name of a source file in an archive and in S3: its path from the source's folder, with `/` between folders.
///
/// # Errors
///
/// When that is not UTF-8.
pub(super) fn name_of(file: &SourceFile) -> OutsideResult<&str> {
    file.name.to_str().ok_or_else(|| {
        OutsideError::of(format!("the name of {} is not UTF-8", file.path.display()))
            .help("rename it")
    })
}

/// Packs files, in whatever order they come.
///
/// # Errors
///
/// For a name that is not UTF-8 or is taken, for a file that cannot be read, and where all is larger than `largest`.
pub(super) fn pack(
    files: &[SourceFile],
    own: &[OwnFile<'_>],
    largest: Bytes,
) -> OutsideResult<Vec<u8>> {
    let mut sorted = BTreeMap::new();
    for file in files {
        sorted.insert(name_of(file)?, Ok(file));
    }
    for one in own {
        let is_taken = |name: &&str| name.split('/').next() == Some(one.name);
        if sorted.keys().any(is_taken) {
            return Err(OutsideError::of(format!("{:?} is in the source", one.name))
                .help("rename the file: canary-gate has one of this name to add"));
        }
        sorted.insert(one.name, Err(one));
    }
    // Neither a time nor a file name nor an operating system.
    let gzip = GzBuilder::new().mtime(0).operating_system(255);
    let gzip = gzip.write(Vec::new(), Compression::default());
    let mut archive = tar::Builder::new(gzip);
    let mut left = largest.0;
    for (name, entry) in sorted {
        let too_large = || {
            OutsideError::of(format!("the source is larger than {largest}, at `{name}`"))
                .help("leave data and models out of `source_dir`: give data as a channel, or let git ignore the files")
        };
        let mut content = Vec::new();
        let is_executable = match entry {
            Ok(file) => {
                file.read(|part| {
                    content.extend_from_slice(part);
                    match content.len() as u64 > left {
                        true => Err(too_large()),
                        false => Ok(()),
                    }
                })?;
                file.is_executable
            }
            Err(own) => {
                content.extend_from_slice(own.bytes);
                own.is_executable
            }
        };
        left = (left.checked_sub(content.len() as u64)).ok_or_else(too_large)?;
        append(&mut archive, name, is_executable, &content)
            .map_err(|source| unpackable(name, source))?;
    }
    let packed = archive.into_inner().and_then(GzEncoder::finish);
    packed.map_err(|source| unpackable("the end", source))
}

pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn append(
    archive: &mut tar::Builder<GzEncoder<Vec<u8>>>,
    name: &str,
    is_executable: bool,
    content: &[u8],
) -> io::Result<()> {
    // A new header has no time, no owner and no names of them.
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Regular);
    header.set_mode(if is_executable { 0o755 } else { 0o644 });
    header.set_mtime(0);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(content.len() as u64);
    archive.append_data(&mut header, name, content)
}

fn unpackable(name: &str, source: io::Error) -> OutsideError {
    OutsideError::io(
        format!("the source cannot be packed, at {name:?}"),
        "rename the file, or let git ignore it",
        source,
    )
}

#[cfg(test)]
mod tests;
