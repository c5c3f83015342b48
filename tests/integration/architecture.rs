//! The house as CONTRIBUTING describes it: imports point one way and in no circle, and foreign crates stay in their room. That the
//! core names no edge, no runtime and no AWS, its manifest says; that it touches no file and no clock, `clippy.toml`.

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use imports::Imports;

/// The pure core in story order: each may import those before it, and nothing else.
const CORE: &str = include_str!("architecture/core.txt");

/// What ties the core and the edges together: each may import those after it. No other room imports any of them.
const LADDER: [&str; 4] = ["commands", "gate", "workspace", "console"];

/// Where the command that wrote a record may decide something, each with what it decides.
const ASKS_WHO_WROTE: [(&str, &str); 3] = [
    ("gate/run_history.rs", "which records are checks for drift"),
    ("commands/history/facts.rs", "what a record is called"),
    (
        "workspace/run_origin.rs",
        "whose measurements may become the baseline",
    ),
];

/// A crate a line, or the beginning of the names of several, and the only places that may name it.
const HOMES: &str = include_str!("architecture/homes.txt");

fn source_files() -> Vec<(String, String)> {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, files);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    let mut files = Vec::new();
    for folder in ["src", "core/src"] {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut paths = Vec::new();
        walk(&root, &mut paths);
        files.extend(paths.into_iter().map(|path| {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap();
            (name.to_owned(), fs::read_to_string(&path).unwrap())
        }));
    }
    files
}

/// The room a file belongs to: `spec` for `spec/read/mod.rs`, `units` for `units.rs`.
fn room(file: &str) -> &str {
    file.split('/').next().unwrap().trim_end_matches(".rs")
}

/// The code without comments.
fn code(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("//"))
}

/// Whether a line names something of a crate; a module of that name in another crate is not it.
fn names_crate(line: &str, name: &str) -> bool {
    let path = match name.ends_with('_') {
        true => name.to_owned(),
        false => format!("{name}::"),
    };
    let before = |place: usize| line[..place].chars().next_back();
    line.match_indices(&path).any(|(place, _)| {
        before(place).is_none_or(|c| !(c.is_alphanumeric() || c == '_' || c == ':'))
    })
}

/// The rooms that a line names by their path from the crate's root.
fn rooms_named(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        &rest[..end.unwrap_or(rest.len())]
    })
}

/// The place of a room in a list of them.
fn place<'a>(rooms: impl IntoIterator<Item = &'a str>, name: &str) -> Option<usize> {
    rooms.into_iter().position(|room| room == name)
}

/// Whether a room may import another: the core leftward, what ties all together downward, and edges do not know each other, but that
/// backends start the probe.
fn may_import(own: &str, other: &str) -> bool {
    if let Some(own) = place(CORE.lines(), own) {
        return place(CORE.lines(), other).is_some_and(|other| other <= own);
    }
    let is_above =
        place(LADDER, other).is_none_or(|other| place(LADDER, own).is_some_and(|own| own <= other));
    let banned: &[&str] = match own {
        "lib" | "main" => return true,
        "git" | "probe" => &["git", "backend", "history", "assess", "cli"],
        "backend" => &["git", "history", "assess", "cli"],
        "github" => &["git", "backend", "history", "assess", "cli", "aws"],
        "history" => &["git", "backend", "probe", "assess", "cli"],
        // What AWS says passes through the one; what it could not do is the other's error.
        "aws" => return matches!(other, "secret" | "outside_error"),
        _ => &[],
    };
    is_above && !banned.contains(&other)
}

#[test]
fn rooms_import_one_way() {
    for (file, text) in source_files() {
        for line in code(&text) {
            for named in rooms_named(line) {
                let may = may_import(room(&file), named);
                assert!(may, "{file} imports {named}: {line}");
            }
        }
    }
}

#[test]
fn no_file_imports_itself_by_way_of_others() {
    let circles = Imports::read(&source_files()).circles();
    assert!(
        circles.is_empty(),
        "these files import each other: {circles:#?}"
    );
}

#[test]
fn who_wrote_a_record_decides_in_named_places_only() {
    for (file, text) in source_files() {
        let is_named = ASKS_WHO_WROTE.iter().any(|(place, _)| *place == file);
        if is_named || room(&file) == "history" {
            continue;
        }
        let decides = |line: &&str| {
            let words = ["==", "!=", "match", "matches!"];
            line.contains("writer.command") && words.iter().any(|word| line.contains(word))
        };
        if let Some(line) = code(&text).find(decides) {
            panic!("{file} asks who wrote a record: {line}");
        }
    }
}

#[test]
fn foreign_types_stop_at_the_door() {
    for (file, text) in source_files() {
        for (name, homes) in HOMES.lines().filter_map(|line| line.split_once(' ')) {
            if homes.split(' ').any(|home| file.starts_with(home)) {
                continue;
            }
            if let Some(line) = code(&text).find(|line| names_crate(line, name)) {
                panic!("{file} uses {name}, whose homes are {homes}: {line}");
            }
        }
    }
}

#[test]
fn a_type_name_is_defined_once() {
    let mut homes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, types) in Imports::read(&source_files()).types {
        for name in types {
            homes.entry(name).or_default().insert(file.join("/"));
        }
    }
    homes.retain(|_, files| files.len() > 1);
    assert!(homes.is_empty(), "defined in several files: {homes:#?}");
}

/// What a backend is like its traits say, so that a new one is a file in `spec/training`, one in `backend` and a line in each
/// register.
#[test]
fn a_kind_of_backend_is_named_in_the_registers_and_by_the_backend_itself() {
    let registers = ["spec/training/mod.rs", "gate/backend.rs"];
    for (file, text) in source_files() {
        let is_test = file.contains("tests") || file == "report/samples.rs";
        if is_test || registers.contains(&file.as_str()) {
            continue;
        }
        for line in code(&text) {
            for named in line.split("BackendKind::").skip(1) {
                let kind: String = named
                    .chars()
                    .take_while(char::is_ascii_alphabetic)
                    .collect();
                let own = format!("backend/{}", kind.to_lowercase());
                assert!(
                    kind.starts_with(char::is_lowercase) || file.starts_with(&own),
                    "{file} asks for a kind of backend, where its traits should answer: {line}"
                );
            }
        }
    }
}
