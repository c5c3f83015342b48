//! `demo`: the quickstart, carried in the program, in a checkout of its own.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Parser;
use include_dir::{Dir, include_dir};

use super::run;
use crate::cli::{Cli, CliCommand};
use crate::console::{AppError, AppResult, Loudness, StepResult, files, say};
use crate::git::GitCheckout;
use crate::probe;

const README: &str = include_str!("../../examples/quickstart/README.md");
const SPEC: &str = include_str!("../../examples/quickstart/canary-gate.yml");
const SCRIPT: &str = include_str!("../../examples/quickstart/train.py");
/// The example's files. Its folder as a whole may hold more: what runs of it left.
const FILES: [(&str, &str); 3] = [
    ("README.md", README),
    ("canary-gate.yml", SPEC),
    ("train.py", SCRIPT),
];
const DATA: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/examples/quickstart/data");

pub(crate) async fn demo(folder: &Path, loudness: Loudness) -> AppResult<u8> {
    let spec = folder.join("canary-gate.yml");
    let (here, shown) = (folder.display(), spec.display());
    let is_there = folder.symlink_metadata().is_ok();
    if is_there && !FILES.iter().all(|(name, _)| folder.join(name).is_file()) {
        return Err(
            AppError::usage(format!("{here} is already there, and is no demo"))
                .help("nothing is overwritten; for another folder: `canary-gate demo FOLDER`"),
        );
    }
    probe::check_system().or_fail(|| {
        AppError::failed("the demo runs its canaries on this machine, which must be a Linux one")
            .help("start it in a Linux container with Python 3; a Linux release is one static file")
    })?;
    find_python()?;
    let what = if is_there {
        format!("{here} is there from an earlier demo and stays as it is")
    } else {
        write(folder).map_err(|error| files::cannot_write(folder, error))?;
        format!("wrote {here}: a spec, a training script, 100 files of data")
    };
    // A checkout around it may ignore the folder, and then has no source in it; one that does not would show a hundred files.
    if let Err(error) = GitCheckout::create(folder, &[FILES[0].0, FILES[1].0, FILES[2].0, "data"]) {
        let reason = AppError::from(error).in_a_line();
        say(&format!(
            "warning: the demo is not a git checkout, so a second start runs its canaries again: {reason}"
        ));
    }
    say(&format!(
        "{what}. Now it runs `canary-gate run --all --spec {shown}`:\n"
    ));
    let words = ["canary-gate", "run", "--all", "--spec"].map(Into::into);
    let words = words.into_iter().chain([spec.clone().into_os_string()]);
    let Ok(Cli {
        command: CliCommand::Run(run),
        ..
    }) = Cli::try_parse_from(words)
    else {
        return Err(AppError::failed("the demo's command is not understood")
            .help("CANARY_GATE_ variables of the environment stand for flags; unset them"));
    };
    let code = run::run(&run, loudness).await?;
    say(&format!(
        "\nNow `canary-gate actuals --run --spec {shown}` does the full run once, beside its forecast; `canary-gate init` writes a spec for a job of yours."
    ));
    Ok(code)
}

fn find_python() -> AppResult<()> {
    let mut python = Command::new("python3");
    let answer = python.arg("--version").stdin(Stdio::null()).output();
    match answer.map(|answer| answer.status) {
        Ok(status) if status.success() => Ok(()),
        _ => Err(AppError::failed(
            "the demo trains with Python 3, and `python3` cannot be started",
        )
        .help("install Python 3 and see that `python3 --version` answers")),
    }
}

fn write(folder: &Path) -> std::io::Result<()> {
    let data = folder.join("data");
    fs::create_dir_all(&data)?;
    for (name, text) in FILES {
        fs::write(folder.join(name), text)?;
    }
    DATA.extract(data)
}
