use proptest::prelude::*;

use super::*;
use crate::plan::start_up::StartUpMode;
use crate::units::count_as_float;

const FILE: StartUp = StartUp {
    cold: Seconds(176.0),
    warm: Seconds(70.0),
};

fn no_quota(_: &InstanceType) -> MachineQuotas {
    MachineQuotas::default()
}

fn runs(instance: &str, rounds: &[&[f64]]) -> ConfigurationRuns {
    let round = |round: &&[f64]| round.iter().copied().map(Seconds).collect();
    ConfigurationRuns {
        instance: instance.parse().unwrap(),
        rounds: rounds.iter().map(round).collect(),
        usd_per_second: Some(Usd(0.0001)),
        parallel: 20,
        waits_for_proof: false,
        can_be_kept: true,
    }
}

fn warm(count: u32) -> Lanes {
    Lanes {
        count,
        keep_alive: Some(Seconds(300.0)),
    }
}

fn alone(one: &ConfigurationRuns, lanes: Lanes) -> Schedule {
    schedule(std::slice::from_ref(one), &[lanes], FILE, &no_quota)
}

#[test]
fn one_lane_of_equal_canaries_is_one_cold_start_and_warm_ones() {
    for n in 1..12_u32 {
        let times = vec![113.0; n as usize];
        let n = f64::from(n);
        let one = alone(&runs("ml.m5.xlarge", &[&times]), warm(1));
        let gaps = (n - 1.0) * BETWEEN_CANARIES.0;
        assert_eq!(
            one.wall_clock,
            Seconds(176.0 + (n - 1.0) * 70.0 + n * 113.0 + gaps)
        );
        // The gaps, and as much again until the pool is ended.
        assert_eq!(one.idle, Seconds(n * BETWEEN_CANARIES.0));
        assert_eq!(one.idle_usd, Some(Usd(one.idle.0 * 0.0001)));
    }
}

/// A round of one canary after another, as the adaptive design decides, is the same lane.
#[test]
fn rounds_of_one_are_one_lane() {
    let chain: [&[f64]; 4] = [&[113.0], &[113.0], &[113.0], &[113.0]];
    let one = runs("ml.m5.xlarge", &chain);
    assert_eq!(one.most_lanes(&|_| None), 1);
    let whole = runs("ml.m5.xlarge", &[&[113.0; 4]]);
    let (rounds, whole) = (alone(&one, warm(3)), alone(&whole, warm(1)));
    assert_eq!(rounds, whole);
}

/// Three canaries a round: the first round is cold in each lane, the second is warm and waits for the longest.
#[test]
fn a_round_makes_as_many_lanes_as_it_has_canaries() {
    let one = runs("ml.m5.xlarge", &[&[100.0, 50.0, 60.0], &[10.0, 10.0, 10.0]]);
    let three = alone(&one, warm(3));
    assert_eq!(three.lanes[0].count, 3);
    // Lane 1 ends at 276 and begins again at 282; the others begin again at 276 and 277.
    assert_eq!(three.wall_clock, Seconds(282.0 + 70.0 + 10.0));
    // Between: 6; 276 - 227 = 49; 277 - 238 = 39. At the end, at 362: 0, 6 and 5 s until then, and 6 each.
    assert_eq!(three.idle, Seconds(6.0 + 49.0 + 39.0 + 6.0 + 5.0 + 18.0));
}

/// The gate asks for the canaries of a round in their order, and the first of them gets the machine that is warm.
#[test]
fn the_first_canary_of_a_round_has_the_warm_lane() {
    let one = runs("ml.m5.xlarge", &[&[120.0], &[180.0, 300.0, 480.0]]);
    let (warm, cold) = (alone(&one, warm(3)), alone(&one, Lanes::cold(3)));
    // The longest is the third request after 176 + 120 s; the first two leave a second before it, or the warm one later.
    assert_eq!(cold.wall_clock, Seconds(296.0 + 2.0 + 176.0 + 480.0));
    assert_eq!(warm.wall_clock, Seconds(296.0 + 1.0 + 176.0 + 480.0));
}

/// The pool is gone when the round before took longer than its machines are kept.
#[test]
fn a_lane_that_waits_longer_than_it_is_kept_starts_cold() {
    let one = runs("ml.m5.xlarge", &[&[1000.0, 10.0], &[10.0, 10.0]]);
    let two = alone(&one, warm(2));
    // The second lane ended at 187, was kept for 300 s, and is cold at 1176.
    assert_eq!(two.wall_clock, Seconds(1176.0 + 176.0 + 10.0));
    let first = 6.0 + (1362.0 - 1262.0 + 6.0);
    assert_eq!(two.idle, Seconds(first + 300.0 + 6.0));
}

#[test]
fn requests_leave_one_a_second_over_all_configurations() {
    let configuration = |index: u32| runs(&format!("{}x ml.m5.xlarge", index + 1), &[&[100.0]]);
    let all: Vec<ConfigurationRuns> = (0..5).map(configuration).collect();
    let five = schedule(&all, &[Lanes::cold(1); 5], FILE, &no_quota);
    assert_eq!(five.wall_clock, Seconds(276.0 + 4.0));
    assert_eq!(five.idle_usd, Some(Usd(0.0)));
}

#[test]
fn alternatives_wait_for_the_first_canary_and_for_room_in_the_quota() {
    let first = runs("ml.m5.xlarge", &[&[100.0], &[100.0]]);
    let alternative = ConfigurationRuns {
        waits_for_proof: true,
        ..runs("ml.m5.xlarge", &[&[10.0]])
    };
    let all = [first, alternative];
    let with = |training| {
        let quota = move |_: &InstanceType| MachineQuotas {
            training,
            warm_pool: None,
        };
        schedule(&all, &[Lanes::cold(1); 2], FILE, &quota).wall_clock
    };
    assert_eq!(with(None), Seconds(552.0));
    assert_eq!(with(Some(2)), Seconds(552.0));
    assert_eq!(with(Some(1)), Seconds(552.0 + 186.0));
    // No machine of the type at all.
    assert_eq!(with(Some(0)), Seconds(0.0));
}

/// All ways to give runs to lanes, in the best order.
fn shortest(times: &[f64], lanes: usize, start_up: StartUp) -> f64 {
    fn place(times: &[f64], ends: &mut Vec<f64>, gap: f64, offset: f64, best: &mut f64) {
        let Some((first, rest)) = times.split_first() else {
            let used = ends.iter().filter(|end| **end > 0.0);
            *best = used
                .fold(0.0_f64, |most, end| most.max(end + offset))
                .min(*best);
            return;
        };
        for lane in 0..ends.len() {
            ends[lane] += first + gap;
            place(rest, ends, gap, offset, best);
            ends[lane] -= first + gap;
        }
    }
    let gap = start_up.warm.0 + BETWEEN_CANARIES.0;
    let mut best = f64::INFINITY;
    place(
        times,
        &mut vec![0.0; lanes],
        gap,
        start_up.cold.0 - gap,
        &mut best,
    );
    best
}

proptest! {
    /// Graham 1966: a list in any order takes at most 2 - 1/m of the best; Graham 1969: the longest first at most 4/3 - 1/3m.
    /// Here each lane begins one cold start later, which makes no ratio larger. Requests that wait for one another are extra.
    #[test]
    fn lanes_are_as_good_as_lists_are(
        mut times in prop::collection::vec(1.0..500.0_f64, 1..7),
        lanes in 1..4_u32,
    ) {
        let m = f64::from(lanes.min(u32::try_from(times.len()).unwrap()));
        let best = shortest(&times, lanes as usize, FILE);
        let waits = count_as_float(times.len());
        let in_order = alone(&runs("ml.m5.xlarge", &[&times]), warm(lanes)).wall_clock.0;
        prop_assert!(in_order >= best - 1e-6);
        prop_assert!(in_order <= best * (2.0 - 1.0 / m) + waits, "{in_order} {best}");
        times.sort_by(|a, b| b.total_cmp(a));
        let longest_first = alone(&runs("ml.m5.xlarge", &[&times]), warm(lanes)).wall_clock.0;
        prop_assert!(longest_first <= best * (4.0 / 3.0 - 1.0 / (3.0 * m)) + waits);
    }

    #[test]
    fn lanes_keep_within_quota_and_rounds_and_are_never_slower_than_one_after_another(
        rounds in prop::collection::vec(prop::collection::vec(1.0..2000.0_f64, 1..6), 1..4),
        count in 1..8_u32,
        machines in 1..4_u32,
        quota in 0..12_u32,
    ) {
        let rounds: Vec<&[f64]> = rounds.iter().map(Vec::as_slice).collect();
        let one = runs(&format!("{machines}x ml.m5.xlarge"), &rounds);
        let quota_of = |_: &InstanceType| MachineQuotas { training: Some(quota), warm_pool: None };
        let all = [one.clone(), one.clone()];
        let both = schedule(&all, &[warm(count), Lanes::cold(count)], FILE, &quota_of);
        let widest = rounds.iter().map(|round| round.len()).max().unwrap();
        for lanes in &both.lanes {
            prop_assert!(lanes.count * machines <= quota);
            prop_assert!(lanes.count as usize <= widest);
        }
        if quota >= machines {
            // A request may wait a second for one of another configuration.
            let waits = 2.0 * rounds.iter().map(|round| count_as_float(round.len())).sum::<f64>();
            let cold = one_after_another(&all, FILE).wall_clock;
            prop_assert!(both.wall_clock.0 <= cold.0 + waits + BETWEEN_CANARIES.0);
            prop_assert!(both.wall_clock > Seconds(0.0));
        }
        let single = alone(&one, warm(count)).wall_clock;
        let cold = one_after_another(std::slice::from_ref(&one), FILE).wall_clock;
        prop_assert!(single.0 <= cold.0 + 1e-6, "{single} {cold}");
    }
}

/// The seed's nine canaries of 113 s in three lanes, by input mode.
#[test]
fn nine_canaries_of_the_seed_take_a_quarter_of_one_after_another() {
    let modes = [
        (StartUpMode::File, 2601.0),
        (StartUpMode::FastFile, 2304.0),
        (StartUpMode::FileSystem, 2241.0),
    ];
    for (mode, stated) in modes {
        let start_up = mode.table();
        let nine = [runs("ml.m5.2xlarge", &[&[113.0; 9]])];
        let in_lanes = |lanes| schedule(&nine, &[lanes], start_up, &no_quota).wall_clock.0;
        let sequence = one_after_another(&nine, start_up).wall_clock.0;
        assert_eq!(sequence, stated);
        let (warm, cold) = (in_lanes(warm(3)), in_lanes(Lanes::cold(3)));
        // The third lane's first request leaves 2 s after the first one's.
        let closed = start_up.cold.0 + 2.0 * (start_up.warm.0 + BETWEEN_CANARIES.0) + 339.0 + 2.0;
        assert_eq!(warm, closed, "{mode:?}");
        assert_eq!(cold, 3.0 * (start_up.cold.0 + 113.0) + 2.0);
        assert!(warm <= 0.26 * sequence, "{mode:?}: {warm}");
        assert!(warm <= 0.77 * cold, "{mode:?}: {warm} {cold}");
    }
}

/// Four canaries that the adaptive design chose, against each cold and after up to 180 s for the late metrics of the one before.
#[test]
fn an_adaptive_chain_of_four_takes_two_thirds_in_a_lane() {
    let limits = [(StartUpMode::File, 0.75), (StartUpMode::FastFile, 0.65)];
    for (mode, limit) in limits {
        let start_up = mode.table();
        let chain = [runs(
            "ml.m5.2xlarge",
            &[&[113.0], &[113.0], &[113.0], &[113.0]],
        )];
        let lane = schedule(&chain, &[warm(1)], start_up, &no_quota)
            .wall_clock
            .0;
        let closed = start_up.cold.0 + 3.0 * (start_up.warm.0 + BETWEEN_CANARIES.0) + 4.0 * 113.0;
        assert_eq!(lane, closed);
        let metrics = 180.0;
        let sequence = one_after_another(&chain, start_up).wall_clock.0 + 4.0 * metrics;
        assert!(lane + metrics <= limit * sequence, "{mode:?}");
    }
}
