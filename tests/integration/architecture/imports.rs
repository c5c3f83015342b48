//! Which source file imports which, as its `use` lines and its paths say. Test code is left out.

use std::collections::{BTreeMap, BTreeSet};

use syn::visit::Visit;
use syn::{Attribute, File, ItemUse, Macro, UseTree, Visibility};

/// A module's path from the crate's root: `["spec", "read"]` for `core/src/spec/read/mod.rs`.
pub(super) type Module = Vec<String>;

/// Every module that has a file of its own, and those that it imports from.
pub(super) struct Imports {
    of: BTreeMap<Module, BTreeSet<Module>>,
    /// The types that each defines.
    pub(super) types: BTreeMap<Module, Vec<String>>,
}

impl Imports {
    /// `files` are paths below `src`, each with its text.
    pub(super) fn read(files: &[(String, String)]) -> Self {
        let mut test_modules = BTreeSet::new();
        let mut scopes = BTreeMap::new();
        for (file, text) in files {
            let own = module_of(file);
            let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
            let mut scope = Scope::default();
            scope.visit_file(&parsed);
            let tests = std::mem::take(&mut scope.test_modules).into_iter();
            test_modules.extend(tests.map(|name| child(&own, &name)));
            scopes.insert(own, scope);
        }
        scopes.retain(|own, _| !(1..=own.len()).any(|count| test_modules.contains(&own[..count])));
        let of = scopes
            .iter()
            .map(|(own, scope)| (own.clone(), imports_of(own, scope, &scopes)))
            .collect();
        let types = scopes.into_iter().map(|(own, scope)| (own, scope.types));
        Self {
            of,
            types: types.collect(),
        }
    }

    /// The files that reach each other in both directions, in groups.
    pub(super) fn circles(&self) -> Vec<Vec<String>> {
        let reached: BTreeMap<&Module, BTreeSet<&Module>> = self
            .of
            .keys()
            .map(|start| (start, self.reached_from(start)))
            .collect();
        let mut circles: BTreeSet<Vec<String>> = BTreeSet::new();
        for (own, others) in &reached {
            let group: Vec<String> = others
                .iter()
                .filter(|other| reached[**other].contains(*own))
                .map(|other| other.join("/"))
                .collect();
            if group.len() > 1 {
                circles.insert(group);
            }
        }
        circles.into_iter().collect()
    }

    fn reached_from<'a>(&'a self, start: &'a Module) -> BTreeSet<&'a Module> {
        let mut reached = BTreeSet::new();
        let mut next = vec![start];
        while let Some(one) = next.pop() {
            for to in self.of.get(one).into_iter().flatten() {
                if reached.insert(to) {
                    next.push(to);
                }
            }
        }
        reached
    }
}

/// `["spec", "read"]` for `spec/read/mod.rs` and for `spec/read.rs`.
fn module_of(file: &str) -> Module {
    let path = file.trim_end_matches(".rs");
    let mut parts: Module = path.split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib")) {
        parts.pop();
    }
    parts
}

fn child(own: &[String], name: &str) -> Module {
    own.iter().cloned().chain([name.to_owned()]).collect()
}

/// What one file says.
#[derive(Default)]
struct Scope {
    /// Names that it brings in for itself, and for others, each with its path.
    uses: BTreeMap<String, Vec<String>>,
    re_exports: BTreeMap<String, Vec<String>>,
    /// Paths in its code, of two segments or more.
    paths: Vec<Vec<String>>,
    /// Modules declared as test code.
    test_modules: Vec<String>,
    /// The names of the types that it defines.
    types: Vec<String>,
}

impl<'a> Visit<'a> for Scope {
    fn visit_file(&mut self, file: &'a File) {
        for item in &file.items {
            self.visit_item(item);
        }
    }

    fn visit_item(&mut self, item: &'a syn::Item) {
        match item {
            syn::Item::Mod(module) if is_test(&module.attrs) => {
                self.test_modules.push(module.ident.to_string());
                return;
            }
            syn::Item::Struct(item) => self.types.push(item.ident.to_string()),
            syn::Item::Enum(item) => self.types.push(item.ident.to_string()),
            syn::Item::Trait(item) => self.types.push(item.ident.to_string()),
            syn::Item::Type(item) => self.types.push(item.ident.to_string()),
            _ => {}
        }
        syn::visit::visit_item(self, item);
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if is_test(&item.attrs) {
            return;
        }
        let names = match item.vis {
            Visibility::Inherited => &mut self.uses,
            _ => &mut self.re_exports,
        };
        collect(&item.tree, &mut Vec::new(), names);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let segments = path.segments.iter();
        self.paths
            .push(segments.map(|one| one.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, one: &'a Macro) {
        // What a macro is handed is not parsed; its paths read `a :: b`.
        let tokens = one.tokens.to_string().replace(" :: ", "::");
        let words = tokens.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let paths = words.filter(|word| word.contains("::") && !word.starts_with(':'));
        self.paths
            .extend(paths.map(|path| path.split("::").map(str::to_owned).collect()));
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .meta
                .require_list()
                .is_ok_and(|list| list.tokens.to_string() == "test")
    })
}

fn collect(tree: &UseTree, before: &mut Vec<String>, names: &mut BTreeMap<String, Vec<String>>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            collect(&path.tree, before, names);
            before.pop();
        }
        UseTree::Group(group) => group
            .items
            .iter()
            .for_each(|item| collect(item, before, names)),
        UseTree::Name(name) if name.ident == "self" => {
            names.extend(before.last().cloned().map(|last| (last, before.clone())));
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            names.insert(name.clone(), child(before, &name));
        }
        UseTree::Rename(rename) => {
            names.insert(
                rename.rename.to_string(),
                child(before, &rename.ident.to_string()),
            );
        }
        UseTree::Glob(_) => {
            names.insert(format!("{}::*", before.join("::")), before.clone());
        }
    }
}

fn imports_of(own: &Module, scope: &Scope, scopes: &BTreeMap<Module, Scope>) -> BTreeSet<Module> {
    let known = |path: &Vec<String>| match scope.uses.get(&path[0]) {
        Some(brought) => brought.iter().chain(&path[1..]).cloned().collect(),
        None => path.clone(),
    };
    scope
        .uses
        .values()
        .cloned()
        .chain(scope.paths.iter().filter(|path| path.len() > 1).map(known))
        .filter_map(|path| absolute(own, &path, scopes))
        .filter_map(|path| home(&path, own, scopes, 0))
        // The face of a folder may know what it holds, and be asked by it.
        .filter(|to| !own.starts_with(to))
        .collect()
}

/// A path from the crate's root; `None` where it names another crate, or something of the file itself.
fn absolute(
    own: &Module,
    path: &[String],
    scopes: &BTreeMap<Module, Scope>,
) -> Option<Vec<String>> {
    let supers = path.iter().take_while(|one| *one == "super").count();
    match path[0].as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([own, &path[1..]].concat()),
        "super" => Some([&own[..own.len().checked_sub(supers)?], &path[supers..]].concat()),
        first => scopes
            .contains_key(&child(own, first))
            .then(|| [own, path].concat()),
    }
}

/// The module in whose file a path's item is defined: re-exports are followed, but not by those inside the folder.
fn home(
    path: &[String],
    asker: &Module,
    scopes: &BTreeMap<Module, Scope>,
    depth: usize,
) -> Option<Module> {
    let length = (0..=path.len())
        .rev()
        .find(|&count| scopes.contains_key(&path[..count]))?;
    let own = path[..length].to_vec();
    let Some(name) = path.get(length) else {
        return Some(own);
    };
    if asker.starts_with(&own) || depth > 8 {
        return Some(own);
    }
    match scopes[&own].re_exports.get(name) {
        Some(onward) => {
            let onward: Vec<String> = onward.iter().chain(&path[length + 1..]).cloned().collect();
            let onward = absolute(&own, &onward, scopes);
            onward.map_or(Some(own), |onward| home(&onward, asker, scopes, depth + 1))
        }
        None => Some(own),
    }
}
