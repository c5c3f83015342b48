//! Tracking a drift: one open issue for each spec while it lasts, closed when it is over.
//!
//! As with the comment ([`posting`](super::posting)) nothing relies on what was read a moment ago: after each write the
//! issues are read again, until they show what they should. Where two runs opened one each, all runs keep the oldest. A
//! closed issue is never opened again, and never a new one for a word that is older than a closing.

use jiff::Timestamp;
use serde_json::json;

use super::client::Github;
use super::comment::{CLOCKS_DIFFER, Identity, Order};
use super::error::GithubError;
use super::issue::{Issue, IssueMarker, newest, own_issues, title};
use super::rounds;

/// How often an issue is sent whose answers are lost.
const ATTEMPTS: usize = 4;

/// How often an issue is looked for that GitHub has taken and does not list.
const LOOKS: usize = 4;

/// What a check found, in Markdown without the marker. What is longer than GitHub takes is cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tracking {
    Drifted {
        title: String,
        body: String,
    },
    /// There is no drift, or none any more; the body is the last word of an open issue.
    Over {
        body: String,
    },
}

/// What became of the tracking issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tracked {
    pub did: Did,
    /// Where a person reads it; `None` only where there is none.
    pub url: Option<String>,
    /// What went wrong without harm, one sentence each.
    pub notes: Vec<String>,
}

/// What a check changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Did {
    Opened,
    Updated,
    Closed,
    /// It said so already.
    Unchanged,
    /// A newer run has told already.
    Superseded,
    /// There is no drift and no issue.
    Nothing,
}

impl Github {
    /// Opens, updates or closes the tracking issue of the marker's spec.
    ///
    /// An issue whose marker is ahead of `now` by more than clocks differ is not ours. The token needs `issues: write`.
    pub async fn track(
        &self,
        marker: &IssueMarker,
        state: Tracking,
        now: Timestamp,
    ) -> Result<Tracked, GithubError> {
        let mut notes = Vec::new();
        let identity = self.identity(&mut notes).await;
        let wanted = match state {
            Tracking::Drifted { title: text, body } => Wanted::Open {
                title: title(&text),
                body: marker.above(&body),
            },
            Tracking::Over { body } => Wanted::Closed {
                body: marker.above(&body),
            },
        };
        let mut tracker = Tracker {
            github: self,
            identity,
            marker,
            wanted: &wanted,
            // A clock that is behind does not make our own issue a stranger's.
            now: now.max(marker.order.time),
            created: None,
            looked: 0,
            tried: 0,
            written: None,
            trouble: None,
            gone: Vec::new(),
            notes,
        };
        let (did, url) = tracker.track().await?;
        Ok(Tracked {
            did,
            url,
            notes: tracker.notes,
        })
    }
}

/// What is to be there in the end; bodies with their marker.
enum Wanted {
    Open { title: String, body: String },
    Closed { body: String },
}

type Done = (Did, Option<String>);

/// One check's word on its way.
struct Tracker<'a> {
    github: &'a Github,
    /// As far as is known; the first issue that we open tells it for sure.
    identity: Identity,
    marker: &'a IssueMarker,
    wanted: &'a Wanted,
    now: Timestamp,
    /// The issue that this run opened, though it may not be the one that stays.
    created: Option<Issue>,
    /// How often that one was not among the issues.
    looked: usize,
    /// How often an issue was sent.
    tried: usize,
    /// What was written, and where: from then on nothing that goes wrong is an error.
    written: Option<Done>,
    /// What another round may mend.
    trouble: Option<GithubError>,
    /// Issues that were listed as open, and are not any more.
    gone: Vec<u64>,
    notes: Vec<String>,
}

impl Tracker<'_> {
    /// Rounds of looking and writing, until a look shows that nothing is left to write.
    async fn track(&mut self) -> Result<Done, GithubError> {
        let github = self.github;
        let trouble = match rounds::until_done(github, async || self.round().await).await {
            Ok(done) => return Ok(done),
            Err(trouble) => trouble.or(self.trouble.take()),
        };
        rounds::as_written("issue", self.written.take(), trouble, &mut self.notes)
    }

    /// Looks, and does the next thing; what became of the issue when nothing is left to do.
    async fn round(&mut self) -> Result<Option<Done>, GithubError> {
        let issues = self.github.open_issues().await?;
        let mut own = own_issues(&issues, &self.identity, &self.marker.spec, self.now);
        own.retain(|(issue, _)| !self.gone.contains(&issue.number));
        let Some((kept, _)) = own.first() else {
            return self.without_one(&issues).await;
        };
        let (newest, theirs) = newest(&own).expect("there is one");
        if theirs.order > self.marker.order {
            if newest.number != kept.number && !kept.says(&newest.title, &newest.body) {
                if let Some(written) = self.write_over(kept, &newest.title, &newest.body).await? {
                    self.written = Some((Did::Superseded, Some(written.url)));
                }
                return Ok(None);
            }
            self.close_duplicates(&own).await;
            return Ok(Some(self.superseded(kept, theirs.order)));
        }
        match self.wanted {
            Wanted::Open { title, body } if kept.says(title, body) => {
                self.close_duplicates(&own).await;
                Ok(Some((self.did(kept), Some(kept.url.clone()))))
            }
            Wanted::Open { title, body } => {
                let written = self.write_over(kept, title, body).await?;
                let is_shown_otherwise = written.as_ref().is_some_and(|it| !it.says(title, body));
                if let Some(written) = written {
                    self.written = Some((Did::Updated, Some(written.url)));
                }
                // Written again it would be no different.
                Ok(self.written.take_if(|_| is_shown_otherwise))
            }
            Wanted::Closed { body } => {
                self.close_duplicates(&own).await;
                self.close(kept, body).await?;
                Ok(None)
            }
        }
    }

    /// None of ours is open.
    async fn without_one(&mut self, open: &[Issue]) -> Result<Option<Done>, GithubError> {
        let Wanted::Open { title, body } = self.wanted else {
            let done = self.written.take();
            return Ok(Some(done.unwrap_or((Did::Nothing, None))));
        };
        if let Some((by, order)) = self.closed_since().await? {
            return Ok(Some(match order > self.marker.order {
                true => self.superseded(&by, order),
                // This run's own word, closed by a person at once.
                false => (self.did(&by), Some(by.url)),
            }));
        }
        match self.standing() {
            Some(created) => Ok(self.await_created(created, open)),
            None => self.create(title, body).await.map(|()| None),
        }
    }

    /// The issue that tells no less than this run would and was closed since its event, with its order. A newer run that
    /// found the drift to be over must not be contradicted by an older one that ends late.
    async fn closed_since(&self) -> Result<Option<(Issue, Order)>, GithubError> {
        let since = self.marker.order.time.saturating_sub(CLOCKS_DIFFER);
        let since = since.unwrap_or(self.marker.order.time);
        let closed = self.github.issues_closed_since(since).await?;
        let own = own_issues(&closed, &self.identity, &self.marker.spec, self.now);
        let told = newest(&own).filter(|(_, theirs)| theirs.order >= self.marker.order);
        Ok(told.map(|(issue, theirs)| ((*issue).clone(), theirs.order)))
    }

    /// The issue that this run opened, unless it is known to be gone.
    fn standing(&self) -> Option<Issue> {
        let created = self.created.as_ref();
        let standing = created.filter(|created| !self.gone.contains(&created.number));
        standing.cloned()
    }

    /// What was opened and is not recognised is never opened again: it is listed with another text, or not listed yet.
    fn await_created(&mut self, created: Issue, open: &[Issue]) -> Option<Done> {
        self.looked += 1;
        let is_listed = open.iter().any(|issue| issue.number == created.number);
        if !is_listed && self.looked < LOOKS {
            return None;
        }
        self.notes.push(match is_listed {
            true => "the issue was opened, and somebody has changed it since".to_owned(),
            false => "the issue was opened, and GitHub does not list it yet".to_owned(),
        });
        Some((Did::Opened, Some(created.url)))
    }

    async fn create(&mut self, title: &str, body: &str) -> Result<(), GithubError> {
        if self.tried == ATTEMPTS
            && let Some(error) = self.trouble.take()
        {
            return Err(error);
        }
        self.tried += 1;
        match self.github.open_issue(title, body).await {
            Ok(issue) => {
                if let Some(author) = &issue.author {
                    self.identity = Identity::from(author);
                }
                self.written = Some((Did::Opened, Some(issue.url.clone())));
                self.created = Some(issue);
                Ok(())
            }
            // The next look tells.
            Err(error @ GithubError::Unsure { .. }) => {
                self.trouble = Some(error);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn write_over(
        &mut self,
        kept: &Issue,
        title: &str,
        body: &str,
    ) -> Result<Option<Issue>, GithubError> {
        let change = json!({"title": title, "body": body});
        let result = self.github.change_issue(kept, &change).await;
        self.unless_gone(kept, result)
    }

    async fn close(&mut self, kept: &Issue, body: &str) -> Result<(), GithubError> {
        let change = json!({"body": body, "state": "closed", "state_reason": "completed"});
        let result = self.github.change_issue(kept, &change).await;
        if let Some(closed) = self.unless_gone(kept, result)? {
            // The list may go on showing it as open.
            self.gone.push(closed.number);
            self.written = Some((Did::Closed, Some(closed.url)));
        }
        Ok(())
    }

    fn unless_gone(
        &mut self,
        kept: &Issue,
        result: Result<Issue, GithubError>,
    ) -> Result<Option<Issue>, GithubError> {
        match result {
            Ok(written) => Ok(Some(written)),
            Err(error @ (GithubError::NotFound { .. } | GithubError::Gone { .. })) => {
                self.gone.push(kept.number);
                self.trouble = Some(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Closes all but the oldest; also what this run opened, though it may not be listed yet. One that stays is a blemish:
    /// the next run finds it again.
    async fn close_duplicates(&mut self, own: &[(&Issue, IssueMarker)]) {
        let Some(((kept, _), duplicates)) = own.split_first() else {
            return;
        };
        let unlisted = self
            .standing()
            .filter(|created| own.iter().all(|(issue, _)| issue.number != created.number));
        let unlisted = unlisted
            .as_ref()
            .map(|created| (created, self.marker.clone()));
        let duplicates = duplicates
            .iter()
            .map(|(issue, marker)| (*issue, marker.clone()));
        for (duplicate, marker) in duplicates.chain(unlisted) {
            match self.github.close_duplicate(duplicate, &marker, kept).await {
                Ok(()) => self.gone.push(duplicate.number),
                Err(error) => self.notes.push(format!(
                    "a second issue of ours could not be closed ({}): {error}",
                    duplicate.url
                )),
            }
        }
    }

    fn superseded(&mut self, by: &Issue, order: Order) -> Done {
        let Order { time, run, attempt } = order;
        self.notes.push(format!(
            "the issue tells of a newer run, and was left: run {run}, attempt {attempt}, of {time}"
        ));
        (Did::Superseded, Some(by.url.clone()))
    }

    /// What this run did to the issue that says its word.
    fn did(&self, kept: &Issue) -> Did {
        let created = self.created.as_ref();
        match &self.written {
            _ if created.is_some_and(|created| created.number == kept.number) => Did::Opened,
            Some(_) => Did::Updated,
            // Sent, and the answer lost.
            None if self.tried > 0 => Did::Opened,
            None => Did::Unchanged,
        }
    }
}
