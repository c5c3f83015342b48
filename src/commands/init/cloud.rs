//! The draft of a job on SageMaker: from a Dockerfile of an image that trains, or from a script beside a call that starts training jobs.
//! Where images, roles and data are, AWS knows and the checkout does not: these are for the user to fill in.

use super::draft::{SpecDraft, WhenRefused};
use super::found::{FoundScript, Overview, folder_of, name_of, path_of};
use super::lines;
use crate::spec::page::FILL_IN;
use crate::spec::yaml_text as yaml;

/// The region where none is named.
const REGION: &str = "us-east-1";

/// From a Dockerfile, by the place of the line that says what it is for.
pub(super) fn of_container(overview: &Overview, place: &str) -> SpecDraft {
    let path = path_of(place);
    let folder = folder_of(path);
    let mut draft = SpecDraft::default();
    lines::opening(&mut draft, overview, &format!("{path} ({place})"), &[path]);
    let name = lines::job_name(name_of(folder));
    head(&mut draft, overview, &name, &[lines::all_below(folder)]);
    draft.remark(3, "A change of the code makes a new image: build and push it before the gate runs, and name it here.");
    image(
        &mut draft,
        &format!("where the image of {path} is pushed to"),
    );
    role(&mut draft);
    ending(&mut draft, None);
    draft
}

/// From the place of a call, and the script that it most likely starts.
pub(super) fn of_launch(
    overview: &Overview,
    place: &str,
    script: Option<&FoundScript>,
) -> SpecDraft {
    let mut draft = SpecDraft::default();
    let path = script.map_or_else(|| path_of(place), |script| &script.path);
    let from = match script {
        Some(script) => format!("{path} ({})", script.why),
        None => place.to_owned(),
    };
    lines::opening(&mut draft, overview, &from, &[path]);
    let mut patterns = vec![lines::escaped(path_of(place))];
    patterns.extend(script.map(|script| lines::all_below(folder_of(&script.path))));
    let name = lines::name_of_script(path);
    head(&mut draft, overview, &name, &patterns);
    draft.remark(
        3,
        "An image of AWS's own is named by its framework: `framework: {pytorch: \"2.8\"}`.",
    );
    image(&mut draft, "the image of the training jobs");
    role(&mut draft);
    if let Some(script) = script {
        let folder = match folder_of(path) {
            "" => ".",
            folder => folder,
        };
        for (key, value) in [("source_dir", folder), ("entry_point", name_of(path))] {
            let text = format!("{key}: {}", yaml::text(value));
            draft.line(
                3,
                &text,
                &format!("guess: {}", script.why),
                WhenRefused::LeftOut,
            );
        }
        lines::hyperparameters(&mut draft, script);
    }
    ending(&mut draft, script);
    draft
}

fn head(draft: &mut SpecDraft, overview: &Overview, name: &str, patterns: &[String]) {
    draft.head(0, "backend: sagemaker");
    let region = format!("region: {REGION}");
    draft.line(0, &region, "guess: no file names one", WhenRefused::Kept);
    draft.gap();
    draft.head(0, "jobs:");
    draft.head(1, &format!("{}:", yaml::text(name)));
    lines::paths(draft, overview, patterns);
}

fn image(draft: &mut SpecDraft, which: &str) {
    let text = format!("image: 123456789012.dkr.ecr.{REGION}.amazonaws.com/{FILL_IN}:latest");
    draft.line(3, &text, &format!("guess: {which}"), WhenRefused::Kept);
}

fn role(draft: &mut SpecDraft) {
    let text = format!("role: arn:aws:iam::123456789012:role/{FILL_IN}");
    draft.line(3, &text, "guess: no file says it", WhenRefused::Kept);
}

/// What follows the program: data, output, machine, limits.
fn ending(draft: &mut SpecDraft, script: Option<&FoundScript>) {
    draft.remark(3, "Canaries get a sample of each channel; with `sample: false` a channel is whole in every canary.");
    draft.head(3, "channels:");
    let train = ["train".to_owned()];
    let named = script.map_or(&[][..], |script| &script.channels);
    for name in if named.is_empty() { &train } else { named } {
        let uri = yaml::text(&format!("s3://my-bucket/{FILL_IN}/{name}/"));
        let sample = if lines::is_whole(name) {
            ", sample: false"
        } else {
            ""
        };
        let text = format!("{}: {{uri: {uri}{sample}}}", yaml::text(name));
        draft.line(4, &text, "guess: where the data lie", WhenRefused::LeftOut);
    }
    let output = format!("output: s3://my-bucket/{FILL_IN}-output/");
    draft.line(3, &output, "guess: no file says it", WhenRefused::Kept);
    draft.gap();
    let said = "guess: what the full run is on; the budget is judged on it";
    draft.line(2, "instance: ml.m5.xlarge", said, WhenRefused::Kept);
    draft.remark(
        2,
        "Other configurations to compare. They never change the exit code.",
    );
    draft.remark(2, "alternatives: [ml.c5.4xlarge]");
    draft.gap();
    if let Some(script) = script {
        lines::work(draft, script);
    }
    draft.remark(2, "The most that the canaries of one check may cost.");
    let limit = "canary: {spend_limit: 5 USD}";
    draft.line(2, limit, "the default", WhenRefused::LeftOut);
    draft.gap();
    lines::budget(draft, "cost: 50 USD", "guess: what it may cost");
}
