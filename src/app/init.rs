//! `init`: a commented spec to start from.

use std::fs::OpenOptions;
use std::io::Write;

use crate::cli::InitArguments;
use crate::spec;

use super::{AppError, files, say};

pub(super) fn init(arguments: &InitArguments) -> Result<u8, AppError> {
    let file = &arguments.file;
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .and_then(|mut opened| opened.write_all(spec::init_template().as_bytes()))
        .map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => {
                AppError::usage(format!("{} is already there", file.display()))
                    .help("nothing is overwritten; name another file: `canary-gate init FILE`")
            }
            _ => files::cannot_write(file, source),
        })?;
    say(&format!(
        "wrote {}; fill it in, then `canary-gate validate` and `canary-gate plan --all`",
        file.display()
    ));
    Ok(0)
}
