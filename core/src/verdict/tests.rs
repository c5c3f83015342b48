mod gpu;

use std::fmt::Write;

use super::*;
use crate::forecast::{self, Basis, BusyMachine, KnownPeak, Unknown};
use crate::instance::{Capacity, InstanceConfiguration};
use crate::measurement::Measurement;
use crate::measurement::table::read_csv;
use crate::metric::Metric;
use crate::units::{Bytes, Percent};

/// A forecast that knows nothing; a test sets what it is about.
pub(super) fn nothing_known() -> Forecast {
    Forecast::unknown(&Unknown("no canary run completed".to_owned()))
}

pub(crate) fn at_most(kind: impl Into<LineKind>, limit: f64) -> BudgetLine {
    let kind = kind.into();
    BudgetLine {
        kind,
        bound: Bound::Max,
        limit: kind.unit().amount(limit),
        level: Level::Fail,
        at_least: None,
        origin: LineOrigin::Written,
        overridden: None,
    }
}

pub(super) fn at_least(kind: impl Into<LineKind>, limit: f64) -> BudgetLine {
    BudgetLine {
        bound: Bound::Min,
        ..at_most(kind, limit)
    }
}

pub(super) fn implicit(mut line: BudgetLine) -> BudgetLine {
    line.origin = LineOrigin::Implicit;
    line
}

pub(super) fn warn(mut line: BudgetLine) -> BudgetLine {
    line.level = Level::Warn;
    line
}

pub(super) const CERTAINTY: Fraction = Fraction(0.95);

fn budget(lines: &[BudgetLine]) -> Budget {
    Budget {
        lines: lines.to_vec(),
        certainty: CERTAINTY,
        existing_breach: Level::Warn,
        growth: None,
    }
}

/// What is said of a forecast held against these lines.
pub(super) fn said(forecast: &Forecast, lines: &[BudgetLine]) -> String {
    reason(&judged(forecast, lines), forecast, &one(), CERTAINTY)
}

pub(super) fn judged(forecast: &Forecast, lines: &[BudgetLine]) -> Vec<JudgedLine> {
    judge(&budget(lines), forecast, &machine(0), None)
}

pub(super) fn judged_against(
    forecast: &Forecast,
    lines: &[BudgetLine],
    against: &Against,
) -> Vec<JudgedLine> {
    judge(&budget(lines), forecast, &machine(0), Some(against))
}

/// What the tests judge.
pub(super) fn one() -> InstanceConfiguration {
    "ml.m5.4xlarge".parse().unwrap()
}

pub(super) fn machine(gpus: u32) -> Offer {
    let capacity = Capacity {
        vcpus: 8,
        memory: Bytes(32 * Bytes::GIB),
        gpus,
        gpu_memory: None,
    };
    Offer::unknown(&one()).or_capacity(|| Some(capacity))
}

/// 10 % of noise about `median`, on many degrees of freedom.
pub(super) fn about(median: f64) -> Quantity {
    Ok(Predictive::log_student_t(median, 0.1, 1e9))
}

fn verdicts(forecast: &Forecast, lines: &[BudgetLine]) -> Vec<LineVerdict> {
    judged(forecast, lines)
        .into_iter()
        .map(|line| line.row.verdict)
        .collect()
}

#[test]
fn a_line_that_steeper_growth_would_pass_is_at_risk_and_stays_undecided() {
    let grows = |times: f64, median: f64| {
        let known = about(median).unwrap();
        let steeper = known.scaled(times);
        Ok(known.or_if_steeper(steeper))
    };
    let doubted = Forecast {
        largest_share: Some(0.2),
        ..nothing_known()
            .with(Metric::Time, grows(8.0, 3600.0))
            .with(Metric::Cost, grows(8.0, 50.0))
            .with(Metric::Memory, grows(1.1, 50.0))
    };
    let lines = judged(
        &doubted,
        &[
            at_most(Metric::Time, 18_000.0),
            at_most(Metric::Cost, 300.0),
            at_most(Metric::Memory, 90.0),
            at_least(Metric::Time, 60.0),
            at_most(Metric::Time, 60.0),
        ],
    );
    let found: Vec<(LineVerdict, bool)> = lines
        .iter()
        .map(|line| (line.row.verdict, line.is_decided(CERTAINTY)))
        .collect();
    assert_eq!(
        found,
        [
            (LineVerdict::AtRisk, false),
            (LineVerdict::AtRisk, false),
            (LineVerdict::Within, true),
            (LineVerdict::Within, true),
            (LineVerdict::Exceeded, true),
        ]
    );
    assert_eq!(
        reason(&lines[..1], &doubted, &one(), CERTAINTY),
        "time may exceed 5h: 1h, but time is known only up to 20% of the full run's data, and growth that no canary could show would pass the limit"
    );
    assert_eq!(
        reason(&lines[1..2], &doubted, &one(), CERTAINTY),
        "cost may exceed 300 USD: 50 USD, but time is known only up to 20% of the full run's data, and growth that no canary could show would pass the limit"
    );
    assert_eq!(lines[0].row.chance_of_breach, None);
}

#[test]
fn a_lower_bound_of_memory_is_never_within_and_asks_nothing_of_who_wrote_no_line() {
    let doubted = |forecast: Forecast| Forecast {
        memory: KnownPeak {
            doubt: Some(Doubt::LowerBound),
            ..Default::default()
        },
        ..forecast
    };
    let at = |percent: f64| doubted(nothing_known().with(Metric::Memory, about(percent)));
    let lines = [
        at_most(Metric::Memory, 90.0),
        implicit(at_most(Metric::Memory, 100.0)),
    ];
    use LineVerdict::{AtRisk, Exceeded, NotApplicable};
    assert_eq!(verdicts(&at(47.0), &lines), [AtRisk, NotApplicable]);
    assert_eq!(verdicts(&at(95.0), &lines), [Exceeded, AtRisk]);
    assert_eq!(verdicts(&at(145.0), &lines), [Exceeded, Exceeded]);
    let said = |forecast: &Forecast| said(forecast, &lines);
    assert_eq!(
        said(&at(47.0)),
        "memory may exceed 90%: 47%, but memory was looked at only once a minute, so its peak may have been far higher"
    );

    // Without a law the highest canary is what is known.
    let seen = |percent: f64| Forecast {
        memory: KnownPeak {
            at_least: Some(percent),
            doubt: Some(Doubt::LowerBound),
            ..Default::default()
        },
        ..doubted(nothing_known())
    };
    assert_eq!(verdicts(&seen(75.0), &lines), [AtRisk, NotApplicable]);
    assert_eq!(
        said(&seen(75.0)),
        "memory may exceed 90%: at least 75% (highest canary), but memory was looked at only once a minute, so its peak may have been far higher"
    );
    assert_eq!(verdicts(&seen(94.0), &lines)[0], Exceeded);
    assert_eq!(
        said(&seen(94.0)),
        "a canary already used 94% of the memory, so the full run will pass 90%"
    );
    let unseen = Forecast {
        memory: KnownPeak {
            doubt: Some(Doubt::TooShortToSee {
                shortest: crate::units::Seconds(180.0),
            }),
            ..Default::default()
        },
        ..nothing_known()
    };
    assert_eq!(verdicts(&unseen, &lines), [AtRisk, NotApplicable]);
    assert_eq!(
        said(&unseen),
        "memory may exceed 90%: it was not seen: it is looked at only once a minute, and no canary ran for 3m"
    );
}

/// Of a source that sees the peak, but in too few canaries.
#[test]
fn memory_without_a_law_is_unknown_and_says_what_was_seen() {
    let seen = |percent: f64| Forecast {
        memory: KnownPeak {
            at_least: Some(percent),
            ..Default::default()
        },
        ..nothing_known()
    };
    let line = [at_most(Metric::Memory, 90.0)];
    let said = |forecast: &Forecast| (verdicts(forecast, &line)[0], said(forecast, &line));
    assert_eq!(
        said(&seen(75.0)),
        (
            LineVerdict::Unknown,
            "memory is unknown: no canary run completed; at least 75% (highest canary)".to_owned()
        )
    );
    assert_eq!(said(&seen(91.0)).0, LineVerdict::Exceeded);
}

#[test]
fn what_a_canary_may_have_had_unseen_keeps_no_line_within() {
    let seen = Forecast {
        memory: KnownPeak {
            unseen: Some(60.0),
            ..KnownPeak::default()
        },
        ..nothing_known().with(Metric::Memory, about(20.0))
    };
    let lines = [at_most(Metric::Memory, 59.0), at_most(Metric::Memory, 61.0)];
    assert_eq!(
        verdicts(&seen, &lines),
        [LineVerdict::AtRisk, LineVerdict::Within]
    );
    assert_eq!(
        said(&seen, &lines[..1]),
        "memory may exceed 59%: 20%, but memory may have been up to 60% in one canary already, between two looks at it"
    );
}

/// Jobs of 36,000 s whose start-up is 5 s, as they were recorded without noise.
#[test]
fn no_growth_faster_than_a_square_is_within_too_small_a_budget() {
    let growths: [fn(f64) -> f64; 5] = [
        |x| x.powf(2.2),
        |x| x.powf(2.5),
        |x| x.powi(3),
        |x| x.powi(4),
        |x| (10.0 * x - 10.0).exp(),
    ];
    let designs: [&[u8]; 7] = [
        &[1, 10, 20],
        &[1, 5, 20, 10],
        &[1, 2, 5, 10, 20],
        &[1, 1, 20],
        &[1, 10, 20, 50],
        &[1, 20, 50],
        &[20, 50, 50],
    ];
    let mut wrong = Vec::new();
    for (growth, of) in growths.iter().zip(["2.2", "2.5", "3", "4", "exp"]) {
        for design in designs {
            let runs = recorded(design, |share| 5.0 + 36_000.0 * growth(share));
            let forecast = forecast::forecast(&Basis {
                offer: &machine(0),
                measurements: &runs,
            });
            // Of the truth, in tenths.
            for tenths in 3..10 {
                let limit = 36_005.0 * f64::from(tenths) / 10.0;
                let found = verdicts(&forecast, &[at_most(Metric::Time, limit)]);
                let is_safe = matches!(found[0], LineVerdict::AtRisk | LineVerdict::Exceeded);
                if !is_safe {
                    wrong.push(format!("{of} on {design:?} at {tenths} tenths"));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

pub(super) fn recorded(percents: &[u8], seconds: impl Fn(f64) -> f64) -> Vec<Measurement> {
    let mut table =
        "workload,fraction_requested,replicate,bytes,bytes_total,wall_seconds\n".to_owned();
    for (replicate, percent) in percents.iter().enumerate() {
        let wall = seconds(f64::from(*percent) / 100.0);
        let _ = writeln!(
            table,
            "job,{percent}%,{replicate},{percent}000,100000,{wall}"
        );
    }
    read_csv(&table).unwrap().measurements
}

#[test]
fn a_line_is_within_at_risk_or_exceeded_by_its_chance() {
    let forecast = nothing_known().with(Metric::Cost, about(50.0)).with(
        Metric::CpuUtilization,
        Ok(Predictive::level(50.0, 5.0, 1e9)),
    );
    use crate::metric::Metric::{Cost, CpuUtilization};
    assert_eq!(
        verdicts(
            &forecast,
            &[
                at_most(Cost, 60.0),
                at_most(Cost, 55.0),
                at_most(Cost, 49.0),
                at_least(CpuUtilization, 40.0),
                at_least(CpuUtilization, 48.0),
                at_least(CpuUtilization, 51.0),
            ]
        ),
        [
            LineVerdict::Within,
            LineVerdict::AtRisk,
            LineVerdict::Exceeded,
            LineVerdict::Within,
            LineVerdict::AtRisk,
            LineVerdict::Exceeded,
        ]
    );
}

#[test]
fn a_chance_on_the_threshold_is_on_the_kinder_side() {
    let certainty = CERTAINTY;
    for chance in [0.05, 1.0 - 0.95, 0.050_000_000_1] {
        assert_eq!(verdict_of(chance, certainty), LineVerdict::Within);
    }
    assert_eq!(verdict_of(0.0501, certainty), LineVerdict::AtRisk);
    for chance in [0.5, MORE_LIKELY_THAN_NOT + CHANCE_ROUNDING] {
        assert_eq!(verdict_of(chance, certainty), LineVerdict::AtRisk);
    }
    assert_eq!(verdict_of(0.501, certainty), LineVerdict::Exceeded);
    // A limit that is exactly the upper end of the 90 % interval.
    let forecast = nothing_known().with(Metric::Cost, about(50.0));
    let limit = forecast[Metric::Cost].as_ref().unwrap().quantile(0.95);
    assert_eq!(
        verdicts(&forecast, &[at_most(Metric::Cost, limit)]),
        [LineVerdict::Within]
    );
}

#[test]
fn a_line_is_decided_where_its_breach_is_as_certain_as_asked_for_or_as_unlikely() {
    let line = judged(&nothing_known(), &[at_most(Metric::Cost, 50.0)]).remove(0);
    assert!(!line.is_decided(CERTAINTY));
    for (chance, expected) in [
        (0.0, true),
        (0.05, true),
        (0.0501, false),
        (0.5, false),
        (0.9499, false),
        (0.95, true),
        (1.0, true),
    ] {
        let found = line.clone().found(chance, verdict_of(chance, CERTAINTY));
        assert_eq!(found.is_decided(CERTAINTY), expected, "{chance}");
    }
}

#[test]
fn without_a_distribution_a_written_line_is_unknown_and_an_implicit_one_says_nothing() {
    let lines = judged(
        &nothing_known(),
        &[
            at_most(Metric::Cost, 50.0),
            implicit(at_most(Metric::Memory, 100.0)),
        ],
    );
    assert_eq!(lines[0].row.verdict, LineVerdict::Unknown);
    assert_eq!(lines[1].row.verdict, LineVerdict::NotApplicable);
    for line in &lines {
        assert_eq!(line.row.chance_of_breach, None);
        assert_eq!(line.reason.as_deref(), Some("no canary run completed"));
    }
    assert_eq!(job_verdict(&lines), Verdict::Unknown);
    assert_eq!(job_verdict(&lines[1..]), Verdict::NotJudged);
}

#[test]
fn a_gpu_line_applies_where_there_is_a_gpu() {
    let budget = budget(&[
        at_least(Metric::GpuUtilization, 50.0),
        at_most(Metric::GpuMemory, 90.0),
    ]);
    let verdict = |offer: &Offer| -> Vec<LineVerdict> {
        judge(&budget, &nothing_known(), offer, None)
            .into_iter()
            .map(|line| line.row.verdict)
            .collect()
    };
    assert_eq!(verdict(&machine(0)), [LineVerdict::NotApplicable; 2]);
    assert_eq!(verdict(&machine(1)), [LineVerdict::Unknown; 2]);
    assert_eq!(verdict(&Offer::unknown(&one())), [LineVerdict::Unknown; 2]);
}

#[test]
fn a_breach_of_the_base_counts_in_full_where_the_spec_says_so() {
    let forecast = nothing_known().with(Metric::Cost, about(63.0));
    let unknown = || Err(Unknown("not compared".to_owned()));
    let against = Against {
        base: forecast.clone(),
        time: unknown(),
        cost: unknown(),
        memory: unknown(),
        exceeded_then: Vec::new(),
    };
    let mut budget = budget(&[at_most(Metric::Cost, 50.0)]);
    let verdict =
        |budget: &Budget| job_verdict(&judge(budget, &forecast, &machine(0), Some(&against)));
    assert_eq!(verdict(&budget), Verdict::NotJudged);
    budget.existing_breach = Level::Fail;
    assert_eq!(verdict(&budget), Verdict::Exceeded);
}

/// Other work took four fifths of the machine; a script on one of two CPUs and one on both.
#[test]
fn what_other_work_slowed_is_exceeded_only_where_its_own_cpu_time_passes_the_limit() {
    use crate::metric::Metric::{Cost, Memory, Time};
    for (own_part, verdict) in [(0.2, LineVerdict::AtRisk), (0.6, LineVerdict::Exceeded)] {
        let forecast = Forecast {
            busy: Some(BusyMachine {
                taken: Percent(80.0),
                own_part,
            }),
            ..nothing_known()
                .with(Time, about(7200.0))
                .with(Cost, about(2.0))
                .with(Memory, about(95.0))
        };
        let lines = [
            at_most(Time, 3600.0),
            at_most(Cost, 1.0),
            at_most(Memory, 90.0),
            at_most(Time, 36_000.0),
        ];
        let found = verdicts(&forecast, &lines);
        assert_eq!(found[..2], [verdict; 2]);
        assert_eq!(found[2..], [LineVerdict::Exceeded, LineVerdict::Within]);
    }
}

#[test]
fn a_canary_that_ran_longer_than_the_limit_settles_time_and_cost() {
    let forecast = Forecast {
        time_at_least: Some(3600.0),
        cost_at_least: Some(2.0),
        ..nothing_known()
    };
    use crate::metric::Metric::{Cost, Time};
    let lines = judged(
        &forecast,
        &[
            at_most(Time, 3600.0),
            at_most(Cost, 1.0),
            at_most(Time, 3700.0),
            at_most(Cost, 2.1),
        ],
    );
    for line in &lines[..2] {
        assert_eq!(line.row.verdict, LineVerdict::Exceeded);
        assert_eq!(line.row.chance_of_breach, Some(1.0));
    }
    for line in &lines[2..] {
        assert_eq!(line.row.verdict, LineVerdict::Unknown);
    }
    assert_eq!(
        reason(&lines, &forecast, &one(), CERTAINTY),
        "a canary already ran longer, so the full run will pass 1h"
    );
}

#[test]
fn only_lines_of_level_fail_count_and_implicit_ones_only_when_they_complain() {
    use crate::metric::Metric::{Cost, Memory, Time};
    let forecast = nothing_known()
        .with(Metric::Cost, about(50.0))
        .with(Metric::Time, about(3600.0))
        .with(Metric::Memory, about(60.0));
    let verdict = |lines: &[BudgetLine]| job_verdict(&judged(&forecast, lines));
    assert_eq!(verdict(&[]), Verdict::NotJudged);
    assert_eq!(
        verdict(&[implicit(at_most(Memory, 100.0))]),
        Verdict::NotJudged
    );
    assert_eq!(verdict(&[implicit(at_most(Memory, 65.0))]), Verdict::AtRisk);
    assert_eq!(
        verdict(&[implicit(at_most(Memory, 50.0))]),
        Verdict::Exceeded
    );
    assert_eq!(verdict(&[warn(at_most(Cost, 1.0))]), Verdict::NotJudged);
    assert_eq!(
        verdict(&[warn(at_most(Cost, 1.0)), at_most(Time, 7200.0)]),
        Verdict::Within
    );
    assert_eq!(
        verdict(&[at_most(Cost, 55.0), at_most(Time, 7200.0)]),
        Verdict::AtRisk
    );
}

#[test]
fn the_worst_of_several_is_the_first_in_the_order_of_outcomes() {
    use Verdict::{AtRisk, Exceeded, Failed, NotJudged, Unknown, Within};
    assert_eq!(
        worst([Within, AtRisk, Unknown, NotJudged].into_iter()),
        Unknown
    );
    assert_eq!(worst([Failed, Exceeded].into_iter()), Exceeded);
    assert_eq!(worst([NotJudged, Within].into_iter()), Within);
    assert_eq!(worst(std::iter::empty()), NotJudged);
}
