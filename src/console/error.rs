//! [`AppError`]: why a command ended without a verdict, in three lines: what, why, what to do.

use std::error::Error;

use crate::console::terminal::{self, wrapped};
use crate::console::{indented, printable};
use crate::exit;
use crate::git::GitError;
use crate::github::{ForgeError, ForgeErrorKind};
use crate::outside_error::{OutsideError, help_at_limit};
use crate::plan::PlanError;
use crate::probe::ProbeError;
use crate::report::{Failure, words};
use crate::secret::SecretMask;
use crate::spec::SpecErrors;
use crate::verdict::Reason;

/// What a step of a command gives, or why the command ends without a verdict.
pub(crate) type AppResult<T> = Result<T, AppError>;

/// What a step gives, with what its caller knows of its failure.
pub(crate) trait StepResult<T, E>: Into<Result<T, E>> {
    /// Names the step that failed, unless one is named already.
    fn during(self, phase: &'static str) -> AppResult<T>
    where
        E: Into<AppError>,
    {
        self.into().map_err(|error| error.into().during(phase))
    }

    /// In place of an error the one that it causes.
    fn or_fail(self, error: impl FnOnce() -> AppError) -> AppResult<T>
    where
        E: Error + 'static,
    {
        self.into().map_err(|cause| error().caused_by(cause))
    }
}

impl<T, E> StepResult<T, E> for Result<T, E> {}

/// Why a command ended without a verdict.
#[derive(Debug, Default)]
pub(crate) struct AppError {
    what: String,
    causes: Vec<String>,
    help: Option<String>,
    code: u8,
    /// The step that failed, e.g. `listing the data`; `None` if unknown.
    phase: Option<&'static str>,
    /// The problems of an invalid spec, which are drawn in their places.
    spec: Option<Box<SpecErrors>>,
}

impl AppError {
    /// An error that ends with this code.
    pub(crate) fn message(what: impl Into<String>, code: u8) -> Self {
        Self {
            what: what.into(),
            code,
            ..Self::default()
        }
    }

    /// An error of another room, with its causes.
    fn of(error: &dyn Error, code: u8) -> Self {
        Self::message(error.to_string(), code).because_of(error.source())
    }

    /// The tool failed, or a person must fix something: code 1.
    pub(crate) fn failed(what: impl Into<String>) -> Self {
        Self::message(what, exit::TOOL_FAILED)
    }

    /// Wrong usage, or an impossible spec: code 2.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::message(what, exit::USAGE)
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
        Failure {
            job: job.map(str::to_owned),
            phase: self.phase.unwrap_or("checking").to_owned(),
            what: self.what.clone(),
            causes: self.causes.clone(),
            help: self.help.clone(),
        }
    }

    /// The problems of an invalid spec; `None` for any other error.
    pub(crate) fn spec_errors(&self) -> Option<&SpecErrors> {
        self.spec.as_deref()
    }

    /// The same problems of another file than the spec, of which no line is drawn.
    pub(crate) fn listed_below(mut self, what: String) -> Self {
        (self.what, self.spec) = (what, None);
        self
    }

    /// Names the job, unless the text names it already.
    pub(crate) fn of_job(mut self, name: &str) -> Self {
        let what = &self.what;
        let is_named =
            what.contains(&format!("jobs.{name}.")) || what.contains(&format!("job `{name}`"));
        if !is_named && self.spec.is_none() {
            self.what = format!("job `{name}`: {what}");
        }
        self
    }

    /// The error without secrets. The advice stays: it is the program's own.
    pub(crate) fn without(mut self, secrets: &SecretMask) -> Self {
        for text in self.causes.iter_mut().chain([&mut self.what]) {
            *text = secrets.mask(text);
        }
        self
    }

    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    pub(crate) fn caused_by(self, error: impl Error + 'static) -> Self {
        self.because_of(Some(&error))
    }

    /// Where a limit was reached, that is what has to be mended.
    fn because_of(mut self, mut cause: Option<&(dyn Error + 'static)>) -> Self {
        while let Some(error) = cause {
            self.causes.push(error.to_string());
            let help = error.downcast_ref().and_then(help_at_limit);
            self.help = help.map(str::to_owned).or(self.help);
            cause = error.source();
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
            advice: self.help.clone(),
        }
    }

    /// What and why in one line, for a warning.
    pub(crate) fn in_a_line(&self) -> String {
        let causes = self.causes.iter().filter(|_| self.spec.is_none());
        let why = causes.flat_map(|cause| cause.lines()).map(str::trim);
        let why: Vec<&str> = why.collect();
        let colon = if why.is_empty() { "" } else { ": " };
        printable(&format!("{}{colon}{}", self.what, why.join("; ")))
    }

    /// The text for standard error of the error that ends the command, with the code that it ends with.
    pub(crate) fn render(&self, colours: bool) -> String {
        let text = self.render_beside(colours);
        match self.code {
            // A probe ends with the codes of the command that it runs.
            125..=127 => text,
            code => format!("{text}\nexit {code}: {}\n", words::exit_words(code)),
        }
    }

    /// The text of an error beside which the command goes on, and may end with another code. Hostile characters are made
    /// harmless.
    pub(crate) fn render_beside(&self, colours: bool) -> String {
        let width = terminal::stderr_width();
        if let Some(errors) = &self.spec {
            // GitHub's runner reads standard error; a line of the spec must not be a command to it.
            let text = errors.render(colours, width.unwrap_or(WIDTH_OF_FILES));
            return text.replace("##[", "## [");
        }
        let (red, cyan, reset) = match colours {
            true => ("\u{1b}[31m", "\u{1b}[36m", "\u{1b}[0m"),
            false => ("", "", ""),
        };
        let mut text = String::new();
        // What is to be pasted is not wrapped.
        let mut line = |colour: &str, sign: &str, line: &str, is_wrapped: bool| {
            let line = format!("  {colour}{sign}{reset} {}", indented(line));
            let width = width.filter(|_| is_wrapped);
            text.push_str(wrapped(&line, width).trim_end());
            text.push('\n');
        };
        line(red, "×", &printable(&self.what), true);
        for (index, cause) in (1..).zip(&self.causes) {
            let is_last = index == self.causes.len();
            let mut sign = if is_last { "╰─▶" } else { "├─▶" };
            for row in cause.lines() {
                line(red, sign, row, true);
                sign = "   ";
            }
        }
        // Help may hold lines to paste, which stand further in.
        let help = self.help.as_deref().unwrap_or_default();
        let mut sign = "help:";
        for row in help.lines() {
            line(cyan, sign, row, !help.contains("\n "));
            sign = "     ";
        }
        text
    }
}

/// The columns that a spec's problems are drawn for without a terminal.
const WIDTH_OF_FILES: usize = 100;

impl From<SpecErrors> for AppError {
    fn from(errors: SpecErrors) -> Self {
        let causes = errors.problems.iter().map(|problem| {
            let place = problem.place.map(|place| format!("line {}: ", place.line));
            let help = problem.help.as_ref().map(|help| format!(" ({help})"));
            let (place, help) = (place.unwrap_or_default(), help.unwrap_or_default());
            format!("{place}{problem}{help}")
        });
        let what = Self::usage(errors.to_string());
        Self {
            causes: causes.collect(),
            spec: Some(Box::new(errors)),
            ..what.during("reading the spec")
        }
    }
}

impl From<OutsideError> for AppError {
    fn from(error: OutsideError) -> Self {
        let code = match error.is_transient {
            true => exit::UNKNOWN,
            false => exit::TOOL_FAILED,
        };
        Self::of(&error, code).help(error.help)
    }
}

impl From<ForgeError> for AppError {
    /// A transient failure of GitHub leaves the outcome unknown; a person must fix all others.
    fn from(error: ForgeError) -> Self {
        let code = match error.kind {
            ForgeErrorKind::Passing | ForgeErrorKind::Unsure => exit::UNKNOWN,
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
        Self::of(&error, error.exit_code())
    }
}

impl From<GitError> for AppError {
    fn from(error: GitError) -> Self {
        let code = match error {
            GitError::NotAReference(_) => exit::USAGE,
            _ => exit::TOOL_FAILED,
        };
        Self::from(OutsideError::from(error)).ending_with(code)
    }
}

impl From<PlanError> for AppError {
    /// A person must fix data that cannot be sampled, and a design that is no forecast.
    fn from(error: PlanError) -> Self {
        let (reason, code) = match error {
            PlanError::NoCanaries(reason) => (reason, exit::TOOL_FAILED),
            PlanError::NoForecast(reason) => (reason, exit::USAGE),
            PlanError::Unknown(reason) => {
                let reason = Reason::new(reason.to_string());
                let see = "see the plan with `canary-gate plan`";
                (reason.advising(see), exit::TOOL_FAILED)
            }
        };
        Self {
            help: reason.advice,
            ..Self::message(reason.why, code)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_to_paste_stay_lines() {
        let error = AppError::failed("GitHub has nothing at GET git/trees/3f9c2e1d (404)");
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
