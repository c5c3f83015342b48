//! **Lanes**: machines side by side, each kept warm from one canary to the next; how long the canaries take on them, and what
//! the machines cost while they wait.
//!
//! Pure. A lane is one warm pool, since a pool serves one job at a time: its first canary starts cold, the others warm. The
//! canaries of a configuration come in rounds, and a round begins when all of the one before have ended. A round of one canary
//! makes one lane, and a round of three makes three.

use std::cmp::{Ordering, Reverse};
use std::collections::{BTreeMap, BinaryHeap};

use super::start_up::StartUp;
use crate::instance::{InstanceConfiguration, InstanceType};
use crate::units::{Seconds, Usd};

/// From the end of a canary to the request for the next one in its pool: half of the 10 to 15 s between two looks at a job. A
/// cold canary needs no such wait, so none is counted for it, and a pool is never shown better than it is.
pub const BETWEEN_CANARIES: Seconds = Seconds(6.0);

/// SageMaker takes one request for a job a second.
const BETWEEN_CREATES: Seconds = Seconds(1.0);

/// The canaries of one configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigurationRuns {
    pub instance: InstanceConfiguration,
    /// The expected time of each canary without its start-up, round by round.
    pub rounds: Vec<Vec<Seconds>>,
    /// Of all its machines; absent without a price.
    pub usd_per_second: Option<Usd>,
    /// The most canaries that may run at once.
    pub parallel: u32,
    /// It begins when the first round of the first configuration has ended, which proves role and image.
    pub waits_for_proof: bool,
    /// SageMaker keeps no instance groups, and no spot capacity.
    pub can_be_kept: bool,
}

/// How many machines of a type the account may use; `None` where it was not asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MachineQuotas {
    pub training: Option<u32>,
    /// 0 where nobody has asked for more.
    pub warm_pool: Option<u32>,
}

/// The quotas of a type, as the caller knows them.
pub type QuotasOf<'a> = &'a dyn Fn(&InstanceType) -> MachineQuotas;

/// How a configuration's canaries are spread.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lanes {
    /// How many canaries run at once; 0 where the quota allows none.
    pub count: u32,
    /// How long a machine is kept for the next canary; `None`: every canary starts cold.
    pub keep_alive: Option<Seconds>,
}

/// What a way to run the canaries takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Schedule {
    /// For each configuration, in the order given.
    pub lanes: Vec<Lanes>,
    /// From the first request to the end of the last canary.
    pub wall_clock: Seconds,
    /// The time that pools wait, summed over lanes.
    pub idle: Seconds,
    /// Its cost; absent where a pool has no price.
    pub idle_usd: Option<Usd>,
}

/// All canaries, one after another, each cold.
pub fn one_after_another(all: &[ConfigurationRuns], start_up: StartUp) -> Schedule {
    let runs = all.iter().flat_map(|one| one.rounds.iter().flatten());
    Schedule {
        lanes: vec![Lanes::cold(1); all.len()],
        wall_clock: runs.map(|run| start_up.cold + *run).sum(),
        idle: Seconds(0.0),
        idle_usd: Some(Usd(0.0)),
    }
}

impl Lanes {
    pub fn cold(count: u32) -> Self {
        Self {
            count,
            keep_alive: None,
        }
    }
}

impl ConfigurationRuns {
    /// The most lanes that it can fill: never more than canaries of a round, nor than the quota has machines for.
    pub fn most_lanes(&self, quota_of: &dyn Fn(&InstanceType) -> Option<u32>) -> u32 {
        let widest = self.rounds.iter().map(Vec::len).max().unwrap_or(0);
        let of_quota = self
            .instance
            .machines_by_type()
            .into_iter()
            .filter_map(|(kind, count)| Some(quota_of(kind)? / count.max(1)));
        let room = of_quota.min().unwrap_or(u32::MAX);
        room.min(self.parallel.max(1))
            .min(u32::try_from(widest).unwrap_or(u32::MAX))
    }
}

/// Runs the canaries on `lanes`, in the order given: each is started where a machine is free first, one request a second in
/// all. Configurations that find no room in the quota wait until another one of the type has ended.
pub fn schedule(
    all: &[ConfigurationRuns],
    lanes: &[Lanes],
    start_up: StartUp,
    quotas_of: QuotasOf<'_>,
) -> Schedule {
    let mut clock = Clock::new(all, lanes, start_up, quotas_of);
    clock.admit(Seconds(0.0));
    while let Some(Reverse(turn)) = clock.turns.pop() {
        clock.take(turn);
    }
    let idle = |state: &LaneState<'_>| state.idle;
    Schedule {
        lanes: clock.states.iter().map(|state| state.lanes).collect(),
        wall_clock: (clock.states.iter())
            .map(|state| state.round_end)
            .fold(Seconds(0.0), later),
        idle: clock.states.iter().map(idle).sum(),
        idle_usd: (clock.states.iter())
            .map(|state| match state.idle.0 > 0.0 {
                true => Some(Usd(state.runs.usd_per_second?.0 * state.idle.0)),
                false => Some(Usd(0.0)),
            })
            .sum(),
    }
}

/// When a lane of a configuration is free; the earliest first.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LaneTurn {
    at: Seconds,
    configuration: usize,
    lane: usize,
    /// The canary of the round that it takes; `None`: the next one.
    first: Option<usize>,
}

impl Eq for LaneTurn {}

impl Ord for LaneTurn {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |turn: &Self| (turn.configuration, turn.lane);
        (self.at.0.total_cmp(&other.at.0)).then_with(|| place(self).cmp(&place(other)))
    }
}

impl PartialOrd for LaneTurn {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// How far the canaries of a configuration are.
struct LaneState<'a> {
    runs: &'a ConfigurationRuns,
    lanes: Lanes,
    is_admitted: bool,
    round: usize,
    /// Of the round, those that lanes have or will have first too.
    started: usize,
    /// Lanes that may still take a canary of the round.
    at_work: usize,
    /// When the last canary of each lane ended; rounds fill the first lanes first, so that those are warm which were used.
    ends: Vec<Seconds>,
    /// When the last canary so far ends.
    round_end: Seconds,
    idle: Seconds,
}

struct Clock<'a> {
    states: Vec<LaneState<'a>>,
    start_up: StartUp,
    /// Machines that nobody holds; types of unknown quota are not in it.
    free: BTreeMap<&'a InstanceType, u32>,
    turns: BinaryHeap<Reverse<LaneTurn>>,
    next_create: Seconds,
    is_proven: bool,
}

impl<'a> Clock<'a> {
    fn new(
        all: &'a [ConfigurationRuns],
        lanes: &[Lanes],
        start_up: StartUp,
        quotas_of: QuotasOf<'_>,
    ) -> Self {
        let kinds = all
            .iter()
            .flat_map(|one| one.instance.machines_by_type().into_keys());
        let free: BTreeMap<&InstanceType, u32> = kinds
            .filter_map(|kind| Some((kind, quotas_of(kind).training?)))
            .collect();
        let state = |(runs, lanes): (&'a ConfigurationRuns, &Lanes)| LaneState {
            runs,
            lanes: Lanes {
                count: lanes
                    .count
                    .min(runs.most_lanes(&|kind| quotas_of(kind).training)),
                ..*lanes
            },
            is_admitted: false,
            round: 0,
            started: 0,
            at_work: 0,
            ends: Vec::new(),
            round_end: Seconds(0.0),
            idle: Seconds(0.0),
        };
        Self {
            states: all.iter().zip(lanes).map(state).collect(),
            start_up,
            free,
            turns: BinaryHeap::new(),
            next_create: Seconds(0.0),
            is_proven: false,
        }
    }

    /// Lets in who waits and finds room; with fewer lanes where there is not enough for all.
    fn admit(&mut self, now: Seconds) {
        for index in 0..self.states.len() {
            let state = &mut self.states[index];
            let must_wait = state.runs.waits_for_proof && index > 0 && !self.is_proven;
            if state.is_admitted || must_wait || state.lanes.count == 0 {
                continue;
            }
            let machines = state.runs.instance.machines_by_type();
            let room = machines
                .iter()
                .filter_map(|(kind, count)| Some(*self.free.get(kind)? / *count.max(&1)));
            let lanes = room.min().unwrap_or(u32::MAX).min(state.lanes.count);
            if lanes == 0 {
                continue;
            }
            state.lanes.count = lanes;
            state.is_admitted = true;
            for (kind, count) in machines {
                if let Some(free) = self.free.get_mut(kind) {
                    *free -= lanes * count;
                }
            }
            self.begin_round(index, now);
        }
    }

    /// Gives the canaries of the round to as many lanes as it has canaries: those that are warm get the first ones, since these are
    /// asked for first, though their machines come later.
    fn begin_round(&mut self, index: usize, now: Seconds) {
        let state = &mut self.states[index];
        let width = state.runs.rounds.get(state.round).map_or(0, Vec::len);
        state.at_work = width.min(state.lanes.count as usize);
        state.started = state.at_work;
        for lane in 0..state.at_work {
            let at = match (state.ends.get(lane), state.lanes.keep_alive) {
                (Some(end), Some(_)) => later(now, *end + BETWEEN_CANARIES),
                _ => now,
            };
            self.turns.push(Reverse(LaneTurn {
                at,
                configuration: index,
                lane,
                first: Some(lane),
            }));
        }
        if state.at_work == 0 {
            self.end_round(index);
        }
    }

    /// A lane is free: it takes the next canary of the round, or is done with the round.
    fn take(&mut self, turn: LaneTurn) {
        let state = &mut self.states[turn.configuration];
        let place = turn.first.unwrap_or(state.started);
        let Some(run) = state.runs.rounds[state.round].get(place).copied() else {
            state.at_work -= 1;
            if state.at_work == 0 {
                self.end_round(turn.configuration);
            }
            return;
        };
        if turn.first.is_none() {
            state.started += 1;
        }
        let created = later(turn.at, self.next_create);
        self.next_create = created + BETWEEN_CREATES;
        let mut start_up = self.start_up.cold;
        if let (Some(end), Some(keep_alive)) = (state.ends.get(turn.lane), state.lanes.keep_alive) {
            let waited = created - *end;
            state.idle = state.idle + sooner(waited, keep_alive);
            if waited <= keep_alive {
                start_up = self.start_up.warm;
            }
        }
        let end = created + start_up + run;
        match state.ends.get_mut(turn.lane) {
            Some(known) => *known = end,
            // Lanes take their first canary in their order, since they wait for it from the same moment.
            None => state.ends.push(end),
        }
        state.round_end = later(state.round_end, end);
        let gap = match state.lanes.keep_alive {
            Some(_) => BETWEEN_CANARIES,
            None => Seconds(0.0),
        };
        self.turns.push(Reverse(LaneTurn {
            at: end + gap,
            first: None,
            ..turn
        }));
    }

    fn end_round(&mut self, index: usize) {
        let state = &mut self.states[index];
        let end = state.round_end;
        let mut freed = end;
        state.round += 1;
        let is_over = state.round >= state.runs.rounds.len();
        if is_over {
            // All pools of a configuration are ended with its last canary.
            if let Some(keep_alive) = state.lanes.keep_alive {
                let tails = (state.ends.iter())
                    .map(|own| sooner(end - *own + BETWEEN_CANARIES, keep_alive));
                state.idle = state.idle + tails.sum();
                freed = end + BETWEEN_CANARIES;
            }
            for (kind, count) in state.runs.instance.machines_by_type() {
                if let Some(free) = self.free.get_mut(kind) {
                    *free += state.lanes.count * count;
                }
            }
        } else {
            self.begin_round(index, end);
        }
        if index == 0 && !self.is_proven {
            self.is_proven = true;
            self.admit(end);
        }
        if is_over {
            self.admit(freed);
        }
    }
}

fn later(one: Seconds, other: Seconds) -> Seconds {
    Seconds(one.0.max(other.0))
}

fn sooner(one: Seconds, other: Seconds) -> Seconds {
    Seconds(one.0.min(other.0))
}

#[cfg(test)]
mod tests;
