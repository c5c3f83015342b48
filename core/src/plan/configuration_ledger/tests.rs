use std::cell::RefCell;

use proptest::prelude::*;

use super::*;
use crate::plan::{Ledger, PullRequestLedger};

/// A configuration of the fixed design: what each of its canaries can cost, and what they are billed of it.
#[derive(Debug, Clone)]
struct Canaries {
    each: f64,
    billed: Vec<f64>,
}

fn canaries() -> impl Strategy<Value = Canaries> {
    let billed = prop::collection::vec(0.0_f64..=1.0, 0..6);
    (0.1_f64..3.0, billed).prop_map(|(each, billed)| Canaries { each, billed })
}

/// What was launched of each configuration, where `next` chooses who does something next: launches its next canary if the money is
/// there, as far as those before need none of it, or else ends one that is under way.
fn launched(
    limit: f64,
    all: &[Canaries],
    next: &mut dyn FnMut(usize) -> usize,
) -> Result<Vec<usize>, TestCaseError> {
    let of_run = RefCell::new(Ledger::without_limit());
    let job = JobLedger::new(Usd(limit), &of_run);
    let ledgers = ConfigurationLedgers::new(&job, all.len());
    let mut launched = vec![0; all.len()];
    let mut has_ended = vec![false; all.len()];
    let mut under_way: Vec<Vec<(Reservation, Usd)>> = all.iter().map(|_| Vec::new()).collect();
    while has_ended.contains(&false) {
        let open: Vec<usize> = (0..all.len()).filter(|place| !has_ended[*place]).collect();
        let place = open[next(open.len())];
        let (ledger, one) = (ledgers.of(place), &all[place]);
        let needs = (0..place)
            .filter(|before| !has_ended[*before])
            .map(|before| {
                let runs = &all[before];
                ledgers.of(before).not_launched(StillNeeded {
                    canaries: runs.billed.len() - launched[before] + under_way[before].len(),
                    each: Usd(runs.each),
                })
            });
        let left = ledger.left(TakenBefore::AtMost(needs.sum())).unwrap();
        let has_more = launched[place] < one.billed.len();
        if has_more && left.0 >= one.each {
            let reserved = ledger.reserve(Usd(one.each));
            prop_assert!(reserved.is_some(), "{place} has {left:?}");
            let billed = Usd(one.each * one.billed[launched[place]]);
            under_way[place].push((reserved.unwrap(), billed));
            launched[place] += 1;
        } else if let Some((reserved, billed)) = under_way[place].pop() {
            ledger.settle(reserved, Some(billed));
        } else if !has_more || has_ended[..place].iter().all(|ended| *ended) {
            has_ended[place] = true;
        }
        prop_assert!(job.committed().0 <= limit * (1.0 + 1e-6));
    }
    Ok(launched)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Whatever ends when: the limit is never passed, each configuration gets what it gets where the one before it has to end
    /// first, and what it is refused it was refused there too.
    #[test]
    fn no_alternative_takes_money_from_those_before_it(
        limit in 0.5_f64..20.0,
        all in prop::collection::vec(canaries(), 1..5),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 200),
    ) {
        let mut first = |_: usize| 0;
        let in_turn = launched(limit, &all, &mut first)?;
        let mut choices = choices.into_iter().cycle();
        let mut any_order = |open: usize| choices.next().unwrap().index(open);
        let beside = launched(limit, &all, &mut any_order)?;
        prop_assert_eq!(in_turn, beside);
    }
}

#[test]
fn what_those_after_it_cost_is_not_taken_from_a_configuration() {
    let of_run = RefCell::new(Ledger::without_limit());
    let job = JobLedger::new(Usd(5.0), &of_run);
    let ledgers = ConfigurationLedgers::new(&job, 2);
    let (own, alternative) = (ledgers.of(0), ledgers.of(1));
    let under_way = own.reserve(Usd(1.0)).unwrap();
    let still = StillNeeded {
        canaries: 3,
        each: Usd(1.0),
    };
    // One of the three is under way.
    let needs = own.not_launched(still);
    assert_eq!(needs, Usd(2.0));
    assert_eq!(alternative.left(TakenBefore::AtMost(needs)), Some(Usd(2.0)));
    assert_eq!(alternative.left(TakenBefore::Nothing), Some(Usd(5.0)));
    let beside = alternative.reserve(Usd(1.5)).unwrap();
    assert_eq!(own.left(TakenBefore::AtMost(Usd(0.0))), Some(Usd(4.0)));
    alternative.settle(beside, Some(Usd(0.5)));
    own.settle(under_way, Some(Usd(0.25)));
    assert_eq!(own.left(TakenBefore::AtMost(Usd(0.0))), Some(Usd(4.75)));
    assert_eq!(job.left(), Some(Usd(4.25)));
}

/// Else what an alternative may spend would depend on when the machines before it are ended.
#[test]
fn kept_machines_of_those_before_may_turn_out_to_cost_nothing() {
    let of_run = RefCell::new(Ledger::without_limit());
    let job = JobLedger::new(Usd(5.0), &of_run);
    let ledgers = ConfigurationLedgers::new(&job, 2);
    let (own, alternative) = (ledgers.of(0), ledgers.of(1));
    let left = || {
        [TakenBefore::Nothing, TakenBefore::AtMost(Usd(0.0))]
            .map(|before| (alternative.left(before).unwrap().0 * 100.0).round() / 100.0)
    };
    let canary = own.reserve(Usd(1.0)).unwrap();
    own.settle(canary, Some(Usd(0.5)));
    own.book(|ledger| ledger.keep("canary-0", Usd(0.25)));
    assert_eq!(left(), [4.5, 4.25]);
    own.book(|ledger| ledger.end_kept(["canary-0"], Some(Usd(0.05))));
    assert_eq!(left(), [4.45, 4.45]);
    // Those of its own are taken in any case.
    alternative.book(|ledger| ledger.keep("canary-1", Usd(0.25)));
    assert_eq!(left(), [4.2, 4.2]);
}

#[test]
fn what_the_pull_request_refuses_one_configuration_is_no_refusal_of_another() {
    let of_run = RefCell::new(Ledger::without_limit());
    let of_pull_request = PullRequestLedger::new(Usd(2.0), Ok(Usd(0.0)));
    let job = JobLedger::new(Usd(5.0), &of_run).of_pull_request(Some(&of_pull_request));
    let ledgers = ConfigurationLedgers::new(&job, 3);
    assert!(ledgers.of(0).reserve(Usd(1.0)).is_some());
    assert!(ledgers.of(1).reserve(Usd(3.0)).is_none());
    assert!(!ledgers.of(2).fits_pull_request(Usd(3.0)));
    for place in [1, 2] {
        assert_eq!(ledgers.of(place).tighter(), TighterLimit::OfThePullRequest);
        assert!(ledgers.of(place).refusal().is_some());
    }
    // The job's own limit refuses that.
    assert!(ledgers.of(0).reserve(Usd(6.0)).is_none());
    assert_eq!(ledgers.of(0).tighter(), TighterLimit::OfTheJob);
    assert_eq!(ledgers.of(0).refusal(), None);
}
