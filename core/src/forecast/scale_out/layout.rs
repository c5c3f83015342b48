//! [`DataLayout`]: the share of a job's data that each host holds, for any count of instances.

use super::{ChannelObjects, Load, Shards};
use crate::canary::Dataset;
use crate::instance::InstanceConfiguration;
use crate::measurement::Measurement;
use crate::spec::{Distribution, Job};
use crate::units::Bytes;

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
    /// The size of each object; absent if they were not listed, or no channel is in shards.
    objects: Option<Vec<Bytes>>,
}

impl DataLayout {
    /// `dataset` is absent if the data were not listed, or their sizes are not real.
    pub fn of(job: &Job, dataset: Option<&Dataset>) -> Self {
        let sampled = || {
            job.training
                .channels
                .iter()
                .filter(|channel| channel.sample.is_drawn())
        };
        // Only shards need every size, and there may be millions.
        let is_sharded =
            sampled().any(|channel| channel.distribution == Distribution::ShardedByS3Key);
        let listed = |name: &str| {
            let mut channels = dataset.filter(|_| is_sharded)?.channels.iter();
            let channel = channels.find(|channel| channel.name == name)?;
            Some(channel.objects.sizes().collect())
        };
        Self {
            channels: sampled()
                .map(|channel| SampledChannel {
                    name: channel.name.clone(),
                    distribution: channel.distribution,
                    groups: channel.groups.clone(),
                    objects: listed(&channel.name),
                })
                .collect(),
        }
    }

    /// Whether a channel is divided among the hosts.
    pub fn is_sharded(&self) -> bool {
        self.channels
            .iter()
            .any(|channel| channel.distribution == Distribution::ShardedByS3Key)
    }

    /// The hosts among which the channels in shards are divided: those of the groups that they name. Of channels that reach
    /// different groups the fewest count, which is the heavier load.
    pub fn hosts_of_shards(&self, configuration: &InstanceConfiguration) -> u32 {
        let all = configuration.total_count();
        let InstanceConfiguration::Heterogeneous { groups, .. } = configuration else {
            return all;
        };
        let sharded = self.channels.iter().filter(|channel| {
            channel.distribution == Distribution::ShardedByS3Key && !channel.groups.is_empty()
        });
        let reached = sharded.map(|channel| {
            let named = groups
                .iter()
                .filter(|group| channel.groups.contains(&group.name));
            named.map(|group| group.count).sum()
        });
        reached.min().unwrap_or(all)
    }

    /// The load of the hosts in the full run. If each of them has all of the data, the script divides the work evenly.
    pub fn load(&self, hosts: u32) -> Load {
        let even = Load::even(hosts, 1.0);
        match self
            .shards(hosts)
            .and_then(|shards| shards.heaviest_share())
        {
            Some(heaviest) => Load { heaviest, ..even },
            None => even,
        }
    }

    /// The largest share of the data on one host in the full run; 1 if each host has all.
    pub fn held_share(&self, hosts: u32) -> f64 {
        if self.is_sharded() {
            self.load(hosts).heaviest
        } else {
            1.0
        }
    }

    /// Cautions about shards on so many hosts.
    pub fn cautions(&self, hosts: u32) -> Vec<String> {
        self.shards(hosts)
            .filter(|_| hosts > 1)
            .map_or_else(Vec::new, |shards| shards.cautions)
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
        if !self.is_sharded() {
            return None;
        }
        let channels: Vec<ChannelObjects> = self
            .channels
            .iter()
            .map(|channel| {
                Some(ChannelObjects {
                    name: &channel.name,
                    distribution: channel.distribution,
                    objects: channel.objects.as_deref()?,
                })
            })
            .collect::<Option<_>>()?;
        Some(Shards::of(&channels, hosts))
    }
}

/// One channel in shards; without objects its listing is unknown.
#[cfg(test)]
pub(super) fn sharded(objects: &[Bytes]) -> DataLayout {
    DataLayout {
        channels: vec![SampledChannel {
            name: "train".to_owned(),
            distribution: Distribution::ShardedByS3Key,
            groups: Vec::new(),
            objects: (!objects.is_empty()).then(|| objects.to_vec()),
        }],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canary::{ChannelData, DataObject, Objects};
    use crate::measurement::{HostUsage, Outcome, Usage};
    use crate::units::Fraction;

    fn layout(distribution: Distribution, objects: Option<&[u64]>) -> DataLayout {
        let bytes = |objects: &[u64]| objects.iter().copied().map(Bytes).collect();
        DataLayout {
            channels: vec![SampledChannel {
                name: "train".to_owned(),
                distribution,
                groups: Vec::new(),
                objects: objects.map(bytes),
            }],
        }
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

    #[test]
    fn replicas_are_held_whole_and_shards_in_part() {
        use Distribution::{FullyReplicated, ShardedByS3Key};
        let unknown = DataLayout::default();
        let replicated = layout(FullyReplicated, Some(&[10; 10]));
        for whole in [unknown, replicated] {
            assert_eq!(whole.load(5), Load::even(5, 1.0));
            assert_eq!(whole.held_share(5), 1.0);
            assert_eq!(whole.cautions(5), [""; 0]);
        }
        // Ten objects on four instances: some get three.
        let listed = layout(ShardedByS3Key, Some(&[10; 10]));
        assert_eq!(listed.load(4).heaviest, 0.3);
        assert_eq!(listed.held_share(4), 0.3);
        assert_eq!(listed.cautions(4).len(), 1);
        assert_eq!(listed.cautions(1), [""; 0]);
        let unlisted = layout(ShardedByS3Key, None);
        assert_eq!(unlisted.load(4), Load::even(4, 1.0));
        assert_eq!(unlisted.held_share(4), 0.25);
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
        let source = crate::spec::SpecSource {
            name: "canary-gate.yml",
            bytes: spec.as_bytes(),
        };
        let spec = crate::spec::read(source, &[]).unwrap();
        let channel = |name: &str, sampled| {
            let object = DataObject {
                key: "part".to_owned(),
                bytes: Bytes(7),
            };
            ChannelData::new(name, sampled, Objects::from_iter([object]))
        };
        let dataset = Dataset {
            channels: vec![channel("train", true), channel("validation", false)],
        };
        assert_eq!(
            DataLayout::of(&spec.jobs[0], Some(&dataset)),
            layout(Distribution::ShardedByS3Key, Some(&[7]))
        );
        assert_eq!(
            DataLayout::of(&spec.jobs[0], None),
            layout(Distribution::ShardedByS3Key, None)
        );
    }

    /// A host of another group has none of the data, in the full run neither.
    #[test]
    fn shards_are_divided_among_the_hosts_of_their_groups() {
        let mut sharded = layout(Distribution::ShardedByS3Key, Some(&[100; 10]));
        let hosts = |layout: &DataLayout, configuration: &str| {
            layout.hosts_of_shards(&configuration.parse().unwrap())
        };
        let groups = "data: 2x local + dnn: 3x local";
        assert_eq!(hosts(&sharded, groups), 5);
        sharded.channels[0].groups = vec!["data".to_owned()];
        assert_eq!(hosts(&sharded, groups), 2);
        assert_eq!(hosts(&sharded, "4x local"), 4);

        let run = run(&[100, 100, 0, 0, 0], Outcome::Completed);
        let by_shard = sharded.by_heaviest_shard(&[run], hosts(&sharded, groups));
        assert_eq!(by_shard.unwrap()[0].data_share(), 0.2);
    }

    #[test]
    fn a_run_in_shards_is_compared_by_its_heaviest_host() {
        let sharded = layout(Distribution::ShardedByS3Key, Some(&[100; 10]));
        // One object of ten on one host: a tenth of all data, a fifth of a host's.
        let runs = [
            run(&[100, 0], Outcome::Completed),
            run(&[100, 100], Outcome::Completed),
        ];
        let by_shard = sharded.by_heaviest_shard(&runs, 2).unwrap();
        let shares: Vec<f64> = by_shard.iter().map(Measurement::data_share).collect();
        assert_eq!(shares, [0.2, 0.2]);

        assert_eq!(sharded.by_heaviest_shard(&runs, 1), None);
        let replicated = layout(Distribution::FullyReplicated, Some(&[100; 10]));
        assert_eq!(replicated.by_heaviest_shard(&runs, 2), None);
        // If the hosts' bytes of a completed run are unknown, all runs stay as they are; a failed run does not matter.
        let unknown = [runs[0].clone(), run(&[], Outcome::Completed)];
        assert_eq!(sharded.by_heaviest_shard(&unknown, 2), None);
        let stopped = [runs[0].clone(), run(&[], Outcome::Stopped)];
        assert!(sharded.by_heaviest_shard(&stopped, 2).is_some());
    }
}
