//! Files of equal names that several hosts leave in `model/`: SageMaker makes one archive of all hosts' models, and keeps one of each name.

use std::collections::BTreeMap;

use crate::grammar;

/// So many names are said.
const MOST_SAID: usize = 3;

/// A sentence on files that several hosts hold under one name; each host with the paths of its files.
pub(super) fn equal_names<'a>(
    models: impl Iterator<Item = (&'a str, Vec<String>)>,
) -> Option<String> {
    let mut hosts_of: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for (host, files) in models {
        for file in files {
            hosts_of.entry(file).or_default().push(host);
        }
    }
    let equal: Vec<String> = (hosts_of.iter())
        .filter(|(_, hosts)| hosts.len() > 1)
        .map(|(file, hosts)| format!("`{file}` ({})", hosts.join(", ")))
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
