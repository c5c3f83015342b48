//! What the spec says of a channel's draw, applied to its listing.

use std::collections::HashSet;

use super::{ChannelData, Dataset, Objects};
use crate::code::PathGlobs;
use crate::outside_error::OutsideError;
use crate::spec::{Channel, ChannelSample, DrawRule, Job};

/// Why the objects of a channel cannot be drawn as the spec says: the key, and what is wrong with it.
fn refused(job: &Job, channel: &str, why: &str, help: &str) -> OutsideError {
    let field = format!("jobs.{}.training.channels.{channel}", job.name);
    OutsideError::of(format!("{field}.{why}")).help(help)
}

impl Dataset {
    /// What was listed of a job's channels, in the order of the spec, with the draw that the spec asks for.
    ///
    /// # Errors
    ///
    /// Where `always` matches nothing or everything, and where `draw_with` finds no partner.
    pub fn of_listing(job: &Job, listed: Vec<ChannelData>) -> Result<Self, OutsideError> {
        let channels = job.training.channels.iter().zip(listed);
        let mut channels: Vec<ChannelData> = channels
            .map(|(channel, data)| with_draw(job, channel, data))
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
                let (own, with) = (&follower.name, &leader.name);
                return Err(refused(
                    job,
                    own,
                    &format!("draw_with: no file of `{own}` has the stem of one of `{with}`"),
                    "a stem is the path below the channel without the last extension, `cats/0001` of `cats/0001.jpg`: give partners the same one, or draw the channel by itself",
                ));
            }
            // Every canary gets the partners of what every canary gets.
            let always = partners(&leader.always, &follower.objects);
            let always = always.or(&follower.always);
            channels[index].always = always;
        }
        Ok(Self { channels })
    }
}

fn with_draw(job: &Job, channel: &Channel, data: ChannelData) -> Result<ChannelData, OutsideError> {
    if channel.sample != ChannelSample::Objects {
        return Ok(data);
    }
    let written = channel.draw.always.iter();
    for pattern in written.filter(|one| !one.starts_with('!')) {
        if matching(std::slice::from_ref(pattern), &data.objects).is_empty() {
            return Err(refused(
                job,
                &channel.name,
                &format!("always: `{pattern}` matches no file of the channel"),
                "correct the pattern: it is over paths below the channel, such as `labels.csv`, `*.json` at the top or `**/*.json` anywhere",
            ));
        }
    }
    let always = match channel.draw.always.as_slice() {
        [] => data.objects.select([]),
        patterns => matching(patterns, &data.objects),
    };
    if always.len() == data.objects.len() {
        return Err(refused(
            job,
            &channel.name,
            "always: every file of the channel is one that all canaries get, so none is left to draw",
            "write narrower patterns, or `sample: false` if canaries shall have the whole channel",
        ));
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
    let stems: HashSet<&str> = leaders.iter().map(|leader| stem(&leader.key)).collect();
    those(of, |key| stems.contains(stem(key)))
}

fn those(objects: &Objects, is_one: impl Fn(&str) -> bool) -> Objects {
    let all = objects.iter().enumerate();
    objects.select(all.filter_map(|(place, one)| is_one(&one.key).then_some(place)))
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
