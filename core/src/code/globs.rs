//! A job's `paths`.

use std::path::Path;

use globset::{Glob, GlobBuilder, GlobMatcher};

/// A name that no pattern means.
const ANY: &str = "\u{1}";

/// A job's `paths`: the last matching glob decides, and `!` excludes. By default nothing matches.
#[derive(Debug, Clone, Default)]
pub struct PathGlobs {
    globs: Vec<PathGlob>,
}

#[derive(Debug, Clone)]
struct PathGlob {
    matcher: GlobMatcher,
    includes: bool,
}

impl PathGlobs {
    /// `patterns` are valid globs, as a [`crate::spec::Spec`] holds them; `folder` is the spec's, relative to the checkout root.
    pub fn new(patterns: &[String], folder: &str) -> Self {
        let globs = patterns.iter().filter_map(|pattern| {
            let excluded = pattern.strip_prefix('!');
            Some(PathGlob {
                matcher: glob(&from_root(excluded.unwrap_or(pattern), folder))?,
                includes: excluded.is_none(),
            })
        });
        Self {
            globs: globs.collect(),
        }
    }

    /// What the last pattern that matches `path` says; `None` where none does.
    pub fn decide(&self, path: &Path) -> Option<bool> {
        if never_matches(path) {
            return Some(false);
        }
        let mut last_first = self.globs.iter().rev();
        let decides = last_first.find(|glob| glob.matcher.is_match(path));
        decides.map(|glob| glob.includes)
    }

    /// Whether `path`, relative to the checkout root, is meant.
    pub fn matches(&self, path: impl AsRef<Path>) -> bool {
        self.decide(path.as_ref()) == Some(true)
    }

    /// Whether the folder `path`, such as a submodule, or anything that may lie in it is meant.
    pub fn may_match_in(&self, path: &Path) -> bool {
        let inside = [path.join(ANY), path.join(ANY).join(ANY)];
        let mut last_first = self.globs.iter().rev();
        let decides = last_first.find(|glob| match glob.includes {
            true => glob.may_match_in(path),
            false => inside.iter().all(|path| glob.matcher.is_match(path)),
        });
        !never_matches(path) && decides.is_some_and(|glob| glob.includes)
    }
}

impl PathGlob {
    /// Folder by folder: the pattern may go on where the path ends.
    fn may_match_in(&self, path: &Path) -> bool {
        let mut parts = self.matcher.glob().glob().split('/');
        for name in path.components() {
            match parts.next() {
                // What stands behind may be anywhere.
                Some(part) if part == "**" || part.contains(['{', '}']) => return true,
                Some(part) if glob(part).is_some_and(|part| part.is_match(name)) => {}
                _ => return false,
            }
        }
        true
    }
}

fn glob(pattern: &str) -> Option<GlobMatcher> {
    let glob: Glob = GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .ok()?;
    Some(glob.compile_matcher())
}

/// A pattern of the spec as a pattern over paths from the checkout root.
fn from_root(pattern: &str, folder: &str) -> String {
    if let Some(rooted) = pattern.strip_prefix('/') {
        return rooted.to_owned();
    }
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
    if folder.is_empty() {
        pattern.to_owned()
    } else {
        // The folder's own name is text, not a pattern.
        format!("{}/{pattern}", globset::escape(folder))
    }
}

/// The folders of canary-gate and git never concern a job.
fn never_matches(path: &Path) -> bool {
    path.components()
        .any(|part| part.as_os_str() == ".git" || part.as_os_str() == ".canary-gate")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn globs(patterns: &[&str], folder: &str) -> PathGlobs {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        PathGlobs::new(&patterns, folder)
    }

    /// Paths are relative to the spec's folder, which is no pattern itself; a leading slash is the root, the last glob that matches
    /// decides, a star stays within its folder, and the folders of the gate and of git never match.
    #[test]
    fn what_globs_match() {
        for case in "\
services/churn: training/** requirements.txt = services/churn/training/train.py services/churn/requirements.txt ! training/train.py services/churn/requirements.txt.bak
services/churn: /shared/** = shared/features.py
: ** !**/*.md model-card.md = train.py model-card.md ! docs/notes.md
: src/*.py = ! src/deep/train.py
odd[1]: ** = odd[1]/train.py ! odd1/train.py
: ** = ! .canary-gate/measurements.jsonl vendor/.git/config"
            .lines()
        {
            let (folder, rest) = case.split_once(": ").unwrap();
            let (patterns, paths) = rest.split_once(" = ").unwrap();
            let globs = globs(&patterns.split(' ').collect::<Vec<_>>(), folder);
            let mut is_meant = true;
            for path in paths.split(' ') {
                match path {
                    "!" => is_meant = false,
                    path => assert_eq!(globs.matches(path), is_meant, "{case}: {path}"),
                }
            }
        }
    }

    #[test]
    fn a_folder_is_meant_where_something_in_it_may_be() {
        for (patterns, is_meant) in [
            (&["vendor/lib"][..], true),
            (&["vendor/lib/**"], true),
            (&["vendor/lib/*.py"], true),
            (&["vendor/*/deep/x.py"], true),
            (&["**/*.py"], true),
            (&["**", "!vendor/**"], false),
            (&["**", "!vendor/lib/**"], false),
            (&["**", "!**/*.md"], true),
            (&["vendor/other/**"], false),
            (&["vendor/*.py"], false),
        ] {
            let meant = globs(patterns, "").may_match_in(Path::new("vendor/lib"));
            assert_eq!(meant, is_meant, "{patterns:?}");
        }
    }
}
