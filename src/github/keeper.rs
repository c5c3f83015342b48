//! One machine that keeps a comment or an issue: ours is updated, never doubled, and never made older.
//!
//! GitHub offers no lock and no conditional write, so nothing here relies on what was read a moment ago: after each write
//! the list is read again, until it shows what it should. What two runs wrote at once becomes one by a rule that both of
//! them follow ([`choose`], [`fold`]), and what was written without an answer is looked for before it is written again.
//!
//! One gap stays: of two runs that write within the same second, an older one that has looked can still write last.
//! A workflow's concurrency group closes it.

use jiff::Timestamp;

use super::client::Github;
use super::error::GithubError;
use super::identity::Identity;
use super::marked::{KeeperChoice, Marked, MarkerOf, OwnItem, choose, fold, own};
use super::order::Order;

/// How often it is looked whether everything is as it should be, while other runs write too.
const ROUNDS: usize = 12;

/// Waits between two looks become no longer from here on.
const LONGEST_PAUSE: usize = 3;

/// How often something is sent whose answers are lost.
const ATTEMPTS: usize = 4;

/// How often something is looked for that GitHub has taken and does not list.
const LOOKS: usize = 4;

/// What became of a comment or an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptItem {
    pub change: KeeperChange,
    /// Where a person reads it, and where it was superseded, the newer one; `None` only where there is none.
    pub url: Option<String>,
    /// What went wrong without harm, one sentence each.
    pub notes: Vec<String>,
}

/// What was changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeeperChange {
    Created,
    Updated,
    Closed,
    /// It stood there already.
    Unchanged,
    /// A newer run has written already.
    Superseded,
    /// There is none, and none was wanted.
    Nothing,
}

/// A word that is to stand on GitHub.
pub(super) trait Word {
    type Item: Marked;

    /// `comment` or `issue`.
    const WHAT: &'static str;
    /// `created` or `opened`.
    const CREATED: &'static str;
    /// What is said of a duplicate that stays.
    const NOT_REMOVED: &'static str;

    fn marker(&self) -> &<Self::Item as Marked>::Marker;

    /// Whether nothing is to stand there in the end.
    fn is_last(&self) -> bool;

    /// Whether one is created where none is there.
    fn is_wanted(&self) -> bool {
        true
    }

    /// Leaves those of our own that the word may be written over, and what a newer run wrote.
    fn keep_to_its_own(&self, _own: &mut Vec<OwnItem<'_, Self::Item>>) {}

    async fn list(&self, github: &Github) -> Result<Vec<Self::Item>, GithubError>;

    async fn create(&self, github: &Github) -> Result<Self::Item, GithubError>;

    /// Writes over what stays; `None` where it says that already.
    async fn update(
        &self,
        github: &Github,
        kept: &Self::Item,
    ) -> Result<Option<Self::Item>, GithubError>;

    /// Writes the word of another run over what stays.
    async fn copy(
        &self,
        github: &Github,
        kept: &Self::Item,
        word: &Self::Item,
    ) -> Result<Self::Item, GithubError>;

    /// Whether GitHub shows what was written; else writing it again would be no different.
    fn is_shown(&self, written: &Self::Item) -> bool;

    async fn remove(
        &self,
        github: &Github,
        duplicate: &Self::Item,
        kept: &Self::Item,
    ) -> Result<(), GithubError>;

    /// Our own that is not listed any more, and says no less than this run would.
    async fn said_since(
        &self,
        github: &Github,
        identity: &Identity,
        now: Timestamp,
    ) -> Result<Option<Self::Item>, GithubError>;
}

/// Makes the word stand on GitHub, once.
///
/// What has a marker that is ahead of `now` by more than clocks differ is not ours.
pub(super) async fn keep<W: Word>(
    github: &Github,
    word: W,
    now: Timestamp,
) -> Result<KeptItem, GithubError> {
    let mut notes = Vec::new();
    let identity = github.identity(&mut notes).await;
    let mut keeper = Keeper {
        github,
        identity,
        // A clock that is behind does not make our own a stranger's.
        now: now.max(word.marker().order().time),
        word,
        created: None,
        looked: 0,
        tried: 0,
        written: None,
        trouble: None,
        gone: Vec::new(),
        notes,
    };
    let Done { change, url } = keeper.rounds().await?;
    let notes = keeper.notes;
    Ok(KeptItem { change, url, notes })
}

/// What was done, and where it is seen.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Done {
    change: KeeperChange,
    url: Option<String>,
}

impl Done {
    fn new(change: KeeperChange, item: &impl Marked) -> Self {
        let url = Some(item.url().to_owned());
        Self { change, url }
    }
}

/// One word on its way.
struct Keeper<'a, W: Word> {
    github: &'a Github,
    word: W,
    /// As far as is known; from the first item that we create on, for sure.
    identity: Identity,
    now: Timestamp,
    /// What this run created, though it may not be the one that stays.
    created: Option<W::Item>,
    /// How often that one was not listed.
    looked: usize,
    /// How often one was sent.
    tried: usize,
    /// What was written, and where: from then on nothing that goes wrong is an error.
    written: Option<Done>,
    /// An error that another round may not meet.
    trouble: Option<GithubError>,
    /// Those that were listed, and are not there any more.
    gone: Vec<u64>,
    notes: Vec<String>,
}

impl<W: Word> Keeper<'_, W> {
    /// Rounds of looking and writing, until a look shows that nothing is left to write.
    async fn rounds(&mut self) -> Result<Done, GithubError> {
        for number in 0..ROUNDS {
            if number > 0 {
                // A list may lag behind what was written.
                self.github.pause(number.min(LONGEST_PAUSE)).await;
            }
            match self.round().await {
                Ok(Some(done)) => return Ok(done),
                Ok(None) => {}
                Err(error) => {
                    self.trouble = Some(error);
                    break;
                }
            }
        }
        as_written(
            W::WHAT,
            self.written.take(),
            self.trouble.take(),
            &mut self.notes,
        )
    }

    /// Looks, and does the next thing; what became of the word when nothing is left to do.
    async fn round(&mut self) -> Result<Option<Done>, GithubError> {
        let items = self.word.list(self.github).await?;
        let marker = self.word.marker().clone();
        let mut own = own(&items, &self.identity, marker.spec(), self.now);
        own.retain(|(item, _)| !self.gone.contains(&item.number()));
        self.word.keep_to_its_own(&mut own);
        match choose(&own, &marker) {
            KeeperChoice::Create => self.without_one(&items).await,
            KeeperChoice::Superseded { order, .. } => self.give_way(&own, order).await,
            KeeperChoice::Update { kept } => self.update(kept, &own).await,
        }
    }

    /// None of ours is listed.
    async fn without_one(&mut self, items: &[W::Item]) -> Result<Option<Done>, GithubError> {
        if self.word.is_last() || !self.word.is_wanted() {
            let nothing = Done {
                change: KeeperChange::Nothing,
                url: None,
            };
            return Ok(Some(self.written.take().unwrap_or(nothing)));
        }
        let said = self.word.said_since(self.github, &self.identity, self.now);
        if let Some(by) = said.await? {
            let order = by.marker().map(|theirs| theirs.order());
            let newer = order.filter(|order| *order > self.word.marker().order());
            return Ok(Some(match newer {
                Some(order) => self.superseded(&by, order),
                // This run's own word, closed by a person at once.
                None => Done::new(self.change(&by), &by),
            }));
        }
        match self.standing() {
            Some(created) => Ok(self.await_created(&created, items)),
            None => self.create().await.map(|()| None),
        }
    }

    /// What this run created, unless it is known to be gone.
    fn standing(&self) -> Option<W::Item> {
        let created = self.created.as_ref();
        let standing = created.filter(|created| !self.gone.contains(&created.number()));
        standing.cloned()
    }

    /// What was created and is not recognised is never created again: it is listed with another text, or not listed yet.
    fn await_created(&mut self, created: &W::Item, items: &[W::Item]) -> Option<Done> {
        self.looked += 1;
        let is_listed = items.iter().any(|item| item.number() == created.number());
        if !is_listed && self.looked < LOOKS {
            return None;
        }
        let why = match is_listed {
            true => "its text was changed since",
            false => "GitHub does not list it yet",
        };
        self.notes
            .push(format!("the {} was {}, and {why}", W::WHAT, W::CREATED));
        Some(Done::new(KeeperChange::Created, created))
    }

    async fn create(&mut self) -> Result<(), GithubError> {
        if self.tried == ATTEMPTS
            && let Some(error) = self.trouble.take()
        {
            return Err(error);
        }
        self.tried += 1;
        match self.word.create(self.github).await {
            Ok(item) => {
                if let Some(author) = item.author() {
                    self.identity = Identity::from(author);
                }
                self.written = Some(Done::new(KeeperChange::Created, &item));
                self.created = Some(item);
                Ok(())
            }
            // The next look shows it.
            Err(error @ GithubError::Unsure { .. }) => {
                self.trouble = Some(error);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Writes over the one that stays. When that says the word, the others, which hold nothing newer, go.
    async fn update(
        &mut self,
        kept: &W::Item,
        own: &[OwnItem<'_, W::Item>],
    ) -> Result<Option<Done>, GithubError> {
        if self.word.is_last() {
            self.remove_duplicates(own).await;
        }
        let result = self.word.update(self.github, kept).await;
        match self.unless_gone(kept, result)? {
            None => Ok(None),
            Some(None) => {
                self.remove_duplicates(own).await;
                Ok(Some(Done::new(self.change(kept), kept)))
            }
            Some(Some(written)) if self.word.is_last() => {
                // The list may go on showing it.
                self.gone.push(written.number());
                self.written = Some(Done::new(KeeperChange::Closed, &written));
                Ok(None)
            }
            Some(Some(written)) => {
                let done = Done::new(KeeperChange::Updated, &written);
                self.written = Some(done.clone());
                Ok((!self.word.is_shown(&written)).then_some(done))
            }
        }
    }

    /// A newer run has written: there is to be one, with the newest word, which goes nowhere before it was seen in the one
    /// that stays.
    async fn give_way(
        &mut self,
        own: &[OwnItem<'_, W::Item>],
        newest: Order,
    ) -> Result<Option<Done>, GithubError> {
        let Some(folding) = fold(own) else {
            return Ok(None);
        };
        let Some(word) = folding.word else {
            self.remove_duplicates(own).await;
            return Ok(Some(self.superseded(folding.kept, newest)));
        };
        let result = self.word.copy(self.github, folding.kept, word).await;
        if let Some(written) = self.unless_gone(folding.kept, result)? {
            self.written = Some(Done::new(KeeperChange::Superseded, &written));
        }
        Ok(None)
    }

    fn unless_gone<T>(
        &mut self,
        kept: &W::Item,
        result: Result<T, GithubError>,
    ) -> Result<Option<T>, GithubError> {
        match result {
            Ok(written) => Ok(Some(written)),
            Err(error @ (GithubError::NotFound { .. } | GithubError::Gone { .. })) => {
                self.gone.push(kept.number());
                self.trouble = Some(error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Removes all but the oldest; also what this run created, though it may not be listed yet. One that stays is a blemish:
    /// the next run finds it again.
    async fn remove_duplicates(&mut self, own: &[OwnItem<'_, W::Item>]) {
        let Some(((kept, _), duplicates)) = own.split_first() else {
            return;
        };
        let unlisted = self.standing().filter(|created| {
            own.iter()
                .all(|(item, _)| item.number() != created.number())
        });
        let duplicates = duplicates.iter().map(|(item, _)| *item);
        for duplicate in duplicates.chain(unlisted.as_ref()) {
            match self.word.remove(self.github, duplicate, kept).await {
                Ok(()) => self.gone.push(duplicate.number()),
                Err(error) => {
                    let url = duplicate.url();
                    let note = format!("{} ({url}): {error}", W::NOT_REMOVED);
                    self.notes.push(note);
                }
            }
        }
    }

    fn superseded(&mut self, by: &W::Item, order: Order) -> Done {
        let Order { time, run, attempt } = order;
        self.notes.push(format!(
            "the {} is of a newer run, so it is left unchanged: run {run}, attempt {attempt}, of {time}",
            W::WHAT
        ));
        Done::new(KeeperChange::Superseded, by)
    }

    /// What this run did to the one that says its word.
    fn change(&self, kept: &W::Item) -> KeeperChange {
        let created = self.created.as_ref();
        match &self.written {
            _ if created.is_some_and(|created| created.number() == kept.number()) => {
                KeeperChange::Created
            }
            Some(_) => KeeperChange::Updated,
            // Sent, and the answer lost.
            None if self.tried > 0 => KeeperChange::Created,
            None => KeeperChange::Unchanged,
        }
    }
}

/// What became of `what` where no round ended it: it was `written`, as far as is known, else the trouble.
fn as_written<T>(
    what: &'static str,
    written: Option<T>,
    trouble: Option<GithubError>,
    notes: &mut Vec<String>,
) -> Result<T, GithubError> {
    let Some(written) = written else {
        return Err(trouble.unwrap_or(GithubError::Unsettled { what }));
    };
    notes.push(match trouble {
        Some(error) => format!("the {what} was written, but could not be checked: {error}"),
        None => format!("the {what} was written, but other runs keep changing it"),
    });
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_reported_and_what_was_not_is_an_error_to_act_on() {
        let mut notes = Vec::new();
        let written = as_written("comment", Some(7), None, &mut notes).unwrap();
        assert_eq!(written, 7);
        let expected = "the comment was written, but other runs keep changing it";
        assert_eq!(notes, [expected]);
        let error = as_written::<u8>("issue", None, None, &mut notes).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the issue could not be brought up to date in several attempts"
        );
        assert!(error.help().contains("start the workflow again"));
    }
}
