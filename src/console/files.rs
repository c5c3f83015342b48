//! Files that the gate reads: plain ones of a limited size. Files that it writes: never through a link, and whole or not at all.

use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::console::{AppError, AppResult, Loudness, StepResult, printable, say};
use crate::git::own_files;
use crate::report::template::Template;
use crate::units::Bytes;

/// Reads a template of the page; one that names what there is not is an error.
pub(crate) fn read_template(file: &Path) -> AppResult<Template> {
    let name = file.display().to_string();
    let text = read_text(file).or_fail(|| {
        AppError::usage(format!("the template {name} cannot be read"))
            .help("name a file of text, relative to the current folder")
    })?;
    parse_template(&name, &text)
}

/// A template by its text.
pub(crate) fn parse_template(name: &str, text: &str) -> AppResult<Template> {
    Template::parse(text).or_fail(|| {
        AppError::usage(format!("the template {name} cannot be used"))
            .help("docs/template.md lists the values that a template can name")
    })
}

/// The largest file of measurements or reports that is read: some ten thousand canaries.
pub(crate) const LARGEST_TEXT: Bytes = Bytes(16 << 20);

/// The working directory, links resolved.
pub(crate) fn current_folder() -> AppResult<PathBuf> {
    std::env::current_dir()
        .and_then(|folder| folder.canonicalize())
        .or_fail(|| AppError::failed("the current folder is gone"))
}

/// Reads a text file. Only plain files: a pipe would block, and a device has no end.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    read_text_up_to(path, LARGEST_TEXT)
}

/// Reads a text file of at most `limit`.
pub(crate) fn read_text_up_to(path: &Path, limit: Bytes) -> io::Result<String> {
    let mut text = Vec::new();
    let most = limit.0.saturating_add(1);
    open_plain(path)?.take(most).read_to_end(&mut text)?;
    if u64::try_from(text.len()).is_ok_and(|bytes| bytes == most) {
        return Err(io::Error::other(format!("it is larger than {limit}")));
    }
    String::from_utf8(text).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// Opens a plain file to read it.
///
/// # Errors
///
/// Also for a folder, a pipe, a device, and a file that the kernel makes as it is read, such as one in /proc: it has no size
/// and may have no end.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    let check = |metadata: &Metadata| match metadata.file_type() {
        kind if kind.is_dir() => Err(io::Error::new(
            io::ErrorKind::IsADirectory,
            "it is a folder",
        )),
        kind if kind.is_file() => Ok(()),
        _ => Err(io::Error::other("it is not a plain file")),
    };
    // Opening a device may do something, so it is looked at before.
    check(&path.metadata()?)?;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_NONBLOCK)
        .open(path)?;
    check(&file.metadata()?)?;
    if is_made_by_the_kernel(&file) {
        return Err(io::Error::other(
            "it is not a plain file: the kernel makes it as it is read",
        ));
    }
    Ok(file)
}

/// Whether it lies in procfs, sysfs, debugfs, tracefs, or that of cgroups: `statfs(2)`.
#[cfg(target_os = "linux")]
fn is_made_by_the_kernel(file: &File) -> bool {
    nix::sys::statfs::fstatfs(file).is_ok_and(|system| {
        matches!(
            system.filesystem_type().0,
            0x9fa0 | 0x6265_6572 | 0x6462_6720 | 0x7472_6163 | 0x0027_e0eb | 0x6367_7270
        )
    })
}

/// Elsewhere there is no such file system.
#[cfg(not(target_os = "linux"))]
fn is_made_by_the_kernel(_: &File) -> bool {
    false
}

/// Resolves the links of the part of a path that exists.
pub(crate) fn resolve_as_far_as_there(path: &Path) -> io::Result<PathBuf> {
    let mut there = path;
    loop {
        match there.canonicalize() {
            Ok(real) => {
                // Its components, without a slash at the end.
                let rest = path.strip_prefix(there).unwrap_or(Path::new(""));
                return Ok(real.iter().chain(rest).collect());
            }
            // A dangling link exists, but its target does not.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !there.is_symlink() => {
                there = there.parent().ok_or(error)?;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Refuses a target that is a link, that lies behind a link inside the checkout, or whose folder does not exist.
///
/// A pull request can commit a link; a write must not follow it to another file.
pub(crate) fn check_target(path: &Path, root: &Path) -> AppResult<()> {
    let absolute = std::path::absolute(path)
        .or_fail(|| AppError::usage(format!("`{}` is not a path", path.display())))?;
    let refuse = |link: &Path| {
        let link = link.display();
        AppError::failed(format!(
            "{link} is a link; nothing is written through links"
        ))
        .help("remove the link, or write somewhere else")
    };
    if absolute.is_symlink() {
        return Err(refuse(&absolute));
    }
    if absolute.exists() && !absolute.is_file() && !is_device(&absolute) {
        let what = format!("{} is not a plain file", absolute.display());
        return Err(AppError::usage(what).help("name a file to write to"));
    }
    let folder = absolute.parent().unwrap_or(Path::new("/"));
    // Links above the checkout belong to the machine, e.g. /tmp on some systems.
    for ancestor in folder.ancestors().take_while(|ancestor| *ancestor != root) {
        if ancestor.starts_with(root) && ancestor.is_symlink() {
            return Err(refuse(ancestor));
        }
    }
    let (shown, file) = (folder.display(), path.display());
    match folder.metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(AppError::usage(format!("{shown} is not a folder"))),
        Err(source) => Err(
            AppError::usage(format!("the folder of `{file}` is not there"))
                .help(format!("make it first: mkdir -p {shown}"))
                .caused_by(source),
        ),
    }
}

/// What training costs is for the owner's eyes, as in the history.
const OWNERS_ALONE: u32 = 0o600;
const AS_THE_UMASK_SAYS: u32 = 0o666;

/// To open a file of the owner's, made where there is none, and never through a link.
pub(crate) fn owners_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).create(true).mode(OWNERS_ALONE);
    options.custom_flags(nix::libc::O_NOFOLLOW);
    options
}

/// Writes a file that somebody asked for, and says so: a page or a table, which others may read as far as the umask lets them.
pub(crate) fn write_asked(
    path: &Path,
    content: &[u8],
    root: &Path,
    loudness: Loudness,
) -> AppResult<()> {
    write_readable(path, content, root)?;
    own_files::remember(root, path);
    if loudness > Loudness::Quiet && !is_device(path) {
        say(&format!("wrote {}", printable(&path.to_string_lossy())));
    }
    Ok(())
}

/// Writes a file atomically, which others may read as far as the umask lets them.
pub(crate) fn write_readable(path: &Path, content: &[u8], root: &Path) -> AppResult<()> {
    write_with_mode(path, content, root, AS_THE_UMASK_SAYS)
}

/// Writes a file atomically: to a temporary file beside it, then renamed. Only its owner may read it.
pub(crate) fn write_new(path: &Path, content: &[u8], root: &Path) -> AppResult<()> {
    write_with_mode(path, content, root, OWNERS_ALONE)
}

/// A device such as /dev/stdout cannot be replaced by a file.
fn is_device(path: &Path) -> bool {
    path.symlink_metadata()
        .is_ok_and(|metadata| metadata.file_type().is_char_device())
}

fn write_with_mode(path: &Path, content: &[u8], root: &Path, mode: u32) -> AppResult<()> {
    check_target(path, root)?;
    if is_device(path) {
        let device = OpenOptions::new().write(true).open(path);
        let written = device.and_then(|mut device| device.write_all(content));
        return written.map_err(|source| cannot_write(path, source));
    }
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let written = tempfile::Builder::new()
        .prefix(".")
        .suffix(".tmp")
        .rand_bytes(32)
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder.unwrap_or(Path::new(".")))
        .and_then(|mut file| {
            file.write_all(content)?;
            file.as_file().sync_all()?;
            Ok(file.persist(path)?)
        });
    let written = written.map(drop);
    written.map_err(|source| cannot_write(path, source))
}

/// Creates the gate's own folder, with a `.gitignore` of `*`.
pub(crate) fn make_state_folder(folder: &Path) -> AppResult<()> {
    if folder.is_symlink() {
        return Err(AppError::failed(format!(
            "{} is a link; the gate's own folder must be a folder",
            folder.display()
        ))
        .help("remove the link"));
    }
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(folder);
    made.map_err(|source| cannot_write(folder, source))?;
    let ignore = folder.join(".gitignore");
    // `create_new` does not follow a dangling link.
    match File::create_new(&ignore).and_then(|mut file| file.write_all(b"*\n")) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        written => written.map_err(|source| cannot_write(&ignore, source)),
    }
}

pub(crate) fn cannot_write(path: &Path, source: io::Error) -> AppError {
    AppError::failed(format!("could not write {}", path.display()))
        .help("make it writable for the user that runs the gate, or name another place")
        .caused_by(source)
}
