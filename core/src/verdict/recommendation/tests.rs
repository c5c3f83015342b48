use super::super::tests::{
    CERTAINTY, about, at_least, at_most, implicit, judged, machine, nothing_known, recorded, warn,
};
use super::super::{JudgedLine, job_verdict};
use super::*;
use crate::forecast::{self, Basis, Forecast, Quantity, Unknown};
use crate::instance::Offer;
use crate::measurement::Measurement;
use crate::metric::Metric::{Cost, CpuUtilization, Memory, Time};

/// Of the contenders, in their order.
const INSTANCES: [&str; 4] = ["local", "2x local", "3x local", "4x local"];

/// 2 % of noise.
fn near(median: f64) -> Quantity {
    Ok(Predictive::log_student_t(median, 0.02, 1e9))
}

fn of(cost: f64, time: f64, memory: f64) -> Forecast {
    nothing_known()
        .with(Metric::Cost, near(cost))
        .with(Metric::Time, near(time))
        .with(Metric::Memory, near(memory))
}

fn recommended(budget: &[BudgetLine], forecasts: &[Forecast]) -> Option<Recommendation> {
    let lines: Vec<Vec<JudgedLine>> = forecasts
        .iter()
        .map(|forecast| judged(forecast, budget))
        .collect();
    let measured: Vec<Measured> = (INSTANCES.iter().zip(forecasts))
        .map(|(instance, forecast)| measured(instance, forecast.clone(), &[]))
        .collect();
    let contenders: Vec<Contender<'_>> = (lines.iter().zip(&measured))
        .map(|(lines, measured)| Contender {
            verdict: job_verdict(lines),
            lines,
            measured,
        })
        .collect();
    recommend(&contenders, CERTAINTY)
}

fn measured(instance: &str, forecast: Forecast, measurements: &[Measurement]) -> Measured {
    Measured {
        offer: Offer::unknown(&instance.parse().unwrap()),
        forecast,
        measurements: measurements.to_vec(),
    }
}

/// The cheapest and the fastest, where nothing is as good.
fn only(cheapest: &str, fastest: &str) -> Option<Recommendation> {
    Some(Recommendation {
        cheapest: Some(cheapest.to_owned()),
        fastest: Some(fastest.to_owned()),
        ..unanswered()
    })
}

fn unanswered() -> Recommendation {
    Recommendation {
        certainty: Some(CERTAINTY.0),
        ..Recommendation::default()
    }
}

#[test]
fn the_cheapest_and_the_fastest_of_those_within() {
    let budget = [at_most(Cost, 50.0), at_most(Memory, 90.0)];
    let found = recommended(
        &budget,
        &[
            of(63.0, 20_000.0, 71.0), // over budget
            of(41.0, 9_000.0, 70.0),
            of(30.0, 12_000.0, 70.0),
            of(20.0, 5_000.0, 95.0), // the best, and its memory is too much
        ],
    );
    assert_eq!(found, only("3x local", "2x local"));
}

#[test]
fn what_is_not_clearly_better_is_as_good_and_the_cheaper_is_named_first() {
    let budget = [at_most(Cost, 50.0)];
    let found = recommended(
        &budget,
        &[
            of(41.0, 9_100.0, 50.0),
            of(40.0, 3_000.0, 50.0),
            of(40.5, 3_000.0, 50.0),
            of(45.0, 9_000.0, 50.0),
        ],
    )
    .unwrap();
    assert_eq!(found.cheapest.as_deref(), Some("2x local"));
    assert_eq!(found.cheapest_ties, ["3x local", "local"]);
    assert_eq!(found.fastest.as_deref(), Some("2x local"));
    assert_eq!(found.fastest_ties, ["3x local"]);
}

/// P(A < B) of two normals in ln: Phi(ln(b / a) / (s sqrt 2)), here Phi(1.645) = 0.95 at a ratio of 1.04763.
#[test]
fn the_chance_to_be_less_is_that_of_the_formula() {
    let a = Predictive::log_student_t(100.0, 0.02, 1e9);
    for (ratio, chance) in [
        (1.0, 0.5),
        (1.047_63, 0.95),
        (1.02, 0.758_1),
        (0.9, 0.000_1),
    ] {
        let b = Predictive::log_student_t(100.0 * ratio, 0.02, 1e9);
        let found = chance_below(&a, &b);
        assert!((found - chance).abs() < 1e-3, "{ratio}: {found}");
    }
    let budget = [at_most(Cost, 500.0)];
    let ties = |ratio: f64| {
        let forecasts = [of(100.0 * ratio, 1.0, 1.0), of(100.0, 1.0, 1.0)];
        let found = recommended(&budget, &forecasts).unwrap();
        found.cheapest_ties.len()
    };
    assert_eq!(ties(1.046), 1);
    assert_eq!(ties(1.050), 0);
    // A cost without spread, above 190 of 200 parts of the other.
    let other = of(100.0, 1.0, 1.0);
    let cost = other[Cost].as_ref().unwrap().quantile(0.95);
    let certain = of(1.0, 1.0, 1.0).with(Cost, Ok(Predictive::log_student_t(cost, 0.0, 1e9)));
    let found = recommended(&budget, &[certain, other]).unwrap();
    assert_eq!(found.cheapest_ties, Vec::<String>::new());
}

/// Canaries of the same sizes on two machines, of which the second takes 15 % longer: each forecast by itself leaves open which is
/// faster, since its law may bend; the ratio does not.
#[test]
fn two_machines_are_compared_by_the_ratio_of_their_canaries() {
    let ties = |is_compared: bool| {
        let measured = [("local", 1.0), ("2x local", 1.15)].map(|(instance, slower)| {
            let mut runs = recorded(&[1, 10, 20], |share| slower * (20.0 + 2000.0 * share));
            for run in &mut runs {
                run.instance = instance.parse().unwrap();
            }
            let forecast = forecast::forecast(&Basis {
                offer: &machine(0),
                measurements: &runs,
            });
            measured(instance, forecast, if is_compared { &runs } else { &[] })
        });
        let contenders = measured.each_ref().map(|measured| Contender {
            verdict: Verdict::NotJudged,
            lines: &[],
            measured,
        });
        let found = recommend(&contenders, CERTAINTY).unwrap();
        assert_eq!(found.fastest.as_deref(), Some("local"));
        found.fastest_ties.len()
    };
    assert_eq!((ties(false), ties(true)), (1, 0));
}

#[test]
fn where_none_is_within_the_one_that_misses_by_least() {
    let budget = [at_most(Cost, 50.0), at_most(Memory, 90.0)];
    let found = recommended(
        &budget,
        &[
            of(63.0, 1.0, 71.0),
            of(41.0, 1.0, 88.0),
            of(55.0, 1.0, 19.0),
        ],
    )
    .unwrap();
    assert_eq!((&found.cheapest, &found.fastest), (&None, &None));
    let closest = found.closest.unwrap();
    assert_eq!(closest.instance, "2x local");
    assert_eq!(closest.if_limits.len(), 1);
    assert_eq!(closest.if_limits[0].line, Memory.into());
    // 88 x exp(0.02 x 1.645)
    assert!((closest.if_limits[0].limit - 90.94).abs() < 0.01);
    // Twice the limit is further than a fifth more.
    let closest = |costs: [f64; 2]| {
        let forecasts = costs.map(|cost| of(cost, 1.0, 1.0));
        recommended(&budget, &forecasts).unwrap().closest.unwrap()
    };
    assert_eq!(closest([100.0, 60.0]).instance, "2x local");
    assert_eq!(closest([60.0, 100.0]).instance, "local");
}

#[test]
fn a_lower_limit_would_have_to_fall() {
    let budget = [at_least(CpuUtilization, 40.0)];
    let closest = |loads: [f64; 2]| {
        let forecasts = loads.map(|load| {
            let load = Ok(Predictive::level(load, 2.0, 1e9));
            of(1.0, 1.0, 1.0).with(Metric::CpuUtilization, load)
        });
        recommended(&budget, &forecasts).unwrap().closest
    };
    let first = closest([30.0, 20.0]).unwrap();
    assert_eq!(first.instance, "local");
    assert!((first.if_limits[0].limit - (30.0 - 2.0 * 1.645)).abs() < 0.01);
    assert_eq!(closest([20.0, 30.0]).unwrap().instance, "2x local");
    // Every load is above a limit of nothing, which is none.
    assert_eq!(closest([1.0, 1.0]), None);
}

#[test]
fn no_limit_helps_what_does_not_fit_the_machine_or_is_unknown() {
    let budget = [at_most(Cost, 50.0), implicit(at_most(Memory, 100.0))];
    let unknown = of(1.0, 1.0, 1.0).with(Metric::Cost, Err(Unknown("no price".to_owned())));
    for memory in [140.0, 105.0] {
        let found = recommended(&budget, &[of(1.0, 1.0, memory), unknown.clone()]);
        assert_eq!(found, Some(unanswered()));
    }
    // No factor moves a limit of nothing.
    let found = recommended(&[at_most(Cost, 0.0)], &[of(1.0, 1.0, 1.0), unknown]);
    assert_eq!(found, Some(unanswered()));
    // How long it would have run, a canary that was ended does not say.
    let slow = Forecast {
        time_at_least: Some(200.0),
        ..of(1.0, 150.0, 1.0)
    };
    let found = recommended(&[at_most(Time, 100.0)], &[slow.clone(), slow]);
    assert_eq!(found, Some(unanswered()));
}

#[test]
fn all_memory_of_a_machine_is_the_most_that_a_limit_may_be() {
    let budget = [at_most(Memory, 90.0)];
    let exactly = |percent: f64| {
        let memory = Predictive::log_student_t(percent, 0.0, 1e9);
        of(1.0, 1.0, 1.0).with(Metric::Memory, Ok(memory))
    };
    let limit = |percent: f64| {
        let found = recommended(&budget, &[exactly(percent), exactly(percent)]);
        Some(found?.closest?.if_limits[0].limit)
    };
    assert_eq!(limit(100.0), Some(100.0));
    assert_eq!(limit(100.5), None);
}

#[test]
fn a_line_of_level_warn_keeps_nothing_out() {
    let budget = [at_most(Time, 100.0), warn(at_most(Cost, 1.0))];
    let found = recommended(&budget, &[of(9.0, 50.0, 1.0), of(5.0, 60.0, 1.0)]);
    assert_eq!(found, only("2x local", "local"));
}

#[test]
fn without_a_budget_all_may_be_recommended_and_with_one_that_does_not_count_none() {
    let forecasts = [of(9.0, 50.0, 1.0), of(5.0, 60.0, 1.0)];
    let found = recommended(&[implicit(at_most(Memory, 100.0))], &forecasts);
    assert_eq!(found, only("2x local", "local"));
    assert_eq!(recommended(&[warn(at_most(Cost, 1.0))], &forecasts), None);
}

#[test]
fn a_cost_that_is_not_known_is_not_the_cheapest() {
    let unpriced = of(1.0, 30.0, 1.0).with(Metric::Cost, Err(Unknown("no price".to_owned())));
    let budget = [at_most(Time, 100.0)];
    let found = recommended(&budget, &[unpriced, of(9.0, 50.0, 1.0)]);
    assert_eq!(found, only("2x local", "local"));
}

#[test]
fn one_alone_has_nothing_to_be_compared_with() {
    assert_eq!(
        recommended(&[at_most(Cost, 50.0)], &[of(1.0, 1.0, 1.0)]),
        None
    );
    let noisy = of(1.0, 1.0, 1.0).with(Metric::Cost, about(49.0));
    let found = recommended(&[at_most(Cost, 50.0)], &[noisy, of(40.0, 1.0, 1.0)]).unwrap();
    assert_eq!(found.cheapest.as_deref(), Some("2x local"));
}
