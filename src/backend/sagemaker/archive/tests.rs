//! Archives, read back by Python's reader, which is what unpacks them in the container.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::*;
use crate::code::blob_id;

/// A file of the source, which was read as `read`, and is there as `content`.
fn source(folder: &Path, name: &str, read: &str, content: Option<&str>) -> SourceFile {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if let Some(content) = content {
        fs::write(&path, content).unwrap();
    }
    SourceFile {
        name: name.into(),
        path,
        is_executable: name.ends_with(".sh"),
        blob: blob_id("", read.as_bytes()),
    }
}

fn sources(folder: &Path, names: &[&str]) -> Vec<SourceFile> {
    let each = names.iter();
    each.map(|name| source(folder, name, name, Some(name)))
        .collect()
}

const OWN: OwnFile<'_> = OwnFile {
    name: "probe",
    is_executable: true,
    bytes: b"elf",
};

#[test]
fn the_same_files_give_the_same_bytes_in_any_order() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = sources(folder.path(), &["train.py", "lib/a.py"]);
    let first = pack(&files, &[OWN], LARGEST_SOURCE).unwrap();
    files.reverse();
    assert_eq!(pack(&files, &[OWN], LARGEST_SOURCE).unwrap(), first);
    assert_ne!(pack(&files, &[], LARGEST_SOURCE).unwrap(), first);
    // The names of training jobs hold it.
    let known = "d3c7e2fd73fa";
    assert_eq!(sha256_hex(&first)[..12], *known);
    // No flag, so no name; no time; no operating system.
    assert_eq!(first[3..8], [0, 0, 0, 0, 0]);
    assert_eq!(first[9], 255);
}

#[test]
fn a_name_of_ours_is_no_name_of_the_source() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["probe", "probe/a.py"] {
        let folder = folder.path().join(name.len().to_string());
        let error = pack(&sources(&folder, &[name]), &[OWN], LARGEST_SOURCE).unwrap_err();
        assert_eq!(error.what, "\"probe\" is in the source");
    }
    assert!(
        pack(
            &sources(folder.path(), &["lib/probe", "probes"]),
            &[OWN],
            LARGEST_SOURCE
        )
        .is_ok()
    );
}

#[test]
fn a_source_that_is_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (x, y) = ("x".repeat(40), "y".repeat(60));
    let files = [("a.py", &x), ("b.bin", &y)];
    let files = files.map(|(name, text)| source(folder.path(), name, text, Some(text)));
    assert!(pack(&files, &[], Bytes(100)).is_ok());
    let error = pack(&files, &[], Bytes(99)).unwrap_err();
    assert!(
        error.what.starts_with("the source is larger than ") && error.what.ends_with("at `b.bin`"),
        "{error}"
    );
}

#[test]
fn a_file_that_is_not_as_it_was_read_is_named() {
    for content in [Some("fast"), None] {
        let folder = tempfile::tempdir().unwrap();
        let file = source(folder.path(), "train.py", "slow", content);
        let error = pack(&[file], &[], LARGEST_SOURCE).unwrap_err();
        assert!(error.what.contains("train.py has changed"), "{error}");
    }
}

#[test]
fn python_reads_long_and_foreign_names() {
    let folders = "folder/".repeat(40);
    let mut names = [
        "train.sh".to_owned(),
        format!("{}.py", "a".repeat(97)),
        format!("{}.py", "b".repeat(98)),
        format!("{}.py", "ü".repeat(60)),
        "größe/データ.py".to_owned(),
        "a file with spaces\nand lines".to_owned(),
        format!("{folders}{}.py", "n".repeat(200)),
    ];
    let folder = tempfile::tempdir().unwrap();
    let files = sources(folder.path(), &names.each_ref().map(String::as_str));
    let packed = pack(&files, &[], LARGEST_SOURCE).unwrap();
    let path = folder.path().join("sourcedir.tar.gz");
    fs::write(&path, &packed).unwrap();
    let script = "
import json, sys, tarfile
with tarfile.open(sys.argv[1], 'r:gz') as archive:
    print(json.dumps([[m.name, archive.extractfile(m).read().decode(), m.mode, m.mtime, m.uid, m.gid, m.uname, m.gname]
                      for m in archive.getmembers()]))
";
    let mut python = Command::new("python3");
    let output = python.args(["-c", script]).arg(&path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    names.sort();
    let expected = names.iter().map(|name| {
        let mode = if name.ends_with(".sh") { 0o755 } else { 0o644 };
        json!([name, name, mode, 0, 0, 0, "", ""])
    });
    assert_eq!(read, expected.collect::<Value>());
}
