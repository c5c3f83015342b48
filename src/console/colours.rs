//! Whether output is coloured: the flag `--color`, then the variables that many programs know, then whether it is a terminal.

use anstream::{AutoStream, ColorChoice};

use crate::cli::ColourChoice;

/// Takes the flag's word for all output to come.
pub(crate) fn choose(choice: ColourChoice) {
    let choice = match choice {
        ColourChoice::Auto => ColorChoice::Auto,
        ColourChoice::Always => ColorChoice::Always,
        ColourChoice::Never => ColorChoice::Never,
    };
    choice.write_global();
}

pub(crate) fn on_stdout() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

pub(crate) fn on_stderr() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}
