//! [`Lasting`]: how long credentials last that others gave.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use aws_credential_types::provider::{ProvideCredentials, SharedCredentialsProvider, future};

/// Where tools that export credentials write their end, as `aws configure export-credentials` does.
const END: &str = "AWS_CREDENTIAL_EXPIRATION";

/// Whether credentials were found for any request of this process.
static WERE_GIVEN: AtomicBool = AtomicBool::new(false);

pub(super) fn were_given() -> bool {
    WERE_GIVEN.load(Ordering::Relaxed)
}

/// When the credentials end that were given last; a clone sees the same.
#[derive(Debug, Clone, Default)]
pub(super) struct Lasting {
    /// Of credentials from the environment.
    written: Option<SystemTime>,
    given: Arc<Mutex<Option<SystemTime>>>,
}

impl Lasting {
    /// Nothing is known of the end of keys in the environment where no end stands beside them.
    pub(super) fn by(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let written = variable("AWS_SESSION_TOKEN")
            .and_then(|_| variable(END))
            .and_then(|end| end.trim().parse::<jiff::Timestamp>().ok());
        Self {
            written: written.map(SystemTime::from),
            given: Arc::default(),
        }
    }

    pub(super) fn end(&self) -> Option<SystemTime> {
        *self.given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives what another gives, and knows when that ends.
#[derive(Debug)]
pub(super) struct LastingCredentials {
    from: SharedCredentialsProvider,
    lasting: Lasting,
}

impl LastingCredentials {
    pub(super) fn new(from: SharedCredentialsProvider, lasting: Lasting) -> Self {
        Self { from, lasting }
    }
}

impl ProvideCredentials for LastingCredentials {
    fn provide_credentials<'a>(&'a self) -> future::ProvideCredentials<'a>
    where
        Self: 'a,
    {
        future::ProvideCredentials::new(async {
            let given = self.from.provide_credentials().await?;
            // The environment comes first: where it has a session, that is what was given.
            let end = given.expiry().or(self.lasting.written);
            let known = self.lasting.given.lock();
            *known.unwrap_or_else(PoisonError::into_inner) = end;
            WERE_GIVEN.store(true, Ordering::Relaxed);
            Ok(given)
        })
    }
}

#[cfg(test)]
mod tests {
    use aws_credential_types::Credentials;

    use super::*;

    #[tokio::test]
    async fn the_end_is_that_of_what_was_given_else_what_stands_beside_it() {
        let of = async |end: Option<SystemTime>, variables: &[(&str, &str)]| {
            let lasting = Lasting::by(&|name| {
                let found = variables.iter().find(|(own, _)| *own == name);
                found.map(|(_, value)| (*value).to_owned())
            });
            let given = Credentials::new("key", "secret", Some("token".into()), end, "test");
            let from = SharedCredentialsProvider::new(given);
            let watched = LastingCredentials::new(from, lasting.clone());
            assert_eq!(lasting.end(), None);
            watched.provide_credentials().await.unwrap();
            lasting.end()
        };
        let session = ("AWS_SESSION_TOKEN", "token");
        let written = ("AWS_CREDENTIAL_EXPIRATION", "2026-11-22T10:00:00+00:00");
        let ten: jiff::Timestamp = "2026-11-22T10:00:00Z".parse().unwrap();
        assert_eq!(of(None, &[]).await, None);
        assert_eq!(of(None, &[written]).await, None);
        assert_eq!(of(None, &[session, written]).await, Some(ten.into()));
        assert_eq!(
            of(None, &[session, ("AWS_CREDENTIAL_EXPIRATION", "soon")]).await,
            None
        );
        let own = SystemTime::UNIX_EPOCH;
        assert_eq!(of(Some(own), &[session, written]).await, Some(own));
    }
}
