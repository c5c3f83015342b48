use super::super::chart::{ChartPoint, ControlChart};
use super::*;

const MAX_15: Rule = Rule {
    limit: 1.15,
    certainty: Fraction(0.95),
};

fn chart(levels: &[f64]) -> ControlChart {
    let points: Vec<ChartPoint> = levels
        .iter()
        .map(|level| ChartPoint::new(level.ln(), 0.02).unwrap())
        .collect();
    ControlChart::of(&points)
}

fn judge(levels: &[f64], known: f64) -> Finding {
    MAX_15.judge(&chart(levels), known)
}

#[test]
fn a_rise_that_may_be_noise_is_not_alarmed_but_its_chance_is_known() {
    let finding = judge(&[1.0, 1.2], 1.0);
    assert!(!finding.drifted);
    let chance = finding.chance_over_limit.unwrap();
    assert!((0.5..0.95).contains(&chance), "{chance}");
}

#[test]
fn a_rise_of_20_percent_becomes_certain_with_more_checks() {
    let before = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01];
    let after = |checks| [&before[..], &vec![1.21; checks][..]].concat();
    let first = judge(&after(1), 1.0);
    let fourth = judge(&after(4), 1.0);
    assert!(!first.drifted, "{first:?}");
    assert!(fourth.drifted, "{fourth:?}");
    assert!(fourth.chance_over_limit > first.chance_over_limit);
}

#[test]
fn a_fall_is_never_an_alarm() {
    let levels = [vec![1.0; 10], vec![0.5; 10]].concat();
    assert!(chart(&levels).shift().is_some());
    assert!(!judge(&levels, 1.0).drifted);
}

#[test]
fn back_on_the_old_level_the_alarm_is_over() {
    let mut levels = [vec![1.0; 10], vec![1.5; 10]].concat();
    assert!(judge(&levels, 1.0).drifted);
    levels.push(1.0);
    assert!(!judge(&levels, 1.0).drifted);
}

#[test]
fn what_is_known_needs_no_second_look() {
    assert!(judge(&[1.0, 1.0], 1.2).drifted);
    assert!(!judge(&[1.0, 1.0], 1.1).drifted);
    // A price that fell makes room for a training that got slower.
    let slower = [vec![1.0; 10], vec![1.3; 10]].concat();
    assert!(judge(&slower, 1.0).drifted);
    assert!(!judge(&slower, 0.8).drifted);
}
