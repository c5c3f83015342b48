//! What the spec says of a channel's draw, applied to its listing.

use std::collections::HashSet;

use super::{ChannelData, Dataset, Objects};
use crate::code::PathGlobs;
use crate::rows::RowBlocks;
use crate::spec::{Channel, ChannelSample, DrawRule, Job};

/// Why the objects of a channel cannot be drawn as the spec says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DrawProblem {
    #[error(
        "jobs.{job}.training.channels.{channel}.always: `{pattern}` matches no file of the channel"
    )]
    NothingAlways {
        job: String,
        channel: String,
        pattern: String,
    },
    #[error(
        "jobs.{job}.training.channels.{channel}.always: every file of the channel is one that all canaries get, so none is left to draw"
    )]
    AllAlways { job: String, channel: String },
    #[error(
        "jobs.{job}.training.channels.{channel}.draw_with: no file of `{channel}` has the stem of one of `{with}`"
    )]
    NoPartners {
        job: String,
        channel: String,
        with: String,
    },
}

impl DrawProblem {
    pub fn help(&self) -> &'static str {
        match self {
            Self::NothingAlways { .. } => {
                "correct the pattern: it is over paths below the channel, such as `labels.csv`, `*.json` at the top or `**/*.json` anywhere"
            }
            Self::AllAlways { .. } => {
                "write narrower patterns, or `sample: false` if canaries shall have the whole channel"
            }
            Self::NoPartners { .. } => {
                "a stem is the path below the channel without the last extension, `cats/0001` of `cats/0001.jpg`: give partners the same one, or draw the channel by itself"
            }
        }
    }
}

/// What was listed of a channel.
#[derive(Debug)]
pub struct ChannelListing {
    pub objects: Objects,
    /// The blocks of its files, where rows are drawn.
    pub rows: Option<RowBlocks>,
    /// Where files are drawn, the names of the columns of one, as far as it is a table that was looked at.
    pub columns: Vec<String>,
}

impl From<Objects> for ChannelListing {
    fn from(objects: Objects) -> Self {
        Self {
            objects,
            rows: None,
            columns: Vec::new(),
        }
    }
}

impl Dataset {
    /// What was listed of a job's channels, in the order of the spec.
    ///
    /// # Errors
    ///
    /// Where `always` matches nothing or everything, and where `draw_with` finds no partner.
    pub fn of_listing(job: &Job, listed: Vec<ChannelListing>) -> Result<Self, DrawProblem> {
        let channels = job.training.channels.iter().zip(listed);
        let mut channels: Vec<ChannelData> = channels
            .map(|(channel, listed)| listed_channel(job, channel, listed))
            .collect::<Result<_, _>>()?;
        for index in 0..channels.len() {
            let DrawRule::With(leader) = &channels[index].rule else {
                continue;
            };
            let Some(leader) = channels.iter().find(|channel| channel.name == *leader) else {
                continue;
            };
            let follower = &channels[index];
            if partners(&leader.objects, &follower.objects).is_empty() {
                return Err(DrawProblem::NoPartners {
                    job: job.name.clone(),
                    channel: follower.name.clone(),
                    with: leader.name.clone(),
                });
            }
            // Every canary gets the partners of what every canary gets.
            let always = partners(&leader.always, &follower.objects);
            let always = always.or(&follower.always);
            channels[index].always = always;
        }
        Ok(Self { channels })
    }
}

fn listed_channel(
    job: &Job,
    channel: &Channel,
    listed: ChannelListing,
) -> Result<ChannelData, DrawProblem> {
    let ChannelListing {
        objects,
        rows,
        columns,
    } = listed;
    let data = ChannelData {
        rows,
        columns,
        ..ChannelData::new(&channel.name, channel.sample.is_drawn(), objects)
    };
    if channel.sample != ChannelSample::Objects {
        return Ok(data);
    }
    for pattern in channel
        .draw
        .always
        .iter()
        .filter(|one| !one.starts_with('!'))
    {
        if matching(std::slice::from_ref(pattern), &data.objects).is_empty() {
            return Err(DrawProblem::NothingAlways {
                job: job.name.clone(),
                channel: channel.name.clone(),
                pattern: pattern.clone(),
            });
        }
    }
    let always = match channel.draw.always.as_slice() {
        [] => data.objects.select([]),
        patterns => matching(patterns, &data.objects),
    };
    if always.len() == data.objects.len() {
        return Err(DrawProblem::AllAlways {
            job: job.name.clone(),
            channel: channel.name.clone(),
        });
    }
    Ok(ChannelData {
        always,
        rule: channel.draw.rule.clone(),
        ..data
    })
}

fn matching(patterns: &[String], objects: &Objects) -> Objects {
    let globs = PathGlobs::new(patterns, "");
    those(objects, |key| globs.matches(key))
}

/// Those of `of` that have the stem of an object of `leaders`.
pub fn partners(leaders: &Objects, of: &Objects) -> Objects {
    let mut stems: HashSet<Box<str>> = HashSet::new();
    leaders.for_each(|key, _| {
        stems.insert(stem(key).into());
    });
    those(of, |key| stems.contains(stem(key)))
}

fn those(objects: &Objects, is_one: impl Fn(&str) -> bool) -> Objects {
    let mut position = 0;
    let mut found = Vec::new();
    objects.for_each(|key, _| {
        if is_one(key) {
            found.push(position);
        }
        position += 1;
    });
    objects.select(found)
}

/// The path below the channel without the last extension: `cats/0001` of `cats/0001.jpg`.
fn stem(key: &str) -> &str {
    let name = key.rfind('/').map_or(0, |slash| slash + 1);
    match key[name..].rfind('.') {
        // A hidden file has no extension.
        Some(dot) if dot > 0 => &key[..name + dot],
        _ => key,
    }
}
