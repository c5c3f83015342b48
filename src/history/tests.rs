use super::samples::{Sample, forecast};
use super::*;

#[tokio::test]
async fn what_could_not_be_read_again_is_not_kept() {
    let sample = Sample::new(Scope::Main);
    let mut record = forecast(0, 7);
    record.code_key = Some("3f9c".to_owned());
    let error = sample.history.append(&record).await.unwrap_err();
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
