//! `report --from`: renders stored reports.

use crate::cli::ReportArguments;
use crate::commands::merge_request;
use crate::commands::publish::ReportOutput;
use crate::console::{AppError, AppResult, Loudness, files};
use crate::report;
use crate::workspace::recorded;

pub(crate) async fn report(arguments: &ReportArguments, loudness: Loudness) -> AppResult<u8> {
    let here = files::current_folder()?;
    let output = ReportOutput::prepare(&arguments.output, &here, loudness)?;
    let parts = arguments.from.iter().map(|file| recorded::report(file));
    let report = report::merge(parts.collect::<Result<_, _>>()?).map_err(|error| {
        let refused = AppError::usage("the reports cannot be merged").help(&error.help);
        refused.caused_by(error)
    })?;
    if let Some(note) = merge_request::wanted(arguments.comment.as_deref(), &[]) {
        merge_request::post(&note, Ok((&report, output.template.as_ref()))).await;
    }
    output.publish(&report)
}
