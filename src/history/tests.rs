use super::samples::{JOB, Sample, at, canary, forecast, key};
use super::*;

#[tokio::test]
async fn what_is_recorded_later_is_listed_later_also_where_the_clock_was_set_back() {
    let sample = Sample::new(Scope::Main);
    let mut newest = None;
    let mut kept = Vec::new();
    for (minutes, code) in [(60, 1), (0, 2), (0, 3), (90, 4), (59, 5)] {
        let record = forecast(minutes, code);
        let entry = sample
            .history
            .append(&record, newest.as_ref())
            .await
            .unwrap();
        newest = Some(entry.clone());
        kept.push(entry);
    }
    let listing = sample.history.list_at(Some(JOB), at(91)).await.unwrap();
    assert_eq!(listing.entries, kept);
    let newest = choose::newest(&listing.entries, JOB).unwrap();
    assert_eq!(newest.key, key(5)[..16]);
    // The record itself says what its writer's clock said.
    let loaded = sample
        .history
        .load(std::slice::from_ref(newest))
        .await
        .unwrap();
    assert_eq!(loaded.records[0].1.recorded_at, at(59));
}

#[tokio::test]
async fn a_clock_that_was_far_ahead_once_is_lived_with() {
    let sample = Sample::new(Scope::Main);
    let days = 24 * 60;
    let wrong = sample.keep(&canary(400 * days, 5)).await;
    let right = sample
        .history
        .append(&canary(0, 6), Some(&wrong))
        .await
        .unwrap();
    assert_eq!(right.recorded_at, at(0));
    let listing = sample.history.list_at(None, at(1)).await.unwrap();
    assert_eq!(listing.entries, std::slice::from_ref(&right));
    assert_eq!(listing.damaged[0].why, "it is dated in the future");
    assert!(listing.damaged[0].place.ends_with(&wrong.path()));
    // Until its time has come.
    let listing = sample.history.list_at(None, at(400 * days)).await.unwrap();
    assert_eq!(listing.entries, [right, wrong]);
}

#[tokio::test]
async fn what_could_not_be_read_again_is_not_kept() {
    let sample = Sample::new(Scope::Main);
    let mut record = forecast(0, 7);
    record.code_key = Some("3f9c".to_owned());
    let error = sample.history.append(&record, None).await.unwrap_err();
    assert_eq!(
        error.what,
        "a record of the job `churn` cannot be kept: one of its keys is not 64 hex digits"
    );
    assert_eq!(sample.history.list(None).await.unwrap(), Listing::default());
}

#[test]
fn names_are_drawn_by_lot() {
    let drawn: std::collections::BTreeSet<String> = (0..100).map(|_| random_id()).collect();
    assert_eq!(drawn.len(), 100);
    assert!(drawn.iter().all(|text| entry::is_hex(text, 16)));
}
