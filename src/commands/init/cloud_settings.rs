//! The settings of a job on SageMaker, each with the place that it was read from, or marked as a guess.

use super::draft::{SpecDraft, WhenRefused, is_open};
use super::finds::{FoundLaunch, SaidSetting};
use crate::backend::sagemaker::from_job;
use crate::spec::page::FILL_IN;
use crate::spec::yaml_text as yaml;
use crate::units::Seconds;

/// The region where none is named.
pub(super) const REGION: &str = "us-east-1";
/// The machine where none is named.
pub(super) const INSTANCE: &str = "ml.m5.xlarge";
/// What SageMaker's own toolkit is handed, and canary-gate sets itself.
const OF_TOOLKIT: &str = "sagemaker_";

pub(super) fn no_role() -> String {
    format!("role: arn:aws:iam::123456789012:role/{FILL_IN}")
}

pub(super) fn no_output() -> String {
    format!("output: s3://my-bucket/{FILL_IN}-output/")
}

pub(super) fn no_data(channel: &str) -> String {
    yaml::text(&format!("s3://my-bucket/{FILL_IN}/{channel}/"))
}

pub(super) fn no_image(region: &str) -> String {
    yaml::text(&format!(
        "123456789012.dkr.ecr.{region}.amazonaws.com/{FILL_IN}:latest"
    ))
}

/// Its region and where that was read. Other letters than those of a region are hostile text: it goes into lines of its own.
pub(super) fn region(launch: &FoundLaunch) -> (String, String) {
    let of_image = launch.image.as_ref().and_then(|image| {
        let (_, rest) = image.text.as_ref()?.split_once(".dkr.ecr.")?;
        let region = rest.split('.').next()?;
        let is_of_region = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        (!region.is_empty() && region.chars().all(is_of_region))
            .then(|| (region.to_owned(), format!("{}, of the image", image.place)))
    });
    of_image.unwrap_or_else(|| (REGION.to_owned(), "guess: no file names one".to_owned()))
}

/// What the container is.
pub(super) fn program(draft: &mut SpecDraft, launch: &FoundLaunch) {
    let region = region(launch).0;
    let image = format!("image: {}", no_image(&region));
    if let Some((name, said)) = &launch.framework
        && let Some(version) = said.text.as_deref()
    {
        // `2.1.0` of the SDK is an image of its own; the table of a spec has the newest of 2.1.
        let text = format!("framework: {{{name}: {}}}", yaml::text_or_number(version));
        draft.line(3, &text, &said.place, WhenRefused::Replaced(image));
        return;
    }
    if let Some(algorithm) = launch.algorithm.as_ref().filter(|said| said.text.is_some()) {
        setting(draft, "algorithm", Some(algorithm), Some(&image));
        return;
    }
    if launch.what.starts_with("HuggingFace") {
        draft.remark(3, "The addresses of Hugging Face's images: https://github.com/aws/deep-learning-containers/blob/master/available_images.md");
    }
    setting(draft, "image", launch.image.as_ref(), Some(&image));
}

/// A key with what was said of it; else its placeholder, marked; else a comment.
pub(super) fn setting(
    draft: &mut SpecDraft,
    key: &str,
    said: Option<&SaidSetting>,
    placeholder: Option<&str>,
) {
    let refused = match placeholder {
        Some(placeholder) => WhenRefused::Replaced(placeholder.to_owned()),
        None => WhenRefused::LeftOut,
    };
    match (
        said,
        said.and_then(|said| said.text.as_deref())
            .filter(|text| is_open(text)),
        placeholder,
    ) {
        (Some(said), Some(text), _) => draft.line(
            3,
            &format!("{key}: {}", yaml::text(text)),
            &said.place,
            refused,
        ),
        (Some(said), None, Some(placeholder)) => {
            draft.line(
                3,
                placeholder,
                &format!("guess: {} has {}", said.place, said.written),
                WhenRefused::Kept,
            );
        }
        (None, _, Some(placeholder)) => {
            draft.line(3, placeholder, "guess: no file says it", WhenRefused::Kept);
        }
        (Some(said), None, None) => {
            draft.remark(3, &format!("{key}: {} has {}", said.place, said.written));
        }
        (None, _, None) => {}
    }
}

/// Names with values. One that is no literal becomes a comment; a secret's value is written nowhere.
pub(super) fn pairs(draft: &mut SpecDraft, key: &str, all: &[(String, SaidSetting)]) {
    let mut last: Vec<&(String, SaidSetting)> = Vec::new();
    for pair in all.iter().filter(|(name, _)| !name.starts_with(OF_TOOLKIT)) {
        // A later one wins, as in Python.
        last.retain(|(name, _)| *name != pair.0);
        last.push(pair);
    }
    let is_written = |(name, said): &&&(String, SaidSetting)| {
        !from_job::is_secret(name) && said.text.as_deref().is_some_and(is_open)
    };
    if last.iter().any(|pair| is_written(&pair)) {
        draft.line(3, &format!("{key}:"), "", WhenRefused::LeftOut);
    }
    for (name, said) in last.iter().filter(is_written).copied() {
        let value = said.text.as_deref().unwrap_or_default();
        let text = format!("{}: {}", yaml::text(name), yaml::text_or_number(value));
        draft.line(4, &text, &said.place, WhenRefused::LeftOut);
    }
    for (name, said) in last.iter().filter(|pair| !is_written(pair)) {
        match from_job::is_secret(name) || said.text.is_some() {
            true => draft.remark(
                3,
                &format!(
                    "Left out, since it may be a secret: {key}.{name} at {}",
                    said.place
                ),
            ),
            false => draft.remark(
                3,
                &format!("{key}.{name}: {} has {}", said.place, said.written),
            ),
        }
    }
}

pub(super) fn channels(draft: &mut SpecDraft, launch: &FoundLaunch) {
    draft.remark(3, "Canaries get a sample of each channel; with `sample: false` a channel is whole in every canary.");
    let none = || format!("channels: {{train: {{uri: {}}}}}", no_data("train"));
    draft.line(3, "channels:", "", WhenRefused::Replaced(none()));
    if launch.channels.is_empty() {
        draft.line(
            4,
            &format!("train: {{uri: {}}}", no_data("train")),
            "guess: no file says where the data lie",
            WhenRefused::LeftOut,
        );
    }
    for (name, said) in &launch.channels {
        let is_whole = ["test", "val", "eval"]
            .iter()
            .any(|known| name.starts_with(known));
        let sample = if is_whole { ", sample: false" } else { "" };
        let key = yaml::text(name);
        let no_data = format!("{key}: {{uri: {}{sample}}}", no_data("train"));
        let address = said
            .text
            .as_deref()
            .filter(|text| text.starts_with("s3://") && is_open(text));
        match address {
            Some(address) => draft.line(
                4,
                &format!("{key}: {{uri: {}{sample}}}", yaml::text(address)),
                &said.place,
                WhenRefused::Replaced(no_data),
            ),
            None => draft.line(
                4,
                &no_data,
                &format!("guess: {} has {}", said.place, said.written),
                WhenRefused::LeftOut,
            ),
        }
    }
}

pub(super) fn seconds(said: Option<&SaidSetting>) -> Option<(Seconds, &str)> {
    let said = said?;
    let seconds: u32 = said.text.as_ref()?.parse().ok()?;
    Some((Seconds(f64::from(seconds)), &said.place))
}

pub(super) fn limits(draft: &mut SpecDraft, launch: &FoundLaunch) {
    match seconds(launch.max_runtime.as_ref()) {
        Some((limit, place)) => draft.line(
            3,
            &format!("max_runtime: {}", limit.exact()),
            place,
            WhenRefused::LeftOut,
        ),
        None => setting(draft, "max_runtime", launch.max_runtime.as_ref(), None),
    }
    setting_of_number(draft, "volume_gb", launch.volume_gb.as_ref());
    match launch
        .spot
        .as_ref()
        .and_then(|said| Some((said, said.text.as_deref()?)))
    {
        Some((said, "true")) => draft.line(
            3,
            "spot: true",
            &format!("{}; canaries never use spot", said.place),
            WhenRefused::LeftOut,
        ),
        Some(_) => {}
        None => setting(draft, "spot", launch.spot.as_ref(), None),
    }
    setting(draft, "checkpoints", launch.checkpoints.as_ref(), None);
}

fn setting_of_number(draft: &mut SpecDraft, key: &str, said: Option<&SaidSetting>) {
    match said.and_then(|said| Some((said, said.text.as_ref()?.parse::<u32>().ok()?))) {
        Some((said, number)) => draft.line(
            3,
            &format!("{key}: {number}"),
            &said.place,
            WhenRefused::LeftOut,
        ),
        None => setting(draft, key, said.filter(|said| said.text.is_none()), None),
    }
}

/// Both lists or neither: one alone is no network.
pub(super) fn network(draft: &mut SpecDraft, launch: &FoundLaunch) {
    let lists = [
        ("subnets", &launch.subnets),
        ("security_groups", &launch.security_groups),
    ];
    let is_whole = lists
        .iter()
        .all(|(_, said)| said.as_ref().is_some_and(|said| !said.items.is_empty()));
    for (key, said) in lists {
        let Some(said) = said.as_ref().filter(|said| said.written != "None") else {
            continue;
        };
        let items: Vec<String> = said.items.iter().map(|item| yaml::text(item)).collect();
        match is_whole {
            true => draft.line(
                3,
                &format!("{key}: [{}]", items.join(", ")),
                &said.place,
                WhenRefused::LeftOut,
            ),
            false => draft.remark(3, &format!("{key}: {} has {}", said.place, said.written)),
        }
    }
}

pub(super) fn instance(draft: &mut SpecDraft, launch: &FoundLaunch) {
    let count = launch.instance_count.as_ref();
    let number = count.and_then(|said| said.text.as_ref()?.parse::<u32>().ok());
    let times = match number {
        Some(number) if number > 1 => format!("{number}x "),
        _ => String::new(),
    };
    let kind = launch.instance_type.as_ref();
    let of_sagemaker = kind
        .and_then(|said| said.text.as_deref())
        .filter(|text| text.starts_with("ml."));
    let text = format!(
        "instance: {}",
        yaml::text(&format!("{times}{}", of_sagemaker.unwrap_or(INSTANCE)))
    );
    // A count has a space.
    let text = match times.is_empty() {
        true => text,
        false => format!(
            "instance: {times}{}",
            of_sagemaker.map_or_else(|| INSTANCE.to_owned(), yaml::text)
        ),
    };
    let mut said = match (of_sagemaker, kind) {
        (Some(_), Some(said)) => said.place.clone(),
        (_, Some(said)) => format!("guess: {} has {}", said.place, said.written),
        (_, None) => "guess: no file names a machine".to_owned(),
    };
    if let Some(count) = count.filter(|_| number.is_none()) {
        said = format!(
            "{said}; guess: one machine, {} has {}",
            count.place, count.written
        );
    }
    draft.line(
        2,
        &text,
        &said,
        WhenRefused::Replaced(format!("instance: {INSTANCE}")),
    );
    draft.remark(
        2,
        "Other configurations to compare. They never change the exit code.",
    );
    draft.remark(2, "alternatives: [ml.c5.4xlarge]");
    draft.gap();
}
