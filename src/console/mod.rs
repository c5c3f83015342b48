//! What a command prints and writes: errors, warnings, progress, files; and the signals that end it.

pub(crate) mod error;
pub(crate) mod files;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod signals;
pub(crate) mod terminal;

pub(crate) use error::{AppError, AppResult, StepResult};
pub(crate) use output::{Loudness, indented, print, print_prose, printable, say, warn};
