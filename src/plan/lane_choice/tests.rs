use proptest::prelude::*;

use super::*;
use crate::instance::InstanceType;
use crate::plan::lane_plan::LanePlan;
use crate::plan::lanes::MachineQuotas;
use crate::plan::start_up::StartUpMode;

fn nine(instance: &str, usd_per_hour: Option<f64>) -> ConfigurationRuns {
    ConfigurationRuns {
        instance: instance.parse().unwrap(),
        rounds: vec![vec![Seconds(113.0); 9]],
        usd_per_second: usd_per_hour.map(|usd| Usd(usd / 3600.0)),
        parallel: 3,
        waits_for_proof: false,
        can_be_kept: true,
    }
}

fn chosen(
    one: &ConfigurationRuns,
    policy: WarmPoolPolicy,
    limit: f64,
    warm_pool: Option<u32>,
) -> Ways {
    let quotas = move |_: &InstanceType| MachineQuotas {
        training: None,
        warm_pool,
    };
    let start_up = StartUpMode::File.table();
    ways(
        std::slice::from_ref(one),
        policy,
        Usd(limit),
        start_up,
        &quotas,
    )
}

#[test]
fn auto_takes_pools_where_they_shorten_the_check_for_little_money() {
    let cheap = nine("ml.m5.2xlarge", Some(0.461));
    let ways = chosen(&cheap, WarmPoolPolicy::Auto, 5.0, None);
    assert_eq!(ways.no_pool, [None]);
    assert_eq!(ways.chosen.lanes[0].count, 3);
    assert_eq!(ways.chosen.lanes[0].keep_alive, Some(KEEP_ALIVE));
    let order = [
        &ways.chosen,
        &ways.side_by_side,
        &ways.one_lane,
        &ways.one_after_another,
    ];
    let times: Vec<f64> = order.iter().map(|way| way.wall_clock.0).collect();
    assert!(times.is_sorted(), "{times:?}");
    assert_eq!(ways.side_by_side.idle_usd, Some(Usd(0.0)));
}

#[test]
fn auto_takes_none_without_quota_or_price_or_above_a_tenth_of_the_limit() {
    let why = |one: &ConfigurationRuns, limit, quota| {
        let ways = chosen(one, WarmPoolPolicy::Auto, limit, quota);
        assert_eq!(ways.chosen, ways.side_by_side);
        ways.no_pool[0]
    };
    let cheap = nine("ml.m5.2xlarge", Some(0.461));
    assert_eq!(why(&cheap, 5.0, Some(0)), Some(NoPool::NoQuota));
    assert_eq!(
        why(&nine("2x ml.m5.2xlarge", Some(0.9)), 5.0, Some(1)),
        Some(NoPool::NoQuota)
    );
    assert_eq!(
        why(&nine("ml.m5.2xlarge", None), 5.0, None),
        Some(NoPool::NoPrice)
    );
    // Nine gaps and ends of 6 s, and two seconds of lanes that began later, at 63.296 USD/h.
    let dear = why(&nine("ml.p5.48xlarge", Some(63.296)), 5.0, None);
    assert!(
        matches!(dear, Some(NoPool::TooDear(idle, most)) if idle > most && most == Usd(0.5)),
        "{dear:?}"
    );
    let kept = ConfigurationRuns {
        can_be_kept: false,
        ..cheap
    };
    assert_eq!(why(&kept, 5.0, None), Some(NoPool::NotKept));
}

/// One canary has none after it to be warm for.
#[test]
fn a_pool_that_makes_nothing_shorter_is_not_taken() {
    let one = ConfigurationRuns {
        rounds: vec![vec![Seconds(113.0)]],
        ..nine("ml.m5.2xlarge", Some(0.461))
    };
    let ways = chosen(&one, WarmPoolPolicy::Auto, 5.0, None);
    assert_eq!(ways.no_pool, [Some(NoPool::NotShorter)]);
    // Three lanes of one canary each are no longer than cold ones either.
    let three = ConfigurationRuns {
        rounds: vec![vec![Seconds(113.0); 3]],
        ..one
    };
    let ways = chosen(&three, WarmPoolPolicy::Auto, 5.0, None);
    assert_eq!(ways.no_pool, [Some(NoPool::NotShorter)]);
}

/// One canary of a round has the warm machine, and the longest of it has not: a second is gained, between two requests.
#[test]
fn a_pool_that_saves_a_second_is_not_taken() {
    let chain = ConfigurationRuns {
        rounds: vec![
            vec![Seconds(120.0)],
            [180.0, 300.0, 480.0].map(Seconds).to_vec(),
        ],
        ..nine("ml.m5.2xlarge", Some(0.461))
    };
    let with = |policy| chosen(&chain, policy, 5.0, None);
    let ways = with(WarmPoolPolicy::Auto);
    assert_eq!(ways.no_pool, [Some(NoPool::NotShorter)]);
    let pool = with(WarmPoolPolicy::KeepAlive(KEEP_ALIVE)).chosen;
    assert!(pool.wall_clock < ways.chosen.wall_clock);
}

#[test]
fn who_asks_for_a_time_gets_it_and_off_is_off() {
    let dear = nine("ml.p5.48xlarge", Some(63.296));
    let asked = chosen(&dear, WarmPoolPolicy::KeepAlive(Seconds(60.0)), 5.0, None);
    assert_eq!(asked.chosen.lanes[0].keep_alive, Some(Seconds(60.0)));
    let off = chosen(&dear, WarmPoolPolicy::Off, 500.0, None);
    assert_eq!(off.no_pool, [Some(NoPool::Off)]);
    assert_eq!(off.chosen, off.side_by_side);
}

/// With room for two machines in the pools' quota three cold lanes are sooner done than two warm ones.
#[test]
fn a_small_quota_of_pools_does_not_make_a_check_longer() {
    let one = nine("ml.m5.2xlarge", Some(0.461));
    let with = |quota| chosen(&one, WarmPoolPolicy::Auto, 5.0, Some(quota));
    assert_eq!(with(2).no_pool, [Some(NoPool::NotShorter)]);
    assert_eq!(with(3).chosen.lanes[0].count, 3);
}

/// An hour costs 0.461 USD; 5 min of four machines, those of three lanes and one more, 0.154 USD, of 0.2 that `auto` may set aside.
#[test]
fn the_pools_of_the_adaptive_design_share_a_tenth_of_the_limit() {
    let alternative = ConfigurationRuns {
        waits_for_proof: true,
        ..nine("ml.c5.2xlarge", Some(0.461))
    };
    let all = vec![nine("ml.m5.2xlarge", Some(0.461)), alternative];
    let pools = |all: Vec<ConfigurationRuns>| {
        let lanes = LanePlan {
            all,
            policy: WarmPoolPolicy::Auto,
            spend_limit: Usd(2.0),
            left: Usd(2.0),
            start_up: StartUpMode::File.table(),
            is_adaptive: true,
        };
        lanes.pools(&no_quotas).len()
    };
    assert_eq!(pools(all[..1].to_vec()), 1);
    assert_eq!(pools(all), 1);
}

proptest! {
    #[test]
    fn chosen_lanes_are_within_both_quotas(
        machines in 1..4_u32,
        training in 0..12_u32,
        warm_pool in 0..12_u32,
        parallel in 1..6_u32,
        keeps: bool,
        training_seconds in 10.0..2000.0_f64,
    ) {
        let one = ConfigurationRuns {
            instance: format!("{machines}x ml.m5.2xlarge").parse().unwrap(),
            rounds: [1, 2, 6].map(|count| vec![Seconds(training_seconds); count]).to_vec(),
            parallel,
            ..nine("ml.m5.2xlarge", Some(0.461))
        };
        let quotas = |_: &InstanceType| MachineQuotas {
            training: Some(training),
            warm_pool: Some(warm_pool),
        };
        let lanes = LanePlan {
            all: vec![one],
            policy: match keeps {
                true => WarmPoolPolicy::KeepAlive(Seconds(60.0)),
                false => WarmPoolPolicy::Auto,
            },
            spend_limit: Usd(50.0),
            left: Usd(50.0),
            start_up: StartUpMode::FastFile.table(),
            is_adaptive: false,
        };
        let pools = lanes.pools(&quotas);
        for pool in &pools {
            prop_assert!(pool.lanes >= 1 && pool.lanes <= parallel);
            prop_assert!(pool.lanes * machines <= training.min(warm_pool));
        }
        // Who writes a time has a pool wherever there is room for one.
        prop_assert!(!keeps || pools.len() == usize::from(training.min(warm_pool) >= machines));
    }
}
