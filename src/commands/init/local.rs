//! The draft of a job on this machine: a script and its data.

use super::CHANGE_THE_SCRIPT;
use super::data::FoundData;
use super::draft::{SpecDraft, WhenRefused};
use super::found::{FoundScript, Overview, folder_of};
use super::lines;
use crate::spec::yaml_text as yaml;

/// With fewer files a canary gets rows of them.
const FEWEST_FILES: usize = 10;
/// So many folders of data are named among the files that trigger the job.
const MOST_DATA: usize = 4;
/// What stands for data that was not found.
const NO_DATA: &str = "data/train";

pub(super) fn draft(overview: &Overview, script: &FoundScript) -> SpecDraft {
    let mut draft = SpecDraft::default();
    let from = format!("{} ({})", script.path, script.why);
    lines::opening(&mut draft, overview, &from, &[&script.path]);
    draft.line(
        0,
        "backend: local",
        "canaries run on this machine; with `sagemaker` they are training jobs",
        WhenRefused::Kept,
    );
    draft.gap();
    draft.remark(0, "What an hour of this machine costs. With it, runs get a cost and `budget.cost` can be judged.");
    draft.remark(0, "prices: {local: 1.20 USD/h}");
    draft.gap();
    draft.head(0, "jobs:");
    let folder = folder_of(&script.path);
    let name = lines::name_of_script(&script.path);
    draft.head(1, &format!("{}:", yaml::text(&name)));
    let top = folder.split('/').next().unwrap_or(folder);
    let mut patterns = vec![lines::all_below(top)];
    patterns.extend(overview.data.iter().take(MOST_DATA).map(pattern_of));
    lines::paths(&mut draft, overview, &patterns);
    draft.remark(
        3,
        "A canary runs in a copy of the files that git knows, without the data of channels.",
    );
    command(&mut draft, script);
    lines::hyperparameters(&mut draft, script);
    channels(&mut draft, overview, script);
    draft.remark(3, "max_runtime: 12h");
    draft.gap();
    draft.head(2, "instance: local");
    draft.gap();
    lines::work(&mut draft, script);
    lines::budget(&mut draft, "memory: 90%", "guess: of this machine's");
    draft
}

/// One file, or all below a folder.
fn pattern_of(data: &FoundData) -> String {
    let is_file = data.files == 1 && data.path.ends_with(&format!(".{}", data.ending));
    match is_file {
        true => lines::escaped(&data.path),
        false => lines::all_below(&data.path),
    }
}

/// `[python3, train.py]`; a script that imports the package it lies in is started as a module of it.
fn command(draft: &mut SpecDraft, script: &FoundScript) {
    let parts: Vec<&str> = script.path.split('/').collect();
    let folders = &parts[..parts.len() - 1];
    let imports = |package: &&str| {
        let mut imports = script.imports.iter();
        imports.any(|import| import.split('.').next() == Some(package))
    };
    let is_relative = script.imports.iter().any(|import| import.starts_with('.'));
    let relative = folders.len().checked_sub(1).filter(|_| is_relative);
    let mut words = Vec::new();
    let mut said = script.why.clone();
    // The package that it imports, by its place among the folders of its path.
    match folders.iter().position(imports).or(relative) {
        None => words.extend(["python3".to_owned(), script.path.clone()]),
        Some(package) => {
            if package > 0 {
                let above = folders[..package].join("/");
                words.extend(["env".to_owned(), format!("PYTHONPATH={above}")]);
            }
            let module = parts[package..].join(".");
            let module = module.strip_suffix(".py").unwrap_or(&module).to_owned();
            words.extend(["python3".to_owned(), "-m".to_owned(), module]);
            said = format!("guess: a module, since it imports `{}`", parts[package]);
        }
    }
    let words: Vec<String> = words.iter().map(|word| yaml::text(word)).collect();
    let text = format!("command: [{}]", words.join(", "));
    draft.line(3, &text, &said, WhenRefused::Kept);
}

/// A channel for each that the script reads, else one.
fn channels(draft: &mut SpecDraft, overview: &Overview, script: &FoundScript) {
    draft.remark(3, "Canaries get a sample of each channel, in the folder that SM_CHANNEL_<NAME> names; with `sample: false` all of it.");
    if let Some((path, place)) = &script.fixed_path {
        draft.remark(3, &format!("{CHANGE_THE_SCRIPT}{place} reads {path} by a fixed path, where a canary has no sample."));
    } else if script.channels.is_empty() {
        let why = "it reads no SM_CHANNEL_*, where a canary has its sample.";
        draft.remark(3, &format!("{CHANGE_THE_SCRIPT}{why}"));
    }
    let none = "channels: {train: {uri: data/train}}".to_owned();
    draft.line(3, "channels:", "", WhenRefused::Replaced(none));
    let names = match script.channels.is_empty() {
        true => vec!["train".to_owned()],
        false => script.channels.clone(),
    };
    let mut taken: Vec<&FoundData> = Vec::new();
    for name in &names {
        let data = data_for(overview, script, name, names.len() == 1, &taken);
        channel(draft, name, data);
        taken.extend(data);
    }
}

/// The data that a channel most likely has: what the script reads, what has its name, or the likeliest of all.
fn data_for<'a>(
    overview: &'a Overview,
    script: &FoundScript,
    name: &str,
    is_only: bool,
    taken: &[&FoundData],
) -> Option<&'a FoundData> {
    let free = |data: &&FoundData| !taken.iter().any(|other| other.path == data.path);
    let read = script.fixed_path.iter().find_map(|(path, _)| {
        let candidates = [join(folder_of(&script.path), path), join("", path)];
        (overview.data.iter().filter(free)).find(|data| {
            candidates
                .iter()
                .any(|path| data.path == *path || path.starts_with(&format!("{}/", data.path)))
        })
    });
    // `training` is `train`, `val` is `validation`.
    let named = || {
        let stem = name.get(..3).unwrap_or(name);
        (overview.data.iter().filter(free))
            .find(|data| data.name().to_lowercase().starts_with(stem))
    };
    let is_training = is_only || name.starts_with("train");
    read.or_else(named)
        .or_else(|| overview.data.iter().filter(free).find(|_| is_training))
}

fn channel(draft: &mut SpecDraft, name: &str, data: Option<&FoundData>) {
    let Some(data) = data else {
        let uri = if name.starts_with("train") {
            NO_DATA.to_owned()
        } else {
            format!("data/{name}")
        };
        draft.line(
            4,
            &format!("{}: {{uri: {}}}", yaml::text(name), yaml::text(&uri)),
            "guess: no data was found for it; a folder with at least 10 files, better 100",
            WhenRefused::LeftOut,
        );
        return;
    };
    let (sample, why) = match (
        lines::is_whole(name),
        data.files < FEWEST_FILES && data.has_rows(),
    ) {
        (true, _) => (", sample: false", ", whole in every canary"),
        (false, true) => (", sample: rows", ", so rows of them are drawn"),
        (false, false) => ("", ""),
    };
    let text = format!(
        "{}: {{uri: {}{sample}}}",
        yaml::text(name),
        yaml::text(&data.path)
    );
    let none = format!("{}: {{uri: {NO_DATA}}}", yaml::text(name));
    draft.line(
        4,
        &text,
        &format!("guess: {}{why}", data.said()),
        WhenRefused::Replaced(none),
    );
}

/// A path below a folder, without its `.` and `..`.
fn join(folder: &str, path: &str) -> String {
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
