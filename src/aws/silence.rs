//! Says that AWS does not answer, while it is waited for.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_sdk_sts::config::interceptors::{
    BeforeTransmitInterceptorContextRef, FinalizerInterceptorContextRef,
};
use aws_sdk_sts::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_sts::error::BoxError;
use aws_smithy_types::config_bag::{Storable, StoreReplace};
use tokio::task::AbortHandle;

/// How long an answer may take before it is said that there is none.
const SAID_AFTER: Duration = Duration::from_secs(40);

/// Whether AWS, or what stands for it, has answered any request of this process: credentials were found then.
static HAS_ANSWERED: AtomicBool = AtomicBool::new(false);

/// Whether there was an answer to any request.
pub(super) fn has_answered() -> bool {
    HAS_ANSWERED.load(Ordering::Relaxed)
}

/// Watches every attempt of a client.
#[derive(Debug, Clone)]
pub(super) struct SilenceWatch {
    service: &'static str,
    after: Duration,
    /// Whether it was said since the last answer.
    is_said: Arc<AtomicBool>,
}

impl SilenceWatch {
    /// `scale` shortens it as it does every time limit.
    pub(super) fn new(service: &'static str, scale: f64) -> Self {
        Self {
            service,
            after: SAID_AFTER.mul_f64(scale),
            is_said: Arc::default(),
        }
    }
}

/// Ends the wait with the attempt, also where that is dropped.
#[derive(Debug)]
struct Waiting(AbortHandle);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Storable for Waiting {
    type Storer = StoreReplace<Self>;
}

impl Intercept for SilenceWatch {
    fn name(&self) -> &'static str {
        "SilenceWatch"
    }

    fn read_before_attempt(
        &self,
        _: &BeforeTransmitInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let Self {
            service,
            after,
            is_said,
        } = self.clone();
        let waiting = tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if !is_said.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    "{service} has given no answer for {} s; it is waited for, and asked again",
                    SAID_AFTER.as_secs()
                );
            }
        });
        bag.interceptor_state()
            .store_put(Waiting(waiting.abort_handle()));
        Ok(())
    }

    fn read_after_attempt(
        &self,
        context: &FinalizerInterceptorContextRef<'_>,
        _: &RuntimeComponents,
        bag: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(Waiting(waiting)) = bag.load::<Waiting>() {
            waiting.abort();
        }
        if context.response().is_some() {
            self.is_said.store(false, Ordering::Relaxed);
            HAS_ANSWERED.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}
