//! A job's data, as its backend lists them.

use super::checked_thing::CheckedThing;
use crate::backend::{Backend, ListedData};
use crate::canary::ChannelData;
use crate::grammar::count;
use crate::outside_error::{OutsideError, OutsideResult};
use crate::spec::Job;
use crate::units::Bytes;

/// Lists all channels. Of several that cannot be listed each is looked at by itself, so that all errors are said at once.
pub(super) async fn list(
    backend: &dyn Backend,
    job: &Job,
) -> Result<ListedData, Vec<OutsideError>> {
    let whole = match listed(backend, job).await {
        Ok(data) => return Ok(data),
        Err(error) => error,
    };
    let mut errors = Vec::new();
    if job.training.channels.len() > 1 {
        for channel in &job.training.channels {
            let mut alone = job.clone();
            alone.training.channels = vec![channel.clone()];
            errors.extend(listed(backend, &alone).await.err());
        }
        // One cause, such as credentials, is said once.
        errors.dedup_by(|a, b| a.what == b.what);
    }
    match errors.is_empty() {
        true => Err(vec![whole]),
        false => Err(errors),
    }
}

async fn listed(backend: &dyn Backend, job: &Job) -> OutsideResult<ListedData> {
    backend.open(job).await?.list().await
}

/// What each channel holds.
pub(super) fn findings(data: &ListedData) -> Vec<CheckedThing> {
    let finding = |channel: &ChannelData| {
        let said = said(channel, data.knows_bytes);
        CheckedThing::ready(&format!("data {}", channel.name), said)
    };
    data.dataset.channels.iter().map(finding).collect()
}

fn said(channel: &ChannelData, knows_bytes: bool) -> String {
    let objects = match channel.objects.sizes().count() {
        0 => return "whole in every canary, and not listed".to_owned(),
        number => count(number, "object"),
    };
    let bytes: Bytes = channel.objects.sizes().sum();
    let size = knows_bytes.then(|| format!(", {bytes}"));
    let size = size.unwrap_or_default();
    let drawn = match (&channel.rows, channel.sampled) {
        (Some(_), _) => "canaries get some of the rows",
        (None, true) => "canaries get a sample",
        (None, false) => "whole in every canary",
    };
    format!("{objects}{size}; {drawn}")
}
