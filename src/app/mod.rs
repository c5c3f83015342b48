//! The story, told by each command as a short function over the stages. Only here do the pure core and the edges meet.

mod action;
mod actuals;
mod backend;
mod base_commit;
mod canaries;
mod change;
mod checkout;
mod code;
mod drift;
mod error;
mod files;
mod forecast;
mod gate;
mod gate_run;
mod gated_job;
mod history;
mod history_command;
mod iam_policy;
mod init;
mod judge;
mod keys;
mod measure;
mod past;
mod plan;
mod policy;
mod probe;
mod progress;
mod project;
mod recorded;
mod report;
mod run;
mod schema;
mod signals;
mod store;
mod sweep;
mod unmeasured;
mod validate;
mod versus;
mod who;
mod written_spec;

use std::io::{IsTerminal, Write};

pub use error::AppError;

use crate::cli::{Cli, Command, Verbosity};
use crate::report::escape;

/// What is quoted from elsewhere is cut after this many characters.
const LONGEST_LINE: usize = 2000;
/// Deeper is cut.
const DEEPEST_INDENTATION: usize = 40;

/// Runs one command and gives back the process's exit code. Errors are printed to standard error.
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
        Command::History(command) => in_runtime(history_command::history(command)),
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
            // Nobody is left to tell when standard error is gone.
            let _ = stderr.write_all(error.render(colours).as_bytes());
            error.code()
        }
    }
}

/// How much is said on standard error beside errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Loudness {
    Quiet,
    Normal,
    Verbose,
}

impl Loudness {
    fn of(verbosity: &Verbosity) -> Self {
        match verbosity {
            Verbosity { quiet: true, .. } => Self::Quiet,
            Verbosity { verbose: 0, .. } => Self::Normal,
            Verbosity { .. } => Self::Verbose,
        }
    }
}

/// One thread is enough: the work is done by child processes, and a probe is tied to the thread that started it.
fn in_runtime(command: impl Future<Output = Result<u8, AppError>>) -> Result<u8, AppError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|source| AppError::failed("could not start the runtime").caused_by(source))?
        .block_on(command)
}

/// Writes to standard output. A reader that went away is not a failure.
fn print(text: &str) -> Result<(), AppError> {
    let mut stdout = std::io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(AppError::failed("could not write to standard output")
                .help("if it is a file, see that its disk has space left")
                .caused_by(error))
        }
        _ => Ok(()),
    }
}

/// A remark on standard error.
fn say(text: &str) {
    let mut stderr = std::io::stderr().lock();
    // Nobody is left to tell when standard error is gone.
    let _ = writeln!(stderr, "{text}");
}

/// A doubt about one field of the spec.
fn warn(field: &str, message: &str) {
    say(&format!(
        "warning: {}: {}",
        printable(field),
        printable(message)
    ));
}

/// Text that may be hostile, for standard error or standard output: no control characters, no endless lines.
fn printable(text: &str) -> String {
    escape::for_terminal(text, LONGEST_LINE)
}

/// The same for a line of a log or a list, whose indentation says something.
fn indented(line: &str) -> String {
    let text = line.trim_start_matches(' ');
    let indentation = (line.len() - text.len()).min(DEEPEST_INDENTATION);
    format!("{}{}", " ".repeat(indentation), printable(text))
}
