use proptest::prelude::*;

use super::*;
use crate::metric::{Amount, Metric};
use crate::spec::{BudgetLine, LineKind, LineOrigin, SpecSource, read};

const CAP: Usd = Usd(5.0);

fn spec(text: &str) -> Spec {
    let source = SpecSource {
        name: "canary-gate.yml",
        bytes: text.as_bytes(),
    };
    read(source, &[]).unwrap_or_else(|errors| panic!("{}\n{text}", errors.render(false, 100)))
}

/// A spec for SageMaker whose job `churn` has these keys more, and the file these at its end.
fn sagemaker(job: &str, top: &str) -> Spec {
    spec(&sagemaker_text(job, top))
}

fn sagemaker_text(job: &str, top: &str) -> String {
    format!(
        "version: 1
backend: sagemaker
jobs:
  churn:
    training:
      image: image
      role: arn:aws:iam::123456789012:role/Training
      channels: {{train: {{uri: s3://data/churn/}}}}
      output: s3://output/
    instance: ml.m5.xlarge
{job}{top}"
    )
}

fn applied(head: &Spec, base: &Spec) -> AppliedPolicy {
    apply_base_policy(head, Some(base), CAP, &|_| false).unwrap()
}

/// What is said of job `churn`.
fn notes(head: &Spec, base: &Spec) -> Vec<String> {
    let mut applied = applied(head, base);
    applied.job_notes.remove("churn").unwrap_or_default()
}

fn lines(spec: &Spec) -> Vec<String> {
    let lines = spec.jobs[0].budget.lines.iter();
    let words = |line: &BudgetLine| match line.origin {
        LineOrigin::Written => format!("{} {}", line.kind, line.limit_words()),
        LineOrigin::Implicit => format!("{} {} (implicit)", line.kind, line.limit_words()),
    };
    lines.map(words).collect()
}

#[test]
fn a_raise_is_named_with_both_values_and_does_not_count() {
    let base = sagemaker("    budget: {cost: 50 USD, memory: 90%}\n", "");
    let head = sagemaker("    budget: {cost: 70 USD, memory: 80%}\n", "");
    assert_eq!(
        notes(&head, &base),
        [
            "This pull request raises the cost budget from 50 USD to 70 USD (counts when merged).",
            "This pull request lowers the memory budget from 90% to 80% (counts when merged).",
        ]
    );
    assert_eq!(
        lines(&applied(&head, &base).spec),
        [
            "cost 50 USD",
            "memory 90%",
            "gpu_memory 100% (implicit)",
            "time 24h (implicit)"
        ]
    );
}

#[test]
fn another_training_is_named_where_no_record_shows_it() {
    let text = sagemaker_text("", "");
    let text = text.replace(
        "      output:",
        "      hyperparameters: {epochs: 10, api_token: a}\n      output:",
    );
    let base = spec(&text);
    let applied = |head: &str| {
        let mut applied = applied(&spec(head), &base);
        assert_eq!(applied.job_notes.get("churn"), None);
        applied.uncompared_notes.remove("churn").unwrap_or_default()
    };
    let under = |what: &str, from: &str, to: &str| {
        vec![format!(
            "This pull request changes `{what}` from {from} to {to}. No record says what the base takes."
        )]
    };
    assert_eq!(applied(&text), [""; 0]);
    assert_eq!(
        applied(
            &text
                .replace("epochs: 10", "epochs: 1")
                .replace("api_token: a", "api_token: b")
        ),
        under("training.hyperparameters.epochs", "10", "1")
    );
    assert_eq!(
        applied(&text.replace("s3://data/churn/", "s3://data/small/")),
        under(
            "training.channels.train.uri",
            "s3://data/churn/",
            "s3://data/small/"
        )
    );
    assert_eq!(
        applied(&format!(
            "{text}    work: {{hyperparameter: epochs, full: 10, canary: [1, 2]}}\n"
        )),
        under("work", "none", "epochs 10 (canaries: 1, 2)")
    );
}

#[test]
fn limits_that_come_go_or_turn_are_named() {
    let base = sagemaker(
        "    budget: {cost: 50 USD, cpu_utilization: {min: 20%}, io_wait: {max: 30%}, certainty: 95%, cost_increase: {max: 20%, at_least: 5 USD}}\n",
        "",
    );
    let head = sagemaker(
        "    budget: {time: 8h, cpu_utilization: {min: 10%, level: warn}, io_wait: {min: 30%}, certainty: 80%, existing_breach: fail, cost_increase: {max: 20%, at_least: 50 USD}}\n",
        "",
    );
    insta::assert_snapshot!(notes(&head, &base).join("\n"), @r"
This pull request takes away the cost budget, 50 USD (counts when merged).
This pull request changes the cost increase budget from +20% (at_least 5 USD) to +20% (at_least 50 USD) (counts when merged).
This pull request lowers the CPU utilization budget from at least 20% to at least 10% (level warn) (counts when merged).
This pull request changes the I/O wait budget from 30% to at least 30% (counts when merged).
This pull request lowers `budget.certainty` from 95% to 80% (counts when merged).
This pull request changes `budget.existing_breach` from warn to fail (counts when merged).
This pull request sets the time budget to 8h (counts when merged).
");
    assert_eq!(
        applied(&head, &base).spec.jobs[0].budget,
        base.jobs[0].budget
    );
}

#[test]
fn roles_places_and_limits_of_canaries_are_the_bases() {
    let base = sagemaker(
        "    canary: {spend_limit: 5 USD, max_runtime: 1h}\n",
        "region: us-east-1\n",
    );
    let text = sagemaker_text(
        "    canary: {spend_limit: 500 USD, max_runtime: 30m, parallel: 9, seed: 7, probe: false}\n    drift: {max: 90%}\n",
        "region: eu-west-1\nprices: {ml.m5.xlarge: 0.01 USD/h}\nstrict: true\non_inconclusive: pass\nhistory: s3://mine-records/\n",
    );
    let head = spec(
        &text
            .replace("role/Training", "role/Admin")
            .replace("s3://output/", "s3://mine/")
            .replace(
                "image: image",
                "image: another\n      tags: {team: growth}\n      volume_kms_key: alias/mine",
            ),
    );
    let applied = applied(&head, &base);
    let all = [applied.notes.clone(), applied.job_notes["churn"].clone()].concat();
    insta::assert_snapshot!(all.join("\n"), @r"
This pull request changes `region` from us-east-1 to eu-west-1 (counts when merged).
This pull request changes `strict` from false to true (counts when merged).
This pull request changes `on_inconclusive` from fail to pass (counts when merged).
This pull request sets `history` to s3://mine-records/ (counts when merged).
This pull request sets `prices.ml.m5.xlarge` to 0.01 USD/h (counts when merged).
This pull request changes `training.image` from image to another. Canaries and the full run start it.
This pull request changes `training.role` from arn:aws:iam::123456789012:role/Training to arn:aws:iam::123456789012:role/Admin (counts when merged).
This pull request changes `training.output` from s3://output/ to s3://mine/ (counts when merged).
This pull request raises `canary.spend_limit` from 5 USD to 500 USD (counts when merged).
This pull request lowers `canary.max_runtime` from 1h to 30m (counts when merged).
This pull request raises `canary.parallel` from 3 to 9 (counts when merged).
This pull request changes `canary.probe` from true to false (counts when merged).
This pull request raises `drift.max` from 15% to 90% (counts when merged).
This pull request sets `training.volume_kms_key` to alias/mine (counts when merged).
This pull request sets `training.tags.team` to growth (counts when merged).
");
    let job = &applied.spec.jobs[0];
    assert_eq!(job.training.sagemaker.image.as_deref(), Some("another"));
    assert_eq!(job.canary.seed, 7);
    assert_eq!(
        job.training.sagemaker.role,
        base.jobs[0].training.sagemaker.role
    );
    assert_eq!(applied.spec.hash, head.hash);
}

#[test]
fn a_change_does_not_weaken_the_design_of_its_own_check() {
    let with = |canary: &str| sagemaker(&format!("    canary: {{{canary}}}\n"), "");
    let base = with("design: fixed, fractions: [1%, 2%, 5%], replicates: 3, reuse: 10d");
    let head = with("design: fixed, fractions: [1%], replicates: 1, reuse: 30d");
    assert_eq!(
        notes(&head, &base),
        [
            "This pull request changes `canary.fractions` from 1%, 2%, 5% to 1% (counts when merged).",
            "This pull request lowers `canary.replicates` from 3 to 1 (counts when merged).",
            "This pull request raises `canary.reuse` from 10d to 30d (counts when merged).",
        ]
    );
    let canary = &applied(&head, &base).spec.jobs[0].canary;
    assert_eq!(canary.design, base.jobs[0].canary.design);
    assert_eq!(canary.reuse, base.jobs[0].canary.reuse);

    let adaptive = with("fractions: [1%, 9%], reuse: 10d");
    assert_eq!(
        notes(&adaptive, &base),
        [
            "This pull request changes `canary.design` from fixed to adaptive (counts when merged).",
            "This pull request changes `canary.fractions` from 1%, 2%, 5% to 1%, 9% (counts when merged).",
            "This pull request takes away `canary.replicates`, 3 (counts when merged).",
        ]
    );
    assert_eq!(
        notes(&with("fractions: [1%]"), &with("fractions: [1%, 9%]")),
        ["This pull request changes `canary.fractions` from 1%, 9% to 1% (counts when merged)."]
    );
}

#[test]
fn a_renamed_job_is_the_removed_one_that_it_has_most_in_common_with() {
    let job = |name: &str, more: &str, cost: u32| {
        format!(
            "  {name}:\n    training: {{image: image, role: arn:aws:iam::123456789012:role/T, output: s3://output/, channels: {{train: {{uri: s3://data/}}}}{more}}}\n    instance: ml.m5.xlarge\n    paths: [{name}/**, common/**]\n    budget: {{cost: {cost} USD}}\n"
        )
    };
    let all = |jobs: &[String]| {
        spec(&format!(
            "version: 1\nbackend: sagemaker\njobs:\n{}",
            jobs.concat()
        ))
    };
    let source = |folder: &str| format!(", entry_point: train.py, source_dir: {folder}");
    let base = all(&[
        job("a", &source("a"), 1),
        job("b", &source("b/"), 2),
        job("kept", &source("k"), 3),
    ]);
    let head = all(&[job("c", &source("./b"), 9), job("kept", &source("k"), 3)]);
    let policy = applied(&head, &base);
    let limit = |policy: &AppliedPolicy| policy.spec.jobs[0].budget.lines[0].limit_words();
    assert_eq!(limit(&policy), "2 USD");
    assert_eq!(policy.removed_jobs, ["a"]);
    assert!(policy.new_jobs.is_empty());
    // However the folder is spelled.
    for spelled in ["/b", "b/.", "b//", ".//b"] {
        let head = all(&[job("c", &source(spelled), 9), job("kept", &source("k"), 3)]);
        assert_eq!(limit(&applied(&head, &base)), "2 USD", "{spelled}");
    }
    // By paths where the source is another, and not at all where both are.
    let elsewhere = all(&[job("c", &source("c"), 9), job("kept", &source("k"), 3)]);
    assert_eq!(limit(&applied(&elsewhere, &base)), "1 USD");
    let text = job("c", &source("c"), 9).replace(", common/**", "");
    // Nor does other code of another place shake the old limits off the same data.
    let same_data = applied(&all(std::slice::from_ref(&text)), &base);
    assert_eq!(
        (limit(&same_data).as_str(), same_data.new_jobs.len()),
        ("1 USD", 0)
    );
    let new = applied(&all(&[text.replace("s3://data/", "s3://other/")]), &base);
    assert_eq!((limit(&new).as_str(), new.new_jobs.len()), ("9 USD", 1));
    // A copy of a job that stays is a new one.
    let copy = all(&[
        job("c", &source("a"), 9),
        job("a", &source("a"), 1),
        job("b", &source("b"), 2),
        job("kept", "", 3),
    ]);
    assert_eq!(limit(&applied(&copy, &base)), "9 USD");
}

#[test]
fn what_disarms_a_check_is_named_with_both_values() {
    let agreed = |reason: &str, cost: u32| {
        format!(
            "overrides:\n  - {{job: churn, budget: cost, up_to: {cost} USD, until: 2026-12-31, reason: {reason}}}\n"
        )
    };
    let text = |paths: &str, reason: &str, cost: u32, price: &str| {
        sagemaker_text(
            &format!("    budget: {{cost: 10 USD}}\n    paths: {paths}\n"),
            &format!(
                "prices: {{ml.m5.xlarge: {price} USD/h}}\n{}",
                agreed(reason, cost)
            ),
        )
    };
    let base = spec(&text("[src/**, data/**]", "once", 20, "0.2"));
    let head = text("[src/**]", "for ever", 30, "0.1").replace("image: image", "image: slim");
    let head = spec(&head);
    let applied = applied(&head, &base);
    let all = [applied.notes.clone(), applied.job_notes["churn"].clone()].concat();
    insta::assert_snapshot!(all.join("\n"), @r"
This pull request lowers `prices.ml.m5.xlarge` from 0.2 USD/h to 0.1 USD/h (counts when merged).
This pull request changes `paths` from src/**, data/** to src/**. Until it is merged both count.
This pull request changes `training.image` from image to slim. Canaries and the full run start it.
This pull request changes the override of the cost budget from 20 USD until 2026-12-31 (once) to 30 USD until 2026-12-31 (for ever) (counts when merged).
");
    // More paths after the base's disarm nothing.
    let wider = spec(&text("[src/**, data/**, docs/**]", "once", 20, "0.2"));
    assert!(notes(&wider, &base).is_empty());
}

#[test]
fn a_launcher_is_the_change_under_test_and_is_named() {
    let of = |distribution: &str| {
        let start = format!(
            "source_dir: code\n      entry_point: train.py\n      distribution: {distribution}\n      output:"
        );
        spec(&sagemaker_text("", "").replace("output:", &start))
    };
    let head = of("{mpi: {processes_per_host: 8, options: -v}}");
    assert_eq!(
        notes(&head, &of("{torchrun: {}}")),
        [
            "This pull request changes `training.distribution` from torchrun to mpi with 8 processes a host and -v. It starts the processes of canaries and of the full run."
        ]
    );
    let applied = applied(&head, &of("{torchrun: {}}"));
    assert_eq!(
        applied.spec.jobs[0].training.distribution,
        head.jobs[0].training.distribution
    );
}

#[test]
fn a_job_that_the_base_does_not_know_is_capped() {
    let base = sagemaker("", "");
    let text = sagemaker_text("    canary: {spend_limit: 50 USD}\n", "");
    let elsewhere = text.replace("churn:", "churn2:\n    paths: [churn2/**]");
    let elsewhere = spec(&elsewhere.replace("s3://data/churn/", "s3://data/other/"));
    let applied = applied(&elsewhere, &base);
    assert_eq!(applied.new_jobs, ["churn2"]);
    assert_eq!(applied.removed_jobs, ["churn"]);
    assert_eq!(applied.spec.jobs[0].canary.spend_limit, CAP);
    assert_eq!(
        applied.job_notes["churn2"],
        [
            "This job is not in the base, so this pull request's own policy applies; its canaries may cost at most 5 USD, not the 50 USD that it asks for."
        ]
    );
}

/// More jobs are no way to more money.
#[test]
fn jobs_that_the_base_does_not_know_share_the_cap() {
    let text = sagemaker_text("", "");
    let (_, job) = text.split_once("jobs:\n").unwrap();
    let mut two = text.clone();
    two.push_str(&job.replace("churn:", "churn2:"));
    let applied = apply_base_policy(&spec(&two), None, CAP, &|_| false).unwrap();
    let limits: Vec<Usd> = applied
        .spec
        .jobs
        .iter()
        .map(|job| job.canary.spend_limit)
        .collect();
    assert_eq!(limits, [Usd(2.5), Usd(2.5)]);
}

#[test]
fn without_a_base_every_job_is_capped_and_nothing_else_changes() {
    let head = sagemaker("    canary: {spend_limit: 3 USD}\n", "strict: true\n");
    let applied = apply_base_policy(&head, None, CAP, &|_| false).unwrap();
    assert_eq!(applied.spec, head);
    assert_eq!(applied.new_jobs, ["churn"]);
    assert_eq!(
        applied.job_notes["churn"],
        [
            "This job is not in the base, so this pull request's own policy applies; its canaries may cost at most 3 USD."
        ]
    );
}

/// That a full run is ended later is the change under test; a written limit does not move with it.
#[test]
fn the_implicit_limit_of_time_is_the_heads_and_never_widens_a_written_one() {
    let with = |runtime: &str, budget: &str| {
        let text = sagemaker_text(&format!("    budget: {{{budget}}}\n"), "");
        spec(&text.replace(
            "      output:",
            &format!("      max_runtime: {runtime}\n      output:"),
        ))
    };
    let unwritten = applied(&with("48h", "cost: 1 USD"), &with("12h", "cost: 1 USD"));
    assert_eq!(
        lines(&unwritten.spec),
        [
            "cost 1 USD",
            "memory 100% (implicit)",
            "gpu_memory 100% (implicit)",
            "time 48h (implicit)"
        ]
    );
    assert_eq!(
        unwritten.job_notes["churn"],
        [
            "This pull request raises `training.max_runtime` from 12h to 48h. The budget names no time, so the full run may take as long."
        ]
    );
    let written = applied(&with("48h", "time: 10h"), &with("12h", "time: 10h"));
    assert_eq!(
        lines(&written.spec),
        [
            "time 10h",
            "memory 100% (implicit)",
            "gpu_memory 100% (implicit)"
        ]
    );
    assert!(written.job_notes.is_empty());
    let shorter = applied(&with("2h", "time: 10h"), &with("12h", "time: 10h"));
    assert_eq!(
        lines(&shorter.spec),
        [
            "time 10h",
            "memory 100% (implicit)",
            "gpu_memory 100% (implicit)",
            "time 2h (implicit)"
        ]
    );
}

#[test]
fn an_instance_that_the_base_does_not_allow_is_refused() {
    let base = sagemaker("", "allowed_instances: [\"ml.m5.*\"]\n");
    let text = sagemaker_text(
        "    alternatives: [ml.m5.2xlarge, 2x ml.p4d.24xlarge]\n",
        "allowed_instances: [\"ml.*\"]\n",
    );
    let head = spec(&text.replace("instance: ml.m5.xlarge", "instance: ml.p3.2xlarge"));
    let error = apply_base_policy(&head, Some(&base), CAP, &|_| false).unwrap_err();
    assert_eq!(
        error.to_string(),
        "jobs.churn.instance: `ml.p3.2xlarge` is not among the base's `allowed_instances`; jobs.churn.alternatives[1]: `ml.p4d.24xlarge` is not among the base's `allowed_instances`"
    );
}

#[test]
fn data_that_do_not_go_with_the_bases_network_or_output_are_refused() {
    let base = sagemaker("", "");
    let in_file_system = sagemaker_text("", "")
        .replace(
            "channels: {train: {uri: s3://data/churn/}}",
            "channels: {train: {uri: s3://data/churn/}, more: {uri: 'efs://fs-01234567/', sample: false}}\n      subnets: [subnet-0a1b2c3d]\n      security_groups: [sg-0a1b2c3d]",
        );
    let around_output = sagemaker_text("", "")
        .replace("s3://data/churn/", "s3://output/")
        .replace("output: s3://output/", "output: s3://elsewhere/");
    for (text, said) in [
        (
            in_file_system,
            "jobs.churn.training.channels.more.uri: a file system is reached through a VPC",
        ),
        (
            around_output,
            "jobs.churn.training.channels.train.uri: the base's `output` lies within these data",
        ),
    ] {
        let error = apply_base_policy(&spec(&text), Some(&base), CAP, &|_| false)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

#[test]
fn another_backend_is_refused() {
    let local = spec(
        "version: 1\nbackend: local\njobs:\n  churn:\n    training: {command: [sh], channels: {train: {uri: data}}}\n    instance: local\n",
    );
    let error = apply_base_policy(&local, Some(&sagemaker("", "")), CAP, &|_| false).unwrap_err();
    assert_eq!(
        error,
        BasePolicyError::BackendChanged {
            base: BackendKind::Sagemaker,
            head: BackendKind::Local,
        }
    );
    assert_eq!(
        error.to_string(),
        "the backend changes from sagemaker to local, so the base's policy does not apply to this change"
    );
}

#[test]
fn an_override_of_its_own_does_not_help_a_change() {
    let budget = "    budget: {cost: 50 USD, time: 8h}\n";
    let line = |line: &str, limit: &str| {
        format!(
            "  - {{job: churn, budget: {line}, up_to: {limit}, until: 2026-12-31, reason: agreed}}\n"
        )
    };
    let with = |lines: &[String]| {
        let top = format!("overrides:\n{}", lines.concat());
        sagemaker(budget, &top)
    };
    let base = with(&[line("time", "9h"), line("cost", "60 USD")]);
    let head = with(&[line("cost", "90 USD")]);
    assert_eq!(
        notes(&head, &base),
        [
            "This pull request takes away the override of the time budget, 9h until 2026-12-31 (agreed) (counts when merged).",
            "This pull request changes the override of the cost budget from 60 USD until 2026-12-31 (agreed) to 90 USD until 2026-12-31 (agreed) (counts when merged).",
        ]
    );
    assert_eq!(applied(&head, &base).spec.overrides, base.overrides);
    assert_eq!(
        notes(&head, &sagemaker(budget, "")),
        [
            "This pull request sets the override of the cost budget to 90 USD until 2026-12-31 (agreed) (counts when merged)."
        ]
    );
}

#[test]
fn what_is_not_served_is_said_of_what_the_spec_now_holds() {
    let with = |mode: &str| {
        spec(&format!(
            "version: 1
backend: local
jobs:
  churn:
    training:
      command: [python3, train.py]
      channels: {{train: {{uri: data, mode: {mode}}}}}
    instance: local
"
        ))
    };
    let (piped, plain) = (with("Pipe"), with("File"));
    assert_eq!((piped.not_yet.len(), plain.not_yet.len()), (1, 0));
    assert_eq!(applied(&piped, &plain).spec.not_yet, piped.not_yet);
    assert_eq!(applied(&plain, &piped).spec.not_yet, []);
}

#[test]
fn thousands_of_differences_are_counted() {
    let prices: String = (0..1000)
        .map(|index| format!("ml.m{index}.xlarge: 1 USD/h, "))
        .collect();
    let head = sagemaker("", &format!("prices: {{{prices}}}\n"));
    let notes = applied(&head, &sagemaker("", "")).notes;
    assert_eq!(notes.len(), 41);
    assert_eq!(
        notes[40],
        "This pull request changes policy in 960 more places."
    );
}

/// Any value of each policy field, as text of the file.
fn any_spec() -> impl Strategy<Value = Spec> {
    let some = |texts: &'static [&'static str]| prop::sample::select(texts);
    let training = (
        some(&["Training", "Admin"]),
        some(&["s3://output/", "s3://other/"]),
        some(&[
            "",
            "volume_kms_key: alias/a",
            "output_kms_key: alias/b",
            "network_isolation: true",
        ]),
        some(&[
            "",
            "checkpoints: s3://checkpoints/",
            "tags: {team: growth}",
            "max_runtime: 3h",
        ]),
        some(&[
            "",
            "subnets: [subnet-0a1b2c3d]\n      security_groups: [sg-0a1b2c3d]",
        ]),
    );
    let canary = (
        some(&["", "spend_limit: 9 USD,", "max_runtime: 20m,"]),
        some(&[
            "",
            "parallel: 2,",
            "warm_pool: off,",
            "warm_pool: {keep_alive: 10m},",
            "probe: false,",
        ]),
        some(&["", "seed: 5,", "reuse: 1d,"]),
    );
    let budget = (
        some(&["", "cost: 50 USD,", "cost: {max: 60 USD, level: warn},"]),
        some(&[
            "",
            "time: 8h,",
            "cpu_utilization: {min: 20%},",
            "cost_increase: 20%,",
        ]),
        some(&["", "certainty: 80%,", "existing_breach: fail,"]),
        some(&["", "drift: {max: 30%}", "drift: {at_least: 3 USD}"]),
    );
    let top = (
        some(&["", "region: us-east-1\n", "region: eu-west-1\n"]),
        some(&[
            "",
            "history: records\n",
            "strict: true\n",
            "on_inconclusive: pass\n",
        ]),
        some(&[
            "",
            "prices: {ml.m5.xlarge: 1 USD/h}\n",
            "allowed_instances: [\"ml.*\"]\n",
        ]),
        some(&["churn", "ranker"]),
    );
    (training, canary, budget, top).prop_map(|(training, canary, budget, top)| {
        let text = format!(
            "version: 1
backend: sagemaker
{}{}{}jobs:
  {}:
    training:
      image: image
      role: arn:aws:iam::123456789012:role/{}
      channels: {{train: {{uri: s3://data/churn/}}}}
      output: {}
      {}
      {}
      {}
    instance: ml.m5.xlarge
    canary: {{{}{}{}}}
    budget: {{{}{}{}}}
    {}
",
            top.0,
            top.1,
            top.2,
            top.3,
            training.0,
            training.1,
            training.2,
            training.3,
            training.4,
            canary.0,
            canary.1,
            canary.2,
            budget.0,
            budget.1,
            budget.2,
            budget.3,
        );
        spec(&text)
    })
}

proptest! {
    #[test]
    fn a_spec_under_its_own_policy_is_itself(spec in any_spec()) {
        let applied = applied(&spec, &spec);
        prop_assert_eq!(&applied.spec, &spec);
        prop_assert!(applied.notes.is_empty() && applied.job_notes.is_empty(), "{:?}", applied);
        prop_assert!(applied.new_jobs.is_empty() && applied.removed_jobs.is_empty());
    }

    #[test]
    fn no_policy_of_the_head_survives(head in any_spec(), base in any_spec()) {
        let applied = applied(&head, &base).spec;
        let top = |spec: &Spec| (
            spec.region.clone(), spec.history.clone(), spec.prices.clone(), spec.allowed_instances.clone(),
            spec.strict, spec.on_inconclusive, spec.overrides.clone(),
        );
        prop_assert_eq!(top(&applied), top(&base));
        if let (job, Some(base)) = (&applied.jobs[0], base.job(&applied.jobs[0].name)) {
            let policy = |job: &Job| {
                let (training, canary) = (job.training.clone(), job.canary.clone());
                (
                    (training.sagemaker.role, training.sagemaker.output, training.sagemaker.volume_kms_key, training.sagemaker.output_kms_key, training.sagemaker.checkpoints),
                    (training.sagemaker.subnets, training.sagemaker.security_groups, training.sagemaker.network_isolation, training.sagemaker.tags),
                    (canary.design.clone(), canary.reuse, canary.spend_limit, canary.max_runtime, canary.parallel, canary.warm_pool, canary.probe),
                    (job.budget.certainty, job.budget.existing_breach, job.drift.clone()),
                    job.budget.written().cloned().collect::<Vec<_>>(),
                )
            };
            prop_assert_eq!(policy(job), policy(base));
        }
    }

    /// And the other way round: the change under test is the head's.
    #[test]
    fn all_that_is_not_policy_is_the_heads(head in any_spec(), base in any_spec()) {
        let applied = applied(&head, &base).spec;
        let (job, own) = (&applied.jobs[0], &head.jobs[0]);
        prop_assert_eq!(
            (&job.paths, &job.training.sagemaker.image, job.training.max_runtime, &job.training.channels, &job.instance, job.canary.seed),
            (&own.paths, &own.training.sagemaker.image, own.training.max_runtime, &own.training.channels, &own.instance, own.canary.seed)
        );
        let is_implicit = |line: &&BudgetLine| line.origin == LineOrigin::Implicit && line.kind == LineKind::Absolute(Metric::Time);
        for line in job.budget.lines.iter().filter(is_implicit) {
            prop_assert_eq!(Some(line.limit), own.training.max_runtime.map(Amount::from));
        }
    }
}
