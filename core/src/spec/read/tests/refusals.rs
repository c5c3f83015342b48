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

  ╭─[canary-gate.yml:9:20]
8 │       output: s3://my-bucket/canary-output/
9 │       max_runtime: 40d
  ·                    ─┬─
  ·                     ╰── jobs.churn.training.max_runtime: 40d; SageMaker allows at most 28d
  ╰────

   ╭─[canary-gate.yml:12:5]
11 │     instance: ml.m5.2xlarge
12 │     bugdet:
   ·     ───┬──
   ·        ╰── jobs.churn: unknown key `bugdet`
   ╰────
 help: did you mean `budget`?

   ╭─[canary-gate.yml:15:13]
14 │     budget:
15 │       cost: 50
   ·             ─┬
   ·              ╰── jobs.churn.budget.cost: a number without a unit
   ╰────
 help: write `50 USD`
");
}

#[test]
fn a_file_that_is_no_yaml_has_one_problem() {
    insta::assert_snapshot!(try_read("version: 1\njobs:\n\tchurn: {}\n").unwrap_err().render(false, 100), @r"
 × the spec has 1 problem; nothing was run

  ╭─[canary-gate.yml:3:1]
2 │ jobs:
3 │ ␉churn: {}
  · ┬
  · ╰── a tab indents this line; use spaces
  ╰────
");
    insta::assert_snapshot!(try_read("").unwrap_err().render(false, 100), @r"
× the spec has 1 problem; nothing was run

× canary-gate.yml: the file is empty
help: `canary-gate init` writes a spec to start from
");
    insta::assert_snapshot!(try_read("jobs: [1, 2\n").unwrap_err().render(false, 100), @r"
 × the spec has 1 problem; nothing was run

  ╭─[canary-gate.yml:1:7]
1 │ jobs: [1, 2
  ·       ┬
  ·       ╰── this is not YAML: unclosed bracket '['
  ╰────
");
    let not_text = SpecSource {
        name: "canary-gate.yml",
        bytes: b"version: 1\njobs: \xff\xfe\n",
    };
    insta::assert_snapshot!(read(not_text, &[]).unwrap_err().render(false, 100), @r"
 × the spec has 1 problem; nothing was run

  ╭─[canary-gate.yml:2:7]
1 │ version: 1
2 │ jobs: ��
  ·       ┬
  ·       ╰── byte 17 of the file is not UTF-8 (0xff)
  ╰────
 help: save the file as UTF-8
");
}

#[test]
fn a_file_of_two_megabytes_is_refused() {
    let text = format!("version: 1\n# {}", "x".repeat(2 << 20));
    assert_eq!(
        problems(&text),
        ["the file is larger than 1 MiB (a spec is a few kB; is this the right file?)"]
    );
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
fn each_kind_of_value_says_what_it_wants() {
    for (from, to, expected) in [
        (
            "version: 1",
            "version: 2",
            "version: version `2` of the spec is not known (this program reads `version: 1`; a newer one may read more)",
        ),
        (
            "backend: sagemaker",
            "backend: sagemakr",
            "backend: `sagemakr`, where sagemaker, local or replay is needed (did you mean `sagemaker`?)",
        ),
        (
            "strict: false",
            "strict: no",
            "strict: `no`, where true or false is needed (write `false`)",
        ),
        (
            "strict: false",
            "strict:",
            "strict: no value, where true or false is needed (give it a value, or remove the key)",
        ),
        (
            "role: arn:aws:iam::123456789012:role/SageMakerTraining",
            "role: 12",
            "jobs.churn.training.role: the number `12`, where text is needed (write `\"12\"`)",
        ),
        (
            "entry_point: train.py",
            "entry_point: ''",
            "jobs.churn.training.entry_point: the text is empty",
        ),
        (
            "entry_point: train.py",
            "entry_point: \"a\\0b\"",
            "jobs.churn.training.entry_point: the text holds a NUL character",
        ),
        (
            "seed: 1",
            "seed: -1",
            "jobs.churn.canary.seed: the number `-1`, where a whole number is needed",
        ),
        (
            "parallel: 3",
            "parallel: 0",
            "jobs.churn.canary.parallel: the number `0`, where a whole number from 1 is needed",
        ),
        (
            "volume_gb: 100",
            "volume_gb: 100 GB",
            "jobs.churn.training.volume_gb: `100 GB`, where a whole number from 1 is needed",
        ),
        (
            "eta: 0.10",
            "eta: [1]",
            "jobs.churn.training.hyperparameters.eta: a list, where a single value is needed",
        ),
        (
            "allowed_instances: [\"ml.m5.*\", \"ml.c5.*\", \"ml.p3.*\"]",
            "allowed_instances: ml.*",
            "allowed_instances: `ml.*`, where a list is needed (write `[ml.*]`)",
        ),
        (
            "time: 8h",
            "time: 8",
            "jobs.churn.budget.time: a number without a unit (write `8s`, `8m` or `8h`)",
        ),
        (
            "cost: 50 USD",
            "cost: $50",
            "jobs.churn.budget.cost: `$50` is not a dollar amount in this format (write `50 USD`)",
        ),
        (
            "local: 1.20 USD/h",
            "local: 1.20",
            "prices.local: a number without a unit (write `1.20 USD/h`)",
        ),
        (
            "cost: 50 USD",
            "cost: {max: 50 USD, min: 3 USD}",
            "jobs.churn.budget.cost: unknown key `min` (known here: max, level)",
        ),
        (
            "{min: 20%, level: warn}",
            "20%",
            "jobs.churn.budget.cpu_utilization: `20%` does not say whether it is a lower or an upper limit (write `{min: 20%}` or `{max: 20%}`)",
        ),
        (
            "{min: 20%, level: warn}",
            "{min: 20%, max: 30%}",
            "jobs.churn.budget.cpu_utilization.min: one line has one limit: either `max` or `min`",
        ),
        (
            "{min: 20%, level: warn}",
            "{level: warn}",
            "jobs.churn.budget.cpu_utilization: the line has no limit (write `min: 20%` or `max: 20%`)",
        ),
        (
            "{min: 20%, level: warn}",
            "{min: 120%}",
            "jobs.churn.budget.cpu_utilization.min: a load is more than 0% and at most 100%",
        ),
        (
            "until: 2026-12-31",
            "until: 31.12.2026",
            "overrides[0].until: `31.12.2026` is not a date (write year, month and day, such as `2026-12-31`)",
        ),
        (
            "reason: \"new feature set, agreed with finance\"",
            "reason: ' '",
            "overrides[0].reason: the text is empty",
        ),
    ] {
        assert_eq!(problem_with(from, to), expected, "{to}");
    }
}

#[test]
fn a_misspelt_key_is_one_problem_and_not_a_missing_one_too() {
    assert_eq!(
        problems(&LOCAL.replace("{uri: data}", "{url: data}")),
        ["jobs.churn.training.channels.train: unknown key `url` (did you mean `uri`?)"]
    );
}

#[test]
fn what_a_key_names_must_exist() {
    for (from, to, expected) in [
        (
            "job: churn,",
            "job: chrun,",
            "overrides[0].job: there is no job `chrun` (did you mean `churn`?)",
        ),
        (
            "budget: cost, up_to: 90 USD",
            "budget: gpu_memory, up_to: 90%",
            "overrides[0].budget: the budget of `churn` has no line `gpu_memory`",
        ),
        (
            "up_to: 90 USD",
            "up_to: 90%",
            "overrides[0].up_to: `90%` is not an amount of money (write `50 USD`)",
        ),
        (
            "step_metric: step",
            "step_metric: steps",
            "jobs.churn.training.step_metric: `steps` names no metric (did you mean `step`?)",
        ),
        (
            "      step_metric: step\n",
            "",
            "jobs.churn.budget.cost_per_step: a cost per step needs `training.step_metric` (write `metrics: {step: 'step time: ([0-9.]+)'}` and `step_metric: step`)",
        ),
        (
            "hyperparameter: num_round",
            "hyperparameter: num_rounds",
            "jobs.churn.work.hyperparameter: `num_rounds` names no hyperparameter (did you mean `num_round`?)",
        ),
        (
            "sample: false",
            "sample: false, groups: [data]",
            "jobs.churn.training.channels: `groups` must stand on every channel or on none",
        ),
        (
            "- ml.c5.4xlarge",
            "- ml.g5.4xlarge",
            "jobs.churn.alternatives[0]: `ml.g5.4xlarge` is not among `allowed_instances`",
        ),
        (
            "- ml.c5.4xlarge",
            "- ml.m5.2xlarge",
            "jobs.churn.alternatives[0]: `ml.m5.2xlarge` stands here twice",
        ),
        (
            "- ml.c5.4xlarge",
            "- c5.4xlarge",
            "jobs.churn.alternatives[0]: `c5.4xlarge` is not an instance (did you mean `ml.c5.4xlarge`?)",
        ),
        (
            "- ml.c5.4xlarge",
            "- local",
            "jobs.churn.alternatives[0]: SageMaker has no instance `local` (write one such as `ml.m5.xlarge`, or choose `backend: local`)",
        ),
    ] {
        assert_eq!(problem_with(from, to), expected, "{to}");
    }
    let both = example_with("content_type: text/csv", "groups: [dta]").replacen(
        "sample: false",
        "sample: false, groups: [data]",
        1,
    );
    assert_eq!(
        problems(&both),
        [
            "jobs.churn.training.channels.train.groups[0]: `dta` names no instance group (did you mean `data`?)"
        ]
    );
}

#[test]
fn numbers_stay_in_their_range() {
    for (from, to, expected) in [
        (
            "max_runtime: 12h",
            "max_runtime: 40d",
            "jobs.churn.training.max_runtime: 40d; SageMaker allows at most 28d",
        ),
        (
            "max_runtime: 1h",
            "max_runtime: 0s",
            "jobs.churn.canary.max_runtime: a run needs at least 1s",
        ),
        (
            "warm_pool: 10m",
            "warm_pool: 2h",
            "jobs.churn.canary.warm_pool: 2h; SageMaker keeps a pool for at most 1h",
        ),
        (
            "warm_pool: 10m",
            "warm_pool: {keep_alive: 2h}",
            "jobs.churn.canary.warm_pool.keep_alive: 2h; SageMaker keeps a pool for at most 1h",
        ),
        (
            "warm_pool: 10m",
            "warm_pool: {keep_alive: 0.5s}",
            "jobs.churn.canary.warm_pool.keep_alive: a warm pool is kept for at least 1s (for none, write `warm_pool: off`)",
        ),
        (
            "warm_pool: 10m",
            "warm_pool: {}",
            "jobs.churn.canary.warm_pool: the key `keep_alive` is missing",
        ),
        (
            "warm_pool: 10m",
            "warm_pool: atuo",
            "jobs.churn.canary.warm_pool: `atuo`, where `auto`, `off` or a time is needed (did you mean `auto`?)",
        ),
        (
            "warm_pool: 10m",
            "warm_pool: yes",
            "jobs.churn.canary.warm_pool: `yes`, where `auto`, `off` or a time is needed (write `auto`, `off` or `{keep_alive: 5m}`)",
        ),
        (
            "warm_pool: 10m",
            "warm_pool: 600",
            "jobs.churn.canary.warm_pool: a number without a unit (write `600s`, `600m` or `600h`)",
        ),
        (
            "spot: false",
            "spot: true",
            "jobs.churn.canary.warm_pool: a job with `training.spot` has no warm pools (write `warm_pool: off`, or remove the key)",
        ),
        (
            "instance: ml.m5.2xlarge",
            "instance: {groups: {data: ml.c5.9xlarge, dnn: ml.p3.2xlarge}}",
            "jobs.churn.canary.warm_pool: instance groups have no warm pools (write `warm_pool: off`, or remove the key)",
        ),
        (
            "warm_pool: 10m",
            "warm_pool: true",
            "jobs.churn.canary.warm_pool: `true`, where `auto`, `off` or a time such as `5m` is needed",
        ),
        (
            "spend_limit: 5 USD",
            "spend_limit: 0 USD",
            "jobs.churn.canary.spend_limit: a spend limit is more than 0",
        ),
        (
            "certainty: 95%",
            "certainty: 50%",
            "jobs.churn.budget.certainty: a certainty of 50% is out of reach (write more than 50% and less than 100%, such as `95%`)",
        ),
        (
            "certainty: 95%",
            "certainty: 100%",
            "jobs.churn.budget.certainty: a certainty of 100% is out of reach (write more than 50% and less than 100%, such as `95%`)",
        ),
        (
            "memory: 90%",
            "memory: 0%",
            "jobs.churn.budget.memory: a limit is more than 0",
        ),
        (
            "[1%, 2%, 3%, 5%,",
            "[1%, 2%, 2%, 5%,",
            "jobs.churn.canary.fractions[2]: 2% does not rise above 2%, the fraction before (write each fraction once, from small to large)",
        ),
        (
            "20%, 50%]",
            "20%, 120%]",
            "jobs.churn.canary.fractions[6]: 120% is not a share of the data: more than 0%, at most 100%",
        ),
        (
            "canary: [5, 10]",
            "canary: [10, 5]",
            "jobs.churn.work.canary[1]: 5 is not more than 10, the level before",
        ),
        (
            "canary: [5, 10]",
            "canary: [5, 60]",
            "jobs.churn.work.canary[1]: 60 is more than the full work of 50",
        ),
        (
            "canary: [5, 10]",
            "canary: []",
            "jobs.churn.work.canary: there is no level",
        ),
        (
            "canary: [5, 10]",
            "canary: [0, 10]",
            "jobs.churn.work.canary[0]: 0 is not more than 0",
        ),
        (
            "canary: [5, 10]",
            "canary: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]",
            "jobs.churn.work.canary: 11 levels; at most 10 are planned",
        ),
        (
            "full: 50",
            "full: 40",
            "jobs.churn.work.full: the full work is 40, but the hyperparameter `num_round` is `50` (write the same number in both places: that of the full run)",
        ),
        (
            "- 6x ml.m5.4xlarge",
            "- 0x ml.m5.4xlarge",
            "jobs.churn.alternatives[1]: `0x ml.m5.4xlarge` is not an instance (did you mean `2x ml.m5.4xlarge`?)",
        ),
        (
            "local: 1.20 USD/h",
            "local: 0 USD/h",
            "prices.local: a price is more than 0 (leave the line out if the machine costs nothing)",
        ),
        (
            "volume_gb: 100",
            "volume_gb: 99999",
            "jobs.churn.training.volume_gb: 99999 GB; a volume has at most 16384 GB",
        ),
    ] {
        assert_eq!(problem_with(from, to), expected, "{to}");
    }
}

#[test]
fn awss_own_limits_are_checked_before_any_call() {
    let many =
        |count: usize, one: fn(usize) -> String| (0..count).map(one).collect::<Vec<_>>().join(", ");
    let long = "x".repeat(2501);
    for (from, to, expected) in [
        (
            "region: us-east-1",
            "region: Ohio".to_owned(),
            "region: `Ohio` is not an AWS region (write it as AWS does, such as `us-east-1`)",
        ),
        (
            "role: arn:aws:iam::123456789012:role/",
            "role: ".to_owned(),
            "jobs.churn.training.role: `SageMakerTraining` is not the ARN of a role (write `arn:aws:iam::123456789012:role/Name`)",
        ),
        (
            "output: s3://my-bucket/canary-output/",
            "output: out/".to_owned(),
            "jobs.churn.training.output: `out/` is not an S3 address (write `s3://bucket/prefix/`)",
        ),
        (
            "eta: 0.10",
            format!("eta: {long}"),
            "jobs.churn.training.hyperparameters.eta: a value of 2501 characters; SageMaker takes at most 2500",
        ),
        (
            "eta: 0.10",
            many(101, |n| format!("h{n}: 1")),
            "jobs.churn.training.hyperparameters: 103 hyperparameters; SageMaker takes at most 100",
        ),
        (
            "environment: {}",
            "environment: {1A: x}".to_owned(),
            "jobs.churn.training.environment.1A: a variable's name is letters, digits and underscores, no digit first",
        ),
        (
            "environment: {}",
            format!("environment: {{A: {}}}", "x".repeat(513)),
            "jobs.churn.training.environment.A: a value of 513 characters; SageMaker takes at most 512",
        ),
        (
            "tags: {team: growth}",
            "tags: {team: a&b}".to_owned(),
            "jobs.churn.training.tags.team: a tag holds letters, digits, spaces and `_.:/=+-@` only",
        ),
        (
            "tags: {team: growth}",
            "tags: {'aws:x': 1}".to_owned(),
            "jobs.churn.training.tags.aws:x: tags of this form are set by AWS alone",
        ),
        (
            "tags: {team: growth}",
            format!("tags: {{{}}}", many(48, |n| format!("t{n}: 1"))),
            "jobs.churn.training.tags: 48 tags; SageMaker takes 50, five of which canary-gate sets itself, so at most 45",
        ),
        (
            "avg step time: ([0-9.]+)",
            "avg step time: [0-9.]+".to_owned(),
            "jobs.churn.training.metrics.step: the pattern has 0 capture groups, where 1 is needed (put the number in parentheses, such as `loss: ([0-9.]+)`; `(?:…)` captures nothing)",
        ),
        (
            "avg step time: ([0-9.]+)",
            "step ([0-9".to_owned(),
            "jobs.churn.training.metrics.step: the pattern's brackets do not match",
        ),
        (
            "avg step time: ([0-9.]+)",
            "(?<=step )([0-9]+)".to_owned(),
            "jobs.churn.training.metrics.step: the pattern is not a regular expression: look-around, including look-ahead and look-behind, is not supported (the step metric is read with Rust's regular expressions, which have no look-around and no back-references)",
        ),
        (
            "avg step time: ([0-9.]+)",
            "((?:a{999}){999})".to_owned(),
            "jobs.churn.training.metrics.step: the pattern is too large: compiled it would take more than 1024 KiB (repeat less often: `+` in place of `{1,1000}`)",
        ),
        (
            "subnets: []",
            "subnets: [subnet-1]".to_owned(),
            "jobs.churn.training.subnets: `subnets` and `security_groups` belong together: give both or neither",
        ),
        (
            "subnets: []",
            "subnets: [vpc-1]\n      security_groups: [sg-1]".to_owned(),
            "jobs.churn.training.subnets[0]: `vpc-1` is not one of subnets (write an id such as `subnet-0a1b2c3d`)",
        ),
        (
            "        validation:",
            "        ..:".to_owned(),
            "jobs.churn.training.channels...: a channel's name is 1 to 64 letters, digits, dots, hyphens and underscores",
        ),
        (
            "        validation:",
            format!(
                "        {}\n        validation:",
                many(19, |n| format!("c{n}: {{uri: s3://abc/}}")).replace(", ", "\n        ")
            ),
            "jobs.churn.training.channels: 21 channels; SageMaker takes at most 20",
        ),
    ] {
        assert_eq!(problem_with(from, &to), expected, "{to}");
    }
}

#[test]
fn a_jobs_name_becomes_part_of_sagemakers() {
    let refused = "cannot be a job's name (1 to 63 letters, digits and inner hyphens, as SageMaker wants them)";
    for name in ["churn_1", "-a", "ü", "a.b"] {
        let expected = format!("jobs.{name}: `{name}` {refused}");
        assert_eq!(problems(&LOCAL.replace("churn", name)), [expected]);
    }
}

#[test]
fn paths_stay_inside_the_checkout() {
    for (from, to, expected) in [
        (
            "source_dir: training/churn",
            "source_dir: ../x",
            "jobs.churn.training.source_dir: `../x` steps out of its folder with `..` (write the path from the checkout's root, with a leading `/`)",
        ),
        (
            "source_dir: training/churn",
            "source_dir: ~/x",
            "jobs.churn.training.source_dir: `~/x` starts with `~`, which is not expanded (write the path from the spec's folder)",
        ),
        (
            "entry_point: train.py",
            "entry_point: /train.py",
            "jobs.churn.training.entry_point: `/train.py` is not inside the source folder (write the path from `source_dir`)",
        ),
        (
            "\"training/churn/**\"",
            "\"training/[churn\"",
            "jobs.churn.paths[0]: `training/[churn` is not a pattern: unclosed character class; missing ']'",
        ),
        (
            "\"training/churn/**\"",
            "\"/a/../../b\"",
            "jobs.churn.paths[0]: `/a/../../b` steps out of its folder with `..` (write the path from the checkout's root, with a leading `/`)",
        ),
        (
            "[\"training/churn/**\", \"requirements.txt\", ",
            "[",
            "jobs.churn.paths: no pattern includes anything, so the job would never run (for every file write `\"**\"`, or leave `paths` out)",
        ),
    ] {
        assert_eq!(problem_with(from, to), expected, "{to}");
    }
}

#[test]
fn a_local_job_is_not_a_sagemaker_job() {
    let local = LOCAL.replace(
        "command: [python3, train.py]",
        "{image: x, role: arn:aws:iam::123456789012:role/x}",
    );
    assert!(try_read(&local).is_err());
    let text = LOCAL
        .replace(
            "      command: [python3, train.py]\n",
            "      image: x\n      spot: true\n",
        )
        .replace("uri: data", "uri: s3://bucket/data/")
        .replace("instance: local", "instance: ml.m5.large");
    assert_eq!(
        problems(&(text + "    budget: {cost: 5 USD}\n")),
        [
            "jobs.churn.training: a local job needs `command` (write `command: [python3, train.py]`)",
            "jobs.churn.training.image: a local job has no image and no role (write `command: [python3, train.py]` in their place)",
            "jobs.churn.training.channels.train.uri: `s3://bucket/data/` is not a path (the local backend reads files: write a folder's path, or choose `backend: sagemaker`)",
            "jobs.churn.instance: the local backend has no `ml.m5.large` (write `local` or `2x local`, or choose `backend: sagemaker`)",
            "jobs.churn.budget.cost: this machine has no price, so its cost is not known (write `prices: {local: 1.20 USD/h}` at the top, or remove the line)",
        ]
    );
    assert_eq!(
        problems(&LOCAL.replace("backend: local", "backend: sagemaker")),
        [
            "jobs.churn.training: a SageMaker job needs `image` (write `image`, `framework: {pytorch: 2.8}` or `algorithm`)",
            "jobs.churn.training: a SageMaker job needs `role`",
            "jobs.churn.training: a SageMaker job needs `output`",
            "jobs.churn.training.command: a SageMaker job starts its image, not a command (write `source_dir` and `entry_point`, or choose `backend: local`)",
            "jobs.churn.training.channels.train.uri: `data` is not an S3 address (write `s3://bucket/prefix/`)",
            "jobs.churn.instance: SageMaker has no instance `local` (write one such as `ml.m5.xlarge`, or choose `backend: local`)",
        ]
    );
    assert_eq!(
        problems(&LOCAL.replace("backend: local", "backend: replay")),
        ["the replay backend needs `recording` (write `recording: runs.csv`)"]
    );
    assert_eq!(
        problems(&LOCAL.replace("backend: local", "backend: local\nrecording: runs.csv")),
        [
            "recording: the local backend runs canaries and reads no recording (remove the key, or choose `backend: replay`)"
        ]
    );
    assert_eq!(
        problems(
            &(LOCAL.replace("backend: local", "backend: replay\nrecording: runs.csv")
                + "    budget: {cost: 5 USD}\n")
        ),
        [
            "jobs.churn.budget.cost: this machine has no price, so its cost is not known (write `prices: {local: 1.20 USD/h}` at the top, or remove the line)"
        ]
    );
    assert_eq!(
        problems(&LOCAL.replace("instance: local", "instance: 65x local")),
        ["jobs.churn.instance: 65 processes; at most 64 are started"]
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
fn one_price_is_written_once_however_it_is_spaced() {
    let text = example_with(
        "prices: {local: 1.20 USD/h}",
        "prices: {local: 1 USD/h, \"local \": 9 USD/h}",
    );
    assert_eq!(
        problems(&text),
        ["prices.local : the price of `local` is given twice"]
    );
}

#[test]
fn numbers_and_words_get_the_spelling_that_was_meant() {
    let fractions = |written: &str| format!("{LOCAL}    canary: {{fractions: {written}}}\n");
    assert_eq!(
        problems(&fractions("[1, 2]")),
        [
            "jobs.churn.canary.fractions[0]: a number without a unit (write `1%`)",
            "jobs.churn.canary.fractions[1]: a number without a unit (write `2%`)",
        ]
    );
    assert_eq!(
        problems(&fractions("[0.01]")),
        ["jobs.churn.canary.fractions[0]: a number without a unit (write `1%`)"]
    );
    assert_eq!(
        problems(&LOCAL.replacen("[python3, train.py]", "python3 train.py", 1)),
        [
            "jobs.churn.training.command: `python3 train.py`, where a list is needed (write `[python3, train.py]`)"
        ]
    );
    assert_eq!(
        problems(&format!("{LOCAL}    canary: {{max_runtime: 400d}}\n")),
        ["jobs.churn.canary.max_runtime: a run takes at most 365d"]
    );
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
            "jobs.churn.training.hyperparameters: 96 hyperparameters; SageMaker takes 100, 5 of which start the script of `entry_point`, so at most 95"
        ]
    );
}

#[test]
fn a_file_system_is_whole_mounted_and_in_a_vpc() {
    let channel = |channel: &str| {
        problems(&example_with(
            "validation: {uri: s3://my-bucket/churn/val/, sample: false}",
            &format!("validation: {channel}"),
        ))
    };
    let field = "jobs.churn.training.channels.validation";
    let in_vpc = format!(
        "{field}.uri: a file system is reached through a VPC (write `subnets` and `security_groups` under `training`)"
    );
    assert_eq!(
        channel("{uri: fsx://fs-0123456789abcdef0/fsx/val, sample: false}"),
        [in_vpc.as_str()]
    );
    assert_eq!(
        channel("{uri: efs://fs-0123456789abcdef0/val}"),
        [
            format!(
                "{field}.uri: a canary cannot take a share of a file system's files (write `sample: false`, so that every canary gets them all, or put the data into S3)"
            ),
            in_vpc.clone()
        ]
    );
    assert_eq!(
        channel("{uri: efs://fs-1/val, sample: true, mode: Pipe, distribution: ShardedByS3Key}"),
        [
            format!(
                "{field}.uri: `efs://fs-1/val` names no file system (write `fsx://fs-0123456789abcdef0/mount/path` or `efs://fs-0123456789abcdef0/path`)"
            ),
            in_vpc,
            format!(
                "{field}.sample: a canary cannot take a share of a file system's files (write `sample: false`, so that every canary gets them all, or put the data into S3)"
            ),
            format!("{field}.mode: a file system is read in mode File only (remove `mode`)"),
            format!(
                "{field}.distribution: a file system is whole on every machine (remove `distribution`)"
            ),
        ]
    );
    let here = LOCAL.replace("uri: data", "uri: efs://fs-0123456789abcdef0/val");
    assert_eq!(
        problems(&here),
        [
            "jobs.churn.training.channels.train.uri: `efs://fs-0123456789abcdef0/val` is not a path (the local backend reads files: write a folder's path, or choose `backend: sagemaker`)"
        ]
    );
}

#[test]
fn data_in_file_systems_alone_leaves_nothing_to_sample() {
    let text = EXAMPLE
        .replace(
            "{uri: s3://my-bucket/churn/train/, mode: File, content_type: text/csv, distribution: FullyReplicated}",
            "{uri: fsx://fs-0123456789abcdef0/fsx/train, sample: false}",
        )
        .replace("s3://my-bucket/churn/val/", "efs://fs-0123456789abcdef0/val")
        .replace("    work: {", "    #work: {")
        .replace("subnets: [] ", "subnets: [subnet-0a1b]\n      security_groups: [sg-0a1b] ");
    assert_eq!(
        problems(&text),
        [
            "jobs.churn.training.channels: no channel is sampled, so a canary would be a full run (put the data that grows into S3: a canary takes its share from there; or write `work`, so that canaries do less of it)"
        ]
    );
}

#[test]
fn a_history_is_not_where_training_jobs_may_write() {
    let with = |history: &str, output: &str| {
        include_str!("testdata/example.yml")
            .replace("s3://my-bucket/canary-gate/ ", history)
            .replace("s3://my-bucket/canary-output/", output)
    };
    for (history, output) in [
        ("s3://bucket/out/history/", "s3://bucket/out/"),
        ("s3://bucket/out", "s3://bucket/out/"),
        ("s3://bucket/history/", "s3://bucket/history/main/x/"),
    ] {
        let refused = problems(&with(history, output)).join("\n");
        assert!(refused.contains("lie in one another"), "{refused}");
    }
    for (history, output) in [
        ("s3://bucket/out-history/", "s3://bucket/out/"),
        ("s3://bucket/", "s3://bucket/out/"),
    ] {
        assert_eq!(
            spec(&with(history, output)).history.as_deref(),
            Some(history)
        );
    }
}

#[test]
fn a_history_is_not_among_the_data() {
    for folder in ["data/records", "./data//records/", "data"] {
        let text = LOCAL.replacen("backend", &format!("history: {folder}\nbackend"), 1);
        let refused = problems(&text).join("\n");
        assert!(
            refused.contains("it lies in the data"),
            "{folder}: {refused}"
        );
    }
    let beside = LOCAL.replacen("backend", "history: data-records\nbackend", 1);
    assert_eq!(spec(&beside).history.as_deref(), Some("data-records"));
}

#[test]
fn a_history_has_a_folder_of_its_own_in_the_checkout() {
    let refused = |folder: &str| {
        let text = LOCAL.replacen("backend", &format!("history: {folder}\nbackend"), 1);
        problems(&text).join("\n")
    };
    for folder in [".", "./", "/"] {
        assert!(refused(folder).contains("no folder of its own"), "{folder}");
    }
    for folder in [".git", "/.git/canary", "a/.GIT/b"] {
        assert!(refused(folder).contains("git's own folder"), "{folder}");
    }
    assert!(refused("../elsewhere").contains("steps out of its folder"));
    for folder in [
        ".canary-gate/",
        "/records",
        "records/.github",
        "s3://bucket",
    ] {
        let text = LOCAL.replacen("backend", &format!("history: {folder}\nbackend"), 1);
        assert_eq!(spec(&text).history.as_deref(), Some(folder));
    }
}

#[test]
fn only_a_pipe_unpacks_and_wraps() {
    let of = |mode: &str, packing: &str| {
        EXAMPLE.replace(
            "mode: File, content_type: text/csv",
            &format!("{mode}{packing}, content_type: text/csv"),
        )
    };
    for packing in ["compression: Gzip", "record_wrapper: RecordIO"] {
        let key = packing.split(':').next().unwrap();
        for mode in ["", "mode: FastFile, "] {
            assert_eq!(
                problems(&of(mode, packing)),
                [format!(
                    "jobs.churn.training.channels.train.{key}: SageMaker unpacks and wraps what it pipes only (write `mode: Pipe`, or remove the key: in another mode the script gets the objects as they are)"
                )]
            );
        }
        assert!(try_read(&of("mode: Pipe, ", packing)).is_ok());
        assert!(try_read(&of("", &format!("{key}: None"))).is_ok());
    }
}

/// What SageMaker would refuse when the first canary is started.
#[test]
fn what_sagemaker_refuses_is_refused_before() {
    let channels: Vec<String> = (0..20)
        .map(|n| format!("c{n}: {{uri: s3://data/{n}/}}"))
        .collect();
    let text = "version: 1
backend: sagemaker
jobs:
  churn:
    training:
      image: 683313688378.dkr.ecr.us-east-1.amazonaws.com/train:1
      role: arn:aws:iam::123456789012:role/Train
      source_dir: code
      entry_point: train.py
      output: s3://canaries/out/
      channels: {train: {uri: s3://data/train/}}
    instance: ml.g5.xlarge
";
    assert!(try_read(text).is_ok());
    let many = format!(
        "channels: {{{}}}\n      network_isolation: true",
        channels.join(", ")
    );
    for (from, to, expected) in [
        (
            "entry_point: train.py",
            "entry_point: train.py\n      hyperparameters: {note: \"a\\nb\"}",
            "holds a line end",
        ),
        (
            "entry_point: train.py",
            "entry_point: train.py\n      volume_gb: 251",
            "251 GB; ml.g5.xlarge has disks of its own with 250 GB",
        ),
        (
            "s3://data/train/",
            "s3://data--use1-az4--x-s3/train/",
            "directory bucket",
        ),
        (
            "channels: {train: {uri: s3://data/train/}}",
            &many,
            "20 channels beside it",
        ),
    ] {
        let errors = try_read(&text.replace(from, to))
            .unwrap_err()
            .render(false, 200);
        assert!(errors.contains(expected), "{errors}");
    }
}
