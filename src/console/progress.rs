//! Progress on standard error: bars on a terminal, plain lines elsewhere, nothing when quiet.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::backend::CanaryProgress;
use crate::canary::CanaryRun;
use crate::console::{Loudness, colours, printable, say};
use crate::measurement::{Measurement, Outcome};
use crate::spec::Job;
use crate::units::{Seconds, Usd};

/// How often elapsed times are shown.
const TICK: Duration = Duration::from_millis(250);
/// Columns of the canary's name, and of its time.
const NAME_WIDTH: usize = 10;
const TIME_WIDTH: usize = 8;

/// Where progress goes.
pub(crate) struct Progress {
    shown: Shown,
}

enum Shown {
    Bars(Bars),
    Lines,
    Nothing,
}

impl Progress {
    pub(crate) fn new(loudness: Loudness) -> Self {
        let shown = if loudness == Loudness::Quiet {
            Shown::Nothing
        } else if std::io::stderr().is_terminal() {
            Shown::Bars(Bars::default())
        } else {
            Shown::Lines
        };
        Self { shown }
    }

    /// Whether somebody looks at a terminal.
    pub(crate) fn is_live(&self) -> bool {
        matches!(self.shown, Shown::Bars(_))
    }

    /// Prints a line, above the bars on a terminal.
    pub(crate) fn say(&self, text: &str) {
        match &self.shown {
            Shown::Bars(bars) => bars.all.suspend(|| say(text)),
            Shown::Lines | Shown::Nothing => say(text),
        }
    }

    /// Prints a line that nobody needs who asked for quiet.
    pub(crate) fn mention(&self, text: &str) {
        if !matches!(self.shown, Shown::Nothing) {
            self.say(text);
        }
    }

    /// The progress of the canaries of one configuration of a job.
    pub(crate) fn canaries(&self, job: &Job, runs: &[CanaryRun], earlier: Earlier) -> Canaries<'_> {
        let instance = runs
            .first()
            .map(|run| run.instance.to_string())
            .unwrap_or_default();
        let noun = match runs {
            [run] if run.is_full() => "full run",
            _ => "canary",
        };
        let count = earlier.runs + runs.len() + earlier.to_come;
        let title = printable(&format!("{} on {instance}  {noun}", job.name));
        let line = match &self.shown {
            Shown::Bars(bars) => Some(bars.begin(&title)),
            Shown::Lines | Shown::Nothing => None,
        };
        Canaries {
            progress: self,
            instance: printable(&format!("{} on {instance}", job.name)),
            title,
            count: (!earlier.is_open).then_some(count),
            earlier: earlier.runs,
            limit: job.canary.spend_limit,
            state: RefCell::new(State {
                line,
                running: vec![None; runs.len()],
                started: earlier.runs,
                done: earlier.runs,
                last: earlier.runs + runs.len(),
            }),
        }
    }
}

impl Drop for Progress {
    /// The report that follows stands apart.
    fn drop(&mut self) {
        if let Shown::Bars(bars) = &self.shown
            && bars.heading.borrow().is_some()
        {
            say("");
        }
    }
}

/// Live lines of a terminal.
#[derive(Default)]
struct Bars {
    all: MultiProgress,
    /// Under whose heading the last line stands.
    heading: RefCell<Option<String>>,
}

impl Bars {
    /// Shows a line for more canaries of a configuration.
    fn begin(&self, title: &str) -> ProgressBar {
        let line = self.all.add(ProgressBar::new_spinner());
        line.set_style(style("  {prefix}  {elapsed}"));
        line.set_prefix(title.to_owned());
        line.enable_steady_tick(TICK);
        line
    }

    /// Prints a line that stays, below the heading that it belongs to.
    fn keep(&self, heading: &str, line: &str) {
        let is_new = self.heading.replace(Some(heading.to_owned())).as_deref() != Some(heading);
        self.all.suspend(|| {
            if is_new {
                say(heading);
            }
            say(line);
        });
    }

    fn remove(&self, line: Option<ProgressBar>) {
        if let Some(line) = line {
            line.finish_and_clear();
            self.all.remove(&line);
        }
    }
}

/// The canaries of the same configuration besides those of a batch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Earlier {
    /// The number of canaries that ran before the batch.
    pub(crate) runs: usize,
    /// The number of canaries that are planned after the batch.
    pub(crate) to_come: usize,
    /// Whether the number of canaries to come is unknown.
    pub(crate) is_open: bool,
}

/// Progress of the canaries of one configuration.
pub(crate) struct Canaries<'a> {
    progress: &'a Progress,
    /// `churn on ml.m5.xlarge`
    instance: String,
    title: String,
    /// How many canaries there will be; `None` if unknown.
    count: Option<usize>,
    /// How many there were before.
    earlier: usize,
    limit: Usd,
    state: RefCell<State>,
}

struct State {
    /// The line of all canaries, above their own.
    line: Option<ProgressBar>,
    running: Vec<Option<ProgressBar>>,
    started: usize,
    done: usize,
    /// How many are done at the end of the batch.
    last: usize,
}

impl Canaries<'_> {
    pub(crate) fn start(&self, index: usize, run: &CanaryRun) {
        if let Shown::Bars(bars) = &self.progress.shown {
            let mut state = self.state.borrow_mut();
            let running = state.running.iter().flatten().next_back();
            let bar = match running.or(state.line.as_ref()) {
                Some(above) => bars.all.insert_after(above, ProgressBar::new_spinner()),
                None => bars.all.add(ProgressBar::new_spinner()),
            };
            bar.set_style(style("    {spinner} {elapsed}{wide_msg}"));
            bar.set_message(under_way(run, ""));
            bar.enable_steady_tick(TICK);
            state.running[index] = Some(bar);
            state.started += 1;
            if let Some(line) = &state.line {
                line.set_prefix(self.numbered(state.started));
            }
        }
    }

    /// Shows a run's progress as the backend reports it.
    pub(crate) fn report(&self, index: usize, run: &CanaryRun, progress: CanaryProgress<'_>) {
        match progress {
            CanaryProgress::Fact(text) => {
                let (label, text) = (printable(&run.label()), printable(text));
                let line = format!("{}  {label}  {text}", self.title);
                self.progress.mention(&line);
            }
            CanaryProgress::Phase(text) => {
                if let Some(bar) = &self.state.borrow().running[index] {
                    bar.set_message(under_way(run, &printable(text)));
                }
            }
        }
    }

    /// The title of one of the canaries, counted from 1: `churn on ml.m5.xlarge canary 2/6`.
    fn numbered(&self, number: usize) -> String {
        let of = self
            .count
            .map_or(String::new(), |count| format!("/{count}"));
        format!("{} {number}{of}", self.title)
    }

    /// A run has ended; `spent` is what all canaries of the job were billed until now, `None` without a price.
    pub(crate) fn finish(
        &self,
        index: usize,
        run: &CanaryRun,
        measurement: &Measurement,
        spent: Option<Usd>,
    ) {
        let mut state = self.state.borrow_mut();
        state.done += 1;
        // A reused canary is not started.
        state.started = state.started.max(state.done);
        let spent = spent
            .map(|spent| format!("  spent {spent} of {}", self.limit))
            .unwrap_or_default();
        match &self.progress.shown {
            Shown::Bars(bars) => {
                bars.remove(state.running[index].take());
                let line = ended(run, measurement, colours::on_stderr());
                bars.keep(&self.instance, &line);
                if let Some(line) = &state.line {
                    line.set_prefix(self.numbered(state.started) + &spent);
                }
                // What the last ones used may still be collected.
                if state.done == state.last {
                    bars.remove(state.line.take());
                }
            }
            Shown::Lines => say(&format!(
                "{}  {}  {}{}{spent}",
                self.numbered(self.earlier + index + 1),
                printable(&run.label()),
                measurement.outcome,
                how_long(measurement),
            )),
            Shown::Nothing => {}
        }
    }
}

/// `  20% (1.2 GiB)  training`
fn under_way(run: &CanaryRun, doing: &str) -> String {
    format!("  {} ({})  {doing}", short_name(run), run.bytes)
}

/// ` after 4m 12s`; for a reused canary also its age.
fn how_long(measurement: &Measurement) -> String {
    let time = measurement.training_seconds;
    let after = time.map_or(String::new(), |time| format!(" after {time}"));
    match measurement.reused {
        None => after,
        Some(_) => format!("{after}, {}", reused_words(measurement)),
    }
}

/// The age of a reused canary; empty for another one.
fn reused_words(measurement: &Measurement) -> String {
    let reused = measurement.reused.as_ref();
    reused.map_or(String::new(), |reused| {
        let age = Seconds(reused.age_days * Seconds::A_DAY);
        format!("measured {age} ago and not run again")
    })
}

/// The line that stays of a canary that has ended: `✓ 1%        1.6s     0.0004 USD`, or what went wrong with the last line of its log.
fn ended(run: &CanaryRun, measurement: &Measurement, colours: bool) -> String {
    let sign = match (&measurement.outcome, colours) {
        (Outcome::Completed, false) => "✓",
        (Outcome::Completed, true) => "\u{1b}[32m✓\u{1b}[0m",
        (_, false) => "✗",
        (_, true) => "\u{1b}[31m✗\u{1b}[0m",
    };
    let name = short_name(run);
    let time = measurement.training_seconds;
    let time = time.map_or(String::new(), |time| time.to_string());
    let cost = measurement
        .cost
        .map_or(String::new(), |cost| cost.to_string());
    let said = match (&measurement.outcome, &measurement.reused) {
        (Outcome::Completed, Some(_)) => reused_words(measurement),
        (Outcome::Completed, None) => cost,
        (outcome, _) => match outcome.last_line() {
            Some(line) => format!("{outcome}: {}", printable(line)),
            None => outcome.to_string(),
        },
    };
    let line = format!("  {sign} {name:NAME_WIDTH$} {time:TIME_WIDTH$} {said}");
    line.trim_end().to_owned()
}

/// `3%`, `3% #2`: a canary that is not repeated needs no number.
fn short_name(run: &CanaryRun) -> String {
    let label = printable(&run.label());
    match label.split_once(" #1") {
        Some((before, after)) if !after.starts_with(|c: char| c.is_ascii_digit()) => {
            format!("{before}{after}")
        }
        _ => label,
    }
}

impl Drop for Canaries<'_> {
    fn drop(&mut self) {
        if let Shown::Bars(bars) = &self.progress.shown {
            let state = self.state.get_mut();
            let lines = state.running.iter_mut().chain([&mut state.line]);
            lines.for_each(|line| bars.remove(line.take()));
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
