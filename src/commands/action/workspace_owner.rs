//! The user that the step runs as: the owner of the workspace.
//!
//! The runner starts an action's container as root. What root leaves in the workspace the runner's user cannot remove, and the
//! next checkout of a self-hosted runner fails at it. So the step becomes that user before it writes anything.

use std::path::Path;

/// Becomes the owner of a workspace if this is root and the owner is not. A failure is said; the step goes on as root then.
#[cfg(target_os = "linux")]
pub(super) fn become_owner(workspace: &Path) {
    use std::os::unix::fs::MetadataExt;

    use nix::unistd::{Gid, Uid, geteuid, setgid, setgroups, setuid};

    let Ok(folder) = workspace.metadata() else {
        return;
    };
    let (user, group) = (Uid::from_raw(folder.uid()), Gid::from_raw(folder.gid()));
    if !geteuid().is_root() || user.is_root() {
        return;
    }
    let become_user = setgroups(&[group])
        .and_then(|()| setgid(group))
        .and_then(|()| setuid(user));
    if let Err(error) = become_user {
        crate::console::say(&format!(
            "warning: what this step writes belongs to root, not to the owner of the workspace (user {user}): {error}"
        ));
    }
}

/// The action's container is Linux; elsewhere the step runs as the user who started it.
#[cfg(not(target_os = "linux"))]
pub(super) fn become_owner(_: &Path) {}
