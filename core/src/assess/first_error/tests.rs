use proptest::prelude::*;

use super::*;
use crate::canary::{ChannelData, DataObject, Objects};
use crate::spec::read;
use crate::units::{Bytes, Fraction};

const LOCAL: &str = "version: 1
backend: local
jobs:
  churn:
    training:
      command: [python3, train.py]
      channels: {train: {uri: data/train}}
    instance: local
";
const SAGEMAKER: &str = "version: 1
backend: sagemaker
jobs:
  churn:
    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1
      role: arn:aws:iam::123456789012:role/Training
      channels: {train: {uri: s3://data/churn/}}
      output: s3://output/
    instance: ml.m5.xlarge
";

struct FailedRun<'a> {
    spec: String,
    exit_code: Option<i32>,
    /// Before each line of the log.
    printed_by: &'a str,
}

const EXITED: FailedRun<'_> = FailedRun {
    spec: String::new(),
    exit_code: Some(1),
    printed_by: "stderr: ",
};

impl FailedRun<'_> {
    /// The way out where the canary printed this, the last line being its reason.
    fn of(&self, log: &str) -> Option<String> {
        self.with_reason(log, log.lines().last().map(str::trim))
    }

    fn with_reason(&self, log: &str, last_line: Option<&str>) -> Option<String> {
        self.explained(log, last_line).way_out
    }

    fn explained(&self, log: &str, last_line: Option<&str>) -> Measurement {
        let text = match self.spec.as_str() {
            "" => LOCAL,
            written => written,
        };
        let spec = read("canary-gate.yml", text.as_bytes(), &[])
            .unwrap_or_else(|errors| panic!("{}", errors.render(false, 99)));
        let job = &spec.jobs[0];
        let keys = ["labels.csv", "part-0.csv", "part-1.csv", "we`ird\n.csv"];
        let objects: Objects = keys
            .map(|key| DataObject {
                key: key.to_owned(),
                bytes: Bytes(10),
            })
            .into_iter()
            .collect();
        let run = CanaryRun {
            job: job.name.clone(),
            instance: job.instance.clone(),
            fraction: Fraction(0.25),
            share: None,
            work: None,
            replicate: 0,
            channels: vec![ChannelData::new("train", true, objects.select([1]))],
            objects: 1,
            objects_total: 4,
            bytes: Bytes(10),
            bytes_total: Bytes(40),
            max_runtime: None,
            ends_early: false,
        };
        let log_tail = log.lines().map(|line| format!("{}{line}", self.printed_by));
        explain(&EndedCanary {
            job,
            run: &run,
            measurement: &Measurement {
                outcome: Outcome::Failed {
                    exit_code: self.exit_code,
                    last_line: last_line.map(str::to_owned),
                },
                ..Measurement::default()
            },
            log_tail: &log_tail.collect::<Vec<_>>(),
        })
    }
}

fn missing(path: &str) -> String {
    format!("FileNotFoundError: [Errno 2] No such file or directory: '{path}'")
}

/// What became of each canary of `cases.txt`, and its way out.
#[test]
fn each_case_has_its_way_out_or_none() {
    let blocks = include_str!("cases.txt").split("=== ").skip(1);
    let said = blocks.map(|block| {
        let (title, log) = block.split_once('\n').unwrap();
        let log = log.strip_suffix('\n').unwrap();
        let mut case = EXITED;
        let mut reason = log.lines().last().map(str::trim);
        for how in title.split(" | ").skip(1) {
            match (how, how.split_once(" => "), how.strip_prefix("exit ")) {
                ("local", ..) => case.spec = LOCAL.to_owned(),
                ("sagemaker", ..) => {
                    (case.spec, case.printed_by) = (SAGEMAKER.to_owned(), "");
                }
                ("no reason", ..) => reason = None,
                (_, Some((from, to)), _) => {
                    let to = to.replace("\\n", "\n      ");
                    case.spec = case.spec.replace(from, &to);
                }
                (_, _, Some(code)) => case.exit_code = code.parse().ok(),
                _ => panic!("{how}"),
            }
        }
        let found = case.explained(log, reason);
        assert_eq!(found.outcome.last_line(), reason);
        let way_out = found.way_out.as_deref().unwrap_or("-");
        let cure = found
            .cure
            .map(|words| format!("  {words:?}\n"))
            .unwrap_or_default();
        format!("{title}\n  {}: {way_out}\n{cure}", found.outcome.words())
    });
    insta::assert_snapshot!(said.collect::<String>());
}

#[test]
fn nothing_is_quoted_but_a_short_plain_name() {
    let said = EXITED
        .of(&missing("data/train/`rm -rf`\u{1b}[2J<b>.csv"))
        .unwrap();
    assert!(
        said.starts_with("the script reads its data by a fixed path"),
        "{said}"
    );
    let said = EXITED
        .of(&missing(&format!("data/train/{}", "x".repeat(900))))
        .unwrap();
    assert!(
        said.starts_with("the script reads its data by a fixed path"),
        "{said}"
    );
    let long = format!("ModuleNotFoundError: No module named '{}'", "x".repeat(90));
    assert_eq!(EXITED.of(&long), None);
}

/// Each case of `last_errors.txt` names a line of it that is kept, from its end, or none. TRACEBACK stands for that of an error.
#[test]
fn an_error_that_is_printed_last_is_kept_and_one_that_was_dealt_with_is_not() {
    let traceback = "Traceback (most recent call last):\n  File \"/x/a.py\", line 6, in <module>\n    f()\n    ^^^\n";
    for block in include_str!("last_errors.txt").split("=== ").skip(1) {
        let (title, log) = block.split_once('\n').unwrap();
        let kept = title.split_once(" | ").map(|(_, line)| line.to_owned());
        let log = log.replace("TRACEBACK\n", traceback).replace("\\t", "\t");
        let lines = Vec::from_iter(log.replace("\\r", "\r").lines().map(str::to_owned));
        let found = text::last_error(&lines, &printed_figures::Sought::default());
        assert_eq!(found.map(str::to_owned), kept, "{title}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_a_way_out_panic_or_grow(
        words in prop::collection::vec(
            prop_oneof![
                Just("Traceback (most recent call last):\n".to_owned()),
                Just("  File \"".to_owned()),
                Just("FileNotFoundError: ".to_owned()),
                Just("No module named '".to_owned()),
                Just("data/train/".to_owned()),
                Just("data/../".to_owned()),
                Just("${SM_".to_owned()),
                Just("algo-1 stderr: [rank".to_owned()),
                Just(": not found\n".to_owned()),
                "\\PC{0,10}",
            ],
            0..30,
        ),
        exit_code in prop_oneof![Just(1), Just(127), Just(137)],
    ) {
        let case = FailedRun { exit_code: Some(exit_code), ..EXITED };
        // A report shows 300 characters of a sentence.
        if let Some(said) = case.of(&words.concat()) {
            prop_assert!(said.chars().count() <= 300, "{said}");
            prop_assert!(!said.chars().any(char::is_control));
        }
    }
}
