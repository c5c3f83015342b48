//! Signals that reach the probe, and the wait for the next of them.
//!
//! Handlers, not a blocked mask: a mask is inherited by the command, which then could not be asked to end, while
//! handlers are reset at `execve`.

use std::fs;
use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{Pid, getppid};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::{SigId, flag, low_level};

use super::procfs;

/// Catches signals until it is dropped.
pub(super) struct CaughtSignals {
    /// The last signal that asked the probe to stop, or 0.
    stop: Arc<AtomicUsize>,
    /// The process that started the probe, and with which the command ends.
    parent: Option<Pid>,
    wake: UnixStream,
    registered: Vec<SigId>,
}

impl CaughtSignals {
    /// From here on a request to stop is kept, and any signal ends [`CaughtSignals::wait`], as does the end of `parent`.
    pub(super) fn catch(parent: Option<i32>) -> io::Result<Self> {
        // A parent may have left signals blocked; the command would inherit that.
        SigSet::empty().thread_set_mask()?;
        let (wake, writer) = UnixStream::pair()?;
        let mut signals = Self {
            stop: Arc::default(),
            parent: parent.map(Pid::from_raw),
            wake,
            registered: Vec::new(),
        };
        let ignored = ignored_signals();
        for signal in [SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGUSR1] {
            let asks_to_stop = [SIGTERM, SIGINT, SIGHUP].contains(&signal);
            if asks_to_stop && ignored & (1 << (signal - 1)) != 0 {
                // Ignored by `nohup` or a shell's `&`; it stays so, also for the command.
                continue;
            }
            if asks_to_stop {
                let value = usize::try_from(signal).expect("signal numbers are positive");
                let id = flag::register_usize(signal, Arc::clone(&signals.stop), value)?;
                signals.registered.push(id);
            }
            // Registered after the flag: handlers run in order, and the woken reader checks the flag.
            let id = low_level::pipe::register(signal, writer.try_clone()?)?;
            signals.registered.push(id);
        }
        if parent.is_some() {
            // The kernel sends it when the thread ends that started the probe. The parent may live on, as runtimes end idle threads.
            prctl::set_pdeathsig(Signal::SIGUSR1)?;
        }
        Ok(signals)
    }

    /// Sleeps until a signal comes, or until the time is over.
    pub(super) fn wait(&mut self, time: Duration) {
        // A timeout of zero would mean none.
        let time = time.max(Duration::from_millis(1));
        if self.wake.set_read_timeout(Some(time)).is_ok() {
            // One read takes all pending bytes; an interrupted read means a signal too.
            let _ = self.wake.read(&mut [0; 64]);
        } else {
            std::thread::sleep(time);
        }
    }

    /// The request to stop since the last call.
    pub(super) fn take_stop(&self) -> Option<i32> {
        let signal = self.stop.swap(0, Ordering::SeqCst);
        i32::try_from(signal).ok().filter(|signal| *signal != 0)
    }

    /// A request to stop where the parent is gone, at every call.
    pub(super) fn stop_without_parent(&self) -> Option<i32> {
        // Also where it ended before the watch began: then this process has another one.
        (self.parent.filter(|parent| getppid() != *parent)).map(|_| SIGTERM)
    }
}

impl Drop for CaughtSignals {
    fn drop(&mut self) {
        for id in self.registered.drain(..) {
            low_level::unregister(id);
        }
    }
}

/// The mask of signals that this process ignores; 0 if `/proc` cannot be read.
fn ignored_signals() -> u64 {
    let status = fs::read("/proc/self/status").unwrap_or_default();
    let mask = procfs::field(&status, b"SigIgn:");
    mask.map_or(0, |mask| u64::from_str_radix(mask, 16).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_parent_is_no_second_request_to_stop() {
        let signals = CaughtSignals::catch(Some(i32::MAX)).unwrap();
        assert_eq!(signals.stop_without_parent(), Some(SIGTERM));
        assert_eq!(signals.take_stop(), None);
    }
}
