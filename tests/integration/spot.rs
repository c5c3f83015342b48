//! Full runs on spot capacity.

use crate::cases;
use crate::recorded;

#[test]
fn a_spot_job_is_judged_by_the_spot_price_which_is_read_with_care() {
    for case in cases::read(include_str!("cases/spot.txt")) {
        let (prices, spot) = (case.one("prices"), case.one("spot"));
        let training = format!(
            "      spot: {spot}\n      checkpoints: s3://bucket/checkpoints/\n      channels:\n        train: {{uri: s3://bucket/train/}}\n"
        );
        let spec = recorded::spec(
            &format!("prices: {prices}\n"),
            "ml.m5.4xlarge",
            &training,
            "    canary: {warm_pool: off}\n    budget: {cost: 1.5 USD}\n",
        );
        // A full run takes 10,000 s: 2.56 USD on demand.
        let runs = recorded::lines([1, 2, 5, 10, 20].map(|percent| {
            let seconds = f64::from(100 * percent + percent % 3);
            recorded::canary("ml.m5.4xlarge", percent, seconds)
        }));
        let project = recorded::project(&runs, &spec);
        let report = project.run(&["forecast", "runs.jsonl"]);
        let mut silent = case.all("not");
        assert!(
            silent.all(|text| !report.stdout.contains(text)),
            "{}",
            report.seen()
        );
        case.holds_for(report);
    }
}
