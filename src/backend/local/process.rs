//! One host of a local run: the command under the probe, its output read to the end, its ending awaited.

use std::cell::RefCell;
use std::os::fd::OwnedFd;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::backend::{Cancellation, END_LINES};
use crate::measurement::printed_figures::{OutputReader, Printed, Sought};
use crate::outside_error::{OutsideError, OutsideResult};
use crate::probe::{self, GateSocket};
use crate::units::Seconds;

use super::clock::GateClock;
use super::ending::EndedHost;
use super::log_tail::{LOG_BYTES, LogTail};
use super::{LaidOut, LocalBackend};

/// Read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// What the probe may take beyond `max_runtime`, or after it was asked to end: its grace period, and a little.
const OVERTIME: Duration = Duration::from_secs(15);
/// How long the streams may stay open after the probe has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// Seconds after which what is printed is no part of what came before. A process that ends, and a pipe that holds its last words, take
/// milliseconds, also on a busy machine.
const PAUSE: f64 = 0.2;
/// What was printed last and ended the work came in this part of the time, or in these seconds: longer work followed anything else.
const LAST_PART: f64 = 0.1;
const LAST_SECONDS: f64 = 1.0;
/// The probe's codes for a command that could not be started, as `env` has them.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;

/// The probes of one backend that are under way, and processes that were there before. What is below this process and not below one of
/// them is an orphan.
pub(super) type Probes = RefCell<Vec<i32>>;

/// One probe under way. When it is dropped, what is left of it is killed with all that it started: the whole of it on a second
/// Ctrl-C; else what a canary that may mount has hidden from its probe, which are orphans of this process now.
#[derive(Debug)]
struct UnderWay<'a> {
    probes: &'a Probes,
    pid: i32,
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        let mut probes = self.probes.borrow_mut();
        probes.retain(|pid| *pid != self.pid);
        probe::end_orphans(&probes);
    }
}

/// What is read of an output stream.
struct OutputStream<'a> {
    /// Its end.
    tail: Vec<u8>,
    /// Lines that ended since it last paused.
    lines: usize,
    reader: OutputReader<'a>,
    started: Instant,
}

impl OutputStream<'_> {
    /// Reads to its end.
    async fn read(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else {
            return;
        };
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = stream.read(&mut chunk).await {
            let at = Seconds(self.started.elapsed().as_secs_f64());
            if at.0 - self.reader.at.0 > PAUSE {
                self.lines = 0;
            }
            self.reader.read(at, &chunk[..count]);
            self.lines += chunk[..count].split(|byte| *byte == b'\n').count() - 1;
            self.tail.extend_from_slice(&chunk[..count]);
            if self.tail.len() > 2 * LOG_BYTES {
                self.tail.drain(..self.tail.len() - LOG_BYTES);
            }
        }
    }
}

impl LocalBackend {
    /// Runs a host's command to its end; on cancellation the probe ends the whole tree first.
    ///
    /// The probe keeps the limits. Should it be killed or stopped itself, this function notices, ends what it left, and fails.
    pub(super) async fn run_host<'a>(
        &self,
        host: &LaidOut<'a>,
        sought: &Sought,
        max_runtime: Option<Seconds>,
        cancellation: &Cancellation,
    ) -> OutsideResult<EndedHost<'a>> {
        let place = host.sandbox.path("code");
        let (command, place) = (host.command.join(" "), place.display());
        tracing::info!("`{command}` is started in {place}.");
        let (started, pressure) = (Instant::now(), probe::cpu_pressure());
        let not_started = |source| {
            OutsideError::io(
                format!("could not start the probe {}", self.program.display()),
                "the gate starts itself again to watch a canary; check that the program file is still there",
                source,
            )
        };
        let (socket, probes_end) = GateSocket::open().map_err(not_started)?;
        let mut probe = self.probe(host, max_runtime, probes_end);
        let mut child = probe.spawn().map_err(not_started)?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok());
        let pid = pid.expect("a process that was just started has a number");
        let probes = &self.probes;
        probes.borrow_mut().push(pid);
        let under_way = UnderWay { probes, pid };
        let clock = GateClock::of(pid, started, pressure);
        // A probe that has ended already has said why.
        let _ = socket.send(&host.environment);
        let mut streams = [0, 1].map(|_| OutputStream {
            tail: Vec::new(),
            lines: 0,
            reader: OutputReader::new(sought),
            started,
        });
        let [out, err] = &mut streams;
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let reading = async { tokio::join!(out.read(stdout), err.read(stderr)) };
        let ended = async {
            tokio::pin!(reading);
            tokio::select! {
                status = child.wait() => {
                    // Whatever still holds the streams open is an orphan, and is ended below.
                    let _ = tokio::time::timeout(LAST_OUTPUT, reading).await;
                    status
                }
                _ = &mut reading => child.wait().await,
            }
        };
        let status = {
            tokio::pin!(ended);
            let limit = max_runtime.and_then(|limit| Duration::try_from_secs_f64(limit.0).ok());
            let limit = limit.map_or(Duration::MAX, |limit| limit.saturating_add(OVERTIME));
            tokio::select! {
                status = &mut ended => Some(status),
                () = cancellation.cancelled() => {
                    // It may have just ended by itself.
                    let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
                    tokio::time::timeout(OVERTIME, &mut ended).await.ok()
                }
                () = tokio::time::sleep(limit) => None,
            }
        };
        let ended_at = started.elapsed().as_secs_f64();
        let said = streams.each_ref().map(|stream| &*stream.tail);
        let tail = LogTail::of(said, &self.secrets);
        let spoke = streams.each_ref().map(|stream| stream.reader.at.0);
        let since = f64::max(spoke[0], spoke[1]) - PAUSE;
        let since = since.max(ended_at - LAST_SECONDS.max(LAST_PART * ended_at));
        // The first line may have begun before.
        let end = tail.lines(streams.each_ref().map(|it| match it.reader.at.0 >= since {
            true => END_LINES.min(it.lines + 1),
            false => 0,
        }));
        let (report, printed) = match (socket.report(), status) {
            // A probe that was killed wrote none.
            (Some(report), Some(Ok(status))) if status.code().is_some() => {
                drop(under_way);
                clock.check(&report)?;
                tracing::info!(
                    "It ended with exit code {} after {}; its processes were read {} times.",
                    report.exit_code(),
                    report.wall_seconds,
                    report.samples
                );
                tracing::debug!("The probe's report: {report:?}");
                (Some(report), streams.map(|stream| stream.reader.finish()))
            }
            // Without a word from the probe its tree may still be there: `under_way` ends it.
            (_, _) if cancellation.is_cancelled() => (None, <[Printed; 2]>::default()),
            (_, Some(Ok(status))) => return Err(without_report(host, &tail, status)),
            (_, Some(Err(source))) => {
                return Err(OutsideError::io(
                    "could not wait for the probe",
                    "this is a bug in canary-gate; please report it",
                    source,
                ));
            }
            (_, None) => {
                return Err(OutsideError::of(
                    "the probe did not keep its time limit; it and the training code were ended",
                )
                .help("check whether the training code sends signals to its parent process"));
            }
        };
        Ok(EndedHost {
            host: host.host,
            outcome: self.outcome(report.as_ref(), &tail, &host.sandbox.path("ml")),
            report,
            tail,
            end,
            printed,
        })
    }

    /// The probe of a host. It has of the caller's environment where its tools and their libraries are, and nothing of the spec's.
    fn probe(
        &self,
        host: &LaidOut<'_>,
        max_runtime: Option<Seconds>,
        probes_end: OwnedFd,
    ) -> Command {
        let mut command = Command::new(&self.program);
        let own = std::process::id().to_string();
        command.args(["probe", "--gate-socket", "--end-with-parent", &own]);
        command.arg("--opt-ml").arg(host.sandbox.path("ml"));
        command.arg("--writes").arg(host.sandbox.path("writes"));
        command.arg("--closed").arg(host.sandbox.path("closed"));
        for folder in &host.read_only {
            command.arg("--read-only").arg(folder);
        }
        for folder in &host.shared {
            command.arg("--shared").arg(folder);
        }
        if let Some(limit) = max_runtime {
            command.arg("--max-runtime").arg(format!("{}s", limit.0));
        }
        let environment = self.environment.iter();
        command
            .arg("--")
            .args(&host.command)
            .current_dir(host.sandbox.path("code"))
            .env_clear()
            .envs(environment.filter(|(name, _)| *name == "PATH" || *name == "LD_LIBRARY_PATH"))
            .stdin(probes_end)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A Ctrl-C at the terminal reaches the gate alone; the gate passes it on to the probe.
            .process_group(0);
        command
    }
}

/// Why there is no report: the command could not be started, or the probe could not write or was killed.
fn without_report(host: &LaidOut<'_>, tail: &LogTail, status: ExitStatus) -> OutsideError {
    let said = tail.last_line().unwrap_or_default();
    // The sandbox is gone when this is read; what lies in it is known by its name in the source.
    let sandbox = format!("{}/", host.sandbox.path("code").display());
    let said = said.trim_start_matches("× ").replace(&sandbox, "");
    match status.code() {
        Some(NOT_EXECUTABLE | NOT_FOUND) => OutsideError::of(format!("the command could not be run: {said}")).help("check the job's `training.command`; the command runs in a copy of the source without what git ignores, such as `.venv`: name a program there by an absolute path. It gets few of the gate's variables: `--pass-env NAME` adds one"),
        Some(_) => OutsideError::of(format!("what the canary used could not be recorded: {said}")).help("check that the machine has memory and process numbers left"),
        None => OutsideError::of(format!("the probe was killed ({status}); what it had started was ended")).help("check whether the machine ran out of memory, and whether the training code kills other processes"),
    }
}
