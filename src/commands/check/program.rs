//! Whether a job's script and its program are on this machine.

use std::path::{Path, PathBuf};

use super::checked_thing::CheckedThing;
use crate::code::without_dots;
use crate::console::AppResult;
use crate::spec::Job;
use crate::workspace::Project;

/// The script of a job, which a canary gets only if git knows it; nothing where a job names none.
pub(super) fn script(project: &Project, job: &Job) -> AppResult<Option<CheckedThing>> {
    let training = &job.training;
    let Some(script) = training.script() else {
        return Ok(None);
    };
    let file = source_folder(project, job).join(script);
    let folder = training.source_dir.as_deref();
    let said = format!("{script} in {}", folder.unwrap_or("the spec's folder"));
    if !file.is_file() {
        let help =
            "correct the path; it is relative to `source_dir`, without one to the spec's folder";
        let why = format!("there is no {said}");
        return Ok(Some(CheckedThing::missing("script", why, help)));
    }
    let real = file.canonicalize().unwrap_or(file);
    // What lies elsewhere is refused by who copies it.
    let Ok(real) = real.strip_prefix(&project.root) else {
        return Ok(Some(CheckedThing::ready("script", said)));
    };
    let code = project.code()?.of_jobs.get(&job.name);
    let counts = code.is_some_and(|code| code.files().iter().any(|file| file.real == real));
    Ok(Some(match counts {
        true => CheckedThing::ready("script", said),
        false if project.files()?.get(real).is_some() => CheckedThing::missing(
            "script",
            format!("`paths` leaves out {said}, so no canary gets it"),
            "name it in `paths`: what does not count is not copied",
        ),
        false => CheckedThing::missing(
            "script",
            format!("git ignores {said}, so no canary gets it"),
            "take it out of .gitignore, or `git add --force` it",
        ),
    }))
}

/// The folder that a job's command runs in a copy of.
fn source_folder(project: &Project, job: &Job) -> PathBuf {
    project.place_of(job.training.source_dir.as_deref().unwrap_or_default())
}

/// The programs that a local job's canaries start.
pub(super) fn programs(project: &Project, job: &Job) -> AppResult<Vec<CheckedThing>> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folder = source_folder(project, job);
    let of_command = started(&job.training.local.command).into_iter();
    let code = project.code()?.of_jobs.get(&job.name);
    let is_copied = |place: &Path| match (without_dots(place).strip_prefix(&project.root), code) {
        (Ok(below), Some(code)) => code.files().iter().any(|file| file.path == below),
        _ => true,
    };
    let look = |word: &str| {
        let is_of_source = word.contains('/') && !word.starts_with('/');
        let found = which::which_in(word, Some(&path), &folder).ok();
        if let Some(place) = (found.as_ref()).filter(|place| is_of_source && !is_copied(place)) {
            let why = format!(
                "no canary gets a copy of `{word}`, since git ignores it or `paths` leaves it out"
            );
            let help = format!("write `{}` for it in `training.command`", place.display());
            return CheckedThing::missing("program", why, help);
        }
        if let Some(place) = found {
            return CheckedThing::ready("program", format!("{word} is {}", place.display()));
        }
        let place = match word.contains('/') {
            true => "in the source",
            false => "on PATH",
        };
        let help = match word {
            "python" => "install it, or write `python3` in `training.command`",
            _ => "install it, or correct `training.command`",
        };
        let why = format!("there is no program `{word}` {place}");
        CheckedThing::missing("program", why, help)
    };
    Ok(of_command.map(look).collect())
}

/// The words of a command that are programs: behind `env` and its variables comes another.
fn started(command: &[String]) -> Vec<&str> {
    let mut words = command.iter().map(String::as_str);
    let first = words.next();
    let mut programs = Vec::from_iter(first);
    if first.is_some_and(|first| Path::new(first).ends_with("env")) {
        let is_own = |word: &&str| word.contains('=') || word.starts_with('-');
        programs.extend(words.find(|word| !is_own(word)));
    }
    programs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(command: &[&str]) -> Vec<String> {
        command.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn behind_env_comes_the_program() {
        assert_eq!(started(&words(&["python3", "train.py"])), ["python3"]);
        assert_eq!(
            started(&words(&["env", "-i", "A=b", "python3", "x"])),
            ["env", "python3"]
        );
        assert_eq!(started(&words(&["env", "A=b"])), ["env"]);
        assert!(started(&[]).is_empty());
    }

    #[test]
    fn a_program_is_found_on_path_or_in_the_source() {
        let is_found = |word| which::which_in(word, Some("/usr/bin:/bin"), "/").is_ok();
        assert!(is_found("sh") && is_found("bin/sh") && !is_found("no-such-program"));
        // A folder is none.
        assert!(!is_found("/usr"));
    }
}
