//! How fast the gate speaks to AWS: below SageMaker's rates, spread out, and never busy.

use std::cell::Cell;
use std::time::Duration;

use sha2::{Digest, Sha256};
use tokio::time::Instant;

/// CreateTrainingJob takes one request a second of an account.
const BETWEEN_CREATES: Duration = Duration::from_secs(1);
/// Between two looks at a job, and how much longer it may be: jobs that start together are looked at apart.
const BETWEEN_LOOKS: Duration = Duration::from_secs(10);
const SPREAD_OF_LOOKS: Duration = Duration::from_secs(5);

/// The waits of one gate.
#[derive(Debug)]
pub(super) struct Pace {
    /// All waits are multiplied by it; 1 but for tests.
    factor: f64,
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

    /// Waits until the `count`th look at a job.
    pub(super) async fn before_look(&self, job: &str, count: u32) {
        let spread = SPREAD_OF_LOOKS.mul_f64(share(job, count));
        self.wait(BETWEEN_LOOKS + spread).await;
    }

    /// What every wait is multiplied by.
    pub(super) fn factor(&self) -> f64 {
        self.factor
    }

    pub(super) async fn wait(&self, time: Duration) {
        tokio::time::sleep(time.mul_f64(self.factor)).await;
    }
}

/// In [0, 1), by the name: spread without a generator.
fn share(job: &str, count: u32) -> f64 {
    let hash = Sha256::digest(format!("{job}/{count}"));
    f64::from(u16::from_be_bytes([hash[0], hash[1]])) / f64::from(u16::MAX)
}
