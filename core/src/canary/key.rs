//! **Keys**: hashes that identify equal canaries, so that none is paid for twice.
//!
//! | key | what counts |
//! |---|---|
//! | code | path, kind and id of every file, link and submodule that counts ([`crate::code`]): a file's bytes and whether it can be executed, a link's text and what it leads to, a submodule's commit; of the spec each field of the job whose rule does not exclude it (`uncounted`, beside the field), and the names under `budget.metrics` |
//! | data | channel by channel the digest of its listing, see below |
//! | canary | both of them, the instance configuration, the objects drawn or the share handed over, the work level, the replicate; with the local backend the machine, the variables that canaries are handed, the folders among these, their caches and the packages of Python |
//!
//! | data | digest of a channel |
//! |---|---|
//! | S3 | key, size and ETag of every object; where the store gives no ETags, the channel's address, keys and sizes |
//! | a file system | its address, for nothing lists it |
//! | local | key, size and SHA-256 of the content of every file |
//! | a recording | keys and sizes as recorded, and the channel's address |
//!
//! Without git the code is unknown and no canary is reused, except on SageMaker, where the packed source replaces it. Prices,
//! limits and the rest of budgets do not count: they change what a canary means, not what it does. Modification times do not count either,
//! since a checkout sets them.
//!
//! **Stability.** A SageMaker training job is named by its canary key, and a history is searched by all three. A change of what
//! is hashed also changes the number before it ("code 1"); then everything is measured again once.

use std::fmt;

use sha2::{Digest, Sha256};

use super::{CanaryRun, Objects};
use crate::code::CodeFile;
use crate::spec::{Job, PrintedMetric};

/// How many hex digits of a canary key a training job's name holds.
const SHORT: usize = 16;

/// A hash of everything that counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key([u8; 32]);

impl Key {
    /// The first 16 hex digits.
    pub fn short(&self) -> String {
        self.to_string()[..SHORT].to_owned()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// The key of a job's code, of which `files` are all that counts, sorted.
///
/// Every field of the job counts that its rule does not exclude.
pub fn code_key(job: &Job, files: &[CodeFile]) -> Key {
    let mut hash = Fields::new("code 3");
    for file in files {
        let CodeFile {
            path,
            real: _,
            kind,
            blob,
        } = file;
        hash.text(Some(&kind.to_string()));
        hash.bytes(path.as_os_str().as_encoded_bytes());
        hash.text(Some(blob));
    }
    hash.text(None);
    for (path, value) in job.counted_fields() {
        hash.list([path, value]);
    }
    // An earlier run was not asked for what a budget line names since.
    hash.text(Some("metrics of the budget"));
    hash.list(job.judged_metrics().iter().map(PrintedMetric::name));
    hash.end()
}

/// The key of a canary.
pub fn canary_key(code: &Key, data: &Key, run: &CanaryRun) -> Key {
    let CanaryRun {
        // In the key of the code.
        job: _,
        instance,
        share,
        work,
        replicate,
        channels,
        // Said by the objects drawn, or the share handed over.
        fraction: _,
        objects: _,
        objects_total: _,
        bytes: _,
        bytes_total: _,
        // A run that was ended is not taken for one that was not.
        max_runtime: _,
        ends_early: _,
    } = run;
    let mut hash = Fields::of_keys("canary 1", &[code, data]);
    hash.text(Some(&instance.to_string()));
    if let Some(script) = instance.entry_point() {
        hash.text(Some("script of the groups"));
        hash.text(Some(script));
    }
    for channel in channels {
        hash.text(Some(&channel.name));
        if let Some(rows) = &channel.rows {
            // What changes where blocks are cut, or what is copied of one, changes this number.
            hash.text(Some("rows 1"));
            for file in 0..rows.files.len() {
                hash.number(rows.block_size(file).0);
            }
            for place in rows.places() {
                hash.number(u64::from(place.file) << 32 | u64::from(place.block));
            }
        } else if channel.sampled {
            hash.list(channel.objects.iter().map(|object| &object.key));
        }
    }
    if let Some(share) = share {
        hash.text(share.value.as_deref());
    }
    hash.number(work.as_ref().map_or(0, |work| work.level.to_bits()));
    hash.number(u64::from(*replicate));
    hash.end()
}

/// The key of a machine, for specs that name different machines alike, as `local` does: its kind, the variables that are
/// passed to the canaries, and what they find there.
pub fn machine_key<'a>(
    machine: &str,
    variables: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Key {
    let mut hash = Fields::new("machine 1");
    hash.text(Some(machine));
    for (name, value) in variables {
        hash.text(Some(name));
        hash.bytes(value);
    }
    hash.end()
}

/// The key of the same canary on one machine.
pub fn on_machine(canary: &Key, machine: &Key) -> Key {
    Fields::of_keys("canary on a machine 1", &[canary, machine]).end()
}

/// The key of the same canary where the probe was asked for and could not be sent: it measures less.
pub fn without_probe(canary: &Key) -> Key {
    Fields::of_keys("canary without the probe 1", &[canary]).end()
}

/// The key of a job's data: its channels in the order of the spec, each with the digest of its listing.
pub fn data_key<'a>(channels: impl IntoIterator<Item = (&'a str, [u8; 32])>) -> Key {
    let mut hash = Fields::new("data 1");
    for (name, digest) in channels {
        hash.text(Some(name));
        hash.bytes(&digest);
    }
    hash.end()
}

/// SHA-256 over a channel's URI and its objects' keys and sizes, for stores without content hashes.
pub fn listing_digest(uri: &str, objects: &Objects) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(uri.as_bytes());
    for object in objects.iter() {
        hash.update((object.key.len() as u64).to_be_bytes());
        hash.update(&object.key);
        hash.update(object.bytes.0.to_be_bytes());
    }
    hash.finalize().into()
}

/// Hashes fields so that different sequences of fields give different bytes: the length precedes each.
struct Fields(Sha256);

impl Fields {
    fn new(what: &str) -> Self {
        let mut fields = Self(Sha256::new());
        fields.text(Some(what));
        fields
    }

    fn of_keys(what: &str, keys: &[&Key]) -> Self {
        let mut fields = Self::new(what);
        keys.iter().for_each(|key| fields.bytes(&key.0));
        fields
    }

    fn number(&mut self, number: u64) {
        self.0.update(number.to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.0.update(bytes);
    }

    /// An absent text differs from an empty one.
    fn text(&mut self, text: Option<&str>) {
        self.number(u64::from(text.is_some()));
        self.bytes(text.unwrap_or_default().as_bytes());
    }

    fn list(&mut self, texts: impl IntoIterator<Item = impl AsRef<str>>) {
        for text in texts {
            self.text(Some(text.as_ref()));
        }
        self.text(None);
    }

    fn end(self) -> Key {
        Key(self.0.finalize().into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::{ChannelData, DataObject, WorkLevel};
    use super::*;
    use crate::instance::InstanceConfiguration;
    use crate::spec;
    use crate::units::{Bytes, Fraction};

    #[test]
    fn fields_do_not_run_into_each_other() {
        let hashed = |lists: [&[&str]; 2]| {
            let mut hash = Fields::new("test");
            lists.iter().for_each(|list| hash.list(*list));
            hash.end()
        };
        assert_ne!(hashed([&["a", "b"], &[]]), hashed([&["a"], &["b"]]));
        assert_ne!(hashed([&["ab"], &[]]), hashed([&["a", "b"], &[]]));
        assert_ne!(hashed([&[""], &[]]), hashed([&[], &[]]));
    }

    #[test]
    fn channels_with_the_same_objects_are_not_the_same_data() {
        let one = data_key([("train", [1; 32]), ("validation", [2; 32])]);
        let other = data_key([("validation", [1; 32]), ("train", [2; 32])]);
        assert_ne!(one, other);
        assert_eq!(one.short().len(), SHORT);
    }

    const SPEC: &str = "\
version: 1
backend: sagemaker
jobs:
  churn:
    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1
      role: arn:aws:iam::123456789012:role/Train
      source_dir: code
      entry_point: train.py
      hyperparameters: {epochs: 5, depth: 6}
      channels:
        train: {uri: s3://data/train/}
      output: s3://canaries/out/
    instance: ml.m5.xlarge
    canary: {seed: 1}
    budget: {time: 2h}
";

    fn key_of(spec: &str, files: &[(&str, &str)]) -> Key {
        let spec = spec::read("canary-gate.yml", spec.as_bytes(), &[]).expect("a valid spec");
        let files: Vec<CodeFile> = files
            .iter()
            .map(|(path, blob)| CodeFile {
                path: path.into(),
                real: path.into(),
                kind: crate::code::PathKind::File,
                blob: (*blob).to_owned(),
            })
            .collect();
        code_key(&spec.jobs[0], &files)
    }

    /// `+` before the edits of the spec that change what a canary does, `=` before those that change what it means.
    #[test]
    fn what_changes_the_training_changes_the_code_key_and_what_changes_the_meaning_does_not() {
        let files = [("code/a.py", "1"), ("code/b.py", "2")];
        let key = key_of(SPEC, &files);
        for edit in include_str!("key_edits.txt").lines() {
            let (from, to) = edit[2..].split_once(" => ").unwrap();
            assert!(SPEC.contains(from), "{edit}");
            let edited = SPEC.replacen(from, &to.replace("\\n", "\n"), 1);
            let is_other = key_of(&edited, &files) != key;
            assert_eq!(is_other, edit.starts_with('+'), "{edit}");
        }
        for others in [
            &[("code/a.py", "1"), ("code/b.py", "3")][..],
            &[("code/a.py", "1"), ("code/c.py", "2")],
            &files[..1],
        ] {
            assert_ne!(key_of(SPEC, others), key);
        }
    }

    /// An earlier run was not asked for it.
    #[test]
    fn a_line_about_what_the_script_prints_changes_the_code_key_and_its_limit_does_not() {
        let files = [("code/a.py", "1")];
        let metrics = "      metrics: {rate: '(.*) tok/s'}\n      output:";
        let spec = SPEC.replacen("      output:", metrics, 1);
        let with = |min: u32| {
            let line = format!("{{metrics: {{rate: {{min: {min}}}}}, time: 2h");
            assert!(spec.contains("{time: 2h"));
            key_of(&spec.replacen("{time: 2h", &line, 1), &files)
        };
        assert_ne!(with(1), key_of(&spec, &files));
        assert_eq!(with(1), with(2));
    }

    /// A canary that drew `keys` of the channel `train`.
    fn canary(keys: &[&str]) -> CanaryRun {
        let object = |key: &&str| DataObject {
            key: (*key).to_owned(),
            bytes: Bytes(1),
        };
        let channel = |name: &str, sampled: bool, keys: &[&str]| {
            ChannelData::new(name, sampled, keys.iter().map(object).collect())
        };
        CanaryRun {
            job: "churn".to_owned(),
            instance: "ml.m5.xlarge".parse().unwrap(),
            fraction: Fraction(0.1),
            share: None,
            work: None,
            replicate: 0,
            channels: vec![
                channel("train", true, keys),
                channel("validation", false, &["whole"]),
            ],
            objects: 1,
            objects_total: 10,
            bytes: Bytes(1),
            bytes_total: Bytes(10),
            max_runtime: None,
            ends_early: false,
        }
    }

    #[test]
    fn a_canary_is_what_it_runs_on_and_what_it_draws() {
        let [code, data, other] = [1, 2, 3].map(|byte| Key([byte; 32]));
        let run = canary(&["a", "b"]);
        let key_with = |change: &dyn Fn(&mut CanaryRun)| {
            let mut run = run.clone();
            change(&mut run);
            canary_key(&code, &data, &run)
        };
        let level = |level: f64| WorkLevel {
            hyperparameter: "epochs".to_owned(),
            level,
            full: 5.0,
        };
        let groups = |script: Option<&str>| InstanceConfiguration::Heterogeneous {
            groups: Vec::new(),
            entry_point: script.map(str::to_owned),
        };
        let keys = [
            key_with(&|_| {}),
            key_with(&|run| run.instance = groups(None)),
            key_with(&|run| run.instance = groups(Some("start.py"))),
            key_with(&|run| run.instance = groups(Some("launch.py"))),
            key_with(&|run| run.instance = "2x ml.m5.xlarge".parse().unwrap()),
            key_with(&|run| run.replicate = 1),
            key_with(&|run| run.work = Some(level(1.0))),
            key_with(&|run| run.work = Some(level(2.0))),
            canary_key(&other, &data, &run),
            canary_key(&code, &other, &run),
            canary_key(&code, &data, &canary(&["a", "c"])),
            canary_key(&code, &data, &canary(&["a"])),
        ];
        assert_eq!(BTreeSet::from(keys).len(), keys.len());
        // Another share that draws the same objects is the same run, and so is what the whole channels hold: that is in the
        // key of the data.
        assert_eq!(key_with(&|run| run.fraction = Fraction(0.2)), keys[0]);
    }

    #[test]
    fn a_listing_is_known_by_its_place_and_every_key_and_size() {
        let digest = |uri: &str, objects: &[(&str, u64)]| {
            let objects = objects.iter().map(|(key, bytes)| DataObject {
                key: (*key).to_owned(),
                bytes: Bytes(*bytes),
            });
            listing_digest(uri, &objects.collect())
        };
        let one = digest("s3://data/", &[("a", 1), ("b", 2)]);
        assert_eq!(digest("s3://data/", &[("b", 2), ("a", 1)]), one);
        for (uri, objects) in [
            ("s3://other/", &[("a", 1), ("b", 2)][..]),
            ("s3://data/", &[("a", 1), ("b", 3)]),
            ("s3://data/", &[("a", 1), ("c", 2)]),
            ("s3://data/", &[("a", 1)]),
        ] {
            assert_ne!(digest(uri, objects), one);
        }
    }
}
