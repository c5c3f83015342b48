//! `init`: a commented spec to start from.

#[allow(dead_code, unused_imports)]
mod finds;
#[allow(dead_code)]
mod looked;
#[allow(dead_code)]
mod overview;
#[allow(dead_code, unused_imports)]
mod python;
#[allow(dead_code)]
mod read_file;

use std::borrow::Cow;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use crate::backend::sagemaker::from_job;
use crate::cli::InitArguments;
use crate::console::{AppError, files, printable, say};
use crate::spec::{self, SpecSource};
use crate::workspace::project::environment_region;

pub(crate) async fn init(arguments: &InitArguments) -> Result<u8, AppError> {
    let file = &arguments.file;
    let text: Cow<'static, str> = match &arguments.from_job {
        None => spec::init_template().into(),
        Some(name) => {
            // Checked before any call of AWS.
            if file.symlink_metadata().is_ok() {
                return Err(already_there(file));
            }
            let region = arguments
                .region
                .clone()
                .or_else(environment_region)
                .ok_or_else(|| {
                    AppError::usage("no region to look for the training job in")
                        .help("name it with `--region us-east-1`, or set AWS_REGION")
                })?;
            from_job::describe_as_spec(name, &region).await?.into()
        }
    };
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(file)
        .and_then(|mut opened| opened.write_all(text.as_bytes()))
        .map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => already_there(file),
            _ => files::cannot_write(file, source),
        })?;
    say(&format!(
        "wrote {}; fill it in, then `canary-gate validate` and `canary-gate plan --all`",
        file.display()
    ));
    if arguments.from_job.is_some() {
        warn_of_problems(file, &text);
    }
    Ok(0)
}

/// Warns if the job has what a spec cannot express.
fn warn_of_problems(file: &Path, text: &str) {
    let source = SpecSource {
        name: &file.to_string_lossy(),
        bytes: text.as_bytes(),
    };
    if let Err(problems) = spec::read(source, &[]) {
        say(&format!(
            "warning: {}",
            printable(&AppError::from(problems).in_a_line())
        ));
    }
}

fn already_there(file: &Path) -> AppError {
    AppError::usage(format!("{} is already there", file.display()))
        .help("nothing is overwritten; name another file: `canary-gate init FILE`")
}
