//! The name of a canary's training job: `cg-<job>-<canary key>-<attempt>`.
//!
//! The same canary gets the same name from every run, so that a job that is already there is found and adopted, and
//! SageMaker itself refuses to start it twice.

/// What every name begins with; a sweep looks for it.
pub(super) const PREFIX: &str = "cg-";
/// Of the job's own name, for a reader. Jobs whose names begin alike differ in the key.
const JOB_LENGTH: usize = 24;
/// Hex digits of the canary key.
const KEY_LENGTH: usize = 16;
/// Where a job's name holds nothing that SageMaker takes.
const NAMELESS: &str = "job";

/// A valid SageMaker name, `[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}`, of at most 55 characters.
#[derive(Debug, Clone, PartialEq, Eq, Hash, derive_more::Display)]
#[display("{PREFIX}{job}-{key}-{attempt}")]
pub(super) struct JobName {
    job: String,
    key: String,
    /// From 0.
    pub(super) attempt: u32,
}

impl JobName {
    /// The name of one attempt at a canary. `key` is hexadecimal, of at least 16 digits; only the first 16 count.
    pub(super) fn new(job: &str, key: &str, attempt: u32) -> Self {
        let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let job: String = job.chars().take(JOB_LENGTH).map(plain).collect();
        let job = match job.trim_matches('-') {
            "" => NAMELESS,
            job => job,
        };
        let digits = key.chars().filter(char::is_ascii_hexdigit);
        let key: String = digits.take(KEY_LENGTH).collect();
        Self {
            job: job.to_owned(),
            key: format!("{:0<KEY_LENGTH$}", key.to_ascii_lowercase()),
            attempt,
        }
    }

    /// The name of a job that was listed; `None` for one that is no canary.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (rest, attempt) = text.strip_prefix(PREFIX)?.rsplit_once('-')?;
        let (job, key) = rest.rsplit_once('-')?;
        let name = Self {
            job: job.to_owned(),
            key: key.to_owned(),
            attempt: attempt.parse().ok()?,
        };
        // One that is written differently, with a `+` or a leading zero, is not ours.
        (Self::new(job, key, name.attempt) == name && name.to_string() == text).then_some(name)
    }

    /// The same canary, tried another time.
    #[must_use]
    pub(super) fn with_attempt(&self, attempt: u32) -> Self {
        Self {
            attempt,
            ..self.clone()
        }
    }

    /// Whether both are attempts at the same canary.
    pub(super) fn is_same_canary(&self, other: &Self) -> bool {
        self.job == other.job && self.key == other.key
    }

    /// What the names of all attempts at this canary begin with.
    pub(super) fn stem(&self) -> String {
        format!("{PREFIX}{}-{}-", self.job, self.key)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    /// `[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}`
    fn is_valid(name: &str) -> bool {
        (1..=63).contains(&name.len())
            && name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !name.starts_with('-')
            && !name.ends_with('-')
    }

    #[test]
    fn a_name_holds_job_key_and_attempt() {
        let name = JobName::new("churn", KEY, 0);
        assert_eq!(name.to_string(), "cg-churn-0123456789abcdef-0");
        assert_eq!(
            name.with_attempt(name.attempt + 1).to_string(),
            "cg-churn-0123456789abcdef-1"
        );
        assert!(name.to_string().starts_with(PREFIX));
    }

    #[test]
    fn a_cut_inside_a_row_of_hyphens_leaves_none_at_the_end() {
        let name = JobName::new("a-job-of-twenty-three---x-and-more", KEY, 2);
        assert_eq!(
            name.to_string(),
            "cg-a-job-of-twenty-three-0123456789abcdef-2"
        );
    }

    #[test]
    fn jobs_that_begin_alike_are_told_apart_by_the_key() {
        let long = "x".repeat(24);
        let first = JobName::new(&format!("{long}-one"), KEY, 0);
        let second = JobName::new(&format!("{long}-two"), "fedcba9876543210", 0);
        assert_ne!(first, second);
    }

    #[test]
    fn other_jobs_are_not_taken_for_canaries() {
        for other in [
            "",
            "cg-",
            "cg-churn",
            "cg-churn-0123456789abcdef",
            "cg-churn-0123456789abcdef-01",
            "cg-churn-0123456789abcdef-+1",
            "cg-churn-0123456789abcdef-4294967296",
            "cg-churn-0123456789ABCDEF-1",
            "cg-churn-0123456789abcde-1",
            "cg--0123456789abcdef-1",
            "cg-chürn-0123456789abcdef-1",
            "my-cg-churn-0123456789abcdef-1",
        ] {
            assert_eq!(JobName::parse(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn every_name_is_valid_and_is_read_back(
            job in "\\PC{0,80}",
            key in "[0-9a-f]{16,64}",
            attempt in any::<u32>(),
        ) {
            let name = JobName::new(&job, &key, attempt);
            let text = name.to_string();
            prop_assert!(is_valid(&text), "{text}");
            prop_assert_eq!(name.attempt, attempt);
            prop_assert_eq!(name.key.as_str(), &key[..16]);
            prop_assert_eq!(JobName::parse(&text), Some(name));
        }

        #[test]
        fn no_text_makes_reading_a_name_panic(text in "(cg-)?\\PC{0,60}") {
            if let Some(name) = JobName::parse(&text) {
                prop_assert_eq!(name.to_string(), text);
            }
        }
    }
}
