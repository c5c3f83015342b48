//! The tables: false alarms, checks until an alarm, checks until it ends.

use canary_gate_core::drift::chart::{ChartPoint, ControlChart, MOST_CHECKS, limit, statistic};
use canary_gate_core::drift::rule::Rule;
use canary_gate_core::units::Fraction;

use crate::canaries;
use crate::world::{Series, Sessions, World};

const QUIET: World = World::normal("session noise 3%", 0.03);
const LOUD: World = World::normal("session noise 10%", 0.1);

const WITHOUT_CHANGE: [World; 11] = [
    World::normal("session noise 0%", 0.0),
    QUIET,
    World::normal("session noise 5%", 0.05),
    World::normal("session noise 7%", 0.07),
    LOUD,
    World::normal("session noise 15%", 0.15),
    World::normal("session noise 20%", 0.2),
    World {
        canary_noise: 0.15,
        ..World::normal("session noise 5%, canaries 15%", 0.05)
    },
    World {
        sessions: Sessions::HeavyTailed,
        ..World::normal("session noise 5%, heavy tails", 0.05)
    },
    World {
        sessions: Sessions::Remembering(0.3),
        ..World::normal("session noise 5%, remembers 0.3", 0.05)
    },
    World {
        sessions: Sessions::Remembering(0.7),
        ..World::normal("session noise 5%, remembers 0.7", 0.05)
    },
];

const FROM_CANARIES: [World; 3] = [
    World::normal("from canaries, session noise 0%", 0.0),
    World::normal("from canaries, session noise 3%", 0.03),
    World::normal("from canaries, session noise 10%", 0.1),
];

const DRIFTS: [f64; 4] = [0.05, 0.1, 0.2, 0.5];

/// A change over so many checks, after so many without any, the baseline included.
const COURSES: [(&str, u32, u32, &[f64]); 4] = [
    ("at once, after 12 checks", 1, 12, &DRIFTS),
    ("over 10 checks, after 12", 10, 12, &DRIFTS),
    ("over 25 checks, from the first", 25, 1, &[0.5]),
    ("at once, after the baseline", 1, 1, &DRIFTS),
];

const fn rule(limit: f64) -> Rule {
    Rule {
        limit,
        certainty: Fraction(0.95),
    }
}

pub(crate) fn report(histories: u32) -> String {
    let mut text = without_change(histories);
    for world in [QUIET, LOUD] {
        text += &format!("\n{}", until_alarm(&world, histories));
    }
    text += &format!("\n{}", below_the_limit(histories));
    text + "\n" + &until_over(histories)
}

/// A series as the program sees it.
struct Seen {
    series: Series,
    points: Vec<ChartPoint>,
}

impl Seen {
    fn new(world: &World, history: u32) -> Self {
        Self {
            series: world.series(u64::from(history)),
            points: Vec::new(),
        }
    }

    fn check_at(&mut self, level: f64) {
        let (ln_level, standard_error) = self.series.next_at(level);
        self.points
            .push(ChartPoint::new(ln_level, standard_error).expect("what is drawn is finite"));
        if self.points.len() > MOST_CHECKS {
            // The reference stays.
            self.points.remove(1);
        }
    }

    fn chart(&self) -> Option<ControlChart> {
        chart(&self.points)
    }
}

fn chart(points: &[ChartPoint]) -> Option<ControlChart> {
    // What shows no change takes most of the time.
    let signals = statistic(points).is_some_and(|statistic| statistic > limit(points.len()));
    signals.then(|| ControlChart::of(points))
}

fn alarms(chart: Option<&ControlChart>, rule: &Rule) -> bool {
    chart.is_some_and(|chart| rule.judge(chart, 1.0).drifted)
}

fn without_change(histories: u32) -> String {
    let mut text = format!(
        "Histories of {MOST_CHECKS} checks without any change\n\n{:<34}{:>8}{:>12}{:>12}\n{:<34}{:>8}{:>12}{:>12}\n",
        "", "chart", "alarm with", "alarm with", "", "signals", "max 15%", "max 1%"
    );
    for world in WITHOUT_CHANGE {
        let drawn = |history| {
            let mut seen = Seen::new(&world, history);
            (0..MOST_CHECKS).for_each(|_| seen.check_at(1.0));
            seen.points
        };
        text += &false_alarms(world.name, histories, drawn);
    }
    for world in FROM_CANARIES {
        let from_canaries = |history| canaries::history(&world, history);
        text += &false_alarms(world.name, histories.div_ceil(10), from_canaries);
    }
    text
}

/// One row.
fn false_alarms(name: &str, histories: u32, points: impl Fn(u32) -> Vec<ChartPoint>) -> String {
    let (mut signals, mut with_15, mut with_1) = (0_u32, 0_u32, 0_u32);
    for history in 0..histories {
        let points = points(history);
        let (mut any, mut any_15, mut any_1) = (false, false, false);
        for checks in 1..=points.len() {
            let chart = chart(&points[..checks]);
            any |= chart.is_some();
            any_15 |= alarms(chart.as_ref(), &rule(1.15));
            any_1 |= alarms(chart.as_ref(), &rule(1.01));
        }
        signals += u32::from(any);
        with_15 += u32::from(any_15);
        with_1 += u32::from(any_1);
    }
    let share = |count: u32| 100.0 * f64::from(count) / f64::from(histories);
    format!(
        "{name:<34}{:>7.1}%{:>11.1}%{:>11.1}%\n",
        share(signals),
        share(with_15),
        share(with_1)
    )
}

/// Checks until something happens, over all histories.
#[derive(Default)]
struct Delays(Vec<u32>);

impl Delays {
    fn quantile(&mut self, hundredths: usize) -> String {
        self.0.sort_unstable();
        let index = (self.0.len() * hundredths / 100).min(self.0.len() - 1);
        match self.0[index] {
            u32::MAX => "-".to_owned(),
            checks => checks.to_string(),
        }
    }

    fn text(&mut self) -> String {
        if self.0.is_empty() {
            return "-".to_owned();
        }
        format!("{} / {}", self.quantile(50), self.quantile(90))
    }
}

/// How long a change is waited for.
const LONGEST_WAIT: u32 = 40;

fn until_alarm(world: &World, histories: u32) -> String {
    let mut text = format!(
        "Checks from a change until it is found: median / in 90 of 100 cases; {}\n\n{:<34}{:>12}{:>14}{:>14}\n",
        world.name, "", "shift found", "alarm, 15%", "alarm, 3%"
    );
    for (name, over, before, drifts) in COURSES {
        for drift in drifts {
            let mut delays: [Delays; 3] = Default::default();
            for history in 0..histories {
                let mut seen = Seen::new(world, history);
                for _ in 0..before {
                    seen.check_at(1.0);
                }
                let mut first = [u32::MAX; 3];
                for check in 1..=LONGEST_WAIT {
                    let part = (f64::from(check) / f64::from(over)).min(1.0);
                    seen.check_at(1.0 + *drift * part);
                    let chart = seen.chart();
                    let is_rise = chart
                        .as_ref()
                        .and_then(ControlChart::shift)
                        .is_some_and(|shift| shift.of_the_reference.median() > 1.0);
                    let now = [
                        is_rise,
                        alarms(chart.as_ref(), &rule(1.15)),
                        alarms(chart.as_ref(), &rule(1.03)),
                    ];
                    for (first, now) in first.iter_mut().zip(now) {
                        *first = if now { (*first).min(check) } else { *first };
                    }
                    if first.iter().all(|first| *first != u32::MAX) {
                        break;
                    }
                }
                for (delays, first) in delays.iter_mut().zip(first) {
                    delays.0.push(first);
                }
            }
            let [signal, with_15, with_3] = &mut delays;
            text += &format!(
                "{:<34}{:>12}{:>14}{:>14}\n",
                format!("{:>3.0}% {name}", 100.0 * *drift),
                signal.text(),
                with_15.text(),
                with_3.text()
            );
        }
    }
    text
}

fn below_the_limit(histories: u32) -> String {
    let mut text = format!(
        "Rises that are allowed (max 15%) and alarmed at least once in {LONGEST_WAIT} checks\n\n{:<34}{:>18}{:>20}\n",
        "after 12 checks", QUIET.name, LOUD.name
    );
    for drift in [0.05, 0.1, 0.12, 0.14] {
        let [quiet, loud] = [QUIET, LOUD].map(|world| {
            let alarmed = (0..histories).filter(|history| {
                let mut seen = Seen::new(&world, *history);
                (0..12).for_each(|_| seen.check_at(1.0));
                (0..LONGEST_WAIT).any(|_| {
                    seen.check_at(1.0 + drift);
                    alarms(seen.chart().as_ref(), &rule(1.15))
                })
            });
            100.0 * count(alarmed) / f64::from(histories)
        });
        text += &format!(
            "{:<34}{:>17.1}%{:>19.1}%\n",
            format!("of {:.0}%", 100.0 * drift),
            quiet,
            loud
        );
    }
    text
}

fn count(items: impl Iterator) -> f64 {
    items.fold(0.0, |count, _| count + 1.0)
}

/// How long the higher level lasts, until it is as before.
const LASTS: [u32; 3] = [2, 5, 20];

fn until_over(histories: u32) -> String {
    let mut text = format!(
        "Checks from the return to the old level until the alarm (max 15%) ends: median / in 90 of 100 cases\n\n{:<34}{:>18}{:>20}\n",
        "a rise after 12 checks", QUIET.name, LOUD.name
    );
    for drift in [0.2, 0.5] {
        for lasts in LASTS {
            let cells = [QUIET, LOUD].map(|world| {
                let mut delays = Delays::default();
                for history in 0..histories {
                    delays
                        .0
                        .extend(checks_until_over(&world, history, 1.0 + drift, lasts));
                }
                delays.text()
            });
            text += &format!(
                "{:<34}{:>18}{:>20}\n",
                format!("of {:.0}%, for {lasts} checks", 100.0 * drift),
                cells[0],
                cells[1]
            );
        }
    }
    text
}

/// `None` where there was no alarm at the last check on the higher level.
fn checks_until_over(world: &World, history: u32, level: f64, lasts: u32) -> Option<u32> {
    let mut seen = Seen::new(world, history);
    for _ in 0..12 {
        seen.check_at(1.0);
    }
    for _ in 0..lasts {
        seen.check_at(level);
    }
    if !alarms(seen.chart().as_ref(), &rule(1.15)) {
        return None;
    }
    let until = (1..=LONGEST_WAIT).find(|_| {
        seen.check_at(1.0);
        !alarms(seen.chart().as_ref(), &rule(1.15))
    });
    Some(until.unwrap_or(u32::MAX))
}
