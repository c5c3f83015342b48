//! **Turns**: when each job of a run may begin. Where jobs have machines of their own all begin at once, as far as the money of the
//! run covers the most that each may spend.

use crate::plan::{Account, Limit, Reservation};
use crate::units::Usd;

/// Whether a job may be at work beside others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobCompany {
    /// No other job is at work: on one machine their canaries would disturb each other.
    Alone,
    /// Others may be at work, on machines of their own.
    WithOthers,
}

/// The turns of the jobs of one run, in the spec's order. No job overtakes another.
///
/// A job begins where the run's limit covers its own `canary.spend_limit` beside those of the jobs at work and what the others
/// have cost; else when all before it have ended. So what a job may spend, and with it its report, is the same as if the jobs were
/// checked one after another.
#[derive(Debug)]
pub(crate) struct Turns {
    max_spend: Option<Usd>,
    pull_request: Option<Account>,
    company: JobCompany,
    /// The most that the jobs at work may spend, and what those that have ended did.
    promised: Account,
    /// The account of each job that has begun.
    accounts: Vec<Account>,
    ended: usize,
    /// Whether a job is at work beside which none begins, since it may take all that is left.
    is_closed: bool,
}

/// A job's turn, until it is ended.
#[derive(Debug)]
#[must_use = "the next job may wait for its end"]
pub(crate) struct Turn {
    promise: Option<Reservation>,
    pub(crate) account: Account,
}

impl Turns {
    /// `max_spend` is the limit of the run; `None`: no limit.
    pub(crate) fn new(
        max_spend: Option<Usd>,
        pull_request: Option<&Account>,
        company: JobCompany,
    ) -> Self {
        let left = pull_request.and_then(Account::left);
        let limits = max_spend.into_iter().chain(left);
        let limit = limits.reduce(|one, other| if one < other { one } else { other });
        Self {
            max_spend,
            pull_request: pull_request.cloned(),
            company,
            promised: Account::new(limit, Limit::Run),
            accounts: Vec::new(),
            ended: 0,
            is_closed: false,
        }
    }

    /// How many jobs have begun.
    pub(crate) fn begun(&self) -> usize {
        self.accounts.len()
    }

    /// Begins the next job, which may spend `limit`; `None` while it has to wait.
    pub(crate) fn begin(&mut self, limit: Option<Usd>) -> Option<Turn> {
        let is_alone = self.ended == self.begun();
        if !is_alone && (self.is_closed || self.company == JobCompany::Alone) {
            return None;
        }
        let promise = self.promised.reserve(limit.unwrap_or_default());
        if promise.is_none() && !is_alone {
            return None;
        }
        self.is_closed = promise.is_none();
        let account = self.account(limit, promise.is_some());
        self.accounts.push(account.clone());
        Some(Turn { promise, account })
    }

    /// The account of the next job. Without a promise of all of its limit it has what the jobs before it have left.
    fn account(&self, limit: Option<Usd>, is_promised: bool) -> Account {
        let committed = self.accounts.iter().map(Account::committed).sum();
        let left = self.max_spend.map(|most| most - committed);
        let left = left.filter(|_| !is_promised);
        let (limit, of) = match (limit, left) {
            (Some(limit), Some(left)) if left < limit => (Some(left), Limit::Run),
            _ => (limit, Limit::Job),
        };
        Account::below(self.pull_request.as_ref(), limit, of)
    }

    /// The job has ended: what it committed takes the place of what it might have spent.
    pub(crate) fn end(&mut self, turn: Turn) {
        let spent = Some(turn.account.committed());
        match turn.promise {
            Some(promise) => promise.settle(spent),
            None => self.promised.bill(spent),
        }
        self.is_closed = false;
        self.ended += 1;
    }

    /// What the canaries of all jobs were billed.
    pub(crate) fn billed(&self) -> Option<Usd> {
        let billed = self.accounts.iter().filter_map(Account::billed);
        billed.reduce(|sum, billed| sum + billed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const JOB: Option<Usd> = Some(Usd(5.0));

    fn limited(max_spend: f64) -> Turns {
        Turns::new(Some(Usd(max_spend)), None, JobCompany::WithOthers)
    }

    /// The turns of as many jobs as may begin at this moment.
    fn begin_all(turns: &mut Turns) -> Vec<Turn> {
        std::iter::from_fn(|| turns.begin(JOB)).take(20).collect()
    }

    #[test]
    fn jobs_on_one_machine_come_one_after_another() {
        let mut turns = Turns::new(None, None, JobCompany::Alone);
        for _ in 0..3 {
            let alone = turns.begin(JOB).unwrap();
            assert!(turns.begin(JOB).is_none());
            turns.end(alone);
        }
    }

    #[test]
    fn jobs_begin_as_far_as_the_limit_of_the_run_covers_the_most_that_they_may_spend() {
        assert_eq!(
            begin_all(&mut Turns::new(None, None, JobCompany::WithOthers)).len(),
            20
        );
        let mut turns = limited(12.0);
        let first = begin_all(&mut turns);
        assert_eq!(first.len(), 2);
        // The first spent 1 USD of its 5: 1 + 5 + 5 fit into 12.
        first[0].account.bill(Some(Usd(1.0)));
        turns.end(first.into_iter().next().unwrap());
        assert_eq!(begin_all(&mut turns).len(), 1);
        assert_eq!(turns.billed(), Some(Usd(1.0)));
    }

    #[test]
    fn a_job_that_may_take_all_that_is_left_is_alone() {
        let mut turns = limited(3.0);
        for left in [3.0, 2.0] {
            let [turn] = <[Turn; 1]>::try_from(begin_all(&mut turns)).unwrap();
            assert_eq!(turn.account.limit(), Limit::Run);
            assert_eq!(turn.account.left(), Some(Usd(left)));
            turn.account.bill(Some(Usd(1.0)));
            turns.end(turn);
        }
    }

    /// A job at work, and its canaries under way with what each will be billed.
    struct AtWork {
        turn: Option<Turn>,
        account: Account,
        under_way: Vec<(Reservation, Usd)>,
    }

    /// What happens next: which of the jobs or canaries is meant, the most that a canary may cost, and the part that is billed.
    type Happening = (u8, prop::sample::Index, f64, f64);

    fn happening() -> impl Strategy<Value = Happening> {
        let which = any::<prop::sample::Index>();
        (0_u8..8, which, 0.0_f64..6.0, 0.0_f64..=1.0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(10_000))]

        /// Jobs begin, launch, reuse, end and lose canaries in any order; none is billed more than it may cost at worst.
        #[test]
        fn in_no_order_of_completion_is_a_limit_passed(
            limit in 1.0_f64..20.0,
            limits in prop::collection::vec(0.5_f64..8.0, 1..6),
            happenings in prop::collection::vec(happening(), 0..80),
        ) {
            let mut turns = limited(limit);
            let mut jobs: Vec<AtWork> = Vec::new();
            for (what, which, worst, part) in happenings {
                if what == 0 || jobs.is_empty() {
                    if let Some(of_job) = limits.get(jobs.len()).copied().map(Usd)
                        && let Some(turn) = turns.begin(Some(of_job))
                    {
                        let account = turn.account.clone();
                        // Who began beside others has all of its own limit, whatever they spend.
                        if turn.promise.is_some() {
                            prop_assert_eq!(account.left(), Some(of_job));
                        }
                        jobs.push(AtWork { turn: Some(turn), account, under_way: Vec::new() });
                    }
                } else {
                    let place = which.index(jobs.len());
                    let job = &mut jobs[place];
                    match what {
                        _ if job.turn.is_none() => {}
                        1 if job.under_way.is_empty() => turns.end(job.turn.take().unwrap()),
                        2 | 3 => if let Some((reservation, billed)) = job.under_way.pop() {
                            reservation.settle(Some(billed));
                        },
                        // Lost: what it cost is not known.
                        4 => drop(job.under_way.pop()),
                        _ => if let Some(reservation) = job.account.reserve(Usd(worst)) {
                            job.under_way.push((reservation, Usd(worst * part)));
                        },
                    }
                }
                let committed = jobs.iter().map(|job| job.account.committed().0);
                prop_assert!(committed.sum::<f64>() <= limit * (1.0 + 1e-6));
                for (job, of_job) in jobs.iter().zip(&limits) {
                    prop_assert!(of_job - job.account.committed().0 >= -1e-6 * of_job);
                }
            }
        }
    }
}
