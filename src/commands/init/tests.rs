//! Whatever a checkout holds, the draft of it is a valid spec.

use proptest::prelude::*;

use super::*;
use super::{data::SeenFile, found::Overview, text::SourceText};
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
    match written_spec::parse("canary-gate.yml", text.as_bytes()) {
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
fn secrets_are_written_nowhere() {
    let script = "parser.add_argument('--api-token', default=987654)\nparser.add_argument('--key', default=987654)\nparser.add_argument('--epochs', default=3)\nmodel.fit(x)\nos.environ['SM_CHANNEL_TRAIN']\n";
    for launch in ["", "import sagemaker\nPyTorch(\n"] {
        let text = spec_of(&[("train.py", script), ("launch.py", launch)]);
        read(&text);
        assert!(text.contains("epochs: 3"), "{text}");
        for secret in ["987654", "api-token"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
}

#[test]
fn too_many_and_impossible_options_are_left_out() {
    let option = |name: String| format!("parser.add_argument('--{name}', default=1)\n");
    let mut options: String = (0..150)
        .map(|number| option(format!("x{number}")))
        .collect();
    options.insert_str(0, &option("y".repeat(300)));
    let script = format!("{options}model.fit(SM_CHANNEL_TRAIN)\n");
    for launch in ["", "import sagemaker\nPyTorch(\n"] {
        let text = spec_of(&[("train.py", &script), ("launch.py", launch)]);
        let count = |text: &str| read(text).jobs[0].training.hyperparameters.len();
        // As remarks, so that a change of the script's defaults is not hidden.
        assert_eq!(count(&text), 0);
        let live = text.replace("# hyperparameters:", "hyperparameters:");
        assert_eq!(count(&live.replace("      #   x", "        x")), 90);
    }
}

#[test]
fn a_path_that_a_script_reads_is_its_channel() {
    let script = "rows = read_csv('../tables/b.csv')\nmodel.fit(rows)\n";
    let text = spec_of(&[
        ("src/train.py", script),
        ("tables/train.csv", "1,2\n3,4\n"),
        ("tables/b.csv", "1,2\n"),
    ]);
    let channels = &read(&text).jobs[0].training.channels;
    assert_eq!(channels[0].uri, "tables/b.csv");
    let link = r#"ln -s "$SM_CHANNEL_TRAIN/b.csv" ../tables/b.csv"#;
    assert!(text.contains(link), "{text}");
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
        number in any::<i64>(),
    ) {
        let named: Vec<String> = texts.iter().map(|text| text.replace(['\0', '\n'], "")).collect();
        let script = format!(
            "parser.add_argument('--{}', default={number})\nos.environ['SM_CHANNEL_{}']\nread_csv('{}')\nmodel.fit(x)\n",
            texts[0], texts[1].to_uppercase(), texts[2],
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
