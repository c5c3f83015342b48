//! Whatever a checkout holds, the draft of it is a valid spec.

use proptest::prelude::*;

use super::finds::SeenFile;
use super::read_file::ReadFile;
use super::*;
use crate::instance::tables;
use crate::units::Bytes;

/// The spec of these files, each of which git knows.
fn spec_of(files: &[(&str, &str)]) -> String {
    let texts: Vec<ReadFile> = files
        .iter()
        .map(|(path, text)| ReadFile::new(path, text, finds::is_wanted_call))
        .collect();
    let seen: Vec<SeenFile> = (files.iter())
        .map(|(path, text)| SeenFile {
            path: (*path).to_owned(),
            bytes: Bytes(text.len() as u64),
        })
        .collect();
    let code = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    drafted(&Overview::of(code, &texts, &seen)).0
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
fn secrets_are_written_nowhere() {
    let text = spec_of(&[(
        "launch.py",
        "e = PyTorch(entry_point='t.py', role='R', framework_version='2.8', instance_type='ml.m5.large', hyperparameters={'hf_token': 'hf_abcdefghijklmnopqrstuvwxyz012345', 'note': 'AKIAIOSFODNN7EXAMPLE', 'epochs': 3}, environment={'WANDB_API_KEY': '0123456789abcdef0123456789abcdef01234567'})\n",
    )]);
    read(&text);
    for secret in ["hf_abcdef", "AKIAIOSF", "0123456789abcdef0123"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(
        text.contains("Left out, since it may be a secret: environment.WANDB_API_KEY"),
        "{text}"
    );
    assert!(text.contains("epochs: 3"), "{text}");
}

#[test]
fn values_that_are_yaml_stay_values() {
    let text = spec_of(&[(
        "launch.py",
        "e = Estimator(image_uri='x\\nversion: 2', role='arn:aws:iam::123456789012:role/R: {a: b}', instance_type='ml.m5.large # no', instance_count=2, output_path='s3://b\\n\\nbudget: {}', hyperparameters={'a: b': '{c: d}', '*x': '&y', '': '', 'n': '- 1'})\ne.fit({'train\\nx': 's3://bucket-1/a\\n  b: c', '../..': 's3://bucket-1/'})\n",
    )]);
    let spec = read(&text);
    let job = &spec.jobs[0];
    assert!(
        job.training
            .hyperparameters
            .iter()
            .any(|(name, value)| name == "a: b" && value == "{c: d}"),
        "{text}"
    );
    assert_eq!(spec.jobs.len(), 1);
}

#[test]
fn the_address_of_an_image_brings_no_keys_of_its_own() {
    let text = spec_of(&[(
        "launch.py",
        "e = Estimator(image_uri='1.dkr.ecr.us-east-1\\n      environment: {A: b}\\n      #.amazonaws.com/a:1', role='R', instance_type='ml.m5.large')\n",
    )]);
    let spec = read(&text);
    assert_eq!(spec.jobs[0].training.environment, [], "{text}");
    assert!(!text.contains("\n      environment:"), "{text}");
    assert!(
        text.contains("region: us-east-1    # guess: no file names one"),
        "{text}"
    );
}

#[test]
fn too_much_and_impossible_values_are_left_out_and_said() {
    let many: String = (0..150)
        .map(|number| format!("'p{number}': {number}, "))
        .collect();
    let text = spec_of(&[(
        "launch.py",
        &format!(
            "e = SKLearn(entry_point='/abs/train.py', framework_version='9.9', role='r', instance_type='ml.nope.large', max_run=10**9, volume_size=99999999, hyperparameters={{{many}}}, subnets=['x'], security_group_ids=['y'])\ne.fit('s3://UPPER/x')\n"
        ),
    )]);
    read(&text);
    assert!(text.contains("guess: in place of"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_literal_makes_a_valid_spec(
        texts in proptest::collection::vec("(?s).{0,40}", 12),
        number in any::<i64>(),
    ) {
        let quoted: Vec<String> = texts.iter().map(|text| {
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
        }).collect();
        let q = |at: usize| &quoted[at];
        let launch = format!(
            "e = PyTorch(entry_point={}, source_dir={}, role={}, framework_version={}, instance_type={}, instance_count={number}, max_run={number}, output_path={}, base_job_name={}, hyperparameters={{{}: {}, {}: {number}}}, checkpoint_s3_uri={})\ne.fit({{{}: {}}})\n",
            q(0), q(1), q(2), q(3), q(4), q(5), q(6), q(7), q(8), q(9), q(10), q(11), q(5),
        );
        let path = format!("{}/train.py", texts[0].replace(['\0', '\n'], ""));
        let script = format!("parser.add_argument({}, default={number})\nos.environ['SM_CHANNEL_TRAIN']\nmodel.fit(x)\n", q(1).replacen('\'', "'--", 1));
        read(&spec_of(&[("launch.py", &launch), ("t.py", "")]));
        for image in [format!("'1.dkr.ecr.{}.amazonaws.com/a:1'", quoted[0].trim_matches('\'')), q(1).clone()] {
            let launch = format!("e = Estimator(image_uri={image}, role={}, instance_type='ml.m5.large')\n", q(2));
            let text = spec_of(&[("launch.py", &launch)]);
            prop_assert!(read(&text).jobs[0].training.environment.is_empty(), "{}", text);
        }
        read(&spec_of(&[(&path, &script), (&format!("{}/a.csv", texts[2].replace('\n', "")), "1,2\n")]));
        read(&spec_of(&[(&format!("{}/Dockerfile", texts[3]), "FROM x\nENV SAGEMAKER_PROGRAM train.py\n")]));
    }
}
