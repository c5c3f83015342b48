mod counts;
mod detached;

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use super::*;
use crate::canary::{ChannelData, DataObject};
use crate::instance::{InstanceConfiguration, InstanceType, Offer, Price};
use crate::spec::{
    self, CanaryCounts, Channel, ChannelSample, Design, DrawOrder, DrawRule, DrawUnit, Work,
};
use crate::units::{Bytes, Percent, Seconds, UsdPerHour};

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
    let mut job = spec::read("canary-gate.yml", SPEC.as_bytes(), &[])
        .unwrap()
        .jobs
        .remove(0);
    let fractions = fractions
        .iter()
        .map(|percent| Percent(*percent).as_fraction());
    job.canary.design = Design {
        fractions: fractions.collect(),
        replicates: Some(replicates),
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

/// Over 100 objects.
pub(super) fn planned_at(job: &Job, offer_of: OfferOf<'_>) -> Plan {
    let (data, known) = (dataset(100), KnownBefore::default());
    plan(job, &data, offer_of, Alternatives::Measure, known).unwrap()
}

/// Without a price.
pub(super) fn planned(job: &Job) -> Plan {
    planned_at(job, &free)
}

/// Of the fixed design.
fn runs_of(plan: &Plan) -> &[CanaryRun] {
    match plan.runs() {
        PlannedRuns::Fixed(runs) => runs,
        PlannedRuns::Ladder(_) => panic!("the design is adaptive"),
    }
}

pub(super) fn adaptive(percents: &[f64]) -> Job {
    let mut job = job(&[], 0);
    let fractions = percents.iter().map(|percent| Fraction(percent / 100.0));
    job.canary.design = Design {
        fractions: fractions.collect(),
        replicates: None,
    };
    job
}

/// The objects of each run, or size, and the notes; or why there are none.
#[test]
fn sizes_differ_by_rank_at_least_and_a_ladder_ends_below_all_of_the_data() {
    let coarse = "The data has only 10 objects, so canaries are coarse: the smallest holds 10%. 100 or more give better forecasts.";
    let coarser = "The data has only 2 objects, so canaries are coarse: the smallest holds 50%. 100 or more give better forecasts.";
    let equal = "1 of 3 fractions would draw as many objects as a smaller one and are left out.";
    let refused = "the design gives 9 runs on 1 size; a forecast needs at least 3 runs on 2 sizes";
    let one = "channel `train` of job `digits` has one object; a canary needs several to draw from";
    let three = [1.0, 2.0, 3.0];
    for (job, of, objects, notes) in [
        (
            job(&three, 3),
            100,
            &[1, 2, 3, 1, 2, 3, 1, 2, 3][..],
            &[][..],
        ),
        (job(&three, 1), 10, &[1, 2, 3], &[coarse]),
        (job(&three, 2), 2, &[1, 2, 1, 2], &[coarser, equal]),
        (job(&[1.0], 9), 100, &[], &[refused]),
        (job(&three, 3), 1, &[], &[one]),
        (adaptive(&[10.0, 50.0, 100.0]), 100, &[10, 50], &[]),
        (adaptive(&[50.0, 100.0]), 100, &[50, 100], &[]),
    ] {
        let (data, known) = (dataset(of), KnownBefore::default());
        let found = match plan(&job, &data, &free, Alternatives::Measure, known) {
            Err(error) => (Vec::new(), vec![error.to_string()]),
            Ok(plan) => {
                let objects = match plan.runs() {
                    PlannedRuns::Ladder(sizes) => sizes.iter().map(|one| one.objects).collect(),
                    PlannedRuns::Fixed(runs) => runs.iter().map(|run| run.objects).collect(),
                };
                (objects, plan.notes)
            }
        };
        let expected = notes.iter().map(ToString::to_string).collect();
        assert_eq!(found, (objects.to_vec(), expected));
    }
}

fn with_levels(job: &mut Job) {
    job.work = Some(Work {
        hyperparameter: "num_round".to_owned(),
        full: 50.0,
        canary: vec![5.0, 10.0],
    });
}

#[test]
fn a_chosen_run_counts_its_size_and_takes_its_turn_of_the_levels() {
    let mut job = adaptive(&[1.0, 2.0]);
    with_levels(&mut job);
    let data = dataset(100);
    let two_machines: InstanceConfiguration = "2x local".parse().unwrap();
    let size = LadderSize {
        fraction: Fraction(0.01),
        objects: 1,
        bytes: Bytes(1000),
        share: 0.01,
    };
    let earlier = [0.01, 0.02, 0.01, 0.01].map(Fraction);
    let chosen = |earlier: &[Fraction]| {
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
fn alternatives_are_measured_while_they_fit_and_never_refuse_the_job() {
    let mut job = job(&[1.0, 2.0], 2);
    job.canary.max_runtime = Seconds(1680.0);
    job.alternatives = ["2x local", "local"].map(|one| one.parse().unwrap()).into();
    // Four runs of half an hour: 2 USD on one machine, 4 USD on two, of 5 USD.
    let mut plan = planned_at(&job, &a_dollar_an_hour);
    let outcomes = |plan: &Plan| -> Vec<String> {
        let outcomes = plan.outcomes().into_iter();
        outcomes
            .map(|(on, why)| format!("{on}: {}", why.unwrap_or_default()))
            .collect()
    };
    assert_eq!(
        outcomes(&plan),
        ["2x local: needs up to 4.00 USD", "local: "]
    );
    assert_eq!(plan.total_worst_case(), Some(Usd(4.0)));
    let own = runs_of(&plan).iter().map(|run| CanaryRun {
        instance: "local".parse().unwrap(),
        ..run.clone()
    });
    assert_eq!(plan.all[2].runs, Ok(PlannedRuns::Fixed(own.collect())));
    // Once the job's own canaries failed, those that were to come are left out, and what they would cost.
    plan.all[2].runs = Err(NotMeasured::CodeFailed);
    assert_eq!(
        outcomes(&plan)[1],
        "local: the training code failed on the job's instance"
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
        planned_at(&job, &a_dollar_an_hour)
    };
    // Half a dollar for each, and for a full run that is begun, of 5 USD; the alternative has two of these.
    let three = planned(&[1.0, 2.0, 3.0], &|_| {});
    let money = |one: &PlannedConfiguration| (one.slice, one.worst_case.unwrap());
    let expected = [(Usd(3.0), Usd(2.0)), (Usd(2.0), Usd(2.0))];
    assert_eq!([&three.all[0], &three.all[1]].map(money), expected);
    let worst = |percents: &[f64], change| planned(percents, change).total_worst_case().unwrap().0;
    let little = |job: &mut Job| job.canary.spend_limit = Usd(1.0);
    assert_eq!(worst(&[1.0, 2.0, 3.0], &little), 1.0);
    assert_eq!(worst(&[1.0, 2.0, 3.0], &with_levels), 5.0);
    assert_eq!(worst(&[1.0, 2.0], &|_| {}), 5.0);
}

#[test]
fn canaries_that_share_a_machine_or_have_too_few_shards_are_noted() {
    use Distribution::{FullyReplicated, ShardedByS3Key};
    let shared = "2 canaries share this machine at a time, which inflates their times.";
    let few = "The smallest canary has 2 objects for 3 machines, so some of them get no sharded data; larger fractions give better forecasts.";
    let drawn = (ChannelSample::Objects, ShardedByS3Key);
    // All of a channel that is not sampled comes in every canary.
    let whole = (ChannelSample::Whole, ShardedByS3Key);
    let each = (ChannelSample::Objects, FullyReplicated);
    for (parallel, instance, (sample, distribution), expected) in [
        (2, "local", each, &[shared][..]),
        (1, "local", each, &[]),
        (2, "ml.m5.large", each, &[]),
        (1, "3x local", drawn, &[few]),
        (1, "2x local", drawn, &[]),
        (1, "3x local", whole, &[]),
        (1, "3x local", each, &[]),
    ] {
        let ladder = adaptive(&[2.0, 3.0]);
        for mut job in [job(&[2.0, 3.0], 2), ladder] {
            job.instance = instance.parse().unwrap();
            job.canary.parallel = parallel;
            let train = job.training.channels.remove(0);
            job.training.channels.push(Channel {
                sample,
                distribution,
                ..train
            });
            assert_eq!(planned(&job).notes, expected, "{parallel} on {instance}");
        }
    }
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

#[test]
fn what_lies_beside_data_is_not_the_newest() {
    let names = ["2024-01.csv", "2024-02.csv", "2024-03.csv", "_SUCCESS"];
    let objects = names.map(|name| DataObject {
        key: name.to_owned(),
        bytes: Bytes(10),
    });
    let mut months = ChannelData::new("train", true, objects.into_iter().collect());
    months.rule = DrawRule::Share {
        order: DrawOrder::Last,
        by: DrawUnit::Channel,
    };
    let data = Dataset {
        channels: vec![months],
    };
    let drawn = |objects| keys_of(&sampling::draw(&data, objects, 4, 1, 0)[0]);
    assert_eq!(drawn(2), ["2024-02.csv", "2024-03.csv"]);
    assert_eq!(drawn(4), names);
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
        let known = KnownBefore::default();
        let plan = plan(&job(&[10.0, 20.0], 2), &data, &free, Alternatives::Measure, known).unwrap();
        for run in runs_of(&plan) {
            prop_assert_eq!(run.channels[1].objects.len(), run.channels[0].objects.len() * factor);
            prop_assert_eq!(run.bytes, run.channels.iter().map(ChannelData::bytes).sum());
        }
    }
}
