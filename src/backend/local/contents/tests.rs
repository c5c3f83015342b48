use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use super::*;
use crate::backend::project_paths::ProjectPaths;
use crate::secret::SecretMask;
use crate::spec::{self, SpecSource};

/// Two channels: a folder and a file.
const SPEC: &str = "\
version: 1
backend: local
jobs:
  sums:
    training:
      command: [sh, train.sh]
      channels:
        train: {uri: data}
        labels: {uri: labels.csv, sample: false}
    instance: local
    budget: {time: 1h}
";

struct Data(tempfile::TempDir);

impl Data {
    fn new() -> Self {
        let data = Self(tempfile::tempdir().unwrap());
        for (path, content) in [
            ("data/a.csv", "1\n"),
            ("data/deep/b.csv", "2\n"),
            ("labels.csv", "x\n"),
        ] {
            data.write(path, content);
        }
        data
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn write(&self, path: &str, content: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn job(&self) -> Job {
        let source = SpecSource {
            name: "canary-gate.yml",
            bytes: SPEC.as_bytes(),
        };
        spec::read(source, &[]).unwrap().jobs.remove(0)
    }

    fn backend(&self) -> LocalBackend {
        let paths = ProjectPaths {
            checkout: self.path(""),
            spec_folder: self.path(""),
            code: Default::default(),
            state: self.path(".canary-gate"),
            history: None,
            data_roots: Vec::new(),
            caches: Vec::new(),
            home: None,
        };
        LocalBackend::new(paths, PathBuf::new(), Vec::new(), SecretMask::default())
    }

    fn list(&self) -> Dataset {
        let (job, backend) = (self.job(), self.backend());
        let listed = job.training.channels.iter();
        let listed = listed.map(|channel| backend.list_channel(&job, channel));
        Dataset::of_listing(&job, listed.collect::<Result<_, _>>().unwrap()).unwrap()
    }

    fn key_of(&self, dataset: &Dataset) -> Result<Key, BackendError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(self.backend().data_key(&self.job(), dataset))
    }

    fn key(&self) -> Key {
        self.key_of(&self.list()).unwrap()
    }
}

#[test]
fn another_content_is_another_key_and_another_time_is_not() {
    let data = Data::new();
    let key = data.key();
    let touched = fs::File::options()
        .append(true)
        .open(data.path("data/a.csv"))
        .unwrap();
    let yesterday = SystemTime::now() - Duration::from_secs(86_400);
    touched.set_modified(yesterday).unwrap();
    assert_eq!(data.key(), key);
    // Of the same size.
    data.write("data/a.csv", "3\n");
    assert_ne!(data.key(), key);
    data.write("data/a.csv", "1\n");
    assert_eq!(data.key(), key);
    data.write("labels.csv", "y\n");
    assert_ne!(data.key(), key);
    data.write("labels.csv", "x\n");
    fs::rename(data.path("data/a.csv"), data.path("elsewhere.csv")).unwrap();
    // A link counts as what it leads to.
    symlink(data.path("elsewhere.csv"), data.path("data/a.csv")).unwrap();
    assert_eq!(data.key(), key);
    fs::rename(data.path("data/a.csv"), data.path("data/c.csv")).unwrap();
    let renamed = data.key();
    assert_ne!(renamed, key);
    data.write("data/a.csv", "1\n");
    assert!(![key, renamed].contains(&data.key()));
}

#[test]
fn what_changes_meanwhile_counts_as_it_was_read_or_is_an_error() {
    let data = Data::new();
    let listed = data.list();
    data.write("data/a.csv", "longer than it was\n");
    assert_ne!(data.key_of(&listed).unwrap(), Data::new().key());
    fs::remove_file(data.path("data/a.csv")).unwrap();
    let error = data.key_of(&listed).unwrap_err();
    assert!(error.what.contains("data/a.csv"), "{error}");
    fs::create_dir(data.path("data/a.csv")).unwrap();
    assert!(data.key_of(&listed).is_err());
}
