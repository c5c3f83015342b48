//! The comment on a pull request: one for each spec, kept by [`keeper`].

use jiff::Timestamp;
use serde_json::json;

use super::client::Github;
use super::comment::{Comment, Marker, MarkerState, Order, says_the_same};
use super::comments::ListedComment;
use super::error::GithubError;
use super::identity::Identity;
use super::keeper::{self, KeeperChange, KeptItem, Word};
use super::last_verdict::{LastVerdict, verdict_in, with_verdict};
use super::marked::{self, OwnItem};

/// What may be posted at most: GitHub takes 65,536 of something; under this many bytes a comment is safe whatever it counts.
pub const LONGEST_COMMENT: usize = 65_000;

/// What happens where no comment of ours is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfMissing {
    Create,
    /// There is nothing to say that anybody waits for.
    LeaveOut,
}

/// What becomes of a comment of an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OlderComments {
    WriteOver,
    /// Hidden as outdated, and a new one is written below.
    Hide,
}

/// A report for a pull request.
#[derive(Debug, Clone, Copy)]
pub struct Posting<'a> {
    pub pull_request: u64,
    pub marker: &'a Marker,
    /// The same report in at least one length, longest first, without its marker; each is tried only when GitHub will not take
    /// the one before it.
    pub bodies: &'a [String],
    pub if_missing: IfMissing,
    pub older: OlderComments,
    pub last_verdict: LastVerdict,
}

/// What became of the comment of a run that ended without a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its address; `None` if there is no such comment: the run has posted its result, or a newer run has posted.
    pub url: Option<String>,
    /// What may be why it was not found, one sentence each.
    pub notes: Vec<String>,
}

impl Github {
    /// Posts a report as the one comment of its spec: over ours where there is one, or below it.
    ///
    /// A comment whose marker is ahead of `now` by more than clocks differ is not ours. The token needs
    /// `pull-requests: write`.
    pub async fn post_comment(
        &self,
        posting: Posting<'_>,
        now: Timestamp,
    ) -> Result<KeptItem, GithubError> {
        let mut posting = posting;
        if posting.if_missing == IfMissing::LeaveOut && posting.older == OlderComments::Hide {
            // One of an earlier run is brought up to date by a new one.
            let mut notes = Vec::new();
            if !self
                .own_comments(&posting, now, &mut notes)
                .await?
                .is_empty()
            {
                posting.if_missing = IfMissing::Create;
            }
        }
        let mut kept = keeper::keep(self, PostedReport(posting), now).await?;
        let is_ours = !matches!(
            kept.change,
            KeeperChange::Superseded | KeeperChange::Nothing
        );
        if is_ours
            && posting.older == OlderComments::Hide
            && let Err(error) = self.hide_older(&posting, now, &mut kept.notes).await
        {
            let note = format!("an older comment of ours could not be hidden: {error}");
            kept.notes.push(note);
        }
        Ok(kept)
    }

    /// Hides our comments of earlier runs as outdated.
    async fn hide_older(
        &self,
        posting: &Posting<'_>,
        now: Timestamp,
        notes: &mut Vec<String>,
    ) -> Result<(), GithubError> {
        let own = self.own_comments(posting, now, notes).await?;
        let older = own.iter().filter(|(comment, theirs)| {
            theirs.order < posting.marker.order && !comment.node_id.is_empty()
        });
        let older: Vec<&str> = older.map(|(comment, _)| comment.node_id.as_str()).collect();
        self.minimize_as_outdated(&older).await
    }

    /// Ours about the spec, oldest first.
    async fn own_comments(
        &self,
        posting: &Posting<'_>,
        now: Timestamp,
        notes: &mut Vec<String>,
    ) -> Result<Vec<(Comment, Marker)>, GithubError> {
        let identity = self.identity(notes).await;
        let comments = self.comments(posting.pull_request).await?;
        let Marker { spec, order, .. } = posting.marker;
        let own = marked::own(&comments, &identity, spec, now.max(order.time));
        let own = own
            .into_iter()
            .map(|(comment, marker)| (comment.clone(), marker));
        Ok(own.collect())
    }

    /// Ends the comment of a run that said it was at work and ended without another word: `body` takes its place.
    pub async fn finish_stub(
        &self,
        pull_request: u64,
        run: (&str, &Order),
        body: &str,
    ) -> Result<Finished, GithubError> {
        let (spec, order) = run;
        let marker = |state| Marker {
            spec: spec.to_owned(),
            order: *order,
            state,
        };
        let mut notes = Vec::new();
        let identity = self.identity(&mut notes).await;
        let comments = self.comments(pull_request).await?;
        let stub = marker(MarkerState::Running);
        let own = marked::own(&comments, &identity, spec, order.time);
        let stub = own.into_iter().find(|(_, theirs)| *theirs == stub);
        let url = match stub {
            None => None,
            Some((comment, _)) => {
                let text = match verdict_in(&comment.body) {
                    Some(verdict) => {
                        with_verdict(body, verdict, LastVerdict::GivenBack, LONGEST_COMMENT)
                    }
                    None => body.to_owned(),
                };
                let text = marker(MarkerState::Final).above(&text);
                match self.write_over(comment, &text).await {
                    Ok(written) => Some(written.url),
                    Err(GithubError::NotFound { .. }) => None,
                    Err(error) => return Err(error),
                }
            }
        };
        Ok(Finished { url, notes })
    }
}

/// A report on its way to a pull request.
struct PostedReport<'a>(Posting<'a>);

impl PostedReport<'_> {
    /// Marker and body, longest first; over a comment with the verdict that it had.
    fn texts(&self, over: Option<&Comment>) -> Vec<String> {
        let verdict = over.and_then(|comment| verdict_in(&comment.body));
        let shown = self.0.last_verdict;
        let room = LONGEST_COMMENT.saturating_sub(self.0.marker.to_string().len() + 1);
        let body = |body: &String| match verdict {
            Some(verdict) => with_verdict(body, verdict, shown, room),
            None => body.clone(),
        };
        let bodies = self.0.bodies.iter().map(body);
        bodies.map(|body| self.0.marker.above(&body)).collect()
    }
}

impl Word for PostedReport<'_> {
    type Item = Comment;

    const WHAT: &'static str = "comment";
    const CREATED: &'static str = "created";
    const NOT_REMOVED: &'static str = "an older comment of ours could not be deleted";

    fn marker(&self) -> &Marker {
        self.0.marker
    }

    fn is_last(&self) -> bool {
        false
    }

    fn is_wanted(&self) -> bool {
        self.0.if_missing == IfMissing::Create
    }

    /// Each run has a comment of its own where older ones are hidden.
    fn keep_to_its_own(&self, own: &mut Vec<OwnItem<'_, Comment>>) {
        let orders = own.iter().map(|(_, theirs)| theirs.order);
        let newest = orders.max().unwrap_or(self.0.marker.order);
        if self.0.older == OlderComments::Hide {
            own.retain(|(_, theirs)| theirs.order == newest.max(self.0.marker.order));
        }
    }

    async fn list(&self, github: &Github) -> Result<Vec<Comment>, GithubError> {
        github.comments(self.0.pull_request).await
    }

    async fn create(&self, github: &Github) -> Result<Comment, GithubError> {
        let path = format!("issues/{}/comments", self.0.pull_request);
        let texts = self.texts(None);
        let mut texts = texts.iter().peekable();
        loop {
            let text = texts.next().expect("a report has a length");
            match github.post_json(&path, &json!({ "body": text })).await {
                Err(GithubError::Unprocessable { .. }) if texts.peek().is_some() => {}
                result => return result.map(|ListedComment(comment)| comment),
            }
        }
    }

    /// Writes the longest text that GitHub takes.
    async fn update(
        &self,
        github: &Github,
        kept: &Comment,
    ) -> Result<Option<Comment>, GithubError> {
        let texts = self.texts(Some(kept));
        let mut texts = texts.iter().peekable();
        loop {
            let text = texts.next().expect("a report has a length");
            if says_the_same(&kept.body, text) {
                return Ok(None);
            }
            match github.write_over(kept, text).await {
                Err(GithubError::Unprocessable { .. }) if texts.peek().is_some() => {}
                result => return result.map(Some),
            }
        }
    }

    async fn copy(
        &self,
        github: &Github,
        kept: &Comment,
        word: &Comment,
    ) -> Result<Comment, GithubError> {
        github.write_over(kept, &word.body).await
    }

    fn is_shown(&self, _: &Comment) -> bool {
        true
    }

    async fn remove(
        &self,
        github: &Github,
        duplicate: &Comment,
        _: &Comment,
    ) -> Result<(), GithubError> {
        github.delete_comment(duplicate).await
    }

    /// A comment that is not listed is deleted.
    async fn said_since(
        &self,
        _: &Github,
        _: &Identity,
        _: Timestamp,
    ) -> Result<Option<Comment>, GithubError> {
        Ok(None)
    }
}
