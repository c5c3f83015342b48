//! The calls and the assigned names of a Python file.

use std::collections::BTreeMap;

use super::literal::{PythonCall, PythonLiteral, PythonValue, ValueReader};
use super::tokens::{PythonWord, tokens};

/// A text is read up to here; what is longer was made by a program.
const LONGEST_SOURCE: usize = 1 << 20;
/// A file with more was made by a program.
const MOST_CALLS: usize = 5_000;
/// A name may stand for another one so often.
const LONGEST_CHAIN: u32 = 8;
/// f-strings of f-strings grow with each level.
const DEEPEST_FORMAT: u32 = 2;
const LONGEST_FORMAT: usize = 300;

/// What was read of a file.
#[derive(Debug, Default)]
pub(in crate::commands::init) struct PythonFile {
    /// In the order of the file, outer ones first.
    pub(in crate::commands::init) calls: Vec<PythonCall>,
    /// The value of each name that is assigned once; `None` where it is assigned differently again.
    names: BTreeMap<String, Option<PythonValue>>,
    /// The modules that it imports: `src.models`.
    pub(in crate::commands::init) imports: Vec<String>,
}

impl PythonFile {
    /// Reads the calls whose last name `is_wanted`; all of the file that can be read, whatever the rest is.
    pub(in crate::commands::init) fn read(source: &str, is_wanted: &dyn Fn(&str) -> bool) -> Self {
        let end = source.floor_char_boundary(LONGEST_SOURCE);
        let source = &source[..end];
        let tokens = tokens(source);
        let reader = ValueReader {
            source,
            tokens: &tokens,
        };
        let mut file = Self::default();
        let mut starts_line = true;
        for (at, token) in tokens.iter().enumerate() {
            if let PythonWord::Name(_) = token.word {
                if starts_line {
                    file.statement(&reader, at);
                }
                file.call(&reader, at, is_wanted);
            }
            // A colon too: `if True: x = 1`.
            starts_line = matches!(token.word, PythonWord::LineEnd | PythonWord::Sign(':'));
        }
        file
    }

    fn statement(&mut self, reader: &ValueReader<'_>, at: usize) {
        let Some(PythonWord::Name(name)) = reader.word(at) else {
            return;
        };
        if matches!(name.as_str(), "import" | "from") {
            self.imports.push(reader.dotted(at + 1).0);
        }
        if !reader.is_keyword(at) {
            return;
        }
        let (value, _) = reader.value(at + 2, 0);
        match self.names.get_mut(name) {
            None => drop(self.names.insert(name.clone(), Some(value))),
            Some(known) => {
                if known
                    .as_ref()
                    .is_none_or(|known| known.literal != value.literal)
                {
                    *known = None;
                }
            }
        }
    }

    fn call(&mut self, reader: &ValueReader<'_>, at: usize, is_wanted: &dyn Fn(&str) -> bool) {
        // Within a dotted name, and at a definition, no call begins.
        let back = |by: usize| at.checked_sub(by).and_then(|before| reader.word(before));
        let before = back(1);
        let is_definition = matches!(before, Some(PythonWord::Name(name)) if matches!(name.as_str(), "def" | "class"));
        // Behind `client("sagemaker").` one does.
        let is_inside =
            before == Some(&PythonWord::Sign('.')) && matches!(back(2), Some(PythonWord::Name(_)));
        if is_inside || is_definition {
            return;
        }
        let (callee, open) = reader.dotted(at);
        let name = callee.rsplit('.').next().unwrap_or(&callee);
        if !reader.is_sign(open, '(') || !is_wanted(name) || self.calls.len() >= MOST_CALLS {
            return;
        }
        let Some(end) = reader.tokens[open].partner else {
            return;
        };
        let mut call = reader.call(callee, at, open, end, 0);
        let is_assigned = at >= 2 && reader.is_sign(at - 1, '=');
        if let Some(PythonWord::Name(to)) = at.checked_sub(2).and_then(|to| reader.word(to))
            && is_assigned
        {
            call.assigned_to = Some(to.clone());
        }
        self.calls.push(call);
    }

    /// A value with names in place of which their own values stand, as far as they are known; an f-string of known texts is text.
    pub(in crate::commands::init) fn resolved(&self, value: &PythonValue) -> PythonValue {
        self.resolve(value, LONGEST_CHAIN)
    }

    fn resolve(&self, value: &PythonValue, left: u32) -> PythonValue {
        let Some(left) = left.checked_sub(1) else {
            return value.clone();
        };
        match &value.literal {
            PythonLiteral::Name(name) => match self.names.get(name) {
                Some(Some(known)) => self.resolve(known, left),
                _ => value.clone(),
            },
            PythonLiteral::Format(raw) => match self.formatted(raw, left) {
                Some(text) => PythonValue {
                    literal: PythonLiteral::Text(text),
                    ..value.clone()
                },
                None => value.clone(),
            },
            _ => value.clone(),
        }
    }

    /// An f-string whose every field is a name of known text or number.
    fn formatted(&self, raw: &str, left: u32) -> Option<String> {
        if raw.len() > LONGEST_FORMAT || raw.contains('\\') {
            return None;
        }
        let mut text = String::new();
        let mut rest = raw;
        while let Some((before, field)) = rest.split_once('{') {
            let (name, behind) = field.split_once('}')?;
            if before.contains('}') || name.is_empty() || name.starts_with('{') {
                return None;
            }
            let known = self.names.get(name)?.as_ref()?;
            let (PythonLiteral::Text(part) | PythonLiteral::Number(part)) =
                self.resolve(known, left.min(DEEPEST_FORMAT)).literal
            else {
                return None;
            };
            text.push_str(before);
            text.push_str(&part);
            rest = behind;
        }
        if rest.contains('}') {
            return None;
        }
        text.push_str(rest);
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(source: &str) -> PythonFile {
        PythonFile::read(source, &|_| true)
    }

    fn keyword(call: &PythonCall, name: &str) -> PythonValue {
        let mut keywords = call.keywords.iter();
        keywords.find(|(known, _)| known == name).unwrap().1.clone()
    }

    #[test]
    fn a_call_is_read_with_its_literals() {
        let file = read(
            "role = get_role()\nestimator = pt.PyTorch(\n    entry_point='train.py',\n    instance_count=2,\n    max_run=24 * 60 * 60,\n    hyperparameters={'lr': 1e-3, 'bf16': True},\n    role=role,\n    output_path='s3://' + bucket,\n)\n",
        );
        let call = file
            .calls
            .iter()
            .find(|call| call.name() == "PyTorch")
            .unwrap();
        assert_eq!(call.callee, "pt.PyTorch");
        assert_eq!(
            (call.line, call.assigned_to.as_deref()),
            (2, Some("estimator"))
        );
        let literal = |name: &str| keyword(call, name).literal;
        assert_eq!(
            literal("entry_point"),
            PythonLiteral::Text("train.py".into())
        );
        assert_eq!(literal("instance_count"), PythonLiteral::Number("2".into()));
        assert_eq!(literal("max_run"), PythonLiteral::Number("86400".into()));
        assert!(
            matches!(literal("hyperparameters"), PythonLiteral::Table(entries) if entries.len() == 2)
        );
        let role = file.resolved(&keyword(call, "role"));
        assert_eq!(role.written, "get_role()");
        let output = keyword(call, "output_path");
        assert_eq!(
            (output.literal, output.written.as_str()),
            (PythonLiteral::Other, "'s3://' + bucket")
        );
    }

    #[test]
    fn names_and_f_strings_of_known_texts_are_resolved() {
        let file = read(
            "b = 'my-bucket'\np = 'x'\np = 'y'\nf(f's3://{b}/train', f'{p}', f'{b!r}', b, p)\n",
        );
        let call = file.calls.iter().find(|call| call.name() == "f").unwrap();
        let texts: Vec<PythonLiteral> = (call.arguments.iter())
            .map(|argument| file.resolved(argument).literal)
            .collect();
        assert_eq!(texts[0], PythonLiteral::Text("s3://my-bucket/train".into()));
        assert!(matches!(texts[1], PythonLiteral::Format(_)));
        assert!(matches!(texts[2], PythonLiteral::Format(_)));
        assert_eq!(texts[3], PythonLiteral::Text("my-bucket".into()));
        assert_eq!(texts[4], PythonLiteral::Name("p".into()));
    }

    #[test]
    fn a_name_that_stands_for_itself_ends() {
        let file = read("a = b\nb = a\nf(a)\n");
        let value = file.resolved(&file.calls[0].arguments[0]);
        assert!(matches!(value.literal, PythonLiteral::Name(_)));
    }

    #[test]
    fn broken_lines_keep_no_call_behind_them_from_being_read() {
        let file = read("def f(:\n  x = (1,\n\n)\n!! what 'is\nE(entry_point='a.py')\n");
        assert!(file.calls.iter().any(|call| call.name() == "E"));
    }

    #[test]
    fn deep_and_long_nonsense_is_read_in_its_length() {
        let deep = "f(".repeat(200_000);
        assert!(read(&deep).calls.is_empty());
        let closed = format!("{}{}", "f(".repeat(50_000), ")".repeat(50_000));
        assert!(read(&closed).calls.len() <= MOST_CALLS);
        assert!(read(&"[".repeat(500_000)).calls.is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_read(source in "[a-f\"'(){}\\[\\]=,.:*# \n0-9\\\\-]{0,300}") {
            let file = read(&source);
            for call in &file.calls {
                for argument in &call.arguments {
                    let _ = file.resolved(argument);
                }
            }
        }
    }
}
