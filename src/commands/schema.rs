//! `schema`: the program's formats.

use crate::cli::{SchemaArguments, SchemaKind};
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
