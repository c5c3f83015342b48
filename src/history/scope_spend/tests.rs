use super::*;
use crate::history::samples::{Sample, baseline, canary, forecast, full_run};
use crate::measurement::Reused;

const OURS: Scope = Scope::PullRequest(7);

/// A canary that was billed so much, as the `number`th of its job.
fn billed(number: u64, cost: f64, idle: Option<f64>) -> Record {
    let mut record = canary(0, number);
    if let Content::Canary { measurement, .. } = &mut record.content {
        measurement.training_job = Some(format!("cg-churn-{number}"));
        measurement.cost = Some(Usd(cost));
        measurement.idle_usd = idle.map(Usd);
    }
    record
}

fn first(record: &mut Record) -> &mut Measurement {
    match &mut record.content {
        Content::Canary { measurement, .. } | Content::FullRun { measurement } => measurement,
        Content::Forecast(forecast) => &mut forecast.measurements[0],
    }
}

/// A forecast of these canaries.
fn forecast_of(canaries: &[&Record]) -> Record {
    let mut record = forecast(1, 1);
    if let Content::Forecast(forecast) = &mut record.content {
        let runs = canaries.iter().flat_map(|one| one.measurements());
        forecast.measurements = runs.cloned().collect();
    }
    record
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

#[tokio::test]
async fn each_canary_counts_once_whatever_records_it_is_in() {
    let (one, other) = (billed(1, 1.5, None), billed(2, 0.25, Some(0.5)));
    let both = forecast_of(&[&one, &other]);
    let all = [one, other, both.clone(), both];
    assert_eq!(spent(&all).await, known(2.25));
}

#[tokio::test]
async fn machines_that_were_kept_after_a_canary_count_from_its_forecast() {
    let one = billed(1, 1.5, None);
    let with_idle = forecast_of(&[&billed(1, 1.5, Some(0.5))]);
    for all in [
        [one.clone(), with_idle.clone()],
        [with_idle.clone(), one.clone()],
    ] {
        assert_eq!(spent(&all).await, known(2.0));
    }
}

#[tokio::test]
async fn what_another_run_paid_and_full_runs_do_not_count() {
    let mut adopted = billed(1, 1.0, None);
    if let Content::Canary { is_adopted, .. } = &mut adopted.content {
        *is_adopted = true;
    }
    let mut reused = forecast_of(&[&billed(2, 1.0, None)]);
    first(&mut reused).reused = Some(Reused {
        age_days: 1.0,
        saved_usd: Some(Usd(1.0)),
    });
    let mut asked_for = full_run(0, 1);
    first(&mut asked_for).cost = Some(Usd(70.0));
    let all = [adopted, reused, asked_for, billed(3, 0.5, None)];
    assert_eq!(spent(&all).await, known(0.5));
}

#[tokio::test]
async fn a_stopped_canary_has_no_bill_until_a_later_run_finds_it() {
    let mut stopped = billed(1, 1.0, None);
    first(&mut stopped).cost = None;
    first(&mut stopped).outcome = Outcome::Stopped;
    if let Content::Canary { at_most, .. } = &mut stopped.content {
        *at_most = Some(Usd(0.75));
    }
    let ScopeSpend::Known(paid) = spent(&[stopped.clone(), forecast_of(&[&stopped])]).await else {
        panic!("it is known");
    };
    assert_eq!(paid.billed, Usd(0.0));
    assert_eq!(paid.unbilled[0].job, "churn");
    assert_eq!(paid.unbilled[0].at_most, Some(Usd(0.75)));
    let found = billed(1, 0.25, None);
    assert_eq!(spent(&[stopped, found]).await, known(0.25));
}

/// The training job of a canary, found by a later run at that bill.
fn adopted(number: u64, cost: f64) -> Record {
    let mut record = billed(number, cost, None);
    first(&mut record).cost = None;
    if let Content::Canary {
        is_adopted,
        at_most,
        ..
    } = &mut record.content
    {
        *is_adopted = true;
        *at_most = Some(Usd(cost));
    }
    record
}

#[tokio::test]
async fn the_bill_that_a_later_run_finds_is_that_of_the_stopped_canary() {
    let mut stopped = billed(1, 1.0, None);
    first(&mut stopped).cost = None;
    first(&mut stopped).outcome = Outcome::Stopped;
    let all = [stopped, adopted(1, 0.25), adopted(1, 0.25)];
    assert_eq!(spent(&all).await, known(0.25));
}

#[tokio::test]
async fn a_training_job_that_is_in_nobodys_account_counts_for_who_took_it_over() {
    let paid = billed(1, 0.5, None);
    assert_eq!(spent(&[adopted(1, 0.5)]).await, known(0.5));
    assert_eq!(spent(&[adopted(1, 0.5), paid.clone()]).await, known(0.5));
    let sample = Sample::new(OURS);
    sample.keep(&adopted(1, 0.5)).await;
    let of_main = sample.to(Scope::Main);
    of_main.append(&paid, None).await.unwrap();
    let spent = sample.history.scope_spend().await.unwrap();
    assert_eq!(spent, known(0.0));
}

#[tokio::test]
async fn only_the_scope_of_the_run_counts() {
    let sample = Sample::new(OURS);
    sample.keep(&billed(1, 1.0, None)).await;
    for other in [Scope::Main, Scope::PullRequest(70), Scope::Queue] {
        let history = sample.to(other);
        history.append(&billed(2, 5.0, None), None).await.unwrap();
        history.append(&baseline(0, 1), None).await.unwrap();
    }
    let spent = sample.history.scope_spend().await.unwrap();
    assert_eq!(spent, known(1.0));
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
}

#[tokio::test]
async fn a_file_that_is_no_record_makes_the_sum_unknown() {
    let sample = Sample::new(OURS);
    let kept = sample.keep(&billed(1, 1.0, None)).await;
    let odd = sample.file(&kept).with_file_name("odd.json");
    std::fs::write(odd, "{}").unwrap();
    let spent = sample.history.scope_spend().await.unwrap();
    assert!(matches!(spent, ScopeSpend::Unreadable(_)), "{spent:?}");
}

#[tokio::test]
async fn without_its_folder_nothing_is_known_and_in_an_empty_one_nothing_was_spent() {
    let sample = Sample::new(OURS);
    let spent = sample.history.scope_spend().await.unwrap();
    assert!(matches!(spent, ScopeSpend::NoHistory(_)), "{spent:?}");
    std::fs::create_dir(sample.root()).unwrap();
    let spent = sample.history.scope_spend().await.unwrap();
    assert_eq!(spent, known(0.0));
}
