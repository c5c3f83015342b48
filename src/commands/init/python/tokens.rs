//! The words of a Python file, with the place of each.

/// What a word is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum PythonWord {
    Name(String),
    Number(String),
    /// The decoded text of a string.
    Text(String),
    /// The raw text of an f-string.
    Format(String),
    /// One character of an operator, or a bracket.
    Sign(char),
    /// The end of a statement's line, outside of brackets.
    LineEnd,
}

/// A word and its place.
#[derive(Debug)]
pub(super) struct PythonToken {
    pub(super) word: PythonWord,
    pub(super) start: usize,
    pub(super) end: usize,
    /// From 1.
    pub(super) line: u32,
    /// Of a bracket: the place of its partner among the tokens, if it has one.
    pub(super) partner: Option<usize>,
}

/// The tokens of a text; whatever the text is, there is an answer.
pub(super) fn tokens(source: &str) -> Vec<PythonToken> {
    let mut reader = Reader {
        source,
        at: 0,
        line: 1,
        tokens: Vec::new(),
        open: Vec::new(),
    };
    reader.read();
    reader.tokens
}

struct Reader<'a> {
    source: &'a str,
    at: usize,
    line: u32,
    tokens: Vec<PythonToken>,
    /// The brackets that are open, by their place among the tokens.
    open: Vec<usize>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.source[self.at..]
    }

    fn push(&mut self, word: PythonWord, start: usize, line: u32) {
        self.tokens.push(PythonToken {
            word,
            start,
            end: self.at,
            line,
            partner: None,
        });
    }

    fn read(&mut self) {
        while let Some(next) = self.rest().chars().next() {
            let start = self.at;
            match next {
                '\n' => {
                    self.at += 1;
                    if self.open.is_empty() {
                        self.push(PythonWord::LineEnd, start, self.line);
                    }
                    self.line += 1;
                }
                '\\' if self.rest().starts_with("\\\n") => {
                    self.at += 2;
                    self.line += 1;
                }
                ';' if self.open.is_empty() => {
                    self.at += 1;
                    self.push(PythonWord::LineEnd, start, self.line);
                }
                '#' => self.at += self.rest().find('\n').unwrap_or(self.rest().len()),
                '"' | '\'' => self.text(start, ""),
                _ if next.is_whitespace() => self.at += next.len_utf8(),
                _ if next.is_ascii_digit() => self.number(),
                _ if next.is_alphabetic() || next == '_' => self.name(),
                _ => {
                    self.at += next.len_utf8();
                    self.sign(next, start);
                }
            }
        }
    }

    fn sign(&mut self, sign: char, start: usize) {
        self.push(PythonWord::Sign(sign), start, self.line);
        let own = self.tokens.len() - 1;
        match sign {
            '(' | '[' | '{' => self.open.push(own),
            ')' | ']' | '}' => {
                // A bracket of another kind closes nothing, as in a file under edit.
                let wanted = match sign {
                    ')' => '(',
                    ']' => '[',
                    _ => '{',
                };
                let is_partner =
                    |place: &usize| self.tokens[*place].word == PythonWord::Sign(wanted);
                if let Some(partner) = self.open.last().copied().filter(is_partner) {
                    self.open.pop();
                    self.tokens[partner].partner = Some(own);
                    self.tokens[own].partner = Some(partner);
                }
            }
            _ => {}
        }
    }

    fn number(&mut self) {
        let start = self.at;
        let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
        let mut before = '0';
        for next in self.source[start..].chars() {
            let is_sign = matches!(next, '+' | '-') && matches!(before, 'e' | 'E');
            if !is_part(next) && !is_sign {
                break;
            }
            before = next;
            self.at += next.len_utf8();
        }
        let written = self.source[start..self.at].replace('_', "");
        self.push(PythonWord::Number(written), start, self.line);
    }

    fn name(&mut self) {
        let start = self.at;
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let end = self
            .rest()
            .find(|c| !is_part(c))
            .unwrap_or(self.rest().len());
        self.at += end;
        let name = &self.source[start..self.at];
        let is_prefix = name.len() <= 2 && name.chars().all(|c| "rRbBuUfFtT".contains(c));
        if is_prefix && self.rest().starts_with(['"', '\'']) {
            self.text(start, &self.source[start..self.at]);
        } else {
            self.push(PythonWord::Name(name.to_owned()), start, self.line);
        }
    }

    /// A string that begins here, behind its prefix.
    fn text(&mut self, start: usize, prefix: &str) {
        let line = self.line;
        let has = |letters: &str| prefix.chars().any(|c| letters.contains(c));
        let (is_raw, is_format) = (has("rR"), has("fFtT"));
        let quote = if self.rest().starts_with('"') {
            "\""
        } else {
            "'"
        };
        let triple = quote.repeat(3);
        let is_long = self.rest().starts_with(&triple);
        let quote = if is_long { &triple } else { quote };
        self.at += quote.len();
        let inside = self.at;
        let end = loop {
            let rest = self.rest();
            if rest.starts_with(quote) {
                let end = self.at;
                self.at += quote.len();
                break end;
            }
            match rest.chars().next() {
                None => break self.at,
                // An open string ends with its line.
                Some('\n') if !is_long => break self.at,
                Some('\\') => {
                    let escaped = rest[1..].chars().next();
                    self.line += u32::from(escaped == Some('\n'));
                    self.at += 1 + escaped.map_or(0, char::len_utf8);
                }
                Some(other) => {
                    self.line += u32::from(other == '\n');
                    self.at += other.len_utf8();
                }
            }
        };
        let raw = &self.source[inside..end];
        let word = match (is_format, is_raw) {
            (true, _) => PythonWord::Format(raw.to_owned()),
            (false, true) => PythonWord::Text(raw.to_owned()),
            (false, false) => PythonWord::Text(decoded(raw)),
        };
        self.push(word, start, line);
    }
}

/// A string without its escapes; one that is not known stays, as in Python.
fn decoded(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw.chars();
    while let Some(next) = rest.next() {
        if next != '\\' {
            text.push(next);
            continue;
        }
        match rest.next() {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('\n') => {}
            Some(quoted @ ('\\' | '\'' | '"')) => text.push(quoted),
            other => {
                text.push('\\');
                text.extend(other);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(source: &str) -> Vec<PythonWord> {
        tokens(source).into_iter().map(|token| token.word).collect()
    }

    #[test]
    fn strings_numbers_and_comments_are_told_apart() {
        use PythonWord::{Format, LineEnd, Name, Number, Sign, Text};
        assert_eq!(
            words("x = 'a\\'b' # c = 1\ny = f\"{x}\" + 1_000.5e-3\n"),
            [
                Name("x".into()),
                Sign('='),
                Text("a'b".into()),
                LineEnd,
                Name("y".into()),
                Sign('='),
                Format("{x}".into()),
                Sign('+'),
                Number("1000.5e-3".into()),
                LineEnd,
            ]
        );
    }

    #[test]
    fn lines_are_counted_through_long_strings_and_brackets() {
        let all = tokens("a = '''x\ny'''\nb = (\n  1,\n)\nc");
        let last = all.last().unwrap();
        assert_eq!(
            (last.word.clone(), last.line),
            (PythonWord::Name("c".into()), 6)
        );
    }

    #[test]
    fn a_bracket_without_its_partner_has_none() {
        let all = tokens("f([1)");
        assert!(all.iter().all(|token| token.partner.is_none()));
    }

    proptest! {
        #[test]
        fn any_text_has_tokens_in_its_order(source in "(?s).{0,200}") {
            let all = tokens(&source);
            prop_assert!(all.iter().all(|token| token.start <= token.end && token.end <= source.len()));
            prop_assert!(all.windows(2).all(|pair| pair[0].end <= pair[1].start));
        }
    }
}
