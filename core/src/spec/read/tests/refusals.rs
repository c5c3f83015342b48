//! What is refused, and the words it is refused with.

use super::*;

#[test]
fn all_problems_are_shown_at_once() {
    let text = "\
version: 1
backend: sagemaker
jobs:
  churn:
    training:
      image: 683313688378.dkr.ecr.us-east-1.amazonaws.com/sagemaker-xgboost:1.7-1
      role: arn:aws:iam::123456789012:role/SageMakerTraining
      output: s3://my-bucket/canary-output/
      max_runtime: 40d
      channels: {train: {uri: s3://my-bucket/train/}}
    instance: ml.m5.2xlarge
    bugdet:
      cost: 50
    budget:
      cost: 50
";
    insta::assert_snapshot!(try_read(text).unwrap_err().render(false, 100), @r"
  × the spec has 3 problems; nothing was run

error: jobs.churn.training.max_runtime: 40d; SageMaker allows at most 28d
  ╭▸ canary-gate.yml:9:20
  │
8 │       output: s3://my-bucket/canary-output/
9 │       max_runtime: 40d
  ╰╴                   ━━━

error: jobs.churn: unknown key `bugdet`
   ╭▸ canary-gate.yml:12:5
   │
11 │     instance: ml.m5.2xlarge
12 │     bugdet:
   │     ━━━━━━
   │
   ╰ help: did you mean `budget`?

error: jobs.churn.budget.cost: a number without a unit
   ╭▸ canary-gate.yml:15:13
   │
14 │     budget:
15 │       cost: 50
   │             ━━
   │
   ╰ help: write `50 USD`
");
}

#[test]
fn a_file_that_is_no_yaml_has_one_problem() {
    insta::assert_snapshot!(try_read("version: 1\njobs:\n\tchurn: {}\n").unwrap_err().render(false, 100), @r"
  × the spec has 1 problem; nothing was run

error: this is not YAML: tabs disallowed within this context (block indentation)
  ╭▸ canary-gate.yml:3:2
  │
2 │ jobs:
3 │ ␉churn: {}
  ╰╴ ━
");
    insta::assert_snapshot!(try_read("").unwrap_err().render(false, 100), @r"
  × the spec has 1 problem; nothing was run

error: canary-gate.yml: the file is empty
 │
 ╰ help: `canary-gate init` writes a spec to start from
");
    insta::assert_snapshot!(try_read("jobs: [1, 2\n").unwrap_err().render(false, 100), @r"
  × the spec has 1 problem; nothing was run

error: this is not YAML: unclosed bracket '['
  ╭▸ canary-gate.yml:1:7
  │
1 │ jobs: [1, 2
  ╰╴      ━
");
    insta::assert_snapshot!(read("canary-gate.yml", b"version: 1\njobs: \xff\xfe\n", &[]).unwrap_err().render(false, 100), @r"
  × the spec has 1 problem; nothing was run

error: byte 17 of the file is not UTF-8 (0xff)
  ╭▸ canary-gate.yml:2:7
  │
1 │ version: 1
2 │ jobs: ��
  │       ━
  │
  ╰ help: save the file as UTF-8
");
}

#[test]
fn missing_and_repeated_keys_are_named() {
    assert_eq!(
        problems("strict: true\nstrict: false\n"),
        [
            "the key `version` is missing",
            "the key `backend` is missing",
            "the key `jobs` is missing",
            "the key `strict` is given twice",
        ]
    );
    assert_eq!(
        problems("version: 1\nbackend: local\njobs: {a: {}, a: {}, b: 3}"),
        [
            "jobs.a: the key `training` is missing",
            "jobs.a: the key `instance` is missing",
            "jobs: the key `a` is given twice",
            "jobs.b: the number `3`, where a mapping with keys such as paths, training, instance or alternatives is needed",
        ]
    );
}

#[test]
fn text_of_the_file_is_tame_in_every_message() {
    let text = LOCAL.replace(
        "instance: local",
        "instance: \"\\e[31m\\u202e\\a\"\n    \"\\e]0;x\\a\": 1",
    );
    let report = try_read(&text).unwrap_err().render(false, 100);
    assert!(report.chars().all(|c| c == '\n' || !c.is_control()) && !report.contains('\u{202e}'));
}

#[test]
fn a_script_leaves_less_room_for_hyperparameters() {
    let many = |count: usize| {
        let names: Vec<String> = (0..count).map(|index| format!("h{index}: 1")).collect();
        example_with(
            "hyperparameters: {",
            &format!("hyperparameters: {{{}, ", names.join(", ")),
        )
    };
    // The example has three of its own.
    assert!(try_read(&many(92)).is_ok());
    assert_eq!(
        problems(&many(93)),
        [
            "jobs.churn.training.hyperparameters: 96 hyperparameters beside 5 that start the script of `entry_point`; SageMaker takes at most 95"
        ]
    );
}

/// Each pattern is held against every file of the checkout.
#[test]
fn more_patterns_than_can_be_tried_are_refused() {
    let spec = |jobs: usize, patterns: usize| {
        let globs = vec!["'**/*a*'"; patterns].join(", ");
        let (head, job) = LOCAL.split_once("  churn:\n").unwrap();
        let job = format!("{job}    paths: [{globs}]\n");
        let jobs = (0..jobs).map(|number| format!("  job{number}:\n{job}"));
        format!("{head}{}", jobs.collect::<String>())
    };
    assert!(try_read(&spec(1, 200)).is_ok());
    assert_eq!(
        problems(&spec(1, 201)),
        [
            "jobs.job0.paths: 201 patterns; a job has at most 200 (let a pattern stand for a folder: `\"src/**\"`)"
        ]
    );
    assert_eq!(
        problems(&spec(11, 200)),
        [
            "jobs: 2200 patterns in the `paths` of all jobs; at most 2000 are read (let a pattern stand for a folder: `\"src/**\"`; or give parts of the project a spec each)"
        ]
    );
}

#[test]
fn awss_own_limits_of_length_and_number_are_checked_before_any_call() {
    let many =
        |count: usize, one: fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(", ");
    for (from, to, expected) in [
        (
            "eta: 0.10",
            format!("eta: {}", "x".repeat(2501)),
            "hyperparameters.eta: a value of 2501 characters; SageMaker takes at most 2500",
        ),
        (
            "eta: 0.10",
            many(101, |n| format!("h{n}: 1")),
            "hyperparameters: 103 hyperparameters beside 5 that start the script of `entry_point`; SageMaker takes at most 95",
        ),
        (
            "environment: {}",
            format!("environment: {{A: {}}}", "x".repeat(513)),
            "environment.A: a value of 513 characters; SageMaker takes at most 512",
        ),
        (
            "tags: {team: growth}",
            format!("tags: {{{}}}", many(48, |n| format!("t{n}: 1"))),
            "tags: 48 tags beside six of canary-gate's own; SageMaker takes at most 44",
        ),
        (
            "        validation:",
            format!(
                "        {}\n        validation:",
                many(19, |n| format!("c{n}: {{uri: s3://abc/}}")).replace(", ", "\n        ")
            ),
            "channels: 21 channels; SageMaker takes at most 20",
        ),
    ] {
        let found = problems(&example_with(from, &to));
        assert_eq!(found, [format!("jobs.churn.training.{expected}")]);
    }
    let script = include_str!("testdata/launcher.yml").replace(
        "channels: {train: {uri: s3://my-bucket/train/}}",
        &format!(
            "network_isolation: true\n      channels: {{{}}}",
            many(20, |n| format!("c{n}: {{uri: s3://abc/}}"))
        ),
    );
    assert_eq!(
        problems(&script),
        [
            "jobs.churn.training.network_isolation: 20 channels beside it; SageMaker takes 20 in all, and a script without network comes on one of its own (put two channels under one prefix)"
        ]
    );
}
