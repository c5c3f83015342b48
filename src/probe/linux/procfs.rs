//! Reads `/proc` often and cheaply: one buffer for all files, one system call for most.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads small kernel files into one reused buffer.
#[derive(Default)]
pub(super) struct KernelFileReader(Vec<u8>);

impl KernelFileReader {
    /// The whole of `/proc/PID/NAME`. An error is normal: a process may end at any time.
    pub(super) fn process(&mut self, pid: i32, name: &str) -> io::Result<&[u8]> {
        self.file(format!("/proc/{pid}/{name}"))
    }

    /// The whole of one file.
    pub(super) fn file(&mut self, path: impl AsRef<Path>) -> io::Result<&[u8]> {
        self.0.clear();
        self.0.reserve(8192);
        // As a part of itself, since a file as such is asked for its length first.
        let file = File::open(path)?;
        file.take(u64::MAX).read_to_end(&mut self.0)?;
        Ok(&self.0)
    }
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

/// The number after `key`, converted from the file's `kB` (KiB) to bytes.
pub(super) fn kibibytes(text: &[u8], key: &[u8]) -> Option<f64> {
    Some(field(text, key)?.parse::<f64>().ok()? * 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_by_its_whole_name() {
        let text = b"total_rss_huge 7\ntotal_rss 41\nVmHWM:\t     120 kB\n";
        assert_eq!(number(text, b"total_rss"), Some(41));
        assert_eq!(kibibytes(text, b"VmHWM:"), Some(122_880.0));
        assert_eq!(number(text, b"rss"), None);
        assert_eq!(number(text, b"total"), None);
    }

    #[test]
    fn a_file_longer_than_the_buffer_is_read_whole() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        std::io::Write::write_all(&mut file, &vec![b'x'; 20_000]).unwrap();
        let mut reader = KernelFileReader::default();
        assert_eq!(reader.file(file.path()).unwrap().len(), 20_000);
        assert!(reader.process(-1, "stat").is_err());
    }
}
