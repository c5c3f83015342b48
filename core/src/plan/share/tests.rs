//! What canaries on one and on several machines take of a full run on one.

use super::*;
use crate::forecast::tests::run;
use crate::plan::PlannedRuns;
use crate::plan::tests::{job, planned};
use crate::spec::CanaryCounts;
use crate::units::{Percent, Seconds};

fn machines(count: u32) -> InstanceConfiguration {
    InstanceConfiguration::Homogeneous("ml.m5.2xlarge".parse().unwrap(), count)
}

#[test]
fn each_of_several_machines_has_a_start_up_of_its_own() {
    // On one machine 100 s of start-up, and 10 s for each percent: 1100 s of a full run, of which these take 810 s.
    let on_one = |size| Measurement {
        instance: machines(1),
        ..run(size, 100.0 + 10.0 * size)
    };
    let measured = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0].map(on_one);
    // Machines that were kept count like those at work.
    let mut kept = measured.clone();
    kept[0].idle_seconds = Some(Seconds(100.0));
    let mut on_four = measured.to_vec();
    on_four.push(Measurement {
        instance: machines(4),
        ..run(8.0, 50.0)
    });
    // 8 % take 180 s on one machine, and 4 x 120 s on four.
    let cases: [(f64, &[Measurement], [usize; 2]); 6] = [
        (85.0, &measured, [0, 0]),
        (100.0, &measured, [1, 0]),
        (130.0, &measured, [1, 1]),
        (95.0, &kept, [0, 0]),
        (105.0, &on_four, [0, 0]),
        (115.0, &on_four, [1, 0]),
    ];
    for (share, measured, expected) in cases {
        let mut job = job(&[1.0, 2.0, 8.0], 1);
        job.instance = machines(4);
        job.canary.counts = CanaryCounts::OneAndAll;
        job.canary.max_share = Percent(share);
        let PlannedRuns::Fixed(runs) = planned(&job).runs().clone() else {
            panic!("the design is fixed")
        };
        let fitting = [1, 4].map(|count| {
            let run = CanaryRun {
                instance: machines(count),
                ..runs.last().unwrap().clone()
            };
            within_the_share(&job, &machines(1), measured, &[run])
        });
        assert_eq!(fitting, expected, "{share} {}", measured.len());
    }
    assert_eq!(within_the_share(&job(&[1.0], 1), &machines(1), &[], &[]), 0);
}
