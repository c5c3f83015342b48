//! **Advice** on what would make canaries and the full run shorter. Each has its evidence and a figure of what it would bring, and is
//! silent without them. A new one is a file and a line of `ALL`.

mod gpu_starved;
mod image;
mod input_mode;
mod installs;

use crate::forecast::scale_out::Measured;
use crate::units::Seconds;

const ALL: [fn(&Measured) -> Option<String>; 4] = [
    input_mode::advice,
    image::advice,
    installs::advice,
    gpu_starved::advice,
];

/// As sentences.
pub fn all(measured: &Measured) -> Vec<String> {
    (ALL.iter()).filter_map(|advice| advice(measured)).collect()
}

/// ` (0.12 USD)`; nothing without a price.
fn cost(measured: &Measured, time: Seconds) -> String {
    let cost = measured.offer.cost(time);
    cost.map_or(String::new(), |cost| format!(" ({cost})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forecast::{Forecast, Predictive, Unknown};
    use crate::instance::{InstanceConfiguration, Offer};
    use crate::metric::Metric;

    fn said(
        full_run: f64,
        download: f64,
        cold_offset: Option<f64>,
        installs: Option<f64>,
    ) -> Vec<String> {
        let instance: InstanceConfiguration = "ml.m5.large".parse().unwrap();
        let about = |seconds| Predictive::log_student_t(seconds, 0.1, 9.0);
        let unknown = Forecast::unknown(&Unknown("nothing was measured".to_owned()));
        let mut forecast = unknown.with(Metric::Time, Ok(about(full_run)));
        forecast.phases.download = Some(about(download));
        forecast.cold_offset = cold_offset.map(Seconds);
        forecast.installs = installs.map(Seconds);
        all(&Measured {
            forecast,
            offer: Offer::unknown(&instance),
            measurements: Vec::new(),
        })
    }

    #[test]
    fn each_has_its_evidence_and_its_gain() {
        insta::assert_snapshot!(said(7200.0, 900.0, Some(48.0), Some(35.0)).join("\n"), @"
        Advice: the full run is forecast to copy its data for 15m of its 2h before it trains. Input mode FastFile, or FSx for Lustre, reads them while it trains, which saves up to that, as far as the script reads each file once and in order. In 90 of 100 jobs elsewhere (2 GB of data) a cold start-up took at most 2m 23s with FastFile, 2m 16s with FSx and 2m 56s with File.
        Advice: a cold start adds at least 48s to the billed time, by the cold canaries beside the warm ones. A smaller image, of stable layers with the one that changes last, saves up to that for each cold canary and for the full run.
        Advice: the first 35s or more of the billed training time pass before the script begins, since `requirements.txt` is installed in them. An image that holds these packages saves most of that for each canary and for the full run.
        ");
    }

    #[test]
    fn what_would_bring_little_is_not_advised() {
        assert_eq!(said(7200.0, 20.0, None, None), Vec::<String>::new());
        // Many seconds, and a hundredth of the full run.
        assert_eq!(
            said(36_000.0, 300.0, Some(4.0), Some(3.0)),
            Vec::<String>::new()
        );
    }
}
