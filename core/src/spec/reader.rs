//! [`Reader`]: what every check of a spec knows, and where it leaves the problems and warnings that it finds, each with its place.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use globset::GlobMatcher;

use super::errors::SpecProblem;
use super::yaml::{Node, Value, YamlKey};
use super::{BackendKind, Job, RunPlace};
use crate::grammar::choice;
use crate::instance::InstanceConfiguration;

/// The place of a value, or of the key before it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct At {
    /// The field path, e.g. `jobs.churn.budget.cost`; empty for the whole file.
    pub(super) path: String,
    /// The keys and items from the root, a zero byte before each. In the path, a name with a dot looks like two keys.
    id: String,
    /// Whether the key is meant, and not its value.
    is_name: bool,
}

impl At {
    /// The whole file.
    pub(super) const ROOT: Self = Self {
        path: String::new(),
        id: String::new(),
        is_name: false,
    };

    fn below(&self, path: String, part: &str) -> Self {
        Self {
            path,
            id: format!("{}\0{part}", self.id),
            is_name: false,
        }
    }

    /// The place of the value of a key below this one.
    pub(super) fn key(&self, key: &str) -> Self {
        let dot = if self.path.is_empty() { "" } else { "." };
        self.below(format!("{}{dot}{}", self.path, shorten(key)), key)
    }

    /// The place at a dotted path of keys below this one, such as `probe.command`; this place for an empty path.
    pub(super) fn below_by(&self, path: &str) -> Self {
        let keys = path.split('.').filter(|key| !key.is_empty());
        keys.fold(self.clone(), |at, key| at.key(key))
    }

    /// The place of a key below this one.
    pub(super) fn name(&self, key: &str) -> Self {
        self.key(key).own_name()
    }

    /// The place of the key of this value.
    pub(super) fn own_name(&self) -> Self {
        Self {
            is_name: true,
            ..self.clone()
        }
    }

    /// The last key or item.
    pub(super) fn last(&self) -> &str {
        self.id.rsplit('\0').next().unwrap_or_default()
    }

    /// The place of an item of this list.
    pub(super) fn item(&self, index: usize) -> Self {
        let part = format!("[{index}]");
        self.below(format!("{}{part}", self.path), &part)
    }
}

/// The knowledge that all checks need, and the problems and warnings that they found so far.
#[derive(Default)]
pub(super) struct Reader<'a> {
    pub(super) problems: Vec<SpecProblem>,
    /// Problems beyond [`Reader::KEPT`], only counted.
    pub(super) further: usize,
    pub(super) warnings: Vec<SpecProblem>,
    /// What to underline for the key and for the value of each field that is written, by the id of its place.
    pub(super) spans: BTreeMap<String, (String, [Range<usize>; 2])>,
    pub(super) known_types: &'a [&'a str],
    /// The region as it is written; absent where it is not.
    pub(super) region: Option<String>,
    /// Absent when it could not be read; then nothing that depends on it is checked.
    pub(super) backend: Option<BackendKind>,
    /// Patterns that compile; absent when the spec allows all.
    pub(super) allowed_instances: Option<Vec<GlobMatcher>>,
    /// What the job at hand trains on, `instance` first; empty where that could not be read.
    pub(super) instances: Rc<[InstanceConfiguration]>,
    /// Those that could be read.
    pub(super) jobs: Rc<[Job]>,
}

impl Reader<'_> {
    /// The most problems kept, so that a hostile file cannot fill the memory.
    const KEPT: usize = 500;

    /// Whether canaries run in this place.
    pub(super) fn is_on(&self, place: RunPlace) -> bool {
        self.place() == place
    }

    /// Where canaries run.
    pub(super) fn place(&self) -> RunPlace {
        self.backend.map_or(RunPlace::Unknown, BackendKind::place)
    }

    /// The backend in an error's words: `the local backend`.
    pub(super) fn backend_words(&self) -> String {
        match self.backend {
            Some(backend) => format!("the {backend} backend"),
            None => "the backend".to_owned(),
        }
    }

    /// Keeps the place of what is read under a key. A collection is shown by its key, as is what was left empty.
    pub(super) fn found(&mut self, at: &At, key: &YamlKey, node: &Node) {
        let shown = match node.value {
            Value::Mapping(_) | Value::Sequence(_) => &key.span,
            _ if node.span.is_empty() => &key.span,
            _ => &node.span,
        };
        let spans = [key.span.clone(), shown.clone()];
        self.spans.insert(at.id.clone(), (at.path.clone(), spans));
    }

    /// Keeps the place of an item of the list `list`.
    pub(super) fn found_item(&mut self, list: &At, index: usize, node: &Node) {
        let span = match node.span.is_empty() {
            true => self.span(list),
            false => node.span.clone(),
        };
        let at = list.item(index);
        self.spans.insert(at.id, (at.path, [span.clone(), span]));
    }

    /// Whether there is such a key or item, readable or not.
    pub(super) fn is_written(&self, at: &At) -> bool {
        self.spans.contains_key(&at.id)
    }

    /// The keys that are written in a mapping, readable or not.
    pub(super) fn keys_below(&self, at: &At) -> Vec<String> {
        let prefix = format!("{}\0", at.id);
        let ids = self.spans.range(prefix.clone()..).map(|(id, _)| id);
        let below = ids.map_while(|id| id.strip_prefix(&prefix));
        let keys = below.filter(|key| !key.contains('\0'));
        keys.map(str::to_owned).collect()
    }

    /// Whether there is such a key, and nothing was wrong with it so far.
    pub(super) fn has(&self, at: &At) -> bool {
        self.is_written(at) && !self.is_wrong(at)
    }

    /// What to underline: the value, or what it would stand in.
    fn span(&self, at: &At) -> Range<usize> {
        let mut ids = std::iter::successors(Some(at.id.as_str()), |id| {
            id.rsplit_once('\0').map(|(above, _)| above)
        });
        let found = ids.find_map(|id| self.spans.get(id));
        found.map_or(0..1, |(_, spans)| spans[usize::from(!at.is_name)].clone())
    }

    /// Whether this machine may have a price: the policy that a spec extends may name one.
    pub(super) fn may_have_local_price(&self) -> bool {
        let keys = ["prices.local", "extends"].map(|key| At::ROOT.below_by(key));
        keys.iter().any(|at| self.is_written(at))
    }

    pub(super) fn is_full(&self) -> bool {
        self.problems.len() >= Self::KEPT
    }

    pub(super) fn wrong(&mut self, at: &At, message: impl Into<String>) {
        self.push(at, message.into(), None);
    }

    /// Adds a problem with its solution.
    pub(super) fn refuse(&mut self, at: &At, message: impl Into<String>, help: impl Into<String>) {
        self.push(at, message.into(), Some(help.into()));
    }

    /// Refuses a value, and gives the `None` of a value that could not be read.
    pub(super) fn refused<T>(
        &mut self,
        at: &At,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Option<T> {
        self.refuse(at, message, help);
        None
    }

    pub(super) fn push(&mut self, at: &At, message: String, help: Option<String>) {
        self.push_at(&at.path, self.span(at), message, help);
    }

    /// Adds a problem of a key that has no field.
    pub(super) fn push_at(
        &mut self,
        path: &str,
        span: Range<usize>,
        message: String,
        help: Option<String>,
    ) {
        if self.is_full() {
            self.further += 1;
            return;
        }
        let problem = SpecProblem::of(path, message, Some(span));
        self.problems.push(SpecProblem { help, ..problem });
    }

    /// Reports text that is not of a form: the problem, behind the text in a sentence, and what to write.
    pub(super) fn form(&mut self, at: &At, text: &str, problem: Option<(&str, &str)>) {
        if let Some((problem, help)) = problem {
            self.refuse(at, format!("{} {problem}", quoted(text)), help);
        }
    }

    /// Reports more of something than are read.
    pub(super) fn at_most<N>(&mut self, at: &At, count: N, what: &str, most: N, are: &str)
    where
        N: Copy + PartialOrd + fmt::Display,
    {
        if count > most {
            self.wrong(at, format!("{count} {what}; at most {most} are {are}"));
        }
    }

    /// Reports more of something than SageMaker takes.
    pub(super) fn too_many(&mut self, at: &At, what: &str, count: usize, limit: usize) {
        if count > limit {
            let message = format!("{count} {what}; SageMaker takes at most {limit}");
            self.wrong(at, message);
        }
    }

    /// Reports a text that is longer than SageMaker takes, and by how much.
    pub(super) fn too_long(&mut self, at: &At, what: &str, text: &str, limit: usize) {
        let length = text.chars().count();
        if length > limit {
            let message = format!("{what} of {length} characters; SageMaker takes at most {limit}");
            self.wrong(at, message);
        }
    }

    /// Reports a name that none of `known` is, with the one that was probably meant.
    pub(super) fn unknown<'a>(
        &mut self,
        at: &At,
        name: &str,
        what: &str,
        known: impl IntoIterator<Item = &'a str>,
        otherwise: Option<&str>,
    ) {
        let help = did_you_mean(name, known).or_else(|| otherwise.map(str::to_owned));
        self.push(at, format!("{} {what}", quoted(name)), help);
    }

    /// Whether a field, or one below it, has a problem.
    pub(super) fn is_wrong(&self, at: &At) -> bool {
        self.problems.iter().any(|problem| {
            let below = problem.field.strip_prefix(&at.path);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        })
    }

    /// Reports a list that was written with nothing in it; one whose items could not be read has its complaints already.
    pub(super) fn refuse_empty<T>(&mut self, at: &At, list: &[T], said: &str, help: Option<&str>) {
        if list.is_empty() && self.is_written(at) && !self.is_wrong(at) {
            self.push(at, said.to_owned(), help.map(str::to_owned));
        }
    }

    /// Reports an amount of `what` that is not above 0.
    pub(super) fn above_0(&mut self, at: &At, amount: f64, what: &str) {
        if amount <= 0.0 {
            self.wrong(at, format!("{what} is more than 0"));
        }
    }

    /// Reports a list of nothing, and each of its numbers that has a problem or does not rise above those before it.
    pub(super) fn rising<N>(
        &mut self,
        at: &At,
        numbers: &[N],
        noun: &str,
        problem: impl Fn(N) -> Option<String>,
    ) where
        N: Copy + Default + PartialOrd + fmt::Display,
    {
        self.refuse_empty(at, numbers, &format!("there is no {noun}"), None);
        let mut last = N::default();
        for (index, number) in numbers.iter().enumerate() {
            let at = at.item(index);
            if let Some(problem) = problem(*number) {
                self.wrong(&at, problem);
            } else if *number <= last {
                let message = format!("{number} does not rise above {last}, the {noun} before");
                let help = format!("write each {noun} once, from small to large");
                self.refuse(&at, message, help);
            }
            if *number > last {
                last = *number;
            }
        }
    }

    /// Adds a warning about a valid value.
    pub(super) fn warn(&mut self, at: &At, message: impl Into<String>) {
        let warning = SpecProblem::of(&at.path, message, Some(self.span(at)));
        self.warnings.push(warning);
    }

    /// Says of a key that is written that it does nothing under the chosen backend.
    pub(super) fn no_effect(&mut self, at: &At) {
        if let Some(backend) = self.backend.filter(|_| self.is_written(at)) {
            self.warn(at, format!("has no effect on the {backend} backend"));
        }
    }
}

/// Reports every broken rule: METHOD "path below the place" if IS_BROKEN => arguments. METHOD is any of the reader's that takes a
/// place first, such as `refuse` (message, help), `wrong` and `warn` (message).
macro_rules! rules {
    ($reader:ident, $at:expr; $($what:ident $path:literal if $is_broken:expr => $($said:expr),*;)+) => {$(
        if $is_broken {
            $reader.$what(&$at.below_by($path) $(, $said)*);
        }
    )+};
}

pub(super) use rules;

/// Text of the file between back ticks, shortened to fit a line.
pub(super) fn quoted(text: &str) -> String {
    format!("`{}`", shorten(text))
}

/// The solution of a problem: ``write `30s`, `30m` or `30h` ``.
pub(super) fn write_one_of(spellings: &[String]) -> Option<String> {
    let spellings: Vec<String> = spellings.iter().map(|text| quoted(text)).collect();
    (!spellings.is_empty()).then(|| format!("write {}", choice(&spellings)))
}

/// At most 64 characters of a text.
fn shorten(text: &str) -> String {
    cut(text, 64)
}

/// At most so many characters of a text, and a mark where there are more.
pub(super) fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The known word most similar to a misspelt one.
pub(super) fn near_miss<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    // The distance takes time proportional to both lengths; no known word is this long.
    if written.len() > 64 {
        return None;
    }
    let written = written.to_lowercase().replace('-', "_");
    let allowed = (written.chars().count() / 3).max(1);
    // A hostile file can have many names. AWS lists more than 200 instance types.
    known
        .into_iter()
        .take(400)
        .map(|word| {
            let plain = word.to_lowercase().replace('-', "_");
            (strsim::damerau_levenshtein(&written, &plain), word)
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, word)| word)
}

/// The solution of a misspelt word: ``did you mean `budget`?``.
pub(super) fn did_you_mean<'a>(
    written: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    near_miss(written, known).map(|near| format!("did you mean {}?", quoted(near)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_miss_is_found_and_a_far_one_is_not() {
        let known = ["budget", "instance", "max_runtime", "job"];
        assert_eq!(near_miss("bugdet", known), Some("budget"));
        assert_eq!(near_miss("Instances", known), Some("instance"));
        assert_eq!(near_miss("max-runtime", known), Some("max_runtime"));
        assert_eq!(near_miss("colour", known), None);
    }

    #[test]
    fn long_text_is_cut_at_a_character() {
        assert_eq!(quoted(&"ü".repeat(65)), format!("`{}…`", "ü".repeat(64)));
    }
}
