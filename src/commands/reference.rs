//! What the program says of itself: `man`, `completions` and `schema`.

use clap::{Command, CommandFactory};
use clap_mangen::Man;

use crate::cli::{Cli, SchemaKind};
use crate::console::{AppError, AppResult, print};
use crate::grammar::joined;
use crate::{report, spec};

/// A page of the manual.
pub(crate) fn man(names: &[String]) -> AppResult<u8> {
    let mut command = Cli::command();
    command.build();
    for name in names {
        let Some(found) = command.find_subcommand(name) else {
            let known = joined(command.get_subcommands().map(Command::get_name), ", ");
            return Err(AppError::usage(format!("there is no command `{name}`"))
                .help(format!("there are: {known}")));
        };
        command = found.clone();
    }
    let mut text = Vec::new();
    Man::new(command)
        .render(&mut text)
        .expect("a vector takes all that is written");
    print(&String::from_utf8_lossy(&text))?;
    Ok(0)
}

/// A shell's completions.
pub(crate) fn completions(shell: clap_complete::Shell) -> AppResult<u8> {
    let mut command = Cli::command();
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut command, "canary-gate", &mut text);
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

/// The program's formats.
pub(crate) fn schema(kind: SchemaKind) -> AppResult<u8> {
    let schema = match kind {
        SchemaKind::Spec => spec::json_schema(),
        SchemaKind::Report => report::report_schema(),
        SchemaKind::Measurement => report::measurement_schema(),
    };
    print(&format!("{schema:#}\n"))?;
    Ok(0)
}
