//! The forms that a report is written in. A new one is a file that renders it and a line here.

use super::terminal::{self, TerminalStyle};
use super::{Report, csv, html, json, markdown};

/// A form of the report.
#[derive(Debug, Clone, Copy)]
pub struct ReportFormat {
    /// As `--format` names it; `None` for one that is only written to files.
    name: Option<&'static str>,
    /// Of files that hold it, without the dot; `None` for one that is only printed.
    extension: Option<&'static str>,
    render: fn(&Report, TerminalStyle) -> String,
}

/// The first is the default of `--format`.
const ALL: [ReportFormat; 5] = [
    ReportFormat::new(Some("terminal"), None, terminal::render),
    ReportFormat::new(Some("markdown"), Some("md"), |report, _| {
        markdown::render(report)
    }),
    ReportFormat::new(Some("json"), Some("json"), |report, _| {
        json::to_json(report)
    }),
    ReportFormat::new(None, Some("csv"), |report, _| csv::render(report)),
    ReportFormat::new(None, Some("html"), |report, _| html::render(report)),
];

impl ReportFormat {
    const fn new(
        name: Option<&'static str>,
        extension: Option<&'static str>,
        render: fn(&Report, TerminalStyle) -> String,
    ) -> Self {
        Self {
            name,
            extension,
            render,
        }
    }

    /// Whether a person reads it where errors are printed too.
    pub fn is_for_terminal(self) -> bool {
        self.extension.is_none()
    }

    /// Whether a template can lay it out.
    pub fn is_markdown(self) -> bool {
        self.extension == Some("md")
    }

    /// As `--format` names it.
    pub fn named(name: &str) -> Option<Self> {
        ALL.into_iter().find(|format| format.name == Some(name))
    }

    /// What a file of this extension holds.
    pub fn of_extension(extension: &str) -> Option<Self> {
        let mut all = ALL.into_iter();
        all.find(|format| format.extension == Some(extension))
    }

    /// The names for `--format`, the default first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ALL.into_iter().filter_map(|format| format.name)
    }

    /// `.md`, `.json`
    pub fn extensions() -> Vec<String> {
        let extensions = ALL.into_iter().filter_map(|format| format.extension);
        extensions
            .map(|extension| format!(".{extension}"))
            .collect()
    }

    /// The report in this form; a form that is not for terminals takes no notice of the style.
    pub fn render(self, report: &Report, style: TerminalStyle) -> String {
        (self.render)(report, style)
    }
}
