//! One canary on each further count of machines.

use super::*;

/// The sizes of the canaries on further counts in percent, of 100 objects of one size.
fn on_counts(mut job: Job, counts: &[u32], share: f64) -> Vec<f64> {
    job.instance = InstanceConfiguration::Homogeneous {
        instance_type: InstanceType::local(),
        count: counts[counts.len() - 1],
    };
    job.canary.counts = CanaryCounts::Written(counts.to_vec());
    job.canary.max_share = Percent(share);
    let plan = plan(&job, &dataset(100), &free, Alternatives::Skip).unwrap();
    let percent = |run: &CanaryRun| (run.fraction.0 * 100.0).round();
    plan.counts.iter().map(percent).collect()
}

#[test]
fn all_further_counts_have_half_of_the_share_together() {
    let sizes = [1.0, 2.0, 5.0, 10.0, 20.0];
    assert_eq!(on_counts(adaptive(&sizes), &[1, 4], 25.0), [10.0]);
    // 9 % each: none of them has 16 objects.
    assert_eq!(on_counts(adaptive(&sizes), &[1, 2, 8], 36.0), [5.0]);
}

#[test]
fn counts_that_leave_out_that_of_the_full_run_are_said() {
    let notes = |counts: &[u32]| {
        let mut job = adaptive(&[1.0, 2.0, 5.0, 10.0, 20.0]);
        job.instance = InstanceConfiguration::Homogeneous {
            instance_type: InstanceType::local(),
            count: 6,
        };
        job.canary.counts = CanaryCounts::Written(counts.to_vec());
        let plan = plan(&job, &dataset(100), &free, Alternatives::Skip).unwrap();
        let mut notes = plan.notes.into_iter();
        notes.find(|note| note.starts_with("No canary runs on all"))
    };
    assert_eq!(
        notes(&[1, 2]).unwrap(),
        "No canary runs on all 6 machines of 6x local, since canary.counts does not name 6: time and cost follow from fewer, and what only \
         6 show, such as an error or more memory, stays unseen. `counts: [1, 2, 6]` runs one there."
    );
    assert_eq!(notes(&[1, 2, 6]), None);
    assert_eq!(notes(&[6]), None);
}

#[test]
fn of_the_fixed_design_the_smallest_size_with_objects_enough_is_taken() {
    let sizes = [5.0, 10.0, 15.0, 70.0];
    assert_eq!(on_counts(job(&sizes, 1), &[1, 2], 25.0), [5.0]);
    assert_eq!(on_counts(job(&sizes, 1), &[1, 8], 25.0), [] as [f64; 0]);
}
