//! The likeliest **first errors** of a canary, each with its way out: a table of one row a case. One of them is a result and no
//! mistake: the GPU's memory ran out.
//!
//! What a canary printed is hostile: of it only how it ended is looked at, lines are cut, and nothing is quoted but a short name
//! of plain characters, and the one line of an error that it printed last.

mod text;

use std::path::Path;

use self::text::{Errors, quoted};
use crate::canary::CanaryRun;
use crate::code::PathGlobs;
use crate::grammar;
use crate::measurement::{Measurement, Outcome, printed_figures};
use crate::metric::MemoryOf;
use crate::secret;
use crate::spec::cure::{self, channel_path, channel_variable};
use crate::spec::{Channel, Job};

const SHELLS: [&str; 5] = ["sh", "bash", "dash", "zsh", "ksh"];
/// Folders that are the system's, the canary's own, or of what a script wrote.
const NO_DATA: [&str; 10] = [
    "/etc/", "/usr/", "/lib/", "/proc/", "/sys/", "/dev/", "/bin/", "/var/", "/opt/", "/tmp/",
];

/// A canary that ended, well or not.
pub struct EndedCanary<'a> {
    pub job: &'a Job,
    pub run: &'a CanaryRun,
    pub measurement: &'a Measurement,
    /// The last lines that it printed; hostile text.
    pub log_tail: &'a [String],
}

/// Looks for the error in what the canary printed, and gives the measurement with what is found of its outcome, of the way out and of
/// other words for the job's command, which may mend it; of a canary that completed, the error that it printed last. A backend sees that it failed, or that memory ran out; that it was the GPU's
/// only its errors say.
pub fn explain(canary: &EndedCanary<'_>) -> Measurement {
    let outcome = canary.measurement.outcome.clone();
    let last_line = outcome.last_line().map(str::to_owned);
    let (is_looked_at, exit_code) = match outcome {
        Outcome::Failed { exit_code, .. } => (true, exit_code),
        Outcome::OutOfMemory { .. } => (true, None),
        Outcome::Completed => (canary.measurement.is_unread(), None),
        _ => (false, None),
    };
    let failure = FirstError {
        canary,
        exit_code,
        errors: Errors::of(last_line.as_deref(), canary.log_tail),
    };
    let mut rows = TABLE.iter().filter(|_| is_looked_at);
    let (way_out, cure) = rows.find_map(|row| row(&failure)).unzip();
    let last_error = text::last_error(canary.log_tail, &printed_figures::Sought::of(canary.job));
    let last_error = last_error.filter(|_| outcome == Outcome::Completed);
    Measurement {
        way_out,
        cure: cure.flatten(),
        last_error: (last_error.map(str::to_owned)).or(canary.measurement.last_error.clone()),
        outcome: match is_looked_at && failure.is_of_gpu_memory() {
            true => Outcome::OutOfMemory {
                of: MemoryOf::Gpu,
                last_line,
            },
            false => outcome,
        },
        ..canary.measurement.clone()
    }
}

/// What a row looks at.
struct FirstError<'a> {
    canary: &'a EndedCanary<'a>,
    /// `None` where it is unknown, and where memory ran out.
    exit_code: Option<i32>,
    errors: Errors,
}

/// What to do about it, and other words of the job's command, which may mend it.
type WayOut = (String, Option<Vec<String>>);

/// A case: its way out where the failure is one, else `None`.
type FirstErrorRow = fn(&FirstError<'_>) -> Option<WayOut>;

/// The cases, those that say more first.
const TABLE: [FirstErrorRow; 13] = [
    variable_not_expanded,
    object_left_out,
    beside_the_channels,
    fixed_data_path,
    home_is_empty,
    not_copied,
    elsewhere,
    not_handed_over,
    module_missing,
    program_missing,
    gpu_memory,
    killed,
    nothing_read,
];

/// A file is missing, and the error, a hyperparameter or an argument has `$SM_CHANNEL_TRAIN` as it was written.
fn variable_not_expanded(failure: &FirstError<'_>) -> Option<WayOut> {
    let mut errors = failure.errors.about_files().peekable();
    errors.peek()?;
    let name = errors
        .find_map(text::variable)
        .or_else(|| failure.written_variable())?;
    let said = format!(
        "`${name}` reached the script as it is written, for no shell expands it: read the variable `{name}` in the script, or start the script by `sh -c`"
    );
    Some((said, None))
}

/// A file of a channel, read from the channel's folder or from where the command links that, which is not in this canary's share.
fn object_left_out(failure: &FirstError<'_>) -> Option<WayOut> {
    failure.missing_files().find_map(|path| {
        failure.canary.run.channels.iter().find_map(|channel| {
            let key = failure.in_folder_of(&channel.name, path)?;
            let is_left_out = channel.sampled && channel.objects.leaves_out(key);
            is_left_out.then(|| {
                let said = format!(
                    "{} is not in this canary's share of channel `{}`: name what every run needs under `always`; where an index names each file, let the script skip those that are absent, or draw its own share by `share`",
                    quoted(key, "a file"),
                    channel.name,
                );
                (said, None)
            })
        })
    })
}

/// A file beside the folders of the channels, or in that of none that the job has.
fn beside_the_channels(failure: &FirstError<'_>) -> Option<WayOut> {
    let mut paths = failure.missing_files();
    let path = paths.find_map(|path| {
        let (_, path) = path.rsplit_once("/ml/input/data/")?;
        let mut channels = failure.canary.job.training.channels.iter();
        let is_in_none = channels.all(|channel| text::below(&channel.name, path).is_none());
        is_in_none.then_some(path)
    })?;
    let said = format!(
        "{} is in no channel, and a canary has no other data: make it a channel of its own, with `sample: false`, and read it from the folder that the variable of that channel names",
        quoted(path, "a file"),
    );
    Some((said, None))
}

/// Data read from where they lie in the checkout, or from a like path of the machine.
fn fixed_data_path(failure: &FirstError<'_>) -> Option<WayOut> {
    failure.missing_files().find_map(|path| {
        let mut channels = failure.canary.job.training.channels.iter();
        let channel = channels.find(|channel| {
            failure.is_near(channel, path) && failure.in_folder_of(&channel.name, path).is_none()
        })?;
        let said = format!(
            "the script reads {} by a fixed path, and a canary has its data elsewhere: read them from the folder that the variable `{}` names",
            quoted(path, "its data"),
            channel_variable(&channel.name),
        );
        let cure = (failure.linked(path)).filter(|_| !text::in_checkout(path).starts_with('/'));
        Some((said, cure))
    })
}

/// A file of the home folder, which is empty.
fn home_is_empty(failure: &FirstError<'_>) -> Option<WayOut> {
    let path = failure.missing_files().find_map(text::in_home)?;
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let said = format!(
        "a canary's home folder is empty, and has no {}: write `caches: [\"~/{folder}\"]` under `training`, and add `--cache ~/{folder}` to the command that starts it",
        quoted(path, "such file"),
    );
    text::plain(folder).map(|_| (said, None))
}

/// A file of the source that does not count, which cannot be opened in the checkout either; or one that git does not know, or that the
/// script writes.
fn not_copied(failure: &FirstError<'_>) -> Option<WayOut> {
    let job = failure.canary.job;
    let source = Path::new(job.training.source_dir.as_deref().unwrap_or(""));
    let globs = PathGlobs::new(&job.paths, "");
    let is_environment = |part: &str| matches!(part, ".venv" | "venv");
    let is_left_out = |path: &str| match globs.decide(&source.join(path)) {
        Some(counts) => !counts,
        None => job.training.source_dir.is_none(),
    };
    let is_closed = failure.errors.about_files().any(text::is_closed);
    let mut missing = failure.missing_files().map(text::in_checkout);
    let path = missing.find(|path| !path.is_empty() && (is_closed || !path.starts_with('/')))?;
    let mut said = failure.errors.about_files();
    let is_file = said.any(|line| line.contains("No such file"));
    let why = match (path.split('/').any(is_environment), failure.is_local()) {
        (true, true) => {
            "for git ignores it and what git ignores is not copied: name its interpreter by an absolute path in `training.command`"
        }
        (true, false) => {
            "for git ignores it and what git ignores is not copied: name the packages in a `requirements.txt` in `training.source_dir`"
        }
        (false, _) if is_closed || is_left_out(path) => {
            "for `paths` leaves it out and what does not count is not copied: name it in `paths`"
        }
        // Of a column, too, it is said that it was not found.
        (false, _) if !is_file => return None,
        (false, _) => {
            "which has what git knows, and no data of channels: add it to git, or make it a channel with `sample: false`; if the script writes it, let it make the folder"
        }
    };
    let said = format!("{} is not in the canary, {why}", quoted(path, "a file"));
    Some((said, None))
}

/// A file by an absolute path where no data of channels are.
fn elsewhere(failure: &FirstError<'_>) -> Option<WayOut> {
    let is_elsewhere = |path: &&str| {
        // The canary's own, and caches.
        let is_hidden = path.contains("/.");
        let has_none = is_hidden || NO_DATA.iter().any(|folder| path.starts_with(folder));
        path.starts_with('/') && !has_none
    };
    let path = failure.missing_files().find(is_elsewhere)?;
    let channel = failure.canary.job.training.channels.first()?;
    let said = format!(
        "the script reads {} by an absolute path, and there is no such file: read the data from the folder that the variable `{}` names, or correct the path and make its folder a channel",
        quoted(path, "a file"),
        channel_variable(&channel.name),
    );
    Some((said, None))
}

/// An argument, or a variable of the environment, that the script cannot do without.
fn not_handed_over(failure: &FirstError<'_>) -> Option<WayOut> {
    let (training, log) = (&failure.canary.job.training, failure.canary.log_tail);
    let (channel, command) = (training.channels.first()?, &training.local.command);
    let path = channel_path(&channel.name, &channel.uri);
    let has_printed = |words: &str| log.iter().any(|line| line.contains(words));
    let variable = failure.errors.all().find_map(text::missing_variable);
    let variable = variable.filter(|_| log.iter().any(|line| text::of_environment(line).is_some()));
    let word = failure.errors.all().find_map(text::missing_word);
    let option = failure.errors.all().find_map(text::required_argument);
    let argument = option.or(word.filter(|_| has_printed("sys.argv[")));
    // What fails last is named; it never came to the arguments.
    let argument = argument.filter(|_| variable.is_none());
    let wanted = variable.or(argument)?;
    if secret::may_be_named_so(wanted) {
        return Some((failure.secret_wanted(wanted, variable.is_some()), None));
    }
    let is_of_data = variable.or(option).is_none_or(text::is_of_data);
    let mut said = format!(
        "the script wants `{wanted}`, which the spec does not hand over: write a variable under `training.environment`, an option under `training.hyperparameters`, an argument into `training.command`"
    );
    if !is_of_data {
        return Some((said, None));
    }
    said += &format!("; its data are at `{path}`");
    let set = variable.map(|name| ["env".to_owned(), format!("{name}={path}")]);
    let dashed = argument
        .filter(|name| name.starts_with('-'))
        .map(str::to_owned);
    let handed = dashed.into_iter().chain(argument.map(|_| path));
    let words = set.into_iter().flatten().chain(command.iter().cloned());
    let words = Vec::from_iter(words.chain(handed));
    let cure = Some(words).filter(|_| failure.is_local());
    Some((said, cure))
}

/// A Python module that the interpreter does not have.
fn module_missing(failure: &FirstError<'_>) -> Option<WayOut> {
    let module = failure.errors.all().find_map(text::missing_module)?;
    let said = match failure.is_local() {
        true => format!(
            "the Python that the canary runs has no module `{module}`: name the interpreter that has it by an absolute path in `training.command`, since `.venv` is not copied where git ignores it; a module of your own must be known to git, and counted by `paths`"
        ),
        false => format!(
            "the image has no module `{module}`: name it in a `requirements.txt` in `training.source_dir`, which the framework images install, or take an image that has it; a module of your own must lie in `training.source_dir`"
        ),
    };
    Some((said, None))
}

/// A program that the shell does not find.
fn program_missing(failure: &FirstError<'_>) -> Option<WayOut> {
    let mut errors = (failure.errors.all()).filter(|_| failure.exit_code == Some(127));
    let program = quoted(errors.find_map(text::missing_program)?, "a program");
    let said = match failure.is_local() {
        true => format!(
            "{program} was not found: a canary has the `PATH` of the gate and a copy of the files that count, so name the program by an absolute path, or add it to git"
        ),
        false => {
            format!("{program} is not in the image: install it there, or take an image that has it")
        }
    };
    Some((said, None))
}

/// Memory of the GPU, not of the machine.
fn gpu_memory(failure: &FirstError<'_>) -> Option<WayOut> {
    let said = "the memory of the GPU ran out, not that of the machine: take smaller batches or an instance whose GPUs have more memory";
    (failure.is_of_gpu_memory()).then(|| (said.to_owned(), None))
}

/// SIGKILL, by somebody who gave no reason.
fn killed(failure: &FirstError<'_>) -> Option<WayOut> {
    let said = "exit code 137 is a process that was killed, mostly since memory ran out: look for it in the machine's kernel log, and take smaller batches, fewer workers or a machine with more memory";
    (failure.exit_code == Some(137)).then(|| (said.to_owned(), None))
}

/// It read other data, or none: no missing file says which.
fn nothing_read(failure: &FirstError<'_>) -> Option<WayOut> {
    let (run, measurement) = (failure.canary.run, failure.canary.measurement);
    let sampled = run.channels.iter().filter(|channel| channel.sampled);
    let variables = sampled.map(|channel| format!("`{}`", channel_variable(&channel.name)));
    let variables = Vec::from_iter(variables);
    let said = format!(
        "{}let the script read its data below the folder in {}, not by a path of its own{}",
        // Of one that completed it is said before.
        match measurement.outcome {
            Outcome::Completed => "",
            _ => "it opened no file of its sample: ",
        },
        grammar::list(&variables),
        match variables.len() {
            1 => "",
            _ => "; a channel that canaries do not read is written `sample: false`",
        }
    );
    let is_unread = measurement.sample_opened == Some(false);
    let is_unread = is_unread && failure.errors.about_files().next().is_none();
    is_unread.then(|| (said, failure.linked("")))
}

impl FirstError<'_> {
    /// A script that completed has coped with what it printed.
    fn is_of_gpu_memory(&self) -> bool {
        self.canary.measurement.outcome != Outcome::Completed && self.errors.are_about_gpu_memory()
    }

    fn is_local(&self) -> bool {
        self.canary.run.instance.is_local()
    }

    /// What to do about a secret, which belongs in no spec.
    fn secret_wanted(&self, name: &str, is_variable: bool) -> String {
        let way = match (self.is_local(), is_variable) {
            (true, true) => format!("add `--pass-env {name}` to the command that starts the canary"),
            (true, false) => "let the script read it from a variable of the environment, and hand that on by `--pass-env NAME`".to_owned(),
            (false, _) => "let the script fetch it itself, as from AWS Secrets Manager by the job's role".to_owned(),
        };
        format!("the script wants `{name}`, a secret by its name, which belongs in no spec: {way}")
    }

    /// What the errors say is not there.
    fn missing_files(&self) -> impl Iterator<Item = &str> {
        self.errors.about_files().flat_map(text::paths)
    }

    /// Whether a path leads into the folder of a channel in the checkout, as `./data/train/a.csv` does, or to one above it.
    fn is_near(&self, channel: &Channel, path: &str) -> bool {
        let path = text::in_checkout(path).trim_start_matches('/');
        let folder = text::in_checkout(&channel.uri);
        let (place, usual) = (self.place_of(channel, ""), format!("data/{}", channel.name));
        let folders = [folder, &place, &usual].into_iter();
        let mut folders = folders.filter(|folder| !folder.is_empty());
        let is_above = |folder| !path.is_empty() && text::below(path, folder).is_some();
        folders.any(|folder| text::below(folder, path).is_some() || is_above(folder))
    }

    /// Where a script looks for a channel that it reads by a path of its own; `missed` is such a path.
    fn place_of(&self, channel: &Channel, missed: &str) -> String {
        let folder = text::in_checkout(&channel.uri);
        let source = self.canary.job.training.source_dir.as_deref();
        let from_source = source.and_then(|source| text::below(text::in_checkout(source), folder));
        let up = if missed.starts_with("../") { "../" } else { "" };
        format!("{up}{}", from_source.unwrap_or(folder))
    }

    /// What follows a channel's folder in a path, or the place that the command links to that.
    fn in_folder_of<'p>(&self, channel: &str, path: &'p str) -> Option<&'p str> {
        let (inside, variable) = (text::in_checkout(path), channel_variable(channel));
        let mut words = self.canary.job.training.local.command.iter();
        let linked = words.find_map(|word| {
            let after = word.split_once(&variable)?.1.trim_start_matches(['}', '"']);
            let place = after.strip_prefix(' ')?.split(' ').next()?;
            text::below(text::in_checkout(place), inside)
        });
        let own = path.rsplit_once(&format!("input/data/{channel}/"));
        own.map(|(_, key)| key).or(linked)
    }

    /// The command behind links from where the script looks for its channels.
    fn linked(&self, missed: &str) -> Option<Vec<String>> {
        let training = &self.canary.job.training;
        let channels = training.channels.iter();
        let steps = channels.map(|one| cure::link(&one.name, &self.place_of(one, missed)));
        let steps = steps.collect::<Option<String>>()?;
        // A shell's own steps may make such links already.
        let has_steps = training.local.command.get(1) == Some(&"-c".to_owned());
        cure::behind("", &steps, &training.local.command).filter(|_| !has_steps)
    }

    /// A variable of SageMaker's in a hyperparameter or an argument that goes through no shell.
    fn written_variable(&self) -> Option<&str> {
        let training = &self.canary.job.training;
        let (command, script) = (&training.local.command, &training.sagemaker.entry_point);
        let container = &training.sagemaker.container;
        let is_shell = |program: &String| {
            let name = program.rsplit('/').next();
            name.is_some_and(|name| SHELLS.contains(&name))
        };
        let programs = [command.first(), container.entrypoint.first()];
        let mut programs = programs.into_iter().flatten();
        let is_of_shell = |script: &String| script.ends_with(".sh");
        if programs.any(is_shell) || script.as_ref().is_some_and(is_of_shell) {
            return None;
        }
        let hyperparameters = training.hyperparameters.iter().map(|(_, value)| value);
        let arguments = [command, &container.entrypoint, &container.arguments];
        let mut handed = hyperparameters.chain(arguments.into_iter().flatten());
        handed.find_map(|value| text::variable(value))
    }
}

#[cfg(test)]
mod tests;
