//! Cases as text: blocks of lines, of which the first says what the case is, and each other is a word with its value.

use crate::project::Finished;

/// One block.
pub(crate) struct Case {
    pub(crate) name: String,
    fields: Vec<(String, String)>,
}

/// Reads blocks that empty lines part; `\n` in a value is the end of a line.
pub(crate) fn read(text: &str) -> Vec<Case> {
    let field = |line: &str| {
        let (word, value) = line.split_once(':').expect("a word and its value");
        (word.to_owned(), value.trim().replace("\\n", "\n"))
    };
    let case = |block: &str| {
        let (name, fields) = block.trim().split_once('\n').expect("a case has fields");
        Case {
            name: name.to_owned(),
            fields: fields.lines().map(field).collect(),
        }
    };
    let cases: Vec<Case> = text.split("\n\n").map(case).collect();
    assert!(!cases.is_empty());
    cases
}

impl Case {
    /// All values of a word.
    pub(crate) fn all<'a>(&'a self, word: &'a str) -> impl Iterator<Item = &'a str> {
        let of_word = self.fields.iter().filter(move |(own, _)| own == word);
        of_word.map(|(_, value)| value.as_str())
    }

    /// The value of a word, empty where it is not there.
    pub(crate) fn one(&self, word: &str) -> &str {
        let mut all = self.fields.iter().filter(|(own, _)| own == word);
        all.next().map_or("", |(_, value)| value)
    }

    /// Edits a text by each `edit: FROM => TO`.
    pub(crate) fn edited(&self, text: &str) -> String {
        self.all("edit").fold(text.to_owned(), |text, edit| {
            let (from, to) = edit.split_once("=>").expect("FROM => TO");
            let (from, to) = (from.trim_matches(' '), to.trim_matches(' '));
            assert!(text.contains(from), "{}: no {from:?}", self.name);
            text.replacen(from, to, 1)
        })
    }

    /// Fails unless the command ended with `exit`, and standard output has each `says`, standard error each `complains`, and
    /// each `reads` over the ends of its lines.
    #[track_caller]
    pub(crate) fn holds_for(&self, finished: Finished) {
        let code = self.one("exit").parse().expect("exit: CODE");
        let ended = finished.ended_with(code);
        let words = ended.words();
        for text in self.all("reads") {
            assert!(words.contains(text), "{}: {words}", self.name);
        }
        let ended = self.all("says").fold(ended, Finished::reported);
        self.all("complains").fold(ended, Finished::complained);
    }
}
