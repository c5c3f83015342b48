//! Progress on standard error: a line for each canary that has ended, nothing when quiet; on a terminal also a live line for each
//! canary under way.

use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::backend::CanaryProgress;
use crate::canary::CanaryRun;
use crate::console::{Loudness, printable, say};
use crate::measurement::Measurement;
use crate::spec::Job;
use crate::units::{Seconds, Usd};

/// How often elapsed times are shown.
const TICK: Duration = Duration::from_millis(250);
const UNDER_WAY: &str = "{spinner} {prefix}  {elapsed}  {wide_msg}";

/// Where progress goes.
pub(crate) struct Progress {
    is_quiet: bool,
    /// The live lines of a terminal.
    live: Option<MultiProgress>,
}

impl Progress {
    pub(crate) fn new(loudness: Loudness) -> Self {
        let is_quiet = loudness == Loudness::Quiet;
        let is_live = !is_quiet && std::io::stderr().is_terminal();
        Self {
            is_quiet,
            live: is_live.then(MultiProgress::new),
        }
    }

    /// Whether somebody looks at a terminal.
    pub(crate) fn is_live(&self) -> bool {
        self.live.is_some()
    }

    /// Prints a line, above the live ones.
    pub(crate) fn say(&self, text: &str) {
        match &self.live {
            Some(live) => live.suspend(|| say(text)),
            None => say(text),
        }
    }

    /// Prints a line that nobody needs who asked for quiet.
    pub(crate) fn mention(&self, text: &str) {
        if !self.is_quiet {
            self.say(text);
        }
    }

    /// The progress of canaries of one configuration of a job.
    pub(crate) fn canaries(&self, job: &Job, runs: &[CanaryRun], earlier: Earlier) -> Canaries<'_> {
        let instance = runs.first().map(|run| run.instance.to_string());
        let instance = instance.unwrap_or_default();
        let noun = match runs {
            [run] if run.is_full() => "full run",
            _ => "canary",
        };
        let count = |to_come| format!("/{}", earlier.runs + runs.len() + to_come);
        Canaries {
            progress: self,
            title: printable(&format!("{} on {instance}  {noun}", job.name)),
            of: earlier.to_come.map_or(String::new(), count),
            earlier: earlier.runs,
            limit: job.canary.spend_limit,
            under_way: RefCell::new(vec![None; runs.len()]),
        }
    }
}

/// The canaries of the same configuration besides those of a batch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Earlier {
    /// The number of canaries that ran before the batch.
    pub(crate) runs: usize,
    /// The number of canaries that are planned after the batch; `None` where nobody knows it yet.
    pub(crate) to_come: Option<usize>,
}

/// Progress of the canaries of one configuration.
pub(crate) struct Canaries<'a> {
    progress: &'a Progress,
    title: String,
    /// How many canaries there will be, `/6`; empty if unknown.
    of: String,
    /// How many there were before.
    earlier: usize,
    limit: Usd,
    /// The live line of each canary.
    under_way: RefCell<Vec<Option<ProgressBar>>>,
}

impl Canaries<'_> {
    pub(crate) fn start(&self, index: usize, run: &CanaryRun) {
        if let Some(live) = &self.progress.live {
            let line = live.add(ProgressBar::new_spinner());
            let style = ProgressStyle::with_template(UNDER_WAY);
            line.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            line.set_prefix(self.name(index, run));
            line.enable_steady_tick(TICK);
            self.under_way.borrow_mut()[index] = Some(line);
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
                if let Some(line) = &self.under_way.borrow()[index] {
                    line.set_message(printable(text));
                }
            }
        }
    }

    /// `churn on ml.m5.xlarge  canary 2/6  5% #1`
    fn name(&self, index: usize, run: &CanaryRun) -> String {
        let (number, label) = (self.earlier + index + 1, printable(&run.label()));
        format!("{} {number}{}  {label}", self.title, self.of)
    }

    /// A run has ended; `spent` is what all canaries of the job were billed until now, `None` without a price.
    pub(crate) fn finish(
        &self,
        index: usize,
        run: &CanaryRun,
        measurement: &Measurement,
        spent: Option<Usd>,
    ) {
        if let Some(line) = self.under_way.borrow_mut()[index].take() {
            line.finish_and_clear();
        }
        let spent = spent.map(|spent| format!("  spent {spent} of {}", self.limit));
        self.progress.mention(&format!(
            "{}  {}{}{}",
            self.name(index, run),
            measurement.how_it_ended(),
            how_long(measurement),
            spent.unwrap_or_default(),
        ));
    }
}

impl Drop for Canaries<'_> {
    fn drop(&mut self) {
        let under_way = self.under_way.get_mut().iter().flatten();
        under_way.for_each(ProgressBar::finish_and_clear);
    }
}

/// ` after 4m 12s`; for a reused canary also its age.
fn how_long(measurement: &Measurement) -> String {
    let time = measurement.training_seconds;
    let after = time.map_or(String::new(), |time| format!(" after {time}"));
    let reused = measurement.reused.map_or(String::new(), |reused| {
        let age = Seconds(reused.age_days * Seconds::A_DAY);
        format!(", measured {age} ago and not run again")
    });
    after + &reused
}
