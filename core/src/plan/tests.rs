mod counts;
mod detached;

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::*;
use crate::canary::{ChannelData, DataObject, DrawProblem, Objects};
use crate::instance::{InstanceType, Offer, Price};
use crate::measurement::{Measurement, Outcome};
use crate::spec::{
    self, CanaryCounts, Channel, ChannelDraw, ChannelSample, Design, DrawOrder, DrawRule, DrawUnit,
    SpecSource, Work,
};
use crate::units::{Bytes, Percent, UsdPerHour};

const SPEC: &str = "
version: 1
backend: local
jobs:
  digits:
    training:
      command: [python3, train.py]
      channels: {train: {uri: data}}
    instance: local
    canary: {spend_limit: 5 USD, max_share: 25%, max_runtime: 1h, seed: 1}
";

/// Of the fixed design.
pub(super) fn job(fractions: &[f64], replicates: u32) -> Job {
    let source = SpecSource {
        name: "canary-gate.yml",
        bytes: SPEC.as_bytes(),
    };
    let mut job = spec::read(source, &[]).unwrap().jobs.remove(0);
    let fractions = fractions
        .iter()
        .map(|percent| Percent(*percent).as_fraction());
    job.canary.design = Design::Fixed {
        fractions: fractions.collect(),
        replicates,
    };
    job.canary.counts = CanaryCounts::AsTheFullRun;
    job.canary.joined = true;
    job
}

fn channel(name: &str, sampled: bool, objects: usize) -> ChannelData {
    let objects = (0..objects).map(|index| DataObject {
        key: format!("part-{index:05}.csv"),
        bytes: Bytes(1000 + index as u64),
    });
    ChannelData::new(name, sampled, objects.collect())
}

pub(super) fn dataset(objects: usize) -> Dataset {
    Dataset {
        channels: vec![
            channel("train", true, objects),
            channel("validation", false, 2),
        ],
    }
}

fn keys_of(channel: &ChannelData) -> Vec<String> {
    (channel.objects.iter().map(|object| object.key.clone())).collect()
}

pub(super) fn free(instance: &InstanceConfiguration) -> Offer {
    Offer::unknown(instance)
}

fn a_dollar_an_hour(instance: &InstanceConfiguration) -> Offer {
    let price = Price::from_spec(UsdPerHour(1.0));
    Offer::of(instance, &|_| None, &|_| Some(price.clone()))
}

/// Of the fixed design.
fn runs_of(plan: &Plan) -> &[CanaryRun] {
    match &plan.runs {
        PlannedRuns::Fixed(runs) => runs,
        PlannedRuns::Ladder(_) => panic!("the design is adaptive"),
    }
}

/// Of 100 objects, without a price.
fn planned(job: &Job) -> Plan {
    plan(job, &dataset(100), &free, Alternatives::Measure).unwrap()
}

fn objects_of(plan: &Plan) -> Vec<u64> {
    runs_of(plan).iter().map(|run| run.objects).collect()
}

#[test]
fn one_two_three_per_cent_of_a_hundred_objects_three_times() {
    let plan = planned(&job(&[1.0, 2.0, 3.0], 3));
    assert_eq!(objects_of(&plan), [1, 2, 3, 1, 2, 3, 1, 2, 3]);
    assert_eq!(plan.worst_case, None);
    assert_eq!(plan.wall_clock, Seconds(9.0 * 3600.0));
    // Whole channels come whole.
    assert!(
        runs_of(&plan)
            .iter()
            .all(|run| run.channels[1].objects.len() == 2)
    );
}

#[test]
fn every_fraction_is_run_at_every_work_level_on_the_same_objects() {
    let mut job = job(&[1.0, 2.0], 2);
    job.work = Some(Work {
        hyperparameter: "num_round".to_owned(),
        full: 50.0,
        canary: vec![5.0, 10.0],
    });
    let plan = planned(&job);
    let labels: Vec<String> = runs_of(&plan).iter().map(CanaryRun::label).collect();
    assert_eq!(
        labels,
        [
            "1% #1, num_round 5",
            "1% #1, num_round 10",
            "2% #1, num_round 5",
            "2% #1, num_round 10",
            "1% #2, num_round 5",
            "1% #2, num_round 10",
            "2% #2, num_round 5",
            "2% #2, num_round 10",
        ]
    );
    let runs = runs_of(&plan);
    for (less, more) in [(0, 1), (2, 3), (4, 5), (6, 7)] {
        assert_eq!(runs[less].channels, runs[more].channels);
    }
    assert_ne!(runs[0].channels, runs[4].channels);
    let full = full_run(&job, &dataset(100));
    assert_eq!(full.label(), "100% #1, num_round 50");
    assert!(full.is_full() && !runs[0].is_full());
}

#[test]
fn few_objects_keep_their_sizes_apart_by_rank_and_equal_sizes_are_dropped() {
    let small = plan(
        &job(&[1.0, 2.0, 3.0], 1),
        &dataset(10),
        &free,
        Alternatives::Measure,
    )
    .unwrap();
    assert_eq!(objects_of(&small), [1, 2, 3]);
    assert_eq!(
        small.notes,
        [
            "The data has only 10 objects, so canaries are coarse: the smallest holds 10%. 100 or more give better forecasts."
        ]
    );
    let tiny = plan(
        &job(&[1.0, 2.0, 3.0], 2),
        &dataset(2),
        &free,
        Alternatives::Measure,
    )
    .unwrap();
    assert_eq!(objects_of(&tiny), [1, 2, 1, 2]);
    assert_eq!(
        tiny.notes[1],
        "1 of 3 fractions would draw as many objects as a smaller one and are left out."
    );
}

pub(super) fn adaptive(percents: &[f64]) -> Job {
    let mut job = job(&[], 0);
    let fractions = percents.iter().map(|percent| Fraction(percent / 100.0));
    job.canary.design = Design::Adaptive {
        fractions: fractions.collect(),
    };
    job
}

#[test]
fn a_ladder_ends_below_all_of_the_data_unless_it_would_be_one_rung() {
    let rungs = |percents: &[f64]| -> Vec<u64> {
        let plan = plan(
            &adaptive(percents),
            &dataset(100),
            &free,
            Alternatives::Measure,
        );
        match plan.unwrap().runs {
            PlannedRuns::Ladder(sizes) => sizes.iter().map(|size| size.objects).collect(),
            PlannedRuns::Fixed(_) => panic!("the design is fixed"),
        }
    };
    assert_eq!(rungs(&[10.0, 50.0, 100.0]), [10, 50]);
    assert_eq!(rungs(&[50.0, 100.0]), [50, 100]);
}

#[test]
fn a_chosen_run_counts_its_size_and_takes_its_turn_of_the_levels() {
    let mut job = adaptive(&[1.0, 2.0]);
    job.work = Some(Work {
        hyperparameter: "num_round".to_owned(),
        full: 50.0,
        canary: vec![5.0, 10.0],
    });
    let data = dataset(100);
    let two_machines: InstanceConfiguration = "2x local".parse().unwrap();
    let size = LadderSize {
        fraction: Fraction(0.01),
        objects: 1,
        bytes: Bytes(1000),
        share: 0.01,
    };
    let earlier = [0.01, 0.02, 0.01, 0.01].map(|fraction| {
        Measurement::without_figures(
            "digits".to_owned(),
            two_machines.clone(),
            Fraction(fraction),
            Outcome::Completed,
        )
    });
    let chosen = |earlier: &[Measurement]| {
        let run = canary(&job, &data, &two_machines, &size, earlier, Seconds(600.0));
        assert_eq!(run.instance, two_machines);
        assert_eq!(run.max_runtime, Some(Seconds(600.0)));
        run.label()
    };
    for (before, label) in [
        (0, "1% #1, num_round 5"),
        (1, "1% #2, num_round 10"),
        (2, "1% #2, num_round 5"),
        (3, "1% #3, num_round 10"),
        (4, "1% #4, num_round 5"),
    ] {
        assert_eq!(chosen(&earlier[..before]), label);
    }
}

#[test]
fn one_object_and_too_few_runs_are_errors() {
    let one = plan(
        &job(&[1.0, 2.0], 3),
        &dataset(1),
        &free,
        Alternatives::Measure,
    );
    assert!(matches!(one, Err(PlanError::OneObject { .. })));
    let one_size = plan(&job(&[1.0], 9), &dataset(100), &free, Alternatives::Measure);
    assert!(matches!(one_size, Err(PlanError::TooFew { .. })));
    assert_eq!(
        one_size.unwrap_err().to_string(),
        "the design gives 9 runs on 1 size; a forecast needs at least 3 runs on 2 sizes"
    );
}

#[test]
fn over_the_spend_limit_nothing_is_launched() {
    // Nine runs of an hour and two minutes at a dollar an hour: 9.3 USD.
    let refused = plan(
        &job(&[1.0, 2.0, 3.0], 3),
        &dataset(100),
        &a_dollar_an_hour,
        Alternatives::Measure,
    );
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("up to 9.30 USD, above the spend limit of 5.00 USD")
    );
}

#[test]
fn alternatives_are_measured_while_they_fit_and_never_refuse_the_job() {
    let mut job = job(&[1.0, 2.0], 2);
    job.canary.max_runtime = Seconds(1680.0);
    job.alternatives = vec!["2x local".parse().unwrap(), "local".parse().unwrap()];
    // Four runs of half an hour: 2 USD on one machine, 4 USD on two, of 5 USD.
    let mut plan = plan(
        &job,
        &dataset(100),
        &a_dollar_an_hour,
        Alternatives::Measure,
    )
    .unwrap();
    assert_eq!(plan.worst_case, Some(Usd(2.0)));
    assert_eq!(
        plan.alternatives[0].runs,
        Err(NotMeasured::TooExpensive(Usd(4.0)))
    );
    assert!(matches!(&plan.alternatives[1].runs, Ok(PlannedRuns::Fixed(runs)) if runs.len() == 4));
    let outcomes = |plan: &Plan| -> Vec<(String, Option<String>)> {
        let outcomes = plan.outcomes().into_iter();
        let named = outcomes.map(|(instance, why)| (instance.to_string(), why));
        named.collect()
    };
    let too_expensive = (
        "2x local".to_owned(),
        Some("needs up to 4.00 USD".to_owned()),
    );
    assert_eq!(
        outcomes(&plan),
        [too_expensive.clone(), ("local".to_owned(), None)]
    );
    assert_eq!(plan.total_worst_case(), Some(Usd(4.0)));
    // Once the job's own canaries failed, those that were to come are left out, and what they would cost.
    plan.leave_out_alternatives(&NotMeasured::CodeFailed);
    let failed = "the training code failed on the job's instance".to_owned();
    assert_eq!(
        outcomes(&plan),
        [too_expensive, ("local".to_owned(), Some(failed))]
    );
    assert_eq!(plan.total_worst_case(), Some(Usd(2.0)));
}

#[test]
fn a_ladder_costs_each_of_its_sizes_once_at_worst_unless_some_may_be_run_again() {
    let planned = |percents: &[f64], change: &dyn Fn(&mut Job)| {
        let mut job = adaptive(percents);
        job.canary.max_runtime = Seconds(1680.0);
        job.alternatives = vec!["local".parse().unwrap()];
        change(&mut job);
        let plan = plan(
            &job,
            &dataset(100),
            &a_dollar_an_hour,
            Alternatives::Measure,
        )
        .unwrap();
        assert!(plan.is_adaptive());
        plan
    };
    let worst =
        |percents: &[f64], change: &dyn Fn(&mut Job)| planned(percents, change).total_worst_case();
    // Half a dollar for each, of 5 USD; the alternative has two of these.
    let three = planned(&[1.0, 2.0, 3.0], &|_| {});
    assert_eq!(three.worst_case, Some(Usd(1.5)));
    assert_eq!(three.alternatives[0].worst_case, Some(Usd(1.5)));
    assert_eq!(three.slices, [Usd(3.0), Usd(2.0)]);
    // Those of the alternative too, one after the other.
    assert_eq!(three.wall_clock, Seconds(6.0 * 1680.0));
    let little = |job: &mut Job| job.canary.spend_limit = Usd(1.0);
    assert_eq!(worst(&[1.0, 2.0, 3.0], &little), Some(Usd(1.0)));
    let levels = |job: &mut Job| {
        job.work = Some(Work {
            hyperparameter: "num_round".to_owned(),
            full: 50.0,
            canary: vec![5.0, 10.0],
        });
    };
    assert_eq!(worst(&[1.0, 2.0, 3.0], &levels), Some(Usd(5.0)));
    assert_eq!(worst(&[1.0, 2.0], &|_| {}), Some(Usd(5.0)));
}

#[test]
fn canaries_that_share_this_machine_are_noted() {
    let notes = |parallel, instance: &str, design: Option<Design>| {
        let mut job = job(&[1.0, 2.0], 2);
        job.instance = instance.parse().unwrap();
        job.canary.parallel = parallel;
        job.canary.design = design.unwrap_or(job.canary.design);
        let plan = planned(&job);
        plan.notes
    };
    let adaptive = Design::Adaptive {
        fractions: vec![Fraction(0.01), Fraction(0.02)],
    };
    for design in [None, Some(adaptive)] {
        assert_eq!(
            notes(2, "local", design),
            ["2 canaries share this machine at a time, which inflates their times."]
        );
    }
    for (parallel, instance) in [(1, "local"), (2, "ml.m5.large")] {
        assert_eq!(notes(parallel, instance, None), Vec::<String>::new());
    }
}

#[test]
fn an_alternative_has_the_same_runs_on_its_own_machines() {
    const GROUPS: &str = "data: 2x ml.m5.large + dnn: 1x ml.p3.2xlarge";
    let mut job = job(&[1.0, 2.0], 2);
    job.alternatives = ["2x local", GROUPS]
        .map(|name| name.parse().unwrap())
        .into();
    for (alternatives, measured) in [
        (Alternatives::Measure, [true, true]),
        (Alternatives::Skip, [false, false]),
    ] {
        let plan = plan(&job, &dataset(100), &free, alternatives).unwrap();
        let is_measured = |one: &PlannedAlternative| one.runs.is_ok();
        let found: Vec<bool> = plan.alternatives.iter().map(is_measured).collect();
        assert_eq!(found, measured);
        for alternative in &plan.alternatives {
            let Ok(PlannedRuns::Fixed(runs)) = &alternative.runs else {
                continue;
            };
            let own = runs_of(&plan).iter().map(|run| CanaryRun {
                instance: alternative.instance.clone(),
                ..run.clone()
            });
            assert!(own.eq(runs.iter().cloned()));
        }
    }
}

#[test]
fn fewer_objects_of_a_sharded_channel_than_machines_are_noted() {
    use Distribution::{FullyReplicated, ShardedByS3Key};
    let channel = |sample, distribution| Channel {
        distribution,
        sample,
        ..job(&[], 0).training.channels.remove(0)
    };
    let notes = |instance: &str, channels: &[Channel]| {
        let mut job = job(&[2.0, 3.0], 2);
        job.instance = instance.parse().unwrap();
        job.training.channels = channels.to_vec();
        let plan = planned(&job);
        plan.notes
    };
    let sharded = [channel(ChannelSample::Objects, ShardedByS3Key)];
    assert_eq!(
        notes("3x local", &sharded),
        [
            "The smallest canary has 2 objects for 3 machines, so some of them get no sharded data; larger fractions give better forecasts."
        ]
    );
    assert_eq!(notes("2x local", &sharded), Vec::<String>::new());
    // All of a channel that is not sampled comes in every canary.
    let whole = [
        channel(ChannelSample::Objects, FullyReplicated),
        channel(ChannelSample::Whole, ShardedByS3Key),
    ];
    assert_eq!(notes("3x local", &whole), Vec::<String>::new());
}

#[test]
fn replicates_draw_different_objects_and_the_same_seed_draws_the_same() {
    let plan_with = |seed| {
        let mut job = job(&[1.0, 2.0, 3.0], 3);
        job.canary.seed = seed;
        let plan = planned(&job);
        runs_of(&plan).to_vec()
    };
    let runs = plan_with(1);
    assert_eq!(runs, plan_with(1));
    assert_ne!(runs, plan_with(2));
    assert_ne!(runs[0].channels[0].objects, runs[1].channels[0].objects);
}

/// Frozen: recorded runs and history name objects that a seed has drawn, so a seed draws them for ever.
#[test]
fn a_seed_draws_the_same_objects_in_every_version() {
    let data = dataset(20_000);
    let drawn = |objects, seed, replicate| {
        let drawn = sampling::draw(&data, objects, 20_000, seed, replicate);
        keys_of(&drawn[0])
    };
    assert_eq!(
        drawn(5, 1, 0),
        [
            "part-01056.csv",
            "part-02905.csv",
            "part-06412.csv",
            "part-12777.csv",
            "part-19307.csv"
        ]
    );
    assert_eq!(
        drawn(5, 1, 1),
        [
            "part-07551.csv",
            "part-11053.csv",
            "part-14232.csv",
            "part-16645.csv",
            "part-16655.csv"
        ]
    );
    let digest = |keys: &[String]| {
        let hash: [u8; 32] = Sha256::digest(keys.join("\n")).into();
        u64::from_be_bytes(hash[..8].try_into().unwrap())
    };
    assert_eq!(digest(&drawn(200, 7, 2)), 0x947b_11e4_6915_16aa);
    assert_eq!(digest(&drawn(10_000, 1, 0)), 0x626e_d19d_f59e_7933);
}

/// A channel of folders with so many files each, and a drawn part of it.
fn by_folder(folders: &[usize], order: DrawOrder) -> ChannelData {
    let objects = folders.iter().enumerate().flat_map(|(folder, count)| {
        (0..*count).map(move |index| DataObject {
            key: format!("class-{folder:03}/{index:04}.png"),
            bytes: Bytes(1000),
        })
    });
    ChannelData {
        rule: DrawRule::Share {
            order,
            by: DrawUnit::Folder,
        },
        ..ChannelData::new("train", true, objects.collect())
    }
}

fn keys(channel: &ChannelData) -> Vec<String> {
    (channel.objects.iter().map(|object| object.key.clone())).collect()
}

#[test]
fn the_last_by_name_are_drawn_and_a_larger_canary_holds_a_smaller_one() {
    let mut months = channel("train", true, 24);
    months.rule = DrawRule::Share {
        order: DrawOrder::Last,
        by: DrawUnit::Channel,
    };
    let data = Dataset {
        channels: vec![months],
    };
    let three = sampling::draw(&data, 3, 24, 1, 0);
    let five = sampling::draw(&data, 5, 24, 7, 4);
    let last = ["part-00021.csv", "part-00022.csv", "part-00023.csv"];
    assert_eq!(keys(&three[0]), last);
    assert!(keys(&five[0]).ends_with(&last.map(str::to_owned)));
}

#[test]
fn what_lies_beside_data_is_not_the_newest() {
    let names = ["2024-01.csv", "2024-02.csv", "2024-03.csv", "_SUCCESS"];
    let objects = names.map(|name| DataObject {
        key: name.to_owned(),
        bytes: Bytes(10),
    });
    let mut months = channel("train", true, 4);
    months.objects = objects.into_iter().collect();
    months.rule = DrawRule::Share {
        order: DrawOrder::Last,
        by: DrawUnit::Channel,
    };
    let data = Dataset {
        channels: vec![months],
    };
    let two = sampling::draw(&data, 2, 4, 1, 0);
    assert_eq!(keys(&two[0]), ["2024-02.csv", "2024-03.csv"]);
    assert_eq!(keys(&sampling::draw(&data, 4, 4, 1, 0)[0]).len(), 4);
}

#[test]
fn a_follower_has_the_stems_of_its_leader_and_what_every_canary_gets() {
    let of = |names: &[String]| {
        let objects = names.iter().map(|name| DataObject {
            key: name.clone(),
            bytes: Bytes(10),
        });
        objects.collect::<Objects>()
    };
    let names = |ending: &str| -> Vec<String> {
        (0..40)
            .map(|index| format!("a.b/{index:03}.{ending}"))
            .collect()
    };
    let mut images = names("jpg");
    images.push("labels.csv".to_owned());
    let mut job = job(&[10.0, 20.0], 3);
    let masks = Channel {
        name: "masks".to_owned(),
        draw: ChannelDraw {
            rule: DrawRule::With("train".to_owned()),
            always: Vec::new(),
        },
        ..job.training.channels[0].clone()
    };
    job.training.channels[0].draw.always = vec!["labels.csv".to_owned()];
    job.training.channels.push(masks);
    let data =
        Dataset::of_listing(&job, vec![of(&images).into(), of(&names("png")).into()]).unwrap();
    assert_eq!(data.objects_total(), Some(40));
    assert_eq!(data.bytes_total(), Bytes(800));
    let drawn = sampling::draw(&data, 4, 40, 1, 0);
    let stems = |channel: &ChannelData, ending: &str| -> Vec<String> {
        let keys = keys(channel).into_iter();
        keys.filter_map(|key| key.strip_suffix(ending).map(str::to_owned))
            .collect()
    };
    assert_eq!(stems(&drawn[0], ".jpg"), stems(&drawn[1], ".png"));
    assert_eq!((drawn[0].objects.len(), drawn[1].objects.len()), (5, 4));
    assert!(keys(&drawn[0]).contains(&"labels.csv".to_owned()));
    // What every canary gets is no part of its share.
    let plan = plan(&job, &data, &free, Alternatives::Skip).unwrap();
    let run = &runs_of(&plan)[0];
    assert_eq!((run.objects, run.objects_total), (4, 40));
    assert_eq!((run.bytes, run.bytes_total), (Bytes(80), Bytes(800)));

    let others = of(&["x.png".to_owned()]);
    let alone = Dataset::of_listing(&job, vec![of(&images).into(), others.into()]);
    assert!(matches!(alone, Err(DrawProblem::NoPartners { .. })));
}

proptest! {
    #[test]
    fn every_folder_has_its_share_and_no_object_comes_twice(
        folders in prop::collection::vec(1_usize..40, 2..12),
        share in 0.01_f64..1.0,
        seed: u64,
        replicate in 0_u32..5,
        last: bool,
    ) {
        let order = if last { DrawOrder::Last } else { DrawOrder::Random };
        let data = Dataset { channels: vec![by_folder(&folders, order)] };
        let total: usize = folders.iter().sum();
        let sizes = sampling::sizes(&[Fraction(share)], total, (1, folders.len()));
        let draw = || sampling::draw(&data, sizes[0].objects, total, seed, replicate).remove(0);
        let drawn = draw();
        prop_assert_eq!(&drawn, &draw());
        prop_assert_eq!(drawn.objects.len(), sizes[0].objects);
        let counts = sampling::folders(&drawn.objects);
        prop_assert_eq!(counts.len(), folders.len());
        let exact = count_as_float(sizes[0].objects) / count_as_float(total);
        for (drawn, have) in counts.iter().zip(&folders) {
            // Folders of which a share would be none have one, and the others the less.
            prop_assert!(*drawn >= 1 && count_as_float(*drawn) <= exact * count_as_float(*have) + 1.0);
        }
    }

    #[test]
    fn a_drawing_repeats_nothing_and_does_not_depend_on_the_listing(
        total in 2_usize..300,
        share in 0.0_f64..1.0,
        seed in any::<u64>(),
    ) {
        let sizes = sampling::sizes(&[Fraction(share)], total, (1, 1));
        let data = dataset(total);
        let drawn = sampling::draw(&data, sizes[0].objects, total, seed, 0);
        let mut keys = keys_of(&drawn[0]);
        keys.dedup();
        prop_assert_eq!(keys.len(), sizes[0].objects);
        let mut shuffled = data.clone();
        let mut reversed: Vec<_> = data.channels[0].objects.iter().cloned().collect();
        reversed.reverse();
        shuffled.channels[0].objects = reversed.into_iter().collect();
        prop_assert_eq!(sampling::draw(&shuffled, sizes[0].objects, total, seed, 0), drawn);
    }

    #[test]
    fn every_sampled_channel_gets_the_same_share(small in 10_usize..60, factor in 1_usize..6) {
        let data = Dataset {
            channels: vec![channel("train", true, small), channel("weights", true, small * factor)],
        };
        let plan = plan(&job(&[10.0, 20.0], 2), &data, &free, Alternatives::Measure).unwrap();
        for run in runs_of(&plan) {
            prop_assert_eq!(run.channels[1].objects.len(), run.channels[0].objects.len() * factor);
            prop_assert_eq!(run.bytes, run.channels.iter().map(ChannelData::bytes).sum());
        }
    }
}
