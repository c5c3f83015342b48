//! All that was found in a checkout, in order of how likely it is what trains.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::finds::{
    self, Find, FoundContainer, FoundData, FoundLaunch, FoundScript, SeenFile, data_folders,
};
use super::read_file::ReadFile;

/// So many other candidates are named.
const MOST_NAMED: usize = 5;

/// What was found; the likeliest of each kind first.
#[derive(Default)]
pub(super) struct Overview {
    pub(super) launches: Vec<FoundLaunch>,
    pub(super) scripts: Vec<FoundScript>,
    pub(super) containers: Vec<FoundContainer>,
    pub(super) data: Vec<FoundData>,
    /// Files of packages.
    pub(super) requirements: Vec<String>,
    /// Every file that git knows.
    pub(super) files: BTreeSet<String>,
}

impl Overview {
    /// `code` are the files that git knows, `texts` those of them that were read; `seen` are all, also those that git ignores.
    pub(super) fn of(code: Vec<String>, texts: &[ReadFile], seen: &[SeenFile]) -> Self {
        let mut found = Self {
            data: data_folders(seen),
            files: code.into_iter().collect(),
            ..Self::default()
        };
        for find in texts.iter().flat_map(finds::finds) {
            match find {
                Find::Launch(launch) => found.launches.push(*launch),
                Find::Script(script) => found.scripts.push(script),
                Find::Container(container) => found.containers.push(container),
                Find::Requirements(requirements) => found.requirements.push(requirements.path),
            }
        }
        let is_of_tests = |place: &str| {
            place
                .split('/')
                .any(|part| matches!(part, "test" | "tests"))
        };
        found.launches.sort_by_key(|launch| {
            (
                is_of_tests(&launch.place),
                Reverse(launch.literals()),
                launch.place.clone(),
            )
        });
        // A file that starts training jobs is no script of one.
        let starts = |script: &FoundScript| {
            let launches = &found.launches;
            launches
                .iter()
                .any(|launch| launch.place.split(':').next() == Some(script.path.as_str()))
        };
        found.scripts.retain(|script| !starts(script));
        found.scripts.sort_by_key(|script| {
            (
                Reverse(script.score),
                depth(&script.path),
                script.path.clone(),
            )
        });
        found
            .containers
            .sort_by_key(|container| (depth(&container.path), container.path.clone()));
        found
            .requirements
            .sort_by_key(|path| (depth(path), path.clone()));
        found
    }

    /// A file of the checkout, by a path from a folder, else from the root.
    pub(super) fn file_from(&self, folder: &str, path: &str) -> Option<String> {
        let path = path.trim_start_matches("./");
        let candidates = [join(folder, path), path.to_owned()];
        candidates
            .into_iter()
            .find(|file| self.files.contains(file))
    }

    /// A folder of the checkout, by a path from a folder, else from the root; `""` is the root.
    pub(super) fn folder_from(&self, folder: &str, path: &str) -> Option<String> {
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let path = if path == "." { "" } else { path };
        let candidates = [join(folder, path), path.to_owned()];
        candidates
            .into_iter()
            .find(|folder| self.has_folder(folder))
    }

    fn has_folder(&self, folder: &str) -> bool {
        let below = format!("{folder}/");
        folder.is_empty()
            || self
                .files
                .range(below.clone()..)
                .next()
                .is_some_and(|file| file.starts_with(&below))
    }

    /// The other candidates, in a few words each; `chosen` are the places of what is used.
    pub(super) fn others(&self, chosen: &[&str]) -> Vec<String> {
        let launches = self
            .launches
            .iter()
            .map(|launch| format!("{} ({})", launch.place, launch.what));
        let scripts = self.scripts.iter().map(|script| script.path.clone());
        let containers = self
            .containers
            .iter()
            .map(|container| container.path.clone());
        let all = launches.chain(scripts).chain(containers);
        let mut others: Vec<String> = all
            .filter(|other| !chosen.iter().any(|chosen| other.starts_with(chosen)))
            .collect();
        let further = others.len().saturating_sub(MOST_NAMED);
        others.truncate(MOST_NAMED);
        if further > 0 {
            others.push(format!("{further} more"));
        }
        others
    }
}

fn depth(path: &str) -> usize {
    path.matches('/').count()
}

/// A path below a folder, without its `.` and `..`.
pub(super) fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
