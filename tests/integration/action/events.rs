//! Events, checkouts and bases on which there is little or nothing to measure: the step says which.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::workflow::{ENOUGH, Workflow, files, spec};
use crate::project::Finished;

const NOBODY: &str = "0000000000000000000000000000000000000000";

#[test]
fn a_push_says_what_there_is_to_measure() {
    let deleted = json!({"ref": "refs/heads/feature", "before": "a".repeat(40), "after": NOBODY, "deleted": true});
    let tag = json!({"ref": "refs/tags/v1.2.0", "before": NOBODY, "after": "b".repeat(40), "deleted": false});
    let workflow = || Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    for (event, why) in [
        (deleted, "the branch feature was deleted"),
        (tag, "the tag v1.2.0 was pushed"),
    ] {
        let workflow = workflow().event("push", event);
        let step = workflow.run().ended_with(0);
        assert_eq!(step.output("verdict"), "not_judged");
        step.says(&[why]);
        assert_eq!(workflow.github.requests(), []);
    }
    // The commits before it are gone.
    let workflow = workflow();
    let event =
        json!({"ref": "refs/heads/main", "before": "c".repeat(40), "after": workflow.merge()});
    let step = workflow.event("push", event).run().ended_with(0);
    assert_eq!(step.output("verdict"), "within");
    assert!(!step.summary.contains("404"), "{}", step.summary);
    step.says(&["one was removed"]);
}

#[test]
fn a_pull_request_whose_base_is_gone_is_not_judged_by_its_own_limits() {
    let workflow = Workflow::pull_request(&spec(ENOUGH), &spec(ENOUGH));
    workflow.github.state().commits.remove(workflow.base());
    let step = workflow.run().ended_with(1);
    assert_eq!(step.output("verdict"), "unknown");
    assert!(!step.summary.contains("404"), "{}", step.summary);
    step.says(&["the base commit", "is gone"]);
}

#[test]
fn a_workspace_without_a_spec_has_no_checkout_or_a_change_that_deletes_it() {
    let base = files(&spec(ENOUGH), "1");
    let workflow = Workflow::between(&base, &base.clone().without("canary-gate.yml"));
    let step = workflow.run().ended_with(2);
    step.says(&["deletes the spec", "canary-gate.yml", "main"]);
    fs::remove_dir_all(workflow.project.path(".git")).unwrap();
    let step = workflow.run().ended_with(2);
    step.says(&["nothing is checked out", "actions/checkout"]);
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
    let root = workflow.project.root();
    let mut command = workflow.command();
    for path in everything_in(root) {
        std::os::unix::fs::chown(path, Some(RUNNER), Some(RUNNER)).unwrap();
    }
    let ran = Finished::new(&command.output().unwrap(), root);
    let step = workflow.step(ran).ended_with(0);
    workflow.post_step(&step).ended_with(0);
    assert!(workflow.project.path(".canary-gate/report.json").exists());
    for path in everything_in(root) {
        let owner = path.symlink_metadata().unwrap();
        let owner = (owner.uid(), owner.gid());
        assert_eq!(owner, (RUNNER, RUNNER), "{}", path.display());
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
