//! The peak of memory: what a job's length and the sources of its figures make of a budget's line.

use serde_json::{Value, json};

use super::{JSON, edit, project};
use crate::aws::{FakeAws, Job, Logs, Metrics, Timeline};
use crate::project::{Finished, Project};

/// How long a full run trains, in seconds: from ten seconds to eight hours.
const FULL_RUNS: [f64; 14] = [
    10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1200.0, 1800.0, 3600.0, 7200.0, 10_800.0,
    18_000.0, 28_800.0,
];

/// Who sees the memory of a canary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    Probe,
    Debugger,
    /// One point a minute, and none of a run that is shorter than two.
    CloudWatch,
}

/// A job of this length whose memory this source alone knows. A canary's peak is `base` percent and, with all of the data,
/// `growth` more.
fn job(full_run: f64, source: Source, [base, growth]: [f64; 2]) -> (Project, FakeAws) {
    let (project, aws) = project("{max_share: 200%}");
    let spec = project.read("canary-gate.yml");
    let budget = ["{time: 2h, cost: 5 USD, ", "{time: 12h, cost: 50 USD, "];
    let mut spec = spec.replace(budget[0], budget[1]);
    if source == Source::Debugger {
        spec = spec.replace("      output:", "      profiler: true\n      output:");
    }
    project.write("canary-gate.yml", &spec);
    let peak = move |job: &Job| base + growth * share(job);
    aws.train(move |job| {
        // A run's time varies by some percent.
        let noise = [1.0, 1.03, 0.98, 1.01, 0.97][job.number() % 5];
        Timeline::completed()
            .downloading(2.0 + 20.0 * share(job))
            .training((1.0 + full_run * share(job)) * noise)
            .uploading(1.0)
    });
    aws.metrics(Metrics::of(move |point| {
        let trained = 1.0 + full_run * share(point.job);
        let is_seen = source == Source::CloudWatch && trained >= 120.0;
        match point.metric {
            // A minute's point lies anywhere between nothing and the peak.
            "MemoryUtilization" if is_seen => {
                let seen = [0.6, 0.3, 0.9, 0.5][(point.minute + point.job.number()) % 4];
                Some(peak(point.job) * seen)
            }
            "CPUUtilization" if trained >= 60.0 => Some(200.0),
            _ => None,
        }
    }));
    if source == Source::Debugger {
        aws.profiles(move |job| Some(profile(peak(job))));
    }
    aws.logs(Logs::of_probe(peak));
    (project, aws)
}

/// Of the sampled data that a canary holds.
fn share(job: &Job) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "some thousand bytes")]
    let [bytes, all] = [job.bytes() as f64, 29_861.0];
    bytes / all
}

/// What Debugger writes of a machine that used this much of its memory.
fn profile(percent: f64) -> String {
    let line = |second: u32| json!({"Type": "memory", "Name": "MemoryUsedPercent", "Dimension": "Memory", "Value": percent, "Timestamp": second});
    (0..5).map(|second| format!("{}\n", line(second))).collect()
}

/// Runs the gate with a program that may be sent as the probe, or with one that may not.
fn check(project: &Project, aws: &FakeAws, source: Source, arguments: &[&str]) -> Finished {
    project.run_with(arguments, |command| {
        match source {
            Source::Probe => aws.reach(command),
            _ => aws.reach_without_probe(command),
        }
        command.env("CANARY_GATE_PACE", "0");
    })
}

fn memory_line(report: &Value) -> Value {
    let lines = report["jobs"][0]["forecasts"][0]["budget"].as_array();
    let mut lines = lines.unwrap().iter();
    let found = lines.find(|line| line["line"] == "memory" && line["limit"] == 90.0);
    found.unwrap().clone()
}

/// GetLogEvents may return an empty page before others: only a token that repeats ends a log.
#[test]
fn a_log_whose_first_page_is_empty_is_read_on() {
    let (project, aws) = job(600.0, Source::Probe, [7.0, 40.0]);
    aws.logs(Logs::of_probe(|_| 30.0).with_an_empty_page());
    let arguments = ["run", "--all", "--format", "json"];
    let report = check(&project, &aws, Source::Probe, &arguments).json();
    assert_eq!(memory_line(&report)["verdict"], "within", "{report:#}");
}

/// The README's budget, `memory: 90%`, on runs without a fault. A row for each length of the full run.
fn table(source: Source) -> Vec<(f64, i32, String)> {
    println!("{:>9}  {:<10}  exit  memory", "full run", "source");
    let row = |full_run: f64| {
        let (project, aws) = job(full_run, source, [7.0, 40.0]);
        let run = check(&project, &aws, source, JSON);
        let report = run.json();
        let verdict = memory_line(&report)["verdict"].as_str().unwrap().to_owned();
        let canaries: Vec<String> = aws
            .jobs()
            .iter()
            .map(|job| format!("{:.0}%", 100.0 * share(job)))
            .collect();
        println!(
            "{full_run:>8}s  {:<10}  {:>4}  {verdict:<8}  {:<22} {}",
            format!("{source:?}"),
            run.code,
            canaries.join(" "),
            report["jobs"][0]["reason"].as_str().unwrap(),
        );
        (full_run, run.code, verdict)
    };
    FULL_RUNS.into_iter().map(row).collect()
}

fn all_within(source: Source) {
    for (full_run, code, verdict) in table(source) {
        assert_eq!((code, verdict.as_str()), (0, "within"), "{full_run}s");
    }
}

#[test]
fn memory_that_the_probe_measures_is_judged_however_short_the_job_is() {
    all_within(Source::Probe);
}

#[test]
fn memory_that_debugger_measures_is_judged_however_short_the_job_is() {
    all_within(Source::Debugger);
}

/// What no source could measure is at risk, and neither within nor unknown: tomorrow it would be the same.
#[test]
fn memory_that_only_cloudwatch_sees_is_at_risk_however_short_the_job_is() {
    for (full_run, code, verdict) in table(Source::CloudWatch) {
        assert_eq!((code, verdict.as_str()), (0, "at_risk"), "{full_run}s");
    }
}

fn report_of(full_run: f64, source: Source, memory: [f64; 2]) -> (Finished, Value, FakeAws) {
    let (project, aws) = job(full_run, source, memory);
    let run = check(&project, &aws, source, JSON);
    let report = run.json();
    (run, report, aws)
}

#[test]
fn what_a_lower_bound_shows_to_be_exceeded_is_exceeded() {
    // At 90 % of the peak, as CloudWatch sees it here, still more than all of the limit.
    let (run, report, _) = report_of(3600.0, Source::CloudWatch, [10.0, 180.0]);
    assert_eq!(
        memory_line(&report)["verdict"],
        "exceeded",
        "{}",
        run.seen()
    );
    assert_eq!(run.code, 10);
}

#[test]
fn a_canary_that_used_more_than_the_limit_settles_it_without_a_law() {
    // Only the largest canary, of five minutes, is seen at all.
    let (run, report, _) = report_of(400.0, Source::CloudWatch, [95.0, 10.0]);
    assert_eq!(run.code, 10, "{}", run.seen());
    let reason = report["jobs"][0]["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("a canary already used 90% of the memory"),
        "{reason}"
    );
}

#[test]
fn the_highest_memory_seen_is_shown_where_there_is_no_law() {
    let (project, aws) = job(400.0, Source::CloudWatch, [70.0, 10.0]);
    let run = check(&project, &aws, Source::CloudWatch, &["run", "--all"]).ended_with(0);
    assert!(run.stdout.contains("≥ 68%"), "{}", run.seen());
    assert!(
        run.stdout
            .contains("memory may exceed 90%: at least 68% (highest canary)"),
        "{}",
        run.seen()
    );
    let headline = "the canaries ran without the probe: this program is not a 64-bit Linux program";
    let seen = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(seen.contains(headline), "{}", run.seen());
}

#[test]
fn every_reading_is_kept_and_one_source_is_forecast() {
    let (project, aws) = job(7200.0, Source::Probe, [7.0, 40.0]);
    edit(
        &project,
        &[("      output:", "      profiler: true\n      output:")],
    );
    aws.profiles(|_| Some(profile(55.0)));
    let run = check(&project, &aws, Source::Probe, JSON).ended_with(0);
    let report = run.json();
    // CloudWatch is not even asked where every host has its report.
    for canary in report["jobs"][0]["measurements"].as_array().unwrap() {
        let memory = &canary["usage"]["memory"];
        assert_eq!(
            memory["source"],
            "probe in the container, cgroup v2 memory.stat"
        );
        let other = &canary["usage"]["other_memory"];
        assert_eq!(
            (&other[0]["source"], &other[0]["percent"]),
            (&json!("Debugger"), &json!(55.0))
        );
    }
}

/// Without the implicit line, as memory at most 100 % of the machine, a job would end as at risk for what nobody asked.
#[test]
fn a_lower_bound_of_memory_concerns_nobody_who_wrote_no_line() {
    let (project, aws) = job(3600.0, Source::CloudWatch, [7.0, 40.0]);
    edit(&project, &[(", memory: 90%", "")]);
    let run = check(&project, &aws, Source::CloudWatch, JSON).ended_with(0);
    assert_eq!(run.json()["verdict"], "within", "{}", run.seen());
    let reason = run.json()["jobs"][0]["reason"].to_string();
    assert!(!reason.contains("probe"), "{reason}");
}

#[test]
fn a_probe_that_is_turned_off_is_not_missed() {
    let (project, aws) = job(3600.0, Source::Debugger, [7.0, 40.0]);
    edit(
        &project,
        &[("canary: {max_share: 200%}", "canary: {probe: false}")],
    );
    let run = check(&project, &aws, Source::Probe, JSON).ended_with(0);
    let job = &run.json()["jobs"][0];
    assert!(
        !job["reason"].to_string().contains("probe"),
        "{}",
        run.seen()
    );
    assert_eq!(
        job["measurements"][0]["usage"]["memory"]["source"],
        "Debugger"
    );
    assert!(aws.jobs()[0].input()["Environment"]["CANARY_GATE_MARK"].is_null());
}

#[test]
fn a_canary_without_the_probe_does_not_stand_for_one_with_it() {
    let (project, aws) = job(3600.0, Source::Debugger, [7.0, 40.0]);
    let run = |source| check(&project, &aws, source, &["run", "--all"]).ended_with(0);
    run(Source::Debugger).reported("canaries ran without the probe");
    let unprobed = aws.jobs().len();
    run(Source::Debugger);
    assert_eq!(aws.jobs().len(), unprobed, "each is reused");
    run(Source::Probe);
    assert!(aws.jobs().len() > unprobed, "none is reused");
}

#[test]
fn a_container_in_which_the_probe_cannot_run_says_so_in_the_headline() {
    let (project, aws) = job(3600.0, Source::Debugger, [7.0, 40.0]);
    let why = "a launcher does not say which process is the first of its host";
    let line = format!("canary-gate: not measured by the probe: {why}");
    aws.logs(Logs::of(move |_, _| vec![line.clone()]));
    let run = check(&project, &aws, Source::Probe, JSON).ended_with(0);
    let reason = run.json()["jobs"][0]["reason"].to_string();
    assert!(
        reason.contains(&format!("ran without the probe: {why}")),
        "{reason}"
    );
}

#[test]
fn a_plan_says_that_the_probe_cannot_be_sent() {
    let (project, aws) = job(3600.0, Source::Debugger, [7.0, 40.0]);
    check(&project, &aws, Source::Debugger, &["plan", "--all"])
        .ended_with(0)
        .reported("canaries run without the probe");
}

#[test]
fn a_plain_image_has_no_probe_without_its_command_and_says_so() {
    let (project, aws) = job(3600.0, Source::CloudWatch, [7.0, 40.0]);
    let spec = project.read("canary-gate.yml");
    let script = "      source_dir: code\n      entry_point: train.py\n";
    project.write("canary-gate.yml", &spec.replace(script, ""));
    let run = check(&project, &aws, Source::Probe, JSON).ended_with(0);
    let reason = run.json()["jobs"][0]["reason"].to_string();
    assert!(
        reason.contains("ran without the probe: the job has no entry_point that it could start"),
        "{reason}"
    );
}

/// A fixed design goes on to no other sizes.
#[test]
fn strictly_what_could_not_be_seen_fails_the_check() {
    let (project, aws) = job(60.0, Source::CloudWatch, [7.0, 40.0]);
    let spec = project.read("canary-gate.yml");
    let fixed =
        "canary: {design: fixed, fractions: [1%, 2%, 5%], replicates: 1, max_share: 10000%}";
    project.write(
        "canary-gate.yml",
        &spec.replace("canary: {max_share: 200%}", fixed),
    );
    let run = ["run", "--all", "--strict"];
    check(&project, &aws, Source::CloudWatch, &run)
        .ended_with(11)
        .reported("memory may exceed 90%: it was not seen");
}
