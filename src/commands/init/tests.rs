//! Whatever a checkout holds, the draft of it is a valid spec.

use proptest::prelude::*;

use super::data::SeenFile;
use super::found::{Overview, SourceText};
use super::*;
use crate::instance::tables;
use crate::spec::SpecSource;
use crate::units::Bytes;

/// The spec of these files, each of which git knows.
fn spec_of(files: &[(&str, &str)]) -> String {
    let texts: Vec<SourceText> = (files.iter())
        .map(|(path, text)| SourceText {
            path: (*path).to_owned(),
            text: (*text).to_owned(),
        })
        .collect();
    let seen: Vec<SeenFile> = (files.iter())
        .map(|(path, text)| SeenFile {
            path: (*path).to_owned(),
            bytes: Bytes(text.len() as u64),
        })
        .collect();
    drafted::drafted(&Overview::of(&texts, &seen)).0
}

/// Reads it as `validate` does.
#[track_caller]
fn read(text: &str) -> spec::Spec {
    let known: Vec<&str> = tables::listed_types().collect();
    let source = SpecSource {
        name: "canary-gate.yml",
        bytes: text.as_bytes(),
    };
    match spec::read(source, &known) {
        Ok(spec) => spec,
        Err(errors) => panic!("{}\n{text}", errors.render(false, 100)),
    }
}

#[test]
fn nothing_found_is_the_example_and_says_so() {
    let text = spec_of(&[("README.md", "a library")]);
    assert!(
        text.starts_with("# Nothing that trains was found"),
        "{text}"
    );
    read(&text);
}

#[test]
fn a_path_brings_no_keys_of_its_own() {
    let text = spec_of(&[
        ("a/train.py", "model.fit(SM_CHANNEL_TRAIN)"),
        (
            "b\n    budget: {}/launch.py",
            "import sagemaker\nPyTorch(\n",
        ),
    ]);
    assert_eq!(read(&text).jobs.len(), 1);
    assert!(!text.contains("\n    budget: {}"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_name_makes_a_valid_spec(
        texts in proptest::collection::vec("(?s).{0,40}", 6),
    ) {
        let named: Vec<String> = texts.iter().map(|text| text.replace(['\0', '\n'], "")).collect();
        let script = format!(
            "os.environ['SM_CHANNEL_{}']\nmodel.fit(x)\n",
            texts[1].to_uppercase(),
        );
        let path = format!("{}/train.py", named[3]);
        let launch = (format!("{}/launch.py", named[4]), "import sagemaker\nEstimator(image)\n");
        let launch = (launch.0.as_str(), launch.1);
        read(&spec_of(&[launch]));
        read(&spec_of(&[launch, (&path, &script)]));
        read(&spec_of(&[(&path, &script), (&format!("{}/a.csv", named[2]), "1,2\n")]));
        read(&spec_of(&[(&format!("{}/Dockerfile", texts[5]), "FROM x\nENV SAGEMAKER_PROGRAM train.py\n")]));
    }
}
