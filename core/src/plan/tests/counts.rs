//! One canary on each further count of machines.

use super::*;

fn plan_on(mut job: Job, counts: &[u32], machines: u32, share: f64) -> Plan {
    job.instance = InstanceConfiguration::Homogeneous(InstanceType::local(), machines);
    job.canary.counts = CanaryCounts::Written(counts.to_vec());
    job.canary.max_share = Percent(share);
    planned(&job)
}

/// The sizes of the canaries on further counts in percent, of 100 objects of one size.
#[test]
fn further_counts_have_parts_of_half_of_the_share_and_objects_enough() {
    let ladder = || adaptive(&[1.0, 2.0, 5.0, 10.0, 20.0]);
    let fixed = || job(&[5.0, 10.0, 15.0, 70.0], 1);
    for (job, counts, share, expected) in [
        (ladder(), &[1, 4][..], 25.0, &[10.0][..]),
        // What is judged has a size of its own up to all of the half, and two machines have 9 %.
        (ladder(), &[1, 2, 8], 36.0, &[16.0, 5.0]),
        (ladder(), &[1, 2, 8], 44.0, &[20.0, 5.0]),
        (fixed(), &[1, 2], 25.0, &[5.0]),
        (fixed(), &[1, 6], 25.0, &[12.0]),
        (fixed(), &[1, 8], 25.0, &[]),
    ] {
        let plan = plan_on(job, counts, counts[counts.len() - 1], share);
        let runs = plan.own().counts.iter();
        let percents = runs.map(|run| (run.fraction.0 * 100.0).round());
        assert_eq!(percents.collect::<Vec<_>>(), expected, "{counts:?}");
    }
}

#[test]
fn counts_that_leave_out_that_of_the_full_run_are_said() {
    let note = |counts: &[u32]| {
        let plan = plan_on(adaptive(&[1.0, 2.0, 5.0, 10.0, 20.0]), counts, 6, 25.0);
        let mut notes = plan.notes.into_iter();
        notes.find(|note| note.starts_with("No canary runs on all"))
    };
    assert_eq!(
        note(&[1, 2]).unwrap(),
        "No canary runs on all 6 machines of 6x local, since canary.counts does not name 6: time and cost follow from fewer, and what only \
         6 show, such as an error or more memory, stays unseen. `counts: [1, 2, 6]` runs one there."
    );
    assert_eq!([note(&[1, 2, 6]), note(&[6])], [None, None]);
}
