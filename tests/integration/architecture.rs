//! The house as CONTRIBUTING describes it: imports point one way and in no circle, and foreign crates stay in their room. That the
//! core names no edge, no runtime and no AWS, its manifest says; that it touches no file and no clock, `clippy.toml`.

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use imports::Imports;

/// The pure core in story order: each may import those before it, and nothing else.
const CORE: [&str; 18] = [
    "grammar",
    "secret",
    "units",
    "rows",
    "metric",
    "instance",
    "spec",
    "code",
    "change",
    "canary",
    "measurement",
    "forecast",
    "verdict",
    "exit",
    "plan",
    "drift",
    "report",
    "assess",
];

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

/// A crate and the only places that may name it.
const HOMES: [(&str, &[&str]); 21] = [
    ("aws_config", &["aws/"]),
    ("aws_smithy_types", &["aws/", "backend/sagemaker/"]),
    ("flate2", &["backend/sagemaker/archive"]),
    (
        "clap",
        &[
            "cli.rs",
            "main.rs",
            "commands/demo.rs",
            "commands/reference.rs",
        ],
    ),
    (
        "comfy_table",
        &[
            "report/terminal.rs",
            "report/actual.rs",
            "commands/history/list.rs",
        ],
    ),
    ("globset", &["code/globs.rs", "spec/read/"]),
    ("handlebars", &["report/template.rs"]),
    ("http", &["github/client.rs", "github/id_token.rs"]),
    ("http_body_util", &["github/client.rs"]),
    ("octocrab", &["github/client.rs"]),
    ("parquet", &["rows/row_groups.rs", "rows/tests"]),
    ("plotters", &["report/html/plot/draw.rs"]),
    ("reqwest", &["github/client.rs"]),
    ("sha1", &["code/tree.rs"]),
    ("indicatif", &["console/progress.rs"]),
    ("miette", &["spec/errors.rs", "spec/excerpt.rs"]),
    ("regex", &["spec/metric.rs", "secret/", "commands/init/"]),
    (
        "schemars",
        &[
            "units/",
            "metric/",
            "instance/",
            "spec/",
            "canary.rs",
            "measurement.rs",
            "measurement/levels.rs",
            "measurement/memory.rs",
            "forecast/",
            "verdict/",
            "drift/",
            "report/",
            "probe/mod.rs",
        ],
    ),
    ("serde_saphyr", &["spec/yaml.rs"]),
    ("signal_hook", &["probe/"]),
    ("statrs", &["forecast/"]),
];

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
    let path = format!("{name}::");
    let before = |place: usize| line[..place].chars().next_back();
    line.match_indices(&path).any(|(place, _)| {
        before(place).is_none_or(|c| !(c.is_alphanumeric() || c == '_' || c == ':'))
    })
}

#[test]
fn the_core_imports_leftward_only() {
    for (file, text) in source_files() {
        let Some(own) = CORE.iter().position(|core| *core == room(&file)) else {
            continue;
        };
        for line in code(&text) {
            for imported in line.split("crate::").skip(1) {
                let imported: String = imported
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                let place = CORE.iter().position(|core| *core == imported);
                assert!(
                    place.is_some_and(|place| place <= own),
                    "{file} imports {imported}: {line}"
                );
            }
        }
    }
}

/// The rooms that a line names by their path from the crate's root.
fn rooms_named(line: &str) -> impl Iterator<Item = &str> {
    line.split("crate::").skip(1).map(|rest| {
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        &rest[..end.unwrap_or(rest.len())]
    })
}

#[test]
fn rooms_above_the_edges_import_downward_only() {
    for (file, text) in source_files() {
        if matches!(room(&file), "lib" | "main") {
            continue;
        }
        let own = LADDER.iter().position(|one| *one == room(&file));
        for line in code(&text) {
            for named in rooms_named(line) {
                let Some(place) = LADDER.iter().position(|one| *one == named) else {
                    continue;
                };
                assert!(
                    own.is_some_and(|own| own <= place),
                    "{file} imports {named}: {line}"
                );
            }
        }
    }
}

#[test]
fn edges_do_not_know_each_other_but_backends_start_the_probe() {
    for (file, text) in source_files() {
        let banned: &[&str] = match room(&file) {
            "git" | "probe" => &["git", "backend", "history", "assess", "cli"],
            "backend" => &["git", "history", "assess", "cli"],
            "github" => &["git", "backend", "history", "assess", "cli", "aws"],
            "history" => &["git", "backend", "probe", "assess", "cli"],
            // It knows no room but `secret`, which what AWS says passes through.
            "aws" => &[""],
            _ => continue,
        };
        for line in code(&text) {
            for named in rooms_named(line) {
                let is_door = banned == [""] && named == "secret";
                assert!(
                    is_door || !banned.contains(&named) && banned != [""],
                    "{file} imports {named}: {line}"
                );
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
fn clients_of_aws_stay_with_it_the_sagemaker_backend_and_the_history() {
    for (file, text) in source_files() {
        let homes = ["aws/", "backend/sagemaker/", "history/s3.rs"];
        let is_home = homes.iter().any(|home| file.starts_with(home));
        let names = |line: &str| line.contains("aws_sdk_") || line.contains("aws_credential_types");
        if let Some(line) = code(&text).find(|line| !is_home && names(line)) {
            panic!("{file} names a client of AWS: {line}");
        }
    }
}

#[test]
fn foreign_types_stop_at_the_door() {
    for (file, text) in source_files() {
        for (name, homes) in HOMES {
            if homes.iter().any(|home| file.starts_with(home)) {
                continue;
            }
            if let Some(line) = code(&text).find(|line| names_crate(line, name)) {
                panic!("{file} uses {name}, whose homes are {homes:?}: {line}");
            }
        }
    }
}

/// Type names that are defined in several files, each with its reason.
const SHARED_TYPE_NAMES: [(&str, &str); 1] =
    [("Quantity", "forecast, printed, and written in the spec")];

/// The source files without those that only tests compile.
fn shipped_files() -> Vec<(String, String)> {
    let files = source_files();
    let mut test_modules = Vec::new();
    for (file, text) in &files {
        let folder = file
            .strip_suffix("mod.rs")
            .or(file.strip_suffix("lib.rs"))
            .map_or_else(
                || format!("{}/", file.trim_end_matches(".rs")),
                str::to_owned,
            );
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if line.trim() == "#[cfg(test)]"
                && let Some(declared) = lines.find(|line| !line.trim().starts_with("#["))
                && let Some((_, name)) = declared.split_once("mod ")
                && let Some(name) = name.strip_suffix(';')
            {
                test_modules.push(format!("{folder}{name}.rs"));
                test_modules.push(format!("{folder}{name}/"));
            }
        }
    }
    files
        .into_iter()
        .filter(|(file, _)| !test_modules.iter().any(|module| file.starts_with(module)))
        .map(|(file, text)| {
            let shipped = text.split("\n#[cfg(test)]\nmod tests {").next();
            (file, shipped.unwrap_or_default().to_owned())
        })
        .collect()
}

/// The name that a line defines a type by; an associated type, which is indented, is not one.
fn defined_type(line: &str) -> Option<&str> {
    let item = line.trim_start();
    let item = match item.strip_prefix("pub") {
        Some(item) if item.starts_with('(') => item.split_once(") ")?.1,
        Some(item) => item.trim_start(),
        None => item,
    };
    let (keyword, rest) = item.split_once(' ')?;
    let is_definition = match keyword {
        "struct" | "enum" | "trait" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    let name = &rest[..end.unwrap_or(rest.len())];
    (is_definition && name.starts_with(char::is_uppercase)).then_some(name)
}

#[test]
fn a_type_name_is_defined_once() {
    let mut homes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (file, text) in shipped_files() {
        for name in text.lines().filter_map(defined_type) {
            homes
                .entry(name.to_owned())
                .or_default()
                .insert(file.clone());
        }
    }
    let shared: BTreeMap<_, _> = homes.iter().filter(|(_, files)| files.len() > 1).collect();
    for (name, files) in &shared {
        assert!(
            SHARED_TYPE_NAMES.iter().any(|(shared, _)| shared == name),
            "{name} is defined in {files:?}; rename one, or give the reason in SHARED_TYPE_NAMES"
        );
    }
    for (name, reason) in SHARED_TYPE_NAMES {
        assert!(
            shared.contains_key(&name.to_owned()),
            "{name} is defined once: remove it from SHARED_TYPE_NAMES"
        );
        assert!(!reason.is_empty());
    }
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
