//! Where a record of CSV ends, and what the first ones say of the others. Lines are records without quotes.

/// Spreadsheets begin a file with it; behind it a quote opens a field.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// How fields are parted and quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dialect {
    /// Absent where a record is one field.
    delimiter: Option<u8>,
    quotes: Quotes,
    /// How many fields a record may have: those of the header, and those of the first record.
    fields: [usize; 2],
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

/// What comes of reading a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordEnd {
    /// The next record begins at this index.
    Ends { next: usize, fields: usize },
    /// It goes on beyond these bytes.
    GoesOn,
    /// A quote stands where none can.
    Malformed,
}

/// What comes of reading the records that begin in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    /// None does.
    None,
    /// They are this range.
    Range { start: usize, end: usize },
    /// The last one goes on beyond these bytes; so many were read.
    GoOn { whole: usize },
    /// They are no rows of this file.
    Wrong,
}

/// What a block holds, whether or not its beginning lies in quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BlockRows {
    None,
    Range { start: usize, end: usize },
    More,
    Left,
}

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
        let header_by = |delimiter: Option<u8>, quotes| {
            let dialect = Self {
                delimiter,
                quotes,
                fields: [1; 2],
            };
            match dialect.record(bytes, RecordState::FieldStart, is_end) {
                RecordEnd::Ends { next, fields } => Some((next, fields)),
                RecordEnd::GoesOn | RecordEnd::Malformed => None,
            }
        };
        let delimiter = |quotes| {
            let candidates: [u8; 4] = match prefers_tabs {
                true => *b"\t,;|",
                false => *b",;\t|",
            };
            let fields = |one: u8| header_by(Some(one), quotes).map_or(1, |(_, fields)| fields);
            match prefers_tabs && fields(b'\t') > 1 {
                true => Some(b'\t'),
                false => (candidates.into_iter().rev().max_by_key(|one| fields(*one)))
                    .filter(|one| fields(*one) > 1),
            }
        };
        let goes_on = |record| record == RecordEnd::GoesOn && !is_end;
        let strict = Self {
            delimiter: delimiter(Quotes::Strict),
            quotes: Quotes::Strict,
            fields: [1; 2],
        };
        match strict.record(bytes, RecordState::FieldStart, is_end) {
            RecordEnd::Ends { next, .. } => {
                let rest = &bytes[next..];
                let is_quoted = rest.contains(&b'"');
                if is_quoted && goes_on(strict.record(rest, RecordState::FieldStart, is_end)) {
                    return None;
                }
            }
            header if bytes.contains(&b'"') && goes_on(header) => return None,
            RecordEnd::GoesOn | RecordEnd::Malformed => {}
        }
        let all = [Quotes::Strict, Quotes::Lenient, Quotes::Literal].into_iter();
        let possible = all.filter_map(|quotes| {
            let delimiter = delimiter(quotes);
            let (header, of_header) = header_by(delimiter, quotes)?;
            let mut dialect = Self {
                delimiter,
                quotes,
                fields: [of_header; 2],
            };
            let rest = &bytes[header..];
            if let RecordEnd::Ends { fields, .. } =
                dialect.record(rest, RecordState::FieldStart, is_end)
            {
                dialect.fields[1] = fields;
            }
            Some((dialect, header))
        });
        let possible: Vec<_> = possible.collect();
        let fits = |(dialect, header): &&(Self, usize)| dialect.fits_all(&bytes[*header..], is_end);
        let found = possible.iter().find(fits).or(possible.first());
        found.map(|(dialect, header)| (*dialect, blank + header))
    }

    /// The fields of the header.
    pub(super) fn fields(&self) -> usize {
        self.fields[0]
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

    /// Whether every whole record has the right number of fields, and there is one, unless nothing is there.
    fn fits_all(&self, bytes: &[u8], is_end: bool) -> bool {
        let mut at = 0;
        while at < bytes.len() {
            match self.record(&bytes[at..], RecordState::FieldStart, is_end) {
                RecordEnd::Ends { next, fields } => {
                    if !self.is_row(fields, &bytes[at..at + next]) {
                        return false;
                    }
                    at += next;
                }
                RecordEnd::GoesOn => return at > 0 && !is_end,
                RecordEnd::Malformed => return false,
            }
        }
        true
    }

    /// A blank line is as good as a row.
    fn is_row(&self, fields: usize, record: &[u8]) -> bool {
        self.fields.contains(&fields) || matches!(record, b"\n" | b"\r\n")
    }

    /// Reads to the end of a record. `is_end`: with the bytes the file ends.
    pub(super) fn record(&self, bytes: &[u8], state: RecordState, is_end: bool) -> RecordEnd {
        if self.delimiter.is_none() && !self.has_quotes() {
            return match bytes.iter().position(|byte| *byte == b'\n') {
                Some(end) => RecordEnd::Ends {
                    next: end + 1,
                    fields: 1,
                },
                None => Self::at_end(bytes, RecordState::Plain, 1, is_end),
            };
        }
        let (mut state, mut fields) = (state, 1);
        for (index, &byte) in bytes.iter().enumerate() {
            let is_quote = byte == b'"' && self.has_quotes();
            state = match state {
                RecordState::Quoted if byte == b'"' => RecordState::AfterQuote,
                RecordState::Quoted => RecordState::Quoted,
                RecordState::AfterQuote if byte == b'"' => RecordState::Quoted,
                _ if byte == b'\n' => {
                    return RecordEnd::Ends {
                        next: index + 1,
                        fields,
                    };
                }
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
                    return RecordEnd::Malformed;
                }
                _ => RecordState::Plain,
            };
        }
        Self::at_end(bytes, state, fields, is_end)
    }

    fn at_end(bytes: &[u8], state: RecordState, fields: usize, is_end: bool) -> RecordEnd {
        match is_end && !bytes.is_empty() && state != RecordState::Quoted {
            true => RecordEnd::Ends {
                next: bytes.len(),
                fields,
            },
            false => RecordEnd::GoesOn,
        }
    }

    /// The rows that begin after the first byte and before `border`, if the first byte stands in `state`.
    fn rows(&self, bytes: &[u8], state: RecordState, border: usize, is_end: bool) -> Rows {
        let start = match self.record(bytes, state, is_end) {
            RecordEnd::Ends { next, .. } => next,
            RecordEnd::GoesOn if bytes.len() >= border => return Rows::None,
            RecordEnd::GoesOn => return Rows::GoOn { whole: 0 },
            RecordEnd::Malformed => return Rows::Wrong,
        };
        let (mut at, mut whole) = (start, 0);
        while at < border && !(is_end && at == bytes.len()) {
            match self.record(&bytes[at..], RecordState::FieldStart, is_end) {
                RecordEnd::Ends { next, fields } => {
                    if !self.is_row(fields, &bytes[at..at + next]) {
                        return Rows::Wrong;
                    }
                    at += next;
                    whole += 1;
                }
                RecordEnd::GoesOn => return Rows::GoOn { whole },
                RecordEnd::Malformed => return Rows::Wrong,
            }
        }
        match at > start {
            true => Rows::Range { start, end: at },
            false => Rows::None,
        }
    }

    /// The rows that begin in a block: after the first of these bytes, which is the last before the block, and before `border`.
    ///
    /// Whether the first byte lies in quotes is not known. Read the wrong way, a block's rows lack fields and its quotes stand in
    /// wrong places. A block that can be read both ways, or neither, is left.
    pub(super) fn block(&self, bytes: &[u8], border: usize, is_end: bool) -> BlockRows {
        let outside = self.rows(bytes, RecordState::FieldStart, border, is_end);
        if !self.has_quotes() {
            return match outside {
                Rows::None => BlockRows::None,
                Rows::Range { start, end } => BlockRows::Range { start, end },
                Rows::GoOn { .. } => BlockRows::More,
                Rows::Wrong => BlockRows::Left,
            };
        }
        let inside = self.rows(bytes, RecordState::Quoted, border, is_end);
        let is_strict = self.quotes == Quotes::Strict;
        match (outside, inside) {
            (Rows::Range { .. }, Rows::Range { .. }) if is_strict => BlockRows::Left,
            (Rows::Range { start, end }, _) => BlockRows::Range { start, end },
            (Rows::Wrong | Rows::None | Rows::GoOn { whole: 0 }, Rows::Range { start, end })
                if is_strict =>
            {
                BlockRows::Range { start, end }
            }
            (Rows::GoOn { .. }, _) => BlockRows::More,
            (Rows::None, _) => BlockRows::None,
            (Rows::Wrong, Rows::GoOn { whole }) if is_strict && whole > 0 => BlockRows::More,
            (Rows::Wrong, _) => BlockRows::Left,
        }
    }
}
