//! `history list`, `show` and `export`: what earlier runs of the gate found. Reads only.

mod export;
mod facts;
mod list;
mod show;

use crate::cli::HistoryCommand;
use crate::console::{AppResult, Loudness};
use crate::gate::open_history;
use crate::history::Command;
use crate::workspace::{Project, RunOrigin};

pub(super) async fn history(command: &HistoryCommand, loudness: Loudness) -> AppResult<u8> {
    let project = Project::as_it_stands(match command {
        HistoryCommand::List(arguments) => &arguments.spec,
        HistoryCommand::Show(arguments) => &arguments.spec,
        HistoryCommand::Export(arguments) => &arguments.spec,
    })?;
    // The part of the history that this run may read.
    let origin = RunOrigin::of_environment(&project, Command::Run);
    let own = origin.scope;
    let reader = match command {
        HistoryCommand::Export(arguments) => export::reader(arguments, own),
        HistoryCommand::List(_) | HistoryCommand::Show(_) => own,
    };
    let history = open_history::open(&project, reader).await?;
    match command {
        HistoryCommand::List(arguments) => list::list(&history, arguments, &project.spec).await,
        HistoryCommand::Show(arguments) => show::show(&history, arguments).await,
        HistoryCommand::Export(arguments) => {
            export::export(&history, arguments, &project, &origin, loudness).await
        }
    }
}
