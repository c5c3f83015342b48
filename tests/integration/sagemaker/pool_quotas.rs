//! How many canaries run at once, and on machines that are kept, by the account's two quotas.

use serde_json::Value;

use super::{JSON, gate, project};
use crate::aws::{FakeAws, Job, Polls};
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
    let run = gate(project, aws, JSON).ended_with(0);
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
    // But the last, which no canary follows.
    assert!(aws.jobs()[..8].iter().all(asks_for_a_pool));
    assert!(!asks_for_a_pool(&aws.jobs()[8]));
    assert_eq!(warm(&aws), 8);
    assert!(said.contains("run 1 at a time, not 2"), "{said}");
    assert!(said.contains(POOLS), "{said}");
    assert_eq!(aws.kept_pools(), Vec::<String>::new());
    // With room for three both lanes are kept.
    let (project, aws) = nine(kept, 20.0, 3.0);
    assert!(!notes(&project, &aws).contains("quota"));
    assert_eq!(warm(&aws), 7);
}

/// What canaries take shows the first check; the next one keeps machines where that pays and their quota has room for all lanes.
#[test]
fn auto_keeps_machines_by_an_earlier_check() {
    for (parallel, training, pools, expected) in
        [(2, 20.0, 1.0, 0), (2, 20.0, 2.0, 7), (3, 1.0, 1.0, 8)]
    {
        let (project, aws) = nine(&format!("parallel: {parallel}"), training, pools);
        assert!(!notes(&project, &aws).contains("warm pool"));
        assert!(!aws.jobs().iter().any(asks_for_a_pool));
        let again = ["run", "--all", "--fresh"];
        gate(&project, &aws, &again).ended_with(0);
        assert_eq!(warm(&aws), expected, "{parallel} {pools}");
        assert_eq!(aws.kept_pools(), Vec::<String>::new());
    }
}
