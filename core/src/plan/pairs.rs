//! Files that belong together by their names, and are drawn apart.

use std::collections::BTreeMap;

use crate::canary::{ChannelData, Dataset, Objects};
use crate::grammar::joined;
use crate::rows::{RowFormat, RowsProblem};
use crate::spec::{DrawRule, Job};
use crate::verdict::Reason;

use super::PlanError;

/// Fewer pairs may share their names by chance.
const FEWEST_PAIRS: usize = 3;
/// A channel with one of these names holds data of its own, and no partners of the training data.
const PARTS: [&str; 4] = ["val", "test", "eval", "dev"];

/// What files of one name may differ in. Tables come last.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FileKind<'a> {
    may_be_table: bool,
    channel: &'a str,
    ending: &'a str,
}

/// Refuses files in pairs, such as images and their masks, where each file is drawn by itself: a tenth of the images and a tenth of the
/// masks have a hundredth of the pairs. At least half of the names have to be those of pairs. Tables of one name are parts of one table.
pub(super) fn refuse_pairs(job: &Job, dataset: &Dataset) -> Result<(), PlanError> {
    let is_drawn_alone = |channel: &&ChannelData| {
        let is_part = PARTS.iter().any(|part| channel.name.starts_with(part));
        channel.rows.is_none() && !matches!(channel.rule, DrawRule::With(_)) && !is_part
    };
    let alone = dataset.sampled().filter(is_drawn_alone);
    let drawn = alone.map(|channel| (&*channel.name, channel.objects.without(&channel.always)));
    let drawn: Vec<(&str, Objects)> = drawn.collect();
    // By name, without folder and ending, the files of each kind.
    let mut names: BTreeMap<&str, BTreeMap<FileKind<'_>, &str>> = BTreeMap::new();
    for (channel, objects) in &drawn {
        for key in objects.iter().map(|object| &*object.key) {
            let name = key.rsplit('/').next().unwrap_or(key);
            let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
            let has_no_rows = matches!(RowFormat::of_name(key), Err(RowsProblem::NotRows));
            let kind = FileKind {
                may_be_table: !has_no_rows || matches!(ending, "" | "json"),
                channel,
                ending,
            };
            names.entry(stem).or_default().insert(kind, key);
        }
    }
    let is_pair = |files: &&BTreeMap<FileKind<'_>, &str>| {
        files.len() > 1 && files.keys().any(|kind| !kind.may_be_table)
    };
    let pairs = names.values().filter(is_pair);
    let count = pairs.clone().count();
    let are_most = count >= FEWEST_PAIRS && 2 * count >= names.len();
    let Some(pair) = pairs.min().filter(|_| are_most) else {
        return Ok(());
    };
    let two = pair
        .iter()
        .take(2)
        .map(|(kind, key)| format!("`{}` of channel `{}`", key.escape_debug(), kind.channel));
    let why = format!(
        "most files of job `{}` share their names with others, such as {}, and each is drawn by itself: where the script takes them in pairs, a canary gets far fewer pairs than its share, and no forecast holds",
        job.name,
        joined(two, " and ")
    );
    Err(PlanError::NoCanaries(Reason::new(why).advising(
        "give each kind a channel of its own, and write `draw_with` and the other's name on one of them; or `canary: {joined: false}` where the script takes no pairs",
    )))
}
