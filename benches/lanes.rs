//! What it takes to plan 1,000 canaries over 50 configurations: four ways, and the choice of pools.
//!
//! `cargo bench --bench lanes`. The aim: 20 ms, 20 MB. It asserts nothing.

#![expect(
    clippy::disallowed_methods,
    reason = "a bench reads the clock and its own memory"
)]

use std::fs;
use std::time::Instant;

use canary_gate::plan::{ConfigurationRuns, MachineQuotas, StartUpMode, ways};
use canary_gate::spec::WarmPoolPolicy;
use canary_gate::units::{Seconds, Usd};

const CONFIGURATIONS: u32 = 50;
const CANARIES: u32 = 20;
const TIMES: u32 = 5;

fn main() {
    let configuration = |index: u32| ConfigurationRuns {
        instance: format!("{}x ml.m5.2xlarge", index % 5 + 1)
            .parse()
            .expect("it is a configuration"),
        rounds: vec![
            vec![Seconds(100.0)],
            (1..CANARIES)
                .map(|run| Seconds(f64::from(60 + (run * 37 + index * 11) % 240)))
                .collect(),
        ],
        usd_per_second: Some(Usd(0.461 / 3600.0)),
        parallel: 10,
        waits_for_proof: index > 0,
        can_be_kept: true,
    };
    let all: Vec<ConfigurationRuns> = (0..CONFIGURATIONS).map(configuration).collect();
    let start_up = StartUpMode::FastFile.table();
    for training in [None, Some(100)] {
        let quotas = |_: &_| MachineQuotas {
            training,
            warm_pool: training,
        };
        for _ in 0..TIMES {
            let began = Instant::now();
            let ways = ways(&all, WarmPoolPolicy::Auto, Usd(100.0), start_up, &quotas);
            let took = began.elapsed().as_secs_f64();
            println!(
                "{} canaries, {CONFIGURATIONS} configurations, quota {training:?}: {:.1} ms; {} cold one after another, {} as chosen",
                CONFIGURATIONS * CANARIES,
                took * 1e3,
                ways.one_after_another.wall_clock,
                ways.chosen.wall_clock
            );
        }
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    println!("{}", peak.unwrap_or("no peak memory is known here"));
}
