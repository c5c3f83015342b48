//! The texts of a checkout, and what `init` looks for in them by patterns: it parses nothing.

use std::sync::LazyLock;

use regex::Regex;

use crate::secret;

/// What is looked for, by name. The name of a sign of a script that trains is its weight and what it shows.
pub(super) static PATTERNS: LazyLock<Vec<(&str, Regex)>> = LazyLock::new(|| {
    let lines = include_str!("patterns.txt").lines();
    let named = lines.filter_map(|line| line.split_once(" = "));
    let compiled = named.map(|(name, text)| (name, Regex::new(text).expect("a test compiles it")));
    compiled.collect()
});

pub(super) fn pattern(name: &str) -> &'static Regex {
    let known = PATTERNS.iter().find(|(known, _)| *known == name);
    let (_, pattern) = known.expect("it is in the list");
    pattern
}

/// A text without what may be a secret.
pub(super) fn masked(text: &str) -> String {
    secret::mask_named(&secret::mask_shapes(text))
}

/// A text of the checkout.
pub(super) struct SourceText {
    /// Relative to the spec's folder.
    pub(super) path: String,
    pub(super) text: String,
}

impl SourceText {
    pub(super) fn is_python(&self) -> bool {
        self.path.ends_with(".py") || pattern("python").is_match(&self.text)
    }

    /// `src/train.py:12`, of an offset.
    pub(super) fn place_at(&self, offset: usize) -> String {
        let line = 1 + self.text[..offset].matches('\n').count();
        format!("{}:{line}", self.path)
    }

    /// The place of the first line of code that is like this: it neither defines what it names nor only speaks of it.
    pub(super) fn place_of(&self, pattern: &Regex) -> Option<String> {
        let is_like = |line: &str| {
            let code = line.trim_start();
            let mut others = ["#", "def ", "class "].iter();
            !others.any(|other| code.starts_with(other)) && pattern.is_match(code)
        };
        let line = self.text.lines().position(is_like)?;
        Some(format!("{}:{}", self.path, line + 1))
    }

    /// Where it starts a training job on SageMaker.
    pub(super) fn launch(&self) -> Option<String> {
        if !self.text.contains("sagemaker") {
            return None;
        }
        let launch = pattern("launch");
        match self.path.ends_with(".ipynb") {
            true => launch.is_match(&self.text).then(|| self.path.clone()),
            false => self.place_of(launch).filter(|_| self.is_python()),
        }
    }

    /// Where a Dockerfile says that its image trains.
    pub(super) fn container(&self) -> Option<String> {
        let is_dockerfile = pattern("dockerfile").is_match(&self.path);
        let place = self.place_of(pattern("training_image"));
        place.filter(|_| is_dockerfile)
    }

    /// The parts of what may be paths in it, and of what it imports.
    pub(super) fn path_parts(&self) -> impl Iterator<Item = String> {
        let is_settings = pattern("settings").is_match(&self.path);
        let path = pattern(if is_settings { "setting" } else { "literal" });
        let found = path.captures_iter(&self.text);
        let paths = found.filter_map(|path| Some(path.iter().flatten().last()?.as_str()));
        let parts = paths.flat_map(|path| path.split(['/', '.']));
        parts.map(str::to_owned)
    }
}
