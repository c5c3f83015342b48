//! `--data-root`: data of this machine, outside the checkout.

use std::os::unix::fs::symlink;

use crate::project::Project;

/// A project whose data lie in a folder of their own, and that folder.
fn with_data_elsewhere() -> (Project, tempfile::TempDir) {
    let data = tempfile::tempdir().unwrap();
    for part in 0..100 {
        std::fs::write(
            data.path().join(format!("part-{part:03}.csv")),
            "1,2\n".repeat(50),
        )
        .unwrap();
    }
    let project = Project::with_script("cat $SM_CHANNEL_TRAIN/* > /dev/null\n");
    let uri = format!("file://{}", data.path().display());
    write_uri(&project, &uri);
    (project, data)
}

fn write_uri(project: &Project, uri: &str) {
    let spec = Project::SPEC.replace("uri: data", &format!("uri: {uri}"));
    assert!(spec.contains(uri));
    project.write("canary-gate.yml", &spec);
}

fn root(data: &tempfile::TempDir) -> String {
    data.path().parent().unwrap().display().to_string()
}

#[test]
fn data_of_the_machine_are_read_where_who_starts_the_gate_says_so() {
    let (project, data) = with_data_elsewhere();
    project.run(&["validate"]).ended_with(0);
    let root = data.path().to_str().unwrap();
    project
        .run(&["plan", "--all", "--data-root", root])
        .ended_with(0)
        .reported("1 of 100 objects");
    project
        .run(&["run", "--all", "--quiet", "--data-root", root])
        .ended_with(0);
}

#[test]
fn a_spec_alone_opens_no_folder() {
    let (project, data) = with_data_elsewhere();
    let finished = project
        .run(&["run", "--all"])
        .ended_with(1)
        .complained("leads outside the checkout")
        .complained("--data-root DIR");
    // It is what the spec says already.
    let words = finished.words();
    assert!(!words.contains("write `uri: file:"), "{words}");
    let elsewhere = tempfile::tempdir().unwrap();
    project
        .run(&[
            "run",
            "--all",
            "--data-root",
            elsewhere.path().to_str().unwrap(),
        ])
        .ended_with(1)
        .complained("leads outside the checkout");
    // Nor does a link from what was opened.
    symlink("/etc/hostname", data.path().join("part-000.link")).unwrap();
    project
        .run(&["run", "--all", "--data-root", data.path().to_str().unwrap()])
        .ended_with(1)
        .complained("a link that leaves the checkout");
}

#[test]
fn a_link_of_the_checkout_into_an_opened_folder_is_followed() {
    let (project, data) = with_data_elsewhere();
    symlink(data.path(), project.path("linked")).unwrap();
    write_uri(&project, "linked");
    project.run(&["run", "--all"]).ended_with(1);
    project
        .run(&["run", "--all", "--quiet", "--data-root", &root(&data)])
        .ended_with(0);
}

#[test]
fn secrets_in_an_opened_folder_stay_where_they_are() {
    let (project, data) = with_data_elsewhere();
    std::fs::write(data.path().join(".env"), "TOKEN=x").unwrap();
    let seen = project.run(&["plan", "--all", "--data-root", &root(&data)]);
    seen.ended_with(0)
        .complained("files of this name hold secrets")
        .reported("1 of 100 objects");
}

#[test]
fn what_is_no_folder_of_data_is_refused() {
    let (project, _data) = with_data_elsewhere();
    for (wrong, said) in [
        ("/", "is no folder of data"),
        ("missing", "cannot be read"),
        ("train.sh", "is no folder of data"),
        ("/proc/self/cmdline", "is no folder of data"),
    ] {
        project
            .run(&["run", "--all", "--data-root", wrong])
            .ended_with(2)
            .complained(said);
    }
    for (uri, said) in [
        ("file://data", "names no absolute path"),
        ("file:///mnt/../etc", "steps out of its folder"),
        ("http://x/y", "is an address"),
    ] {
        write_uri(&project, uri);
        let words = project.run(&["validate"]).ended_with(2).words();
        assert!(words.contains(said), "{words}");
    }
}
