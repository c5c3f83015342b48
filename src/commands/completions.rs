//! `completions`: a shell's completions.

use clap::{Command, CommandFactory};

use crate::cli::{Cli, CompletionsArguments};
use crate::console::{AppError, print};

pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<u8, AppError> {
    let mut command = Cli::command();
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "canary-gate", &mut text);
    let text = String::from_utf8_lossy(&text);
    print(&with_hyphens(&text, &command))?;
    Ok(0)
}

/// clap_complete writes `a__b` for a name `a-b` where its bash script looks for the subcommand, and `a__subcmd__b` where it says what
/// can follow it, so nothing ever follows.
fn with_hyphens(text: &str, command: &Command) -> String {
    let mut text = text.to_owned();
    for command in std::iter::once(command).chain(command.get_subcommands()) {
        let name = command.get_name();
        if name.contains('-') {
            text = text.replace(&name.replace('-', "__subcmd__"), &name.replace('-', "__"));
        }
    }
    text
}
