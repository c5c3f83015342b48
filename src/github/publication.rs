//! One text of ours on GitHub, as a comment or as an issue: updated where there is one, never doubled, and never made older.
//!
//! Each round lists what is there, decides purely what is missing, and makes at most one writing request, until nothing is
//! missing. GitHub offers no lock and no conditional write, so nothing relies on what was read a moment ago: texts that two runs
//! wrote at once become one by a rule that both of them follow, and a request whose answer was lost is looked for before it is
//! sent again.
//!
//! One gap stays: of two runs that write within the same second, an older one that has looked can still write last. A workflow's
//! concurrency group closes it.

use jiff::Timestamp;

use super::client::Github;
use super::error::{GithubError, GithubErrorKind};
use super::identity::Identity;
use super::last_verdict::{LastVerdict, verdict_in, with_verdict};
use super::marker::{CLOCKS_DIFFER, Marker, Order};
use super::posts::{OwnPost, Post, PostPlace, is_stub_of, newest, own};

#[cfg(test)]
mod tests;

/// The most rounds, while other runs write too.
const ROUNDS: usize = 12;
/// The pause before this round is the longest.
const LONGEST_PAUSE: usize = 3;
/// The most requests to create a post whose answers are lost.
const ATTEMPTS: usize = 4;
/// The most looks for a post that GitHub has taken and does not list.
const LOOKS: usize = 4;
/// The most characters of a title that GitHub takes.
const LONGEST_TITLE: usize = 256;

/// A text and how it is to stand on GitHub.
#[derive(Debug, Clone, Copy)]
pub struct Publication<'a> {
    pub place: PostPlace,
    pub marker: &'a Marker,
    /// `None` for a comment.
    pub title: Option<&'a str>,
    /// Without the marker. A longer one than GitHub takes is cut.
    pub body: &'a str,
    pub intent: Intent,
    pub older: OlderComments,
    pub last_verdict: LastVerdict,
}

/// What is to be there in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// The text, in a new post if none of ours is there.
    Show,
    /// The text, if one of ours is there.
    Refresh,
    /// The text in place of this very run's stub.
    EndStub,
    /// No open issue; the text is the last word of one of ours.
    Close,
}

/// What becomes of the comment of an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OlderComments {
    WriteOver,
    /// Hidden as outdated, and a new one is written below.
    Hide,
}

/// What became of a publication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Published {
    pub outcome: PublicationOutcome,
    /// Where a person reads it, or the newer one that superseded it; `None` only if there is none.
    pub url: Option<String>,
    /// What went wrong without harm, one sentence each.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicationOutcome {
    Created,
    Updated,
    Closed,
    /// It stood there already.
    Unchanged,
    /// A newer run has written.
    Superseded,
    /// There is none, and none was wanted.
    Nothing,
}

/// An outcome and its address.
type EndedAs = (PublicationOutcome, Option<String>);

/// What a publication knows besides the list.
struct PublicationState {
    /// A guess; known for sure from the first post that we create.
    identity: Identity,
    now: Timestamp,
    /// The post that this run created; another one may stay.
    created: Option<Post>,
    /// How often it was not listed.
    unlisted: usize,
    /// Requests to create one.
    sent: usize,
    /// What was written: from then on no trouble is an error.
    written: Option<EndedAs>,
    /// Numbers of posts that do not count any more, though they may be listed.
    gone: Vec<u64>,
    /// An error that another round may not meet.
    trouble: Option<GithubError>,
    notes: Vec<String>,
}

impl PublicationState {
    fn own<'a>(&self, posts: &'a [Post], marker: &Marker) -> Vec<OwnPost<'a>> {
        let subject = (marker.kind, marker.spec.as_str());
        let mut own = own(posts, &self.identity, subject, self.now);
        own.retain(|(post, _)| !self.gone.contains(&post.number));
        own
    }

    fn standing(&self) -> Option<&Post> {
        let created = self.created.as_ref();
        created.filter(|created| !self.gone.contains(&created.number))
    }

    /// What this run did to a post that says its text.
    fn outcome_of(&self, post: &Post) -> PublicationOutcome {
        let created = self.created.as_ref();
        match &self.written {
            _ if created.is_some_and(|created| created.number == post.number) => {
                PublicationOutcome::Created
            }
            Some(_) => PublicationOutcome::Updated,
            // Sent, and the answer lost.
            None if self.sent > 0 => PublicationOutcome::Created,
            None => PublicationOutcome::Unchanged,
        }
    }
}

/// What a round does.
#[derive(Debug, Clone, PartialEq, Eq)]
enum PublicationStep<'a> {
    Create,
    /// Writes over a post.
    Write {
        over: &'a Post,
        title: Option<String>,
        body: String,
        becomes: PublicationOutcome,
    },
    Remove {
        duplicate: Post,
        kept: &'a Post,
    },
    /// What was created is not listed yet.
    LookAgain,
    /// Nothing is missing.
    End {
        outcome: PublicationOutcome,
        url: Option<String>,
        note: Option<String>,
    },
}

impl Publication<'_> {
    /// What to do, given what is listed, and of the issues what was closed lately.
    fn decide<'a>(
        &self,
        state: &PublicationState,
        listed: &'a [Post],
        closed: &[Post],
    ) -> PublicationStep<'a> {
        let all = state.own(listed, self.marker);
        let own = self.concerned(&all);
        let Some(((kept, kept_marker), others)) = own.split_first() else {
            return self.without_one(state, !all.is_empty(), listed, closed);
        };
        let is_listed = |post: &&Post| own.iter().any(|(own, _)| own.number == post.number);
        let unlisted = state.standing().filter(|created| !is_listed(created));
        let duplicate = others.iter().map(|(post, _)| *post).chain(unlisted).next();
        let remove = duplicate.map(|duplicate| PublicationStep::Remove {
            duplicate: duplicate.clone(),
            kept,
        });
        let newer = newest(&own).filter(|(_, theirs)| theirs.age() > self.marker.age());
        if let Some((theirs, marker)) = newer {
            // The newest text goes nowhere before it stands in the post that stays.
            if kept_marker != marker || !kept.says(theirs.title.as_deref(), &theirs.body) {
                return PublicationStep::Write {
                    over: kept,
                    title: theirs.title.clone(),
                    body: theirs.body.clone(),
                    becomes: PublicationOutcome::Superseded,
                };
            }
            return remove.unwrap_or_else(|| self.superseded(kept, marker.order));
        }
        let (title, body) = (self.title(), self.text_over(Some(kept)));
        if self.intent == Intent::Close {
            return remove.unwrap_or(PublicationStep::Write {
                over: kept,
                title: None,
                body,
                becomes: PublicationOutcome::Closed,
            });
        }
        if !kept.says(title.as_deref(), &body) {
            return PublicationStep::Write {
                over: kept,
                title,
                body,
                becomes: PublicationOutcome::Updated,
            };
        }
        remove.unwrap_or_else(|| PublicationStep::End {
            outcome: state.outcome_of(kept),
            url: Some(kept.url.clone()),
            note: None,
        })
    }

    /// Those of our own that may be written over, and what a newer run wrote.
    fn concerned<'a>(&self, all: &[OwnPost<'a>]) -> Vec<OwnPost<'a>> {
        let newest = newest(all).map_or(self.marker.order, |(_, theirs)| theirs.order);
        let newest = newest.max(self.marker.order);
        let is_concerned = |theirs: &Marker| match (self.intent, self.older) {
            (Intent::EndStub, _) => is_stub_of(theirs, self.marker),
            // Each run has a comment of its own.
            (_, OlderComments::Hide) => theirs.order == newest,
            (_, OlderComments::WriteOver) => true,
        };
        let concerned = all.iter().filter(|(_, theirs)| is_concerned(theirs));
        concerned.cloned().collect()
    }

    /// None that may be written over is listed.
    fn without_one<'a>(
        &self,
        state: &PublicationState,
        is_there_an_older: bool,
        listed: &[Post],
        closed: &[Post],
    ) -> PublicationStep<'a> {
        let end = |outcome, url, note| PublicationStep::End { outcome, url, note };
        let is_wanted = match self.intent {
            Intent::Show => true,
            // A new comment brings the hidden one up to date.
            Intent::Refresh => is_there_an_older && self.older == OlderComments::Hide,
            Intent::EndStub | Intent::Close => false,
        };
        if !is_wanted {
            let nothing = (PublicationOutcome::Nothing, None);
            let (outcome, url) = state.written.clone().unwrap_or(nothing);
            return end(outcome, url, None);
        }
        // What a newer run has closed is not opened again by an older one that ends late.
        let closed = state.own(closed, self.marker);
        let newest = newest(&closed).filter(|(_, theirs)| theirs.order >= self.marker.order);
        if let Some((by, theirs)) = newest {
            return match theirs.order > self.marker.order {
                true => self.superseded(by, theirs.order),
                // This run's own, closed by a person at once.
                false => end(state.outcome_of(by), Some(by.url.clone()), None),
            };
        }
        // What was created and is not recognized is never created again.
        let Some(created) = state.standing() else {
            return PublicationStep::Create;
        };
        let is_listed = listed.iter().any(|post| post.number == created.number);
        if !is_listed && state.unlisted + 1 < LOOKS {
            return PublicationStep::LookAgain;
        }
        let why = match is_listed {
            true => "its text was changed since",
            false => "GitHub does not list it yet",
        };
        let note = format!("the {} was created, and {why}", self.what());
        let url = Some(created.url.clone());
        end(PublicationOutcome::Created, url, Some(note))
    }

    fn superseded<'a>(&self, by: &Post, order: Order) -> PublicationStep<'a> {
        let Order { time, run, attempt } = order;
        let what = self.what();
        PublicationStep::End {
            outcome: PublicationOutcome::Superseded,
            url: Some(by.url.clone()),
            note: Some(format!(
                "the {what} is of a newer run, so it is left unchanged: run {run}, attempt {attempt}, of {time}"
            )),
        }
    }

    fn what(&self) -> &'static str {
        match self.place {
            PostPlace::PullRequest(_) => "comment",
            PostPlace::Issues => "issue",
        }
    }

    /// The title as GitHub shows it: one line of bounded length.
    fn title(&self) -> Option<String> {
        let words: Vec<&str> = self.title?.split_whitespace().collect();
        let title = words.join(" ");
        if title.chars().count() <= LONGEST_TITLE {
            return Some(title);
        }
        let kept: String = title.chars().take(LONGEST_TITLE - 1).collect();
        Some(format!("{}…", kept.trim_end()))
    }

    /// The marker and the text; over a comment with the verdict that it had.
    fn text_over(&self, post: Option<&Post>) -> String {
        let verdict = post.and_then(|post| verdict_in(&post.body));
        let body = verdict
            .map(|verdict| with_verdict(self.body, verdict, self.last_verdict, self.marker.room()));
        self.marker.above(body.as_deref().unwrap_or(self.body))
    }

    /// Lists, decides, and makes at most one writing request; the end if nothing was missing.
    async fn round(
        &self,
        github: &Github,
        state: &mut PublicationState,
    ) -> Result<Option<EndedAs>, GithubError> {
        let listed = github.posts(self.place).await?;
        let may_open = self.place == PostPlace::Issues && self.intent == Intent::Show;
        let closed = match may_open && state.own(&listed, self.marker).is_empty() {
            true => {
                let time = self.marker.order.time;
                let since = time.saturating_sub(CLOCKS_DIFFER).unwrap_or(time);
                github.issues_closed_since(since).await?
            }
            false => Vec::new(),
        };
        match self.decide(state, &listed, &closed) {
            PublicationStep::Create => self.create(github, state).await?,
            PublicationStep::Write {
                over,
                title,
                body,
                becomes,
            } => {
                let text = (title.as_deref(), &*body);
                let closed_as = (becomes == PublicationOutcome::Closed).then_some("completed");
                let result = github.write_over(self.place, over, text, closed_as).await;
                match result {
                    Ok(written) => {
                        let ended = (becomes, Some(written.url.clone()));
                        state.written = Some(ended.clone());
                        if becomes == PublicationOutcome::Closed {
                            state.gone.push(written.number);
                        } else if !written.says(title.as_deref(), &body) {
                            // Writing again what GitHub shows in another way would be no different.
                            return Ok(Some(ended));
                        }
                    }
                    Err(error) if error.kind == GithubErrorKind::NotFound => {
                        state.gone.push(over.number);
                        state.trouble = Some(error);
                    }
                    Err(error) => return Err(error),
                }
            }
            PublicationStep::Remove { duplicate, kept } => {
                let removed = github.remove_duplicate(self.place, &duplicate, kept).await;
                state.gone.push(duplicate.number);
                if let Err(error) = removed {
                    let (what, url) = (self.what(), &duplicate.url);
                    state.notes.push(format!(
                        "a second {what} of ours could not be removed ({url}): {error}"
                    ));
                }
            }
            PublicationStep::LookAgain => state.unlisted += 1,
            PublicationStep::End { outcome, url, note } => {
                state.notes.extend(note);
                self.hide_older(github, state, &listed, outcome).await;
                return Ok(Some((outcome, url)));
            }
        }
        Ok(None)
    }

    async fn create(
        &self,
        github: &Github,
        state: &mut PublicationState,
    ) -> Result<(), GithubError> {
        if state.sent == ATTEMPTS
            && let Some(error) = state.trouble.take()
        {
            return Err(error);
        }
        state.sent += 1;
        let (title, body) = (self.title(), self.text_over(None));
        match github
            .create_post(self.place, title.as_deref(), &body)
            .await
        {
            Ok(post) => {
                if let Some(author) = &post.author {
                    state.identity = Identity::from(author);
                }
                state.written = Some((PublicationOutcome::Created, Some(post.url.clone())));
                state.created = Some(post);
                Ok(())
            }
            // The next round finds it, or sends it again.
            Err(error) if error.kind == GithubErrorKind::Unsure => {
                state.trouble = Some(error);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    async fn hide_older(
        &self,
        github: &Github,
        state: &mut PublicationState,
        listed: &[Post],
        outcome: PublicationOutcome,
    ) {
        let is_ours = !matches!(
            outcome,
            PublicationOutcome::Superseded | PublicationOutcome::Nothing
        );
        if self.older == OlderComments::WriteOver || !is_ours {
            return;
        }
        let own = state.own(listed, self.marker);
        let older = own.iter();
        let older = older.filter(|(_, theirs)| theirs.order < self.marker.order);
        let older: Vec<&Post> = older.map(|(post, _)| *post).collect();
        if let Err(error) = github.hide(&older).await {
            let note = format!("an older comment of ours could not be hidden: {error}");
            state.notes.push(note);
        }
    }
}

impl Github {
    /// Makes a text stand on GitHub, once.
    ///
    /// A post whose marker is ahead of `now` by more than clocks differ is not ours. The token needs `pull-requests: write` or
    /// `issues: write`.
    pub async fn publish(
        &self,
        publication: &Publication<'_>,
        now: Timestamp,
    ) -> Result<Published, GithubError> {
        let mut notes = Vec::new();
        let identity = self.identity(&mut notes).await;
        let mut state = PublicationState {
            identity,
            // A clock that is behind does not make our own a stranger's.
            now: now.max(publication.marker.order.time),
            created: None,
            unlisted: 0,
            sent: 0,
            written: None,
            gone: Vec::new(),
            trouble: None,
            notes,
        };
        let mut ended = None;
        for number in 0..ROUNDS {
            if number > 0 {
                // A list may lag behind what was written.
                self.pause(number.min(LONGEST_PAUSE)).await;
            }
            match publication.round(self, &mut state).await {
                Ok(None) => {}
                Ok(end) => {
                    ended = end;
                    break;
                }
                Err(error) => {
                    state.trouble = Some(error);
                    break;
                }
            }
        }
        let what = publication.what();
        let (outcome, url) = match (ended, state.written) {
            (Some(ended), _) => ended,
            (None, None) => return Err(state.trouble.unwrap_or(GithubError::unsettled(what))),
            (None, Some(written)) => {
                state.notes.push(match state.trouble {
                    Some(error) => {
                        format!("the {what} was written, but could not be checked: {error}")
                    }
                    None => format!("the {what} was written, but other runs keep changing it"),
                });
                written
            }
        };
        Ok(Published {
            outcome,
            url,
            notes: state.notes,
        })
    }
}
