//! The law of the code that counts: where the copy differs, the key does, and the job is affected.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use proptest::prelude::*;

use super::*;
use crate::change::{Change, affected_jobs};
use crate::cli::SpecArguments;
use crate::code::CodeFile;
use crate::git::path_of;
use crate::workspace::checkout::Checkout;

/// Names that git, shells and texts have trouble with are names like others.
const FILES: [&[u8]; 9] = [
    b"a.py",
    b"\"a.py",
    b"a.py\r",
    b"a\nb.py",
    b"n\xff.py",
    b"job/train.py",
    b"job/notes.md",
    b"shared/deep/x.py",
    b"shared/notes.md",
];
/// Links by their targets: to files, folders, links, a circle, a submodule, nothing and another place.
const LINKS: [(&str, &[&str]); 6] = [
    ("job/lib", &["../shared", "../shared/deep", "../cur"]),
    ("job/one.py", &["../a.py", "lib/x.py", "../gone.py"]),
    ("cur", &["shared", "vendor", "job"]),
    ("shared/up", &["..", "../job", "deep"]),
    ("job/vendor", &["../vendor/sub", "../vendor"]),
    ("shared/out", &["/etc/hostname", "../../x", "notes.md"]),
];
const PATHS: [&str; 8] = [
    "",
    "    paths: ['**', '!**/*.md']\n",
    "    paths: [job]\n",
    "    paths: ['job/*.py', 'vendor/sub']\n",
    "    paths: ['job/lib/*.py', 'shared/deep']\n",
    "    paths: ['vendor/*/*.py', 'a*', 'cur/**']\n",
    "    paths: ['job/**', '!job/lib/**', '!vendor/**']\n",
    "    paths: [docs/**]\n",
];
const SOURCES: [&str; 5] = [
    "",
    ", source_dir: job",
    ", source_dir: cur",
    ", source_dir: .",
    ", source_dir: job, dependencies: [cur, a.py, shared/deep]",
];

/// What is done to a checkout.
#[derive(Debug, Clone, Copy)]
enum Flip {
    Content(usize),
    Mode(usize),
    Removed(usize),
    Renamed(usize, usize),
    FileToLink(usize),
    Target(usize, usize),
    LinkRemoved(usize),
    LinkToFile(usize),
    Pointer,
    InSubmodule,
    LineEnds(usize),
    FolderToLink,
}

fn flip() -> impl Strategy<Value = Flip> {
    let (file, link) = (0..FILES.len(), 0..LINKS.len());
    prop_oneof![
        file.clone().prop_map(Flip::Content),
        file.clone().prop_map(Flip::Mode),
        file.clone().prop_map(Flip::Removed),
        (file.clone(), 0..FILES.len()).prop_map(|(one, other)| Flip::Renamed(one, other)),
        file.clone().prop_map(Flip::FileToLink),
        (link.clone(), 0..3_usize).prop_map(|(link, target)| Flip::Target(link, target)),
        link.clone().prop_map(Flip::LinkRemoved),
        link.prop_map(Flip::LinkToFile),
        Just(Flip::Pointer),
        Just(Flip::InSubmodule),
        file.prop_map(Flip::LineEnds),
        Just(Flip::FolderToLink),
    ]
}

struct CheckedTree {
    folder: tempfile::TempDir,
}

impl CheckedTree {
    fn new(paths: &str, source: &str, files: &[bool], links: &[usize]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let checked = Self { folder };
        let sub = checked.path("vendor/sub");
        fs::create_dir_all(&sub).unwrap();
        fs::write(sub.join("s.py"), "1\n").unwrap();
        checked.git("vendor/sub", "init --quiet");
        checked.commit("vendor/sub");
        checked.git("", "init --quiet");
        for (name, _) in FILES.iter().zip(files).filter(|(_, is_there)| **is_there) {
            checked.write(name, b"one\ntwo\n");
        }
        for ((name, targets), chosen) in LINKS.iter().zip(links) {
            if let Some(target) = targets.get(*chosen) {
                checked.link(target, name);
            }
        }
        let spec = format!(
            "version: 1\nbackend: local\njobs:\n  sums:\n{paths}    training: {{command: [sh], channels: {{train: {{uri: data}}}}{source}}}\n    instance: local\n"
        );
        checked.write(b"canary-gate.yml", spec.as_bytes());
        checked.commit("");
        checked
    }

    fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &[u8], content: &[u8]) {
        let path = self.path(path_of(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        fs::write(path, content).unwrap();
    }

    fn link(&self, target: &str, name: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let _ = fs::remove_file(&path);
        symlink(target, path).unwrap();
    }

    fn git(&self, folder: &str, arguments: &str) {
        let configuration =
            "-c user.name=Test -c user.email=test@example.invalid -c advice.addEmbeddedRepo=false";
        let mut git = Command::new("git");
        git.current_dir(self.path(folder));
        git.args(configuration.split(' '))
            .args(arguments.split(' '));
        let output = git.output().unwrap();
        assert!(output.status.success(), "{arguments}: {output:?}");
    }

    fn commit(&self, folder: &str) {
        self.git(folder, "add --all");
        self.git(folder, "commit --quiet --allow-empty --message x");
    }

    fn flip(&self, flip: Flip) {
        let file = |index: usize| self.path(path_of(FILES[index]));
        let of_file = |index: usize, act: &dyn Fn(&Path)| {
            let path = file(index);
            if path.is_file() && !path.is_symlink() {
                act(&path);
            }
        };
        match flip {
            Flip::Content(index) => self.write(FILES[index], b"one\ntwi\n"),
            Flip::LineEnds(index) => {
                of_file(index, &|path| fs::write(path, "one\r\ntwo\r\n").unwrap());
            }
            Flip::Mode(index) => of_file(index, &|path| {
                use std::os::unix::fs::PermissionsExt;
                fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
            }),
            Flip::Removed(index) => of_file(index, &|path| fs::remove_file(path).unwrap()),
            Flip::Renamed(one, other) => of_file(one, &|path| {
                let _ = fs::create_dir_all(file(other).parent().unwrap());
                let _ = fs::rename(path, file(other));
            }),
            Flip::FileToLink(index) => of_file(index, &|path| {
                fs::remove_file(path).unwrap();
                symlink("shared/deep/x.py", path).unwrap();
            }),
            Flip::Target(link, target) => {
                let (name, targets) = LINKS[link];
                self.link(targets[target % targets.len()], name);
            }
            Flip::LinkRemoved(link) => drop(fs::remove_file(self.path(LINKS[link].0))),
            Flip::LinkToFile(link) => self.write(LINKS[link].0.as_bytes(), b"new\n"),
            Flip::FolderToLink => {
                if fs::rename(self.path("shared"), self.path("moved")).is_ok() {
                    symlink("moved", self.path("shared")).unwrap();
                }
            }
            Flip::Pointer => {
                fs::write(self.path("vendor/sub/s.py"), "2\n").unwrap();
                self.commit("vendor/sub");
            }
            Flip::InSubmodule => fs::write(self.path("vendor/sub/s.py"), "3\n").unwrap(),
        }
    }

    fn project(&self) -> Project {
        let spec = Some(self.path("canary-gate.yml"));
        Project::as_it_stands(&SpecArguments { spec }).unwrap()
    }
}

/// What a canary may get: names, contents, and whether they can be executed.
fn copy(project: &Project) -> BTreeMap<PathBuf, (Vec<u8>, bool)> {
    use std::os::unix::fs::PermissionsExt;
    let code = &project.code().unwrap().of_jobs["sums"];
    let files = code.files().iter().filter(|file| file.kind.is_file());
    let read = |file: &CodeFile| {
        let path = project.root.join(&file.real);
        let mode = path.metadata().unwrap().permissions().mode();
        (
            file.path.clone(),
            (fs::read(path).unwrap(), mode & 0o100 != 0),
        )
    };
    files.map(read).collect()
}

fn is_affected(project: &Project, base: &str) -> bool {
    let checkout = project.checkout.as_ref().and_then(Checkout::git);
    let paths = project.changed_since(checkout.unwrap(), base).unwrap();
    let change = Change::Paths {
        paths,
        between: String::new(),
    };
    let code = &project.code().unwrap().of_jobs;
    !affected_jobs(&project.spec, &project.place, None, &change, code).is_empty()
}

/// The key that a base's commit has.
fn key_at(project: &Project, commit: &str) -> Option<Key> {
    let checkout = project.checkout.as_ref().and_then(Checkout::git).unwrap();
    let job = &project.spec.jobs[0];
    let tree = checkout.tree(commit).unwrap();
    let code = CodeTree::of(&tree, CodeSelection::of(job, "canary-gate.yml", "", None)).unwrap();
    key_of_code(project.spec.backend, job, &code)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_differs_in_the_copy_differs_in_the_key_and_affects_the_job(
        paths in prop::sample::select(&PATHS),
        source in prop::sample::select(&SOURCES),
        files in prop::collection::vec(prop::bool::weighted(0.8), FILES.len()),
        links in prop::collection::vec(0..4_usize, LINKS.len()),
        flips in prop::collection::vec(flip(), 1..3),
        is_committed: bool,
    ) {
        let checked = CheckedTree::new(paths, source, &files, &links);
        let before = checked.project();
        let (job, key) = (&before.spec.jobs[0], before.code_key(&before.spec.jobs[0]).unwrap());
        prop_assert_eq!(key_at(&before, "HEAD"), key);
        prop_assert!(!is_affected(&before, "HEAD"));
        let copied = copy(&before);
        checked.git("", "branch base");
        flips.iter().for_each(|flip| checked.flip(*flip));
        if is_committed {
            checked.commit("");
        }
        let after = checked.project();
        if copied != copy(&after) {
            prop_assert_ne!(after.code_key(job).unwrap(), key);
            prop_assert!(is_affected(&after, "base"));
        }
    }
}
