//! `probe`: runs a command under the sampler; starts no runtime.

use crate::console::AppResult;
use crate::probe::{self, ProbeOptions};

pub(crate) fn probe(options: &ProbeOptions) -> AppResult<u8> {
    Ok(probe::run(options)?.exit_code())
}
