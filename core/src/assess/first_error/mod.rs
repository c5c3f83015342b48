//! The likeliest **first errors** of a canary, each with its way out: a table of one row a case. One of them is a result and no
//! mistake: the GPU's memory ran out.
//!
//! What a canary printed is hostile: of it only how it ended is looked at, lines are cut, and nothing is quoted but a short name
//! of plain characters.

mod text;

use std::path::Path;

use self::text::{Errors, quoted};
use crate::canary::CanaryRun;
use crate::code::PathGlobs;
use crate::grammar;
use crate::measurement::Outcome;
use crate::metric::MemoryOf;
use crate::spec::{Channel, Job};

const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];

/// A canary that did not complete, or opened no file of its sample.
pub struct FailedCanary<'a> {
    pub job: &'a Job,
    pub run: &'a CanaryRun,
    pub outcome: &'a Outcome,
    pub is_unread: bool,
    /// The last lines that it printed; hostile text.
    pub log_tail: &'a [String],
}

/// What is known of a canary that ended.
pub struct Explained {
    pub outcome: Outcome,
    /// The way out of the first case of the table that its failure is, as a sentence without a capital.
    pub way_out: Option<String>,
}

/// Looks for the error in what the canary printed. A backend sees that it failed, or that memory ran out; that it was the GPU's
/// only its errors say.
pub fn explain(canary: &FailedCanary<'_>) -> Explained {
    let outcome = canary.outcome.clone();
    let exit_code = match canary.outcome {
        Outcome::Failed { exit_code, .. } => *exit_code,
        Outcome::OutOfMemory { .. } => None,
        _ => {
            return Explained {
                outcome,
                way_out: canary.is_unread.then(|| read_the_sample(canary.run)),
            };
        }
    };
    let last_line = outcome.last_line();
    let failure = FirstError {
        job: canary.job,
        run: canary.run,
        exit_code,
        errors: Errors::of(last_line, canary.log_tail),
    };
    Explained {
        way_out: TABLE.iter().find_map(|row| row(&failure)),
        outcome: match failure.errors.are_about_gpu_memory() {
            true => Outcome::OutOfMemory {
                of: MemoryOf::Gpu,
                last_line: last_line.map(str::to_owned),
            },
            false => outcome,
        },
    }
}

/// What to do about a canary that read other data, or none.
fn read_the_sample(run: &CanaryRun) -> String {
    let sampled = run.channels.iter().filter(|channel| channel.sampled);
    let variables = sampled.map(|channel| format!("`{}`", variable_of(&channel.name)));
    let variables: Vec<String> = variables.collect();
    format!(
        "let the script read its data below the folder in {}, not by a path of its own",
        grammar::list(&variables)
    )
}

/// The variable that names a channel's folder.
fn variable_of(channel: &str) -> String {
    format!("SM_CHANNEL_{}", channel.to_uppercase().replace('-', "_"))
}

/// What a row looks at.
struct FirstError<'a> {
    job: &'a Job,
    run: &'a CanaryRun,
    /// `None` where it is unknown, and where memory ran out.
    exit_code: Option<i32>,
    errors: Errors,
}

/// A case: its way out where the failure is one, else `None`.
type FirstErrorRow = fn(&FirstError<'_>) -> Option<String>;

/// The cases, those that say more first.
const TABLE: [FirstErrorRow; 10] = [
    variable_not_expanded,
    object_left_out,
    fixed_data_path,
    variable_handed_over,
    virtual_environment,
    left_out_by_paths,
    module_missing,
    program_missing,
    gpu_memory,
    killed,
];

/// The error names `$SM_CHANNEL_TRAIN` as it was written.
fn variable_not_expanded(failure: &FirstError<'_>) -> Option<String> {
    let name = failure.errors.about_files().find_map(text::variable)?;
    Some(not_expanded(name))
}

/// A file of a channel, read from the channel's folder, that is not in this canary's share.
fn object_left_out(failure: &FirstError<'_>) -> Option<String> {
    failure.missing_files().find_map(|path| {
        failure.run.channels.iter().find_map(|channel| {
            let folder = format!("input/data/{}/", channel.name);
            let (_, key) = path.rsplit_once(&folder)?;
            let is_left_out = channel.sampled && channel.objects.leaves_out(key);
            is_left_out.then(|| {
                format!(
                    "{} is not in this canary's share of channel `{}`: name what every run needs under `always`; where an index names each file, let the script skip those that are absent, or draw its own share by `share`",
                    quoted(key, "a file"),
                    channel.name,
                )
            })
        })
    })
}

/// Data read from where they lie in the checkout.
fn fixed_data_path(failure: &FirstError<'_>) -> Option<String> {
    failure.missing_files().find_map(|path| {
        let mut channels = failure.job.training.channels.iter();
        let channel = channels.find(|channel| failure.is_below(channel, path))?;
        Some(format!(
            "the script reads {} by a fixed path, and a canary has its data elsewhere: read them from the folder that the variable `{}` names",
            quoted(path, "its data"),
            variable_of(&channel.name),
        ))
    })
}

/// A file is missing, and a hyperparameter or an argument has `$SM_CHANNEL_TRAIN` as it was written.
fn variable_handed_over(failure: &FirstError<'_>) -> Option<String> {
    failure.errors.about_files().next()?;
    failure.written_variable().map(not_expanded)
}

fn not_expanded(name: &str) -> String {
    format!(
        "`${name}` reached the script as it is written, for no shell expands it: read the variable `{name}` in the script, or start the script by `sh -c`"
    )
}

/// A virtual environment in the source, which git ignores.
fn virtual_environment(failure: &FirstError<'_>) -> Option<String> {
    let is_environment = |part: &str| matches!(part, ".venv" | "venv");
    let mut missing = failure.missing_files();
    let path =
        missing.find(|path| !path.starts_with('/') && path.split('/').any(is_environment))?;
    Some(format!(
        "{} is not in the canary, for git ignores it and what git ignores is not copied: {}",
        quoted(path, "the virtual environment"),
        match failure.is_local() {
            true => "name its interpreter by an absolute path in `training.command`",
            false => "name the packages in a `requirements.txt` in `training.source_dir`",
        }
    ))
}

/// A file of the source that does not count.
fn left_out_by_paths(failure: &FirstError<'_>) -> Option<String> {
    let job = failure.job;
    let source = Path::new(job.training.source_dir.as_deref().unwrap_or(""));
    let globs = PathGlobs::new(&job.paths, "");
    let is_left_out = |path: &str| match globs.decide(&source.join(path)) {
        Some(counts) => !counts,
        None => job.training.source_dir.is_none(),
    };
    let mut missing = failure.missing_files().map(text::in_checkout);
    let path =
        missing.find(|path| !path.is_empty() && !path.starts_with('/') && is_left_out(path))?;
    Some(format!(
        "{} is not in the canary, for `paths` leaves it out and what does not count is not copied: name it in `paths`",
        quoted(path, "a file"),
    ))
}

/// A Python module that the interpreter does not have.
fn module_missing(failure: &FirstError<'_>) -> Option<String> {
    let module = failure.errors.all().find_map(text::missing_module)?;
    Some(match failure.is_local() {
        true => format!(
            "the Python that the canary runs has no module `{module}`: name the interpreter that has it by an absolute path in `training.command`, since `.venv` is not copied where git ignores it; a module of your own must be known to git, and counted by `paths`"
        ),
        false => format!(
            "the image has no module `{module}`: name it in a `requirements.txt` in `training.source_dir`, which the framework images install, or take an image that has it; a module of your own must lie in `training.source_dir`"
        ),
    })
}

/// A program that the shell does not find.
fn program_missing(failure: &FirstError<'_>) -> Option<String> {
    let program = failure.errors.all().find_map(text::missing_program);
    if failure.exit_code != Some(127) {
        return None;
    }
    let program = quoted(program?, "a program");
    Some(match failure.is_local() {
        true => format!(
            "{program} was not found: a canary has the `PATH` of the gate and a copy of the files that count, so name the program by an absolute path, or add it to git"
        ),
        false => {
            format!("{program} is not in the image: install it there, or take an image that has it")
        }
    })
}

/// Memory of the GPU, not of the machine.
fn gpu_memory(failure: &FirstError<'_>) -> Option<String> {
    failure.errors.are_about_gpu_memory().then(|| {
        "the memory of the GPU ran out, not that of the machine: take smaller batches or an instance whose GPUs have more memory"
            .to_owned()
    })
}

/// SIGKILL, by somebody who gave no reason.
fn killed(failure: &FirstError<'_>) -> Option<String> {
    (failure.exit_code == Some(137)).then(|| {
        "exit code 137 is a process that was killed, mostly since memory ran out: look for it in the machine's kernel log, and take smaller batches, fewer workers or a machine with more memory"
            .to_owned()
    })
}

impl FirstError<'_> {
    fn is_local(&self) -> bool {
        self.run.instance.is_local()
    }

    /// What the errors say is not there.
    fn missing_files(&self) -> impl Iterator<Item = &str> {
        self.errors.about_files().flat_map(text::paths)
    }

    /// Whether a path leads into the folder of a channel in the checkout, as `./data/train/a.csv` does.
    fn is_below(&self, channel: &Channel, path: &str) -> bool {
        let training = &self.job.training;
        let folder = text::in_checkout(&channel.uri);
        let source = training.source_dir.as_deref().map(text::in_checkout);
        let from_source = source.and_then(|source| text::below(source, folder));
        let usual = format!("data/{}", channel.name);
        let folders = match channel.uri.contains("://") {
            true => [None, None, Some(usual.as_str())],
            false => [Some(folder), from_source, Some(usual.as_str())],
        };
        let mut folders = folders
            .into_iter()
            .flatten()
            .filter(|folder| !folder.is_empty());
        folders.any(|folder| text::below(folder, text::in_checkout(path)).is_some())
    }

    /// A variable of SageMaker's in a hyperparameter or an argument that goes through no shell.
    fn written_variable(&self) -> Option<&str> {
        let training = &self.job.training;
        let (command, script) = (&training.local.command, &training.sagemaker.entry_point);
        let container = &training.sagemaker.container;
        let is_shell = |program: &String| {
            SHELLS
                .iter()
                .any(|shell| program.rsplit('/').next() == Some(*shell))
        };
        let programs = [command.first(), container.entrypoint.first()];
        if programs.into_iter().flatten().any(is_shell)
            || script
                .as_ref()
                .is_some_and(|script| script.ends_with(".sh"))
        {
            return None;
        }
        let handed = training.hyperparameters.iter().map(|(_, value)| value);
        handed
            .chain(command)
            .chain(&container.entrypoint)
            .chain(&container.arguments)
            .find_map(|value| text::variable(value))
    }
}

#[cfg(test)]
mod tests;
