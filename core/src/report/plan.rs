//! The plan of a run as text for a terminal, as `plan` prints it: what all jobs would take together, and each job's plan.

use std::fmt;

use super::escape::for_terminal;
use super::words::{self, grouped, only_where};
use crate::canary::{CanaryRun, ChannelData, Dataset, HandedShare, WorkLevel};
use crate::change::AffectedJob;
use crate::grammar;
use crate::plan::{self, LadderSize, NoPool, Plan, PlannedConfiguration, PlannedRuns, WarmPool};
use crate::rows::RowBlocks;
use crate::spec::Traits;
use crate::units::{Bytes, Fraction, Seconds, Usd, count_as_float};

/// Longer names are cut, in characters.
const LONGEST_NAME: usize = 2000;

/// `3 jobs · worst case 9.20 USD`: of `jobs` jobs those that would be run, with the worst case of each; absent without a price.
/// `max_spend` is what the whole run may cost; absent where only each job has a limit.
pub fn totals(jobs: usize, worst_cases: &[Option<Usd>], max_spend: Option<Usd>) -> String {
    let count = grammar::count(jobs, "job");
    if worst_cases.is_empty() {
        return format!("{count} · nothing would be run");
    }
    let worst: Option<Usd> = worst_cases.iter().copied().sum();
    let worst = match (worst, max_spend) {
        (None, _) => "not known for want of a price".to_owned(),
        (Some(worst), Some(limit)) if worst > limit => format!("{limit}, by --max-spend"),
        (Some(worst), _) => worst.to_string(),
    };
    format!("{count} · worst case {worst}")
}

/// What would run for one job.
#[derive(Debug, Clone)]
pub struct PlannedJob<'a> {
    pub affected: &'a AffectedJob<'a>,
    pub dataset: &'a Dataset,
    /// Whether the sizes of the listing are bytes.
    pub knows_bytes: bool,
    pub plan: &'a Plan,
    /// Of the spec's backend.
    pub traits: Traits,
}

impl fmt::Display for PlannedJob<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.heading())?;
        for (fraction, size) in self.sizes() {
            writeln!(f, "  {:>5}  {size}", fraction.to_string())?;
        }
        let facts = [
            ("work levels", self.work_levels()),
            ("rows", self.rows()),
            ("full run", self.full_run()),
            ("progress", self.progress()),
            ("worst case", Some(self.worst_case())),
        ];
        let facts = facts.into_iter();
        let facts = facts.filter_map(|(label, text)| Some((label, text?)));
        let pools = self.warm_pools().map(|text| ("warm pool", text));
        let counts = self.plan.own().counts.iter().map(|run| {
            let (on, fraction, noun) = (&run.instance, run.fraction, self.dataset.noun());
            let objects = format!("{} of {} {noun}s", run.objects, run.objects_total);
            ("count", format!("{on}: {fraction}, {objects}"))
        });
        let alternatives = self.plan.all[1..].iter().map(|alternative| {
            let (instance, runs) = (&alternative.instance, runs_of(alternative));
            ("alternative", format!("{instance} · {runs}"))
        });
        let notes = self.plan.notes.iter().map(|note| ("note", note.clone()));
        let further = pools.chain(counts).chain(alternatives).chain(notes);
        for (label, text) in facts.chain(further) {
            writeln!(f, "  {label:<16}{text}")?;
        }
        Ok(())
    }
}

impl PlannedJob<'_> {
    /// The sizes of the plan, from small to large: what a canary of each gets, and how often it runs.
    fn sizes(&self) -> Vec<(Fraction, String)> {
        let runs = match self.plan.runs() {
            PlannedRuns::Ladder(sizes) => {
                let row = |(index, size): (usize, &LadderSize)| {
                    let drawn = self.drawn(size.fraction, size.objects, size.bytes, None);
                    let first = if index == 0 { ", first" } else { "" };
                    (size.fraction, drawn + first)
                };
                return sizes.iter().enumerate().map(row).collect();
            }
            PlannedRuns::Fixed(runs) => runs,
        };
        // Replicates of one size and work level differ only in the objects drawn.
        let sizes = grouped(runs, |one, other| {
            one.objects == other.objects && one.work == other.work
        });
        let row = |runs: Vec<&CanaryRun>| {
            let run = runs[0];
            let drawn = self.drawn(run.fraction, run.objects, run.bytes, run.work.as_ref());
            let times = match runs.len() {
                1 => "once".to_owned(),
                2 => "twice".to_owned(),
                count => format!("{count} times"),
            };
            (run.fraction, format!("{drawn}, {times}"))
        };
        sizes.into_iter().map(row).collect()
    }

    /// What a canary of this size gets.
    fn drawn(
        &self,
        fraction: Fraction,
        objects: u64,
        bytes: Bytes,
        work: Option<&WorkLevel>,
    ) -> String {
        let (job, level) = (self.affected.job, level(work));
        if let Some(share) = &job.share {
            let handed = HandedShare::of_canary(share, objects).to_string();
            return format!("{}{level}", printable(&handed));
        }
        if let Some(work) = plan::level_of_size(job, fraction) {
            return printable(&work.to_string());
        }
        let total = self.dataset.objects_total().unwrap_or(0);
        let bytes = only_where(self.knows_bytes, || format!(", about {bytes}"));
        let drawn = usize::try_from(objects).unwrap_or(usize::MAX);
        let share = count_as_float(drawn) / count_as_float(total.max(1));
        let drawn = only_where(fraction.unlike(share), || format!(" ({})", Fraction(share)));
        let noun = self.dataset.noun();
        format!("{objects} of {total} {noun}s{drawn}{bytes}{level}")
    }

    /// A line for each configuration on whether its machines are kept between canaries.
    fn warm_pools(&self) -> impl Iterator<Item = String> {
        let pools = self.plan.pools.iter();
        let pools = pools.flat_map(|plan| plan.choose(&plan::no_quotas));
        pools.filter_map(|(instance, pool)| {
            let text = match pool {
                Ok(WarmPool { keep_alive, .. }) => {
                    let kind = instance.single_type();
                    let kind = kind.map_or_else(String::new, ToString::to_string);
                    format!(
                        "kept up to {keep_alive} for the next canary, within the quota `{kind} for training warm pool usage`"
                    )
                }
                Err(NoPool::Off) => return None,
                Err(why) => format!("none, {why}"),
            };
            Some(format!("{instance}: {text}"))
        })
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
        let counts = words::joined(counts.map(|run| format!(", one on {}", run.instance)), "");
        let (name, base) = (&job.name, &self.plan.own().base);
        format!("{name} · {runs} on {base}{counts}{cause}")
    }

    fn work_levels(&self) -> Option<String> {
        let work = self.affected.job.work.as_ref()?;
        if !self.plan.is_adaptive() || self.affected.job.differs_in_work_alone() {
            return None;
        }
        let levels = WorkLevel::of_canaries(work);
        let levels = words::joined(levels.map(|level| level.text()), ", ");
        let name = printable(&work.hyperparameter);
        Some(format!("{name} {levels}, in turn"))
    }

    /// What is copied of channels whose rows are drawn.
    fn rows(&self) -> Option<String> {
        let channels = self.dataset.sampled();
        let said = channels.filter_map(|channel| Some(of_rows(channel, channel.rows.as_ref()?)));
        Some(words::joined(said, "; ")).filter(|said| !said.is_empty())
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

    /// That the full run may be begun.
    fn progress(&self) -> Option<String> {
        let (job, own) = (self.affected.job, self.plan.own());
        let share = own.progress_share(job)?;
        let most = plan::worst_case_of(job.canary.max_runtime, &own.offer);
        let most = most.map_or(String::new(), |most| {
            format!(", {} at most", own.offer.counted(most))
        });
        Some(format!(
            "if canaries print it, the full run may be begun too, and ended at {share} of it{most}"
        ))
    }

    fn worst_case(&self) -> String {
        let canary = &self.affected.job.canary;
        let offer = &self.plan.own().offer;
        let counted = |charge| offer.counted(charge);
        let time = canary.max_seconds.filter(|_| offer.counts_time());
        let limit = time.map_or(canary.spend_limit.to_string(), |time| time.to_string());
        let longest = canary.max_runtime;
        let unpriced = offer.unpriced().filter(|_| offer.counts_time());
        let unpriced = unpriced.map_or(String::new(), |of| {
            format!("; no price is known for {of}, so costs are unknown: write one under `prices`, or see `canary-gate prices update`")
        });
        match self.plan.own().worst_case {
            Some(worst) if self.plan.is_adaptive() => {
                let own = self.plan.own().slice;
                let all = self.plan.all.iter().map(|one| one.slice).sum();
                let part = match own < all {
                    true => format!("{}, its part of {},", counted(own), counted(all)),
                    false => limit,
                };
                format!(
                    "{} of {part} if every size runs until it is stopped after {longest}; a limit, no forecast{unpriced}",
                    counted(worst)
                )
            }
            Some(worst) => {
                let worst = counted(worst);
                format!("{worst} of {limit} ({longest} each, ended then){unpriced}")
            }
            None if self.traits.is_remote => {
                "no price is known, so no canary would be launched; write one under `prices`, see `canary-gate prices update`, or write `canary.max_seconds`"
                    .to_owned()
            }
            None => format!(
                "no price, so the spend limit does not apply; each run is ended after {longest}"
            ),
        }
    }
}

/// `train: a canary gets a copy of its blocks of data.csv under the same name`
fn of_rows(channel: &ChannelData, rows: &RowBlocks) -> String {
    let name = printable(&channel.name);
    let what = match &*rows.files {
        [only] => printable(&only.key),
        several => format!("each of {} files", several.len()),
    };
    format!("{name}: a canary gets a copy of its blocks of {what} under the same name")
}

fn runs_of(alternative: &PlannedConfiguration) -> String {
    let worst = alternative.worst_case;
    let worst = worst.map_or(String::new(), |worst| {
        format!(", worst case {}", alternative.offer.counted(worst))
    });
    match &alternative.runs {
        Ok(PlannedRuns::Ladder(_)) => {
            let second = alternative.offer.charge(Seconds(1.0));
            let pays = second.map(|usd| Seconds(alternative.slice.0 / usd.0));
            let pays = pays.filter(|time| time.0.is_finite()).map_or(String::new(), |time| {
                format!("; its part pays for {time} in all, and where three take longer it is not measured")
            });
            format!("canaries chosen one by one{worst}{pays}")
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_totals_of_a_run_are_those_of_its_jobs() {
        let worst = Some(Usd(4.5));
        for (worst_cases, max_spend, said) in [
            (&[][..], None, "3 jobs · nothing would be run"),
            (
                &[worst, worst],
                Some(Usd(8.0)),
                "3 jobs · worst case 8.00 USD, by --max-spend",
            ),
            (&[worst, worst], None, "3 jobs · worst case 9.00 USD"),
            (
                &[worst, None],
                None,
                "3 jobs · worst case not known for want of a price",
            ),
        ] {
            assert_eq!(totals(3, worst_cases, max_spend), said);
        }
    }
}
