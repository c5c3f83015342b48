//! The files of a commit, and the Git objects that they make.

use std::collections::BTreeMap;

use sha1::{Digest as _, Sha1};

/// What a path of a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Executable,
    Link,
    Submodule,
    Folder,
}

impl Kind {
    pub(super) fn mode(self) -> &'static str {
        match self {
            Self::File => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
            Self::Submodule => "160000",
            Self::Folder => "040000",
        }
    }

    pub(super) fn object(self) -> &'static str {
        match self {
            Self::File | Self::Executable | Self::Link => "blob",
            Self::Submodule => "commit",
            Self::Folder => "tree",
        }
    }
}

/// A path with its content: of a link its target, of a submodule its commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct File {
    pub(super) kind: Kind,
    pub(super) content: Vec<u8>,
}

impl File {
    pub(super) fn id(&self) -> String {
        match self.kind {
            Kind::Submodule => String::from_utf8_lossy(&self.content).into_owned(),
            _ => object_id("blob", &self.content),
        }
    }
}

/// The files of a commit by path.
#[derive(Debug, Clone, Default)]
pub(crate) struct Files(pub(super) BTreeMap<String, File>);

impl Files {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    pub(crate) fn with(self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        self.put(path, Kind::File, content.into())
    }

    pub(crate) fn with_program(self, path: &str, content: &str) -> Self {
        self.put(path, Kind::Executable, content.into())
    }

    pub(crate) fn with_link(self, path: &str, target: &str) -> Self {
        self.put(path, Kind::Link, target.into())
    }

    pub(crate) fn with_submodule(self, path: &str, commit: &str) -> Self {
        self.put(path, Kind::Submodule, commit.into())
    }

    pub(crate) fn without(mut self, path: &str) -> Self {
        self.0.remove(path);
        self
    }

    pub(crate) fn renamed(mut self, from: &str, to: &str) -> Self {
        let file = self.0.remove(from).expect("it is there");
        self.0.insert(to.to_owned(), file);
        self
    }

    /// Each plain file's path and text, to be checked out.
    pub(crate) fn contents(&self) -> impl Iterator<Item = (&str, &str)> {
        let plain = self.0.iter().filter(|(_, file)| file.kind == Kind::File);
        plain.filter_map(|(path, file)| {
            let text = std::str::from_utf8(&file.content).ok()?;
            Some((path.as_str(), text))
        })
    }

    fn put(mut self, path: &str, kind: Kind, content: Vec<u8>) -> Self {
        self.0.insert(path.to_owned(), File { kind, content });
        self
    }
}

/// An entry of one folder.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) id: String,
    pub(super) size: usize,
}

/// The id that Git gives an object.
pub(super) fn object_id(kind: &str, content: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("{kind} {}\0", content.len()));
    hash.update(content);
    let digest = hash.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Makes the trees of some files, all of them, and gives the root's id.
pub(super) fn grow(files: &Files, trees: &mut BTreeMap<String, Vec<Node>>) -> String {
    let all: Vec<(&str, &File)> = files
        .0
        .iter()
        .map(|(path, file)| (path.as_str(), file))
        .collect();
    folder(&all, trees)
}

fn folder(files: &[(&str, &File)], trees: &mut BTreeMap<String, Vec<Node>>) -> String {
    let mut nodes = Vec::new();
    let mut folders: BTreeMap<&str, Vec<(&str, &File)>> = BTreeMap::new();
    for (path, file) in files {
        match path.split_once('/') {
            Some((name, rest)) => folders.entry(name).or_default().push((rest, *file)),
            None => nodes.push(Node {
                name: (*path).to_owned(),
                kind: file.kind,
                id: file.id(),
                size: file.content.len(),
            }),
        }
    }
    for (name, below) in folders {
        nodes.push(Node {
            name: name.to_owned(),
            kind: Kind::Folder,
            id: folder(&below, trees),
            size: 0,
        });
    }
    // Git sorts a folder as if its name ended with a slash.
    nodes.sort_by_key(|node| match node.kind {
        Kind::Folder => format!("{}/", node.name),
        _ => node.name.clone(),
    });
    let mut content = Vec::new();
    for node in &nodes {
        let mode = node.kind.mode().trim_start_matches('0');
        content.extend_from_slice(format!("{mode} {}\0", node.name).as_bytes());
        for pair in node.id.as_bytes().chunks(2) {
            let digits = std::str::from_utf8(pair).unwrap();
            content.push(u8::from_str_radix(digits, 16).unwrap());
        }
    }
    let id = object_id("tree", &content);
    trees.insert(id.clone(), nodes);
    id
}
