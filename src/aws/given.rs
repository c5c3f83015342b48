//! Whether credentials were found for any request of this process.

use std::sync::atomic::{AtomicBool, Ordering};

use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};

static WERE_GIVEN: AtomicBool = AtomicBool::new(false);

pub(super) fn were_given() -> bool {
    WERE_GIVEN.load(Ordering::Relaxed)
}

/// Credentials of another provider. The process remembers that it gave some.
#[derive(Debug)]
pub(super) struct GivenCredentials(pub(super) SharedCredentialsProvider);

impl ProvideCredentials for GivenCredentials {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            let given = self.0.provide_credentials().await?;
            WERE_GIVEN.store(true, Ordering::Relaxed);
            Ok(given)
        })
    }
}
