//! Cautions about a forecast: its assumption, its reach, and what was left out; and warnings, which a reader must not miss.

use super::runs::Runs;
use super::{BusyMachine, Doubt, Law, Laws, other_work};
use crate::grammar;
use crate::measurement::{Abscissa, Usage, Utilization};
use crate::metric::MemoryOf;
use crate::units::Fraction;

/// A script that takes the same time for so many times the data may not read them.
const FAR: f64 = 10.0;
/// Its CPU worked on them where it did so many times as much.
const GROWN: f64 = 1.5;

/// What makes it doubtful that the canaries were like the full run, as sentences.
pub(super) fn warnings(runs: &Runs, law: &Laws) -> Vec<String> {
    let busy = runs.busy().map(|BusyMachine { taken, .. }| {
        format!("other work took {taken} of this machine: times are those of this hour")
    });
    flat_time(runs, law).into_iter().chain(busy).collect()
}

/// The question whether the script reads its data; `None` unless its time is the same over far more of them, it was not seen to
/// open them, and its CPU did not work more for them either.
fn flat_time(runs: &Runs, law: &Laws) -> Option<String> {
    let is_flat = law.time.as_ref().is_some_and(|law| law.slope == 0.0);
    let (smallest, largest) = runs.ends()?;
    let abscissa = runs.abscissa();
    let asked = match abscissa {
        Abscissa::Data => "its channel",
        Abscissa::Work => "the hyperparameter of `work`",
    };
    let is_known = runs.all_have(|run| run.sample_opened == Some(true)) || {
        let at = |share| {
            let mut runs = runs.entered().iter();
            other_work::cpu_time(runs.find(|run| run.data_share() == share)?)
        };
        (at(smallest).zip(at(largest))).is_some_and(|(less, more)| more >= GROWN * less)
    };
    (is_flat && largest / smallest >= FAR && !is_known).then(|| {
        format!(
            "time did not grow from {} to {} of the {abscissa}: does the script read {asked}?",
            Fraction(smallest),
            Fraction(largest)
        )
    })
}

/// Sentences, the doubts in the growth first.
pub(super) fn write(runs: &Runs, law: &Laws, doubts: [(&str, Option<Doubt>); 2]) -> Vec<String> {
    let laws = [
        ("time", &law.time),
        (MemoryOf::Machine.words(), &law.memory),
        (MemoryOf::Gpu.words(), &law.gpu_memory),
    ];
    let mut notes = Vec::new();
    for (subject, doubt) in doubts {
        notes.extend(doubt.map(|doubt| format!("{subject} {doubt}")));
    }

    let abscissa = runs.abscissa();
    let held = abscissa.verb();
    let is_asked = flat_time(runs, law).is_some();
    for (subject, law) in laws {
        let is_flat = law.as_ref().is_some_and(|law| law.slope == 0.0);
        if is_flat && !(subject == "time" && is_asked) {
            notes.push(format!("{subject} seems not to grow with the {abscissa}"));
        }
    }
    let is_growing = |law: &Option<Law>| law.as_ref().is_some_and(|law| law.slope > 0.0);
    let growing = laws.iter().filter(|(_, law)| is_growing(law));
    let growing: Vec<String> = growing.map(|(subject, _)| (*subject).to_owned()).collect();
    if let Some(share) = runs.largest_share()
        && share < 1.0
        && !growing.is_empty()
    {
        notes.push(format!(
            "the forecast of {} assumes that growth continues beyond the largest canary, which {held} {} of the {abscissa}, much as within the canaries",
            grammar::list(&growing),
            Fraction(share),
        ));
    }
    if let Some(largest) = runs.largest_work()
        && largest < 1.0
    {
        notes.push(format!(
            "no canary did more than {} of the full run's work per datum; the part that grows with the work is assumed to be proportional to it",
            Fraction(largest),
        ));
    }
    if let Some(bound) = runs.unseen_memory() {
        notes.push(format!(
            "memory between two samples may have been higher, up to {bound} in one canary; the forecast is of what was sampled"
        ));
    }
    notes.extend(runs.disturbed());
    let percentiles = percentiles(runs);
    if !percentiles.is_empty() {
        notes.push(format!(
            "{} is a 99th percentile instead of a mean, since the table has no means; the mean is lower",
            percentiles.join(", ")
        ));
    }
    match runs.without_bytes() {
        0 => {}
        1 => notes.push(
            "the bytes of 1 run are unknown; the fraction requested replaces them".to_owned(),
        ),
        count => notes.push(format!(
            "the bytes of {count} runs are unknown; the fractions requested replace them"
        )),
    }
    notes.extend(runs.left_out());
    notes
}

/// The levels whose only figure is a 99th percentile.
fn percentiles(runs: &Runs) -> Vec<&'static str> {
    let levels: [(&str, fn(&Usage) -> &Option<Utilization>); 3] = [
        ("CPU utilization", |usage| &usage.cpu_percent),
        ("GPU utilization", |usage| &usage.gpu_percent),
        ("I/O wait", |usage| &usage.io_wait_percent),
    ];
    let is_percentile = |level: fn(&Usage) -> &Option<Utilization>| {
        let entered = runs.entered().iter();
        let mut levels = entered.filter_map(|run| level(&run.usage).as_ref());
        levels.any(Utilization::is_percentile)
    };
    let found = levels
        .into_iter()
        .filter(|(_, level)| is_percentile(*level));
    found.map(|(name, _)| name).collect()
}
