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

    /// Each row: status, `retry-after`, `x-ratelimit-remaining`, seconds from the server's now until `x-ratelimit-reset`, message,
    /// and the seconds to wait before the first and the fourth try; `-` where it is not given or not tried again.
    const REFUSALS: &str = "
502 | - | - | - | | 1 | 8
429 | - | - | - | | 1 | 8
429 | 30 | - | - | | 30 | 30
403 | - | 0 | 20 | | 21 | 21
403 | - | 0 | -20 | | 1 | 1
403 | - | - | - | You have exceeded a secondary rate limit. Please wait | 60 | 60
a wait over a minute is an error instead
403 | 61 | - | - | | - | -
403 | - | 0 | 90 | | - | -
429 | 18446744073709551615 | - | - | | - | -
what no wait corrects
301 | - | - | - | | - | -
401 | - | - | - | | - | -
403 | - | - | - | | - | -
403 | - | 7 | 20 | | - | -
404 | - | - | - | | - | -
422 | - | - | - | | - | -
";

    #[test]
    fn what_passes_by_waiting_is_waited_for_as_long_as_github_says() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        for row in REFUSALS.lines().filter(|line| line.contains('|')) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let [status, after, remaining, reset, message, first, fourth] = cells[..] else {
                panic!("{row}")
            };
            let reset: Option<i64> = reset.parse().ok();
            let refusal = Refusal {
                status: status.parse().unwrap(),
                message: message.to_owned(),
                retry_after: after.parse().ok(),
                remaining: remaining.parse().ok(),
                reset: reset.map(|seconds| now + jiff::SignedDuration::from_secs(seconds)),
                date: Some(now),
            };
            for (tried, seconds) in [(1, first), (4, fourth)] {
                let wait = refusal.wait(tried).map(|wait| wait.as_secs());
                assert_eq!(wait, seconds.parse().ok(), "{row}");
            }
        }
        assert_eq!(backoff(200), LONGEST);
    }
}
