//! Finds the limits of the control chart.

use canary_gate_core::drift::chart::{ChartPoint, MOST_CHECKS, statistic};

use crate::world::{Series, World};

/// The limits hold for each of these.
const WORLDS: [World; 4] = [
    World::normal("no session noise", 0.0),
    World::normal("3%", 0.03),
    World::normal("5%", 0.05),
    World::normal("10%", 0.1),
];

/// The share of histories of [`MOST_CHECKS`] checks without any change in which the chart may signal at least once, up or
/// down.
const FALSE_ALARMS: f64 = 0.05;

/// A little below what is promised, for the error of finding the limits by chance and for the lines between them.
const AIM: f64 = 0.9 * FALSE_ALARMS;

/// The numbers of checks that are printed.
const PRINTED: [usize; 14] = [2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30, 40, MOST_CHECKS];

/// Another history than those of the tables, which have numbers of their own.
const FIRST_HISTORY: u64 = 1 << 32;

/// A history that has not signalled.
struct History {
    series: Series,
    points: Vec<ChartPoint>,
}

impl History {
    fn next(&mut self) -> f64 {
        let (ln_level, standard_error) = self.series.next_at(1.0);
        self.points
            .push(ChartPoint::new(ln_level, standard_error).expect("what is drawn is finite"));
        statistic(&self.points).unwrap_or(0.0)
    }
}

pub(crate) fn report(histories: u32) -> String {
    let mut limits = [0.0_f64; MOST_CHECKS + 1];
    for world in WORLDS {
        for (limit, own) in limits.iter_mut().zip(limits_of(&world, histories)) {
            *limit = limit.max(own);
        }
    }
    let lines = PRINTED.map(|checks| format!("    ({checks}.0, {:.2}),\n", limits[checks]));
    lines.concat()
}

/// By number of checks.
fn limits_of(world: &World, histories: u32) -> Vec<f64> {
    let mut running: Vec<History> = (0..u64::from(histories))
        .map(|number| History {
            series: world.series(FIRST_HISTORY + number),
            points: Vec::with_capacity(MOST_CHECKS),
        })
        .collect();
    for history in &mut running {
        history.next();
    }
    let mut limits = vec![0.0; 2];
    for checks in 2..=MOST_CHECKS {
        let statistics: Vec<f64> = running.iter_mut().map(History::next).collect();
        let mut sorted = statistics.clone();
        sorted.sort_by(f64::total_cmp);
        let limit = sorted[quantile_index(sorted.len(), share_at(checks))];
        let mut statistics = statistics.iter();
        running.retain(|_| {
            statistics
                .next()
                .is_some_and(|statistic| *statistic <= limit)
        });
        limits.push(limit);
    }
    limits
}

/// The part of the histories without a signal that may signal at this number of checks, all together what is aimed at.
fn share_at(checks: usize) -> f64 {
    let weight = |checks: usize| as_float(checks).powf(-1.25);
    let all: f64 = (2..=MOST_CHECKS).map(weight).sum();
    -(1.0 - AIM).ln() * weight(checks) / all
}

/// The index of the value that the largest `share` of so many lie above.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count is a small positive number"
)]
fn quantile_index(count: usize, share: f64) -> usize {
    ((as_float(count) * (1.0 - share)) as usize).min(count - 1)
}

#[expect(clippy::cast_precision_loss, reason = "a small count")]
fn as_float(count: usize) -> f64 {
    count as f64
}
