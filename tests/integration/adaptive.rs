//! The adaptive design: canaries chosen one by one or in rounds, on recorded runs and on real ones.

use serde_json::{Value, json};

use crate::project::{Finished, Project};

/// Eighteen runs each of twenty-eight workloads: three of 1, 2 and 3 %, two of 5 and 10 %, one of 20 and 50 %, three in full.
const RUNS: &str = include_str!("../data/training-runs.csv");

/// A project that replays the recorded runs of `job` at 1.20 USD/h, with `more` at the end of its spec.
fn recorded(job: &str, more: &str) -> Project {
    let spec = format!(
        "\
version: 1
backend: replay
recording: runs.csv
prices: {{local: 1.20 USD/h}}
jobs:
  {job}:
    training: {{command: [python3, train.py], channels: {{train: {{uri: data}}}}}}
    instance: local
{more}"
    );
    Project::empty()
        .file("runs.csv", RUNS)
        .file("canary-gate.yml", &spec)
}

/// A project whose script counts the files it gets, and `more` in the job.
fn real(more: &str) -> Project {
    real_with("{max_runtime: 1m}", more)
}

fn real_with(canary: &str, more: &str) -> Project {
    let spec = Project::SPEC.replace(
        "canary: {design: fixed, max_share: 10000%, fractions: [1%, 2%, 3%], replicates: 2, max_runtime: 1m}",
        &format!("canary: {canary}"),
    );
    Project::empty()
        .file("train.sh", "ls \"$SM_CHANNEL_TRAIN\" | wc -l\n")
        .data("data", 100)
        .file("canary-gate.yml", &format!("{spec}{more}"))
}

/// Runs the gate; returns what it printed, and the percentages of its canaries in the order in which they ran.
fn gate(project: &Project) -> (Finished, Vec<f64>) {
    let measured = "measured.jsonl";
    let finished = project.run(&["run", "--all", "--quiet", "--measurements", measured]);
    let lines = if project.path(measured).exists() {
        project.read(measured)
    } else {
        String::new()
    };
    let percentages = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .map(|run| (run["fraction"].as_f64().unwrap() * 100.0).round())
        .collect();
    (finished, percentages)
}

#[test]
fn a_job_near_its_budget_is_followed_far_out() {
    let project = recorded(
        "svm_rbf",
        "    canary: {max_share: 200%}\n    budget: {time: 10s}\n",
    );
    let (finished, percentages) = gate(&project);
    // From 1 and 10 % a quadratic looks flat; half of the data shows it.
    assert_eq!(percentages[..3], [1.0, 10.0, 50.0]);
    finished
        .ended_with(10)
        .reported("✗ svm_rbf over budget")
        .reported("Time seems to grow faster than the data")
        .reported("the budget is decided as far as canaries can");
}

/// The fewest runs may pass the share. Where the fixed time is most of it, a large third canary costs hardly more than a small
/// one, and shows the growth: the full run took 16 s.
#[test]
fn the_last_of_the_fewest_canaries_is_large_where_that_costs_little() {
    let project = recorded("svm_rbf", "    budget: {time: 10s}\n");
    let (finished, percentages) = gate(&project);
    assert_eq!(percentages, [1.0, 10.0, 50.0]);
    finished.ended_with(10).reported("✗ svm_rbf over budget");
}

#[test]
fn no_canary_beyond_the_fewest_passes_its_share_and_the_report_says_so() {
    let project = made(|share| 5.0 + 500.0 * share, "    budget: {time: 9m}\n");
    let (finished, percentages) = gate(&project);
    assert_eq!(percentages, [1.0, 10.0, 20.0]);
    finished
        .ended_with(0)
        .reported("they would take more than canary.max_share (25%) of the full");
}

#[test]
fn a_job_far_below_its_budget_costs_three_canaries() {
    let project = recorded("iforest", "    budget: {time: 10m}\n");
    let (finished, percentages) = gate(&project);
    assert_eq!(percentages.len(), 3);
    assert!(
        percentages.iter().all(|percent| *percent <= 50.0),
        "{percentages:?}"
    );
    finished.ended_with(0).reported("✓ iforest within budget");
}

/// It shows more of the growth for next to nothing.
#[test]
fn where_canaries_take_seconds_the_third_is_larger_however_far_the_budget_is() {
    for (fixed, third) in [(1.0, 20.0), (60.0, 20.0)] {
        let project = made(
            |share| fixed * (1.0 + 8.0 * share),
            "    budget: {time: 400h}\n",
        );
        let (finished, percentages) = gate(&project);
        assert_eq!(percentages[2..], [third]);
        finished.ended_with(0);
    }
}

/// Ten times as much as two canaries say: the third is smaller than the second. A tenth of it they do not decide.
#[test]
fn where_two_canaries_decide_by_a_factor_of_ten_the_third_is_small() {
    for (limit, is_small, code) in [("20h", false, 0), ("11m", true, 10)] {
        let project = made(
            |share| 20.0 + 7000.0 * share,
            &format!("    canary: {{max_runtime: 24h}}\n    budget: {{time: {limit}}}\n"),
        );
        let (finished, percentages) = gate(&project);
        let is_smaller = percentages[2] < percentages[1];
        assert_eq!(is_smaller, is_small, "{limit}: {percentages:?}");
        finished.ended_with(code);
    }
}

#[test]
fn without_a_budget_the_design_goes_on_until_the_time_is_narrow() {
    let project = recorded("mlp_epochs", "    canary: {max_share: 200%}\n");
    let (finished, percentages) = gate(&project);
    assert!(percentages.contains(&50.0), "{percentages:?}");
    finished
        .ended_with(0)
        .reported("the upper end of the time is at most 1.5 times the lower");
}

/// 0.05 USD are 150 s, of which 120 s are kept for stopping the last canary.
#[test]
fn no_canary_is_started_that_could_pass_the_spend_limit() {
    let project = recorded(
        "xgb_reg",
        "    canary: {spend_limit: 0.05 USD, max_share: 200%}\n    budget: {time: 45s}\n",
    );
    let finished = project.run(&["run", "--all", "--quiet", "--format", "json"]);
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    let spend = &report["jobs"][0]["spend"];
    assert!(spend["canary_seconds"].as_f64().unwrap() <= 30.0, "{spend}");
    assert_eq!(spend["worst_case_usd"], 0.05);
    let notes = report["jobs"][0]["notes"].to_string();
    assert!(notes.contains("canary.spend_limit"), "{notes}");
}

#[test]
fn a_spend_limit_that_pays_for_no_forecast_is_unknown_and_says_so() {
    let project = recorded("xgb_reg", "    canary: {spend_limit: 0.03 USD}\n");
    let (finished, percentages) = gate(&project);
    assert!(percentages.is_empty());
    finished
        .ended_with(14)
        .reported("do not fit into canary.spend_limit (0.030 USD)");
}

/// A run of 21 s is ended after 15 s; a larger one would be too.
#[test]
fn a_first_canary_beyond_the_time_limit_ends_the_design() {
    let project = recorded(
        "mlp_fixed_steps",
        "    canary: {max_runtime: 15s}\n    budget: {time: 1h}\n",
    );
    let (finished, percentages) = gate(&project);
    assert_eq!(percentages, [1.0]);
    finished.ended_with(14).reported("stopped after 15s");
}

/// Runs of `seconds(share)` on every rung, three each.
fn made(seconds: impl Fn(f64) -> f64, more: &str) -> Project {
    let mut table = "workload,fraction_requested,wall_seconds\n".to_owned();
    for percent in [1, 2, 3, 5, 10, 20, 50] {
        let row = format!("made,{percent}%,{}\n", seconds(f64::from(percent) / 100.0));
        table.push_str(&row.repeat(3));
    }
    recorded("made", more).file("runs.csv", &table)
}

/// Half of the data takes longer than a canary may; a fifth shows how long it would take.
#[test]
fn after_a_canary_beyond_the_time_limit_smaller_ones_go_on() {
    let project = made(
        |share| 60.0 + 20_000.0 * share * share,
        "    canary: {max_share: 200%}\n    budget: {time: 3h}\n",
    );
    let (finished, percentages) = gate(&project);
    assert!(percentages.contains(&50.0) && percentages.contains(&20.0));
    finished.ended_with(10).reported("✗ made over budget");
}

/// 13 s may be spent. After 1 % in 0.35 s a tenth seems to fit, and would take 30 s.
#[test]
fn a_second_canary_that_takes_far_longer_than_it_seemed_leaves_room_for_a_forecast() {
    let project = made(
        |share| 0.05 + 3000.0 * share * share,
        "    canary: {spend_limit: 0.0443 USD, max_share: 1000%}\n    budget: {time: 1m}\n",
    );
    let (finished, percentages) = gate(&project);
    assert_eq!(percentages, [1.0, 10.0, 2.0, 1.0]);
    finished
        .ended_with(10)
        .reported("✗ made over budget")
        .reported("Time seems to grow faster than the data");
}

/// Under 25 minutes that every run takes, no canary shows growth; only the owner can say that there is none.
#[test]
fn growth_that_a_large_fixed_cost_hides_is_asked_about_unless_the_owner_knows_it() {
    for (growth, verdict) in [
        ("", "! made may exceed its budget"),
        (", growth: linear", "✓ made within budget"),
        (", growth: none", "✓ made within budget"),
    ] {
        let budget =
            format!("    canary: {{max_runtime: 50m}}\n    budget: {{time: 2h{growth}}}\n");
        let (finished, percentages) = gate(&made(|_| 1500.0, &budget));
        assert!(percentages.len() >= 3);
        let finished = finished.ended_with(0).reported(verdict);
        match growth {
            "" => finished.reported("growth that no canary could show would pass the limit"),
            _ => finished.reported(&format!("`budget.{}` counts", &growth[2..])),
        };
    }
    let growing = "    budget: {time: 3h, growth: none}\n";
    let (finished, _) = gate(&made(|share| 20.0 + 7000.0 * share, growing));
    finished.reported("`budget.growth: none` does not count: the canaries grow faster");
}

#[test]
fn a_recording_with_too_few_sizes_is_refused_before_anything_is_taken() {
    let project = recorded("few", "").file(
        "runs.csv",
        "workload,fraction_requested,wall_seconds\nfew,1%,1\nfew,1%,1\nfew,4%,2\n",
    );
    let (finished, percentages) = gate(&project);
    assert!(percentages.is_empty());
    finished
        .ended_with(1)
        .complained("too few runs of job `few`")
        .complained("2 on 1 of the design's fractions");
}

#[test]
fn a_plan_shows_what_may_be_run_and_spends_nothing() {
    let project = real("");
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("sums · canaries chosen one by one on local")
        .reported("1%  1 of 100 objects")
        .reported("50%  50 of 100 objects");
    assert!(project.recorded("canary").is_empty());
}

#[test]
fn real_canaries_forecast_a_real_run() {
    let canary = "{max_runtime: 1m, max_share: 10000%}";
    let report = real_with(
        canary,
        "    alternatives: [2x local]\n    budget: {time: 1h}\n",
    )
    .run(&["run", "--all", "--quiet", "--format", "json"])
    .ended_with(0)
    .json();
    let forecasts = &report["jobs"][0]["forecasts"];
    assert!(forecasts[0]["estimates"]["time_seconds"].is_object());
    // An alternative is measured after it, by the same design.
    assert_eq!(forecasts[1]["instance"], "2x local");
    assert!(forecasts[1]["estimates"]["time_seconds"].is_object());
    assert!(forecasts[1].get("not_measured").is_none());
}

/// Rounds of 10 ms for each file: the full run does ten of them on 100 files, which takes 10.1 s.
#[test]
fn work_levels_are_taken_in_turn_and_the_full_work_is_forecast() {
    let mut runs = String::new();
    for percent in [1, 2, 3, 5, 10, 20, 50] {
        for rounds in [1, 4] {
            let run = json!({
                "schema_version": 1,
                "job": "rounds",
                "instance": "local",
                "fraction": f64::from(percent) / 100.0,
                "replicate": 0,
                "work": rounds,
                "work_total": 10,
                "outcome": {"kind": "completed"},
                "training_seconds": 0.1 + f64::from(percent * rounds) * 0.01,
            });
            runs.push_str(&format!("{run}\n").repeat(3));
        }
    }
    let project = recorded(
        "rounds",
        "    work: {hyperparameter: rounds, full: 10, canary: [1, 4]}\n    budget: {time: 1h}\n",
    )
    .file("runs.jsonl", &runs);
    let spec = project
        .read("canary-gate.yml")
        .replace("runs.csv", "runs.jsonl")
        .replace("train.py],", "train.py], hyperparameters: {rounds: 10},");
    project.write("canary-gate.yml", &spec);
    let finished = project.run(&["run", "--all", "--quiet", "--format", "json"]);
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    let levels: Vec<f64> = report["jobs"][0]["measurements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["work"].as_f64().unwrap())
        .collect();
    assert_eq!(levels[..3], [1.0, 4.0, 1.0]);
    let time = &report["jobs"][0]["forecasts"][0]["estimates"]["time_seconds"];
    let end = |name: &str| time[name].as_f64().unwrap();
    assert!(end("lower") < 10.1 && 10.1 < end("upper"), "{time}");
}

#[test]
fn a_script_that_fails_is_run_once() {
    let project = real("");
    project.write("train.sh", "echo no such column >&2; exit 3\n");
    let (finished, percentages) = gate(&project);
    assert_eq!(percentages, [1.0]);
    finished.ended_with(13).reported("no such column");
}

#[test]
fn replicates_without_a_design_mean_the_fixed_one() {
    let project = real("");
    let spec = project
        .read("canary-gate.yml")
        .replace("{max_runtime: 1m}", "{replicates: 2, fractions: [1%, 2%]}");
    project.write("canary-gate.yml", &spec);
    project
        .run(&["plan", "--all"])
        .ended_with(0)
        .reported("sums · 4 canaries on local");
}

/// The first run of each size comes before any is repeated; three are made in any case, the rest as far as it is within the share.
#[test]
fn a_fixed_design_keeps_to_its_share_beyond_the_fewest_runs() {
    let canary = |more: &str| {
        format!(
            "    canary: {{fractions: [1%, 2%, 3%], replicates: 3, max_runtime: 5m{more}}}\n    budget: {{time: 1h}}\n"
        )
    };
    let time = |share: f64| 10.0 + 100.0 * share;
    let (finished, percentages) = gate(&made(time, &canary("")));
    assert_eq!(percentages, [1.0, 2.0, 3.0]);
    finished
        .ended_with(0)
        .reported("6 of 9 canaries on local were not run");
    let (_, percentages) = gate(&made(time, &canary(", max_share: 1000%")));
    assert_eq!(percentages.len(), 9);
}

#[test]
fn alternatives_have_shares_of_their_own_and_three_canaries_in_any_case() {
    // Three canaries of the same time are more than any share of one.
    let project = real("    alternatives: [2x local, 3x local]\n    budget: {time: 1h}\n");
    let report = project
        .file("train.sh", "sleep 0.5\n")
        .run(&["run", "--all", "--quiet", "--format", "json"])
        .ended_with(0)
        .json();
    let forecasts = report["jobs"][0]["forecasts"].as_array().unwrap();
    assert_eq!(forecasts.len(), 3);
    for row in forecasts {
        assert!(row.get("not_measured").is_none(), "{row:#}");
    }
}

/// Thirty hours in full: within the time limit of a canary only one and two hundredths fit.
#[test]
fn where_the_time_limit_keeps_canaries_small_the_report_says_so() {
    let project = made(
        |share| 600.0 + 108_000.0 * share,
        "    canary: {spend_limit: 500 USD, max_runtime: 1h}\n    budget: {time: 32h}\n",
    );
    let (finished, percentages) = gate(&project);
    assert!(
        percentages.iter().all(|percent| *percent <= 2.0),
        "{percentages:?}"
    );
    finished
        .ended_with(0)
        .reported("roughly 1d 05h")
        .reported("longer than canary.max_runtime (1h)");
}

/// In a round the second canary starts beside the first, by what is set aside for it.
#[test]
fn with_canary_parallel_the_second_canary_runs_beside_the_first() {
    let (finished, one_by_one) = gate(&recorded("pca_ridge", ""));
    finished.ended_with(0);
    assert_eq!(one_by_one, [1.0, 10.0, 50.0]);
    let (finished, in_rounds) = gate(&recorded("pca_ridge", "    canary: {parallel: 3}\n"));
    finished.ended_with(0);
    assert_eq!(in_rounds, [1.0, 10.0, 50.0]);
}

/// The first two wait until both have begun: they end only side by side.
#[test]
fn the_canaries_of_a_round_run_at_the_same_time() {
    let project = real_with(
        "{parallel: 3, max_runtime: 1m, fractions: [1%, 2%, 5%]}",
        "",
    )
    .file(
        "train.sh",
        "\
files=$(ls \"$SM_CHANNEL_TRAIN\" | wc -l)
meet=MEET
touch \"$meet/$files\"
while [ \"$(ls \"$meet\" | wc -l)\" -lt 2 ]; do sleep 0.05; done
",
    );
    let meet = project.path("meet");
    std::fs::create_dir(&meet).unwrap();
    let script = project
        .read("train.sh")
        .replace("MEET", meet.to_str().unwrap());
    let project = project.file("train.sh", &script);
    let (finished, mut percentages) = gate(&project);
    finished.ended_with(0);
    percentages.sort_by(f64::total_cmp);
    assert_eq!(percentages, [1.0, 2.0, 5.0]);
}
