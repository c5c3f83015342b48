//! The README's first command on the committed example: real data, a real model, the whole gate.

use std::path::Path;

use crate::project::Project;

pub(crate) fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_name() == ".canary-gate" {
            continue;
        }
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Checkouts around the demo, and what git then shows of it there.
#[test]
fn slow_the_demo_stands_by_itself_and_a_second_start_pays_nothing() {
    for (name, prepare, status) in [
        ("bare", ":", ""),
        (
            "ignoring",
            "git init -q && echo /canary-gate-demo/ > .git/info/exclude",
            "",
        ),
        ("a project's", "git init -q", "?? canary-gate-demo/\n"),
        ("broken", "mkdir .git && echo nonsense > .git/HEAD", ""),
    ] {
        let project = Project::empty();
        let shell = |script: &str| project.shell(script).stdout;
        shell(prepare);
        let demo = || {
            project
                .run_with(&["demo"], |command| {
                    command.env("GIT_DIR", "/nowhere");
                })
                .ended_with(0)
        };
        demo()
            .reported("within budget")
            .complained("wrote canary-gate-demo")
            .complained("canary-gate actuals --run --spec canary-gate-demo/canary-gate.yml");
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/quickstart");
        let compare = "diff --recursive --exclude=.canary-gate --exclude=.git --exclude=.gitignore";
        assert_eq!(
            shell(&format!("{compare} {} canary-gate-demo", example.display())),
            ""
        );
        let shown = shell("git status --porcelain --untracked-files=all");
        assert_eq!(shown, status, "{name}");
        demo()
            .complained("canary-gate-demo is there from an earlier demo and stays as it is")
            .reported("all from earlier runs");
    }
}

#[test]
fn the_demo_overwrites_nothing_and_says_what_it_lacks() {
    let project = Project::empty()
        .file("canary-gate-demo/notes.md", "mine")
        .file("file", "");
    project
        .run(&["demo"])
        .ended_with(2)
        .complained("canary-gate-demo is already there, and is no demo")
        .complained("`canary-gate demo FOLDER`");
    project
        .run(&["demo", "file/below"])
        .ended_with(1)
        .complained("could not write file/below");
    project
        .run_with(&["demo", "other"], |command| {
            command.env("PATH", project.root());
        })
        .ended_with(1)
        .complained("`python3` cannot be started");
    assert!(!project.path("other").exists());
}

#[test]
fn slow_the_demo_runs_without_git_and_says_what_that_costs() {
    let project = Project::empty();
    project
        .shell(
            r#"mkdir bin; ln -s "$(python3 -c 'import sys; print(sys.executable)')" bin/python3"#,
        )
        .ended_with(0);
    project
        .run_with(&["demo"], |command| {
            command.env("PATH", project.path("bin"));
        })
        .ended_with(0)
        .complained("a second start runs its canaries again: could not start git");
}
