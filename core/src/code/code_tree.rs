//! What counts of a tree for one job. Of this list the change, the code key, the copy and the archive are taken.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::globs::PathGlobs;
use super::tree::{End, PathKind, Tree, TreeFile, bytes, from_root};
use crate::spec::{Job, ON_THIS_MACHINE};

/// Links can multiply the files of a tree.
const MOST_FILES: usize = 2_000_000;

/// What of a tree counts for a job.
#[derive(Debug, Clone)]
pub struct CodeSelection {
    /// The `paths` of every spec that speaks of the job.
    globs: Vec<PathGlobs>,
    /// From the root: the folder that the job's code is copied or packed from, then what is laid beside it.
    folders: Vec<PathBuf>,
    /// Whether the spec names the first, too: all of what it names counts that no `!` leaves out.
    is_source: bool,
    /// The files that the command names by their whole path, which no `!` leaves out: from the root where the tree has them.
    commands: Vec<PathBuf>,
    /// From the root: the job's data in the checkout, which are no code, and of which another one is a change.
    data: HashSet<PathBuf>,
    /// The spec's file, from the root, which is never code: what of it changes a canary is in the code key by itself.
    spec: PathBuf,
}

/// A file, link or submodule that counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CodeFile {
    /// From the root, as the job's code finds it: perhaps through links.
    pub path: PathBuf,
    /// Where it really lies, from the root.
    pub real: PathBuf,
    pub kind: PathKind,
    pub blob: String,
}

/// What counts of a tree for one job, links followed as far as they stay in the tree.
#[derive(Debug, Clone)]
pub struct CodeTree {
    selection: CodeSelection,
    files: Vec<CodeFile>,
    left_out: Vec<PathBuf>,
    /// The links and submodules that count: the path that leads there, and what it leads to.
    followed: Vec<(PathBuf, PathBuf)>,
}

/// Why what counts is not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CodeProblem {
    #[error("{} is a link there, and only a checkout can follow it", .0.display())]
    UnknownLink(PathBuf),
    #[error("links lead to more than {MOST_FILES} files, the last at {}", .0.display())]
    TooMany(PathBuf),
}

/// What DVC keeps of data under git: `data.dvc` beside them or beside a folder above, and `dvc.lock` of the stages that make them.
fn dvc_files(data: &Path) -> impl Iterator<Item = PathBuf> {
    let folders = data.ancestors().skip(1);
    let locks = folders.map(|folder| folder.join("dvc.lock"));
    let named = data.ancestors().filter(|path| path.file_name().is_some());
    locks.chain(named.map(|path| path.with_added_extension("dvc")))
}

impl CodeSelection {
    /// Of a job of the file `spec` in the folder `place`, and of the base's job with its own, whose `paths` count too.
    pub fn of(job: &Job, spec: &str, place: &str, base: Option<(&Job, &str)>) -> Self {
        let all = std::iter::once((job, place)).chain(base);
        let source = job.training.source_dir.as_deref();
        let beside = job.training.dependencies.iter().map(String::as_str);
        let named = job.training.local.named_paths();
        Self {
            globs: all
                .map(|(job, place)| PathGlobs::new(&job.paths, place))
                .collect(),
            folders: std::iter::once(source.unwrap_or(""))
                .chain(beside)
                .map(|written| from_root(place, written))
                .collect(),
            is_source: source.is_some(),
            commands: named.collect(),
            data: (job.training.channels.iter())
                .filter_map(|channel| match channel.uri.strip_prefix(ON_THIS_MACHINE) {
                    Some(path) => Some(PathBuf::from(path)),
                    None if channel.uri.contains("://") => None,
                    None => Some(from_root(place, &channel.uri)),
                })
                .collect(),
            spec: PathBuf::from(spec),
        }
    }

    /// What the spec names.
    fn named(&self) -> &[PathBuf] {
        &self.folders[usize::from(!self.is_source)..]
    }

    /// Whether a path counts; `in_one` where it lies in a link or a submodule that counts itself.
    ///
    /// `!` leaves a file out only where every spec does: otherwise a change could hide its own code and be taken for an earlier one.
    fn takes(&self, path: &Path, in_one: bool) -> bool {
        if path == self.spec {
            return false;
        }
        if self.commands.iter().any(|command| path == command) {
            return true;
        }
        let mut is_left_out = true;
        for globs in &self.globs {
            match globs.decide(path) {
                Some(true) => return true,
                Some(false) => {}
                None => is_left_out = false,
            }
        }
        let is_own = in_one || self.named().iter().any(|named| path.starts_with(named));
        is_own && !is_left_out
    }

    /// Whether it lies in the job's data; as of code, `!` leaves it out only where every spec does.
    fn is_data(&self, path: &Path) -> bool {
        self.lies_in_data(path)
            && (self.globs.iter()).any(|globs| globs.decide(path) != Some(false))
    }

    fn lies_in_data(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.data.contains(above))
    }

    /// Takes the links to the data and in them, and what these lead to, for data too.
    fn follow_data(&mut self, tree: &Tree) {
        let mut open = Vec::from_iter(self.data.iter().cloned());
        while let Some(path) = open.pop() {
            let mut passed = Vec::new();
            let end = tree.follow(&path, &mut passed);
            let inside = tree.below(&path).iter();
            let links = inside.filter(|file| file.kind == PathKind::Link);
            passed.extend(links.map(|link| link.path.clone()));
            if let End::Within(real) = end {
                passed.push(real);
            }
            passed.retain(|path| self.data.insert(path.clone()));
            open.extend(passed);
        }
    }

    /// Whether something may count that lies in the link or submodule `path`.
    fn may_take_in(&self, path: &Path) -> bool {
        self.takes(&path.join("\u{1}"), self.takes(path, false))
            || self.named().iter().any(|named| named.starts_with(path))
            || self.globs.iter().any(|globs| globs.may_match_in(path))
    }
}

impl CodeTree {
    /// # Errors
    ///
    /// Where a link that counts cannot be followed, or links multiply files beyond reason.
    pub fn of(tree: &Tree, selection: CodeSelection) -> Result<Self, CodeProblem> {
        let mut code = Self {
            selection,
            files: Vec::new(),
            left_out: Vec::new(),
            followed: Vec::new(),
        };
        let data = std::mem::take(&mut code.selection.data).into_iter();
        let data = data.map(|path| tree.within(&path).map(Path::to_owned).unwrap_or(path));
        code.selection.data = data
            .flat_map(|path| dvc_files(&path).chain([path.clone()]).collect::<Vec<_>>())
            .collect();
        let mut passed = Vec::new();
        for command in &mut code.selection.commands {
            let inside = tree.within(command);
            let end = inside.map(|inside| tree.follow(inside, &mut passed));
            // A folder that a command names is no code by that.
            if let Some(End::Within(real)) = end
                && tree.get(&real).is_some()
            {
                *command = real;
            }
        }
        for folder in &mut code.selection.folders {
            match tree.follow(folder, &mut passed) {
                End::Within(real) => *folder = real,
                End::Outside => {}
                End::Unknown(link) => return Err(CodeProblem::UnknownLink(link)),
            }
        }
        code.selection.follow_data(tree);
        // Another target of theirs is another source.
        for link in passed.iter().filter_map(|link| tree.get(link)) {
            code.push(&link.path, link)?;
            code.followed.push((link.path.clone(), link.path.clone()));
        }
        for file in tree.files() {
            code.add(tree, &file.path, file, false, &mut Vec::new())?;
        }
        let order = |file: &CodeFile| (bytes(&file.path).to_vec(), file.kind);
        if !code.files.is_sorted_by_key(order) {
            code.files.sort_by_cached_key(order);
        }
        code.files.dedup();
        let counted: HashSet<&Path> = code.files.iter().map(|file| &*file.real).collect();
        let is_used = |path: &Path| {
            counted.contains(path)
                || path == code.selection.spec
                || code.selection.lies_in_data(path)
        };
        let tracked = tree.files().iter().filter(|file| !file.blob.is_empty());
        let left_out = tracked.filter(|file| file.kind.is_file() && !is_used(&file.path));
        code.left_out = left_out.map(|file| file.path.clone()).collect();
        Ok(code)
    }

    /// Everything that counts, sorted by path.
    pub fn files(&self) -> &[CodeFile] {
        &self.files
    }

    /// Whether a path is the job's data, or lies in them.
    pub fn has_data(&self, path: &Path) -> bool {
        self.selection.lies_in_data(path)
    }

    /// The paths outside the tree that the command names.
    pub fn named_outside(&self) -> impl Iterator<Item = &Path> {
        let commands = self.selection.commands.iter().map(PathBuf::as_path);
        commands.filter(|path| path.is_absolute())
    }

    /// The tracked files that neither count nor are the job's data, which no canary may read.
    pub fn left_out(&self) -> &[PathBuf] {
        &self.left_out
    }

    /// Gives files the ids that `id_of` knows of what really lies there, and leaves those out that it does not know.
    pub fn set_ids(&mut self, id_of: impl Fn(&Path) -> Option<String>) {
        self.files.retain_mut(|file| {
            let id = id_of(&file.real).filter(|_| file.kind.is_file());
            let is_known = id.is_some() || !file.kind.is_file();
            file.blob = id.unwrap_or_else(|| std::mem::take(&mut file.blob));
            is_known
        });
    }

    /// Whether a changed path concerns the job. One that ends with `/`, or that the tree has as such, is a submodule.
    pub fn is_changed_by(&self, path: &Path) -> bool {
        let is_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let path: &Path = &path.components().collect::<PathBuf>();
        self.selection.takes(path, false)
            || self.selection.is_data(path)
            || is_folder && self.selection.may_take_in(path)
            || self.followed.iter().any(|(name, target)| {
                // A link may lead into a submodule.
                target.starts_with(path)
                    || path.strip_prefix(target).is_ok_and(|below| {
                        self.selection
                            .takes(&name.join(below), self.selection.takes(name, false))
                    })
            })
    }

    /// Adds what `file`, which the job's code finds at `path`, has of what counts. `trail` are the links on the way there.
    fn add(
        &mut self,
        tree: &Tree,
        path: &Path,
        file: &TreeFile,
        in_one: bool,
        trail: &mut Vec<PathBuf>,
    ) -> Result<(), CodeProblem> {
        let is_taken = self.selection.takes(path, in_one);
        let is_file = file.kind.is_file();
        if !is_taken && (is_file || !self.selection.may_take_in(path)) {
            return Ok(());
        }
        self.push(path, file)?;
        if is_file {
            return Ok(());
        }
        if file.kind == PathKind::Submodule {
            self.followed.push((path.to_owned(), file.path.clone()));
            // Its files are in the tree where it is checked out; those that patterns mean count anyway.
            for inside in tree.below(&file.path).iter().filter(|_| is_taken) {
                let below = inside.path.strip_prefix(&file.path).unwrap_or(&inside.path);
                self.add(tree, &path.join(below), inside, true, trail)?;
            }
            return Ok(());
        }
        let mut passed = Vec::new();
        let end = tree.follow(&file.path, &mut passed);
        let steps = passed.into_iter().map(|link| (path.to_owned(), link));
        self.followed.extend(steps);
        let target = match end {
            End::Within(target) => target,
            End::Outside => return Ok(()),
            End::Unknown(link) => return Err(CodeProblem::UnknownLink(link)),
        };
        self.followed.push((path.to_owned(), target.clone()));
        trail.push(file.path.clone());
        // What holds the link itself would never end.
        if !trail.iter().any(|link| link.starts_with(&target)) {
            if let Some(found) = tree.get(&target) {
                self.add(tree, path, found, is_taken, trail)?;
            }
            for inside in tree.below(&target) {
                let below = inside.path.strip_prefix(&target).unwrap_or(&inside.path);
                self.add(tree, &path.join(below), inside, is_taken, trail)?;
            }
        }
        trail.pop();
        Ok(())
    }

    fn push(&mut self, path: &Path, file: &TreeFile) -> Result<(), CodeProblem> {
        if self.files.len() >= MOST_FILES {
            return Err(CodeProblem::TooMany(path.to_owned()));
        }
        self.files.push(CodeFile {
            path: path.to_owned(),
            real: file.path.clone(),
            kind: file.kind,
            blob: file.blob.clone(),
        });
        Ok(())
    }
}
