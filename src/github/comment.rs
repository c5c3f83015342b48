//! The comment's marker, its order, and which comment is ours.
//!
//! A comment is found again by the marker in its first line, and only among our own: whoever may write comments may write
//! our marker too. The marker also says which run wrote the comment, so that a slow older run cannot overwrite what a
//! newer one told.

use std::fmt::{self, Write as _};

use jiff::{SignedDuration, Timestamp};

#[cfg(test)]
mod tests;

const OPENING: &str = "<!-- canary-gate v1 spec=";
const CLOSING: &str = " -->";
const RUNNING: &str = " state=running";

/// How far clocks may differ: a marker that is further ahead was not written by a run of ours.
pub(super) const CLOCKS_DIFFER: SignedDuration = SignedDuration::from_hours(1);

/// Which of two comments is newer: by the time of the event, then by the run's number, then by its attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    /// When the event happened that started the run.
    pub time: Timestamp,
    pub run: u64,
    pub attempt: u32,
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.time, self.run, self.attempt)
    }
}

impl Order {
    /// Reads what [`Display`](fmt::Display) wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '/');
        Some(Self {
            time: parts.next()?.parse().ok()?,
            run: parts.next()?.parse().ok()?,
            attempt: parts.next()?.parse().ok()?,
        })
    }
}

/// What a comment tells. Of one run, the final word is the newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MarkerState {
    /// That the run is at work.
    Running,
    /// How the run ended.
    Final,
}

/// The hidden first line of a comment: which spec it is about, and which run wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Marker {
    /// The spec's path in the repository, compared whole.
    pub spec: String,
    pub order: Order,
    pub state: MarkerState,
}

/// `<!-- canary-gate v1 spec=canary-gate.yml order=2026-11-21T09:14:07Z/4821/1 -->`
impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            MarkerState::Running => RUNNING,
            MarkerState::Final => "",
        };
        let spec = encoded(&self.spec);
        write!(f, "{OPENING}{spec} order={}{state}{CLOSING}", self.order)
    }
}

impl Marker {
    /// The marker in the first line of a comment, `None` where that line is anything but a marker, to the letter.
    pub fn of(body: &str) -> Option<Self> {
        let line = body.lines().next()?;
        let fields = line.strip_prefix(OPENING)?.strip_suffix(CLOSING)?;
        let (fields, state) = match fields.strip_suffix(RUNNING) {
            Some(fields) => (fields, MarkerState::Running),
            None => (fields, MarkerState::Final),
        };
        let (spec, order) = fields.split_once(" order=")?;
        let marker = Self {
            spec: decoded(spec)?,
            order: Order::parse(order)?,
            state,
        };
        // One marker is written in one way only: other spellings of a path or a number are not ours.
        (marker.to_string() == line).then_some(marker)
    }

    /// A whole comment: the marker, then the text.
    pub fn above(&self, text: &str) -> String {
        format!("{self}\n{text}")
    }

    /// What decides which of two comments about one spec is the newer.
    fn age(&self) -> (Order, MarkerState) {
        (self.order, self.state)
    }
}

/// Percent-encoded, so that no path ends the HTML comment or the field that it stands in.
pub(super) fn encoded(path: &str) -> String {
    let mut shown = String::with_capacity(path.len());
    for byte in path.bytes() {
        let is_plain = match byte {
            // Two of them may not stand inside an HTML comment.
            b'-' => !shown.ends_with('-'),
            _ => byte.is_ascii_alphanumeric() || b"._/".contains(&byte),
        };
        if is_plain {
            shown.push(char::from(byte));
        } else {
            write!(shown, "%{byte:02X}").expect("writing to a string cannot fail");
        }
    }
    shown
}

pub(super) fn decoded(field: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || char::from(rest.next()?).to_digit(16);
            let value = digit()? * 16 + digit()?;
            bytes.push(u8::try_from(value).expect("two hexadecimal digits make a byte"));
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

/// Who wrote a comment, as the REST API says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    pub login: String,
    /// Stays when the login changes, and is given to nobody else; absent where the answer lacks it.
    pub id: Option<u64>,
    pub is_bot: bool,
}

/// A comment of a pull request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// Grows with time: of two comments, the smaller id was there first.
    pub id: u64,
    /// `None` for an account that is gone.
    pub author: Option<Author>,
    pub body: String,
    /// Where a person reads it.
    pub url: String,
}

/// Whose comments and issues are ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// As GraphQL names the viewer; an app's may lack the `[bot]` that its login has elsewhere.
    pub login: String,
    /// GraphQL's `databaseId`, which is the REST API's `id`.
    pub id: Option<u64>,
}

impl Identity {
    /// By their ids where both are known, else by their logins, exact to the letter. A person cannot be called `…[bot]`:
    /// their names hold no bracket.
    pub fn wrote(&self, comment: &Comment) -> bool {
        comment
            .author
            .as_ref()
            .is_some_and(|author| self.is(author))
    }

    /// Whether this author is the one.
    pub(super) fn is(&self, author: &Author) -> bool {
        match self.id.zip(author.id) {
            Some((ours, theirs)) => ours == theirs,
            None => {
                author.login == self.login
                    || author.is_bot && author.login.strip_suffix("[bot]") == Some(&self.login)
            }
        }
    }
}

/// Who wrote a comment of ours is who we are.
impl From<&Author> for Identity {
    fn from(author: &Author) -> Self {
        Self {
            login: author.login.clone(),
            id: author.id,
        }
    }
}

/// What to do with the comments of a pull request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommentChoice<'a> {
    /// None is ours and about this spec.
    Create,
    /// A newer run has told already: nothing is written.
    Superseded { by: &'a Comment, order: Order },
    /// Ours, to be written over: the oldest, to which links may exist.
    Update { kept: &'a Comment },
}

/// Our own comments about `spec` as of `now`, oldest first.
///
/// All workflows of a repository write as one bot, and one of them may repeat what a pull request's author wrote. A marker
/// from the future would silence every run until then, so it is nobody's.
pub fn own_comments<'a>(
    comments: &'a [Comment],
    identity: &Identity,
    spec: &str,
    now: Timestamp,
) -> Vec<(&'a Comment, Marker)> {
    let mut own: Vec<_> = comments
        .iter()
        .filter(|comment| identity.wrote(comment))
        .filter_map(|comment| Some((comment, Marker::of(&comment.body)?)))
        .filter(|(_, marker)| marker.spec == spec)
        .filter(|(_, marker)| marker.order.time.duration_since(now) <= CLOCKS_DIFFER)
        .collect();
    own.sort_by_key(|(comment, _)| comment.id);
    own.dedup_by_key(|(comment, _)| comment.id);
    own
}

/// What to do in order to tell what belongs under `marker`, given our own comments about its spec, oldest first.
///
/// The stub of an older run is written over, whether that run is at work or dead; a newer run's is not.
pub fn choose<'a>(own: &[(&'a Comment, Marker)], marker: &Marker) -> CommentChoice<'a> {
    let Some((kept, _)) = own.first() else {
        return CommentChoice::Create;
    };
    match newest(own) {
        Some((newest, theirs)) if theirs.age() > marker.age() => CommentChoice::Superseded {
            by: newest,
            order: theirs.order,
        },
        _ => CommentChoice::Update { kept },
    }
}

/// How several comments about one spec, which two runs may have written at once, become one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folding<'a> {
    /// The oldest stays.
    pub kept: &'a Comment,
    /// What it is to say: the word of the newest run. `None` where it says that already.
    pub body: Option<&'a str>,
    /// All others, to be deleted.
    pub duplicates: Vec<&'a Comment>,
}

/// `None` where there is no comment; the same for each run that looks, so that all of them may try at once.
pub fn fold<'a>(own: &[(&'a Comment, Marker)]) -> Option<Folding<'a>> {
    let ((kept, _), others) = own.split_first()?;
    let (newest, _) = newest(own)?;
    Some(Folding {
        kept,
        body: (newest.id != kept.id).then_some(newest.body.as_str()),
        duplicates: others.iter().map(|(comment, _)| *comment).collect(),
    })
}

/// The first of the newest.
fn newest<'a, 'b>(own: &'b [(&'a Comment, Marker)]) -> Option<&'b (&'a Comment, Marker)> {
    own.iter().rev().max_by_key(|(_, marker)| marker.age())
}

/// Whether GitHub would show the same: it may give lines back with another ending.
pub fn says_the_same(left: &str, right: &str) -> bool {
    left.trim_end().lines().eq(right.trim_end().lines())
}
