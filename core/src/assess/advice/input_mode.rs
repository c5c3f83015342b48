//! FastFile or a file system in place of copying the data before training.

use super::{JobInput, Measured, cost};
use crate::metric::Metric;
use crate::plan::StartUpMode;
use crate::units::Seconds;

/// Shorter downloads are not worth a change.
const LONG: Seconds = Seconds(60.0);
/// A download that takes more than this part of the full run is worth a change.
const MUCH: f64 = 0.05;

/// The download is billed, and only input mode File has one.
pub(super) fn advice(measured: &Measured, _: &JobInput<'_>) -> Option<String> {
    let download = Seconds(measured.forecast.phases.download.as_ref()?.median());
    let full_run = measured.forecast[Metric::Time].as_ref().ok()?.median();
    let is_worth_it = download > LONG && download.0 > MUCH * full_run;
    is_worth_it.then(|| {
        format!(
            "the full run is forecast to copy its data for {download}{} of its {} before it trains. Input mode FastFile, or FSx for Lustre, reads them while it trains, which saves up to that, as far as the script reads each file once and in order. In 90 of 100 jobs elsewhere (2 GB of data) a cold start-up took at most {} with FastFile, {} with FSx and {} with File.",
            cost(measured, download),
            Seconds(full_run),
            StartUpMode::FastFile.cold(),
            StartUpMode::FileSystem.cold(),
            StartUpMode::File.cold(),
        )
    })
}
