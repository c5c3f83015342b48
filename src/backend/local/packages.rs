//! The Python packages that a command finds on this machine.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use super::workspace::first_bytes;

/// Where Python has its packages, seen from its program; Debian has two places.
const LIBRARIES: [&str; 3] = ["../lib", "../lib64", "../local/lib"];

/// Of the files of a package, a line each; those of PyTorch have 2 MB.
const LONGEST_RECORD: u64 = 16 << 20;

/// Names and versions, as pip writes them, and hashes of the files, of the packages of the environment that a command runs in: that of
/// the program that it starts, and of Python on `PATH`. Its home folder is empty, and has none. An equal environment elsewhere has the
/// same.
pub(super) fn installed(command: &[String], path: &OsStr) -> BTreeSet<String> {
    let first = command.first().map(String::as_str);
    let programs = first.into_iter().chain(["python3", "python"]);
    let found = programs.filter_map(|program| which::which_in(program, Some(path), "/").ok());
    let of_environments = found.flat_map(|program| {
        let settings = fs::read_to_string(program.with_file_name("../pyvenv.cfg"));
        let is_alone =
            settings.is_ok_and(|text| !text.contains("include-system-site-packages = true"));
        let base = program.canonicalize().ok().filter(|_| !is_alone);
        [Some(program), base].into_iter().flatten()
    });
    of_environments
        .flat_map(|program| beside(&program))
        .collect()
}

fn beside(program: &Path) -> Vec<String> {
    let entries = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let libraries = LIBRARIES.map(|library| program.with_file_name(library));
    let versions = libraries.into_iter().flat_map(entries);
    let folders = versions.flat_map(|version| {
        ["site-packages", "dist-packages"].map(|name| version.path().join(name))
    });
    let packages = folders.flat_map(entries).filter_map(|package| {
        let name = package.file_name().into_string().ok()?;
        let is_package = name.ends_with(".dist-info") || name.ends_with(".egg-info");
        // Its programs and how it came there are others in an equal environment elsewhere.
        let is_content = |line: &&str| !line.starts_with("..") && !line.contains(".dist-info/");
        let record = first_bytes(&package.path().join("RECORD"), LONGEST_RECORD);
        let record = record.unwrap_or_default();
        let lines = record.lines().filter(is_content);
        is_package.then(|| Vec::from_iter(lines.chain([&*name])).join("\n"))
    });
    packages.collect()
}
