//! A new checkout, with one commit.

use std::fs;
use std::path::Path;

use super::GitCheckout;
use super::error::GitError;
use super::process;

impl GitCheckout {
    /// Makes `folder` a checkout of its own whose first commit has these paths in it, ignored or not. Nothing is done where a
    /// checkout, this one or one around it, tracks them already.
    ///
    /// # Errors
    ///
    /// If git is not there, or refuses. The folder is then as it was: without a `.git`.
    pub fn create(folder: &Path, paths: &[&str]) -> Result<(), GitError> {
        let tracked = ["ls-files", "--error-unmatch", "--"].iter().chain(paths);
        if process::bytes(folder, tracked).is_ok() {
            return Ok(());
        }
        // Without a template: it could bring hooks.
        let init = ["init", "--quiet", "--template="];
        let add = ["add", "--force", "--"].iter().chain(paths);
        let commit = "-c user.name=canary-gate -c user.email=canary-gate@localhost -c commit.gpgSign=false \
                      commit --quiet --message=demo";
        let made = process::bytes(folder, init)
            .and_then(|_| process::bytes(folder, add))
            .and_then(|_| process::bytes(folder, commit.split_whitespace()))
            // A checkout of another user's is refused, as are files of another user in a container.
            .and_then(|_| Self::find(folder));
        if made.is_err() {
            let _ = fs::remove_dir_all(folder.join(".git"));
        }
        made.map(drop)
    }
}
