use super::*;
use crate::code::{PathKind, TreeFile};

const SPEC: &str = "\
version: 1
backend: local
jobs:
  sums:
    paths: [\"train/**\", \"!**/*.md\"]
    training:
      command: [sh, train.sh]
      source_dir: train
      channels:
        train: {uri: data}
    instance: local
    budget: {time: 1h}
";

fn file(path: &str, kind: PathKind) -> TreeFile {
    TreeFile {
        path: path.into(),
        blob: format!("id of {path}"),
        kind,
    }
}

fn tree(paths: &[&str], links: &[&str]) -> Tree {
    let files = paths.iter().map(|path| file(path, PathKind::File));
    let links = links.iter().map(|path| file(path, PathKind::Link));
    Tree::new(files.chain(links).collect(), BTreeMap::new())
}

fn base(place: &str, spec: &str, tree: &Tree) -> BaseCommit {
    let file = BaseFile {
        place: place.to_owned(),
        bytes: Some(Ok(spec.as_bytes().to_vec())),
    };
    BaseCommit::of("main", "3f9c".to_owned(), vec![file], tree)
}

/// The key of the job.
fn key(spec: &str, paths: &[&str], links: &[&str]) -> Option<Key> {
    let mut base = base("canary-gate.yml", spec, &tree(paths, links));
    base.code.remove("sums")
}

#[test]
fn what_its_own_paths_leave_out_does_not_count() {
    let alone = key(SPEC, &["train/train.sh"], &[]).unwrap();
    let more = [
        "train/train.sh",
        "train/notes.md",
        "other/train.sh",
        "canary-gate.yml",
    ];
    assert_eq!(key(SPEC, &more, &[]).unwrap(), alone);
    let more = ["train/train.sh", "train/deep/lib.sh"];
    assert_ne!(key(SPEC, &more, &[]).unwrap(), alone);
}

#[test]
fn its_source_counts_where_its_paths_do_not_speak_of_it() {
    let spec = SPEC.replace("train/**", "docs/**");
    let alone = key(&spec, &["train/train.sh"], &[]).unwrap();
    assert_ne!(
        key(&spec, &["train/train.sh", "train/lib.sh"], &[]).unwrap(),
        alone
    );
    for written in ["./train", "/train"] {
        let spec = spec.replace("source_dir: train", &format!("source_dir: {written}"));
        // The key depends on how the path is written too, so only its presence is checked.
        assert!(key(&spec, &["train/train.sh"], &[]).is_some(), "{written}");
    }
}

#[test]
fn what_leads_elsewhere_cannot_be_followed_in_a_commit() {
    for link in ["train/lib", "train"] {
        assert!(key(SPEC, &["train/train.sh"], &[link]).is_none(), "{link}");
    }
    assert!(key(SPEC, &["train/train.sh"], &["docs/latest", "trainer"]).is_some());
}

#[test]
fn a_commit_without_the_code_or_without_a_spec_has_no_key() {
    assert!(key(SPEC, &["other/train.sh"], &[]).is_none());
    let base = base("canary-gate.yml", "version: 2\n", &tree(&["a"], &[]));
    assert!(base.code.is_empty());
    let without = BaseCommit::of("main", String::new(), Vec::new(), &tree(&[], &[]));
    assert!(without.code.is_empty());
}

#[test]
fn paths_are_those_of_the_folder_that_its_spec_lies_in() {
    let below = tree(&["ml/train/train.sh", "train/train.sh"], &[]);
    let beside = tree(&["ml/train/train.sh"], &[]);
    let below = base("ml/.github/canary-gate.yml", SPEC, &below);
    let beside = base("ml/canary-gate.yml", SPEC, &beside);
    assert_eq!(below.code, beside.code);
}
