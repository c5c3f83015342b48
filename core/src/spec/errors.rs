//! The problems of a spec, as values and as text for a terminal: each with the lines of the file around it, cropped and cleaned so
//! that a hostile or endless line does no harm.

use std::collections::BTreeMap;
use std::ops::Range;

use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};

use super::FilePosition;
use crate::grammar::{count, wrap};
use crate::secret::unseen::{is_invisible, without_commands};

/// The problems of a spec that could not be read; never empty.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the spec has {}; nothing was run", count(.problems.len() + .further, "problem"))]
pub struct SpecErrors {
    /// The file as a reader knows it.
    pub name: String,
    bytes: Vec<u8>,
    /// Those that were kept, in the order of the file.
    pub problems: Vec<SpecProblem>,
    /// Problems that were counted and not kept.
    further: usize,
}

/// The file of a valid spec or policy, and where what it writes stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SpecFile {
    /// The file as a reader knows it.
    pub name: String,
    pub(super) bytes: Vec<u8>,
    /// What to underline for each field that is written.
    pub(super) spans: BTreeMap<String, Range<usize>>,
}

impl SpecFile {
    /// Where a field stands; `None` where it is not written.
    pub fn place(&self, field: &str) -> Option<FilePosition> {
        let span = self.spans.get(field)?;
        Some(place(&self.bytes, span.start))
    }

    /// Refuses the file for problems that show when it is held against another; none is no refusal.
    pub(super) fn refuse(&self, mut all: Vec<SpecProblem>, help: &str) -> Result<(), SpecErrors> {
        for problem in &mut all {
            problem.span = self.spans.get(&problem.field).cloned();
            problem.help = Some(help.to_owned());
        }
        match all.is_empty() {
            true => Ok(()),
            false => Err(SpecErrors::new(&self.name, &self.bytes, all, 0)),
        }
    }
}

/// One problem, or a doubt about a valid spec. Shown as its field and message: `jobs.churn: unknown key "bugdet"`.
///
/// Among [`SpecErrors`] all its text is safe to print: nothing of the file reaches a terminal as a control character.
#[derive(Debug, Clone, PartialEq, Default, derive_more::Display)]
#[display("{field}{}{message}", if field.is_empty() { "" } else { ": " })]
pub struct SpecProblem {
    /// The field, e.g. `jobs.churn.budget.cost`; empty where the whole file is concerned.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// What to do, if known.
    pub help: Option<String>,
    /// Absent if the problem has no place in the file.
    pub place: Option<FilePosition>,
    pub(super) span: Option<Range<usize>>,
}

impl SpecProblem {
    pub(super) fn of(field: &str, message: impl Into<String>, span: Option<Range<usize>>) -> Self {
        Self {
            field: field.to_owned(),
            message: message.into(),
            span,
            ..Self::default()
        }
    }
}

/// In the order of the file.
pub(super) fn in_order(mut problems: Vec<SpecProblem>) -> Vec<SpecProblem> {
    problems.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
    problems
}

/// Of a long text so many characters are underlined.
const MOST_MARKED: usize = 40;

impl SpecErrors {
    /// The most problems shown; more are counted.
    const SHOWN: usize = 20;

    pub(super) fn new(
        name: &str,
        bytes: &[u8],
        problems: Vec<SpecProblem>,
        further: usize,
    ) -> Self {
        let mut problems = in_order(problems);
        for problem in &mut problems {
            problem.field = clean(&problem.field);
            problem.message = clean(&problem.message);
            problem.help = problem.help.as_deref().map(clean);
            problem.place = problem.span.as_ref().map(|span| place(bytes, span.start));
        }
        Self {
            name: clean(name),
            bytes: bytes.to_vec(),
            problems,
            further,
        }
    }

    /// How many there are, including those that were only counted.
    pub fn count(&self) -> usize {
        self.problems.len() + self.further
    }

    /// The text for a terminal of `width` columns: the number of problems, then each with its place, its line and what to do.
    pub fn render(&self, colours: bool, width: usize) -> String {
        let (renderer, mark) = match colours {
            true => (Renderer::styled(), "\u{1b}[31m×\u{1b}[0m"),
            false => (Renderer::plain(), "×"),
        };
        let renderer = renderer.term_width(width).decor_style(DecorStyle::Unicode);
        // Beside `error: `, or below a line's number `╰ help: `.
        let wrapped = |text: &str| wrap(&without_commands(text), width.max(60) - 16, 0).join("\n");
        let mut text = format!("  {mark} {self}\n");
        for problem in self.problems.iter().take(Self::SHOWN) {
            let span = problem.span.as_ref();
            let excerpt = span.map(|span| excerpt(&self.bytes, span).path(&self.name));
            let name = excerpt.is_none().then(|| format!("{}: ", self.name));
            let title = wrapped(&format!("{}{problem}", name.unwrap_or_default()));
            let help = problem.help.as_deref().map(wrapped);
            let group = Group::with_title(Level::ERROR.secondary_title(title));
            let group = group.elements(excerpt);
            let group = group.elements(help.map(|help| Level::HELP.message(help)));
            text += &format!("\n{}\n", renderer.render(&[group]));
        }
        match self.count().saturating_sub(Self::SHOWN) {
            0 => text,
            hidden => format!("{text}\n  and {hidden} more\n"),
        }
    }
}

/// The bytes of the line that holds an offset, without its end.
fn line(file: &[u8], offset: usize) -> Range<usize> {
    let newline = file[..offset].iter().rposition(|byte| *byte == b'\n');
    let start = newline.map_or(0, |newline| newline + 1);
    let mut lines = file[start..].split(|byte| *byte == b'\n');
    let line = lines.next().unwrap_or_default();
    start..start + line.strip_suffix(b"\r").unwrap_or(line).len()
}

/// The line in which the span starts, with the one above it. What could move a cursor is made visible.
fn excerpt(file: &[u8], span: &Range<usize>) -> Snippet<'static, Annotation<'static>> {
    let text = |bytes: Range<usize>| String::from_utf8_lossy(&file[bytes]);
    let shown = line(file, span.start.min(file.len()));
    let start = span.start.min(shown.end);
    let end = span.end.clamp(start, shown.end);
    let above = shown.start.checked_sub(1).map(|end| line(file, end));
    let first = above.as_ref().map_or(0, |above| above.start);
    let above = above.map_or(String::new(), |above| clean(&text(above)) + "\n");
    let [before, rest] = [shown.start..start, start..shown.end].map(|bytes| clean(&text(bytes)));
    let from = above.len() + before.len();
    let most = text(start..end).chars().count().min(MOST_MARKED);
    let marked: usize = rest.chars().take(most).map(char::len_utf8).sum();
    let mark = AnnotationKind::Primary.span(from..from + marked);
    Snippet::source([above, before, rest].concat())
        .line_start(1 + newlines(&file[..first]))
        .fold(false)
        .annotation(mark)
}

fn newlines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

/// Line and column of an offset; columns count characters.
fn place(file: &[u8], offset: usize) -> FilePosition {
    let before = &file[..offset.min(file.len())];
    let last = &before[line(before, before.len()).start..];
    let column = String::from_utf8_lossy(last).chars().count();
    let from_one = |index: usize| u32::try_from(index + 1).unwrap_or(u32::MAX);
    FilePosition {
        line: from_one(newlines(before)),
        column: from_one(column),
    }
}

/// Text without control characters.
fn clean(text: &str) -> String {
    text.chars().map(visible).collect()
}

/// A picture of a control character; the replacement character for one that moves or hides text.
fn visible(c: char) -> char {
    match c {
        '\u{0}'..='\u{1f}' => char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        '\u{2028}' | '\u{2029}' => '\u{fffd}',
        _ if c.is_control() || is_invisible(c) => '\u{fffd}',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(path: &str, message: &str, help: Option<&str>, span: Range<usize>) -> SpecProblem {
        SpecProblem {
            help: help.map(str::to_owned),
            ..SpecProblem::of(path, message, Some(span))
        }
    }

    fn rendered(text: &str, problems: Vec<SpecProblem>) -> String {
        SpecErrors::new("canary-gate.yml", text.as_bytes(), problems, 0).render(false, 80)
    }

    #[test]
    fn a_problem_stands_under_its_line() {
        let text = "version: 1\njobs:\n  churn:\n    bugdet:\n      cost: 50\n";
        let at = text.find("bugdet").unwrap();
        insta::assert_snapshot!(rendered(text, vec![
            problem("jobs.churn", "unknown key `bugdet`", Some("did you mean `budget`?"), at..at + 6),
        ]), @r"
  × the spec has 1 problem; nothing was run

error: jobs.churn: unknown key `bugdet`
  ╭▸ canary-gate.yml:4:5
  │
3 │   churn:
4 │     bugdet:
  │     ━━━━━━
  │
  ╰ help: did you mean `budget`?
");
    }

    #[test]
    fn a_long_line_is_cropped_around_the_problem_and_the_label_wrapped() {
        let text = format!("a: [{}, wrong, {}]", "x, ".repeat(2000), "y, ".repeat(2000));
        let at = text.find("wrong").unwrap();
        insta::assert_snapshot!(rendered(&text, vec![
            problem("a", "this one is not right, and there is so much to say about it that it needs more than one line", None, at..at + 5),
        ]), @r"
  × the spec has 1 problem; nothing was run

error: a: this one is not right, and there is so much to say about it
       that it needs more than one line
  ╭▸ canary-gate.yml:1:6007
  │
1 │ …, x, x, x, x, x, x, x, x, x, x, , wrong, y, y, y, y, y, y, y, y, y, y, y, …
  ╰╴                                   ━━━━━
");
    }

    #[test]
    fn nothing_of_the_file_reaches_the_terminal_as_a_command() {
        let text = "a: \u{1b}[31mred\u{202e}\u{7}\tx\nb\u{200b}: 1";
        let found = "found `\u{1b}[31mred\u{9b}` ::add-mask::x :::y";
        let first = problem("a.\u{1b}[2J", found, Some("\u{7}"), 3..5);
        let second = problem("b", "wrong", None, text.len() - 1..text.len());
        let errors = SpecErrors::new("gate.yml", text.as_bytes(), vec![first, second], 0);
        let [report, coloured] = [false, true].map(|colours| errors.render(colours, 80));
        assert!(coloured.contains("\u{1b}[") && !coloured.contains("\u{1b}[31mred"));
        assert!(
            report.chars().all(|c| c == '\n' || !c.is_control()),
            "{report:?}"
        );
        assert!(!report.contains(['\u{202e}', '\u{200b}']) && !report.contains(" ::"));
    }

    #[test]
    fn many_problems_are_counted_and_some_are_shown() {
        let text = "a\n".repeat(40);
        let problems = (0..33).map(|line| problem("", "wrong", None, line * 2..line * 2 + 1));
        let report = rendered(&text, problems.collect());
        assert!(report.starts_with("  × the spec has 33 problems; nothing was run\n"));
        assert_eq!(report.matches("wrong").count(), 20);
        assert!(report.ends_with("\n  and 13 more\n"));
    }

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let place = |offset| place("a: 1\nüb: 2\r\n".as_bytes(), offset);
        assert_eq!(place(0), FilePosition { line: 1, column: 1 });
        assert_eq!(place(7), FilePosition { line: 2, column: 2 });
        assert_eq!(place(9999), FilePosition { line: 3, column: 1 });
    }

    #[test]
    fn every_span_of_every_text_is_shown() {
        for text in [
            "",
            "a",
            "\n",
            "a\n\nb\r\n",
            "ü: ß",
            "\u{feff}a",
            &"long ".repeat(60),
        ] {
            for start in 0..text.len() + 2 {
                for length in [0, 1, 2, 500] {
                    let span = start..start + length;
                    let report = rendered(text, vec![problem("a", "wrong", None, span)]);
                    assert!(report.contains('━'), "{text:?} {start}: {report}");
                    assert!(report.lines().all(|line| line.chars().count() <= 80));
                }
            }
        }
    }
}
