//! Progress on standard error: bars on a terminal, plain lines elsewhere, nothing when quiet.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::backend::CanaryProgress;
use crate::canary::CanaryRun;
use crate::console::{Loudness, printable, say};
use crate::measurement::Measurement;
use crate::spec::Job;
use crate::units::{Seconds, Usd};

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

    /// The progress of the canaries of one configuration of a job; on a terminal they stand in the order of `group`.
    pub(crate) fn canaries(
        &self,
        job: &Job,
        group: CanaryGroup,
        runs: &[CanaryRun],
        earlier: Earlier,
    ) -> Canaries<'_> {
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
        let batch = match &self.shown {
            Shown::Bars(bars) => bars.batches.replace(bars.batches.get() + 1),
            Shown::Lines | Shown::Nothing => 0,
        };
        let all = match &self.shown {
            Shown::Bars(bars) => {
                let bar = bars.add((group, batch, 0), ProgressBar::new(count as u64));
                bar.set_style(style(if earlier.is_open {
                    "  {prefix}  {elapsed}  {msg}"
                } else {
                    "  {prefix}  {bar:30}  {elapsed}  {msg}"
                }));
                bar.set_position(earlier.runs as u64);
                bar.set_prefix(title.clone());
                bar.enable_steady_tick(Duration::from_millis(250));
                Some(bar)
            }
            Shown::Lines | Shown::Nothing => None,
        };
        Canaries {
            progress: self,
            group,
            batch,
            title,
            count: (!earlier.is_open).then_some(count),
            limit: job.canary.spend_limit,
            state: RefCell::new(State {
                all,
                running: vec![None; runs.len()],
                started: earlier.runs,
                done: earlier.runs,
                last: earlier.runs + runs.len(),
            }),
        }
    }
}

/// Whose canaries are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CanaryGroup {
    /// The job's place in the spec.
    pub(crate) job: usize,
    /// `instance` first, then the alternatives.
    pub(crate) configuration: usize,
}

/// A group, which of its batches, and the line in it: that of the batch is 0, its canaries follow.
type LinePlace = (CanaryGroup, usize, usize);

/// Live lines of a terminal.
#[derive(Default)]
struct Bars {
    all: MultiProgress,
    shown: RefCell<BTreeMap<LinePlace, ProgressBar>>,
    batches: Cell<usize>,
}

impl Bars {
    /// Shows a line among the others, by its place.
    fn add(&self, place: LinePlace, bar: ProgressBar) -> ProgressBar {
        let mut shown = self.shown.borrow_mut();
        let bar = match shown.range(..place).next_back() {
            Some((_, before)) => self.all.insert_after(before, bar),
            None => self.all.insert(0, bar),
        };
        shown.insert(place, bar.clone());
        bar
    }

    fn remove(&self, place: LinePlace) {
        if let Some(bar) = self.shown.borrow_mut().remove(&place) {
            bar.finish_and_clear();
            self.all.remove(&bar);
        }
    }
}

/// The canaries of the same configuration besides those of a batch.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Earlier {
    /// That ran before.
    pub(crate) runs: usize,
    /// That are planned after it.
    pub(crate) to_come: usize,
    /// Whether the number of canaries to come is unknown.
    pub(crate) is_open: bool,
}

/// Progress of the canaries of one configuration.
pub(crate) struct Canaries<'a> {
    progress: &'a Progress,
    group: CanaryGroup,
    batch: usize,
    title: String,
    /// How many canaries there will be; `None` if unknown.
    count: Option<usize>,
    limit: Usd,
    state: RefCell<State>,
}

struct State {
    all: Option<ProgressBar>,
    running: Vec<Option<ProgressBar>>,
    started: usize,
    done: usize,
    /// How many are done at the end of the batch.
    last: usize,
}

impl Canaries<'_> {
    pub(crate) fn start(&self, index: usize, run: &CanaryRun) {
        if let Shown::Bars(bars) = &self.progress.shown {
            let bar = bars.add(self.line(index + 1), ProgressBar::new_spinner());
            bar.set_style(style("    {spinner} {msg}  {elapsed}"));
            bar.set_message(printable(&format!("{} ({})", run.label(), run.bytes)));
            bar.enable_steady_tick(Duration::from_millis(250));
            let mut state = self.state.borrow_mut();
            state.running[index] = Some(bar);
            state.started += 1;
            if let Some(all) = &state.all {
                all.set_prefix(self.numbered(state.started));
            }
        }
    }

    /// Shows a run's progress as the backend reports it.
    pub(crate) fn report(&self, index: usize, run: &CanaryRun, progress: CanaryProgress<'_>) {
        let (CanaryProgress::Fact(text) | CanaryProgress::Phase(text)) = progress;
        let text = printable(text);
        match &self.progress.shown {
            Shown::Bars(_) => {
                if let CanaryProgress::Fact(text) = progress {
                    self.progress.say(&format!(
                        "{}  {}  {}",
                        self.title,
                        printable(&run.label()),
                        printable(text)
                    ));
                    return;
                }
                if let Some(bar) = &self.state.borrow().running[index] {
                    bar.set_message(format!(
                        "{} ({})  {text}",
                        printable(&run.label()),
                        run.bytes
                    ));
                }
            }
            Shown::Lines if matches!(progress, CanaryProgress::Fact(_)) => {
                say(&format!(
                    "{}  {}  {text}",
                    self.title,
                    printable(&run.label())
                ));
            }
            Shown::Lines | Shown::Nothing => {}
        }
    }

    fn line(&self, line: usize) -> LinePlace {
        (self.group, self.batch, line)
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
                state.running[index] = None;
                bars.remove(self.line(index + 1));
                if let Some(all) = &state.all {
                    all.set_position(state.done as u64);
                    all.set_prefix(self.numbered(state.started));
                    all.set_message(spent);
                }
                // What the last ones used may still be collected.
                if state.done == state.last {
                    bars.remove(self.line(0));
                    state.all = None;
                }
            }
            Shown::Lines => say(&format!(
                "{}  {}  {}{}{spent}",
                self.numbered(state.done),
                printable(&run.label()),
                measurement.outcome,
                how_long(measurement),
            )),
            Shown::Nothing => {}
        }
    }
}

/// ` after 4m 12s`; for a reused canary also its age.
fn how_long(measurement: &Measurement) -> String {
    let time = measurement.training_seconds;
    let after = time.map_or(String::new(), |time| format!(" after {time}"));
    match measurement.reused {
        None => after,
        Some(reused) => {
            let age = Seconds::of_days(reused.age_days);
            format!("{after}, measured {age} ago and not run again")
        }
    }
}

impl Drop for Canaries<'_> {
    fn drop(&mut self) {
        if let Shown::Bars(bars) = &self.progress.shown {
            let lines = self.state.get_mut().running.len() + 1;
            for line in 0..lines {
                bars.remove((self.group, self.batch, line));
            }
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("█▉▊▋▌▍▎▏░")
}
