//! Numbers of a stream in bounded memory, evenly spread over it.

/// The most numbers kept; beyond that only every second, fourth, ... number of the run is kept.
pub(super) const KEPT: usize = 10_000;

/// Numbers in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Thinned {
    /// Every `2^halvings`-th.
    kept: Vec<f64>,
    halvings: u32,
    count: u64,
}

impl Thinned {
    pub(super) fn add(&mut self, number: f64) {
        if self.count.is_multiple_of(1 << self.halvings) {
            if self.kept.len() == KEPT {
                let mut index = 0_usize;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.halvings += 1;
            }
            // `KEPT` is even, so this number stays.
            self.kept.push(number);
        }
        self.count += 1;
    }

    pub(super) fn kept(&self) -> &[f64] {
        &self.kept
    }

    /// How many were added.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

/// `None` of none.
pub(super) fn median(numbers: &[f64]) -> Option<f64> {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        // Halved first, so that the sum stays finite.
        _ => Some(sorted[middle - 1] / 2.0 + sorted[middle] / 2.0),
    }
}
