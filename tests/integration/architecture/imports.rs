//! Which source file imports which, as the paths in its text say. Test code is left out, and lies in `tests` or at a file's end.

use std::collections::{BTreeMap, BTreeSet};

/// A module's path from the crate's root: `["spec", "read"]` for `core/src/spec/read/mod.rs`.
pub(super) type Module = Vec<String>;

/// Every module that has a file of its own.
pub(super) struct Imports {
    pub(super) scopes: BTreeMap<Module, Scope>,
}

/// What one file says.
#[derive(Default)]
pub(super) struct Scope {
    pub(super) code: String,
    /// From the crate's root, what it names for itself.
    paths: Vec<Module>,
    /// What it names for others, by its name there.
    re_exports: BTreeMap<String, Module>,
}

impl Imports {
    /// `files` are paths below `src`, each with its text.
    pub(super) fn read(files: &[(String, String)]) -> Self {
        let mut scopes = BTreeMap::new();
        for (file, text) in files.iter().filter(|(file, _)| !file.contains("tests")) {
            let mut own: Module = file
                .trim_end_matches(".rs")
                .split('/')
                .map(str::to_owned)
                .collect();
            own.pop_if(|last| last == "mod" || last == "lib");
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let lines = code
                .lines()
                .map(str::trim)
                .filter(|line| !line.starts_with("//"));
            let mut scope = Scope {
                code: lines.map(|line| format!("{line}\n")).collect(),
                ..Scope::default()
            };
            scope.read_paths(&own);
            scopes.insert(own, scope);
        }
        Self { scopes }
    }

    /// The files that a file imports, but for the face of its own folder, which may be asked by what it holds.
    pub(super) fn of(&self, own: &Module) -> BTreeSet<Module> {
        let paths = self.scopes[own].paths.iter();
        let homes = paths.filter_map(|path| self.home(path, own, 0));
        homes.filter(|to| !own.starts_with(to)).collect()
    }

    /// The module in whose file a path's item is defined: re-exports are followed, but not by those inside the folder.
    fn home(&self, path: &[String], asker: &Module, depth: usize) -> Option<Module> {
        let mut lengths = (0..=path.len()).rev();
        let length = lengths.find(|&count| self.scopes.contains_key(&path[..count]))?;
        let own = path[..length].to_vec();
        let onward = path
            .get(length)
            .and_then(|name| self.scopes[&own].re_exports.get(name));
        match onward.filter(|_| !asker.starts_with(&own) && depth < 9) {
            Some(onward) => {
                let onward = [onward, &path[length + 1..]].concat();
                self.home(&onward, asker, depth + 1)
            }
            None => Some(own),
        }
    }

    /// The files that reach each other in both directions, in groups.
    pub(super) fn circles(&self) -> BTreeSet<Vec<String>> {
        let to: BTreeMap<&Module, BTreeSet<Module>> =
            self.scopes.keys().map(|own| (own, self.of(own))).collect();
        let reached = |start| {
            let mut reached: BTreeSet<&Module> = BTreeSet::new();
            let mut next: Vec<&Module> = vec![start];
            while let Some(one) = next.pop() {
                next.extend(to[one].iter().filter(|other| reached.insert(*other)));
            }
            reached
        };
        let reached: BTreeMap<&Module, _> = to.keys().map(|own| (*own, reached(own))).collect();
        let circle = |(own, others): (&&Module, &BTreeSet<&Module>)| {
            let back = others
                .iter()
                .filter(|other| reached[**other].contains(*own));
            back.map(|other| other.join("/")).collect::<Vec<_>>()
        };
        let circles = reached.iter().map(circle);
        circles.filter(|circle| circle.len() > 1).collect()
    }
}

impl Scope {
    /// The paths that begin with `crate`, `super` or `self`, and those of its own folder that it re-exports.
    fn read_paths(&mut self, own: &[String]) {
        let code = self.code.clone();
        for (place, _) in code.match_indices("::") {
            let start = code[..place]
                .rfind(|c: char| !is_of_name(c))
                .map_or(0, |at| at + 1);
            let is_first = !code[..start].ends_with("::");
            let line = code[..start]
                .rfind('\n')
                .map_or("", |at| &code[at + 1..start]);
            let is_re_export = line.starts_with("pub") && line.ends_with("use ");
            let root = match &code[start..place] {
                _ if !is_first => continue,
                "crate" => Vec::new(),
                "super" => own[..own.len().saturating_sub(1)].to_vec(),
                "self" => own.to_vec(),
                child if is_re_export => [own, &[child.to_owned()]].concat(),
                _ => continue,
            };
            let mut leaves = Vec::new();
            read_tree(&code[place + 2..], root, &mut leaves);
            match is_re_export {
                true => self.re_exports.extend(leaves),
                false => self.paths.extend(leaves.into_iter().map(|(_, path)| path)),
            }
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Reads a path, or a tree of paths in braces: each leaf by its name here. What follows the tree.
fn read_tree<'a>(text: &'a str, mut root: Module, leaves: &mut Vec<(String, Module)>) -> &'a str {
    if let Some(mut inside) = text.strip_prefix('{') {
        loop {
            inside = inside.trim_start_matches([' ', '\n', ',']);
            match inside.strip_prefix('}') {
                Some(behind) => return behind,
                None if inside.starts_with(is_of_name) => {
                    inside = read_tree(inside, root.clone(), leaves);
                }
                None => return "",
            }
        }
    }
    let end = text.find(|c| !is_of_name(c)).unwrap_or(text.len());
    let (name, behind) = text.split_at(end);
    match name {
        "super" => drop(root.pop()),
        "self" | "" => {}
        name => root.push(name.to_owned()),
    }
    if let Some(below) = behind.strip_prefix("::") {
        return read_tree(below, root, leaves);
    }
    let renamed = behind
        .strip_prefix(" as ")
        .map(|renamed| renamed.split_at(renamed.find(|c| !is_of_name(c)).unwrap_or(renamed.len())));
    let last = root.last().cloned().unwrap_or_default();
    let (name, behind) = renamed.map_or((last, behind), |(name, behind)| (name.to_owned(), behind));
    leaves.push((name, root));
    behind
}
