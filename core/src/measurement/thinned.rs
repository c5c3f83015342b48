//! Values of a run in bounded memory, however many come.

/// Values in their order, at most `MOST` of them, which is even; beyond that only every second, fourth, ... value of the run is kept.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Thinned<T, const MOST: usize> {
    /// Every `2^halvings`-th.
    pub(super) kept: Vec<T>,
    halvings: u32,
    /// How many came.
    pub(super) count: u64,
}

impl<T, const MOST: usize> Thinned<T, MOST> {
    pub(super) fn add(&mut self, value: T) {
        if self.count.is_multiple_of(1 << self.halvings) {
            if self.kept.len() == MOST {
                let mut index = 0_usize;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.halvings += 1;
            }
            // `MOST` is even, so this value stays.
            self.kept.push(value);
        }
        self.count += 1;
    }
}
