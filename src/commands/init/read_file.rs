//! A file of the checkout whose text was read, and what of it is Python.

use std::cell::OnceCell;

use serde_json::Value;

use super::python::PythonFile;

/// A text of the checkout.
pub(super) struct ReadFile {
    /// Relative to the spec's folder.
    pub(super) path: String,
    /// Of a notebook its code alone.
    pub(super) text: String,
    /// Of a notebook: the line at which each cell with code begins, and its number among all cells, from 1.
    cells: Vec<(u32, usize)>,
    python: OnceCell<PythonFile>,
    /// Which calls are read, by their last name.
    is_wanted: fn(&str) -> bool,
}

impl ReadFile {
    /// A notebook that cannot be read has no text.
    pub(super) fn new(path: &str, text: &str, is_wanted: fn(&str) -> bool) -> Self {
        let (text, cells) = match path.ends_with(".ipynb") {
            true => notebook(text),
            false => (text.to_owned(), Vec::new()),
        };
        Self {
            path: path.to_owned(),
            text,
            cells,
            python: OnceCell::new(),
            is_wanted,
        }
    }

    /// All of its calls are read.
    #[cfg(test)]
    pub(super) fn whole(path: &str, text: &str) -> Self {
        Self::new(path, text, |_| true)
    }

    /// Its calls and names; empty unless it is Python.
    pub(super) fn python(&self) -> &PythonFile {
        self.python.get_or_init(|| match self.is_python() {
            true => PythonFile::read(&self.text, &self.is_wanted),
            false => PythonFile::default(),
        })
    }

    pub(super) fn is_python(&self) -> bool {
        self.path.ends_with(".py")
            || self.path.ends_with(".ipynb")
            || self.text.starts_with("#!/usr/bin/env python")
            || self.text.starts_with("#!/usr/bin/python")
    }

    /// `src/train.py:12`, `launch.ipynb cell 3`.
    pub(super) fn place(&self, line: u32) -> String {
        let cell = self.cells.iter().rev().find(|(first, _)| *first <= line);
        match cell {
            Some((_, cell)) => format!("{} cell {cell}", self.path),
            None => format!("{}:{line}", self.path),
        }
    }

    /// The number of the first line that holds one of these texts, and its text.
    pub(super) fn line_with(&self, sought: &[&str]) -> Option<(u32, &str)> {
        let mut lines = (1..).zip(self.text.lines());
        lines.find(|(_, line)| sought.iter().any(|sought| line.contains(sought)))
    }

    /// The folder that it lies in; empty at the root.
    pub(super) fn folder(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(folder, _)| folder)
    }
}

/// The code of a notebook, without the lines that are no Python: `%pip`, `!aws`. <https://nbformat.readthedocs.io>
fn notebook(text: &str) -> (String, Vec<(u32, usize)>) {
    let (mut code, mut cells) = (String::new(), Vec::new());
    let Ok(notebook) = serde_json::from_str::<Value>(text) else {
        return (code, cells);
    };
    let mut line = 1;
    let all = notebook["cells"].as_array().into_iter().flatten();
    for (number, cell) in (1..).zip(all) {
        if cell["cell_type"] != "code" {
            continue;
        }
        let source = match &cell["source"] {
            Value::String(text) => text.clone(),
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
            _ => continue,
        };
        cells.push((line, number));
        for written in source.lines() {
            if !written.trim_start().starts_with(['%', '!']) {
                code.push_str(written);
            }
            code.push('\n');
            line += 1;
        }
    }
    (code, cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notebook_is_its_code_and_places_are_cells() {
        let file = ReadFile::whole(
            "a.ipynb",
            r##"{"cells": [
                {"cell_type": "markdown", "source": ["# fit()"]},
                {"cell_type": "code", "source": ["%pip install x\n", "role = 'a'"]},
                {"cell_type": "code", "source": "e.fit('s3://b/x')"}
            ]}"##,
        );
        assert_eq!(file.text, "\nrole = 'a'\ne.fit('s3://b/x')\n");
        assert_eq!(file.python().calls[0].callee, "e.fit");
        assert_eq!(file.place(file.python().calls[0].line), "a.ipynb cell 3");
    }

    #[test]
    fn what_is_no_notebook_has_no_code() {
        for text in [
            "",
            "{",
            "[]",
            "{\"cells\": 1}",
            "{\"cells\": [{\"cell_type\": \"code\", \"source\": 7}]}",
        ] {
            assert_eq!(ReadFile::whole("a.ipynb", text).text, "", "{text}");
        }
    }
}
