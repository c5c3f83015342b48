//! The plan of a whole run as text for a terminal: what all jobs would take together, and a line for each.

use std::fmt;

use super::document::{Align, Cell, Table};
use super::escape::for_terminal;
use super::text::Prose;
use super::{terminal, words};
use crate::grammar;
use crate::units::{Seconds, Usd};

/// Longer names are cut, in characters.
const LONGEST_NAME: usize = 60;

/// What the canaries of one job would take.
#[derive(Debug, Clone)]
pub struct JobTotals {
    pub job: String,
    pub instance: String,
    /// False where nothing would be run.
    pub is_planned: bool,
    /// Absent without a price.
    pub worst_case: Option<Usd>,
    /// By the newest check in the history; absent where it has none of this job on this instance.
    pub expected: Option<ExpectedSpend>,
    /// The longest that the canaries can take.
    pub wall_clock: Seconds,
}

/// What the canaries of the newest check took. Reused ones count with what they would have cost.
#[derive(Debug, Clone, Copy)]
pub struct ExpectedSpend {
    /// Absent without a price.
    pub usd: Option<Usd>,
    /// One after another.
    pub time: Seconds,
    pub at: jiff::Timestamp,
}

/// The totals over jobs, then a line for each job.
#[derive(Debug, Clone)]
pub struct PlanTotals {
    /// In the order of the spec.
    pub jobs: Vec<JobTotals>,
    /// What the whole run may cost; absent where only each job has a limit.
    pub max_spend: Option<Usd>,
    pub order: JobOrder,
}

/// How the jobs of a run come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobOrder {
    /// Each has machines of its own. Under a limit on the whole run one may still wait for another.
    AtOnce,
    OneAfterAnother,
}

impl fmt::Display for PlanTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.heading())?;
        let titles = ["job", "instance", "worst case", "expected", "wall-clock"];
        let rows = self.jobs.iter().map(|job| {
            let cells = cells(job).map(|text| Cell::from(Prose::literal(text)));
            cells.to_vec()
        });
        let table = Table::of(titles.map(|title| (title, Align::Left)), rows);
        f.write_str(&terminal::table(&table))
    }
}

impl PlanTotals {
    /// `3 jobs · worst case 9.20 USD, expected 0.62 USD, at most 6h, one job after another`
    fn heading(&self) -> String {
        let runs: Vec<&JobTotals> = (self.jobs.iter()).filter(|job| job.is_planned).collect();
        let count = grammar::count(self.jobs.len(), "job");
        if runs.is_empty() {
            return format!("{count} · nothing would be run");
        }
        let worst: Option<Usd> = runs.iter().map(|job| job.worst_case).sum();
        let worst = match (worst, self.max_spend) {
            (None, _) => "worst case not known for want of a price".to_owned(),
            (Some(worst), Some(limit)) if worst > limit => {
                format!("worst case {limit}, by --max-spend")
            }
            (Some(worst), _) => format!("worst case {worst}"),
        };
        let expected: Option<Usd> = runs.iter().map(|job| job.expected?.usd).sum();
        let expected = expected.map_or(String::new(), |usd| format!(", expected {usd}"));
        let times = || runs.iter().map(|job| job.wall_clock);
        let sum: Seconds = times().sum();
        let wall_clock = match (self.order, self.max_spend) {
            (JobOrder::AtOnce, None) => {
                let longest = times().fold(Seconds(0.0), |a, b| if a > b { a } else { b });
                format!("at most {longest}, jobs side by side")
            }
            (JobOrder::AtOnce, Some(_)) => {
                format!("at most {sum}, jobs side by side as far as --max-spend lets them")
            }
            (JobOrder::OneAfterAnother, _) => format!("at most {sum}, one job after another"),
        };
        format!("{count} · {worst}{expected}, {wall_clock}")
    }
}

fn cells(job: &JobTotals) -> [String; 5] {
    let name = for_terminal(&job.job, LONGEST_NAME);
    let [worst, expected, wall_clock] = match job.is_planned {
        false => [
            "nothing is run, see below".to_owned(),
            String::new(),
            String::new(),
        ],
        true => {
            let worst = job.worst_case;
            let expected = job.expected.map_or("not known yet".to_owned(), |one| {
                let usd = one.usd.map_or(String::new(), |usd| format!("{usd}, "));
                format!("{usd}{} ({})", one.time, words::day(one.at))
            });
            [
                worst.map_or("no price".to_owned(), |worst| worst.to_string()),
                expected,
                format!("at most {}", job.wall_clock),
            ]
        }
    };
    [name, job.instance.clone(), worst, expected, wall_clock]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(name: &str, expected: Option<f64>) -> JobTotals {
        JobTotals {
            job: name.to_owned(),
            instance: "ml.m5.2xlarge".to_owned(),
            is_planned: true,
            worst_case: Some(Usd(4.5)),
            expected: expected.map(|usd| ExpectedSpend {
                usd: Some(Usd(usd)),
                time: Seconds(130.0),
                at: "2026-11-20T08:00:00Z".parse().unwrap(),
            }),
            wall_clock: Seconds(7200.0),
        }
    }

    #[test]
    fn the_totals_stand_first_and_then_a_line_for_each_job() {
        let job = |name: &str| job(name, None);
        let (mut short, mut unpriced) = (job("more"), job("churn"));
        (short.wall_clock, unpriced.worst_case) = (Seconds(60.0), None);
        let hostile = JobTotals {
            is_planned: false,
            ..job("a\u{1b}[31m")
        };
        let known = self::job("churn", Some(0.31));
        let pair = vec![known.clone(), job("fraud-detection")];
        let side_by_side = vec![job("churn"), short];
        let (at_once, in_turn) = (JobOrder::AtOnce, JobOrder::OneAfterAnother);
        let shown = [
            (pair.clone(), None, in_turn),
            ([pair, vec![hostile]].concat(), Some(Usd(8.0)), in_turn),
            (vec![unpriced], None, in_turn),
            (side_by_side.clone(), None, at_once),
            (side_by_side, Some(Usd(8.0)), at_once),
        ];
        let shown = shown.map(|(jobs, max_spend, order)| {
            let totals = PlanTotals {
                jobs,
                max_spend,
                order,
            };
            totals.to_string()
        });
        insta::assert_snapshot!(shown.join("\n"));
    }
}
