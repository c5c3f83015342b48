//! Archives, read back by Rust's reader and by Python's, which is what unpacks them in the container.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::code::blob_id;

fn file(name: &str, content: &str) -> ArchiveEntry {
    ArchiveEntry::of_bytes(name, false, content.as_bytes().to_vec())
}

/// Name, mode and content of every file.
fn unpacked(packed: &Packed) -> Vec<(String, u32, String)> {
    let gzip = flate2::read::GzDecoder::new(packed.bytes.as_slice());
    let mut archive = tar::Archive::new(gzip);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let header = entry.header();
        assert_eq!((header.mtime().unwrap(), header.uid().unwrap()), (0, 0));
        assert_eq!(header.username(), Ok(Some("")));
        let mode = header.mode().unwrap();
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let mut content = String::new();
        entry.read_to_string(&mut content).unwrap();
        (name, mode, content)
    });
    entries.collect()
}

#[test]
fn the_same_files_give_the_same_bytes_in_any_order() {
    let first = pack([file("train.py", "print()"), file("lib/a.py", "1")]).unwrap();
    let second = pack([file("lib/a.py", "1"), file("train.py", "print()")]).unwrap();
    assert_eq!(first, second);
    assert_eq!(first.sha256_hex.len(), 64);
    let other = pack([file("train.py", "print(1)"), file("lib/a.py", "1")]).unwrap();
    assert_ne!(first.sha256_hex, other.sha256_hex);
    assert_eq!(
        unpacked(&first),
        [
            ("lib/a.py".to_owned(), 0o644, "1".to_owned()),
            ("train.py".to_owned(), 0o644, "print()".to_owned())
        ]
    );
    // No flag, so no name; no time; no operating system.
    assert_eq!(first.bytes[3..8], [0, 0, 0, 0, 0]);
    assert_eq!(first.bytes[9], 255);
}

fn source(path: PathBuf, read: &[u8]) -> SourceFile {
    SourceFile {
        name: path.file_name().unwrap().into(),
        path,
        is_executable: true,
        blob: blob_id("", read),
    }
}

#[test]
fn names_that_lead_out_of_the_folder_are_refused() {
    for name in [
        "",
        "/etc/passwd",
        "../x",
        "a/../b",
        "a/..",
        "./a",
        "a//b",
        "a/",
        "a\0b",
    ] {
        let error = pack([file(name, "")]).unwrap_err();
        assert_eq!(
            error.what,
            format!("{name:?} cannot be the name of a source file")
        );
    }
    assert!(pack([file("..a/b..", "")]).is_ok());
}

#[test]
fn a_name_stands_for_one_file() {
    let twice = pack([file("a", "1"), file("a", "2")]).unwrap_err();
    assert_eq!(twice.what, "\"a\" occurs twice in the source");
    let both = pack([file("a", ""), file("a-b", ""), file("a/b/c", "")]).unwrap_err();
    assert_eq!(both.what, "\"a\" is a file and a folder in the source");
}

#[test]
fn a_source_that_is_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("b.bin");
    fs::write(&path, [0; 60]).unwrap();
    let entries = || {
        let large = ArchiveEntry::of_file(source(path.clone(), &[0; 60])).unwrap();
        [file("a.py", &"x".repeat(40)), large]
    };
    assert!(pack_within(Bytes(100), entries()).is_ok());
    let error = pack_within(Bytes(99), entries()).unwrap_err();
    assert!(
        error.what.starts_with("the source is larger than ") && error.what.ends_with("at `b.bin`"),
        "{error}"
    );
}

#[test]
fn a_file_that_is_not_as_it_was_read_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.py");
    for content in [Some("fast"), None] {
        match content {
            Some(content) => fs::write(&path, content).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
        let entry = ArchiveEntry::of_file(source(path.clone(), b"slow")).unwrap();
        let error = pack([entry]).unwrap_err();
        assert!(error.what.contains("train.py has changed"), "{error}");
    }
}

#[test]
fn python_reads_long_and_foreign_names() {
    let long = format!(
        "{}/{}.py",
        "folder/".repeat(40).trim_end_matches('/'),
        "n".repeat(200)
    );
    let names = [
        "train.py".to_owned(),
        format!("{}.py", "a".repeat(97)),
        format!("{}.py", "b".repeat(98)),
        format!("{}.py", "ü".repeat(60)),
        "größe/データ.py".to_owned(),
        "a file with spaces\nand lines".to_owned(),
        long,
    ];
    let entries = names.iter().map(|name| file(name, &format!("of {name}")));
    let packed = pack(entries).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sourcedir.tar.gz");
    fs::write(&path, &packed.bytes).unwrap();
    let script = "
import json, sys, tarfile
with tarfile.open(sys.argv[1], 'r:gz') as archive:
    print(json.dumps([[m.name, archive.extractfile(m).read().decode(), m.mode, m.mtime, m.uid, m.gid, m.uname, m.gname]
                      for m in archive.getmembers()]))
";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(&path)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let read: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut sorted = names.to_vec();
    sorted.sort();
    let expected = sorted
        .iter()
        .map(|name| json!([name, format!("of {name}"), 0o644, 0, 0, 0, "", ""]));
    assert_eq!(read, expected.collect::<Value>());
}

proptest! {
    #[test]
    fn every_plain_name_comes_back(
        names in prop::collection::btree_set("[a-c.ü -]{1,60}(/[a-c.ü-]{1,90}){0,3}", 1..8),
    ) {
        let entries = names.iter().map(|name| file(name, name));
        if let Ok(packed) = pack(entries) {
            let read: Vec<String> = unpacked(&packed).into_iter().map(|(name, _, _)| name).collect();
            prop_assert_eq!(read, names.into_iter().collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_name_leads_out_of_the_folder(name in "(/|\\.|\\.\\./|a|\\PC){0,8}") {
        if pack([file(&name, "")]).is_ok() {
            let path = std::path::Path::new(&name);
            let plain = |part| matches!(part, std::path::Component::Normal(_));
            prop_assert!(path.components().all(plain) && path.components().next().is_some());
        }
    }
}
