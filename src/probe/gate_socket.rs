//! The socket between a gate and a probe that it started: the probe's standard input.
//!
//! The gate sends the command's environment, which so steers neither the probe nor the tools that it starts, and the probe
//! answers with its report. The command has no descriptor of the socket, and a socket cannot be opened through `/proc`: what
//! arrives here is the probe's own word.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::ProbeReport;

/// More than any report holds.
const MOST_BYTES: u64 = 1 << 20;

const PATIENCE: Duration = Duration::from_secs(10);

/// The gate's end.
#[derive(Debug)]
pub struct GateSocket(UnixStream);

impl GateSocket {
    /// A socket, and the probe's end of it, for its standard input.
    ///
    /// # Errors
    ///
    /// Where the process may open no more files.
    pub fn open() -> io::Result<(Self, OwnedFd)> {
        let (gate, probe) = UnixStream::pair()?;
        Ok((Self(gate), probe.into()))
    }

    /// Sends the command's environment to the probe, which has started. Blocks until the probe has read most of it.
    ///
    /// # Errors
    ///
    /// Where the probe has ended.
    pub fn send(&self, environment: &[(OsString, OsString)]) -> io::Result<()> {
        let text = serde_json::to_vec(environment)?;
        // A probe that somebody halted reads nothing.
        self.0.set_write_timeout(Some(PATIENCE))?;
        (&self.0).write_all(&text)?;
        self.0.shutdown(Shutdown::Write)
    }

    /// The report of a probe that has ended; `None` if it wrote none.
    pub fn report(self) -> Option<ProbeReport> {
        self.0.set_nonblocking(true).ok()?;
        let mut text = Vec::new();
        // A descriptor that somebody stole keeps the socket open; then the reading ends where nothing is left.
        let _ = self.0.take(MOST_BYTES).read_to_end(&mut text);
        serde_json::from_slice(&text).ok()
    }
}

/// The command's environment at the probe's end, once the gate has sent all of it.
#[cfg(any(test, target_os = "linux"))]
pub(super) fn environment(socket: &mut impl Read) -> io::Result<Vec<(OsString, OsString)>> {
    let mut text = Vec::new();
    socket.read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn an_environment_arrives_as_it_was_sent() {
        let (gate, probe) = GateSocket::open().unwrap();
        let mut probe = UnixStream::from(probe);
        let variable =
            |name: &str, value: &[u8]| (OsString::from(name), OsStr::from_bytes(value).to_owned());
        let sent = [
            variable("PATH", b"bin:/usr/bin"),
            variable("EMPTY", b""),
            variable("LINES", b"a=b\n\xff"),
        ];
        gate.send(&sent).unwrap();
        assert_eq!(environment(&mut probe).unwrap(), sent);
        probe.write_all(b"{\"schema_version\": ").unwrap();
        assert_eq!(gate.report(), None, "half a report");
    }
}
