//! Files of equal names that several hosts leave in `model/`: SageMaker makes one archive of all hosts' models, and keeps one of each name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::grammar;

/// More are not looked at.
const MOST_FILES: usize = 10_000;
/// So many names are said.
const MOST_SAID: usize = 3;

/// A sentence on files that several of these `/opt/ml/model` hold under one name; each with its host's name.
pub(super) fn equal_names<'a>(models: impl Iterator<Item = (&'a str, PathBuf)>) -> Option<String> {
    let mut hosts_of: BTreeMap<PathBuf, Vec<&str>> = BTreeMap::new();
    for (host, model) in models {
        for file in files_below(&model) {
            hosts_of.entry(file).or_default().push(host);
        }
    }
    let equal: Vec<String> = (hosts_of.iter())
        .filter(|(_, hosts)| hosts.len() > 1)
        .map(|(file, hosts)| format!("`{}` ({})", file.display(), hosts.join(", ")))
        .collect();
    let more = equal.len().saturating_sub(MOST_SAID);
    let mut said: Vec<String> = equal.into_iter().take(MOST_SAID).collect();
    if more > 0 {
        said.push(grammar::count(more, "other"));
    }
    (!said.is_empty()).then(|| {
        format!(
            "several hosts left files of one name in model/, and SageMaker, which makes one archive of all hosts' models, keeps one of each: {}",
            grammar::list(&said)
        )
    })
}

/// The paths of plain files below a folder, relative to it; links are not followed.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![PathBuf::new()]);
    while let Some(next) = open.pop() {
        let Ok(entries) = std::fs::read_dir(folder.join(&next)) else {
            continue;
        };
        for entry in entries.flatten() {
            let path = next.join(entry.file_name());
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => open.push(path),
                Ok(kind) if kind.is_file() => found.push(path),
                _ => {}
            }
            if found.len() >= MOST_FILES {
                return found;
            }
        }
    }
    found
}
