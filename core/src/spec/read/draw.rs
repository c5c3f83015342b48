//! Which objects of a channel a canary gets: what goes together, and what has no meaning.

use super::SpecReader;
use super::paths::path_problem;
use crate::spec::problems::{Located, quoted};
use crate::spec::raw::{self, RawChannel};
use crate::spec::{ChannelDraw, ChannelSample, DrawOrder, DrawRule, DrawUnit, SampledBy};

/// Each is held against every file of the channel, of which there may be millions.
const MOST_PATTERNS_OF_A_CHANNEL: usize = 20;

impl SpecReader<'_> {
    pub(super) fn draw(
        &mut self,
        always: Option<Located<raw::List<raw::Text>>>,
        with: Option<Located<raw::Text>>,
        by: Option<Located<raw::Choice<DrawUnit>>>,
        order: Option<Located<raw::Choice<DrawOrder>>>,
        sample: ChannelSample,
    ) -> ChannelDraw {
        let by_at = by.as_ref().map(|by| &by.at);
        let order_at = order.as_ref().map(|order| &order.at);
        let unused = match sample {
            ChannelSample::Objects => None,
            ChannelSample::Whole => Some((
                "nothing is drawn of this channel: every canary gets all of it",
                "remove the key, or `sample: false`",
            )),
            ChannelSample::Rows => Some((
                "rows of each file are drawn, not files",
                "remove the key; files that every canary gets whole belong on a channel of their own, with `sample: false`",
            )),
        };
        if let Some((message, help)) = unused {
            let always_at = always.as_ref().map(|always| &always.at);
            let with_at = with.as_ref().map(|with| &with.at);
            for at in [always_at, with_at, by_at, order_at].into_iter().flatten() {
                self.findings.wrong_with_help(at, message, help);
            }
        }
        if with.is_some() {
            for at in [by_at, order_at].into_iter().flatten() {
                self.findings.wrong_with_help(
                    at,
                    "beside `draw_with` the other channel says which files are drawn",
                    "write it on that channel",
                );
            }
        }
        let always = always.map_or_else(Vec::new, |always| self.always(always));
        let rule = match with {
            Some(with) => DrawRule::With(with.value.0),
            None => DrawRule::Share {
                order: order.map_or(DrawOrder::Random, |order| order.value.0),
                by: by.map_or(DrawUnit::Channel, |by| by.value.0),
            },
        };
        ChannelDraw { rule, always }
    }

    fn always(&mut self, always: Located<raw::List<raw::Text>>) -> Vec<String> {
        let mut is_wrong = false;
        for pattern in &always.value.0 {
            let text = &pattern.value.0;
            let path = text.strip_prefix('!').unwrap_or(text);
            let (problem, help) = if path.starts_with('/') {
                (
                    "is not below the channel",
                    "write the path from the channel's folder, such as `labels.csv`",
                )
            } else if let Some((problem, _)) = path_problem(path) {
                (
                    problem,
                    "patterns are over paths below the channel: write one from the channel's folder, such as `labels.csv`",
                )
            } else {
                continue;
            };
            is_wrong = true;
            let message = format!("{} {problem}", quoted(text));
            self.findings.wrong_with_help(&pattern.at, message, help);
        }
        if is_wrong {
            return Vec::new();
        }
        let count = always.value.0.len();
        if count > MOST_PATTERNS_OF_A_CHANNEL {
            self.findings.wrong_with_help(
                &always.at,
                format!("{count} patterns; a channel has at most {MOST_PATTERNS_OF_A_CHANNEL}"),
                "let a pattern stand for several files: `\"*.json\"`; or put them into a channel of their own with `sample: false`",
            );
            return Vec::new();
        }
        if self.is_empty(&always) {
            self.findings
                .wrong_with_help(&always.at, "there is no pattern", "remove the key");
            return Vec::new();
        }
        let mut all = always.value.0.iter();
        if all.all(|one| one.value.0.starts_with('!')) {
            self.findings.wrong_with_help(
                &always.at,
                "no pattern includes anything",
                "name the files that every canary gets, such as `[labels.csv]`",
            );
            return Vec::new();
        }
        self.globs(always)
    }

    /// `draw_with` names a channel that draws by itself.
    pub(super) fn check_partners(&mut self, channels: &raw::Map<RawChannel>, sampling: SampledBy) {
        let find = |name: &str| {
            let mut entries = channels.entries.iter();
            entries.find(|entry| entry.name.value == name)
        };
        for entry in &channels.entries {
            let Some(with) = &entry.value.value.draw_with else {
                continue;
            };
            let (name, at) = (with.value.0.as_str(), &with.at);
            let Some(other) = find(name) else {
                let known = channels.names.iter().map(String::as_str);
                let otherwise = Some("name one of `channels`");
                (self.findings).unknown(at, name, "names no channel", known, otherwise);
                continue;
            };
            let other = &other.value.value;
            let sample = other.sample.as_ref();
            let sample = sample.map_or(sampling.default_sample(), |written| written.value.0);
            let problem = if name == entry.name.value {
                Some("the channel cannot be drawn with itself")
            } else if other.draw_with.is_some() {
                Some("that channel is itself drawn with another one")
            } else {
                match sample {
                    ChannelSample::Objects => None,
                    ChannelSample::Whole => {
                        Some("nothing is drawn of that channel: every canary gets all of it")
                    }
                    ChannelSample::Rows => {
                        Some("rows of each file of that channel are drawn, not files")
                    }
                }
            };
            if let Some(problem) = problem {
                let help = "name a channel that is sampled by itself, such as `draw_with: images`";
                self.findings.wrong_with_help(at, problem, help);
            }
        }
    }
}
