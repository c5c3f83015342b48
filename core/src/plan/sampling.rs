//! Draws the objects of a canary: without replacement, and the same for the same seed.

use sha2::{Digest, Sha256};

use crate::canary::{self, ChannelData, Dataset, Objects};
use crate::rows::{BlockPlace, RowBlocks};
use crate::spec::{DrawOrder, DrawRule, DrawUnit};
use crate::units::{Fraction, count_as_float};

/// With so many the largest share is exact to more digits than a million objects have.
const HALVINGS: usize = 50;

/// A fraction of the design and the objects it draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DrawSize {
    pub(super) fraction: Fraction,
    pub(super) objects: usize,
}

/// The number of objects of each fraction: min(N, max(rank in the list, round(fraction x N))), without equal sizes.
///
/// The rank makes the sizes differ if the data has few objects: 1, 2, 3 % of 10 objects are 1, 2 and 3 objects.
///
/// None is below `least`, and the ranks begin with `first`.
pub(super) fn sizes(
    fractions: &[Fraction],
    total: usize,
    (first, least): (usize, usize),
) -> Vec<DrawSize> {
    let mut sizes: Vec<DrawSize> = Vec::with_capacity(fractions.len());
    for (index, fraction) in fractions.iter().enumerate() {
        let objects = rounded(fraction.0 * count_as_float(total))
            .max(index + first)
            .max(least)
            .min(total);
        if sizes.last().is_none_or(|last| last.objects < objects) {
            sizes.push(DrawSize {
                fraction: *fraction,
                objects,
            });
        }
    }
    sizes
}

/// The data of every channel in one run: `objects` of `total` from the smallest sampled channel, the same share of every
/// other sampled channel, and all of the other channels; of each what every canary gets.
pub(super) fn draw(
    dataset: &Dataset,
    objects: usize,
    total: usize,
    seed: u64,
    replicate: u32,
) -> Vec<ChannelData> {
    let own = |channel: &ChannelData| {
        let DrawRule::Share { order, by } = channel.rule else {
            return None;
        };
        let have = channel.drawn();
        let want = rounded(count_as_float(objects) / count_as_float(total) * count_as_float(have))
            .max(1)
            .min(have);
        let ranks = SampleOrder::of(seed, replicate, objects, &channel.name);
        if let Some(rows) = &channel.rows {
            return Some(ChannelData {
                rows: Some(ranks.draw_rows(rows, want)),
                ..channel.clone()
            });
        }
        let pool = channel.objects.without(&channel.always);
        let chosen = match by {
            DrawUnit::Channel => first_of(&ranks, order, &pool, want),
            DrawUnit::Folder => of_each_folder(&ranks, order, &pool, want),
        };
        Some(channel.with(chosen.or(&channel.always)))
    };
    let drawn = |channel: &ChannelData| match channel.sampled {
        true => own(channel),
        false => Some(channel.clone()),
    };
    let alone: Vec<Option<ChannelData>> = dataset.channels.iter().map(drawn).collect();
    let leader = |name: &str| alone.iter().flatten().find(|channel| channel.name == name);
    let with_leader = |(channel, alone): (&ChannelData, &Option<ChannelData>)| {
        if let Some(alone) = alone {
            return alone.clone();
        }
        let partners = match &channel.rule {
            DrawRule::With(name) => leader(name).map(|of| of.objects.clone()),
            DrawRule::Share { .. } => None,
        };
        let partners = partners.unwrap_or_default();
        let partners = canary::partners(&partners, &channel.objects);
        channel.with(partners.or(&channel.always))
    };
    (dataset.channels.iter().zip(&alone))
        .map(with_leader)
        .collect()
}

/// The first `want` objects of a draw.
fn first_of(ranks: &SampleOrder, order: DrawOrder, pool: &Objects, want: usize) -> Objects {
    match order {
        DrawOrder::Random => ranks.draw(pool, want),
        DrawOrder::Last => {
            // `_SUCCESS` and hidden files sort last and are no data: they come only where all else is drawn.
            let is_data = pool.iter().map(|object| {
                let name = object.key.rsplit('/').next().unwrap_or(&object.key);
                !name.starts_with(['_', '.'])
            });
            let mut places: Vec<(bool, usize)> =
                is_data.enumerate().map(|(at, data)| (data, at)).collect();
            places.sort_unstable();
            let last = places.into_iter().rev().take(want);
            pool.select(last.map(|(_, place)| place))
        }
    }
}

/// Of each top folder a share, and at least one object.
fn of_each_folder(ranks: &SampleOrder, order: DrawOrder, pool: &Objects, want: usize) -> Objects {
    let folders = folders(pool);
    let parts = apportion(want, &folders);
    let mut start = 0;
    let of_folder = |(have, part): (usize, usize)| {
        let folder = pool.select(start..start + have);
        start += have;
        first_of(ranks, order, &folder, part)
    };
    let chosen: Vec<Objects> = folders.into_iter().zip(parts).map(of_folder).collect();
    pool.all_of(&chosen)
}

/// How many objects each top folder has, in the order of the keys; those beside folders are one more.
pub(super) fn folders(pool: &Objects) -> Vec<usize> {
    let mut counts: Vec<usize> = Vec::new();
    let mut last = None;
    for object in pool.iter() {
        let folder = object.key.split_once('/').map_or("", |(folder, _)| folder);
        match counts.last_mut() {
            Some(count) if last == Some(folder) => *count += 1,
            _ => counts.push(1),
        }
        last = Some(folder);
    }
    counts
}

/// `want` objects over folders of these sizes, in proportion but at least one of each; the largest remainders get what is left.
pub(super) fn apportion(want: usize, folders: &[usize]) -> Vec<usize> {
    let total: usize = folders.iter().sum();
    let want = want.max(folders.len()).min(total);
    let exact = |share: f64, have: usize| share * count_as_float(have);
    let parts = |share: f64| -> Vec<usize> {
        let of_folder = |have: &usize| rounded(exact(share, *have).floor()).clamp(1, *have);
        folders.iter().map(of_folder).collect()
    };
    // Where small folders take more than their share, the others have a smaller one: the largest that takes no more than wanted.
    let (mut low, mut high) = (0.0, count_as_float(want) / count_as_float(total));
    if parts(high).iter().sum::<usize>() <= want {
        low = high;
    }
    for _ in 0..HALVINGS {
        let middle = f64::midpoint(low, high);
        match parts(middle).iter().sum::<usize>() <= want {
            true => low = middle,
            false => high = middle,
        }
    }
    let mut parts = parts(low);
    let mut left = want - parts.iter().sum::<usize>();
    let remainder = |index: usize| exact(low, folders[index]) - count_as_float(parts[index]);
    let mut open: Vec<usize> = (0..parts.len()).collect();
    open.sort_by(|a, b| remainder(*b).total_cmp(&remainder(*a)).then(a.cmp(b)));
    while left > 0 {
        for &index in &open {
            if left > 0 && parts[index] < folders[index] {
                parts[index] += 1;
                left -= 1;
            }
        }
    }
    parts
}

/// Ranks the objects for one run by a hash, so that the order depends neither on the listing nor on the version of a random
/// generator, and an added object does not change the order of the others. The lowest ranks are drawn.
pub(super) struct SampleOrder(Sha256);

impl SampleOrder {
    pub(super) fn of(seed: u64, replicate: u32, objects: usize, channel: &str) -> Self {
        let beginning = format!("{seed}/{replicate}/{objects}/{channel}/");
        Self(Sha256::new_with_prefix(beginning))
    }

    pub(super) fn rank(&self, key: &str) -> [u8; 32] {
        self.0.clone().chain_update(key).finalize().into()
    }

    /// Draws `want` of these blocks: of each file in proportion, and of each one at least while there are enough.
    pub(super) fn draw_rows(&self, from: &RowBlocks, want: usize) -> RowBlocks {
        let mut ranked: Vec<(u64, [u8; 8], BlockPlace)> = Vec::with_capacity(from.len());
        for (file, count) in (0_u32..).zip(from.counts()) {
            let key = &from.files[file as usize].key;
            let of_file = self.0.clone().chain_update(key).chain_update("#");
            let mut blocks: Vec<([u8; 8], u32)> = (0..count)
                .map(|block| {
                    let rank = of_file.clone().chain_update(block.to_be_bytes()).finalize();
                    (first_bytes(&rank), block)
                })
                .collect();
            blocks.sort_unstable();
            let blocks = blocks.into_iter().enumerate();
            ranked.extend(blocks.map(|(place, (rank, block))| {
                let share = count_as_float(place) / f64::from(count);
                // The bits of such a number are in its order.
                (share.to_bits(), rank, BlockPlace { file, block })
            }));
        }
        ranked.sort_unstable();
        let drawn = ranked.into_iter().take(want).map(|(_, _, place)| place);
        from.draw(drawn.collect())
    }

    /// Draws `want` of `from`. Of each rank the first eight bytes are kept: that two of millions are equal in them is hardly possible,
    /// and then the first key is drawn.
    pub(super) fn draw(&self, from: &Objects, want: usize) -> Objects {
        let keys = from
            .iter()
            .map(|object| first_bytes(&self.rank(&object.key)));
        let mut ranked: Vec<([u8; 8], usize)> = keys.zip(0..).collect();
        if want < ranked.len() {
            ranked.select_nth_unstable(want);
        }
        let drawn = ranked.into_iter().take(want);
        from.select(drawn.map(|(_, place)| place))
    }
}

fn first_bytes(rank: &[u8]) -> [u8; 8] {
    let mut first = [0; 8];
    first.copy_from_slice(&rank[..8]);
    first
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of an object count is not negative and not above it"
)]
fn rounded(value: f64) -> usize {
    value.round() as usize
}
