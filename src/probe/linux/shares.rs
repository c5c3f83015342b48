//! Statistics of a share over a run, in constant space: a run may last for weeks.

use crate::measurement::Utilization;
use crate::units::Percent;

/// Fewer samples give no 99th percentile.
const FEWEST_FOR_P99: u32 = 20;
/// A tenth of a percent each, from 0 to 100 %.
const BINS: usize = 1001;

/// Samples of a share, 0-100 %.
#[derive(Default)]
pub(super) struct Shares {
    /// The number of samples at every tenth of a percent; empty without a sample.
    bins: Vec<u32>,
    count: u32,
    sum: f64,
}

impl Shares {
    /// Takes one sample; clamps it to 0-100 %, and ignores NaN.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "0 to 1000 after the clamp"
    )]
    pub(super) fn add(&mut self, percent: f64) {
        if percent.is_nan() {
            return;
        }
        let percent = percent.clamp(0.0, 100.0);
        self.bins.resize(BINS, 0);
        self.bins[(percent * 10.0).round() as usize] += 1;
        self.count += 1;
        self.sum += percent;
    }

    /// Takes the mean of these as one sample; none of none.
    pub(super) fn add_mean(&mut self, percents: impl Iterator<Item = f64>) {
        let (count, sum) = percents.fold((0_u32, 0.0), |(count, sum), one| (count + 1, sum + one));
        self.add(sum / f64::from(count));
    }

    /// `None` without a sample.
    pub(super) fn mean(&self) -> Option<Percent> {
        (self.count > 0).then(|| Percent(self.sum / f64::from(self.count)))
    }

    /// The mean and the 99th percentile, read from `source`; `None` without a sample.
    pub(super) fn utilization(&self, source: &str) -> Option<Utilization> {
        Some(Utilization::new(self.mean()?.0, self.p99(), source))
    }

    /// The smallest share that at least 99 % of the samples do not exceed (nearest rank), to a tenth of a percent;
    /// `None` for fewer than 20 samples.
    pub(super) fn p99(&self) -> Option<Percent> {
        if self.count < FEWEST_FOR_P99 {
            return None;
        }
        let rank = (u64::from(self.count) * 99).div_ceil(100);
        let mut seen = 0;
        for (tenths, count) in (0_u32..).zip(&self.bins) {
            seen += u64::from(*count);
            if seen >= rank {
                return Some(Percent(f64::from(tenths) / 10.0));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shares(values: impl IntoIterator<Item = f64>) -> Shares {
        let mut shares = Shares::default();
        values.into_iter().for_each(|value| shares.add(value));
        shares
    }

    #[test]
    fn the_99th_percentile_is_the_nearest_rank() {
        // Nearest rank of 1..=200 at 99 %: ceil(0.99 * 200) = the 198th value; here in halves of a percent.
        let all = shares((1..=200).map(|number| f64::from(number) / 2.0));
        assert_eq!(all.p99(), Some(Percent(99.0)));
        assert_eq!(all.mean(), Some(Percent(50.25)));
    }

    #[test]
    fn too_few_samples_have_a_mean_alone_and_none_leaves_its_range() {
        assert_eq!(shares([]).mean(), None);
        assert_eq!(shares([10.0; 19]).mean(), Some(Percent(10.0)));
        assert_eq!(shares([10.0; 19]).p99(), None);
        assert_eq!(shares([10.0; 20]).p99(), Some(Percent(10.0)));
        let odd = shares([250.0, -3.0, f64::NAN, f64::INFINITY]);
        assert_eq!(odd.mean(), Some(Percent(200.0 / 3.0)));
    }
}
