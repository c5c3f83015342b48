//! Events, checkouts and bases on which there is little or nothing to measure: the step says which.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::workflow::{ENOUGH, Step, Workflow, files, spec};
use crate::project::Finished;

const NOBODY: &str = "0000000000000000000000000000000000000000";

fn pushed(event: Value) -> (Workflow, Step) {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH)).event("push", event);
    let step = workflow.run();
    (workflow, step)
}

#[test]
fn a_branch_that_is_deleted_and_a_tag_measure_nothing() {
    let deleted = json!({"ref": "refs/heads/feature", "before": "a".repeat(40), "after": NOBODY, "deleted": true});
    let tag = json!({"ref": "refs/tags/v1.2.0", "before": NOBODY, "after": "b".repeat(40), "deleted": false});
    for (event, why) in [
        (deleted, "the branch feature was deleted"),
        (tag, "the tag v1.2.0 was pushed"),
    ] {
        let (workflow, step) = pushed(event);
        let step = step.ended_with(0);
        assert_eq!(step.output("verdict"), "not_judged");
        assert!(step.summary.contains(why), "{}", step.summary);
        assert_eq!(workflow.github.requests(), []);
    }
}

#[test]
fn a_push_over_commits_that_are_gone_measures_every_job_and_says_why() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    let after = workflow.merge().to_owned();
    let event = json!({"ref": "refs/heads/main", "before": "c".repeat(40), "after": after});
    let step = workflow.event("push", event).run().ended_with(0);
    assert_eq!(step.output("verdict"), "within");
    assert!(step.summary.contains("one was removed"), "{}", step.summary);
    assert!(!step.summary.contains("404"), "{}", step.summary);
}

#[test]
fn a_pull_request_whose_base_is_gone_is_not_judged_by_its_own_limits() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    workflow.github.forget_commit(workflow.base());
    let step = workflow.run().ended_with(1);
    assert!(
        step.summary.contains("the base commit") && step.summary.contains("is gone"),
        "{}",
        step.summary
    );
    assert!(!step.summary.contains("404"), "{}", step.summary);
    assert_eq!(step.output("verdict"), "unknown");
}

#[test]
fn an_empty_workspace_is_one_that_nothing_was_checked_out_into() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    for (path, _) in files(&spec(ENOUGH), "").contents() {
        std::fs::remove_file(workflow.project.path(path)).unwrap();
    }
    std::fs::remove_dir_all(workflow.project.path(".git")).unwrap();
    let step = workflow.run().ended_with(2);
    assert!(
        step.summary.contains("nothing is checked out"),
        "{}",
        step.summary
    );
    assert!(
        step.summary.contains("actions/checkout"),
        "{}",
        step.summary
    );
}

#[test]
fn a_pull_request_that_deletes_the_spec_is_told_so() {
    let base = files(&spec(ENOUGH), "1");
    let head = base.clone().without("canary-gate.yml");
    let workflow = Workflow::between(&base, &head);
    let step = workflow.run().ended_with(2);
    assert!(
        step.summary.contains("deletes the spec") && step.summary.contains("canary-gate.yml"),
        "{}",
        step.summary
    );
    assert!(step.summary.contains("main"), "{}", step.summary);
}

/// A container runs as root, and the next checkout as the runner's user, who must be able to clean the workspace.
#[test]
fn what_the_step_writes_belongs_to_the_owner_of_the_workspace() {
    if !nix::unistd::geteuid().is_root() {
        println!("skipped: only root can give files to another user");
        return;
    }
    const RUNNER: u32 = 1001;
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    let mut command = workflow.command();
    let give = |path: &Path| std::os::unix::fs::chown(path, Some(RUNNER), Some(RUNNER)).unwrap();
    everything_in(workflow.project.root())
        .iter()
        .for_each(|path| give(path));
    let ran = Finished::new(&command.output().unwrap(), workflow.project.root());
    let step = workflow.step(ran).ended_with(0);
    workflow.post_step(&step).ended_with(0);
    assert!(workflow.project.path(".canary-gate/report.json").exists());
    for path in everything_in(workflow.project.root()) {
        let owner = path.symlink_metadata().unwrap();
        assert_eq!(
            (owner.uid(), owner.gid()),
            (RUNNER, RUNNER),
            "{}",
            path.display()
        );
    }
}

/// A folder, and all that is in it.
fn everything_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() && !path.is_symlink() {
            true => found.append(&mut everything_in(&path)),
            false => found.push(path),
        }
    }
    found
}
