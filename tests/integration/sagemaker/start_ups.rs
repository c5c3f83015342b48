//! Start-ups in a plan: of AWS's table, and of the canaries on record once there are ten.

use super::{FIXED, gate, project, spec};
use crate::aws::Timeline;
use crate::project::Project;

const TWELVE: &str = "{design: fixed, max_share: 10000%, fractions: [1%, 2%, 5%], replicates: 4, parallel: 1, max_runtime: 30m, warm_pool: POOL}";

/// Canaries start 90 s after their creation, on kept machines 8 s, and download for 25 s.
#[test]
fn ten_canaries_of_each_start_on_record_take_the_place_of_the_table() {
    let (project, aws) = project(&TWELVE.replace("POOL", "off"));
    aws.quota("ml.m5.xlarge for training warm pool usage", 1.0);
    let plan = || {
        gate(&project, &aws, &["plan", "--all"])
            .ended_with(0)
            .stdout
    };
    let table = "2m 56s cold, 1m 10s warm (File, P90 of AWS's measurement)";
    assert!(plan().contains(table), "{}", plan());

    gate(&project, &aws, &["run", "--all", "--quiet"]).ended_with(0);
    let of_twelve = "1m 55s cold (File, P90 of 12 canaries on record)";
    let cold = plan();
    assert!(cold.contains(of_twelve), "{cold}");
    assert!(
        cold.contains("1m 10s warm (P90 of AWS's measurement)"),
        "{cold}"
    );

    let kept = TWELVE.replace("POOL", "{keep_alive: 5m}");
    project.write("canary-gate.yml", &spec(&kept));
    gate(&project, &aws, &["run", "--all", "--quiet", "--fresh"]).ended_with(0);
    // One more cold one, and eleven on its machines.
    let both = plan();
    let start_ups = both.lines().find(|line| line.contains("start-up")).unwrap();
    let said =
        "1m 55s cold (File, P90 of 13 canaries on record), 33s warm (P90 of 11 canaries on record)";
    assert!(start_ups.ends_with(said), "{start_ups}");

    // Other channels start otherwise: what is on record of these says nothing.
    let other = spec(&kept).replace("churn/train/}", "churn/train/, mode: FastFile}");
    project.write("canary-gate.yml", &other);
    let table = "2m 23s cold, 21s warm (FastFile, P90 of AWS's measurement)";
    assert!(plan().contains(table), "{}", plan());
}

/// The script of the fake's probe runs for ten seconds.
#[test]
fn packages_that_are_installed_before_the_script_are_measured_and_advised_against() {
    let (project, aws) = project(FIXED);
    aws.train(|job| Timeline::completed().training([53.0, 54.0, 55.0][job.number() % 3]));
    let checked = |project: &Project| {
        let run = gate(
            project,
            &aws,
            &["run", "--all", "--fresh", "--format", "json"],
        )
        .ended_with(0);
        let report = run.json();
        let installs = report["jobs"][0]["measurements"][0]["installs_seconds"].as_f64();
        (installs, report["jobs"][0]["notes"].to_string())
    };
    let (installs, notes) = checked(&project);
    assert_eq!(installs, None, "the source names no packages");
    assert!(!notes.contains("requirements.txt"), "{notes}");

    project.write("code/requirements.txt", "xgboost==3.1.1\n");
    let (installs, notes) = checked(&project);
    assert!(
        installs.is_some_and(|seconds| seconds > 42.0),
        "{installs:?}"
    );
    assert!(
        notes.contains("since `requirements.txt` is installed in them"),
        "{notes}"
    );
}
