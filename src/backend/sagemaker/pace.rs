//! How fast the gate speaks to AWS: below SageMaker's rates, spread out, and never busy.

use std::cell::Cell;
use std::time::Duration;

use tokio::time::Instant;

use crate::aws::time_scale;
use crate::backend::Cancellation;

/// CreateTrainingJob takes one request a second of an account.
const BETWEEN_CREATES: Duration = Duration::from_secs(1);
/// Between two looks at a job, and how much longer it may be: jobs that start together are looked at apart.
const BETWEEN_LOOKS: Duration = Duration::from_secs(10);
const SPREAD_OF_LOOKS: Duration = Duration::from_secs(5);

/// A request that was throttled is sent again after a random part of a time that doubles up to the longest: gates that were
/// refused together do not come back together.
/// <https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/>
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
const LONGEST_BACKOFF: Duration = Duration::from_secs(20);

/// The waits of one gate.
#[derive(Debug)]
pub(super) struct Pace {
    /// All waits are multiplied by it; 1 but for tests.
    pub(super) factor: f64,
    next_create: Cell<Option<Instant>>,
}

impl Pace {
    pub(super) fn new(factor: f64) -> Self {
        Self {
            factor,
            next_create: Cell::new(None),
        }
    }

    /// Waits for this run's turn to create a job.
    pub(super) async fn before_create(&self) {
        let now = Instant::now();
        let turn = self.next_create.get().map_or(now, |next| next.max(now));
        self.next_create
            .set(Some(turn + BETWEEN_CREATES.mul_f64(self.factor)));
        tokio::time::sleep_until(turn).await;
    }

    /// Waits until the next look at a job.
    pub(super) async fn before_look(&self) {
        let spread = SPREAD_OF_LOOKS.mul_f64(rand::random());
        self.wait(BETWEEN_LOOKS + spread).await;
    }

    /// Time that passed, as if nothing were hurried.
    pub(super) fn unhurried(&self, passed: Duration) -> Duration {
        passed.div_f64(time_scale(self.factor))
    }

    pub(super) async fn wait(&self, time: Duration) {
        tokio::time::sleep(time.mul_f64(self.factor)).await;
    }
}

/// What the work gives; `None` where it is not done when `time` has passed since the cancellation.
pub(super) async fn unless_since<T>(
    cancellation: &Cancellation,
    time: Duration,
    work: impl Future<Output = T>,
) -> Option<T> {
    let is_late = async {
        cancellation.cancelled().await;
        tokio::time::sleep(time).await;
    };
    tokio::select! {
        () = is_late => None,
        done = work => Some(done),
    }
}

/// How long to wait before the next try, after so many that failed.
pub(super) fn backoff(failed: u32) -> Duration {
    let longest = FIRST_BACKOFF.saturating_mul(2_u32.saturating_pow(failed.saturating_sub(1)));
    longest.min(LONGEST_BACKOFF).mul_f64(rand::random())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backoff_is_a_random_part_of_a_time_that_doubles() {
        for failed in [1, 2, 3, 10, u32::MAX] {
            let longest = [1.0, 2.0, 4.0].get(failed as usize - 1).unwrap_or(&20.0);
            let waits: Vec<f64> = (0..200).map(|_| backoff(failed).as_secs_f64()).collect();
            assert!(waits.iter().all(|wait| (0.0..*longest).contains(wait)));
            // All of the range is used.
            assert!(waits.iter().any(|wait| *wait < longest / 4.0), "{failed}");
            assert!(waits.iter().any(|wait| *wait > longest * 0.75), "{failed}");
        }
    }
}
