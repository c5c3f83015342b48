//! How long a canary takes to start, cold and on a machine that was kept for it.

use crate::measurement::{Measurement, Start};
use crate::spec::{FileSystem, InputMode, Job};
use crate::units::Seconds;

/// From how many starts on a P90 is taken in place of the table's.
pub const FEWEST_STARTS: usize = 10;

/// How the data reach a canary, as far as its start-up depends on that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartUpMode {
    /// Downloaded before the training starts.
    File,
    /// Read from S3 as the training asks for them; `Pipe` too, of which the table has no row.
    FastFile,
    /// Mounted: FSx for Lustre; EFS too, of which the table has no row.
    FileSystem,
}

/// The time from the creation of a training job to the start of its training.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StartUp {
    pub cold: Seconds,
    /// At most `cold`.
    pub warm: Seconds,
}

/// Start-ups, and where they come from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownStartUp {
    pub mode: StartUpMode,
    pub times: StartUp,
    /// How many canaries `cold` is the P90 of; `None`: the table's.
    pub cold_starts: Option<usize>,
    /// The same of `warm`.
    pub warm_starts: Option<usize>,
}

impl StartUpMode {
    /// The slowest of a job's channels decides; a job without channels downloads nothing.
    pub fn of(job: &Job) -> Self {
        let modes = job.training.channels.iter().map(|channel| {
            match (FileSystem::of_uri(&channel.uri), channel.mode) {
                (Some(_), _) => Self::FileSystem,
                (None, InputMode::File) => Self::File,
                (None, InputMode::FastFile | InputMode::Pipe) => Self::FastFile,
            }
        });
        modes
            .max_by_key(|mode| match mode {
                Self::FileSystem => 0,
                Self::FastFile => 1,
                Self::File => 2,
            })
            .unwrap_or(Self::FastFile)
    }

    /// As a spec and AWS name it.
    pub fn words(self) -> &'static str {
        match self {
            Self::File => "File",
            Self::FastFile => "FastFile",
            Self::FileSystem => "FSx",
        }
    }

    /// P90 of AWS's own measurement: an image of 1.34 GB, 2 GB of data, m4, c4, m5 and c5 in us-east-2. "Best practices for
    /// Amazon SageMaker Training Managed Warm Pools", AWS Machine Learning Blog.
    pub fn table(self) -> StartUp {
        let (cold, warm) = match self {
            Self::File => (176.0, 70.0),
            Self::FastFile => (143.0, 21.0),
            Self::FileSystem => (136.0, 19.0),
        };
        StartUp {
            cold: Seconds(cold),
            warm: Seconds(warm),
        }
    }

    /// The P90 of the canaries in `runs`, which all are of this mode, for each kind of start of which there are at least
    /// [`FEWEST_STARTS`]; else the table's.
    pub fn observed<'a>(self, runs: impl IntoIterator<Item = &'a Measurement>) -> KnownStartUp {
        let (mut cold, mut warm) = (Vec::new(), Vec::new());
        for run in runs {
            match (run.start, until_training(run)) {
                (Some(Start::Cold), Some(time)) => cold.push(time),
                (Some(Start::Warm), Some(time)) => warm.push(time),
                _ => {}
            }
        }
        let enough = |times: &Vec<Seconds>| Some(times.len()).filter(|n| *n >= FEWEST_STARTS);
        let (cold_starts, warm_starts) = (enough(&cold), enough(&warm));
        let table = self.table();
        let cold = p90(cold).unwrap_or(table.cold);
        let warm = p90(warm).unwrap_or(table.warm);
        KnownStartUp {
            mode: self,
            times: StartUp {
                cold,
                warm: if warm > cold { cold } else { warm },
            },
            cold_starts,
            warm_starts,
        }
    }
}

/// What a run took until its training started; absent where AWS gave no such times.
fn until_training(run: &Measurement) -> Option<Seconds> {
    // It did not start in its run.
    if run.reused.is_some() {
        return None;
    }
    Some(run.phases.startup? + run.phases.download.unwrap_or_default())
}

/// The nearest-rank percentile: the smallest value that at least nine in ten do not pass.
fn p90(mut times: Vec<Seconds>) -> Option<Seconds> {
    if times.len() < FEWEST_STARTS {
        return None;
    }
    times.sort_by(|one, other| one.0.total_cmp(&other.0));
    times.get((times.len() * 9).div_ceil(10) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_gives_the_gains_that_its_source_states() {
        let gain = |mode: StartUpMode| mode.table().cold.0 / mode.table().warm.0;
        let stated = [
            (StartUpMode::FileSystem, 7.16),
            (StartUpMode::FastFile, 6.81),
            (StartUpMode::File, 2.51),
        ];
        for (mode, times) in stated {
            assert!((gain(mode) - times).abs() < 0.005, "{mode:?}");
        }
    }

    #[test]
    fn a_p90_is_the_smallest_value_that_nine_in_ten_do_not_pass() {
        let seconds = |values: &[f64]| values.iter().copied().map(Seconds).collect();
        let ten = [9.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 1.0, 100.0];
        assert_eq!(p90(seconds(&ten)), Some(Seconds(9.0)));
        assert_eq!(p90(seconds(&ten[..9])), None);
        // R: quantile(1:11, .9, type = 1) is 10.
        let eleven: Vec<f64> = (1..=11).map(f64::from).collect();
        assert_eq!(p90(seconds(&eleven)), Some(Seconds(10.0)));
    }
}
