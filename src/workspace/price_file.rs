//! The file of AWS's published prices beside the spec. It comes from the base where policy does, since a price decides what fits
//! into a budget.

use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use crate::console::{AppError, AppResult, StepResult, files};
use crate::instance::price_file::{PRICE_FILE, PriceFile};
use crate::units::Bytes;

/// All types in all regions are some 200 KB.
const LARGEST: Bytes = Bytes(1 << 20);

/// Where it is beside a spec.
pub(crate) fn beside(spec: &Path) -> PathBuf {
    spec.with_file_name(PRICE_FILE)
}

/// Reads it; without prices where there is none.
pub(crate) fn read(file: &Path) -> AppResult<PriceFile> {
    // A change can commit a link, and errors quote what is read.
    let text = match file.is_symlink() {
        true => Err(Error::other("it is a link")),
        false => files::read_text_up_to(file, LARGEST),
    };
    if (text.as_ref()).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok(PriceFile::default());
    }
    let parsed = text.and_then(|text| PriceFile::parse(&text).map_err(Error::other));
    parsed.or_fail(|| {
        AppError::usage(format!("{} cannot be read", file.display()))
            .help("remove it, and write it anew with `canary-gate prices update`")
    })
}
