//! `init`: a commented spec to start from: of what the checkout holds, or of a training job.

mod data;
mod drafted;
mod found;
mod looked;
mod start;
#[cfg(test)]
mod tests;
mod text;
mod watched;

use std::path::{Path, PathBuf};

use crate::backend::sagemaker::from_job;
use crate::cli::InitArguments;
use crate::console::{AppError, AppResult, files, printable, say};
use crate::grammar::only_where;
use crate::spec;
use crate::workspace::written_spec::{self, DEFAULT_PLACES};
use crate::workspace::{STATE_FOLDER, environment_region};
use watched::WatchedCommand;

/// The file of the schema in the gate's own folder.
const SCHEMA: &str = "spec.v1.json";

pub(crate) async fn init(arguments: &InitArguments) -> AppResult<u8> {
    let here = files::current_folder()?.join(DEFAULT_PLACES[0]);
    let file = &match &arguments.file {
        Some(file) => file.clone(),
        None if arguments.command.is_empty() => DEFAULT_PLACES[0].into(),
        // A command may read what lies beside its folder.
        None => written_spec::from_here(&checkout_of(&here)?.join(DEFAULT_PLACES[0])),
    };
    let refuse_another = || match arguments.force {
        true => Ok(()),
        false => refuse_beside_another(file),
    };
    // Checked before any call of AWS.
    refuse_another()?;
    let named = std::path::absolute(file).unwrap_or_else(|_| file.clone());
    let folder = written_spec::folder_of(&named);
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    if !folder.is_dir() {
        let what = format!("there is no folder {}", folder.display());
        return Err(AppError::usage(what).help("make the folder, or name a file in another one"));
    }
    let root = checkout_of(&named)?;
    files::check_target(file, &root)?;
    let (text, from) = match &arguments.from_job {
        None => of_checkout(&folder, arguments).await?,
        Some(name) => {
            let region = arguments.region.clone().or_else(environment_region);
            let region = region.ok_or_else(|| {
                AppError::usage("no region to look for the training job in")
                    .help("name it with `--region us-east-1`, or set AWS_REGION")
            })?;
            let text = from_job::describe_as_spec(name, &region).await?;
            (text, format!("the training job {name}"))
        }
    };
    let schema = match &arguments.schema {
        Some(named) => named.clone(),
        None => write_schema(file, &folder)?,
    };
    let schema = printable(&schema);
    let text = format!("# yaml-language-server: $schema={schema}\n{text}");
    // A watched command may have written one.
    refuse_another()?;
    files::write_readable(file, text.as_bytes(), &root)?;
    let (written, from) = (file.display(), printable(&from));
    say(&format!("wrote {written} from {from}"));
    let found = written_spec::found_upwards().and_then(|found| found.canonicalize().ok());
    let named = only_where(found != file.canonicalize().ok(), || {
        format!(" --spec {}", printable(&file.to_string_lossy()))
    });
    say(&format!(
        "look at it, and correct what `# guess` marks, then:\n  canary-gate check{named}             what is missing on this machine; costs nothing\n  canary-gate check --try{named}       one smallest canary\n  canary-gate plan --all{named}        what the canaries may cost\n  canary-gate run --all{named}         the forecast"
    ));
    Ok(0)
}

/// A spec of what the checkout holds, or what the command opened of it, and what it is from.
async fn of_checkout(folder: &Path, arguments: &InitArguments) -> AppResult<(String, String)> {
    let command = match &arguments.command[..] {
        [] => None,
        words => Some(WatchedCommand::run(words, folder, arguments.watch_for).await?),
    };
    let (overview, mut notes) = looked::look(folder, command);
    notes.extend(overview.launches.first().map(|place| {
        format!(
            "training jobs are started at {place}; `canary-gate init --from-job NAME` writes the spec of one"
        )
    }));
    for note in notes {
        say(&format!("note: {}", printable(&note)));
    }
    Ok(drafted::drafted(&overview))
}

/// The checkout that the file is named in, as it is named: below a link lies another one. Without one, the working directory.
fn checkout_of(file: &Path) -> AppResult<PathBuf> {
    let is_checkout = |folder: &&Path| {
        folder.join(".git").exists() && folder.canonicalize().ok().as_deref() == Some(*folder)
    };
    match file.ancestors().skip(1).find(is_checkout) {
        Some(root) => Ok(root.to_owned()),
        None => files::current_folder(),
    }
}

/// Writes the schema of this version into the gate's own folder, where an editor finds it without a network; its path from the
/// spec.
fn write_schema(file: &Path, folder: &Path) -> AppResult<String> {
    let state = folder.join(STATE_FOLDER);
    files::make_state_folder(&state)?;
    let schema = format!("{:#}\n", spec::json_schema());
    files::write_new(&state.join(SCHEMA), schema.as_bytes(), folder)?;
    let is_below = (file.parent()).is_some_and(|beside| beside.ends_with(".github"));
    let up = if is_below { "../" } else { "" };
    Ok(format!("{up}{STATE_FOLDER}/{SCHEMA}"))
}

/// Refuses to write over a file, and a spec where the search finds another one: the nearer hides the other, with all of its jobs and
/// limits.
fn refuse_beside_another(file: &Path) -> AppResult<()> {
    let here = file.display();
    if file.symlink_metadata().is_ok() {
        return Err(AppError::usage(format!("{here} is already there"))
            .help("name another file, `canary-gate init FILE`, or write over it with `--force`"));
    }
    let Some(other) = written_spec::other_than(file) else {
        return Ok(());
    };
    Err(AppError::usage(format!("{} is already there", other.display())).help(format!(
        "add the job there, in a file that is called canary-gate.yml; `--force` writes {here} all the same, and from a folder only the nearest spec counts"
    )))
}
