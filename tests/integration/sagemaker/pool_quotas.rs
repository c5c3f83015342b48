//! How many canaries run at once, and on machines that are kept, by the account's two quotas.

use serde_json::Value;

use super::{gate, project};
use crate::aws::{FakeAws, Fault, Job, Operation, Polls};
use crate::project::Project;

const TRAINING: &str = "ml.m5.xlarge for training job usage";
const POOLS: &str = "ml.m5.xlarge for training warm pool usage";
/// Nine canaries.
const NINE: &str = "design: fixed, max_share: 10000%, fractions: [1%, 2%, 5%], replicates: 3, max_runtime: 30m, spend_limit: 50 USD";

/// A project with nine canaries, and an account with these quotas of training and of warm pools.
fn nine(more: &str, training: f64, pools: f64) -> (Project, FakeAws) {
    let (project, aws) = project(&format!("{{{NINE}, {more}}}"));
    aws.quota(TRAINING, training);
    aws.quota(POOLS, pools);
    aws.polls(Polls::Clock { scale: 2000.0 });
    (project, aws)
}

fn notes(project: &Project, aws: &FakeAws) -> String {
    let run = gate(project, aws, &["run", "--all", "--format", "json"]).ended_with(0);
    let report: Value = run.json();
    report["jobs"][0]["notes"].to_string()
}

fn asks_for_a_pool(job: &Job) -> bool {
    let resources = &job.input()["ResourceConfig"];
    resources.get("KeepAlivePeriodInSeconds").is_some()
}

fn warm(aws: &FakeAws) -> usize {
    aws.jobs().iter().filter(|job| job.is_warm()).count()
}

#[test]
fn lanes_are_as_many_as_the_quota_of_pools_has_room_for() {
    let kept = "parallel: 2, warm_pool: {keep_alive: 10m}";
    let (project, aws) = nine(kept, 20.0, 1.0);
    let said = notes(&project, &aws);
    assert!(aws.jobs().iter().all(asks_for_a_pool));
    assert_eq!(warm(&aws), 8);
    assert!(said.contains("run 1 at a time, not 2"), "{said}");
    assert!(said.contains(POOLS), "{said}");
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
    // With room for three both lanes are kept.
    let (project, aws) = nine(kept, 20.0, 3.0);
    assert!(!notes(&project, &aws).contains("quota"));
    assert_eq!(warm(&aws), 7);
}

/// Each canary may take its half hour: one machine at a time would take longer than two cold ones.
#[test]
fn auto_goes_without_pools_where_their_quota_would_make_the_check_longer() {
    for pools in [0.0, 1.0] {
        let (project, aws) = nine("parallel: 2", 20.0, pools);
        assert!(!notes(&project, &aws).contains("quota"));
        assert!(!aws.jobs().iter().any(asks_for_a_pool));
    }
    let (project, aws) = nine("parallel: 2", 20.0, 2.0);
    assert!(!notes(&project, &aws).contains("quota"));
    assert!(aws.jobs().iter().all(asks_for_a_pool));
    assert_eq!(warm(&aws), 7);
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
}

/// The quota of training lets one canary run at a time, so that one kept machine is enough.
#[test]
fn a_small_quota_of_training_is_a_reason_for_a_pool() {
    let (project, aws) = nine("parallel: 3", 1.0, 1.0);
    notes(&project, &aws);
    assert_eq!(warm(&aws), 8);
}

/// Where the quotas may not be read, the first canaries ask for a pool, and their description says whether they have one.
#[test]
fn auto_finds_out_by_the_first_canaries_where_no_quota_can_be_read() {
    for (pools, asking, started_warm) in [(0.0, 3, 0), (3.0, 9, 6)] {
        let (project, aws) = nine("parallel: 3", 20.0, pools);
        aws.fail(Operation::ListServiceQuotas)
            .with(Fault::AccessDenied);
        let said = notes(&project, &aws);
        assert!(!said.contains("warm pool"), "{said}");
        let jobs = aws.jobs();
        assert_eq!(
            jobs.iter().filter(|job| asks_for_a_pool(job)).count(),
            asking
        );
        assert_eq!(warm(&aws), started_warm);
        assert_eq!(aws.kept_pools(), Vec::<String>::new());
    }
}

/// The adaptive design runs rounds, and lanes do not make them narrower.
#[test]
fn the_adaptive_design_has_as_many_lanes_as_its_rounds_have_canaries() {
    let adaptive = "max_share: 10000%, fractions: [1%, 2%, 5%, 10%, 20%, 30%, 40%], max_runtime: 30m, spend_limit: 50 USD, parallel: 3";
    let (project, aws) = project(&format!("{{{adaptive}}}"));
    aws.quota(POOLS, 3.0);
    notes(&project, &aws);
    let jobs = aws.jobs();
    assert!(jobs.len() >= 3 && jobs.iter().all(asks_for_a_pool));
    assert!(warm(&aws) >= 1);
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
}
