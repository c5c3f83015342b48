use super::*;
use crate::forecast::{self, Basis, BusyMachine, KnownPeak, Unknown};
use crate::instance::{Capacity, InstanceConfiguration};
use crate::measurement::{Measurement, Outcome};
use crate::metric::Metric;
use crate::units::{Bytes, Percent, Seconds};

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

/// What is known of the machine's memory.
fn peak(known: KnownPeak) -> Forecast {
    Forecast {
        memory: known,
        ..nothing_known()
    }
}

fn with_doubt(doubt: Doubt) -> Forecast {
    peak(KnownPeak {
        doubt: Some(doubt),
        ..KnownPeak::default()
    })
}

/// What is known of a GPU's memory.
fn gpu(percent: Quantity, ran_out: bool) -> Forecast {
    Forecast {
        gpu_memory: KnownPeak {
            is_measured: true,
            ran_out,
            ..KnownPeak::default()
        },
        ..nothing_known().with(Metric::GpuMemory, percent)
    }
}

/// What each line of a case comes to, with its chance, and what is said of all.
fn shown(offer: &Offer, cases: Vec<(&str, Forecast, Vec<BudgetLine>)>) -> String {
    let one = |(case, forecast, lines): (&str, Forecast, Vec<BudgetLine>)| {
        let judged = judge(&budget(&lines), &forecast, offer, None);
        let line = |line: &JudgedLine| {
            let row = &line.row;
            let chance = row.chance_of_breach.map(|chance| format!(" {chance:.2}"));
            let decided = line.is_decided(CERTAINTY).then_some(", decided");
            format!(
                "  {} {:?} {}: {:?}{}{}",
                row.line,
                row.bound,
                row.limit,
                row.verdict,
                chance.unwrap_or_default(),
                decided.unwrap_or_default()
            )
        };
        let said = reason(&judged, &forecast, &offer.configuration, CERTAINTY);
        let all: Vec<String> = judged.iter().map(line).collect();
        let job = job_verdict(&judged);
        format!("{case}:\n{}\n  -> {job:?}: {said}", all.join("\n"))
    };
    let shown: Vec<String> = cases.into_iter().map(one).collect();
    shown.join("\n")
}

#[test]
fn each_forecast_is_held_against_its_lines() {
    use Metric::{Cost, CostPerStep, CpuUtilization, Memory, Time};
    let grows = |times: f64, median: f64| {
        let known = about(median).unwrap();
        let steeper = known.scaled(times);
        Ok(known.or_if_steeper(steeper))
    };
    let steeper = Forecast {
        largest_share: Some(0.2),
        ..nothing_known()
            .with(Time, grows(8.0, 3600.0))
            .with(Cost, grows(8.0, 50.0))
            .with(Memory, grows(1.1, 50.0))
            .with(CostPerStep, grows(1.3, 1.0))
    };
    let memory = || vec![at_most(Memory, 90.0), implicit(at_most(Memory, 100.0))];
    let seldom = |percent| with_doubt(Doubt::LowerBound).with(Memory, about(percent));
    let seen = |percent, doubt| {
        peak(KnownPeak {
            at_least: Some(percent),
            doubt,
            ..KnownPeak::default()
        })
    };
    let unseen = KnownPeak {
        unseen: Some(60.0),
        ..KnownPeak::default()
    };
    let chances = (nothing_known().with(Cost, about(50.0)))
        .with(CpuUtilization, Ok(Predictive::level(50.0, 5.0, 1e9)));
    let at_its_limit = Forecast {
        time_at_least: Some(3600.0),
        cost_at_least: Some(2.0),
        ..nothing_known()
    };
    let busy = |own_part| Forecast {
        busy: Some(BusyMachine {
            taken: Percent(80.0),
            own_part,
        }),
        ..(nothing_known().with(Time, about(7200.0)))
            .with(Cost, about(2.0))
            .with(Memory, about(95.0))
    };
    let slowed = || {
        vec![
            at_most(Time, 3600.0),
            at_most(Cost, 1.0),
            at_most(Memory, 90.0),
            at_most(Time, 36_000.0),
        ]
    };
    let printed = Forecast {
        by_laws: about(4500.0).ok(),
        ..nothing_known()
            .with(Time, about(3600.0))
            .with(Cost, about(1.0))
    };
    let of_progress = [4400.0, 6000.0].map(|limit| at_most(Time, limit));
    let of_its_cost = [1.2, 1.6].map(|limit| at_most(Cost, limit));
    let known = || {
        (nothing_known().with(Cost, about(50.0)))
            .with(Time, about(3600.0))
            .with(Memory, about(60.0))
    };
    insta::assert_snapshot!(shown(
        &machine(0),
        vec![
            (
                "steeper growth would pass some",
                steeper.clone(),
                vec![
                    at_most(Time, 18_000.0),
                    at_most(Memory, 90.0),
                    at_most(CostPerStep, 1.5),
                    at_most(CostPerStep, 2.0),
                    at_least(Time, 60.0),
                    at_most(Time, 60.0),
                ],
            ),
            ("its time", steeper.clone(), vec![at_most(Time, 18_000.0)]),
            (
                "its level",
                steeper.clone(),
                vec![at_most(CostPerStep, 1.5)],
            ),
            ("its cost", steeper, vec![at_most(Cost, 300.0)]),
            (
                "a source that looks seldom, far below",
                seldom(47.0),
                memory()
            ),
            ("above the line", seldom(95.0), memory()),
            ("above the machine", seldom(145.0), memory()),
            (
                "the highest canary is all that is known",
                seen(75.0, Some(Doubt::LowerBound)),
                memory()
            ),
            (
                "and it was above",
                seen(94.0, Some(Doubt::LowerBound)),
                memory()
            ),
            (
                "too short to be seen",
                with_doubt(Doubt::TooShortToSee {
                    shortest: crate::units::Seconds(180.0)
                }),
                memory(),
            ),
            (
                "a source that sees it, in too few",
                seen(75.0, None),
                memory()
            ),
            ("and it was above", seen(91.0, None), memory()),
            (
                "it may have had more between two looks",
                peak(unseen).with(Memory, about(20.0)),
                vec![at_most(Memory, 59.0), at_most(Memory, 61.0)],
            ),
            (
                "by its chance",
                chances,
                vec![
                    at_most(Cost, 60.0),
                    at_most(Cost, 55.0),
                    at_most(Cost, 49.0),
                    at_least(CpuUtilization, 40.0),
                    at_least(CpuUtilization, 48.0),
                    at_least(CpuUtilization, 51.0),
                ],
            ),
            (
                "without a distribution",
                nothing_known(),
                vec![at_most(Cost, 50.0), implicit(at_most(Memory, 100.0))],
            ),
            (
                "no written line",
                nothing_known(),
                vec![implicit(at_most(Memory, 100.0))]
            ),
            (
                "a canary ran longer than the limit",
                at_its_limit,
                vec![
                    at_most(Time, 3600.0),
                    at_most(Cost, 1.0),
                    at_most(Time, 3700.0),
                    at_most(Cost, 2.1),
                ],
            ),
            // Other work took four fifths of the machine; a script on one of two CPUs and one on both.
            ("other work slowed it", busy(0.2), slowed()),
            ("and it passes the limit alone", busy(0.6), slowed()),
            (
                "what it printed is shorter than smaller canaries say",
                printed,
                [of_progress, of_its_cost].concat(),
            ),
            // An implicit line counts only where it complains, and one of level warn never.
            ("no line", known(), vec![]),
            (
                "an implicit line within",
                known(),
                vec![implicit(at_most(Memory, 100.0))]
            ),
            ("at risk", known(), vec![implicit(at_most(Memory, 65.0))]),
            ("exceeded", known(), vec![implicit(at_most(Memory, 50.0))]),
            (
                "a line of level warn",
                known(),
                vec![warn(at_most(Cost, 1.0))]
            ),
            (
                "and one that counts",
                known(),
                vec![warn(at_most(Cost, 1.0)), at_most(Time, 7200.0)]
            ),
            (
                "the worst counts",
                known(),
                vec![at_most(Cost, 55.0), at_most(Time, 7200.0)]
            ),
            (
                "where all are far below, the first",
                known(),
                vec![at_most(Time, 1e6), at_most(Cost, 1e4)]
            ),
            (
                "a machine without a GPU",
                nothing_known(),
                vec![
                    at_least(Metric::GpuUtilization, 50.0),
                    at_most(Metric::GpuMemory, 90.0),
                    implicit(at_most(Metric::GpuMemory, 100.0)),
                ]
            ),
            (
                "whose GPU ran out of memory",
                gpu(Err(Unknown("settled".to_owned())), true),
                vec![
                    implicit(at_most(Metric::GpuMemory, 100.0)),
                    implicit(at_most(Memory, 100.0)),
                ]
            ),
        ],
    ));
}

/// What always holds of a GPU's memory, on a machine that has one and on one of which nothing is known.
#[test]
fn a_gpu_has_a_line_without_a_written_one() {
    let line = || vec![implicit(at_most(Metric::GpuMemory, 100.0))];
    let unmeasured = || Err(Unknown("no GPU memory was measured".to_owned()));
    let cases = || {
        vec![
            ("more than it has", gpu(about(180.0), false), line()),
            ("nearly all", gpu(about(95.0), false), line()),
            ("half", gpu(about(40.0), false), line()),
            ("a canary ran out", gpu(unmeasured(), true), line()),
            (
                "not measured",
                nothing_known().with(Metric::GpuMemory, unmeasured()),
                line(),
            ),
            (
                "and a line is written",
                nothing_known().with(Metric::GpuMemory, unmeasured()),
                vec![at_most(Metric::GpuMemory, 90.0)],
            ),
            (
                "and one about the load",
                nothing_known().with(Metric::GpuUtilization, unmeasured()),
                vec![at_most(Metric::GpuUtilization, 90.0)],
            ),
        ]
    };
    let on = ["ml.g5.xlarge", "local"].map(|instance| {
        let capacity = &crate::instance::tables::capacity;
        let offer = Offer::of(&instance.parse().unwrap(), capacity, &|_| None);
        format!("on {instance}\n{}", shown(&offer, cases()))
    });
    insta::assert_snapshot!(on.join("\n"));
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
    let run = |(replicate, percent): (u32, &u8)| {
        let fraction = Percent(f64::from(*percent)).as_fraction();
        Measurement {
            replicate,
            bytes: Some(Bytes(u64::from(*percent) * 1000)),
            bytes_total: Some(Bytes(100_000)),
            training_seconds: Some(Seconds(seconds(fraction.0))),
            ..Measurement::without_figures(
                "job".to_owned(),
                InstanceConfiguration::default(),
                fraction,
                Outcome::Completed,
            )
        }
    };
    (0..).zip(percents).map(run).collect()
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
fn a_breach_of_the_base_counts_in_full_where_the_spec_says_so() {
    let forecast = nothing_known().with(Metric::Cost, about(63.0));
    let unknown = || Err(Unknown("not compared".to_owned()));
    let against = Against {
        base: forecast.clone(),
        time: unknown(),
        cost: unknown(),
        memory: unknown(),
        exceeded_then: Vec::new(),
        doubted: None,
        is_growth_measured: true,
    };
    let mut budget = budget(&[at_most(Metric::Cost, 50.0)]);
    let verdict =
        |budget: &Budget| job_verdict(&judge(budget, &forecast, &machine(0), Some(&against)));
    assert_eq!(verdict(&budget), Verdict::NotJudged);
    budget.existing_breach = Level::Fail;
    assert_eq!(verdict(&budget), Verdict::Exceeded);
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
