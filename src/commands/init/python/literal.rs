//! Values as they are written: literals, calls, names, and what is none of these.

use super::tokens::{PythonToken, PythonWord};

/// Deeper values are not read.
const DEEPEST: u32 = 24;
/// A value that cannot be read is quoted up to here, in characters.
const LONGEST_QUOTE: usize = 80;

/// A value and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::commands::init) struct PythonValue {
    pub(in crate::commands::init) literal: PythonLiteral,
    /// As it is written, in one line, cut.
    pub(in crate::commands::init) written: String,
    /// From 1.
    pub(in crate::commands::init) line: u32,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::commands::init) enum PythonLiteral {
    Text(String),
    /// The raw text of an f-string.
    Format(String),
    /// As it is written, but without underscores.
    Number(String),
    Truth(bool),
    Nothing,
    List(Vec<PythonValue>),
    Table(Vec<(PythonValue, PythonValue)>),
    Call(Box<PythonCall>),
    /// Dotted.
    Name(String),
    /// An expression.
    Other,
}

/// A call as it is written.
#[derive(Debug, Clone, Default, PartialEq)]
pub(in crate::commands::init) struct PythonCall {
    /// Dotted: `sagemaker.pytorch.PyTorch`.
    pub(in crate::commands::init) callee: String,
    pub(in crate::commands::init) line: u32,
    pub(in crate::commands::init) arguments: Vec<PythonValue>,
    pub(in crate::commands::init) keywords: Vec<(String, PythonValue)>,
    /// What stands behind `**`.
    pub(in crate::commands::init) spread: Vec<PythonValue>,
    /// The name that the result is assigned to.
    pub(in crate::commands::init) assigned_to: Option<String>,
}

impl PythonCall {
    /// The last part of its name: `PyTorch`.
    pub(in crate::commands::init) fn name(&self) -> &str {
        self.callee.rsplit('.').next().unwrap_or(&self.callee)
    }

    /// What the name's last part is asked of: `estimator` of `estimator.fit`.
    pub(in crate::commands::init) fn owner(&self) -> Option<&str> {
        self.callee.rsplit_once('.').map(|(owner, _)| owner)
    }
}

/// Reads values out of tokens.
pub(super) struct ValueReader<'a> {
    pub(super) source: &'a str,
    pub(super) tokens: &'a [PythonToken],
}

impl ValueReader<'_> {
    pub(super) fn word(&self, at: usize) -> Option<&PythonWord> {
        self.tokens.get(at).map(|token| &token.word)
    }

    pub(super) fn is_sign(&self, at: usize, sign: char) -> bool {
        self.word(at) == Some(&PythonWord::Sign(sign))
    }

    /// The value that begins at a token, and the first token behind it: a comma, a colon, a closing bracket, `=`, or a line's end.
    pub(super) fn value(&self, at: usize, depth: u32) -> (PythonValue, usize) {
        let (literal, behind) = match depth < DEEPEST {
            true => self.atom(at, depth),
            false => (PythonLiteral::Other, at),
        };
        let (literal, end) = match self.ends(behind) {
            true => (literal, behind),
            false => self.product(&literal, behind),
        };
        let value = PythonValue {
            literal,
            written: self.quote(at, end),
            line: self.tokens.get(at).map_or(0, |token| token.line),
        };
        (value, end)
    }

    /// Whether a value ends before this token.
    fn ends(&self, at: usize) -> bool {
        match self.word(at) {
            None | Some(PythonWord::LineEnd) => true,
            Some(PythonWord::Sign(sign)) => matches!(sign, ',' | ':' | ')' | ']' | '}'),
            Some(_) => false,
        }
    }

    /// `24 * 60 * 60`, as time limits are mostly written; any other expression is not read.
    fn product(&self, first: &PythonLiteral, mut at: usize) -> (PythonLiteral, usize) {
        let whole = |literal: &PythonLiteral| match literal {
            PythonLiteral::Number(number) => number.parse::<u64>().ok(),
            _ => None,
        };
        let mut product = whole(first);
        while !self.ends(at) {
            let factor = match (self.is_sign(at, '*'), self.word(at + 1)) {
                (true, Some(PythonWord::Number(number))) => number.parse::<u64>().ok(),
                _ => None,
            };
            product = product
                .zip(factor)
                .and_then(|(product, factor)| product.checked_mul(factor));
            at = match factor {
                Some(_) => at + 2,
                // Over what stands in brackets, to their end.
                None => {
                    self.tokens[at]
                        .partner
                        .filter(|partner| *partner > at)
                        .unwrap_or(at)
                        + 1
                }
            };
        }
        let literal = product.map_or(PythonLiteral::Other, |product| {
            PythonLiteral::Number(product.to_string())
        });
        (literal, at)
    }

    fn atom(&self, at: usize, depth: u32) -> (PythonLiteral, usize) {
        match self.word(at) {
            Some(PythonWord::Text(_)) => self.texts(at),
            Some(PythonWord::Format(raw)) => (PythonLiteral::Format(raw.clone()), at + 1),
            Some(PythonWord::Number(number)) => (PythonLiteral::Number(number.clone()), at + 1),
            Some(PythonWord::Name(_)) => self.name(at, depth),
            Some(PythonWord::Sign('-')) => match self.word(at + 1) {
                Some(PythonWord::Number(number)) => {
                    (PythonLiteral::Number(format!("-{number}")), at + 2)
                }
                _ => (PythonLiteral::Other, at + 1),
            },
            Some(PythonWord::Sign(open @ ('(' | '[' | '{'))) => {
                let Some(end) = self.tokens[at].partner else {
                    return (PythonLiteral::Other, at + 1);
                };
                let literal = match open {
                    '{' => self.table(at + 1, end, depth),
                    _ => self.list(at + 1, end, depth, *open),
                };
                (literal, end + 1)
            }
            _ => (PythonLiteral::Other, at),
        }
    }

    /// Strings that stand behind each other are one.
    fn texts(&self, mut at: usize) -> (PythonLiteral, usize) {
        let mut whole = String::new();
        while let Some(PythonWord::Text(text)) = self.word(at) {
            whole.push_str(text);
            at += 1;
        }
        (PythonLiteral::Text(whole), at)
    }

    fn name(&self, at: usize, depth: u32) -> (PythonLiteral, usize) {
        let (name, behind) = self.dotted(at);
        if self.is_sign(behind, '(')
            && let Some(end) = self.tokens[behind].partner
        {
            let call = self.call(name, at, behind, end, depth + 1);
            return (PythonLiteral::Call(Box::new(call)), end + 1);
        }
        let literal = match name.as_str() {
            "True" => PythonLiteral::Truth(true),
            "False" => PythonLiteral::Truth(false),
            "None" => PythonLiteral::Nothing,
            _ => PythonLiteral::Name(name),
        };
        (literal, behind)
    }

    /// `a.b.c`, and the token behind it.
    pub(super) fn dotted(&self, mut at: usize) -> (String, usize) {
        let mut name = String::new();
        while let Some(PythonWord::Name(part)) = self.word(at) {
            name.push_str(part);
            at += 1;
            let is_next = matches!(self.word(at + 1), Some(PythonWord::Name(_)));
            if !self.is_sign(at, '.') || !is_next {
                break;
            }
            name.push('.');
            at += 1;
        }
        (name, at)
    }

    /// A list, a tuple, or a value in brackets.
    fn list(&self, mut at: usize, end: usize, depth: u32, open: char) -> PythonLiteral {
        let mut items = Vec::new();
        let mut commas = 0;
        while at < end {
            let (item, behind) = self.value(at, depth + 1);
            items.push(item);
            if behind < end && !self.is_sign(behind, ',') {
                return PythonLiteral::Other;
            }
            commas += usize::from(behind < end);
            at = behind + 1;
        }
        match items.pop() {
            Some(only) if open == '(' && commas == 0 => only.literal,
            last => {
                items.extend(last);
                PythonLiteral::List(items)
            }
        }
    }

    fn table(&self, mut at: usize, end: usize, depth: u32) -> PythonLiteral {
        let mut entries = Vec::new();
        while at < end {
            let (key, behind) = self.value(at, depth + 1);
            if !self.is_sign(behind, ':') {
                return PythonLiteral::Other;
            }
            let (value, behind) = self.value(behind + 1, depth + 1);
            entries.push((key, value));
            if behind < end && !self.is_sign(behind, ',') {
                return PythonLiteral::Other;
            }
            at = behind + 1;
        }
        PythonLiteral::Table(entries)
    }

    /// A call whose brackets are `open` and `end`.
    pub(super) fn call(
        &self,
        callee: String,
        at: usize,
        open: usize,
        end: usize,
        depth: u32,
    ) -> PythonCall {
        let mut call = PythonCall {
            callee,
            line: self.tokens[at].line,
            ..PythonCall::default()
        };
        let mut at = open + 1;
        while at < end {
            let stars = (at..end).take_while(|at| self.is_sign(*at, '*')).count();
            at += stars;
            let keyword = match self.word(at) {
                Some(PythonWord::Name(name)) if self.is_keyword(at) => Some(name.clone()),
                _ => None,
            };
            let start = at + if keyword.is_some() { 2 } else { 0 };
            let (value, mut behind) = self.value(start, depth);
            // Over what is not read, such as a comprehension.
            while behind < end && !self.is_sign(behind, ',') {
                behind = self.tokens[behind]
                    .partner
                    .filter(|partner| *partner > behind)
                    .unwrap_or(behind)
                    + 1;
            }
            match (stars, keyword) {
                (0, Some(name)) => call.keywords.push((name, value)),
                (0, None) => call.arguments.push(value),
                (2, None) => call.spread.push(value),
                _ => {}
            }
            at = behind + 1;
        }
        call
    }

    /// Whether `name =` stands here, and not `name ==`.
    pub(super) fn is_keyword(&self, at: usize) -> bool {
        self.is_sign(at + 1, '=') && !self.is_sign(at + 2, '=')
    }

    /// The text from a token to the one before `end`.
    fn quote(&self, at: usize, end: usize) -> String {
        let last = end.saturating_sub(1).max(at);
        let (Some(first), Some(last)) = (self.tokens.get(at), self.tokens.get(last)) else {
            return String::new();
        };
        let text = self.source.get(first.start..last.end).unwrap_or_default();
        let mut characters = text.chars();
        let cut: String = characters.by_ref().take(2 * LONGEST_QUOTE).collect();
        let words: Vec<&str> = cut.split_whitespace().collect();
        let line = words.join(" ");
        let quote: String = line.chars().take(LONGEST_QUOTE).collect();
        match quote.len() < line.len() || characters.next().is_some() {
            true => format!("{quote}..."),
            false => quote,
        }
    }
}
