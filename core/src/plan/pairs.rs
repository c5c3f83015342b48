//! Files that belong together by their names, and are drawn apart.

use std::collections::BTreeMap;

use crate::canary::{ChannelData, DataObject, Dataset, Objects};
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

/// The files of one name.
type Namesakes<'a> = BTreeMap<FileKind<'a>, Vec<&'a DataObject>>;

/// By name, without folder and ending.
type Names<'a> = BTreeMap<&'a str, Namesakes<'a>>;

fn by_stem<'a>(drawn: &'a [(&str, Objects)], stem_of: fn(&str) -> &str) -> Names<'a> {
    let mut names = Names::new();
    for (channel, objects) in drawn {
        for object in objects.iter() {
            let key = &*object.key;
            let name = key.rsplit('/').next().unwrap_or(key);
            let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
            let has_no_rows = matches!(RowFormat::of_name(key), Err(RowsProblem::NotRows));
            let kind = FileKind {
                may_be_table: !has_no_rows || matches!(ending, "" | "json" | "tar" | "zip"),
                channel,
                ending,
            };
            let files = names.entry(stem_of(stem)).or_default();
            files.entry(kind).or_default().push(object);
        }
    }
    names
}

/// Without what follows its number: `1` of `1_mask`.
fn up_to_its_number(stem: &str) -> &str {
    let number = stem.rfind(|letter: char| letter.is_ascii_digit());
    number.map_or(stem, |last| &stem[..=last])
}

/// The first pair, where so many names are those of pairs.
fn pair_among<'n, 'a>(
    names: &'n Names<'a>,
    are_pair: fn(&Namesakes<'_>) -> bool,
    least: usize,
) -> Option<&'n Namesakes<'a>> {
    let mut pairs = names.values().filter(|files| are_pair(files));
    let count = pairs.clone().count();
    pairs.next().filter(|_| count >= least.max(FEWEST_PAIRS))
}

/// Whether they are of two kinds, as many of each: folders of classes that count alike have now more of one, now of another.
fn are_partners(files: &Namesakes<'_>) -> bool {
    let mut counts = files.values().map(Vec::len);
    let first = counts.next();
    let is_data = files.keys().any(|kind| !kind.may_be_table);
    is_data && files.len() > 1 && counts.all(|count| Some(count) == first)
}

/// Whether they are two of one kind, one at least twice as large: files of two classes are about as large.
fn are_unlike(files: &Namesakes<'_>) -> bool {
    let mut kinds = files.iter();
    let (Some((kind, files)), None) = (kinds.next(), kinds.next()) else {
        return false;
    };
    let sizes = files.iter().map(|file| file.bytes.0);
    let [least, most] = [sizes.clone().min(), sizes.max()].map(Option::unwrap_or_default);
    !kind.may_be_table && files.len() == 2 && most > least && most / 2 >= least
}

/// Whether its data are others than the training data, and no partners of them.
pub(super) fn is_part(channel: &ChannelData) -> bool {
    PARTS.iter().any(|part| channel.name.starts_with(part))
}

/// Refuses files in pairs, such as images and their masks, where each file is drawn by itself: a tenth of the images and a tenth of the
/// masks have a hundredth of the pairs. At least half of the names have to be those of pairs, and three quarters where both have one ending
/// in one channel. Tables of one name are parts of one table.
pub(super) fn refuse_pairs(job: &Job, dataset: &Dataset) -> Result<(), PlanError> {
    let is_drawn_alone = |channel: &&ChannelData| {
        channel.rows.is_none() && !matches!(channel.rule, DrawRule::With(_)) && !is_part(channel)
    };
    let alone = dataset.sampled().filter(is_drawn_alone);
    let drawn = alone.map(|channel| (&*channel.name, channel.objects.without(&channel.always)));
    let drawn: Vec<(&str, Objects)> = drawn.collect();
    let whole = by_stem(&drawn, |stem| stem);
    let numbered = by_stem(&drawn, up_to_its_number);
    let half = |names: &Names<'_>| names.len().div_ceil(2);
    let pair = pair_among(&whole, are_partners, half(&whole));
    let pair = pair.or_else(|| pair_among(&numbered, are_partners, half(&numbered)));
    let three_quarters = (3 * numbered.len()).div_ceil(4);
    let pair = pair.or_else(|| pair_among(&numbered, are_unlike, three_quarters));
    let Some(pair) = pair else {
        return Ok(());
    };
    let ends = [pair.first_key_value(), pair.last_key_value()];
    let [Some((first, files)), Some((last, others))] = ends else {
        return Ok(());
    };
    let two = [(first, files.first()), (last, others.last())];
    let two = two.into_iter().filter_map(|(kind, file)| {
        let key = file?.key.escape_debug();
        Some(format!("`{key}` of channel `{}`", kind.channel))
    });
    let why = format!(
        "most files of job `{}` share their names with others, such as {}, and each is drawn by itself: where the script takes them in pairs, a canary gets far fewer pairs than its share, and no forecast holds",
        job.name,
        joined(two, " and ")
    );
    Err(PlanError::NoCanaries(Reason::new(why).advising(
        "give each kind a channel of its own, and write `draw_with` and the other's name on one of them; or `canary: {joined: false}` where the script takes no pairs",
    )))
}
