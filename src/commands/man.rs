//! `man`: a page of the manual.

use clap::CommandFactory;
use clap_mangen::Man;

use crate::cli::{Cli, ManArguments};
use crate::console::{AppError, print};

pub(crate) fn man(arguments: &ManArguments) -> Result<u8, AppError> {
    let mut command = Cli::command();
    command.build();
    for name in &arguments.command {
        let known: Vec<String> = (command.get_subcommands())
            .map(|known| known.get_name().to_owned())
            .collect();
        command = match command.find_subcommand(name) {
            Some(found) => found.clone(),
            None => {
                return Err(AppError::usage(format!("there is no command `{name}`"))
                    .help(format!("there are: {}", known.join(", "))));
            }
        };
    }
    let mut text = Vec::new();
    Man::new(command)
        .render(&mut text)
        .expect("a vector takes all that is written");
    print(&String::from_utf8_lossy(&text))?;
    Ok(0)
}
