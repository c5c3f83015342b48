//! Posting the comment: ours is updated, never doubled, and never made older.
//!
//! GitHub offers no lock and no conditional write, so nothing here relies on what was read a moment ago: after each write
//! the list is read again, until it shows what it should. What two runs wrote at once becomes one by a rule that both of
//! them follow ([`choose`], [`fold`]), and what was written without an answer is looked for before it is written again.
//!
//! One gap stays: of two runs that write within the same second, an older one that has looked can still write last.
//! A workflow's concurrency group closes it.

use serde::Deserialize;
use serde_json::json;

use super::client::{Github, Listing};
use super::comment::{
    Author, Choice, Comment, Identity, Marker, MarkerState, Order, choose, fold, own_comments,
    says_the_same,
};
use super::error::GithubError;

/// Whom a workflow's own token writes as.
const ACTIONS: &str = "github-actions[bot]";

/// How often a comment is sent whose answers are lost.
const ATTEMPTS: usize = 4;

/// How often it is looked whether the report stands there, while other runs write too.
const ROUNDS: usize = 12;

/// The most pages of comments that are read, 100 on each.
const PAGES: usize = 100;

/// What became of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Posted {
    pub change: Change,
    /// Where a person reads it; where it was superseded, the newer one.
    pub url: String,
    /// What went wrong without harm to the report, one sentence each.
    pub notes: Vec<String>,
}

/// What posting a report changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Created,
    Updated,
    /// It stood there already, to the letter.
    Unchanged,
    /// A newer run has told already.
    Superseded,
}

impl Github {
    /// Posts a report as the one comment of its spec: over ours where there is one.
    ///
    /// `bodies` are the same report in at least one length, longest first, without their marker; each is tried only
    /// when GitHub will not take the one before it. The token needs `pull-requests: write`.
    pub async fn post_comment(
        &self,
        pull_request: u64,
        marker: &Marker,
        bodies: &[String],
    ) -> Result<Posted, GithubError> {
        let mut notes = Vec::new();
        let identity = self.identity(&mut notes).await;
        let mut posting = Posting {
            github: self,
            pull_request,
            identity,
            marker,
            texts: bodies.iter().map(|body| marker.above(body)).collect(),
            created: None,
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
    ///
    /// Gives where it stands, `None` where there is no such comment: the run has told its end, or another has told since.
    pub async fn finish_stub(
        &self,
        pull_request: u64,
        run: (&str, &Order),
        body: &str,
    ) -> Result<Option<String>, GithubError> {
        let (spec, order) = run;
        let marker = |state| Marker {
            spec: spec.to_owned(),
            order: *order,
            state,
        };
        let identity = self.identity(&mut Vec::new()).await;
        let comments = self.comments(pull_request).await?;
        let stub = marker(MarkerState::Running);
        let own = own_comments(&comments, &identity, spec);
        let Some((comment, _)) = own.into_iter().find(|(_, theirs)| *theirs == stub) else {
            return Ok(None);
        };
        let text = marker(MarkerState::Final).above(body);
        match self.write_over(comment, &text).await {
            Ok(written) => Ok(Some(written.url)),
            Err(GithubError::NotFound { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whose comments are ours. The token of a workflow is not always its own: an app's and a person's write as another.
    async fn identity(&self, notes: &mut Vec<String>) -> Identity {
        #[derive(Deserialize)]
        struct Data {
            viewer: Viewer,
        }
        #[derive(Deserialize)]
        struct Viewer {
            login: String,
        }
        let login = match self.graphql::<Data>("query { viewer { login } }").await {
            Ok(data) => data.viewer.login,
            Err(error) => {
                notes.push(format!(
                    "GitHub did not say whose token this is, so comments of {ACTIONS} were taken as ours: {error}"
                ));
                ACTIONS.to_owned()
            }
        };
        Identity { login }
    }

    /// All comments of a pull request; only of those that begin with a marker the body.
    async fn comments(&self, pull_request: u64) -> Result<Vec<Comment>, GithubError> {
        let path = format!("issues/{pull_request}/comments");
        let mut comments = Vec::new();
        let listing = self
            .pages(&path, PAGES, |Listed(comment)| comments.push(comment))
            .await?;
        match listing {
            Listing::Whole => Ok(comments),
            // Ours may be among those that were not read; a new one each time would be worse than none.
            Listing::Cut => Err(GithubError::TooLarge {
                request: format!("GET {path}"),
                limit: PAGES * 100,
                unit: "comments",
            }),
        }
    }

    async fn write_over(&self, comment: &Comment, text: &str) -> Result<Comment, GithubError> {
        let path = format!("issues/comments/{}", comment.id);
        let Listed(written) = self.patch_json(&path, &json!({ "body": text })).await?;
        Ok(written)
    }

    async fn delete_comment(&self, comment: &Comment) -> Result<(), GithubError> {
        match self
            .delete(&format!("issues/comments/{}", comment.id))
            .await
        {
            // Somebody else was faster.
            Err(GithubError::NotFound { .. }) => Ok(()),
            result => result,
        }
    }
}

/// One report on its way.
struct Posting<'a> {
    github: &'a Github,
    pull_request: u64,
    identity: Identity,
    marker: &'a Marker,
    /// Marker and body, longest first.
    texts: Vec<String>,
    /// The comment that this run made, though it may not be the one that stays.
    created: Option<u64>,
    /// How often a comment was sent.
    tried: usize,
    /// What was written, and where: from then on nothing that goes wrong is an error.
    written: Option<(Change, String)>,
    /// What another round may mend.
    trouble: Option<GithubError>,
    /// Comments that were listed, and are not there any more.
    gone: Vec<u64>,
    notes: Vec<String>,
}

impl Posting<'_> {
    /// Rounds of looking and writing, until a look shows that nothing is left to write.
    async fn post(&mut self) -> Result<(Change, String), GithubError> {
        let mut trouble = None;
        for _ in 0..ROUNDS {
            match self.round().await {
                Ok(Some(done)) => return Ok(done),
                Ok(None) => {}
                Err(error) => {
                    trouble = Some(error);
                    break;
                }
            }
        }
        let trouble = trouble.or(self.trouble.take());
        match (self.written.take(), trouble) {
            (Some(written), trouble) => {
                self.notes.push(match trouble {
                    Some(error) => {
                        format!("the comment was written, but not looked at again: {error}")
                    }
                    None => "other runs write the same comment again and again".to_owned(),
                });
                Ok(written)
            }
            (None, Some(error)) => Err(error),
            (None, None) => unreachable!("a round ends, writes, or has trouble"),
        }
    }

    /// Looks, and does the next thing; what became of the report when nothing is left to do.
    async fn round(&mut self) -> Result<Option<(Change, String)>, GithubError> {
        let comments = self.github.comments(self.pull_request).await?;
        let own = self.own(&comments);
        match choose(&own, self.marker) {
            Choice::Superseded { by } if self.created.is_none() => {
                Ok(Some((Change::Superseded, by.url.clone())))
            }
            Choice::Superseded { .. } => self.give_way(&own).await,
            Choice::Update { kept } => self.update(kept, &own[1..]).await,
            Choice::Create => self.create().await.map(|()| None),
        }
    }

    fn own<'c>(&self, comments: &'c [Comment]) -> Vec<(&'c Comment, Marker)> {
        let mut own = own_comments(comments, &self.identity, &self.marker.spec);
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
            Ok(Listed(comment)) => {
                self.created = Some(comment.id);
                self.written = Some((Change::Created, comment.url));
                Ok(())
            }
            // The next look tells.
            Err(error @ GithubError::Unsure { .. }) => {
                self.trouble = Some(error);
                self.github.pause(self.tried).await;
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
    ) -> Result<Option<(Change, String)>, GithubError> {
        let mut texts = self.texts.iter().peekable();
        let result = loop {
            let text = texts.next().expect("a report has a length");
            if says_the_same(&kept.body, text) {
                self.delete_all(others.iter().map(|(comment, _)| *comment))
                    .await;
                return Ok(Some((self.change(kept), kept.url.clone())));
            }
            match self.github.write_over(kept, text).await {
                Err(GithubError::Unprocessable { .. }) if texts.peek().is_some() => {}
                result => break result,
            }
        };
        match result {
            Ok(written) => {
                self.written = Some((Change::Updated, written.url));
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
    fn change(&self, kept: &Comment) -> Change {
        match &self.written {
            _ if self.created == Some(kept.id) => Change::Created,
            Some(_) => Change::Updated,
            // Sent, and the answer lost.
            None if self.tried > 0 => Change::Created,
            None => Change::Unchanged,
        }
    }

    /// A newer run wrote a comment at the same time as this one: there is to be one, with the newer's word, which is
    /// deleted nowhere before it was seen in the comment that stays.
    async fn give_way(
        &mut self,
        own: &[(&Comment, Marker)],
    ) -> Result<Option<(Change, String)>, GithubError> {
        let Some(folding) = fold(own) else {
            return Ok(None);
        };
        let Some(body) = folding.body else {
            self.delete_all(folding.duplicates).await;
            return Ok(Some((Change::Superseded, folding.kept.url.clone())));
        };
        match self.github.write_over(folding.kept, body).await {
            Err(GithubError::NotFound { .. }) => self.gone.push(folding.kept.id),
            result => {
                result?;
            }
        }
        Ok(None)
    }

    /// A duplicate that stays is a blemish: the next run finds it again.
    async fn delete_all(&mut self, duplicates: impl IntoIterator<Item = &Comment>) {
        for duplicate in duplicates {
            if let Err(error) = self.github.delete_comment(duplicate).await {
                self.notes.push(format!(
                    "an older comment of ours could not be deleted ({}): {error}",
                    duplicate.url
                ));
            }
        }
    }
}

/// A comment as GitHub gives it. A body without a marker is dropped at once: other people's may be many and long.
#[derive(Deserialize)]
#[serde(from = "Answered")]
struct Listed(Comment);

#[derive(Deserialize)]
struct Answered {
    id: u64,
    /// Null for an account that is gone.
    user: Option<User>,
    body: Option<String>,
    html_url: String,
}

#[derive(Deserialize)]
struct User {
    login: String,
    #[serde(rename = "type")]
    kind: String,
}

impl From<Answered> for Listed {
    fn from(answered: Answered) -> Self {
        let body = answered.body.unwrap_or_default();
        Self(Comment {
            id: answered.id,
            author: answered.user.map(|user| Author {
                is_bot: user.kind == "Bot",
                login: user.login,
            }),
            body: if Marker::of(&body).is_some() {
                body
            } else {
                String::new()
            },
            url: answered.html_url,
        })
    }
}
