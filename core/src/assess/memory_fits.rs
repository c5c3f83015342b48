//! The smallest listed instance with enough memory.

use crate::assess::input::JobInput;
use crate::forecast::scale_out::{Measured, peak_bytes};
use crate::instance::{InstanceConfiguration, InstanceType, tables};
use crate::metric::{MemoryOf, Metric};
use crate::plan::with_count;
use crate::report::words;
use crate::spec::LineKind;
use crate::verdict::{self, Candidate, JudgedLine, LineVerdict, MemoryNeed};

/// If a memory line of the job's instance is exceeded or at risk: the smallest listed instance with enough of that memory, or why
/// there is none; nothing where the memory's growth is in doubt. The first of `measured` is the job's instance, and `lines` are its lines.
pub(super) fn where_memory_fits(
    of: MemoryOf,
    measured: &[&Measured],
    lines: &[JudgedLine],
    input: &JobInput<'_>,
) -> Option<String> {
    let over = [LineVerdict::Exceeded, LineVerdict::AtRisk];
    let share = LineKind::Absolute(Metric::share_of(of));
    let in_question =
        |line: &JudgedLine| line.row.line == share && over.contains(&line.row.verdict);
    let kind = input.instance.single_type()?;
    if kind.is_local() || !lines.iter().any(in_question) {
        return None;
    }
    let (own, _) = measured.split_first()?;
    if own.forecast.peak(of).doubt.is_some() {
        return None;
    }
    let count = input.instance.total_count();
    let held = |source: &Measured| input.layout.held_share(source.instance().total_count());
    let need = |of: MemoryOf| {
        let mut sources = measured.iter().filter(|source| held(source) == held(own));
        Some(MemoryNeed {
            of,
            peak_bytes: sources.find_map(|source| peak_bytes(source, of))?,
            allowed: input.budget.memory_allowed(of),
        })
    };
    let Some(asked) = need(of) else {
        return lower_bound(of, own, input.instance);
    };
    let allowed = asked.allowed;
    let others = MemoryOf::ALL.into_iter().filter(|other| *other != of);
    let needs: Vec<MemoryNeed> = [asked].into_iter().chain(others.filter_map(need)).collect();
    let gpus = own.capacity().map_or(0, |capacity| capacity.gpus);
    // A machine that ran out of memory is too small, whatever others measured.
    let is_larger = |candidate: &Candidate| {
        MemoryOf::ALL.into_iter().all(|of| {
            let too_small = own.capacity().filter(|_| own.forecast.peak(of).ran_out);
            let too_small = too_small.and_then(|capacity| capacity.memory_of(of));
            candidate.capacity.memory_of(of) > too_small || too_small.is_none()
        })
    };
    let candidates: Vec<Candidate> = listed(input).filter(is_larger).collect();
    let memory_of = |candidate: &Candidate| candidate.capacity.memory_of(of);
    let largest = candidates.iter().filter_map(memory_of).max();
    let name = of.words();
    let smallest = verdict::smallest_fit(&needs, input.budget.certainty, gpus, candidates);
    Some(match (smallest, largest) {
        (Some((fit, memory, chance_over)), _) => {
            let fitting = with_count(&InstanceConfiguration::one(fit.kind), count);
            let (chance, each) = (words::bare_chance(chance_over), of_each(of));
            let risk = match allowed.0 < 1.0 {
                true => "over the budget",
                false => "to run out of memory",
            };
            format!("{name} would fit on {fitting} ({memory}{each}): {chance} likely {risk}")
        }
        (None, Some(largest)) => format!(
            "{name} would fit on no listed instance that may be used, of which the largest has {largest}{}",
            of_each(of)
        ),
        (None, None) => format!("no listed instance that may be used has more {name}"),
    })
}

fn lower_bound(of: MemoryOf, own: &Measured, instance: &InstanceConfiguration) -> Option<String> {
    let memory = own.capacity()?.memory_of(of)?;
    own.forecast.peak(of).ran_out.then(|| {
        format!(
            "a canary ran out of {name} on {instance}, so the full run needs more than {memory}{}; how much more is not \
             known, and canaries on an instance with more {name} would show it",
            of_each(of),
            name = of.words(),
        )
    })
}

/// What stands after the size of a memory.
fn of_each(of: MemoryOf) -> &'static str {
    of.pick("", " on each GPU")
}

/// Every instance of the built-in table that the spec allows.
pub(super) fn listed<'a>(input: &'a JobInput<'_>) -> impl Iterator<Item = Candidate> + 'a {
    tables::listed_types()
        .filter_map(|name| name.parse::<InstanceType>().ok())
        .filter(|kind| (input.is_allowed)(kind))
        .filter_map(|kind| {
            let offer = (input.offer_of)(&InstanceConfiguration::one(kind.clone()));
            Some(Candidate {
                capacity: tables::capacity(&kind)?,
                price: offer.price().cloned(),
                kind,
            })
        })
}
