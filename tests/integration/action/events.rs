//! What a step leaves in the workspace.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::workflow::{ENOUGH, Workflow, spec};
use crate::project::Finished;

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
