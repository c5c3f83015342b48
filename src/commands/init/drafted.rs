//! The draft of what a checkout holds: of a job on this machine, or of one on SageMaker. Where images, roles and data are, AWS knows
//! and the checkout does not: these are for the user to fill in.

use super::CHANGE_THE_SCRIPT;
use super::data::{FoundData, folder_of, name_of};
use super::draft::{comment, is_open, valid};
use super::found::{FoundScript, MOST_NAMED, Overview, path_of};
use crate::backend::sagemaker::from_job;
use crate::spec::page::FILL_IN;
use crate::spec::yaml_text as yaml;

/// The longest name of a job of which SageMaker takes the names of canaries, in characters.
const LONGEST_NAME: usize = 40;
/// The most files of packages, and folders of data, that are named among the files that trigger the job.
const MOST_PATTERNS: usize = 4;
/// The fewest files of which a canary gets some whole; of fewer it gets rows.
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
        let text = valid(&draft(overview, place, script, path))?;
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
) -> String {
    let from = script.map_or(place.unwrap_or_default(), |script| &script.why);
    let is_image = name_of(path).contains("Dockerfile");
    let (image, which) = match is_image {
        true => (
            "A change of the code makes a new image: build and push it before the gate runs, and name it here.",
            format!("where the image of {path} is pushed to"),
        ),
        false => (
            "An image of AWS's own is named by its framework: `framework: {pytorch: \"2.8\"}`.",
            "the image of the training jobs".to_owned(),
        ),
    };
    let template = match place {
        Some(_) => include_str!("sagemaker.yml"),
        None => include_str!("local.yml"),
    };
    let program = script.map_or(String::new(), |script| match place {
        Some(_) => entry_point(script),
        None => command(script),
    });
    let values = [
        ("from", comment(&format!("{path} ({from})"))),
        ("found", also_found(overview, path)),
        ("job", yaml::text(&name_of_job(path))),
        (
            "paths",
            paths(overview, place, script.is_some() || is_image, path),
        ),
        ("image", image.to_owned()),
        ("which", comment(&which)),
        ("program", program),
        (
            "hyperparameters",
            script.map_or(String::new(), hyperparameters),
        ),
        ("change", script.map_or(String::new(), change)),
        ("channels", channels(overview, place.is_none(), script)),
    ];
    filled(template, &values)
}

/// A template with the value of each name in `<>` in its place. What is filled in is not looked at again.
fn filled(template: &str, values: &[(&str, String)]) -> String {
    let mut text = String::new();
    for (number, part) in template.split('<').enumerate() {
        let named = part.split_once('>');
        let value = named.and_then(|(name, rest)| {
            let (_, value) = values.iter().find(|(known, _)| *known == name)?;
            Some((value, rest))
        });
        match value {
            Some((value, rest)) => text.extend([value, rest]),
            None => text.extend([if number == 0 { "" } else { "<" }, part]),
        }
    }
    text
}

/// Remarks on what else was found, beside what is used.
fn also_found(overview: &Overview, chosen: &str) -> String {
    let launch = overview.launches.first().map(|place| {
        format!("Training jobs are started at {place}: `canary-gate init --from-job NAME` writes the spec of one.")
    });
    let mut others: Vec<String> = (overview.others(chosen).into_iter())
        .map(str::to_owned)
        .collect();
    let further = others.len().saturating_sub(MOST_NAMED);
    others.truncate(MOST_NAMED);
    others.extend((further > 0).then(|| format!("{further} more")));
    let others = Some(others.join(", ")).filter(|others| !others.is_empty());
    let others = others.map(|others| format!("Also found, and not used: {others}."));
    let remarks = launch.into_iter().chain(others);
    remarks
        .map(|remark| format!("# {}\n", comment(&remark)))
        .collect()
}

/// A job's name from its script's path; `train` where nothing of it can be one.
fn name_of_job(path: &str) -> String {
    let name = name_of(path);
    let stem = name.strip_suffix(".py").unwrap_or(name);
    let folder = name_of(folder_of(path));
    // `src/models/train.py`: its name says nothing that a job's does not.
    let says_nothing = matches!(stem, "train" | "main" | "run" | "Dockerfile")
        && !matches!(folder, "" | "src" | "code" | "scripts");
    let text = if says_nothing { folder } else { stem };
    let text: String = text.chars().take(LONGEST_NAME).collect();
    let text = text.to_ascii_lowercase();
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    match words.is_empty() {
        true => "train".to_owned(),
        false => words.join("-"),
    }
}

/// The patterns of the files whose change triggers the job.
fn paths(overview: &Overview, place: Option<&str>, has_folder: bool, path: &str) -> String {
    let mut patterns: Vec<String> = place.map(path_of).map(escaped).into_iter().collect();
    // A script's helpers and settings lie beside it, and so does what an image is made of.
    if has_folder {
        let top = folder_of(path).split('/').next().unwrap_or_default();
        patterns.push(all_below(top));
    }
    let data = overview.data.iter().take(MOST_PATTERNS);
    patterns.extend(
        data.filter(|_| place.is_none())
            .map(|data| match data.is_file() {
                true => escaped(&data.path),
                false => all_below(&data.path),
            }),
    );
    let requirements = overview.requirements.iter().take(MOST_PATTERNS);
    patterns.extend(requirements.map(|path| escaped(path)));
    let folders = patterns
        .iter()
        .filter_map(|pattern| pattern.strip_suffix("**"));
    let folders: Vec<String> = folders.map(str::to_owned).collect();
    patterns.retain(|pattern| {
        let mut folders = folders.iter();
        !folders.any(|folder| pattern.starts_with(folder) && pattern[folder.len()..] != *"**")
    });
    patterns.dedup();
    patterns.push("!**/*.md".to_owned());
    // A new budget must not pay for every canary again. A change of the spec concerns its jobs in any case.
    if folders.iter().any(String::is_empty) {
        patterns.push("!canary-gate.yml".to_owned());
    }
    let patterns: Vec<String> = patterns.iter().map(|pattern| yaml::text(pattern)).collect();
    patterns.join(", ")
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
    let escaped = path.chars().flat_map(|c| sign(c).into_iter().chain([c]));
    escaped.collect()
}

/// The script of a job on SageMaker.
fn entry_point(script: &FoundScript) -> String {
    let folder = Some(folder_of(&script.path)).filter(|folder| !folder.is_empty());
    let keys = [
        ("source_dir", folder.unwrap_or(".")),
        ("entry_point", name_of(&script.path)),
    ];
    let said = comment(&script.why);
    let line = |(key, value)| format!("      {key}: {}    # guess: {said}\n", yaml::text(value));
    keys.map(line).concat()
}

/// `[python3, train.py]`; a script that imports the package it lies in is started as a module of it.
fn command(script: &FoundScript) -> String {
    let parts: Vec<&str> = script.path.split('/').collect();
    let folders = &parts[..parts.len() - 1];
    let imports = |package: &&str| {
        let mut imports = script.imports.iter();
        imports.any(|import| import.split('.').next() == Some(package))
    };
    let is_relative = script.imports.iter().any(|import| import.starts_with('.'));
    let relative = folders.len().checked_sub(1).filter(|_| is_relative);
    let python = "python3".to_owned();
    // The package that it imports, by its place among the folders of its path.
    let (words, said) = match folders.iter().position(imports).or(relative) {
        None => (vec![python, script.path.clone()], script.why.clone()),
        Some(package) => {
            let above = format!("PYTHONPATH={}", folders[..package].join("/"));
            let mut words = vec!["env".to_owned(), above];
            words.retain(|_| package > 0);
            let module = parts[package..].join(".");
            let module = module.strip_suffix(".py").unwrap_or(&module).to_owned();
            words.extend([python, "-m".to_owned(), module]);
            let package = parts[package];
            (
                words,
                format!("guess: a module, since it imports `{package}`"),
            )
        }
    };
    format!(
        "      command: {}    # {}\n",
        yaml::list(&words),
        comment(&said)
    )
}

/// The options whose default is a number.
fn hyperparameters(script: &FoundScript) -> String {
    let options = script.options.iter();
    let options = options.filter(|one| is_open(&one.default) && !from_job::is_secret(&one.name));
    let lines = options.map(|option| {
        let (name, value) = (&option.name, yaml::text_or_number(&option.default));
        let said = comment(&format!("guess: the default at {}", option.place));
        format!("        {}: {value}    # {said}\n", yaml::text(name))
    });
    let lines: String = lines.collect();
    match lines.is_empty() {
        true => lines,
        false => format!(
            "      # Handed over as SageMaker does: --epochs 10. These are the script's defaults: keep those that matter.\n      hyperparameters:\n{lines}"
        ),
    }
}

/// What the script must read otherwise, on this machine.
fn change(script: &FoundScript) -> String {
    let why = match &script.fixed_path {
        Some((path, place)) => {
            format!("{place} reads {path} by a fixed path, where a canary has no sample.")
        }
        None if script.channels.is_empty() => {
            "it reads no SM_CHANNEL_*, where a canary has its sample.".to_owned()
        }
        None => return String::new(),
    };
    format!(
        "      # {}\n",
        comment(&format!("{CHANGE_THE_SCRIPT}{why}"))
    )
}

/// A channel for each that the script reads, else one.
fn channels(overview: &Overview, is_here: bool, script: Option<&FoundScript>) -> String {
    let train = ["train".to_owned()];
    let named = script.map_or(&[][..], |script| &script.channels);
    let names = if named.is_empty() { &train } else { named };
    let mut free: Vec<&FoundData> = overview.data.iter().filter(|_| is_here).collect();
    let mut text = String::new();
    for name in names {
        let is_training = names.len() == 1 || name.starts_with("train");
        let data = data_for(&free, script, name, is_training);
        free.retain(|other| data.is_none_or(|data| data.path != other.path));
        let (uri, said) = match data {
            Some(data) => (data.path.clone(), data.said()),
            None if is_here => (
                format!("data/{name}"),
                "no data was found for it; a folder with at least 10 files, better 100".to_owned(),
            ),
            None => (
                format!("s3://my-bucket/{FILL_IN}/{name}/"),
                "where the data lie".to_owned(),
            ),
        };
        let mut whole = ["test", "val", "eval", "dev"].iter();
        let is_whole = whole.any(|known| name.starts_with(known));
        let has_rows = data.is_some_and(|data| data.files < FEWEST_FILES && data.has_rows());
        let (sample, why) = match (is_whole, has_rows) {
            (true, _) => (", sample: false", ", whole in every canary"),
            (false, true) => (", sample: rows", ", so rows of them are drawn"),
            (false, false) => ("", ""),
        };
        let (name, uri) = (yaml::text(name), yaml::text(&uri));
        let said = comment(&format!("guess: {said}{why}"));
        text += &format!("        {name}: {{uri: {uri}{sample}}}    # {said}\n");
    }
    text
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
