//! The draft of a job on SageMaker: from a call that starts one, or from a Dockerfile of an image that trains.

use super::cloud_settings::{
    INSTANCE, REGION, channels, instance, limits, network, no_data, no_image, no_output, no_role,
    pairs, program, region, seconds, setting,
};
use super::draft::{SpecDraft, WhenRefused};
use super::finds::{FoundContainer, FoundLaunch, SaidSetting};
use super::lines;
use super::overview::{Overview, join};
use crate::spec::yaml_text as yaml;
use crate::units::Seconds;

/// Where the code of the job lies.
struct Code {
    /// The folder, its patterns, and the script in it.
    source_dir: Option<String>,
    entry_point: Option<String>,
    said: String,
}

impl Code {
    /// The script, from the checkout's root.
    fn file(&self) -> String {
        let script = self.entry_point.as_deref().unwrap_or("no script");
        join(self.source_dir.as_deref().unwrap_or_default(), script)
    }
}

/// From a call that starts a training job.
pub(super) fn of_launch(overview: &Overview, launch: &FoundLaunch) -> SpecDraft {
    let code = code(overview, launch);
    let mut draft = SpecDraft::default();
    let from = format!("{} at {}", launch.what, launch.place);
    lines::opening(
        &mut draft,
        &from,
        &overview.others(&[&launch.place, &code.file()]),
    );
    head(&mut draft, region(launch));
    draft.head(1, &format!("{}:", yaml::text(&name(launch, &code))));
    let mut patterns: Vec<String> = code
        .source_dir
        .iter()
        .map(|folder| lines::all_below(folder))
        .collect();
    patterns.push(lines::escaped(
        launch.place.split([':', ' ']).next().unwrap_or_default(),
    ));
    lines::paths(&mut draft, overview, &patterns);
    draft.remark(2, "The full run.");
    draft.head(2, "training:");
    program(&mut draft, launch);
    setting(&mut draft, "role", launch.role.as_ref(), Some(&no_role()));
    write_code(&mut draft, &code);
    pairs(&mut draft, "hyperparameters", &launch.hyperparameters);
    pairs(&mut draft, "environment", &launch.environment);
    channels(&mut draft, launch);
    setting(
        &mut draft,
        "output",
        launch.output.as_ref(),
        Some(&no_output()),
    );
    limits(&mut draft, launch);
    network(&mut draft, launch);
    for said in launch.left_out.iter().chain(&launch.command) {
        draft.remark(3, &format!("Look at: {} has {}", said.place, said.written));
    }
    draft.gap();
    instance(&mut draft, launch);
    let known = (launch.hyperparameters.iter())
        .filter_map(|(name, said)| Some((name.as_str(), said.text.as_deref()?)));
    lines::work(&mut draft, &known);
    ending(&mut draft, seconds(launch.max_runtime.as_ref()));
    draft
}

/// From a Dockerfile: what starts the job is nowhere to be read.
pub(super) fn of_container(overview: &Overview, container: &FoundContainer) -> SpecDraft {
    let mut draft = SpecDraft::default();
    let from = format!("{} ({})", container.path, container.place);
    lines::opening(&mut draft, &from, &overview.others(&[&container.path]));
    head(
        &mut draft,
        (REGION.to_owned(), "guess: no file names one".to_owned()),
    );
    let name = container.folder.rsplit('/').next().unwrap_or_default();
    draft.head(1, &format!("{}:", yaml::text(&lines::job_name(name))));
    lines::paths(&mut draft, overview, &[all_of(&container.folder)]);
    draft.remark(2, "The full run.");
    draft.head(2, "training:");
    draft.remark(3, "A change of the code makes a new image: build and push it before the gate runs, and name it here.");
    draft.head(
        3,
        &format!(
            "image: {}    # guess: where the image of {} is pushed to",
            no_image(REGION),
            yaml::remark(&container.path)
        ),
    );
    setting(&mut draft, "role", None, Some(&no_role()));
    draft.remark(3, "Canaries get a sample of each channel; with `sample: false` a channel is whole in every canary.");
    draft.head(3, "channels:");
    draft.head(
        4,
        &format!(
            "train: {{uri: {}}}    # guess: where the data lie",
            no_data("train")
        ),
    );
    setting(&mut draft, "output", None, Some(&no_output()));
    draft.gap();
    draft.head(
        2,
        &format!(
            "instance: {INSTANCE}    # guess: what the full run is on; the budget is judged on it"
        ),
    );
    draft.gap();
    ending(&mut draft, None);
    draft
}

fn head(draft: &mut SpecDraft, (region, said): (String, String)) {
    draft.head(0, "backend: sagemaker");
    draft.line(
        0,
        &format!("region: {}", yaml::text(&region)),
        &said,
        WhenRefused::LeftOut,
    );
    draft.gap();
    draft.head(0, "jobs:");
}

fn all_of(folder: &str) -> String {
    match folder.is_empty() {
        true => "**".to_owned(),
        false => lines::all_below(folder),
    }
}

/// The job's name: its own, else that of its script, else of its folder.
fn name(launch: &FoundLaunch, code: &Code) -> String {
    let own = launch.name.as_ref().and_then(|said| said.text.clone());
    let of_script = code.entry_point.as_ref().map(|script| {
        let name = script.rsplit('/').next().unwrap_or(script);
        name.split('.').next().unwrap_or(name).to_owned()
    });
    let of_file = || {
        launch
            .place
            .split(['.', ':'])
            .next()
            .unwrap_or_default()
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    lines::job_name(&own.or(of_script).unwrap_or_else(of_file))
}

/// Finds the source folder and the script in the checkout.
fn code(overview: &Overview, launch: &FoundLaunch) -> Code {
    let text = |said: &Option<SaidSetting>| said.as_ref().and_then(|said| said.text.clone());
    let (source, entry) = (text(&launch.source_dir), text(&launch.entry_point));
    let places: Vec<&str> = [&launch.source_dir, &launch.entry_point]
        .into_iter()
        .flatten()
        .map(|said| said.place.as_str())
        .collect();
    let none = || Code {
        source_dir: None,
        entry_point: None,
        said: String::new(),
    };
    if let Some(source) = source {
        return match overview.folder_from(&launch.folder, &source) {
            Some(folder) => Code {
                said: places
                    .first()
                    .map(|place| (*place).to_owned())
                    .unwrap_or_default(),
                source_dir: Some(folder),
                entry_point: entry,
            },
            None => Code {
                said: format!(
                    "guess: {} has source_dir={source}, which is no folder here",
                    places.first().unwrap_or(&"")
                ),
                source_dir: Some(source),
                entry_point: entry,
            },
        };
    }
    let Some(entry) = entry else {
        // A built-in algorithm, or an image that brings its code.
        return match (&launch.entry_point, overview.scripts.first()) {
            (Some(said), Some(script)) => Code {
                said: format!("guess: {} has {}", said.place, said.written),
                ..split(&script.path)
            },
            _ => none(),
        };
    };
    match overview.file_from(&launch.folder, &entry) {
        Some(file) => Code {
            said: places
                .first()
                .map(|place| (*place).to_owned())
                .unwrap_or_default(),
            ..split(&file)
        },
        None => Code {
            said: format!(
                "guess: {} names {entry}, which is not here",
                places.first().unwrap_or(&"")
            ),
            ..split(&entry)
        },
    }
}

/// A script's folder and its name; the root is `/`.
fn split(file: &str) -> Code {
    let (folder, name) = file.rsplit_once('/').unwrap_or(("", file));
    Code {
        source_dir: Some(folder.to_owned()),
        entry_point: Some(name.to_owned()),
        said: String::new(),
    }
}

fn write_code(draft: &mut SpecDraft, code: &Code) {
    let Some(folder) = &code.source_dir else {
        return;
    };
    let folder = if folder.is_empty() { "." } else { folder };
    draft.line(
        3,
        &format!("source_dir: {}", yaml::text(folder)),
        &code.said,
        WhenRefused::LeftOut,
    );
    if let Some(script) = &code.entry_point {
        draft.line(
            3,
            &format!("entry_point: {}", yaml::text(script)),
            &code.said,
            WhenRefused::LeftOut,
        );
    }
}

/// What canaries and the full run may cost.
fn ending(draft: &mut SpecDraft, max_runtime: Option<(Seconds, &str)>) {
    draft.remark(2, "The most that the canaries of one check may cost.");
    draft.line(
        2,
        "canary: {spend_limit: 5 USD}",
        "the default",
        WhenRefused::LeftOut,
    );
    draft.gap();
    draft.remark(
        2,
        "The limits of the full run. The check fails if one is likely exceeded.",
    );
    draft.head(2, "budget:");
    draft.line(
        3,
        "cost: 50 USD",
        "guess: what it may cost",
        WhenRefused::LeftOut,
    );
    match max_runtime {
        Some((limit, place)) => draft.line(
            3,
            &format!("time: {}", limit.exact()),
            &format!("guess: the limit at {place}"),
            WhenRefused::Replaced("time: 8h".to_owned()),
        ),
        None => draft.line(
            3,
            "time: 8h",
            "guess: how long it may take",
            WhenRefused::LeftOut,
        ),
    }
}
