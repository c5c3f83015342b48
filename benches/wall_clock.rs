//! How long a whole check on SageMaker takes, and what memory the gate needs: the real binary on the fake AWS, whose time runs
//! faster.
//!
//! `cargo bench --bench wall_clock [-- lanes | checks]` prints minutes of AWS's time and ratios, and whether a bound is kept; it
//! asserts nothing. `WALL_CLOCK_SCALE` is how many
//! seconds of AWS a real second is; a large one shows the gate's own work as time of AWS. `WALL_CLOCK_BEFORE` names another binary,
//! as an older one, to hold this one against.

#![expect(clippy::unwrap_used, reason = "a bench fails by panicking")]
#![expect(
    clippy::disallowed_methods,
    reason = "a bench starts processes, reads the clock and /proc"
)]

#[expect(dead_code, reason = "the bench asks less of it than the tests do")]
#[path = "../tests/integration/aws/mod.rs"]
mod aws;
#[expect(dead_code, reason = "the bench asks less of it than the tests do")]
#[path = "../tests/integration/fake.rs"]
mod fake;
#[path = "wall_clock/lanes.rs"]
mod lanes;
#[expect(dead_code, reason = "the bench asks less of it than the tests do")]
#[path = "../tests/integration/project.rs"]
mod project;

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use aws::{FakeAws, Polls, Timeline};
use project::Project;

const SCALE: f64 = 120.0;
/// How often the memory is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// A spec to check.
struct Scenario {
    name: &'static str,
    jobs: usize,
    alternatives: usize,
}

/// What a check took.
struct Taken {
    /// Of AWS's time.
    minutes: f64,
    canaries: usize,
    /// The gate's highest resident memory.
    megabytes: f64,
}

const HEAD: &str = "version: 1\nbackend: sagemaker\nregion: us-east-1\njobs:\n";
const JOB: &str = "    training:
      image: 123456789012.dkr.ecr.us-east-1.amazonaws.com/train:1
      role: arn:aws:iam::123456789012:role/Train
      source_dir: code
      entry_point: train.py
      hyperparameters: {n: NUMBER}
      channels: {train: {uri: s3://data/churn/train/}}
      output: s3://canaries/out/
    instance: ml.m5.xlarge
    canary: {max_runtime: 30m, max_share: 10000%}
    budget: {time: 20h, cost: 50 USD}
";
const ALTERNATIVES: [&str; 2] = ["ml.m5.2xlarge", "ml.c5.xlarge"];

impl Scenario {
    fn project(&self) -> Project {
        let alternatives = ALTERNATIVES[..self.alternatives].join(", ");
        let jobs: String = (0..self.jobs)
            .map(|number| {
                let job = JOB.replace("NUMBER", &number.to_string());
                format!("  job{number}:\n{job}    alternatives: [{alternatives}]\n")
            })
            .collect();
        Project::empty()
            .file("canary-gate.yml", &format!("{HEAD}{jobs}"))
            .file("code/train.py", "print('trained')\n")
    }

    fn check(&self, binary: &Path, scale: f64) -> Taken {
        check(&self.project(), &account(scale), binary, scale)
    }
}

fn check(project: &Project, aws: &FakeAws, binary: &Path, scale: f64) -> Taken {
    let mut command = project.gate(&["run", "--all", "--quiet"]);
    let environment: Vec<_> = command
        .get_envs()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
        .collect();
    command = std::process::Command::new(binary);
    command
        .args(["run", "--all", "--quiet"])
        .current_dir(project.root())
        .env_clear()
        .envs(environment)
        .env("CANARY_GATE_PACE", (1.0 / scale).to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    aws.reach(&mut command);
    let begin = Instant::now();
    let mut child = command.spawn().unwrap();
    let mut megabytes: f64 = 0.0;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        megabytes = megabytes.max(highest_memory(child.id()));
        thread::sleep(LOOK);
    };
    assert!(status.success(), "{status}");
    Taken {
        minutes: begin.elapsed().as_secs_f64() * scale / 60.0,
        canaries: aws.jobs().len(),
        megabytes,
    }
}

/// An account with room for all, and data of which a canary of 1 % trains some 20 s.
fn account(scale: f64) -> FakeAws {
    let aws = FakeAws::start();
    for index in 0..200 {
        let key = format!("churn/train/part-{index:03}.csv");
        aws.put_object("data", &key, "1234567\n".repeat(1000 + index % 7));
    }
    aws.make_bucket("canaries");
    for kind in [&["ml.m5.xlarge"][..], &ALTERNATIVES].concat() {
        aws.quota(&format!("{kind} for training job usage"), 1000.0);
        aws.quota(&format!("{kind} for training warm pool usage"), 1000.0);
    }
    aws.train(|job| {
        let bytes = u32::try_from(job.bytes()).expect("a few megabytes");
        Timeline::completed().training(10.0 + 600.0 * f64::from(bytes) / 1e6)
    });
    aws.polls(Polls::Clock { scale });
    aws
}

/// VmHWM of a process, in millions of bytes; 0 once it is gone.
fn highest_memory(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<f64>().ok());
    number.unwrap_or(0.0) * 1024.0 / 1e6
}

fn main() {
    let scale = env::var("WALL_CLOCK_SCALE").map_or(SCALE, |scale| scale.parse().unwrap());
    let before = env::var_os("WALL_CLOCK_BEFORE");
    let own = Path::new(env!("CARGO_BIN_EXE_canary-gate"));
    let only = env::args().nth(1).filter(|word| !word.starts_with('-'));
    if only.as_deref() != Some("checks") {
        lanes::print(own, scale);
    }
    if only.as_deref() == Some("lanes") {
        return;
    }
    println!(
        "{:<34}{:>9}{:>9}{:>9}{:>9}{:>9}",
        "", "canaries", "minutes", "before", "ratio", "MB"
    );
    let mut alone = None;
    for scenario in [
        Scenario {
            name: "one job",
            jobs: 1,
            alternatives: 0,
        },
        Scenario {
            name: "one job, two alternatives",
            jobs: 1,
            alternatives: 2,
        },
        Scenario {
            name: "three jobs, one alternative each",
            jobs: 3,
            alternatives: 1,
        },
        Scenario {
            name: "ten jobs, two alternatives each",
            jobs: 10,
            alternatives: 2,
        },
        Scenario {
            name: "twenty jobs",
            jobs: 20,
            alternatives: 0,
        },
    ] {
        let taken = scenario.check(own, scale);
        // One after another ten jobs take as long as ten times one, so that is not waited for.
        let before = before.as_ref().filter(|_| scenario.jobs < 10);
        let before = before.map(|binary| scenario.check(Path::new(binary), scale).minutes);
        let ratio = before.map(|before| taken.minutes / before);
        let shown =
            |number: Option<f64>| number.map_or("-".to_owned(), |number| format!("{number:.2}"));
        println!(
            "{:<34}{:>9}{:>9.1}{:>9}{:>9}{:>9.0}",
            scenario.name,
            taken.canaries,
            taken.minutes,
            shown(before),
            shown(ratio),
            taken.megabytes
        );
        match (scenario.jobs, scenario.alternatives, alone) {
            (1, 2, _) => alone = Some(taken.minutes),
            (10, 2, Some(alone)) => {
                println!("  {:.2} times one such job alone", taken.minutes / alone);
            }
            _ => {}
        }
    }
}
