//! Whether the rule of the alarm does what it promises, on simulated histories. `benches/drift.rs` prints the same for more
//! worlds and more histories.

use super::chart::{ChartPoint, ControlChart, MOST_CHECKS};
use super::rule::Rule;
use crate::forecast::random;
use crate::units::Fraction;
use world::{Series, Sessions, World};

#[path = "../../benches/drift/world.rs"]
mod world;

const HISTORIES: u32 = 1_000;

const fn rule(limit: f64) -> Rule {
    Rule {
        limit,
        certainty: Fraction(0.95),
    }
}

fn check(series: &mut Series, level: f64) -> ChartPoint {
    let (ln_level, standard_error) = series.next_at(level);
    ChartPoint::new(ln_level, standard_error).expect("what is drawn is finite")
}

/// In per cent of histories without any change: those in which the chart signals, up or down, and those in which a rise by more
/// than 1 % is alarmed.
fn false_alarms(world: &World) -> (f64, f64) {
    let (mut signalled, mut alarmed) = (0_u32, 0_u32);
    for history in 0..HISTORIES {
        let mut series = world.series(u64::from(history));
        let mut points = Vec::new();
        let (mut any_signal, mut any_alarm) = (false, false);
        for _ in 0..MOST_CHECKS {
            points.push(check(&mut series, 1.0));
            let chart = ControlChart::of(&points);
            if chart.shift().is_some() {
                any_signal = true;
                any_alarm |= rule(1.01).judge(&chart, 1.0).drifted;
            }
        }
        signalled += u32::from(any_signal);
        alarmed += u32::from(any_alarm);
    }
    let percent = |count: u32| 100.0 * f64::from(count) / f64::from(HISTORIES);
    (percent(signalled), percent(alarmed))
}

#[test]
fn of_histories_without_change_at_most_5_percent_signal_whatever_the_session_noise() {
    for (name, session_noise) in [("0 %", 0.0), ("3 %", 0.03), ("5 %", 0.05), ("10 %", 0.1)] {
        let world = World::normal(name, session_noise);
        let (signalled, alarmed) = false_alarms(&world);
        println!(
            "session noise {}: {signalled:.1} % signal, {alarmed:.1} % alarm",
            world.name
        );
        assert!(signalled <= 5.0, "{name}: {signalled} %");
        assert!(alarmed <= 5.0, "{name}: {alarmed} %");
    }
}

/// What `docs/drift.md` says of them: the promise does not hold where sessions are not as the chart takes them to be.
#[test]
fn sessions_that_remember_the_one_before_signal_too_often() {
    let world = World {
        sessions: Sessions::Remembering(0.7),
        ..World::normal("remembering", 0.05)
    };
    let (signalled, _) = false_alarms(&world);
    assert!(signalled > 5.0, "{}: {signalled} %", world.name);
}

#[test]
fn odd_checks_of_a_heavy_tail_are_mostly_not_taken_for_a_change() {
    let world = World {
        sessions: Sessions::HeavyTailed,
        ..World::normal("heavy tails", 0.05)
    };
    let (_, alarmed) = false_alarms(&world);
    assert!(alarmed < 8.0, "{}: {alarmed} %", world.name);
}

/// The checks until half of all histories are alarmed by a rise to `level` over so many checks, after twelve without any;
/// `None` where they are not within 40.
fn median_checks_until_alarm(level: f64, over: u32, rule: &Rule) -> Option<u32> {
    const OF: u32 = 200;
    let mut alarmed_after = [0_u32; 41];
    for history in 0..OF {
        let mut series = World::normal("quiet", 0.03).series(u64::from(history));
        let mut points: Vec<ChartPoint> = (0..12).map(|_| check(&mut series, 1.0)).collect();
        for (checks, count) in (1_u32..).zip(&mut alarmed_after[1..]) {
            let part = (f64::from(checks) / f64::from(over)).min(1.0);
            points.push(check(&mut series, 1.0 + (level - 1.0) * part));
            let chart = ControlChart::of(&points);
            if chart.shift().is_some() && rule.judge(&chart, 1.0).drifted {
                *count += 1;
                break;
            }
        }
    }
    let mut alarmed = 0;
    (0_u32..).zip(alarmed_after).find_map(|(checks, count)| {
        alarmed += count;
        (2 * alarmed >= OF).then_some(checks)
    })
}

#[test]
fn a_rise_is_alarmed_within_few_checks() {
    let (max_15, max_3) = (rule(1.15), rule(1.03));
    assert_eq!(median_checks_until_alarm(1.5, 1, &max_15), Some(1));
    let of_20 = median_checks_until_alarm(1.2, 1, &max_15);
    assert!(of_20.is_some_and(|checks| checks <= 4), "{of_20:?}");
    let slow = median_checks_until_alarm(1.5, 10, &max_15);
    assert!(slow.is_some_and(|checks| checks <= 8), "{slow:?}");
    let small = median_checks_until_alarm(1.1, 1, &max_3);
    assert!(small.is_some_and(|checks| checks <= 7), "{small:?}");
    // Within what is allowed.
    assert_eq!(median_checks_until_alarm(1.1, 1, &max_15), None);
}
