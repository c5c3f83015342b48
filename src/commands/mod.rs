//! The commands, each a short straight function over the stages.

mod action;
mod actuals;
mod check;
mod demo;
mod drift;
mod forecast;
mod history;
mod iam_policy;
mod init;
mod merge_request;
mod plan;
mod prices;
mod probe;
mod publish;
mod reference;
mod report;
mod run;
mod sweep;
mod validate;

use std::fs::File;
use std::io::Write;

use crate::cli::{Cli, CliCommand};
use crate::console::{AppError, AppResult, Loudness, StepResult, terminal};

/// Whether logs have colours. The command line's word holds from here on.
pub fn has_coloured_logs(cli: &Cli) -> bool {
    terminal::choose_colours(cli.verbosity.color);
    terminal::colours_on_stderr()
}

/// Runs one command; returns the process's exit code. Errors are printed to standard error.
pub fn execute(cli: &Cli) -> u8 {
    let loudness = Loudness::of(&cli.verbosity);
    let result = match &cli.command {
        CliCommand::Demo { folder } => in_runtime(|| demo::demo(folder, loudness)),
        CliCommand::Init(arguments) => in_runtime(|| init::init(arguments)),
        CliCommand::Check(arguments) => in_runtime(|| check::check(arguments, loudness)),
        CliCommand::Validate(arguments) => in_runtime(|| validate::validate(arguments)),
        CliCommand::Plan(arguments) => in_runtime(|| plan::plan(arguments)),
        CliCommand::Run(arguments) => in_runtime(|| run::run(arguments, loudness)),
        CliCommand::Forecast(arguments) => in_runtime(|| forecast::forecast(arguments, loudness)),
        CliCommand::Prices(command) => prices::prices(command),
        CliCommand::Report(arguments) => in_runtime(|| report::report(arguments, loudness)),
        CliCommand::Drift(arguments) => in_runtime(|| drift::drift(arguments, loudness)),
        CliCommand::History(command) => in_runtime(|| history::history(command, loudness)),
        CliCommand::Actuals(arguments) => in_runtime(|| actuals::actuals(arguments, loudness)),
        CliCommand::Sweep(arguments) => in_runtime(|| sweep::sweep(arguments)),
        CliCommand::Schema { kind } => reference::schema(*kind),
        CliCommand::IamPolicy { spec, grantee } => iam_policy::iam_policy(spec, *grantee),
        CliCommand::Completions { shell } => reference::completions(*shell),
        CliCommand::Man { command } => reference::man(command),
        CliCommand::Probe(arguments) => probe::probe(arguments),
        CliCommand::Action => in_runtime(|| action::action(loudness)),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            let colours = terminal::colours_on_stderr();
            let mut stderr = std::io::stderr().lock();
            // Without standard error there is nowhere to report to.
            let _ = stderr.write_all(error.render(colours).as_bytes());
            error.code()
        }
    }
}

/// Files that a command has open at once, at the least.
const SPARE_FILES: u32 = 12;

/// One thread is enough: child processes do the work, and a probe is tied to the thread that started it.
///
/// A command is called here and not before: the futures of all commands are too large for the frame of [`execute`] on the first
/// thread, where the probe runs and whose stack `ulimit -s` may have made small.
fn in_runtime<F>(command: impl FnOnce() -> F) -> AppResult<u8>
where
    F: Future<Output = AppResult<u8>>,
{
    // Tokio panics where it is given none.
    let spare: Result<Vec<File>, _> = (0..SPARE_FILES).map(|_| File::open("/")).collect();
    drop(spare.or_fail(|| AppError::failed("this process may open too few files"))?);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .or_fail(|| AppError::failed("could not start the runtime"))?;
    let result = runtime.block_on(command());
    // A read of a file system that hangs is not waited for.
    runtime.shutdown_background();
    result
}
