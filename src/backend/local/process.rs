//! One host of a local run: the command under the probe, its output read to the end, its ending awaited.

use std::cell::RefCell;
use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use crate::backend::{BackendError, Cancellation};
use crate::measurement::printed_figures::{OutputReader, Printed, Sought};
use crate::probe::{self, GateSocket, ProbeReport};
use crate::secret::{CutAt, SecretMask};
use crate::units::Seconds;

use super::clock::GateClock;

/// Read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// How much of the end of each output stream is kept. A script may print gigabytes.
const LOG_BYTES: usize = 1024 * 1024;
/// What the probe may take beyond `max_runtime`, or after it was asked to end: its grace period, and a little.
const OVERTIME: Duration = Duration::from_secs(15);
/// How long the streams may stay open after the probe has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(1);
/// The probe's codes for a command that could not be started, as `env` has them.
const NOT_EXECUTABLE: i32 = 126;
const NOT_FOUND: i32 = 127;
/// A longer line is cut, but in the file of the log.
const LINE_BYTES: usize = 4096;

/// What one host is asked to run.
#[derive(Debug)]
pub(super) struct HostCommand<'a> {
    /// This program, which is started again as the probe.
    pub(super) program: &'a Path,
    pub(super) command: Vec<OsString>,
    /// The environment of the command; the probe has `probe_environment`.
    pub(super) environment: Vec<(OsString, OsString)>,
    /// What the probe and the tools that it starts need of the gate's own environment.
    pub(super) probe_environment: Vec<(OsString, OsString)>,
    pub(super) folder: PathBuf,
    /// What appears as `/opt/ml` where a mount namespace is allowed.
    pub(super) opt_ml: PathBuf,
    /// What it may read and not write.
    pub(super) read_only: Vec<PathBuf>,
    pub(super) max_runtime: Option<Seconds>,
    /// What to look for in the output.
    pub(super) sought: Sought<'a>,
    /// What is hidden in its output.
    pub(super) secrets: &'a SecretMask,
}

/// What one host gave.
#[derive(Debug)]
pub(super) struct HostResult {
    /// Absent where it was cancelled before its command had started.
    pub(super) report: Option<ProbeReport>,
    pub(super) tail: LogTail,
    /// The figures on standard output and standard error; empty where nothing is looked for.
    pub(super) printed: [Printed; 2],
}

/// The end of what a host printed on standard output and standard error, without secrets, and where that was cut.
#[derive(Debug)]
pub(super) struct LogTail([(String, CutAt); 2]);

impl LogTail {
    /// As it was read: bytes that are not UTF-8 become replacement characters.
    fn of(raw: &[Vec<u8>; 2], secrets: &SecretMask) -> Self {
        Self(raw.each_ref().map(|bytes| {
            let cut = match bytes.len() >= LOG_BYTES {
                true => CutAt::Start,
                false => CutAt::Nowhere,
            };
            let end = &bytes[bytes.len().saturating_sub(LOG_BYTES)..];
            (secrets.mask_part(&String::from_utf8_lossy(end), cut), cut)
        }))
    }

    fn streams(&self) -> impl Iterator<Item = (&str, &str, CutAt)> {
        let named = ["stdout", "stderr"].into_iter().zip(&self.0);
        named.map(|(name, (text, cut))| (name, text.as_str(), *cut))
    }

    /// The lines of both streams as far as they are kept, one stream after the other.
    pub(super) fn all(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, text, cut) in self.streams() {
            if cut == CutAt::Start {
                let kept = LOG_BYTES / 1024;
                lines.push(format!("{name}: (the last {kept} KiB)"));
            }
            lines.extend(text.lines().map(|line| format!("{name}: {line}")));
        }
        lines
    }

    /// The last line that is not blank, of standard error before standard output: Python flushes what it printed after
    /// its traceback.
    pub(super) fn last_line(&self) -> Option<String> {
        self.0.iter().rev().find_map(|(text, _)| {
            let mut lines = text.lines().rev().map(str::trim);
            Some(shortened(lines.find(|line| !line.is_empty())?))
        })
    }

    /// The last lines of both streams, for the job log.
    pub(super) fn lines(&self, most: usize) -> Vec<String> {
        let mut lines = Vec::new();
        for (name, text, _) in self.streams() {
            let all: Vec<&str> = text.lines().collect();
            let last = all[all.len().saturating_sub(most)..].iter();
            lines.extend(last.map(|line| format!("{name}: {}", shortened(line))));
        }
        lines
    }

    /// Whether the text stands in what is kept.
    pub(super) fn mentions(&self, text: &str) -> bool {
        self.0.iter().any(|(kept, _)| kept.contains(text))
    }
}

fn shortened(line: &str) -> String {
    line.chars().take(LINE_BYTES).collect()
}

/// The probes of one backend that are under way. What is below this process and not below one of them is an orphan.
#[derive(Debug, Default)]
pub(super) struct Probes(RefCell<Vec<i32>>);

impl Probes {
    /// Leaves processes that were there before out of every clean-up.
    pub(super) fn spare(&self, others: Vec<i32>) {
        self.0.borrow_mut().extend(others);
    }
}

/// One probe under way. Dropped before it has ended, as on a second Ctrl-C, it is killed with all that it started.
#[derive(Debug)]
struct UnderWay<'a> {
    probes: &'a Probes,
    pid: i32,
    has_ended: bool,
}

impl<'a> UnderWay<'a> {
    fn new(probes: &'a Probes, pid: i32) -> Self {
        probes.0.borrow_mut().push(pid);
        Self {
            probes,
            pid,
            has_ended: false,
        }
    }

    fn send(&self, signal: Signal) {
        // It may have just ended by itself.
        let _ = kill(Pid::from_raw(self.pid), signal);
    }

    /// It has ended by itself, and with it all that it started and could see: a canary that may mount can hide processes from
    /// its probe, which are orphans of this process now.
    fn end(mut self) {
        self.has_ended = true;
    }
}

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.send(Signal::SIGKILL);
        }
        let mut probes = self.probes.0.borrow_mut();
        probes.retain(|pid| *pid != self.pid);
        probe::end_orphans(&probes);
    }
}

/// Runs the command to its end; on cancellation the probe ends the whole tree first.
///
/// The probe keeps the limits. Should it be killed or stopped itself, this function notices, ends what it left, and fails.
pub(super) async fn run(
    host: &HostCommand<'_>,
    probes: &Probes,
    cancellation: &Cancellation,
) -> Result<HostResult, BackendError> {
    let words = host.command.iter().map(|word| word.to_string_lossy());
    let words: Vec<_> = words.collect();
    let place = host.folder.display();
    tracing::info!("`{}` is started in {place}.", words.join(" "));
    let mut clock = GateClock::start();
    let not_started = |source| {
        BackendError::io(
            format!("could not start the probe {}", host.program.display()),
            "the gate starts itself again to watch a canary; check that the program file is still there",
            source,
        )
    };
    let (socket, probes_end) = GateSocket::open().map_err(not_started)?;
    let mut child = command(host, probes_end).spawn().map_err(not_started)?;
    let pid = child.id().and_then(|id| i32::try_from(id).ok());
    let pid = pid.expect("a process that was just started has a number");
    let under_way = UnderWay::new(probes, pid);
    clock.stop_at_the_end_of(pid);
    // A probe that has ended already has said why.
    let _ = socket.send(&host.environment);
    let mut tails = [Vec::new(), Vec::new()];
    let reader = || (!host.sought.is_nothing()).then(|| OutputReader::new(host.sought.clone()));
    let mut readers = [reader(), reader()];
    let reading = {
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let [out, err] = &mut tails;
        let [out_reader, err_reader] = &mut readers;
        async move {
            tokio::join!(
                read_output(stdout, out, out_reader.as_mut()),
                read_output(stderr, err, err_reader.as_mut())
            )
        }
    };
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
        let limit = host.max_runtime.map(|limit| {
            Duration::try_from_secs_f64(limit.0)
                .unwrap_or(Duration::MAX)
                .saturating_add(OVERTIME)
        });
        tokio::select! {
            status = &mut ended => Some(status),
            () = cancellation.cancelled() => {
                under_way.send(Signal::SIGTERM);
                tokio::time::timeout(OVERTIME, &mut ended).await.ok()
            }
            () = sleep_for(limit) => None,
        }
    };
    let tail = LogTail::of(&tails, host.secrets);
    match (socket.report(), status) {
        // A probe that was killed wrote none.
        (Some(report), Some(Ok(status))) if status.code().is_some() => {
            under_way.end();
            clock.check(&report)?;
            tracing::info!(
                "It ended with exit code {} after {}; its processes were read {} times.",
                report.exit_code(),
                report.wall_seconds,
                report.samples
            );
            tracing::debug!("The probe's report: {report:?}");
            Ok(HostResult {
                report: Some(report),
                tail,
                printed: readers.map(|reader| reader.map(OutputReader::finish).unwrap_or_default()),
            })
        }
        // Without a word from the probe its tree may still be there: `under_way` ends it.
        (_, _) if cancellation.is_cancelled() => Ok(HostResult {
            report: None,
            tail,
            printed: <[Printed; 2]>::default(),
        }),
        (_, Some(Ok(status))) => Err(without_report(host, &tail, status)),
        (_, Some(Err(source))) => Err(BackendError::io(
            "could not wait for the probe",
            "this is a bug in canary-gate; please report it",
            source,
        )),
        (_, None) => Err(BackendError::new(
            "the probe did not keep its time limit; it and the training code were ended",
            "check whether the training code sends signals to its parent process",
        )),
    }
}

fn command(host: &HostCommand<'_>, probes_end: OwnedFd) -> Command {
    let mut command = Command::new(host.program);
    let own = std::process::id().to_string();
    command.args(["probe", "--gate-socket", "--end-with-parent", &own]);
    command.arg("--opt-ml").arg(&host.opt_ml);
    for folder in &host.read_only {
        command.arg("--read-only").arg(folder);
    }
    if let Some(limit) = host.max_runtime {
        command.arg("--max-runtime").arg(format!("{}s", limit.0));
    }
    command
        .arg("--")
        .args(&host.command)
        .current_dir(&host.folder)
        .env_clear()
        .envs(host.probe_environment.iter().cloned())
        .stdin(probes_end)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A Ctrl-C at the terminal reaches the gate alone; the gate passes it on to the probe.
        .process_group(0);
    command
}

/// Why there is no report: the command could not be started, or the probe could not write or was killed.
fn without_report(host: &HostCommand<'_>, tail: &LogTail, status: ExitStatus) -> BackendError {
    let said = tail.last_line().unwrap_or_default();
    // The sandbox is gone when this is read; what lies in it is known by its name in the source.
    let sandbox = format!("{}/", host.folder.display());
    let said = said.trim_start_matches("× ").replace(&sandbox, "");
    match status.code() {
        Some(NOT_EXECUTABLE | NOT_FOUND) => BackendError::new(
            format!("the command could not be run: {said}"),
            "check the job's `training.command`, and that a launcher of `training.distribution` is installed where the gate runs; the command runs in a copy of the source without what git ignores, such as `.venv`: name a program there by an absolute path. It gets few of the gate's variables: `--pass-env NAME` adds one",
        ),
        Some(_) => BackendError::new(
            format!("what the canary used could not be recorded: {said}"),
            "check that the machine has memory and process numbers left",
        ),
        None => BackendError::new(
            format!("the probe was killed ({status}); what it had started was ended"),
            "check whether the machine ran out of memory, and whether the training code kills other processes",
        ),
    }
}

/// For ever without a limit.
async fn sleep_for(limit: Option<Duration>) {
    match limit {
        Some(limit) => tokio::time::sleep(limit).await,
        None => std::future::pending().await,
    }
}

/// Reads a stream to its end, keeps the last part in `tail` and shows all of it to `reader`.
async fn read_output(
    stream: Option<impl AsyncRead + Unpin>,
    tail: &mut Vec<u8>,
    mut reader: Option<&mut OutputReader<'_>>,
) {
    let Some(mut stream) = stream else {
        return;
    };
    let mut chunk = vec![0; CHUNK_BYTES];
    while let Ok(count) = stream.read(&mut chunk).await {
        if count == 0 {
            break;
        }
        if let Some(reader) = &mut reader {
            reader.read(&chunk[..count]);
        }
        tail.extend_from_slice(&chunk[..count]);
        if tail.len() > 2 * LOG_BYTES {
            tail.drain(..tail.len() - LOG_BYTES);
        }
    }
}
