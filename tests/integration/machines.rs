//! The tables of `docs/machines.md` and the README about lanes are what the planner computes.

use canary_gate::instance::tables;
use canary_gate::plan::{ConfigurationRuns, MachineQuotas, Schedule, StartUpMode, Ways, ways};
use canary_gate::spec::WarmPoolPolicy;
use canary_gate::units::{Seconds, Usd};

/// The canaries, round by round, on machines of us-east-1, in four ways.
fn ways_of(instance: &str, mode: StartUpMode, rounds: Vec<Vec<Seconds>>) -> (Ways, f64) {
    let price = tables::price(&instance.parse().unwrap(), "us-east-1").unwrap();
    let a_second = price.usd_per_hour.cost(Seconds(1.0), 1);
    let one = ConfigurationRuns {
        instance: instance.parse().unwrap(),
        rounds,
        usd_per_second: Some(a_second),
        parallel: 3,
        waits_for_proof: false,
        can_be_kept: true,
    };
    let quotas = |_: &_| MachineQuotas::default();
    let policy = WarmPoolPolicy::Auto;
    let ways = ways(&[one], policy, Usd(5.0), mode.table(), &quotas);
    (ways, a_second.0)
}

fn minutes(way: &Schedule) -> String {
    format!("{:.1} min", way.wall_clock.0 / 60.0)
}

fn idle(way: &Schedule) -> String {
    format!("{:.0} s, {:.4} USD", way.idle.0, way.idle_usd.unwrap().0)
}

fn assert_in(file: &str, rows: &[String]) {
    let path = format!("{}/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let missing: Vec<&String> = rows.iter().filter(|row| !text.contains(*row)).collect();
    assert!(missing.is_empty(), "{file} lacks:\n{missing:#?}");
}

/// Nine canaries of 113 s on ml.m5.2xlarge, three at a time: all at once, and as the gate runs them, the first alone.
#[test]
fn the_seed_s_nine_canaries_by_input_mode() {
    let modes = [
        StartUpMode::File,
        StartUpMode::FastFile,
        StartUpMode::FileSystem,
    ];
    let row = |mode: StartUpMode| {
        let canaries = |count| vec![Seconds(113.0); count];
        let (at_once, _) = ways_of("ml.m5.2xlarge", mode, vec![canaries(9)]);
        let (proven, _) = ways_of("ml.m5.2xlarge", mode, vec![canaries(1), canaries(8)]);
        let times = [
            minutes(&at_once.one_after_another),
            minutes(&at_once.side_by_side),
            format!(
                "{} ({})",
                minutes(&at_once.one_lane),
                idle(&at_once.one_lane)
            ),
            format!("{} ({})", minutes(&at_once.chosen), idle(&at_once.chosen)),
            format!("{} ({})", minutes(&proven.chosen), idle(&proven.chosen)),
        ];
        format!("| {} | {} |", mode.words(), times.join(" | "))
    };
    assert_in("docs/machines.md", &modes.map(row));
}

/// Four canaries of 2, 3, 5 and 8 minutes, one after another, as the adaptive design chooses them.
#[test]
fn what_a_pull_request_check_takes() {
    let jobs = [
        ("ml.m5.2xlarge", StartUpMode::File),
        ("ml.g5.xlarge", StartUpMode::FastFile),
        ("ml.g5.12xlarge", StartUpMode::FileSystem),
    ];
    let row = |(instance, mode): (&str, StartUpMode)| {
        let times = [120.0, 180.0, 300.0, 480.0];
        let chain = times.map(|time| vec![Seconds(time)]).to_vec();
        let (ways, a_second) = ways_of(instance, mode, chain);
        let usd = times.iter().sum::<f64>() * a_second;
        let pools = ways.chosen.idle_usd.unwrap().0;
        format!(
            "| `{instance}`, {} | {} | {:.2} USD | {} | {:.2} USD |",
            mode.words(),
            minutes(&ways.one_after_another),
            usd,
            minutes(&ways.chosen),
            usd + pools
        )
    };
    assert_in("README.md", &jobs.map(row));
}
