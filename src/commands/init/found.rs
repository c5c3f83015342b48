//! What `init` finds in the texts of a checkout: what trains, and the files that it needs. It looks for words and reads no grammar; the
//! draft marks what it takes from them as a guess.

use std::cmp::Reverse;
use std::collections::HashSet;

use super::data::{FoundData, SeenFile, data_folders, folder_of, name_of};
use super::start::{ScriptStart, starts};
use super::text::{PATTERNS, SourceText, pattern};
use crate::grammar::distinct;

/// A text with a lower score is not a script of training.
const LOWEST_SCORE: i32 = 5;
/// The most options that are taken of a script: SageMaker takes 100 hyperparameters, some of which start the script.
const MOST_OPTIONS: usize = 90;
/// Added to the score of a script that the project starts.
const SCORE_OF_START: i32 = 5;
/// Added to a script's score where its name, or how it is started, speaks of training, and taken from it where that speaks of other
/// work.
const SCORE_OF_NAME: i32 = 4;

/// A script that trains.
#[derive(Default)]
pub(super) struct FoundScript {
    pub(super) path: String,
    score: i32,
    /// Why it is taken for one: `SM_CHANNEL_* at train.py:9`.
    pub(super) why: String,
    pub(super) options: Vec<FoundOption>,
    /// How the project starts it, or most likely does.
    pub(super) start: ScriptStart,
    /// Whether a path in it leads out of the folder that it is started in.
    pub(super) leaves_its_folder: bool,
    /// The parts of what may be paths in it and in the files that it names: `data`, `train` and `csv` of `data/train.csv`.
    path_parts: HashSet<String>,
    /// The channels whose variables it reads, in small letters.
    pub(super) channels: Vec<String>,
}

/// An option of a script.
pub(super) struct FoundOption {
    /// Without its dashes.
    pub(super) name: String,
    /// A number, or a path; `None` where it must be given, or is nothing.
    pub(super) default: Option<String>,
    pub(super) place: String,
}

/// What was found; the likeliest of each kind first.
pub(super) struct Overview {
    /// The places of calls that start training jobs on SageMaker: `launch.py:12`.
    pub(super) launches: Vec<String>,
    pub(super) scripts: Vec<FoundScript>,
    /// The places of the lines by which Dockerfiles are of images that train.
    pub(super) containers: Vec<String>,
    pub(super) data: Vec<FoundData>,
    /// The interpreter of the checkout's virtual environment, which no canary gets a copy of.
    pub(super) python: Option<String>,
}

impl Overview {
    /// `texts` are files that git knows; `seen` are all files, also those that git ignores.
    pub(super) fn of(texts: &[SourceText], seen: &[SeenFile]) -> Self {
        let starts = starts(texts);
        // A file that starts training jobs is not a script of one.
        let scripts = texts.iter().filter(|text| text.launch().is_none());
        let scripts = scripts.filter_map(|text| Some(text.script()?.started(&starts, texts)));
        let scripts = scripts.filter(|script| script.score >= LOWEST_SCORE);
        let mut scripts = Vec::from_iter(scripts);
        scripts.sort_by_key(|script| (Reverse(script.score), depth(&script.path)));
        if let Some(script) = scripts.first_mut() {
            script.add_paths(texts);
        }
        let is_named = |path: &str| (scripts.first()).is_some_and(|script| script.names(path));
        Self {
            launches: by_depth(texts.iter().filter_map(SourceText::launch)),
            containers: by_depth(texts.iter().filter_map(SourceText::container)),
            data: data_folders(seen, is_named),
            python: None,
            scripts,
        }
    }
}

/// How deep a path lies, and where.
fn depth(path: &str) -> (usize, String) {
    (path.matches('/').count(), path.to_owned())
}

fn by_depth(paths: impl Iterator<Item = String>) -> Vec<String> {
    let mut paths = Vec::from_iter(paths);
    paths.sort_by_key(|path| depth(path));
    paths
}

fn is_number(text: &str) -> bool {
    text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The file of a place: without its line.
pub(super) fn path_of(place: &str) -> &str {
    place.rsplit_once(':').map_or(place, |(path, _)| path)
}

impl FoundOption {
    /// Its default, where that is a number.
    pub(super) fn number(&self) -> Option<&str> {
        self.default.as_deref().filter(|text| is_number(text))
    }

    /// Whether it is still to be handed over, or has a number in the arguments, which counts for its default.
    pub(super) fn is_left_by(&mut self, start: &ScriptStart) -> bool {
        let (arguments, name) = (&start.arguments, format!("--{}", self.name));
        let is_it = |word: &String| word.split('=').next() == Some(&name);
        let Some(at) = arguments.iter().position(is_it) else {
            return true;
        };
        let next = arguments.get(at + 1);
        self.default = next.filter(|word| is_number(word)).cloned();
        self.place.clone_from(&start.place);
        self.default.is_some()
    }

    /// Whether it leads to data: by its default, or since it has none and its name says so.
    pub(super) fn leads_to(&self, data: &str) -> bool {
        match &self.default {
            Some(path) => path == data,
            None => pattern("option_of_data").is_match(&self.name),
        }
    }
}

impl FoundScript {
    /// Whether each part of a path stands in it, or of the path from its own folder.
    pub(super) fn names(&self, path: &str) -> bool {
        self.has_parts_of(path) || self.names_from_its_folder(path)
    }

    pub(super) fn names_from_its_folder(&self, path: &str) -> bool {
        let below = path.strip_prefix(&format!("{}/", folder_of(&self.path)));
        !self.has_parts_of(path) && below.is_some_and(|below| self.has_parts_of(below))
    }

    pub(super) fn has_parts_of(&self, path: &str) -> bool {
        let mut parts = path.split(['/', '.']);
        parts.all(|part| self.path_parts.contains(part))
    }

    /// With how it is started.
    fn started(mut self, starts: &[ScriptStart], texts: &[SourceText]) -> Self {
        let of_project = starts.iter().find_map(|start| start.of(&self.path));
        self.score += of_project.as_ref().map_or(0, |_| SCORE_OF_START);
        let trains = of_project.as_ref().is_some_and(ScriptStart::trains);
        if trains || pattern("trains").is_match(name_of(&self.path)) {
            self.score += SCORE_OF_NAME;
        } else if pattern("other_work").is_match(name_of(&self.path)) {
            self.score -= SCORE_OF_NAME;
        }
        let in_package = || ScriptStart::in_package(&self.path, texts);
        if let Some(start) = of_project.or_else(in_package) {
            self.options.retain_mut(|option| option.is_left_by(&start));
            self.start = start;
        }
        self
    }

    /// Adds the paths in the arguments and in the files that it names, such as its settings.
    fn add_paths(&mut self, texts: &[SourceText]) {
        let words = self.start.arguments.iter();
        let parts = words.flat_map(|word| word.split(['/', '.', '=', ':', ',']));
        self.path_parts.extend(parts.map(str::to_owned));
        let stem = |path| name_of(path).split('.').next().unwrap_or_default();
        let named = (texts.iter()).filter(|text| self.path_parts.contains(stem(&text.path)));
        let named = HashSet::<String>::from_iter(named.flat_map(SourceText::path_parts));
        self.path_parts.extend(named);
    }
}

impl SourceText {
    fn script(&self) -> Option<FoundScript> {
        if !self.is_python() || pattern("no_script").is_match(&self.path) {
            return None;
        }
        let found = PATTERNS.iter().filter_map(|(name, sign)| {
            let (score, what) = name.split_once(' ')?;
            let place = self.place_of(sign)?;
            Some((score.parse().ok()?, format!("{what} at {place}")))
        });
        let found: Vec<(i32, String)> = found.collect();
        let score = found.iter().map(|(score, _)| score).sum();
        let sign = found.into_iter().next();
        let why = sign.map_or("guess: its name".to_owned(), |(_, why)| why);
        Some(FoundScript {
            path: self.path.clone(),
            score,
            // By its path, with nothing behind it.
            start: ScriptStart {
                why: why.clone(),
                ..ScriptStart::default()
            },
            why,
            options: self.options(),
            leaves_its_folder: pattern("leaves_its_folder").is_match(&self.text),
            path_parts: self.path_parts().collect(),
            channels: self.channels(),
        })
    }

    /// The options with a number or a path, and those without a default, each once.
    fn options(&self) -> Vec<FoundOption> {
        let mut seen = HashSet::new();
        let calls = pattern("option").captures_iter(&self.text);
        let options = calls.filter_map(|call| {
            let arguments = call.get(1)?;
            let name = pattern("option_name").captures(arguments.as_str())?;
            let default = pattern("option_default").captures(arguments.as_str())?;
            seen.insert(name[1].to_owned()).then(|| FoundOption {
                name: name[1].to_owned(),
                default: match (default.get(1), default.get(2)) {
                    (Some(number), _) => Some(number.as_str().replace('_', "")),
                    (None, path) => path.map(|path| path.as_str().to_owned()),
                },
                place: self.place_at(arguments.start()),
            })
        });
        options.take(MOST_OPTIONS).collect()
    }

    /// The names behind `SM_CHANNEL_`, each once.
    fn channels(&self) -> Vec<String> {
        let names = pattern("channel").captures_iter(&self.text);
        distinct(names.map(|channel| channel[1].to_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(path: &str, text: &str) -> SourceText {
        SourceText {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_script_is_known_by_what_it_reads_and_does() {
        let source = "import argparse, os\nparser = argparse.ArgumentParser()\nparser.add_argument('-e', '--epochs', type=int, default=10,\n    help='passes (all data)')\nparser.add_argument('--train', default=os.environ['SM_CHANNEL_TRAIN'])\nparser.add_argument('--lr', default=1e-3)\nif __name__ == '__main__':\n    model.fit(x)\n";
        let found = text("src/train.py", source).script().unwrap();
        assert!(found.score >= LOWEST_SCORE);
        assert_eq!(found.why, "SM_CHANNEL_* at src/train.py:5");
        assert_eq!(found.channels, ["train"]);
        let options: Vec<_> = (found.options.iter())
            .map(|option| (&*option.name, option.number().unwrap(), &*option.place))
            .collect();
        assert_eq!(
            options,
            [
                ("epochs", "10", "src/train.py:3"),
                ("lr", "1e-3", "src/train.py:6")
            ]
        );
    }

    #[test]
    fn other_files_are_no_scripts_of_training() {
        for (path, source) in [
            ("setup.py", "if __name__ == '__main__': train()"),
            ("tests/train.py", "SM_CHANNEL_TRAIN model.fit(x)"),
            ("src/plot.py", "if __name__ == '__main__': plot()"),
            (
                "src/a.py",
                "def train(x):\n    # fit(x)\n    pass\n__main__",
            ),
            ("README.md", "train SM_CHANNEL_TRAIN"),
        ] {
            let found = Overview::of(&[text(path, source)], &[]).scripts;
            assert!(found.is_empty(), "{path}");
        }
    }

    #[test]
    fn a_script_that_the_project_starts_is_known_by_that() {
        // Where it is started, by what lines, which script that is, and its arguments.
        let rows = r"
            README.md | python recommend.py fit --wandb-key a1b2\npython recommend.py fit --db shop.db | recommend.py | fit --db shop.db
            README.md | python src/main.py  # by default\npython src/main.py trainer.epochs=20 | src/main.py |
            run.sh | python3 main.v2.py --iters 200 2>&1 | main.v2.py | --iters 200
            Makefile | python -m spam train data\r\n | spam/__main__.py | train data";
        for row in rows.trim().lines() {
            let words = Vec::from_iter(row.split('|').map(str::trim));
            let [arguments, path] = [1, 2].map(|place| words[words.len() - place]);
            let lines = words[1].replace(r"\r", "\r").replace(r"\n", "\n");
            let texts = [(words[0], &*lines), (path, ""), ("prepare.py", "")];
            let found = Overview::of(&texts.map(|(path, lines)| text(path, lines)), &[]).scripts;
            assert_eq!(found[0].path, path);
            assert_eq!(found[0].start.arguments.join(" "), arguments, "{row}");
        }
    }

    #[test]
    fn a_call_that_starts_a_training_job_is_known_by_its_name() {
        let place = |path: &str, source: &str| text(path, source).launch();
        for call in [
            "est = PyTorch(entry_point='a.py')",
            "sagemaker.estimator.Estimator(image)",
            "trainer = ModelTrainer(",
            "boto3.client('sagemaker').create_training_job(**params)",
        ] {
            let source = format!("import sagemaker\n{call}\n");
            assert_eq!(place("a.py", &source).as_deref(), Some("a.py:2"), "{call}");
            assert_eq!(place("a.ipynb", &source).as_deref(), Some("a.ipynb"));
            assert_eq!(place("a.md", &source), None);
        }
        for other in ["class MyEstimator(Base):", "# PyTorch()", "import PyTorch"] {
            assert_eq!(place("a.py", &format!("sagemaker\n{other}\n")), None);
        }
        assert_eq!(place("a.py", "Estimator()"), None);
    }

    #[test]
    fn a_dockerfile_of_training_is_known_by_a_line() {
        let place = |path: &str, source: &str| text(path, source).container();
        assert_eq!(
            place(
                "container/Dockerfile",
                "FROM python\nCOPY trees /opt/program\n"
            )
            .as_deref(),
            Some("container/Dockerfile:2")
        );
        assert_eq!(place("Dockerfile", "FROM nginx\n"), None);
        assert_eq!(place("docker.md", "/opt/ml"), None);
    }
}
