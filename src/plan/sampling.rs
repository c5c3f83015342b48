//! Which objects a canary gets: drawn without repeats, the same for the same seed.

use sha2::{Digest, Sha256};

use crate::canary::{ChannelData, Dataset};
use crate::units::Fraction;

use super::units_of;

/// A fraction of the design and the objects it draws.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Size {
    pub(super) fraction: Fraction,
    pub(super) objects: usize,
}

/// Objects for each fraction of the list: min(N, max(rank in the list, round(fraction x N))), equal sizes dropped.
///
/// The rank keeps the sizes apart when the data has few objects: 1, 2, 3 % of 10 objects are 1, 2 and 3 objects.
pub(super) fn sizes(fractions: &[Fraction], total: usize) -> Vec<Size> {
    let mut sizes: Vec<Size> = Vec::with_capacity(fractions.len());
    for (index, fraction) in fractions.iter().enumerate() {
        let objects = rounded(fraction.0 * units_of(total))
            .max(index + 1)
            .min(total);
        if sizes.last().is_none_or(|last| last.objects < objects) {
            sizes.push(Size {
                fraction: *fraction,
                objects,
            });
        }
    }
    sizes
}

/// What every channel gets in one run: `objects` of `total` from the sampled channel with the fewest, the same share of
/// every other sampled channel, and whole channels whole.
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
            let have = channel.objects.len();
            let want = rounded(units_of(objects) / units_of(total) * units_of(have)).clamp(1, have);
            let mut ranked: Vec<_> = channel
                .objects
                .iter()
                .map(|object| {
                    (
                        rank(seed, replicate, objects, &channel.name, &object.key),
                        object,
                    )
                })
                .collect();
            ranked.sort();
            let mut drawn: Vec<_> = ranked
                .into_iter()
                .take(want)
                .map(|(_, object)| object.clone())
                .collect();
            drawn.sort();
            ChannelData {
                name: channel.name.clone(),
                sampled: true,
                objects: drawn,
            }
        })
        .collect()
}

/// An object's place in the drawing of one run: a hash, so that the order neither depends on the listing nor on a
/// generator's version, and an added object disturbs no other.
fn rank(seed: u64, replicate: u32, objects: usize, channel: &str, key: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(format!("{seed}/{replicate}/{objects}/{channel}/{key}"));
    hash.finalize().into()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of an object count is not negative and not above it"
)]
fn rounded(value: f64) -> usize {
    value.round() as usize
}
