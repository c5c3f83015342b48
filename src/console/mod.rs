//! What a command prints and writes: errors, warnings, progress, files; and the signals that end it.

pub(crate) mod colours;
pub(crate) mod error;
pub(crate) mod files;
pub(crate) mod output;
pub(crate) mod progress;
pub(crate) mod signals;
pub(crate) mod terminal;
pub(crate) mod text;

pub(crate) use error::AppError;
pub(crate) use output::{Loudness, print, print_prose, say, warn};
pub(crate) use text::{indented, printable};
