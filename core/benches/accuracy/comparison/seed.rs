//! The seed library's forecast, re-made from its description.
//!
//! The values are inflated by 1.1. A least-squares line is drawn through a bootstrap resample of at most ten points, the
//! abscissa being the share of the **number** of files, and read off at the whole data; resamples are kept only if the
//! means rise with size; the forecast is the mean of 1,000 such readings. It has no interval.
//!
//! What the description leaves open, as it is decided here: a resample of n points holds min(10, n) of them, drawn with
//! replacement; it is kept if it holds more than one size and the mean of its values is higher for each larger size.
//! Drawing ends after 100,000 tries with what was kept; where that is nothing, as with memory that does not grow at all,
//! the plain bootstrap stands in: every resample of more than one size. Where even that gives no number above 0, or all
//! points have one size, there is no forecast.

const INFLATION: f64 = 1.1;
const MOST_POINTS: usize = 10;
const RESAMPLES: usize = 1_000;
const MOST_TRIES: usize = 100_000;

/// Any fixed number: the same table gives the same figures, whatever other workloads stand beside.
const RANDOM_SEED: u64 = 1;

/// The abscissa of the full run.
const WHOLE: f64 = 1.0;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct SeedForecast {
    /// Above 0, in the unit of the values.
    pub(crate) value: f64,
    pub(crate) resamples: Resamples,
}

/// Which resamples the forecast is the mean of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resamples {
    /// Those whose means rise with size.
    Rising,
    /// All, since none rose.
    Plain,
}

/// The forecast of the full run from points of (share of the files, value).
pub(crate) fn forecast(points: &[(f64, f64)]) -> Option<SeedForecast> {
    let inflated: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x, INFLATION * y)).collect();
    let of = |resamples, keep: fn(&[(f64, f64)]) -> bool| {
        let value = mean_reading(&inflated, keep).filter(|value| *value > 0.0)?;
        Some(SeedForecast { value, resamples })
    };
    of(Resamples::Rising, rises_with_size).or_else(|| {
        of(Resamples::Plain, |resample| {
            line_at_whole(resample).is_some()
        })
    })
}

/// Whether the mean of the values is higher for each larger size, of which there is more than one.
pub(crate) fn rises_with_size(resample: &[(f64, f64)]) -> bool {
    let mut sorted = resample.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let means: Vec<f64> = sorted
        .chunk_by(|a, b| a.0 == b.0)
        .map(|same_size| mean(same_size.iter().map(|(_, y)| *y)))
        .collect();
    means.len() > 1 && means.is_sorted_by(|smaller, larger| smaller < larger)
}

/// The mean of the lines' readings at the whole data, over the resamples that are kept.
fn mean_reading(points: &[(f64, f64)], keep: impl Fn(&[(f64, f64)]) -> bool) -> Option<f64> {
    if points.is_empty() {
        return None;
    }
    let mut generator = SplitMix64(RANDOM_SEED);
    let readings: Vec<f64> = (0..MOST_TRIES)
        .map(|_| resample(points, &mut generator))
        .filter(|resample| keep(resample))
        .filter_map(|resample| line_at_whole(&resample))
        .take(RESAMPLES)
        .collect();
    (!readings.is_empty()).then(|| mean(readings.iter().copied()))
}

fn resample(points: &[(f64, f64)], generator: &mut SplitMix64) -> Vec<(f64, f64)> {
    (0..points.len().min(MOST_POINTS))
        .map(|_| points[generator.below(points.len())])
        .collect()
}

/// The least-squares line at the whole data; `None` where all points have one abscissa.
fn line_at_whole(points: &[(f64, f64)]) -> Option<f64> {
    let mean_x = mean(points.iter().map(|(x, _)| *x));
    let mean_y = mean(points.iter().map(|(_, y)| *y));
    let spread: f64 = points.iter().map(|(x, _)| (x - mean_x).powi(2)).sum();
    // Equal shares leave a rounding of their mean.
    if spread <= (1e-9 * mean_x).powi(2) {
        return None;
    }
    let products: f64 = points
        .iter()
        .map(|(x, y)| (x - mean_x) * (y - mean_y))
        .sum();
    Some(mean_y + products / spread * (WHOLE - mean_x))
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    sum / count
}

/// SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014, fig. 17).
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// An index below `bound`, which is above 0. A remainder favours low ones by one in 2^60 here.
    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).expect("a length fits in 64 bits");
        usize::try_from(self.next() % bound).expect("it is below a length")
    }
}
