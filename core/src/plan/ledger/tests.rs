use proptest::prelude::*;

use super::*;
use crate::instance::{InstanceConfiguration, Price};
use crate::units::UsdPerHour;

/// What happens to an account, in cents.
#[derive(Debug, Clone, Copy)]
enum LedgerEvent {
    /// A run is launched that may cost so much; whether it fits.
    Launch(u32, bool),
    /// The oldest run that is under way has ended: billed so much, or without a price.
    End(Option<u32>),
    /// The oldest run that is under way is lost: its cost is not known.
    Lose,
    /// A canary is reused that would have cost so much, if that is known.
    Reuse(Option<u32>),
}

fn cents(amount: u32) -> Usd {
    Usd(f64::from(amount) / 100.0)
}

/// The account after `events`, with a limit of a dollar.
fn after(events: &[LedgerEvent]) -> Ledger {
    let mut ledger = Ledger::new(Usd(1.0));
    let mut under_way = std::collections::VecDeque::new();
    for event in events {
        match *event {
            LedgerEvent::Launch(worst, fits) => {
                let before = ledger;
                let reservation = ledger.reserve(cents(worst));
                assert_eq!(reservation.is_some(), fits, "{event:?} of {events:?}");
                if !fits {
                    assert_eq!(ledger, before, "what does not fit changes nothing");
                }
                under_way.extend(reservation);
            }
            LedgerEvent::End(billed) => {
                let reservation = under_way.pop_front().expect("a run is under way");
                ledger.settle(reservation, billed.map(cents));
            }
            LedgerEvent::Lose => drop(under_way.pop_front()),
            LedgerEvent::Reuse(saved) => ledger.reuse(saved.map(cents)),
        }
    }
    ledger
}

#[test]
fn what_was_billed_takes_the_place_of_what_was_reserved() {
    use LedgerEvent::{End, Launch, Lose, Reuse};

    // Events; billed, saved and committed, in cents.
    type Example<'a> = (&'a [LedgerEvent], Option<u32>, Option<u32>, u32);
    let table: [Example; 11] = [
        (&[], None, None, 0),
        (&[Launch(100, true)], None, None, 100),
        (&[Launch(101, false)], None, None, 0),
        (&[Launch(60, true), Launch(41, false)], None, None, 60),
        (&[Launch(60, true), End(Some(10))], Some(10), None, 10),
        (
            &[Launch(60, true), End(Some(10)), Launch(90, true)],
            Some(10),
            None,
            100,
        ),
        // Without a price, or never started.
        (&[Launch(0, true), End(None)], None, None, 0),
        // A run that was free was billed nothing, which is something to say.
        (&[Launch(60, true), End(Some(0))], Some(0), None, 0),
        (&[Launch(60, true), Lose, Launch(41, false)], None, None, 60),
        // A reused canary leaves no more for others than one that was paid for.
        (
            &[
                Reuse(Some(70)),
                Reuse(None),
                Launch(31, false),
                Launch(30, true),
            ],
            None,
            Some(70),
            100,
        ),
        // It is never refused itself.
        (&[Reuse(Some(120)), Launch(1, false)], None, Some(120), 120),
    ];
    for (events, billed, saved, committed) in table {
        let ledger = after(events);
        assert_eq!(ledger.billed(), billed.map(cents), "{events:?}");
        assert_eq!(ledger.saved(), saved.map(cents), "{events:?}");
        let difference = ledger.committed().0 - cents(committed).0;
        assert!(difference.abs() < 1e-12, "{events:?}: {ledger:?}");
    }
}

#[test]
fn a_limit_that_is_reached_to_the_cent_is_not_passed_by_rounding() {
    // 0.1 + 0.2 is more than 0.3 as a float.
    let mut ledger = Ledger::new(Usd(0.3));
    for amount in [0.1, 0.2] {
        assert!(ledger.reserve(Usd(amount)).is_some());
    }
    assert_eq!(ledger.reserve(Usd(0.000_001)), None);
}

#[test]
fn a_full_run_has_no_limit() {
    let mut ledger = Ledger::without_limit();
    let reservation = ledger.reserve(Usd(1e9)).unwrap();
    ledger.settle(reservation, Some(Usd(2.0)));
    assert_eq!(ledger.billed(), Some(Usd(2.0)));
}

#[test]
fn the_time_that_is_left_ends_with_the_time_to_stop() {
    let machines: InstanceConfiguration = "2x local".parse().unwrap();
    let at = |price: f64| {
        let price = Price::from_spec(UsdPerHour(price));
        Offer::of(&machines, &|_| None, &|_| Some(price.clone()))
    };
    let offer = at(1.8);
    let left = |ledger: &Ledger| seconds_paid_by(ledger.left()?, &offer);
    // 0.001 USD a second.
    let mut ledger = Ledger::new(Usd(1.0));
    let close = |time: Option<Seconds>, to: f64| (time.unwrap().0 - to).abs() < 1e-6;
    assert!(close(left(&ledger), 880.0));
    ledger.reuse(Some(Usd(0.5)));
    assert!(close(left(&ledger), 380.0));
    ledger.reuse(Some(Usd(0.45)));
    assert_eq!(left(&ledger), Some(Seconds(0.0)));
    assert_eq!(seconds_paid_by(Usd(1.0), &Offer::unknown(&machines)), None);
    assert_eq!(seconds_paid_by(Usd(1.0), &at(0.0)), None);
    assert_eq!(left(&Ledger::without_limit()), None);
}

proptest! {
    /// Runs in any order, some reused, none billed more than it may cost at worst.
    #[test]
    fn billed_and_reserved_never_pass_the_limit(
        limit in 0.01_f64..100.0,
        runs in prop::collection::vec((0.0_f64..30.0, 0.0_f64..=1.0, 0_u8..4), 0..60),
    ) {
        let mut ledger = Ledger::new(Usd(limit));
        let mut under_way = std::collections::VecDeque::new();
        let most = limit * (1.0 + 2.0 * ROUNDING);
        for (worst, part, what) in runs {
            match what {
                0 => ledger.reuse(Some(Usd(worst * part))),
                1 => if let Some((reservation, billed)) = under_way.pop_front() {
                    ledger.settle(reservation, Some(billed));
                },
                _ => if let Some(reservation) = ledger.reserve(Usd(worst)) {
                    under_way.push_back((reservation, Usd(worst * part)));
                    prop_assert!(ledger.committed().0 <= most, "{ledger:?}");
                },
            }
            let paid = ledger.billed().unwrap_or_default() + ledger.reserved;
            prop_assert!(paid.0 <= most, "{ledger:?}");
        }
        for (reservation, billed) in under_way {
            ledger.settle(reservation, Some(billed));
        }
        prop_assert!(ledger.reserved.0.abs() <= 1e-9, "{ledger:?}");
    }
}
