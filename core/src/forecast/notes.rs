//! Cautions about a forecast: its assumption, its reach, and what was left out; and warnings, which a reader must not miss.

use super::runs::{Runs, has_bytes};
use super::{BusyMachine, Doubt, Law, Laws, other_work};
use crate::grammar;
use crate::measurement::{LET_IT_FAIL, Measurement};
use crate::metric::MemoryOf;
use crate::units::Fraction;

/// The most characters of an error: what to do about it still fits into the line.
const SHOWN_OF_ERROR: usize = 100;

/// What makes it doubtful that the canaries were like the full run, as sentences.
pub(super) fn warnings(runs: &Runs) -> Vec<String> {
    let busy = other_work::busy(runs.entered()).map(|BusyMachine { taken, .. }| {
        format!("other work took {taken} of this machine: times are those of this hour, less alone")
    });
    let error = super::last_error(runs).map(|error| {
        let shown = error.chars().take(SHOWN_OF_ERROR);
        let shown: String = shown.map(|c| if c == '`' { '\'' } else { c }).collect();
        format!(
            "the largest canary printed an error last, though it ended with 0: `{shown}`; its work may have failed: {LET_IT_FAIL}"
        )
    });
    let left = runs.first_said(|run| &run.left_running).map(|process| {
        format!(
            "a canary's command ended while `{process}`, which was still at work or had done most of it, ran on, and was ended: let the command wait for its work, as `wait` in a shell does"
        )
    });
    let opened = runs.first_said(|run| &run.left_out_opened).map(|file| {
        format!(
            "a canary opened `{file}` of the checkout, which `paths` leaves out, so that a change of it alone is not seen: name it in `paths`, or let nothing read it"
        )
    });
    let unopened = super::unopened(runs).map(|channel| {
        format!(
            "no canary opened a file of channel `{channel}`, and the full run may later: let a canary get there (larger `canary.fractions`, or more frequent evaluation), or leave the channel out where nothing reads it"
        )
    });
    let warnings = [busy, error, left, opened, unopened];
    warnings.into_iter().flatten().collect()
}

/// Sentences, the doubts in the growth first.
pub(super) fn write(runs: &Runs, law: &Laws, doubts: [Option<Doubt>; 2]) -> Vec<String> {
    let laws = [
        ("time", &law.time),
        (MemoryOf::Machine.words(), &law.memory),
        (MemoryOf::Gpu.words(), &law.gpu_memory),
    ];
    let abscissa = runs.abscissa();
    let in_doubt = MemoryOf::ALL.into_iter().zip(doubts);
    let in_doubt = in_doubt.filter_map(|(of, doubt)| Some(format!("{} {}", of.words(), doubt?)));
    let flat = laws.iter().filter_map(|(subject, law)| {
        let is_flat = law.as_ref().is_some_and(|law| law.slope == 0.0);
        is_flat.then(|| format!("{subject} seems not to grow with the {abscissa}"))
    });
    let is_growing = |law: &Option<Law>| law.as_ref().is_some_and(|law| law.slope > 0.0);
    let growing = laws.iter().filter(|(_, law)| is_growing(law));
    let growing: Vec<String> = growing.map(|(subject, _)| (*subject).to_owned()).collect();
    let reached = runs.largest();
    let reached = reached.filter(|run| run.reach() < 1.0 && !growing.is_empty());
    let entered = || runs.entered().iter().copied();
    let works = entered().map(Measurement::work_share);
    let largest_work = works.max_by(f64::total_cmp);
    let peaks = entered().filter_map(|run| run.usage.memory.as_ref());
    // The highest bound of a spike between two samples.
    let unseen =
        peaks.filter_map(|peak| peak.upper_bound.filter(|_| peak.upper_bound > peak.bytes));
    let is_exact = |run: &Measurement| run.drawn_by_script || run.differs_in_work_alone;
    let without_bytes = entered()
        .filter(|run| !has_bytes(run) && !is_exact(run))
        .count();
    let of_all = [
        reached.map(|run| {
            let of = run.reach_of();
            format!(
                "the forecast of {} assumes that growth continues beyond the largest canary, which {} {} of the {of}, much as within the canaries",
                grammar::list(&growing),
                of.verb(),
                Fraction(run.reach()),
            )
        }),
        largest_work.filter(|work| *work < 1.0).map(|largest| {
            format!(
                "no canary did more than {} of the full run's work per datum; the part that grows with the work is assumed to be proportional to it",
                Fraction(largest),
            )
        }),
        unseen.max().map(|bound| {
            format!(
                "memory between two samples may have been higher, up to {bound} in one canary; the forecast is of what was sampled"
            )
        }),
        other_work::note(&runs.disturbed),
        (without_bytes > 0).then(|| {
            let runs = grammar::count(without_bytes, "run");
            format!("the bytes of {runs} are unknown; the fraction requested replaces them")
        }),
    ];
    let of_all = of_all.into_iter().flatten();
    in_doubt.chain(flat).chain(of_all).collect()
}
