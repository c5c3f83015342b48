//! Files that belong together by their names, and are drawn apart.

use std::collections::{BTreeMap, HashMap};

use crate::canary::{ChannelData, Dataset, Objects};
use crate::rows::{RowFormat, RowsProblem};
use crate::spec::{DrawRule, Job};
use crate::verdict::Reason;

use super::PlanError;

/// Fewer files of the same names are no kinds of files.
const FEWEST_PAIRS: usize = 3;

/// Refuses two kinds of files, by channel and ending, of which at least half have the names of the other, such as images and their
/// masks: a tenth of each are a hundredth of the pairs. Tables of the same names are parts of one.
pub(super) fn refuse_pairs(job: &Job, dataset: &Dataset) -> Result<(), PlanError> {
    let is_drawn_alone = |channel: &&ChannelData| {
        channel.rows.is_none() && !matches!(channel.rule, DrawRule::With(_))
    };
    let alone = dataset.sampled().filter(is_drawn_alone);
    let drawn = alone.map(|channel| (&*channel.name, channel.objects.without(&channel.always)));
    let drawn: Vec<(&str, Objects)> = drawn.collect();
    let mut kinds: BTreeMap<(&str, &str), HashMap<&str, &str>> = BTreeMap::new();
    for (channel, objects) in &drawn {
        for key in objects.iter().map(|object| &*object.key) {
            let name = key.rsplit('/').next().unwrap_or(key);
            let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
            let kind = kinds.entry((channel, ending)).or_default();
            kind.insert(stem, key);
        }
    }
    let may_be_table = |key: &str| {
        let has_no_rows = matches!(RowFormat::of_name(key), Err(RowsProblem::NotRows));
        !has_no_rows || !key.contains('.')
    };
    let kinds = Vec::from_iter(kinds);
    for (place, ((channel, _), files)) in kinds.iter().enumerate() {
        for ((earlier, _), others) in &kinds[..place] {
            let pairs = files.iter();
            let pairs = pairs.filter_map(|(stem, key)| Some((others.get(stem)?, key)));
            let count = pairs.clone().count();
            let is_most = 2 * count >= files.len().max(others.len()) && count >= FEWEST_PAIRS;
            let Some((other, key)) = pairs.min().filter(|_| is_most) else {
                continue;
            };
            if may_be_table(other) && may_be_table(key) {
                continue;
            }
            let words =
                |key: &str, channel| format!("`{}` of channel `{channel}`", key.escape_debug());
            let (one, other) = (words(other, earlier), words(key, channel));
            let why = format!(
                "canaries get a sample of two kinds of files of job `{}`, such as {one} and {other}, at least half of which share their names, and each file is drawn by itself: where the script takes them in pairs, a sample of each gives far fewer pairs than its share, and no forecast holds",
                job.name
            );
            return Err(PlanError::NoCanaries(Reason::new(why).advising(
                "give each kind a channel of its own, and write `draw_with` and the other's name on one of them; or `canary: {joined: false}` where the script takes no pairs",
            )));
        }
    }
    Ok(())
}
