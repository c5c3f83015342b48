//! Specs that are wrong: what, where, what to do, all at once, and never a panic.

use crate::project::Project;

#[test]
fn all_problems_at_once_with_place_and_way_out() {
    let project = Project::empty().file(
        "canary-gate.yml",
        "\
version: 1
backend: local
jobs:
  churn:
    training:
      command: [python3, train.py]
      channels:
        train: {uri: data}
      max_runtime: 40
    instance: local
    bugdet:
      cost: 50
",
    );
    insta::assert_snapshot!(project.run(&["validate"]).ended_with(2).seen());
}

#[test]
fn no_spec() {
    let project = Project::empty();
    insta::assert_snapshot!(project.run(&["run"]).ended_with(2).seen());
    project
        .run(&["run", "--spec", "other.yml"])
        .ended_with(2)
        .complained("there is no spec at other.yml");
    project
        .run(&["run", "--spec", "."])
        .ended_with(2)
        .complained("is a folder");
}

#[test]
fn odd_files_are_refused_quickly_and_kindly() {
    let project = Project::empty();
    let refused = |content: &[u8], text: &str| {
        std::fs::write(project.path("canary-gate.yml"), content).unwrap();
        project.run(&["validate"]).ended_with(2).complained(text);
    };
    refused(&[b'a'; 100 << 20], "1 MiB");
    let bomb = (b'b'..=b'j').fold(
        "a: &a [x, x, x, x, x, x, x, x, x]\n".to_owned(),
        |text, name| {
            let (name, before) = (char::from(name), char::from(name - 1));
            format!(
                "{text}{name}: &{name} [{}]\n",
                vec![format!("*{before}"); 9].join(", ")
            )
        },
    );
    refused(bomb.as_bytes(), "alias");
    refused("[".repeat(100_000).as_bytes(), "");
}

#[test]
fn a_spec_in_the_github_folder_speaks_of_the_checkout() {
    let project = Project::with_script("true");
    let spec = project.read("canary-gate.yml");
    std::fs::remove_file(project.path("canary-gate.yml")).unwrap();
    project.write(".github/canary-gate.yml", &spec);
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("sums · 6 canaries on local");
}

#[test]
fn a_glob_that_matches_nothing_is_a_warning() {
    let project = Project::with_script("true");
    project.write(
        "canary-gate.yml",
        &Project::SPEC.replace(
            "    training:\n",
            "    paths: [train.sh, scr/**]\n    training:\n",
        ),
    );
    project
        .committed()
        .run(&["validate"])
        .ended_with(0)
        .complained("warning: jobs.sums.paths[1]: `scr/**` matches no file that git knows");
}

#[test]
fn a_spec_that_is_a_link_out_of_the_checkout_is_not_read() {
    let project = Project::empty();
    std::os::unix::fs::symlink("/etc/passwd", project.path("canary-gate.yml")).unwrap();
    let refused = project
        .run(&["validate"])
        .ended_with(2)
        .complained("is a link that leaves the checkout");
    assert!(!refused.stderr.contains("root:"), "{}", refused.seen());
}

#[test]
fn what_is_no_plain_file_or_too_large_is_not_read() {
    let project = Project::with_script("exit 0\n");
    for file in ["/dev/zero", "/proc/self/maps", "/sys/kernel/notes"] {
        for arguments in [
            ["validate", "--spec", file].as_slice(),
            &["forecast", file],
            &["report", "--from", file],
        ] {
            project
                .run(arguments)
                .ended_with(2)
                .complained("it is not a plain file");
        }
    }
    // Sparse: it takes no room on the disk.
    let large = std::fs::File::create(project.path("large")).unwrap();
    large.set_len(100 << 20).unwrap();
    project
        .run(&["forecast", "large"])
        .ended_with(2)
        .complained("it is larger than 16.0 MiB");
}
