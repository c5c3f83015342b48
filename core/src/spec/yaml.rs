//! Parses bytes into a tree of [`Node`]s, each with its place in the file. The only file that uses the YAML crate.
//!
//! It reads the parser's events and does not deserialize, so that a number keeps its text (`0.10`), duplicate keys are visible,
//! and aliases count against our own limits. It accepts a subset of YAML: no tags, no merge keys, text for keys, one document.

use std::collections::HashMap;
use std::ops::Range;

use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span, Tag};

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
    /// In the order of the file; a key may occur twice.
    Mapping(Vec<(YamlKey, Node)>),
}

/// A key of a mapping.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct YamlKey {
    pub(super) text: String,
    pub(super) span: Range<usize>,
}

/// Why the bytes are not a tree: only the first problem, since later ones may follow from it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct YamlProblem {
    pub(super) message: String,
    pub(super) help: Option<String>,
    /// Absent if the problem has no place in the file.
    pub(super) span: Option<Range<usize>>,
}

impl YamlProblem {
    fn new(message: impl Into<String>, span: Range<usize>) -> Self {
        Self {
            message: message.into(),
            help: None,
            span: Some(span),
        }
    }

    fn of_file(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: Some(help.into()),
            span: None,
        }
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The tree of a file. Spans count from the first of `bytes`, a byte order mark included.
pub(super) fn parse(bytes: &[u8]) -> Result<Node, YamlProblem> {
    if bytes.len() > MAX_SPEC_BYTES {
        return Err(YamlProblem::of_file(
            format!("the file is larger than {} MiB", MAX_SPEC_BYTES >> 20),
            "a spec is a few kB; is this the right file?",
        ));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
    let without_mark = text.strip_prefix('\u{feff}').unwrap_or(text);
    Builder::new(without_mark, text.len() - without_mark.len()).build()
}

fn not_utf8(bytes: &[u8], at: usize) -> YamlProblem {
    let help = if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        "the file looks like UTF-16; save it as UTF-8"
    } else {
        "save the file as UTF-8"
    };
    YamlProblem::new(
        format!("byte {at} of the file is not UTF-8 (0x{:02x})", bytes[at]),
        at..at + 1,
    )
    .help(help)
}

/// An open collection and its anchor.
struct Open {
    collection: Collection,
    start: usize,
    anchor: usize,
}

enum Collection {
    Sequence(Vec<Node>),
    /// The entries so far, and the key whose value comes next.
    Mapping(Vec<(YamlKey, Node)>, Option<YamlKey>),
}

/// The node that an alias copies, and what a copy adds to the counts.
struct Anchored {
    node: Node,
    nodes: usize,
    bytes: usize,
}

struct Builder<'text> {
    text: &'text str,
    /// Bytes before `text` in the file.
    offset: usize,
    stack: Vec<Open>,
    anchors: HashMap<usize, Anchored>,
    root: Option<Node>,
    nodes: usize,
    text_bytes: usize,
}

impl<'text> Builder<'text> {
    fn new(text: &'text str, offset: usize) -> Self {
        Self {
            text,
            offset,
            stack: Vec::new(),
            anchors: HashMap::new(),
            root: None,
            nodes: 0,
            text_bytes: 0,
        }
    }

    fn build(mut self) -> Result<Node, YamlProblem> {
        let mut options = Options::default();
        options.set_emit_comments(false);
        let mut documents = 0;
        for event in Parser::new_from_str_with_options(self.text, options) {
            let (event, span) = event.map_err(|error| self.syntax(&error))?;
            let span = self.bytes_of(span);
            match event {
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(YamlProblem::new("a second document starts here", span)
                            .help("a spec is one YAML document; remove the `---`"));
                    }
                }
                Event::Scalar(text, style, anchor, tag) => {
                    refuse_tag(tag.as_deref(), &span)?;
                    self.scalar(&text, style, anchor, span)?;
                }
                Event::SequenceStart(_, anchor, tag) => {
                    refuse_tag(tag.as_deref(), &span)?;
                    self.open(Collection::Sequence(Vec::new()), anchor, span)?;
                }
                Event::MappingStart(_, anchor, tag) => {
                    refuse_tag(tag.as_deref(), &span)?;
                    self.open(Collection::Mapping(Vec::new(), None), anchor, span)?;
                }
                Event::SequenceEnd | Event::MappingEnd => self.close(&span)?,
                Event::Alias(anchor) => self.alias(anchor, span)?,
                _ => {}
            }
        }
        match self.root {
            Some(node) if node.value != Value::Null => Ok(node),
            _ => Err(YamlProblem::of_file(
                "the file is empty",
                "`canary-gate init` writes a spec to start from",
            )),
        }
    }

    fn bytes_of(&self, span: Span) -> Range<usize> {
        let byte = |marker: Option<usize>| marker.unwrap_or_default().min(self.text.len());
        let start = byte(span.start.byte_offset());
        let end = byte(span.end.byte_offset()).max(start);
        start + self.offset..end + self.offset
    }

    fn count(
        &mut self,
        nodes: usize,
        bytes: usize,
        span: &Range<usize>,
    ) -> Result<(), YamlProblem> {
        self.nodes += nodes;
        self.text_bytes += bytes;
        if self.nodes > MAX_NODES || self.text_bytes > MAX_TEXT_BYTES {
            return Err(YamlProblem::new(
                "the file holds far more values than a spec needs",
                span.clone(),
            )
            .help(format!(
                "at most {MAX_NODES} values are read, each use of an alias counted in full"
            )));
        }
        Ok(())
    }

    fn scalar(
        &mut self,
        text: &str,
        style: ScalarStyle,
        anchor: usize,
        span: Range<usize>,
    ) -> Result<(), YamlProblem> {
        self.count(1, text.len(), &span)?;
        let plain = style == ScalarStyle::Plain;
        if let Some(Open {
            collection: Collection::Mapping(_, pending @ None),
            ..
        }) = self.stack.last_mut()
        {
            if plain && text == "<<" {
                return Err(YamlProblem::new("merge keys are not read in a spec", span)
                    .help("write the keys out"));
            }
            // The parser reports `~` for an empty key.
            if span.is_empty() || text.is_empty() {
                return Err(
                    YamlProblem::new("a key is missing here", span).help("write `key: value`")
                );
            }
            *pending = Some(YamlKey {
                text: text.to_owned(),
                span,
            });
            return Ok(());
        }
        let value = if plain {
            plain_value(text)
        } else {
            Value::Text(text.to_owned())
        };
        self.place(Node { value, span }, anchor);
        Ok(())
    }

    fn open(
        &mut self,
        collection: Collection,
        anchor: usize,
        span: Range<usize>,
    ) -> Result<(), YamlProblem> {
        self.count(1, 0, &span)?;
        self.refuse_as_key(&span)?;
        if self.stack.len() == MAX_DEPTH {
            return Err(YamlProblem::new(
                format!("nested deeper than {MAX_DEPTH} levels"),
                span,
            ));
        }
        self.stack.push(Open {
            collection,
            start: span.start,
            anchor,
        });
        Ok(())
    }

    fn close(&mut self, span: &Range<usize>) -> Result<(), YamlProblem> {
        let Some(open) = self.stack.pop() else {
            return Err(YamlProblem::new("nothing to close here", span.clone()));
        };
        let value = match open.collection {
            Collection::Sequence(items) => Value::Sequence(items),
            Collection::Mapping(entries, _) => Value::Mapping(entries),
        };
        let node = Node {
            value,
            span: open.start..span.end.max(open.start),
        };
        self.place(node, open.anchor);
        Ok(())
    }

    fn alias(&mut self, anchor: usize, span: Range<usize>) -> Result<(), YamlProblem> {
        self.refuse_as_key(&span)?;
        let Some(anchored) = self.anchors.get(&anchor) else {
            return Err(YamlProblem::new(
                "an alias is inside the value that it names",
                span,
            ));
        };
        let (nodes, bytes) = (anchored.nodes, anchored.bytes);
        // Counted before it is copied, so that an alias bomb is never built.
        self.count(nodes, bytes, &span)?;
        let node = self.anchors[&anchor].node.clone();
        self.place(node, 0);
        Ok(())
    }

    /// Adds a finished node to the open collection.
    fn place(&mut self, node: Node, anchor: usize) {
        if anchor > 0 {
            let (nodes, bytes) = weight(&node);
            let node = node.clone();
            self.anchors.insert(anchor, Anchored { node, nodes, bytes });
        }
        match self.stack.last_mut().map(|open| &mut open.collection) {
            None => self.root = Some(node),
            Some(Collection::Sequence(items)) => items.push(node),
            Some(Collection::Mapping(entries, pending)) => {
                if let Some(key) = pending.take() {
                    entries.push((key, node));
                }
            }
        }
    }

    /// Refuses a collection or an alias as a key, which is legal YAML but not part of a spec.
    fn refuse_as_key(&self, span: &Range<usize>) -> Result<(), YamlProblem> {
        match self.stack.last() {
            Some(Open {
                collection: Collection::Mapping(_, None),
                ..
            }) => Err(YamlProblem::new("a key must be plain text", span.clone())),
            _ => Ok(()),
        }
    }

    fn syntax(&self, error: &ScanError) -> YamlProblem {
        let at = error
            .marker()
            .byte_offset()
            .unwrap_or_default()
            .min(self.text.len());
        let before = self.text.get(..at).unwrap_or_default();
        let mut line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        // The parser may stop at the end of the line before the one with the tab.
        for line in self.text[line_start..].split_inclusive('\n').take(2) {
            let indent = &line[..line.len() - line.trim_start_matches([' ', '\t']).len()];
            if let Some(tab) = indent.find('\t') {
                let tab = self.offset + line_start + tab;
                return YamlProblem::new("a tab indents this line; use spaces", tab..tab + 1);
            }
            line_start += line.len();
        }
        // The parser stops at the end of the file if a collection is not closed: show the last written line.
        let at = at.min(self.text.trim_end().len()) + self.offset;
        YamlProblem::new(format!("this is not YAML: {}", error.info()), at..at)
    }
}

fn refuse_tag(tag: Option<&Tag>, span: &Range<usize>) -> Result<(), YamlProblem> {
    match tag {
        None => Ok(()),
        Some(tag) => Err(YamlProblem::new(
            format!("the tag `{}` has no meaning in a spec", tag.original()),
            span.clone(),
        )
        .help("to make text of a value, put it in quotes")),
    }
}

/// The numbers of nodes and of bytes of text in a tree.
fn weight(node: &Node) -> (usize, usize) {
    let (mut nodes, mut bytes) = (0, 0);
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        nodes += 1;
        match &node.value {
            Value::Null | Value::Bool(_) => {}
            Value::Number(text) | Value::Text(text) => bytes += text.len(),
            Value::Sequence(items) => todo.extend(items),
            Value::Mapping(entries) => {
                for (key, value) in entries {
                    bytes += key.text.len();
                    todo.push(value);
                }
            }
        }
    }
    (nodes, bytes)
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
