//! [`AppError`]: why a command ended without a verdict, in three lines: what, why, what to do.

use std::error::Error;
use std::fmt::Write;

use crate::backend::{BackendError, Remedy};
use crate::console::terminal::wrapped;
use crate::console::text::{indented, printable};
use crate::exit;
use crate::git::GitError;
use crate::github::error::GithubError;
use crate::history::HistoryError;
use crate::plan::PlanError;
use crate::probe::ProbeError;
use crate::report::{Failure, words};
use crate::secret::SecretMask;
use crate::spec::SpecErrors;
use crate::verdict::Reason;

/// Why a command ended without a verdict.
#[derive(Debug)]
pub(crate) struct AppError {
    kind: Kind,
    code: u8,
    /// The step that failed, e.g. `listing the data`; `None` if unknown.
    phase: Option<&'static str>,
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

/// The program that reports the error.
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
            phase: None,
        }
    }

    /// The tool failed, or a person must fix something: code 1.
    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Self::message(what, exit::TOOL_FAILED)
    }

    /// Wrong usage, or an impossible spec: code 2.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::message(what, exit::USAGE)
    }

    /// A signal ended the run.
    pub(crate) fn interrupted(what: impl Into<String>, code: u8) -> Self {
        Self::message(what, code)
    }

    /// Ends with the code of a worse outcome.
    pub(crate) fn ending_with(mut self, code: u8) -> Self {
        self.code = code;
        self
    }

    /// Names the step that failed, unless one is named already.
    pub(crate) fn during(mut self, phase: &'static str) -> Self {
        self.phase.get_or_insert(phase);
        self
    }

    /// The error as an entry of a report.
    pub(crate) fn failure(&self, job: Option<&str>) -> Failure {
        let failure = |what: String, causes, help| Failure {
            job: job.map(str::to_owned),
            phase: self.phase.unwrap_or("checking").to_owned(),
            what,
            causes,
            help,
        };
        match &self.kind {
            Kind::Message {
                what, causes, help, ..
            } => failure(what.clone(), causes.clone(), help.clone()),
            Kind::Spec(errors) => {
                let causes = errors.problems().iter().map(|problem| {
                    let place = problem
                        .place
                        .map_or(String::new(), |place| format!("line {}: ", place.line));
                    let help = problem.help.as_ref();
                    let help = help.map_or(String::new(), |help| format!(" ({help})"));
                    format!("{place}{problem}{help}")
                });
                failure(errors.to_string(), causes.collect(), None)
            }
        }
    }

    /// The problems of an invalid spec; `None` for any other error.
    pub(crate) fn spec_errors(&self) -> Option<&SpecErrors> {
        match &self.kind {
            Kind::Spec(errors) => Some(errors),
            Kind::Message { .. } => None,
        }
    }

    /// Names the job, unless the text names it already.
    pub(crate) fn of_job(mut self, name: &str) -> Self {
        if let Kind::Message { what, .. } = &mut self.kind
            && !what.contains(&format!("jobs.{name}."))
            && !what.contains(&format!("job `{name}`"))
        {
            *what = format!("job `{name}`: {what}");
        }
        self
    }

    /// The error without secrets. The advice stays: it is the program's own.
    pub(crate) fn without(mut self, secrets: &SecretMask) -> Self {
        if let Kind::Message { what, causes, .. } = &mut self.kind {
            *what = secrets.mask(what);
            causes
                .iter_mut()
                .for_each(|cause| *cause = secrets.mask(cause));
        }
        self
    }

    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        if let Kind::Message { help, .. } = &mut self.kind {
            *help = Some(text.into());
        }
        self
    }

    pub(crate) fn caused_by(mut self, error: impl Error) -> Self {
        if let Kind::Message { causes, .. } = &mut self.kind {
            let mut next: Option<&dyn Error> = Some(&error);
            while let Some(cause) = next {
                causes.push(cause.to_string());
                next = cause.source();
            }
        }
        self
    }

    pub(crate) fn code(&self) -> u8 {
        self.code
    }

    /// Whether it may be gone tomorrow, and so leaves an outcome unknown.
    pub(crate) fn is_transient(&self) -> bool {
        self.code == exit::UNKNOWN
    }

    /// The same as the reason of a job that it left undecided, with what to do.
    pub(crate) fn reason(&self) -> Reason {
        Reason {
            why: self.in_a_line(),
            advice: self.remedy().map(str::to_owned),
        }
    }

    /// What and why in one line, for a warning.
    pub(crate) fn in_a_line(&self) -> String {
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

    /// The text for standard error of the error that ends the command, with the code that it ends with.
    pub(crate) fn render(&self, colours: bool) -> String {
        let mut text = self.render_beside(colours);
        // A probe ends with the codes of the command that it runs.
        let is_of_probe = matches!(
            self.kind,
            Kind::Message {
                origin: Origin::Probe,
                ..
            }
        );
        if !is_of_probe {
            let _ = writeln!(
                text,
                "\nexit {}: {}",
                self.code,
                words::exit_words(self.code)
            );
        }
        text
    }

    /// What to do about it; `None` where nothing is known.
    pub(crate) fn remedy(&self) -> Option<&str> {
        match &self.kind {
            Kind::Message { help, .. } => help.as_deref(),
            Kind::Spec(_) => None,
        }
    }

    /// The text of an error beside which the command goes on, and may end with another code. Hostile characters are made
    /// harmless.
    pub(crate) fn render_beside(&self, colours: bool) -> String {
        match &self.kind {
            // GitHub's runner reads standard error; a line of the spec must not be a command to it.
            Kind::Spec(errors) => errors
                .render(colours, terminal_width())
                .replace("##[", "## ["),
            Kind::Message {
                what, causes, help, ..
            } => {
                let (red, cyan, reset) = if colours {
                    ("\u{1b}[31m", "\u{1b}[36m", "\u{1b}[0m")
                } else {
                    ("", "", "")
                };
                let width = crate::console::terminal::stderr_width();
                let fit = |line: String| wrapped(&line, width);
                let mut text = fit(format!("  {red}×{reset} {}\n", printable(what)));
                for (index, cause) in causes.iter().enumerate() {
                    let branch = if index + 1 == causes.len() {
                        "╰─▶"
                    } else {
                        "├─▶"
                    };
                    for (row, line) in cause.lines().enumerate() {
                        let start = if row == 0 { branch } else { "   " };
                        let line = format!("  {red}{start}{reset} {}", indented(line));
                        let _ = writeln!(text, "{}", fit(line));
                    }
                }
                // Help may hold lines to paste.
                let help = help.as_deref().unwrap_or_default();
                for (row, line) in help.lines().enumerate() {
                    let start = if row == 0 { "help:" } else { "     " };
                    let line = format!("  {cyan}{start}{reset} {}", indented(line));
                    // What is to be pasted stands further in.
                    let line = match help.contains("\n ") {
                        true => line,
                        false => fit(line),
                    };
                    let _ = writeln!(text, "{}", line.trim_end());
                }
                text
            }
        }
    }
}

/// The width that errors are laid out for; 100 columns without a terminal.
fn terminal_width() -> usize {
    crate::console::terminal::stderr_width().unwrap_or(100)
}

impl From<SpecErrors> for AppError {
    fn from(errors: SpecErrors) -> Self {
        Self {
            kind: Kind::Spec(Box::new(errors)),
            code: exit::USAGE,
            phase: Some("reading the spec"),
        }
    }
}

impl From<BackendError> for AppError {
    fn from(error: BackendError) -> Self {
        let code = match error.remedy {
            Remedy::Permanent => exit::TOOL_FAILED,
            Remedy::Transient => exit::UNKNOWN,
        };
        let mut mapped = Self::message(error.what, code).help(error.help);
        if let Some(source) = error.source {
            mapped = mapped.caused_by(source);
        }
        mapped
    }
}

impl From<GithubError> for AppError {
    /// A transient failure of GitHub leaves the outcome unknown; a person must fix all others.
    fn from(error: GithubError) -> Self {
        let code = match error {
            GithubError::NotReachable { .. }
            | GithubError::RateLimited { .. }
            | GithubError::ServerTrouble { .. }
            | GithubError::Unsure { .. } => exit::UNKNOWN,
            _ => exit::TOOL_FAILED,
        };
        Self::message(error.to_string(), code)
            .help(error.help())
            .during("asking GitHub")
    }
}

impl From<ProbeError> for AppError {
    /// Codes as those of `env` and `timeout`, since the probe runs in place of the command.
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

impl From<HistoryError> for AppError {
    fn from(error: HistoryError) -> Self {
        let mapped = Self::failed(error.what).help(error.help);
        let mapped = match error.is_transient {
            true => mapped.ending_with(crate::exit::UNKNOWN),
            false => mapped,
        };
        match error.source {
            Some(source) => mapped.caused_by(source),
            None => mapped,
        }
    }
}

impl From<PlanError> for AppError {
    /// A person must fix data that cannot be sampled, and a design that is no forecast.
    fn from(error: PlanError) -> Self {
        let help = match error {
            PlanError::TooFew {
                folders: Some((ref channel, least)),
                ..
            } => {
                let help = format!(
                    "with `by: folder` channel `{channel}` draws at least {least} files, one of each top folder: write larger fractions, such as [20%, 40%, 60%], or remove `by: folder`"
                );
                return Self::usage(error.to_string()).help(help);
            }
            PlanError::TooFew { .. } => {
                return Self::usage(error.to_string())
                    .help("correct `canary.fractions` or `canary.replicates`: sizes that draw different numbers of objects, such as [1%, 5%, 20%]; or leave `canary.design` out");
            }
            PlanError::OneObject {
                of_rows: Some(ref name),
                ref channel,
                ..
            } => {
                let help = format!(
                    "write `sample: rows` on channel `{channel}`: canaries get rows of `{name}`, in a file of the same name; or split it into partition files, 100 or more"
                );
                return Self::failed(error.to_string()).help(help);
            }
            PlanError::OneObject { .. } => {
                "split the data into partition files, 100 or more; a canary draws whole files; or write `share` if the script can draw its own share, or `sample: false` and `work`"
            }
            PlanError::OneInEachFolder { .. } => {
                "remove `by: folder`, or put the files of a class into one folder at the top of the channel"
            }
            PlanError::Joined { .. } => {
                "write `sample: false` for the channel whose rows the others look up; or `canary: {joined: false}` where the script joins no tables"
            }
            PlanError::NothingSampled { .. } => {
                "take `sample: false` off the channel that holds the training data"
            }
            PlanError::Unknown(_) => "see the plan with `canary-gate plan`",
        };
        Self::failed(error.to_string()).help(help)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::github::error::Permission;

    #[test]
    fn lines_to_paste_stay_lines() {
        let error = AppError::from(GithubError::NotFound {
            request: "GET git/trees/3f9c2e1d".to_owned(),
            needed: Permission("contents: read"),
        });
        let text = error
            .help("look here:\n\n    a\n      b\n::error::c")
            .render(false);
        assert_eq!(
            text,
            "  × GitHub has nothing at GET git/trees/3f9c2e1d (404)\n  help: look here:\n\n            a\n              b\n        \
             : :error::c\n\nexit 1: the tool failed, or its environment needs a correction\n"
        );
    }
}
