//! Data that cannot be sampled: what, where, what to do.

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::project::Project;

fn project_without_data() -> Project {
    Project::empty().file("train.sh", "true").spec("")
}

#[test]
fn a_missing_folder() {
    project_without_data()
        .run(&["run", "--all"])
        .ended_with(1)
        .complained("jobs.sums.training.channels.train.uri: the data `data` cannot be read")
        .complained("relative to the spec's folder");
}

#[test]
fn an_empty_channel() {
    let project = project_without_data();
    std::fs::create_dir(project.path("data")).unwrap();
    project
        .run(&["run", "--all"])
        .ended_with(1)
        .complained("jobs.sums.training.channels.train: the folder `data` holds no files");
}

#[test]
fn a_file_of_holes() {
    let project = project_without_data();
    project.write("data/small", "1");
    let holes = std::fs::File::create(project.path("data/x.tar")).unwrap();
    holes.set_len(1 << 40).unwrap();
    project
        .run(&["plan", "--all"])
        .ended_with(1)
        .complained("of which only")
        .complained("the rest is a hole");
}

#[test]
fn one_object() {
    let project = project_without_data();
    project.write("data/model.bin", "weights");
    project
        .run(&["run", "--all"])
        .ended_with(1)
        .complained("channel `train` of job `sums` has one object")
        .complained("split the data into partition files");
}

#[test]
fn one_table_is_drawn_by_rows() {
    let words = project_without_data()
        .data("data", 1)
        .run(&["run", "--all"])
        .ended_with(1)
        .words();
    for said in [
        "channel `train` of job `sums` has one object",
        "help: write `sample: rows` on channel `train`",
    ] {
        assert!(words.contains(said), "{words}");
    }
}

#[test]
fn few_objects_are_coarse_and_said() {
    project_without_data()
        .data("data", 12)
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("The data has only 12 objects");
}

#[test]
fn a_link_that_leaves_the_checkout() {
    let project = project_without_data().data("data", 20);
    symlink("/etc/passwd", project.path("data/part-999.csv")).unwrap();
    project
        .run(&["run", "--all"])
        .ended_with(1)
        .complained("part-999.csv is a link that leaves the checkout");
}

/// The checkout's token lies in `.git/config`.
#[test]
fn data_lead_to_nothing_private() {
    for (target, link) in [
        ("../.git/config", "data/x"),
        ("../.git", "data/x"),
        ("../../.git/config", "data/deep/x"),
        ("../.env", "data/x"),
        ("../records/main", "data/x"),
        ("../.canary-gate/local", "data/x"),
        ("hop/../../.env", "data/x"),
    ] {
        let project = Project::with_script("exit 9\n");
        let spec = project.read("canary-gate.yml");
        project.write(
            "canary-gate.yml",
            &spec.replace("jobs:", "history: records\njobs:"),
        );
        let project = project
            .file(".env", "TOKEN=secret\n")
            .file(".gitignore", "records/\n.canary-gate/\n")
            .file("records/main/x", "record\n")
            .file(".canary-gate/local/x", "record\n")
            .file("data/hop/y", "1\n")
            .file("data/deep/y", "1\n")
            .committed();
        symlink(target, project.path(link)).unwrap();
        project
            .run(&["run", "--all"])
            .ended_with(1)
            .complained(&format!("{link} is a link to a private file"));
    }
}

#[test]
fn no_channel_is_private() {
    for uri in [".git", "/.git/hooks", "/.canary-gate", "g"] {
        let project = Project::with_script("exit 9\n");
        let spec = project.read("canary-gate.yml");
        let spec = spec.replace("jobs:", "history: records\njobs:");
        project.write(
            "canary-gate.yml",
            &spec.replace("uri: data", &format!("uri: {uri}")),
        );
        let project = project
            .file(".gitignore", "records/\n")
            .file("records/main/x", "record\n")
            .file(".canary-gate/x", "x\n");
        symlink(".git", project.path("g")).unwrap();
        project
            .committed()
            .run(&["run", "--all"])
            .ended_with(1)
            .complained("which is private: git's, the gate's own, or a file of secrets");
    }
}

#[test]
fn links_that_lead_in_circles() {
    let project = project_without_data().data("data", 20);
    for (folder, other) in [("a", "b"), ("b", "a")] {
        std::fs::create_dir(project.path(&format!("data/{folder}"))).unwrap();
        symlink(
            format!("../{other}"),
            project.path(&format!("data/{folder}/x")),
        )
        .unwrap();
    }
    project
        .run(&["plan", "--all"])
        .ended_with(1)
        .complained("is a link to a folder that contains it");
}

#[test]
fn a_path_that_leaves_the_checkout() {
    let project = project_without_data();
    symlink("/etc", project.path("data")).unwrap();
    project
        .run(&["run", "--all"])
        .ended_with(1)
        .complained("leads outside the checkout");
}

#[test]
fn an_unreadable_file() {
    let project = project_without_data().data("data", 20);
    let path = project.path("data/part-003.csv");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(&path).is_ok() {
        eprintln!("skipped: this user may read every file");
        return;
    }
    project
        .run(&["run", "--all"])
        .ended_with(1)
        .complained("part-003.csv cannot be read");
}

/// A full disk is made of a small file system in a mount namespace, where one is allowed.
#[test]
fn a_full_disk_says_what_could_not_be_written_and_what_to_do() {
    let project = Project::with_script("true");
    std::fs::create_dir(project.path(".canary-gate")).unwrap();
    let program = env!("CARGO_BIN_EXE_canary-gate");
    let script = format!(
        "mount -t tmpfs -o size=64k tmpfs .canary-gate || exit 99; head -c 65536 /dev/zero > .canary-gate/ballast 2>/dev/null; exec {program} run --all"
    );
    let run = project.run_with(&[], |command| {
        *command = std::process::Command::new("unshare");
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script])
            .current_dir(project.root());
    });
    if run.code == 99 || run.stderr.contains("unshare") {
        eprintln!("skipped: user and mount namespaces are not allowed here");
        return;
    }
    run.ended_with(1)
        .complained("could not")
        .complained("free some space");
}

/// The checkout's own token lies in `.git/config`, and secrets in `.env`.
#[test]
fn links_in_the_source_lead_to_nothing_private() {
    let project = Project::with_script(
        "if [ -e token ] || [ -e g/config ] || [ -e deep/x ]; then exit 9; fi\n",
    )
    .file(".env", "SECRET=1\n")
    .file("hidden/plain.txt", "1\n");
    let link = |target: &str, name: &str| symlink(target, project.path(name)).unwrap();
    link(".env", "token");
    link(".git", "g");
    link("hidden", "deep");
    link("../.env", "hidden/x");
    let project = project.committed();
    project
        .run(&["run", "--all"])
        .ended_with(0)
        .complained("token is a link to a private file")
        .complained("g is a link to a private file");
}

/// Two samples of tables: a join of a tenth of each has a hundredth of the rows.
#[test]
fn samples_of_two_tables_that_may_be_joined_are_asked_about() {
    let spec = |events: &str, canary: &str| {
        format!(
            "version: 1\nbackend: local\nprices: {{local: 1 USD/h}}\njobs:\n  churn:\n    training:\n      command: [sh, train.sh]\n      \
             channels: {{users: {{uri: data/users}}, events: {{uri: data/events{events}}}}}\n    instance: local\n    {canary}\n"
        )
    };
    let tables = |events: &str, text: String| {
        (0..10).fold(
            Project::empty()
                .file("canary-gate.yml", &text)
                .file("train.sh", "cat \"$SM_CHANNEL_USERS\"/* > /dev/null\n"),
            |project, file| {
                project
                    .file(&format!("data/users/{file}.csv"), "user,age\n1,30\n")
                    .file(&format!("data/events/{file}.csv"), events)
            },
        )
    };
    let events = "user,item\n1,7\n";
    tables(events, spec("", ""))
        .run(&["plan", "--all"])
        .ended_with(1)
        .complained("which share the column `user`")
        .complained("write `sample: false` for the channel whose rows the others look up");
    for (events, of_events, canary) in [
        (events, ", sample: false", ""),
        (events, "", "canary: {joined: false}"),
        // A test set without a label, another table, and one without a header.
        ("user\n1\n", "", ""),
        ("item,price\n7,3\n", "", ""),
        ("1,7\n2,8\n", "", ""),
    ] {
        tables(events, spec(of_events, canary))
            .run(&["plan", "--all"])
            .ended_with(0);
    }
}
