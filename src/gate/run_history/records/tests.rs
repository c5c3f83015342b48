//! What counts, on a real checkout: a change to the training is another key, and a change to what is said of it is not.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use super::*;
use crate::backend::sagemaker::RunTags;
use crate::cli::{ChangeArguments, SpecArguments};
use crate::gate::backend;
use crate::instance::Offer;
use crate::plan::{self, Alternatives, KnownBefore, PlannedRuns};
use crate::units::Usd;
use crate::workspace::{BaseCommit, Project, base_policy};

const SPEC: &str = "\
version: 1
backend: local
jobs:
  sums:
    paths: [\"**\", \"!**/*.md\", \"!data/**\"]
    training:
      command: [sh, train.sh]
      hyperparameters: {epochs: 5}
      channels:
        train: {uri: data}
    instance: local
    canary: {design: fixed, fractions: [10%, 20%], replicates: 2, seed: 1}
    budget: {time: 1h}
";

/// A checkout with a spec, a script, a note and ten files of data.
struct TestCheckout(tempfile::TempDir);

impl TestCheckout {
    fn new() -> Self {
        let checkout = Self::without_git();
        checkout.git(&["init", "--quiet", "--initial-branch=main"]);
        checkout.commit();
        checkout
    }

    fn without_git() -> Self {
        let checkout = Self(tempfile::tempdir().unwrap());
        checkout.write("canary-gate.yml", SPEC);
        checkout.write("train.sh", "exit 0\n");
        checkout.write("docs/notes.md", "Sums.\n");
        for index in 0..10 {
            checkout.write(&format!("data/{index}.csv"), &format!("{index}\n"));
        }
        checkout
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, content: &str) {
        fs::create_dir_all(self.path(path).parent().unwrap()).unwrap();
        fs::write(self.path(path), content).unwrap();
    }

    fn git(&self, arguments: &[&str]) {
        let said = Command::new("git")
            .current_dir(self.0.path())
            .args([
                "-c",
                "user.name=Test",
                "-c",
                "user.email=test@example.invalid",
            ])
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .output()
            .unwrap();
        assert!(said.status.success(), "{said:?}");
    }

    fn commit(&self) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", "change"]);
    }

    fn arguments(&self) -> SpecArguments {
        SpecArguments {
            spec: Some(self.path("canary-gate.yml")),
        }
    }

    fn project(&self) -> Project {
        Project::as_it_stands(&self.arguments()).unwrap()
    }

    /// The keys of the job and of its canaries, in the order of the plan.
    fn keys(&self) -> (BackendKeys, Vec<Option<Key>>) {
        self.keys_of(&self.project())
    }

    fn keys_of(&self, project: &Project) -> (BackendKeys, Vec<Option<Key>>) {
        let keys = async {
            let backend = backend::backend_of(project, &[], RunTags::default())
                .await
                .unwrap();
            let job = &project.spec.jobs[0];
            let mut session = backend.open(job).await.unwrap();
            let dataset = session.list().await.unwrap().dataset;
            let offer_of = |instance: &_| Offer::unknown(instance);
            let mut plan = plan::plan(
                job,
                &dataset,
                &offer_of,
                Alternatives::Skip,
                KnownBefore::default(),
            )
            .unwrap();
            let ready = backend::prepare(session, project, job, &dataset, &mut plan)
                .await
                .unwrap();
            let keys = backend::keys(&*ready, project, job, &dataset)
                .await
                .unwrap();
            let PlannedRuns::Fixed(runs) = plan.runs() else {
                panic!("the spec asks for the fixed design");
            };
            let canaries = runs.iter().map(|run| keys.canary(run, &[])).collect();
            (keys, canaries)
        };
        block_on(keys)
    }

    fn base_of(&self, base: &str) -> BaseCommit {
        let change = ChangeArguments {
            all: false,
            jobs: Vec::new(),
            base: Some(base.to_owned()),
        };
        let found = BaseCommit::of_git(&self.project(), &self.arguments(), &change);
        found.unwrap().unwrap()
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(future)
}

#[test]
fn what_does_not_count_leaves_every_key_as_it_is() {
    let checkout = TestCheckout::new();
    let keys = checkout.keys();
    assert!(keys.0.code.is_some() && keys.0.data.is_some());
    checkout.write("docs/notes.md", "Sums of numbers.\n");
    checkout.write("README.md", "New.\n");
    assert_eq!(checkout.keys(), keys, "docs that `!` leaves out");
    checkout.write("train.sh", "exit 0\n");
    assert_eq!(
        checkout.keys(),
        keys,
        "written again, with the same content"
    );
    checkout.commit();
    assert_eq!(checkout.keys(), keys, "committed");
}

#[test]
fn each_canary_has_a_key_of_its_own() {
    let (_, mut canaries) = TestCheckout::new().keys();
    let count = canaries.len();
    canaries.sort();
    canaries.dedup();
    assert_eq!((canaries.len(), count), (4, 4));
}

#[test]
fn the_base_commit_is_known_by_what_a_push_of_it_is_known_by() {
    let checkout = TestCheckout::new();
    let (pushed, _) = checkout.keys();
    checkout.git(&["checkout", "--quiet", "-b", "change"]);
    checkout.write("train.sh", "exit 1\n");
    // The branch leaves nothing out any more, and its base still does.
    checkout.write("canary-gate.yml", &SPEC.replace("\"!**/*.md\", ", ""));
    checkout.commit();
    let base = checkout.base_of("main");
    assert_eq!(base.code.get("sums").copied(), pushed.code);
    assert_ne!(checkout.keys().0.code, pushed.code);
    // And when the base goes on, it is still where the branch left it.
    checkout.git(&["checkout", "--quiet", "main"]);
    checkout.write("train.sh", "exit 2\n");
    checkout.commit();
    checkout.git(&["checkout", "--quiet", "change"]);
    assert_eq!(checkout.base_of("main"), base);
}

#[test]
fn a_merged_change_is_known_by_the_key_it_had_as_a_change() {
    let checkout = TestCheckout::new();
    checkout.git(&["checkout", "--quiet", "-b", "change"]);
    checkout.write("train.sh", "exit 1\n");
    checkout.write("canary-gate.yml", &SPEC.replace("time: 1h", "time: 2h"));
    checkout.commit();
    let mut change = checkout.project();
    let arguments = ChangeArguments {
        all: false,
        jobs: Vec::new(),
        base: Some("main".to_owned()),
    };
    let base = base_policy::base_of(&change, &checkout.arguments(), &arguments).unwrap();
    block_on(base_policy::apply(&mut change, base, Some(Usd(5.0)))).unwrap();
    let (keys, _) = checkout.keys_of(&change);
    checkout.git(&["checkout", "--quiet", "main"]);
    checkout.git(&[
        "merge",
        "--quiet",
        "--no-ff",
        "--message",
        "merge",
        "change",
    ]);
    assert_eq!(checkout.keys().0, keys);
}
