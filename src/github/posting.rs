//! Posting the comment: ours is updated, never doubled, and never made older.
//!
//! GitHub offers no lock and no conditional write, so nothing here relies on what was read a moment ago: after each write
//! the list is read again, until it shows what it should. What two runs wrote at once becomes one by a rule that both of
//! them follow ([`choose`], [`fold`]), and what was written without an answer is looked for before it is written again.
//!
//! One gap stays: of two runs that write within the same second, an older one that has looked can still write last.
//! A workflow's concurrency group closes it.

use jiff::Timestamp;
use serde_json::json;

use super::client::Github;
use super::comment::{
    Comment, CommentChoice, Identity, Marker, MarkerState, Order, choose, fold, own_comments,
    says_the_same,
};
use super::comments::ListedComment;
use super::error::GithubError;
use super::rounds;

/// How often a comment is sent whose answers are lost.
const ATTEMPTS: usize = 4;

/// How often a comment is looked for that GitHub has taken and does not list.
const LOOKS: usize = 4;

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    pub change: CommentChange,
    /// Where a person reads it; where it was superseded, the newer one.
    pub url: String,
    /// What went wrong without harm to the report, one sentence each.
    pub notes: Vec<String>,
}

/// What posting a report changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentChange {
    Created,
    Updated,
    /// It stood there already, to the letter.
    Unchanged,
    /// A newer run has told already.
    Superseded,
}

/// What became of the comment of a run that ended without a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    /// Where it stands; `None` where there is no such comment: the run has told its end, or another has told since.
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
    ) -> Result<Posted, GithubError> {
        let mut notes = Vec::new();
        let identity = self.identity(&mut notes).await;
        let mut posting = Posting {
            github: self,
            pull_request,
            identity,
            marker,
            // A clock that is behind does not make our own comment a stranger's.
            now: now.max(marker.order.time),
            texts: bodies.iter().map(|body| marker.above(body)).collect(),
            created: None,
            looked: 0,
            tried: 0,
            written: None,
            trouble: None,
            gone: Vec::new(),
            notes,
        };
        let (change, url) = posting.post().await?;
        Ok(Posted {
            change,
            url,
            notes: posting.notes,
        })
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
        let own = own_comments(&comments, &identity, spec, order.time);
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

/// One report on its way.
struct Posting<'a> {
    github: &'a Github,
    pull_request: u64,
    /// As far as is known; the first comment that we write tells it for sure.
    identity: Identity,
    marker: &'a Marker,
    now: Timestamp,
    /// Marker and body, longest first.
    texts: Vec<String>,
    /// The comment that this run made, though it may not be the one that stays.
    created: Option<Comment>,
    /// How often that one was not among the comments.
    looked: usize,
    /// How often a comment was sent.
    tried: usize,
    /// What was written, and where: from then on nothing that goes wrong is an error.
    written: Option<(CommentChange, String)>,
    /// What another round may mend.
    trouble: Option<GithubError>,
    /// Comments that were listed, and are not there any more.
    gone: Vec<u64>,
    notes: Vec<String>,
}

impl Posting<'_> {
    /// Rounds of looking and writing, until a look shows that nothing is left to write.
    async fn post(&mut self) -> Result<(CommentChange, String), GithubError> {
        let github = self.github;
        let trouble = match rounds::until_done(github, async || self.round().await).await {
            Ok(done) => return Ok(done),
            Err(trouble) => trouble.or(self.trouble.take()),
        };
        rounds::as_written("comment", self.written.take(), trouble, &mut self.notes)
    }

    /// Looks, and does the next thing; what became of the report when nothing is left to do.
    async fn round(&mut self) -> Result<Option<(CommentChange, String)>, GithubError> {
        let comments = self.github.comments(self.pull_request).await?;
        let own = self.own(&comments);
        match choose(&own, self.marker) {
            CommentChoice::Superseded { by, order } if self.created.is_none() => {
                Ok(Some(self.superseded(by, order)))
            }
            CommentChoice::Superseded { order, .. } => self.give_way(&own, order).await,
            CommentChoice::Update { kept } => self.update(kept, &own[1..]).await,
            CommentChoice::Create => match self.standing() {
                Some(created) => Ok(self.await_created(&created, &comments)),
                None => self.create().await.map(|()| None),
            },
        }
    }

    /// The comment that this run made, unless it is known to be gone.
    fn standing(&self) -> Option<Comment> {
        let created = self.created.as_ref();
        let standing = created.filter(|created| !self.gone.contains(&created.id));
        standing.cloned()
    }

    /// What was created and is not recognised is never created again: it is listed with another text, or not listed yet.
    fn await_created(
        &mut self,
        created: &Comment,
        comments: &[Comment],
    ) -> Option<(CommentChange, String)> {
        self.looked += 1;
        let is_listed = comments.iter().any(|comment| comment.id == created.id);
        if !is_listed && self.looked < LOOKS {
            return None;
        }
        self.notes.push(match is_listed {
            true => "the comment was created, and somebody has changed it since".to_owned(),
            false => "the comment was created, and GitHub does not list it yet".to_owned(),
        });
        Some((CommentChange::Created, created.url.clone()))
    }

    fn superseded(&mut self, by: &Comment, order: Order) -> (CommentChange, String) {
        let Order { time, run, attempt } = order;
        self.notes.push(format!(
            "the comment tells of a newer run, and was left: run {run}, attempt {attempt}, of {time}"
        ));
        (CommentChange::Superseded, by.url.clone())
    }

    fn own<'c>(&self, comments: &'c [Comment]) -> Vec<(&'c Comment, Marker)> {
        let mut own = own_comments(comments, &self.identity, &self.marker.spec, self.now);
        own.retain(|(comment, _)| !self.gone.contains(&comment.id));
        own
    }

    async fn create(&mut self) -> Result<(), GithubError> {
        if self.tried == ATTEMPTS
            && let Some(error) = self.trouble.take()
        {
            return Err(error);
        }
        self.tried += 1;
        let path = format!("issues/{}/comments", self.pull_request);
        let mut texts = self.texts.iter().peekable();
        let result = loop {
            let text = texts.next().expect("a report has a length");
            match self.github.post_json(&path, &json!({ "body": text })).await {
                Err(GithubError::Unprocessable { .. }) if texts.peek().is_some() => {}
                result => break result,
            }
        };
        match result {
            Ok(ListedComment(comment)) => {
                if let Some(author) = &comment.author {
                    self.identity = Identity::from(author);
                }
                self.written = Some((CommentChange::Created, comment.url.clone()));
                self.created = Some(comment);
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

    /// Writes the longest text that GitHub takes over the comment that stays. When that one stands there the others, which
    /// hold nothing newer, are deleted.
    async fn update(
        &mut self,
        kept: &Comment,
        others: &[(&Comment, Marker)],
    ) -> Result<Option<(CommentChange, String)>, GithubError> {
        let mut texts = self.texts.iter().peekable();
        let result = loop {
            let text = texts.next().expect("a report has a length");
            if says_the_same(&kept.body, text) {
                let others = others.iter().map(|(comment, _)| *comment);
                self.delete_all(kept, others.collect()).await;
                return Ok(Some((self.change(kept), kept.url.clone())));
            }
            match self.github.write_over(kept, text).await {
                Err(GithubError::Unprocessable { .. }) if texts.peek().is_some() => {}
                result => break result,
            }
        };
        match result {
            Ok(written) => {
                self.written = Some((CommentChange::Updated, written.url));
                Ok(None)
            }
            Err(error @ GithubError::NotFound { .. }) => {
                self.gone.push(kept.id);
                self.trouble = Some(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// What this run did to the comment that says its word.
    fn change(&self, kept: &Comment) -> CommentChange {
        match &self.written {
            _ if self.has_created(kept) => CommentChange::Created,
            Some(_) => CommentChange::Updated,
            // Sent, and the answer lost.
            None if self.tried > 0 => CommentChange::Created,
            None => CommentChange::Unchanged,
        }
    }

    /// A newer run wrote a comment at the same time as this one: there is to be one, with the newer's word, which is
    /// deleted nowhere before it was seen in the comment that stays.
    async fn give_way(
        &mut self,
        own: &[(&Comment, Marker)],
        newest: Order,
    ) -> Result<Option<(CommentChange, String)>, GithubError> {
        let Some(folding) = fold(own) else {
            return Ok(None);
        };
        let Some(body) = folding.body else {
            self.delete_all(folding.kept, folding.duplicates).await;
            return Ok(Some(self.superseded(folding.kept, newest)));
        };
        match self.github.write_over(folding.kept, body).await {
            Err(GithubError::NotFound { .. }) => self.gone.push(folding.kept.id),
            result => {
                result?;
            }
        }
        Ok(None)
    }

    fn has_created(&self, comment: &Comment) -> bool {
        let created = self.created.as_ref();
        created.is_some_and(|created| created.id == comment.id)
    }

    /// Deletes all but the one that stays; also what this run made, though it may not be listed yet. A duplicate that stays
    /// is a blemish: the next run finds it again.
    async fn delete_all(&mut self, kept: &Comment, mut duplicates: Vec<&Comment>) {
        let created = self.standing();
        duplicates.retain(|duplicate| !self.has_created(duplicate));
        let created = created.as_ref().filter(|created| created.id != kept.id);
        for duplicate in duplicates.into_iter().chain(created) {
            if let Err(error) = self.github.delete_comment(duplicate).await {
                self.notes.push(format!(
                    "an older comment of ours could not be deleted ({}): {error}",
                    duplicate.url
                ));
            }
        }
    }
}
