//! The organization's policy that a spec extends: a file at GitHub, read once in a run, and kept by its commit in the user's cache.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;

use crate::code::blob_id;
use crate::console::{AppError, files};
use crate::exit;
use crate::github::client::Github;
use crate::github::error::{ForgeError, ForgeErrorKind};
use crate::github::is_object_id;
use crate::secret::SecretMask;
use crate::spec::{self, MAX_SPEC_BYTES, OrganizationPolicy, Spec};
use crate::workspace::environment::{pace, variable};

/// Digits of a commit id that are shown.
pub(super) const SHORT_COMMIT: usize = 7;

const HELP: &str = "check the address in `extends`, of a file of a few kB, and that the token in GH_TOKEN may read that repository: locally `export GH_TOKEN=$(gh auth token)`; a workflow's own reads its own and public ones";
const KEPT: &str = "a policy that `extends` names by its commit is kept on this machine";
const NAME_ANOTHER: &str = "name a branch, a tag, or a commit of the default branch: by its id GitHub gives a fork's commit too, whose author is anybody";
const WAY_OUT: &str = "mend that file, or name another branch, tag or commit of it in `extends`";

/// What was read, by its address: a branch that moves meanwhile does not part one spec's limits from another's.
static KNOWN: Mutex<BTreeMap<String, Arc<OrganizationPolicy>>> = Mutex::const_new(BTreeMap::new());

/// The policy that a spec extends, if it does. No other is ever taken in its place.
pub(crate) async fn policy_of(spec: &Spec) -> Result<Option<Arc<OrganizationPolicy>>, AppError> {
    let Some(address) = &spec.extends else {
        return Ok(None);
    };
    let mut known = KNOWN.lock().await;
    if !known.contains_key(address) {
        let (name, bytes) = read(address).await?;
        let (name, bytes) = (&*name, &*bytes);
        // A change may name any file that the token reads: what it says is not for all who read the change.
        let policy = spec::read_policy(name, bytes).map_err(|errors| {
            let what = format!("the policy {name}, which the spec extends, cannot be used");
            let error = match is_in_ci() {
                true => AppError::usage(format!("{what}; `canary-gate validate` says why")),
                false => AppError::from(errors).listed_below(what),
            };
            error.help(WAY_OUT).without(&SecretMask::default())
        })?;
        known.insert(address.clone(), Arc::new(policy));
    }
    Ok(known.get(address).cloned())
}

/// A policy's name with its commit, and its bytes.
async fn read(address: &str) -> Result<(String, Vec<u8>), AppError> {
    let refused = |error: ForgeError| {
        let (help, code) = match error.kind {
            ForgeErrorKind::Passing => (format!("{}; {KEPT}", error.help()), exit::UNKNOWN),
            _ => (HELP.to_owned(), exit::USAGE),
        };
        let what = format!("the policy {address}, which the spec extends, cannot be read");
        AppError::message(what, code).help(help).caused_by(error)
    };
    // A valid spec has a whole address.
    let (place, reference) = address.split_once('@').unwrap_or_default();
    let (end, _) = place.match_indices('/').nth(1).unwrap_or_default();
    let (repository, path) = (&place[..end], place[end..].trim_start_matches('/'));
    let pace = pace()?;
    let github = || Github::reading(repository, &variable, pace).map_err(refused);
    let is_commit = is_object_id(reference);
    let sha = match is_commit {
        true => reference.to_owned(),
        false => (github()?.commit_of(reference).await).map_err(refused)?,
    };
    let name = format!("{address} ({})", &sha[..SHORT_COMMIT]);
    let kept = kept_at(&format!("{repository}/{sha}/{path}"));
    if let Some(bytes) = kept.as_deref().and_then(as_it_was_kept) {
        return Ok((name, bytes));
    }
    let github = github()?;
    if is_commit && !(github.is_on_default_branch(&sha).await).map_err(refused)? {
        let what = format!("the policy {name} is of a commit that is not on the default branch");
        return Err(AppError::usage(what).help(NAME_ANOTHER));
    }
    let found = github.file_at(path, &sha, MAX_SPEC_BYTES).await;
    let bytes = found.map_err(refused)?.ok_or_else(|| {
        let what = format!("the policy {name} is not there: that commit has no such file");
        AppError::usage(what).help(HELP)
    })?;
    // What could not be kept is asked for again.
    if let Some((place, folder)) = kept.as_deref().and_then(|it| Some((it, it.parent()?)))
        && fs::create_dir_all(folder).is_ok()
    {
        let id = blob_id(&sha, &bytes);
        let _ = files::write_new(place, &[id.as_bytes(), b"\n", &bytes].concat(), folder);
    }
    Ok((name, bytes))
}

/// What is kept there, below its id as Git has it; `None` where it is not that any more.
fn as_it_was_kept(place: &Path) -> Option<Vec<u8>> {
    let kept = files::read_text(place).ok()?;
    let (id, text) = kept.split_once('\n')?;
    (blob_id(id, text.as_bytes()) == id).then(|| text.into())
}

fn is_in_ci() -> bool {
    let names = ["CI", "GITHUB_ACTIONS", "TF_BUILD"];
    names.iter().any(|name| std::env::var_os(name).is_some())
}

/// Where a policy of a commit is kept. Nowhere in CI and in a checkout: what a change runs could write one there.
fn kept_at(policy: &str) -> Option<PathBuf> {
    let home = || Some(PathBuf::from(variable("HOME")?).join(".cache"));
    let cache = variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    let cache = files::resolve_as_far_as_there(&cache.filter(|it| it.is_absolute())?).ok()?;
    let is_in_checkout = cache.ancestors().any(|folder| folder.join(".git").exists());
    let is_own = !is_in_checkout && !is_in_ci();
    is_own.then(|| cache.join("canary-gate/policies").join(policy))
}
