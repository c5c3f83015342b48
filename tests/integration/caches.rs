//! `caches`: folders of the home folder that canaries may read, where who starts the gate opens them.

use std::os::unix::fs::symlink;

use crate::project::{Finished, Project};

/// Reads its model from the home folder, and tries to write there.
const MODEL: &str = r#"import os, sys
hub = os.path.expanduser("~/.cache/hub")
if not os.path.exists(hub):
    sys.exit("no cache in " + os.path.expanduser("~"))
assert open(os.path.join(hub, "model.bin")).read() == "weights"
for place in [hub, os.path.realpath(hub)]:
    try:
        open(os.path.join(place, "mine"), "w").close()
    except OSError as error:
        print("refused", error.errno)
    else:
        sys.exit("could write to the cache")
for name in os.listdir(os.path.expanduser("~")):
    assert name == ".cache", name
"#;

/// A project whose job names a cache, and a home folder that has it.
fn project(training: &str) -> (Project, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(".cache/hub")).unwrap();
    std::fs::write(home.path().join(".cache/hub/model.bin"), "weights").unwrap();
    std::fs::write(home.path().join(".netrc"), "password").unwrap();
    let project = Project::empty()
        .data("data", 20)
        .file("train.py", &format!("{}{MODEL}", Project::READS_IN_PYTHON))
        .file(
            "canary-gate.yml",
            &format!(
                "\
version: 1
backend: local
jobs:
  tune:
    training: {{command: [python3, train.py], channels: {{train: {{uri: data}}}}{training}}}
    instance: local
    canary: {{design: fixed, fractions: [10%, 20%, 30%], replicates: 1, max_share: 10000%}}
    budget: {{time: 10m}}
"
            ),
        );
    (project, home)
}

const NAMED: &str = ", caches: ['~/.cache/hub']";

fn run(project: &Project, home: &tempfile::TempDir, arguments: &[&str]) -> Finished {
    let mut command = project.gate(arguments);
    let output = command.env("HOME", home.path()).output().unwrap();
    Finished::new(&output, project.root())
}

/// Whether this machine lets nobody mount, so that no canary with caches runs.
fn is_skipped(ran: &Finished) -> bool {
    let is = (ran.seen()).contains("a folder cannot be kept from being written to");
    if is {
        eprintln!("skipped: no mount namespace here");
    }
    is
}

fn opened(home: &tempfile::TempDir) -> String {
    home.path().join(".cache").display().to_string()
}

#[test]
fn a_canary_reads_a_cache_that_was_opened_and_cannot_write_there() {
    let (project, home) = project(NAMED);
    let cache = opened(&home);
    let ran = run(&project, &home, &["run", "--all", "--cache", &cache]);
    if is_skipped(&ran) {
        return;
    }
    ran.ended_with(0);
    assert!(!home.path().join(".cache/hub/mine").exists());
}

/// Root may mount: without that right taken from it, it could make the cache writable again, or take the mount off.
const MOUNTER: &str = r#"import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
hub = os.path.realpath(os.path.expanduser("~/.cache/hub")).encode()
BIND, REMOUNT, DETACH, NEWNS, NEWUSER = 4096, 32, 2, 0x20000, 0x10000000
def write():
    try:
        open(os.path.join(hub, b"mine"), "w").close()
    except OSError:
        return
    raise SystemExit("could write to the cache")
def attack():
    assert libc.mount(None, hub, None, BIND | REMOUNT, None) != 0, "remounted"
    write()
    assert libc.umount2(hub, DETACH) != 0, "taken off"
    write()
attack()
try:
    open(b"/proc/1/root" + hub + b"/mine", "w").close()
except OSError:
    pass
if libc.unshare(NEWUSER | NEWNS) == 0:
    attack()
"#;

#[test]
fn a_canary_cannot_undo_the_mount() {
    let (project, home) = project(NAMED);
    let project = project.file(
        "train.py",
        &format!("{}{MOUNTER}", Project::READS_IN_PYTHON),
    );
    let cache = opened(&home);
    let ran = run(&project, &home, &["run", "--all", "--cache", &cache]);
    if is_skipped(&ran) {
        return;
    }
    assert!(!home.path().join(".cache/hub/mine").exists());
    ran.ended_with(0);
}

/// The spec of a pull request opens nothing, and by default a canary's home folder is empty.
#[test]
fn a_spec_alone_opens_no_cache() {
    let (project, home) = project(NAMED);
    let words = run(&project, &home, &["run", "--all"])
        .ended_with(1)
        .words();
    for said in [
        "jobs.tune.training.caches: `~/.cache/hub` is not open to canaries",
        "start the gate with `--cache",
    ] {
        assert!(words.contains(said), "{words}");
    }
    let elsewhere = tempfile::tempdir().unwrap();
    let flag = elsewhere.path().to_str().unwrap();
    run(&project, &home, &["plan", "--all", "--cache", flag])
        .ended_with(1)
        .complained("is not open to canaries");
    // A link leads no further than its end.
    symlink(home.path(), elsewhere.path().join("hub")).unwrap();
    std::fs::remove_dir_all(home.path().join(".cache")).unwrap();
    symlink(elsewhere.path(), home.path().join(".cache")).unwrap();
    run(&project, &home, &["plan", "--all", "--cache", flag])
        .ended_with(1)
        .complained("is not a folder of a cache");
}

#[test]
fn what_is_opened_and_not_named_is_not_there() {
    let (project, home) = project("");
    let cache = opened(&home);
    let ran = run(&project, &home, &["run", "--all", "--cache", &cache]);
    ran.ended_with(13).reported("no cache in");
}

#[test]
fn secrets_are_no_cache() {
    for (folder, said) in [
        ("~/.ssh", "`~/.ssh` holds secrets"),
        ("~/.aws/sso/cache", "holds secrets"),
        ("~/.config", "holds secrets"),
        ("~/.local", "holds secrets"),
        ("~/.cache", "name a cache in it"),
        ("~", "`~` is not a folder of the home folder"),
        ("~/", "is not a folder of the home folder"),
        ("~/.cache/../.ssh", "is not a folder of the home folder"),
        ("/srv/.cache", "is not a folder of the home folder"),
    ] {
        let (project, home) = project(&format!(", caches: ['{folder}']"));
        let words = run(&project, &home, &["validate"]).ended_with(2).words();
        assert!(words.contains(said), "{folder}: {words}");
    }
    // Hugging Face keeps its token beside the models.
    let (project, home) = project(NAMED);
    std::fs::write(home.path().join(".cache/hub/token"), "hf_x").unwrap();
    let cache = opened(&home);
    let words = run(&project, &home, &["plan", "--all", "--cache", &cache])
        .ended_with(1)
        .words();
    assert!(
        words.contains("holds `token`, which by its name is a secret"),
        "{words}"
    );
    let missing = project
        .gate(&["plan", "--all", "--cache", "/nowhere"])
        .output();
    Finished::new(&missing.unwrap(), project.root())
        .ended_with(2)
        .complained("`--cache /nowhere` cannot be read");
}

/// What the spec names may be a link, and what was opened may hold more than was meant.
#[test]
fn a_cache_is_judged_by_where_it_leads_and_what_lies_in_it() {
    let (project, home) = project(", caches: ['~/.cache/hub/evil']");
    std::fs::create_dir(home.path().join(".ssh")).unwrap();
    symlink(
        home.path().join(".ssh"),
        home.path().join(".cache/hub/evil"),
    )
    .unwrap();
    let words = run(&project, &home, &["plan", "--all"])
        .ended_with(1)
        .words();
    assert!(words.contains("a place of secrets"), "{words}");
    assert!(!words.contains("--cache"), "{words}");
    let keys = home.path().join(".ssh").display().to_string();
    let everything = home.path().display().to_string();
    let words = run(&project, &home, &["plan", "--all", "--cache", &keys])
        .ended_with(2)
        .words();
    assert!(words.contains("a place of secrets"), "{words}");
    let words = run(&project, &home, &["plan", "--all", "--cache", &everything])
        .ended_with(1)
        .words();
    assert!(words.contains("a place of secrets"), "{words}");
}

#[test]
fn secrets_below_the_top_of_a_cache_are_found() {
    let (project, home) = project(NAMED);
    std::fs::create_dir_all(home.path().join(".cache/hub/sub/.ssh")).unwrap();
    let cache = opened(&home);
    let words = run(&project, &home, &["plan", "--all", "--cache", &cache])
        .ended_with(1)
        .words();
    assert!(
        words.contains("holds `sub/.ssh`, which by its name is a secret"),
        "{words}"
    );
}

#[test]
fn a_tilde_that_no_shell_expanded_is_said() {
    let (project, home) = project("");
    for flag in ["--cache", "--data-root"] {
        let words = run(&project, &home, &["plan", "--all", flag, "~/x"])
            .ended_with(2)
            .words();
        assert!(words.contains("the shell did not expand `~`"), "{words}");
    }
}
