//! Really runs what a training job asks for, in SageMaker's container contract, with a temporary folder for `/opt/ml`.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::job::Job;
use super::s3::Store;
use super::timeline::script_failure;
use super::{Core, container, inputs};

/// SageMaker leaves 120 s between the two signals; no test should wait for that.
const GRACE: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(10);

/// A script that runs, or ran.
#[derive(Debug)]
pub(super) struct ScriptRun {
    group: Pid,
    log: PathBuf,
    stopped: AtomicBool,
    ended: Mutex<Option<Ended>>,
}

/// How it ended by itself.
#[derive(Debug, Clone)]
pub(super) enum Ended {
    Exited {
        /// Of the job's clock.
        seconds: f64,
        failure_reason: Option<String>,
    },
    RanTooLong,
}

impl ScriptRun {
    /// Lays out the container's folder and starts the script; `None` where the job has neither a script nor a command.
    ///
    /// A real second counts as `scale` seconds of the job. The error is what the container would fail with.
    pub(super) fn start(core: &Core, job: &Job, scale: f64) -> Result<Option<Arc<Self>>, String> {
        let root = core
            .folder
            .path()
            .join(format!("{}-{}", job.number, job.name));
        let Some(words) = container::command(job, &root) else {
            return Ok(None);
        };
        container::lay_out(core, job, &root)?;
        let log = root.join("log.txt");
        let file = File::create(&log).unwrap();
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .current_dir(root.join("code"))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .envs(container::variables(job, &root))
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .process_group(0);
        let child = command
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", words[0]))?;
        let id = i32::try_from(child.id()).expect("a process number is an i32");
        let run = Arc::new(Self {
            group: Pid::from_raw(id),
            log,
            stopped: AtomicBool::new(false),
            ended: Mutex::new(None),
        });
        core.started.lock().unwrap().push(run.clone());
        let watched = run.clone();
        let limit = job.max_runtime();
        let output = Output::of(core, job);
        std::thread::spawn(move || {
            let ended = watched.watch(child, scale, limit, &words.join(" "));
            output.upload(&root);
            *watched.ended.lock().unwrap() = Some(ended);
        });
        Ok(Some(run))
    }

    fn watch(&self, mut child: Child, scale: f64, limit: f64, command: &str) -> Ended {
        let start = Instant::now();
        let mut stopped_since: Option<Instant> = None;
        let mut ran_too_long = false;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed().as_secs_f64() * scale > limit {
                ran_too_long = true;
                self.kill();
            }
            if self.stopped.load(Ordering::SeqCst) {
                let since = *stopped_since.get_or_insert_with(Instant::now);
                if since.elapsed() > GRACE {
                    self.kill();
                }
            }
            std::thread::sleep(POLL);
        };
        let seconds = start.elapsed().as_secs_f64() * scale;
        if ran_too_long {
            Ended::RanTooLong
        } else {
            let failure_reason = (!status.success()).then(|| {
                use std::os::unix::process::ExitStatusExt;
                let code = status.code().or(status.signal().map(|signal| -signal));
                let lines = self.lines();
                let last = lines.last().map_or("", String::as_str);
                script_failure(code.unwrap_or(-1), last, command)
            });
            Ended::Exited {
                seconds,
                failure_reason,
            }
        }
    }

    pub(super) fn end(&self) -> Option<Ended> {
        self.ended.lock().unwrap().clone()
    }

    /// What it printed so far.
    pub(super) fn lines(&self) -> Vec<String> {
        let text = fs::read(&self.log).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        text.lines().map(str::to_owned).collect()
    }

    /// Asks the process to end; it is killed a little later.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        if self.end().is_none() {
            let _ = killpg(self.group, Signal::SIGTERM);
        }
    }

    /// Ends the process and what it started, now.
    pub(super) fn kill(&self) {
        if self.end().is_none() {
            let _ = killpg(self.group, Signal::SIGKILL);
        }
    }
}

/// Where a job's model and output go. No canary asks to have them packed.
struct Output {
    store: Arc<Store>,
    /// `<S3OutputPath>/<job>/output`.
    uri: String,
}

impl Output {
    fn of(core: &Core, job: &Job) -> Self {
        let path = job.input["OutputDataConfig"]["S3OutputPath"].as_str();
        let path = path.unwrap_or_default().trim_end_matches('/');
        Self {
            store: core.s3.clone(),
            uri: format!("{path}/{}/output", job.name),
        }
    }

    /// Puts the files of the model, and of the output where there are some.
    fn upload(&self, root: &Path) {
        let Ok((bucket, key)) = inputs::split(&self.uri) else {
            return;
        };
        for (folder, name) in [("model", "model"), ("output/data", "output")] {
            let folder = root.join(folder);
            for file in files(&folder) {
                let path = file.strip_prefix(&folder).expect("listed below it");
                let key = format!("{key}/{name}/{}", path.to_string_lossy());
                self.store
                    .put(bucket, &key, fs::read(&file).unwrap().into());
            }
        }
    }
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(|entry| match entry.file_type() {
            Ok(kind) if kind.is_dir() => files(&entry.path()),
            _ => vec![entry.path()],
        })
        .collect()
}
