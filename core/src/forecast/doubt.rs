//! Why a forecast is not to be relied on at its upper end.

use crate::units::{Fraction, Percent, Seconds};

/// Why a quantity's interval is not to be relied on at its upper end, in words that follow the quantity's name.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Doubt {
    /// Growth that begins or shows beyond the largest canary, which did this share of the full run, could pass the limit.
    #[error("is known only {}, and growth that no canary could show would pass the limit", reach(.share))]
    UnseenGrowth { share: Option<f64> },
    /// Other work took so much of the machine in the canaries, and alone the full run may keep the limit.
    #[error(
        "is that of a machine of which other work took {taken}, and alone it may keep the limit; try again with `--fresh` on a quiet machine"
    )]
    OtherWork { taken: Percent },
    /// The progress of a canary of all data says another time than the laws of the smaller canaries, which may pass the limit.
    #[error(
        "differs between the progress of the canary of all data and the smaller canaries; a longer `canary.max_runtime`, or a larger `canary.progress`, lets it get farther"
    )]
    ApartFromProgress,
    /// The full run was begun for its progress, and printed no steps that go on as those of the smaller canaries do, or no total.
    #[error(
        "is not confirmed: the full run, begun as a canary, did not print as many steps as the smaller ones lead to, or too few of them, or no total; `canary.progress: off` takes a larger sample in its place"
    )]
    NotConfirmed,
    /// The largest canary did this share of the full run, and took no longer than the shortest, but for noise.
    #[error(
        "does not grow by more than noise up to {0} of the full run, as where data are not read or a failure is hidden; see that the command ends with the error of its work, print its steps as it goes (PYTHONUNBUFFERED=1), take larger canaries, or write what is known of it, `growth: none` or `linear`"
    )]
    NoGrowthSeen(Fraction),
    /// Canaries ended before their last step, the largest after more of its steps than the smallest.
    #[error(
        "is that of canaries which stopped early, after {smallest} of their steps in the smallest and {largest} in the largest; switch early stopping off in a canary, or write the most that it may do as `work`"
    )]
    StoppedEarly {
        smallest: Fraction,
        largest: Fraction,
    },
    /// The largest canary held this share of the files and this one of the bytes.
    #[error(
        "is that of a sample unlike the rest of the data, {files} of the files with {bytes} of the bytes; name files of one kind, or leave `order` out"
    )]
    UnlikeTheRest { files: Fraction, bytes: Fraction },
    /// The largest canary printed an error last, and completed.
    #[error("is that of canaries which printed an error last, so their work may have failed")]
    EndedWithError,
    /// A canary's command ended before the processes that did its work.
    #[error(
        "is that of commands which left their work running when they ended; let them wait for it"
    )]
    LeftRunning,
    /// A canary opened a file that is no part of the code.
    #[error("is that of canaries which opened a file that `paths` leaves out; name it there")]
    LeftOutOpened,
    /// No canary opened a file of a channel that all of them had whole.
    #[error("is that of canaries which opened no file of a whole channel, as the full run may")]
    NotOpened,
    /// Its source looks so seldom that each canary may have had far more.
    #[error("was looked at only once a minute, so its peak may have been far higher")]
    LowerBound,
    /// A canary may have had so much between two looks at it, which is above the limit.
    #[error("may have been up to {percent} in one canary already, between two looks at it")]
    MayHaveHad { percent: Percent },
    /// Its source has only averages over the run and the GPUs.
    #[error(
        "is known as an average over the run and its GPUs, so its peak may have been far higher"
    )]
    Average,
    /// Its source sees nothing of a run as short as every canary; the shortest that it sees.
    #[error("was not seen: it is looked at only once a minute, and no canary ran for {shortest}")]
    TooShortToSee { shortest: Seconds },
    /// Every canary held what JAX takes of a GPU beforehand, whatever it needs.
    #[error(
        "is as much at every size as JAX takes beforehand (75 %), so the need is not known; set `XLA_PYTHON_CLIENT_PREALLOCATE=false`"
    )]
    JaxPool,
    /// On the count of the full run it was more than the law of another count gives for as much data.
    #[error(
        "is more on as many machines as the full run has than on the others, and how it grows there is not known; canaries of three sizes there would show it"
    )]
    MoreOnItsCount,
    /// On the count of the full run canaries completed, and none was measured as those of the law were.
    #[error(
        "was measured in another way on the full run's machine count, so whether more is used there is not known; canaries of three sizes there would show it"
    )]
    NotSeenOnItsCount,
}

impl Doubt {
    /// Whether it is in the source of the figures: whatever more is measured by it, the doubt stays.
    pub fn is_of_source(&self) -> bool {
        match self {
            Self::JaxPool | Self::MoreOnItsCount | Self::NotSeenOnItsCount => true,
            _ => self.is_of_lower_bound(),
        }
    }

    /// Whether there may have been more than the source saw.
    pub fn is_of_lower_bound(&self) -> bool {
        matches!(
            self,
            Self::LowerBound | Self::Average | Self::TooShortToSee { .. }
        )
    }
}

fn reach(share: &Option<f64>) -> String {
    match share {
        Some(share) => format!("up to {} of the full run", Fraction(*share)),
        None => "from smaller canaries elsewhere".to_owned(),
    }
}
