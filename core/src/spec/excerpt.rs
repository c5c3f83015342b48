//! The lines of a file around a problem, cropped and cleaned so that a hostile or endless line does no harm.

use std::ops::Range;

use miette::SourceSpan;

use super::FilePosition;

/// A file with the offsets of its lines.
pub(super) struct NumberedLines<'a> {
    bytes: &'a [u8],
    /// The offset of each line's first byte; never empty.
    starts: Vec<usize>,
}

/// The line of a problem and the one before, cropped for a terminal.
pub(super) struct View {
    pub(super) text: String,
    /// In bytes of `text`.
    pub(super) span: SourceSpan,
    /// From 0.
    pub(super) first_line: usize,
    /// Columns before the label, roughly.
    indent: usize,
}

impl View {
    /// How wide the label may be in a terminal of `width` columns.
    pub(super) fn label_width(&self, width: usize) -> usize {
        width.saturating_sub(self.indent).max(30)
    }
}

impl<'a> NumberedLines<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let newlines = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        let starts = std::iter::once(0)
            .chain(newlines.map(|(index, _)| index + 1))
            .collect();
        Self { bytes, starts }
    }

    /// The index of the line that holds an offset.
    fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|start| *start <= offset) - 1
    }

    /// The bytes of a line without its end.
    fn line(&self, index: usize) -> Range<usize> {
        let start = self.starts[index];
        let mut end = match self.starts.get(index + 1) {
            Some(next) => next - 1,
            None => self.bytes.len(),
        };
        if end > start && self.bytes[end - 1] == b'\r' {
            end -= 1;
        }
        start..end
    }

    fn text(&self, range: Range<usize>) -> String {
        String::from_utf8_lossy(&self.bytes[range]).into_owned()
    }

    /// Line and column of an offset; columns count characters.
    pub(super) fn place(&self, offset: usize) -> FilePosition {
        let offset = offset.min(self.bytes.len());
        let line = self.line_of(offset);
        let column = self.text(self.starts[line]..offset).chars().count();
        let from_one = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
        FilePosition {
            line: from_one(line),
            column: from_one(column),
        }
    }

    /// The line of a span and the one before, cropped to the same columns, which fit a terminal of `width` columns and show the
    /// problem. Only the span's first line is underlined.
    pub(super) fn view(&self, span: &Range<usize>, width: usize) -> View {
        let start = span.start.min(self.bytes.len());
        let number = self.line_of(start);
        let line = self.line(number);
        let start = start.min(line.end);
        let end = span.end.clamp(start, line.end);
        let cells =
            |bytes: Range<usize>| -> Vec<char> { self.text(bytes).chars().map(visible).collect() };
        let mut whole = cells(line.start..start);
        let from = whole.len();
        whole.extend(cells(start..end));
        let to = whole.len();
        whole.extend(cells(end..line.end));
        // An empty span is drawn as one cell.
        if from == whole.len() {
            whole.push(' ');
        }
        // Line number, bar and margins.
        let gutter = (number + 1).to_string().len() + 4;
        let room = width.saturating_sub(gutter).max(40);
        let shift = if whole.len() <= room {
            0
        } else {
            from.saturating_sub(room / 3)
        };
        let crop = |line: &[char]| {
            let mut shown: Vec<char> = line.iter().copied().skip(shift).take(room).collect();
            if shift > 0 && !shown.is_empty() {
                shown[0] = '…';
            }
            if line.len() > shift + room {
                shown[room - 1] = '…';
            }
            shown
        };
        let before = number.checked_sub(1).map(|above| cells(self.line(above)));
        let before = before.filter(|line| line.iter().any(|c| *c != ' '));
        let shown = crop(&whole);
        let start = from - shift;
        let end = (to - shift).max(start + 1).min(shown.len());
        let bytes = |cells: &[char]| cells.iter().map(|c| c.len_utf8()).sum::<usize>();
        let mut text = String::new();
        if let Some(before) = &before {
            text.extend(crop(before));
            text.push('\n');
        }
        let offset = text.len() + bytes(&shown[..start]);
        let length = bytes(&shown[start..end]);
        text.extend(shown);
        View {
            text,
            span: (offset, length).into(),
            first_line: number - usize::from(before.is_some()),
            indent: gutter + start + (end - start) / 2 + 4,
        }
    }
}

/// Text without control characters.
pub(super) fn clean(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// A picture of a control character; the replacement character for one that moves or hides text.
fn visible(c: char) -> char {
    match c {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{80}'..='\u{9f}'
        | '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => '\u{fffd}',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let lines = NumberedLines::of("a: 1\nüb: 2\r\n".as_bytes());
        assert_eq!(lines.place(0), FilePosition { line: 1, column: 1 });
        assert_eq!(lines.place(7), FilePosition { line: 2, column: 2 });
        assert_eq!(lines.place(9999), FilePosition { line: 3, column: 1 });
    }

    #[test]
    fn every_span_of_every_text_has_a_view() {
        for text in [
            "",
            "a",
            "\n",
            "a\n\nb\r\n",
            "ü: ß",
            "\u{feff}a",
            &"long ".repeat(300),
        ] {
            let bytes = text.as_bytes();
            let lines = NumberedLines::of(bytes);
            for start in 0..bytes.len() + 2 {
                for length in [0, 1, 2, 500] {
                    let view = lines.view(&(start..start + length), 60);
                    let end = view.span.offset() + view.span.len();
                    assert!(
                        !view.span.is_empty() && end <= view.text.len(),
                        "{text:?} {start}"
                    );
                }
            }
        }
    }
}
