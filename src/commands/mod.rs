//! The commands, each a short straight function over the stages.

mod action;
mod actuals;
mod drift;
mod forecast;
mod history;
mod iam_policy;
mod init;
mod plan;
mod probe;
mod publish;
mod report;
mod run;
mod schema;
mod strictness;
mod sweep;
mod validate;

use std::io::{IsTerminal, Write};

use crate::cli::{Cli, Command};
use crate::console::{AppError, Loudness};

/// Runs one command; returns the process's exit code. Errors are printed to standard error.
pub fn execute(cli: &Cli) -> u8 {
    let loudness = Loudness::of(&cli.verbosity);
    let result = match &cli.command {
        Command::Init(arguments) => in_runtime(init::init(arguments)),
        Command::Validate(arguments) => in_runtime(validate::validate(arguments)),
        Command::Plan(arguments) => in_runtime(plan::plan(arguments)),
        Command::Run(arguments) => in_runtime(run::run(arguments, loudness)),
        Command::Forecast(arguments) => forecast::forecast(arguments),
        Command::Report(arguments) => report::report(arguments),
        Command::Drift(arguments) => in_runtime(drift::drift(arguments, loudness)),
        Command::History(command) => in_runtime(history::history(command)),
        Command::Actuals(arguments) => in_runtime(actuals::actuals(arguments, loudness)),
        Command::Sweep(arguments) => in_runtime(sweep::sweep(arguments)),
        Command::Schema(arguments) => schema::schema(arguments),
        Command::IamPolicy(arguments) => iam_policy::iam_policy(arguments),
        Command::Completions(arguments) => schema::completions(arguments),
        Command::Probe(arguments) => probe::probe(arguments),
        Command::Action => in_runtime(action::action(loudness)),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
            let mut stderr = std::io::stderr().lock();
            // Without standard error there is nowhere to report to.
            let _ = stderr.write_all(error.render(colours).as_bytes());
            error.code()
        }
    }
}

/// One thread is enough: child processes do the work, and a probe is tied to the thread that started it.
fn in_runtime(command: impl Future<Output = Result<u8, AppError>>) -> Result<u8, AppError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| AppError::failed("could not start the runtime").caused_by(source))?
        .block_on(command)
}
