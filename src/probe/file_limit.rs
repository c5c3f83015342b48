//! The limit of a file's size, `ulimit -f`.

use nix::sys::signal::{SigSet, Signal};

/// From here on a write beyond the limit is an error that is said, and no signal that ends this process. Threads started later
/// are the same; programs that it starts are not.
pub fn survive_the_file_limit() {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGXFSZ);
    // Where it cannot be blocked the system ends the process and says why itself.
    let _ = signals.thread_block();
}
