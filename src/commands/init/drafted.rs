//! The draft of what a checkout holds: of a job on this machine, or of one on SageMaker. Where images, roles and data are, AWS knows
//! and the checkout does not: these are for the user to fill in.

use super::CHANGE_THE_SCRIPT;
use super::data::{FoundData, folder_of, name_of};
use super::draft::{SpecDraft, is_open};
use super::found::{FoundScript, Overview, path_of};
use crate::backend::sagemaker::from_job;
use crate::spec::page::FILL_IN;
use crate::spec::yaml_text as yaml;

/// The longest name of a job that SageMaker takes a canary's name of.
const LONGEST_NAME: usize = 40;
/// So many files of packages and folders of data are named among the files that trigger the job.
const MOST_PATTERNS: usize = 4;
/// With fewer files a canary gets rows of them.
const FEWEST_FILES: usize = 10;

/// The likeliest of what was found, as a valid spec, and what it is from; `None` where there is nothing.
pub(super) fn likeliest(overview: &Overview) -> Option<(String, String)> {
    let launch = overview.launches.first().map(String::as_str);
    let image = overview.containers.first().map(String::as_str);
    let script = overview.scripts.first();
    // A script that nothing starts is further from the training job than an image.
    let launch = launch.filter(|_| script.is_some() || image.is_none());
    let tries = [
        launch.map(|place| (Some(place), script)),
        image.map(|place| (Some(place), None)),
        script.map(|script| (None, Some(script))),
    ];
    tries.into_iter().flatten().find_map(|(place, script)| {
        let path = script.map_or(place.map_or("", path_of), |script| &script.path);
        let text = draft(overview, place, script, path).valid_text()?;
        Some((text, path.to_owned()))
    })
}

/// The draft from the place that makes training jobs of SageMaker, without one of a job here, and the script that it most likely starts;
/// `path` is that of the script, else of the place.
fn draft(
    overview: &Overview,
    place: Option<&str>,
    script: Option<&FoundScript>,
    path: &str,
) -> SpecDraft {
    let mut draft = SpecDraft::default();
    let from = script.map_or(place.unwrap_or_default(), |script| &script.why);
    opening(&mut draft, overview, &format!("{path} ({from})"), path);
    match place {
        Some(_) => {
            draft.needed(0, "backend: sagemaker", "");
            draft.needed(0, "region: us-east-1", "guess: no file names one");
        }
        None => {
            let said = "canaries run on this machine; with `sagemaker` they are training jobs";
            draft.needed(0, "backend: local", said);
            draft.gap();
            draft.remark(0, "What an hour of this machine costs. With it, runs get a cost and `budget.cost` can be judged.");
            draft.remark(0, "prices: {local: 1.20 USD/h}");
        }
    }
    draft.gap();
    draft.needed(0, "jobs:", "");
    draft.needed(1, &format!("{}:", yaml::text(&name_of_job(path))), "");
    paths(&mut draft, overview, place, (script.is_some(), path));
    draft.gap();
    draft.remark(2, "The full run.");
    draft.needed(2, "training:", "");
    match (place, script) {
        (Some(place), script) => program_of_image(&mut draft, place, script),
        (None, script) => script.into_iter().for_each(|script| {
            draft.remark(3, "A canary runs in a copy of the files that git knows, without the data of channels.");
            command(&mut draft, script);
        }),
    }
    if let Some(script) = script {
        hyperparameters(&mut draft, script);
    }
    channels(&mut draft, overview, place, script);
    match place {
        Some(_) => {
            let output = format!("output: s3://my-bucket/{FILL_IN}-output/");
            draft.needed(3, &output, "guess: no file says it");
            draft.gap();
            let said = "guess: what the full run is on; the budget is judged on it";
            draft.needed(2, "instance: ml.m5.xlarge", said);
            draft.remark(
                2,
                "Other configurations to compare. They never change the exit code.",
            );
            draft.remark(2, "alternatives: [ml.c5.4xlarge]");
            draft.gap();
            draft.remark(2, "The most that the canaries of one check may cost.");
            draft.line(2, "canary: {spend_limit: 5 USD}", "the default");
        }
        None => {
            draft.remark(3, "max_runtime: 12h");
            draft.gap();
            draft.needed(2, "instance: local", "");
        }
    }
    draft.gap();
    draft.remark(
        2,
        "The limits of the full run. The check fails if one is likely exceeded.",
    );
    draft.needed(2, "budget:", "");
    draft.line(3, "time: 8h", "guess: how long it may take");
    match place {
        Some(_) => draft.line(3, "cost: 50 USD", "guess: what it may cost"),
        None => draft.line(3, "memory: 90%", "guess: of this machine's"),
    }
    draft
}

/// The comment above everything, and the first keys; `chosen` is the path of what is used.
fn opening(draft: &mut SpecDraft, overview: &Overview, from: &str, chosen: &str) {
    draft.remark(0, &format!("Made by `canary-gate init` from {from}."));
    draft.remark(0, "A comment behind a line names the place that it was read from; `guess` marks what no file says: look at each, then run `canary-gate check`.");
    if let Some(place) = overview.launches.first() {
        draft.remark(0, &format!("Training jobs are started at {place}: `canary-gate init --from-job NAME` writes the spec of one."));
    }
    let others = overview.others(chosen);
    if !others.is_empty() {
        let others = others.join(", ");
        draft.remark(0, &format!("Also found, and not used: {others}."));
    }
    draft.needed(0, "version: 1", "");
    draft.needed(
        0,
        "strict: true",
        "a budget line at risk fails the check too",
    );
}

/// A job's name from its script's path; `train` where nothing of it can be one.
fn name_of_job(path: &str) -> String {
    let name = name_of(path);
    let stem = name.strip_suffix(".py").unwrap_or(name);
    let folder = name_of(folder_of(path));
    // `src/models/train.py`: its name says nothing that a job's does not.
    let says_nothing = matches!(stem, "train" | "main" | "run" | "Dockerfile")
        && !matches!(folder, "" | "src" | "code" | "scripts");
    let text: String = (if says_nothing { folder } else { stem }.chars())
        .take(LONGEST_NAME)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true => "train".to_owned(),
        false => words.join("-"),
    }
}

/// The patterns of the files whose change triggers the job.
fn paths(
    draft: &mut SpecDraft,
    overview: &Overview,
    place: Option<&str>,
    (is_script, path): (bool, &str),
) {
    let mut patterns: Vec<String> = place
        .map(|place| escaped(path_of(place)))
        .into_iter()
        .collect();
    // A script's helpers and settings lie beside it, and so does what an image is made of.
    if is_script || name_of(path).contains("Dockerfile") {
        patterns.push(all_below(
            folder_of(path).split('/').next().unwrap_or_default(),
        ));
    }
    if place.is_none() {
        let data = overview.data.iter().take(MOST_PATTERNS);
        patterns.extend(data.map(|data| match data.is_file() {
            true => escaped(&data.path),
            false => all_below(&data.path),
        }));
    }
    let requirements = overview.requirements.iter().take(MOST_PATTERNS);
    patterns.extend(requirements.map(|path| escaped(path)));
    let folders: Vec<String> = (patterns.iter())
        .filter_map(|pattern| pattern.strip_suffix("**"))
        .map(str::to_owned)
        .collect();
    patterns.retain(|pattern| {
        let is_below =
            |folder: &String| pattern.starts_with(folder) && pattern[folder.len()..] != *"**";
        !folders.iter().any(is_below)
    });
    let mut kept: Vec<String> = patterns.iter().map(|pattern| yaml::text(pattern)).collect();
    kept.dedup();
    kept.push("\"!**/*.md\"".to_owned());
    // Lest a new budget pay for every canary again. A change of the spec concerns its jobs in any case.
    if folders.iter().any(String::is_empty) {
        kept.push("\"!canary-gate.yml\"".to_owned());
    }
    draft.remark(2, "These files count: a change of one triggers the job, and what does not count no canary gets.");
    let text = format!("paths: [{}]", kept.join(", "));
    draft.line(2, &text, "guess: all that the result depends on");
}

/// `folder/**`; for the root everything.
fn all_below(folder: &str) -> String {
    match folder {
        "" => "**".to_owned(),
        folder => format!("{}/**", escaped(folder)),
    }
}

/// A path as a pattern that matches it alone.
fn escaped(path: &str) -> String {
    let sign = |c: char| "*?[]{}!\\".contains(c).then_some('\\');
    path.chars()
        .flat_map(|c| sign(c).into_iter().chain([c]))
        .collect()
}

/// The image of a job on SageMaker, its role, and its script.
fn program_of_image(draft: &mut SpecDraft, place: &str, script: Option<&FoundScript>) {
    let path = path_of(place);
    let which = if name_of(path).contains("Dockerfile") {
        draft.remark(3, "A change of the code makes a new image: build and push it before the gate runs, and name it here.");
        format!("where the image of {path} is pushed to")
    } else {
        draft.remark(
            3,
            "An image of AWS's own is named by its framework: `framework: {pytorch: \"2.8\"}`.",
        );
        "the image of the training jobs".to_owned()
    };
    let image = format!("image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/{FILL_IN}:latest");
    draft.needed(3, &image, &format!("guess: {which}"));
    let role = format!("role: arn:aws:iam::123456789012:role/{FILL_IN}");
    draft.needed(3, &role, "guess: no file says it");
    for script in script.into_iter() {
        let folder = Some(folder_of(&script.path)).filter(|folder| !folder.is_empty());
        let said = format!("guess: {}", script.why);
        for (key, value) in [
            ("source_dir", folder.unwrap_or(".")),
            ("entry_point", name_of(&script.path)),
        ] {
            draft.line(3, &format!("{key}: {}", yaml::text(value)), &said);
        }
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
    // The package that it imports, by its place among the folders of its path.
    let (words, said) = match folders.iter().position(imports).or(relative) {
        None => (
            vec!["python3".to_owned(), script.path.clone()],
            script.why.clone(),
        ),
        Some(package) => {
            let above = format!("PYTHONPATH={}", folders[..package].join("/"));
            let env = ["env".to_owned(), above];
            let module = parts[package..].join(".");
            let module = module.strip_suffix(".py").unwrap_or(&module).to_owned();
            let words = env.into_iter().skip(if package > 0 { 0 } else { 2 });
            (
                words
                    .chain(["python3".to_owned(), "-m".to_owned(), module])
                    .collect(),
                format!("guess: a module, since it imports `{}`", parts[package]),
            )
        }
    };
    draft.needed(3, &format!("command: {}", yaml::list(&words)), &said);
}

/// The options whose default is a number.
fn hyperparameters(draft: &mut SpecDraft, script: &FoundScript) {
    let options = script.options.iter();
    let options = options.filter(|one| is_open(&one.default) && !from_job::is_secret(&one.name));
    let options: Vec<_> = options.collect();
    if options.is_empty() {
        return;
    }
    draft.remark(3, "Handed over as SageMaker does: --epochs 10. These are the script's defaults: keep those that matter.");
    draft.line(3, "hyperparameters:", "");
    for option in options {
        let (name, value) = (
            yaml::text(&option.name),
            yaml::text_or_number(&option.default),
        );
        let said = format!("guess: the default at {}", option.place);
        draft.line(4, &format!("{name}: {value}"), &said);
    }
}

/// A channel for each that the script reads, else one.
fn channels(
    draft: &mut SpecDraft,
    overview: &Overview,
    place: Option<&str>,
    script: Option<&FoundScript>,
) {
    let where_to = ", in the folder that SM_CHANNEL_<NAME> names";
    let where_to = if place.is_none() { where_to } else { "" };
    draft.remark(
        3,
        &format!(
            "Canaries get a sample of each channel{where_to}; with `sample: false` all of it."
        ),
    );
    if let Some(script) = script.filter(|_| place.is_none()) {
        if let Some((path, place)) = &script.fixed_path {
            draft.remark(3, &format!("{CHANGE_THE_SCRIPT}{place} reads {path} by a fixed path, where a canary has no sample."));
        } else if script.channels.is_empty() {
            draft.remark(
                3,
                &format!(
                    "{CHANGE_THE_SCRIPT}it reads no SM_CHANNEL_*, where a canary has its sample."
                ),
            );
        }
    }
    draft.line(3, "channels:", "");
    let train = ["train".to_owned()];
    let named = script.map_or(&[][..], |script| &script.channels);
    let names = if named.is_empty() { &train } else { named };
    let mut free: Vec<&FoundData> = overview.data.iter().filter(|_| place.is_none()).collect();
    for name in names {
        let is_training = names.len() == 1 || name.starts_with("train");
        let data = data_for(&free, script, name, is_training);
        free.retain(|other| data.is_none_or(|data| data.path != other.path));
        let is_whole = ["test", "val", "eval", "dev"]
            .iter()
            .any(|known| name.starts_with(known));
        let (uri, said) = match (data, place) {
            (Some(data), _) => (data.path.clone(), data.said()),
            (None, Some(_)) => (
                format!("s3://my-bucket/{FILL_IN}/{name}/"),
                "where the data lie".to_owned(),
            ),
            (None, None) => (
                format!("data/{name}"),
                "no data was found for it; a folder with at least 10 files, better 100".to_owned(),
            ),
        };
        let has_rows = data.is_some_and(|data| data.files < FEWEST_FILES && data.has_rows());
        let (sample, why) = match (is_whole, has_rows) {
            (true, _) => (", sample: false", ", whole in every canary"),
            (false, true) => (", sample: rows", ", so rows of them are drawn"),
            (false, false) => ("", ""),
        };
        let text = format!(
            "{}: {{uri: {}{sample}}}",
            yaml::text(name),
            yaml::text(&uri)
        );
        draft.line(4, &text, &format!("guess: {said}{why}"));
    }
}

/// The data that a channel most likely has: what the script reads, what has its name, or the likeliest of all.
fn data_for<'a>(
    free: &[&'a FoundData],
    script: Option<&FoundScript>,
    name: &str,
    is_training: bool,
) -> Option<&'a FoundData> {
    let read = script.and_then(|script| script.fixed_path.as_ref());
    let is_read = |data: &FoundData| {
        read.is_some_and(|(path, _)| {
            path.ends_with(&data.path) || path.contains(&format!("{}/", data.path))
        })
    };
    // `training` is `train`, `val` is `validation`.
    let stem = name.get(..3).unwrap_or(name);
    let is_named = |data: &FoundData| data.name().to_lowercase().starts_with(stem);
    let first = |fits: &dyn Fn(&FoundData) -> bool| free.iter().copied().find(|data| fits(data));
    first(&is_read)
        .or_else(|| first(&is_named))
        .or_else(|| first(&|_| is_training))
}
