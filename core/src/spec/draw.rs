//! Which objects of a sampled channel a canary gets: what goes together, and what has no meaning.

use std::fmt;

use serde::Serialize;

use super::keys::{List, mapping};
use super::kind::{Text, words};
use super::paths::path_problem;
use super::reader::{At, Reader, rules};
use super::{Channel, ChannelSample};

/// Each is held against every file of the channel, of which there may be millions.
const MOST_PATTERNS_OF_A_CHANNEL: usize = 20;

/// What is drawn of a sampled channel.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ChannelDraw {
    pub rule: DrawRule,
    /// Patterns of the objects that every canary gets beside the drawn ones, over keys below the channel; `!` excludes.
    pub always: Vec<String>,
}

/// How objects are chosen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum DrawRule {
    /// A share of the objects.
    Share { order: DrawOrder, by: DrawUnit },
    /// Those that have the stem of an object that this other channel draws: masks beside their images.
    With(String),
}

impl Default for DrawRule {
    fn default() -> Self {
        Self::Share {
            order: DrawOrder::Random,
            by: DrawUnit::Channel,
        }
    }
}

words! {
    /// Which objects come first.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
    pub enum DrawOrder {
        /// By the seed.
        #[default]
        "random" Random,
        /// The last by name, such as the newest month; a larger canary holds a smaller one, and replicates are the same.
        "last" Last,
    }

    /// Of what each canary has a share.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
    pub enum DrawUnit {
        #[default]
        Channel,
        /// Each top folder, of which at least one object.
        "folder" Folder,
    }
}

impl fmt::Display for ChannelDraw {
    /// `{by: folder, order: last, always: [labels.csv]}`; `random` where nothing is written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut keys = Vec::new();
        match &self.rule {
            DrawRule::Share { order, by } => {
                keys.extend((*by == DrawUnit::Folder).then(|| "by: folder".to_owned()));
                keys.extend((*order == DrawOrder::Last).then(|| "order: last".to_owned()));
            }
            DrawRule::With(channel) => keys.push(format!("draw_with: {channel}")),
        }
        if !self.always.is_empty() {
            keys.push(format!("always: [{}]", self.always.join(", ")));
        }
        match keys.is_empty() {
            true => f.write_str("random"),
            false => write!(f, "{{{}}}", keys.join(", ")),
        }
    }
}

mapping! {
    /// The keys of a channel that say what is drawn of it.
    pub(in crate::spec) struct DrawKeys named "Draw" {
        /// Patterns of files that every canary gets, beside the drawn ones, for instance `[labels.csv, "*.json"]`.
        optional always: List<Text>;
        /// Another channel: canaries get the files that have the stems of those that it draws, such as masks of images.
        optional draw_with: Text;
        /// `folder`: canaries have a share of every top folder, such as the classes of images, in place of one of the channel.
        optional by: DrawUnit;
        /// Which files come first: `random` by the seed; `last` takes the last by name, such as the newest months. Default: random.
        optional order: DrawOrder;
    }
}

impl From<DrawKeys> for ChannelDraw {
    fn from(keys: DrawKeys) -> Self {
        let rule = match keys.draw_with {
            Some(with) => DrawRule::With(with),
            None => DrawRule::Share {
                order: keys.order.unwrap_or_default(),
                by: keys.by.unwrap_or_default(),
            },
        };
        let always = keys.always.unwrap_or_default();
        Self { rule, always }
    }
}

impl Reader<'_> {
    pub(super) fn check_draw(&mut self, at: &At, channel: &Channel) {
        let is_partner = matches!(channel.draw.rule, DrawRule::With(_));
        for key in ["always", "draw_with", "by", "order"] {
            let at = at.key(key);
            let sample = Some(channel.sample).filter(|_| self.has(&at));
            let is_of_partner = is_partner && matches!(key, "by" | "order");
            rules! { self, at;
                refuse "" if sample == Some(ChannelSample::Whole) =>
                    "nothing is drawn of this channel: every canary gets all of it", "remove the key, or `sample: false`";
                refuse "" if sample == Some(ChannelSample::Rows) =>
                    "rows of each file are drawn, not files",
                    "remove the key; files that every canary gets whole belong on a channel of their own, with `sample: false`";
                refuse "" if sample == Some(ChannelSample::Objects) && is_of_partner =>
                    "beside `draw_with` the other channel says which files are drawn", "write it on that channel";
            }
        }
        self.check_always(&at.key("always"), &channel.draw.always);
    }

    fn check_always(&mut self, at: &At, always: &[String]) {
        let help = Some("remove the key");
        self.refuse_empty(at, always, "there is no pattern", help);
        let mut is_wrong = always.is_empty();
        for (index, text) in always.iter().enumerate() {
            let path = text.strip_prefix('!').unwrap_or(text);
            let (problem, help) = match path_problem(path) {
                _ if path.starts_with('/') => (
                    "is not below the channel",
                    "write the path from the channel's folder, such as `labels.csv`",
                ),
                Some((problem, _)) => (
                    problem,
                    "patterns are over paths below the channel: write one from the channel's folder, such as `labels.csv`",
                ),
                None => continue,
            };
            is_wrong = true;
            self.form(&at.item(index), text, Some((problem, help)));
        }
        if is_wrong {
            return;
        }
        let (count, most) = (always.len(), MOST_PATTERNS_OF_A_CHANNEL);
        if count > most {
            let message = format!("{count} patterns; a channel has at most {most}");
            self.refuse(at, message, "let a pattern stand for several files: `\"*.json\"`; or put them into a channel of their own with `sample: false`");
        } else if always.iter().all(|one| one.starts_with('!')) {
            let help = "name the files that every canary gets, such as `[labels.csv]`";
            self.refuse(at, "no pattern includes anything", help);
        } else {
            self.globs(at, always);
        }
    }

    /// `draw_with` names a channel that draws by itself.
    pub(super) fn check_partners(&mut self, at: &At, channels: &[Channel]) {
        for channel in channels {
            let DrawRule::With(name) = &channel.draw.rule else {
                continue;
            };
            let at = at.key(&channel.name).key("draw_with");
            let Some(other) = channels.iter().find(|other| other.name == *name) else {
                let known = channels.iter().map(|other| other.name.as_str());
                let otherwise = Some("name one of `channels`");
                self.unknown(&at, name, "names no channel", known, otherwise);
                continue;
            };
            let problem = match other.sample {
                _ if *name == channel.name => "the channel cannot be drawn with itself",
                _ if matches!(other.draw.rule, DrawRule::With(_)) => {
                    "that channel is itself drawn with another one"
                }
                ChannelSample::Objects => continue,
                ChannelSample::Whole => {
                    "nothing is drawn of that channel: every canary gets all of it"
                }
                ChannelSample::Rows => "rows of each file of that channel are drawn, not files",
            };
            let help = "name a channel that is sampled by itself, such as `draw_with: images`";
            self.refuse(&at, problem, help);
        }
    }
}
