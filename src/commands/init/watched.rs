//! The project's own command, run once as it stands under the probe: the files of the checkout that it opens are the data of its job.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::Path;
use std::process::Stdio;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::process::Command;

use super::data::{
    FoundData, SeenFile, ending, folder_of, folders_to, is_kind, is_opened_data, opened_data,
};
use super::found::{FoundOption, FoundScript, Overview, path_of};
use super::start::{ScriptStart, may_have_secret};
use super::text::SourceText;
use crate::console::{AppError, AppResult, StepResult, files, printable, say, signals};
use crate::grammar::{at_most, count, only_where};
use crate::probe::{self, CHECKOUT, Ending, ProbeReport};
use crate::spec::cure;
use crate::units::Seconds;

/// The place of what the command says, as others have a file.
const PLACE: &str = "the command";

/// The most data that are said.
const MOST_SAID: usize = 5;

/// A command that was watched.
pub(super) struct WatchedCommand {
    start: ScriptStart,
    report: ProbeReport,
}

impl WatchedCommand {
    /// Runs the command in the working directory to its end, or for so long.
    pub(super) async fn run(words: &[String], root: &Path, limit: Seconds) -> AppResult<Self> {
        probe::check_system().or_fail(|| {
            AppError::failed(
                "the command was not run; `canary-gate init` without one writes a spec",
            )
        })?;
        let line = words.join(" ");
        if may_have_secret(&line) {
            let what = "the command has a word that may be a secret; it was not run, since it would stand in the spec";
            return Err(AppError::usage(what).help("set it as a variable of your shell, `export API_TOKEN=...`, without it in the command; canaries get it by `--pass-env API_TOKEN`"));
        }
        let here = files::current_folder()?;
        let below = here.strip_prefix(root).ok().and_then(Path::to_str);
        let is_plain = |folder: &&str| cure::is_plain(folder) && !folder.starts_with('-');
        let folder = below.filter(is_plain).ok_or_else(|| {
            let what = "the command is started in a folder that is not below the spec's, or has signs in its name that a shell takes for its own";
            AppError::usage(what).help("let the spec lie in this folder: `canary-gate init ./canary-gate.yml -- ...`")
        })?;
        say(&format!(
            "runs `{}` once, here, for at most {limit} (`--watch-for`), to see which files it opens; Ctrl-C stops it",
            printable(&line)
        ));
        let report = report(words, root, limit).await?;
        let start = ScriptStart {
            program: line,
            is_given: true,
            folder: folder.to_owned(),
            arguments: words.to_vec(),
            place: PLACE.to_owned(),
            why: format!(
                "the command ran for {} (of {limit} at most)",
                report.wall_seconds
            ),
            ..ScriptStart::default()
        };
        Ok(Self { start, report })
    }

    /// It as a text of the project, which says how training is started.
    pub(super) fn text(&self) -> SourceText {
        SourceText {
            path: PLACE.to_owned(),
            text: self.start.program.clone(),
        }
    }

    /// Puts it, its script and its data in the place of those that were guessed; returns what is to be said.
    pub(super) fn put_into(&self, overview: &mut Overview, seen: &[SeenFile]) -> String {
        overview.launches.clear();
        overview.containers.clear();
        overview.scripts = vec![self.script(std::mem::take(&mut overview.scripts))];
        let ending = &self.start.why;
        let Some(opened) = self.opened() else {
            return format!(
                "{ending}; which files it opened was not seen, so its data are guesses: there are too many folders to watch (raise the kernel's fs.inotify.max_user_watches, or name a spec in a smaller folder), or more than could be listed in 2 s (try again: the disk's cache holds them now), or it opened more at once than the kernel reports, or the file system reports nothing"
            );
        };
        let mut others = std::mem::take(&mut overview.data);
        let data = self.data(opened, &overview.scripts[0], seen, &mut others);
        let files = count(opened.len(), "file");
        if data.is_empty() {
            return format!(
                "{ending} and opened {files} of the checkout, none of them data: the channels are guesses, or there are none where an option says how much work it does. Data elsewhere need `uri: file:///...` and `--data-root`; for a database or the network write `share`, see docs/make-it-fit.md"
            );
        }
        let said = |one: &FoundData| format!("{} ({})", one.path, one.said());
        let said = |data: &[FoundData]| at_most(data.iter().map(said), MOST_SAID).join(", ");
        let unseen = only_where(self.was_ended(), || {
            let others = only_where(!others.is_empty(), || format!(": {}", said(&others)));
            format!("; it was ended then, and what it opens later is not seen{others}")
        });
        let said = said(&data);
        overview.data = data;
        format!("{ending} and opened {files} of the checkout, of which data: {said}{unseen}")
    }

    fn was_ended(&self) -> bool {
        self.report.ending == Ending::TimedOut
    }

    /// From the spec's folder; `None` where the system does not say it.
    fn opened(&self) -> Option<&BTreeSet<String>> {
        self.report.files_opened.get(CHECKOUT)
    }

    /// Its data. One that was ended likely opens later what has the ending of an opened file that the script does not name, beside it or
    /// in a class beside its own; and of the `others`, which it did not open either, those that lie beside.
    fn data(
        &self,
        opened: &BTreeSet<String>,
        script: &FoundScript,
        seen: &[SeenFile],
        others: &mut Vec<FoundData>,
    ) -> Vec<FoundData> {
        let place = |file: &SeenFile| {
            let own = folder_of(&file.path);
            let place = if is_kind(own) { own } else { folder_of(own) };
            (place.to_owned(), is_kind(own), ending(&file.path))
        };
        let is_opened = |file: &&SeenFile| opened.contains(&file.path);
        let first = seen.iter().filter(is_opened).filter(is_opened_data);
        let first = first.filter(|file| self.was_ended() && !script.names(&file.path));
        let places = HashSet::<_>::from_iter(first.map(place));
        let is_likely = |file: &&SeenFile| is_opened(file) || places.contains(&place(file));
        let mut data = opened_data(seen.iter().filter(is_likely));
        others.retain(|_| self.was_ended());
        put_parts_together(&mut data, others, script);
        others.retain(|one| !data.iter().any(|used| used.overlaps(one)));
        let folders = Vec::from_iter(data.iter().map(|used| folder_of(&used.path).to_owned()));
        let beside = others.iter().filter(|one| {
            let folder = folder_of(&one.path);
            folders.is_empty() || !folder.is_empty() && folders.iter().any(|used| used == folder)
        });
        data.extend(beside.cloned());
        for one in &mut data {
            one.is_opened = true;
            one.is_guessed = self.was_ended() && !opened.contains(&one.path);
        }
        data
    }

    /// The script that it names, else the likeliest of those that it opened, with the command as its start.
    fn script(&self, found: Vec<FoundScript>) -> FoundScript {
        let is_named = |script: &FoundScript| path_of(&script.start.place) == PLACE;
        let is_opened = |path: &String| self.opened().is_none_or(|all| all.contains(path));
        let used = |script: &FoundScript| is_named(script) || is_opened(&script.path);
        let found = found.into_iter().filter(used);
        let likeliest = found.min_by_key(|script| !is_named(script));
        let mut script = likeliest.unwrap_or_default();
        // What is put behind a command for a shell or for make does not reach the script.
        let is_reached = is_named(&script);
        let has_default = |option: &FoundOption| is_reached && option.default.is_some();
        (script.options).retain_mut(|one| has_default(one) && one.is_left_by(&self.start));
        let path = Some(script.path).filter(|path| !path.is_empty());
        script.path = path.unwrap_or_else(|| self.start.program.clone());
        script.why.clone_from(&self.start.why);
        script.start = self.start.clone();
        script
    }
}

/// Puts a folder of `others` in the place of its parts, as partitions in partitions are, of which the command may have opened a few. Other
/// files that lie in it and were opened are in every canary.
fn put_parts_together(data: &mut Vec<FoundData>, others: &[FoundData], script: &FoundScript) {
    let is_part = |one: &FoundData, whole: &FoundData| {
        let is_below = folders_to(&one.path).any(|folder| folder == whole.path);
        is_below && one.ending == whole.ending && !script.names(&one.path)
    };
    let is_whole = |other: &&FoundData| data.iter().any(|one| is_part(one, other));
    let mut wholes = Vec::from_iter(others.iter().filter(is_whole).cloned());
    for whole in &mut wholes {
        let inside = data
            .iter()
            .filter(|one| one.is_file() && whole.overlaps(one));
        let needed = inside.filter(|one| !is_part(one, whole));
        let needed = needed.map(|one| one.path[whole.path.len() + 1..].to_owned());
        whole.always = needed.collect();
    }
    data.retain(|one| !wholes.iter().any(|whole| whole.overlaps(one)));
    data.extend(wholes);
}

/// Runs a command under the probe, which ends all of its processes, also where the gate itself ends before. A command that fails is
/// an error.
async fn report(words: &[String], root: &Path, limit: Seconds) -> AppResult<ProbeReport> {
    let not_started = || AppError::failed("could not start the probe, to watch the command");
    let mut signals = signals::watch()?;
    let folder = tempfile::tempdir().or_fail(not_started)?;
    let file = folder.path().join("report.json");
    let mut command = Command::new(std::env::current_exe().or_fail(not_started)?);
    command.args(["probe", "--end-with-parent"]);
    command.arg(std::process::id().to_string());
    command.args(["--max-runtime", &format!("{}s", limit.0), "--watched"]);
    command.arg(root).arg("--output").arg(&file).arg("--");
    command.args(words);
    command.stdin(Stdio::null()).stdout(io::stderr());
    // Python opens its own cache in place of a source.
    command.env("PYTHONPYCACHEPREFIX", folder.path());
    // A Ctrl-C at the terminal reaches the gate alone.
    let mut probe = command.process_group(0).spawn().or_fail(not_started)?;
    let ended = signals.unless_interrupted(probe.wait()).await;
    if let (Err(_), Some(id)) = (&ended, probe.id()) {
        say("stopping the command, and no spec is written; repeat the signal to exit at once");
        let stop = || kill(Pid::from_raw(id.cast_signed()), Signal::SIGTERM);
        // It ends when all has ended that the command started.
        let _ = stop();
        if signals.unless_interrupted(probe.wait()).await.is_err() {
            // The second request ends its grace period.
            let _ = stop();
        }
    }
    let status = ended?.or_fail(not_started)?;
    // A command that could not be started leaves no report.
    let text = files::read_text(&file).unwrap_or_default();
    let report = serde_json::from_str::<ProbeReport>(&text).ok();
    let is_of_use = |ending| matches!(ending, Ending::Exited { code: 0 } | Ending::TimedOut);
    report.filter(|report| is_of_use(report.ending)).ok_or_else(|| {
        let what = format!("the command failed ({status}), so no spec was written; what it said stands above");
        AppError::failed(what).help("write it as you start training from this folder, what needs a shell as `-- sh -c '...'`; `canary-gate init` writes a spec without running anything")
    })
}
