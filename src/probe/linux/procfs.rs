//! Reads `/proc` often and cheaply: one system call for most files.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::units::Bytes;

/// The whole of `/proc/PID/NAME`. An error is normal: a process may end at any time.
pub(super) fn process(pid: i32, name: &str) -> io::Result<Vec<u8>> {
    file(format!("/proc/{pid}/{name}"))
}

/// The whole of one small kernel file.
pub(super) fn file(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(8192);
    // As a part of itself, since a file as such is asked for its length first.
    File::open(path)?.take(u64::MAX).read_to_end(&mut text)?;
    Ok(text)
}

/// The first word after `key` at the start of a line, e.g. the number of `VmHWM:     120 kB`.
pub(super) fn field<'a>(text: &'a [u8], key: &[u8]) -> Option<&'a str> {
    let rest = text
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.strip_prefix(key))
        // `total_rss` is not `total_rss_huge`.
        .find(|rest| key.ends_with(b":") || rest.first().is_some_and(u8::is_ascii_whitespace))?;
    str::from_utf8(rest).ok()?.split_ascii_whitespace().next()
}

/// The number after `key`.
pub(super) fn number(text: &[u8], key: &[u8]) -> Option<u64> {
    field(text, key)?.parse().ok()
}

/// The size after `key`, which the file has in `kB` (KiB).
pub(super) fn size(text: &[u8], key: &[u8]) -> Option<Bytes> {
    number(text, key)?.checked_mul(Bytes::KIB).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = b"total_rss_huge 7\ntotal_rss 41\nVmHWM:\t     120 kB\n";
        assert_eq!(number(text, b"total_rss"), Some(41));
        assert_eq!(size(text, b"VmHWM:"), Some(Bytes(122_880)));
        assert_eq!(number(text, b"rss"), None);
        assert_eq!(number(text, b"total"), None);
    }

    #[test]
    fn a_file_longer_than_the_buffer_is_read_whole() {
        let mut long = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut long, &vec![b'x'; 20_000]).unwrap();
        assert_eq!(file(long.path()).unwrap().len(), 20_000);
        assert!(process(-1, "stat").is_err());
    }
}
