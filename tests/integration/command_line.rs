//! Help, version, completions, schemas, `init`.

use std::process::Command;

use crate::project::Project;

#[test]
fn help_is_documentation() {
    let project = Project::empty();
    insta::assert_snapshot!("help", project.run(&["--help"]).ended_with(0).stdout);
    insta::assert_snapshot!(
        "help_run",
        project
            .run_with(&["run", "--help"], |command| {
                command.env_remove("CANARY_GATE_DETAILS");
            })
            .ended_with(0)
            .stdout
    );
}

#[test]
fn usage_errors_end_with_2() {
    let project = Project::empty();
    project.run(&["rum"]).ended_with(2).complained("run");
    project
        .run(&["run", "-v", "--quiet"])
        .ended_with(2)
        .complained("cannot be used with");
    project.run(&[]).ended_with(2);
}

#[test]
fn version_and_completions() {
    let project = Project::empty();
    project
        .run(&["--version"])
        .ended_with(0)
        .reported(env!("CARGO_PKG_VERSION"));
    for shell in ["bash", "zsh", "fish"] {
        project
            .run(&["completions", shell])
            .ended_with(0)
            .reported("canary-gate");
    }
}

/// As bash asks when a person presses the tabulator twice.
#[test]
fn bash_completes_what_follows_a_command() {
    let project = Project::empty();
    let script = project.run(&["completions", "bash"]).ended_with(0).stdout;
    let project = project.file("completions.bash", &script);
    for (words, expected) in [
        ("canary-gate ru", "run"),
        (
            "canary-gate run --max-s",
            "--max-spend --max-spend-per-pull-request",
        ),
        ("canary-gate iam-policy --f", "--for"),
        ("canary-gate iam-policy --for ", "ci job"),
        ("canary-gate history export --form", "--format"),
    ] {
        let asks = format!(
            "source completions.bash
            words='{words}'
            IFS=' ' read -ra COMP_WORDS <<< \"$words\"
            [[ $words == *' ' ]] && COMP_WORDS+=('')
            COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
            function=$(complete -p canary-gate | sed 's/.*-F \\([^ ]*\\).*/\\1/')
            $function canary-gate \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"
            echo \"${{COMPREPLY[@]}}\""
        );
        let answer = Command::new("bash")
            .args(["--norc", "-c", &asks])
            .current_dir(project.root())
            .output()
            .unwrap();
        let answer = String::from_utf8(answer.stdout).unwrap();
        assert_eq!(answer.trim(), expected, "{words}");
    }
}

#[test]
fn every_command_has_a_page_of_the_manual() {
    let project = Project::empty();
    let page = project.run(&["man"]).ended_with(0).stdout;
    assert!(page.contains("11  at risk of a budget, under"), "{page}");
    let page = project.run(&["man", "history", "export"]).ended_with(0);
    assert!(
        page.stdout.contains(".TH canary-gate-history-export 1"),
        "{}",
        page.seen()
    );
    assert!(page.stdout.contains("\\-\\-format"), "{}", page.seen());
    project
        .run(&["man", "history", "exports"])
        .ended_with(2)
        .complained("there is no command `exports`")
        .complained("there are: list, show, export");
}

#[test]
fn the_printed_schemas_are_the_committed_ones() {
    let project = Project::empty();
    for (kind, committed) in [
        ("spec", include_str!("../../schema/spec.v1.json")),
        ("report", include_str!("../../schema/report.v1.json")),
        (
            "measurement",
            include_str!("../../schema/measurement.v1.json"),
        ),
    ] {
        assert_eq!(
            project.run(&["schema", kind]).ended_with(0).stdout,
            committed,
            "{kind}"
        );
    }
}
