use proptest::prelude::*;

use super::*;

/// A run on its way, and what AWS will bill for it and for its machines after it.
#[derive(Debug)]
struct PooledRun {
    name: String,
    reservation: Option<Reservation>,
    billed: Usd,
    idle: Usd,
    /// The runs whose machines it has, or had been meant to have.
    before: Vec<(String, Usd)>,
}

/// What happens next, to which run, and what of its worst case is billed.
type Happening = (u8, prop::sample::Index, f64, f64);

fn happening() -> impl Strategy<Value = Happening> {
    let which = any::<prop::sample::Index>();
    (0_u8..8, which, 0.0_f64..=1.0, 0.0_f64..=1.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Canaries in pools are launched, free their machines, and are measured in any order. What a pool has cost is known when a
    /// later canary is measured, or never; until then it is a cost all the same.
    #[test]
    fn in_no_order_of_completion_is_the_limit_passed_where_machines_are_kept(
        limit in 0.5_f64..10.0,
        worst in 0.05_f64..3.0,
        longest in 0.0_f64..1.0,
        happenings in prop::collection::vec(happening(), 0..60),
    ) {
        let run = RefCell::new(Ledger::new(Usd(limit)));
        let ledger = JobLedger::new(Usd(limit * 1.5), &run);
        let (mut launched, mut at_work, mut measured) = (0, Vec::new(), Vec::new());
        let mut kept: Vec<(String, Usd)> = Vec::new();
        // What AWS has billed so far, known to the ledger or not.
        let mut bill = 0.0;
        for (what, which, part, part_idle) in happenings {
            match what {
                0..=2 => if let Some(reservation) = ledger.reserve(Usd(worst + longest)) {
                    launched += 1;
                    let before = match kept.is_empty() {
                        true => Vec::new(),
                        false => vec![kept.remove(which.index(kept.len()))],
                    };
                    at_work.push(PooledRun {
                        name: format!("run-{launched}"),
                        reservation: Some(reservation),
                        billed: Usd(worst * part),
                        idle: Usd(longest * part_idle),
                        before,
                    });
                },
                3 | 4 => if !at_work.is_empty() {
                    let mut free = at_work.remove(which.index(at_work.len()));
                    ledger.settle(free.reservation.take().unwrap(), Some(free.billed));
                    ledger.keep(&free.name, Usd(longest));
                    bill += free.billed.0 + free.idle.0;
                    kept.push((free.name.clone(), free.idle));
                    measured.push(free);
                },
                5 | 6 => if !measured.is_empty() {
                    let run: PooledRun = measured.remove(which.index(measured.len()));
                    let idle = run.before.iter().map(|(_, idle)| *idle).sum();
                    ledger.end_kept(run.before.iter().map(|(name, _)| name.as_str()), Some(idle));
                },
                // The pool could not be ended: it stays set aside at its longest.
                _ => if !kept.is_empty() {
                    let (name, _) = kept.remove(which.index(kept.len()));
                    ledger.keep(&name, Usd(longest));
                },
            }
            let committed = [ledger.committed(), run.borrow().committed()];
            for committed in committed {
                prop_assert!(committed.0 <= limit * (1.0 + 1e-6), "{committed:?}");
                prop_assert!(bill <= committed.0 + 1e-6, "{bill} of {committed:?}");
            }
        }
    }
}

#[test]
fn a_pool_that_could_not_be_ended_counts_against_the_limit_of_the_run() {
    let run = RefCell::new(Ledger::new(Usd(10.0)));
    let first = JobLedger::new(Usd(5.0), &run);
    let reservation = first.reserve(Usd(4.0)).unwrap();
    first.settle(reservation, Some(Usd(1.0)));
    for name in ["ended", "left"] {
        first.keep(name, Usd(1.0));
    }
    first.end_kept(["ended"], Some(Usd(0.25)));
    first.end_all_kept_but(&["left"]);
    assert_eq!(first.billed(), Some(Usd(1.25)));
    assert_eq!(first.committed(), Usd(2.25));
    let second = JobLedger::new(Usd(9.0), &run);
    assert_eq!(second.left(), Some(Usd(7.75)));
}
