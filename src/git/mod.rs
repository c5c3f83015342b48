//! Git: the checkout, the changed files, the files that count. Runs the `git` command and only reads, but for a list of
//! what the gate wrote and the checkout that the demo is.

mod error;
pub(crate) mod own_files;
mod process;
mod stored;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

pub use error::GitError;

use crate::code::{PathKind, Tree, TreeFile};
use crate::outside_error::OutsideError;
use process::entries;

/// Folders in which submodules are looked for.
const DEEPEST: usize = 32;
/// No path is longer on Linux, and no link.
const LONGEST_LINK: u64 = 4096;

/// A git checkout.
#[derive(Debug, Clone)]
pub struct GitCheckout {
    root: PathBuf,
}

/// What git knows of the work tree: on disk a file may be another, or gone.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedFiles {
    /// Tracked, and those that are neither tracked nor ignored, which have no id.
    pub files: Vec<TreeFile>,
    /// Tracked, and left out of a sparse checkout.
    pub sparse: Vec<TreeFile>,
}

impl GitCheckout {
    /// The checkout that contains `folder`; `None` without a checkout or without git.
    ///
    /// # Errors
    ///
    /// If git refuses the checkout, for example because another user owns it.
    pub fn find(folder: &Path) -> Result<Option<Self>, GitError> {
        // A bare repository has no work tree.
        let is_none = |said: &str| {
            said.contains("not a git repository") || said.contains("must be run in a work tree")
        };
        let root = match process::bytes(folder, ["rev-parse", "--show-toplevel"]) {
            Ok(root) => root,
            Err(GitError::Failed { said, .. }) if !is_none(&said) => {
                let refused = OutsideError::of(format!("git refuses this checkout: {said}"));
                return Err(GitError::Other(refused.help(
                    "if you trust it: `git config --global --add safe.directory DIR`, as git says above",
                )));
            }
            Err(_) => return Ok(None),
        };
        let root = String::from_utf8_lossy(&root);
        let root = Path::new(root.trim_end_matches('\n')).canonicalize();
        Ok(root.ok().map(|root| Self { root }))
    }

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
            let _ = std::fs::remove_dir_all(folder.join(".git"));
        }
        made.map(drop)
    }

    /// The checkout's folder, all links resolved.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The checked-out commit, in full; `None` before the first.
    pub fn commit(&self) -> Option<String> {
        self.resolve("HEAD").ok()
    }

    /// The branch that is checked out; `None` on a detached HEAD.
    pub fn branch(&self) -> Option<String> {
        process::text(&self.root, ["symbolic-ref", "--quiet", "--short", "HEAD"]).ok()
    }

    /// The target of origin's HEAD, e.g. `origin/main`, else on another branch the local one of that name; `None` without either.
    pub fn default_base(&self) -> Option<String> {
        let named = ["symbolic-ref", "--short", "refs/remotes/origin/HEAD"];
        let named = process::text(&self.root, named);
        let main = ["main", "master"].map(str::to_owned);
        let is_on_another = self.branch().is_some_and(|branch| !main.contains(&branch));
        let of_origin = main.clone().map(|branch| format!("origin/{branch}"));
        (named.into_iter().chain(of_origin))
            .chain(main.into_iter().filter(|_| is_on_another))
            .find(|reference| self.resolve(reference).is_ok())
    }

    /// The best common ancestor of a reference and the checked-out commit.
    pub fn merge_base(&self, base: &str) -> Result<String, GitError> {
        let (base_commit, head_commit) = (self.resolve(base)?, self.resolve("HEAD")?);
        process::text(&self.root, ["merge-base", &base_commit, &head_commit]).map_err(|_| {
            let none = format!("`{base}` and `HEAD` have no common commit");
            GitError::NoMergeBase(OutsideError::of(none).help(
                "the history is cut off here: `git fetch --unshallow`, in GitHub Actions `fetch-depth: 0` at actions/checkout",
            ))
        })
    }

    /// All files of a commit, with those of submodules whose commit is here too.
    pub fn tree(&self, commit: &str) -> Result<Tree, GitError> {
        let commit = self.resolve(commit)?;
        let (mut files, mut targets) = (Vec::new(), BTreeMap::new());
        add_tree(&self.root, &commit, Path::new(""), &mut files, &mut targets)?;
        Ok(Tree::new(files, targets).at(&self.root))
    }

    /// The files that git tracks, or does not track and does not ignore, without what the gate itself wrote. Of submodules that are
    /// checked out the tracked ones.
    pub fn listed(&self) -> Result<ListedFiles, GitError> {
        let mut listed = ListedFiles::default();
        add_index(&self.root, Path::new(""), &mut listed)?;
        own_files::remember_streams(&self.root);
        let own = own_files::list(&self.root).into_iter();
        let without_own = own.flat_map(|list| ["-X".into(), list.into_os_string()]);
        let arguments = "ls-files --others --exclude-standard --full-name -z".split(' ');
        let arguments = arguments.map(OsString::from);
        let untracked = process::bytes(&self.root, arguments.chain(without_own))?;
        // A repository that is no submodule ends with `/`; git knows nothing of its files.
        let names = entries(&untracked).filter(|name| !name.ends_with(b"/"));
        listed.files.extend(names.map(|name| TreeFile {
            path: path_of(name),
            blob: String::new(),
            kind: PathKind::File,
        }));
        Ok(listed)
    }

    /// Those of `files`, as a commit has them, that lie on disk as git writes them there: with other line ends, or with the content
    /// that a pointer of Git LFS names. One that HEAD has otherwise is changed, whatever lies on disk.
    pub fn as_checked_out(&self, mut files: Vec<TreeFile>) -> Result<BTreeSet<PathBuf>, GitError> {
        if files.is_empty() {
            return Ok(BTreeSet::new());
        }
        let head = self.tree("HEAD")?;
        let blob = |file: &TreeFile| head.get(&file.path).map(|known| known.blob.clone());
        files.retain(|file| blob(file).as_ref() == Some(&file.blob));
        stored::as_checked_out(&self.root, &files)
    }

    /// The first `limit` bytes of a file in a commit; `path` is relative to the root. `None` if there is no such file; a link
    /// is an error, since links are not followed.
    pub fn file_at(
        &self,
        commit: &str,
        path: &str,
        limit: usize,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let commit = self.resolve(commit)?;
        let list = "--literal-pathspecs ls-tree -z --full-tree".split(' ');
        let listed = process::bytes(&self.root, list.chain([&*commit, "--", path]))?;
        let mut found = entries(&listed).filter_map(|line| entry(line, 0, Path::new("")));
        let Some((_, file)) = found.find(|(_, file)| file.path == Path::new(path)) else {
            return Ok(None);
        };
        match file.kind {
            PathKind::File | PathKind::Executable => {
                let mut content = process::bytes(&self.root, ["cat-file", "blob", &file.blob])?;
                content.truncate(limit);
                Ok(Some(content))
            }
            PathKind::Link => Err(GitError::Link(
                OutsideError::of(format!(
                    "{path} is a symbolic link in that commit, and links are not followed"
                ))
                .help("replace the link by the file itself"),
            )),
            PathKind::Submodule => Ok(None),
        }
    }

    /// The full commit id behind a reference.
    pub fn resolve(&self, reference: &str) -> Result<String, GitError> {
        check_reference(reference)?;
        self.refuse_ambiguous(reference)?;
        let verify = "rev-parse --verify --quiet --end-of-options".split(' ');
        let found = process::text(
            &self.root,
            verify.chain([&*format!("{reference}^{{commit}}")]),
        );
        found.map_err(|error| match error {
            GitError::Failed { .. } => {
                let name = reference.strip_prefix("origin/").unwrap_or(reference);
                let what = format!("git has no commit `{reference}`: it is not in this clone");
                GitError::UnknownReference(OutsideError::of(what).help(format!(
                    "fetch it first: `git fetch origin {name}`, in GitHub Actions `fetch-depth: 0` at actions/checkout; `git branch --all` lists what is here"
                )))
            }
            other => other,
        })
    }

    /// Refuses a name of both a branch and a tag. git would prefer the tag, so anybody who may push a tag could choose what a
    /// change is compared with. See gitrevisions(7) for the places.
    fn refuse_ambiguous(&self, reference: &str) -> Result<(), GitError> {
        let name = reference
            .split(['^', '~', '@', ':'])
            .next()
            .unwrap_or_default();
        let is_commit = name.len() >= 40 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        if name.is_empty() || name == "HEAD" || is_commit {
            return Ok(());
        }
        let places = ["refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];
        let places = places.map(|place| format!("{place}{name}"));
        let mut arguments = vec!["for-each-ref", "--format=%(refname)", "--"];
        arguments.extend(places.iter().map(String::as_str));
        let listed = process::text(&self.root, arguments)?;
        // A pattern also matches references below it.
        let names = listed.lines();
        let names = names.filter(|found| places.iter().any(|place| place == found));
        let names: Vec<&str> = names.collect();
        if names.len() < 2 {
            return Ok(());
        }
        let names = names.join(" and ");
        let ambiguous = format!("`{reference}` is ambiguous: it names {names}");
        Err(GitError::Other(OutsideError::of(ambiguous).help(
            "write it in full, such as `refs/remotes/origin/main`, or remove the unwanted one",
        )))
    }
}

/// The path of these bytes: names of git are any bytes.
pub(crate) fn path_of(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}

/// A line of a list: its first word, and the file below `above`. `None` for a folder.
///
/// `100644 blob 3f9c…<TAB>path` of a commit, `H 100644 3f9c… 0<TAB>path` of the index: the mode stands at `mode`.
fn entry<'l>(line: &'l [u8], mode: usize, above: &Path) -> Option<(&'l str, TreeFile)> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let about = std::str::from_utf8(&line[..tab]).ok()?;
    let words: Vec<&str> = about.split(' ').collect();
    let file = TreeFile {
        path: above.join(path_of(&line[tab + 1..])),
        blob: (*words.get(2)?).to_owned(),
        kind: PathKind::of_mode(words.get(mode)?)?,
    };
    Some((words[0], file))
}

/// The folder of a submodule that is checked out, in a repository at `folder`, which lies at `above`.
fn submodule(file: &TreeFile, folder: &Path, above: &Path) -> Option<PathBuf> {
    if file.kind != PathKind::Submodule || file.path.components().count() > DEEPEST {
        return None;
    }
    let inside = folder.join(file.path.strip_prefix(above).ok()?);
    let is_checked_out = inside.join(".git").symlink_metadata().is_ok();
    is_checked_out.then_some(inside)
}

/// Adds the files of a commit of the repository at `folder`, which lies at `above`.
fn add_tree(
    folder: &Path,
    commit: &str,
    above: &Path,
    files: &mut Vec<TreeFile>,
    targets: &mut BTreeMap<String, PathBuf>,
) -> Result<(), GitError> {
    let listed = process::bytes(folder, ["ls-tree", "-r", "-z", "--full-tree", commit])?;
    let mut links = BTreeSet::new();
    for (_, file) in entries(&listed).filter_map(|line| entry(line, 0, above)) {
        if let Some(inside) = submodule(&file, folder, above) {
            // A commit that is not there has another id than what is checked out.
            let _ = add_tree(&inside, &file.blob, &file.path, files, targets);
        }
        if file.kind == PathKind::Link {
            links.insert(file.blob.clone());
        }
        files.push(file);
    }
    if !links.is_empty() {
        let links = links.iter().map(String::as_str).collect();
        let texts = stored::blobs(folder, &links, LONGEST_LINK)?;
        targets.extend(texts.into_iter().map(|(id, text)| (id, path_of(&text))));
    }
    Ok(())
}

/// Adds the tracked files of the repository at `folder`, which lies at `above`.
fn add_index(folder: &Path, above: &Path, listed: &mut ListedFiles) -> Result<(), GitError> {
    // Of a conflict each side.
    let index = process::bytes(folder, ["ls-files", "-t", "--stage", "--full-name", "-z"])?;
    for (tag, mut file) in entries(&index).filter_map(|line| entry(line, 1, above)) {
        if let Some(inside) = submodule(&file, folder, above) {
            file.blob = process::text(&inside, ["rev-parse", "--verify", "HEAD"])?;
            add_index(&inside, &file.path, listed)?;
        }
        if tag == "S" {
            listed.sparse.push(file.clone());
        }
        listed.files.push(file);
    }
    Ok(())
}

/// Checks the form of a reference, so that git cannot take it for an option or an expression.
fn check_reference(reference: &str) -> Result<(), GitError> {
    let odd = |c: char| c.is_control() || c.is_whitespace() || "^:?*[\\".contains(c);
    // HEAD~2 and HEAD^ are useful at a terminal, and a caret suffix is harmless.
    let name = reference.trim_end_matches('^');
    let is_valid = (1..=255).contains(&name.len())
        && !name.starts_with('-')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.contains(odd);
    match is_valid {
        true => Ok(()),
        false => Err(GitError::NotAReference(
            OutsideError::of(format!("`{reference}` is not a git reference"))
                .help("a reference is a branch, a tag or a commit, e.g. `origin/main`"),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_checked_by_form() {
        for reference in [
            "main",
            "origin/main",
            "v1.2",
            "3f9c2e1",
            "HEAD~2",
            "HEAD^",
            "feature/a-b_c",
        ] {
            assert!(check_reference(reference).is_ok(), "{reference}");
        }
        for reference in [
            "",
            "--output=/etc/passwd",
            "a..b",
            "main:file",
            "a b",
            "@{-1}",
            "a\nb",
            "^",
            "^main",
        ] {
            assert!(check_reference(reference).is_err(), "{reference:?}");
        }
    }
}
