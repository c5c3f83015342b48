//! Finds the program before it is started, so that a mistake is reported clearly and before anything is measured.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use nix::libc;
use nix::unistd::{AccessFlags, access};

use super::MARK_VARIABLE;
use super::error::{ProbeError, shown};
use super::output::CommandEnvironment;

/// Starts the command in a process group of its own, so that a Ctrl-C on the terminal reaches only the probe.
/// With an `environment` it has that alone and an empty standard input, else it has those of the probe.
pub(super) fn start(
    command: &[OsString],
    environment: Option<&CommandEnvironment>,
) -> Result<Child, ProbeError> {
    let (program, arguments) = command.split_first().ok_or(ProbeError::NoCommand)?;
    let path_of = |variables: &CommandEnvironment| {
        let path = variables.iter().find(|(name, _)| name == "PATH");
        path.map(|(_, value)| value.clone())
    };
    let search_path = environment.map_or_else(|| env::var_os("PATH"), path_of);
    let path = locate(program, search_path.as_deref())?;
    let mut process = Command::new(&path);
    process.args(arguments).arg0(program);
    process.env_remove(MARK_VARIABLE).process_group(0);
    if let Some(environment) = environment {
        process
            .env_clear()
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
    }
    process.spawn().map_err(|source| refusal(path, source))
}

/// The file to execute.
pub(super) fn locate(program: &OsStr, search_path: Option<&OsStr>) -> Result<PathBuf, ProbeError> {
    if program.as_encoded_bytes().contains(&b'/') {
        let path = PathBuf::from(program);
        return executable(std::path::absolute(&path).unwrap_or(path));
    }
    let mut refused = None;
    for folder in search_path.map(env::split_paths).into_iter().flatten() {
        match executable(folder.join(program)) {
            Ok(path) => return std::path::absolute(&path).or(Ok(path)),
            Err(error @ ProbeError::NotExecutable(_)) => refused = refused.or(Some(error)),
            Err(_) => {}
        }
    }
    Err(refused.unwrap_or_else(|| ProbeError::NotOnPath(shown(program))))
}

/// A tool of the probe's own, from the absolute folders of this process's PATH: others, such as `~/bin`, may hold what a change brings.
pub(super) fn locate_tool(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    let mut folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.find_map(|folder| executable(folder.join(name)).ok())
}

fn executable(path: PathBuf) -> Result<PathBuf, ProbeError> {
    match fs::metadata(&path) {
        Err(source) if source.kind() == io::ErrorKind::PermissionDenied => {
            Err(ProbeError::NotStarted(path, source))
        }
        Err(_) => Err(ProbeError::Missing(path)),
        Ok(file) if file.is_dir() => Err(ProbeError::Folder(path)),
        Ok(_) if access(&path, AccessFlags::X_OK).is_err() => Err(ProbeError::NotExecutable(path)),
        Ok(_) => Ok(path),
    }
}

/// What an error of `execve(2)` means for an executable file that exists.
fn refusal(path: PathBuf, source: io::Error) -> ProbeError {
    match source.raw_os_error() {
        Some(libc::ENOENT) => ProbeError::NoInterpreter(path),
        Some(libc::ENOEXEC) => ProbeError::NotAProgram(path),
        _ => ProbeError::NotStarted(path, source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_program_that_cannot_be_started_is_reported_by_what_is_wrong_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str, mode: u32| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path.into_os_string()
        };
        let notes = write("notes.txt", "text", 0o644);
        let no_interpreter = write("a", "#!/no/such/interpreter\n", 0o755);
        let no_line = write("b", "print(1)\n", 0o755);
        for (program, code, words) in [
            (
                "trainx".into(),
                127,
                "command `trainx` was not found on PATH; ",
            ),
            (
                "a\u{1b}[2Jb".into(),
                127,
                "command `a\\u{1b}[2Jb` was not found on PATH",
            ),
            ("./no/such".into(), 127, "/no/such` does not exist; "),
            ("/tmp".into(), 126, "`/tmp` is a folder; "),
            (notes, 126, "notes.txt` is not executable; "),
            (no_interpreter, 126, "names an interpreter"),
            (no_line, 126, "has no `#!` line"),
        ] {
            let error = start(&[program], None).unwrap_err();
            assert!(error.to_string().contains(words), "{error}");
            assert_eq!(error.exit_code(), code);
        }
    }

    #[test]
    fn the_first_executable_on_the_path_wins() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b"] {
            let bin = folder.path().join(name);
            fs::create_dir(&bin).unwrap();
            fs::write(bin.join("train"), "").unwrap();
        }
        let wanted = folder.path().join("b/train");
        fs::set_permissions(&wanted, fs::Permissions::from_mode(0o755)).unwrap();
        let search = env::join_paths([folder.path().join("a"), folder.path().join("b")]).unwrap();
        assert_eq!(locate("train".as_ref(), Some(&search)).unwrap(), wanted);
    }
}
