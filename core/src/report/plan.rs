//! The plan of one job as text for a terminal, as `plan` prints it.

use std::fmt;

use super::escape::for_terminal;
use super::plan_totals::ExpectedSpend;
use crate::canary::{CanaryRun, ChannelData, Dataset, HandedShare, WorkLevel};
use crate::change::AffectedJob;
use crate::forecast::FEWEST_RUNS;
use crate::grammar;
use crate::plan::{self, LadderSize, NoPool, Plan, PlannedConfiguration, PlannedRuns, WarmPool};
use crate::rows::RowBlocks;
use crate::spec::Traits;
use crate::units::{Bytes, Fraction, count_as_float};

/// Longer names are cut, in characters.
const LONGEST_NAME: usize = 2000;

/// What would run for one job.
#[derive(Debug, Clone)]
pub struct PlannedJob<'a> {
    pub affected: &'a AffectedJob<'a>,
    pub dataset: &'a Dataset,
    /// Whether the sizes of the listing are bytes.
    pub knows_bytes: bool,
    pub plan: &'a Plan,
    /// By the newest check in the history.
    pub expected: Option<ExpectedSpend>,
    /// Of the spec's backend.
    pub traits: &'a Traits,
}

impl fmt::Display for PlannedJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.heading())?;
        for size in sizes(self.plan.runs()) {
            let (fraction, drawn) = (size.fraction.to_string(), self.drawn(&size));
            writeln!(f, "  {fraction:>5}  {drawn}{}", size.times)?;
        }
        let facts = [
            ("work levels", self.work_levels()),
            ("rows", self.rows()),
            ("full run", self.full_run()),
            ("expected", Some(self.expected())),
            ("share", Some(self.share())),
            ("worst case", Some(self.worst_case())),
            ("wall-clock", Some(self.wall_clock())),
        ];
        for (label, text) in facts {
            if let Some(text) = text {
                writeln!(f, "  {label:<16}{text}")?;
            }
        }
        let pools = self.plan.pools.iter();
        for (instance, pool) in pools.flat_map(|plan| plan.choose(&plan::no_quotas)) {
            let text = match pool {
                Ok(WarmPool { keep_alive, .. }) => {
                    let kind = instance.single_type();
                    let kind = kind.map_or_else(String::new, ToString::to_string);
                    format!(
                        "kept up to {keep_alive} for the next canary, within the quota `{kind} for training warm pool usage`"
                    )
                }
                Err(NoPool::Off) => continue,
                Err(why) => format!("none, {why}"),
            };
            writeln!(f, "  warm pool       {instance}: {text}")?;
        }
        for run in &self.plan.own().counts {
            let (on, fraction, noun) = (&run.instance, run.fraction, self.dataset.noun());
            let objects = format!("{} of {} {noun}s", run.objects, run.objects_total);
            writeln!(f, "  count           {on}: {fraction}, {objects}")?;
        }
        for alternative in &self.plan.all[1..] {
            let (instance, runs) = (&alternative.instance, runs_of(alternative));
            writeln!(f, "  alternative     {instance} · {runs}")?;
        }
        for note in &self.plan.notes {
            writeln!(f, "  note            {note}")?;
        }
        Ok(())
    }
}

impl PlannedJob<'_> {
    /// What a canary of this size gets.
    fn drawn(&self, size: &PlannedSize<'_>) -> String {
        let (job, level) = (self.affected.job, level(size.work));
        if let Some(share) = &job.share {
            let handed = HandedShare::of_canary(share, size.objects).to_string();
            return format!("{}{level}", printable(&handed));
        }
        if let Some(work) = plan::level_of_size(job, size.fraction) {
            return printable(&work.to_string());
        }
        let total = self.dataset.objects_total().unwrap_or(0);
        let bytes = match self.knows_bytes {
            true => format!(", about {}", size.bytes),
            false => String::new(),
        };
        let drawn = usize::try_from(size.objects).unwrap_or(usize::MAX);
        let share = count_as_float(drawn) / count_as_float(total.max(1));
        let drawn = match size.fraction.unlike(share) {
            true => format!(" ({})", Fraction(share)),
            false => String::new(),
        };
        let (objects, noun) = (size.objects, self.dataset.noun());
        format!("{objects} of {total} {noun}s{drawn}{bytes}{level}")
    }

    fn heading(&self) -> String {
        let job = self.affected.job;
        let runs = match self.plan.runs() {
            PlannedRuns::Ladder(_) => "canaries chosen one by one".to_owned(),
            PlannedRuns::Fixed(list) => grammar::count(list.len(), "canary"),
        };
        let cause = match self.affected.by.as_slice() {
            [] => String::new(),
            [one] => format!(", because {} changed", printable(one)),
            [first, rest @ ..] => {
                let (first, more) = (printable(first), rest.len());
                format!(", because {first} and {more} more changed")
            }
        };
        let counts = self.plan.own().counts.iter();
        let counts: String = counts
            .map(|run| format!(", one on {}", run.instance))
            .collect();
        format!(
            "{} · {runs} on {}{counts}{cause}",
            job.name,
            self.plan.own().base
        )
    }

    fn work_levels(&self) -> Option<String> {
        let work = self.affected.job.work.as_ref()?;
        if !self.plan.is_adaptive() || self.affected.job.differs_in_work_alone() {
            return None;
        }
        let levels: Vec<String> = WorkLevel::of_canaries(work)
            .map(|level| level.text())
            .collect();
        let name = printable(&work.hyperparameter);
        Some(format!("{name} {}, in turn", levels.join(", ")))
    }

    /// What is copied of channels whose rows are drawn.
    fn rows(&self) -> Option<String> {
        let channels = self.dataset.sampled();
        let said = channels.filter_map(|channel| Some(of_rows(channel, channel.rows.as_ref()?)));
        let said: Vec<String> = said.collect();
        (!said.is_empty()).then(|| said.join("; "))
    }

    fn full_run(&self) -> Option<String> {
        let work = self.affected.job.work.as_ref();
        let work = work.map(WorkLevel::of_full_run);
        let total = self.dataset.bytes_total();
        if let Some(share) = &self.affected.job.share {
            let handed = HandedShare::of_full_run(share).to_string();
            return Some(format!("{}{}", printable(&handed), level(work.as_ref())));
        }
        if self.affected.job.differs_in_work_alone() {
            let work = work.map(|work| printable(&work.to_string()));
            return work.map(|work| format!("{work}; every canary has all of the data"));
        }
        self.knows_bytes
            .then(|| format!("{total}{}", level(work.as_ref())))
    }

    fn worst_case(&self) -> String {
        let canary = &self.affected.job.canary;
        let (limit, longest) = (canary.spend_limit, canary.max_runtime);
        match self.plan.own().worst_case {
            Some(worst) if self.plan.is_adaptive() => {
                let own = self.plan.own().slice;
                let all = self.plan.all.iter().map(|one| one.slice).sum();
                let part = match own < all {
                    true => format!("{own}, its part of {all},"),
                    false => limit.to_string(),
                };
                format!(
                    "{worst} of {part} if every size runs until it is stopped after {longest}; a limit, no forecast"
                )
            }
            Some(worst) => format!("{worst} of {limit} ({longest} each, ended then)"),
            None if self.traits.needs_price => {
                "no price is known, so no canary would be launched; write one under `prices`"
                    .to_owned()
            }
            None => format!(
                "no price, so the spend limit does not apply; each run is ended after {longest}"
            ),
        }
    }

    fn share(&self) -> String {
        let share = self.affected.job.canary.max_share;
        let on_counts = match self.plan.own().counts.as_slice() {
            [] => "",
            [_] => "; the one on another count of machines is part of it",
            _ => "; those on other counts of machines are part of it",
        };
        format!(
            "{FEWEST_RUNS} canaries in any case; a further one only while all take at most {share} of a full run{on_counts}"
        )
    }

    fn expected(&self) -> String {
        let Some(expected) = self.expected else {
            return match self.plan.is_adaptive() {
                true => format!(
                    "{FEWEST_RUNS} canaries or a few more; what they take is not known before the first has run"
                ),
                false => "not known before the first canary has run".to_owned(),
            };
        };
        let money = expected.usd.map_or(String::new(), |usd| format!("{usd}, "));
        format!(
            "{money}{}, as in the check of {}",
            expected.time,
            expected.at.strftime("%Y-%m-%d")
        )
    }

    fn wall_clock(&self) -> String {
        if self.traits.replays {
            return "none, the runs are recorded".to_owned();
        }
        let longest = self.plan.wall_clock;
        let parallel = self.affected.job.canary.parallel;
        if self.plan.pools.is_some() {
            return match (self.plan.is_adaptive(), parallel) {
                (true, _) => format!("at most {longest}: each size once, cold, one at a time"),
                (false, 1) => format!("at most {longest}: cold, one at a time"),
                (false, _) => format!(
                    "at most {longest}: cold, {parallel} at a time where the quota has room"
                ),
            };
        }
        let at_a_time = match self.plan.is_adaptive() && parallel > 1 {
            true => format!("up to {parallel} at a time after the first"),
            false => format!("{parallel} at a time"),
        };
        format!("at most {longest} if each runs to its limit; {at_a_time}")
    }
}

/// `train: a canary gets a copy of its blocks of data.csv under the same name`
fn of_rows(channel: &ChannelData, rows: &RowBlocks) -> String {
    let name = printable(&channel.name);
    let what = match rows.files() {
        [only] => printable(&only.key),
        several => format!("each of {} files", several.len()),
    };
    format!("{name}: a canary gets a copy of its blocks of {what} under the same name")
}

/// One size of a plan.
struct PlannedSize<'a> {
    fraction: Fraction,
    objects: u64,
    bytes: Bytes,
    work: Option<&'a WorkLevel>,
    /// How often it runs, behind the size.
    times: String,
}

/// The sizes of a plan, from small to large.
fn sizes(runs: &PlannedRuns) -> Vec<PlannedSize<'_>> {
    let runs = match runs {
        PlannedRuns::Ladder(sizes) => {
            let row = |(index, size): (usize, &LadderSize)| PlannedSize {
                fraction: size.fraction,
                objects: size.objects,
                bytes: size.bytes,
                work: None,
                times: if index == 0 { ", first" } else { "" }.to_owned(),
            };
            return sizes.iter().enumerate().map(row).collect();
        }
        PlannedRuns::Fixed(runs) => runs,
    };
    // Replicates of one size and work level differ only in the objects drawn.
    let mut sizes: Vec<(&CanaryRun, usize)> = Vec::new();
    for run in runs {
        let is_same = |known: &CanaryRun| known.objects == run.objects && known.work == run.work;
        match sizes.iter_mut().find(|(known, _)| is_same(known)) {
            Some((_, count)) => *count += 1,
            None => sizes.push((run, 1)),
        }
    }
    let sizes = sizes.into_iter().map(|(run, count)| PlannedSize {
        fraction: run.fraction,
        objects: run.objects,
        bytes: run.bytes,
        work: run.work.as_ref(),
        times: match count {
            1 => ", once".to_owned(),
            2 => ", twice".to_owned(),
            count => format!(", {count} times"),
        },
    });
    sizes.collect()
}

fn runs_of(alternative: &PlannedConfiguration) -> String {
    let worst = alternative.worst_case;
    let worst = worst.map_or(String::new(), |worst| format!(", worst case {worst}"));
    match &alternative.runs {
        Ok(PlannedRuns::Ladder(_)) => format!("canaries chosen one by one{worst}"),
        Ok(PlannedRuns::Fixed(list)) if list.is_empty() => {
            "no canary of its own: others run on it".to_owned()
        }
        Ok(PlannedRuns::Fixed(list)) => format!("{}{worst}", grammar::count(list.len(), "canary")),
        Err(why) => format!("not measured ({why})"),
    }
}

/// `, num_round 5` behind a size; nothing where there is no work level.
fn level(work: Option<&WorkLevel>) -> String {
    work.map_or(String::new(), |work| {
        format!(", {}", printable(&work.to_string()))
    })
}

fn printable(text: &str) -> String {
    for_terminal(text, LONGEST_NAME)
}
