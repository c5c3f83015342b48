//! The problems of a spec, as values and as text for a terminal.

use std::fmt;
use std::ops::Range;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteDiagnostic, MietteError,
    MietteSpanContents, SourceCode, SourceSpan, SpanContents,
};

use super::FilePosition;
use super::excerpt::{NumberedLines, clean};
use super::problems::Problem;

/// The problems of a spec that could not be read; never empty.
#[derive(Debug, Clone)]
pub struct SpecErrors {
    /// The file as a reader knows it.
    name: String,
    bytes: Vec<u8>,
    problems: Vec<SpecProblem>,
    /// Problems that were counted and not kept.
    further: usize,
}

/// One problem. All its text is safe to print: nothing of the file reaches a terminal as a control character.
#[derive(Debug, Clone)]
pub struct SpecProblem {
    /// The field, e.g. `jobs.churn.budget.cost`; empty where the whole file is concerned.
    pub field: String,
    /// What is wrong.
    pub message: String,
    /// What to do, if known.
    pub help: Option<String>,
    /// Absent if the problem has no place in the file.
    pub place: Option<FilePosition>,
    span: Option<Range<usize>>,
}

impl SpecProblem {
    /// Field and message: `jobs.churn: unknown key "bugdet"`.
    fn label(&self) -> String {
        if self.field.is_empty() {
            self.message.clone()
        } else {
            format!("{}: {}", self.field, self.message)
        }
    }
}

impl fmt::Display for SpecProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label())
    }
}

impl SpecErrors {
    /// The most problems shown; more are counted.
    const SHOWN: usize = 20;

    pub(super) fn new(
        name: &str,
        bytes: &[u8],
        mut problems: Vec<Problem>,
        further: usize,
    ) -> Self {
        let lines = NumberedLines::of(bytes);
        problems.sort_by_key(|problem| problem.span.as_ref().map(|span| span.start));
        let problem = |problem: Problem| SpecProblem {
            field: clean(&problem.path),
            message: clean(&problem.message),
            help: problem.help.as_deref().map(clean),
            place: problem.span.as_ref().map(|span| lines.place(span.start)),
            span: problem.span,
        };
        let problems = problems.into_iter().map(problem).collect();
        Self {
            name: clean(name),
            bytes: bytes.to_vec(),
            problems,
            further,
        }
    }

    /// The file as a reader knows it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// In the order of the file.
    pub fn problems(&self) -> &[SpecProblem] {
        &self.problems
    }

    /// How many there are, including those that were only counted.
    pub fn count(&self) -> usize {
        self.problems.len() + self.further
    }

    /// The text for a terminal of `width` columns: the number of problems, then each with its place, its line and what to do.
    pub fn render(&self, colours: bool, width: usize) -> String {
        let width = width.max(60);
        let theme = if colours {
            GraphicalTheme::unicode()
        } else {
            GraphicalTheme::unicode_nocolor()
        };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_width(width)
            .with_links(false);
        let mut text = draw(&handler, &MietteDiagnostic::new(self.to_string()));
        let lines = NumberedLines::of(&self.bytes);
        for problem in self.problems.iter().take(Self::SHOWN) {
            text.push('\n');
            text.push_str(&self.render_one(&handler, &lines, problem, width));
        }
        let hidden = self.count().saturating_sub(Self::SHOWN);
        if hidden > 0 {
            text.push_str(&format!("\n  and {hidden} more\n"));
        }
        text
    }

    fn render_one(
        &self,
        handler: &GraphicalReportHandler,
        lines: &NumberedLines<'_>,
        problem: &SpecProblem,
        width: usize,
    ) -> String {
        let Some((span, place)) = problem.span.as_ref().zip(problem.place) else {
            let mut whole = MietteDiagnostic::new(format!("{}: {problem}", self.name));
            whole.help.clone_from(&problem.help);
            return draw(handler, &whole);
        };
        let view = lines.view(span, width);
        let label = wrap(&problem.label(), view.label_width(width));
        let mut snippet = MietteDiagnostic::new(String::new())
            .with_label(LabeledSpan::new_primary_with_span(Some(label), view.span));
        snippet.help.clone_from(&problem.help);
        let snippet = miette::Report::new(snippet).with_source_code(CroppedSource {
            name: self.name.clone(),
            place,
            first_line: view.first_line,
            text: view.text,
        });
        // The handler starts each report with a line of its own; here one headline covers all.
        let report = draw(handler, snippet.as_ref());
        let body = report.find('\n').map_or(0, |newline| newline + 1);
        let lines: Vec<&str> = report[body..].lines().map(str::trim_end).collect();
        lines.join("\n") + "\n"
    }
}

fn draw(handler: &GraphicalReportHandler, diagnostic: &dyn Diagnostic) -> String {
    let mut text = String::new();
    handler
        .render_report(&mut text, diagnostic)
        .expect("a string takes all that is written");
    text
}

/// Breaks a text at spaces into lines of at most `width` characters; a longer word stands alone.
fn wrap(text: &str, width: usize) -> String {
    let mut wrapped = String::new();
    let mut used = 0;
    for word in text.split(' ') {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            wrapped.push('\n');
            used = 0;
        } else if used > 0 {
            wrapped.push(' ');
            used += 1;
        }
        wrapped.push_str(word);
        used += length;
    }
    wrapped
}

impl fmt::Display for SpecErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count() {
            1 => f.write_str("the spec has 1 problem; nothing was run"),
            count => write!(f, "the spec has {count} problems; nothing was run"),
        }
    }
}

impl std::error::Error for SpecErrors {}

/// A few lines with their position in the file, which may be cropped.
#[derive(Debug)]
struct CroppedSource {
    name: String,
    place: FilePosition,
    /// From 0.
    first_line: usize,
    text: String,
}

impl SourceCode for CroppedSource {
    fn read_span<'a>(
        &'a self,
        _: &SourceSpan,
        context_before: usize,
        _: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        // Asked without context, the handler wants the place for its header, else the lines.
        let (line, column) = if context_before == 0 {
            (at_index(self.place.line), at_index(self.place.column))
        } else {
            (self.first_line, 0)
        };
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            self.text.as_bytes(),
            (0, self.text.len()).into(),
            line,
            column,
            self.text.lines().count(),
        )))
    }
}

fn at_index(from_one: u32) -> usize {
    usize::try_from(from_one.saturating_sub(1)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(
        path: &str,
        message: &str,
        help: Option<&str>,
        span: std::ops::Range<usize>,
    ) -> Problem {
        Problem {
            path: path.to_owned(),
            message: message.to_owned(),
            help: help.map(str::to_owned),
            span: Some(span),
        }
    }

    fn rendered(text: &str, problems: Vec<Problem>) -> String {
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

  ╭─[canary-gate.yml:4:5]
3 │   churn:
4 │     bugdet:
  ·     ───┬──
  ·        ╰── jobs.churn: unknown key `bugdet`
  ╰────
 help: did you mean `budget`?
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

  ╭─[canary-gate.yml:1:6007]
1 │ … x, x, x, x, x, x, x, , wrong, y, y, y, y, y, y, y, y, y, y, y, y, y, y, …
  ·                          ──┬──
  ·                            ╰─┤ a: this one is not right, and there is so
  ·                              │ much to say about it that it needs more than
  ·                              │ one line
  ╰────
");
    }

    #[test]
    fn nothing_of_the_file_reaches_the_terminal_as_a_command() {
        let text = "a: \u{1b}[31mred\u{202e}\u{7}\tx\nb\u{200b}: 1";
        let report = rendered(
            text,
            vec![
                problem(
                    "a.\u{1b}[2J",
                    "found `\u{1b}[31mred\u{9b}`",
                    Some("\u{7}"),
                    3..5,
                ),
                problem("b", "wrong", None, text.len() - 1..text.len()),
            ],
        );
        assert!(
            report.chars().all(|c| c == '\n' || !c.is_control()),
            "{report:?}"
        );
        assert!(!report.contains(['\u{202e}', '\u{200b}']));
    }

    #[test]
    fn colours_are_ours_alone() {
        let text = "a: \u{1b}[31m1";
        let problems = vec![problem("a", "wrong", Some("correct it"), 3..9)];
        let errors = SpecErrors::new("canary-gate.yml", text.as_bytes(), problems, 0);
        let report = errors.render(true, 80);
        assert!(report.contains("\u{1b}[") && !report.contains("\u{1b}[31m1"));
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
}
