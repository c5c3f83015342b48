//! Parses the command line, starts logging, runs one command, returns its exit code.

use std::io::Write;
use std::process::ExitCode;
use std::thread;

use canary_gate::cli::{Cli, CliCommand, Verbosity};
use canary_gate::{commands, exit, probe};
use clap::{CommandFactory, FromArgMatches};
use tracing_subscriber::fmt::writer::MakeWriterExt as _;

/// `ulimit -s` leaves the first thread what it likes.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    // The gate's environment has tokens, and the probe's word is believed.
    probe::keep_private();
    probe::survive_the_file_limit();
    let cli = match with_room(parse) {
        Ok(cli) => cli,
        Err(refusal) => {
            // Help and version are no failure, and neither is a reader that closed the pipe.
            let _ = refusal.print();
            let _ = std::io::stdout().flush();
            return ExitCode::from(if refusal.use_stderr() { exit::USAGE } else { 0 });
        }
    };
    start_logging(&cli);
    ExitCode::from(match cli.command {
        // It makes namespaces, which needs a process with one thread.
        CliCommand::Probe(_) => commands::execute(&cli),
        _ => with_room(move || commands::execute(&cli)),
    })
}

/// On a thread with a stack of its own, to its end.
fn with_room<T: Send + 'static>(task: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = thread::Builder::new().name("main".to_owned());
    let thread = thread.stack_size(STACK).spawn(task);
    let thread = thread.expect("the system allows this program a thread; `ulimit -u` limits them");
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn parse() -> Result<Cli, clap::Error> {
    let mut command = Cli::command();
    // A training container gives the probe the environment of the job, which may have a CANARY_GATE_QUIET of its own.
    if std::env::args_os()
        .nth(1)
        .is_some_and(|word| word == "probe")
    {
        command = command.mut_arg("quiet", |quiet| quiet.env(None));
    }
    let mut matches = command.try_get_matches_from_mut(std::env::args_os())?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// Logs go to standard error, warnings only unless asked.
fn start_logging(cli: &Cli) {
    let verbosity = &cli.verbosity;
    let level = match verbosity {
        Verbosity { quiet: true, .. } => tracing::Level::ERROR,
        Verbosity { verbose: 0, .. } => tracing::Level::WARN,
        Verbosity { verbose: 1, .. } => tracing::Level::INFO,
        Verbosity { .. } => tracing::Level::TRACE,
    };
    // The gate says itself what the SDK's search for credentials warns of, and what to do.
    let is_verbose = verbosity.verbose > 0;
    let is_ours = move |event: &tracing::Metadata<'_>| {
        is_verbose || !event.target().starts_with("aws_config")
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr.with_filter(is_ours))
        .with_ansi(commands::has_coloured_logs(cli))
        .with_target(false)
        .without_time()
        .init();
}
