//! Which objects of a sampled channel a canary gets.

use std::fmt;

use serde::Serialize;

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

/// Which objects come first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum DrawOrder {
    /// By the seed.
    #[default]
    Random,
    /// The last by name, such as the newest month; a larger canary holds a smaller one, and replicates are the same.
    Last,
}

/// Of what each canary has a share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum DrawUnit {
    #[default]
    Channel,
    /// Each top folder, of which at least one object.
    Folder,
}

impl ChannelDraw {
    /// Whether it is drawn as where nothing is written.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
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
