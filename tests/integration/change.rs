//! Which jobs a change touches.

use crate::project::Project;

/// Two jobs with globs of their own, committed, with `main` as what `origin/main` would be.
fn two_jobs() -> Project {
    let spec = "\
version: 1
backend: local
jobs:
  first:
    paths: [first/**, '!**/*.md']
    training: {command: [sh, train.sh], source_dir: first, channels: {train: {uri: data}}}
    instance: local
  second:
    paths: [second/**, /shared/**]
    training: {command: [sh, train.sh], source_dir: second, channels: {train: {uri: data}}}
    instance: local
";
    let project = Project::empty()
        .file("canary-gate.yml", spec)
        .file("first/train.sh", "true")
        .file("second/train.sh", "true")
        .data("data", 100)
        .committed();
    project.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    project.git(&[
        "symbolic-ref",
        "refs/remotes/origin/HEAD",
        "refs/remotes/origin/main",
    ]);
    project
}

#[test]
fn nothing_affected_is_said_and_is_no_failure() {
    let project = two_jobs();
    project.write("README.md", "hello");
    project
        .run(&["run"])
        .ended_with(0)
        .reported("no job is affected: 1 file changed from origin/main to the work tree");
}

#[test]
fn by_default_uncommitted_and_untracked_files_count() {
    let project = two_jobs();
    project.write("first/new.py", "");
    let planned = project.run(&["plan"]).ended_with(0);
    assert!(
        planned
            .stdout
            .contains("first · canaries chosen one by one on local, because first/new.py changed"),
        "{}",
        planned.seen()
    );
    assert!(!planned.stdout.contains("second ·"), "{}", planned.seen());
}

#[test]
fn excluded_paths_do_not_count() {
    let project = two_jobs();
    project.write("first/notes.md", "");
    project
        .run(&["plan"])
        .ended_with(0)
        .reported("no job is affected");
}

#[test]
fn references_compare_commits_from_their_fork() {
    let project = two_jobs();
    project.git(&["checkout", "--quiet", "-b", "change"]);
    project.write("shared/features.py", "");
    project.commit("change shared");
    project.git(&["checkout", "--quiet", "main"]);
    project.write("first/later.py", "");
    project.commit("main goes on");
    let planned = project
        .run(&["plan", "--base", "main", "--head", "change"])
        .ended_with(0);
    assert!(
        planned.stdout.contains(
            "second · canaries chosen one by one on local, because shared/features.py changed"
        ),
        "{}",
        planned.seen()
    );
    assert!(!planned.stdout.contains("first ·"), "{}", planned.seen());
}

#[test]
fn a_list_of_changed_files_stands_for_git() {
    let project = two_jobs();
    project.write("changed.txt", "./second/train.sh\n\nfirst/notes.md\n");
    let planned = project
        .run(&["plan", "--changed-files", "changed.txt"])
        .ended_with(0);
    assert!(
        planned.stdout.contains("second ·") && !planned.stdout.contains("first ·"),
        "{}",
        planned.seen()
    );
}

#[test]
fn a_changed_spec_concerns_every_job() {
    let project = two_jobs();
    let spec = project.read("canary-gate.yml");
    project.write("canary-gate.yml", &format!("{spec}# a remark\n"));
    let planned = project.run(&["plan"]).ended_with(0);
    assert!(
        planned.stdout.contains("first ·") && planned.stdout.contains("second ·"),
        "{}",
        planned.seen()
    );
}

#[test]
fn one_job_can_be_picked_and_an_unknown_one_is_named() {
    let project = two_jobs();
    let planned = project
        .run(&["plan", "--all", "--job", "second"])
        .ended_with(0);
    assert!(!planned.stdout.contains("first ·"), "{}", planned.seen());
    project
        .run(&["plan", "--all", "--job", "third"])
        .ended_with(2)
        .complained("the spec has no job `third`")
        .complained("its jobs are first, second");
}

#[test]
fn references_that_are_none_are_refused_before_git_sees_them() {
    let project = two_jobs();
    project
        .run(&["plan", "--base=--output=/tmp/x"])
        .ended_with(2)
        .complained("is not a git reference");
    project
        .run(&["plan", "--base", "no-such-branch"])
        .ended_with(1)
        .complained("git has no commit `no-such-branch`")
        .complained("fetch-depth: 0");
}

#[test]
fn without_git_everything_counts() {
    let project = Project::with_script("true");
    project
        .run(&["plan"])
        .ended_with(0)
        .reported("sums · 6 canaries on local")
        .reported("every job counts as changed: there is no git checkout here");
}

#[test]
fn a_head_needs_a_base() {
    let project = Project::with_script("true").committed();
    project
        .run(&["plan", "--head", "HEAD"])
        .ended_with(2)
        .complained("there is no origin to compare `HEAD` with");
}

#[test]
fn a_changed_submodule_concerns_the_job_that_names_its_folder() {
    let library = Project::empty().file("lib.py", "").committed();
    let project = Project::with_script("true").committed();
    let url = library.root().to_str().unwrap();
    project.git(&[
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "--quiet",
        "add",
        url,
        "vendor/lib",
    ]);
    project.write(
        "canary-gate.yml",
        &Project::SPEC.replace(
            "    training:\n",
            "    paths: [vendor/lib/**]\n    training:\n",
        ),
    );
    project.commit("a submodule");
    project.git(&["branch", "base"]);
    project.git(&[
        "-C",
        "vendor/lib",
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "more",
    ]);
    project
        .run(&["plan", "--base", "base"])
        .ended_with(0)
        .reported("because vendor/lib/ changed");
}

#[test]
fn run_refuses_a_head_that_is_not_checked_out() {
    let project = two_jobs();
    project.git(&["branch", "change"]);
    project.write("first/new.py", "");
    project.commit("main goes on");
    project
        .run(&["run", "--base", "main", "--head", "change"])
        .ended_with(2)
        .complained("`--head change` is not what is checked out here");
}
