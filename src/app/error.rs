//! [`AppError`]: why a command ended without a verdict, in three lines: what, why, what to do.

use std::error::Error;
use std::fmt::Write;

use crate::backend::{BackendError, Remedy};
use crate::exit;
use crate::git::GitError;
use crate::probe::ProbeError;
use crate::report::words;
use crate::spec::SpecErrors;

use super::{indented, printable};

/// Why a command ended without a verdict.
#[derive(Debug)]
pub struct AppError {
    kind: Kind,
    code: u8,
}

#[derive(Debug)]
enum Kind {
    Message {
        what: String,
        causes: Vec<String>,
        help: Option<String>,
        origin: Origin,
    },
    /// Renders itself, with every problem in its place.
    Spec(Box<SpecErrors>),
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    Gate,
    Probe,
}

impl AppError {
    fn message(what: impl Into<String>, code: u8) -> Self {
        Self {
            kind: Kind::Message {
                what: what.into(),
                causes: Vec::new(),
                help: None,
                origin: Origin::Gate,
            },
            code,
        }
    }

    /// The tool failed, or a person must mend something: code 1.
    pub(super) fn failed(what: impl Into<String>) -> Self {
        Self::message(what, exit::TOOL_FAILED)
    }

    /// Wrong usage, or a spec that asks for what cannot be: code 2.
    pub(super) fn usage(what: impl Into<String>) -> Self {
        Self::message(what, exit::USAGE)
    }

    /// A signal ended the run.
    pub(super) fn interrupted(what: impl Into<String>, code: u8) -> Self {
        Self::message(what, code)
    }

    /// The same, with the code of something worse.
    pub(super) fn ending_with(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Says which job it is about, unless it does already.
    pub(super) fn of_job(mut self, name: &str) -> Self {
        if let Kind::Message { what, .. } = &mut self.kind
            && !what.contains(&format!("jobs.{name}."))
            && !what.contains(&format!("job `{name}`"))
        {
            *what = format!("job `{name}`: {what}");
        }
        self
    }

    pub(super) fn help(mut self, text: impl Into<String>) -> Self {
        if let Kind::Message { help, .. } = &mut self.kind {
            *help = Some(text.into());
        }
        self
    }

    pub(super) fn caused_by(mut self, error: impl Error) -> Self {
        if let Kind::Message { causes, .. } = &mut self.kind {
            let mut next: Option<&dyn Error> = Some(&error);
            while let Some(cause) = next {
                causes.push(cause.to_string());
                next = cause.source();
            }
        }
        self
    }

    pub fn code(&self) -> u8 {
        self.code
    }

    /// Whether it may be gone tomorrow, and so leaves an outcome unknown.
    pub(super) fn is_passing(&self) -> bool {
        self.code == exit::UNKNOWN
    }

    /// What and why in one line, for a warning.
    pub(super) fn in_a_line(&self) -> String {
        match &self.kind {
            Kind::Spec(errors) => printable(&errors.to_string()),
            Kind::Message { what, causes, .. } => {
                let causes = causes.iter().flat_map(|cause| cause.lines());
                let why: Vec<&str> = causes.map(str::trim).collect();
                let colon = if why.is_empty() { "" } else { ": " };
                printable(&format!("{what}{colon}{}", why.join("; ")))
            }
        }
    }

    /// The text for standard error; hostile characters are made harmless.
    pub fn render(&self, colours: bool) -> String {
        let mut text = match &self.kind {
            Kind::Spec(errors) => errors.render(colours, terminal_width()),
            Kind::Message {
                what, causes, help, ..
            } => {
                let (red, cyan, reset) = if colours {
                    ("\u{1b}[31m", "\u{1b}[36m", "\u{1b}[0m")
                } else {
                    ("", "", "")
                };
                let mut text = format!("  {red}×{reset} {}\n", printable(what));
                for (index, cause) in causes.iter().enumerate() {
                    let branch = if index + 1 == causes.len() {
                        "╰─▶"
                    } else {
                        "├─▶"
                    };
                    for (row, line) in cause.lines().enumerate() {
                        let start = if row == 0 { branch } else { "   " };
                        let _ = writeln!(text, "  {red}{start}{reset} {}", indented(line));
                    }
                }
                if let Some(help) = help {
                    let _ = writeln!(text, "  {cyan}help:{reset} {}", printable(help));
                }
                text
            }
        };
        // A probe stands in its command's place and ends with codes of its own.
        if !matches!(
            self.kind,
            Kind::Message {
                origin: Origin::Probe,
                ..
            }
        ) {
            let _ = writeln!(
                text,
                "\nexit {}: {}",
                self.code,
                words::exit_words(self.code)
            );
        }
        text
    }
}

/// Errors are laid out for a page of text where the width cannot be told.
fn terminal_width() -> usize {
    crate::app::progress::stderr_width().unwrap_or(100)
}

impl From<SpecErrors> for AppError {
    fn from(errors: SpecErrors) -> Self {
        Self {
            kind: Kind::Spec(Box::new(errors)),
            code: exit::USAGE,
        }
    }
}

impl From<BackendError> for AppError {
    fn from(error: BackendError) -> Self {
        let code = match error.remedy {
            Remedy::Mend => exit::TOOL_FAILED,
            Remedy::Wait => exit::UNKNOWN,
        };
        let mut mapped = Self::message(error.what, code).help(error.help);
        if let Some(source) = error.source {
            mapped = mapped.caused_by(source);
        }
        mapped
    }
}

impl From<ProbeError> for AppError {
    /// The codes of `env` and `timeout`: the probe stands in the command's place.
    fn from(error: ProbeError) -> Self {
        let code = error.exit_code();
        let mut mapped = Self::message(error.to_string(), code);
        if let Kind::Message { causes, origin, .. } = &mut mapped.kind {
            *origin = Origin::Probe;
            causes.extend(error.source().map(ToString::to_string));
        }
        mapped
    }
}

impl From<GitError> for AppError {
    fn from(error: GitError) -> Self {
        let code = match error {
            GitError::NotAReference(_) => exit::USAGE,
            _ => exit::TOOL_FAILED,
        };
        let help = error.help();
        let mut mapped = Self::message(error.to_string(), code).help(help);
        if let Some(source) = error.source()
            && let Kind::Message { causes, .. } = &mut mapped.kind
        {
            causes.push(source.to_string());
        }
        mapped
    }
}
