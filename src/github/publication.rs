//! One text of ours on a forge, as a comment, a note or an issue: updated where there is one, never doubled, and never made older.
//!
//! Each round lists what is there, decides purely what is missing, and writes at most one text, until nothing is missing. A forge
//! offers no lock and no conditional write, so nothing relies on what was read a moment ago: of texts that two runs wrote at once the
//! newest stays, by a rule that both of them follow, and a request whose answer was lost is looked for before it is sent again.
//!
//! One gap stays: of two runs that write within the same second, an older one that has looked can still write last. A workflow's
//! concurrency group closes it.

use std::ops::ControlFlow;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::last_verdict::{FOLDED, UNFOLDED, verdict_in, with_verdict};
use super::marker::{CLOCKS_DIFFER, MarkerState};
use super::posts::{OwnPost, Post, newest, own};
use super::retry::backoff;
use super::{Author, Forge, ForgeError, ForgeErrorKind, Marker, MarkerKind, Order, PostPlace};
use crate::report::escape::without_quick_actions;

#[cfg(test)]
mod tests;

/// The most rounds, while other runs write too, or answers are lost.
const ROUNDS: u32 = 6;
/// The pause before this round is the longest.
const LONGEST_PAUSE: u32 = 3;

/// Where a text stands, and what it is known by.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Publication {
    pub place: PostPlace,
    /// The spec, and the jobs where a step looks at some only.
    pub subject: String,
    pub order: Order,
    pub older: OlderComments,
}

/// A text, and what is to stand there in the end.
#[derive(Debug, Clone, Copy)]
pub struct PostText<'a> {
    /// One line of at most 256 characters, which GitHub takes; `None` for a comment, and to leave an issue's as it is.
    pub title: Option<&'a str>,
    /// The text without the marker. It is cut where it is longer than GitHub takes.
    pub body: &'a str,
    pub intent: Intent,
}

impl<'a> PostText<'a> {
    /// The text of a comment, which has no title.
    pub fn comment(body: &'a str, intent: Intent) -> Self {
        Self {
            title: None,
            body,
            intent,
        }
    }
}

/// What is to stand on GitHub in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Intent {
    /// The text while the run is at work, above the last verdict.
    Stub,
    /// The text with its verdict, in a new post if none of ours is there.
    Verdict,
    /// The text with its verdict, if a post of ours is there.
    Refresh,
    /// The text of a run that has no verdict, above the last one.
    NoVerdict,
    /// The text of a run that has no verdict, in place of this very run's stub.
    EndStub,
    /// No open issue; the text is the last word of one of ours.
    Close,
}

/// What becomes of the comment of an earlier run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum OlderComments {
    WriteOver,
    /// Hidden as outdated: each verdict is a new one below, so that a mail carries it, and nothing else is written.
    Hide,
}

/// What became of a publication.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Published {
    pub outcome: PublicationOutcome,
    /// Where a person reads it, or the newer one that superseded it; `None` only if there is none.
    pub url: Option<String>,
    /// What went wrong without harm, one sentence each.
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PublicationOutcome {
    Created,
    Updated,
    Closed,
    /// It stood there already.
    Unchanged,
    /// A newer run has written.
    Superseded,
    /// There is none, and none was wanted.
    #[default]
    Nothing,
}

impl Publication {
    /// The hidden first line.
    pub fn marker(&self, state: MarkerState) -> Marker {
        Marker {
            kind: match self.place {
                PostPlace::Issues => MarkerKind::Drift,
                _ => MarkerKind::Report,
            },
            spec: self.subject.clone(),
            order: self.order,
            state,
        }
    }

    /// The bytes that a text may have.
    pub fn room(&self) -> usize {
        self.marker(MarkerState::Final).room()
    }

    /// Makes a text stand there, once.
    ///
    /// A post whose marker is ahead of `now` by more than clocks differ is not ours. The token needs `pull-requests: write` or
    /// `issues: write`; GitLab's the scope `api`.
    pub async fn publish(
        &self,
        forge: &Forge,
        text: &PostText<'_>,
        now: Timestamp,
    ) -> Result<Published, ForgeError> {
        let mut notes = Vec::new();
        let identity = forge.identity(&mut notes).await?;
        let mut rounds = Rounds::new(self, text, identity, now);
        rounds.published.notes = notes;
        for number in 0..ROUNDS {
            if number > 0 {
                // A list may lag behind what was written.
                forge.wait(backoff(number.min(LONGEST_PAUSE))).await;
            }
            match rounds.next(forge).await {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return Ok(rounds.published),
                Err(error) => {
                    rounds.trouble = Some(error);
                    break;
                }
            }
        }
        let what = self.what();
        let error = rounds.trouble.unwrap_or(ForgeError::unsettled(what));
        let mut published = rounds.published;
        if published.url.is_none() {
            return Err(error);
        }
        let note = format!("the {what} was written, but could not be checked: {error}");
        published.notes.push(note);
        Ok(published)
    }

    fn what(&self) -> &'static str {
        match self.place {
            PostPlace::PullRequest(_) => "comment",
            PostPlace::Issues => "issue",
            PostPlace::MergeRequest { .. } => "note",
        }
    }
}

/// What a publication knows besides the list.
struct Rounds<'a> {
    publication: &'a Publication,
    text: &'a PostText<'a>,
    marker: Marker,
    /// A guess; known for sure from the first post that we create.
    identity: Author,
    now: Timestamp,
    /// The post that this run created, which a list may not have yet; another one may stay.
    created: Option<Post>,
    /// Numbers of posts that do not count any more, though they may be listed.
    gone: Vec<u64>,
    /// What became of it so far: created, also where the answer to that was lost. It has an address once something is written, and
    /// later trouble is a note and no error.
    published: Published,
    /// An error that another round may not meet.
    trouble: Option<ForgeError>,
}

/// What a round does.
#[derive(Debug)]
enum PublicationStep<'a> {
    /// Writes a post, over another if there is one.
    Write(Option<&'a Post>),
    /// Nothing is missing, and of our own one is enough.
    End {
        outcome: PublicationOutcome,
        kept: &'a Post,
        duplicates: Vec<OwnPost<'a>>,
    },
    /// There is none, and none is wanted now.
    EndWithout,
}

impl<'a> Rounds<'a> {
    fn new(
        publication: &'a Publication,
        text: &'a PostText<'a>,
        identity: Author,
        now: Timestamp,
    ) -> Self {
        let state = match text.intent {
            Intent::Stub => MarkerState::Running,
            _ => MarkerState::Final,
        };
        Self {
            publication,
            text,
            marker: publication.marker(state),
            identity,
            // A clock that is behind must not make our own post a stranger's.
            now: now.max(publication.order.time),
            created: None,
            gone: Vec::new(),
            published: Published::default(),
            trouble: None,
        }
    }

    fn own<'b>(&self, posts: &'b [Post]) -> Vec<OwnPost<'b>> {
        let subject = (self.marker.kind, self.marker.spec.as_str());
        let mut own = own(posts, &self.identity, subject, self.now);
        own.retain(|(post, _)| !self.gone.contains(&post.number()));
        own
    }

    /// What to do, given what is listed, and of the issues what was closed lately.
    fn decide<'b>(&self, listed: &'b [Post], closed: &'b [Post]) -> PublicationStep<'b> {
        use PublicationOutcome::{Nothing, Superseded, Unchanged};
        let all = self.own(listed);
        let mut own = self.concerned(&all);
        let is_there = match self.published.outcome {
            Nothing => Unchanged,
            outcome => outcome,
        };
        let Some((kept, theirs)) = newest(&own) else {
            let is_hiding = self.publication.older == OlderComments::Hide;
            let is_wanted = match self.text.intent {
                Intent::Verdict => true,
                Intent::Stub | Intent::NoVerdict => !is_hiding,
                // A new comment brings the hidden one up to date.
                Intent::Refresh => is_hiding && !all.is_empty(),
                Intent::EndStub | Intent::Close => false,
            };
            // What was created and is not recognized is never created again.
            if !is_wanted || self.created.is_some() {
                return PublicationStep::EndWithout;
            }
            // What a newer run has closed is not opened again by an older one that ends late, nor this run's own, closed by a person.
            let closed = self.own(closed);
            let by = newest(&closed).filter(|(_, theirs)| theirs.order >= self.marker.order);
            return match by {
                None => PublicationStep::Write(None),
                Some((kept, theirs)) => PublicationStep::End {
                    outcome: match theirs.order > self.marker.order {
                        true => Superseded,
                        false => is_there,
                    },
                    kept,
                    duplicates: Vec::new(),
                },
            };
        };
        let is_newer = theirs.age() > self.marker.age();
        let is_said = match (&self.published.url, self.text.intent) {
            _ if is_newer => true,
            (_, Intent::Close) => false,
            // GitHub may show a text otherwise than it was written.
            (Some(_), _) => theirs.age() == self.marker.age(),
            (None, _) => kept.says(self.text.title, &self.body_over(Some(kept))),
        };
        if !is_said {
            return PublicationStep::Write(Some(kept));
        }
        let outcome = if is_newer { Superseded } else { is_there };
        let (kept, number) = (*kept, kept.number());
        own.retain(|(post, _)| post.number() != number);
        PublicationStep::End {
            outcome,
            kept,
            duplicates: own,
        }
    }

    /// Those of our own that may be written over, and what a newer run wrote.
    fn concerned<'b>(&self, all: &[OwnPost<'b>]) -> Vec<OwnPost<'b>> {
        let ours = self.marker.order;
        let newest = newest(all).map_or(ours, |(_, theirs)| theirs.order.max(ours));
        let is_said = |post: &Post| post.says(None, &self.body_over(None));
        let is_concerned = |(post, theirs): &&OwnPost<'b>| match self.text.intent {
            Intent::EndStub => theirs.order == ours && theirs.state == MarkerState::Running,
            _ if self.publication.older == OlderComments::WriteOver => true,
            // What else this run wrote may be hidden by now.
            _ => theirs.order == newest && (newest > ours || is_said(post)),
        };
        all.iter().filter(is_concerned).cloned().collect()
    }

    /// The marker and the text; over a comment with the verdict that it had.
    fn body_over(&self, post: Option<&Post>) -> String {
        let (text, room) = (self.text.body, self.marker.room());
        let verdict = post.and_then(|post| verdict_in(post.body()));
        let opening = match self.text.intent {
            Intent::Stub => Some(FOLDED),
            Intent::NoVerdict | Intent::EndStub => Some(UNFOLDED),
            Intent::Verdict | Intent::Refresh | Intent::Close => None,
        };
        let both = verdict.zip(opening);
        let both = both.map(|(verdict, opening)| with_verdict(text, verdict, opening, room));
        let whole = self.marker.above(both.as_deref().unwrap_or(text));
        match self.publication.place {
            PostPlace::MergeRequest { .. } => without_quick_actions(&whole),
            _ => whole,
        }
    }

    /// Lists, decides, and writes at most one text; ends if nothing was missing.
    async fn next(&mut self, forge: &Forge) -> Result<ControlFlow<()>, ForgeError> {
        let place = self.publication.place;
        let is_closing = self.text.intent == Intent::Close;
        let mut listed = forge.posts(place, None).await?;
        let is_listed = |post: &Post| listed.iter().any(|other| other.number() == post.number());
        let unlisted = self.created.clone().filter(|created| !is_listed(created));
        listed.extend(unlisted);
        let may_open = place == PostPlace::Issues && self.text.intent == Intent::Verdict;
        let closed = match may_open && self.own(&listed).is_empty() {
            true => {
                let time = self.marker.order.time;
                let since = time.saturating_sub(CLOCKS_DIFFER).unwrap_or(time);
                forge.posts(place, Some(since)).await?
            }
            false => Vec::new(),
        };
        let over = match self.decide(&listed, &closed) {
            PublicationStep::Write(over) => over,
            PublicationStep::End {
                outcome,
                kept,
                duplicates,
            } => {
                self.published.outcome = outcome;
                self.published.url = Some(kept.url.clone());
                self.tidy(forge, kept, &duplicates, &listed).await;
                return Ok(ControlFlow::Break(()));
            }
            PublicationStep::EndWithout => return Ok(ControlFlow::Break(())),
        };
        let outcome = match over {
            None => PublicationOutcome::Created,
            Some(_) if is_closing => PublicationOutcome::Closed,
            Some(_) => PublicationOutcome::Updated,
        };
        if over.is_none() {
            self.published.outcome = outcome;
        }
        let body = self.body_over(over);
        let closed_as = is_closing.then_some("completed");
        let text = (self.text.title, &*body);
        match forge.write_post(place, over, text, closed_as).await {
            Ok(post) => {
                self.published.outcome = outcome;
                self.published.url = Some(post.url.clone());
                if self.is_enough(over, &listed) {
                    return Ok(ControlFlow::Break(()));
                }
                if is_closing {
                    self.gone.push(post.number());
                } else if over.is_none() {
                    self.identity = post.author.clone().unwrap_or(self.identity.clone());
                    self.created = Some(post);
                }
            }
            // The next round finds it, or sends it again.
            Err(error) if error.kind == ForgeErrorKind::Unsure => self.trouble = Some(error),
            Err(error) => match over {
                Some(over) if error.kind == ForgeErrorKind::NotFound => {
                    self.gone.push(over.number());
                    self.trouble = Some(error);
                }
                _ => return Err(error),
            },
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Whether what was just written need not be looked at again: the last word comes above a stub, and the stub that it replaces,
    /// alone there until now, has kept older runs from writing.
    fn is_enough(&self, over: Option<&Post>, listed: &[Post]) -> bool {
        let (ours, own) = (self.marker.order, self.own(listed));
        let is_stub =
            |marker: &Marker| (marker.order, marker.state) == (ours, MarkerState::Running);
        self.text.intent == Intent::Stub
            || over.is_some() && matches!(&own[..], [(_, theirs)] if is_stub(theirs))
    }

    /// Removes duplicates, and hides older comments where each run has its own. What cannot be done is a note.
    async fn tidy(
        &mut self,
        forge: &Forge,
        kept: &Post,
        duplicates: &[OwnPost<'_>],
        listed: &[Post],
    ) {
        let Publication { place, older, .. } = self.publication;
        let what = self.publication.what();
        for duplicate in duplicates {
            if let Err(error) = forge.remove_duplicate(*place, duplicate, kept).await {
                let url = &duplicate.0.url;
                self.published.notes.push(format!(
                    "a second {what} of ours could not be removed: {error} {url}"
                ));
            }
        }
        if self.published.outcome == PublicationOutcome::Superseded {
            let by = Marker::of(kept.body()).map_or(String::new(), |marker| {
                let Order { time, run, attempt } = marker.order;
                format!(": run {run}, attempt {attempt}, of {time}")
            });
            self.published.notes.push(format!(
                "the {what} is of a newer run, so it is left unchanged{by}"
            ));
        } else if *older == OlderComments::Hide {
            let mut older = self.own(listed);
            older.retain(|(post, theirs)| {
                theirs.order <= self.marker.order && post.number() != kept.number()
            });
            if let Err(error) = forge.hide(&older).await {
                let note = format!("an older comment of ours could not be hidden: {error}");
                self.published.notes.push(note);
            }
        }
    }
}
