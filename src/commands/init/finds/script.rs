//! Scripts that train: what they are started with, and where they read their data.

use super::find::{Find, FindKind, FoundOption, FoundScript};
use super::launch;
use crate::commands::init::python::{PythonCall, PythonLiteral, PythonValue};
use crate::commands::init::read_file::ReadFile;

pub(super) const KIND: FindKind = FindKind {
    calls: &[
        "add_argument",
        "option",
        "Option",
        "fit",
        "train",
        "backward",
        "train_on_batch",
        "read_csv",
        "read_parquet",
        "load_dataset",
    ],
    look,
};

/// A text that is no script of training has a lower score.
const LOWEST_SCORE: i32 = 5;
/// A script has no more options that a spec would name.
const MOST_OPTIONS: usize = 100;

fn look(file: &ReadFile) -> Vec<Find> {
    script(file).map(Find::Script).into_iter().collect()
}

fn script(file: &ReadFile) -> Option<FoundScript> {
    if !file.is_python() || file.path.ends_with(".ipynb") {
        return None;
    }
    let name = file.path.rsplit('/').next().unwrap_or(&file.path);
    let stem = name.strip_suffix(".py").unwrap_or(name).to_lowercase();
    let parts: Vec<&str> = file.path.split('/').collect();
    let is_of_tests = parts
        .iter()
        .any(|part| matches!(*part, "test" | "tests" | "docs"))
        || stem.starts_with("test_")
        || stem.ends_with("_test");
    if is_of_tests || matches!(stem.as_str(), "setup" | "conftest" | "__init__") {
        return None;
    }
    let calls = &file.python().calls;
    let has_call = |names: &[&str]| {
        calls
            .iter()
            .find(|call| names.contains(&call.name()))
            .map(|call| call.line)
    };
    let line_with = |sought: &[&str]| file.line_with(sought).map(|(line, _)| line);
    // What says most comes first: it is named.
    let signs = [
        (6, "SM_CHANNEL_*", line_with(&["SM_CHANNEL_"])),
        (
            5,
            "/opt/ml/input",
            line_with(&["/opt/ml/input", "SM_MODEL_DIR"]),
        ),
        (
            4,
            "a training step",
            has_call(&["fit", "train", "backward", "train_on_batch"]),
        ),
        (
            3,
            "its options",
            line_with(&["ArgumentParser(", "click.command", "typer."]),
        ),
        (1, "`__main__`", line_with(&["__main__"])),
    ];
    let of_name = match stem.as_str() {
        "train" | "training" | "train_model" => 4,
        _ if stem.contains("train") => 3,
        _ => 0,
    };
    let is_sign = |(_, _, line): &&(i32, &str, Option<u32>)| line.is_some();
    let found: Vec<_> = signs.iter().filter(is_sign).collect();
    let score = of_name + found.iter().map(|(score, _, _)| score).sum::<i32>();
    if score < LOWEST_SCORE {
        return None;
    }
    let why = found.first().map_or_else(
        || format!("its name, {name}"),
        |(_, what, line)| format!("{what} at {}", file.place(line.unwrap_or(1))),
    );
    Some(FoundScript {
        path: file.path.clone(),
        score,
        why,
        options: calls
            .iter()
            .filter_map(|call| option(file, call))
            .take(MOST_OPTIONS)
            .collect(),
        channels: channels(&file.text),
        fixed_path: calls.iter().find_map(|call| fixed_path(file, call)),
        imports: file.python().imports.clone(),
    })
}

/// `parser.add_argument("--epochs", type=int, default=10)`, `@click.option("--epochs", default=10)`.
fn option(file: &ReadFile, call: &PythonCall) -> Option<FoundOption> {
    if !matches!(call.name(), "add_argument" | "option" | "Option") {
        return None;
    }
    let mut texts = call
        .arguments
        .iter()
        .filter_map(|argument| match &argument.literal {
            PythonLiteral::Text(text) => text.strip_prefix("--"),
            _ => None,
        });
    let name = texts.next()?;
    let mut keywords = call.keywords.iter();
    let (_, default) = keywords.find(|(name, _)| name == "default")?;
    match file.python().resolved(default).literal {
        PythonLiteral::Number(number) => Some(FoundOption {
            name: name.to_owned(),
            default: number,
            place: file.place(call.line),
        }),
        _ => None,
    }
}

/// The names behind `SM_CHANNEL_`, in small letters, each once.
fn channels(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (at, beginning) in text.match_indices("SM_CHANNEL_") {
        let rest = &text[at + beginning.len()..];
        let end = rest.find(|c: char| !(c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_'));
        let name = rest[..end.unwrap_or(rest.len())].to_lowercase();
        if !name.is_empty() && name.len() <= 64 && !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// `pd.read_csv("data/train.csv")`: a literal path that a canary's sample does not lie at.
fn fixed_path(file: &ReadFile, call: &PythonCall) -> Option<(String, String)> {
    if !matches!(call.name(), "read_csv" | "read_parquet") {
        return None;
    }
    let argument: &PythonValue = call.arguments.first()?;
    let path = launch::text(&file.python().resolved(argument).literal)?;
    Some((path, file.place(call.line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_known_by_what_it_reads_and_does() {
        let text = "import argparse, os\nparser = argparse.ArgumentParser()\nparser.add_argument('--epochs', type=int, default=10)\nparser.add_argument('--train', default=os.environ['SM_CHANNEL_TRAIN'])\nparser.add_argument('--lr', default=LR)\nLR = 1e-3\nif __name__ == '__main__':\n    model.fit(x)\n";
        let found = script(&ReadFile::whole("src/train.py", text)).unwrap();
        assert_eq!(found.why, "SM_CHANNEL_* at src/train.py:4");
        assert_eq!(found.channels, ["train"]);
        let options: Vec<(&str, &str)> = (found.options.iter())
            .map(|option| (option.name.as_str(), option.default.as_str()))
            .collect();
        assert_eq!(options, [("epochs", "10"), ("lr", "1e-3")]);
    }

    #[test]
    fn other_files_are_no_scripts_of_training() {
        for (path, text) in [
            ("setup.py", "if __name__ == '__main__': train()"),
            ("tests/train.py", "SM_CHANNEL_TRAIN model.fit(x)"),
            ("src/plot.py", "if __name__ == '__main__': plot()"),
            ("README.md", "train SM_CHANNEL_TRAIN"),
        ] {
            assert!(script(&ReadFile::whole(path, text)).is_none(), "{path}");
        }
    }
}
