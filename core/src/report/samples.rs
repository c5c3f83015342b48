//! Reports to test with: made-up figures in every shape that a reader may meet.

mod groups;

use std::collections::BTreeMap;

use super::{
    Baseline, Delta, Estimates, Failure, InstanceForecast, JobPolicy, JobReport, PhaseEstimates,
    Policy, Report, SCHEMA_VERSION, Spend,
};
use crate::drift::{Cause, CauseShare, Check, Drift, DriftChange, Shift};
use crate::forecast::{Estimate, EstimateAtShare, Law, Laws};
use crate::instance::{InstanceConfiguration, Price, PriceEvidence, PriceKind};
use crate::measurement::{
    self, Measurement, Outcome, PeakMemory, Phases, Reused, Start, Usage, Utilization,
};
use crate::metric::Metric;
use crate::spec::{BackendKind, Bound, ChangedSetting, Level, LineKind};
use crate::units::{Bytes, Fraction, Percent, Seconds, Usd, UsdPerHour};
use crate::verdict::{
    BudgetRow, ClosestFit, ExistingBreach, LimitNeeded, LineVerdict, Recommendation, Verdict,
};

const FULL_DATA: f64 = 40.5 * 1_073_741_824.0;

/// Every sample with its name.
pub(super) fn all() -> Vec<(&'static str, Report)> {
    vec![
        ("churn", churn()),
        ("within", within()),
        ("at_risk", at_risk()),
        ("failed", failed()),
        ("unknown", unknown()),
        ("not_judged", not_judged()),
        ("no_job", no_job()),
        ("two_jobs", two_jobs()),
        ("gpu", gpu()),
        ("groups", groups::groups()),
        ("hostile", hostile()),
        ("invalid_spec", invalid_spec()),
        ("one_failed", one_failed()),
        ("forbidden", forbidden()),
        ("increased", increased()),
        ("within_noise", within_noise()),
        ("reused", reused()),
        ("existing_breach", existing_breach()),
        ("drifted", drifted()),
        ("not_drifted", not_drifted()),
        ("drifts", drifts()),
    ]
}

fn report(jobs: Vec<JobReport>, verdict: Verdict, exit_code: u8) -> Report {
    Report {
        schema_version: SCHEMA_VERSION,
        tool_version: "0.1.0".to_owned(),
        generated_at: "2026-11-21T09:14:07Z".parse().unwrap(),
        run_url: Some("https://github.com/example/models/actions/runs/4821".to_owned()),
        commit: Some("3f9c2e1d8a7054b6c1f2e3d4a5b6c7d8e9f0a1b2".to_owned()),
        spec_hash: Some("7be1a0c4d2f36958".to_owned()),
        policy: Some(Policy::of(
            "main".to_owned(),
            Some("a1b2c3d4e5f60718293a4b5c6d7e8f9001122334".to_owned()),
        )),
        verdict,
        exit_code,
        jobs,
        notes: Vec::new(),
        failures: Vec::new(),
    }
}

fn estimate(point: f64, lower: f64, upper: f64) -> Option<Estimate> {
    Some(Estimate {
        point,
        lower,
        upper,
        level: 0.9,
    })
}

fn instance(text: &str) -> InstanceConfiguration {
    text.parse().unwrap()
}

fn price(usd_per_hour: f64, evidence: PriceEvidence) -> Option<Price> {
    Some(Price {
        kind: PriceKind::OnDemand,
        on_demand_usd_per_hour: None,
        usd_per_hour: UsdPerHour(usd_per_hour),
        source: "us-east-1, on demand".to_owned(),
        as_of: Some("2026-11-02".to_owned()),
        evidence,
    })
}

fn line(line: LineKind, limit: f64, chance: f64, verdict: LineVerdict) -> BudgetRow {
    BudgetRow {
        line,
        limit,
        bound: Bound::Max,
        level: Level::Fail,
        chance_of_breach: Some(chance),
        verdict,
        decides: false,
        existing_breach: None,
        overridden: None,
    }
}

/// A budget in which the line at this place decides.
fn budget<const N: usize>(deciding: usize, mut rows: [BudgetRow; N]) -> Vec<BudgetRow> {
    rows[deciding].decides = true;
    rows.to_vec()
}

fn linear(intercept: f64, slope: f64) -> Option<Law> {
    Some(Law {
        name: "linear".to_owned(),
        weight: 1.0,
        intercept,
        slope,
        shape: crate::forecast::Shape::linear(),
    })
}

/// About its law of time, up to the full run.
fn by_share(forecast: &InstanceForecast, largest_canary: f64) -> Vec<EstimateAtShare> {
    let (Some(law), Some(full)) = (&forecast.law.time, forecast.estimates[Metric::Time]) else {
        return Vec::new();
    };
    let at = |share: f64| {
        let beyond = 1.0 - share.ln() / largest_canary.ln();
        let end = |of_full: f64| {
            let time = law.at(share) * (of_full / full.point).powf(beyond.max(0.2));
            time.round()
        };
        EstimateAtShare {
            share,
            point: end(full.point),
            lower: end(full.lower),
            upper: end(full.upper),
        }
    };
    let shares = [0.0101, 0.045, largest_canary, 0.3, 0.45, 0.67, 1.0];
    shares.map(at).to_vec()
}

fn forecast(configuration: &str, verdict: Verdict, estimates: Estimates) -> InstanceForecast {
    InstanceForecast {
        instance: instance(configuration),
        groups: Vec::new(),
        verdict,
        not_measured: None,
        estimated_from: None,
        scale_out: None,
        memory_at_least: None,
        memory_is_lower_bound: false,
        gpu_memory_at_least: None,
        gpu_memory_is_lower_bound: false,
        efficiency: None,
        estimates,
        metrics: BTreeMap::new(),
        phases: Default::default(),
        delta: Delta::default(),
        versus_twin: None,
        law: Laws::default(),
        time_by_share: Vec::new(),
        price: None,
        budget: Vec::new(),
    }
}

fn not_measured(configuration: &str, why: &str) -> InstanceForecast {
    InstanceForecast {
        not_measured: Some(why.to_owned()),
        estimated_from: None,
        memory_at_least: None,
        memory_is_lower_bound: false,
        gpu_memory_at_least: None,
        gpu_memory_is_lower_bound: false,
        ..forecast(configuration, Verdict::NotJudged, Estimates::default())
    }
}

fn job(name: &str, verdict: Verdict, reason: &str, forecasts: Vec<InstanceForecast>) -> JobReport {
    JobReport {
        name: name.to_owned(),
        verdict,
        reason: reason.to_owned(),
        what_to_do: None,
        affected_by: Vec::new(),
        instance: forecasts[0].instance.clone(),
        baseline: None,
        recommendation: None,
        forecasts,
        measurements: Vec::new(),
        advice: Vec::new(),
        warnings: Vec::new(),
        notes: Vec::new(),
        policy: JobPolicy::default(),
        drift: None,
        spend: Spend::default(),
    }
}

fn utilization(percent: f64) -> Option<Utilization> {
    Some(Utilization {
        mean: Percent(percent),
        p99: None,
        source: "cgroup v2 cpu.stat".to_owned(),
    })
}

/// A completed canary.
fn canary(
    job: &str,
    configuration: &str,
    share: f64,
    seconds: f64,
    memory_percent: f64,
) -> Measurement {
    Measurement {
        schema_version: measurement::SCHEMA_VERSION,
        run: None,
        job: job.to_owned(),
        instance: instance(configuration),
        backend: Some(BackendKind::Sagemaker),
        fraction: Fraction((share * 100.0).round() / 100.0),
        objects: Some(1),
        objects_total: Some(100),
        bytes: Some(Bytes::from_f64(share * FULL_DATA)),
        bytes_total: Some(Bytes::from_f64(FULL_DATA)),
        drawn_by_script: false,
        differs_in_work_alone: false,
        work: None,
        work_total: None,
        replicate: 0,
        attempt: 0,
        start: Some(Start::Cold),
        outcome: Outcome::Completed,
        sample_opened: None,
        way_out: None,
        phases: Phases::default(),
        installs_seconds: None,
        training_seconds: Some(Seconds(seconds)),
        billable_seconds: Some(Seconds(seconds)),
        usage: Usage {
            memory: Some(PeakMemory {
                percent: Some(Percent(memory_percent)),
                source: "cgroup v2 memory.stat".to_owned(),
                ..PeakMemory::default()
            }),
            cpu_percent: utilization(91.0),
            ..Usage::default()
        },
        hosts: Vec::new(),
        step_seconds: None,
        metrics: BTreeMap::new(),
        price: None,
        cost: None,
        idle_seconds: None,
        idle_usd: None,
        training_job: None,
        log: None,
        reused: None,
        ended_at: None,
        notes: Vec::new(),
    }
}

fn local_canary(share: f64, seconds: f64) -> Measurement {
    let mut run = canary("digits", "local", share, seconds, 0.3);
    run.backend = Some(BackendKind::Local);
    run.bytes = Some(Bytes::from_f64(share * 420_000.0));
    run.bytes_total = Some(Bytes(420_000));
    run.start = None;
    run
}

/// The mock-up: over budget on cost, two alternatives at risk.
pub(super) fn churn() -> Report {
    let mut judged = forecast(
        "ml.m5.2xlarge",
        Verdict::Exceeded,
        Estimates::from([
            (Metric::Time, estimate(20_520.0, 18_300.0, 23_460.0)),
            (Metric::Cost, estimate(63.0, 56.0, 72.0)),
            (Metric::Memory, estimate(71.0, 66.0, 78.0)),
            (Metric::CpuUtilization, estimate(94.0, 94.0, 94.0)),
        ]),
    );
    judged.price = price(63.0 / 5.7, PriceEvidence::PriceList);
    judged.law = Laws {
        time: linear(41.0, 20_479.0),
        memory: linear(1.2e9, 2.1e10),
        gpu_memory: None,
    };
    judged.time_by_share = by_share(&judged, 0.203);
    judged.phases = PhaseEstimates {
        startup: estimate(131.0, 110.0, 160.0),
        download: estimate(412.0, 380.0, 450.0),
        training: estimate(20_090.0, 17_900.0, 23_000.0),
        upload: estimate(18.0, 18.0, 18.0),
    };
    judged.budget = budget(
        0,
        [
            line(
                LineKind::Absolute(Metric::Cost),
                50.0,
                0.992,
                LineVerdict::Exceeded,
            ),
            line(
                LineKind::Absolute(Metric::Time),
                28_800.0,
                0.001,
                LineVerdict::Within,
            ),
            line(
                LineKind::Absolute(Metric::Memory),
                90.0,
                0.002,
                LineVerdict::Within,
            ),
        ],
    );
    let mut memory_bound = forecast(
        "ml.c5.4xlarge",
        Verdict::AtRisk,
        Estimates::from([
            (Metric::Time, estimate(10_680.0, 9_600.0, 12_240.0)),
            (Metric::Cost, estimate(41.0, 37.0, 47.0)),
            (Metric::Memory, estimate(88.0, 82.0, 96.0)),
            (Metric::CpuUtilization, estimate(91.0, 89.5, 92.6)),
        ]),
    );
    memory_bound.price = price(41.0 / (10_680.0 / 3600.0), PriceEvidence::PriceList);
    memory_bound.law.time = linear(35.0, 10_645.0);
    memory_bound.time_by_share = by_share(&memory_bound, 0.1012);
    memory_bound.budget = budget(
        1,
        [
            line(
                LineKind::Absolute(Metric::Cost),
                50.0,
                0.02,
                LineVerdict::Within,
            ),
            line(
                LineKind::Absolute(Metric::Memory),
                90.0,
                0.41,
                LineVerdict::AtRisk,
            ),
        ],
    );
    let mut scaled_out = forecast(
        "6x ml.m5.4xlarge",
        Verdict::AtRisk,
        Estimates::from([
            (Metric::Time, estimate(2880.0, 2340.0, 4200.0)),
            (Metric::Cost, estimate(44.0, 36.0, 65.0)),
            (Metric::Memory, estimate(19.0, 15.0, 26.0)),
            (Metric::CpuUtilization, estimate(88.0, 88.0, 88.0)),
        ]),
    );
    scaled_out.price = price(44.0 / 0.8 / 6.0, PriceEvidence::Estimate);
    scaled_out.budget = budget(
        0,
        [line(
            LineKind::Absolute(Metric::Cost),
            50.0,
            0.24,
            LineVerdict::AtRisk,
        )],
    );
    let mut churn = job(
        "churn",
        Verdict::Exceeded,
        "cost is 63 USD, 13 USD above 50 USD",
        vec![
            judged,
            memory_bound,
            scaled_out,
            not_measured("ml.m5.24xlarge", "needs up to 3.20 USD"),
        ],
    );
    churn.affected_by = vec!["training/churn/train.py".to_owned()];
    churn.measurements = vec![
        canary("churn", "ml.m5.2xlarge", 0.0101, 252.0, 6.1),
        canary("churn", "ml.m5.2xlarge", 0.0511, 1060.0, 9.3),
        canary("churn", "ml.m5.2xlarge", 0.203, 4200.0, 19.8),
        canary("churn", "ml.c5.4xlarge", 0.0101, 140.0, 9.9),
        canary("churn", "ml.c5.4xlarge", 0.1012, 1082.0, 17.0),
    ];
    churn.measurements[1].start = Some(Start::Warm);
    churn.notes = vec![
        "6x ml.m5.4xlarge: time is assumed to fall with the heaviest of six shards, not measured"
            .to_owned(),
    ];
    churn.recommendation = Some(Recommendation {
        closest: Some(ClosestFit {
            instance: "ml.c5.4xlarge".to_owned(),
            if_limits: vec![LimitNeeded {
                line: LineKind::Absolute(Metric::Memory),
                bound: Bound::Max,
                limit: 96.0,
            }],
        }),
        certainty: Some(0.95),
        ..Recommendation::default()
    });
    churn.spend = Spend {
        canary_usd: Some(Usd(1.12)),
        canary_seconds: Seconds(6734.0),
        idle_usd: None,
        idle_seconds: None,
        saved_usd: None,
        worst_case_usd: Some(Usd(5.0)),
        full_run_usd: Some(Usd(63.0)),
    };
    report(vec![churn], Verdict::Exceeded, 10)
}

/// A small job on the local machine without a price; nine canaries.
pub(crate) fn within() -> Report {
    let mut judged = forecast(
        "local",
        Verdict::Within,
        Estimates::from([
            (Metric::Time, estimate(58.2, 51.0, 66.4)),
            (Metric::Cost, estimate(0.0194, 0.017, 0.022)),
            (Metric::Memory, estimate(0.42, 0.4, 0.45)),
            (Metric::CpuUtilization, estimate(49.0, 47.0, 51.0)),
        ]),
    );
    judged.price = Some(Price::from_spec(UsdPerHour(1.2)));
    judged.law.time = linear(0.21, 58.0);
    judged.budget = budget(
        1,
        [
            line(
                LineKind::Absolute(Metric::Cost),
                0.05,
                0.0,
                LineVerdict::Within,
            ),
            line(
                LineKind::Absolute(Metric::Time),
                90.0,
                0.004,
                LineVerdict::Within,
            ),
            line(
                LineKind::Absolute(Metric::Memory),
                100.0,
                0.0,
                LineVerdict::Within,
            ),
        ],
    );
    let mut digits = job(
        "digits",
        Verdict::Within,
        "time is 58s, 32s below 1m 30s",
        vec![judged],
    );
    for share in [0.0098, 0.0204, 0.0311] {
        for (replicate, noise) in (0..).zip([0.98, 1.01, 1.04]) {
            let mut run = local_canary(share, (0.21 + 58.0 * share) * noise);
            run.replicate = replicate;
            digits.measurements.push(run);
        }
    }
    digits.spend = Spend {
        canary_usd: Some(Usd(0.004)),
        canary_seconds: Seconds(12.3),
        idle_usd: None,
        idle_seconds: None,
        saved_usd: None,
        worst_case_usd: Some(Usd(0.36)),
        full_run_usd: Some(Usd(0.0194)),
    };
    report(vec![digits], Verdict::Within, 0)
}

/// One line at risk, a warn line exceeded, a lower limit, a change against the base, advice.
pub(super) fn at_risk() -> Report {
    let mut report = within();
    let job = &mut report.jobs[0];
    job.verdict = Verdict::AtRisk;
    job.reason = "time is 58s, 2s below 1m, but 32% likely over".to_owned();
    job.recommendation = Some(Recommendation {
        cheapest: Some("local".to_owned()),
        fastest: Some("2x local".to_owned()),
        ..Recommendation::default()
    });
    job.advice = vec!["half of the CPU is idle: try a second worker".to_owned()];
    let judged = &mut job.forecasts[0];
    judged.verdict = Verdict::AtRisk;
    judged.delta.cost_usd = estimate(0.0046, 0.002, 0.007);
    judged.budget = budget(
        0,
        [
            line(
                LineKind::Absolute(Metric::Time),
                60.0,
                0.32,
                LineVerdict::AtRisk,
            ),
            BudgetRow {
                bound: Bound::Min,
                level: Level::Warn,
                ..line(
                    LineKind::Absolute(Metric::CpuUtilization),
                    60.0,
                    0.999,
                    LineVerdict::Exceeded,
                )
            },
            BudgetRow {
                chance_of_breach: None,
                ..line(
                    LineKind::Absolute(Metric::GpuMemory),
                    90.0,
                    0.0,
                    LineVerdict::NotApplicable,
                )
            },
            line(
                LineKind::Increase(Metric::Cost),
                20.0,
                0.81,
                LineVerdict::Within,
            ),
        ],
    );
    report.verdict = Verdict::AtRisk;
    report
}

/// The training code fails in every canary.
pub(super) fn failed() -> Report {
    let reason = "the training code ended with exit code 1 in 3 of 3 canary runs";
    let judged = forecast("ml.m5.2xlarge", Verdict::Failed, Estimates::default());
    let mut churn = job("churn", Verdict::Failed, reason, vec![judged]);
    for share in [0.0101, 0.0203, 0.0304] {
        let mut run = canary("churn", "ml.m5.2xlarge", share, 9.0, 2.0);
        run.outcome = Outcome::Failed {
            exit_code: Some(1),
            last_line: Some("ValueError: could not convert string to float: 'n/a'".to_owned()),
        };
        churn.measurements.push(run);
    }
    churn.spend.canary_usd = Some(Usd(0.0034));
    churn.spend.canary_seconds = Seconds(27.0);
    report(vec![churn], Verdict::Failed, 13)
}

/// Too little data and no price.
pub(super) fn unknown() -> Report {
    let mut judged = forecast(
        "ml.p4de.24xlarge",
        Verdict::Unknown,
        Estimates::from([(Metric::Time, estimate(7200.0, 5400.0, 9900.0))]),
    );
    judged.law.time = linear(120.0, 7080.0);
    judged.budget = budget(
        0,
        [
            BudgetRow {
                chance_of_breach: None,
                ..line(
                    LineKind::Absolute(Metric::Cost),
                    50.0,
                    0.0,
                    LineVerdict::Unknown,
                )
            },
            line(
                LineKind::Absolute(Metric::Time),
                86_400.0,
                0.0,
                LineVerdict::Within,
            ),
        ],
    );
    let reason = "no price of ml.p4de.24xlarge in eu-north-1 is known";
    let mut ranker = job("ranker", Verdict::Unknown, "", vec![judged]);
    ranker.set_reason(
        crate::verdict::Reason::new(reason).advising("write its price under prices in the spec"),
    );
    ranker.measurements = vec![
        canary("ranker", "ml.p4de.24xlarge", 0.01, 190.0, 4.0),
        canary("ranker", "ml.p4de.24xlarge", 0.02, 262.0, 4.5),
    ];
    ranker.measurements.push(Measurement {
        outcome: Outcome::TimedOut,
        ..canary("ranker", "ml.p4de.24xlarge", 0.03, 3600.0, 4.9)
    });
    ranker.notes = vec![
        "cost: no price of ml.p4de.24xlarge in eu-north-1; write one under `prices`".to_owned(),
        "memory: the capacity of ml.p4de.24xlarge is unknown".to_owned(),
    ];
    ranker.spend.canary_seconds = Seconds(4052.0);
    report(vec![ranker], Verdict::Unknown, 14)
}

/// No budget was written.
pub(super) fn not_judged() -> Report {
    let mut report = within();
    let job = &mut report.jobs[0];
    job.verdict = Verdict::NotJudged;
    job.reason = "the spec has no budget for it".to_owned();
    job.forecasts[0].verdict = Verdict::NotJudged;
    job.forecasts[0].budget.truncate(0);
    report.verdict = Verdict::NotJudged;
    report.commit = None;
    report.run_url = None;
    report.policy = Some(Policy::of("work tree".to_owned(), None));
    report
}

/// Nothing is affected by the change.
pub(super) fn no_job() -> Report {
    let mut report = report(Vec::new(), Verdict::NotJudged, 0);
    report.notes = vec!["no job is affected by the 2 changed files".to_owned()];
    report
}

/// One job over its budget, one within; the first in the spec is the better one.
pub(super) fn two_jobs() -> Report {
    let jobs = [within(), churn()].map(|mut report| report.jobs.remove(0));
    let mut report = report(jobs.to_vec(), Verdict::Exceeded, 10);
    report.notes = vec!["warm_pool is not served yet and was ignored".to_owned()];
    report
}

/// GPU types, an out-of-memory canary, a heterogeneous alternative, cost per step.
pub(super) fn gpu() -> Report {
    let estimates = Estimates::from([
        (Metric::Time, estimate(86_400.0, 79_000.0, 97_000.0)),
        (Metric::Cost, estimate(91.8, 84.0, 103.0)),
        (Metric::Memory, estimate(31.0, 29.0, 33.0)),
        (Metric::CpuUtilization, estimate(22.0, 20.0, 24.0)),
        (Metric::GpuUtilization, estimate(97.0, 96.0, 98.0)),
        (Metric::GpuMemory, estimate(86.0, 84.0, 88.0)),
        (Metric::StepTime, estimate(0.213, 0.208, 0.219)),
        (
            Metric::CostPerStep,
            estimate(0.000_226, 0.000_22, 0.000_233),
        ),
    ]);
    let mut judged = forecast("ml.p3.2xlarge", Verdict::Within, estimates);
    judged.price = price(3.825, PriceEvidence::LibraryTable);
    judged.law.time = linear(180.0, 86_220.0);
    judged.budget = budget(
        0,
        [
            line(
                LineKind::Absolute(Metric::Cost),
                120.0,
                0.001,
                LineVerdict::Within,
            ),
            line(
                LineKind::Absolute(Metric::GpuMemory),
                95.0,
                0.01,
                LineVerdict::Within,
            ),
            line(
                LineKind::Absolute(Metric::CostPerStep),
                0.001,
                0.0,
                LineVerdict::Within,
            ),
        ],
    );
    let groups = "data: 1x ml.c5.9xlarge + dnn: 1x ml.p3.2xlarge";
    let mut mixed = forecast(
        groups,
        Verdict::Failed,
        Estimates::from([(Metric::Cost, estimate(105.0, 94.0, 121.0))]),
    );
    mixed.price = price(5.9, PriceEvidence::Estimate);
    let mut bert = job(
        "bert",
        Verdict::Within,
        "cost is 92 USD, 28 USD below 120 USD",
        vec![mixed, judged].into_iter().rev().collect(),
    );
    let mut run = canary("bert", "ml.p3.2xlarge", 0.01, 1042.0, 29.0);
    run.usage.gpu_percent = utilization(95.0);
    run.usage.gpu_memory_percent = utilization(85.0);
    run.notes = vec!["GPU memory is sampled; a shorter peak may be missed".to_owned()];
    let mut dead = canary("bert", groups, 0.01, 80.0, 99.0);
    dead.outcome = Outcome::OutOfMemory {
        of: crate::metric::MemoryOf::Machine,
        last_line: Some("RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB".to_owned()),
    };
    run.step_seconds = Some(Seconds(0.212_84));
    bert.measurements = vec![run.clone(), run, dead];
    for (run, level) in bert.measurements.iter_mut().zip([2.0, 4.0, 2.0]) {
        run.work = Some(level);
        run.work_total = Some(40.0);
    }
    bert.spend.canary_usd = Some(Usd(1.11));
    bert.spend.full_run_usd = Some(Usd(91.8));
    report(vec![bert], Verdict::Within, 0)
}

/// The spec cannot be read: no job, and every problem with its place.
pub(super) fn invalid_spec() -> Report {
    let mut report = report(Vec::new(), Verdict::NotJudged, 2);
    report.failures = vec![Failure {
        job: None,
        phase: "reading the spec".to_owned(),
        what: "canary-gate.yml has 2 problems".to_owned(),
        causes: vec![
            "canary-gate.yml:7:13 jobs.churn.budget.memory: a bare number needs a unit\n  7 |     memory:  9\n    |              ^ write 9%".to_owned(),
            "canary-gate.yml:9:5 jobs.churn: unknown key \"bugdet\"\n  9 |     bugdet: {}\n    |     ^^^^^^ did you mean `budget`?".to_owned(),
        ],
        help: Some("fix the lines above; `canary-gate validate` shows the same".to_owned()),
    }];
    report.spec_hash = None;
    report
}

/// One job is within its budget, the other could not be measured.
pub(super) fn one_failed() -> Report {
    let mut report = within();
    report.exit_code = 1;
    report.failures = vec![Failure {
        job: Some("churn".to_owned()),
        phase: "starting canary runs".to_owned(),
        what: "AWS refused sagemaker:CreateTrainingJob".to_owned(),
        causes: vec![
            "access denied for arn:aws:sts::123456789012:assumed-role/ci/run-4821".to_owned(),
        ],
        help: Some("allow it: `canary-gate iam-policy` prints what is needed".to_owned()),
    }];
    report
}

/// What to do, with lines to paste.
pub(super) const GRANT: &str = "grant the job's token what it needs, in the workflow:\n\n    permissions:\n      contents: read\n\n\
    On a pull request from a fork, and from Dependabot, the token only reads; a locked conversation and a rule of the organization refuse too.";

/// GitHub does not let the token read: what to do has lines to paste.
pub(super) fn forbidden() -> Report {
    let mut report = invalid_spec();
    report.exit_code = 1;
    report.failures = vec![Failure {
        job: None,
        phase: "asking GitHub".to_owned(),
        what: "GitHub refused GET git/trees/3f9c2e1d: 403, Resource not accessible by integration"
            .to_owned(),
        causes: Vec::new(),
        help: Some(GRANT.to_owned()),
    }];
    report
}

fn baseline() -> Option<Baseline> {
    Some(Baseline {
        commit: Some("a1b2c3d4e5f60718293a4b5c6d7e8f9001122334".to_owned()),
        branch: Some("main".to_owned()),
        age_days: 3.2,
        is_same_code: true,
        data_changed: false,
        changed: Vec::new(),
        instance: None,
    })
}

fn cause(cause: Cause, seconds: f64, usd: f64) -> CauseShare {
    CauseShare {
        cause,
        seconds,
        usd: Some(usd),
    }
}

/// The mock-up with its comparison: the same work on the same data takes 31 % longer.
pub(super) fn increased() -> Report {
    let mut report = churn();
    let job = &mut report.jobs[0];
    job.baseline = baseline();
    job.forecasts[0].delta = Delta {
        cost_usd: estimate(14.9, 12.0, 18.0),
        time_seconds: estimate(4850.0, 3900.0, 5900.0),
        cost_percent: estimate(31.0, 24.0, 39.0),
        time_percent: estimate(31.0, 24.0, 39.0),
        rate_percent: estimate(31.0, 24.0, 39.0),
        causes: vec![
            cause(Cause::Data, 12.0, 0.04),
            cause(Cause::Price, 0.0, 0.0),
            cause(Cause::CodeOrPlatform, 4838.0, 14.86),
        ],
    };
    job.forecasts[0].budget.push(BudgetRow {
        level: Level::Warn,
        ..line(
            LineKind::Increase(Metric::Cost),
            20.0,
            0.98,
            LineVerdict::Exceeded,
        )
    });
    report
}

/// Compared with its base, and nothing is certain.
pub(super) fn within_noise() -> Report {
    let mut report = within();
    let job = &mut report.jobs[0];
    job.baseline = baseline();
    job.forecasts[0].delta = Delta {
        cost_usd: estimate(0.0003, -0.0008, 0.0014),
        time_seconds: estimate(0.9, -2.4, 4.2),
        cost_percent: estimate(1.6, -4.1, 7.3),
        time_percent: estimate(1.6, -4.1, 7.3),
        rate_percent: estimate(1.6, -4.1, 7.3),
        causes: vec![
            cause(Cause::Data, 0.0, 0.0),
            cause(Cause::Price, 0.0, 0.0),
            cause(Cause::CodeOrPlatform, 0.9, 0.0003),
        ],
    };
    let increase = line(
        LineKind::Increase(Metric::Cost),
        20.0,
        0.0,
        LineVerdict::Within,
    );
    job.forecasts[0].budget.push(increase);
    report
}

/// Three of five canaries were paid for by earlier runs.
pub(super) fn reused() -> Report {
    let mut report = increased();
    let job = &mut report.jobs[0];
    for (run, (age_days, saved)) in
        job.measurements
            .iter_mut()
            .zip([(9.0, 0.05), (9.0, 0.20), (2.1, 0.55)])
    {
        run.reused = Some(Reused {
            age_days,
            saved_usd: Some(Usd(saved)),
        });
    }
    job.spend.canary_usd = Some(Usd(0.32));
    job.spend.saved_usd = Some(Usd(0.80));
    report
}

/// Over budget, and so was the base; the change makes it no worse.
pub(super) fn existing_breach() -> Report {
    let mut report = increased();
    let job = &mut report.jobs[0];
    job.verdict = Verdict::Within;
    job.reason = "cost is 63 USD, 13 USD above 50 USD, but the base was over already (61 USD) and this change does not raise it for certain".to_owned();
    job.recommendation = None;
    job.forecasts.truncate(1);
    let judged = &mut job.forecasts[0];
    judged.verdict = Verdict::Within;
    judged.delta = Delta {
        cost_usd: estimate(2.0, -3.0, 7.0),
        time_seconds: estimate(650.0, -980.0, 2300.0),
        cost_percent: estimate(3.3, -4.9, 11.0),
        time_percent: estimate(3.3, -4.9, 11.0),
        ..Delta::default()
    };
    judged.budget.truncate(3);
    (judged.budget[0].decides, judged.budget[1].decides) = (false, true);
    judged.budget[0].chance_of_breach = Some(0.999);
    judged.budget[0].existing_breach = Some(ExistingBreach {
        base: Some(61.0),
        chance_of_more: Some(0.76),
        counts_as: Level::Warn,
    });
    (report.verdict, report.exit_code) = (Verdict::Within, 0);
    report
}

/// The series of a check for drift, a week apart from 2026-11-02 on.
fn checks(levels: &[f64]) -> Vec<Check> {
    let first: jiff::Timestamp = "2026-11-02T06:00:00Z".parse().unwrap();
    (0..)
        .zip(levels)
        .map(|(index, level)| Check {
            at: first + jiff::SignedDuration::from_hours(72 * index),
            commit: Some("a1b2c3d4e5f60718293a4b5c6d7e8f9001122334".to_owned()),
            level_percent: *level,
        })
        .collect()
}

fn drift(levels: &[f64], drifted: bool, change: DriftChange) -> Option<Drift> {
    Some(Drift {
        drifted,
        change,
        causes: Vec::new(),
        changed: Vec::new(),
        chance_over_limit: None,
        limit_percent: Percent(15.0),
        at_least_usd: Usd(5.0),
        shift: None,
        checks: checks(levels),
    })
}

/// A scheduled check: within budget no more asked, 26 % more than the baseline, with its causes.
pub(super) fn drifted() -> Report {
    let mut report = churn();
    let job = &mut report.jobs[0];
    job.verdict = Verdict::Within;
    job.reason = "cost is 63 USD, 27 USD below 90 USD".to_owned();
    job.recommendation = None;
    job.affected_by.clear();
    job.forecasts.truncate(1);
    job.forecasts[0].verdict = Verdict::Within;
    job.forecasts[0].budget = budget(
        0,
        [
            line(
                LineKind::Absolute(Metric::Cost),
                90.0,
                0.001,
                LineVerdict::Within,
            ),
            line(
                LineKind::Absolute(Metric::Time),
                28_800.0,
                0.001,
                LineVerdict::Within,
            ),
        ],
    );
    job.measurements.truncate(3);
    job.notes.clear();
    let levels = [100.0, 103.1, 99.2, 101.4, 122.0, 124.5, 126.0];
    let change = DriftChange {
        time_seconds: estimate(3064.0, 2000.0, 4200.0),
        cost_usd: estimate(13.0, 8.9, 17.0),
        time_percent: estimate(17.5, 11.0, 24.0),
        cost_percent: estimate(26.0, 18.0, 34.0),
    };
    job.drift = drift(&levels, true, change).map(|drift| Drift {
        causes: vec![
            cause(Cause::CodeOrPlatform, 456.0, 1.4),
            cause(Cause::Data, 2608.0, 8.0),
            cause(Cause::Price, 0.0, 3.6),
        ],
        chance_over_limit: Some(0.981),
        shift: estimate(21.0, 15.0, 27.0).map(|percent| Shift {
            since: "2026-11-14T06:00:00Z".parse().unwrap(),
            percent,
        }),
        ..drift
    });
    (report.verdict, report.exit_code) = (Verdict::Within, 12);
    report
}

/// A scheduled check that found nothing.
pub(super) fn not_drifted() -> Report {
    let mut report = drifted();
    let job = &mut report.jobs[0];
    let estimates = &mut job.forecasts[0].estimates;
    estimates[Metric::Cost] = estimate(51.0, 46.0, 57.0);
    estimates[Metric::Time] = estimate(16_600.0, 15_000.0, 18_500.0);
    let change = DriftChange {
        time_seconds: estimate(330.0, -600.0, 1300.0),
        cost_usd: estimate(1.0, -1.9, 4.0),
        time_percent: estimate(2.0, -3.8, 8.0),
        cost_percent: estimate(2.0, -3.8, 8.0),
    };
    let levels = [100.0, 103.1, 99.2, 101.4, 98.0, 100.9, 102.0];
    job.drift = drift(&levels, false, change);
    report.exit_code = 0;
    report
}

/// Several jobs: one drifted and is at risk of its budget, one is over budget, one is fine.
pub(super) fn drifts() -> Report {
    let mut report = drifted();
    report.jobs[0].verdict = Verdict::AtRisk;
    report.jobs[0].reason = "time may exceed 6h: 5h 42m, 24% likely over".to_owned();
    report.jobs[0].forecasts[0].verdict = Verdict::AtRisk;
    let mut fine = not_drifted().jobs.remove(0);
    fine.name = "ranker".to_owned();
    let mut over = churn().jobs.remove(0);
    over.name = "bert".to_owned();
    over.drift = fine.drift.clone();
    report.jobs.extend([fine, over]);
    (report.verdict, report.exit_code) = (Verdict::Exceeded, 10);
    report
}

/// Everything that a pull request can write tries to be something else.
pub(super) fn hostile() -> Report {
    const ATTACK: &str = "=x | @everyone <img src=x> [a](https://evil.example) #1 `b` \u{1b}[31mred\u{1b}[0m \u{202e}\n::error::c\n### d";
    let mut report = two_jobs();
    report.tool_version = ATTACK.to_owned();
    report.commit = Some(ATTACK.to_owned());
    report.spec_hash = Some(ATTACK.to_owned());
    report.run_url = Some("https://evil.example/x) [y](https://evil.example/".to_owned());
    report.policy = Some(Policy::of(ATTACK.to_owned(), Some(ATTACK.to_owned())));
    report.notes = vec![ATTACK.to_owned()];
    report.failures = vec![
        Failure {
            job: Some(ATTACK.to_owned()),
            phase: ATTACK.to_owned(),
            what: ATTACK.to_owned(),
            causes: vec![ATTACK.replace('\n', " "); 2],
            help: Some(ATTACK.to_owned()),
        },
        Failure {
            job: None,
            phase: ATTACK.to_owned(),
            what: ATTACK.to_owned(),
            causes: vec![format!("{ATTACK}\n```\n{ATTACK}")],
            help: None,
        },
    ];
    for job in &mut report.jobs {
        job.name = format!("{ATTACK} {}", job.name);
        job.reason = ATTACK.to_owned();
        job.affected_by = vec![ATTACK.to_owned(); 5];
        job.recommendation = Some(Recommendation {
            cheapest: Some(ATTACK.to_owned()),
            cheapest_ties: vec![ATTACK.to_owned(); 5],
            fastest: None,
            ..Recommendation::default()
        });
        job.advice = vec![ATTACK.to_owned()];
        job.warnings = vec![ATTACK.to_owned()];
        job.notes = vec![ATTACK.to_owned()];
        job.baseline = Some(Baseline {
            commit: Some(ATTACK.to_owned()),
            branch: Some(ATTACK[..20].to_owned()),
            age_days: -1e300,
            is_same_code: false,
            data_changed: true,
            changed: vec![ChangedSetting {
                field: ATTACK.to_owned(),
                before: Some(ATTACK.to_owned()),
                now: None,
            }],
            instance: None,
        });
        job.forecasts[0].delta.cost_percent = estimate(1e300, 1e299, 1e301);
        for forecast in &mut job.forecasts {
            if let Some(price) = &mut forecast.price {
                price.source = ATTACK.to_owned();
                price.as_of = Some(ATTACK.to_owned());
            }
            if let Some(law) = &mut forecast.law.time {
                law.name = ATTACK.to_owned();
            }
            if let Some(why) = &mut forecast.not_measured {
                *why = ATTACK.to_owned();
            }
        }
        job.measurements[0].outcome = Outcome::Failed {
            exit_code: Some(1),
            last_line: Some(ATTACK.to_owned()),
        };
        job.measurements[0].log = Some(ATTACK.to_owned());
        job.measurements[1].notes = vec![ATTACK.to_owned()];
    }
    report
}
