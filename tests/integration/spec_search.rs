//! Where the spec is looked for, and what is said of one that is not found there.

use crate::project::Project;

fn in_a_folder() -> Project {
    Project::with_script("true\n").file("training/churn/notes.txt", "x")
}

#[test]
fn the_spec_is_found_from_a_folder_below_it_in_the_checkout() {
    let project = in_a_folder().committed();
    let validated = project.run_with(&["validate"], |command| {
        command.current_dir(project.path("training/churn"));
    });
    validated
        .ended_with(0)
        .reported("the spec is valid: 1 job (sums)");
}

#[test]
fn above_the_checkout_no_spec_is_looked_for() {
    let project = in_a_folder();
    std::fs::create_dir(project.path("training/churn/.git")).unwrap();
    for folder in ["training", "training/churn"] {
        let validated = project.run_with(&["validate"], |command| {
            command.current_dir(project.path(folder));
        });
        validated.ended_with(2).complained(
            "there is no spec: looked for canary-gate.yml and .github/canary-gate.yml\n",
        );
    }
}

#[test]
fn a_spec_with_the_other_extension_is_named() {
    let project = Project::with_script("true\n");
    std::fs::rename(
        project.path("canary-gate.yml"),
        project.path("canary-gate.yaml"),
    )
    .unwrap();
    project
        .run(&["validate"])
        .ended_with(2)
        .complained("there is no spec: found canary-gate.yaml, which is not looked for")
        .complained("rename it to canary-gate.yml, or name it: `--spec canary-gate.yaml`");
}

/// Who takes the spec of a folder away must not get the policy of one above it.
#[test]
fn the_policy_of_a_spec_between_here_and_the_root_still_holds_when_it_is_taken_away() {
    let strict = Project::SPEC.replace("[1%, 2%, 3%]", "[1%, 2%, 3%], spend_limit: 3 USD");
    let project = Project::with_script("true\n")
        .file(
            "team/canary-gate.yml",
            &format!("{strict}    budget: {{time: 1s}}\n"),
        )
        .file("team/job/notes.txt", "x")
        .committed();
    project.git(&["checkout", "--quiet", "-b", "change"]);
    std::fs::remove_file(project.path("team/canary-gate.yml")).unwrap();
    project.write("data/part-000.csv", "1\n");
    project.commit("take it away");
    let run = project.run_with(
        &["run", "--all", "--base", "main", "--format", "json"],
        |command| {
            command.current_dir(project.path("team/job"));
        },
    );
    let time = crate::project::budget_line(&run.json(), "time")["limit"].clone();
    assert_eq!(time, 1.0, "{}", run.seen());
}

/// The same command in the same folder, before and after a pull request adds a spec of its own that is nearer than the base's.
#[test]
fn a_spec_that_is_nearer_than_the_bases_does_not_evade_its_policy() {
    let strict = format!("{}    budget: {{time: 0.1s}}\n", Project::SPEC);
    let project = Project::with_script("sleep 0.3\n")
        .file("canary-gate.yml", &strict)
        .file("team/job/train.sh", "sleep 0.3\n")
        .data("team/job/data", 100)
        .file("team/train.sh", "sleep 0.3\n")
        .data("team/data", 100)
        .committed();
    let run = || {
        project.run_with(
            &["run", "--all", "--base", "main", "--format", "json"],
            |command| {
                command.current_dir(project.path("team/job"));
            },
        )
    };
    run().ended_with(10);
    project.git(&["checkout", "--quiet", "-b", "change"]);
    for nearer in ["team/job/canary-gate.yml", "team/.github/canary-gate.yml"] {
        let lenient = strict.replace("0.1s", "8h");
        project.write(nearer, &lenient);
        project.commit("a spec of its own");
        let run = run().ended_with(10);
        let time = crate::project::budget_line(&run.json(), "time")["limit"].clone();
        assert_eq!(time, 0.1, "{}", run.seen());
        std::fs::remove_file(project.path(nearer)).unwrap();
    }
}

#[test]
fn init_writes_no_second_spec_that_hides_the_first() {
    let project = in_a_folder().committed();
    let spec = project.read("canary-gate.yml");
    let init = |folder: &str, arguments: &[&str]| {
        project.run_with(&[&["init"], arguments].concat(), |command| {
            command.current_dir(project.path(folder));
        })
    };
    init("training/churn", &[])
        .ended_with(2)
        .complained("../../canary-gate.yml is already the spec of this checkout")
        .complained("add the job there; `--force` writes canary-gate.yml all the same");
    for file in [".github/canary-gate.yml", "training/canary-gate.yml"] {
        init("", &[file])
            .ended_with(2)
            .complained("× canary-gate.yml is already the spec of this checkout");
    }
    assert!(!project.path("training/churn/canary-gate.yml").exists());
    // One that is named hides none.
    init("training", &["other.yml"]).ended_with(0);
    init("training", &["--force"]).ended_with(0);
    assert_eq!(project.read("canary-gate.yml"), spec);
}

#[test]
fn init_names_a_spec_with_the_other_extension() {
    let project = in_a_folder().committed();
    let [spec, other] = ["canary-gate.yml", "canary-gate.yaml"].map(|name| project.path(name));
    std::fs::rename(spec, other).unwrap();
    project
        .run(&["init"])
        .ended_with(2)
        .complained("canary-gate.yaml is already there, under a name that is not looked for")
        .complained("rename it to canary-gate.yml; `--force` writes canary-gate.yml all the same");
}
