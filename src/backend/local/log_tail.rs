//! The end of what a host printed, for the job log and for the words of a failure.

use crate::secret::{CutAt, SecretMask};

/// How much of the end of each output stream is kept. A script may print gigabytes.
pub(super) const LOG_BYTES: usize = 1024 * 1024;
/// A longer line is cut, but in the file of the log.
const LINE_BYTES: usize = 4096;

/// The end of what a host printed on standard output and standard error, without secrets, and where that was cut.
#[derive(Debug)]
pub(super) struct LogTail([(String, CutAt); 2]);

impl LogTail {
    /// As it was read: bytes that are not UTF-8 become replacement characters.
    pub(super) fn of(streams: [&[u8]; 2], secrets: &SecretMask) -> Self {
        Self(streams.map(|bytes| {
            let cut = match bytes.len() >= LOG_BYTES {
                true => CutAt::Start,
                false => CutAt::Nowhere,
            };
            let end = &bytes[bytes.len().saturating_sub(LOG_BYTES)..];
            (secrets.mask_part(&String::from_utf8_lossy(end), cut), cut)
        }))
    }

    fn named(&self) -> impl Iterator<Item = (&str, &(String, CutAt))> {
        ["stdout", "stderr"].into_iter().zip(&self.0)
    }

    /// The lines of both streams as far as they are kept, one stream after the other.
    pub(super) fn all(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, (text, cut)) in self.named() {
            if *cut == CutAt::Start {
                let kept = LOG_BYTES / 1024;
                lines.push(format!("{name}: (the last {kept} KiB)"));
            }
            lines.extend(text.lines().map(|line| format!("{name}: {line}")));
        }
        lines
    }

    /// The last line that is not blank, of standard error before standard output: Python flushes what it printed after
    /// its traceback.
    pub(super) fn last_line(&self) -> Option<String> {
        self.0.iter().rev().find_map(|(text, _)| {
            let mut lines = text.lines().rev().map(str::trim);
            Some(shortened(lines.find(|line| !line.is_empty())?))
        })
    }

    /// The last lines of both streams, at most so many of each.
    pub(super) fn lines(&self, most: [usize; 2]) -> Vec<String> {
        let mut lines = Vec::new();
        for ((name, (text, _)), most) in self.named().zip(most) {
            let all: Vec<&str> = text.lines().collect();
            let last = all[all.len().saturating_sub(most)..].iter();
            lines.extend(last.map(|line| format!("{name}: {}", shortened(line))));
        }
        lines
    }

    /// Whether the text stands in what is kept.
    pub(super) fn mentions(&self, text: &str) -> bool {
        self.0.iter().any(|(kept, _)| kept.contains(text))
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(LINE_BYTES).collect()
}
