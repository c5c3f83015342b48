//! `schema` and `completions`: the program's formats and shell completions.

use clap::CommandFactory;

use crate::cli::{Cli, CompletionsArguments, SchemaArguments, SchemaKind};
use crate::console::{AppError, print};
use crate::{report, spec};

pub(crate) fn schema(arguments: &SchemaArguments) -> Result<u8, AppError> {
    let schema = match arguments.kind {
        SchemaKind::Spec => spec::json_schema(),
        SchemaKind::Report => report::report_schema(),
        SchemaKind::Measurement => report::measurement_schema(),
    };
    print(&format!("{schema:#}\n"))?;
    Ok(0)
}

pub(crate) fn completions(arguments: &CompletionsArguments) -> Result<u8, AppError> {
    let mut text = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Cli::command(),
        "canary-gate",
        &mut text,
    );
    print(&String::from_utf8_lossy(&text))?;
    Ok(0)
}
