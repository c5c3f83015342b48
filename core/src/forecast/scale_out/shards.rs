//! The division of the data among the hosts, by whole objects.
//!
//! `ShardedByS3Key` gives each of n instances about 1/n of a channel's objects; which object goes where is not specified
//! (SageMaker API reference, S3DataSource, S3DataDistributionType). The assumption here: the counts are as even as whole
//! objects allow, and any such division is as likely as any other.

use crate::grammar;
use crate::spec::Distribution;
use crate::units::Bytes;

/// The number of random divisions; odd, so that there is a median.
const DIVISIONS: usize = 201;

/// The most objects dealt over all divisions: with very many objects the heaviest shard varies little.
const MOST_DEALT: usize = 4_000_000;

/// From this multiple of an even share on, the heaviest shard gets a caution.
const UNEVEN: f64 = 1.1;

/// From this multiple on, shards get a caution although no object is large.
const SKEWED: f64 = 1.2;

/// One channel, and how its objects reach the hosts.
#[derive(Debug, Clone, Copy)]
pub struct ChannelObjects<'a> {
    pub name: &'a str,
    pub distribution: Distribution,
    /// The size of each, in any order.
    pub objects: &'a [Bytes],
}

/// The division of a job's data among n hosts. Deterministic, and independent of the order of the objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shards {
    /// On the heaviest host, over all channels: the median over random divisions.
    pub heaviest: Bytes,
    /// Of the full data, each object once.
    pub total: Bytes,
    /// Cautions, as sentences.
    pub cautions: Vec<String>,
}

impl Shards {
    /// `hosts` is at least 1.
    pub fn of(channels: &[ChannelObjects], hosts: u32) -> Self {
        let hosts = hosts.max(1);
        let count = usize::try_from(hosts).expect("a count of instances fits into memory");
        let sharded: Vec<ShardedChannel> = channels
            .iter()
            .filter(|channel| channel.distribution == Distribution::ShardedByS3Key)
            .map(|channel| ShardedChannel::new(channel, count))
            .collect();
        let on_every_host: Bytes = channels
            .iter()
            .filter(|channel| channel.distribution == Distribution::FullyReplicated)
            .flat_map(|channel| channel.objects)
            .copied()
            .sum();
        let even = share_of(sharded.iter().map(|channel| channel.bytes).sum(), hosts);
        let heaviest = heaviest_in_the_middle(&sharded, count);
        let mut cautions: Vec<String> = sharded
            .iter()
            .flat_map(|channel| channel.cautions(hosts))
            .collect();
        if cautions.is_empty() && heaviest.as_f64() > SKEWED * even.as_f64() {
            cautions.push(format!(
                "the heaviest of {hosts} shards has {heaviest}, {:.1} times an even share ({even}), and its host sets the time; \
                 objects of like size would divide more evenly",
                heaviest.as_f64() / even.as_f64(),
            ));
        }
        Self {
            heaviest: on_every_host + heaviest,
            total: on_every_host + sharded.iter().map(|channel| channel.bytes).sum(),
            cautions,
        }
    }

    /// The heaviest host's share of the full data, 0-1; `None` without data.
    pub fn heaviest_share(&self) -> Option<f64> {
        (self.total.0 > 0).then(|| self.heaviest.as_f64() / self.total.as_f64())
    }
}

/// A channel that is divided among the hosts.
struct ShardedChannel<'a> {
    name: &'a str,
    /// The largest first.
    objects: Vec<Bytes>,
    bytes: Bytes,
    hosts: usize,
}

impl<'a> ShardedChannel<'a> {
    fn new(channel: &ChannelObjects<'a>, hosts: usize) -> Self {
        let mut objects = channel.objects.to_vec();
        objects.sort_by(|a, b| b.cmp(a));
        Self {
            name: channel.name,
            bytes: objects.iter().copied().sum(),
            objects,
            hosts,
        }
    }

    fn cautions(&self, hosts: u32) -> Vec<String> {
        let (name, objects) = (self.name, self.objects.len());
        let mut cautions = Vec::new();
        if objects < self.hosts {
            cautions.push(format!(
                "channel {name} has {} for {hosts} instances: {} of them get none of it and are paid all the same; fewer \
                 instances or smaller objects would help",
                grammar::count(objects, "object"),
                self.hosts - objects,
            ));
            return cautions;
        }
        let even = self.bytes.as_f64() / f64::from(hosts);
        let (fewest, most) = (objects / self.hosts, objects.div_ceil(self.hosts));
        if let Some(largest) = self.objects.first()
            && largest.as_f64() > UNEVEN * even
        {
            cautions.push(format!(
                "one object of channel {name} ({largest}) is more than an even share of it on {hosts} instances ({}): the \
                 host that gets it sets the time",
                Bytes::from_f64(even),
            ));
        } else if most > fewest && self.hosts * most * 10 > objects * 11 {
            cautions.push(format!(
                "channel {name} has {objects} objects for {hosts} instances: some get {most} and some {fewest}, and those \
                 with {most} set the time; more and smaller objects would divide more evenly",
            ));
        }
        cautions
    }
}

/// Rounded up, as the heaviest of equal shards of whole bytes is.
fn share_of(bytes: Bytes, hosts: u32) -> Bytes {
    Bytes(bytes.0.div_ceil(u64::from(hosts)))
}

/// The median over seeded random divisions of the heaviest host's bytes of all sharded channels together.
fn heaviest_in_the_middle(channels: &[ShardedChannel], hosts: usize) -> Bytes {
    let objects: usize = channels.iter().map(|channel| channel.objects.len()).sum();
    let divisions = (MOST_DEALT / objects.max(1)).clamp(1, DIVISIONS) | 1;
    let mut order = SplitMix64(0);
    let mut heaviest: Vec<Bytes> = (0..divisions)
        .map(|_| {
            let mut loads = vec![Bytes(0); hosts];
            for channel in channels {
                for (seat, shard) in deal(&channel.objects, hosts, &mut order).iter().enumerate() {
                    loads[seat] = loads[seat] + shard.iter().copied().sum();
                }
            }
            loads.into_iter().max().unwrap_or_default()
        })
        .collect();
    heaviest.sort();
    heaviest[heaviest.len() / 2]
}

/// Each object to one host, as evenly by number as can be; the hosts in random order, so that not always the same get one more.
fn deal(objects: &[Bytes], hosts: usize, order: &mut SplitMix64) -> Vec<Vec<Bytes>> {
    let mut seats: Vec<usize> = (0..hosts).collect();
    order.shuffle(&mut seats);
    let mut dealt = objects.to_vec();
    order.shuffle(&mut dealt);
    let mut shards = vec![Vec::new(); hosts];
    for (object, seat) in dealt.into_iter().zip(seats.into_iter().cycle()) {
        shards[seat].push(object);
    }
    shards
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
mod tests {
    use super::*;

    fn sharded(objects: &[u64], hosts: u32) -> Shards {
        let objects: Vec<Bytes> = objects.iter().copied().map(Bytes).collect();
        Shards::of(&[channel(Distribution::ShardedByS3Key, &objects)], hosts)
    }

    fn channel(distribution: Distribution, objects: &[Bytes]) -> ChannelObjects<'_> {
        ChannelObjects {
            name: "train",
            distribution,
            objects,
        }
    }

    #[test]
    fn the_heaviest_shard_has_its_size_and_a_caution() {
        let one_large = [vec![10; 39], vec![1000]].concat();
        // A third of the objects is five times as large as the others, and none more than an even share.
        let uneven = [500, 100, 100].repeat(10);
        for (objects, hosts, heaviest, caution) in [
            // The example of SageMaker's documentation: 20 files over 6 instances are 3 or 4 each.
            (
                &[100; 20][..],
                6,
                400,
                Some(
                    "channel train has 20 objects for 6 instances: some get 4 and some 3, and those with 4 set the time; more and smaller objects would divide more evenly",
                ),
            ),
            (
                &[5, 7, 6],
                8,
                7,
                Some(
                    "channel train has 3 objects for 8 instances: 5 of them get none of it and are paid all the same; fewer instances or smaller objects would help",
                ),
            ),
            // Nine small ones come with the large one, whichever they are.
            (
                &one_large,
                4,
                1090,
                Some(
                    "one object of channel train (1000 B) is more than an even share of it on 4 instances (348 B): the host that gets it sets the time",
                ),
            ),
            (&[8; 4000], 4, 8000, None),
            (
                &uneven,
                5,
                1800,
                Some(
                    "the heaviest of 5 shards has 1.76 KiB, 1.3 times an even share (1.37 KiB), and its host sets the time; objects of like size would divide more evenly",
                ),
            ),
        ] {
            let shards = sharded(objects, hosts);
            assert_eq!(shards.heaviest, Bytes(heaviest), "{hosts}");
            assert_eq!(shards.cautions, Vec::from_iter(caution.map(str::to_owned)));
        }
        assert_eq!(sharded(&[100; 20], 6).heaviest_share(), Some(0.2));
    }

    /// Two pairs out of 1, 2, 3, 10 are equally often {10, 1}, {10, 2} and {10, 3}; the middle one is {10, 2}.
    #[test]
    fn the_heaviest_shard_is_the_median_over_divisions() {
        assert_eq!(sharded(&[1, 2, 3, 10], 2).heaviest, Bytes(12));
    }

    #[test]
    fn replicated_channels_are_whole_on_every_host_and_channels_add_up() {
        let train = [Bytes(100); 8];
        let validation = [Bytes(30), Bytes(20)];
        let replicated = channel(Distribution::FullyReplicated, &validation);
        let alone = Shards::of(&[replicated], 4);
        assert_eq!(alone.heaviest, Bytes(50));
        assert_eq!(alone.heaviest_share(), Some(1.0));
        assert_eq!(alone.cautions, [""; 0]);

        let both = Shards::of(
            &[channel(Distribution::ShardedByS3Key, &train), replicated],
            4,
        );
        assert_eq!(both.heaviest, Bytes(250));
        assert_eq!(both.total, Bytes(850));
    }

    #[test]
    fn one_instance_has_everything_and_no_data_has_no_share() {
        assert_eq!(sharded(&[3, 4], 1).heaviest, Bytes(7));
        assert_eq!(sharded(&[], 3).heaviest_share(), None);
        assert_eq!(sharded(&[0, 0], 2).heaviest_share(), None);
    }

    #[test]
    fn the_order_of_the_objects_does_not_matter() {
        let sizes: Vec<u64> = (1..50).map(|index| index * index % 97).collect();
        let reversed: Vec<u64> = sizes.iter().rev().copied().collect();
        assert_eq!(sharded(&sizes, 7), sharded(&reversed, 7));
    }

    proptest::proptest! {
        #[test]
        fn every_object_goes_to_one_host(
            sizes in proptest::collection::vec(0..1000_u64, 0..60), hosts in 1..12_usize, seed: u64,
        ) {
            let objects: Vec<Bytes> = sizes.iter().copied().map(Bytes).collect();
            let shards = deal(&objects, hosts, &mut SplitMix64(seed));
            let mut dealt: Vec<Bytes> = shards.concat();
            let mut all = objects.clone();
            dealt.sort();
            all.sort();
            proptest::prop_assert_eq!(dealt, all);
            let counts: Vec<usize> = shards.iter().map(Vec::len).collect();
            let (fewest, most) = (counts.iter().min(), counts.iter().max());
            proptest::prop_assert!(most.unwrap() - fewest.unwrap() <= 1);
        }
    }
}
