//! One job that both know: the head's work under the base's policy.

use super::difference::{self, Differences};
use super::{PolicyProblem, budget};
use crate::metric::Metric;
use crate::spec::ScriptShare;
use crate::spec::{
    Budget, CanaryCounts, CanaryPolicy, Channel, ChannelSample, Design, DriftPolicy, FileSystem,
    FollowingCount, Job, LineKind, ProbePolicy, SagemakerTraining, Spec, Training,
    TrainingSettings,
};
use crate::units::{Fraction, Percent, Seconds, Usd};

/// Every field is named, so that a new one is decided on.
pub(super) fn apply_base_policy(head: &Job, base: &Job, differences: &mut Differences) -> Job {
    let Job {
        name,
        paths,
        training,
        instance,
        alternatives,
        ranged,
        share,
        following,
        work,
        canary,
        budget,
        drift,
    } = head.clone();
    differences.paths(&base.paths, &paths);
    if share != base.share || following != base.following {
        let said = |share: &Option<ScriptShare>, following: &Option<FollowingCount>| {
            let written = share.as_ref().map(ToString::to_string);
            let counted = || following.as_ref().map(ToString::to_string);
            written
                .or_else(counted)
                .unwrap_or_else(|| "none".to_owned())
        };
        differences.say(format!(
            "This pull request changes how the data of a canary are drawn: `share` from {} to {}.",
            said(&base.share, &base.following),
            said(&share, &following),
        ));
    }
    say_other_draws(&base.training, &training, differences);
    let max_runtime = training.max_runtime;
    let budget = budget::apply_base_budget(&budget, &base.budget, max_runtime, differences);
    say_other_patterns(&budget, &base.training, &training, differences);
    say_longer_run(&budget, base.training.max_runtime, max_runtime, differences);
    Job {
        name,
        paths,
        instance,
        alternatives,
        ranged,
        share,
        following,
        work,
        budget,
        canary: apply_to_canary(canary, &base.canary, differences),
        training: apply_to_training(training, &base.training, differences),
        drift: apply_to_drift(&drift, &base.drift, differences),
    }
}

/// What of the training is another, which a record of the base would show.
pub(super) fn changes_under_test(base: &Job, head: &Job) -> Vec<String> {
    const UNCOMPARED: &str = "No record says what the base takes.";
    let mut differences = Differences::default();
    let mut name = |field: &str, before: Option<String>, now: Option<String>| {
        let what = format!("`{field}`");
        differences.name(&what, &before, now, difference::optional, UNCOMPARED);
    };
    for changed in TrainingSettings::of(base).changes_to(&TrainingSettings::of(head)) {
        if changed.field.starts_with("training.hyperparameters.") {
            name(&changed.field, changed.before, changed.now);
        }
    }
    for channel in &head.training.channels {
        let mut known = base.training.channels.iter();
        let before = known.find(|before| before.name == channel.name);
        let field = format!("training.channels.{}.uri", channel.name);
        name(
            &field,
            before.map(|channel| channel.uri.clone()),
            Some(channel.uri.clone()),
        );
    }
    let work = |job: &Job| {
        let work = job.work.as_ref()?;
        let canary = work.canary.iter().map(ToString::to_string);
        let canary = difference::list(&canary.collect::<Vec<_>>());
        Some(format!(
            "{} {} (canaries: {canary})",
            work.hyperparameter, work.full
        ))
    };
    name("work", work(base), work(head));
    differences.into_notes()
}

/// What canaries get of a channel is the head's, and can make them smaller.
fn say_other_draws(base: &Training, head: &Training, differences: &mut Differences) {
    let said = |channel: &Channel| match channel.sample {
        ChannelSample::Objects => channel.draw.to_string(),
        ChannelSample::Rows => "rows".to_owned(),
        ChannelSample::Whole => "whole".to_owned(),
    };
    for channel in &head.channels {
        let mut known = base.channels.iter();
        let Some(before) = known.find(|before| before.name == channel.name) else {
            let is_default = channel.sample == ChannelSample::Objects && channel.draw.is_default();
            if !is_default {
                differences.say(format!(
                    "This pull request changes how the data of a canary are drawn: channel `{}`, which the base does not have, is {}.",
                    channel.name,
                    said(channel)
                ));
            }
            continue;
        };
        let (before, now) = (said(before), said(channel));
        if before != now {
            differences.say(format!(
                "This pull request changes how the data of a canary are drawn: channel `{}` from {before} to {now}.",
                channel.name
            ));
        }
    }
}

/// What a line about the script's output reads is the head's, as the script is.
fn say_other_patterns(
    budget: &Budget,
    base: &Training,
    head: &Training,
    differences: &mut Differences,
) {
    for line in budget.written() {
        let LineKind::Named(name) = line.kind else {
            continue;
        };
        let pattern = |training: &Training| {
            let mut metrics = training.metrics.iter();
            let found = metrics.find(|(known, _)| known == name.as_str());
            found.map(|(_, pattern)| pattern.clone())
        };
        match (pattern(base), pattern(head)) {
            (before, now) if before == now => {}
            (_, None) => differences.say(format!(
                "This pull request takes `training.metrics.{name}` away, which a line of the budget reads: without it the line is unknown."
            )),
            (_, Some(_)) => differences.say(format!(
                "This pull request changes the pattern of `training.metrics.{name}`, which a line of the budget reads: what it captures now is what is judged."
            )),
        }
    }
}

/// Where no time is written, the full run's own limit stands for it, and that is the head's.
fn say_longer_run(
    budget: &Budget,
    base: Option<Seconds>,
    head: Option<Seconds>,
    differences: &mut Differences,
) {
    let Some(before) = base.filter(|base| head.is_none_or(|head| head > *base)) else {
        return;
    };
    if budget
        .written_line(LineKind::Absolute(Metric::Time))
        .is_none()
    {
        differences.say(format!(
            "This pull request raises `training.max_runtime` from {} to {}. The budget names no time, so the full run may take as long.",
            before.exact(),
            head.map_or_else(|| "none".to_owned(), Seconds::exact),
        ));
    }
}

fn apply_to_training(head: Training, base: &Training, differences: &mut Differences) -> Training {
    let Training {
        source_dir,
        hyperparameters,
        environment,
        distribution,
        channels,
        max_runtime,
        metrics,
        step_metric,
        local,
        sagemaker,
    } = head;
    Training {
        source_dir,
        hyperparameters,
        environment,
        distribution: differences.name(
            "`training.distribution`",
            &base.distribution,
            distribution,
            |launcher| difference::optional(&launcher.as_ref().map(ToString::to_string)),
            "It starts the processes of canaries and of the full run.",
        ),
        channels,
        max_runtime,
        metrics,
        step_metric,
        local,
        sagemaker: apply_to_sagemaker(sagemaker, &base.sagemaker, differences),
    }
}

fn apply_to_sagemaker(
    head: SagemakerTraining,
    base: &SagemakerTraining,
    differences: &mut Differences,
) -> SagemakerTraining {
    let SagemakerTraining {
        image,
        framework,
        algorithm,
        container,
        registry_credentials,
        role,
        entry_point,
        source_channel,
        output,
        volume,
        volume_kms_key,
        output_kms_key,
        spot,
        checkpoints,
        subnets,
        security_groups,
        network_isolation,
        encrypt_traffic,
        retries,
        training_plan,
        profiler,
        tags,
    } = head;
    let image = differences.name(
        "`training.image`",
        &base.image,
        image,
        difference::optional,
        "Canaries and the full run start it.",
    );
    let framework = differences.name(
        "`training.framework`",
        &base.framework,
        framework,
        |framework| difference::optional(&framework.as_ref().map(ToString::to_string)),
        "Canaries and the full run start its image.",
    );
    let algorithm = differences.name(
        "`training.algorithm`",
        &base.algorithm,
        algorithm,
        difference::optional,
        "Canaries and the full run start it.",
    );
    let container = differences.name(
        "`training.container`",
        &base.container,
        container,
        |words| {
            let all = words.entrypoint.iter().chain(&words.arguments);
            difference::list(&all.cloned().collect::<Vec<_>>())
        },
        "Canaries and the full run start it.",
    );
    let registry_credentials = differences.take(
        "`training.registry_credentials`",
        &base.registry_credentials,
        &registry_credentials,
        |credentials| difference::optional(&credentials.as_ref().map(ToString::to_string)),
    );
    let spot = differences.name(
        "`training.spot`",
        &base.spot,
        spot,
        ToString::to_string,
        "Its cost is judged by it.",
    );
    let mut text = |key: &str, base: &Option<String>, head: &Option<String>| {
        let what = format!("`training.{key}`");
        differences.take(&what, base, head, difference::optional)
    };
    let role = text("role", &base.role, &role);
    let output = text("output", &base.output, &output);
    let volume_kms_key = text("volume_kms_key", &base.volume_kms_key, &volume_kms_key);
    let output_kms_key = text("output_kms_key", &base.output_kms_key, &output_kms_key);
    let checkpoints = text("checkpoints", &base.checkpoints, &checkpoints);
    let training_plan = text("training_plan", &base.training_plan, &training_plan);
    let mut list = |key: &str, base: &Vec<String>, head: &Vec<String>| {
        let what = format!("`training.{key}`");
        differences.take(&what, base, head, |items| difference::list(items))
    };
    SagemakerTraining {
        image,
        framework,
        algorithm,
        container,
        registry_credentials,
        role,
        entry_point,
        source_channel,
        retries,
        training_plan,
        output,
        volume,
        volume_kms_key,
        output_kms_key,
        spot,
        checkpoints,
        profiler,
        subnets: list("subnets", &base.subnets, &subnets),
        security_groups: list("security_groups", &base.security_groups, &security_groups),
        network_isolation: differences.take(
            "`training.network_isolation`",
            &base.network_isolation,
            &network_isolation,
            ToString::to_string,
        ),
        encrypt_traffic: differences.take(
            "`training.encrypt_traffic`",
            &base.encrypt_traffic,
            &encrypt_traffic,
            ToString::to_string,
        ),
        tags: differences.take("`training.tags`", &base.tags, &tags, |tags| {
            let tags = tags.iter().map(|(name, value)| format!("{name}={value}"));
            difference::list(&tags.collect::<Vec<_>>())
        }),
    }
}

fn apply_to_canary(
    head: CanaryPolicy,
    base: &CanaryPolicy,
    differences: &mut Differences,
) -> CanaryPolicy {
    let CanaryPolicy {
        design,
        counts,
        spend_limit,
        max_share,
        skip_below,
        max_runtime,
        parallel,
        warm_pool,
        training_plan,
        joined,
        reuse,
        seed,
        probe,
    } = head;
    CanaryPolicy {
        design: apply_to_design(&design, &base.design, differences),
        counts: differences.take(
            "`canary.counts`",
            &base.counts,
            &counts,
            CanaryCounts::words,
        ),
        spend_limit: differences.take_amount(
            "the spend limit of canaries",
            &base.spend_limit,
            &spend_limit,
            |limit: &Usd| limit.exact(),
        ),
        max_share: differences.take_amount(
            "`canary.max_share`",
            &base.max_share,
            &max_share,
            |share: &Percent| share.exact(),
        ),
        skip_below,
        max_runtime: differences.take_amount(
            "`canary.max_runtime`",
            &base.max_runtime,
            &max_runtime,
            |time: &Seconds| time.exact(),
        ),
        parallel: differences.take_amount(
            "`canary.parallel`",
            &base.parallel,
            &parallel,
            ToString::to_string,
        ),
        warm_pool: differences.take("`canary.warm_pool`", &base.warm_pool, &warm_pool, |pool| {
            pool.words()
        }),
        training_plan: differences.take(
            "`canary.training_plan`",
            &base.training_plan,
            &training_plan,
            ToString::to_string,
        ),
        joined: differences.take(
            "`canary.joined`",
            &base.joined,
            &joined,
            ToString::to_string,
        ),
        reuse: differences.take_amount("`canary.reuse`", &base.reuse, &reuse, |time: &Seconds| {
            time.exact()
        }),
        seed,
        probe: differences.take("`canary.probe`", &base.probe, &probe, |probe| match probe {
            ProbePolicy::Off => "false".to_owned(),
            ProbePolicy::ScriptMode => "true".to_owned(),
            ProbePolicy::Command(words) => words.join(" "),
        }),
    }
}

/// A change must not weaken its own forecast. A design of another kind is one difference, of the same one for each key.
fn apply_to_design(head: &Design, base: &Design, differences: &mut Differences) -> Design {
    let list = |fractions: &Vec<Fraction>| {
        let fractions = fractions.iter().map(ToString::to_string);
        difference::list(&fractions.collect::<Vec<_>>())
    };
    let fractions = "`canary.fractions`";
    match (base, head) {
        (Design::Adaptive { fractions: base }, Design::Adaptive { fractions: head }) => {
            differences.take(fractions, base, head, list);
        }
        (
            Design::Fixed {
                fractions: base,
                replicates: base_replicates,
            },
            Design::Fixed {
                fractions: head,
                replicates,
            },
        ) => {
            differences.take(fractions, base, head, list);
            let what = "`canary.replicates`";
            differences.take_amount(what, base_replicates, replicates, ToString::to_string);
        }
        (Design::Adaptive { .. } | Design::Fixed { .. }, _) => {
            let words = |design: &Design| match design {
                Design::Adaptive { fractions } => format!("adaptive ({})", list(fractions)),
                Design::Fixed {
                    fractions,
                    replicates,
                } => format!("fixed ({}; replicates: {replicates})", list(fractions)),
            };
            differences.take("`canary.design`", base, head, words);
        }
    }
    base.clone()
}

fn apply_to_drift(
    head: &DriftPolicy,
    base: &DriftPolicy,
    differences: &mut Differences,
) -> DriftPolicy {
    let DriftPolicy { max, at_least } = head;
    DriftPolicy {
        max: differences.take_amount("`drift.max`", &base.max, max, |share: &Percent| {
            share.exact()
        }),
        at_least: differences.take_amount(
            "`drift.at_least`",
            &base.at_least,
            at_least,
            |amount: &Usd| amount.exact(),
        ),
    }
}

/// What of the head's spec would be refused in one file with the base's policy. The head's own file was valid.
pub(super) fn not_allowed(spec: &Spec) -> Vec<PolicyProblem> {
    let mut problems = Vec::new();
    let is_allowed = spec.allowed();
    for job in &spec.jobs {
        let configurations = std::iter::once(("instance".to_owned(), &job.instance)).chain(
            job.alternatives
                .iter()
                .enumerate()
                .map(|(index, instance)| (format!("alternatives[{index}]"), instance)),
        );
        for (key, configuration) in configurations {
            for (kind, _) in configuration.members() {
                if !is_allowed(kind) {
                    problems.push(PolicyProblem {
                        field: format!("jobs.{}.{key}", job.name),
                        message: format!("`{kind}` is not among the base's `allowed_instances`"),
                    });
                }
            }
        }
        problems.extend(channel_problems(job));
    }
    problems
}

/// The head's channels may not go with the base's network and output.
fn channel_problems(job: &Job) -> Vec<PolicyProblem> {
    let mut problems = Vec::new();
    let training = &job.training;
    let has_network = training.sagemaker.is_in_vpc();
    let output = training.sagemaker.output.as_ref();
    let output = output.map(|output| format!("{}/", output.trim_end_matches('/')));
    for channel in &training.channels {
        let field = format!("jobs.{}.training.channels.{}.uri", job.name, channel.name);
        if FileSystem::of_uri(&channel.uri).is_some() && !has_network {
            problems.push(PolicyProblem {
                field,
                message: "a file system is reached through a VPC, and the base's policy names no `subnets` and `security_groups`".to_owned(),
            });
        } else if channel.uri.starts_with("s3://")
            && output
                .as_ref()
                .is_some_and(|output| output.starts_with(channel.uri.as_str()))
        {
            problems.push(PolicyProblem {
                field,
                message: "the base's `output` lies within these data, so that what canaries write would be read as data".to_owned(),
            });
        }
    }
    problems
}
