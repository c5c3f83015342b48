//! The canaries of a plan as lanes take them: how long each is expected to take, and in which rounds they come.

use super::lanes::ConfigurationRuns;
use super::{PlannedAlternative, PlannedRuns, base_instance, fewest, level};
use crate::canary::CanaryRun;
use crate::instance::{InstanceConfiguration, OfferOf};
use crate::measurement::Measurement;
use crate::spec::Job;
use crate::units::{Fraction, Seconds, count_as_float};

/// Of `instance` first, then of each alternative that is measured. `earlier` are the canaries of an earlier check; where there
/// are none of a configuration, it takes as long as `instance`, and that takes `canary.max_runtime` each.
pub fn configuration_runs(
    job: &Job,
    runs: &PlannedRuns,
    alternatives: &[PlannedAlternative],
    earlier: &[Measurement],
    offer_of: OfferOf<'_>,
) -> Vec<ConfigurationRuns> {
    let measured = alternatives
        .iter()
        .filter_map(|one| Some((one.runs_on(), one.runs.as_ref().ok()?)));
    let base = &base_instance(job);
    let all = [(base, runs)].into_iter().chain(measured);
    all.map(|(instance, runs)| {
        let is_job_s = instance == base;
        let is_kept = matches!(instance, InstanceConfiguration::Homogeneous { .. });
        ConfigurationRuns {
            instance: instance.clone(),
            rounds: rounds(
                job,
                runs,
                &Times::of(job, instance, earlier),
                if is_job_s { 2 } else { 1 },
            ),
            usd_per_second: offer_of(instance).cost(Seconds(1.0)),
            parallel: job.canary.parallel,
            waits_for_proof: !is_job_s,
            can_be_kept: is_kept && !job.training.sagemaker.spot,
        }
    })
    .collect()
}

/// The fixed design runs what a forecast needs at least, and then all others. The adaptive design starts with one canary, on
/// `instance` with two, and goes on with up to `canary.parallel` at once: as many canaries as the earlier check took, else each size
/// once.
fn rounds(job: &Job, runs: &PlannedRuns, times: &Times<'_>, first: usize) -> Vec<Vec<Seconds>> {
    let (all, ends): (Vec<Seconds>, Vec<usize>) = match runs {
        PlannedRuns::Fixed(runs) => {
            let of_run = |run: &CanaryRun| times.of_size(run.fraction);
            let all = runs.iter().map(of_run).collect();
            (all, vec![fewest(runs), runs.len()])
        }
        PlannedRuns::Ladder(sizes) => {
            let all: Vec<Seconds> = match times.known.is_empty() {
                true => (sizes.iter())
                    .map(|size| times.of_size(size.fraction))
                    .collect(),
                false => times.known.iter().map(|(_, time)| *time).collect(),
            };
            // Levels of work take turns run by run.
            let width = match level(job, 0) == level(job, 1) {
                true => job.canary.parallel.max(1) as usize,
                false => 1,
            };
            let first = first.min(width);
            let ends = (first..all.len()).step_by(width).chain([all.len()]);
            let ends = ends.collect();
            (all, ends)
        }
    };
    let mut rest = all.as_slice();
    let mut rounds = Vec::new();
    for end in ends {
        let width = (end + rest.len()).saturating_sub(all.len());
        let (round, after) = rest.split_at(width.min(rest.len()));
        rest = after;
        if !round.is_empty() {
            rounds.push(round.to_vec());
        }
    }
    rounds
}

/// How long canaries of a configuration take without their start-up.
struct Times<'a> {
    job: &'a Job,
    /// By what they were asked for.
    known: Vec<(Fraction, Seconds)>,
}

impl<'a> Times<'a> {
    fn of(job: &'a Job, instance: &InstanceConfiguration, earlier: &[Measurement]) -> Self {
        let on = |instance: &InstanceConfiguration| -> Vec<(Fraction, Seconds)> {
            let runs = earlier.iter().filter(|run| run.is_on(instance));
            runs.filter_map(|run| Some((run.fraction, after_start_up(run)?)))
                .collect()
        };
        let own = on(instance);
        Self {
            job,
            known: match own.is_empty() {
                true => on(&base_instance(job)),
                false => own,
            },
        }
    }

    /// The mean of those of the size, else the longest known, else the limit.
    fn of_size(&self, fraction: Fraction) -> Seconds {
        let alike = self.known.iter().filter(|(size, _)| *size == fraction);
        let alike: Vec<f64> = alike.map(|(_, time)| time.0).collect();
        if !alike.is_empty() {
            return Seconds(alike.iter().sum::<f64>() / count_as_float(alike.len()));
        }
        let longest = self.known.iter().map(|(_, time)| time.0);
        longest
            .max_by(f64::total_cmp)
            .map_or(self.job.canary.max_runtime, Seconds)
    }
}

/// What a canary took once its data were there; absent where it did not complete.
fn after_start_up(run: &Measurement) -> Option<Seconds> {
    let time = run.time().filter(|_| run.is_completed())?;
    let download = run.phases.download.unwrap_or_default();
    Some(Seconds((time.0 - download.0).max(0.0)))
}

#[cfg(test)]
mod tests;
