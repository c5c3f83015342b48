//! Draws the objects of a canary: without replacement, and the same for the same seed.

use sha2::{Digest, Sha256};

use crate::canary::{ChannelData, Dataset, Objects};
use crate::rows::{BlockPlace, RowBlocks};
use crate::units::{Fraction, count_as_float};

/// A fraction of the design and the objects it draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DrawSize {
    pub(super) fraction: Fraction,
    pub(super) objects: usize,
}

/// The number of objects of each fraction: min(N, max(rank in the list, round(fraction x N))), without equal sizes.
///
/// The rank makes the sizes differ if the data has few objects: 1, 2, 3 % of 10 objects are 1, 2 and 3 objects.
pub(super) fn sizes(fractions: &[Fraction], total: usize) -> Vec<DrawSize> {
    let mut sizes: Vec<DrawSize> = Vec::with_capacity(fractions.len());
    for (index, fraction) in fractions.iter().enumerate() {
        let objects = rounded(fraction.0 * count_as_float(total))
            .max(index + 1)
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
/// other sampled channel, and all of the other channels.
pub(super) fn draw(
    dataset: &Dataset,
    objects: usize,
    total: usize,
    seed: u64,
    replicate: u32,
) -> Vec<ChannelData> {
    dataset
        .channels
        .iter()
        .map(|channel| {
            if !channel.sampled {
                return channel.clone();
            }
            let have = channel.len();
            let want =
                rounded(count_as_float(objects) / count_as_float(total) * count_as_float(have))
                    .max(1)
                    .min(have);
            let order = SampleOrder::of(seed, replicate, objects, &channel.name);
            match &channel.rows {
                Some(rows) => ChannelData {
                    rows: Some(order.draw_rows(rows, want)),
                    ..channel.clone()
                },
                None => ChannelData {
                    objects: order.draw(&channel.objects, want),
                    ..channel.clone()
                },
            }
        })
        .collect()
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
        let mut ranked: Vec<(f64, [u8; 8], BlockPlace)> = Vec::with_capacity(from.len());
        for (file, count) in (0_u32..).zip(from.counts()) {
            let key = &from.files()[file as usize].key;
            let of_file = self.0.clone().chain_update(key).chain_update("#");
            let mut blocks: Vec<([u8; 8], u32)> = (0..count)
                .map(|block| {
                    let rank = of_file.clone().chain_update(block.to_be_bytes()).finalize();
                    let mut first = [0; 8];
                    first.copy_from_slice(&rank[..8]);
                    (first, block)
                })
                .collect();
            blocks.sort_unstable();
            let places = blocks
                .into_iter()
                .enumerate()
                .map(|(place, (rank, block))| {
                    let share = count_as_float(place) / f64::from(count);
                    (share, rank, BlockPlace { file, block })
                });
            ranked.extend(places);
        }
        ranked.sort_unstable_by(|one, other| {
            one.0
                .total_cmp(&other.0)
                .then(one.1.cmp(&other.1))
                .then(one.2.cmp(&other.2))
        });
        let drawn = ranked.into_iter().take(want).map(|(_, _, place)| place);
        from.draw(drawn.collect())
    }

    /// Draws `want` of `from`.
    ///
    /// The full ranks of a million objects would be several times as large as their listing. So only the first four bytes of
    /// each are kept; the full ranks decide between objects for which these are equal.
    pub(super) fn draw(&self, from: &Objects, want: usize) -> Objects {
        if want >= from.len() {
            return from.clone();
        }
        let Some(last) = want.checked_sub(1) else {
            return from.select([]);
        };
        let mut beginnings: Vec<u32> = Vec::with_capacity(from.len());
        from.for_each(|key, _| {
            let [a, b, c, d, ..] = self.rank(key);
            beginnings.push(u32::from_be_bytes([a, b, c, d]));
        });
        let (border, below) = nth_lowest(&beginnings, last);
        let positions = |is_meant: fn(&u32, &u32) -> bool| {
            let objects = beginnings.iter().enumerate();
            objects.filter_map(move |(position, rank)| is_meant(rank, &border).then_some(position))
        };
        let mut at_border: Vec<usize> = positions(u32::eq).collect();
        if below + at_border.len() > want {
            let mut whole: Vec<([u8; 32], usize)> = (from.select(at_border.iter().copied()).iter())
                .map(|object| self.rank(&object.key))
                .zip(at_border)
                .collect();
            whole.sort_unstable();
            at_border = whole.into_iter().map(|(_, position)| position).collect();
        }
        let rest = at_border.into_iter().take(want - below);
        from.select(positions(u32::lt).chain(rest))
    }
}

/// The number at index `n` in sorted order, and how many numbers are lower. `n` is below their count.
///
/// Counts the numbers by their upper halves and sorts only those with the same upper half, so it needs little extra memory.
pub(super) fn nth_lowest(numbers: &[u32], n: usize) -> (u32, usize) {
    let upper_half = |number: u32| usize::try_from(number >> 16).expect("16 bits");
    let mut counts = vec![0_usize; 1 << 16];
    for number in numbers {
        counts[upper_half(*number)] += 1;
    }
    let mut half = 0;
    let mut before = 0;
    while before + counts[half] <= n {
        before += counts[half];
        half += 1;
    }
    let of_half = (numbers.iter().copied()).filter(|number| upper_half(*number) == half);
    let mut of_half: Vec<u32> = of_half.collect();
    of_half.sort_unstable();
    let found = of_half[n - before];
    (
        found,
        before + of_half.partition_point(|number| *number < found),
    )
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of an object count is not negative and not above it"
)]
fn rounded(value: f64) -> usize {
    value.round() as usize
}
