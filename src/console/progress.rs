//! Progress on standard error: bars on a terminal, plain lines elsewhere, nothing when quiet.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::backend::CanaryProgress;
use crate::canary::CanaryRun;
use crate::console::{Loudness, canary_line, colours, printable, say};
use crate::forecast::Law;
use crate::measurement::Measurement;
use crate::spec::Job;
use crate::units::{Seconds, Usd};

/// How often elapsed times are shown.
const TICK: Duration = Duration::from_millis(250);

/// What is known of the full run stands below all canaries of a batch.
const STANDING_LINE: usize = usize::MAX;

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

    /// Takes what the canaries on `instance` of a job, by its place, say so far.
    pub(crate) fn stand(&self, job: usize, standing: StandingForecast) {
        if let Shown::Bars(bars) = &self.shown {
            let group = CanaryGroup {
                job,
                configuration: 0,
            };
            bars.standings.borrow_mut().insert(group, standing);
            bars.show_standing(group);
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
                let bar = bars.add((group, batch, 0), ProgressBar::new_spinner());
                bar.set_style(style("  {prefix}  {elapsed}  {wide_msg}"));
                bar.set_prefix(title.clone());
                bar.enable_steady_tick(TICK);
                bars.show_standing(group);
                Some(bar)
            }
            Shown::Lines | Shown::Nothing => None,
        };
        Canaries {
            progress: self,
            group,
            batch,
            instance: printable(&format!("{} on {instance}", job.name)),
            title,
            count: (!earlier.is_open).then_some(count),
            earlier: earlier.runs,
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

/// What the canaries of a configuration say so far.
#[derive(Debug, Clone)]
pub(crate) struct StandingForecast {
    pub(crate) words: String,
    /// How long canaries take.
    pub(crate) law: Option<Law>,
}

impl StandingForecast {
    /// How long a canary will take; `None` of one that does a part of the work.
    fn expected(&self, run: &CanaryRun) -> Option<Seconds> {
        let law = self.law.as_ref().filter(|_| run.work.is_none())?;
        let time = law.at(run.data_share());
        (time.is_finite() && time >= 1.0).then_some(Seconds(time))
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
    standings: RefCell<BTreeMap<CanaryGroup, StandingForecast>>,
    /// Under whose heading the last line stands.
    heading: RefCell<Option<String>>,
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

    /// Shows what is known so far below the newest canaries of a group.
    fn show_standing(&self, group: CanaryGroup) {
        let standings = self.standings.borrow();
        let last = self
            .shown
            .borrow()
            .keys()
            .rev()
            .find(|place| place.0 == group)
            .copied();
        let (Some(standing), Some((_, batch, _))) = (standings.get(&group), last) else {
            return;
        };
        let place = (group, batch, STANDING_LINE);
        let known = self.shown.borrow().get(&place).cloned();
        let line = known.unwrap_or_else(|| {
            let line = self.add(place, ProgressBar::new_spinner());
            line.set_style(style("    {wide_msg}"));
            line
        });
        line.set_message(printable(&standing.words));
        line.tick();
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
            bar.set_style(style("    {spinner} {elapsed}{wide_msg}"));
            bar.set_message(self.under_way(run, ""));
            bar.enable_steady_tick(TICK);
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
                    bar.set_message(self.under_way(run, &text));
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

    /// ` of about 16s  20% (1.2 GiB)  training`
    fn under_way(&self, run: &CanaryRun, doing: &str) -> String {
        let about = match &self.progress.shown {
            Shown::Bars(bars) => {
                let standings = bars.standings.borrow();
                let standing = standings.get(&self.group);
                standing.and_then(|standing| standing.expected(run))
            }
            Shown::Lines | Shown::Nothing => None,
        };
        let about = about.map_or(String::new(), |time| format!(" of about {time}"));
        let name = canary_line::short_name(run);
        format!("{about}  {name} ({})  {doing}", run.bytes)
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
                let line = canary_line::ended(run, measurement, colours::on_stderr());
                bars.keep(&self.instance, &line);
                if let Some(all) = &state.all {
                    all.set_prefix(self.numbered(state.started));
                    all.set_message(spent.trim_start().to_owned());
                }
                // What the last ones used may still be collected.
                if state.done == state.last {
                    bars.remove(self.line(0));
                    bars.remove(self.line(STANDING_LINE));
                    state.all = None;
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
            for line in (0..lines).chain([STANDING_LINE]) {
                bars.remove((self.group, self.batch, line));
            }
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
