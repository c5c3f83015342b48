//! Where a record of CSV ends, and what the first ones say of the others. Lines are records without quotes.

use std::ops::Range;

/// Where a record begins.
const START: RecordState = RecordState::FieldStart;
/// Spreadsheets begin a file with it; behind it a quote opens a field.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// How fields are parted and quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Dialect {
    /// Absent where a record is one field.
    delimiter: Option<u8>,
    quotes: Quotes,
    /// How many fields a record may have: those of the header, and those of the first record.
    pub(super) fields: [usize; 2],
}

/// What a quote means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    /// It opens and closes a field, and is doubled in one.
    Strict,
    /// The same; within a field it is a character.
    Lenient,
    /// It is a character.
    Literal,
}

/// Where in a record a byte stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordState {
    FieldStart,
    Plain,
    Quoted,
    AfterQuote,
}

/// A record that was read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordEnd {
    /// Where the next record begins.
    pub(super) next: usize,
    pub(super) fields: usize,
}

/// Why a record, or the rows that begin in a block, are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unread {
    /// The last one goes on beyond these bytes; so many before it are whole.
    GoesOn { whole: usize },
    /// A quote stands where none can, or they are no rows of this file, or may be read in two ways.
    Wrong,
}

/// A record that goes on beyond these bytes.
const GOES_ON: Unread = Unread::GoesOn { whole: 0 };

/// The end of the blank lines at the beginning: readers pass over them.
fn blank_lines(bytes: &[u8]) -> usize {
    let is_blank = |byte: &&u8| matches!(byte, b'\n' | b'\r');
    bytes.iter().take_while(is_blank).count()
}

/// Whether nothing stands there but blank lines.
pub(super) fn is_blank(bytes: &[u8]) -> bool {
    blank_lines(bytes) == bytes.len()
}

impl Dialect {
    /// Each line is a row.
    pub(super) const LINES: Self = Self {
        delimiter: None,
        quotes: Quotes::Literal,
        fields: [1; 2],
    };

    /// By the beginning of a file, with the end of the header; a UTF-8 mark and blank lines before it
    /// belong to it. `is_end`: it is the whole file.
    /// `None`: the header goes on, or a quote of the first row has not closed, without which nobody knows what quotes mean.
    pub(super) fn of_beginning(
        bytes: &[u8],
        is_end: bool,
        prefers_tabs: bool,
    ) -> Option<(Self, usize)> {
        let mark = match bytes.starts_with(UTF8_MARK) {
            true => UTF8_MARK.len(),
            false => 0,
        };
        let blank = mark + blank_lines(&bytes[mark..]);
        let bytes = &bytes[blank..];
        let with = |quotes, delimiter| Self {
            delimiter,
            quotes,
            fields: [1; 2],
        };
        let first = |dialect: Self, bytes: &[u8]| dialect.record(bytes, START, is_end);
        let by_header = |quotes| {
            let fields =
                |byte: u8| first(with(quotes, Some(byte)), bytes).map_or(1, |it| it.fields);
            let most = b"|\t;,".iter().copied().max_by_key(|byte| {
                let is_preferred = prefers_tabs && *byte == b'\t' && fields(b'\t') > 1;
                (is_preferred, fields(*byte))
            });
            with(quotes, most.filter(|byte| fields(*byte) > 1))
        };
        let strict = by_header(Quotes::Strict);
        let rows = &bytes[first(strict, bytes).map_or(0, |header| header.next)..];
        if !is_end && rows.contains(&b'"') && first(strict, rows) == Err(GOES_ON) {
            return None;
        }
        let all = [Quotes::Strict, Quotes::Lenient, Quotes::Literal].into_iter();
        let possible: Vec<_> = all
            .filter_map(|quotes| {
                let mut dialect = by_header(quotes);
                let header = first(dialect, bytes).ok()?;
                let row = first(dialect, &bytes[header.next..]).unwrap_or(header);
                dialect.fields = [header.fields, row.fields];
                Some((dialect, header.next))
            })
            .collect();
        let fits = |(dialect, header): &&(Self, usize)| {
            let rows = &bytes[*header..];
            match dialect.rows(rows, None, rows.len(), is_end) {
                Ok(_) => true,
                Err(Unread::GoesOn { whole }) => whole > 0 && !is_end,
                Err(Unread::Wrong) => false,
            }
        };
        let found = possible.iter().find(fits).or(possible.first());
        found.map(|(dialect, header)| (*dialect, blank + header))
    }

    /// The names in a header; none where one of them is a number, since then it is no header.
    pub(super) fn names(&self, header: &[u8]) -> Vec<String> {
        let text = String::from_utf8_lossy(header);
        let is_between = |one: char| self.delimiter.is_some_and(|byte| one == char::from(byte));
        let names = text.trim_start_matches('\u{feff}').trim().split(is_between);
        let names: Vec<String> = names
            .map(|name| name.trim().trim_matches('"').to_owned())
            .collect();
        match names.iter().any(|name| name.parse::<f64>().is_ok()) {
            true => Vec::new(),
            false => names,
        }
    }

    /// Whether where it stands decides what a line end means.
    pub(super) fn has_quotes(&self) -> bool {
        self.quotes != Quotes::Literal
    }

    /// The same where it is known what stands in quotes: a stray quote is a character.
    pub(super) fn at_known_place(self) -> Self {
        match self.quotes {
            Quotes::Strict => Self {
                quotes: Quotes::Lenient,
                ..self
            },
            Quotes::Lenient | Quotes::Literal => self,
        }
    }

    /// A blank line is as good as a row.
    fn is_row(&self, fields: usize, record: &[u8]) -> bool {
        self.fields.contains(&fields) || matches!(record, b"\n" | b"\r\n")
    }

    /// Reads to the end of a record. `is_end`: with the bytes the file ends.
    pub(super) fn record(
        &self,
        bytes: &[u8],
        mut state: RecordState,
        is_end: bool,
    ) -> Result<RecordEnd, Unread> {
        let mut fields = 1;
        let ends = |next, fields| Ok(RecordEnd { next, fields });
        if self.delimiter.is_none() && !self.has_quotes() {
            return match bytes.iter().position(|byte| *byte == b'\n') {
                Some(end) => ends(end + 1, fields),
                None if is_end && !bytes.is_empty() => ends(bytes.len(), fields),
                None => Err(GOES_ON),
            };
        }
        for (index, &byte) in bytes.iter().enumerate() {
            let is_quote = byte == b'"' && self.has_quotes();
            state = match state {
                RecordState::Quoted if byte == b'"' => RecordState::AfterQuote,
                RecordState::Quoted => RecordState::Quoted,
                RecordState::AfterQuote if byte == b'"' => RecordState::Quoted,
                _ if byte == b'\n' => return ends(index + 1, fields),
                _ if Some(byte) == self.delimiter => {
                    fields += 1;
                    RecordState::FieldStart
                }
                RecordState::FieldStart if is_quote => RecordState::Quoted,
                RecordState::AfterQuote if byte == b'\r' => RecordState::AfterQuote,
                RecordState::AfterQuote | RecordState::Plain
                    if self.quotes == Quotes::Strict
                        && (is_quote || state != RecordState::Plain) =>
                {
                    return Err(Unread::Wrong);
                }
                _ => RecordState::Plain,
            };
        }
        match is_end && !bytes.is_empty() && state != RecordState::Quoted {
            true => ends(bytes.len(), fields),
            false => Err(GOES_ON),
        }
    }

    /// The rows that begin before `border`. `before` is the state of the first byte, with which none begins; without one the
    /// first byte begins a row.
    pub(super) fn rows(
        &self,
        bytes: &[u8],
        before: Option<RecordState>,
        border: usize,
        is_end: bool,
    ) -> Result<Range<usize>, Unread> {
        let start = match before.map(|state| self.record(bytes, state, is_end)) {
            None => 0,
            Some(Ok(before)) => before.next,
            Some(Err(GOES_ON)) if bytes.len() >= border => return Ok(0..0),
            Some(Err(unread)) => return Err(unread),
        };
        let (mut at, mut whole) = (start, 0);
        while at < border && !(is_end && at == bytes.len()) {
            match self.record(&bytes[at..], START, is_end) {
                Ok(row) if self.is_row(row.fields, &bytes[at..at + row.next]) => {
                    at += row.next;
                    whole += 1;
                }
                Err(Unread::GoesOn { .. }) => return Err(Unread::GoesOn { whole }),
                Ok(_) | Err(Unread::Wrong) => return Err(Unread::Wrong),
            }
        }
        Ok(start..at)
    }

    /// The rows that begin in a block: after the first of these bytes, which is the last before the block, and before `border`.
    ///
    /// Whether the first byte lies in quotes is not known. Read the wrong way, a block's rows lack fields and its quotes stand in
    /// wrong places. A block that can be read both ways, or neither, is left.
    pub(super) fn block(
        &self,
        bytes: &[u8],
        border: usize,
        is_end: bool,
    ) -> Result<Range<usize>, Unread> {
        let outside = self.rows(bytes, Some(START), border, is_end);
        if self.quotes != Quotes::Strict {
            return outside;
        }
        let inside = self.rows(bytes, Some(RecordState::Quoted), border, is_end);
        let is_some = |rows: &Range<usize>| !rows.is_empty();
        match (outside, inside) {
            (Ok(outside), Ok(inside)) if is_some(&outside) && is_some(&inside) => {
                Err(Unread::Wrong)
            }
            (Ok(outside), _) if is_some(&outside) => Ok(outside),
            (Ok(_) | Err(Unread::Wrong | Unread::GoesOn { whole: 0 }), Ok(inside))
                if is_some(&inside) =>
            {
                Ok(inside)
            }
            (Err(Unread::Wrong), Err(Unread::GoesOn { whole })) if whole > 0 => {
                Err(Unread::GoesOn { whole })
            }
            (outside, _) => outside,
        }
    }
}
