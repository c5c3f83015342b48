use proptest::prelude::*;

use super::*;
use crate::instance::{InstanceConfiguration, Price};
use crate::units::UsdPerHour;

fn cents(amount: u32) -> Usd {
    Usd(f64::from(amount) / 100.0)
}

fn limited(limit: f64) -> Account {
    Account::new(Some(Usd(limit)), Limit::Job)
}

/// After these events, with a limit of a dollar, in cents: billed, saved and committed. `60` is launched and `!41` is refused; of the
/// oldest run `=10` is billed, or `=-` nothing that is known, or it is `lost`; `+70` would have cost a reused one.
#[test]
fn what_was_billed_takes_the_place_of_what_was_reserved() {
    for (events, billed, saved, committed) in [
        ("", None, None, 0),
        ("100", None, None, 100),
        ("!101", None, None, 0),
        ("60 !41", None, None, 60),
        ("60 =10", Some(10), None, 10),
        ("60 =10 90", Some(10), None, 100),
        // Without a price, or never started.
        ("0 =-", None, None, 0),
        // A run that was free was billed nothing, which is something to say.
        ("60 =0", Some(0), None, 0),
        ("60 lost !41", None, None, 60),
        // A reused canary leaves no more for others than one that was paid for, and is never refused itself.
        ("+70 +- !31 30", None, Some(70), 100),
        ("+120 !1", None, Some(120), 120),
    ] {
        let account = limited(1.0);
        let mut under_way = std::collections::VecDeque::new();
        for event in events.split_whitespace() {
            let amount = event[1..].parse().ok().map(cents);
            match &event[..1] {
                "=" => under_way
                    .pop_front()
                    .map_or((), |run: Reservation| run.settle(amount)),
                "l" => drop(under_way.pop_front()),
                "+" => account.reuse(amount),
                "!" => {
                    let before = account.0.sums.get();
                    assert!(
                        account.reserve(amount.unwrap()).is_none(),
                        "{event} of {events}"
                    );
                    assert_eq!(account.0.sums.get(), before, "{event} of {events}");
                }
                _ => {
                    let reservation = account.reserve(cents(event.parse().unwrap()));
                    under_way.push_back(reservation.unwrap());
                }
            }
        }
        let found = (account.billed(), account.0.sums.get().saved);
        assert_eq!(found, (billed.map(cents), saved.map(cents)), "{events}");
        let difference = account.committed().0 - cents(committed).0;
        assert!(difference.abs() < 1e-12, "{events}: {account:?}");
    }
}

#[test]
fn a_limit_that_is_reached_to_the_cent_is_not_passed_by_rounding() {
    // 0.1 + 0.2 is more than 0.3 as a float.
    let account = limited(0.3);
    assert!(account.takes(Usd(0.1)) && account.takes(Usd(0.2)));
    assert!(!account.takes(Usd(0.000_001)));
    assert!(account.takes(Usd(0.0)));
    assert!(Account::without_limit().takes(Usd(1e9)));
}

#[test]
fn an_account_names_the_limit_that_refused_and_takes_from_all_above() {
    let pull_request = Account::new(Some(Usd(2.0)), Limit::PullRequest);
    let job = Account::below(Some(&pull_request), Some(Usd(5.0)), Limit::Job);
    let [own, other] = [3.0, 2.0].map(|limit| job.slice(Some(Usd(limit))));
    assert!(own.takes(Usd(1.0)));
    assert!(!other.fits_pull_request(Usd(1.5)) && !other.covers(Usd(1.5)));
    assert_eq!(other.limit(), Limit::PullRequest);
    assert_eq!(own.limit(), Limit::Job);
    assert!(other.takes(Usd(0.5)));
    // What was reused or carried is no new cost of the pull request.
    own.reuse(Some(Usd(1.0)));
    own.carry(Some(Usd(0.5)));
    let left = [&own, &other, &job, &pull_request].map(|one| one.left().unwrap().0);
    assert_eq!(left, [0.5, 1.5, 2.0, 0.5]);
}

#[test]
fn the_time_that_is_left_ends_with_the_time_to_stop() {
    let machines: InstanceConfiguration = "2x local".parse().unwrap();
    let at = |price: f64| {
        let price = Price::from_spec(UsdPerHour(price));
        Offer::of(&machines, &|_| None, &|_| Some(price.clone()))
    };
    // 0.001 USD a second.
    let (offer, account) = (at(1.8), limited(1.0));
    for (saved, left) in [(0.0, 880.0), (0.5, 380.0), (0.45, 0.0)] {
        account.reuse(Some(Usd(saved)));
        let seconds = account.seconds_left(&offer).unwrap();
        assert!((seconds.0 - left).abs() < 1e-6, "{saved}");
    }
    assert_eq!(account.seconds_left(&Offer::unknown(&machines)), None);
    assert_eq!(account.seconds_left(&at(0.0)), None);
    assert_eq!(Account::without_limit().seconds_left(&offer), None);
}

#[test]
fn machines_that_could_not_be_ended_stay_set_aside() {
    let (account, kept) = (limited(10.0), KeptMachines::default());
    for name in ["ended", "ended", "left", "forgotten"] {
        kept.keep(&account, name, Usd(1.0));
    }
    assert_eq!(account.committed(), Usd(3.0));
    kept.end(&account, ["ended"], Some(Usd(0.25)));
    kept.end_all_but(&["left"]);
    assert_eq!(account.billed(), Some(Usd(0.25)));
    assert_eq!(account.committed(), Usd(1.25));
}

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

/// What happens next, to which run or configuration, and what of its worst case is billed.
type Happening = (u8, prop::sample::Index, f64, f64);

fn happening() -> impl Strategy<Value = Happening> {
    let which = any::<prop::sample::Index>();
    (0_u8..9, which, 0.0_f64..=1.0, 0.0_f64..=1.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    /// Canaries of two configurations are launched, reused, free their machines, and are measured in any order. What a pool has cost
    /// is known when a later canary is measured, or never; until then it is a cost all the same.
    #[test]
    fn in_no_order_of_completion_is_a_limit_passed(
        limit in 0.5_f64..10.0,
        worst in 0.05_f64..3.0,
        longest in 0.0_f64..1.0,
        happenings in prop::collection::vec(happening(), 0..60),
    ) {
        let (job, kept_machines) = (limited(limit), KeptMachines::default());
        let slices = [0.6, 0.4].map(|part| job.slice(Some(Usd(limit * part))));
        let (mut launched, mut at_work, mut measured) = (0, Vec::new(), Vec::new());
        let mut kept: Vec<(String, Usd)> = Vec::new();
        // What AWS has billed so far, known to the account or not.
        let (mut bill, mut reused) = (0.0, 0.0);
        for (what, which, part, part_idle) in happenings {
            let account = &slices[which.index(2)];
            match what {
                0..=2 => if let Some(reservation) = account.reserve(Usd(worst + longest)) {
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
                    let reservation = free.reservation.take().unwrap();
                    let account = reservation.account.clone();
                    reservation.settle(Some(free.billed));
                    kept_machines.keep(&account, &free.name, Usd(longest));
                    bill += free.billed.0 + free.idle.0;
                    kept.push((free.name.clone(), free.idle));
                    measured.push(free);
                },
                5 | 6 => if !measured.is_empty() {
                    let run: PooledRun = measured.remove(which.index(measured.len()));
                    let idle = run.before.iter().map(|(_, idle)| *idle).sum();
                    let names = run.before.iter().map(|(name, _)| name.as_str());
                    kept_machines.end(&job, names, Some(idle));
                },
                // The pool could not be ended: it stays set aside at its longest.
                7 => if !kept.is_empty() {
                    let (name, _) = kept.remove(which.index(kept.len()));
                    kept_machines.keep(account, &name, Usd(longest));
                },
                _ => {
                    account.reuse(Some(Usd(worst * part)));
                    reused += worst * part;
                },
            }
            let committed = job.committed().0;
            prop_assert!(committed - reused <= limit * (1.0 + 1e-6), "{committed}");
            prop_assert!(bill + reused <= committed + 1e-6, "{bill} of {committed}");
        }
    }
}
