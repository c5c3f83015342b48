//! How the project itself starts a script: by a line of its documents, of a Makefile, of a stage of dvc or of a shell script.

use super::data::{folder_of, folders_to};
use super::text::{SourceText, masked, pattern};
use crate::secret;

/// The most lines of a text that are taken.
const MOST_STARTS: usize = 100;

/// How a script is started.
#[derive(Clone, Default)]
pub(super) struct ScriptStart {
    /// The script from its folder, without its ending; empty where nothing says how it is started.
    pub(super) program: String,
    pub(super) is_module: bool,
    /// Whether the arguments are all words of a command that was given and watched.
    pub(super) is_given: bool,
    /// The folder that it is started in, or that its module is found in: the beginning of the script's path.
    pub(super) folder: String,
    pub(super) arguments: Vec<String>,
    /// Of the line that says so: `Makefile:7`; empty without one.
    pub(super) place: String,
    pub(super) why: String,
}

/// The lines of the texts that start scripts, those that speak of training first.
pub(super) fn starts(texts: &[SourceText]) -> Vec<ScriptStart> {
    let mut all = Vec::from_iter(texts.iter().flat_map(SourceText::starts));
    all.sort_by_key(|start| !start.trains());
    all
}

/// Whether arguments may hold a secret, which belongs in no spec.
pub(super) fn may_have_secret(arguments: &str) -> bool {
    let words = arguments.split_whitespace();
    let options = words.filter(|word| word.starts_with('-'));
    let mut names = options.filter_map(|option| option.split('=').next());
    names.any(secret::may_be_named_so) || masked(arguments) != arguments
}

impl SourceText {
    fn starts(&self) -> impl Iterator<Item = ScriptStart> {
        let lines = pattern("start").captures_iter(&self.text);
        let lines = lines.filter(|line| !pattern("no_start").is_match(&line[3]));
        let lines = lines.filter(|line| !may_have_secret(&line[3]));
        lines.take(MOST_STARTS).filter_map(|line| {
            let arguments = line.get(3)?;
            let words = arguments.as_str().split([' ', '\t', '\r', '\n', '\\']);
            let words = words.filter(|word| !word.is_empty());
            let module = line.get(1).map(|module| module.as_str().replace('.', "/"));
            let path = line.get(2).map_or("", |path| path.as_str());
            let place = self.place_at(arguments.start());
            Some(ScriptStart {
                is_module: module.is_some(),
                program: module.unwrap_or_else(|| path.trim_start_matches("./").to_owned()),
                arguments: words.map(str::to_owned).collect(),
                why: format!("guess: as at {place}"),
                place,
                ..ScriptStart::default()
            })
        })
    }
}

impl ScriptStart {
    /// Whether the line says that it trains, such as by a sub-command.
    pub(super) fn trains(&self) -> bool {
        let mut words = self.arguments.iter();
        words.any(|word| word == "train" || word == "fit")
    }

    /// The same for the script of this path, if it is that of the line.
    pub(super) fn of(&self, path: &str) -> Option<Self> {
        let path = path.trim_end_matches(".py");
        let names = [path.trim_end_matches("/__main__"), path].into_iter();
        let mut folders = names.filter_map(|name| name.strip_suffix(&*self.program));
        let folder = folders.find(|folder| folder.is_empty() || folder.ends_with('/'))?;
        Some(Self {
            folder: folder.trim_end_matches('/').to_owned(),
            ..self.clone()
        })
    }

    /// As a module of the outermost package that a script lies in.
    pub(super) fn in_package(path: &str, texts: &[SourceText]) -> Option<Self> {
        let has = |file: &str| texts.iter().any(|text| text.path == file);
        let mut folders = folders_to(path);
        let package = folders.find(|folder| has(&format!("{folder}/__init__.py")))?;
        let folder = folder_of(package);
        let program = path[folder.len()..].trim_start_matches('/');
        let program = program.trim_end_matches(".py");
        Some(Self {
            program: program.trim_end_matches("/__main__").to_owned(),
            is_module: true,
            folder: folder.to_owned(),
            why: format!("guess: a module, since {package} is a package"),
            ..Self::default()
        })
    }
}
