//! [`DataLayout`]: the share of a job's data that each host holds, for any count of instances.
//!
//! `ShardedByS3Key` gives each of n instances about 1/n of a channel's objects; which object goes where is not specified
//! (SageMaker API reference, S3DataSource, S3DataDistributionType). The assumption here: the counts are as even as whole
//! objects allow, and any such division is as likely as any other.

use super::Load;
use crate::canary::Dataset;
use crate::grammar;
use crate::instance::InstanceConfiguration;
use crate::measurement::Measurement;
use crate::spec::{Distribution, Job};
use crate::units::Bytes;

/// The number of random divisions; odd, so that there is a median.
const DIVISIONS: usize = 201;

/// The most objects dealt over all divisions: with very many objects the heaviest shard varies little.
const MOST_DEALT: usize = 4_000_000;

/// From this multiple of an even share on, the heaviest shard gets a caution.
const UNEVEN: f64 = 1.1;

/// How the sampled channels of a job reach its hosts.
///
/// Without an object list shards are assumed to be even; without a spec every host is assumed to hold all of the data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DataLayout {
    channels: Vec<SampledChannel>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SampledChannel {
    name: String,
    distribution: Distribution,
    /// The instance groups that get it; empty: all.
    groups: Vec<String>,
    /// The size of each object, sorted; absent if they were not listed, or no channel is in shards.
    objects: Option<Vec<Bytes>>,
}

impl SampledChannel {
    fn is_sharded(&self) -> bool {
        self.distribution == Distribution::ShardedByS3Key
    }
}

impl DataLayout {
    /// `dataset` is absent if the data were not listed, or their sizes are not real.
    pub fn of(job: &Job, dataset: Option<&Dataset>) -> Self {
        let sampled = job.training.channels.iter();
        let sampled = sampled.filter(|channel| channel.sample.is_drawn());
        let channels = sampled.map(|channel| SampledChannel {
            name: channel.name.clone(),
            distribution: channel.distribution,
            groups: channel.groups.clone(),
            objects: None,
        });
        let mut layout = Self {
            channels: channels.collect(),
        };
        // Only shards need every size, and there may be millions.
        if let Some(dataset) = dataset.filter(|_| layout.is_sharded()) {
            for channel in &mut layout.channels {
                let mut listed = dataset.channels.iter();
                let listed = listed.find(|listed| listed.name == channel.name);
                channel.objects = listed.map(|listed| {
                    let drawn = listed.objects.without(&listed.always);
                    let mut objects: Vec<Bytes> = drawn.sizes().collect();
                    objects.sort_by(|a, b| b.cmp(a));
                    // What every canary gets is dealt too, and is no part of the size.
                    objects.resize(listed.objects.len(), Bytes(0));
                    objects
                });
            }
        }
        layout
    }

    /// Whether a channel is divided among the hosts.
    pub fn is_sharded(&self) -> bool {
        self.channels.iter().any(SampledChannel::is_sharded)
    }

    /// The hosts among which the channels in shards are divided: those of the groups that they name. Of channels that reach
    /// different groups the fewest count, which is the heavier load.
    pub fn hosts_of_shards(&self, configuration: &InstanceConfiguration) -> u32 {
        let sharded = (self.channels.iter())
            .filter(|channel| channel.is_sharded() && !channel.groups.is_empty());
        let reached = sharded.map(|channel| {
            let groups = configuration.groups().iter();
            let named = groups.filter(|group| channel.groups.contains(&group.name));
            named.map(|group| group.count).sum()
        });
        let all = configuration.total_count();
        let fewest = reached.min().filter(|_| !configuration.groups().is_empty());
        fewest.unwrap_or(all)
    }

    /// The load of the hosts in the full run. If each of them has all of the data, the script divides the work evenly.
    pub fn load(&self, hosts: u32) -> Load {
        let even = Load::even(hosts, 1.0);
        let shards = self.shards(hosts);
        let heaviest = shards.and_then(|shards| shards.heaviest_share());
        Load {
            heaviest: heaviest.unwrap_or(even.heaviest),
            ..even
        }
    }

    /// The largest share of the data on one host in the full run; 1 if each host has all.
    pub fn held_share(&self, hosts: u32) -> f64 {
        match self.is_sharded() {
            true => self.load(hosts).heaviest,
            false => 1.0,
        }
    }

    /// Cautions about shards on so many hosts.
    pub fn cautions(&self, hosts: u32) -> Vec<String> {
        let shards = self.shards(hosts).filter(|_| hosts > 1);
        shards.map_or_else(Vec::new, |shards| shards.cautions)
    }

    /// The runs of one configuration with the heaviest host's bytes in place of all bytes, in each run and in the full run: the
    /// heaviest host determines time and memory, and the few objects of a canary are divided less evenly than those of the full
    /// run. `None` if the data are not in shards, or the shards of a completed run are unknown.
    pub fn by_heaviest_shard(
        &self,
        measurements: &[Measurement],
        hosts: u32,
    ) -> Option<Vec<Measurement>> {
        if hosts < 2 {
            return None;
        }
        let most = |run: &Measurement| run.hosts.iter().map(|host| host.bytes).max();
        let mut full = self.shards(hosts)?.heaviest;
        for run in measurements.iter().filter(|run| run.is_completed()) {
            full = full.max(most(run)?);
        }
        let by_heaviest = |run: &Measurement| Measurement {
            bytes: most(run).or(run.bytes),
            bytes_total: most(run).map(|_| full).or(run.bytes_total),
            ..run.clone()
        };
        (full.0 > 0).then(|| measurements.iter().map(by_heaviest).collect())
    }

    /// `None` unless a channel is in shards and all objects are known.
    fn shards(&self, hosts: u32) -> Option<Shards> {
        let mut sharded = Vec::new();
        let mut on_every_host = Bytes(0);
        for channel in &self.channels {
            let objects = channel.objects.as_deref()?;
            match channel.distribution {
                Distribution::ShardedByS3Key => sharded.push((channel.name.as_str(), objects)),
                Distribution::FullyReplicated => {
                    on_every_host = on_every_host + objects.iter().copied().sum();
                }
            }
        }
        (!sharded.is_empty()).then(|| Shards::of(&sharded, on_every_host, hosts.max(1)))
    }
}

/// The division of a job's data among its hosts. Deterministic, and independent of the order of the objects.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Shards {
    /// The bytes of all channels on the heaviest host: the median over random divisions.
    heaviest: Bytes,
    /// The bytes of the full data, with each object counted once.
    total: Bytes,
    /// The cautions about uneven shards, as sentences.
    cautions: Vec<String>,
}

impl Shards {
    /// Divides the channels in shards, each given by its name and its objects, among `hosts`. Each host has `on_every_host` too.
    fn of(sharded: &[(&str, &[Bytes])], on_every_host: Bytes, hosts: u32) -> Self {
        let all = sharded.iter().flat_map(|(_, objects)| *objects);
        let bytes: Bytes = all.copied().sum();
        let heaviest = heaviest_in_the_middle(sharded, hosts);
        // Rounded up, as the heaviest of equal shards of whole bytes is.
        let even = Bytes(bytes.0.div_ceil(u64::from(hosts)));
        let mut cautions: Vec<String> = (sharded.iter())
            .filter_map(|(name, objects)| some_get_none(name, objects.len(), hosts))
            .collect();
        let times = heaviest.as_f64() / even.as_f64();
        if cautions.is_empty() && times > UNEVEN {
            cautions.push(format!(
                "the heaviest of {hosts} shards has {heaviest}, {times:.1} times an even share ({even}), and its host sets the time; \
                 more and smaller objects of like size would divide more evenly"
            ));
        }
        Self {
            heaviest: on_every_host + heaviest,
            total: on_every_host + bytes,
            cautions,
        }
    }

    /// The heaviest host's share of the full data, 0-1; `None` without data.
    fn heaviest_share(&self) -> Option<f64> {
        (self.total.0 > 0).then(|| self.heaviest.as_f64() / self.total.as_f64())
    }
}

/// A sentence on a channel in shards with fewer objects than hosts, else `None`.
fn some_get_none(name: &str, objects: usize, hosts: u32) -> Option<String> {
    let without = count_of(hosts).saturating_sub(objects);
    let has = grammar::count(objects, "object");
    (without > 0).then(|| format!(
        "channel {name} has {has} for {hosts} instances: {without} of them get none of it and are paid all the same; fewer \
         instances or smaller objects would help"
    ))
}

pub(super) fn count_of(hosts: u32) -> usize {
    usize::try_from(hosts).expect("a count of instances fits into memory")
}

/// The median over seeded random divisions of the heaviest host's bytes of all sharded channels together.
fn heaviest_in_the_middle(channels: &[(&str, &[Bytes])], hosts: u32) -> Bytes {
    let objects: usize = channels.iter().map(|(_, objects)| objects.len()).sum();
    let divisions = (MOST_DEALT / objects.max(1)).clamp(1, DIVISIONS) | 1;
    let mut order = SplitMix64(0);
    let mut heaviest: Vec<Bytes> = (0..divisions)
        .map(|_| {
            let mut loads = vec![Bytes(0); count_of(hosts)];
            for (_, objects) in channels {
                deal(objects, &mut loads, &mut order);
            }
            loads.into_iter().max().unwrap_or_default()
        })
        .collect();
    heaviest.sort();
    heaviest[heaviest.len() / 2]
}

/// Adds each object to one host, as evenly by number as can be; the hosts in random order, so that not always the same get one more.
fn deal(objects: &[Bytes], loads: &mut [Bytes], order: &mut SplitMix64) {
    let mut seats: Vec<usize> = (0..loads.len()).collect();
    order.shuffle(&mut seats);
    let mut dealt = objects.to_vec();
    order.shuffle(&mut dealt);
    for (object, seat) in dealt.into_iter().zip(seats.into_iter().cycle()) {
        loads[seat] = loads[seat] + object;
    }
}

/// Splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
struct SplitMix64(u64);

impl SplitMix64 {
    /// Fisher and Yates; the bias of the remainder is below objects / 2^64.
    fn shuffle<T>(&mut self, things: &mut [T]) {
        for last in (1..things.len()).rev() {
            let among = u64::try_from(last).expect("an index fits 64 bits") + 1;
            let place = usize::try_from(self.next() % among).expect("below the length");
            things.swap(last, place);
        }
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::canary::{ChannelData, DataObject, Objects};
    use crate::measurement::{HostUsage, Outcome, Usage};
    use crate::units::Fraction;
    use Distribution::{FullyReplicated, ShardedByS3Key};

    /// Channels named `train`; without objects their listing is unknown.
    pub(in super::super) fn layout(channels: &[(Distribution, Option<&[u64]>)]) -> DataLayout {
        let channel = |&(distribution, objects): &(Distribution, Option<&[u64]>)| {
            let mut objects: Option<Vec<Bytes>> =
                objects.map(|objects| objects.iter().copied().map(Bytes).collect());
            if let Some(objects) = &mut objects {
                objects.sort_by(|a, b| b.cmp(a));
            }
            SampledChannel {
                name: "train".to_owned(),
                distribution,
                groups: Vec::new(),
                objects,
            }
        };
        DataLayout {
            channels: channels.iter().map(channel).collect(),
        }
    }

    fn sharded(objects: &[u64]) -> DataLayout {
        layout(&[(ShardedByS3Key, Some(objects))])
    }

    #[test]
    fn the_heaviest_shard_has_its_size_and_a_caution() {
        let one_large = [vec![10; 39], vec![1000]].concat();
        // A third of the objects is five times as large as the others, and none more than an even share.
        let uneven = [500, 100, 100].repeat(10);
        let shards = [
            // The example of SageMaker's documentation: 20 files over 6 instances are 3 or 4 each.
            (&[100; 20][..], 6),
            (&[5, 7, 6], 8),
            // Nine small ones come with the large one, whichever they are.
            (&one_large, 4),
            (&[8; 4000], 4),
            (&uneven, 5),
            // Two pairs out of these are equally often {10, 1}, {10, 2} and {10, 3}; the middle one is {10, 2}.
            (&[1, 2, 3, 10], 2),
            (&[3, 4], 1),
            (&[], 3),
        ]
        .map(|(objects, hosts)| {
            let shards = sharded(objects).shards(hosts).unwrap();
            let of = format!(
                "{} objects on {hosts}: {}",
                objects.len(),
                shards.heaviest.0
            );
            [vec![of], shards.cautions].concat().join("; ")
        });
        insta::assert_snapshot!(shards.join("\n"));
        assert_eq!(sharded(&[100; 20]).load(6).heaviest, 0.2);
        assert_eq!(sharded(&[0, 0]).shards(2).unwrap().heaviest_share(), None);
    }

    #[test]
    fn replicas_are_held_whole_and_shards_in_part() {
        let replicated = (FullyReplicated, Some(&[30, 20][..]));
        for whole in [DataLayout::default(), layout(&[replicated])] {
            assert_eq!(whole.load(5), Load::even(5, 1.0));
            assert_eq!(whole.held_share(5), 1.0);
            assert_eq!(whole.cautions(5), [""; 0]);
        }
        let both = layout(&[(ShardedByS3Key, Some(&[100; 8])), replicated]);
        let shards = both.shards(4).unwrap();
        assert_eq!((shards.heaviest, shards.total), (Bytes(250), Bytes(850)));
        // Ten objects on four instances: some get three.
        let listed = sharded(&[10; 10]);
        assert_eq!((listed.load(4).heaviest, listed.held_share(4)), (0.3, 0.3));
        assert_eq!((listed.cautions(4).len(), listed.cautions(1).len()), (1, 0));
        let unlisted = layout(&[(ShardedByS3Key, None)]);
        assert_eq!(unlisted.load(4), Load::even(4, 1.0));
        assert_eq!(unlisted.held_share(4), 0.25);
    }

    proptest::proptest! {
        #[test]
        fn every_object_goes_to_one_host(
            sizes in proptest::collection::vec(0..1000_u64, 0..60), hosts in 1..12_usize, seed: u64,
        ) {
            let of = |objects: &[Bytes]| {
                let mut loads = vec![Bytes(0); hosts];
                deal(objects, &mut loads, &mut SplitMix64(seed));
                loads
            };
            let objects: Vec<Bytes> = sizes.iter().copied().map(Bytes).collect();
            let all: Bytes = objects.iter().copied().sum();
            proptest::prop_assert_eq!(of(&objects).into_iter().sum::<Bytes>(), all);
            let counts = of(&vec![Bytes(1); sizes.len()]);
            let (fewest, most) = (counts.iter().min(), counts.iter().max());
            proptest::prop_assert!(most.unwrap().0 - fewest.unwrap().0 <= 1);
        }
    }

    #[test]
    fn a_dataset_gives_the_sampled_channels_of_a_spec() {
        let spec = "\
version: 1
backend: local
jobs:
  sums:
    training:
      command: [sh, train.sh]
      channels:
        train: {uri: data, distribution: ShardedByS3Key}
        validation: {uri: other, sample: false, distribution: ShardedByS3Key}
    instance: local
";
        let spec = crate::spec::read("canary-gate.yml", spec.as_bytes(), &[]).unwrap();
        let channel = |name: &str, sampled| {
            let object = |(key, bytes): (&str, u64)| DataObject {
                key: key.to_owned(),
                bytes: Bytes(bytes),
            };
            let objects = [("a", 2), ("b", 7)].map(object);
            ChannelData::new(name, sampled, Objects::from_iter(objects))
        };
        let dataset = Dataset {
            channels: vec![channel("train", true), channel("validation", false)],
        };
        let of = |dataset| DataLayout::of(&spec.jobs[0], dataset);
        assert_eq!(of(Some(&dataset)), sharded(&[2, 7]));
        assert_eq!(of(None), layout(&[(ShardedByS3Key, None)]));
        // What every canary gets is dealt with the others, and is no part of the size.
        let mut beside = dataset.clone();
        beside.channels[0].always = beside.channels[0].objects.select([1]);
        assert_eq!(of(Some(&beside)), sharded(&[2, 0]));
    }

    /// A run on two instances that were given these bytes.
    fn run(hosts: &[u64], outcome: Outcome) -> Measurement {
        let host = |(index, bytes): (usize, &u64)| HostUsage {
            host: format!("algo-{}", index + 1),
            group: None,
            bytes: Bytes(*bytes),
            usage: Usage::default(),
        };
        Measurement {
            bytes: Some(Bytes(hosts.iter().sum())),
            bytes_total: Some(Bytes(1000)),
            hosts: hosts.iter().enumerate().map(host).collect(),
            ..Measurement::without_figures(
                "train".to_owned(),
                "2x ml.m5.xlarge".parse().unwrap(),
                Fraction(0.1),
                outcome,
            )
        }
    }

    /// A host of another group has none of the data, in the full run neither.
    #[test]
    fn a_run_in_shards_is_compared_by_its_heaviest_host_of_their_groups() {
        let mut layouts = [sharded(&[100; 10]), sharded(&[100; 10])];
        layouts[1].channels[0].groups = vec!["data".to_owned()];
        let hosts = |layout: &DataLayout, configuration: &str| {
            layout.hosts_of_shards(&configuration.parse().unwrap())
        };
        let groups = "data: 2x local + dnn: 3x local";
        assert_eq!(layouts.each_ref().map(|one| hosts(one, groups)), [5, 2]);
        assert_eq!(hosts(&layouts[1], "4x local"), 4);

        let completed = |hosts: &[u64]| run(hosts, Outcome::Completed);
        let replicated = layout(&[(FullyReplicated, Some(&[100; 10]))]);
        // If the hosts' bytes of a completed run are unknown, all runs stay as they are; a failed run does not matter.
        let unknown = [completed(&[100, 0]), completed(&[])];
        let stopped = [completed(&[100, 0]), run(&[], Outcome::Stopped)];
        // One object of ten on one host: a tenth of all data, a fifth of a host's.
        let pair = [completed(&[100, 0]), completed(&[100, 100])];
        let five = [completed(&[100, 100, 0, 0, 0])];
        for (layout, runs, hosts, shares) in [
            (&layouts[0], &pair[..], 2, Some(vec![0.2, 0.2])),
            (&layouts[1], &five, 2, Some(vec![0.2])),
            (&layouts[0], &stopped, 2, Some(vec![0.2, 0.0])),
            (&layouts[0], &pair, 1, None),
            (&replicated, &pair, 2, None),
            (&layouts[0], &unknown, 2, None),
        ] {
            let by_shard = layout.by_heaviest_shard(runs, hosts);
            let found = by_shard.map(|runs| runs.iter().map(Measurement::data_share).collect());
            assert_eq!(found, shares);
        }
    }
}
