//! How long a canary takes to start, cold and on a machine that was kept for it.

use crate::spec::{FileSystem, InputMode, Job};
use crate::units::Seconds;

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
}
