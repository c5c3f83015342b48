//! The comment on a pull request: one for each spec, kept by [`keeper`].

use jiff::Timestamp;
use serde_json::json;

use super::client::Github;
use super::comment::{Comment, Marker, MarkerState, Order, says_the_same};
use super::comments::ListedComment;
use super::error::GithubError;
use super::identity::Identity;
use super::keeper::{self, KeptItem, Word};
use super::marked;

/// What became of the comment of a run that ended without a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Its address; `None` if there is no such comment: the run has posted its result, or a newer run has posted.
    pub url: Option<String>,
    /// What may be why it was not found, one sentence each.
    pub notes: Vec<String>,
}

impl Github {
    /// Posts a report as the one comment of its spec: over ours where there is one.
    ///
    /// `bodies` are the same report in at least one length, longest first, without their marker; each is tried only
    /// when GitHub will not take the one before it. A comment whose marker is ahead of `now` by more than clocks differ
    /// is not ours. The token needs `pull-requests: write`.
    pub async fn post_comment(
        &self,
        pull_request: u64,
        marker: &Marker,
        bodies: &[String],
        now: Timestamp,
    ) -> Result<KeptItem, GithubError> {
        let word = PostedReport {
            pull_request,
            marker,
            texts: bodies.iter().map(|body| marker.above(body)).collect(),
        };
        keeper::keep(self, word, now).await
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
                let text = marker(MarkerState::Final).above(body);
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
struct PostedReport<'a> {
    pull_request: u64,
    marker: &'a Marker,
    /// Marker and body, longest first.
    texts: Vec<String>,
}

impl Word for PostedReport<'_> {
    type Item = Comment;

    const WHAT: &'static str = "comment";
    const CREATED: &'static str = "created";
    const NOT_REMOVED: &'static str = "an older comment of ours could not be deleted";

    fn marker(&self) -> &Marker {
        self.marker
    }

    fn is_last(&self) -> bool {
        false
    }

    async fn list(&self, github: &Github) -> Result<Vec<Comment>, GithubError> {
        github.comments(self.pull_request).await
    }

    async fn create(&self, github: &Github) -> Result<Comment, GithubError> {
        let path = format!("issues/{}/comments", self.pull_request);
        let mut texts = self.texts.iter().peekable();
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
        let mut texts = self.texts.iter().peekable();
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
