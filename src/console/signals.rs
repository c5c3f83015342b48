//! Ctrl-C and SIGTERM: the first ends every canary and then the gate; the second ends the gate at once.

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::backend::Cancellation;
use crate::console::progress::Progress;
use crate::console::{AppError, AppResult, StepResult};
use crate::exit;

/// Listens for signals during one command.
pub(crate) struct Interruption {
    pub(crate) cancellation: Cancellation,
    interrupt: Signal,
    terminate: Signal,
    /// The terminal was closed.
    hang_up: Signal,
}

/// Does `work`, which may be dropped half-way. A cancellation drops it and is an error.
pub(crate) async fn unless_cancelled<T>(
    work: impl Future<Output = T>,
    cancellation: &Cancellation,
) -> AppResult<T> {
    let done = cancellation.run_until_cancelled(work).await;
    done.ok_or_else(|| AppError::failed("interrupted before the first canary"))
}

/// Starts to listen.
pub(crate) fn watch() -> AppResult<Interruption> {
    let listen = |kind| signal(kind).or_fail(|| AppError::failed("could not listen for signals"));
    Ok(Interruption {
        cancellation: Cancellation::new(),
        interrupt: listen(SignalKind::interrupt())?,
        terminate: listen(SignalKind::terminate())?,
        hang_up: listen(SignalKind::hangup())?,
    })
}

impl Interruption {
    /// Does `work`, which may be dropped half-way. A signal drops it and is an error.
    pub(crate) async fn unless_interrupted<T>(
        &mut self,
        work: impl Future<Output = T>,
    ) -> AppResult<T> {
        tokio::select! {
            done = work => Ok(done),
            code = self.next() => {
                Err(AppError::message("interrupted before the first canary", code))
            }
        }
    }

    /// Does `work`. The first signal cancels its canaries and waits for it to end; the second drops it.
    pub(crate) async fn unless_impatient<T>(
        mut self,
        work: impl Future<Output = AppResult<T>>,
        progress: &Progress,
    ) -> AppResult<T> {
        tokio::pin!(work);
        tokio::select! {
            result = &mut work => result,
            code = self.next() => {
                progress.say("stopping the canaries; repeat the signal to exit at once");
                self.cancellation.cancel();
                tokio::select! {
                    _ = &mut work => Err(interrupted(code)),
                    code = self.next() => Err(interrupted(code)),
                }
            }
        }
    }

    /// Waits for the next signal; returns its exit code.
    async fn next(&mut self) -> u8 {
        tokio::select! {
            _ = self.interrupt.recv() => exit::INTERRUPTED,
            _ = self.terminate.recv() => exit::TERMINATED,
            _ = self.hang_up.recv() => exit::TERMINATED,
        }
    }
}

fn interrupted(code: u8) -> AppError {
    AppError::message("interrupted; what was measured is kept", code)
        .help("see it with `canary-gate history list`; with git, and on SageMaker, a new start reuses the canaries that completed")
}
