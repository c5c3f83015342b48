//! Parses bytes into a tree of [`Node`]s, each with its place in the file. The only file that uses the YAML crate.
//!
//! It reads the parser's events and does not deserialize, so that a number keeps its text (`0.10`), duplicate keys are visible,
//! and aliases count against our own limits. It accepts a subset of YAML: no tags, no merge keys, text for keys, one document.

use std::collections::HashMap;
use std::ops::Range;

use serde_saphyr::granit_parser::{
    Event, Options, Parser, ScalarStyle, ScanError, Span, StrInput, Tag,
};

use super::errors::SpecProblem;

/// The largest spec that is read. A caller reads at most one byte more, to detect a larger file.
pub const MAX_SPEC_BYTES: usize = 1 << 20;

/// The most nested mappings and lists; a spec needs six.
const MAX_DEPTH: usize = 32;
/// The most values in one file, counting each use of an alias in full. A spec has hundreds.
const MAX_NODES: usize = 50_000;
/// The most bytes of text over all values, counting each use of an alias in full.
const MAX_TEXT_BYTES: usize = 4 * MAX_SPEC_BYTES;

/// A value and its bytes in the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) value: Value,
    /// Empty if nothing was written, as after `key:`.
    pub(super) span: Range<usize>,
}

/// The written value, by the rules of YAML 1.2 without its variant spellings: `yes` and `True` are text.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// The text as written.
    Number(String),
    Text(String),
    Sequence(Vec<Node>),
    /// The entries in the order of the file; a key may occur twice.
    Mapping(Vec<(YamlKey, Node)>),
}

/// A key of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct YamlKey {
    pub(super) text: String,
    pub(super) span: Range<usize>,
}

type Parsed<T> = Result<T, SpecProblem>;

/// A problem that keeps the bytes from being a tree. Only the first is reported, since later ones may follow from it.
fn problem(message: impl Into<String>, span: Range<usize>) -> SpecProblem {
    SpecProblem::of("", message, Some(span))
}

impl SpecProblem {
    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The tree of a file. Spans count from the first of `bytes`, a byte order mark included.
pub(super) fn parse(bytes: &[u8]) -> Parsed<Node> {
    if bytes.len() > MAX_SPEC_BYTES {
        let message = format!("the file is larger than {} MiB", MAX_SPEC_BYTES >> 20);
        let help = "a spec is a few kB; is this the right file?";
        return Err(SpecProblem::of("", message, None).help(help));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
    let without_mark = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut options = Options::default();
    options.set_emit_comments(false);
    let mut builder = Builder {
        text: without_mark,
        offset: text.len() - without_mark.len(),
        events: Parser::new_from_str_with_options(without_mark, options),
        documents: 0,
        anchors: HashMap::new(),
        nodes: 0,
        text_bytes: 0,
    };
    let first = builder.next()?;
    let root = first.map(|event| builder.node(event, 0)).transpose()?;
    builder.next()?;
    root.filter(|root| root.value != Value::Null)
        .ok_or_else(|| {
            let help = "`canary-gate init` writes a spec to start from";
            SpecProblem::of("", "the file is empty", None).help(help)
        })
}

fn not_utf8(bytes: &[u8], at: usize) -> SpecProblem {
    let help = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        "the file looks like UTF-16; save it as UTF-8"
    } else {
        "save the file as UTF-8"
    };
    let message = format!("byte {at} of the file is not UTF-8 (0x{:02x})", bytes[at]);
    problem(message, at..at + 1).help(help)
}

/// An event of the parser, with its bytes in the file.
type Told<'text> = (Event<'text>, Range<usize>);

struct Builder<'text> {
    text: &'text str,
    /// Bytes before `text` in the file.
    offset: usize,
    events: Parser<'text, StrInput<'text>>,
    documents: usize,
    /// The nodes that aliases copy, each with its numbers of values and of bytes of text.
    anchors: HashMap<usize, (Node, [usize; 2])>,
    nodes: usize,
    text_bytes: usize,
}

impl<'text> Builder<'text> {
    /// The next event that is part of the tree; `None` at the end.
    fn next(&mut self) -> Parsed<Option<Told<'text>>> {
        while let Some(event) = self.events.next() {
            let (event, span) = event.map_err(|error| self.syntax(&error))?;
            let span = self.bytes_of(span);
            match event {
                Event::DocumentStart(..) => {
                    self.documents += 1;
                    if self.documents > 1 {
                        let help = "a spec is one YAML document; remove the `---`";
                        return Err(problem("a second document starts here", span).help(help));
                    }
                }
                Event::Scalar(_, _, _, ref tag)
                | Event::SequenceStart(_, _, ref tag)
                | Event::MappingStart(_, _, ref tag) => {
                    refuse_tag(tag.as_deref(), &span)?;
                    return Ok(Some((event, span)));
                }
                Event::SequenceEnd | Event::MappingEnd | Event::Alias(_) => {
                    return Ok(Some((event, span)));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// The node that begins with an event, `depth` collections below the root.
    fn node(&mut self, (event, span): Told<'text>, depth: usize) -> Parsed<Node> {
        let before = [self.nodes, self.text_bytes];
        let (value, span, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                self.count(1, text.len(), &span)?;
                let value = match style {
                    ScalarStyle::Plain => plain_value(&text),
                    _ => Value::Text(text.into_owned()),
                };
                (value, span, anchor)
            }
            Event::Alias(anchor) => {
                let Some(&(_, [nodes, bytes])) = self.anchors.get(&anchor) else {
                    let message = "an alias is inside the value that it names";
                    return Err(problem(message, span));
                };
                // Counted before it is copied, so that an alias bomb is never built.
                self.count(nodes, bytes, &span)?;
                return Ok(self.anchors[&anchor].0.clone());
            }
            Event::SequenceStart(_, anchor, _) => {
                let mut items = Vec::new();
                let span = self.collection(span, depth, |this, event| {
                    items.push(this.node(event, depth + 1)?);
                    Ok(())
                })?;
                (Value::Sequence(items), span, anchor)
            }
            Event::MappingStart(_, anchor, _) => {
                let mut entries = Vec::new();
                let span = self.collection(span, depth, |this, event| {
                    let key = this.key(event)?;
                    if let Some(event) = this.next()? {
                        entries.push((key, this.node(event, depth + 1)?));
                    }
                    Ok(())
                })?;
                (Value::Mapping(entries), span, anchor)
            }
            _ => return Err(problem("nothing to close here", span)),
        };
        let node = Node { value, span };
        if anchor > 0 {
            let size = [self.nodes - before[0], self.text_bytes - before[1]];
            self.anchors.insert(anchor, (node.clone(), size));
        }
        Ok(node)
    }

    /// Reads what a collection holds, each part by its first event; returns the bytes of all.
    fn collection(
        &mut self,
        span: Range<usize>,
        depth: usize,
        mut part: impl FnMut(&mut Self, Told<'text>) -> Parsed<()>,
    ) -> Parsed<Range<usize>> {
        self.count(1, 0, &span)?;
        if depth >= MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            return Err(problem(message, span));
        }
        let end = loop {
            match self.next()? {
                Some((Event::SequenceEnd | Event::MappingEnd, end)) => break end.end,
                Some(event) => part(self, event)?,
                None => break span.end,
            }
        };
        Ok(span.start..end.max(span.start))
    }

    /// The key that an event is.
    fn key(&mut self, (event, span): Told<'text>) -> Parsed<YamlKey> {
        let Event::Scalar(text, style, ..) = event else {
            // A collection or an alias is legal YAML but not part of a spec.
            self.count(1, 0, &span)?;
            return Err(problem("a key must be plain text", span));
        };
        self.count(1, text.len(), &span)?;
        if style == ScalarStyle::Plain && text == "<<" {
            let message = "merge keys are not read in a spec";
            return Err(problem(message, span).help("write the keys out"));
        }
        // The parser reports `~` for an empty key.
        if span.is_empty() || text.is_empty() {
            return Err(problem("a key is missing here", span).help("write `key: value`"));
        }
        let text = text.into_owned();
        Ok(YamlKey { text, span })
    }

    fn bytes_of(&self, span: Span) -> Range<usize> {
        let byte = |marker: Option<usize>| marker.unwrap_or_default().min(self.text.len());
        let start = byte(span.start.byte_offset());
        let end = byte(span.end.byte_offset()).max(start);
        start + self.offset..end + self.offset
    }

    fn count(&mut self, nodes: usize, bytes: usize, span: &Range<usize>) -> Parsed<()> {
        self.nodes += nodes;
        self.text_bytes += bytes;
        if self.nodes <= MAX_NODES && self.text_bytes <= MAX_TEXT_BYTES {
            return Ok(());
        }
        let message = "the file holds far more values than a spec needs";
        let help =
            format!("at most {MAX_NODES} values are read, each use of an alias counted in full");
        Err(problem(message, span.clone()).help(help))
    }

    fn syntax(&self, error: &ScanError) -> SpecProblem {
        let at = error.marker().byte_offset().unwrap_or_default();
        // The parser stops at the end of the file if a collection is not closed: show the last written line.
        let at = at.min(self.text.trim_end().len()) + self.offset;
        problem(format!("this is not YAML: {}", error.info()), at..at)
    }
}

fn refuse_tag(tag: Option<&Tag>, span: &Range<usize>) -> Parsed<()> {
    let Some(tag) = tag else { return Ok(()) };
    let message = format!("the tag `{}` has no meaning in a spec", tag.original());
    let help = "to make text of a value, put it in quotes";
    Err(problem(message, span.clone()).help(help))
}

/// The meaning of a scalar without quotes.
fn plain_value(text: &str) -> Value {
    match text {
        "" | "~" | "null" => Value::Null,
        "true" => Value::Bool(true),
        "false" => Value::Bool(false),
        _ if is_number(text) => Value::Number(text.to_owned()),
        _ => Value::Text(text.to_owned()),
    }
}

/// The decimal numbers of YAML 1.2's core schema (section 10.3.2). Hexadecimal, octal, `.inf` and `.nan` stay text:
/// no key of a spec takes them.
fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let starts = unsigned.strip_prefix('.').unwrap_or(unsigned);
    starts.starts_with(|c: char| c.is_ascii_digit()) && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests;
