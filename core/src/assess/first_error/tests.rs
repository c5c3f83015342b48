use proptest::prelude::*;

use super::*;
use crate::canary::{ChannelData, DataObject, Objects};
use crate::spec::{SpecSource, read};
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

/// What Python 3.11 printed, line by line, and torchrun, the toolkit, shells and frameworks.
const FIXED_PATH: &str = r#"Traceback (most recent call last):
  File "/work/churn/train.py", line 5, in <module>
    load("data/train/part-0000.csv")
  File "/work/churn/train.py", line 3, in load
    return open(path).read()
           ^^^^^^^^^^
FileNotFoundError: [Errno 2] No such file or directory: 'data/train/part-0000.csv'"#;
const FIXED_PATH_LED_ON: &str = r#"Traceback (most recent call last):
  File "/work/churn/train.py", line 2, in <module>
    open("data/train/x.csv")
FileNotFoundError: [Errno 2] No such file or directory: 'data/train/x.csv'

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/work/churn/train.py", line 4, in <module>
    raise RuntimeError("no data") from e
RuntimeError: no data"#;
const DIRECT_CAUSE: &str = "The above exception was the direct cause of the following exception:";
const DEALT_WITH: &str = r#"ERROR:root:skipped
Traceback (most recent call last):
  File "/work/churn/train.py", line 2, in <module>
FileNotFoundError: [Errno 2] No such file or directory: 'data/train/x'
Traceback (most recent call last):
  File "/work/churn/train.py", line 4, in <module>
KeyError: 'age'"#;
const DEALT_WITH_THEN_ENDED: &str = r#"ERROR:root:skipped
Traceback (most recent call last):
  File "/work/churn/train.py", line 2, in <module>
FileNotFoundError: [Errno 2] No such file or directory: 'data/train/x'
bad column"#;
const MODULE: &str = r#"Traceback (most recent call last):
  File "/work/churn/train.py", line 1, in <module>
    import lightgbm
ModuleNotFoundError: No module named 'lightgbm'"#;
const CUDA: &str = r#"[rank0]: Traceback (most recent call last):
[rank0]:   File "/opt/ml/code/train.py", line 40, in <module>
[rank0]:     loss.backward()
[rank0]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 14.58 GiB of which 1.02 GiB is free."#;
const CUDA_ASYNC: &str = r#"Traceback (most recent call last):
  File "train.py", line 9, in <module>
    model.to("cuda")
RuntimeError: CUDA error: out of memory
CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.
For debugging consider passing CUDA_LAUNCH_BLOCKING=1
Compile with `TORCH_USE_CUDA_DSA` to enable device-side assertions."#;
const TENSORFLOW: &str = r#"Node: 'model/dense/MatMul'
OOM when allocating tensor with shape[65536,65536] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc
	 [[{{node model/dense/MatMul}}]]
Hint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations_upon_oom to RunOptions for current allocation info.
 [Op:__inference_train_function_1234]"#;
const TENSORFLOW_CPU: &str = "tensorflow.python.framework.errors_impl.ResourceExhaustedError: {{function_node __wrapped__MatMul}} OOM when allocating tensor with shape[65536,65536] and type float on /job:localhost/replica:0/task:0/device:CPU:0 by allocator cpu [Op:MatMul]";
const JAX: &str = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes.";

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

    fn explained(&self, log: &str, last_line: Option<&str>) -> Explained {
        let text = match self.spec.as_str() {
            "" => LOCAL,
            written => written,
        };
        let source = SpecSource {
            name: "canary-gate.yml",
            bytes: text.as_bytes(),
        };
        let spec =
            read(source, &[]).unwrap_or_else(|errors| panic!("{}", errors.render(false, 99)));
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
        };
        let log_tail = log.lines().map(|line| format!("{}{line}", self.printed_by));
        explain(&FailedCanary {
            job,
            run: &run,
            outcome: &Outcome::Failed {
                exit_code: self.exit_code,
                last_line: last_line.map(str::to_owned),
            },
            is_unread: false,
            log_tail: &log_tail.collect::<Vec<_>>(),
        })
    }
}

/// A canary on SageMaker.
fn on_sagemaker() -> FailedRun<'static> {
    FailedRun {
        spec: SAGEMAKER.to_owned(),
        printed_by: "",
        ..EXITED
    }
}

fn missing(path: &str) -> String {
    format!("FileNotFoundError: [Errno 2] No such file or directory: '{path}'")
}

#[test]
fn data_that_are_read_by_a_fixed_path() {
    let said = EXITED.of(FIXED_PATH).unwrap();
    assert_eq!(
        said,
        "the script reads `data/train/part-0000.csv` by a fixed path, and a canary has its data elsewhere: read them from the folder that the variable `SM_CHANNEL_TRAIN` names"
    );
    assert_eq!(on_sagemaker().of(FIXED_PATH).as_ref(), Some(&said));
    let is_said = |case: &FailedRun<'_>, line: &str| {
        let said = case.of(line);
        said.is_some_and(|said| said.contains("by a fixed path"))
    };
    for line in [
        missing("data/train"),
        // Not in the share either; wherever it is put, it is not there.
        missing("data/train/labels.csv"),
        missing("./data/train/x.csv"),
        missing("../data/train/x.csv"),
        missing("/home/ci/churn/.canary-gate/work/4711/churn-1/code/data/train/x.csv"),
        missing("/opt/ml/code/data/train/x.csv"),
        "OSError: data/train/x.npy not found.".to_owned(),
        "lightgbm.basic.LightGBMError: Could not open data/train/x.csv".to_owned(),
        "cat: data/train/x.csv: No such file or directory".to_owned(),
    ] {
        assert!(is_said(&EXITED, &line), "{line}");
    }
    assert!(is_said(&EXITED, FIXED_PATH_LED_ON));
    // The source is a folder above the data.
    let case = FailedRun {
        spec: LOCAL
            .replace("uri: data/train", "uri: churn/in")
            .replace("command:", "source_dir: churn\n      command:"),
        ..EXITED
    };
    assert!(is_said(&case, &missing("in/x.csv")));
}

#[test]
fn a_file_that_the_canary_has_no_share_of() {
    let said = "`labels.csv` is not in this canary, which holds a share of channel `train`: put files that every run needs under `always`, or into a channel of their own with `sample: false`";
    for folder in ["/opt/ml", "/home/ci/.canary-gate/work/1/churn-1/ml"] {
        let path = format!("{folder}/input/data/train/labels.csv");
        for case in [&EXITED, &on_sagemaker()] {
            assert_eq!(case.of(&missing(&path)).as_deref(), Some(said));
        }
    }
    // There, or nowhere in the channel.
    for key in ["part-0.csv", "other.csv"] {
        let path = format!("/opt/ml/input/data/train/{key}");
        assert_eq!(EXITED.of(&missing(&path)), None);
    }
}

#[test]
fn a_module_that_the_interpreter_does_not_have() {
    let said = EXITED.of(MODULE).unwrap();
    assert!(said.starts_with("the Python that the canary runs has no module `lightgbm`"));
    assert!(said.contains("`training.command`") && said.contains("`.venv` is not copied"));
    let said = on_sagemaker().of(MODULE).unwrap();
    assert!(said.contains("`requirements.txt` in `training.source_dir`"));
    for line in [
        "/usr/bin/python3: No module named lightgbm",
        "ImportError: No module named lightgbm",
        "ImportError: Missing optional dependency 'lightgbm'.  Use pip or conda to install lightgbm.",
    ] {
        let said = EXITED.of(line).unwrap();
        assert!(said.contains("no module `lightgbm`:"), "{line}: {said}");
    }
}

#[test]
fn a_virtual_environment_is_not_copied() {
    for line in [
        "bash: .venv/bin/activate: No such file or directory",
        "sh: 1: .: cannot open .venv/bin/activate: No such file",
    ] {
        let said = EXITED.of(line).unwrap();
        assert!(said.starts_with("`.venv/bin/activate` is not in the canary, for git ignores it"));
        assert!(said.ends_with("by an absolute path in `training.command`"));
    }
}

#[test]
fn a_program_that_the_shell_does_not_find() {
    let case = FailedRun {
        exit_code: Some(127),
        ..EXITED
    };
    for line in [
        "sh: 1: lgbm: not found",
        "bash: lgbm: command not found",
        "train.sh: line 2: lgbm: command not found",
    ] {
        let said = case.of(line).unwrap();
        assert!(said.starts_with("`lgbm` was not found"), "{line}: {said}");
        // Another exit code is another failure.
        assert_eq!(EXITED.of(line), None);
    }
    let said = FailedRun {
        exit_code: Some(127),
        ..on_sagemaker()
    }
    .of("sh: 1: lgbm: not found");
    assert!(said.unwrap().starts_with("`lgbm` is not in the image"));
}

#[test]
fn a_variable_that_no_shell_expands() {
    for line in [
        missing("$SM_CHANNEL_TRAIN"),
        missing("${SM_CHANNEL_TRAIN}/x.csv"),
    ] {
        let said = EXITED.of(&line).unwrap();
        assert!(said.starts_with("`$SM_CHANNEL_TRAIN` reached the script as it is written"));
    }
    // The script made another path of it.
    let spec = |command: &str| FailedRun {
        spec: LOCAL.replace("[python3, train.py]", command).replace(
            "channels:",
            "hyperparameters: {train: $SM_CHANNEL_TRAIN}\n      channels:",
        ),
        ..EXITED
    };
    let line = missing("/tmp/x.csv");
    assert!(
        spec("[python3, train.py]")
            .of(&line)
            .unwrap()
            .contains("`sh -c`")
    );
    assert_eq!(spec("[sh, train.sh]").of(&line), None);
    // On SageMaker the words of the container.
    let container = |words: &str| FailedRun {
        spec: SAGEMAKER.replace(
            "      role:",
            &format!("      container: {{{words}}}\n      role:"),
        ),
        ..on_sagemaker()
    };
    for words in [
        "entrypoint: [python3, /opt/train.py, --data, $SM_CHANNEL_TRAIN]",
        "arguments: [--data, $SM_CHANNEL_TRAIN]",
    ] {
        let said = container(words).of(&line).unwrap_or_default();
        assert!(said.contains("`sh -c`"), "{words}: {said}");
    }
    let words = "entrypoint: [/bin/sh, -c], arguments: [python3 /opt/train.py $SM_CHANNEL_TRAIN]";
    assert_eq!(container(words).of(&line), None);
}

#[test]
fn memory_of_the_gpu_is_not_that_of_the_machine() {
    for log in [CUDA, CUDA_ASYNC, TENSORFLOW, JAX] {
        let said = EXITED.of(log).unwrap_or_else(|| panic!("{log}"));
        assert!(said.starts_with("the memory of the GPU ran out, not that of the machine"));
        let last_line = log.lines().last();
        let outcome = EXITED.explained(log, last_line).outcome;
        assert_eq!(outcome.words(), "out of GPU memory", "{log}");
        assert_eq!(outcome.last_line(), last_line);
    }
    // One that the script dealt with, by a smaller batch, and what ended it.
    let caught = format!(
        "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n{TENSORFLOW}\nthe batch is halved\nTraceback (most recent call last):\n  File \"train.py\", line 12, in <module>\nKeyError: 'age'"
    );
    for log in [
        TENSORFLOW_CPU,
        &caught,
        "warning: CUDA out of memory, the batch is halved\nKeyError: 'age'",
    ] {
        let outcome = EXITED.explained(log, log.lines().last()).outcome;
        assert_eq!(outcome.words(), "failed", "{log}");
    }
    assert_eq!(EXITED.of(TENSORFLOW_CPU), None);
    // One that led to the last.
    let led_on = caught.replace("the batch is halved", &format!("\n{DIRECT_CAUSE}\n"));
    let outcome = EXITED.explained(&led_on, led_on.lines().last()).outcome;
    assert_eq!(outcome.words(), "out of GPU memory");
}

#[test]
fn a_process_that_was_killed() {
    let case = FailedRun {
        exit_code: Some(137),
        ..EXITED
    };
    let said = case.with_reason("epoch 3", Some("epoch 3")).unwrap();
    assert!(said.starts_with("exit code 137 is a process that was killed"));
}

#[test]
fn the_toolkit_speaks_after_the_traceback() {
    let log = format!(
        "{FIXED_PATH}\n2026-11-21 05:30:00,123 sagemaker-training-toolkit ERROR    Reporting training FAILURE\nExecuteUserScriptError:\nExitCode 1\nErrorMessage \"\"\nCommand \"/usr/bin/python3 train.py\""
    );
    assert!(on_sagemaker().with_reason(&log, None).is_some());
}

#[test]
fn what_is_no_likely_first_error_has_no_way_out() {
    for log in [
        &missing("/etc/x"),
        &missing("/etc/data/train.conf"),
        &missing("model.bin"),
        DEALT_WITH,
        DEALT_WITH_THEN_ENDED,
        "KeyError: 'data/train/x.csv'",
        "INFO: skipping FileNotFoundError: 'data/train/x.csv' not found, going on",
        "warning: No module named 'lightgbm', using another",
        "warning: CUDA out of memory, the batch is halved",
        "AssertionError: exit code 137",
        "bad value in data/train/x.csv",
        "",
    ] {
        assert_eq!(EXITED.of(log), None, "{log}");
    }
    // Of one that was shown, and did not end the program.
    let log = format!("{FIXED_PATH}\nepoch 1\nValueError: bad");
    assert_eq!(EXITED.of(&log), None);
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
