//! The runs of the **newest data**: a law from runs of different data would be of neither.
//!
//! Data are the same if their totals are exactly equal: `bytes_total`, `objects_total` and `work_total`, as far as both runs say
//! them. A data set that grew by one object is other data: how a run's share of it compares is not known. All canaries of one
//! run of the gate share their totals, since each job is listed once.

use super::{Measurement, machines_of};
use crate::grammar;

/// The runs of one configuration, parted.
#[derive(Debug, Clone)]
pub struct NewestData<'a> {
    /// The runs of the newest data, in the order given.
    pub kept: Vec<&'a Measurement>,
    /// The runs of other data, in the order given.
    left_out: Vec<&'a Measurement>,
}

/// What a run says of the whole data: bytes, objects and work.
type Totals = [Option<u64>; 3];

fn totals_of(run: &Measurement) -> Totals {
    let bytes = run.bytes_total.map(|bytes| bytes.0);
    let work = run.work_total.map(f64::to_bits);
    [bytes, run.objects_total, work]
}

/// Whether a total that both have differs.
fn differ(one: &Totals, other: &Totals) -> bool {
    let mut pairs = one.iter().zip(other);
    pairs.any(|(one, other)| one.zip(*other).is_some_and(|(one, other)| one != other))
}

impl<'a> NewestData<'a> {
    /// The newest data are those of the run that ended last; where a run does not say when it ended, those of the last run.
    pub fn of(runs: &[&'a Measurement]) -> Self {
        let times_are_known = runs.iter().all(|run| run.ended_at.is_some());
        let mut newest_first: Vec<usize> = (0..runs.len()).rev().collect();
        if times_are_known {
            newest_first.sort_by_key(|index| std::cmp::Reverse(runs[*index].ended_at));
        }
        let mut newest = Totals::default();
        let mut is_kept = vec![false; runs.len()];
        for index in newest_first {
            let totals = totals_of(runs[index]);
            if !differ(&totals, &newest) {
                for (known, total) in newest.iter_mut().zip(totals) {
                    *known = known.take().or(total);
                }
                is_kept[index] = true;
            }
        }
        let mut is_kept = is_kept.into_iter();
        let (kept, left_out) = (runs.iter()).partition(|_| is_kept.next() == Some(true));
        Self { kept, left_out }
    }

    /// A sentence on the runs of other data; `None` if there are none.
    pub fn note(&self) -> Option<String> {
        let others = grammar::count(self.left_out.len(), "run");
        (!self.left_out.is_empty())
            .then(|| format!("left out, being of other data than the newest: {others}"))
    }
}

/// The runs of the newest data of each configuration, in the order given, and a sentence on each configuration with others;
/// `None` if there are no others.
pub fn of_each_configuration(runs: &[Measurement]) -> Option<(Vec<Measurement>, Vec<String>)> {
    let configurations = machines_of(runs);
    let mut left_out: Vec<&Measurement> = Vec::new();
    let mut notes = Vec::new();
    for configuration in &configurations {
        let on_it: Vec<&Measurement> = runs.iter().filter(|run| run.is_on(configuration)).collect();
        let newest = NewestData::of(&on_it);
        notes.extend(newest.note().map(|note| match configurations.len() {
            1 => note,
            _ => format!("{configuration}: {note}"),
        }));
        left_out.extend(newest.left_out);
    }
    let is_kept = |run: &&Measurement| !left_out.iter().any(|other| std::ptr::eq(*other, *run));
    (!left_out.is_empty()).then(|| (runs.iter().filter(is_kept).cloned().collect(), notes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Outcome;
    use crate::units::{Bytes, Fraction};

    fn run(bytes_total: Option<u64>, objects_total: Option<u64>) -> Measurement {
        Measurement {
            bytes_total: bytes_total.map(Bytes),
            objects_total,
            ..Measurement::without_figures(
                "churn".to_owned(),
                "ml.m5.2xlarge".parse().unwrap(),
                Fraction(0.01),
                Outcome::Completed,
            )
        }
    }

    /// Of so many bytes; it ended at that second, where it says when.
    fn of(bytes: u64, second: Option<i64>) -> Measurement {
        Measurement {
            ended_at: second.map(|second| jiff::Timestamp::from_second(second).unwrap()),
            ..run(Some(bytes), None)
        }
    }

    fn with_work(bytes: u64, objects: u64, work: f64) -> Measurement {
        Measurement {
            work_total: Some(work),
            ..run(Some(bytes), Some(objects))
        }
    }

    /// The totals of bytes of those that are kept, and how many others there are.
    #[test]
    fn runs_of_the_newest_data_are_kept() {
        for (runs, kept, left_out) in [
            (vec![], vec![], 0),
            // Of a file without times the last run has the newest data.
            (
                [1000, 2000, 1000, 2000]
                    .map(|bytes| of(bytes, None))
                    .to_vec(),
                vec![2000, 2000],
                2,
            ),
            // One without a time: the order decides; else that which ended last, wherever it stands.
            (
                vec![of(1, Some(9)), of(2, None), of(3, Some(5))],
                vec![3],
                2,
            ),
            (
                vec![of(2000, Some(9)), of(1000, Some(5)), of(2000, Some(2))],
                vec![2000, 2000],
                1,
            ),
            // A total that a run does not say does not differ: the last says nothing, the third the bytes, the second the objects.
            (
                vec![
                    run(Some(7), Some(10)),
                    run(None, Some(9)),
                    run(Some(7), None),
                    run(None, None),
                ],
                vec![7],
                1,
            ),
            (vec![run(Some(7), None), run(None, None)], vec![7], 0),
            // One object more is other data, and the work counts too.
            (
                vec![
                    with_work(100, 5, 10.0),
                    with_work(100, 5, 10.0),
                    with_work(101, 6, 20.0),
                ],
                vec![101],
                2,
            ),
        ] {
            let newest = NewestData::of(&runs.iter().collect::<Vec<_>>());
            let bytes = newest.kept.iter().filter_map(|run| run.bytes_total);
            assert_eq!(bytes.map(|bytes| bytes.0).collect::<Vec<_>>(), kept);
            assert_eq!(newest.left_out.len(), left_out);
            assert_eq!(newest.note().is_some(), left_out > 0);
        }
    }

    #[test]
    fn each_configuration_has_its_own_newest_data() {
        let on = |instance: &str, bytes| Measurement {
            instance: instance.parse().unwrap(),
            ..run(Some(bytes), None)
        };
        let runs = [
            on("ml.m5.2xlarge", 2),
            on("ml.m5.xlarge", 2),
            on("ml.m5.xlarge", 3),
        ];
        let (kept, notes) = of_each_configuration(&runs).unwrap();
        assert_eq!(kept, [runs[0].clone(), runs[2].clone()]);
        assert_eq!(
            notes,
            ["ml.m5.xlarge: left out, being of other data than the newest: 1 run"]
        );
        assert_eq!(of_each_configuration(&runs[..2]), None);
    }
}
