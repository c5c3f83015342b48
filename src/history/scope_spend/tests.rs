use super::*;
use crate::history::Scope;
use crate::history::samples::{Sample, baseline, canary, forecast, found, full_run, run_of, with};
use crate::measurement::Reused;

const OURS: Scope = Scope::PullRequest(7);

/// A canary that was billed so much, as the `number`th of its job.
fn billed(number: u64, cost: f64, idle: Option<f64>) -> Record {
    with(canary(0, number), |record| {
        let measurement = run_of(record);
        measurement.training_job = Some(format!("cg-churn-{number}"));
        measurement.cost = Some(Usd(cost));
        measurement.idle_usd = idle.map(Usd);
    })
}

/// A forecast of these canaries.
fn forecast_of(canaries: &[&Record]) -> Record {
    with(forecast(1, 1), |record| {
        let runs = canaries.iter().flat_map(|one| one.measurements());
        found(record).measurements = runs.cloned().collect();
    })
}

fn known(usd: f64) -> ScopeSpend {
    ScopeSpend::Known(PaidCanaries {
        billed: Usd(usd),
        unbilled: Vec::new(),
    })
}

async fn spent(records: &[Record]) -> ScopeSpend {
    let sample = Sample::new(OURS);
    for record in records {
        sample.keep(record).await;
    }
    sample.history.scope_spend().await.unwrap()
}

/// A canary that a signal stopped, whose bill nobody waited for.
fn stopped(number: u64, most: f64) -> Record {
    let mut record = billed(number, 1.0, None);
    run_of(&mut record).cost = None;
    run_of(&mut record).outcome = Outcome::Stopped;
    if let Content::Canary { at_most, .. } = &mut record.content {
        *at_most = Some(Usd(most));
    }
    record
}

/// The training job of a canary, found by a later run, at that bill if it is known.
fn adopted(number: u64, bill: Option<f64>) -> Record {
    let mut record = billed(number, 1.0, None);
    if bill.is_some() {
        run_of(&mut record).cost = None;
    }
    if let Content::Canary {
        is_adopted,
        at_most,
        ..
    } = &mut record.content
    {
        (*is_adopted, *at_most) = (true, bill.map(Usd));
    }
    record
}

#[tokio::test]
async fn each_canary_counts_once_for_who_paid_it_whatever_records_it_is_in() {
    let (one, other) = (billed(1, 1.5, None), billed(2, 0.25, Some(0.5)));
    let both = forecast_of(&[&one, &other]);
    let with_idle = forecast_of(&[&billed(1, 1.5, Some(0.5))]);
    let mut reused = forecast_of(&[&billed(2, 1.0, None)]);
    run_of(&mut reused).reused = Some(Reused {
        age_days: 1.0,
        saved_usd: Some(Usd(1.0)),
    });
    let mut asked_for = full_run(0, 1);
    run_of(&mut asked_for).cost = Some(Usd(70.0));
    for (records, usd) in [
        (vec![one.clone(), other, both.clone(), both], 2.25),
        // Machines that were kept after a canary count from its forecast.
        (vec![one.clone(), with_idle.clone()], 2.0),
        (vec![with_idle, one], 2.0),
        // What another run paid, and full runs, do not count.
        (
            vec![adopted(1, None), reused, asked_for, billed(3, 0.5, None)],
            0.5,
        ),
        // A later run finds the bill of a stopped canary: its own, or as another's.
        (vec![stopped(1, 0.75), billed(1, 0.25, None)], 0.25),
        (
            vec![
                stopped(1, 0.75),
                adopted(1, Some(0.25)),
                adopted(1, Some(0.25)),
            ],
            0.25,
        ),
        // A training job that is in nobody's account counts for who took it over.
        (vec![adopted(1, Some(0.5))], 0.5),
        (vec![adopted(1, Some(0.5)), billed(1, 0.5, None)], 0.5),
    ] {
        assert_eq!(spent(&records).await, known(usd), "{records:?}");
    }
}

#[tokio::test]
async fn a_stopped_canary_has_no_bill_and_its_worst_case() {
    let stopped = stopped(1, 0.75);
    let ScopeSpend::Known(paid) = spent(&[stopped.clone(), forecast_of(&[&stopped])]).await else {
        panic!("it is known");
    };
    assert_eq!(paid.billed, Usd(0.0));
    assert_eq!(paid.unbilled[0].job, "churn");
    let UnbilledCanary { at_most, time, .. } = &paid.unbilled[0];
    assert_eq!((at_most, time), (&Some(Usd(0.75)), &None));
}

#[tokio::test]
async fn a_record_that_gives_money_back_makes_the_sum_unknown() {
    let sample = Sample::new(OURS);
    let kept = sample.keep(&billed(1, 1.0, None)).await;
    for (found, forged) in [
        ("\"cost\":1.0", "\"cost\":-50.0"),
        ("\"cost\":1.0", "\"cost\":1e999"),
        (
            "\"kind\":\"canary\"",
            "\"kind\":\"canary\",\"at_most\":-9.0",
        ),
        ("\"schema_version\":1", "\"schema_version\":99"),
    ] {
        let file = sample.file(&kept);
        let sound = std::fs::read_to_string(&file).unwrap();
        assert!(sound.contains(found), "{sound}");
        std::fs::write(&file, sound.replace(found, forged)).unwrap();
        let spent = sample.history.scope_spend().await.unwrap();
        assert!(matches!(spent, ScopeSpend::Unreadable(_)), "{spent:?}");
        std::fs::write(&file, sound).unwrap();
    }
    let spent = sample.history.scope_spend().await.unwrap();
    assert_eq!(spent, known(1.0));
    // Nor is a file known that is no record.
    let odd = sample.file(&kept).with_file_name("odd.json");
    std::fs::write(odd, "{}").unwrap();
    let spent = sample.history.scope_spend().await.unwrap();
    assert!(matches!(spent, ScopeSpend::Unreadable(_)), "{spent:?}");
}

#[tokio::test]
async fn only_the_scope_of_the_run_counts_and_nothing_is_known_without_the_folder() {
    let sample = Sample::new(OURS);
    let spent = sample.history.scope_spend().await.unwrap();
    assert!(matches!(spent, ScopeSpend::NoHistory(_)), "{spent:?}");
    std::fs::create_dir(sample.root()).unwrap();
    assert_eq!(sample.history.scope_spend().await.unwrap(), known(0.0));
    sample.keep(&billed(1, 1.0, None)).await;
    for other in [Scope::Main, Scope::PullRequest(70), Scope::Queue] {
        let history = sample.to(other);
        history.append(&billed(2, 5.0, None)).await.unwrap();
        history.append(&baseline(0, 1)).await.unwrap();
    }
    assert_eq!(sample.history.scope_spend().await.unwrap(), known(1.0));
}
