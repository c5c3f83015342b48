//! Whether output is coloured: the flag `--color`, then the variables that many programs know, then whether it is a terminal.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::sync::OnceLock;

use crate::cli::ColourChoice;

/// What `--color` says, once for the process; before it is known, `auto`.
static CHOICE: OnceLock<ColourChoice> = OnceLock::new();

/// Takes the flag's word for all output to come.
pub(crate) fn choose(choice: ColourChoice) {
    // A second word would be another command line's.
    let _ = CHOICE.set(choice);
}

pub(crate) fn on_stdout() -> bool {
    is_coloured(std::io::stdout().is_terminal())
}

pub(crate) fn on_stderr() -> bool {
    is_coloured(std::io::stderr().is_terminal())
}

fn is_coloured(is_terminal: bool) -> bool {
    let choice = CHOICE.get().copied().unwrap_or(ColourChoice::Auto);
    decide(choice, is_terminal, |name| std::env::var_os(name))
}

/// By <https://no-color.org> and <https://bixense.com/clicolors>: `NO_COLOR` is heard before `CLICOLOR_FORCE`, and that
/// before `CLICOLOR`; an empty value says nothing.
fn decide(
    choice: ColourChoice,
    is_terminal: bool,
    variable: impl Fn(&str) -> Option<OsString>,
) -> bool {
    let said = |name| variable(name).filter(|value| !value.is_empty());
    let is_off = |name| said(name).is_some_and(|value| value == "0");
    match choice {
        ColourChoice::Always => true,
        ColourChoice::Never => false,
        ColourChoice::Auto if said("NO_COLOR").is_some() => false,
        ColourChoice::Auto if said("CLICOLOR_FORCE").is_some() && !is_off("CLICOLOR_FORCE") => true,
        ColourChoice::Auto if is_off("CLICOLOR") => false,
        ColourChoice::Auto => is_terminal && said("TERM").is_none_or(|term| term != "dumb"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn auto(is_terminal: bool, variables: &[(&str, &str)]) -> bool {
        decide(ColourChoice::Auto, is_terminal, |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        })
    }

    #[test]
    fn a_terminal_has_colours_unless_a_variable_says_otherwise() {
        assert!(auto(true, &[]));
        assert!(!auto(false, &[]));
        assert!(!auto(true, &[("NO_COLOR", "1")]));
        assert!(auto(true, &[("NO_COLOR", "")]));
        assert!(!auto(true, &[("CLICOLOR", "0")]));
        assert!(auto(true, &[("CLICOLOR", "1")]));
        assert!(!auto(true, &[("TERM", "dumb")]));
    }

    #[test]
    fn a_file_has_colours_where_they_are_forced() {
        assert!(auto(false, &[("CLICOLOR_FORCE", "1")]));
        assert!(auto(false, &[("CLICOLOR_FORCE", "1"), ("CLICOLOR", "0")]));
        assert!(!auto(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!auto(false, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    }

    #[test]
    fn the_flag_wins() {
        let no_colour = |_: &str| Some(OsString::from("1"));
        assert!(decide(ColourChoice::Always, false, no_colour));
        assert!(!decide(ColourChoice::Never, true, |_| None));
    }
}
