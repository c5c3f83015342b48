//! `probe`: runs a command under the sampler; starts no runtime.

use crate::cli::ProbeArguments;
use crate::console::{AppError, AppResult};
use crate::probe::{self, Destination, ProbeOptions, UsageScope};

pub(crate) fn probe(arguments: &ProbeArguments) -> AppResult<u8> {
    let report = probe::run(&ProbeOptions {
        output: match &arguments.output {
            _ if arguments.gate_socket => Destination::Gate,
            Some(path) => Destination::File(path.clone()),
            None => Destination::Stdout {
                mark: arguments.mark.clone(),
            },
        },
        max_runtime: arguments.max_runtime,
        grace: arguments.grace,
        opt_ml: arguments.opt_ml.clone(),
        read_only: arguments.read_only.clone(),
        writes: arguments.writes.clone(),
        shared: arguments.shared.clone(),
        closed: arguments.closed.clone(),
        end_with_parent: arguments.end_with_parent,
        scope: match arguments.launched {
            true => UsageScope::Launcher,
            false => UsageScope::Command,
        },
        command: arguments.command.clone(),
    })
    .map_err(AppError::from)?;
    Ok(report.exit_code())
}
