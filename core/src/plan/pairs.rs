//! Files that belong together by their names, and are drawn apart.

use std::collections::BTreeMap;

use crate::canary::{ChannelData, Dataset, Objects};
use crate::grammar::joined;
use crate::rows::{RowFormat, RowsProblem};
use crate::spec::{DrawRule, Job};
use crate::verdict::Reason;

use super::PlanError;

/// Of fewer names nothing is told.
const FEWEST_PAIRS: usize = 3;
/// How channels are called whose files belong to none of another.
const PARTS: [&str; 4] = ["val", "test", "eval", "dev"];

/// Refuses two kinds of files, by channel and ending, where at least half of all names are those of two, such as images and their
/// masks: a tenth of each are a hundredth of the pairs. Tables of the same names are parts of one.
pub(super) fn refuse_pairs(job: &Job, dataset: &Dataset) -> Result<(), PlanError> {
    let is_drawn_alone = |channel: &&ChannelData| {
        let is_part = PARTS.iter().any(|part| channel.name.starts_with(part));
        channel.rows.is_none() && !matches!(channel.rule, DrawRule::With(_)) && !is_part
    };
    let alone = dataset.sampled().filter(is_drawn_alone);
    let drawn = alone.map(|channel| (&*channel.name, channel.objects.without(&channel.always)));
    let drawn: Vec<(&str, Objects)> = drawn.collect();
    // What shares a name, tables last.
    let mut names: BTreeMap<&str, BTreeMap<(bool, &str, &str), &str>> = BTreeMap::new();
    for (channel, objects) in &drawn {
        for key in objects.iter().map(|object| &*object.key) {
            let name = key.rsplit('/').next().unwrap_or(key);
            let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
            let has_no_rows = matches!(RowFormat::of_name(key), Err(RowsProblem::NotRows));
            let may_be_table = !has_no_rows || matches!(ending, "" | "json");
            let kinds = names.entry(stem).or_default();
            kinds.insert((may_be_table, channel, ending), key);
        }
    }
    let is_pair = |kinds: &&BTreeMap<(bool, &str, &str), &str>| {
        kinds.len() > 1 && kinds.keys().any(|(may_be_table, ..)| !may_be_table)
    };
    let pairs = names.values().filter(is_pair);
    let count = pairs.clone().count();
    let Some(kinds) = pairs
        .min()
        .filter(|_| count >= FEWEST_PAIRS && 2 * count >= names.len())
    else {
        return Ok(());
    };
    let kinds = kinds.iter().take(2);
    let kinds = kinds
        .map(|((_, channel, _), key)| format!("`{}` of channel `{channel}`", key.escape_debug()));
    let why = format!(
        "canaries get a sample of two kinds of files of job `{}`, such as {}, at least half of which share their names, and each file is drawn by itself: where the script takes them in pairs, a sample of each gives far fewer pairs than its share, and no forecast holds",
        job.name,
        joined(kinds, " and ")
    );
    Err(PlanError::NoCanaries(Reason::new(why).advising(
        "give each kind a channel of its own, and write `draw_with` and the other's name on one of them; or `canary: {joined: false}` where the script takes no pairs",
    )))
}
