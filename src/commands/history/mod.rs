//! `history list`, `show` and `export`: what earlier runs of the gate found. Reads only.

mod export;
mod facts;
mod list;
mod listing;
mod show;
mod table;

use crate::cli::HistoryCommand;
use crate::console::{AppError, Loudness};
use crate::gate::open_history;
use crate::history::History;
use crate::history::record::Command;
use crate::workspace::project::Project;
use crate::workspace::run_origin::RunOrigin;

pub(super) async fn history(command: &HistoryCommand, loudness: Loudness) -> Result<u8, AppError> {
    match command {
        HistoryCommand::List(arguments) => {
            let project = Project::load(&arguments.spec)?;
            let history = open(&project).await?;
            list::list(&history, arguments, &project.spec).await
        }
        HistoryCommand::Show(arguments) => {
            let project = Project::load(&arguments.spec)?;
            let history = open(&project).await?;
            show::show(&history, arguments).await
        }
        HistoryCommand::Export(arguments) => {
            let project = Project::load(&arguments.spec)?;
            let origin = RunOrigin::of_environment(&project, Command::Run);
            let reader = export::reader(arguments, origin.scope)?;
            let history = open_history::open(&project, reader).await?;
            export::export(&history, arguments, &project, loudness).await
        }
    }
}

/// The part of the history that this run may read.
async fn open(project: &Project) -> Result<History, AppError> {
    let origin = RunOrigin::of_environment(project, Command::Run);
    open_history::open(project, origin.scope).await
}
