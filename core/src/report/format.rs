//! The forms that a report is written in. A new one is a file that renders it and a line here.

use super::terminal::{self, TerminalStyle};
use super::{Report, csv, html, json, markdown};

/// A form of the report: as `--format` names it, `None` for one that is only written to files; the extension of files that hold it,
/// without the dot, `None` for one that is only printed; and what renders it.
#[derive(Debug, Clone, Copy)]
pub struct ReportFormat(
    Option<&'static str>,
    Option<&'static str>,
    fn(&Report, TerminalStyle) -> String,
);

/// The first is the default of `--format`.
const ALL: [ReportFormat; 5] = [
    ReportFormat(Some("terminal"), None, terminal::render),
    ReportFormat(Some("markdown"), Some("md"), |it, _| markdown::render(it)),
    ReportFormat(Some("json"), Some("json"), |it, _| json::to_json(it)),
    ReportFormat(None, Some("csv"), |report, _| csv::render(report)),
    ReportFormat(None, Some("html"), |report, _| html::render(report)),
];

impl ReportFormat {
    /// Whether a person reads it where errors are printed too.
    pub fn is_for_terminal(self) -> bool {
        self.1.is_none()
    }

    /// Whether a template can lay it out.
    pub fn is_markdown(self) -> bool {
        self.1 == Some("md")
    }

    /// As `--format` names it.
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|Self(known, ..)| *known == Some(name))
    }

    /// What a file of this extension holds.
    pub fn of_extension(extension: &str) -> Option<Self> {
        let mut all = ALL.into_iter();
        all.find(|Self(_, known, _)| *known == Some(extension))
    }

    /// The names for `--format`, the default first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.into_iter().filter_map(|Self(name, ..)| name)
    }

    /// `.md`, `.json`
    pub fn extensions() -> Vec<String> {
        let all = ALL.into_iter();
        let extensions = all.filter_map(|Self(_, extension, _)| extension);
        extensions.map(|one| format!(".{one}")).collect()
    }

    /// The report in this form; a form that is not for terminals takes no notice of the style.
    pub fn render(self, report: &Report, style: TerminalStyle) -> String {
        self.2(report, style)
    }
}
