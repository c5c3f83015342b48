//! Which refusals pass by waiting, and for how long.
//! <https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit>

use std::time::Duration;

use jiff::Timestamp;

/// How often a request is tried.
pub(super) const TRIES: u32 = 5;
/// The longest wait. A request that would have to wait longer is not tried again.
const LONGEST: Duration = Duration::from_secs(60);

/// What an answer says that is not a success.
#[derive(Debug, Clone, Default)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) message: String,
    /// Seconds, from `retry-after`.
    pub(super) retry_after: Option<u64>,
    /// From `x-ratelimit-remaining`.
    pub(super) remaining: Option<u64>,
    /// From `x-ratelimit-reset`.
    pub(super) reset: Option<Timestamp>,
    /// The server's own time, from `date`: how long there is to wait does not depend on the clock here.
    pub(super) date: Option<Timestamp>,
}

impl Refusal {
    /// Whether it is about the number of requests; such a request was not carried out.
    pub(super) fn is_rate_limit(&self) -> bool {
        // The secondary limit may come without any header; its documentation names the message.
        let says_so = || self.message.contains("secondary rate limit");
        match self.status {
            429 => true,
            403 => self.remaining == Some(0) || self.retry_after.is_some() || says_so(),
            _ => false,
        }
    }

    /// Whether the server had trouble of its own.
    pub(super) fn is_server_trouble(&self) -> bool {
        (500..600).contains(&self.status)
    }

    /// When requests are answered again.
    pub(super) fn until(&self) -> Option<Timestamp> {
        match self.retry_after {
            Some(seconds) => {
                let wait = jiff::SignedDuration::from_secs(seconds.try_into().ok()?);
                self.date?.checked_add(wait).ok()
            }
            None => self.reset.filter(|_| self.remaining == Some(0)),
        }
    }

    /// How long to wait before the next try, the first being number 1; none when no wait within bounds will help.
    pub(super) fn wait(&self, tried: u32) -> Option<Duration> {
        if !self.is_rate_limit() && !self.is_server_trouble() {
            return None;
        }
        let wait = match (self.retry_after, self.until().zip(self.date)) {
            (Some(seconds), _) => Duration::from_secs(seconds),
            (None, Some((until, date))) => {
                let seconds = until.duration_since(date).as_secs().max(0);
                Duration::from_secs(seconds.unsigned_abs() + 1)
            }
            // "Otherwise, wait for at least one minute before retrying."
            (None, None) if self.status == 403 => LONGEST,
            (None, None) => backoff(tried),
        };
        (wait <= LONGEST).then_some(wait)
    }
}

/// 1, 2, 4, 8 s …
pub(super) fn backoff(tried: u32) -> Duration {
    let seconds = 1_u64.checked_shl(tried.saturating_sub(1));
    Duration::from_secs(seconds.unwrap_or(u64::MAX)).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16) -> Refusal {
        Refusal {
            status,
            ..Refusal::default()
        }
    }

    fn seconds(refusal: &Refusal, tried: u32) -> Option<u64> {
        refusal.wait(tried).map(|wait| wait.as_secs())
    }

    #[test]
    fn server_trouble_is_waited_for_twice_as_long_each_time() {
        let waits: Vec<_> = (1..TRIES)
            .map(|tried| seconds(&refusal(502), tried))
            .collect();
        assert_eq!(waits, [Some(1), Some(2), Some(4), Some(8)]);
        assert_eq!(backoff(200), LONGEST);
    }

    #[test]
    fn what_no_wait_corrects_is_an_error_at_once() {
        for status in [301, 400, 401, 403, 404, 409, 410, 422, 451] {
            assert_eq!(refusal(status).wait(1), None, "{status}");
        }
    }

    #[test]
    fn a_rate_limit_is_waited_for_as_long_as_github_says() {
        let asked = Refusal {
            retry_after: Some(30),
            ..refusal(429)
        };
        assert_eq!(seconds(&asked, 1), Some(30));
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let later = Timestamp::from_second(1_800_000_020).unwrap();
        let primary = Refusal {
            remaining: Some(0),
            reset: Some(later),
            date: Some(now),
            ..refusal(403)
        };
        assert_eq!(seconds(&primary, 1), Some(21));
        assert_eq!(primary.until(), Some(later));
        let past = Refusal {
            reset: Some(now),
            date: Some(later),
            ..primary
        };
        assert_eq!(seconds(&past, 1), Some(1));
        let message = "You have exceeded a secondary rate limit. Please wait".to_owned();
        let secondary = Refusal {
            message,
            ..refusal(403)
        };
        assert_eq!(seconds(&secondary, 1), Some(60));
    }

    #[test]
    fn a_wait_over_a_minute_is_an_error_instead() {
        let asked = Refusal {
            retry_after: Some(61),
            ..refusal(403)
        };
        assert!(asked.is_rate_limit());
        assert_eq!(asked.wait(1), None);
        let endless = Refusal {
            retry_after: Some(u64::MAX),
            date: Some(Timestamp::MAX),
            ..refusal(429)
        };
        assert_eq!((endless.wait(1), endless.until()), (None, None));
    }
}
